//! What differs between a text that was approved and the one that is there now.

/// So many lines around a change are shown.
const CONTEXT: usize = 2;
/// So many lines of a difference are shown.
const SHOWN_MAX: usize = 60;
/// Texts of more lines are compared from both ends only.
const LINES_MAX: usize = 1000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line<'a> {
    Same(&'a str),
    Gone(&'a str),
    New(&'a str),
}

/// The lines that differ, each behind `-` or `+`, with those around them.
pub fn diff(old: &str, new: &str) -> String {
    let lines = compare(&old.lines().collect::<Vec<_>>(), &new.lines().collect::<Vec<_>>());
    let is_near = |at: usize| {
        let from = at.saturating_sub(CONTEXT);
        let to = (at + CONTEXT + 1).min(lines.len());
        lines[from..to].iter().any(|line| !matches!(line, Line::Same(_)))
    };
    let mut shown: Vec<String> = Vec::new();
    let mut left_out = false;
    for (at, line) in lines.iter().enumerate() {
        if !is_near(at) {
            left_out = true;
            continue;
        }
        if std::mem::take(&mut left_out) && !shown.is_empty() {
            shown.push("  ...".to_owned());
        }
        shown.push(match line {
            Line::Same(text) => format!("  {text}"),
            Line::Gone(text) => format!("- {text}"),
            Line::New(text) => format!("+ {text}"),
        });
    }
    let more = shown.len().saturating_sub(SHOWN_MAX);
    if more > 0 {
        shown.truncate(SHOWN_MAX);
        shown.push(format!("  ... {more} more lines"));
    }
    shown.join("\n")
}

fn compare<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<Line<'a>> {
    let start = old.iter().zip(new).take_while(|(one, other)| one == other).count();
    let (old_rest, new_rest) = (&old[start..], &new[start..]);
    let both = old_rest.iter().rev().zip(new_rest.iter().rev());
    let end = both.take_while(|(one, other)| one == other).count();
    let (gone, added) = (&old_rest[..old_rest.len() - end], &new_rest[..new_rest.len() - end]);
    let mut lines: Vec<Line<'a>> = old[..start].iter().map(|line| Line::Same(line)).collect();
    lines.extend(between(gone, added));
    lines.extend(old_rest[old_rest.len() - end..].iter().map(|line| Line::Same(line)));
    lines
}

/// By the longest common subsequence.
fn between<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<Line<'a>> {
    if old.len().max(new.len()) > LINES_MAX {
        let gone = old.iter().map(|line| Line::Gone(line));
        return gone.chain(new.iter().map(|line| Line::New(line))).collect();
    }
    let width = new.len() + 1;
    let mut common = vec![0_u32; (old.len() + 1) * width];
    for (i, one) in old.iter().enumerate().rev() {
        for (j, other) in new.iter().enumerate().rev() {
            common[i * width + j] = if one == other {
                common[(i + 1) * width + j + 1] + 1
            } else {
                common[(i + 1) * width + j].max(common[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut lines = Vec::new();
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            lines.push(Line::Same(old[i]));
            (i, j) = (i + 1, j + 1);
        } else if j >= new.len()
            || (i < old.len() && common[(i + 1) * width + j] >= common[i * width + j + 1])
        {
            lines.push(Line::Gone(old[i]));
            i += 1;
        } else {
            lines.push(Line::New(new[j]));
            j += 1;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_lines_stand_below_each_other_with_those_around_them() {
        let old = "a\nb\nc\nd\ne\nf\ng\nh\n";
        assert_eq!(diff(old, &old.replace("d\n", "D\n")), "  b\n  c\n- d\n+ D\n  e\n  f");
        let two = old.replace("a\n", "").replace("h\n", "h\ni\n");
        assert_eq!(diff(old, &two), "- a\n  b\n  c\n  ...\n  g\n  h\n+ i");
        assert_eq!(diff("", "x"), "+ x");
        assert_eq!(diff("x", ""), "- x");
        assert_eq!(diff(old, old), "");
    }

    #[test]
    fn a_long_difference_is_cut_and_says_so() {
        let old = (0..3000).map(|number| number.to_string()).collect::<Vec<_>>().join("\n") + "\n";
        let shown = diff(&old, "other\n");
        assert_eq!(shown.lines().count(), SHOWN_MAX + 1);
        assert!(shown.ends_with("more lines"), "{shown}");
    }
}

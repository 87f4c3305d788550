//! The diff between an approved text and the current one.

use nightwright_core::outcome::count;
use similar::{ChangeTag, TextDiff};

/// Lines of context around a change.
const CONTEXT: usize = 2;
/// Maximum number of lines shown.
const MAX_SHOWN: usize = 60;

/// Returns the differing lines, marked with `-` or `+`, with their context.
pub fn diff(old: &str, new: &str) -> String {
    let diff = TextDiff::from_lines(old, new);
    let mut shown: Vec<String> = Vec::new();
    for group in diff.grouped_ops(CONTEXT) {
        if !shown.is_empty() {
            shown.push("  ...".to_owned());
        }
        let changes = group.iter().flat_map(|operation| diff.iter_changes(operation));
        shown.extend(changes.map(|change| {
            let sign = match change.tag() {
                ChangeTag::Equal => ' ',
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            };
            format!("{sign} {}", change.value().trim_end_matches(['\n', '\r']))
        }));
    }
    let more = shown.len().saturating_sub(MAX_SHOWN);
    if more > 0 {
        shown.truncate(MAX_SHOWN);
        shown.push(format!("  ... {}", count(more, "more line")));
    }
    shown.join("\n")
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
        assert_eq!(shown.lines().count(), MAX_SHOWN + 1);
        assert!(shown.ends_with("more lines"), "{shown}");
    }
}

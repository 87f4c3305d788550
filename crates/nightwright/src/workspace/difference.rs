//! The inspection of changes: findings of tampering, statistics, and a diff that is limited to the
//! size that a verifier is shown.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use nightwright_core::input::{ChangedFile, Changes, Inspection};
use nightwright_core::tamper::{self, FileDiff, FileSide};
use similar::{DiffTag, TextDiff};

/// Maximum number of files to list.
const LISTED: usize = 50;
/// Maximum bytes of the whole diff.
const BYTES: usize = 48 << 10;
/// A file with less space than this is only counted.
const MIN_SHOWN_BYTES: usize = 200;
/// Time limit for the diff of one file. After that, the diff is longer than necessary.
const FILE_TIME: Duration = Duration::from_millis(500);
/// Time limit for all diffs.
const TIME: Duration = Duration::from_secs(5);

/// Inspects the changes: findings, statistics and diff.
pub fn inspection(changes: &[FileDiff], commands: &[String]) -> Inspection {
    let compared = compared(changes);
    Inspection {
        findings: tamper::inspect(changes, commands),
        changes: listed(&compared),
        diff: share(&compared),
        warnings: Vec::new(),
        timeouts: Vec::new(),
    }
}

/// Returns the statistics of the changes only.
pub fn figures(changes: &[FileDiff]) -> Changes {
    listed(&compared(changes))
}

fn compared(changes: &[FileDiff]) -> Vec<FileDifference> {
    let deadline = Instant::now() + TIME;
    changes.iter().map(|change| compare(change, deadline)).collect()
}

fn listed(compared: &[FileDifference]) -> Changes {
    let listed = compared.iter().take(LISTED).map(|compared| compared.figures.clone()).collect();
    Changes { files: u32::try_from(compared.len()).unwrap_or(u32::MAX), listed }
}

/// The diff of one file.
struct FileDifference {
    figures: ChangedFile,
    text: String,
}

fn compare(change: &FileDiff, deadline: Instant) -> FileDifference {
    let FileDiff { path, before, after } = change;
    let figures = ChangedFile { path: path.clone(), added: 0, removed: 0 };
    let nothing = String::new();
    let (old, new) = match (before, after) {
        (FileSide::Text(old), FileSide::Text(new)) => (old, new),
        (FileSide::Absent, FileSide::Text(new)) => (&nothing, new),
        (FileSide::Text(old), FileSide::Absent) => (old, &nothing),
        (FileSide::Absent, FileSide::Absent | FileSide::Opaque) => {
            return FileDifference { figures, text: format!("{path}: added, content unknown\n") };
        }
        (FileSide::Opaque, FileSide::Absent) => {
            return FileDifference { figures, text: format!("{path}: removed, content unknown\n") };
        }
        (FileSide::Opaque, _) | (_, FileSide::Opaque) => {
            return FileDifference { figures, text: format!("{path}: changed, content unknown\n") };
        }
    };
    let until = deadline.min(Instant::now() + FILE_TIME);
    let diff = TextDiff::configure().deadline(until).diff_lines(old.as_str(), new.as_str());
    let (mut added, mut removed) = (0, 0);
    for operation in diff.ops() {
        if operation.tag() != DiffTag::Equal {
            removed += operation.old_range().len();
            added += operation.new_range().len();
        }
    }
    let name = |side: &FileSide, there: String| match side {
        FileSide::Absent => "/dev/null".to_owned(),
        FileSide::Text(_) | FileSide::Opaque => there,
    };
    let header = (name(before, format!("a/{path}")), name(after, format!("b/{path}")));
    let text = diff.unified_diff().context_radius(3).header(&header.0, &header.1).to_string();
    let count = |lines: usize| u32::try_from(lines).unwrap_or(u32::MAX);
    let figures = ChangedFile { added: count(added), removed: count(removed), ..figures };
    FileDifference { figures, text }
}

/// Joins the diffs; if they exceed the limit, the longest are cut first.
fn share(compared: &[FileDifference]) -> String {
    let mut order: Vec<usize> = (0..compared.len()).collect();
    order.sort_by_key(|&index| compared[index].text.len());
    let mut shares = vec![0; compared.len()];
    let mut left = BYTES;
    for (done, &index) in order.iter().enumerate() {
        let share = compared[index].text.len().min(left / (order.len() - done));
        shares[index] = share;
        left -= share;
    }
    let mut diff = String::new();
    let mut unnamed = 0;
    for (file, share) in compared.iter().zip(shares) {
        if share == file.text.len() {
            diff.push_str(&file.text);
        } else if share < MIN_SHOWN_BYTES {
            unnamed += 1;
        } else {
            cut(&mut diff, file, share);
        }
    }
    if unnamed > 0 {
        // Writing to a string cannot fail.
        let _ = writeln!(diff, "[{unnamed} more files omitted]");
    }
    diff
}

/// Appends the first lines of a file's diff.
fn cut(diff: &mut String, file: &FileDifference, share: usize) {
    let mut end = file.text.floor_char_boundary(share);
    if let Some(line) = file.text[..end].rfind('\n') {
        end = line + 1;
    }
    diff.push_str(&file.text[..end]);
    let rest = file.text[end..].lines().count();
    let path = &file.figures.path;
    // Writing to a string cannot fail.
    let _ = writeln!(diff, "[{rest} more lines of `{path}` omitted]");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> FileSide {
        FileSide::Text(text.to_owned())
    }

    fn change(path: &str, before: FileSide, after: FileSide) -> FileDiff {
        FileDiff { path: path.to_owned(), before, after }
    }

    /// Inspects changes to files that no check names.
    fn inspected(changes: &[FileDiff]) -> Inspection {
        inspection(changes, &[])
    }

    #[test]
    fn lines_are_counted_and_shown() {
        let inspection = inspected(&[
            change("a", text("one\ntwo\n"), text("one\nthree\nfour\n")),
            change("gone", text("x\n"), FileSide::Absent),
            change("picture", FileSide::Opaque, FileSide::Opaque),
        ]);
        let figures: Vec<_> = inspection
            .changes
            .listed
            .iter()
            .map(|file| (file.path.as_str(), file.added, file.removed))
            .collect();
        assert_eq!(figures, [("a", 2, 1), ("gone", 0, 1), ("picture", 0, 0)]);
        assert_eq!(inspection.changes.files, 3);
        insta::assert_snapshot!(inspection.diff, @r"
        --- a/a
        +++ b/a
        @@ -1,2 +1,3 @@
         one
        -two
        +three
        +four
        --- a/gone
        +++ /dev/null
        @@ -1 +0,0 @@
        -x
        picture: changed, content unknown
        ");
    }

    #[test]
    fn the_longest_is_cut_first_and_the_cut_is_named() {
        let long = "long line\n".repeat(20_000);
        let inspection = inspected(&[
            change("long", FileSide::Absent, text(&long)),
            change("short", FileSide::Absent, text("short\n")),
        ]);
        assert!(inspection.diff.len() < BYTES + 200);
        assert!(inspection.diff.contains("more lines of `long` omitted]"));
        assert!(inspection.diff.contains("+short\n"));
        assert_eq!(inspection.changes.listed[0].added, 20_000);
    }

    #[test]
    fn some_of_many_files_are_listed_and_all_are_counted() {
        let many: Vec<_> =
            (0..3000).map(|n| change(&format!("{n:04}"), FileSide::Absent, text("x\n"))).collect();
        let inspection = inspected(&many);
        assert_eq!((inspection.changes.files, inspection.changes.listed.len()), (3000, 50));
        assert!(inspection.diff.len() < BYTES + 200, "{}", inspection.diff.len());
        assert!(inspection.diff.contains("more files omitted]"));
    }

    #[test]
    fn two_files_that_have_nothing_in_common_do_not_hold_the_gate_up() {
        let lines = |salt: u32| {
            let numbers = (0..60_000u32).map(|n| n.wrapping_mul(salt).to_string());
            numbers.collect::<Vec<_>>().join("\n")
        };
        let (old, new) = (lines(7919), lines(104_729));
        let inspection = inspected(&[change("odd", text(&old), text(&new))]);
        assert!(inspection.changes.listed[0].added > 0);
    }
}

//! Limits the length of source files.

use super::Finding;
use super::tree::File;

const MAX_LINES: usize = 600;

/// A file that may be longer, and the reason.
#[derive(Debug, Clone, Copy)]
pub(super) struct Exception {
    path: &'static str,
    reason: &'static str,
}

/// Currently empty. An unnecessary entry is a finding too.
pub(super) const ALLOWED: [Exception; 0] = [];

pub(super) fn too_long(files: &[File], allowed: &[Exception]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        let lines = file.text.lines().count();
        let is_allowed = allowed.iter().any(|exception| exception.path == file.path);
        if lines > MAX_LINES && !is_allowed {
            let rule = format!("{lines} lines; the maximum is {MAX_LINES}");
            let why = "split the file by responsibility";
            findings.push(Finding::new(&file.path, MAX_LINES + 1, rule, why));
        }
    }
    for Exception { path, reason } in allowed {
        let found = files.iter().find(|file| file.path == *path);
        if found.is_none_or(|file| file.text.lines().count() <= MAX_LINES) {
            let why =
                format!("the file is missing or short enough, so the reason is stale: {reason}");
            findings.push(Finding::new(path, 1, "no length exception needed", why));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXCEPTION: Exception = Exception { path: "long.rs", reason: "one table" };

    fn file(path: &str, lines: usize) -> File {
        File::new(path, &"x\n".repeat(lines))
    }

    #[test]
    fn the_line_too_many_is_found() {
        assert_eq!(too_long(&[file("a.rs", 600)], &[]), []);
        let findings = too_long(&[file("a.rs", 601)], &[]);
        assert_eq!((findings.len(), findings[0].line), (1, 601));
    }

    #[test]
    fn only_source_is_measured() {
        assert_eq!(too_long(&[file("Cargo.lock", 5_000)], &[]), []);
    }

    #[test]
    fn an_exception_holds_for_its_file_only() {
        let findings = too_long(&[file("long.rs", 900), file("other.rs", 900)], &[EXCEPTION]);
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].path, "other.rs");
    }

    #[test]
    fn an_exception_that_nothing_needs_is_found() {
        for files in [vec![], vec![file("long.rs", 10)]] {
            let findings = too_long(&files, &[EXCEPTION]);
            assert_eq!(findings.len(), 1);
            assert!(findings[0].why.contains("one table"));
        }
    }
}

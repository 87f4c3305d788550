//! The code map in `ARCHITECTURE.md` leads to places that exist.

use super::Finding;

const PAGE: &str = "ARCHITECTURE.md";

/// Checks every path of ours that the page has in backticks.
pub(super) fn wrong_paths(page: Option<&str>, exists: impl Fn(&str) -> bool) -> Vec<Finding> {
    let Some(text) = page else {
        let why = "newcomers start there";
        return vec![Finding::new(PAGE, 1, format!("{PAGE} is missing"), why)];
    };
    let named = named_paths(text);
    if named.is_empty() {
        let why = "a code map has paths such as `crates/nightwright/src` in backticks";
        return vec![Finding::new(PAGE, 1, "the page names no path", why)];
    }
    named
        .into_iter()
        .filter(|(_, path)| !exists(path))
        .map(|(line, path)| {
            let why = "a map that leads nowhere is worse than none";
            Finding::new(PAGE, line, format!("`{path}` does not exist"), why)
        })
        .collect()
}

fn named_paths(text: &str) -> Vec<(usize, &str)> {
    let mut named = Vec::new();
    for (text, line) in text.lines().zip(1..) {
        // Between backticks is every second piece.
        let quoted = text.split('`').skip(1).step_by(2);
        let ours = quoted.filter(|path| path.starts_with("crates/") || path.starts_with("xtask/"));
        named.extend(ours.map(|path| (line, path)));
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_is_not_there_is_found_with_its_line() {
        let page =
            "# Map\n`crates/a` and `crates/gone/`\n\n`xtask/src/gone.rs`, `src/x`, crates/y\n";
        let findings = wrong_paths(Some(page), |path| path == "crates/a");
        let found: Vec<_> =
            findings.iter().map(|finding| (finding.line, finding.rule.as_str())).collect();
        assert_eq!(
            found,
            [(2, "`crates/gone/` does not exist"), (4, "`xtask/src/gone.rs` does not exist")]
        );
    }

    #[test]
    fn a_missing_page_is_found() {
        assert_eq!(wrong_paths(None, |_| true)[0].rule, "ARCHITECTURE.md is missing");
    }

    #[test]
    fn a_page_without_any_path_is_found() {
        assert_eq!(wrong_paths(Some("# Map\n"), |_| true)[0].rule, "the page names no path");
    }
}

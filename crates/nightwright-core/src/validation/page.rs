//! Validation results for display: as a Markdown page, and as a table on the terminal.

use std::fmt::Write as _;

use jiff::Timestamp;

use super::{CriterionResult, Importance, PassCount, Ruling, ValidationResult};
use crate::display::one_line;

/// The maximum length of a reason or suggestion on the terminal.
const MAX_LINE: usize = 400;

/// The facts on a page besides the result.
#[derive(Clone, Copy, Debug)]
pub struct ValidationPage<'a> {
    pub task: &'a str,
    /// The time of the validation.
    pub at: Timestamp,
    /// The model that judged, if known.
    pub model: Option<&'a str>,
    /// The cost, as text.
    pub cost: &'a str,
}

/// The page, as Markdown.
pub fn markdown(result: &ValidationResult, page: &ValidationPage<'_>) -> String {
    let ValidationPage { task, at, model, cost } = page;
    let model = model.map(|model| format!(" by {}", plain(model))).unwrap_or_default();
    let verdict = if result.passes() { "pass" } else { "fail" };
    let at = at.strftime("%Y-%m-%d %H:%M UTC");
    let mut text = format!("# Validation of `{task}`\n\n**{verdict}**: {}\n\n", scores(result));
    // Writing to a string cannot fail, here and below.
    let _ = writeln!(text, "Judged {at}{model}; {cost}.\n");
    let _ = writeln!(text, "| | criterion | reason |\n| --- | --- | --- |");
    for finding in result.findings() {
        let (title, reason) = (finding.criterion.title, plain(&finding.reason));
        let _ = writeln!(text, "| {} | {title} | {reason} |", mark(finding));
    }
    let wanting: Vec<_> =
        result.findings().iter().filter(|finding| finding.ruling == Ruling::Fail).collect();
    if !wanting.is_empty() {
        let _ = writeln!(text, "\n## What to change");
    }
    for finding in wanting {
        let (title, weight) = (finding.criterion.title, finding.criterion.weight.name());
        let _ = writeln!(text, "\n### {title} ({weight})\n\n{}", plain(&finding.reason));
        if !finding.suggestion.is_empty() {
            let _ = writeln!(text, "\n{}", indented(&finding.suggestion));
        }
    }
    text
}

/// The table for a terminal.
pub fn table(result: &ValidationResult) -> String {
    let mut text = String::new();
    for weight in [Importance::Required, Importance::Recommended] {
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(text, "{}", weight.name());
        for finding in result.of_weight(weight) {
            let _ = writeln!(text, "  {:<4}  {}", mark(finding), finding.criterion.title);
            if finding.ruling == Ruling::Fail {
                let _ = writeln!(text, "        {}", one_line(&finding.reason, MAX_LINE));
                if !finding.suggestion.is_empty() {
                    let _ =
                        writeln!(text, "        try: {}", one_line(&finding.suggestion, MAX_LINE));
                }
            }
        }
    }
    let verdict = if result.passes() { "pass" } else { "FAIL" };
    let _ = writeln!(text, "\n{verdict}: {}", scores(result));
    text
}

fn scores(result: &ValidationResult) -> String {
    let PassCount { passed, of } = result.score(Importance::Required);
    let recommended = result.score(Importance::Recommended);
    format!(
        "met {passed} of {of} required criteria, {} of {} recommended ones",
        recommended.passed, recommended.of
    )
}

fn mark(finding: &CriterionResult) -> &'static str {
    match (finding.ruling, finding.criterion.weight) {
        (Ruling::Pass, Importance::Required | Importance::Recommended) => "pass",
        (Ruling::Fail, Importance::Required) => "FAIL",
        (Ruling::Fail, Importance::Recommended) => "FAIL (recommended)",
    }
}

/// The agent's text for a table cell: one line, and nothing that ends the cell.
fn plain(text: &str) -> String {
    one_line(text, usize::MAX).replace('|', "\\|")
}

/// A text of several lines, as a quotation.
fn indented(text: &str) -> String {
    let line = |line: &str| format!("> {}", one_line(line, usize::MAX));
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validation::read;

    fn result() -> ValidationResult {
        let text = crate::validation::answer(&["scope".into(), "examples".into()], "a | b\nc")
            .replace(r#""suggestion":"""#, r#""suggestion":"Leave out:\n- the docs""#);
        read(Some(&text), "").unwrap()
    }

    #[test]
    fn the_page_says_what_failed_and_what_to_write_instead() {
        let at = "2026-03-04T05:06:07Z".parse().unwrap();
        let page = ValidationPage { task: "t", at, model: Some("m"), cost: "cost $0.01" };
        let text = markdown(&result(), &page);
        for words in [
            "# Validation of `t`\n\n**fail**: met 6 of 7 required criteria, 2 of 3 recommended",
            "Judged 2026-03-04 05:06 UTC by m; cost $0.01.",
            "| FAIL | Scope: what is part of the work, and what is not | a \\| b c |",
            "| FAIL (recommended) | There is an example of the expected result | a \\| b c |",
            "### Scope: what is part of the work, and what is not (required)\n\na \\| b c\n\n\
             > Leave out:\n> - the docs\n",
        ] {
            assert!(text.contains(words), "no {words:?} in:\n{text}");
        }
    }

    #[test]
    fn the_table_explains_only_what_failed() {
        let text = table(&result());
        assert!(text.starts_with("required\n  pass  The goal is an outcome\n"), "{text}");
        assert!(text.contains("  FAIL  Scope: what is part"), "{text}");
        assert!(text.contains("        a | b c\n        try: Leave out: - the docs\n"), "{text}");
        assert_eq!(text.matches("try:").count(), 2, "{text}");
        assert!(text.ends_with("\nFAIL: met 6 of 7 required criteria, 2 of 3 recommended ones\n"));
    }
}

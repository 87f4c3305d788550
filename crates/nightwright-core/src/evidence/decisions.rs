//! Decisions that the agent reports in its own words: a line `**Decision**: ...`, and optionally a
//! line `**Rationale**: ...` after it.

use super::prose::{self, LineKind};
use crate::stream::news::StatedDecision;

/// The maximum number of decisions of one attempt.
const MAX_DECISIONS: usize = 20;

/// The maximum length of a string in characters.
const MAX_TEXT_CHARS: usize = 1000;

/// Adds the decisions of a message to the earlier ones, each once.
pub(crate) fn collect(message: &str, collected: &mut Vec<StatedDecision>) {
    // Most messages have no decision, and every message is checked.
    if memchr::memmem::find(message.as_bytes(), b"Decision").is_some() {
        add(decisions(message), collected);
    }
}

/// Adds decisions to the earlier ones, each once.
pub(crate) fn add(decisions: Vec<StatedDecision>, collected: &mut Vec<StatedDecision>) {
    for decision in decisions {
        if !collected.contains(&decision) && collected.len() < MAX_DECISIONS {
            collected.push(decision);
        }
    }
}

/// The decisions in the agent's own lines of a message.
pub(super) fn decisions(message: &str) -> Vec<StatedDecision> {
    let mut found: Vec<StatedDecision> = Vec::new();
    // A reason belongs to the decision above it, across blank lines.
    let mut is_open = false;
    for line in prose::lines(message) {
        if line.kind != LineKind::Own {
            is_open = false;
        } else if let Some(decision) = labelled(line.written, "Decision") {
            found.push(StatedDecision { decision, rationale: None });
            is_open = true;
        } else if let Some(rationale) = labelled(line.written, "Rationale")
            && let Some(last) = found.last_mut().filter(|_| is_open)
        {
            last.rationale = Some(rationale);
            is_open = false;
        } else if !line.own.is_empty() {
            is_open = false;
        }
    }
    found
}

/// The text after a bold label: `- **Decision**: keep it` or `**Decision:** keep it`.
fn labelled(line: &str, label: &str) -> Option<String> {
    let rest = prose::after_list_markers(line).strip_prefix("**")?.strip_prefix(label)?;
    let text = rest.strip_prefix("**:").or_else(|| rest.strip_prefix(":**"))?.trim();
    (!text.is_empty()).then(|| text.chars().take(MAX_TEXT_CHARS).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(message: &str) -> Vec<(String, Option<String>)> {
        let all = decisions(message).into_iter();
        all.map(|StatedDecision { decision, rationale }| (decision, rationale)).collect()
    }

    fn one(decision: &str, rationale: Option<&str>) -> (String, Option<String>) {
        (decision.to_owned(), rationale.map(str::to_owned))
    }

    #[test]
    fn decisions_are_the_lines_with_the_bold_label() {
        let message = "Done.\n\n- **Decision**: keep `v1` for a release\n- **Rationale**: stability 8\n\n\
                       **Decision:** no cache\n\nText.\n**Rationale**: none of the above";
        assert_eq!(
            found(message),
            [one("keep `v1` for a release", Some("stability 8")), one("no cache", None)]
        );
        assert_eq!(found("1. **Decision**: a\n\n**Rationale**: b"), [one("a", Some("b"))]);
    }

    #[test]
    fn quoted_and_empty_decisions_do_not_count() {
        for message in [
            "```\n**Decision**: a\n```",
            "> **Decision**: a",
            "    **Decision**: a",
            "Use the form **Decision**: a",
            "**Decision**:",
            "Decision: a",
            "**Rationale**: a",
        ] {
            assert_eq!(found(message), [], "{message}");
        }
    }

    #[test]
    fn each_decision_is_kept_once_and_their_number_is_limited() {
        let mut collected = Vec::new();
        for _ in 0..2 {
            collect("**Decision**: a\n**Decision**: b", &mut collected);
        }
        assert_eq!(collected.len(), 2);
        let many: Vec<String> = (0..100).map(|number| format!("**Decision**: {number}")).collect();
        collect(&many.join("\n"), &mut collected);
        assert_eq!(collected.len(), MAX_DECISIONS);
    }
}

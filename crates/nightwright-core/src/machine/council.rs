//! The council: decides conflicts between principles that the agent could not resolve.

use super::Machine;
use crate::event::{CallPurpose, FeedbackSource, NoteEvent};
use crate::principles::CONFLICT;
use crate::prompt::{self, Decision};
use crate::settings::{Council, EvidenceKind};
use crate::stream::news::{Answer, AttemptReport};

/// The maximum length of a stored decision, in bytes.
const MAX_DECISION: usize = 4 << 10;

impl Machine {
    /// Requests a decision about a conflict, once per run, and passes it to the next iteration.
    /// Returns true if the run has to wait for it. This code runs several times and reports each
    /// decision once.
    pub(super) fn council(&mut self, claim: &[EvidenceKind]) -> bool {
        let Some(conflict) = self.conflict() else { return false };
        // An unnamed conflict cannot be decided; only the agent knows it and has the order of
        // principles.
        if conflict == UNNAMED {
            self.feedback_once(FeedbackSource::Council, prompt::undecided(&conflict));
            return false;
        }
        if let Some(decided) = self.decided(&conflict) {
            let text = if decided.iteration == self.current().iteration {
                prompt::decided_now(decided)
            } else {
                prompt::decided_before(decided)
            };
            self.feedback_once(FeedbackSource::Council, text);
            return false;
        }
        let wanted = self.ledger.settings.extras.council == Council::On
            && !self.current().calls_done.contains(&CallPurpose::Council)
            && self.will_continue(claim);
        if wanted {
            let state = &self.ledger;
            let question = prompt::council_question(&state.settings, &state.decisions, &conflict);
            if self.extra_call(CallPurpose::Council, question, Machine::ADVICE_COST) {
                return true;
            }
        }
        self.feedback_once(FeedbackSource::Council, prompt::undecided(&conflict));
        false
    }

    /// Records the decision of the council.
    pub(super) fn council_answered(&mut self, report: &AttemptReport) {
        let decision = match &report.answer {
            Some(Answer::Text { text }) => text.trim(),
            Some(Answer::Verdict(_)) | None => "",
        };
        if decision.is_empty() {
            let why = report.outcome.sentence();
            return self.warn(format!("the council did not decide ({why})"));
        }
        let iteration = self.current().iteration;
        let conflict = self.conflict().unwrap_or_default();
        let decision = prompt::cut_middle(decision, MAX_DECISION).into_owned();
        self.record(NoteEvent::CouncilDecided { iteration, conflict, decision });
    }

    /// Returns the conflict between principles that the agent could not resolve, if any. Without
    /// principles, only the agreed marker counts, because other text may be about anything.
    fn conflict(&self) -> Option<String> {
        let text = Self::text_evidence(self.current())?.conflict.as_deref()?;
        unmarked(text).or_else(|| {
            let has_principles = self.ledger.settings.principles.is_some();
            has_principles.then(|| text.trim().to_owned())
        })
    }

    /// Returns the decision about the same conflict, regardless of its spelling.
    fn decided(&self, conflict: &str) -> Option<&Decision> {
        let key = normal(conflict);
        self.ledger.decisions.iter().rev().find(|decided| normal(&decided.conflict) == key)
    }
}

/// Returns the text around the agreed marker; `None` if the marker is missing.
fn unmarked(text: &str) -> Option<String> {
    let at = text.to_ascii_uppercase().find(CONFLICT)?;
    let joins = |c: char| c.is_whitespace() || ":;,.!-–—*_`#()[]".contains(c);
    let before = text[..at].trim_end_matches(joins).trim_start();
    let after = text[at + CONFLICT.len()..].trim_start_matches(joins).trim_end();
    let after = after.strip_suffix("**").unwrap_or(after);
    let parts: Vec<_> = [before, after].into_iter().filter(|part| !part.is_empty()).collect();
    Some(if parts.is_empty() { UNNAMED.to_owned() } else { parts.join(": ") })
}

/// Placeholder for a conflict that the agent reported with the marker but without a description.
const UNNAMED: &str = "a conflict between principles that it did not name";

/// Returns only the words of the text, in lower case.
fn normal(text: &str) -> String {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agreed_word_is_taken_off_wherever_it_stands() {
        for (text, conflict) in [
            ("PRINCIPLE_CONFLICT_UNRESOLVED: fast or safe?", "fast or safe?"),
            ("**Principle_conflict_unresolved** - fast or safe", "fast or safe"),
            ("**PRINCIPLE_CONFLICT_UNRESOLVED: fast or safe**", "fast or safe"),
            ("Fast or safe (PRINCIPLE_CONFLICT_UNRESOLVED)", "Fast or safe"),
            ("ä: PRINCIPLE_CONFLICT_UNRESOLVED — ö", "ä: ö"),
            ("PRINCIPLE_CONFLICT_UNRESOLVED", UNNAMED),
        ] {
            assert_eq!(unmarked(text).as_deref(), Some(conflict));
        }
        assert_eq!(unmarked("fast or safe"), None);
    }
}

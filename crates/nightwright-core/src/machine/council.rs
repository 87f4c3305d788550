//! Conflicts of principles that the agent could not resolve.

use super::Machine;
use crate::event::{CallPurpose, FeedbackSource, NoteEvent};
use crate::principles::CONFLICT;
use crate::prompt::{self, Decision};
use crate::settings::{Council, EvidenceKind};
use crate::stream::report::{Answer, AttemptReport};

/// More of a decision than this is not kept.
const DECISION_MAX: usize = 4 << 10;

impl Machine {
    /// Has a conflict decided, once for all; the next iteration is told. True when that has to be
    /// waited for. It is passed several times, and what it says is said once.
    pub(super) fn council(&mut self, claim: &[EvidenceKind]) -> bool {
        let Some(conflict) = self.conflict() else { return false };
        // What nobody knows nobody can decide: the agent, who does, has the order to go by.
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

    /// What the council said.
    pub(super) fn council_answered(&mut self, report: &AttemptReport) {
        let decision = match &report.answer {
            Some(Answer::Text { text }) => text.trim(),
            Some(Answer::Verdict(_)) | None => "",
        };
        if decision.is_empty() {
            let why = report.outcome.sentence();
            return self.warn(format!("the council came to no decision ({why})"));
        }
        let iteration = self.current().iteration;
        let conflict = self.conflict().unwrap_or_default();
        let decision = prompt::cut_middle(decision, DECISION_MAX).into_owned();
        self.record(NoteEvent::CouncilDecided { iteration, conflict, decision });
    }

    /// The conflict of principles that the agent could not resolve, if there is one. Where there
    /// are no principles, only the agreed word says so: others may speak of anything.
    fn conflict(&self) -> Option<String> {
        let told = Self::text_evidence(self.current())?.conflict.as_deref()?;
        unmarked(told).or_else(|| {
            let has_principles = self.ledger.settings.principles.is_some();
            has_principles.then(|| told.trim().to_owned())
        })
    }

    /// What was decided about the same conflict, in whatever spelling.
    fn decided(&self, conflict: &str) -> Option<&Decision> {
        let key = normal(conflict);
        self.ledger.decisions.iter().rev().find(|decided| normal(&decided.conflict) == key)
    }
}

/// What is said beside the agreed word; `None` where that is missing.
fn unmarked(told: &str) -> Option<String> {
    let at = told.to_ascii_uppercase().find(CONFLICT)?;
    let joins = |c: char| c.is_whitespace() || ":;,.!-–—*_`#()[]".contains(c);
    let before = told[..at].trim_end_matches(joins).trim_start();
    let after = told[at + CONFLICT.len()..].trim_start_matches(joins).trim_end();
    let after = after.strip_suffix("**").unwrap_or(after);
    let parts: Vec<_> = [before, after].into_iter().filter(|part| !part.is_empty()).collect();
    Some(if parts.is_empty() { UNNAMED.to_owned() } else { parts.join(": ") })
}

/// A conflict of which nothing but the agreed word was said.
const UNNAMED: &str = "a conflict of principles that it did not name";

/// The words alone, in small letters.
fn normal(text: &str) -> String {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agreed_word_is_taken_off_wherever_it_stands() {
        for (told, conflict) in [
            ("PRINCIPLE_CONFLICT_UNRESOLVED: fast or safe?", "fast or safe?"),
            ("**Principle_conflict_unresolved** - fast or safe", "fast or safe"),
            ("**PRINCIPLE_CONFLICT_UNRESOLVED: fast or safe**", "fast or safe"),
            ("Fast or safe (PRINCIPLE_CONFLICT_UNRESOLVED)", "Fast or safe"),
            ("ä: PRINCIPLE_CONFLICT_UNRESOLVED — ö", "ä: ö"),
            ("PRINCIPLE_CONFLICT_UNRESOLVED", UNNAMED),
        ] {
            assert_eq!(unmarked(told).as_deref(), Some(conflict));
        }
        assert_eq!(unmarked("fast or safe"), None);
    }
}

//! The words of an agent that count: the evidence in them, and the answer to a call.

use super::last_text::end_of;
use super::{QueuedTurn, Transcript, masking};
use crate::event::CallPurpose;
use crate::evidence::{self, blockers, decisions};
use crate::stream::news::{Answer, Blocker, StatedDecision, TextEvidence, TurnEnd};
use crate::stream::outcome::{AttemptOutcome, CancelReason, Consequence};
use crate::stream::verdict::verdict;

/// The maximum length of a text answer in bytes.
const MAX_ANSWER: usize = 16 << 10;

impl Transcript {
    /// Collects the blockers and decisions in a message.
    pub(super) fn collect(&mut self, text: &str) {
        let (blockers, decisions) = stated(text);
        if blockers.is_empty() && decisions.is_empty() {
            return;
        }
        let (masked_blockers, masked_decisions) = stated(&self.secrets.mask(text));
        let blockers = masking::blockers(&self.secrets, blockers, masked_blockers);
        let decisions = masking::decisions(&self.secrets, decisions, masked_decisions);
        blockers::add(blockers, &mut self.blockers);
        decisions::add(decisions, &mut self.decisions);
    }

    /// The evidence in the last words of a turn. After an error, they are not the agent's.
    pub(super) fn turn_evidence(&self, how: TurnEnd, text: &str) -> Option<TextEvidence> {
        match how {
            TurnEnd::Well | TurnEnd::Queued if self.purpose.is_none() => {
                Some(self.evidence(text, &masking::final_text(&self.secrets, text)))
            }
            TurnEnd::Well | TurnEnd::Queued | TurnEnd::Failed => None,
        }
    }

    /// The evidence in a final message, in the words of its masked version.
    fn evidence(&self, text: &str, shown: &str) -> TextEvidence {
        let read =
            |text| evidence::text_evidence(text, &self.completion, self.dialect.text_shape());
        let words = read(text);
        if shown == text { words } else { masking::evidence(&self.secrets, words, read(shown)) }
    }

    /// Keeps an earlier claim if everything after it was an answer in words to an earlier message,
    /// without any tool call.
    fn with_claim_before(&self, mut words: TextEvidence, text: &str) -> TextEvidence {
        if let Some(QueuedTurn { calls, text_evidence: before }) = &self.before
            && *calls == self.tools.calls()
            && words.findings.is_empty()
            && words.blockers.is_empty()
            && words.conflict.is_none()
            && !evidence::retracts(text)
        {
            words.promise |= before.promise;
            words.signal |= before.signal;
            words.end_phrase |= before.end_phrase;
            words.states_done |= before.states_done;
            if words.promise {
                words.marker_ignored = None;
            }
        }
        words
    }

    /// The evidence of an attempt. Only an attempt that finished can claim completion. Its blockers
    /// count even if it was cut off, unless it was stopped on request.
    pub(super) fn text_evidence(
        &self,
        outcome: &AttemptOutcome,
        cut: Option<CancelReason>,
        (text, shown): (&str, &str),
    ) -> TextEvidence {
        let mut words = match outcome.consequence() {
            Consequence::Assess if self.purpose.is_none() => {
                self.with_claim_before(self.evidence(text, shown), text)
            }
            Consequence::Assess
            | Consequence::AssessWorkTree
            | Consequence::Wait { .. }
            | Consequence::Retry
            | Consequence::FailIteration { .. }
            | Consequence::EndRun { .. } => {
                TextEvidence { summary: evidence::summary(shown), ..TextEvidence::default() }
            }
        };
        if self.purpose.is_some() || cut == Some(CancelReason::StopNow) {
            words.blockers.clear();
            words.decisions.clear();
            return words;
        }
        let (mut heard, mut decided) = (self.blockers.clone(), self.decisions.clone());
        blockers::add(std::mem::take(&mut words.blockers), &mut heard);
        decisions::add(std::mem::take(&mut words.decisions), &mut decided);
        TextEvidence { blockers: heard, decisions: decided, ..words }
    }

    pub(super) fn answer(
        &self,
        outcome: &AttemptOutcome,
        text: &str,
        shown: &str,
    ) -> Option<Answer> {
        let purpose = self.purpose?;
        if outcome.consequence() != Consequence::Assess {
            return None;
        }
        let structured = self.current_result().and_then(|result| result.structured.as_deref());
        match purpose {
            CallPurpose::Verify => {
                let printed = verdict(text, structured)?;
                let result = self.current_result().map(|result| result.masked(&self.secrets));
                let structured = result.and_then(|result| result.structured);
                let masked = verdict(shown, structured.as_deref());
                Some(Answer::Verdict(masking::verdict(&self.secrets, printed, masked)))
            }
            // An advisor that ran out of money or turns was not finished: its last message is no
            // decision.
            CallPurpose::Advise | CallPurpose::Council if *outcome != AttemptOutcome::Finished => {
                None
            }
            CallPurpose::Review | CallPurpose::Advise | CallPurpose::Council => {
                let text = end_of(shown.trim(), MAX_ANSWER);
                (!text.is_empty()).then(|| Answer::Text { text: text.to_owned() })
            }
        }
    }
}

/// The blockers and decisions in a message.
fn stated(text: &str) -> (Vec<Blocker>, Vec<StatedDecision>) {
    let (mut blockers, mut decisions) = (Vec::new(), Vec::new());
    blockers::collect(text, &mut blockers);
    decisions::collect(text, &mut decisions);
    (blockers, decisions)
}

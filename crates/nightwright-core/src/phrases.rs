//! Wording of events, outcomes, limits and waits. Screens, log, notifications, report and `status`
//! share these phrases, so that each thing has one name everywhere.
//!
//! Unless documented otherwise, a phrase starts in lower case and has no full stop. It fits into a
//! line, after a label and into a sentence.

mod check;
mod claim;
mod event;
pub mod familiar;
mod iteration;
mod outcome;
mod rehearsal;

use std::time::Duration;

pub use self::check::{
    CHECKS_PASSED, OUTSIDE, check, check_before, check_verdict, check_with_tests, failing,
    failing_curve,
};
pub use self::claim::{
    NO_BUDGET_FOR_VERDICT, accepted, claim_outcome, claimed_by, gate_result, verdict,
};
pub use self::event::{EventPhrase, event, host_refused, retry_refused, stop_requested};
pub use self::iteration::{
    changes, figures, iteration, iteration_of_kind, iteration_status, remaining,
};
pub use self::outcome::{consecutive, headline, reached_limit, report_status};
pub use self::rehearsal::{NOTHING_SPENT, REHEARSAL, REHEARSAL_ENDED, rehearsed_cost};
use crate::event::{CallPurpose, Charge, CostSource, SecondOpinion, WaitEnd, WaitKind};
use crate::outcome::count;
use crate::permissions::denial::{self, DeniedCommand};
use crate::settings::Limits;
use crate::stream::news::WatchdogSignal;
use crate::stream::outcome::{CancelReason, Deadline};
use crate::units::{Usd, human};

/// The name of a limit that a run waits for: `usage limit`.
pub fn limit(limit: WaitKind) -> &'static str {
    match limit {
        WaitKind::Usage => "usage limit",
        WaitKind::Rate => "rate limit",
        WaitKind::Quota => "quota limit",
    }
}

/// The start of a wait: `usage limit: waiting until 18:13 (2h 13m)`.
pub fn wait_started(kind: WaitKind, until: &str, wait: Duration) -> String {
    format!("{}: waiting until {until} ({})", limit(kind), human(wait))
}

/// The end of a wait: `continuing after a wait of 2h 13m`.
pub fn wait_ended(why: WaitEnd, waited: Duration) -> String {
    let waited = human(waited);
    match why {
        WaitEnd::Elapsed => format!("continuing after a wait of {waited}"),
        WaitEnd::RetryNow => format!("retrying after a wait of {waited}, as requested"),
        WaitEnd::Stopped => format!("stopped waiting after {waited}"),
    }
}

/// The limits that are set: `at most 50 iterations, $20.00, 8h 00m of work`.
pub fn limits(limits: &Limits) -> String {
    let parts: Vec<_> = [
        limits.max_iterations.map(|most| count(most, "iteration")),
        limits.max_cost.map(Usd::exact),
        limits.max_duration.map(|most| format!("{} of work", human(most))),
        limits.max_tokens.map(|most| format!("{} tokens", thousands(most))),
    ]
    .into_iter()
    .flatten()
    .collect();
    if parts.is_empty() { "no limits".to_owned() } else { format!("at most {}", parts.join(", ")) }
}

/// The name of an attempt: `attempt 2`, counted within its iteration.
pub fn attempt(number: u32) -> String {
    format!("attempt {number}")
}

/// The end of an attempt: `attempt 2: finished, 7 turns, $0.42, 6m 12s`.
/// `rehearsed` is the suffix of amounts in a rehearsal.
pub fn attempt_finished(number: u32, charge: Charge<'_>, rehearsed: &str) -> String {
    let Charge { cost, figure, report, duration, .. } = charge;
    let (name, outcome, cost) =
        (attempt(number), report.outcome.sentence(), self::cost(cost, figure));
    let (turns, took) = (count(report.turns, "turn"), human(duration));
    format!("{name}: {outcome}, {turns}, {cost}{rehearsed}, {took}")
}

/// The end of a call: `verify: finished, $0.02, 9s`. `rehearsed` is the suffix of amounts in a
/// rehearsal.
pub fn call_finished(charge: Charge<'_>, rehearsed: &str) -> String {
    let Charge { purpose, cost, figure, report, duration } = charge;
    let (outcome, cost) = (report.outcome.sentence(), self::cost(cost, figure));
    format!("{purpose}: {outcome}, {cost}{rehearsed}, {}", human(duration))
}

/// A cost, marked if it is an estimate: `about $0.42`.
pub fn cost(cost: Usd, figure: CostSource) -> String {
    match figure {
        CostSource::Reported => cost.to_string(),
        CostSource::Estimated => format!("about {cost}"),
    }
}

/// The estimated part of a cost: `, $0.12 of it estimated`. Empty if there is none.
pub fn estimated_part(estimated: Usd) -> String {
    match estimated {
        Usd::ZERO => String::new(),
        estimated => format!(", {estimated} of it estimated"),
    }
}

/// A number and the limit at which the run ends: `idle 2 of 3`, `no improvement 4`.
pub fn toward_limit(name: &str, number: u32, limit: u32) -> String {
    match limit {
        0 => format!("{name} {number}"),
        limit => format!("{name} {number} of {limit}"),
    }
}

/// Checks in progress: ``running the checks (`make test`)``.
pub fn running_checks(commands: &[String]) -> String {
    format!("running the checks ({})", self::commands(commands))
}

/// The number of files that a warning names.
const MAX_NAMED_FILES: usize = 5;

/// Files that the checks wrote, which do not count as work.
pub fn checks_wrote(files: &[String]) -> String {
    format!("the checks wrote files, which do not count as work: {}", file_names(files))
}

/// Returns the names of the first few files, and the number of the remaining ones.
pub fn file_names(files: &[String]) -> String {
    let shown: Vec<_> =
        files.iter().take(MAX_NAMED_FILES).map(|file| format!("`{file}`")).collect();
    match files.len() - shown.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// A list of commands: `` `make test`, `make lint` ``.
pub fn commands(commands: &[String]) -> String {
    let commands: Vec<_> = commands.iter().map(|command| format!("`{command}`")).collect();
    commands.join(", ")
}

/// A call in progress, by its purpose. `second` is the source of a second opinion.
pub fn call(purpose: CallPurpose, second: Option<SecondOpinion>) -> &'static str {
    match purpose {
        CallPurpose::Verify => match second {
            None => "asking a model whether the work is complete",
            Some(SecondOpinion::OtherModel) => "asking another model for a second opinion",
            Some(SecondOpinion::SameModel) => {
                "asking the same model for a second opinion, because the configuration names no \
                 other"
            }
        },
        CallPurpose::Review => "asking a model to review the work",
        CallPurpose::Advise => "asking a model for advice",
        CallPurpose::Council => "asking a model to decide between principles",
    }
}

/// A denied command, and how to allow it: `make (allow with --allowed-tools "Bash(make:*)")`.
pub fn denied(refused: &DeniedCommand) -> String {
    denied_as(&refused.what(), refused.rule.as_deref())
}

/// Like [`denied`], with a shortened form of the command.
pub fn denied_as(command: &str, rule: Option<&str>) -> String {
    format!("{command} ({})", denial::advice(rule))
}

/// The watchdog's finding, as a short description.
pub fn watchdog_signal(signal: WatchdogSignal) -> &'static str {
    match signal {
        WatchdogSignal::GivingUp => "the agent gave up",
        WatchdogSignal::Asking => "the agent asked a question",
        WatchdogSignal::Repetition => "the agent repeated itself",
        WatchdogSignal::ToolErrors => "the agent had repeated tool errors",
        WatchdogSignal::Compaction => "the agent compacted its context repeatedly",
    }
}

/// The reason why nightwright cancelled an attempt.
pub fn cancel_reason(why: CancelReason) -> &'static str {
    match why {
        CancelReason::Deadline(Deadline::Start) => "it timed out before it was ready",
        CancelReason::Deadline(Deadline::Idle) => "it timed out without output",
        CancelReason::Deadline(Deadline::Tool) => "it timed out in a tool call",
        CancelReason::Deadline(Deadline::Attempt) => "it timed out",
        CancelReason::AfterResult => "it did not exit after its result",
        CancelReason::Limit => "it reached its share of the remaining budget",
        CancelReason::Auth => "the provider refused its login",
        CancelReason::StopNow => "the run stops now",
    }
}

/// The phrase with an upper-case first letter, for the start of a line.
pub fn capitalized(phrase: &str) -> String {
    let mut chars = phrase.chars();
    let first = chars.next().into_iter().flat_map(char::to_uppercase);
    first.chain(chars).collect()
}

/// A number with separators between groups of three digits: `12,345,678`.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::VerdictKind;

    #[test]
    fn digits_are_grouped_by_three() {
        let cases = [(0, "0"), (999, "999"), (1_000, "1,000"), (12_345_678, "12,345,678")];
        for (number, text) in cases {
            assert_eq!(thousands(number), text);
        }
    }

    #[test]
    fn only_limits_that_are_set_are_named() {
        let none = Limits {
            max_iterations: None,
            max_cost: None,
            max_duration: None,
            max_tokens: None,
            ..Limits::default()
        };
        assert_eq!(limits(&none), "no limits");
        let some = Limits { max_iterations: Some(1), max_tokens: Some(2_000_000), ..none };
        assert_eq!(limits(&some), "at most 1 iteration, 2,000,000 tokens");
    }

    #[test]
    fn a_second_opinion_is_called_one_and_names_its_source() {
        let asks = |second| call(CallPurpose::Verify, second);
        let gives = |second| verdict(VerdictKind::Yes, &[], second);
        let (other, same) = (Some(SecondOpinion::OtherModel), Some(SecondOpinion::SameModel));
        assert_eq!(asks(other), "asking another model for a second opinion");
        assert!(asks(same).contains("the same model") && !asks(same).contains("another model"));
        assert_eq!(gives(None), "a model's verdict: complete");
        assert_eq!(gives(same), "a second opinion: complete");
    }

    #[test]
    fn a_phrase_that_begins_a_line_is_capitalized() {
        assert_eq!(capitalized("paused"), "Paused");
        assert_eq!(capitalized("`x` failed"), "`x` failed");
        assert_eq!(capitalized(""), "");
    }
}

//! The dialect of any program that reads a prompt from standard input, prints plain text and
//! returns an exit code.
//!
//! Such a program reports neither when it is ready nor what it costs. All its output counts as
//! words of the agent, and none as a message about the account.

use std::time::Duration;

use super::{AgentOptions, FinishedAttempt};
use crate::stream::message::{AgentMessage, MessageKind, Owner, TextPart};
use crate::stream::outcome::{AttemptOutcome, ProcessExit, Suspicion};
use crate::units::Usd;

/// The assumed cost per second of a program that never reports it: $18 per hour, as for a busy
/// session with the most expensive model. An estimate that is too high stops a run early; without
/// one, a run would exceed every limit.
const PER_SECOND: Usd = Usd::from_micros(5_000);

/// The minimum cost of starting the program.
const MIN_COST: Usd = Usd::from_cents(1);

/// The number of bytes read from the end of a line.
const MAX_LINE: usize = 1 << 20;

/// Decodes one line as text of the agent.
pub(super) fn decode(line: &[u8], each: &mut impl FnMut(AgentMessage<'_>)) {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    // Each invalid byte becomes three bytes.
    let line = &line[line.len().saturating_sub(MAX_LINE)..];
    let text = String::from_utf8_lossy(line);
    each(AgentMessage {
        owner: Owner::Main,
        kind: MessageKind::Text { text, part: TextPart::Whole },
    });
}

/// The arguments: only the user's own, because the options of the program are unknown.
pub(super) fn arguments(options: &AgentOptions<'_>) -> Vec<String> {
    options.extra.to_vec()
}

/// The prompt, preceded by the system prompt, because there is no option for it.
pub(super) fn prompt_text(system: &str, user: &str) -> String {
    match system.trim_end() {
        "" => user.to_owned(),
        system => format!("{system}\n\n{user}"),
    }
}

/// The outcome by the exit code; `None` if there is none, or if nightwright caused it.
pub(super) fn classify(attempt: &FinishedAttempt<'_>) -> Option<AttemptOutcome> {
    match (attempt.cut, attempt.exit) {
        (None, Some(ProcessExit::Code(0))) if attempt.saw_stdout => Some(AttemptOutcome::Finished),
        (None, Some(ProcessExit::Code(0))) => {
            Some(AttemptOutcome::Suspect { why: Suspicion::NoSignOfWork })
        }
        (None, Some(ProcessExit::Code(_) | ProcessExit::Signal(_)) | None) | (Some(_), _) => None,
    }
}

/// The assumed cost of an attempt of this duration; `None` if the duration is unknown.
pub(super) fn price_of(time: Duration) -> Option<Usd> {
    if time.is_zero() {
        return None;
    }
    let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let micros = PER_SECOND.micros().saturating_mul(millis) / 1000;
    Some(Usd::from_micros(micros).clamp(MIN_COST, Usd::MAX))
}

/// The time after which the assumed cost reaches this amount.
pub(super) fn time_for(cost: Usd) -> Duration {
    let millis = u128::from(cost.micros()) * 1000 / u128::from(PER_SECOND.micros());
    Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::event::AgentFacts;
    use crate::permissions::Permissions;
    use crate::settings::WatchdogResponse;
    use crate::stream::dialect::{Dialect, InputShape};
    use crate::stream::outcome::{CancelReason, Deadline};
    use crate::units::Tokens;

    fn ended(exit: ProcessExit, saw_stdout: bool, stderr: &str) -> FinishedAttempt<'_> {
        FinishedAttempt {
            cut: None,
            exit: Some(exit),
            result: None,
            error: None,
            rate_limit: None,
            api_key: "",
            tool_calls: 0,
            tokens: Tokens::default(),
            saw_stdout,
            stderr,
            now: Timestamp::UNIX_EPOCH,
            zone: None,
        }
    }

    fn outcome(attempt: &FinishedAttempt<'_>) -> String {
        Dialect::Command.classify(attempt).name().to_owned()
    }

    #[test]
    fn the_exit_code_and_what_was_printed_say_what_came_of_it() {
        let cases = [
            (ProcessExit::Code(0), true, "", "finished"),
            (ProcessExit::Code(0), true, "warning", "finished"),
            (ProcessExit::Code(0), false, "", "suspect"),
            (ProcessExit::Code(1), true, "boom", "crashed"),
            (ProcessExit::Code(1), false, "boom", "crashed"),
            (ProcessExit::Code(1), false, " \n", "crashed"),
            (ProcessExit::Code(2), false, "usage: agent", "crashed"),
            (ProcessExit::Code(127), false, "", "bad_start"),
            (ProcessExit::Code(143), false, "Terminated", "crashed"),
            (ProcessExit::Signal(9), false, "boom", "crashed"),
        ];
        for (exit, saw_stdout, stderr, name) in cases {
            assert_eq!(outcome(&ended(exit, saw_stdout, stderr)), name, "{exit:?} {stderr}");
        }
        let unobserved = FinishedAttempt { exit: None, ..ended(ProcessExit::Code(0), true, "") };
        assert_eq!(outcome(&unobserved), "lost");
    }

    #[test]
    fn a_cancelled_program_has_not_finished_whatever_its_exit_code() {
        let cases = [
            (CancelReason::Deadline(Deadline::Idle), "timed_out"),
            (CancelReason::Limit, "attempt_budget"),
            (CancelReason::StopNow, "interrupted"),
        ];
        for (cut, name) in cases {
            let attempt =
                FinishedAttempt { cut: Some(cut), ..ended(ProcessExit::Code(0), true, "") };
            assert_eq!(outcome(&attempt), name);
        }
    }

    #[test]
    fn a_line_is_words_of_the_agent_whatever_it_looks_like() {
        for line in [r#"{"type":"result","is_error":true}"#, "5-hour limit reached|1999999999"] {
            let mut seen = Vec::new();
            Dialect::Command
                .decode(line.as_bytes(), &mut |message| seen.push(format!("{:?}", message.kind)))
                .unwrap();
            assert_eq!(seen, [format!("Text {{ text: {line:?}, part: Whole }}")]);
        }
        Dialect::Command
            .decode(b"caf\xe9\r", &mut |message| {
                assert_eq!(format!("{:?}", message.kind), r#"Text { text: "caf�", part: Whole }"#);
            })
            .unwrap();
    }

    #[test]
    fn only_the_users_own_arguments_are_given_and_the_system_prompt_opens_the_prompt() {
        let extra = ["--model".to_owned(), "big".to_owned()];
        let options = AgentOptions {
            model: Some("opus"),
            cap: Some(Usd::from_cents(5)),
            permissions: Permissions::Bypass,
            input: InputShape::Messages,
            extra: &extra,
            ..AgentOptions::default()
        };
        assert_eq!(Dialect::Command.arguments(&options), extra);
        assert_eq!(Dialect::Command.prompt_text("Be brief.\n", "/help\n"), "Be brief.\n\n/help\n");
        assert_eq!(Dialect::Command.prompt_text("", "Go."), "Go.");
    }

    #[test]
    fn nothing_can_follow_the_prompt() {
        for respond in [WatchdogResponse::Off, WatchdogResponse::Live, WatchdogResponse::Next] {
            assert_eq!(Dialect::Command.input(respond), InputShape::Prompt);
        }
        assert_eq!(Dialect::Claude.input(WatchdogResponse::Live), InputShape::Messages);
        assert_eq!(Dialect::Claude.input(WatchdogResponse::Next), InputShape::Prompt);
    }

    #[test]
    fn an_unreported_cost_is_estimated_by_time_and_never_zero() {
        let price = |time| Dialect::Command.price_of_time(time);
        assert_eq!(price(Duration::from_millis(1)), Some(Usd::from_cents(1)));
        assert_eq!(price(Duration::from_mins(1)), Some(Usd::from_cents(30)));
        assert!(price(Duration::MAX) > price(Duration::from_hours(10_000)), "no overflow");
        assert_eq!(price(Duration::ZERO), None, "nobody watched it");
        assert_eq!(Dialect::Claude.price_of_time(Duration::from_mins(1)), None);
    }

    #[test]
    fn the_time_for_an_amount_is_priced_at_that_amount() {
        for cents in [1, 5, 25, 1_000_000] {
            let cost = Usd::from_cents(cents);
            assert_eq!(price_of(time_for(cost)), Some(cost));
        }
        assert_eq!(Dialect::Claude.time_for(Usd::from_cents(5)), None);
        assert_eq!(time_for(Usd::MAX), Duration::from_secs(200_000_000_000_000));
    }

    #[test]
    fn an_agent_is_known_by_its_name() {
        let dialect = |name: &str| {
            AgentFacts { name: name.to_owned(), ..AgentFacts::default() }.kind().dialect()
        };
        assert_eq!(dialect("command"), Dialect::Command);
        assert_eq!(dialect("codex"), Dialect::Claude);
        assert_eq!(dialect("rehearsal"), Dialect::Claude);
    }
}

//! Any program: the prompt on its standard input, plain text on its output, and an exit code.
//!
//! It says neither when it is ready nor what it costs, and nothing in its text is taken for a word
//! about the account: whatever it prints are words of the agent.

use std::time::Duration;

use super::{FinishedAttempt, LaunchOptions};
use crate::stream::message::{AgentMessage, MessageKind, Owner, TextPart};
use crate::stream::outcome::{AttemptOutcome, ProcessExit, Suspicion};
use crate::units::Usd;

/// What a program that never says is assumed to cost a second: eighteen dollars an hour, about
/// what a busy session with the dearest model comes to. An estimate that is too high stops a run
/// early; none at all would spend past every limit.
const PER_SECOND: Usd = Usd::from_micros(5_000);

/// No start of a program is cheaper than this.
const MIN_COST: Usd = Usd::from_cents(1);

/// What is read of a line, from its end.
const LINE_MAX: usize = 1 << 20;

/// Reads one line: it is what the agent says.
pub(super) fn decode(line: &[u8], each: &mut impl FnMut(AgentMessage<'_>)) {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    // Bytes that are no text become three times as many.
    let line = &line[line.len().saturating_sub(LINE_MAX)..];
    let text = String::from_utf8_lossy(line);
    each(AgentMessage {
        owner: Owner::Main,
        kind: MessageKind::Text { text, part: TextPart::Whole },
    });
}

/// The user's own arguments are all there are: nothing is known of the program's options.
pub(super) fn arguments(ask: &LaunchOptions<'_>) -> Vec<String> {
    ask.extra.to_vec()
}

/// There is no option for a system prompt, so it opens the prompt.
pub(super) fn prompt_text(system: &str, user: &str) -> String {
    match system.trim_end() {
        "" => user.to_owned(),
        system => format!("{system}\n\n{user}"),
    }
}

/// What the exit code says; `None` when there is none, or it tells of our own doing.
pub(super) fn classify(ending: &FinishedAttempt<'_>) -> Option<AttemptOutcome> {
    match (ending.cut, ending.exit) {
        (None, Some(ProcessExit::Code(0))) if ending.saw_stdout => Some(AttemptOutcome::Finished),
        (None, Some(ProcessExit::Code(0))) => {
            Some(AttemptOutcome::Suspect { why: Suspicion::NoSignOfWork })
        }
        (None, Some(ProcessExit::Code(_) | ProcessExit::Signal(_)) | None) | (Some(_), _) => None,
    }
}

/// What an attempt of this length is assumed to have cost; `None` for one that was not watched.
pub(super) fn price_of(time: Duration) -> Option<Usd> {
    if time.is_zero() {
        return None;
    }
    let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let micros = PER_SECOND.micros().saturating_mul(millis) / 1000;
    Some(Usd::from_micros(micros).clamp(MIN_COST, Usd::MAX))
}

/// How long it may work until it is assumed to have cost this.
pub(super) fn time_for(cost: Usd) -> Duration {
    let millis = u128::from(cost.micros()) * 1000 / u128::from(PER_SECOND.micros());
    Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
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

    fn outcome(ending: &FinishedAttempt<'_>) -> String {
        Dialect::Command.classify(ending).name().to_owned()
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
        let nobody_saw = FinishedAttempt { exit: None, ..ended(ProcessExit::Code(0), true, "") };
        assert_eq!(outcome(&nobody_saw), "lost");
    }

    #[test]
    fn a_program_that_we_ended_has_not_finished_whatever_its_exit_code() {
        let cases = [
            (CancelReason::Deadline(Deadline::Idle), "timed_out"),
            (CancelReason::Limit, "attempt_budget"),
            (CancelReason::StopNow, "interrupted"),
        ];
        for (cut, name) in cases {
            let ending =
                FinishedAttempt { cut: Some(cut), ..ended(ProcessExit::Code(0), true, "") };
            assert_eq!(outcome(&ending), name);
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
        let ask = LaunchOptions {
            model: Some("opus"),
            cap: Some(Usd::from_cents(5)),
            permissions: Permissions::Bypass,
            input: InputShape::Messages,
            extra: &extra,
            ..LaunchOptions::default()
        };
        assert_eq!(Dialect::Command.arguments(&ask), extra);
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
    fn what_never_says_its_cost_is_priced_by_its_time_and_never_at_nothing() {
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
        assert_eq!(Dialect::named("command"), Some(Dialect::Command));
        assert_eq!(Dialect::named("codex"), None);
        assert_eq!(Dialect::of_agent("rehearsal"), Dialect::Claude);
    }
}

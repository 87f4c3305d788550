//! The reset time of a usage limit in text: any text yields a plausible time, or none.
//!
//! The first eight bytes are the current time; the rest is the text.

#![no_main]

use jiff::{SignedDuration, Timestamp};
use nightwright_core::stream::dialect::{Dialect, FinishedAttempt};
use nightwright_core::stream::message::{ErrorFacts, ResultFacts};
use nightwright_core::stream::outcome::{AttemptOutcome, ProcessExit};
use nightwright_core::units::Tokens;
use libfuzzer_sys::fuzz_target;

/// Dates have no year, so the latest is a year after the oldest date that counts as the current
/// year.
const FARTHEST: SignedDuration = SignedDuration::from_hours(367 * 24);

fuzz_target!(|input: &[u8]| {
    let Some((seconds, words)) = input.split_first_chunk::<8>() else { return };
    let seconds = i64::from_le_bytes(*seconds);
    let range = Timestamp::MIN.as_second()..=Timestamp::MAX.as_second();
    // The modulus keeps realistic years within reach of the fuzzer, and the extremes too.
    let now = if range.contains(&seconds) { seconds } else { seconds % Timestamp::MAX.as_second() };
    let Ok(now) = Timestamp::from_second(now) else { return };
    let words = String::from_utf8_lossy(words);

    let result = ResultFacts {
        subtype: "success".to_owned(),
        is_error: true,
        text: Some(words.clone().into_owned()),
        error: ErrorFacts {
            detail: "usage_limit_reached".to_owned(),
            text: words.clone().into_owned(),
            ..ErrorFacts::default()
        },
        ..ResultFacts::default()
    };
    let outcome = Dialect::Claude.classify(&FinishedAttempt {
        cut: None,
        exit: Some(ProcessExit::Code(1)),
        result: Some(&result),
        error: None,
        rate_limit: None,
        api_key: "",
        tool_calls: 0,
        tokens: Tokens::default(),
        saw_stdout: true,
        stderr: "",
        now,
    });
    let AttemptOutcome::UsageLimited { until } = outcome else {
        panic!("a usage limit became {outcome:?}");
    };
    // Unix seconds can name any time, and so can a date with a year, which has two commas.
    if let Some(until) = until
        && !words.contains("limit reached|")
        && words.matches(',').count() < 2
    {
        let away = until.duration_since(now).abs();
        assert!(away <= FARTHEST, "{words:?} at {now} is {until}");
    }
});

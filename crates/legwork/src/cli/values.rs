//! Values on the command line: parsed once, at the border.

use std::time::Duration;

use jiff::SignedDuration;
use legwork_core::policy::limits::{LEAST_COST, LEAST_TIME};
use legwork_core::units::{Usd, human, whole_millis};

/// A duration: plain numbers are seconds; `2s`, `1h 30m` and the like. Nothing is finer than a
/// millisecond.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    any_duration(text).map(whole_millis)
}

fn any_duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let allowed = "a duration such as `90`, `2s` or `1h 30m`, not negative";
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds)
            .ok()
            .filter(|_| seconds.is_finite())
            .ok_or_else(|| allowed.to_owned());
    }
    let parsed: SignedDuration = text.parse().map_err(|_| allowed.to_owned())?;
    Duration::try_from(parsed).map_err(|_| allowed.to_owned())
}

/// A shorter run would end before it has begun.
const LEAST_RUN: Duration = Duration::from_mins(1);

/// The time a run may work.
pub(super) fn run_time(text: &str) -> Result<Duration, String> {
    let time = duration(text)?;
    if time < LEAST_RUN {
        return Err(format!(
            "at least {}: no attempt starts with less than {}",
            human(LEAST_RUN),
            human(LEAST_TIME)
        ));
    }
    Ok(time)
}

/// An amount of money that is worth starting with.
pub(super) fn cost(text: &str) -> Result<Usd, String> {
    let amount = text.trim().trim_start_matches('$');
    amount.parse().ok().and_then(Usd::from_dollars).filter(|usd| *usd >= LEAST_COST).ok_or_else(
        || format!("an amount in US dollars of at least {LEAST_COST}, such as `5` or `2.50`"),
    )
}

/// A number of tokens that is worth starting with.
pub(super) fn tokens(text: &str) -> Result<u64, String> {
    let plain: String = text.trim().chars().filter(|c| *c != '_').collect();
    plain
        .parse()
        .ok()
        .filter(|tokens| *tokens > 0)
        .ok_or_else(|| "a whole number of tokens above 0, such as `500000`".to_owned())
}

/// A plain count.
pub(super) fn count(text: &str) -> Result<u32, String> {
    text.trim().parse().map_err(|_| "a whole number, 0 or more".to_owned())
}

/// A count of at least one.
pub(super) fn at_least_one(text: &str) -> Result<u32, String> {
    count(text)
        .ok()
        .filter(|count| *count > 0)
        .ok_or_else(|| "a whole number, 1 or more".to_owned())
}

/// Something that says something.
pub(super) fn text(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("some text; it is empty".to_owned()),
        _ => Ok(text.to_owned()),
    }
}

/// Text for the agent. A list may begin with a dash, but a single word with one is an option that
/// was mistyped, or whose text was forgotten.
pub(super) fn words(given: &str) -> Result<String, String> {
    let word = given.trim();
    if word.len() > 1 && word.starts_with('-') && !word.contains(char::is_whitespace) {
        return Err("text in words; this looks like an option".to_owned());
    }
    text(given)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_for_the_agent_can_be_a_list_but_not_an_option() {
        for given in ["- mend the tests\n- then the pages", "-", "mend --all"] {
            assert_eq!(words(given).as_deref(), Ok(given));
        }
        for given in ["-m", "--max-cost", "", " "] {
            assert!(words(given).is_err(), "{given}");
        }
    }

    #[test]
    fn plain_numbers_are_seconds_and_units_work() {
        let cases = [
            ("90", 90.0),
            ("0", 0.0),
            ("0.5", 0.5),
            ("2s", 2.0),
            ("1h 30m", 5400.0),
            ("1h30m", 5400.0),
        ];
        for (text, seconds) in cases {
            assert_eq!(duration(text), Ok(Duration::from_secs_f64(seconds)), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_is_refused() {
        for text in ["", "-1", "-5m", "soon", "nan", "inf", "1e400", "5 parsecs"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn money_is_plain_or_with_its_sign() {
        assert_eq!(cost("2.50"), Ok(Usd::from_cents(250)));
        assert_eq!(cost("$5"), Ok(Usd::from_cents(500)));
        for text in ["0", "-1", "0.001", "much", "nan"] {
            assert!(cost(text).is_err(), "{text}");
        }
    }
}

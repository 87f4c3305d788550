//! Values on the command line: parsed once, at the border.

use std::time::Duration;

use nightwright_core::policy::limits::MIN_TIME;
use nightwright_core::units::human;

pub(super) use crate::config::amounts::{cost, count, duration, tokens};

use crate::config::amounts::MIN_RUN_DURATION;

/// The time a run may work.
pub(super) fn run_time(text: &str) -> Result<Duration, String> {
    let time = duration(text)?;
    if time < MIN_RUN_DURATION {
        return Err(format!(
            "at least {}: no attempt starts with less than {}",
            human(MIN_RUN_DURATION),
            human(MIN_TIME)
        ));
    }
    Ok(time)
}

/// A count of at least one.
pub(super) fn at_least_one(text: &str) -> Result<u32, String> {
    count(text)
        .ok()
        .filter(|count| *count > 0)
        .ok_or_else(|| format!("a whole number from 1 to {}", u32::MAX))
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
}

//! Parsers for values on the command line.

use crate::config::{self, FieldValue, Items, ValueKind};

/// Returns the parser of an option that sets a key: it accepts the same values as a file.
pub(crate) fn setting<T: FieldValue>(
    key: &'static str,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    move |text| config::parse_setting(key, text).map_err(|allowed| expected(&allowed))
}

/// Describes the values that are allowed, for the error about another one.
pub(crate) fn expected(allowed: &str) -> String {
    format!("expected {allowed}")
}

/// Accepts any text that is not blank.
pub(crate) fn text(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("it must not be empty".to_owned()),
        _ => Ok(text.to_owned()),
    }
}

/// Parses a rule for a tool. A rule that the agent program cannot read would allow nothing, and the
/// run would be denied the same again.
pub(crate) fn tool(text: &str) -> Result<String, String> {
    let tools = ValueKind::List(Items::Tools);
    tools.parse_option(text).map(|_| text.to_owned()).map_err(|allowed| expected(&allowed))
}

/// Accepts text for the agent. A list may begin with a dash, but a single word with a dash is a
/// mistyped option, or one whose text is missing.
pub(crate) fn words(given: &str) -> Result<String, String> {
    let word = given.trim();
    if word.len() > 1 && word.starts_with('-') && !word.contains(char::is_whitespace) {
        return Err("it must be text; this looks like an option".to_owned());
    }
    text(given)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clap::FromArgMatches as _;

    use super::*;
    use crate::commands::{Cli, command};
    use crate::config::KEYS;
    use crate::config::amounts::exact;

    /// Returns strings that the kind accepts, and strings that it rejects.
    fn samples(kind: ValueKind) -> (Vec<String>, Vec<String>) {
        let step = Duration::from_millis(1);
        match kind {
            ValueKind::Count { least, most } => (
                vec![least.to_string(), most.to_string()],
                vec![(i64::from(least) - 1).to_string(), (most + 1).to_string()],
            ),
            ValueKind::Duration { least, most } => (
                vec![exact(least), exact(most)],
                least.checked_sub(step).into_iter().chain([most + step]).map(exact).collect(),
            ),
            ValueKind::Money => (vec!["0.01".to_owned()], vec!["0".to_owned()]),
            ValueKind::Tokens => (vec!["1".to_owned()], vec!["0".to_owned()]),
            ValueKind::File => (vec!["a/b".to_owned()], vec!["../b".to_owned()]),
            _ => (Vec::new(), Vec::new()),
        }
    }

    #[test]
    fn every_option_that_stands_for_a_key_allows_what_the_key_allows() {
        let is_allowed = |option: &str| {
            let matches = command().try_get_matches_from(["nightwright", "run", "-p", "x", option]);
            matches.and_then(|matches| Cli::from_arg_matches(&matches)).is_ok()
        };
        let all = KEYS.iter().flat_map(|key| key.options.iter().map(move |option| (key, option)));
        for (key, option) in all.filter(|(_, option)| option.long() != "--") {
            let flag = option.long();
            if option.fixed.is_some() {
                assert!(is_allowed(flag), "{flag}");
                continue;
            }
            let (allowed, refused) = samples(key.kind);
            for text in allowed {
                assert!(is_allowed(&format!("{flag}={text}")), "{flag}={text}");
            }
            for text in refused {
                assert!(!is_allowed(&format!("{flag}={text}")), "{flag}={text}");
            }
        }
    }

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

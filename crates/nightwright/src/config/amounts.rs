//! Parsing and formatting of amounts: time, money, tokens, counts. The syntax is the same in files,
//! in the environment and on the command line.

use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use jiff::SignedDuration;
use nightwright_core::policy::limits::MIN_COST;
use nightwright_core::units::{Usd, whole_millis};

/// The shortest duration limit of a run that is accepted.
pub const MIN_RUN_DURATION: Duration = Duration::from_mins(1);

/// Parses a duration: plain numbers are seconds; `2s`, `1h 30m` and the like. The resolution is one
/// millisecond.
pub fn duration(text: &str) -> Result<Duration, String> {
    any_duration(text).map(whole_millis)
}

fn any_duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let allowed = "a duration such as `90`, `2s` or `1h 30m`, not negative";
    if let Ok(number) = text.parse::<f64>() {
        return seconds(number).ok_or_else(|| allowed.to_owned());
    }
    let parsed: SignedDuration = text.parse().map_err(|_| allowed.to_owned())?;
    Duration::try_from(parsed).map_err(|_| allowed.to_owned())
}

/// Converts a number of seconds; `None` if it is not a valid duration.
pub fn seconds(number: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(number).ok().map(whole_millis)
}

/// Formats a duration to the millisecond, so that it can be parsed again.
pub fn exact(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let parts = [
        (u128::from(seconds / 3600), "h"),
        (u128::from(seconds % 3600 / 60), "m"),
        (u128::from(seconds % 60), "s"),
        (u128::from(duration.subsec_millis()), "ms"),
    ];
    let shown: Vec<_> = parts
        .into_iter()
        .filter(|(amount, _)| *amount > 0)
        .map(|(amount, unit)| format!("{amount}{unit}"))
        .collect();
    if shown.is_empty() { "0s".to_owned() } else { shown.join(" ") }
}

/// Parses an amount of money, which must be large enough to start a run.
pub fn cost(text: &str) -> Result<Usd, String> {
    let amount = text.trim().trim_start_matches('$');
    amount.parse().ok().and_then(Usd::from_dollars).filter(|usd| *usd >= MIN_COST).ok_or_else(
        || format!("an amount in US dollars of at least {MIN_COST}, such as `5` or `2.50`"),
    )
}

/// Parses a number of tokens, which must be large enough to start a run.
pub fn tokens(text: &str) -> Result<u64, String> {
    let plain: String = text.trim().chars().filter(|c| *c != '_').collect();
    plain
        .parse()
        .ok()
        .filter(|tokens| *tokens > 0)
        .ok_or_else(|| "a whole number of tokens above 0, such as `500000`".to_owned())
}

/// The units of sizes, decimal and binary, the largest of each first.
const SIZES: [(&str, u64); 9] = [
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("KB", 1_000),
    ("B", 1),
];

/// Parses a size: plain numbers are bytes; `500MB`, `2GiB` and the like, in any case.
pub fn size(text: &str) -> Result<u64, String> {
    let allowed = || "a number of bytes above 0, or a size such as `500MB` or `2GiB`".to_owned();
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '_').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let number: u64 = number.replace('_', "").parse().map_err(|_| allowed())?;
    let unit = match unit.trim() {
        "" => Some(1),
        unit => {
            SIZES.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)).map(|(_, size)| *size)
        }
    };
    let bytes = unit.and_then(|unit| number.checked_mul(unit)).filter(|bytes| *bytes > 0);
    bytes.ok_or_else(allowed)
}

/// Formats a size to the byte, so that it can be parsed again.
pub fn exact_size(bytes: u64) -> String {
    let fits = |(_, size): &&(&str, u64)| bytes > 0 && bytes.is_multiple_of(*size);
    // The largest unit that divides the size gives the smallest number.
    let unit = SIZES.iter().filter(fits).max_by_key(|(_, size)| *size);
    unit.map_or_else(|| "0B".to_owned(), |(name, size)| format!("{}{name}", bytes / size))
}

pub fn count(text: &str) -> Result<u32, String> {
    text.trim().parse().map_err(|_| format!("a whole number from 0 to {}", u32::MAX))
}

/// Whether the text is a valid name for a mode or a task. The name becomes a folder.
pub fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
}

/// Normalizes a path inside the project and removes a leading `./`. Returns `None` if the path
/// leaves the project or cannot be a file.
pub fn inside(name: &str) -> Option<String> {
    let mut path = PathBuf::new();
    for part in Path::new(name).components() {
        match part {
            Component::Normal(part) => path.push(part),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    path.to_str().filter(|path| !path.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn an_invalid_duration_is_refused() {
        for text in ["", "-1", "-5m", "soon", "nan", "inf", "1e400", "5 parsecs"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_duration_that_was_written_is_read_again_to_the_millisecond() {
        for millis in [0, 1, 999, 1000, 61_001, 3_600_000, 5_400_000, 90_061_007] {
            let time = Duration::from_millis(millis);
            assert_eq!(duration(&exact(time)), Ok(time), "{}", exact(time));
        }
        assert_eq!(exact(Duration::from_mins(90)), "1h 30m");
    }

    #[test]
    fn money_is_plain_or_with_its_sign() {
        assert_eq!(cost("2.50"), Ok(Usd::from_cents(250)));
        assert_eq!(cost("$5"), Ok(Usd::from_cents(500)));
        for text in ["0", "-1", "0.001", "much", "nan"] {
            assert!(cost(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_bytes_or_have_a_unit_and_are_read_again_as_written() {
        let cases = [("1", 1), ("2GiB", 2 << 30), ("500 mb", 500_000_000), ("1_000KB", 1_000_000)];
        for (text, bytes) in cases {
            assert_eq!(size(text), Ok(bytes), "{text}");
            assert_eq!(size(&exact_size(bytes)), Ok(bytes), "{text}");
        }
        assert_eq!(exact_size(2 << 30), "2GiB");
        for text in ["", "0", "-1", "much", "2 parsecs", "1.5GB", "99999999999TiB"] {
            assert!(size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_file_of_the_project_stays_inside_it() {
        assert_eq!(inside("./docs/NOTES.md").as_deref(), Some("docs/NOTES.md"));
        for name in ["", ".", "..", "../x", "/etc/passwd", "a/../../b"] {
            assert_eq!(inside(name), None, "{name}");
        }
    }
}

//! When a usage limit ends, from the words for people. Only a fallback: events carry the date.

use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan};

/// The words give minutes, and take their time to reach us: a time that has just passed is one
/// that is over, not tomorrow's.
const JUST_PASSED: SignedDuration = SignedDuration::from_mins(10);

/// Dates carry no year: one that lies further back than this belongs to the next year.
const LONG_PASSED: SignedDuration = SignedDuration::from_hours(180 * 24);

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// Whether the program says that the account's usage limit is reached.
pub(super) fn is_usage_limit(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    text.contains("limit reached|")
        || text.contains("usage limit reached")
        || (text.contains("hit your") && text.contains("limit"))
}

/// When the limit ends, if the text says so in a way that can be relied on. Other zones than UTC
/// would need a table of zones, and a wrong hour is worse than none.
pub(super) fn ends(text: &str, now: Timestamp) -> Option<Timestamp> {
    if let Some(epoch) = epoch(text) {
        return Some(epoch);
    }
    let lower = text.to_ascii_lowercase();
    let (_, after) = lower.split_once("resets ")?;
    let (when, zone) = after.split_once('(')?;
    if zone.split_once(')')?.0 != "utc" {
        return None;
    }
    let when = when.trim();
    match when.split_once(',') {
        Some((date, time)) => dated(date, clock(time.trim())?, now),
        None => Some(next(clock(when)?, now)),
    }
}

/// `...limit reached|1999999999`
fn epoch(text: &str) -> Option<Timestamp> {
    let (_, after) = text.split_once("limit reached|")?;
    let digits = after.split(|c: char| !c.is_ascii_digit()).next()?;
    Timestamp::from_second(digits.parse().ok()?).ok()
}

/// `10:05pm`, `10pm`
fn clock(text: &str) -> Option<Time> {
    let (text, afternoon) = match text.strip_suffix("pm") {
        Some(text) => (text, 12),
        None => (text.strip_suffix("am")?, 0),
    };
    let (hour, minute) = text.trim().split_once(':').unwrap_or((text.trim(), "0"));
    let hour: i8 = hour.parse().ok().filter(|hour| (1..=12).contains(hour))?;
    Time::new(hour % 12 + afternoon, minute.parse().ok()?, 0, 0).ok()
}

/// The next time that clocks show this.
fn next(time: Time, now: Timestamp) -> Timestamp {
    let today = now.to_zoned(TimeZone::UTC).date();
    let at = |date: Date| utc(date, time);
    match at(today) {
        Some(moment) if moment.duration_since(now) > -JUST_PASSED => moment,
        Some(_) | None => today.tomorrow().ok().and_then(at).unwrap_or(now),
    }
}

/// `nov 18` of this year or the next.
fn dated(date: &str, time: Time, now: Timestamp) -> Option<Timestamp> {
    let (month, day) = date.trim().split_once(' ')?;
    let month = MONTHS.iter().position(|known| month.starts_with(known))?;
    let year = now.to_zoned(TimeZone::UTC).year();
    let date = Date::new(year, i8::try_from(month + 1).ok()?, day.trim().parse().ok()?).ok()?;
    let moment = utc(date, time)?;
    if moment.duration_since(now) > -LONG_PASSED {
        Some(moment)
    } else {
        utc(date.checked_add(1.year()).ok()?, time)
    }
}

fn utc(date: Date, time: Time) -> Option<Timestamp> {
    date.to_datetime(time).to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-11-15T20:05:00Z";

    fn ends_at(text: &str, now: &str) -> Option<String> {
        ends(text, now.parse().unwrap()).map(|moment| moment.to_string())
    }

    #[test]
    fn the_words_of_the_program_give_the_end_of_a_limit() {
        let cases = [
            ("You've hit your 5-hour limit · resets 10:05pm (UTC)", "2026-11-15T22:05:00Z"),
            ("You've hit your 5-hour limit · resets 3am (UTC)", "2026-11-16T03:00:00Z"),
            ("You've hit your 5-hour limit · resets 12:00am (UTC)", "2026-11-16T00:00:00Z"),
            ("weekly limit · resets Nov 18, 8:05pm (UTC)", "2026-11-18T20:05:00Z"),
            ("weekly limit · resets Jan 2, 12:30pm (UTC)", "2027-01-02T12:30:00Z"),
            ("Claude AI usage limit reached|1999999999", "2033-05-18T03:33:19Z"),
            ("API Error: 400 usage limit reached|1999999999 (x)", "2033-05-18T03:33:19Z"),
        ];
        for (text, end) in cases {
            assert_eq!(ends_at(text, NOW).as_deref(), Some(end), "{text}");
        }
    }

    #[test]
    fn a_time_that_has_just_passed_is_not_tomorrows() {
        let text = "hit your 5-hour limit · resets 8:06pm (UTC)";
        assert_eq!(ends_at(text, "2026-11-15T20:06:40Z").as_deref(), Some("2026-11-15T20:06:00Z"));
        assert_eq!(ends_at(text, "2026-11-15T20:40:00Z").as_deref(), Some("2026-11-16T20:06:00Z"));
    }

    #[test]
    fn what_cannot_be_relied_on_is_unknown() {
        for text in [
            "resets 10:05pm (Europe/Berlin)",
            "resets 10:05pm",
            "resets soon (UTC)",
            "resets 13:05pm (UTC)",
            "resets 10:99pm (UTC)",
            "resets Foo 18, 8:05pm (UTC)",
            "resets Nov 31, 8:05pm (UTC)",
            "usage limit reached|",
            "usage limit reached|99999999999999999999",
            "",
        ] {
            assert_eq!(ends_at(text, NOW), None, "{text}");
        }
    }
}

//! Reset times of usage limits, parsed from messages for people. Only a fallback: events carry the
//! date.

use jiff::civil::{Date, Time};
use jiff::tz::{AmbiguousOffset, TimeZone, TimeZoneDatabase};
use jiff::{SignedDuration, Timestamp};

/// Messages give only minutes and arrive late, so a time that has just passed is not tomorrow's.
const JUST_PASSED: SignedDuration = SignedDuration::from_mins(10);

/// Dates carry no year. A date further back than this belongs to the next year, and one further
/// ahead to the year before.
const LONG_PASSED: SignedDuration = SignedDuration::from_hours(180 * 24);

/// The number of bytes within which the name of a limit ends.
const START: usize = 60;

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// Whether a message begins with the statement that the account's usage limit is reached. Later
/// text may be a quotation.
pub(super) fn is_usage_limit(message: &str) -> bool {
    let start = &message[..message.floor_char_boundary(START)];
    let start = start.to_ascii_lowercase().replace('’', "'");
    let named = ["claude ai usage limit reached", "usage limit reached", "limit reached|"];
    named.iter().any(|words| start.starts_with(words))
        || is_named_limit(&start)
        || start.strip_prefix("you've hit your").is_some_and(|rest| rest.contains("limit"))
}

/// Whether the text has the form `5-hour limit reached ∙ resets 3am`: a short name, and no sentence
/// after it.
fn is_named_limit(start: &str) -> bool {
    let Some((name, after)) = start.split_once("limit reached") else { return false };
    let words: Vec<_> = name.split_whitespace().collect();
    let is_name = |word: &&str| word.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    let after = after.trim_start();
    (1..=3).contains(&words.len())
        && words.iter().all(is_name)
        && (after.is_empty() || after.starts_with(['∙', '·', '•', '|', '.', '-', '–', '—']))
}

/// The reset time, if the text gives a reliable one: `resets 10:05pm (UTC)` within a day, otherwise
/// `resets Nov 18, 8:05pm (Europe/Berlin)`, with the year if it is another one. Without a time
/// zone, the machine's is used.
pub(super) fn ends(text: &str, now: Timestamp, local: Option<&TimeZone>) -> Option<Timestamp> {
    if let Some(epoch) = epoch(text) {
        return Some(epoch);
    }
    let after = ["resets ", "reset at "].iter().find_map(|word| Some(text.split_once(word)?.1))?;
    let (when, zone) = match after.split_once('(') {
        // A wrong hour is worse than none, so an unknown zone is an unknown time.
        Some((when, zone)) => {
            (when, TimeZoneDatabase::bundled().get(zone.split_once(')')?.0.trim()).ok()?)
        }
        None => (after.split(['\n', '∙', '·', '•']).next()?, local?.clone()),
    };
    let when = when.trim().trim_end_matches('.').to_ascii_lowercase();
    let when = when.strip_prefix("at ").unwrap_or(&when).replace(" at ", ", ");
    let parts: Vec<_> = when.split(',').map(str::trim).collect();
    match parts[..] {
        [time] => next(clock(time)?, &zone, now),
        [day, time] => {
            let year = now.to_zoned(zone.clone()).year();
            let this = dated(day, year, clock(time)?, &zone, now)?;
            let ahead = this.duration_since(now);
            if ahead <= -LONG_PASSED {
                dated(day, year + 1, clock(time)?, &zone, now)
            } else if ahead > LONG_PASSED {
                // The last day of a year, read on the first day of the next.
                dated(day, year - 1, clock(time)?, &zone, now)
            } else {
                Some(this)
            }
        }
        [day, year, time] => dated(day, year.parse().ok()?, clock(time)?, &zone, now),
        _ => None,
    }
}

/// Reads the time in `...limit reached|1999999999`, seconds since 1970.
fn epoch(text: &str) -> Option<Timestamp> {
    let (_, after) = text.split_once("limit reached|")?;
    let digits = after.split(|c: char| !c.is_ascii_digit()).next()?;
    Timestamp::from_second(digits.parse().ok()?).ok()
}

fn clock(text: &str) -> Option<Time> {
    let (text, afternoon) = match text.strip_suffix("pm") {
        Some(text) => (text, 12),
        None => (text.strip_suffix("am")?, 0),
    };
    let (hour, minute) = text.trim().split_once(':').unwrap_or((text.trim(), "0"));
    let hour: i8 = hour.parse().ok().filter(|hour| (1..=12).contains(hour))?;
    Time::new(hour % 12 + afternoon, minute.parse().ok()?, 0, 0).ok()
}

/// The next time at which clocks of this zone show `time`.
fn next(time: Time, zone: &TimeZone, now: Timestamp) -> Option<Timestamp> {
    let today = now.to_zoned(zone.clone()).date();
    // Yesterday is included, because a time just before midnight may have just passed.
    let days = [today.yesterday().ok(), Some(today), today.tomorrow().ok()];
    let moments = days.into_iter().flatten().flat_map(|day| moments(day, time, zone));
    moments.into_iter().find(|moment| is_ahead(*moment, now))
}

/// Parses `nov 18` in this year.
fn dated(day: &str, year: i16, time: Time, zone: &TimeZone, now: Timestamp) -> Option<Timestamp> {
    let (month, day) = day.split_once(' ')?;
    let month = MONTHS.iter().position(|known| month.starts_with(known))?;
    let month = i8::try_from(month + 1).ok()?;
    let date = Date::new(year, month, day.trim().parse().ok()?).ok()?;
    let moments = moments(date, time, zone);
    moments.iter().find(|moment| is_ahead(**moment, now)).or(moments.last()).copied()
}

/// Whether a time is in the future, or passed so recently that it is meant.
fn is_ahead(moment: Timestamp, now: Timestamp) -> bool {
    moment.duration_since(now) > -JUST_PASSED
}

/// The moments at which clocks of this zone show this time on this day, in order: two when they are
/// set back. A time that is skipped when they are set forward is shifted by the change.
fn moments(date: Date, time: Time, zone: &TimeZone) -> Vec<Timestamp> {
    let moment = zone.to_ambiguous_timestamp(date.to_datetime(time));
    let both = match moment.offset() {
        AmbiguousOffset::Fold { .. } => vec![moment.earlier(), moment.later()],
        AmbiguousOffset::Unambiguous { .. } | AmbiguousOffset::Gap { .. } => {
            vec![moment.compatible()]
        }
    };
    both.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-11-15T20:05:00Z";

    fn ends_at(text: &str, now: &str) -> Option<String> {
        ends(text, now.parse().unwrap(), None).map(|moment| moment.to_string())
    }

    #[test]
    fn the_words_of_the_program_give_the_end_of_a_limit() {
        let cases = [
            ("You've hit your 5-hour limit · resets 10:05pm (UTC)", "2026-11-15T22:05:00Z"),
            ("You've hit your 5-hour limit · resets 3am (UTC)", "2026-11-16T03:00:00Z"),
            ("You've hit your 5-hour limit · resets 12:00am (UTC)", "2026-11-16T00:00:00Z"),
            ("weekly limit · resets Nov 18, 8:05pm (UTC)", "2026-11-18T20:05:00Z"),
            ("weekly limit · resets Jan 2, 12:30pm (UTC)", "2027-01-02T12:30:00Z"),
            ("weekly limit · resets May 1, 1pm (UTC)", "2027-05-01T13:00:00Z"),
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
    fn a_time_just_before_midnight_may_have_just_passed() {
        let text = "hit your 5-hour limit · resets 11:58pm (UTC)";
        assert_eq!(ends_at(text, "2026-11-16T00:02:00Z").as_deref(), Some("2026-11-15T23:58:00Z"));
        assert_eq!(ends_at(text, "2026-11-16T00:09:00Z").as_deref(), Some("2026-11-16T23:58:00Z"));
    }

    #[test]
    fn times_are_those_of_the_zone_that_is_named() {
        let cases = [
            ("resets 7:02am (Europe/Berlin)", "2026-11-16T06:02:00Z"),
            ("resets 7:02pm (America/New_York)", "2026-11-16T00:02:00Z"),
            ("resets 1:02pm (Asia/Kolkata)", "2026-11-16T07:32:00Z"),
            ("resets 1:02am (Etc/GMT+5)", "2026-11-16T06:02:00Z"),
            ("resets 8:02pm (Australia/Lord_Howe)", "2026-11-16T09:02:00Z"),
            ("resets Nov 19, 5:02am (Europe/Berlin)", "2026-11-19T04:02:00Z"),
            ("resets Nov 17, 7:02am (America/Argentina/Buenos_Aires)", "2026-11-17T10:02:00Z"),
            ("resets Jan 15, 2027, 5:02am (Europe/Berlin)", "2027-01-15T04:02:00Z"),
            ("resets Jul 1, 2027, 9am (Europe/Berlin)", "2027-07-01T07:00:00Z"),
            // The day is that of the zone, where it is already the 16th.
            ("resets 8am (Pacific/Auckland)", "2026-11-15T19:00:00Z"),
        ];
        for (text, end) in cases {
            assert_eq!(ends_at(text, "2026-11-15T19:05:00Z").as_deref(), Some(end), "{text}");
        }
    }

    #[test]
    fn an_hour_that_clocks_show_twice_is_the_first_that_is_still_to_come() {
        let text = "resets 2:30am (Europe/Berlin)";
        let cases = [
            ("2026-10-24T23:00:00Z", "2026-10-25T00:30:00Z"),
            ("2026-10-25T00:35:00Z", "2026-10-25T00:30:00Z"),
            ("2026-10-25T00:45:00Z", "2026-10-25T01:30:00Z"),
            ("2026-10-25T01:45:00Z", "2026-10-26T01:30:00Z"),
        ];
        for (now, end) in cases {
            assert_eq!(ends_at(text, now).as_deref(), Some(end), "{now}");
        }
        let dated = "resets Oct 25, 2:30am (Europe/Berlin)";
        assert_eq!(ends_at(dated, cases[0].0).as_deref(), Some(cases[0].1));
        assert_eq!(ends_at(dated, cases[2].0).as_deref(), Some(cases[2].1));
    }

    #[test]
    fn an_hour_that_clocks_never_show_is_the_one_after_the_change() {
        let ends = |text| ends_at(text, "2026-03-28T20:00:00Z");
        let after = Some("2026-03-29T01:30:00Z");
        assert_eq!(ends("resets 2:30am (Europe/Berlin)").as_deref(), after);
        assert_eq!(ends("resets Mar 29, 2:30am (Europe/Berlin)").as_deref(), after);
    }

    #[test]
    fn a_time_without_a_zone_is_that_of_this_machine() {
        let berlin = TimeZoneDatabase::bundled().get("Europe/Berlin").unwrap();
        let cases = [
            ("5-hour limit reached ∙ resets 3am", "2026-11-16T02:00:00Z"),
            ("5-hour limit reached ∙ resets 3am ∙ /upgrade", "2026-11-16T02:00:00Z"),
            ("Your limit will reset at 3am.", "2026-11-16T02:00:00Z"),
            ("weekly limit reached ∙ resets Nov 18 at 8pm", "2026-11-18T19:00:00Z"),
            ("weekly limit reached ∙ resets Nov 18, 8:05pm", "2026-11-18T19:05:00Z"),
            ("hit your limit · resets 3am (UTC)", "2026-11-16T03:00:00Z"),
        ];
        for (text, end) in cases {
            let found = ends(text, NOW.parse().unwrap(), Some(&berlin)).map(|end| end.to_string());
            assert_eq!(found.as_deref(), Some(end), "{text}");
        }
        assert_eq!(ends("resets soon", NOW.parse().unwrap(), Some(&berlin)), None);
    }

    #[test]
    fn an_unreliable_time_is_unknown() {
        for text in [
            "resets 10:05pm (Europe/Atlantis)",
            "resets 10:05pm (PST)",
            "resets 10:05pm (+02:00)",
            "resets 10:05pm ()",
            "resets Jan 15, soon, 5:02am (UTC)",
            "resets Jan 15, 99999, 5:02am (UTC)",
            "resets Mon, Jan 15, 2027, 5:02am (UTC)",
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

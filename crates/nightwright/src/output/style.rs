//! The style of the output: color, symbols, width and local time.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;
use std::os::fd::AsFd;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use nightwright_core::display::one_line;
use nightwright_core::outcome::Tone;
use rustix::termios::tcgetwinsize;

use super::width;
use crate::config::ColorChoice;

/// The minimum width that lines are truncated to.
const MIN_WIDTH: usize = 40;

/// The width for single-line text without a terminal.
const USUAL_WIDTH: usize = 160;

use super::screen::Screen;

/// How text is styled: symbols, color, time zone and width.
#[derive(Clone, Debug)]
pub struct Style {
    symbols: Symbols,
    color: Color,
    zone: TimeZone,
    width: Option<usize>,
    screen: Option<Screen>,
}

/// The properties of the output stream, from the environment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutputCapabilities {
    /// Whether the output is a terminal.
    pub terminal: bool,
    /// Whether the terminal supports only plain text, or `TERM` is unset.
    pub dumb: bool,
    /// Whether `NO_COLOR` disables color.
    pub no_color: bool,
    /// Whether `CLICOLOR_FORCE` enables color without a terminal.
    pub force_color: bool,
    /// Whether the locale uses UTF-8.
    pub utf8: bool,
    /// The width of the terminal in columns, if known.
    pub width: Option<usize>,
}

impl OutputCapabilities {
    /// Detects the properties from the stream and the environment. `COLUMNS` is ignored, because it
    /// may be out of date.
    pub fn of(
        variable: impl Fn(&'static str) -> Option<OsString>,
        stream: &(impl IsTerminal + AsFd),
    ) -> Self {
        let terminal = stream.is_terminal();
        let width = if terminal { columns(stream) } else { None };
        Self { width, ..Self::new(variable, terminal) }
    }

    /// Detects the properties from the environment variables alone.
    pub fn new(variable: impl Fn(&'static str) -> Option<OsString>, terminal: bool) -> Self {
        // An empty variable counts as unset.
        let set = |name| variable(name).filter(|value| !value.is_empty());
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set);
        Self {
            terminal,
            dumb: set("TERM").is_none_or(|term| term == "dumb"),
            no_color: set("NO_COLOR").is_some(),
            force_color: set("CLICOLOR_FORCE").is_some_and(|value| value != "0"),
            utf8: locale.is_some_and(|locale| is_utf8(&locale)),
            width: None,
        }
    }
}

/// The number of columns of a terminal, if it reports one.
pub fn columns(terminal: impl AsFd) -> Option<usize> {
    let columns = tcgetwinsize(terminal).ok()?.ws_col;
    (columns > 0).then(|| usize::from(columns))
}

/// The number of rows of a terminal, if it reports one.
pub fn rows(terminal: impl AsFd) -> Option<usize> {
    let rows = tcgetwinsize(terminal).ok()?.ws_row;
    (rows > 0).then(|| usize::from(rows))
}

fn is_utf8(locale: &OsStr) -> bool {
    let locale = locale.to_string_lossy().to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

/// The kind of symbols that the locale supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Symbols {
    Utf8,
    Words,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Color {
    On,
    Off,
}

/// The meaning of a color. The text always says the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextColor {
    /// A success or a normal state.
    Good,
    /// A warning or an unusual state.
    Mixed,
    /// An error or a failure.
    Bad,
    /// Less important than the rest.
    Faint,
    /// The name of a tool.
    Tool,
    /// An added line of a diff.
    Added,
    /// A removed line of a diff.
    Removed,
}

impl TextColor {
    fn code(self) -> &'static str {
        match self {
            Self::Good => "32",
            Self::Mixed => "33",
            Self::Bad => "31",
            Self::Faint => "2",
            Self::Tool => "36",
            Self::Added => "32",
            Self::Removed => "31",
        }
    }
}

impl From<Tone> for TextColor {
    fn from(tone: Tone) -> Self {
        match tone {
            Tone::Good => Self::Good,
            Tone::Mixed => Self::Mixed,
            Tone::Bad => Self::Bad,
        }
    }
}

impl Style {
    /// Combines the user's choice with the properties of the output. Times use the system's time
    /// zone.
    pub fn new(choice: ColorChoice, surroundings: &OutputCapabilities) -> Self {
        let color = match choice {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto if surroundings.no_color => false,
            ColorChoice::Auto if surroundings.force_color => true,
            ColorChoice::Auto => surroundings.terminal && !surroundings.dumb,
        };
        Self {
            symbols: if surroundings.utf8 { Symbols::Utf8 } else { Symbols::Words },
            color: if color { Color::On } else { Color::Off },
            zone: TimeZone::system(),
            width: surroundings.width,
            screen: None,
        }
    }

    /// Adds a screen that shows the panel below the lines.
    #[must_use]
    pub fn on(self, screen: Option<Screen>) -> Self {
        Self { screen, ..self }
    }

    /// The screen for the panel, if any.
    pub(super) fn screen(&self) -> Option<&Screen> {
        self.screen.as_ref()
    }

    /// Returns the symbol, or its replacement if the locale does not support it.
    pub(super) fn choose<'t>(&self, sign: &'t str, letters: &'t str) -> &'t str {
        match self.symbols {
            Symbols::Utf8 => sign,
            Symbols::Words => letters,
        }
    }

    /// Uses another time zone.
    #[must_use]
    pub fn in_zone(self, zone: TimeZone) -> Self {
        Self { zone, ..self }
    }

    /// Uses another terminal width.
    #[must_use]
    pub fn with_width(self, width: Option<usize>) -> Self {
        Self { width, ..self }
    }

    /// The width of the terminal in columns; `None` without a terminal.
    pub fn width(&self) -> Option<usize> {
        self.width
    }

    /// The maximum width of text that must fit in one row.
    pub(super) fn room(&self) -> usize {
        self.width.map_or(USUAL_WIDTH, |width| width.max(MIN_WIDTH))
    }

    /// Truncates a string to a number of columns, with an ellipsis.
    pub(super) fn cut<'a>(&self, text: &'a str, columns: usize) -> Cow<'a, str> {
        width::cut(text, columns, self.ellipsis())
    }

    pub(super) fn ellipsis(&self) -> &'static str {
        match self.symbols {
            Symbols::Utf8 => "…",
            Symbols::Words => "...",
        }
    }

    /// The sign in front of a line with this tone.
    pub(super) fn sign(&self, tone: Tone) -> String {
        let sign = match (self.symbols, tone) {
            (Symbols::Utf8, Tone::Good) => "✓",
            (Symbols::Utf8, Tone::Mixed) => "⚠️",
            (Symbols::Utf8, Tone::Bad) => "❌",
            (Symbols::Words, Tone::Good) => "ok:",
            (Symbols::Words, Tone::Mixed) => "warning:",
            (Symbols::Words, Tone::Bad) => "error:",
        };
        self.paint(tone.into(), sign)
    }

    /// Colors a string, if color is enabled.
    pub(super) fn paint(&self, color: TextColor, text: &str) -> String {
        match self.color {
            Color::On => format!("\u{1b}[{}m{text}\u{1b}[0m", color.code()),
            Color::Off => text.to_owned(),
        }
    }

    /// A text with arrows and ellipses, spelled out where the terminal has no such characters.
    pub(crate) fn spelled<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.symbols {
            Symbols::Utf8 => Cow::Borrowed(text),
            Symbols::Words => Cow::Owned(text.replace('→', "->").replace('…', "...")),
        }
    }

    /// Replaces a symbol that the locale does not support. Text from the agent or the project is
    /// never passed here.
    pub(super) fn spell(&self, sign: &'static str) -> &'static str {
        self.choose(
            sign,
            match sign {
                "…" => "...",
                " · " => " - ",
                "→" => "->",
                "←" => "<-",
                "●" => "*",
                "│" => "|",
                other => other,
            },
        )
    }

    /// Fits a string into one line of at most `most` characters, with an ellipsis if it was
    /// truncated.
    pub(crate) fn one_line(&self, text: &str, most: usize) -> String {
        let line = one_line(text, most);
        // Only a full line can be truncated. Its ellipsis then needs replacing.
        if self.symbols == Symbols::Utf8
            || !line.ends_with('…')
            || line.chars().count() < most
            || one_line(text, most + 1).chars().count() == most
        {
            return line;
        }
        let kept = most.saturating_sub(self.ellipsis().len());
        line.chars().take(kept).chain(self.ellipsis().chars()).collect()
    }

    /// A time of day, in the shortest form that is unambiguous at `now`.
    pub(super) fn clock(&self, at: Timestamp, now: Timestamp) -> String {
        let (there, here) = (at.to_zoned(self.zone.clone()), now.to_zoned(self.zone.clone()));
        let seconds = at.duration_since(now).as_secs();
        let days = seconds / (24 * 60 * 60);
        let format = match there.date() == here.date() {
            true if seconds < 60 => "%H:%M:%S",
            true => "%H:%M",
            false if (0..6).contains(&days) => "%a %H:%M",
            false => "%Y-%m-%d %H:%M",
        };
        there.strftime(format).to_string()
    }

    /// A date with the time of day and the time zone.
    pub(super) fn date(&self, at: Timestamp) -> String {
        at.to_zoned(self.zone.clone()).strftime("%Y-%m-%d %H:%M %Z").to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn color(choice: ColorChoice, variables: &[(&str, &str)], terminal: bool) -> bool {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        };
        Style::new(choice, &OutputCapabilities::new(variable, terminal)).color == Color::On
    }

    #[test]
    fn options_beat_the_environment_and_the_environment_beats_the_terminal() {
        use ColorChoice::{Always, Auto, Never};
        let term = ("TERM", "xterm");
        assert!(color(Auto, &[term], true));
        assert!(!color(Auto, &[term], false));
        assert!(!color(Auto, &[("TERM", "dumb")], true));
        assert!(!color(Auto, &[("TERM", "")], true));
        assert!(!color(Auto, &[], true));
        assert!(!color(Auto, &[term, ("NO_COLOR", "1")], true));
        assert!(color(Auto, &[term, ("NO_COLOR", "")], true));
        assert!(color(Auto, &[("CLICOLOR_FORCE", "1")], false));
        assert!(!color(Auto, &[("CLICOLOR_FORCE", "0")], false));
        assert!(!color(Auto, &[term, ("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")], true));
        assert!(color(Always, &[("NO_COLOR", "1")], false));
        assert!(!color(Never, &[term, ("CLICOLOR_FORCE", "1")], true));
    }

    #[test]
    fn the_first_locale_that_is_set_decides_about_symbols() {
        let cases: [(&[(&str, &str)], bool); 6] = [
            (&[("LANG", "en_GB.UTF-8")], true),
            (&[("LANG", "C.utf8")], true),
            (&[("LANG", "C")], false),
            (&[], false),
            (&[("LC_ALL", "C"), ("LANG", "de_DE.UTF-8")], false),
            (&[("LC_ALL", ""), ("LC_CTYPE", "UTF-8"), ("LANG", "C")], true),
        ];
        for (variables, utf8) in cases {
            let variable = |name: &str| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| OsString::from(value))
            };
            assert_eq!(OutputCapabilities::new(variable, true).utf8, utf8, "{variables:?}");
        }
    }

    #[test]
    fn a_time_is_as_short_as_possible() {
        let style = Style::new(ColorChoice::Never, &OutputCapabilities::default());
        let style = style.in_zone(TimeZone::fixed(jiff::tz::offset(2)));
        let now: Timestamp = "2026-11-15T20:00:00Z".parse().unwrap();
        let cases = [
            ("2026-11-15T20:00:05Z", "22:00:05"),
            ("2026-11-15T21:05:00Z", "23:05"),
            ("2026-11-15T22:05:00Z", "Mon 00:05"),
            ("2026-11-25T22:05:00Z", "2026-11-26 00:05"),
        ];
        for (at, text) in cases {
            assert_eq!(style.clock(at.parse().unwrap(), now), text);
        }
    }
}

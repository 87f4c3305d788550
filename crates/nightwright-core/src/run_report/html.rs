//! The report as a self-contained HTML page: no scripts, fonts or external images.
//!
//! External text is escaped at the point of insertion by [`Escaped`] or [`Prose`]. It appears only
//! in text and titles, never in an address, a style or a name. The content security policy also
//! blocks scripts and requests.

mod claims;
mod iterations;
mod sections;

use std::fmt;

use self::iterations::iterations;
use super::{IterationStatus, ReportStatus, RunReport, phrases};

/// The content security policy of the page, which allows only inline styles and embedded images.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

const STYLE: &str = include_str!("html/style.css");

/// Appends formatted text to a page.
macro_rules! put {
    ($out:expr, $($text:tt)*) => {
        std::fmt::Write::write_fmt($out, format_args!($($text)*))
            .expect("writing to memory cannot fail")
    };
}
pub(super) use put;

/// A text, escaped for use in HTML.
#[derive(Clone, Copy, Debug)]
pub(super) struct Escaped<'a>(pub(super) &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        while let Some(at) = rest.find(['&', '<', '>', '"', '\'']) {
            f.write_str(&rest[..at])?;
            f.write_str(match rest.as_bytes()[at] {
                b'&' => "&amp;",
                b'<' => "&lt;",
                b'>' => "&gt;",
                b'"' => "&quot;",
                _ => "&#39;",
            })?;
            rest = &rest[at + 1..];
        }
        f.write_str(rest)
    }
}

/// A sentence with commands and paths in backticks, shown as code.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prose<'a>(pub(super) &'a str);

impl fmt::Display for Prose<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        while let Some((before, code, after)) = in_backticks(rest) {
            write!(f, "{}<code>{}</code>", Escaped(before), Escaped(code))?;
            rest = after;
        }
        Escaped(rest).fmt(f)
    }
}

fn in_backticks(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once('`')?;
    let (code, after) = rest.split_once('`')?;
    Some((before, code, after))
}

/// Returns the complete HTML page.
pub(super) fn page(report: &RunReport) -> String {
    let mut out = String::with_capacity(64 << 10);
    let title = report.title();
    put!(
        &mut out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{}: {}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n",
        Escaped(&title),
        phrases::headline(report)
    );
    sections::top(&mut out, report, &title);
    sections::verdict(&mut out, report);
    sections::figures(&mut out, report);
    sections::timeline(&mut out, report);
    sections::charts(&mut out, report);
    claims::proof(&mut out, report);
    sections::needs(&mut out, report);
    sections::files(&mut out, report);
    sections::commits(&mut out, report);
    sections::before(&mut out, report);
    iterations(&mut out, report);
    sections::spending(&mut out, report);
    sections::parameters(&mut out, report);
    put!(
        &mut out,
        "<footer><p>{}</p><p>Times are UTC. Made by nightwright from the journal of run <code>{}</code>; \
         what the agent wrote is shown as text and nothing else.</p></footer>\n\
         </main>\n</body>\n</html>\n",
        phrases::ACCEPTED,
        Escaped(&report.run.0)
    );
    out
}

/// The CSS class for the status of an iteration.
pub(super) fn status_class(fate: IterationStatus) -> &'static str {
    match fate {
        IterationStatus::Accepted => "believed",
        IterationStatus::Rejected => "rejected",
        IterationStatus::Work => "work",
        IterationStatus::Excused => "excused",
        IterationStatus::Idle => "idle",
        IterationStatus::Failed => "failed",
        IterationStatus::Interrupted => "interrupted",
        IterationStatus::Running => "going",
    }
}

/// The CSS class and the icon for an overall result.
fn tone(verdict: ReportStatus) -> (&'static str, &'static str) {
    const CHECK: &str = "<path d=\"M6 12.5l4 4 8-9\"/>";
    const DASH: &str = "<path d=\"M7 12h10\"/>";
    const CROSS: &str = "<path d=\"M8 8l8 8M16 8l-8 8\"/>";
    const DOTS: &str = "<path d=\"M7 12h.01M12 12h.01M17 12h.01\"/>";
    match verdict {
        ReportStatus::Verified => ("good", CHECK),
        ReportStatus::Judged | ReportStatus::NotVerified => ("mixed", DASH),
        ReportStatus::NotDone => ("bad", CROSS),
        ReportStatus::Running => ("live", DOTS),
        ReportStatus::Crashed => ("bad", CROSS),
        ReportStatus::Rehearsed | ReportStatus::Unknown => ("mixed", DASH),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_is_markup() {
        let text = "<script>alert(\"1\" & '2')</script>";
        let shown = Escaped(text).to_string();
        assert_eq!(shown, "&lt;script&gt;alert(&quot;1&quot; &amp; &#39;2&#39;)&lt;/script&gt;");
    }

    #[test]
    fn what_stands_in_backticks_is_code_and_still_only_text() {
        assert_eq!(Prose("run `a <b>` now").to_string(), "run <code>a &lt;b&gt;</code> now");
        assert_eq!(Prose("one ` alone <").to_string(), "one ` alone &lt;");
    }
}

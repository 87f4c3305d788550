//! Charts as HTML with embedded SVG: the bars and bands stretch with the page, the labels do not.
//!
//! Scaling a whole drawing would make its text unreadable on a phone. Only bars and bands are
//! therefore SVG, stretched to the available width. Every label is HTML text, positioned in
//! percent. The only external text is in the titles of marks, which are escaped.
//!
//! Charts are code and not templates, because every position and width is computed, and marks are
//! merged, sorted and layered before they are drawn.

mod axis;
mod bars;
mod timeline;

pub(super) use bars::{Bar, BarChart, BarPart, bars};
pub(super) use timeline::timeline;

use crate::results::IterationStatus;

/// Appends formatted text to a drawing.
macro_rules! put {
    ($out:expr, $($text:tt)*) => {
        std::fmt::Write::write_fmt($out, format_args!($($text)*))
            .expect("writing to memory cannot fail")
    };
}
use put;

/// The width of every drawing before stretching.
const WIDTH: f64 = 1000.0;

/// Converts a count to a length.
#[expect(clippy::cast_precision_loss, reason = "a millionth of a chart is invisible")]
fn length(count: u64) -> f64 {
    count as f64
}

/// The CSS class for the status of an iteration.
pub(super) fn status_class(status: IterationStatus) -> &'static str {
    match status {
        IterationStatus::Accepted => "accepted",
        IterationStatus::Rejected | IterationStatus::Unverified | IterationStatus::Impossible => {
            "rejected"
        }
        IterationStatus::Work => "work",
        IterationStatus::WorkReported => "work-reported",
        IterationStatus::Idle => "idle",
        IterationStatus::Failed => "failed",
        IterationStatus::Interrupted => "interrupted",
        IterationStatus::Running => "going",
    }
}

//! Charts as HTML with embedded SVG: the bars and bands stretch with the page, the labels do not.
//!
//! Scaling a whole drawing would make its text unreadable on a phone. Only bars and bands are
//! therefore SVG, stretched to the available width. Every label is HTML text, positioned in
//! percent. The only external text is in the titles of marks, which are escaped.

mod axis;
mod bars;
mod timeline;

pub(super) use bars::{Bar, BarChart, BarPart, bars};
pub(super) use timeline::timeline;

/// The width of every drawing before stretching.
const WIDTH: f64 = 1000.0;

/// Converts a count to a length.
#[expect(clippy::cast_precision_loss, reason = "a millionth of a chart is invisible")]
fn length(count: u64) -> f64 {
    count as f64
}

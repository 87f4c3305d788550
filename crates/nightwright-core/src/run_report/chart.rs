//! Charts as HTML with SVG inside: the marks stretch with the page, the words around them don't.
//!
//! A drawing that is scaled as a whole has letters that nobody can read on a phone. So only bars and
//! bands are SVG, stretched to the width there is, and every label is text of the page at a place in
//! percent. Nothing here comes from the agent but the titles of marks, which are escaped.

mod axis;
mod bars;
mod timeline;

pub(super) use bars::{Bar, BarChart, BarPart, bars};
pub(super) use timeline::timeline;

/// The width of every drawing, before it is stretched.
const WIDTH: f64 = 1000.0;

/// A count as a length.
#[expect(clippy::cast_precision_loss, reason = "nobody sees a millionth of a chart")]
fn length(count: u64) -> f64 {
    count as f64
}

//! What happened, a line or two for each thing that matters. Plain lines, for terminals, pipes and
//! files alike.

use std::fmt;
use std::io::{self, Write};

use legwork_core::journal::Line;
use legwork_core::view::RunView;

use super::page::Page;
use super::style::Style;
use super::{Out, Reporter, Shown, lines};

/// Writes a line or two for each event that matters.
pub struct Progress {
    view: RunView,
    style: Style,
    out: Out,
}

impl Progress {
    /// Writes to `out`, in this style.
    pub fn new(style: Style, out: Box<dyn Write + Send>) -> Self {
        Self { view: RunView::default(), style, out: Out::new(out) }
    }

    /// Writes what somebody puts on a page, given the run as it is.
    pub(super) fn write(&mut self, fill: impl FnOnce(&mut Page<'_>, &RunView)) -> io::Result<()> {
        let mut page = Page::new(&self.style);
        fill(&mut page, &self.view);
        self.out.write_all(page.finish().as_bytes())
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { view, style, out: _ } = self;
        f.debug_struct("Progress").field("view", view).field("style", style).finish_non_exhaustive()
    }
}

impl Reporter for Progress {
    fn past(&mut self, line: &Line) {
        self.view.record(&line.record);
    }

    fn event(&mut self, line: &Line, _: &[u8]) -> io::Result<()> {
        self.view.record(&line.record);
        self.write(|page, view| lines::event(page, view, line))
    }

    fn message(&mut self, _: &Shown) -> io::Result<()> {
        Ok(())
    }

    fn note(&mut self, text: &str) -> io::Result<()> {
        self.write(|page, _| page.aside(text))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn wants_messages(&self) -> bool {
        false
    }
}

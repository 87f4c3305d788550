//! What happened, a line or two for each thing that matters: plain lines, for terminals, pipes and
//! files alike. On a terminal there is a panel below them.

use std::fmt;
use std::io::{self, Write};
use std::time::Duration;

use jiff::Timestamp;
use nightwright_core::journal::JournalLine;
use nightwright_core::run_view::RunView;
use nightwright_core::stream::message::AgentMessage;

use super::page::Page;
use super::panel::{DRAW_INTERVAL, LivePanel};
use super::style::Style;
use super::{BufferedOutput, Reporter, ReporterInput, Speaker, lines};

/// Writes a line or two for each event that matters.
pub struct ProgressReporter {
    view: RunView,
    style: Style,
    out: BufferedOutput,
    panel: Option<LivePanel>,
    /// How much was written so far.
    written: u64,
}

impl ProgressReporter {
    /// Writes to `out`, in this style.
    pub fn new(style: Style, out: Box<dyn Write + Send>) -> Self {
        let panel = style.screen().cloned().map(LivePanel::new);
        Self { view: RunView::default(), style, out: BufferedOutput::new(out), panel, written: 0 }
    }

    /// Writes what somebody puts on a page, given the run as it is.
    pub(super) fn write(&mut self, fill: impl FnOnce(&mut Page<'_>, &RunView)) -> io::Result<()> {
        let mut page = Page::new(&self.style);
        fill(&mut page, &self.view);
        let text = page.finish();
        self.written += text.len() as u64;
        match &mut self.panel {
            Some(panel) => panel.hold(&mut self.out, &text),
            None => self.out.write_all(text.as_bytes()),
        }
    }

    /// How much was written so far, in bytes: who else writes can see whether something came in
    /// between.
    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// Writes everything, and takes the panel away.
    fn clear(&mut self) -> io::Result<()> {
        match &mut self.panel {
            Some(panel) => panel.clear(&mut self.out),
            None => self.out.flush(),
        }
    }
}

impl fmt::Debug for ProgressReporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { view, style, out: _, panel: _, written: _ } = self;
        f.debug_struct("Progress").field("view", view).field("style", style).finish_non_exhaustive()
    }
}

impl Reporter for ProgressReporter {
    fn past(&mut self, line: &JournalLine) {
        self.view.record(&line.record);
    }

    fn event(&mut self, line: &JournalLine, _: &[u8]) -> io::Result<()> {
        self.view.record(&line.record);
        if let Some(panel) = &mut self.panel {
            panel.event(line);
        }
        self.write(|page, view| lines::event(page, view, line))
    }

    fn message(&mut self, _: Speaker, message: &AgentMessage<'_>) -> io::Result<()> {
        if let Some(panel) = &mut self.panel {
            panel.message(message);
        }
        Ok(())
    }

    fn raw(&mut self, _: Speaker, _: &[u8]) -> io::Result<()> {
        if let Some(panel) = &mut self.panel {
            panel.sign_of_life();
        }
        Ok(())
    }

    fn note(&mut self, text: &str) -> io::Result<()> {
        self.write(|page, _| page.aside(text))
    }

    fn flush(&mut self) -> io::Result<()> {
        match &self.panel {
            // Written with the next drawing.
            Some(_) => Ok(()),
            None => self.out.flush(),
        }
    }

    fn wants(&self) -> ReporterInput {
        match &self.panel {
            Some(_) => ReporterInput::Messages,
            None => ReporterInput::Events,
        }
    }

    fn tick(&mut self, now: Timestamp) -> io::Result<()> {
        let Some(panel) = &mut self.panel else { return Ok(()) };
        // A terminal may be made wider or narrower at any time.
        let width = panel.width();
        if self.style.width() != width {
            self.style = self.style.clone().with_width(width);
        }
        panel.tick(&mut self.out, &self.view, &self.style, now)
    }

    fn pace(&self) -> Option<Duration> {
        self.panel.as_ref().map(|_| DRAW_INTERVAL)
    }

    fn close(&mut self) -> io::Result<()> {
        self.clear()
    }
}

impl Drop for ProgressReporter {
    /// However it ends, no panel is left behind. Where nothing can be written there is none.
    fn drop(&mut self) {
        if self.panel.is_some() {
            let _ = self.clear();
        }
    }
}

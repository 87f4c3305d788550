//! The progress output: one or two lines per important event, for terminals, pipes and files. On a
//! terminal, a panel is shown below the lines.

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

/// Writes one or two lines for each important event.
pub struct ProgressReporter {
    view: RunView,
    style: Style,
    out: BufferedOutput,
    panel: Option<LivePanel>,
    /// The number of bytes written so far.
    written: u64,
}

impl ProgressReporter {
    /// Creates a reporter that writes to `out`.
    pub fn new(style: Style, out: Box<dyn Write + Send>) -> Self {
        let panel = style.screen().cloned().map(LivePanel::new);
        Self { view: RunView::default(), style, out: BufferedOutput::new(out), panel, written: 0 }
    }

    /// Writes a page, which `fill` composes from the current state of the run.
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

    /// The number of bytes written so far. Callers use it to detect whether there was new output.
    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// Writes everything and removes the panel.
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
        f.debug_struct("ProgressReporter")
            .field("view", view)
            .field("style", style)
            .finish_non_exhaustive()
    }
}

impl Reporter for ProgressReporter {
    fn past(&mut self, line: &JournalLine) {
        self.view.record(&line.record);
    }

    fn event(&mut self, line: &JournalLine, _: &[u8]) -> io::Result<()> {
        self.view.record(&line.record);
        if let Some(panel) = &mut self.panel {
            panel.event(&self.view, line);
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
            // The text is written with the next redraw.
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
        // The terminal may have been resized.
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
    /// Removes the panel in any case. If writing fails, there is no panel to remove.
    fn drop(&mut self) {
        if self.panel.is_some() {
            let _ = self.clear();
        }
    }
}

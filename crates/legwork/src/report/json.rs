//! The events, as they stand in the journal.

use std::fmt;
use std::io::{self, Write};

use legwork_core::journal::Line;

use super::{Out, Reporter, Shown};

/// Writes the lines of the journal, byte by byte.
pub(super) struct Json {
    out: Out,
}

impl Json {
    pub(super) fn new(out: Box<dyn Write + Send>) -> Self {
        Self { out: Out::new(out) }
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Json").finish_non_exhaustive()
    }
}

impl Reporter for Json {
    fn past(&mut self, _: &Line) {}

    fn event(&mut self, _: &Line, raw: &[u8]) -> io::Result<()> {
        self.out.write_all(raw)?;
        self.out.write_all(b"\n")
    }

    fn message(&mut self, _: &Shown) -> io::Result<()> {
        Ok(())
    }

    /// Whoever reads this wants data and nothing else.
    fn note(&mut self, _: &str) -> io::Result<()> {
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn wants_messages(&self) -> bool {
        false
    }
}

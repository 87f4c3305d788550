//! Tool calls that are going on.

use std::time::Duration;

use crate::agent::report::RunningTool;

/// More calls at once than this are not followed; the attempt's own deadline still holds.
const RUNNING_MAX: usize = 256;

/// Tool calls that have begun and not come back.
#[derive(Debug, Default)]
pub(super) struct Tools {
    running: Vec<Running>,
    calls: u32,
}

#[derive(Debug)]
struct Running {
    id: String,
    name: String,
    of: CallOf,
    since: Duration,
    heartbeat: Option<Duration>,
}

/// Whose call it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallOf {
    Main,
    Sub,
}

impl Tools {
    /// Calls so far.
    pub(super) fn calls(&self) -> u32 {
        self.calls
    }

    pub(super) fn begin(&mut self, mono: Duration, id: &str, name: &str, of: CallOf) {
        self.calls = self.calls.saturating_add(1);
        let known = self.running.iter().any(|running| running.id == id);
        if !known && self.running.len() < RUNNING_MAX {
            self.running.push(Running {
                id: id.to_owned(),
                name: name.to_owned(),
                of,
                since: mono,
                heartbeat: None,
            });
        }
    }

    pub(super) fn end(&mut self, id: &str) {
        self.running.retain(|running| running.id != id);
    }

    pub(super) fn beat(&mut self, mono: Duration, id: &str) {
        for running in self.running.iter_mut().filter(|running| running.id == id) {
            running.heartbeat = Some(mono);
        }
    }

    /// The main agent's model is asked again: all its calls have come back, even if we missed it.
    pub(super) fn main_goes_on(&mut self) {
        self.running.retain(|running| running.of != CallOf::Main);
    }

    /// The turn is over.
    pub(super) fn clear(&mut self) {
        self.running.clear();
    }

    /// The call that has been going on longest.
    pub(super) fn longest(&self, mono: Duration) -> Option<RunningTool> {
        let running = self.running.iter().min_by_key(|running| running.since)?;
        Some(RunningTool {
            name: running.name.clone(),
            running: mono.saturating_sub(running.since),
            heartbeat: running.heartbeat.map(|beat| mono.saturating_sub(beat)),
        })
    }
}

//! Tool calls: counts, and the calls that are running.

use std::time::Duration;

use crate::stream::message::{Owner, ToolStatus};
use crate::stream::news::RunningTool;

/// The maximum number of concurrent calls that are tracked. The attempt's deadline covers the
/// others.
const MAX_RUNNING: usize = 256;

/// The number of edited files that are named. The first few suffice to show that there was work.
const MAX_EDITED: usize = 16;

/// The maximum length of a path in bytes.
const MAX_PATH: usize = 256;

/// Running tool calls, and counts of all calls.
#[derive(Debug, Default)]
pub(super) struct ToolTracker {
    running: Vec<RunningCall>,
    calls: u32,
    errors: u32,
    edited: Vec<String>,
}

#[derive(Debug)]
struct RunningCall {
    id: String,
    name: String,
    /// The command, file or address of the call.
    subject: String,
    of: CallOwner,
    since: Duration,
    heartbeat: Option<Duration>,
}

/// The agent that made a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CallOwner {
    Main,
    Sub {
        /// The call that started the sub-agent.
        parent: String,
    },
}

impl CallOwner {
    pub(super) fn new(owner: Owner<'_>) -> Self {
        match owner {
            Owner::Main => Self::Main,
            Owner::Sub { call } => Self::Sub { parent: call.into_owned() },
        }
    }
}

impl ToolTracker {
    /// The number of calls so far.
    pub(super) fn calls(&self) -> u32 {
        self.calls
    }

    /// The number of failed calls.
    pub(super) fn errors(&self) -> u32 {
        self.errors
    }

    /// The first files that were written or edited, each once.
    pub(super) fn edited(&self) -> &[String] {
        &self.edited
    }

    pub(super) fn note_edit(&mut self, mut path: String) {
        path.truncate(path.floor_char_boundary(MAX_PATH));
        if self.edited.len() < MAX_EDITED && !self.edited.contains(&path) {
            self.edited.push(path);
        }
    }

    /// Records the start of a call. Returns whether the call is new: some are reported twice.
    pub(super) fn begin(
        &mut self,
        mono: Duration,
        id: &str,
        (name, subject): (&str, String),
        of: CallOwner,
    ) -> bool {
        if self.running.iter().any(|running| running.id == id) {
            return false;
        }
        self.calls = self.calls.saturating_add(1);
        if self.running.len() < MAX_RUNNING {
            self.running.push(RunningCall {
                id: id.to_owned(),
                name: name.to_owned(),
                subject,
                of,
                since: mono,
                heartbeat: None,
            });
        }
        true
    }

    /// The subject of a running call.
    pub(super) fn subject(&self, id: &str) -> Option<&str> {
        let running = self.running.iter().find(|running| running.id == id);
        running.map(|running| running.subject.as_str())
    }

    /// Records the result of a call. Returns the name of its tool, if the call is known.
    pub(super) fn end(&mut self, id: &str, went: ToolStatus) -> Option<String> {
        match went {
            ToolStatus::Ok => {}
            ToolStatus::Failed => self.errors = self.errors.saturating_add(1),
        }
        // The calls of a sub-agent end with it, even if their results were missed.
        let is_over = |running: &RunningCall| match &running.of {
            CallOwner::Main => running.id == id,
            CallOwner::Sub { parent } => running.id == id || parent == id,
        };
        let ended = self.running.iter().find(|running| running.id == id);
        let name = ended.map(|running| running.name.clone());
        self.running.retain(|running| !is_over(running));
        name
    }

    pub(super) fn beat(&mut self, mono: Duration, id: &str) {
        for running in self.running.iter_mut().filter(|running| running.id == id) {
            running.heartbeat = Some(mono);
        }
    }

    /// Ends all calls of the main agent: its model is running again, so they have returned, even if
    /// their results were missed.
    pub(super) fn main_is_running(&mut self) {
        self.running.retain(|running| running.of != CallOwner::Main);
    }

    /// Forgets all running calls at the end of a turn.
    pub(super) fn clear(&mut self) {
        self.running.clear();
    }

    /// The longest-running call, and the oldest heartbeat.
    pub(super) fn running(&self, mono: Duration) -> Option<RunningTool> {
        let longest = self.running.iter().min_by_key(|running| running.since)?;
        let heartbeat = self.running.iter().filter_map(|running| running.heartbeat).min();
        Some(RunningTool {
            name: longest.name.clone(),
            running: mono.saturating_sub(longest.since),
            heartbeat: heartbeat.map(|beat| mono.saturating_sub(beat)),
        })
    }
}

//! Tool calls: how many there were, and which are going on.

use std::time::Duration;

use crate::stream::message::{Owner, ToolStatus};
use crate::stream::report::RunningTool;

/// More calls at once than this are not followed; the attempt's own deadline still holds.
const RUNNING_MAX: usize = 256;

/// So many edited files are named: the first of them say that there was work.
const EDITED_MAX: usize = 16;

/// The most of a path that is kept, in bytes.
const PATH_MAX: usize = 256;

/// Tool calls that have begun and not come back, and counts of all.
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
    /// The command, file or address that the call is about.
    subject: String,
    of: CallOwner,
    since: Duration,
    heartbeat: Option<Duration>,
}

/// Whose call it is.
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
    /// Calls so far.
    pub(super) fn calls(&self) -> u32 {
        self.calls
    }

    /// Calls that failed.
    pub(super) fn errors(&self) -> u32 {
        self.errors
    }

    /// Files that were written or edited, each once, the first of them.
    pub(super) fn edited(&self) -> &[String] {
        &self.edited
    }

    pub(super) fn note_edit(&mut self, mut path: String) {
        path.truncate(path.floor_char_boundary(PATH_MAX));
        if self.edited.len() < EDITED_MAX && !self.edited.contains(&path) {
            self.edited.push(path);
        }
    }

    /// A call begins. Gives back whether it is one that is not known yet: some are told twice.
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
        if self.running.len() < RUNNING_MAX {
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

    /// What a call that is going on is about.
    pub(super) fn subject(&self, id: &str) -> Option<&str> {
        let running = self.running.iter().find(|running| running.id == id);
        running.map(|running| running.subject.as_str())
    }

    /// A call came back. Gives back the name of its tool, if the call is known.
    pub(super) fn end(&mut self, id: &str, went: ToolStatus) -> Option<String> {
        match went {
            ToolStatus::Ok => {}
            ToolStatus::Failed => self.errors = self.errors.saturating_add(1),
        }
        // With a sub-agent its calls are over, too, even if we missed it.
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

    /// The main agent's model is asked again: all its calls have come back, even if we missed it.
    pub(super) fn main_is_running(&mut self) {
        self.running.retain(|running| running.of != CallOwner::Main);
    }

    /// The turn is over.
    pub(super) fn clear(&mut self) {
        self.running.clear();
    }

    /// The call that has been going on longest, and the heartbeat that is furthest back.
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

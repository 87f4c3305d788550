//! What was seen of a row: all that a judgement may look at.

use std::fs;
use std::path::{Path, PathBuf};

use nightwright_core::event::{Event, Record, RunEvent};
use serde::Serialize;
use serde_json::Value;

use crate::process::Exit;
use crate::rehearsal;
use crate::store::journal;

/// What came of a row.
#[derive(Clone, Debug, Default)]
pub(super) struct CaseObservation {
    /// The journal, in order.
    pub(super) records: Vec<Record>,
    /// What is wrong with the journal, if anything.
    pub(super) damage: Option<String>,
    /// How the last process of ours ended.
    pub(super) exit: Option<Exit>,
    /// Who was alive when nobody should have been.
    pub(super) survivors: Vec<String>,
    /// How many processes the agent started to leave them behind.
    pub(super) noted: usize,
    /// How many of them led a session of their own.
    pub(super) leaders: usize,
    /// Who of those a later attempt met; `None` if none looked.
    pub(super) met: Option<Vec<String>>,
    /// What the agent was asked, attempt by attempt.
    pub(super) prompts: Vec<String>,
    /// The last words on standard error.
    pub(super) complaint: String,
}

/// What a run says holds its processes, and what it keeps the agent from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct ProtectionLevels {
    pub(super) containment: String,
}

impl CaseObservation {
    /// By what a run left: `state` has its journal, `home` what the agent noted there, and `tmp`
    /// what it was asked.
    pub(super) fn of_run(state: &Path, home: &Path) -> Self {
        let (records, damage) = match journal_in(state) {
            Some(path) => match journal::read(&path) {
                Ok(read) => {
                    let torn = read.torn.map(|torn| format!("{} bytes are torn off", torn.length));
                    (read.records, torn)
                }
                Err(error) => (Vec::new(), Some(error.to_string())),
            },
            None => (Vec::new(), Some("there is none".to_owned())),
        };
        let text = |name: &str| fs::read_to_string(home.join(name)).unwrap_or_default();
        let lines = |name: &str| text(name).lines().map(str::to_owned).collect::<Vec<_>>();
        Self {
            records,
            damage,
            noted: lines("notes").len(),
            leaders: lines("notes").iter().filter(|line| leads_a_session(line)).count(),
            met: home.join("looked").exists().then(|| lines("met")),
            prompts: prompts(state),
            ..Self::default()
        }
    }

    /// What its first event says of how it was kept.
    pub(super) fn levels(&self) -> Option<ProtectionLevels> {
        self.records.iter().find_map(|record| match &record.event {
            Event::Run(RunEvent::Started(started)) => {
                Some(ProtectionLevels { containment: started.containment.clone() })
            }
            _ => None,
        })
    }
}

/// Whether a line of `/proc/PID/stat` is that of a process whose session has its own number: that is
/// the sixth field, the fourth behind the name.
fn leads_a_session(line: &str) -> bool {
    let number = line.split(' ').next();
    let session = line.rsplit_once(')').and_then(|(_, fields)| fields.split_whitespace().nth(3));
    session.is_some() && session == number
}

/// The journal of the only run.
fn journal_in(state: &Path) -> Option<PathBuf> {
    let runs = list(state).into_iter().flat_map(|project| list(&project.join("runs")));
    runs.map(|run| run.join("journal.jsonl")).find(|path| path.exists())
}

/// What the agent was asked for the work. What cannot be read was not asked.
fn prompts(state: &Path) -> Vec<String> {
    let mut prompts = Vec::new();
    for run in list(state).into_iter().flat_map(|project| list(&project.join("runs"))) {
        let log = fs::read_to_string(run.join(rehearsal::LOG)).unwrap_or_default();
        let requests = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        prompts.extend(
            requests
                .filter(|request| request["part"] == "attempt")
                .filter_map(|request| request["prompt"].as_str().map(str::to_owned)),
        );
    }
    prompts
}

fn list(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

//! The observation of a case: all data that its check may use.

use std::fs;
use std::path::{Path, PathBuf};

use nightwright_core::event::{Event, Record, RunEvent};
use serde_json::Value;

use crate::process::Exit;
use crate::store::journal;
use crate::store::run_dir::REHEARSAL_LOG;

/// The recorded result of a case.
#[derive(Clone, Debug, Default)]
pub(super) struct CaseObservation {
    /// The journal, in order.
    pub(super) records: Vec<Record>,
    /// The damage of the journal, if any.
    pub(super) damage: Option<String>,
    /// The exit of the last nightwright process.
    pub(super) exit: Option<Exit>,
    /// Processes that were alive although none should have been.
    pub(super) survivors: Vec<String>,
    /// The number of processes that the agent left behind.
    pub(super) noted: usize,
    /// The number of these processes that led their own session.
    pub(super) leaders: usize,
    /// The processes of these that a later attempt found alive; `None` if none checked.
    pub(super) met: Option<Vec<String>>,
    /// The prompts of the agent, in order of the attempts.
    pub(super) prompts: Vec<String>,
    /// The last line on standard error.
    pub(super) complaint: String,
}

impl CaseObservation {
    /// Reads the observation from the files of a run: the journal and the prompts in `state`, and
    /// the agent's notes in `home`.
    pub(super) fn of_run(state: &Path, home: &Path) -> Self {
        let (records, damage) = match journal_in(state) {
            Some(path) => match journal::read(&path) {
                Ok(read) => {
                    let torn = read
                        .torn
                        .map(|torn| format!("the last {} bytes are incomplete", torn.length));
                    (read.records, torn)
                }
                Err(error) => (Vec::new(), Some(error.to_string())),
            },
            None => (Vec::new(), Some("there is no journal".to_owned())),
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

    /// Returns the containment that the first event reports.
    pub(super) fn containment(&self) -> Option<String> {
        self.records.iter().find_map(|record| match &record.event {
            Event::Run(RunEvent::Started(started)) => Some(started.containment.clone()),
            _ => None,
        })
    }
}

/// Whether a line of `/proc/PID/stat` belongs to a session leader: the session, the fourth field
/// after the name, equals the process id.
fn leads_a_session(line: &str) -> bool {
    let number = line.split(' ').next();
    let session = line.rsplit_once(')').and_then(|(_, fields)| fields.split_whitespace().nth(3));
    session.is_some() && session == number
}

/// Returns the journal of the only run.
fn journal_in(state: &Path) -> Option<PathBuf> {
    let runs = list(state).into_iter().flat_map(|project| list(&project.join("runs")));
    runs.map(|run| run.join("journal.jsonl")).find(|path| path.exists())
}

/// Returns the prompts of the work attempts. Unreadable ones are omitted.
fn prompts(state: &Path) -> Vec<String> {
    let mut prompts = Vec::new();
    for run in list(state).into_iter().flat_map(|project| list(&project.join("runs"))) {
        let log = fs::read_to_string(run.join(REHEARSAL_LOG)).unwrap_or_default();
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

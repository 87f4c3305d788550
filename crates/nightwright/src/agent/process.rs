//! An agent that is a program: one process for each attempt or call, below a guard of its own.
//!
//! ```text
//!            prompt, messages                      lines -> transcript -> news
//!   feed ───────────────────────▶  the program  ───────────────────────────────▶ listen
//!                                      ▲  │ exit
//!                  SIGTERM, SIGKILL    │  ▼
//!   cut ───────────────────────────▶  keep
//! ```
//!
//! The three go on at the same time in one task: a prompt that is not read, a queue that is full
//! or a pipe that somebody holds open never keeps a cut from being carried out.

mod listen;
mod raw;
mod task;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use nightwright_core::effect::Grace;
use nightwright_core::event::CallPurpose;
use nightwright_core::redact::Secrets;
use nightwright_core::settings::Completion;
use nightwright_core::stream::dialect::{Dialect, InputShape};
use nightwright_core::stream::message::AgentMessage;
use nightwright_core::stream::outcome::CancelReason;
use nightwright_core::units::{Now, RunId};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use super::cancel::Canceller;
use super::{Agent, Attempt, LaunchRequest, NewsSender, NewsSource};
use crate::process::Containment;
use crate::store::temp_folder::TempHandle;

/// Messages that wait to be written. The machine sends one for each turn at most; when so many
/// wait, nobody reads them, and one more would not be read either.
const MESSAGES_MAX: usize = 16;

/// The time, from whoever knows it.
pub type ClockFn = Arc<dyn Fn() -> Now + Send + Sync>;
/// Shows a message of an attempt or call to people, on the spot: it must neither wait nor fail.
pub type ShowFn = Arc<dyn Fn(NewsSource, &AgentMessage<'_>) + Send + Sync>;
/// The arguments for an order; the path is the file with its system prompt, if it has one.
pub type ArgumentsFor = Box<dyn Fn(&LaunchRequest, Option<&Path>) -> Vec<OsString>>;

/// Everything that is the same for all attempts and calls of a run.
pub struct AgentSetup {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: ArgumentsFor,
    /// The language it speaks.
    pub dialect: Dialect,
    /// Whether messages can follow the prompt of an attempt. Calls have only their prompt.
    pub input: InputShape,
    /// Its environment, but for what each attempt has of its own; see
    /// [`inherited`](super::environment::inherited).
    pub environment: Vec<(OsString, OsString)>,
    /// Where it works.
    pub project: PathBuf,
    /// The folder of the run: `output/` and `prompts/` in it are ours to fill.
    pub folder: PathBuf,
    /// Where its temporary files go.
    pub temp: TempHandle,
    /// What keeps its processes.
    pub containment: Containment,
    /// The name of the run.
    pub run: RunId,
    /// The name of the task, if there is one.
    pub task: Option<String>,
    /// What the agent's words are searched for.
    pub completion: Completion,
    /// The time.
    pub clock: ClockFn,
    /// Who shows what it says, if anybody.
    pub show: Option<ShowFn>,
    /// What is masked in everything that it prints, before anybody reads or keeps it.
    pub secrets: Secrets,
}

impl fmt::Debug for AgentSetup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the environment: there are secrets in it.
        f.debug_struct("Setup")
            .field("program", &self.program)
            .field("project", &self.project)
            .field("folder", &self.folder)
            .field("run", &self.run)
            .finish_non_exhaustive()
    }
}

/// Starts the program of an agent.
#[derive(Debug)]
pub struct ProcessAgent {
    setup: AgentSetup,
    /// How many calls there were of each purpose.
    calls: BTreeMap<CallPurpose, u32>,
    warned: WarnedOnce,
}

/// What people were told already: one word about each is enough for a run.
#[derive(Clone, Debug, Default)]
struct WarnedOnce {
    /// That the raw output can't be kept.
    raw_failed: Arc<AtomicBool>,
    /// What is new in the agent's stream.
    unknown: Arc<Mutex<BTreeSet<String>>>,
}

impl WarnedOnce {
    /// Those of `names` that are told for the first time.
    fn first_time<'a>(&self, names: &'a [String]) -> Vec<&'a str> {
        let mut told = self.unknown.lock().unwrap_or_else(PoisonError::into_inner);
        let new = names.iter().filter(|name| told.insert((*name).clone()));
        new.map(String::as_str).collect()
    }
}

impl ProcessAgent {
    /// An agent for one run.
    pub fn new(setup: AgentSetup) -> Self {
        Self { setup, calls: BTreeMap::new(), warned: WarnedOnce::default() }
    }
}

impl Agent for ProcessAgent {
    fn start(&mut self, request: LaunchRequest, news: NewsSender) -> Box<dyn Attempt> {
        let turn = request.purpose.map(|purpose| {
            let turn = self.calls.entry(purpose).or_insert(0);
            *turn += 1;
            *turn
        });
        let job = task::LaunchJob::new(&self.setup, request, turn, self.warned.clone());
        let (canceller, cuts) = Canceller::new();
        let (messages, received) = mpsc::channel(MESSAGES_MAX);
        let task = tokio::spawn(task::run(job, news, cuts, received)).abort_handle();
        Box::new(ProcessAttempt { messages, canceller, task })
    }
}

/// Something for the agent's input.
#[derive(Debug)]
enum AgentInput {
    Text(String),
    Close,
}

struct ProcessAttempt {
    messages: mpsc::Sender<AgentInput>,
    canceller: Canceller,
    task: AbortHandle,
}

impl Attempt for ProcessAttempt {
    fn send_message(&self, text: String) {
        // Full or over: either way nobody would read it.
        let _ = self.messages.try_send(AgentInput::Text(text));
    }

    fn close_input(&self) {
        // Full or over: then a cut will do what closing can't.
        let _ = self.messages.try_send(AgentInput::Close);
    }

    fn cancel(&self, why: CancelReason, grace: Grace) {
        self.canceller.cancel(why, grace);
    }
}

impl Drop for ProcessAttempt {
    /// The task holds the process, and the process goes with it.
    fn drop(&mut self) {
        self.task.abort();
    }
}

//! An agent that runs a program: one process for each attempt or call, with its own guard.
//!
//! ```text
//!            prompt, messages                      lines -> transcript -> news
//!   feed ───────────────────────▶  the program  ───────────────────────────────▶ listen
//!                                      ▲  │ exit
//!                  SIGTERM, SIGKILL    │  ▼
//!   cut ───────────────────────────▶  keep
//! ```
//!
//! All three run concurrently in one task. An unread prompt, a full queue or a pipe that another
//! process holds open never delays a cancellation.

mod attempt_task;
mod listen;
mod raw;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use nightwright_core::effect::Grace;
use nightwright_core::event::CallPurpose;
use nightwright_core::redact::Secrets;
use nightwright_core::sandbox::mounts::Access;
use nightwright_core::settings::Completion;
use nightwright_core::stream::dialect::{Dialect, InputShape};
use nightwright_core::stream::message::AgentMessage;
use nightwright_core::stream::outcome::CancelReason;
use nightwright_core::units::{Now, RunId};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use super::cancel::Canceller;
use super::judge_home::JudgeHome;
use super::{Agent, AgentRequest, Attempt, NewsSender, NewsSource};
use crate::process::Containment;
use crate::sandbox::Sandbox;
use crate::store::temp_folder::TempHandle;

/// Capacity of the queue of messages to the agent. The machine sends at most one per turn, so a
/// full queue means that the agent does not read its input.
const MAX_MESSAGES: usize = 16;

/// Returns the current time.
pub type ClockFn = Arc<dyn Fn() -> Now + Send + Sync>;
/// Shows a message of an attempt or call to the user. It must neither block nor fail.
pub type ShowFn = Arc<dyn Fn(NewsSource, &AgentMessage<'_>) + Send + Sync>;
/// Returns what the user should know after an attempt.
pub type NoticesFn = Arc<dyn Fn() -> Vec<String> + Send + Sync>;
/// Builds the arguments for a request; the path is the file with its system prompt, if any.
pub type ArgumentsFor = Box<dyn Fn(&AgentRequest, Option<&Path>) -> Vec<OsString>>;

/// The settings shared by all attempts and calls of a run.
pub struct AgentSetup {
    pub program: PathBuf,
    pub arguments: ArgumentsFor,
    /// The format of its command line and output stream.
    pub dialect: Dialect,
    /// Whether messages can follow the prompt of an attempt. A call has only its prompt.
    pub input: InputShape,
    /// The program's environment, without the variables that are specific to each attempt; see
    /// [`inherited`](super::environment::inherited).
    pub environment: Vec<(OsString, OsString)>,
    /// The working directory of its process.
    pub project: PathBuf,
    /// The run folder; the agent's files go to `output/` and `prompts/` in it.
    pub folder: PathBuf,
    /// The folder for its temporary files.
    pub temp: TempHandle,
    /// How its process tree is contained.
    pub containment: Containment,
    pub run: RunId,
    /// The name of the task, if any.
    pub task: Option<String>,
    /// The completion marker and signal to look for in the agent's text.
    pub completion: Completion,
    pub clock: ClockFn,
    /// Shows the agent's messages, if set.
    pub show: Option<ShowFn>,
    /// Secrets to mask in all output before it is shown or stored.
    pub secrets: Secrets,
    /// The configuration of calls; `None` if they use that of the attempts.
    pub judge: Option<JudgeHome>,
    /// Returns the warnings to show after an attempt, each once per run.
    pub notices: Option<NoticesFn>,
    /// The sandbox of its processes, if any.
    pub sandbox: Option<AgentSandbox>,
}

/// The sandbox of the agent's processes.
#[derive(Clone, Debug)]
pub struct AgentSandbox {
    pub sandbox: Arc<Sandbox>,
    /// Variables that name files of nightwright, with the access to these files.
    pub shown: Vec<(&'static str, Access)>,
    /// Variables for the programs inside.
    pub variables: Vec<(&'static str, &'static str)>,
}

impl fmt::Debug for AgentSetup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The environment is left out because it contains secrets.
        f.debug_struct("AgentSetup")
            .field("program", &self.program)
            .field("project", &self.project)
            .field("folder", &self.folder)
            .field("run", &self.run)
            .finish_non_exhaustive()
    }
}

/// Starts the agent's program for each attempt and call.
#[derive(Debug)]
pub struct ProcessAgent {
    setup: AgentSetup,
    /// The number of calls so far, per purpose.
    calls: BTreeMap<CallPurpose, u32>,
    warned: WarnedOnce,
}

/// Warnings that were already shown: each one is shown once per run.
#[derive(Clone, Debug, Default)]
struct WarnedOnce {
    /// Whether the user was warned that the raw output cannot be stored.
    raw_failed: Arc<AtomicBool>,
    /// The notices, and the unknown items of the agent's stream, that were reported.
    reported: Arc<Mutex<BTreeSet<String>>>,
}

impl WarnedOnce {
    /// Returns those of `names` that were not reported before.
    fn first_time<'a>(&self, names: &'a [String]) -> Vec<&'a str> {
        let mut known = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        let new = names.iter().filter(|name| known.insert((*name).clone()));
        new.map(String::as_str).collect()
    }
}

impl ProcessAgent {
    /// Creates the agent for one run.
    pub fn new(setup: AgentSetup) -> Self {
        Self { setup, calls: BTreeMap::new(), warned: WarnedOnce::default() }
    }
}

impl Agent for ProcessAgent {
    fn start(&mut self, request: AgentRequest, news: NewsSender) -> Box<dyn Attempt> {
        let turn = request.purpose.map(|purpose| {
            let turn = self.calls.entry(purpose).or_insert(0);
            *turn += 1;
            *turn
        });
        let job = attempt_task::AttemptTask::new(&self.setup, request, turn, self.warned.clone());
        let (canceller, cuts) = Canceller::new();
        let (messages, received) = mpsc::channel(MAX_MESSAGES);
        let task = tokio::spawn(attempt_task::run(job, news, cuts, received)).abort_handle();
        Box::new(ProcessAttempt { messages, canceller, task })
    }
}

/// A message for the agent's input, or the request to close it.
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
        // If the queue is full or closed, the agent would not read the message.
        let _ = self.messages.try_send(AgentInput::Text(text));
    }

    fn close_input(&self) {
        // If the queue is full or closed, a cancellation ends the agent anyway.
        let _ = self.messages.try_send(AgentInput::Close);
    }

    fn cancel(&self, why: CancelReason, grace: Grace) {
        self.canceller.cancel(why, grace);
    }
}

impl Drop for ProcessAttempt {
    /// The task owns the process: aborting the task kills the process.
    fn drop(&mut self) {
        self.task.abort();
    }
}

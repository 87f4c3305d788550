//! Executes the effects that the machine requests: starts the agent, inspects the project, runs the
//! checks.
//!
//! Every request is answered exactly once, with an input that carries its ticket or id. Slow work
//! runs concurrently with the loop; nothing here blocks.

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use nightwright_core::effect::{AnswerFormat, AttemptRequest, CallRequest, Effect, Grace, Needed};
use nightwright_core::hook::Hook;
use nightwright_core::input::{HookAnswer, Input, Prepared, Survey};
use nightwright_core::machine::ledger::State;
use nightwright_core::prompt::{self, Briefing, CollectedPrinciples, Prompt, PromptContext};
use nightwright_core::redact::Secrets;
use nightwright_core::settings::Settings;
use nightwright_core::stream::dialect::ToolAccess;
use nightwright_core::stream::news::{AgentNews, AttemptReport};
use nightwright_core::stream::outcome::{AttemptOutcome, CancelReason};
use nightwright_core::units::{AttemptId, CallId, Iteration, Ticket};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::agent::{Agent, AgentRequest, Attempt, NewsSender, NewsSource};
use crate::config::principles;
use crate::error::chain;
use crate::files;
use crate::hooks::HookRunner;
use crate::process::{self, Containment, StopHandle};
use crate::runtime::observer::{JournaledWorkspace, WorkspaceObserver};
use crate::runtime::supervisor::Effects;
use crate::sandbox::Sandbox;
use crate::store::journal::create_file;
use crate::store::run_dir::{RunDir, attempt_label, call_label};
use crate::store::temp_folder::TempHandle;
use crate::task;
use crate::workspace::{self, StartTree};
use check_job::WithheldVariables;

mod check_job;
pub mod check_runner;
mod host_comparison;

/// How long cancelled checks may take to end at shutdown.
const CHECKS_EXIT_TIMEOUT: Duration = Duration::from_secs(7);
/// How long killed processes may take to disappear. Their guards continue without nightwright.
const GUARDS_EXIT_TIMEOUT: Duration = Duration::from_millis(700);
/// The interval at which that is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// The programs and places that effects need.
pub struct ExecutorSetup {
    pub agent: Box<dyn Agent>,
    pub project: PathBuf,
    pub folder: RunDir,
    pub temp: TempHandle,
    /// The environment of checks.
    pub environment: Vec<(OsString, OsString)>,
    /// The variables that checks do not get.
    pub withheld: Vec<String>,
    /// A warning about them, shown once, when a check fails.
    pub withheld_line: Option<String>,
    pub containment: Containment,
    /// The sandbox of checks, if any.
    pub sandbox: Option<Arc<Sandbox>>,
    /// Masked in the output of checks and in the agent's files.
    pub secrets: Secrets,
    /// The user's hooks, if the run has any.
    pub hooks: Option<HookRunner>,
    /// The start of an earlier run, from which changes count.
    pub since: Option<StartTree>,
}

impl fmt::Debug for ExecutorSetup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The environment is left out because it contains secrets.
        f.debug_struct("ExecutorSetup").field("project", &self.project).finish_non_exhaustive()
    }
}

/// Executes the effects of a real run.
pub struct EffectExecutor {
    agent: Box<dyn Agent>,
    project: PathBuf,
    folder: RunDir,
    temp: TempHandle,
    environment: Vec<(OsString, OsString)>,
    containment: Containment,
    sandbox: Option<Arc<Sandbox>>,
    secrets: Secrets,
    workspace: Arc<Mutex<WorkspaceObserver>>,
    attempt: Option<(AttemptId, Box<dyn Attempt>)>,
    call: Option<(CallId, Box<dyn Attempt>)>,
    checks: Option<(Ticket, StopHandle, JoinHandle<()>)>,
    /// The user's hooks, if the run has any.
    hooks: Option<HookRunner>,
    /// The variables that checks do not get, and the warning about them.
    withheld: WithheldVariables,
    hook: Option<JoinHandle<()>>,
}

impl fmt::Debug for EffectExecutor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The environment is left out because it contains secrets.
        f.debug_struct("EffectExecutor")
            .field("project", &self.project)
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

impl EffectExecutor {
    /// Creates the executor for a run with these settings.
    pub fn new(setup: ExecutorSetup, settings: &Settings) -> Self {
        let ExecutorSetup {
            agent,
            project,
            folder,
            temp,
            environment,
            withheld,
            withheld_line,
            containment,
            sandbox,
            secrets,
            hooks,
            since,
        } = setup;
        let observer =
            WorkspaceObserver::new(&project, folder.path(), settings, secrets.clone(), since);
        Self {
            agent,
            project,
            folder,
            temp,
            environment,
            containment,
            sandbox,
            secrets,
            workspace: Arc::new(Mutex::new(observer)),
            attempt: None,
            call: None,
            checks: None,
            hooks,
            withheld: WithheldVariables {
                names: withheld,
                line: Arc::new(Mutex::new(withheld_line)),
            },
            hook: None,
        }
    }

    /// Inspects the project in the background and sends the input that `answer` returns.
    fn observe(
        &self,
        news: &mpsc::Sender<Input>,
        answer: impl FnOnce(&mut WorkspaceObserver) -> Input + Send + 'static,
    ) {
        let observer = Arc::clone(&self.workspace);
        let news = news.clone();
        tokio::task::spawn_blocking(move || {
            let input = answer(&mut observer.lock().unwrap_or_else(PoisonError::into_inner));
            // A closed queue means that the run has ended.
            let _ = news.blocking_send(input);
        });
    }

    /// Looks at the project before an iteration, and marks this state as the start of it.
    fn observe_start(
        &self,
        ticket: Ticket,
        mark: Needed,
        state: &State,
        news: &mpsc::Sender<Input>,
    ) {
        let folders = [self.project.clone(), self.folder.path().to_owned()];
        let known = JournaledWorkspace::of(state);
        self.observe(news, move |observer| {
            let (mark, checklist, status) = match mark {
                Needed::Yes => {
                    observer.restore(&known);
                    let (now, mark, evidence) = observer.observe();
                    observer.warnings.extend(evidence.warnings);
                    observer.save_start_tree(&now);
                    (Some(mark), evidence.checklist, evidence.status)
                }
                Needed::Known => (None, None, None),
            };
            observer.start.clone_from(&observer.now);
            let disk = workspace::space(folders.iter().map(PathBuf::as_path));
            Input::Prepared(ticket, Prepared { mark, checklist, status, disk })
        });
    }

    fn survey(
        &self,
        ticket: Ticket,
        iteration: Iteration,
        state: &State,
        news: &mpsc::Sender<Input>,
    ) {
        let known = JournaledWorkspace::of(state);
        let head = state.current().and_then(|current| current.start.head.clone());
        let list = PathBuf::from(state.settings.files.list.clone().unwrap_or_default());
        let project = self.project.clone();
        let to_collect = principles::to_collect(&state.settings).map(str::to_owned);
        let commands = state.settings.verify.commands.clone();
        self.observe(news, move |observer| {
            observer.restore(&known);
            let (now, mark, evidence) = observer.observe();
            let unreadable = now.unreadable.iter().take(3);
            let mut warnings: Vec<_> = unreadable
                .map(|what| format!("cannot read a file of the project: {what}"))
                .collect();
            warnings.append(&mut observer.warnings);
            warnings.extend(evidence.warnings);
            let collected = to_collect.map(|file| principles::collected(&project, &file));
            let principles = collected.transpose().unwrap_or_else(|why| {
                warnings.push(format!("cannot use the principles: {why}"));
                None
            });
            observer.retain_new_warnings(iteration, &mut warnings);
            let changes = observer.figures(&now, &commands);
            let before = observer.start.as_ref();
            let survey = Survey {
                mark,
                files_changed: before.and_then(|start| now.changed_since(start)).unwrap_or(0),
                files_changed_outside_plan: before
                    .and_then(|start| now.changed_outside(start, &list)),
                commits: observer.workspace.commits_since(head.as_deref()),
                changes: Some(changes),
                status: evidence.status,
                checklist: evidence.checklist,
                list: evidence.list,
                principles: principles.flatten(),
                warnings,
            };
            Input::Surveyed(ticket, Box::new(survey))
        });
    }

    fn inspect(&self, ticket: Ticket, state: &State, news: &mpsc::Sender<Input>) {
        let (known, commands) =
            (JournaledWorkspace::of(state), state.settings.verify.commands.clone());
        self.observe(news, move |observer| {
            observer.restore(&known);
            let now = observer.now.clone().unwrap_or_else(|| observer.observe().0);
            let changes = observer.changes(&now, &commands);
            let mut inspection = workspace::inspection(&changes, &commands);
            inspection.warnings = observer.workspace.take_warnings();
            inspection.warnings.append(&mut observer.warnings);
            inspection.findings.extend_from_slice(observer.workspace.gaps());
            inspection.timeouts = observer.workspace.timeouts().to_vec();
            Input::Inspected(ticket, Box::new(inspection))
        });
    }

    fn start_attempt(
        &mut self,
        request: AttemptRequest,
        state: &State,
        news: &mpsc::Sender<Input>,
    ) {
        let AttemptRequest { attempt, cap, model, briefing } = request;
        let sender = NewsSender::new(NewsSource::Attempt(attempt), news.clone());
        let notes = match &state.settings.notes_file {
            Some(notes) => workspace::read_notes(&self.project, Path::new(notes)),
            None => Ok(None),
        };
        let notes = match notes {
            Ok(notes) => notes,
            Err(error) => return refuse(sender, chain(&error)),
        };
        let number = state.current().map_or(1, |current| current.attempts);
        let iteration = briefing.iteration.0;
        let label = attempt_label(iteration, number);
        self.write_feedback_file(state, &briefing);
        let found =
            PromptContext { notes, principles: principles::found(&self.project, &state.settings) };
        let prompt = match prompt::compose(&state.settings, &briefing, &found) {
            Ok(prompt) => prompt,
            Err(error) => return refuse(sender, chain(&error)),
        };
        if let Err(error) = self.keep(&label, &prompt) {
            return refuse(sender, format!("cannot save the prompt: {error}"));
        }
        if let CollectedPrinciples::Unusable(_) = found.principles
            && let Err(error) = self.keep_principles(&label, &state.settings)
        {
            return refuse(sender, format!("cannot save a copy of the principles: {error}"));
        }
        let request = AgentRequest {
            source: NewsSource::Attempt(attempt),
            purpose: None,
            iteration,
            label,
            prompt,
            cap,
            model,
            tools: ToolAccess::Usual,
            shape: AnswerFormat::Words,
        };
        self.attempt = Some((attempt, self.agent.start(request, sender)));
    }

    /// Writes the feedback for the agent into the folder of its task, where the user can read it.
    fn write_feedback_file(&self, state: &State, briefing: &Briefing) {
        let Some(task) = &state.settings.files.task else { return };
        let path = self.project.join(task).join(task::FEEDBACK);
        let text = prompt::inbox(briefing);
        let text = self.secrets.mask(&text);
        let written = if text.is_empty() {
            fs::remove_file(&path)
        } else {
            files::check_inside(&self.project, &path)
                .and_then(|()| files::replace(&path, text.as_bytes()))
                .map_err(io::Error::other)
        };
        // The prompt contains the same text, so a missing copy does no harm.
        let _ = written;
    }

    /// Saves a prompt in the run folder.
    fn keep(&self, name: &str, prompt: &Prompt) -> io::Result<()> {
        let path = self.folder.prompts().join(format!("{name}.md"));
        let mut file = create_file(&path)?;
        io::Write::write_all(&mut file, prompt.user.as_bytes())
    }

    /// Saves a copy of the principles that the agent is asked to fix, because the user may have
    /// written them.
    fn keep_principles(&self, name: &str, settings: &Settings) -> io::Result<()> {
        let Some(bytes) = principles::read_raw(&self.project, settings) else { return Ok(()) };
        let path = self.folder.prompts().join(format!("{name}-principles.toml"));
        let mut file = create_file(&path)?;
        io::Write::write_all(&mut file, &bytes)
    }

    fn start_call(&mut self, request: CallRequest, state: &State, news: &mpsc::Sender<Input>) {
        let CallRequest { call, purpose, cap, question, model, tools, shape } = request;
        let sender = NewsSender::new(NewsSource::Call(call), news.clone());
        let iteration = state.current().map_or(0, |current| current.iteration.0);
        let label = call_label(iteration, purpose, call);
        let prompt = Prompt { system: String::new(), user: question };
        if let Err(error) = self.keep(&label, &prompt) {
            return refuse(sender, format!("cannot save the prompt: {error}"));
        }
        let request = AgentRequest {
            source: NewsSource::Call(call),
            purpose: Some(purpose),
            iteration,
            label,
            prompt,
            cap,
            model,
            tools,
            shape,
        };
        self.call = Some((call, self.agent.start(request, sender)));
    }

    fn run_hook(&mut self, ticket: Ticket, hook: Hook, news: &mpsc::Sender<Input>) {
        let (hooks, news) = (self.hooks.clone(), news.clone());
        self.hook = Some(tokio::spawn(async move {
            let answer = match hooks {
                Some(hooks) => hooks.run(hook).await,
                // The machine expects an answer in any case.
                None => HookAnswer::GoOn,
            };
            // A closed queue means that the run has ended.
            let _ = news.send(Input::Hook(ticket, answer)).await;
        }));
    }

    fn cut_checks(&mut self, ticket: Ticket, grace: Grace) {
        let Some((running, stop, task)) = &self.checks else { return };
        if *running != ticket {
            return;
        }
        match grace {
            Grace::Usual => stop.stop(),
            // The task owns the processes: aborting it kills them.
            Grace::None => {
                task.abort();
                self.checks = None;
            }
        }
    }

    fn attempt(&self, id: AttemptId) -> Option<&dyn Attempt> {
        let (running, attempt) = self.attempt.as_ref()?;
        (*running == id).then_some(attempt.as_ref())
    }

    fn cut_call(&self, id: CallId, why: CancelReason, grace: Grace) {
        if let Some((running, call)) = &self.call
            && *running == id
        {
            call.cancel(why, grace);
        }
    }
}

impl Effects for EffectExecutor {
    fn perform(&mut self, effect: Effect, state: &State, news: &mpsc::Sender<Input>) {
        match effect {
            Effect::Prepare { ticket, mark } => self.observe_start(ticket, mark, state, news),
            Effect::StartAttempt(request) => self.start_attempt(*request, state, news),
            Effect::StartCall(request) => self.start_call(*request, state, news),
            Effect::Survey { ticket, iteration } => self.survey(ticket, iteration, state, news),
            Effect::RunChecks { ticket, purpose, budget } => {
                self.run_checks(ticket, purpose, budget, state, news);
            }
            Effect::Nudge { attempt, text } => {
                if let Some(attempt) = self.attempt(attempt) {
                    attempt.send_message(text);
                }
            }
            Effect::CloseInput { attempt } => {
                if let Some(attempt) = self.attempt(attempt) {
                    attempt.close_input();
                }
            }
            Effect::CancelAttempt { attempt, why, grace } => {
                if let Some(attempt) = self.attempt(attempt) {
                    attempt.cancel(why, grace);
                }
            }
            Effect::CancelCall { call, why, grace } => self.cut_call(call, why, grace),
            Effect::CancelChecks { ticket, grace } => self.cut_checks(ticket, grace),
            Effect::InspectChanges { ticket } => self.inspect(ticket, state, news),
            Effect::RunHook { ticket, hook } => self.run_hook(ticket, hook, news),
            // The supervisor handles timers, and `shut_down` handles the end.
            Effect::SetTimer { .. } | Effect::ClearTimer { .. } | Effect::Finish => {}
        }
    }

    /// Drops attempts, calls and the hook, which ends their processes; stops the checks and waits
    /// for them. Waits briefly until all killed processes are gone.
    async fn shut_down(&mut self) {
        self.attempt = None;
        self.call = None;
        if let Some(hook) = self.hook.take() {
            // Dropping its handle asks the process to exit; nothing waits for that.
            hook.abort();
            // Waits only until the task is dropped; the error of an aborted task is expected.
            let _ = hook.await;
        }
        if let Some((_, stop, task)) = self.checks.take() {
            stop.stop();
            // After the timeout, the task ends with the async runtime, and its processes with it.
            let _ = tokio::time::timeout(CHECKS_EXIT_TIMEOUT, task).await;
        }
        let patience = Instant::now() + GUARDS_EXIT_TIMEOUT;
        while process::guards() > 0 && Instant::now() < patience {
            sleep(POLL_INTERVAL).await;
        }
        if process::guards() > 0 {
            // An unresponsive guard would leave the agent running.
            let _ = tokio::task::spawn_blocking(process::end_guards).await;
        }
    }
}

/// Reports an attempt or call that could not be started.
fn refuse(sender: NewsSender, why: String) {
    tokio::spawn(async move {
        let report = AttemptReport::bare(AttemptOutcome::NotStarted { why });
        sender.send(AgentNews::Exited(Box::new(report))).await;
    });
}

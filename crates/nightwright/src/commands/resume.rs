//! `nightwright resume`: end a pause, or continue a crashed run, optionally with
//! changed settings.

mod changes;
mod crashed_attempt;
mod recall;
mod sealed;

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use nightwright_core::event::{AgentFacts, AgentKind, Event, Record, RunEvent};
use nightwright_core::input::{ResumeData, ResumePolicy};
use nightwright_core::machine::Machine;
use nightwright_core::machine::interruption::Interruption;
use nightwright_core::machine::ledger::State;
use nightwright_core::machine::resume::ResumeRefusal;
use nightwright_core::outcome::{Outcome, Strictness, count};
use nightwright_core::phrases;
use nightwright_core::run_view::RunView;
use nightwright_core::settings::{Scope, Settings};
use nightwright_core::units::RunId;

use self::changes::{AskPolicy, ChangeArgs, SourcedChange};
use self::crashed_attempt::read_resume_data;
use self::recall::restore_unmasked;
use self::sealed::drop_unsealed;
use super::cli::context::project_line;
use super::cli::key_options::{KeyOptions, Limits};
use super::cli::select_run::{RunSelector, SelectedRun, damaged};
use super::cli::usage;
use super::run::OutputArgs;
use crate::app;
use crate::app::agent_program::{AgentCommandLine, AgentProgram, RehearsalScript};
use crate::app::approval::{self, TrustFlags, UntrustedPolicy};
use crate::app::detach::{self, DetachArgs, DetachTarget};
use crate::app::locked_run::LockedRun;
use crate::app::resume::ResumableRun;
use crate::app::run_spec::{ResolvedRequest, RunSpec};
use crate::config::modes;
use crate::config::{self, ConfigLayer, OutputLevel, ResolvedConfig, is_notify_key};
use crate::console::{eprint_safe, print};
use crate::error::Failure;
use crate::hooks::ApprovedHooks;
use crate::process::DetachPipe;
use crate::runtime::control_socket::ControlRequest;
use crate::secrets;
use crate::store::journal::{self, DiskFile, JournalWriter};
use crate::store::run_dir::RunDir;
use crate::task::Task;

/// The key with the user's variables for the agent.
const VARIABLES: &str = "agent.env";

#[derive(Clone, Debug, Args)]
pub(super) struct ResumeArgs {
    #[command(flatten)]
    selector: RunSelector,

    /// Resume even a completed run
    #[arg(long)]
    again: bool,

    /// Resume only if the run crashed or received SIGTERM and its settings are unchanged; otherwise
    /// do nothing and exit 0
    #[arg(long, conflicts_with = "again")]
    if_needed: bool,

    /// Use settings of the project that you have not approved or that changed since the run began
    #[arg(short, long)]
    yes: bool,

    /// Exit non-zero unless the work is complete: 3 limit, 4 no progress, 5 blocked or impossible,
    /// 6 unverified, 7 stopped
    #[arg(long)]
    require_complete: bool,

    #[command(flatten)]
    changes: ChangeArgs,

    #[command(flatten)]
    limits: KeyOptions<Limits>,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    detach: DetachArgs,
}

impl ResumeArgs {
    fn when(&self) -> ResumePolicy {
        match (self.again, self.if_needed) {
            (true, _) => ResumePolicy::Always,
            (false, true) => ResumePolicy::IfCrashed,
            (false, false) => ResumePolicy::IfUnfinished,
        }
    }

    fn strictness(&self) -> Strictness {
        if self.require_complete { Strictness::RequireComplete } else { Strictness::Lenient }
    }

    fn asking(&self) -> AskPolicy {
        if self.if_needed { AskPolicy::Never } else { AskPolicy::Allowed }
    }

    fn untrusted(&self) -> UntrustedPolicy {
        if self.yes { UntrustedPolicy::Accept } else { UntrustedPolicy::Ask(TrustFlags::Yes) }
    }
}

pub(super) fn resume(options: &ResumeArgs) -> Result<ExitCode, Failure> {
    if options.detach.is_wanted() {
        return detach::detach(usage::given_arguments());
    }
    let pipe = options.detach.pipe()?;
    let Some(found) = run_to_resume(options)? else { return Ok(ExitCode::SUCCESS) };
    if found.owner.is_some() {
        return wake(&found, options);
    }
    if options.output.level() != Some(OutputLevel::Quiet) {
        let root = options.selector.project.find_root()?;
        if let Some(line) = project_line(&root) {
            eprint_safe(&line);
        }
    }
    let SelectedRun { project, folder, .. } = found;
    let Some(stored) = StoredRun::take_over(options, &project, folder)? else {
        return Ok(ExitCode::SUCCESS);
    };
    let (spec, resume_data) = stored.spec(options, project, pipe)?;
    let StoredRun { locked_run, agent, hooks, machine, writer, note, .. } = stored;
    app::execute::resume(
        &spec,
        ResumableRun { locked_run, agent, hooks, machine, writer, resume_data, note },
    )
}

/// A run that this process has taken over, as its journal describes it.
struct StoredRun {
    locked_run: LockedRun,
    agent: AgentFacts,
    /// The hashes of its hooks, by name.
    hooks: BTreeMap<String, String>,
    machine: Machine,
    writer: JournalWriter<DiskFile>,
    /// Values that the journal masks.
    secret: Vec<String>,
    /// A warning about the state of the journal.
    note: Option<String>,
}

impl StoredRun {
    /// Takes over the run, and fails if it cannot be resumed with these options. Returns `None`,
    /// after the reason is printed, if there is nothing to resume.
    fn take_over(
        options: &ResumeArgs,
        project: &Path,
        folder: RunDir,
    ) -> Result<Option<Self>, Failure> {
        let locked_run = LockedRun::take_over(project, folder)?;
        let run = locked_run.folder.id();
        let dropped = drop_unsealed(&locked_run.folder)?;
        let (journal, writer) = journal::open_for_append(&locked_run.folder.journal(), run)
            .map_err(|error| damaged(&error))?;
        // The run may have ended before this process got the lock.
        if options.if_needed
            && let Some(why) = refusal_reason(&journal.records, run)
        {
            nothing_to_do(options, &why);
            return Ok(None);
        }
        let (agent, hooks) = opening(&journal.records, &locked_run.folder)?;
        let mut records = journal.records;
        let recalled = restore_unmasked(&mut records, &locked_run.folder);
        let machine = Machine::resume(&records);
        let state = machine.state();
        recalled.warn(state);
        must_be_whole(state, run)?;
        let given = given(options, &state.settings)?;
        // Asks no questions about a run that cannot be resumed.
        if let Some(refusal) = machine.refusal(&given, options.when()) {
            let mut view = RunView::of(&records);
            for (_, change) in &given {
                view.limits = change.limits(&view.limits);
            }
            return Err(refused(&refusal, &view, run));
        }
        let torn = journal.torn.map(|torn| {
            let length = count(torn.length, "byte");
            format!("removed the incomplete last line of the journal ({length})")
        });
        let note = dropped.or(torn);
        let secret = recalled.secret;
        Ok(Some(Self { locked_run, agent, hooks, machine, writer, secret, note }))
    }

    /// Returns the run with the current configuration and the changed settings.
    fn spec(
        &self,
        options: &ResumeArgs,
        project: PathBuf,
        pipe: Option<Arc<DetachPipe>>,
    ) -> Result<(RunSpec, ResumeData), Failure> {
        let (state, folder) = (self.machine.state(), &self.locked_run.folder);
        let layers = layers(&project, &state.settings)?;
        let (changes, settings) = changed(options, &project, &layers, &state.settings)?;
        let report = read_resume_data(folder, &self.agent, state);
        let program = match self.agent.kind() {
            AgentKind::Rehearsal => AgentProgram::Rehearsal(RehearsalScript::of_run(folder)?),
            AgentKind::Command => AgentProgram::Command(command(state, &project)?),
            AgentKind::Claude => AgentProgram::Claude,
        };
        let resolved = configuration(&project, layers, &settings, options.untrusted())?;
        let task = settings.task.as_deref().map(|name| Task::open(&project, name)).transpose()?;
        let agent_files = approval::approved_agent_files(&project)?;
        let level = options.output.level().unwrap_or_else(|| resolved.level());
        let (detach, level) = DetachTarget::choose(pipe, options.output.with_messages(level)?);
        let secrets = secrets::of_config_and(&resolved, &self.secret)?;
        changes::keep(&changes, &secrets, folder)?;
        let variables = variables(&settings, &resolved);
        let color = options.output.color().unwrap_or_else(|| resolved.color());
        let strictness = options.strictness();
        let request = ResolvedRequest {
            settings,
            task,
            resolved,
            // The run folder has had a copy of the hooks since the start.
            hooks: ApprovedHooks::default(),
            agent_files,
            notes: Vec::new(),
        };
        let base = RunSpec::new(project, request, program, secrets)?;
        let spec = RunSpec { variables, level, color, strictness, detach, ..base };
        Ok((spec, ResumeData { report, changes, policy: options.when(), sandbox_failure: None }))
    }
}

/// Fails for a run that only verified, which cannot be resumed.
fn must_be_whole(state: &State, run: &RunId) -> Result<(), Failure> {
    match state.settings.scope {
        Scope::Whole => Ok(()),
        Scope::Gate => {
            let task = state.settings.task.as_deref().unwrap_or("TASK");
            Err(Failure::usage(format!("cannot resume run {run}: it only verified `{task}`"))
                .hint(format!("run `nightwright verify {task}` to verify it again")))
        }
    }
}

/// Returns the changes from the options of the command line.
fn given(options: &ResumeArgs, pinned: &Settings) -> Result<Vec<SourcedChange>, Failure> {
    let ResumeArgs { changes, limits, .. } = options;
    changes.must_fit(pinned)?;
    let given = changes.by_operator(limits, pinned);
    let mut settings = pinned.clone();
    for (source, change) in &given {
        change.apply(*source, &mut settings);
    }
    if !limits.layer.is_empty() && settings.limits.is_unlimited() {
        return Err(Failure::usage("a run needs a limit")
            .hint("add another limit: --max-cost, --max-duration or --max-tokens"));
    }
    Ok(given)
}

/// Returns all changes, and the changed settings.
fn changed(
    options: &ResumeArgs,
    project: &Path,
    layers: &[ConfigLayer],
    pinned: &Settings,
) -> Result<(Vec<SourcedChange>, Settings), Failure> {
    let ResumeArgs { changes: given, limits, .. } = options;
    let (asking, untrusted) = (options.asking(), options.untrusted());
    let mut changes = given.by_configuration(project, layers, pinned, asking, untrusted)?;
    let mut settings = pinned.clone();
    for (source, change) in &changes {
        change.apply(*source, &mut settings);
    }
    for (source, change) in given.by_operator(limits, &settings) {
        change.apply(source, &mut settings);
        changes.push((source, change));
    }
    Ok((changes, settings))
}

/// Returns the error for a run that cannot be resumed, with a command that would resume it. The
/// limits of the view are those that the run would resume with.
fn refused(refusal: &ResumeRefusal, view: &RunView, run: &RunId) -> Failure {
    let completed = match &view.finished {
        Some(finished) => matches!(finished.outcome, Outcome::Completed { .. }),
        None => false,
    };
    let again = if completed { " --again" } else { "" };
    match refusal {
        ResumeRefusal::NotStarted | ResumeRefusal::NotCrashed => {
            Failure::trouble(format!("cannot resume run {run}: it has no unfinished work"))
        }
        ResumeRefusal::Completed => Failure::trouble(format!("run {run} has completed"))
            .hint(format!("run `{} --again` to continue it anyway", view.resume_command(run))),
        ResumeRefusal::NeedsHost => Failure::trouble(format!(
            "run {run} did no work, and it keeps its checks and its sandbox"
        ))
        .hint("give the check what it needs, and start the run again"),
        ResumeRefusal::Limit(limit) => {
            let ended_by =
                view.finished.as_ref().is_some_and(|finished| finished.outcome == *limit);
            let message = match limit.reached_limit() {
                Some(reached) if ended_by => {
                    let reached = phrases::reached_limit(reached);
                    format!("run {run} ended because it reached {reached}")
                }
                Some(reached) => {
                    let (used, limit) = (view.used_of(reached), phrases::reached_limit(reached));
                    format!(
                        "run {run} cannot continue: its limit is {limit}, and it has used {used}"
                    )
                }
                None => format!("run {run} cannot continue: it has reached a limit"),
            };
            let command = format!("{}{again}", view.resume_command(run));
            Failure::trouble(message).hint(format!("run `{command}` to raise the limit"))
        }
    }
}

/// Returns the requested run. Prints the reason and returns `None` if there is nothing to do.
fn run_to_resume(options: &ResumeArgs) -> Result<Option<SelectedRun>, Failure> {
    if !options.if_needed {
        let (found, passed_over) = options.selector.find_resumable()?;
        if let Some(rehearsal) = passed_over
            && options.output.level() != Some(OutputLevel::Quiet)
        {
            let run = found.folder.id();
            eprint_safe(&format!(
                "Resuming {run}, the last real run. (Skipped the newer rehearsal {rehearsal}.)"
            ));
        }
        return Ok(Some(found));
    }
    let found = cut_off(&options.selector)?;
    if let Err(why) = &found {
        nothing_to_do(options, why);
    }
    Ok(found.ok())
}

fn nothing_to_do(options: &ResumeArgs, why: &str) {
    if options.output.level() != Some(OutputLevel::Quiet) {
        eprint_safe(&format!("Nothing to resume: {why}."));
    }
}

/// Returns the requested run if it crashed, or the reason why there is nothing to do.
fn cut_off(which: &RunSelector) -> Result<Result<SelectedRun, String>, Failure> {
    let Some(found) = which.find_any()? else {
        return Ok(Err("the run does not exist".to_owned()));
    };
    let run = found.folder.id();
    if let Some(owner) = &found.owner {
        return Ok(Err(format!("run {run} is running (pid {})", owner.pid)));
    }
    let journal = journal::read(&found.folder.journal()).map_err(|error| damaged(&error))?;
    Ok(refusal_reason(&journal.records, run).map_or(Ok(found), Err))
}

/// Returns why a run must not be resumed without an explicit request; `None` if it crashed.
fn refusal_reason(records: &[Record], run: &RunId) -> Option<String> {
    match Interruption::of(records) {
        Interruption::Crashed => None,
        Interruption::Paused => Some(format!("run {run} is paused")),
        Interruption::Stopping => Some(format!("run {run} has a stop request")),
        Interruption::Ended => Some(format!("run {run} has ended")),
        Interruption::NotStarted => Some(format!("run {run} has no unfinished work")),
    }
}

/// Returns the current configuration, including unapproved settings.
fn layers(project: &Path, settings: &Settings) -> Result<Vec<ConfigLayer>, Failure> {
    let mut layers = vec![modes::load(project, &settings.mode)?.defaults];
    layers.extend(config::load(project, settings.task.as_deref(), |name| env::var_os(name))?);
    Ok(layers)
}

/// Returns the parts of the configuration that are not pinned: the output level, the notifications,
/// the patterns of secrets, and the values of the user's variables for the agent.
fn configuration(
    project: &Path,
    layers: Vec<ConfigLayer>,
    settings: &Settings,
    untrusted: UntrustedPolicy,
) -> Result<ResolvedConfig, Failure> {
    // Everything else that needs an approval was pinned when the run started.
    let variables = !settings.agent.environment.is_empty();
    let is_taken = |key: &str| {
        (variables && key == VARIABLES) || is_notify_key(key) || key == secrets::PATTERNS
    };
    let other: Vec<_> = config::KEYS
        .iter()
        .filter(|key| key.gated && !is_taken(key.name))
        .map(|key| key.name)
        .collect();
    let layers = layers.into_iter().map(|layer| layer.without(&other)).collect();
    Ok(ResolvedConfig::new(approval::settle_settings(project, layers, untrusted)?))
}

/// Returns the user's variables for the agent. Warns about those that are no longer set.
fn variables(settings: &Settings, resolved: &ResolvedConfig) -> BTreeMap<String, String> {
    let wanted = &settings.agent.environment;
    let mut variables = resolved.environment_of_agent();
    variables.retain(|name, _| wanted.contains(name));
    let gone: Vec<_> = wanted.iter().filter(|name| !variables.contains_key(*name)).collect();
    for name in gone {
        eprint_safe(&format!(
            "warning: `{VARIABLES}` no longer has {name}; the agent continues without it"
        ));
    }
    variables
}

/// Returns the command that is the agent of this run.
fn command(state: &State, project: &Path) -> Result<AgentCommandLine, Failure> {
    let text = state.settings.agent.command.as_deref();
    let text =
        text.ok_or_else(|| Failure::trouble("the journal does not name the agent's command"))?;
    AgentCommandLine::parse(text, project)
}

/// Handles a run whose process is alive: resumes it if it is paused, and fails otherwise.
fn wake(found: &SelectedRun, options: &ResumeArgs) -> Result<ExitCode, Failure> {
    let run = found.folder.id();
    let view = found.view()?;
    if options.again || !options.limits.layer.is_empty() || options.changes.any() {
        let message = format!("run {run} is running: its settings cannot change now");
        return Err(Failure::trouble(message).hint(format!("run `nightwright stop {run}` first")));
    }
    if !view.paused {
        let pid = found.owner.as_ref().map(|owner| owner.pid).unwrap_or_default();
        let message = format!("run {run} is running (pid {pid}) and not paused");
        return Err(
            Failure::trouble(message).hint(format!("run `nightwright stop {run}` to stop it"))
        );
    }
    found.send(&view, &ControlRequest::Resume)?;
    print(&format!("run {run} continues"))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the facts about the agent and the hooks from the first event.
fn opening(
    records: &[Record],
    folder: &RunDir,
) -> Result<(AgentFacts, BTreeMap<String, String>), Failure> {
    if let Some(Event::Run(RunEvent::Started(started))) =
        records.first().map(|record| &record.event)
    {
        return Ok((started.agent.clone(), started.hooks.clone()));
    }
    let message = format!("run {} never began: its journal is empty", folder.id());
    Err(Failure::trouble(message)
        .hint("run `nightwright run -p \"GOAL\" -m 10` to start a new one"))
}

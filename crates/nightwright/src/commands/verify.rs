//! `nightwright verify`: verify the work on a task as a run would verify a claim, without working
//! on it.

mod summary;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use nightwright_core::input::WorkspaceMark;
use nightwright_core::machine::Machine;
use nightwright_core::outcome::Strictness;
use nightwright_core::phrases;
use nightwright_core::policy::run_limits::{self, ChosenDepth};
use nightwright_core::settings::Settings;
use nightwright_core::units::Usd;

use self::summary::VerifyReport;
use super::cli::context::ProjectArgs;
use super::cli::select_run::SelectedRun;
use super::cli::values;
use super::report;
use crate::app::agent_program::AgentProgram;
use crate::app::approval::UntrustedPolicy;
use crate::app::async_command::interrupted;
use crate::app::execute;
use crate::app::finish::FinishedRun;
use crate::app::run_spec::{
    self, EarlierRun, RequestPurpose, ResolvedRequest, RunRequest, RunSpec,
};
use crate::config::{ConfigLayer, OutputLevel, ValueOrigin};
use crate::console::{eprint_safe, print, print_json};
use crate::error::Failure;
use crate::files;
use crate::secrets;
use crate::store::{journal, seal};
use crate::task::{ProjectRuns, Task, TaskState};
use crate::workspace::StartTree;

/// The path of the report, relative to the folder of the task.
pub(super) const REPORT: &str = "verification-report.md";

#[derive(Clone, Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub(super) struct VerifyArgs {
    /// Name of the task
    #[arg(value_name = "TASK")]
    name: String,

    /// Depth of the verdict; `deep` lets the model read the project [default: `verify.depth`, or
    /// `deep` for a task without a run]
    #[arg(long, value_name = "DEPTH", value_parser = ["quick", "standard", "deep"])]
    depth: Option<String>,

    /// Command that must pass, instead of the configured ones; repeatable
    #[arg(long, value_name = "CMD", value_parser = values::text)]
    verify: Vec<String>,

    /// Stop when the cost reaches USD
    #[arg(long, value_name = "USD", value_parser = values::setting::<Usd>("limits.max_cost"), allow_negative_numbers = true)]
    max_cost: Option<Usd>,

    /// Sandbox for the checks and the agent: off or bwrap
    #[arg(long, value_name = "KIND", value_parser = ["off", "bwrap"])]
    sandbox: Option<String>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    /// Do not print progress
    #[arg(short, long)]
    quiet: bool,

    /// Use settings of the project that you have not approved, this time only
    #[arg(short, long)]
    yes: bool,

    /// Ignore settings of the project that you have not approved
    #[arg(long, conflicts_with = "yes")]
    ignore_untrusted: bool,

    /// Use the rehearsal agent: spend nothing, and write no report
    #[arg(long)]
    dry_run: bool,

    /// Script for the rehearsal agent (see `docs/reference/rehearsal.md`)
    #[arg(long, value_name = "FILE", requires = "dry_run")]
    rehearsal: Option<PathBuf>,

    #[command(flatten)]
    project: ProjectArgs,
}

const AFTER_HELP: &str = "\
Exit codes: 0 complete, by the checks or a model; 1 error; 2 wrong usage; 3 limit reached; 6 not
verified; 7 stopped; 130 interrupted.

Fields of the --json object:
  task          name of the task
  verdict       pass, fail, inconclusive, unaffordable or interrupted
  proof         proof of a pass: checks or model; otherwise null
  rehearsal     whether the rehearsal agent answered (--dry-run): the verdict is meaningless
  reason        reason for the verdict, in a sentence
  missing       missing parts, in the model's words
  checks        {command, result, output, log (relative to the run folder), duration_ms}, one per
                command
  findings      changes that weaken the checks: {path, what}
  changes       {files, listed: {path, added, removed}}
  cost_usd      cost in US dollars
  run           ID of the run, or null
  run_folder    folder with its journal, prompts and output, or null
  report        path of the report relative to the project, or null: nightwright writes it for
                pass and fail, but not in a rehearsal";

impl VerifyArgs {
    /// Whether the command uses settings without approval.
    pub(super) fn accepts_all(&self) -> bool {
        self.yes
    }
}

pub(super) fn verify(options: &VerifyArgs) -> Result<ExitCode, Failure> {
    let (project, which) = options.project.find_for_work()?;
    let mut request = run_spec::resolve_run(&options.asked(&project))?;
    let ResolvedRequest { settings, task, resolved, notes, .. } = &mut request;
    let task = task.clone().ok_or_else(run_spec::no_goal)?;
    can_judge(settings)?;
    // Checked before anything is spent.
    files::check_inside(&project, &task.path(REPORT)).map_err(|error| Failure::because(&error))?;
    let origin = last_run(&project, &task);
    if origin.is_none() {
        let is_built_in = matches!(resolved.origin("verify.depth"), ValueOrigin::BuiltIn);
        let depth = if is_built_in { ChosenDepth::BuiltIn } else { ChosenDepth::ByUser };
        run_limits::verify_without_changes(settings, depth);
    }
    let level = if options.quiet { OutputLevel::Quiet } else { OutputLevel::Progress };
    if level.shows_messages() {
        for note in which.iter().chain(notes.iter()) {
            eprint_safe(note);
        }
    }
    let program = options.program(settings, &project)?;
    let secrets = secrets::of_config(resolved)?;
    let spec = RunSpec {
        since: origin,
        level,
        // The user is present and sees the result.
        notify: Vec::new(),
        strictness: Strictness::RequireComplete,
        keep_awake: false,
        ..RunSpec::new(project, request, program, secrets)?
    };
    let finished = execute::start(&spec)?;
    conclude(options, &task, &spec, finished.as_ref())
}

impl VerifyArgs {
    fn asked(&self, project: &Path) -> RunRequest {
        let mut flags = ConfigLayer::flags();
        flags.give("verify.depth", self.depth.clone());
        flags.give("verify.commands", (!self.verify.is_empty()).then(|| self.verify.clone()));
        flags.give("limits.max_cost", self.max_cost);
        flags.give("sandbox.kind", self.sandbox.clone());
        RunRequest {
            project: project.to_owned(),
            task: Some(self.name.clone()),
            goal: None,
            mode: None,
            flags,
            unlimited: false,
            purpose: RequestPurpose::Verify,
            appended: None,
            principles: None,
            untrusted: UntrustedPolicy::of_flags(self.yes, self.ignore_untrusted),
        }
    }

    fn program(&self, settings: &Settings, project: &Path) -> Result<AgentProgram, Failure> {
        let command = settings.agent.command.as_ref();
        AgentProgram::choose(self.dry_run, self.rehearsal.as_deref(), command, project)
    }
}

/// Fails if neither a check nor a model would judge the work.
fn can_judge(settings: &Settings) -> Result<(), Failure> {
    if run_limits::can_judge(settings) {
        return Ok(());
    }
    Err(Failure::usage("cannot verify: there are no checks, and `verify.model` is off")
        .hint("set `verify.commands`, or `verify.model` to auto, or pass a command with --verify"))
}

/// Returns the state of the project at the start of the task's last run, from which changes are
/// counted. `None` if there was no run, or its start is unknown.
fn last_run(project: &Path, task: &Task) -> Option<EarlierRun> {
    let runs = ProjectRuns::of(project).ok()?;
    let last = TaskState::read(task, &runs).ok()?.state.last_run?;
    let folder = runs.folder(&last.id)?;
    if seal::is_broken(&folder) {
        return None;
    }
    let journal = journal::read(&folder.journal()).ok();
    let state = journal.map(|journal| Machine::resume(&journal.records).state().clone());
    let origin = state.as_ref().and_then(|state| state.origin.clone());
    let of_origin =
        |origin: WorkspaceMark| origin.head.is_some().then(|| StartTree::of_mark(&origin));
    let tree = StartTree::of(folder.path()).or_else(|| origin.and_then(of_origin))?;
    Some(EarlierRun { tree, checks: state.and_then(|state| state.baseline) })
}

/// Writes the report, if there is a result, prints a summary, and returns the exit code.
fn conclude(
    options: &VerifyArgs,
    task: &Task,
    spec: &RunSpec,
    finished: Option<&FinishedRun>,
) -> Result<ExitCode, Failure> {
    let rehearsal = spec.program.is_rehearsal();
    let report = VerifyReport::of(task, finished, rehearsal);
    let written = match finished.filter(|_| report.is_to_be_kept()) {
        Some(finished) => write_report(task, spec, finished),
        None => Ok(()),
    };
    if rehearsal && !options.quiet {
        let text = phrases::REHEARSAL_ENDED;
        finished.map_or_else(|| eprint_safe(text), |finished| finished.stderr.write_line(text));
    }
    if options.json {
        print_json(&report)?;
    } else {
        print(report.text().trim_end())?;
    }
    written?;
    Ok(finished.map_or_else(interrupted, |finished| {
        ExitCode::from(finished.outcome.exit_code(Strictness::RequireComplete))
    }))
}

/// Writes the report of the run to the folder of the task.
fn write_report(task: &Task, spec: &RunSpec, finished: &FinishedRun) -> Result<(), Failure> {
    let run = SelectedRun {
        project: spec.project.clone(),
        folder: finished.locked_run.folder.clone(),
        owner: None,
    };
    task.write(REPORT, report::of_run(&run)?.markdown().as_bytes())
}

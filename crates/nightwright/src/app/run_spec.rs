//! Resolves a request into the specification of a run. All files are read once, here, so later
//! changes affect only later runs.

mod subject;
mod texts;

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};

use nightwright_core::input::CheckResult;
use nightwright_core::outcome::Strictness;
use nightwright_core::permissions::Permissions;
use nightwright_core::policy::run_limits::{self, IterationLimit, LimitRefusal, UnlimitedRuns};
use nightwright_core::prompt;
use nightwright_core::redact::Secrets;
use nightwright_core::settings::{Configured, EvidenceKind, ProjectContext, Settings};

pub(crate) use self::subject::no_goal;
use self::subject::{
    files_of, goal, mode_name, must_have_plan, notes_file, open_task, own_files_note,
};
use super::agent_program::{AgentProgram, PROJECT_SETTINGS, allowed_sources};
use super::approval::{self, ApprovedLayers, TrustFlags, UntrustedPolicy};
use super::detach::DetachTarget;
use super::permission_rules;
use crate::clock::ClockSpeed;
use crate::config::log_settings::LogSettings;
use crate::config::modes::{self, Mode};
use crate::config::principles::{self, RunPrinciples};
use crate::config::{self, ColorChoice, ConfigLayer, OutputLevel, ResolvedConfig, ValueOrigin};
use crate::error::Failure;
use crate::hooks::{self, ApprovedHooks};
use crate::output::notify::Address;
use crate::paste::from_here;
use crate::signals::{HangupPolicy, Signals};
use crate::task::Task;
use crate::trust::TrustItem;
use crate::workspace::{self, StartTree};

/// The request on the command line.
#[derive(Clone, Debug)]
pub(crate) struct RunRequest {
    pub(crate) project: PathBuf,
    pub(crate) task: Option<String>,
    pub(crate) goal: Option<String>,
    /// The mode, if the command implies one.
    pub(crate) mode: Option<&'static str>,
    pub(crate) flags: ConfigLayer,
    pub(crate) unlimited: bool,
    pub(crate) purpose: RequestPurpose,
    /// The file whose text is appended to the system prompt.
    pub(crate) appended: Option<PathBuf>,
    /// The file of principles that the command line names.
    pub(crate) principles: Option<PathBuf>,
    pub(crate) untrusted: UntrustedPolicy,
}

/// The purpose of the resolved request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestPurpose {
    Run,
    /// To show or check the settings.
    Look,
    /// To judge the work of earlier runs.
    Verify,
}

/// A request together with the configuration, the mode, the task and the user's approvals.
#[derive(Debug)]
pub(crate) struct ResolvedRequest {
    pub(crate) settings: Settings,
    pub(crate) task: Option<Task>,
    pub(crate) resolved: ResolvedConfig,
    /// The project's hooks that the run has.
    pub(crate) hooks: ApprovedHooks,
    /// The files of the project that the agent program may use, as they were approved.
    pub(crate) agent_files: Vec<TrustItem>,
    /// Lines for the user, shown before the run starts.
    pub(crate) notes: Vec<String>,
}

/// All decisions about a run, made before it changes anything.
#[derive(Debug)]
pub(crate) struct RunSpec {
    pub(crate) project: PathBuf,
    pub(crate) settings: Settings,
    pub(crate) task: Option<Task>,
    /// The project's hooks that a new run has. A resumed run has those that it started with.
    pub(crate) hooks: ApprovedHooks,
    /// The files of the project that the agent program may use, as they were approved.
    pub(crate) agent_files: Vec<TrustItem>,
    /// The user's variables for the agent. They may be secret, and are not recorded.
    pub(crate) variables: BTreeMap<String, String>,
    /// Values that are masked in everything that is recorded or shown.
    pub(crate) secrets: Secrets,
    /// The earlier run from whose start changes are counted; `None` for the start of the new run.
    pub(crate) since: Option<EarlierRun>,
    pub(crate) program: AgentProgram,
    pub(crate) level: OutputLevel,
    pub(crate) color: ColorChoice,
    pub(crate) logs: LogSettings,
    pub(crate) notify: Vec<Address>,
    pub(crate) strictness: Strictness,
    pub(crate) clock_speed: ClockSpeed,
    /// Whether to keep the machine awake while the run is busy.
    pub(crate) keep_awake: bool,
    /// The terminal that the run leaves once it has started.
    pub(crate) detach: Option<DetachTarget>,
}

/// The start of an earlier run whose work is judged.
#[derive(Clone, Debug)]
pub(crate) struct EarlierRun {
    pub(crate) tree: StartTree,
    /// The results of the checks before its first iteration, if they were run then.
    pub(crate) checks: Option<Vec<CheckResult>>,
}

impl RunSpec {
    /// Creates the specification of a run from a request; the configuration decides the rest.
    pub(crate) fn new(
        project: PathBuf,
        request: ResolvedRequest,
        program: AgentProgram,
        secrets: Secrets,
    ) -> Result<Self, Failure> {
        let ResolvedRequest { settings, task, resolved, hooks, agent_files, notes: _ } = request;
        Ok(Self {
            project,
            settings,
            task,
            hooks,
            agent_files,
            variables: resolved.environment_of_agent(),
            secrets,
            since: None,
            program,
            level: resolved.level(),
            color: resolved.color(),
            logs: LogSettings::of(&resolved)?,
            notify: Address::all(&resolved, |name| env::var_os(name))?,
            strictness: Strictness::Lenient,
            clock_speed: ClockSpeed::Real,
            keep_awake: resolved.keeps_awake(),
            detach: None,
        })
    }

    /// The output level for the terminal that the run has not left.
    pub(super) fn terminal_level(&self) -> OutputLevel {
        self.pending_detach().map_or(self.level, |detach| detach.level)
    }

    /// The terminal that the run did not leave because it ended first.
    pub(super) fn pending_detach(&self) -> Option<&DetachTarget> {
        self.detach.as_ref().filter(|detach| !detach.pipe.is_detached())
    }

    /// Ignores hangups if the run leaves its terminal.
    pub(super) fn with_hangup_policy(&self, signals: Signals) -> Signals {
        match self.detach {
            Some(_) => signals.with(HangupPolicy::Ignored),
            None => signals,
        }
    }
}

/// Resolves a request into the settings of a run. Changes nothing, except that it may ask for an
/// approval and record the answer.
pub(crate) fn resolve_run(request: &RunRequest) -> Result<ResolvedRequest, Failure> {
    let RunRequest { project, flags, purpose, .. } = request;
    let task = request.task.as_deref().map(|name| open_task(request, name)).transpose()?;
    let layers = config::load(project, request.task.as_deref(), |name| env::var_os(name))?;
    let mode = modes::load(project, &mode_name(request, task.as_ref(), &layers))?;
    let mut layers = [vec![mode.defaults.clone()], layers].concat();
    // Values that are not approved count too: `resume` compares with the files as they are.
    let configured = configured(&layers);
    layers.push(flags.clone());
    let approved = approval::settle(project, layers, request.untrusted)?;
    let ApprovedLayers { layers, hooks, agent_files, notes } = approved;
    let (_, files) = layers.split_last().expect("the flags are the last layer");
    let approved = self::configured(files);
    let resolved = ResolvedConfig::new(layers);

    let mut settings = base_settings(request, &mode, task.as_ref())?;
    settings.configured = configured;
    resolved.apply(&mut settings);
    settings.mode.clone_from(&mode.name);
    free_inside_sandbox(&mut settings, &resolved);
    add_tools(&mut settings, &approved, flags);
    set_permissions(&mut settings, request, &mode, &agent_files);
    let kept = checks_kept_in_plan(&mode, &resolved, request)?;
    let checks_given = matches!(resolved.origin("verify.commands"), ValueOrigin::Flag(_));
    let keeps_checks = checks_given || kept.is_some();
    run_limits::drop_checks_of_plan(&mut settings, &mode.definition.evidence, keeps_checks);
    let RunPrinciples { principles, to_write, note } = match purpose {
        RequestPurpose::Run | RequestPurpose::Look => {
            principles::chosen(project, request.principles.as_deref(), &resolved)?
        }
        // Completeness does not depend on priorities.
        RequestPurpose::Verify => RunPrinciples::default(),
    };
    settings.principles = principles;
    settings.files.principles = to_write;
    let hooks = match purpose {
        RequestPurpose::Run | RequestPurpose::Look => hooks::choose(project, &hooks),
        // A verification is not a run for hooks: nothing starts and nothing finishes.
        RequestPurpose::Verify => ApprovedHooks::default(),
    };
    hooks.apply(&mut settings.hooks);
    match purpose {
        RequestPurpose::Run => {
            must_have_plan(project, &mode, &settings)?;
            limit(&mut settings, request.unlimited, &resolved)?;
        }
        RequestPurpose::Verify => {
            let given = matches!(resolved.origin("limits.max_cost"), ValueOrigin::Flag(_));
            let max_cost = settings.limits.max_cost.filter(|_| given);
            run_limits::limit_verification(&mut settings, max_cost);
        }
        RequestPurpose::Look => {}
    }
    settings.texts = texts::read(request, &mode, task.as_ref(), &resolved)?;
    check_prompt(&settings, &mode)?;
    let notes = own_files_note(&mode).into_iter().chain(notes).chain(kept).chain(note).collect();
    Ok(ResolvedRequest { settings, task, resolved, hooks, agent_files, notes })
}

/// Returns the settings from the request, the mode and the task, without the configuration.
fn base_settings(
    request: &RunRequest,
    mode: &Mode,
    task: Option<&Task>,
) -> Result<Settings, Failure> {
    let mut settings = Settings {
        task: request.task.clone(),
        goal: goal(request, mode, task)?,
        files: files_of(mode, task)?,
        notes_file: notes_file(mode, task),
        surroundings: surroundings(&request.project),
        ..Settings::default()
    };
    settings.completion.evidence.clone_from(&mode.definition.evidence);
    settings.progress.outcome = mode.definition.idle_outcome;
    settings.progress.idle_unless = mode.definition.idle_unless;
    Ok(settings)
}

/// Lets the agent do everything in a sandbox, unless someone chose its permissions.
fn free_inside_sandbox(settings: &mut Settings, resolved: &ResolvedConfig) {
    let is_chosen = !matches!(resolved.origin("agent.permissions"), ValueOrigin::BuiltIn);
    if settings.sandbox.kind.is_on() && !is_chosen {
        settings.agent.permissions = Permissions::Bypass;
    }
}

fn set_permissions(
    settings: &mut Settings,
    request: &RunRequest,
    mode: &Mode,
    agent_files: &[TrustItem],
) {
    settings.agent.rules = permission_rules::rules(&request.project, settings, &mode.definition);
    let sources = &mut settings.agent.sources;
    // The project's settings for the agent program were approved too.
    if !agent_files.is_empty() && !sources.iter().any(|source| source == PROJECT_SETTINGS) {
        sources.push(PROJECT_SETTINGS.to_owned());
    }
}

/// Returns a note if the user's own checks run in a mode that writes a plan. A mode of the project
/// skips them only after an approval.
fn checks_kept_in_plan(
    mode: &Mode,
    resolved: &ResolvedConfig,
    request: &RunRequest,
) -> Result<Option<String>, Failure> {
    let is_users = match resolved.origin("verify.commands") {
        ValueOrigin::User(_) | ValueOrigin::Environment(_) => true,
        ValueOrigin::Flag(_)
        | ValueOrigin::BuiltIn
        | ValueOrigin::Mode(_)
        | ValueOrigin::Project(_)
        | ValueOrigin::Task(_) => false,
    };
    if !is_users
        || !mode.definition.evidence.contains(&EvidenceKind::Planned)
        || approval::may_skip_checks(&request.project, mode, request.untrusted)?
    {
        return Ok(None);
    }
    let advice = from_here("run `nightwright trust` to skip them");
    Ok(Some(format!(
        "The project's mode `{}` would skip your checks. They run; {advice}.",
        mode.name
    )))
}

fn check_prompt(settings: &Settings, mode: &Mode) -> Result<(), Failure> {
    prompt::check(settings).map_err(|error| {
        let file = modes::own_file(&mode.name, &error.file);
        Failure::usage(format!("`{}`, line {}: {}", file.display(), error.line, error.what))
    })
}

/// Adds the tools of the command line to the approved ones of the configuration.
fn add_tools(settings: &mut Settings, approved: &Configured, flags: &ConfigLayer) {
    let given = ResolvedConfig::new(vec![flags.clone()]);
    let of = |key| given.get_list(key).unwrap_or_default();
    let agent = &mut settings.agent;
    agent.allowed_tools.clone_from(&approved.allowed_tools);
    agent.disallowed_tools.clone_from(&approved.disallowed_tools);
    agent.add_tools(&of("agent.allowed_tools"), &of("agent.disallowed_tools"));
}

/// Returns the permissions and the model according to the configuration alone.
pub(crate) fn configured(layers: &[ConfigLayer]) -> Configured {
    let mut settings = Settings::default();
    ResolvedConfig::new(layers.to_vec()).apply(&mut settings);
    Configured::of(&settings)
}

/// Returns the settings of a task outside of runs, such as the agent and the model.
pub(crate) fn task_settings(
    project: &Path,
    task: &Task,
) -> Result<(Settings, ResolvedConfig), Failure> {
    let name = task.name().as_str();
    let layers = config::load(project, Some(name), |name| env::var_os(name))?;
    let settled = approval::settle(project, layers, UntrustedPolicy::Ask(TrustFlags::NotThere))?;
    let resolved = ResolvedConfig::new(settled.layers);
    let mode = resolved.get_text("mode").unwrap_or(modes::OF_TASKS).to_owned();
    let mut settings = Settings { task: Some(name.to_owned()), mode, ..Settings::default() };
    resolved.apply(&mut settings);
    settings.surroundings = surroundings(project);
    settings.agent.sources =
        allowed_sources(&settings.agent.sources, project, &settled.agent_files);
    Ok((settings, resolved))
}

fn surroundings(project: &Path) -> ProjectContext {
    let workspace::Branches { current, base } = workspace::branches(project);
    ProjectContext {
        project_root: project.display().to_string(),
        branch: current,
        base_branch: base,
    }
}

/// Sets the limits of a run. Notes how to set a limit if there is none.
fn limit(
    settings: &mut Settings,
    unlimited: bool,
    resolved: &ResolvedConfig,
) -> Result<(), Failure> {
    const KEY: &str = "limits.max_iterations";
    let unlimited = if unlimited { UnlimitedRuns::Allowed } else { UnlimitedRuns::Refused };
    let iterations = match (resolved.get_count(KEY), resolved.origin(KEY)) {
        (None, _) => IterationLimit::NotSet,
        (Some(0), _) => IterationLimit::Lifted,
        (Some(_), ValueOrigin::Mode(_)) => IterationLimit::ByMode,
        (Some(_), _) => IterationLimit::ByUser,
    };
    run_limits::limit_run(settings, unlimited, iterations).map_err(|refusal| match refusal {
        LimitRefusal::NoLimit => Failure::usage("a run needs a limit").hint(
            "set at least one of -m/--max-iterations, --max-cost, --max-duration and \
             --max-tokens, or --unlimited",
        ),
        LimitRefusal::OnlyTokens => {
            Failure::usage("a token limit alone cannot limit a run with `--agent-command`")
                .hint("add -m, --max-cost or --max-duration: such a program reports no tokens")
        }
    })
}

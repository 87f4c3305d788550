//! What a run is told, put together: the task or goal, the mode, the layers of the configuration,
//! and the texts, as they are at this moment. Whatever changes later takes effect in later runs.

use std::env;
use std::path::{Path, PathBuf};

use nightwright_core::mode::{FileLocation, WorkTarget};
use nightwright_core::prompt;
use nightwright_core::settings::{
    Configured, EvidenceKind, Files, Limits, ProjectContext, PromptTexts, Scope, Settings,
};

use super::approval::{self, TrustFlags, UntrustedPolicy};
use crate::config::modes::{self, Mode};
use crate::config::permissions;
use crate::config::principles;
use crate::config::{self, ConfigLayer, ResolvedConfig, ValueOrigin};
use crate::error::Failure;
use crate::files;
use crate::output::hooks::{self, ApprovedHooks};
use crate::paste::from_here;
use crate::runtime::evidence_files;
use crate::task::{self, Task};
use crate::trust::{self, TrustItem};
use crate::workspace;

/// Where a goal without a task is handed over.
const SHARED_NOTES: &str = "SHARED_TASK_NOTES.md";
/// More of a text than this helps no agent.
const MAX_TEXT_BYTES: u64 = 1 << 20;
/// With `--unlimited` a run still ends after so many iterations, unless `-m 0` lifts that too.
const FAILSAFE: u32 = 1000;

/// What was asked for.
#[derive(Clone, Debug)]
pub(crate) struct RunRequest {
    pub(crate) project: PathBuf,
    pub(crate) task: Option<String>,
    pub(crate) goal: Option<String>,
    /// The mode, where the command itself says it.
    pub(crate) mode: Option<&'static str>,
    pub(crate) flags: ConfigLayer,
    pub(crate) unlimited: bool,
    pub(crate) purpose: RequestPurpose,
    /// What is added to the system prompt.
    pub(crate) appended: Option<PathBuf>,
    /// A file of principles that was named.
    pub(crate) principles: Option<PathBuf>,
    pub(crate) untrusted: UntrustedPolicy,
}

/// What it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestPurpose {
    /// To run it.
    Run,
    /// To look at it.
    Look,
    /// To judge what was made of it.
    Verify,
}

/// What a run is told.
#[derive(Debug)]
pub(crate) struct RunSpec {
    pub(crate) settings: Settings,
    pub(crate) task: Option<Task>,
    pub(crate) resolved: ResolvedConfig,
    /// The project's hooks that are run.
    pub(crate) hooks: ApprovedHooks,
    /// The files of the project that the agent program may use, as they are now.
    pub(crate) agent_files: Vec<TrustItem>,
    /// What people should know before it begins.
    pub(crate) notes: Vec<String>,
}

/// Puts together what a run is told.
pub(crate) fn resolve_run(request: &RunRequest) -> Result<RunSpec, Failure> {
    let RunRequest { project, .. } = &request;
    let task = request.task.as_deref().map(|name| open_task(request, name)).transpose()?;
    let layers = config::load(project, request.task.as_deref(), |name| env::var_os(name))?;
    let mode = modes::load(project, &mode_name(request, task.as_ref(), &layers))?;
    let mut all = vec![mode.defaults.clone()];
    all.extend(layers);
    all.push(request.flags.clone());
    let mut notes = own_texts(&mode);
    // The last layer is the command line. Values that are not approved count too: `resume` compares
    // with the files as they are.
    let configured = configured(all.split_last().map_or(&[][..], |(_, layers)| layers));
    let approved = approval::settle(project, all, request.untrusted)?;
    notes.extend(approved.notes);
    let resolved = ResolvedConfig::new(approved.layers);

    let mut settings = Settings {
        task: request.task.clone(),
        goal: goal(request, &mode, task.as_ref())?,
        files: files_of(&mode, task.as_ref())?,
        notes_file: notes_file(&mode, task.as_ref()),
        surroundings: surroundings(project),
        configured,
        ..Settings::default()
    };
    settings.completion.evidence.clone_from(&mode.definition.evidence);
    settings.progress.ending = mode.definition.ending;
    settings.progress.excuse = mode.definition.excuse;
    resolved.apply(&mut settings);
    add_tools(&mut settings, &request.flags);
    settings.mode.clone_from(&mode.name);
    settings.agent.rules = permissions::rules(project, &settings, &mode.definition);
    let sources = &mut settings.agent.sources;
    if !approved.agent_files.is_empty() && !sources.iter().any(|source| source == "project") {
        // What the project tells the agent program was approved too.
        sources.push("project".to_owned());
    }
    // A plan is written before anything passes. Only checks that were asked for judge it.
    let asked_for = matches!(resolved.origin("verify.commands"), ValueOrigin::Flag(_));
    if mode.definition.evidence.contains(&EvidenceKind::Planned) && !asked_for {
        settings.verify.commands.clear();
    }
    let principles::RunPrinciples { principles, to_write, note } = match request.purpose {
        RequestPurpose::Run | RequestPurpose::Look => {
            principles::chosen(project, request.principles.as_deref(), &resolved)?
        }
        // Whether work is complete is no matter of taste.
        RequestPurpose::Verify => principles::RunPrinciples::default(),
    };
    settings.principles = principles;
    settings.files.principles = to_write;
    let hooks = match request.purpose {
        RequestPurpose::Run | RequestPurpose::Look => hooks::choose(project, &approved.hooks),
        // To judge is no run: nothing begins and nothing ends.
        RequestPurpose::Verify => ApprovedHooks::default(),
    };
    hooks.apply(&mut settings.hooks);
    notes.extend(note);
    match request.purpose {
        RequestPurpose::Run => {
            must_have_plan(project, &mode, &settings)?;
            limit(&mut settings, request.unlimited, &resolved)?;
        }
        RequestPurpose::Verify => only_the_gate(&mut settings, &resolved),
        RequestPurpose::Look => {}
    }
    settings.texts = texts(request, &mode, task.as_ref(), &resolved)?;
    prompt::check(&settings).map_err(|error| {
        let file = modes::own_file(&mode.name, &error.file);
        Failure::usage(format!("`{}`, line {}: {}", file.display(), error.line, error.what))
    })?;
    Ok(RunSpec { settings, task, resolved, hooks, agent_files: approved.agent_files, notes })
}

/// Options of the command line add tools to those that are configured.
fn add_tools(settings: &mut Settings, flags: &ConfigLayer) {
    let given = ResolvedConfig::new(vec![flags.clone()]);
    let of = |key| given.get_list(key).unwrap_or_default();
    let Settings { agent, configured, .. } = settings;
    agent.allowed_tools.clone_from(&configured.allowed_tools);
    agent.disallowed_tools.clone_from(&configured.disallowed_tools);
    agent.add_tools(&of("agent.allowed_tools"), &of("agent.disallowed_tools"));
}

/// Opens the task of a run. A word that is no task never starts a run, so the hint says how to give a
/// goal of one word.
fn open_task(request: &RunRequest, name: &str) -> Result<Task, Failure> {
    let takes_goals = matches!(request.purpose, RequestPurpose::Run | RequestPurpose::Look);
    Task::open(&request.project, name).map_err(|mut failure| {
        let command = request.mode.unwrap_or("run");
        let goal = shell_words::quote(name);
        let or = format!("; for a goal of one word: nightwright {command} -p {goal}");
        if let Some(hint) = failure.hint.as_mut().filter(|_| takes_goals) {
            hint.push_str(&or);
        }
        failure
    })
}

/// What the configuration alone says of permissions and model.
pub(crate) fn configured(layers: &[ConfigLayer]) -> Configured {
    let mut settings = Settings::default();
    ResolvedConfig::new(layers.to_vec()).apply(&mut settings);
    Configured::of(&settings)
}

/// What holds for a task outside of runs: which agent, which model, what it may know.
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

/// The agent program's settings that are the user's own.
pub(super) const USER_SETTINGS: &str = "user";

/// The sources of the agent program's settings, without those in the project if its files are not
/// exactly the ones that may be used.
pub(super) fn allowed_sources(
    sources: &[String],
    project: &Path,
    agent_files: &[TrustItem],
) -> Vec<String> {
    let as_approved = trust::agent_files(project) == agent_files;
    let is_allowed = |source: &&String| as_approved || source.as_str() == USER_SETTINGS;
    let allowed: Vec<_> = sources.iter().filter(is_allowed).cloned().collect();
    // Told nothing, the program would read all of them.
    if allowed.is_empty() { vec![USER_SETTINGS.to_owned()] } else { allowed }
}

/// The command says it, or a flag, or a layer; a goal without a task has a mode of its own.
fn mode_name(request: &RunRequest, task: Option<&Task>, layers: &[ConfigLayer]) -> String {
    if let Some(mode) = request.mode {
        return mode.to_owned();
    }
    let mut all = layers.to_vec();
    all.push(request.flags.clone());
    let resolved =
        ResolvedConfig::new(if task.is_some() { all } else { vec![request.flags.clone()] });
    let usual = if task.is_some() { modes::OF_TASKS } else { modes::OF_GOALS };
    resolved.get_text("mode").unwrap_or(usual).to_owned()
}

/// Whoever runs a project's own prompts should know that they are not ours.
fn own_texts(mode: &Mode) -> Vec<String> {
    if mode.own.is_empty() {
        return Vec::new();
    }
    let files: Vec<_> = mode.own.iter().map(|file| format!("`{}`", file.display())).collect();
    vec![format!("The mode `{}` uses files of this project: {}.", mode.name, files.join(", "))]
}

fn goal(request: &RunRequest, mode: &Mode, task: Option<&Task>) -> Result<String, Failure> {
    let name = &mode.name;
    match (task, &request.goal, mode.definition.works_on) {
        (Some(task), _, _) => task.instructions()?.ok_or_else(|| {
            let (task, file) = (task.name(), task.relative(task::INSTRUCTIONS));
            let text = format!("Instructions not found. Run: nightwright task setup {task}");
            Failure::usage(from_here(&text))
                .hint(format!("or write them yourself: {}", file.display()))
        }),
        (None, _, WorkTarget::Task) => {
            Err(Failure::usage(format!("the mode `{name}` works on a task, and none was given"))
                .hint(format!("make one: nightwright new NAME --mode {name}")))
        }
        (None, Some(goal), WorkTarget::Goal) => Ok(goal.clone()),
        (None, None, WorkTarget::Goal) => mode.definition.goal.clone().ok_or_else(no_goal),
    }
}

pub(crate) fn no_goal() -> Failure {
    Failure::usage("there is nothing to do: neither a task nor a goal was given")
        .hint("name a task, or give a goal: nightwright run \"make the tests pass\" -m 10")
}

fn files_of(mode: &Mode, task: Option<&Task>) -> Result<Files, Failure> {
    let file = |task: &Task, name| task.relative(name).display().to_string();
    let list = match (&mode.definition.list, task) {
        (None, _) => None,
        (Some(list), _) if list.place == FileLocation::Project => Some(list.file.clone()),
        (Some(list), Some(task)) => Some(file(task, &list.file)),
        (Some(list), None) => {
            let name = &mode.name;
            let message =
                format!("the mode `{name}` keeps `{}` in a task, and none was given", list.file);
            return Err(Failure::usage(message)
                .hint(format!("make one: nightwright new NAME --mode {name}")));
        }
    };
    Ok(Files {
        task: task.map(|task| file(task, "")),
        status: task.map(|task| file(task, task::STATUS)),
        list,
        principles: None,
    })
}

/// A task has notes of its own; a plan is its own memory; everything else is handed over in the
/// project.
fn notes_file(mode: &Mode, task: Option<&Task>) -> Option<String> {
    match (task, &mode.definition.list) {
        (Some(task), _) => Some(task.relative(task::NOTES).display().to_string()),
        (None, Some(_)) => None,
        (None, None) => Some(SHARED_NOTES.to_owned()),
    }
}

fn surroundings(project: &Path) -> ProjectContext {
    let workspace::Branches { current, base } = workspace::branches(project);
    ProjectContext {
        project_root: project.display().to_string(),
        branch: current,
        base_branch: base,
    }
}

/// Building needs a plan.
fn must_have_plan(project: &Path, mode: &Mode, settings: &Settings) -> Result<(), Failure> {
    let evidence = &mode.definition.evidence;
    if !evidence.contains(&EvidenceKind::Plan)
        || evidence_files::EvidenceFiles::new(project, &settings.files, evidence)
            .read()
            .checklist
            .is_some()
    {
        return Ok(());
    }
    let list = settings.files.list.as_deref().unwrap_or("the plan");
    Err(Failure::trouble(from_here("No plan found. Run: nightwright plan"))
        .hint(format!("it is looked for in `{list}` and in `impl/README.md`")))
}

/// A run without any limit is refused: nobody goes to bed on that by accident.
fn limit(
    settings: &mut Settings,
    unlimited: bool,
    resolved: &ResolvedConfig,
) -> Result<(), Failure> {
    let limits = &mut settings.limits;
    if unlimited && matches!(resolved.origin("limits.max_iterations"), ValueOrigin::Mode(_)) {
        limits.max_iterations = None;
    }
    if limits.is_unlimited() {
        if !unlimited {
            return Err(Failure::usage("a run needs a limit").hint(
                "give at least one of -m/--max-iterations, --max-cost, --max-duration and \
                 --max-tokens, or --unlimited",
            ));
        }
        if resolved.get_count("limits.max_iterations") != Some(0) {
            limits.max_iterations = Some(FAILSAFE);
        }
    }
    if settings.agent.command.is_some() {
        fits_any_program(limits)?;
    }
    // A verdict may take a quarter of a small budget, not all of it.
    if let Some(max) = settings.limits.max_cost {
        settings.verify.max_cost = settings.verify.max_cost.min(max.per(4));
    }
    Ok(())
}

/// Judging has an end of its own. What it may cost is what was said for it, not for the work.
fn only_the_gate(settings: &mut Settings, resolved: &ResolvedConfig) {
    settings.scope = Scope::Gate;
    let said = matches!(resolved.origin("limits.max_cost"), ValueOrigin::Flag(_));
    let max_cost = settings.limits.max_cost.filter(|_| said);
    settings.limits = Limits {
        max_iterations: None,
        max_cost,
        max_duration: None,
        max_tokens: None,
        reserve: 0,
        ..settings.limits.clone()
    };
    // A model that gives no verdict is asked once more.
    if let Some(max) = max_cost {
        settings.verify.max_cost = settings.verify.max_cost.min(max.per(2));
    }
}

/// A program that reports no tokens never reaches a limit of tokens.
fn fits_any_program(limits: &Limits) -> Result<(), Failure> {
    if (Limits { max_tokens: None, ..limits.clone() }).is_unlimited() && limits.max_tokens.is_some()
    {
        return Err(Failure::usage(
            "a limit of tokens alone does not limit a run with an agent command",
        )
        .hint("such a program reports no tokens; give -m, --max-cost or --max-duration"));
    }
    Ok(())
}

fn texts(
    request: &RunRequest,
    mode: &Mode,
    task: Option<&Task>,
    resolved: &ResolvedConfig,
) -> Result<PromptTexts, Failure> {
    let agents = match resolved.get_optional("prompt.agents_file").flatten() {
        None => String::new(),
        Some(file) => match text_of(&request.project, Path::new(&file))? {
            Some(text) => text,
            None if *resolved.origin("prompt.agents_file") == ValueOrigin::BuiltIn => String::new(),
            // One that was asked for has to be there.
            None => {
                let message = format!("`prompt.agents_file` names `{file}`, which is not there");
                return Err(Failure::usage(message));
            }
        },
    };
    let appended = match &request.appended {
        Some(file) => std::fs::read_to_string(file).map_err(|error| {
            let file = file.display();
            Failure::usage(format!("--append-system-prompt-file `{file}` can't be read: {error}"))
        })?,
        None => String::new(),
    };
    Ok(PromptTexts {
        system: mode.system.clone(),
        prompt: mode.prompt.clone(),
        agents,
        status: task.map(|task| task.text(task::STATUS_INSTRUCTIONS)).transpose()?.flatten(),
        appended,
    })
}

fn text_of(project: &Path, file: &Path) -> Result<Option<String>, Failure> {
    let bytes = files::read_inside(project, file, MAX_TEXT_BYTES)
        .map_err(|error| Failure::because(&error))?;
    bytes
        .map(String::from_utf8)
        .transpose()
        .map_err(|_| Failure::usage(format!("`{}` is not text in UTF-8", file.display())))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_agents_settings_in_the_project_are_used_only_as_they_were_approved() {
        let project = tempfile::tempdir().unwrap();
        let folder = project.path().join(".claude");
        fs::create_dir(&folder).unwrap();
        let sources = ["user", "project", "local"].map(str::to_owned);
        let allowed = |files: &[TrustItem]| allowed_sources(&sources, project.path(), files);
        assert_eq!(allowed(&[]), sources, "there are none");
        fs::write(folder.join("settings.json"), "{}").unwrap();
        assert_eq!(allowed(&[]), ["user"], "nobody approved it");
        let projects_alone = allowed_sources(&["project".to_owned()], project.path(), &[]);
        assert_eq!(projects_alone, ["user"], "told nothing, the program would read all of them");
        let approved = trust::agent_files(project.path());
        assert_eq!(allowed(&approved), sources);
        fs::write(folder.join("settings.json"), "{\"hooks\": {}}").unwrap();
        assert_eq!(allowed(&approved), ["user"], "it was changed");
        fs::write(folder.join("settings.json"), "{}").unwrap();
        fs::write(project.path().join(".mcp.json"), "{}").unwrap();
        assert_eq!(allowed(&approved), ["user"], "another one was added");
    }
}

//! `nightwright run`, `plan` and `build`: work on a task or a goal until the gate accepts a
//! claim or a limit is reached.

mod first_run;
mod goal;
mod host_offer;
mod series;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use nightwright_core::outcome::{Outcome, Strictness};
use nightwright_core::settings::Settings;

use self::goal::{RunSubject, goal, nothing_to_do, short_help};
use self::series::RunEnd;
use super::cli::context::ProjectArgs;
use super::cli::key_options::{Agent, Completion, General, KeyOptions, Limits, Output, Pace};
use super::cli::{usage, values};
use crate::app::agent_program::AgentProgram;
use crate::app::approval::UntrustedPolicy;
use crate::app::detach::{self, DetachArgs, DetachTarget};
use crate::app::execute;
use crate::app::run_spec::{self, RequestPurpose, RunRequest, RunSpec};
use crate::config::{ColorChoice, ConfigLayer, OutputLevel};
use crate::console::{eprint_raw, eprint_safe};
use crate::error::Failure;
use crate::process::DetachPipe;
use crate::secrets;

#[derive(Clone, Debug, Args)]
pub(super) struct RunArgs {
    /// Name of a task, or a goal in quotes (text with a space in it); several tasks run one after
    /// another
    #[arg(value_name = "TASK", conflicts_with = "prompt")]
    tasks: Vec<String>,

    /// Run all incomplete tasks that have instructions
    #[arg(long, conflicts_with_all = ["tasks", "prompt"], hide_short_help = true)]
    all: bool,

    /// Continue with the next task if one does not complete
    #[arg(long, hide_short_help = true)]
    keep_going: bool,

    /// Goal for the agent; `-` reads it from standard input
    #[arg(short = 'p', long, value_name = "GOAL", value_parser = values::words, allow_hyphen_values = true)]
    prompt: Option<String>,

    #[command(flatten)]
    pub(super) project: ProjectArgs,

    #[command(flatten)]
    general: KeyOptions<General>,

    /// Do not ask questions, and use the project's unapproved hooks and settings for this run
    #[arg(short, long, hide_short_help = true)]
    yes: bool,

    /// Ignore the project's unapproved hooks and settings
    #[arg(long, conflicts_with = "yes", hide_short_help = true)]
    ignore_untrusted: bool,

    #[command(flatten)]
    completion: KeyOptions<Completion>,

    /// Exit non-zero unless the work is complete: 3 limit, 4 no progress, 5 blocked or impossible,
    /// 6 unverified, 7 stopped
    #[arg(long, help_heading = "Completion", hide_short_help = true)]
    require_complete: bool,

    #[command(flatten)]
    limits: KeyOptions<Limits>,

    /// Allow a run without a limit (it still stops after 1,000 iterations, unless you add `-m 0`)
    #[arg(long, help_heading = "Limits", hide_short_help = true)]
    unlimited: bool,

    #[command(flatten)]
    pace: KeyOptions<Pace>,

    #[command(flatten)]
    agent: AgentArgs,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    detach: DetachArgs,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Agent")]
struct AgentArgs {
    /// Use the rehearsal agent: spend nothing
    #[arg(long)]
    dry_run: bool,

    /// Script for the rehearsal agent (see `docs/reference/rehearsal.md`)
    #[arg(long, value_name = "FILE", requires = "dry_run", hide_short_help = true)]
    rehearsal: Option<PathBuf>,

    #[command(flatten)]
    keys: KeyOptions<Agent>,

    /// Append the text of FILE to the system prompt of the agent
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    append_system_prompt_file: Option<PathBuf>,

    /// Trade-off priorities, as TOML or YAML (see `nightwright principles`)
    /// [default: `.nightwright/principles.toml`]
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    principles_file: Option<PathBuf>,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Output")]
pub(super) struct OutputArgs {
    #[command(flatten)]
    keys: KeyOptions<Output>,

    /// With `--output json`, also print every line of the agent's output
    #[arg(long, hide_short_help = true)]
    pub(super) include_messages: bool,
}

/// The command that starts a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunCommand {
    Run,
    Plan,
    Build,
}

impl RunCommand {
    /// Returns the mode, if the command implies one.
    fn mode(self) -> Option<&'static str> {
        match self {
            Self::Run => None,
            Self::Plan => Some("plan"),
            Self::Build => Some("build"),
        }
    }
}

pub(super) fn run(options: &RunArgs, command: RunCommand) -> Result<ExitCode, Failure> {
    if options.detach.is_wanted() {
        return detach::detach(usage::given_arguments());
    }
    let pipe = options.detach.pipe()?;
    let (project, which) = options.project.find_for_work()?;
    if let Some(names) = series::tasks(options, command, &project)? {
        if let Some(line) = &which {
            eprint_safe(line);
        }
        return series::run(options, &project, &names, pipe.as_ref());
    }
    let first_lines = which.into_iter().chain(options.subject().note()).collect();
    let (code, end) = run_one(options, command, &project, pipe.as_ref(), first_lines, &|_| ())?;
    if let Some(Outcome::CheckNeedsHost { settings, .. }) = end.map(|end| end.outcome)
        && options.asks()
    {
        let task = options.subject().task;
        host_offer::offer(&project, task, &options.flags(), &settings)?;
    }
    Ok(code)
}

/// Executes one run. `cap` lowers its limits. Returns no end if the run was interrupted before it
/// started.
fn run_one(
    options: &RunArgs,
    command: RunCommand,
    project: &Path,
    pipe: Option<&Arc<DetachPipe>>,
    mut first_lines: Vec<String>,
    cap: &dyn Fn(&mut Settings),
) -> Result<(ExitCode, Option<RunEnd>), Failure> {
    let mut request = options.asked(command, project, RequestPurpose::Run).inspect_err(|_| {
        // The text after `--review-prompt` may have been meant as the goal; then help is no use.
        if options.has_no_subject(command) && options.review().is_none() {
            eprint_raw(&short_help(command));
        }
    })?;
    // Notes about the project are shown unless the user, not the project, asked for quiet output.
    let is_heard = options.output.level() != Some(OutputLevel::Quiet);
    if is_heard && !options.yes && !options.agent.dry_run && first_run::is_due(project) {
        // Everything that makes the run refuse is checked before any question. This changes
        // nothing.
        let preview = run_spec::resolve_run(&RunRequest {
            untrusted: UntrustedPolicy::Accept,
            ..request.clone()
        })?;
        first_lines.drain(..).for_each(|line| eprint_safe(&line));
        first_run::ask(project, &preview, &mut request.flags)?;
    }
    let mut request = run_spec::resolve_run(&request)?;
    cap(&mut request.settings);
    let level = options.output.with_messages(request.resolved.level())?;
    let (detach, level) = DetachTarget::choose(pipe.cloned(), level);
    if is_heard {
        for note in first_lines.iter().chain(&request.notes) {
            eprint_safe(note);
        }
    }
    let program = program(&options.agent, &request.settings, project)?;
    let secrets = secrets::of_config(&request.resolved)?;
    let strictness = options.strictness();
    let spec = RunSpec::new(project.to_owned(), request, program, secrets)?;
    let spec = RunSpec { level, strictness, detach, ..spec };
    let finished = execute::start(&spec)?;
    let end = finished.as_ref().map(|finished| RunEnd {
        id: finished.locked_run.folder.id().clone(),
        outcome: finished.outcome.clone(),
        totals: finished.view.totals.clone(),
    });
    Ok((execute::close(&spec, finished.as_ref()), end))
}

impl RunArgs {
    /// Whether the command uses settings without approval.
    pub(super) fn accepts_all(&self) -> bool {
        self.yes
    }

    /// Whether the user wants to be asked.
    fn asks(&self) -> bool {
        let is_quiet = matches!(
            self.output.level(),
            Some(OutputLevel::Quiet | OutputLevel::Json | OutputLevel::JsonMessages)
        );
        !self.yes && !is_quiet
    }

    /// Returns the request, with the flags as the last layer of the configuration.
    pub(super) fn asked(
        &self,
        command: RunCommand,
        project: &Path,
        purpose: RequestPurpose,
    ) -> Result<RunRequest, Failure> {
        if self.all || self.keep_going || self.tasks.len() > 1 {
            return Err(Failure::usage("this command takes one task").hint("name one task"));
        }
        if let (Some(mode), Some(own)) = (self.mode(), command.mode()) {
            let work = self.subject().words();
            return Err(Failure::usage(format!(
                "cannot combine `nightwright {own}` with --mode {mode}"
            ))
            .hint(format!("run `nightwright run --mode {mode}{work}`")));
        }
        let RunSubject { task, goal: given, .. } = self.subject();
        let goal = given.map(goal).transpose()?;
        if self.has_no_subject(command) {
            return Err(nothing_to_do(project, self.review()));
        }
        // A request that only shows the settings runs nothing.
        let accepts = self.yes || purpose == RequestPurpose::Look;
        let untrusted = UntrustedPolicy::of_flags(accepts, self.ignore_untrusted);
        Ok(RunRequest {
            project: project.to_owned(),
            task: task.map(str::to_owned),
            goal,
            mode: command.mode(),
            flags: self.flags(),
            unlimited: self.unlimited,
            purpose,
            appended: self.agent.append_system_prompt_file.clone(),
            principles: self.agent.principles_file.clone(),
            untrusted,
        })
    }

    fn subject(&self) -> RunSubject<'_> {
        RunSubject::of(self.tasks.first().map(String::as_str), self.prompt.as_deref())
    }

    /// Returns the same command line for a single task.
    fn only(&self, task: &str) -> Self {
        Self { tasks: vec![task.to_owned()], all: false, keep_going: false, ..self.clone() }
    }

    fn strictness(&self) -> Strictness {
        if self.require_complete { Strictness::RequireComplete } else { Strictness::Lenient }
    }

    /// Whether there is neither a task nor a goal, and the command does not imply one.
    fn has_no_subject(&self, command: RunCommand) -> bool {
        let own_goal =
            matches!(command, RunCommand::Plan | RunCommand::Build) || self.mode().is_some();
        let RunSubject { task, goal, .. } = self.subject();
        task.is_none() && goal.is_none() && !own_goal
    }

    fn mode(&self) -> Option<&str> {
        self.general.text("mode")
    }

    fn review(&self) -> Option<&str> {
        self.completion.text("review.prompt")
    }

    fn flags(&self) -> ConfigLayer {
        let Self { general, completion, limits, pace, agent, output, .. } = self;
        let mut flags = ConfigLayer::flags();
        for layer in [
            &general.layer,
            &completion.layer,
            &limits.layer,
            &pace.layer,
            &agent.keys.layer,
            &output.keys.layer,
        ] {
            flags.extend(layer);
        }
        flags
    }
}

impl OutputArgs {
    /// Returns the output level, if one was given.
    pub(super) fn level(&self) -> Option<OutputLevel> {
        self.keys.text("output.level").and_then(OutputLevel::named)
    }

    /// Returns the choice of colors, if one was given.
    pub(super) fn color(&self) -> Option<ColorChoice> {
        self.keys.text("output.color").and_then(ColorChoice::named)
    }

    /// Returns the level, with the agent's messages if they were requested.
    pub(super) fn with_messages(&self, level: OutputLevel) -> Result<OutputLevel, Failure> {
        match (self.include_messages, level) {
            (false, level) => Ok(level),
            (true, OutputLevel::Json | OutputLevel::JsonMessages) => Ok(OutputLevel::JsonMessages),
            (true, OutputLevel::Quiet | OutputLevel::Progress | OutputLevel::Verbose) => {
                Err(Failure::usage("--include-messages requires --output json")
                    .hint("use --verbose to see the agent's messages"))
            }
        }
    }
}

fn program(
    options: &AgentArgs,
    settings: &Settings,
    project: &Path,
) -> Result<AgentProgram, Failure> {
    let command = settings.agent.command.as_ref();
    AgentProgram::choose(options.dry_run, options.rehearsal.as_deref(), command, project)
}

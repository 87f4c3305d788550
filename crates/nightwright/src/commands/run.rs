//! `nightwright run`, `plan` and `build`: work on a task or a goal until it is verified, or a limit
//! is reached.

mod first_run;
mod goal;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use nightwright_core::outcome::Strictness;
use nightwright_core::settings::Settings;

use self::goal::{RunSubject, goal, nothing_to_do, short_help};
use super::context::{ProjectArgs, eprint_raw, eprint_safe};
use super::key_options::{Agent, Completion, General, KeyOptions, Limits, Output, Pace};
use super::values;
use crate::app::agent_program::{AgentCommandLine, AgentProgram, RehearsalScript};
use crate::app::approval::{TrustFlags, UntrustedPolicy};
use crate::app::detach::{self, DetachArgs, DetachTarget};
use crate::app::execute;
use crate::app::run_spec::{self, RequestPurpose, RunRequest, RunSpec};
use crate::config::ConfigLayer;
use crate::error::Failure;
use crate::output::{ColorChoice, OutputLevel};
use crate::secrets;

#[derive(Clone, Debug, Args)]
pub(super) struct RunArgs {
    /// Name of a task, or a goal in quotes (text with a space in it)
    #[arg(value_name = "TASK", conflicts_with = "prompt")]
    task: Option<String>,

    /// Goal for the agent; `-` reads it from standard input
    #[arg(short = 'p', long, value_name = "GOAL", value_parser = values::words, allow_hyphen_values = true)]
    prompt: Option<String>,

    #[command(flatten)]
    pub(super) project: ProjectArgs,

    #[command(flatten)]
    general: KeyOptions<General>,

    /// Ask nothing, and use hooks and settings of the project that you have not approved, for this
    /// run only
    #[arg(short, long, hide_short_help = true)]
    yes: bool,

    /// Ignore hooks and settings of the project that you have not approved
    #[arg(long, conflicts_with = "yes", hide_short_help = true)]
    ignore_untrusted: bool,

    #[command(flatten)]
    completion: KeyOptions<Completion>,

    /// Exit non-zero unless the work is complete: 3 limit, 4 no progress, 5 blocked, 6 unverified,
    /// 7 stopped
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
        return detach::detach();
    }
    let pipe = options.detach.pipe()?;
    let (project, which) = options.project.find_for_work()?;
    let mut request = options.asked(command, &project, RequestPurpose::Run).inspect_err(|_| {
        // The text after `--review-prompt` may have been meant as the goal; then help is no use.
        if options.says_nothing(command) && options.review().is_none() {
            eprint_raw(&short_help(command));
        }
    })?;
    // Notes about the project are shown unless the user, not the project, asked for quiet output.
    let is_heard = options.output.level() != Some(OutputLevel::Quiet);
    let mut first_lines: Vec<_> = which.into_iter().chain(options.subject().note()).collect();
    if is_heard && !options.yes && !options.agent.dry_run && first_run::is_due(&project) {
        // Everything that makes the run refuse is checked before any question. This changes
        // nothing.
        let preview = run_spec::resolve_run(&RunRequest {
            untrusted: UntrustedPolicy::Accept,
            ..request.clone()
        })?;
        first_lines.drain(..).for_each(|line| eprint_safe(&line));
        first_run::ask(&project, &preview, &mut request.flags)?;
    }
    let request = run_spec::resolve_run(&request)?;
    let strictness =
        if options.require_complete { Strictness::RequireComplete } else { Strictness::Lenient };
    let level = options.output.with_messages(request.resolved.level())?;
    let (detach, level) = DetachTarget::choose(pipe, level);
    if is_heard {
        for note in first_lines.iter().chain(&request.notes) {
            eprint_safe(note);
        }
    }
    let program = program(&options.agent, &request.settings, &project)?;
    let secrets = secrets::of_config(&request.resolved)?;
    let spec =
        RunSpec { level, strictness, detach, ..RunSpec::new(project, request, program, secrets)? };
    execute::run(&spec)
}

impl RunArgs {
    /// Returns the request, with the flags as the last layer of the configuration.
    pub(super) fn asked(
        &self,
        command: RunCommand,
        project: &Path,
        purpose: RequestPurpose,
    ) -> Result<RunRequest, Failure> {
        if let (Some(mode), Some(own)) = (self.mode(), command.mode()) {
            let work = self.subject().words();
            return Err(Failure::usage(format!(
                "`nightwright {own}` cannot be combined with --mode {mode}"
            ))
            .hint(format!("run `nightwright run --mode {mode}{work}`")));
        }
        let RunSubject { task, goal: given, .. } = self.subject();
        let goal = given.map(goal).transpose()?;
        if self.says_nothing(command) {
            return Err(nothing_to_do(project, self.review()));
        }
        let untrusted = match (self.yes, self.ignore_untrusted) {
            // A request that only shows the settings runs nothing.
            _ if purpose == RequestPurpose::Look => UntrustedPolicy::Accept,
            (true, _) => UntrustedPolicy::Accept,
            (false, true) => UntrustedPolicy::Ignore,
            (false, false) => UntrustedPolicy::Ask(TrustFlags::There),
        };
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
        RunSubject::of(self.task.as_deref(), self.prompt.as_deref())
    }

    /// Whether there is neither a task nor a goal, and the command does not imply one.
    fn says_nothing(&self, command: RunCommand) -> bool {
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
    if options.dry_run {
        let script = options.rehearsal.as_deref().map(RehearsalScript::read).transpose()?;
        return Ok(AgentProgram::Rehearsal(script));
    }
    match &settings.agent.command {
        Some(command) => AgentCommandLine::parse(command, project).map(AgentProgram::Command),
        None => Ok(AgentProgram::Claude),
    }
}

//! `nightwright run`, `plan` and `build`: work on a task or a goal until it is verified, or a limit
//! is reached.

mod first_run;
mod goal;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{ArgAction, Args};
use nightwright_core::outcome::Strictness;
use nightwright_core::permissions::{Permissions, rule};
use nightwright_core::settings::Settings;
use nightwright_core::units::Usd;

use self::goal::{RunSubject, goal, nothing_to_do, short_help};
use super::context::{ProjectArgs, eprint_raw, eprint_safe};
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

    /// How iterations work: loop, iterative, plan, build, prompt, or your own mode
    /// [default: the task's mode, `loop` for tasks, `prompt` for goals]
    #[arg(long, value_name = "MODE", value_parser = values::text)]
    mode: Option<String>,

    /// Ask nothing, and use hooks and settings of the project that you have not approved, for this
    /// run only
    #[arg(short, long, hide_short_help = true)]
    yes: bool,

    /// Ignore hooks and settings of the project that you have not approved
    #[arg(long, conflicts_with = "yes", hide_short_help = true)]
    ignore_untrusted: bool,

    /// Command that must pass before the work counts as complete; repeatable
    #[arg(long, value_name = "CMD", value_parser = values::text, help_heading = "Completion")]
    verify: Vec<String>,

    /// Do not run the checks before the first iteration
    #[arg(long, help_heading = "Completion", hide_short_help = true)]
    no_baseline: bool,

    /// Phrase that the agent prints as the completion signal
    #[arg(long, value_name = "TEXT", value_parser = values::text, help_heading = "Completion", hide_short_help = true)]
    completion_signal: Option<String>,

    /// Require the completion signal in N consecutive iterations
    #[arg(long, value_name = "N", value_parser = values::setting::<u32>("completion.threshold"), allow_negative_numbers = true, help_heading = "Completion", hide_short_help = true)]
    completion_threshold: Option<u32>,

    /// Ignore claims of completion: only limits, a stop or errors end the run
    #[arg(long, help_heading = "Completion", hide_short_help = true)]
    no_detect: bool,

    /// Exit non-zero unless the work is complete: 3 limit, 4 no progress, 5 blocked, 6 unverified,
    /// 7 stopped
    #[arg(long, help_heading = "Completion", hide_short_help = true)]
    require_complete: bool,

    /// Let a fresh agent review and fix the work after each iteration, with this prompt or the
    /// built-in one
    #[arg(short, long, value_name = "TEXT", value_parser = values::words, num_args = 0..=1, default_missing_value = "builtin", help_heading = "Completion", hide_short_help = true)]
    review_prompt: Option<String>,

    #[command(flatten)]
    limits: LimitArgs,

    /// Allow a run without a limit (it still stops after 1,000 iterations, unless you add `-m 0`)
    #[arg(long, help_heading = "Limits", hide_short_help = true)]
    unlimited: bool,

    #[command(flatten)]
    pace: PaceArgs,

    #[command(flatten)]
    agent: AgentArgs,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    detach: DetachArgs,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Limits")]
#[expect(clippy::struct_field_names, reason = "they are called as their options are")]
pub(super) struct LimitArgs {
    /// Stop after N iterations (0: unlimited)
    #[arg(short, long, value_name = "N", value_parser = values::setting::<u32>("limits.max_iterations"), allow_negative_numbers = true)]
    pub(super) max_iterations: Option<u32>,

    /// Stop when the total cost reaches USD
    #[arg(long, value_name = "USD", value_parser = values::setting::<Usd>("limits.max_cost"), allow_negative_numbers = true)]
    pub(super) max_cost: Option<Usd>,

    /// Stop after TIME of work, such as `8h` (waits and pauses do not count)
    #[arg(long, value_name = "TIME", value_parser = values::setting::<Duration>("limits.max_duration"), allow_hyphen_values = true)]
    pub(super) max_duration: Option<Duration>,

    /// Stop when the run has used its budget of N tokens (input, output and cache writes); set
    /// `agent.max_output_tokens` to limit a single answer
    #[arg(long, value_name = "N", value_parser = values::setting::<u64>("limits.max_tokens"), allow_negative_numbers = true, hide_short_help = true)]
    pub(super) max_tokens: Option<u64>,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Pace")]
struct PaceArgs {
    /// Stop after N consecutive iterations without progress (0: never)
    #[arg(long, value_name = "N", value_parser = values::setting::<u32>("stagnation.threshold"), allow_negative_numbers = true, hide_short_help = true)]
    stagnation_threshold: Option<u32>,

    /// Wait TIME between iterations
    #[arg(short, long, value_name = "TIME", value_parser = values::setting::<Duration>("delay"), allow_hyphen_values = true, hide_short_help = true)]
    delay: Option<Duration>,

    /// Do not wait between iterations
    #[arg(long, conflicts_with = "delay", hide_short_help = true)]
    no_delay: bool,

    /// Retry up to N times per iteration after transient failures
    #[arg(long, value_name = "N", value_parser = values::setting::<u32>("retry.max_retries"), allow_negative_numbers = true, hide_short_help = true)]
    max_retries: Option<u32>,

    /// Wait TIME before the first retry (at least 1s; doubles with every retry, up to 1 minute)
    #[arg(long, value_name = "TIME", value_parser = values::setting::<Duration>("retry.delay"), allow_hyphen_values = true, hide_short_help = true)]
    retry_delay: Option<Duration>,

    /// Kill an attempt after TIME (0: never)
    #[arg(long, value_name = "TIME", value_parser = values::setting::<Duration>("deadlines.attempt"), allow_hyphen_values = true, hide_short_help = true)]
    timeout: Option<Duration>,

    /// Kill an attempt that prints nothing for TIME
    #[arg(long, value_name = "TIME", value_parser = values::setting::<Duration>("deadlines.idle"), allow_hyphen_values = true, hide_short_help = true)]
    idle_timeout: Option<Duration>,
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

    /// Use another agent: any program that reads the prompt from standard input and answers in plain
    /// text
    #[arg(long, value_name = "CMD", value_parser = values::text, conflicts_with_all = ["dry_run", "model", "max_turns", "allowed_tools", "disallowed_tools", "permissions", "dangerously_skip_permissions", "arguments"], hide_short_help = true)]
    agent_command: Option<String>,

    /// Model for the agent [default: the agent's own choice]
    #[arg(long, value_name = "MODEL", value_parser = values::text)]
    model: Option<String>,

    /// Limit an attempt to N turns [default: the agent's own choice]
    #[arg(long, value_name = "N", value_parser = values::setting::<u32>("agent.max_turns"), allow_negative_numbers = true, hide_short_help = true)]
    max_turns: Option<u32>,

    /// Allow a tool, such as `Bash(cargo test:*)`, in addition to the permissions and the
    /// configuration; repeatable
    #[arg(long, value_name = "TOOL", value_parser = tool, hide_short_help = true)]
    allowed_tools: Vec<String>,

    /// Forbid a tool, in addition to the configuration; repeatable
    #[arg(long, value_name = "TOOL", value_parser = tool, hide_short_help = true)]
    disallowed_tools: Vec<String>,

    /// Permissions of the agent: `usual` (edit files and run the usual commands of this project),
    /// `edits` (only edit files), `bypass` (everything), `none` (as in the agent's own settings)
    /// [default: usual]
    #[arg(long, value_name = "LEVEL", value_parser = PossibleValuesParser::new(Permissions::VALUES), conflicts_with = "dangerously_skip_permissions")]
    permissions: Option<String>,

    /// Append the text of FILE to the system prompt of the agent
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    append_system_prompt_file: Option<PathBuf>,

    /// Trade-off priorities, as TOML or YAML (see `nightwright principles`)
    /// [default: `.nightwright/principles.toml`]
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    principles_file: Option<PathBuf>,

    /// Same as `--permissions bypass`
    #[arg(long, hide_short_help = true)]
    dangerously_skip_permissions: bool,

    /// File for the notes from one iteration to the next (empty: none)
    /// [default: `NOTES.md` of the task; for goals `SHARED_TASK_NOTES.md`, or none with a checklist]
    #[arg(long, value_name = "FILE", value_parser = values::setting::<String>("notes.file"), hide_short_help = true)]
    notes_file: Option<String>,

    /// Additional arguments for the agent program
    #[arg(last = true, value_name = "ARGS")]
    arguments: Vec<String>,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Output")]
pub(super) struct OutputArgs {
    /// Also show the messages and tool calls of the agent
    #[arg(short, long, action = ArgAction::SetTrue, conflicts_with_all = ["quiet", "output"])]
    verbose: bool,

    /// Show only errors
    #[arg(short, long, action = ArgAction::SetTrue, conflicts_with = "output")]
    quiet: bool,

    /// Amount of output; `json` prints the events of the journal to standard output
    #[arg(long, value_name = "LEVEL", hide_short_help = true)]
    output: Option<OutputLevel>,

    /// With `--output json`, also print every line of the agent's output
    #[arg(long, hide_short_help = true)]
    pub(super) include_messages: bool,

    /// When to use colors
    #[arg(long, value_name = "WHEN", hide_short_help = true)]
    pub(super) color: Option<ColorChoice>,
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
        if options.says_nothing(command) && options.review_prompt.is_none() {
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
        if let (Some(mode), Some(own)) = (&self.mode, command.mode()) {
            let work = self.subject().words();
            return Err(Failure::usage(format!(
                "`nightwright {own}` cannot be combined with --mode {mode}"
            ))
            .hint(format!("run `nightwright run --mode {mode}{work}`")));
        }
        let RunSubject { task, goal: given, .. } = self.subject();
        let goal = given.map(goal).transpose()?;
        if self.says_nothing(command) {
            return Err(nothing_to_do(project, self.review_prompt.as_deref()));
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
            matches!(command, RunCommand::Plan | RunCommand::Build) || self.mode.is_some();
        let RunSubject { task, goal, .. } = self.subject();
        task.is_none() && goal.is_none() && !own_goal
    }

    fn flags(&self) -> ConfigLayer {
        let Self { limits, pace, agent, output, .. } = self;
        let mut flags = ConfigLayer::flags();
        flags.give("mode", self.mode.clone());
        flags.give("limits.max_iterations", limits.max_iterations);
        flags.give("limits.max_cost", limits.max_cost);
        flags.give("limits.max_tokens", limits.max_tokens);
        flags.give("limits.max_duration", limits.max_duration);
        flags.give("verify.commands", list(&self.verify));
        flags.give("completion.signal", self.completion_signal.clone());
        flags.give("completion.threshold", self.completion_threshold);
        flags.give("review.prompt", self.review_prompt.clone());
        if self.no_baseline {
            flags.set_by_flag("--no-baseline", "verify.baseline", "off");
        }
        if self.no_detect {
            flags.set_by_flag("--no-detect", "completion.detect", false);
        }
        flags.give("stagnation.threshold", pace.stagnation_threshold);
        flags.give("delay", pace.delay);
        if pace.no_delay {
            flags.set_by_flag("--no-delay", "delay", Duration::ZERO);
        }
        flags.give("retry.max_retries", pace.max_retries);
        flags.give("retry.delay", pace.retry_delay);
        flags.give("deadlines.attempt", pace.timeout);
        flags.give("deadlines.idle", pace.idle_timeout);
        flags.give("notes.file", agent.notes_file.clone());
        flags.give("agent.command", agent.agent_command.clone());
        flags.give("agent.args", list(&agent.arguments));
        flags.give("agent.allowed_tools", list(&agent.allowed_tools));
        flags.give("agent.disallowed_tools", list(&agent.disallowed_tools));
        flags.give("agent.permissions", agent.permissions.clone());
        if agent.dangerously_skip_permissions {
            flags.set_by_flag("--dangerously-skip-permissions", "agent.permissions", "bypass");
        }
        flags.give("agent.max_turns", agent.max_turns);
        flags.give("model.name", agent.model.clone());
        output.flags(&mut flags);
        flags
    }
}

/// Parses a rule for a tool. A rule that the agent program cannot read would allow nothing, and the
/// run would be denied the same again.
pub(super) fn tool(text: &str) -> Result<String, String> {
    match rule::problem(text) {
        Some(why) => Err(format!(
            "a rule such as `WebSearch` or `Bash(npm install:*)`, one for each option: {why}"
        )),
        None => values::text(text),
    }
}

fn list(items: &[String]) -> Option<Vec<String>> {
    (!items.is_empty()).then(|| items.to_vec())
}

impl OutputArgs {
    /// Returns the output level, if one was given.
    pub(super) fn level(&self) -> Option<OutputLevel> {
        match (self.quiet, self.verbose) {
            (true, _) => Some(OutputLevel::Quiet),
            (_, true) => Some(OutputLevel::Verbose),
            (false, false) => self.output,
        }
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

    fn flags(&self, flags: &mut ConfigLayer) {
        let word = |value: &dyn std::fmt::Debug| format!("{value:?}").to_lowercase();
        if let Some(level) = self.level() {
            flags.set("output.level", word(&level));
        }
        if let Some(color) = self.color {
            flags.set("output.color", word(&color));
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

//! `legwork run`: work on a goal until it is done and verified, or a limit is reached.

use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{ArgAction, Args};
use legwork_core::agent::dialect::Permissions;
use legwork_core::outcome::Strictness;
use legwork_core::settings::{Limits, Settings};
use legwork_core::units::Usd;

use super::session::{CommandLine, Program, Script, Session};
use super::{values, which};
use crate::clock::Motion;
use crate::error::Failure;
use crate::report::{ColorChoice, Level};

/// With `--unlimited` a run still ends after so many iterations, unless `-m 0` lifts that too.
const FAILSAFE: u32 = 1000;

/// Agents take prompts of 10 MB; what we add to a goal has room beside it.
const GOAL_MAX: u64 = 9_000_000;

/// What a run can be told.
#[derive(Clone, Debug, Args)]
pub(super) struct Options {
    /// What to do, in your words; `-` reads it from standard input
    #[arg(short = 'p', long, value_name = "GOAL", value_parser = values::words, allow_hyphen_values = true)]
    prompt: Option<String>,

    /// The project folder [default: this one]
    #[arg(short = 'C', long, value_name = "DIR")]
    project: Option<PathBuf>,

    /// A command that must pass before completion is believed; may be given several times
    #[arg(long, value_name = "CMD", value_parser = values::text, help_heading = "Completion")]
    verify: Vec<String>,

    /// The exact phrase of the completion signal
    #[arg(long, value_name = "TEXT", value_parser = values::text, help_heading = "Completion")]
    completion_signal: Option<String>,

    /// Iterations in a row that must give the completion signal
    #[arg(long, value_name = "N", value_parser = values::at_least_one, allow_negative_numbers = true, help_heading = "Completion")]
    completion_threshold: Option<u32>,

    /// Read no claim of completion: the run ends by limits, stop or errors only
    #[arg(long, help_heading = "Completion")]
    no_detect: bool,

    /// Exit non-zero unless the work was completed: 3 limit, 4 no progress, 5 blocked,
    /// 6 unverified, 7 stopped
    #[arg(long, help_heading = "Completion")]
    require_complete: bool,

    #[command(flatten)]
    limits: LimitOptions,

    /// Allow a run without any limit; it still ends after 1,000 iterations unless
    /// `-m 0` is given too
    #[arg(long, help_heading = "Limits")]
    unlimited: bool,

    #[command(flatten)]
    pace: PaceOptions,

    #[command(flatten)]
    agent: AgentOptions,

    #[command(flatten)]
    output: OutputOptions,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Limits")]
#[expect(clippy::struct_field_names, reason = "they are called as their options are")]
pub(super) struct LimitOptions {
    /// At most so many iterations; 0 = no limit of iterations
    #[arg(short, long, value_name = "N", value_parser = values::count, allow_negative_numbers = true)]
    pub(super) max_iterations: Option<u32>,

    /// At most so much money for everything, in US dollars
    #[arg(long, value_name = "USD", value_parser = values::cost, allow_negative_numbers = true)]
    pub(super) max_cost: Option<Usd>,

    /// At most so much time at work; waits for usage limits and pauses don't count
    #[arg(long, value_name = "TIME", value_parser = values::run_time, allow_hyphen_values = true)]
    pub(super) max_duration: Option<Duration>,

    /// At most so many tokens for everything (input, output and cache writes)
    #[arg(long, value_name = "N", value_parser = values::tokens, allow_negative_numbers = true)]
    pub(super) max_tokens: Option<u64>,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Pace")]
struct PaceOptions {
    /// Idle iterations in a row that end the run; 0 = never
    #[arg(long, value_name = "N", value_parser = values::count, allow_negative_numbers = true)]
    stagnation_threshold: Option<u32>,

    /// Wait so long between two iterations
    #[arg(short, long, value_name = "TIME", value_parser = values::duration, allow_hyphen_values = true)]
    delay: Option<Duration>,

    /// Don't wait between iterations
    #[arg(long, conflicts_with = "delay")]
    no_delay: bool,

    /// Further attempts an iteration may have after transient failures
    #[arg(long, value_name = "N", value_parser = values::count, allow_negative_numbers = true)]
    max_retries: Option<u32>,

    /// The delay before the first retry; it doubles with every further one, up to a minute
    #[arg(long, value_name = "TIME", value_parser = values::duration, allow_hyphen_values = true)]
    retry_delay: Option<Duration>,

    /// Give an attempt up after so long; 0 = never
    #[arg(long, value_name = "TIME", value_parser = values::duration, allow_hyphen_values = true)]
    timeout: Option<Duration>,

    /// Give an attempt up when it has been silent for so long
    #[arg(long, value_name = "TIME", value_parser = values::duration, allow_hyphen_values = true)]
    idle_timeout: Option<Duration>,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Agent")]
struct AgentOptions {
    /// Use the rehearsal agent instead of the real one: nothing is spent
    #[arg(long)]
    dry_run: bool,

    /// What the rehearsal agent does, as a script (see `docs/reference/rehearsal.md`)
    #[arg(long, value_name = "FILE", requires = "dry_run")]
    rehearsal: Option<PathBuf>,

    /// Use another agent: any program that reads the prompt on standard input and answers in plain
    /// text; split into words as a shell would
    #[arg(long, value_name = "CMD", value_parser = values::text, conflicts_with_all = ["dry_run", "model", "max_turns", "allowed_tools", "dangerously_skip_permissions", "arguments"])]
    agent_command: Option<String>,

    /// The model to ask for [default: the agent's own choice]
    #[arg(long, value_name = "NAME", value_parser = values::text)]
    model: Option<String>,

    /// Turns an attempt may take [default: the agent's own choice]
    #[arg(long, value_name = "N", value_parser = values::at_least_one, allow_negative_numbers = true)]
    max_turns: Option<u32>,

    /// A tool the agent may use without asking, such as `Bash(cargo test:*)`; may be given several
    /// times. Changing files is allowed in any case
    #[arg(long, value_name = "TOOL", value_parser = values::text)]
    allowed_tools: Vec<String>,

    /// Let the agent do everything without asking
    #[arg(long)]
    dangerously_skip_permissions: bool,

    /// The file in which iterations hand over to each other; empty = none
    #[arg(long, value_name = "FILE", default_value = "SHARED_TASK_NOTES.md")]
    notes_file: String,

    /// Further arguments for the agent program, after `--`
    #[arg(last = true, value_name = "ARGS")]
    arguments: Vec<String>,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Output")]
pub(super) struct OutputOptions {
    /// Show the agent's words and tool calls too
    #[arg(short, long, action = ArgAction::SetTrue, conflicts_with_all = ["quiet", "output"])]
    verbose: bool,

    /// Show nothing but errors
    #[arg(short, long, action = ArgAction::SetTrue, conflicts_with = "output")]
    quiet: bool,

    /// How much to show; `json` prints the events of the journal on standard output
    #[arg(long, value_name = "LEVEL")]
    output: Option<Level>,

    /// Whether to use colours
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(super) color: ColorChoice,
}

pub(super) fn run(options: &Options) -> Result<ExitCode, Failure> {
    let project = which::project(options.project.as_deref())?;
    let settings = settings(options)?;
    let strictness =
        if options.require_complete { Strictness::RequireComplete } else { Strictness::Lenient };
    let level = options.output.level();
    let program = program(&options.agent, &project)?;
    let session = Session {
        project,
        settings,
        program,
        level,
        color: options.output.color,
        strictness,
        motion: Motion::Real,
    };
    session.run()
}

fn settings(options: &Options) -> Result<Settings, Failure> {
    let mut settings = Settings { goal: goal(options.prompt.as_deref())?, ..Settings::default() };
    settings.limits = limits(&options.limits, options.unlimited)?;
    if let Some(threshold) = options.pace.stagnation_threshold {
        settings.progress.threshold = threshold;
    }
    settings.verify.commands.clone_from(&options.verify);
    // A verdict may take a quarter of a small budget, not all of it.
    if let Some(max) = settings.limits.max_cost {
        settings.verify.max_cost = settings.verify.max_cost.min(max.per(4));
    }
    let completion = &mut settings.completion;
    if options.no_detect {
        completion.evidence.clear();
    }
    if let Some(signal) = &options.completion_signal {
        completion.signal.clone_from(signal);
    }
    if let Some(threshold) = options.completion_threshold {
        completion.signal_threshold = threshold;
    }
    if options.agent.agent_command.is_some() {
        fits_any_program(&settings.limits)?;
    }
    pace(&options.pace, &mut settings)?;
    settings.model.name.clone_from(&options.agent.model);
    settings.model.max_turns = options.agent.max_turns;
    settings.agent.allowed_tools.clone_from(&options.agent.allowed_tools);
    settings.agent.arguments.clone_from(&options.agent.arguments);
    settings.agent.command.clone_from(&options.agent.agent_command);
    if options.agent.dangerously_skip_permissions {
        settings.agent.permissions = Permissions::Skip;
    }
    settings.notes_file = notes_file(&options.agent.notes_file)?;
    Ok(settings)
}

fn goal(prompt: Option<&str>) -> Result<String, Failure> {
    match prompt {
        None => Err(Failure::usage("there is nothing to do: no goal was given")
            .hint("give one: legwork run -p \"make the tests pass\" -m 10")),
        Some("-") => read_goal(io::stdin().lock()),
        Some(goal) => Ok(goal.to_owned()),
    }
}

/// A goal that is too long for an argument, or comes from another program.
fn read_goal(input: impl Read) -> Result<String, Failure> {
    let mut text = String::new();
    input.take(GOAL_MAX + 1).read_to_string(&mut text).map_err(|error| {
        Failure::usage(format!("the goal can't be read from standard input: {error}"))
    })?;
    if text.len() as u64 > GOAL_MAX {
        return Err(Failure::usage("the goal on standard input is longer than 9 MB")
            .hint("put it into a file of the project, and name that file in a short goal"));
    }
    if text.trim().is_empty() {
        return Err(Failure::usage("there is nothing to do: standard input is empty"));
    }
    Ok(text)
}

/// A run without any limit is refused: nobody goes to bed on that by accident.
fn limits(options: &LimitOptions, unlimited: bool) -> Result<Limits, Failure> {
    let mut limits = Limits {
        max_iterations: options.max_iterations.filter(|max| *max > 0),
        max_cost: options.max_cost,
        max_tokens: options.max_tokens,
        max_duration: options.max_duration,
        ..Limits::default()
    };
    if limits.is_unlimited() {
        if !unlimited {
            return Err(Failure::usage("a run needs a limit").hint(
                "give at least one of -m/--max-iterations, --max-cost, --max-duration and \
                 --max-tokens, or --unlimited",
            ));
        }
        if options.max_iterations.is_none() {
            limits.max_iterations = Some(FAILSAFE);
        }
    }
    Ok(limits)
}

/// A program that reports no tokens never reaches a limit of tokens.
fn fits_any_program(limits: &Limits) -> Result<(), Failure> {
    if (Limits { max_tokens: None, ..limits.clone() }).is_unlimited() && limits.max_tokens.is_some()
    {
        return Err(Failure::usage("--max-tokens alone does not limit a run with --agent-command")
            .hint("such a program reports no tokens; give -m, --max-cost or --max-duration"));
    }
    Ok(())
}

fn pace(options: &PaceOptions, settings: &mut Settings) -> Result<(), Failure> {
    if let Some(delay) = options.delay {
        settings.delay = delay;
    }
    if options.no_delay {
        settings.delay = Duration::ZERO;
    }
    if let Some(retries) = options.max_retries {
        settings.retry.max_retries = retries;
    }
    if let Some(delay) = options.retry_delay {
        settings.retry.delay = delay;
    }
    if let Some(timeout) = options.timeout {
        settings.deadlines.attempt = Some(timeout).filter(|timeout| !timeout.is_zero());
    }
    if let Some(idle) = options.idle_timeout {
        if idle.is_zero() {
            return Err(Failure::usage("--idle-timeout has to be more than 0")
                .hint("an agent that may be silent for ever can hang for ever"));
        }
        settings.deadlines.idle = idle;
    }
    Ok(())
}

fn notes_file(name: &str) -> Result<Option<String>, Failure> {
    if name.is_empty() {
        return Ok(None);
    }
    let mut path = PathBuf::new();
    let mut inside = true;
    for part in Path::new(name).components() {
        match part {
            Component::Normal(part) => path.push(part),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => inside = false,
        }
    }
    if !inside || path.as_os_str().is_empty() {
        return Err(Failure::usage(format!("--notes-file `{name}` is no file inside the project"))
            .hint("give a path relative to the project, or '' for no notes"));
    }
    // As the walk over the project knows it: without `./` in front.
    Ok(path.to_str().map(str::to_owned))
}

impl OutputOptions {
    /// How much to show.
    pub(super) fn level(&self) -> Level {
        match (self.quiet, self.verbose) {
            (true, _) => Level::Quiet,
            (_, true) => Level::Verbose,
            (false, false) => self.output.unwrap_or_default(),
        }
    }
}

fn program(options: &AgentOptions, project: &Path) -> Result<Program, Failure> {
    if let Some(command) = &options.agent_command {
        return CommandLine::parse(command, project).map(Program::Command);
    }
    if !options.dry_run {
        return Ok(Program::Claude);
    }
    let script = options.rehearsal.as_deref().map(Script::read).transpose()?;
    Ok(Program::Rehearsal(script))
}

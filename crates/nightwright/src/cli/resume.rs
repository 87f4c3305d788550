//! `nightwright resume`: a paused run goes on; one whose process is gone is continued here.

use std::collections::BTreeMap;
use std::env;
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use jiff::tz::TimeZone;
use nightwright_core::agent::decode::Line;
use nightwright_core::agent::dialect::Dialect;
use nightwright_core::agent::report::AttemptReport;
use nightwright_core::agent::transcript::{Closing, Reading, Transcript};
use nightwright_core::event::{AgentFacts, Event, FeedbackSource, Record};
use nightwright_core::input::{Again, Input, Salvage};
use nightwright_core::machine::Machine;
use nightwright_core::machine::ledger::{Stage, State};
use nightwright_core::machine::left::Left;
use nightwright_core::outcome::Strictness;
use nightwright_core::redact::{agrees, has_masks, masked_in};
use nightwright_core::settings::{Limits, Scope, Settings};
use nightwright_core::units::{Now, RunId};

use super::approval::{self, Flags, Untrusted};
use super::detach::{self, DetachOptions, Leaving};
use super::run::{LimitOptions, OutputOptions};
use super::session::{CommandLine, Opened, Place, Program, Script, Session};
use super::steer;
use super::which::{Found, Which, damaged};
use super::{print, say};
use crate::clock::Motion;
use crate::config::{self, Resolved};
use crate::control::Wish;
use crate::error::Failure;
use crate::files::open_regular;
use crate::hooks::Chosen;
use crate::journal::{self, RunDir, attempt_label, call_label};
use crate::logs::Logs;
use crate::modes;
use crate::notify::{self, Address};
use crate::report::Level;
use crate::secrets::{self, Kept};
use crate::task::Task;

/// The key with the user's variables.
const VARIABLES: &str = "agent.env";

/// One read of the raw output of a lost attempt.
const CHUNK: usize = 256 << 10;

/// How to go on.
#[derive(Clone, Debug, Args)]
pub(super) struct Options {
    #[command(flatten)]
    which: Which,

    /// Go on with a run that has ended, whatever its ending was
    #[arg(long)]
    again: bool,

    /// Go on only with a run that was cut off: its process was killed, or told to end by a system
    /// that went down. Otherwise do nothing, which is no error
    #[arg(long, conflicts_with = "again")]
    if_needed: bool,

    /// Let variables of the project's configuration take effect, though nobody approved them
    #[arg(long)]
    trust: bool,

    /// Exit non-zero unless the work was completed: 3 limit, 4 no progress, 5 blocked,
    /// 6 unverified, 7 stopped
    #[arg(long)]
    require_complete: bool,

    #[command(flatten)]
    limits: LimitOptions,

    #[command(flatten)]
    output: OutputOptions,

    #[command(flatten)]
    detach: DetachOptions,
}

impl Options {
    fn when(&self) -> Again {
        match (self.again, self.if_needed) {
            (true, _) => Again::Yes,
            (false, true) => Again::IfCutOff,
            (false, false) => Again::IfRoom,
        }
    }
}

pub(super) fn resume(options: &Options) -> Result<ExitCode, Failure> {
    if options.detach.is_wanted() {
        return detach::detach();
    }
    let way_off = options.detach.way_off()?;
    let Some(found) = meant(options)? else { return Ok(ExitCode::SUCCESS) };
    if found.owner.is_some() {
        return wake(&found, options);
    }
    let Found { project, folder, .. } = found;
    let place = Place::take_over(&project, folder)?;
    let (journal, writer) = journal::open_for_append(&place.folder.journal(), place.folder.id())
        .map_err(|error| damaged(&error))?;
    // What was read before the lock was ours may be over by now.
    if options.if_needed
        && let Some(why) = why_not(&journal.records, place.folder.id())
    {
        nothing_to_do(options, &why);
        return Ok(ExitCode::SUCCESS);
    }
    let (opening, hooks) = opening(&journal.records, &place.folder)?;
    let mut records = journal.records;
    let recalled = tell_again(&mut records, &place.folder);
    let machine = Machine::resume(&records);
    let state = machine.state();
    recalled.warn(state);
    if state.settings.scope == Scope::Gate {
        let task = state.settings.task.as_deref().unwrap_or("NAME");
        let run = place.folder.id();
        return Err(Failure::usage(format!("run {run} only judged `{task}`: it can't go on"))
            .hint(format!("judge it again: nightwright verify {task}")));
    }
    let limits = options.limits.changed(&state.settings.limits);
    if limits.as_ref().is_some_and(Limits::is_unlimited) {
        return Err(Failure::usage("a run needs a limit").hint(
            "-m 0 lifts the only one; give another: --max-cost, --max-duration, --max-tokens",
        ));
    }
    let report = salvage(&place.folder, &opening, state);
    let salvage = Salvage { report, limits, again: options.when() };
    can_go_on(&machine, &salvage, &place.folder)?;
    let program = match opening.name.as_str() {
        "rehearsal" => Program::Rehearsal(Script::of_run(&place.folder)?),
        "command" => Program::Command(command(state, &project)?),
        _ => Program::Claude,
    };
    let note = journal.torn.map(|torn| {
        format!("the last line of the journal was half written ({} bytes); cut off", torn.length)
    });
    let untrusted = if options.trust { Untrusted::Accept } else { Untrusted::Ask(Flags::NotThere) };
    let resolved = configuration(&project, &state.settings, untrusted)?;
    let task = state.settings.task.as_deref().map(|name| Task::open(&project, name)).transpose()?;
    let agent_files = approval::approved_agent_files(&project)?;
    let level = options.output.level().unwrap_or_else(|| resolved.level());
    let (leaving, level) = Leaving::by(way_off, options.output.with_messages(level)?);
    let session = Session {
        variables: variables(&state.settings, &resolved),
        secrets: secrets::of_config_and(&resolved, &recalled.secret)?,
        project,
        settings: state.settings.clone(),
        task,
        // Their copies are in the folder of the run since it began.
        hooks: Chosen::default(),
        agent_files,
        since: None,
        program,
        level,
        color: options.output.color.unwrap_or_else(|| resolved.color()),
        logs: Logs::of(&resolved)?,
        notify: Address::all(&resolved, |name| env::var_os(name))?,
        strictness: if options.require_complete {
            Strictness::RequireComplete
        } else {
            Strictness::Lenient
        },
        motion: Motion::Real,
        keep_awake: resolved.keeps_awake(),
        leaving,
    };
    session.go_on(Opened { place, agent: opening, hooks, machine, writer, salvage, note })
}

/// The run that is meant; `None` if nothing is to be done, which was said.
fn meant(options: &Options) -> Result<Option<Found>, Failure> {
    if !options.if_needed {
        return options.which.find().map(Some);
    }
    let found = cut_off(&options.which)?;
    if let Err(why) = &found {
        nothing_to_do(options, why);
    }
    Ok(found.ok())
}

fn nothing_to_do(options: &Options, why: &str) {
    if options.output.level() != Some(Level::Quiet) {
        say(&format!("Nothing to go on with: {why}."));
    }
}

/// The run that is meant if it was cut off, or why there is nothing to do.
fn cut_off(which: &Which) -> Result<Result<Found, String>, Failure> {
    let Some(found) = which.find_any()? else { return Ok(Err("there is no such run".to_owned())) };
    let run = found.folder.id();
    if let Some(owner) = &found.owner {
        return Ok(Err(format!("run {run} is going on (pid {})", owner.pid)));
    }
    let journal = journal::read(&found.folder.journal()).map_err(|error| damaged(&error))?;
    Ok(why_not(&journal.records, run).map_or(Ok(found), Err))
}

/// Why a run is not to be gone on with unless somebody says so; `None` if it was cut off.
fn why_not(records: &[Record], run: &RunId) -> Option<String> {
    match Left::of(records) {
        Left::CutOff => None,
        Left::Paused => Some(format!("run {run} was paused")),
        Left::Stopping => Some(format!("run {run} was asked to stop")),
        Left::Over => Some(format!("run {run} has ended")),
        Left::NotBegun => Some(format!("run {run} has nothing to go on with")),
    }
}

/// The configuration as it is now. Only what is not in the journal is taken from it: how much is
/// shown, who is told, and the values of the user's variables for the agent.
fn configuration(
    project: &Path,
    settings: &Settings,
    untrusted: Untrusted,
) -> Result<Resolved, Failure> {
    let mut layers = vec![modes::load(project, &settings.mode)?.defaults];
    layers.extend(config::load(project, settings.task.as_deref(), |name| env::var_os(name))?);
    // Everything else that needs an approval was pinned when the run began.
    let variables = !settings.agent.environment.is_empty();
    let is_taken = |key: &str| (variables && key == VARIABLES) || notify::is_key(key);
    let other: Vec<_> = config::KEYS
        .iter()
        .filter(|key| key.gated && !is_taken(key.name))
        .map(|key| key.name)
        .collect();
    let layers = layers.into_iter().map(|layer| layer.without(&other)).collect();
    Ok(Resolved::new(approval::settle_settings(project, layers, untrusted)?))
}

/// The user's variables for the agent, and those that are no longer there.
fn variables(settings: &Settings, resolved: &Resolved) -> BTreeMap<String, String> {
    let wanted = &settings.agent.environment;
    let mut variables = resolved.environment_of_agent();
    variables.retain(|name, _| wanted.contains(name));
    let gone: Vec<_> = wanted.iter().filter(|name| !variables.contains_key(*name)).collect();
    for name in gone {
        say(&format!("warning: `{VARIABLES}` no longer has {name}; the agent goes on without it"));
    }
    variables
}

/// The command that is the agent of this run.
fn command(state: &State, project: &Path) -> Result<CommandLine, Failure> {
    let text = state.settings.agent.command.as_deref();
    let text =
        text.ok_or_else(|| Failure::trouble("the journal does not name the agent's command"))?;
    CommandLine::parse(text, project)
}

/// A run that is going on: a paused one goes on, another is left alone.
fn wake(found: &Found, options: &Options) -> Result<ExitCode, Failure> {
    let run = found.folder.id();
    let view = found.view()?;
    if options.again || options.limits.any() {
        let message = format!("run {run} is going on; its limits can't be changed from here");
        return Err(Failure::trouble(message).hint(format!(
            "stop it first: nightwright stop {run}, then nightwright resume {run} ..."
        )));
    }
    if !view.paused {
        let pid = found.owner.as_ref().map(|owner| owner.pid).unwrap_or_default();
        let message = format!("run {run} is going on (pid {pid}) and not paused");
        return Err(Failure::trouble(message).hint(format!("to stop it: nightwright stop {run}")));
    }
    steer::say(found, &view, &Wish::Resume)?;
    print(&format!("run {run} goes on"))?;
    Ok(ExitCode::SUCCESS)
}

/// What the first event says of the agent and of hooks.
fn opening(
    records: &[Record],
    folder: &RunDir,
) -> Result<(AgentFacts, BTreeMap<String, String>), Failure> {
    if let Some(Event::RunStarted(started)) = records.first().map(|record| &record.event) {
        return Ok((started.agent.clone(), started.hooks.clone()));
    }
    let message = format!("run {} was never begun: its journal is empty", folder.id());
    Err(Failure::trouble(message).hint("begin a new one: nightwright run -p \"...\" -m 10"))
}

/// What came of putting the true words in the place of masks.
#[derive(Debug, Default)]
struct Recalled {
    /// What the masks stood for. It is secret still, though nobody may know it from elsewhere now.
    secret: Vec<String>,
    /// What somebody said of which only the masks are left.
    lost: Vec<String>,
}

impl Recalled {
    /// Says that the agent will be told masks, if it will.
    fn warn(&self, state: &State) {
        if state.inbox.iter().any(|entry| self.lost.contains(&entry.text)) {
            say(
                "warning: what somebody said to the agent had secrets in it, and only their masks \
                 are left; the agent gets those: say it again with `nightwright tell`",
            );
        }
    }
}

/// Puts what the run was told in the place of what the journal has of it, which may have masks.
fn tell_again(records: &mut [Record], folder: &RunDir) -> Recalled {
    let mut recalled = Recalled::default();
    let Some((Event::RunStarted(started), later)) =
        records.split_first_mut().map(|(first, later)| (&mut first.event, later))
    else {
        return recalled;
    };
    match secrets::told(folder.path(), &started.settings) {
        Kept::InJournal => {}
        Kept::Apart(settings) => {
            recalled.secret = masked_in(&started.settings, &settings);
            started.settings = *settings;
        }
        Kept::Lost(why) => say(&format!(
            "warning: what this run was told had secrets in it, and only their masks are left; \
             the agent gets those: {why}"
        )),
    }
    let mut said = secrets::said(folder.path());
    for text in later.iter_mut().filter_map(|record| words_of_a_person(&mut record.event)) {
        let same = |kept: &String| agrees(text, kept);
        let found = said.iter().position(|kept| kept.len() == text.len() && same(kept));
        match found.or_else(|| said.iter().position(same)) {
            Some(at) => {
                let told = said.remove(at);
                recalled.secret.extend(masked_in(text, &told));
                *text = told;
            }
            None if has_masks(text) => recalled.lost.push(text.clone()),
            None => {}
        }
    }
    recalled
}

/// What somebody said to the agent, if that is what happened.
fn words_of_a_person(event: &mut Event) -> Option<&mut String> {
    if let Event::FeedbackAdded { source: FeedbackSource::Human, text }
    | Event::NudgeSent { answers: None, text, .. } = event
    {
        Some(text)
    } else {
        None
    }
}

/// Asks the machine, without consequences, whether it would go on.
fn can_go_on(machine: &Machine, salvage: &Salvage, folder: &RunDir) -> Result<(), Failure> {
    let Some(outcome) = machine.state().outcome() else { return Ok(()) };
    let now = Now { wall: jiff::Timestamp::now(), mono: Duration::ZERO };
    if !machine.clone().handle(now, Input::Resume(salvage.clone())).is_empty() {
        return Ok(());
    }
    let run = folder.id();
    let sentence = outcome.sentence(machine.state().totals.iterations);
    Err(Failure::trouble(format!("run {run} has ended: {sentence}")).hint(format!(
        "to go on all the same: nightwright resume {run} --again; to give it more room: \
         nightwright resume {run} -m N (or --max-cost, --max-duration, --max-tokens)"
    )))
}

/// What the attempt or call that was going on has left on disk.
fn salvage(folder: &RunDir, agent: &AgentFacts, state: &State) -> Option<Box<AttemptReport>> {
    let current = state.current()?;
    let iteration = current.iteration.0;
    let (label, purpose) = match (&current.stage, current.call) {
        (Stage::Attempting { .. }, _) => (attempt_label(iteration, current.attempts), None),
        (_, Some(call)) => (call_label(iteration, call.purpose, call.call), Some(call.purpose)),
        (Stage::Begun | Stage::Attempted | Stage::Retrying { .. }, None) => return None,
    };
    // Nothing on disk means that nothing was printed: then it is lost as a whole.
    let mut file = open_regular(&folder.output().join(format!("{label}.ndjson"))).ok()?;
    let dialect = Dialect::of_agent(&agent.name);
    let mut transcript = Transcript::new(Reading {
        dialect,
        completion: &state.settings.completion,
        purpose,
        live: false,
        started: Duration::ZERO,
    });
    if purpose.is_none() {
        // Whether it took them up, its output will tell.
        current.said.iter().for_each(|_| transcript.nudge_noted());
    }
    let mut bytes = 0;
    let mut each = |line: Line<'_>| match line {
        Line::Whole(line) => transcript.line(Duration::ZERO, line, &mut |_| {}, &mut |_| {}),
        Line::TooLong { .. } => transcript.unreadable(Duration::ZERO),
    };
    let mut lines = dialect.lines();
    let mut buffer = vec![0; CHUNK];
    while let Ok(read @ 1..) = file.read(&mut buffer) {
        bytes += read as u64;
        lines.push(&buffer[..read], &mut each);
    }
    lines.finish(&mut each);
    let closing =
        Closing { stdout_bytes: bytes, zone: Some(&TimeZone::system()), ..Closing::default() };
    Some(Box::new(transcript.finish(Duration::ZERO, jiff::Timestamp::now(), closing)))
}

impl LimitOptions {
    /// Whether any limit was given.
    fn any(&self) -> bool {
        self.max_iterations.is_some()
            || self.max_cost.is_some()
            || self.max_tokens.is_some()
            || self.max_duration.is_some()
    }

    /// The limits of a run with those that were given in their place; `None` if none were.
    fn changed(&self, limits: &Limits) -> Option<Limits> {
        if !self.any() {
            return None;
        }
        let mut limits = limits.clone();
        if let Some(max) = self.max_iterations {
            limits.max_iterations = Some(max).filter(|max| *max > 0);
        }
        limits.max_cost = self.max_cost.or(limits.max_cost);
        limits.max_tokens = self.max_tokens.or(limits.max_tokens);
        limits.max_duration = self.max_duration.or(limits.max_duration);
        Some(limits)
    }
}

//! Stories: inputs and the expected decisions, as readable text.
//!
//! A line that begins with `>` is an input. The lines below it are decisions that must follow from
//! it, in this order. Other decisions may stand between them; `not X` forbids one, `nothing`
//! forbids all. A decision must begin with the words of its line, and `…` stands for any words.
//! `given` lines change the settings. The story plays the world: it knows which request is pending,
//! so `surveyed B` answers the survey that was requested.

mod agent;
mod given;
mod render;
mod world;

use std::time::Duration;

use self::render::{effect_line, event_line};
use self::world::PendingRequests;
use super::Machine;
use super::ledger::Ledger;
use crate::effect::Step;
use crate::event::{AgentFacts, Record, RunStarted};
use crate::input::Input;
use crate::journal;
use crate::outcome::Outcome;
use crate::settings::{Every, Settings, Tamper};
use crate::units::{Now, RunId};

/// A run that is driven by the lines of a story.
pub(super) struct Story {
    pub(super) machine: Machine,
    pub(super) now: Now,
    pub(super) journal: Vec<Record>,
    world: PendingRequests,
}

/// Plays a story and checks it line by line.
pub(super) fn story(text: &str) -> Story {
    let mut settings = Settings::default();
    let mut agent = AgentFacts::default();
    settings.verify.model = crate::settings::VerdictMode::Off;
    settings.verify.tamper = Tamper::Off;
    settings.verify.baseline = None;
    settings.verify.every = Every::Claim;
    settings.delay = Duration::ZERO;
    let (given, steps): (Vec<_>, Vec<_>) = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .partition(|line| line.starts_with("given "));
    for line in given {
        for setting in line.trim_start_matches("given ").split(", ") {
            match setting.strip_prefix("agent ") {
                Some(name) => name.clone_into(&mut agent.name),
                None => given::apply(&mut settings, setting),
            }
        }
    }
    let mut story = Story::with_agent(settings, agent);
    let mut decisions: Vec<String> = Vec::new();
    let mut place = 0;
    let mut last = "";
    for line in steps {
        if let Some(happening) = line.strip_prefix('>') {
            last = happening.trim();
            decisions = story.happen(last);
            place = 0;
        } else {
            place = check(line, &decisions, place).unwrap_or_else(|| {
                panic!(
                    "\nafter `> {last}` expected `{line}`, decided:\n  {}\n",
                    decisions.join("\n  ")
                )
            });
        }
    }
    story.check_replay();
    story
}

/// Looks for an expected line among the decisions from `place` on; returns the place after it.
fn check(line: &str, decisions: &[String], place: usize) -> Option<usize> {
    if line == "nothing" {
        return decisions.is_empty().then_some(0);
    }
    if let Some(forbidden) = line.strip_prefix("not ") {
        let found = decisions.iter().any(|decision| matches_line(decision, forbidden));
        return (!found).then_some(place);
    }
    let found = decisions[place..].iter().position(|decision| matches_line(decision, line))?;
    Some(place + found + 1)
}

/// Whether a decision begins like this line and contains the parts after each `…`, in order.
fn matches_line(decision: &str, line: &str) -> bool {
    let mut parts = line.split('…').map(str::trim);
    let Some(mut rest) = parts.next().and_then(|first| decision.strip_prefix(first)) else {
        return false;
    };
    for part in parts {
        let Some((_, behind)) = rest.split_once(part) else { return false };
        rest = behind;
    }
    true
}

impl Story {
    pub(super) fn new(settings: Settings) -> Self {
        Self::with_agent(settings, AgentFacts::default())
    }

    fn with_agent(settings: Settings, agent: AgentFacts) -> Self {
        let first_event = RunStarted {
            settings,
            agent,
            project: "/project".to_owned(),
            git_head: None,
            containment: String::new(),
            sandbox: crate::settings::SandboxKind::Off,
            baseline: None,
            hooks: std::collections::BTreeMap::new(),
            seed: 42,
        };
        let wall = "2026-11-15T22:00:00Z".parse().expect("a date");
        Self {
            machine: Machine::new(first_event),
            now: Now { wall, mono: Duration::from_secs(1000) },
            journal: Vec::new(),
            world: PendingRequests::default(),
        }
    }

    /// Plays one line and returns the decisions as text.
    pub(super) fn happen(&mut self, line: &str) -> Vec<String> {
        if line == "crash" {
            // Uses the real format, as if the journal were read from disk.
            self.journal = reread(&self.journal);
            self.machine = Machine::resume(&self.journal);
            self.world.forget();
            return Vec::new();
        }
        if line == "status file appears" {
            self.world.write_status();
            return Vec::new();
        }
        if let Some(rest) = line.strip_prefix("iteration ") {
            return self.iteration(rest);
        }
        let input = self.world.input(line, &mut self.now, &self.machine);
        match input {
            Some(input) => self.feed(input),
            None => Vec::new(),
        }
    }

    /// Plays a complete iteration: `iteration A->B $0.10 promise`.
    fn iteration(&mut self, rest: &str) -> Vec<String> {
        let (states, words) = rest.split_once(' ').unwrap_or((rest, ""));
        let (before, after) = states.split_once("->").expect("iteration A->B");
        let mut decisions = Vec::new();
        if self.world.is_waiting_for_timer() {
            decisions.extend(self.happen("timer"));
        }
        if self.world.is_asked_to_prepare() {
            decisions.extend(self.happen(&format!("prepared {before}")));
        }
        let (words, status): (Vec<_>, Vec<_>) =
            words.split_whitespace().partition(|word| !word.starts_with("status:"));
        let status: Vec<_> = status.iter().map(|word| word.replace("status:", "status ")).collect();
        decisions.extend(self.happen(&format!("agent finishes {}", words.join(" "))));
        decisions.extend(self.happen(&format!("surveyed {after} {}", status.join(" "))));
        decisions
    }

    pub(super) fn feed(&mut self, input: Input) -> Vec<String> {
        let step = self.machine.handle(self.now, input);
        self.take(&step)
    }

    fn take(&mut self, step: &Step) -> Vec<String> {
        self.journal.extend(step.records.iter().cloned());
        for effect in &step.effects {
            self.world.notice(effect, self.now);
        }
        let events = step.events().map(event_line);
        let effects = step.effects.iter().filter_map(effect_line);
        let mut decisions: Vec<_> = events.chain(effects).collect();
        // Without tamper inspection, the input of the verifier is not part of a story.
        if self.machine.state().settings.verify.tamper == Tamper::Off
            && let Some(ticket) = self.world.take_inspection()
        {
            decisions.extend(self.feed(Input::Inspected(ticket, Box::default())));
        }
        decisions
    }

    /// Returns the outcome; panics if the run has not ended.
    pub(super) fn outcome(&self) -> Outcome {
        self.machine.state().outcome().cloned().expect("the run has ended")
    }

    /// Checks that replaying the journal, also in its text form, yields the state of the machine.
    fn check_replay(&self) {
        let replayed = Ledger::replay(&self.journal);
        assert_eq!(*replayed, *self.machine.state(), "replay gives another state");
        assert_eq!(reread(&self.journal), self.journal, "the journal's text gives another journal");
    }
}

/// Writes a journal as text and reads it back.
pub(super) fn reread(records: &[Record]) -> Vec<Record> {
    let run = RunId("story".to_owned());
    records
        .iter()
        .enumerate()
        .map(|(index, record)| {
            let mut line = Vec::new();
            journal::encode(&mut line, index as u64 + 1, &run, record);
            journal::decode(line.trim_ascii_end()).expect("what we wrote can be read").record
        })
        .collect()
}

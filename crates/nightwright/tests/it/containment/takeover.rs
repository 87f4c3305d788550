//! Taking over after a killed run: two process trees never overlap. Processes without a guard are
//! killed, and no others.

use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use nightwright::process::{MARK, groups_folder};
use nightwright::store::lock::{Lock, LockOwner};
use nightwright::store::run_dir::RunDir;
use nightwright_core::event::{Event, NoteEvent, Record};
use rustix::process::{Pid, Signal, kill_process};

use super::skipped;
use crate::agent_env::is_alive;
use crate::fake_agent::{FakeAgentEnv, TEST_TIMEOUT, send};
use crate::harness::finish;

/// The first run has children that ignore signals and carry no mark: only the lock that their guard
/// holds shows that they exist. Later runs look around and exit.
const ONCE: &str = "look_round
     if [ ! -e \"$fake/there\" ]; then
         init; tool; note $PPID; wiped; wiped
         until [ $(wc -l <\"$fake/notes\") -ge 3 ]; do sleep 0.02; done
         echo >\"$fake/there\"; sleep 300
     fi
     note $$; init; result Done.";

/// A run with such a tree, killed a moment ago.
fn killed() -> FakeAgentEnv {
    let scene = FakeAgentEnv::new(ONCE);
    let mut child = scene.start(&["-m", "1", "--retry-delay", "1s"]);
    scene.agent.wait_for("there", 1);
    send(&child, Signal::KILL);
    child.wait().unwrap();
    assert_eq!(scene.census().noted_alive().len(), 3, "nobody is left to be waited for");
    scene
}

#[test]
fn a_killed_run_is_resumed_when_nothing_of_its_tree_is_alive() {
    let scene = killed();
    let child = scene.env.start(&["resume"]);
    scene.env.wait_for("run_continued");
    assert_eq!(scene.census().noted_alive(), [""; 0], "alive when the run went on");
    finish(child).exits(0);
    assert_eq!(scene.agent.read("survivors"), "", "alive when an attempt began");
    assert!(scene.agent.read("looked").lines().count() >= 2, "no attempt has looked");
    scene.census().nobody("the run is over");
}

#[test]
fn a_new_run_begins_when_nothing_of_the_killed_one_is_alive() {
    let scene = killed();
    finish(scene.start(&["-m", "1"])).exits(0);
    assert_eq!(scene.agent.read("looked").lines().count(), 2);
    assert_eq!(scene.agent.read("survivors"), "", "alive when its attempt began");
    scene.census().nobody("the run is over");
}

#[test]
fn processes_left_by_a_killed_run_get_sigterm_first() {
    let scene = FakeAgentEnv::new("init; tool; polite; polite; sleep 300");
    let mut child = scene.start(&["-m", "1"]);
    scene.agent.wait_for("notes", 2);
    send(&child, Signal::KILL);
    child.wait().unwrap();
    scene.agent.wait_for("asked", 2);
    scene.census().empty_within(TEST_TIMEOUT);
}

/// An unrelated process with a mark, killed on drop.
struct Bystander(Child);

impl Bystander {
    fn marked(mark: &str) -> Self {
        Self(Command::new("sleep").arg("300").env_clear().env(MARK, mark).spawn().unwrap())
    }

    fn is_alive(&self) -> bool {
        is_alive(&self.0.id().to_string())
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        // Dead already, and the test has failed over it.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The state of the project of a run.
fn home(run: &Path) -> PathBuf {
    run.parent().and_then(Path::parent).unwrap().to_owned()
}

/// The mark of some attempt of a run.
fn mark(run: &RunDir) -> String {
    format!("{}.1.0123456789abcdef", run.id())
}

/// A run whose supervisor and guard were both killed: its tree has no one.
fn orphaned() -> FakeAgentEnv {
    both_killed(
        "look_round
         if [ ! -e \"$fake/guard\" ]; then
             init; tool; ignoring; lost; left_running; note $$; echo $PPID >\"$fake/guard\"; sleep 300
         fi
         note $$; init; result Done.",
        4,
    )
}

/// The same, with such that carry no mark any more.
fn orphaned_without_a_mark() -> FakeAgentEnv {
    both_killed(
        "look_round
         if [ ! -e \"$fake/guard\" ]; then
             init; tool; wiped; wiped; note $$; echo $PPID >\"$fake/guard\"; sleep 300
         fi
         note $$; init; result Done.",
        3,
    )
}

/// Kills the guard and then the run, once the agent has this number of processes.
fn both_killed(script: &str, processes: usize) -> FakeAgentEnv {
    let scene = FakeAgentEnv::new(script);
    let mut child = scene.start(&["-m", "1"]);
    scene.agent.wait_for("guard", 1);
    scene.agent.wait_for("notes", processes);
    let guard = scene.agent.read("guard").trim().parse().unwrap();
    let guard = Pid::from_raw(guard).unwrap();
    // Stopped, the run cannot take note of the guard's death before its own.
    send(&child, Signal::STOP);
    kill_process(guard, Signal::KILL).unwrap();
    send(&child, Signal::KILL);
    child.wait().unwrap();
    scene
}

fn warnings(journal: &[Record]) -> Vec<&str> {
    let events = journal.iter().map(|record| &record.event);
    events
        .filter_map(|event| match event {
            Event::Note(NoteEvent::Warning { text, .. }) => Some(text.as_str()),
            _ => None,
        })
        .collect()
}

#[test]
fn the_next_run_kills_unguarded_processes_and_nothing_else() {
    let (scene, now) = (orphaned(), jiff::Timestamp::now());
    let first = scene.env.runs()[0].clone();
    let state = home(&first);
    let going_on = RunDir::create(&state, now).unwrap();
    let owner = LockOwner::current(going_on.id().clone(), now);
    let _held = Lock::take(&going_on.lock(), &owner).unwrap();
    let elsewhere = RunDir::create(&state.parent().unwrap().join("other-01234567"), now).unwrap();
    let bystanders = [mark(&going_on), mark(&elsewhere), "x".to_owned(), "../x.1.0".to_owned()]
        .map(|mark| Bystander::marked(&mark));
    assert_eq!(scene.census().noted_alive().len(), 4, "the tree is not there any more");

    finish(scene.start(&["-m", "1"])).exits(0);
    assert_eq!(scene.agent.read("looked").lines().count(), 2);
    assert_eq!(scene.agent.read("survivors"), "", "alive when its attempt began");
    scene.agent.census(Vec::new()).nobody("the next run is over");
    for (number, bystander) in bystanders.iter().enumerate() {
        assert!(bystander.is_alive(), "bystander {number} was ended");
    }
    let runs = scene.env.runs();
    let last = runs.iter().rfind(|run| **run != first && **run != going_on.path()).unwrap();
    let journal = nightwright::store::journal::read(&last.join("journal.jsonl")).unwrap().records;
    let [warning] = &warnings(&journal)[..] else { panic!("{:?}", warnings(&journal)) };
    assert!(warning.starts_with("killed ") && warning.contains(" left over from "), "{warning}");
    // Each is named: its number, its command, its run.
    let run = first.file_name().unwrap().to_str().unwrap();
    let named = warning.matches("pid ").count();
    assert!(named > 0 && warning.matches(&format!("(run {run})")).count() == named, "{warning}");
    assert!(warning.contains("sleep "), "{warning}");
}

#[test]
fn with_cgroups_the_next_run_kills_unmarked_processes_too() {
    if groups_folder().is_none() {
        skipped("orphans without a mark: no control groups can be made here");
        return;
    }
    let scene = orphaned_without_a_mark();
    assert_eq!(scene.census().noted_alive().len(), 3, "the tree is not there any more");
    finish(scene.start(&["-m", "1"])).exits(0);
    assert_eq!(scene.agent.read("survivors"), "", "alive when the attempt began");
    scene.agent.census(Vec::new()).nobody("the next run is over");
}

//! The guard itself: what the agent can do to it, and what it keeps from the agent.

use std::fs;
use std::time::Duration;

use nightwright_core::event::{AttemptEvent, Event, Record};
use nightwright_core::run_view::shell_word;
use nightwright_core::stream::outcome::{AttemptOutcome, Consequence, ProcessExit};
use rustix::process::Signal;

use super::left_no_group;
use crate::agent_env::{NIGHTWRIGHT, attempt, report};
use crate::fake_agent::{FakeAgentEnv, FakeAttempt, send};
use crate::harness::{finish, shell_path};
use crate::terminal::Terminal;

/// The time within which all processes must exit after nightwright.
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);

/// Returns the outcome of each attempt.
fn outcomes(journal: &[Record]) -> Vec<AttemptOutcome> {
    let reports = journal.iter().filter_map(|record| match &record.event {
        Event::Attempt(AttemptEvent::Finished { report, .. }) => Some(report.outcome.clone()),
        _ => None,
    });
    reports.collect()
}

#[test]
fn an_agent_that_kills_its_guard_has_crashed_and_the_run_continues_without_it() {
    let scene = FakeAgentEnv::new(
        "look_round; note $$; init
         [ $NIGHTWRIGHT_ATTEMPT = 1 ] && family && kill -KILL $PPID && sleep 300
         result Done.",
    );
    let child = scene.start(&["-m", "1", "--retry-delay", "1s"]);
    let id = child.id();
    finish(child).exits(0);
    let killed = AttemptOutcome::Crashed { how: ProcessExit::Signal(9) };
    assert_eq!(outcomes(&scene.env.journal()), [killed, AttemptOutcome::Finished]);
    assert_eq!(scene.agent.read("looked").lines().count(), 2);
    assert_eq!(scene.agent.read("survivors"), "", "alive when the second attempt began");
    scene.census().nobody("the run is over");
    left_no_group(id);
}

#[tokio::test]
async fn an_agent_that_kills_its_guard_at_once_is_killed_too() {
    let rehearsed = FakeAttempt::new();
    let mut agent = rehearsed.playing("kill -KILL $PPID; note $$; sleep 300");
    // The two race: now one is first, now the other.
    for number in 1..=10 {
        let outcome = report(&mut agent, attempt(number)).await.outcome;
        assert_ne!(outcome.consequence(), Consequence::Assess, "{outcome:?}");
        rehearsed.census().nobody("the attempt is over");
    }
}

#[test]
fn an_agent_that_stops_its_guard_is_cut_all_the_same() {
    let scene =
        FakeAgentEnv::new("init; tool; family; kill -STOP $PPID; echo >\"$fake/alone\"; sleep 300");
    let child = scene.start(&["-m", "1"]);
    let id = child.id();
    scene.agent.wait_for("alone", 1);
    send(&child, Signal::TERM);
    finish(child).exits(130);
    assert_eq!(outcomes(&scene.env.journal()), [AttemptOutcome::Interrupted]);
    scene.census().nobody("the run is over");
    scene.all_is_kept("001-1");
    left_no_group(id);
}

#[test]
fn a_stopped_guard_kills_the_tree_when_nightwright_is_killed() {
    let scene =
        FakeAgentEnv::new("init; tool; family; kill -STOP $PPID; echo >\"$fake/alone\"; sleep 300");
    let mut child = scene.start(&["-m", "1"]);
    scene.agent.wait_for("alone", 1);
    send(&child, Signal::KILL);
    child.wait().unwrap();
    scene.census().empty_within(EXIT_TIMEOUT);
}

#[test]
fn a_guard_has_neither_the_name_of_nightwright_nor_that_of_the_agent() {
    let scene = FakeAgentEnv::new(
        "note $$; tr '\\0' ' ' </proc/$PPID/cmdline >\"$fake/command\"
         cat /proc/$PPID/comm >\"$fake/name\"; tr '\\0' '\\n' </proc/$PPID/environ >\"$fake/env\"
         init; result Done.",
    );
    finish(scene.start(&["-m", "1"])).exits(0);
    assert_eq!(scene.agent.read("command"), "nw-guard nw-guard ");
    assert_eq!(scene.agent.read("name"), "nw-guard\n");
    assert_eq!(scene.agent.read("env"), "");
}

/// The descriptors of a process by its own listing, without the one it needed for that.
fn descriptors(listing: &str) -> Vec<&str> {
    let lines = listing.lines().filter_map(|line| line.split_once(" -> "));
    let open = lines.filter(|(_, target)| !target.ends_with("/fd"));
    open.map(|(name, _)| name.rsplit(' ').next().unwrap_or_default()).collect()
}

#[test]
fn agents_and_checks_inherit_neither_the_terminal_nor_open_files() {
    let look = "ls -l /proc/self/fd >\"$fake/$1.fds\"
                (: </dev/tty) 2>/dev/null && echo >\"$fake/$1.tty\"";
    let scene = FakeAgentEnv::new(&format!(
        "note $$; set -- agent; {look}
         init; result '<promise>COMPLETE</promise>'"
    ));
    let check = scene.agent.file("check.sh");
    fs::write(&check, scene.agent.script(look)).unwrap();
    let verify = format!("sh {} check; true", shell_path(&check));
    let outside = scene.agent.file("outside");
    let line = format!(
        "PATH={}:$PATH; (: </dev/tty) && echo >{}; exec 5</dev/null 9</dev/null; \
         {NIGHTWRIGHT} run -p x -m 1 --permissions usual --verify {}",
        scene.env.word("bin"),
        shell_path(&outside),
        shell_word(&verify)
    );
    let terminal = Terminal::run(&scene.env, &line);
    terminal.shows("exit=0");
    assert!(outside.exists(), "there was no terminal to begin with");
    for who in ["agent", "check"] {
        let fds = scene.agent.read(&format!("{who}.fds"));
        assert_eq!(descriptors(&fds), ["0", "1", "2"], "{who}:\n{fds}");
        assert!(!scene.agent.file(&format!("{who}.tty")).exists(), "{who} has our terminal");
    }
}

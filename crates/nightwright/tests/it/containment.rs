//! No process is left after an attempt has ended, after a run has ended, or after a run was killed.

mod guard;
mod signals;
mod takeover;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::thread;
use std::time::Duration;

use nightwright::process::{Containment, ContainmentLevel, groups_folder};
use nightwright_core::effect::Grace;
use nightwright_core::stream::outcome::{AttemptOutcome, CancelReason, Deadline};

use super::agent_env::{NIGHTWRIGHT, RunningAttempt, attempt, eventually};
use super::fake_agent::{FakeAgent, FakeAgentEnv, FakeAttempt};
use super::harness::{finish, names};

/// Shared by all tests of this process, because it assigns the names of groups.
static GROUPED: LazyLock<Option<Containment>> = LazyLock::new(|| {
    Some(Containment::with_guard(NIGHTWRIGHT.into(), None, Some(groups_folder()?)))
});

/// The kinds of containment that this machine supports.
fn ways() -> Vec<Containment> {
    let guarded = Containment::with_guard(NIGHTWRIGHT.into(), None, None);
    let grouped = GROUPED.clone();
    if grouped.is_none() {
        skipped("control groups: none can be made here");
    }
    [Some(guarded), grouped].into_iter().flatten().collect()
}

#[expect(clippy::print_stderr, reason = "a test that tests less than it could has to say so")]
fn skipped(what: &str) {
    eprintln!("skipped: {what}");
}

/// Fails if a process that has exited left control groups behind.
#[track_caller]
fn left_no_group(process: u32) {
    let Some(folder) = groups_folder() else { return };
    let maker = format!("-{process}-");
    for entry in fs::read_dir(folder).unwrap() {
        let left = entry.unwrap().file_name().to_string_lossy().into_owned();
        assert!(!(left.starts_with("nightwright-") && left.contains(&maker)), "{left} is left");
    }
}

/// Returns the process group that an agent reported.
fn group_of(agent: &FakeAgent) -> Option<PathBuf> {
    let groups = agent.read("cgroup");
    let path = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let name = Path::new(path).file_name()?;
    name.to_string_lossy().starts_with("nightwright-").then(|| groups_folder().unwrap().join(name))
}

/// Plays a script with every kind of containment at the same time, each in a separate runtime.
fn in_every_way(play: impl AsyncFn(&FakeAttempt, Containment) + Sync) {
    thread::scope(|scope| {
        for way in ways() {
            let play = &play;
            scope.spawn(move || {
                let runtime =
                    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                let (rehearsed, level) = (FakeAttempt::new(), way.level());
                runtime.block_on(play(&rehearsed, way));
                rehearsed.census().nobody(level.name());
                rehearsed.all_is_kept();
                let group = group_of(&rehearsed.agent);
                assert_eq!(group.is_some(), level == ContainmentLevel::GuardAndGroup, "{group:?}");
                assert!(!group.is_some_and(|group| group.exists()), "its group is left");
            });
        }
    });
}

#[test]
fn a_cut_ends_everybody_however_they_hide() {
    in_every_way(async |rehearsed, way| {
        let words = "cat /proc/$$/cgroup >\"$fake/cgroup\"; init; tool; family; sleep 300";
        let mut agent = rehearsed.kept(way, words);
        let performance = RunningAttempt::start(&mut agent, attempt(1));
        eventually("everybody is there", || rehearsed.agent.file("family").exists()).await;
        assert_eq!(rehearsed.census().noted_alive().len(), 7);
        // The process that the agent itself waits for wrote no note, but carries the mark.
        eventually("the agent waits", || rehearsed.census().alive().len() == 8).await;
        performance.attempt().cancel(CancelReason::Deadline(Deadline::Tool), Grace::None);
        let (_, report) = performance.finish().await;
        assert_eq!(report.outcome, AttemptOutcome::TimedOut { which: Deadline::Tool });
    });
}

#[test]
fn every_process_gets_sigterm_before_sigkill() {
    in_every_way(async |rehearsed, way| {
        let words = "cat /proc/$$/cgroup >\"$fake/cgroup\"; init; polite; polite; sleep 300";
        let mut agent = rehearsed.kept(way, words);
        let performance = RunningAttempt::start(&mut agent, attempt(1));
        eventually("both are there", || rehearsed.census().noted() == 2).await;
        performance.attempt().cancel(CancelReason::Deadline(Deadline::Idle), Grace::Usual);
        let (_, report) = performance.finish().await;
        assert_eq!(report.outcome, AttemptOutcome::TimedOut { which: Deadline::Idle });
        assert_eq!(rehearsed.agent.read("asked").lines().count(), 2);
    });
}

#[test]
fn processes_left_by_a_finished_agent_are_killed() {
    in_every_way(async |rehearsed, way| {
        let words = "cat /proc/$$/cgroup >\"$fake/cgroup\"; init; family; result Done.";
        let mut agent = rehearsed.kept(way, words);
        let (_, report) = RunningAttempt::start(&mut agent, attempt(1)).finish().await;
        assert_eq!(report.outcome, AttemptOutcome::Finished);
        assert_eq!(rehearsed.census().noted(), 7);
    });
}

#[test]
fn a_process_that_forks_and_is_gone_over_and_over_does_not_get_away() {
    in_every_way(async |rehearsed, way| {
        let words = "cat /proc/$$/cgroup >\"$fake/cgroup\"; note $$; init; storm; storm; sleep 300";
        let mut agent = rehearsed.kept(way, words);
        let performance = RunningAttempt::start(&mut agent, attempt(1));
        eventually("it forks", || rehearsed.agent.file("beat").exists()).await;
        performance.attempt().cancel(CancelReason::StopNow, Grace::None);
        let (_, report) = performance.finish().await;
        assert_eq!(report.outcome, AttemptOutcome::Interrupted);
        // Each process writes to this file every few milliseconds.
        fs::remove_file(rehearsed.agent.file("beat")).unwrap();
        tokio::time::sleep(Duration::from_millis(500)).await;
        assert!(!rehearsed.agent.file("beat").exists(), "it goes on forking");
    });
}

#[test]
fn no_cgroup_is_left_when_a_run_has_ended() {
    let scene = FakeAgentEnv::new("note $$; init; result '<promise>COMPLETE</promise>'");
    let child = scene.start(&["-m", "1", "--verify", "true"]);
    let id = child.id();
    finish(child).exits(0);
    assert!(names(&scene.env.journal()).contains(&"checks_finished"));
    left_no_group(id);
    scene.census().nobody("the run is over");
}

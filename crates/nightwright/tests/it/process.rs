//! Commands that run until they exit.

use std::fs;
use std::time::Duration;

use nightwright::process::{
    CommandEnd, Containment, Exit, FinishedCommand, MAX_OUTPUT, StopHandle, run_to_end, shell,
};
use nightwright_core::stream::outcome::ProcessExit;
use tempfile::TempDir;

use crate::agent_env::{GROWING, NIGHTWRIGHT, TEST_TIMEOUT, eventually, is_alive};
use crate::fake_agent::FakeAgent;

async fn run(
    folder: &TempDir,
    command: &str,
    limit: Duration,
    stop: &StopHandle,
) -> FinishedCommand {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let launch = shell(command, vec![("PATH".into(), path)], folder.path(), &kept());
    run_to_end(&launch, limit, MAX_OUTPUT, stop).await
}

fn kept() -> Containment {
    Containment::with_guard(NIGHTWRIGHT.into(), None, None)
}

fn pid(folder: &TempDir, name: &str) -> String {
    fs::read_to_string(folder.path().join(name)).unwrap()
}

#[tokio::test]
async fn a_command_gives_its_exit_and_both_outputs_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let command = "echo one; echo two >&2; echo three; exit 7";
    let finished = run(&folder, command, TEST_TIMEOUT, &StopHandle::default()).await;
    assert_eq!(finished.ended, CommandEnd::Exited(Exit(ProcessExit::Code(7))));
    assert_eq!(finished.output, "one\ntwo\nthree\n");
}

#[tokio::test]
async fn a_command_that_a_signal_kills_is_distinguished() {
    let folder = tempfile::tempdir().unwrap();
    let finished = run(&folder, "kill -9 $$", TEST_TIMEOUT, &StopHandle::default()).await;
    assert_eq!(finished.ended, CommandEnd::Exited(Exit(ProcessExit::Signal(9))));
}

#[tokio::test]
async fn a_command_finds_its_input_closed() {
    let folder = tempfile::tempdir().unwrap();
    let finished = run(&folder, "cat; echo end", TEST_TIMEOUT, &StopHandle::default()).await;
    assert_eq!(finished.output, "end\n");
}

#[tokio::test]
async fn the_end_of_a_flood_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let command = "head -c 3000000 /dev/zero | tr '\\0' x; echo; echo the end";
    let finished = run(&folder, command, TEST_TIMEOUT, &StopHandle::default()).await;
    assert!(finished.output.len() < MAX_OUTPUT + 100, "{} bytes", finished.output.len());
    assert!(finished.output.ends_with("\nthe end\n"));
}

#[tokio::test]
async fn a_command_over_its_time_goes_with_its_group() {
    let command = "sleep 1000 & echo $! >new; mv new sleeper; wait";
    for limit in GROWING {
        let folder = tempfile::tempdir().unwrap();
        let finished = run(&folder, command, limit, &StopHandle::default()).await;
        assert_eq!(finished.ended, CommandEnd::TimedOut);
        if folder.path().join("sleeper").exists() {
            let sleeper = pid(&folder, "sleeper");
            return eventually("the group is gone", || !is_alive(&sleeper)).await;
        }
    }
    panic!("the command never got as far as to have a group");
}

#[tokio::test]
async fn a_command_can_be_stopped_from_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let stop = StopHandle::default();
    let handle = stop.clone();
    let begun = folder.path().join("begun");
    let (finished, ()) =
        tokio::join!(run(&folder, "echo >begun; sleep 1000", TEST_TIMEOUT, &stop), async {
            eventually("the command has begun", || begun.exists()).await;
            handle.stop();
        });
    assert_eq!(finished.ended, CommandEnd::Stopped);
}

#[tokio::test]
async fn processes_left_by_a_command_are_killed_and_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let command = "sleep 1000 & echo $! >sleeper; echo done";
    let finished = run(&folder, command, TEST_TIMEOUT, &StopHandle::default()).await;
    // Waiting for it would exceed the timeout.
    assert_eq!(
        (finished.output.as_str(), finished.ended),
        ("done\n", CommandEnd::Exited(Exit(ProcessExit::Code(0))))
    );
    let sleeper = pid(&folder, "sleeper");
    assert!(!is_alive(&sleeper));
}

#[tokio::test]
async fn no_process_of_a_command_survives_it() {
    let play = async |words: &str, limit| {
        let folder = tempfile::tempdir().unwrap();
        let agent = FakeAgent::inside(folder.path());
        let finished = run(&folder, &agent.script(words), limit, &StopHandle::default()).await;
        agent.census(Vec::new()).nobody("the command is over");
        (finished.ended, agent.census(Vec::new()).noted())
    };
    let ended = play("family", TEST_TIMEOUT).await;
    assert_eq!(ended, (CommandEnd::Exited(Exit(ProcessExit::Code(0))), 7));
    for limit in GROWING {
        let (ended, noted) = play("family; sleep 300", limit).await;
        assert_eq!(ended, CommandEnd::TimedOut);
        if noted == 7 {
            return;
        }
    }
    panic!("the family was never complete");
}

#[tokio::test]
async fn a_command_that_cannot_be_started_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let gone = folder.path().join("gone");
    let launch = shell("true", Vec::new(), &gone, &kept());
    let finished = run_to_end(&launch, TEST_TIMEOUT, MAX_OUTPUT, &StopHandle::default()).await;
    let CommandEnd::NotStarted { why } = finished.ended else { panic!("{finished:?}") };
    assert!(why.starts_with("cannot start `/bin/sh`: "), "{why}");
}

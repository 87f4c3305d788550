//! Errors and hints of commands about runs.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

use nightwright::store::lock::LockOwner;
use nightwright_core::units::RunId;

use crate::agent_program::program;
use crate::harness::{Output, RunningCommand, TestEnv, finish, run_outcome};

const ENDS: &str = "[[attempt]]\nend = { result = \"Hm.\" }";

#[test]
fn without_a_run_one_is_started_by_the_hint() {
    for (arguments, hint) in [
        (
            &["status"][..],
            "name the project with -C, or run `nightwright run \"make the tests pass\" -m 10` to start a run",
        ),
        (&["tell", "some words"], "run `nightwright run -p \"GOAL\" -m 10` to start one"),
    ] {
        let env = TestEnv::new();
        let output = env.elsewhere(arguments).exits(1);
        let line = env.command_of(&output, hint) + " --dry-run";
        env.paste_elsewhere(&line).exits(0);
        assert_eq!(env.runs().len(), 1);
    }
}

#[test]
fn a_run_that_never_began_is_replaced_by_the_hint() {
    let env = TestEnv::new();
    env.rehearse(ENDS, "1", &[]).exits(0);
    fs::write(env.runs()[0].join("journal.jsonl"), "").unwrap();
    let output = env.elsewhere(&["resume"]).exits(1);
    let hint = "run `nightwright run -p \"GOAL\" -m 10` to start a new one";
    env.paste_elsewhere(&(env.command_of(&output, hint) + " --dry-run")).exits(0);
    assert_eq!(env.runs().len(), 2);
}

#[test]
fn a_run_that_only_verified_is_verified_again_by_the_hint() {
    let env = TestEnv::new();
    env.ready_task("t");
    env.elsewhere(&["verify", "t", "--verify", "true", "--dry-run"]).exits(0);
    let output = env.elsewhere(&["resume", &env.run_id()]).exits(2);
    let line = env.command_of(&output, "run `nightwright verify {task}` to verify it again");
    env.paste_elsewhere(&(line + " --verify true --dry-run")).exits(0);
    assert_eq!(env.runs().len(), 2);
}

#[test]
fn a_text_for_the_agent_is_given_as_the_hint_shows() {
    let env = TestEnv::new();
    let child = env.live(&["-p", "x"]);
    let output = env.elsewhere(&["tell"]).exits(2);
    let hint = "quote it, for example `nightwright tell \"use sqlite\"`";
    env.paste_elsewhere(&env.command_of(&output, hint)).exits(0);
    env.run(&["stop", "--now"]).exits(0);
    finish(child).exits(130);
}

#[test]
fn a_running_run_is_stopped_by_the_hint() {
    for (arguments, hint) in [
        (&["resume", "-m", "9"][..], "run `nightwright stop {run}` first"),
        (&["resume"], "run `nightwright stop {run}` to stop it"),
    ] {
        let env = TestEnv::new();
        let child = env.live(&["-p", "x"]);
        let output = env.elsewhere(arguments).exits(1);
        env.paste_elsewhere(&env.command_of(&output, hint)).exits(0);
        env.was_stopped(child);
    }
}

#[test]
fn a_message_without_text_or_run_is_sent_by_the_hint() {
    let env = TestEnv::new();
    let child = env.live(&["-p", "x"]);
    let run = env.run_id();
    let output = env.elsewhere(&["tell", &run]).exits(2);
    let line = env.command_of(&output, "run `nightwright tell {run} \"TEXT\"`");
    env.paste_elsewhere(&line.replace("TEXT", "one word")).exits(0);

    // Another run that appears to be running. Its lock is not held, because a process that holds it belongs to the run.
    let folder = env.runs()[0].clone();
    let other = folder.with_file_name("20200101-000000-0000");
    fs::create_dir(&other).unwrap();
    fs::copy(folder.join("journal.jsonl"), other.join("journal.jsonl")).unwrap();
    let owner =
        LockOwner::current(RunId("20200101-000000-0000".to_owned()), jiff::Timestamp::now());
    let line = serde_json::to_string(&owner).unwrap() + "\n";
    fs::write(other.join("lock"), line).unwrap();
    let output = env.elsewhere(&["tell", "two words"]).exits(2);
    let line = env.command_of(&output, "name one, for example `nightwright tell {} \"TEXT\"`");
    let line = line.replace("20200101-000000-0000", &run).replace("TEXT", "two words");
    env.paste_elsewhere(&line).exits(0);
    env.run(&["stop", &run, "--now"]).exits(0);
    finish(child).exits(130);
}

#[test]
fn a_pause_is_ended_by_the_hint() {
    let env = TestEnv::new();
    let child = env.live(&["-p", "x"]);
    env.elsewhere(&["pause"]).exits(0);
    env.wait_for("run_paused");
    let output = env.elsewhere(&["tell", "--retry-now"]).exits(1);
    let line = env.command_of(&output, "run `nightwright resume {run}` first");
    env.paste_elsewhere(&line).exits(0);
    env.wait_for("run_resumed");
    env.run(&["stop", "--now"]).exits(0);
    finish(child).exits(130);
}

#[test]
fn the_pause_itself_says_how_it_is_ended() {
    let env = TestEnv::new();
    let child = env.live(&["-p", "x"]);
    let output = env.elsewhere(&["pause"]).exits(0);
    let said = "run {run} pauses after the current attempt, call or check; run \
                `nightwright resume {run}` to continue";
    env.paste_elsewhere(&env.command_of(&output, said)).exits(0);
    env.wait_for("run_resumed");
    env.run(&["stop", "--now"]).exits(0);
    finish(child).exits(130);
}

#[test]
fn a_crashed_run_is_continued_by_the_hint() {
    for (arguments, hint, code) in [
        (&["stop"][..], "run `nightwright resume {run}` to continue it", 1),
        (&["log"], "run {run} crashed; to continue it, run `nightwright resume {run}`", 0),
    ] {
        let env = TestEnv::new();
        let mut child = env.live(&["-p", "x"]);
        child.kill().unwrap();
        child.wait().unwrap();
        let output = env.elsewhere(arguments).exits(code);
        env.paste_elsewhere(&env.command_of(&output, hint)).exits(0);
        assert_eq!(run_outcome(&env.journal()), "completed");
    }
}

#[test]
fn a_log_that_is_gone_is_replaced_by_events_and_status() {
    let env = TestEnv::new();
    env.rehearse(ENDS, "1", &[]).exits(0);
    for entry in fs::read_dir(&env.runs()[0]).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "log") {
            fs::remove_file(path).unwrap();
        }
    }
    let output = env.elsewhere(&["log"]).exits(1);
    let hint = "run `nightwright log {run} --json` to print its events, or `nightwright status \
                {run}` to show its outcome";
    let lines = env.printed(&output, hint);
    assert!(env.paste_elsewhere(&lines[0]).exits(0).out.contains("run_finished"));
    assert!(env.paste_elsewhere(&lines[1]).exits(0).out.contains(&env.run_id()));
}

#[test]
fn a_detached_run_whose_id_cannot_be_printed_is_stopped_by_the_hint() {
    let env = TestEnv::new();
    let script = env.script("[[attempt]]\nend = { hang = true }");
    let run = ["run", "-p", "x", "-m", "1", "--dry-run", "--rehearsal", &script, "--detach"];
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = env.command_elsewhere(&run).stdout(full).output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    let did = Output { code: output.status.code(), out: String::new(), err };
    let did = did.exits(1);
    let line = env.command_of(&did, "run `nightwright stop {run}` to stop it");
    // Before that a stop would end it at once.
    env.wait_for("agent_ready");
    env.paste_elsewhere(&line).exits(0);
    env.wait_for("stop_requested");
    env.run(&["stop", "--now"]).exits(0);
    env.wait_for("run_finished");
}

/// Announces that it was asked for its version, and waits for permission to answer.
const HELD: &str = "#!/bin/sh\n[ \"$1\" = --version ] || exec sleep 60\n: > \"$HOME/asked\"\n\
                    until [ -e \"$HOME/answer\" ]; do sleep 0.02; done\n\
                    echo '2.1.325 (Claude Code)'\n";

/// The pipe on which the second process of this command reports that it has left the terminal.
fn report_pipe(child: &Child) -> PathBuf {
    let parent = child.id().to_string();
    let ours = pipes(&Path::new("/proc").join(&parent));
    let processes = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
    let pipes = processes.filter_map(|process| {
        let stat = fs::read_to_string(process.join("stat")).ok()?;
        // After the name in parentheses: the state, and the parent.
        let (_, rest) = stat.rsplit_once(") ")?;
        rest.split(' ').nth(1).filter(|id| *id == parent)?;
        // Its arguments are hidden. The pipe is the one that the parent has open too.
        pipes(&process).into_iter().find(|(_, pipe)| ours.iter().any(|(_, own)| own == pipe))
    });
    pipes.last().expect("a process that reports").0
}

/// The pipes that a process has open, without its standard streams, and the names of the pipes.
fn pipes(process: &Path) -> Vec<(PathBuf, PathBuf)> {
    let open = fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
    let named = open.filter_map(|entry| Some((entry.path(), fs::read_link(entry.path()).ok()?)));
    let standard = ["0", "1", "2"].map(|name| process.join("fd").join(name));
    let is_pipe = |(path, name): &(PathBuf, PathBuf)| {
        name.to_string_lossy().starts_with("pipe:") && !standard.contains(path)
    };
    named.filter(is_pipe).collect()
}

#[test]
fn a_detached_run_with_an_unreadable_report_is_found_by_the_hint() {
    let env = TestEnv::new();
    program(&env, "claude", HELD);
    let mut command = env.command_elsewhere(&["run", "-p", "x", "-m", "1", "--detach"]);
    let child = RunningCommand::from(command.spawn().unwrap());
    let begun = Instant::now();
    while !env.path("home/asked").exists() {
        assert!(begun.elapsed() < Duration::from_mins(1), "the program was never asked");
        std::thread::sleep(Duration::from_millis(5));
    }
    let mut pipe = File::options().write(true).open(report_pipe(&child)).unwrap();
    pipe.write_all(b"junk before the report: ").unwrap();
    drop(pipe);
    fs::write(env.path("home/answer"), "").unwrap();
    let output = finish(child).exits(1).says(&["its process reported `junk before the report: {"]);
    let line = env.command_of(&output, "run `nightwright status` to find it");
    let found = env.paste_elsewhere(&line).exits(0).out;
    env.run(&["stop", "--now"]).exits(0);
    env.wait_for("run_finished");
    assert!(found.contains(&env.run_id()), "{found}");
}

#[test]
fn a_run_that_is_not_there_is_found_in_the_list() {
    let env = TestEnv::new();
    env.rehearse(ENDS, "1", &[]).exits(0);
    let output = env.elsewhere(&["status", "nope"]).exits(1);
    let line = env.command_of(&output, "run `nightwright status --all` to list the runs");
    assert!(env.paste_elsewhere(&line).exits(0).out.contains(&env.run_id()));
}

#[test]
fn a_run_that_has_ended_says_where_the_next_step_is() {
    let env = TestEnv::new();
    env.rehearse(ENDS, "1", &[]).exits(0);
    let output = env.elsewhere(&["stop"]).exits(1);
    let line = env.command_of(&output, "run `nightwright status {run}` to see what to do next");
    assert!(env.paste_elsewhere(&line).exits(0).out.contains("\nnext "));
}

#[test]
fn a_message_for_a_crashed_run_finds_it() {
    let env = TestEnv::new();
    let mut child = env.live(&["-p", "x"]);
    child.kill().unwrap();
    child.wait().unwrap();
    let output = env.elsewhere(&["tell", "some words"]).exits(1);
    let line = env.command_of(&output, "run `nightwright resume {run}` to continue the last one");
    env.paste_elsewhere(&line).exits(0);
    assert_eq!(run_outcome(&env.journal()), "completed");
}

#[test]
fn a_goal_without_quotes_is_quoted_by_the_hint() {
    for words in [
        &["run", "fix", "the", "tests", "-m", "3", "--dry-run"][..],
        &["run", "-m", "3", "--dry-run", "fix", "the", "tests"],
    ] {
        let env = TestEnv::new();
        let output = env
            .elsewhere(words)
            .exits(2)
            .says(&["there is no task `fix`, and a goal needs quotes"]);
        let line = env.command_of(&output, "write the goal in quotes: nightwright {line}");
        env.paste_elsewhere(&line).exits(0);
        assert_eq!(env.runs().len(), 1, "{line}");
        let status = env.run(&["status"]).exits(0).out;
        assert!(status.contains("goal          fix the tests\n"), "{status}");
    }
    // The option is wrong here, not the goal.
    let env = TestEnv::new();
    let output = env.elsewhere(&["run", "fix it", "--no-such-option"]).exits(2);
    assert!(!output.err.contains("in quotes"), "{}", output.err);
}

#[test]
fn a_sandbox_that_does_not_start_is_tested_by_the_hint() {
    if !crate::sandbox::is_usable() {
        return;
    }
    let env = TestEnv::new();
    let fails = program(&env, "bwrap", "#!/bin/sh\necho 'bwrap: no' >&2\nexit 1\n");
    let run = ["run", "-p", "x", "-m", "1", "--dry-run", "--sandbox", "bwrap"];
    let output = env.elsewhere(&run).exits(2);
    let output = output.says(&["or run without a sandbox: `--sandbox off`"]);
    let line = env.command_of(&output, "run `nightwright sandbox test` for details");
    fs::remove_file(fails).unwrap();
    env.paste_elsewhere(&line).exits(0);
}

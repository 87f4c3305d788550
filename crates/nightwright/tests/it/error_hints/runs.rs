//! Errors about runs.

use std::fs;

use nightwright::journal::{Lock, Owner};
use nightwright_core::units::RunId;

use super::super::harness::{Did, Hermit, ending, finish};

const ENDS: &str = "[[attempt]]\nending = { result = \"Hm.\" }";

#[test]
fn without_a_run_one_is_started_by_the_hint() {
    for (arguments, hint) in [
        (
            &["status"][..],
            "name the project with -C, or start a run: nightwright run \"make the tests pass\" -m 10",
        ),
        (&["tell", "some words"], "start one: nightwright run -p \"GOAL\" -m 10"),
    ] {
        let hermit = Hermit::new();
        let did = hermit.elsewhere(arguments).exits(1);
        let line = hermit.command_of(&did, hint) + " --dry-run";
        hermit.paste_elsewhere(&line).exits(0);
        assert_eq!(hermit.runs().len(), 1);
    }
}

#[test]
fn a_run_that_never_began_is_replaced_by_the_hint() {
    let hermit = Hermit::new();
    hermit.rehearse(ENDS, "1", &[]).exits(0);
    fs::write(hermit.runs()[0].join("journal.jsonl"), "").unwrap();
    let did = hermit.elsewhere(&["resume"]).exits(1);
    let hint = "start a new one: nightwright run -p \"GOAL\" -m 10";
    hermit.paste_elsewhere(&(hermit.command_of(&did, hint) + " --dry-run")).exits(0);
    assert_eq!(hermit.runs().len(), 2);
}

#[test]
fn a_run_that_only_verified_is_verified_again_by_the_hint() {
    let hermit = Hermit::new();
    hermit.ready_task("t");
    hermit.elsewhere(&["verify", "t", "--verify", "true", "--dry-run"]).exits(0);
    let did = hermit.elsewhere(&["resume", &hermit.run_id()]).exits(2);
    let line = hermit.command_of(&did, "verify it again: nightwright verify {task}");
    hermit.paste_elsewhere(&(line + " --verify true --dry-run")).exits(0);
    assert_eq!(hermit.runs().len(), 2);
}

#[test]
fn a_text_for_the_agent_is_given_as_the_hint_shows() {
    let hermit = Hermit::new();
    let child = hermit.live(&["-p", "x"]);
    let did = hermit.elsewhere(&["tell"]).exits(2);
    let hint = "write it in quotes, such as: nightwright tell \"use sqlite\"";
    hermit.paste_elsewhere(&hermit.command_of(&did, hint)).exits(0);
    hermit.run(&["stop", "--now"]).exits(0);
    finish(child).exits(130);
}

#[test]
fn a_running_run_is_stopped_by_the_hint() {
    for (arguments, hint) in [
        (&["resume", "-m", "9"][..], "stop it first: nightwright stop {run}"),
        (&["resume"], "stop it: nightwright stop {run}"),
    ] {
        let hermit = Hermit::new();
        let child = hermit.live(&["-p", "x"]);
        let did = hermit.elsewhere(arguments).exits(1);
        hermit.paste_elsewhere(&hermit.command_of(&did, hint)).exits(0);
        hermit.was_stopped(child);
    }
}

#[test]
fn a_message_without_text_or_run_is_sent_by_the_hint() {
    let hermit = Hermit::new();
    let child = hermit.live(&["-p", "x"]);
    let run = hermit.run_id();
    let did = hermit.elsewhere(&["tell", &run]).exits(2);
    let line = hermit.command_of(&did, "add the text: nightwright tell {run} \"TEXT\"");
    hermit.paste_elsewhere(&line.replace("TEXT", "one word")).exits(0);

    // Another one that is running, as far as anybody can see.
    let folder = hermit.runs()[0].clone();
    let other = folder.with_file_name("20200101-000000-0000");
    fs::create_dir(&other).unwrap();
    fs::copy(folder.join("journal.jsonl"), other.join("journal.jsonl")).unwrap();
    let owner = Owner::current(RunId("20200101-000000-0000".to_owned()), jiff::Timestamp::now());
    let lock = Lock::take(&other.join("lock"), &owner).unwrap();
    let did = hermit.elsewhere(&["tell", "two words"]).exits(2);
    let line = hermit.command_of(&did, "name one: nightwright tell {} \"TEXT\"");
    let line = line.replace("20200101-000000-0000", &run).replace("TEXT", "two words");
    hermit.paste_elsewhere(&line).exits(0);
    drop(lock);
    hermit.run(&["stop", &run, "--now"]).exits(0);
    finish(child).exits(130);
}

#[test]
fn a_pause_is_ended_by_the_hint() {
    let hermit = Hermit::new();
    let child = hermit.live(&["-p", "x"]);
    hermit.elsewhere(&["pause"]).exits(0);
    hermit.wait_for("run_paused");
    let did = hermit.elsewhere(&["tell", "--retry-now"]).exits(1);
    let line = hermit.command_of(&did, "end the pause first: nightwright resume {run}");
    hermit.paste_elsewhere(&line).exits(0);
    hermit.wait_for("run_resumed");
    hermit.run(&["stop", "--now"]).exits(0);
    finish(child).exits(130);
}

#[test]
fn the_pause_itself_says_how_it_is_ended() {
    let hermit = Hermit::new();
    let child = hermit.live(&["-p", "x"]);
    let did = hermit.elsewhere(&["pause"]).exits(0);
    let said = "run {run} pauses after what is running now; end the pause with: nightwright \
                resume {run}";
    hermit.paste_elsewhere(&hermit.command_of(&did, said)).exits(0);
    hermit.wait_for("run_resumed");
    hermit.run(&["stop", "--now"]).exits(0);
    finish(child).exits(130);
}

#[test]
fn a_run_whose_process_is_gone_is_continued_by_the_hint() {
    for (arguments, hint, code) in [
        (&["stop"][..], "continue it: nightwright resume {run}", 1),
        (
            &["log"],
            "the process of run {run} is gone, and the run has not ended; to continue it: \
             nightwright resume {run}",
            0,
        ),
    ] {
        let hermit = Hermit::new();
        let mut child = hermit.live(&["-p", "x"]);
        child.kill().unwrap();
        child.wait().unwrap();
        let did = hermit.elsewhere(arguments).exits(code);
        hermit.paste_elsewhere(&hermit.command_of(&did, hint)).exits(0);
        assert_eq!(ending(&hermit.journal()), "completed");
    }
}

#[test]
fn a_log_that_is_gone_is_replaced_by_events_and_status() {
    let hermit = Hermit::new();
    hermit.rehearse(ENDS, "1", &[]).exits(0);
    for entry in fs::read_dir(&hermit.runs()[0]).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "log") {
            fs::remove_file(path).unwrap();
        }
    }
    let did = hermit.elsewhere(&["log"]).exits(1);
    let hint = "its events are still there: nightwright log {run} --json; what it came to: \
                nightwright status {run}";
    let lines = hermit.printed(&did, hint);
    assert!(hermit.paste_elsewhere(&lines[0]).exits(0).out.contains("run_finished"));
    assert!(hermit.paste_elsewhere(&lines[1]).exits(0).out.contains(&hermit.run_id()));
}

#[test]
fn a_detached_run_whose_id_cannot_be_printed_is_stopped_by_the_hint() {
    let hermit = Hermit::new();
    let script = hermit.script("[[attempt]]\nending = { hang = true }");
    let run = ["run", "-p", "x", "-m", "1", "--dry-run", "--rehearsal", &script, "--detach"];
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = hermit.command_elsewhere(&run).stdout(full).output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    let did = Did { code: output.status.code(), out: String::new(), err };
    let did = did.exits(1);
    let line = hermit.command_of(&did, "to end it: nightwright stop {run}");
    // Before that a stop would end it at once.
    hermit.wait_for("agent_ready");
    hermit.paste_elsewhere(&line).exits(0);
    hermit.wait_for("stop_requested");
    hermit.run(&["stop", "--now"]).exits(0);
    hermit.wait_for("run_finished");
}

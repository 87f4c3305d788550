//! Where a log is kept as well, and for how long.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use nightwright_core::event::Event;

use super::{in_the_second_iteration, kill, logs, run_of, the_log, until};
use crate::harness::{Hermit, ending, finish};
use crate::tasks::disk::{SmallDisk, is_root, skip};

const SHORT: &str = "[[attempt]]\nsteps = [{ write = 'a.txt', text = 'a' }]\n\
                     ending = { result = '<promise>COMPLETE</promise>' }\n";

#[test]
fn a_copy_is_written_into_the_project_and_counts_as_no_work() {
    let hermit = Hermit::new();
    let script = hermit.script("[[attempt]]\nending = { result = 'Nothing to do.' }");
    let run = run_of(&script, &["-m", "9"]);
    let mut command = hermit.command(&run);
    finish(command.env("NIGHTWRIGHT_LOGS_DIR", ".nightwright/logs").spawn().unwrap()).exits(0);
    assert_eq!(ending(&hermit.journal()), "stagnated");
    let copies = logs(&hermit.project().join(".nightwright/logs"));
    assert_eq!(copies.len(), 1, "{copies:?}");
    assert_eq!(fs::read_to_string(&copies[0]).unwrap(), the_log(&hermit));

    let mut command = hermit.command(&run);
    finish(command.env("NIGHTWRIGHT_LOGS_DIR", "logs").spawn().unwrap()).exits(2).says(&[
        "`logs.dir` is `logs`",
        "below `.nightwright/`",
        "hint: ",
    ]);
}

#[test]
fn a_disk_that_is_full_ends_the_copy_with_one_warning_and_not_the_run() {
    if !is_root() {
        return skip("only root can mount a small disk");
    }
    let hermit = Hermit::new();
    let folder = hermit.project().join(".nightwright/logs");
    fs::create_dir_all(&folder).unwrap();
    let disk = match SmallDisk::mount(&folder) {
        Ok(disk) => disk,
        Err(why) => return skip(&format!("no small disk: {why}")),
    };
    let script = hermit.script(
        "[[attempt]]\nsteps = [{ repeat = [{ say = 'Much to say, over and over again.', times = 1000 }], times = 4 }, \
         { write = 'a.txt', text = 'a' }]\nending = { result = 'Well.' }\n\
         [[attempt]]\nsteps = [{ write = 'b.txt', text = 'b' }]\n\
         ending = { result = '<promise>COMPLETE</promise>' }",
    );
    let mut command = hermit.command(&run_of(&script, &["-m", "3"]));
    let did =
        finish(command.env("NIGHTWRIGHT_LOGS_DIR", ".nightwright/logs").spawn().unwrap()).exits(0);
    drop(disk);
    assert_eq!(ending(&hermit.journal()), "completed");
    let journal = hermit.journal();
    let warnings: Vec<_> = journal
        .iter()
        .filter_map(|record| match &record.event {
            Event::Warning { text } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    let [warning] = warnings.as_slice() else { panic!("{warnings:?}") };
    assert!(warning.starts_with("the copy of the log is no longer written: can't write `"));
    assert!(warning.contains("No space left on device"), "{warning}");
    assert_eq!(did.err.matches("no longer written").count(), 1, "{}", did.err);
    let log = the_log(&hermit);
    assert!(log.len() > 100_000 && log.contains("\nEND OF RUN\n"), "{} bytes", log.len());
}

#[test]
fn what_is_heavy_of_old_runs_goes_and_their_history_stays() {
    let hermit = Hermit::new();
    let script = hermit.script(SHORT);
    let mut runs: Vec<PathBuf> = Vec::new();
    for _ in 0..3 {
        hermit.run(&run_of(&script, &["-m", "1"])).exits(0);
        runs.extend(hermit.runs().into_iter().find(|run| !runs.contains(run)));
    }
    // One that is going on, or was killed, is never touched.
    let mut child = in_the_second_iteration(&hermit);
    kill(&mut child);
    let killed = hermit.runs().into_iter().find(|run| !runs.contains(run)).unwrap();
    let script = hermit.script("[[attempt]]\nending = { hang = true }");
    let run = run_of(&script, &["-m", "1"]);
    let mut command = hermit.command(&run);
    let mut child = command.env("NIGHTWRIGHT_LOGS_KEEP_RUNS", "1").spawn().unwrap();
    until("pruned", || {
        runs[..2].iter().all(|run| {
            logs(run).is_empty()
                && fs::read_dir(run.join("output")).unwrap().count() == 0
                && fs::read_dir(run.join("prompts")).unwrap().count() == 0
        })
    });
    kill(&mut child);
    assert_eq!(logs(&runs[2]).len(), 1, "the last that ended");
    assert!(!logs(&killed).is_empty() && killed.join("output/001-1.ndjson").exists());
    let id = runs[0].file_name().unwrap().to_str().unwrap().to_owned();
    hermit.run(&["log", &id]).exits(1).says(&["pruned to make room", "hint: ", "--json"]);
    hermit.run(&["log", &id, "--raw"]).exits(1).says(&["pruned to make room"]);
    let journal = fs::read_to_string(runs[0].join("journal.jsonl")).unwrap();
    assert_eq!(hermit.run(&["log", &id, "--json"]).exits(0).out, journal);
    assert!(hermit.run(&["status", &id]).exits(0).out.contains("judged complete by a model"));
}

#[test]
fn runs_that_only_judged_push_out_none_that_worked() {
    let hermit = Hermit::new();
    hermit.run(&["new", "port", "--mode", "loop"]).exits(0);
    hermit.file(".nightwright/tasks/port/INSTRUCTIONS.md", "Port it.\n");
    hermit.file(".nightwright/config.toml", "verify.model = \"off\"\n");
    let script = hermit.script(SHORT);
    hermit.run(&run_of(&script, &["-m", "1"])).exits(0);
    let mut runs = hermit.runs();
    let judge = ["verify", "port", "--verify", "true"];
    for _ in 0..3 {
        let mut command = hermit.command(&judge);
        finish(command.env("NIGHTWRIGHT_LOGS_KEEP_RUNS", "1").spawn().unwrap());
        runs.extend(hermit.runs().into_iter().find(|run| !runs.contains(run)));
    }
    until("pruned", || {
        // What one did not get done before its end, the next one does.
        let mut command = hermit.command(&judge);
        finish(command.env("NIGHTWRIGHT_LOGS_KEEP_RUNS", "1").spawn().unwrap());
        logs(&runs[1]).is_empty()
    });
    assert_eq!(logs(&runs[0]).len(), 1, "the only one that worked");
    assert!(runs[0].join("output/001-1.ndjson").exists());
}

#[test]
fn a_link_is_not_followed_when_old_runs_are_pruned() {
    let hermit = Hermit::new();
    let script = hermit.script(SHORT);
    let mut runs: Vec<PathBuf> = Vec::new();
    for _ in 0..3 {
        hermit.run(&run_of(&script, &["-m", "1"])).exits(0);
        runs.extend(hermit.runs().into_iter().find(|run| !runs.contains(run)));
    }
    let elsewhere = hermit.path("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("mine.txt"), "mine").unwrap();
    // The output of one run, and all of another.
    fs::remove_dir_all(runs[0].join("output")).unwrap();
    symlink(&elsewhere, runs[0].join("output")).unwrap();
    let moved = hermit.path("moved");
    fs::rename(&runs[1], &moved).unwrap();
    symlink(&moved, &runs[1]).unwrap();
    let mut command = hermit.command(&run_of(&script, &["-m", "1"]));
    finish(command.env("NIGHTWRIGHT_LOGS_KEEP_RUNS", "1").spawn().unwrap()).exits(0);
    assert!(logs(&runs[0]).is_empty(), "not pruned");
    assert_eq!(fs::read_to_string(elsewhere.join("mine.txt")).unwrap(), "mine");
    assert!(runs[0].join("output").is_symlink());
    assert!(moved.join("output/001-1.ndjson").exists() && logs(&moved).len() == 1);
}

#[test]
fn a_run_that_is_gone_on_with_names_its_new_limits_and_its_newest_log() {
    let hermit = Hermit::new();
    let script = hermit.script("[[attempt]]\nending = { result = 'Not yet.' }");
    hermit.run(&run_of(&script, &["-m", "1"]));
    let did = hermit.run(&["resume", "--again", "-m", "2"]);
    let logs = logs(&hermit.runs()[0]);
    let [_, newest] = logs.as_slice() else { panic!("{logs:?}") };
    let log = fs::read_to_string(newest).unwrap();
    let head: Vec<_> = log.lines().filter(|line| line.starts_with("Limits:")).collect();
    assert!(matches!(head[..], [limits] if limits.contains("2 iterations")), "{log}");
    let name = format!("log: {}", newest.display());
    assert!(did.err.contains(&name), "{name} is not in {}", did.err);
}

#[test]
fn a_damaged_journal_is_named_and_what_there_is_is_printed() {
    let hermit = Hermit::new();
    let script = hermit.script(SHORT);
    hermit.run(&run_of(&script, &["-m", "1"])).exits(0);
    let run = &hermit.runs()[0];
    let journal = run.join("journal.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, text.replacen("\"seq\":2", "\"seq\":9", 1)).unwrap();
    let log = hermit.run(&["log"]).exits(0).says(&["journal.jsonl", "line"]);
    assert!(log.out.contains("END OF RUN") && !log.err.contains("is gone"), "{}", log.err);
    let raw = hermit.run(&["log", "--raw"]).exits(0);
    let output = fs::read_to_string(run.join("output/001-1.ndjson")).unwrap();
    assert!(raw.out.contains(&output), "{}", raw.out);
}

#[test]
fn what_is_no_plain_file_in_place_of_an_output_is_not_waited_for() {
    let hermit = Hermit::new();
    let step = "steps = [{ write = 'a.txt', text = 'a' }]";
    let script = hermit.script(&format!("[[attempt]]\n{step}\nending = {{ result = 'x' }}"));
    hermit.run(&run_of(&script, &["-m", "1"]));
    let output = hermit.runs()[0].join("output/001-1.ndjson");
    fs::remove_file(&output).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&output).status().unwrap();
    assert!(made.success());
    hermit.run(&["log", "--raw"]).exits(1).says(&["there is no output"]);
}

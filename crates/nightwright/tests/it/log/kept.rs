//! Copies of a log, and how long they are kept.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use nightwright_core::event::{Event, NoteEvent};

use super::{in_the_second_iteration, kill, logs, run_of, the_log, until};
use crate::harness::{RunningCommand, TestEnv, finish, run_outcome};
use crate::tasks::disk::{SmallDisk, is_root, skip};

const SHORT: &str = "[[attempt]]\nsteps = [{ write = 'a.txt', text = 'a' }]\n\
                     end = { result = '<promise>COMPLETE</promise>' }\n";

#[test]
fn a_copy_is_written_into_the_project_and_counts_as_no_work() {
    let env = TestEnv::new();
    let script = env.script("[[attempt]]\nend = { result = 'Nothing to do.' }");
    let run = run_of(&script, &["-m", "9"]);
    let mut command = env.command(&run);
    finish(command.env("NIGHTWRIGHT_LOGS_DIR", ".nightwright/logs").spawn().unwrap()).exits(0);
    assert_eq!(run_outcome(&env.journal()), "stagnated");
    let copies = logs(&env.project().join(".nightwright/logs"));
    assert_eq!(copies.len(), 1, "{copies:?}");
    assert_eq!(fs::read_to_string(&copies[0]).unwrap(), the_log(&env));

    let mut command = env.command(&run);
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
    let env = TestEnv::new();
    let folder = env.project().join(".nightwright/logs");
    fs::create_dir_all(&folder).unwrap();
    let disk = match SmallDisk::mount(&folder) {
        Ok(disk) => disk,
        Err(why) => return skip(&format!("no small disk: {why}")),
    };
    // A thread writes the log, so the run must last until that thread meets the full disk.
    let script = env.script(
        "[[attempt]]\nsteps = [{ repeat = [{ say = 'Much to say, over and over again.', times = 1000 }], times = 4 }, \
         { write = 'a.txt', text = 'a' }]\nend = { result = 'Well.' }\n\
         [[attempt]]\nsteps = [{ run = 'until grep -q \"cannot write the copy\" ../state/*/runs/*/journal.jsonl; do sleep 0.02; done' }, \
         { write = 'b.txt', text = 'b' }]\n\
         end = { result = '<promise>COMPLETE</promise>' }",
    );
    let mut command = env.command(&run_of(&script, &["-m", "3"]));
    let output =
        finish(command.env("NIGHTWRIGHT_LOGS_DIR", ".nightwright/logs").spawn().unwrap()).exits(0);
    drop(disk);
    assert_eq!(run_outcome(&env.journal()), "completed");
    let journal = env.journal();
    let warnings: Vec<_> = journal
        .iter()
        .filter_map(|record| match &record.event {
            Event::Note(NoteEvent::Warning { text }) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    let [warning] = warnings.as_slice() else { panic!("{warnings:?}") };
    assert!(warning.starts_with("cannot write the copy of the log `"));
    assert!(warning.contains("No space left on device"), "{warning}");
    assert_eq!(output.err.matches("cannot write the copy").count(), 1, "{}", output.err);
    let log = the_log(&env);
    assert!(log.len() > 100_000 && log.contains("\nEND OF RUN\n"), "{} bytes", log.len());
}

/// Makes three short runs, and returns their folders in order.
fn three_runs(env: &TestEnv) -> Vec<PathBuf> {
    let script = env.script(SHORT);
    let mut runs: Vec<PathBuf> = Vec::new();
    for _ in 0..3 {
        env.run(&run_of(&script, &["-m", "1"])).exits(0);
        runs.extend(env.runs().into_iter().find(|run| !runs.contains(run)));
    }
    runs
}

#[test]
fn large_files_of_old_runs_are_deleted_and_their_history_stays() {
    let env = TestEnv::new();
    let runs = three_runs(&env);
    // The log of a running or killed run is never touched.
    let mut child = in_the_second_iteration(&env);
    kill(&mut child);
    let killed = env.runs().into_iter().find(|run| !runs.contains(run)).unwrap();
    let script = env.script("[[attempt]]\nend = { hang = true }");
    let run = run_of(&script, &["-m", "1"]);
    let mut command = env.command(&run);
    let mut child =
        RunningCommand::from(command.env("NIGHTWRIGHT_LOGS_KEEP_RUNS", "1").spawn().unwrap());
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
    env.run(&["log", &id]).exits(1).says(&["pruned to make room", "hint: ", "--json"]);
    env.run(&["log", &id, "--raw"]).exits(1).says(&["pruned to make room"]);
    let journal = fs::read_to_string(runs[0].join("journal.jsonl")).unwrap();
    assert_eq!(env.run(&["log", &id, "--json"]).exits(0).out, journal);
    assert!(env.run(&["status", &id]).exits(0).out.contains("judged complete by a model"));
}

#[test]
fn runs_that_only_judged_push_out_none_that_worked() {
    let env = TestEnv::new();
    env.run(&["new", "port", "--mode", "loop"]).exits(0);
    env.file(".nightwright/tasks/port/INSTRUCTIONS.md", "Port it.\n");
    env.file(".nightwright/config.toml", "verify.model = \"off\"\n");
    let script = env.script(SHORT);
    env.run(&run_of(&script, &["-m", "1"])).exits(0);
    let mut runs = env.runs();
    let judge = ["verify", "port", "--verify", "true"];
    for _ in 0..3 {
        let mut command = env.command(&judge);
        finish(command.env("NIGHTWRIGHT_LOGS_KEEP_RUNS", "1").spawn().unwrap());
        runs.extend(env.runs().into_iter().find(|run| !runs.contains(run)));
    }
    until("pruned", || {
        // The next one does the work that an earlier one did not finish.
        let mut command = env.command(&judge);
        finish(command.env("NIGHTWRIGHT_LOGS_KEEP_RUNS", "1").spawn().unwrap());
        logs(&runs[1]).is_empty()
    });
    assert_eq!(logs(&runs[0]).len(), 1, "the only one that worked");
    assert!(runs[0].join("output/001-1.ndjson").exists());
}

#[test]
fn a_link_is_not_followed_when_old_runs_are_pruned() {
    let env = TestEnv::new();
    let runs = three_runs(&env);
    let elsewhere = env.path("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("mine.txt"), "mine").unwrap();
    // The output of one run, and all of another.
    fs::remove_dir_all(runs[0].join("output")).unwrap();
    symlink(&elsewhere, runs[0].join("output")).unwrap();
    let moved = env.path("moved");
    fs::rename(&runs[1], &moved).unwrap();
    symlink(&moved, &runs[1]).unwrap();
    let script = env.script(SHORT);
    let mut command = env.command(&run_of(&script, &["-m", "1"]));
    finish(command.env("NIGHTWRIGHT_LOGS_KEEP_RUNS", "1").spawn().unwrap()).exits(0);
    assert!(logs(&runs[0]).is_empty(), "not pruned");
    assert_eq!(fs::read_to_string(elsewhere.join("mine.txt")).unwrap(), "mine");
    assert!(runs[0].join("output").is_symlink());
    assert!(moved.join("output/001-1.ndjson").exists() && logs(&moved).len() == 1);
}

#[test]
fn a_resumed_run_names_its_new_limits_and_its_newest_log() {
    let env = TestEnv::new();
    let script = env.script("[[attempt]]\nend = { result = 'Not yet.' }");
    env.run(&run_of(&script, &["-m", "1"]));
    let output = env.run(&["resume", "--again", "-m", "2"]);
    let logs = logs(&env.runs()[0]);
    let [_, newest] = logs.as_slice() else { panic!("{logs:?}") };
    let log = fs::read_to_string(newest).unwrap();
    let head: Vec<_> = log.lines().filter(|line| line.starts_with("Limits:")).collect();
    assert!(matches!(head[..], [limits] if limits.contains("2 iterations")), "{log}");
    let name = format!("log: {}", newest.display());
    assert!(output.err.contains(&name), "{name} is not in {}", output.err);
}

#[test]
fn a_damaged_journal_is_named_and_what_there_is_is_printed() {
    let env = TestEnv::new();
    let script = env.script(SHORT);
    env.run(&run_of(&script, &["-m", "1"])).exits(0);
    let run = &env.runs()[0];
    let journal = run.join("journal.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, text.replacen("\"seq\":2", "\"seq\":9", 1)).unwrap();
    let log = env.run(&["log"]).exits(0).says(&["journal.jsonl", "line"]);
    assert!(log.out.contains("END OF RUN") && !log.err.contains("crashed"), "{}", log.err);
    let raw = env.run(&["log", "--raw"]).exits(0);
    let output = fs::read_to_string(run.join("output/001-1.ndjson")).unwrap();
    assert!(raw.out.contains(&output), "{}", raw.out);
}

#[test]
fn a_special_file_in_place_of_an_output_does_not_block() {
    let env = TestEnv::new();
    let step = "steps = [{ write = 'a.txt', text = 'a' }]";
    let script = env.script(&format!("[[attempt]]\n{step}\nend = {{ result = 'x' }}"));
    env.run(&run_of(&script, &["-m", "1"]));
    let output = env.runs()[0].join("output/001-1.ndjson");
    fs::remove_file(&output).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&output).status().unwrap();
    assert!(made.success());
    env.run(&["log", "--raw"]).exits(1).says(&["has no raw output"]);
}

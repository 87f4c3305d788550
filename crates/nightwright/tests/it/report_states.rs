//! `nightwright report`: the report of a run while it is running, after its end, and with a damaged
//! journal.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use nightwright::secrets;
use nightwright::store::run_dir::{self, RunDir};
use nightwright_core::event::{Event, IterationEvent, Record, RunEvent};
use nightwright_core::journal::encode;
use serde_json::Value;

use super::git::git;
use super::harness::{TestEnv, finish};
use super::sample_run::SampleRun;

/// A rejected claim, then an accepted one.
const TWO_CLAIMS: &str = r#"
[[attempt]]
cost = 0.25
steps = [{ say = "I begin." }, { write = "a.txt", text = "a" }]
end = { result = "All of it.\n<promise>COMPLETE</promise>" }

[[attempt]]
cost = 0.5
steps = [{ write = "done.txt", text = "yes" }]
end = { result = "Now really <b>all</b> of it, @everyone.\n<promise>COMPLETE</promise>" }
"#;

fn over() -> TestEnv {
    let env = TestEnv::new();
    let script = env.script(TWO_CLAIMS);
    let mut arguments =
        vec!["run", "-p", "Do it all.", "-m", "5", "--max-cost", "10", "--no-delay"];
    arguments.extend(["--verify", "test -e done.txt", "--dry-run", "--rehearsal", &script]);
    env.run(&arguments).exits(0);
    env
}

fn report(env: &TestEnv, more: &[&str]) -> String {
    env.run(&[&["report"], more].concat()).exits(0).out
}

/// Writes the journal of a sample run into the state of the project.
pub(crate) fn made_up(env: &TestEnv, run: &SampleRun) -> RunDir {
    let home = run_dir::project_folder(&env.path("state"), &env.project()).unwrap();
    let folder = RunDir::create(&home, run.start).unwrap();
    write(&folder, &run.records());
    folder
}

/// Replaces the records in the journal of a run.
pub(crate) fn write(folder: &RunDir, records: &[Record]) {
    let mut lines = Vec::new();
    for (seq, record) in (1..).zip(records) {
        encode(&mut lines, seq, folder.id(), record);
    }
    fs::write(folder.journal(), lines).unwrap();
}

/// Damages a line of a journal, counted from 1.
fn damage(folder: &RunDir, line: usize) {
    let text = fs::read_to_string(folder.journal()).unwrap();
    let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
    lines[line - 1] = lines[line - 1].replace("\"event\"", "\"Event\"");
    fs::write(folder.journal(), lines.join("\n") + "\n").unwrap();
}

/// Creates a commit and returns its hash.
pub(crate) fn commit(project: &Path, message: &str) -> String {
    let who = ["-c", "user.name=a", "-c", "user.email=a"];
    git(project, &[&who[..], &["commit", "--quiet", "--allow-empty", "-m", message]].concat());
    git(project, &["rev-parse", "HEAD"])
}

/// Sets the first and the last commit of a run.
pub(crate) fn between(records: &mut [Record], from: &str, to: &str) {
    for record in records {
        if let Event::Run(RunEvent::Started(started)) = &mut record.event {
            started.git_head = Some(from.to_owned());
        } else if let Event::Iteration(IterationEvent::Started { start, .. }) = &mut record.event {
            start.head = Some(from.to_owned());
        } else if let Event::Iteration(IterationEvent::Finished(finished)) = &mut record.event
            && let Some(mark) = &mut finished.end
        {
            mark.head = Some(to.to_owned());
        }
    }
}

fn noon() -> Timestamp {
    "2026-11-16T12:00:00Z".parse().unwrap()
}

#[test]
fn a_report_tells_the_claims_what_they_cost_and_what_became_of_them() {
    let env = over();
    let page = report(&env, &[]);
    for part in [
        "# Do it all.\n\n**Rehearsal.** Task completed successfully after 2 iterations; \
         verified by `test -e done.txt` and a model's verdict\n\n*This is a rehearsal: the rehearsal agent replaces the real one and ",
        "| cost | rehearsal, nothing spent (simulated cost: $0.76) |\n",
        "| cost per accepted change | ",
        "**Iteration 1: rejected.** Claimed by the completion marker; ",
        "- check `test -e done.txt`: failed (exit 1), ",
        "- check `test -e done.txt`: passed, ",
        "- **Iteration 1:** claim rejected, 1 file, $0.25, ",
        "- **Iteration 2:** claim accepted, 1 file, $0.51, ",
        "`Now really <b>all</b> of it, @everyone.",
    ] {
        assert!(page.contains(part), "{part} is not in:\n{page}");
    }
}

#[test]
fn the_file_extension_selects_the_format() {
    let env = over();
    for (name, begins) in
        [("a.html", "<!doctype html>"), ("a.md", "# Do it all."), ("a.json", "{"), ("a", "# Do")]
    {
        env.run(&["report", "-o", name]).exits(0).says(&["wrote the report of run", name]);
        let text = fs::read_to_string(env.project().join(name)).unwrap();
        assert!(text.starts_with(begins), "{name}: {text}");
    }
    env.run(&["report", "--html", "-o", "b.md"]).exits(0);
    let text = fs::read_to_string(env.project().join("b.md")).unwrap();
    assert!(text.starts_with("<!doctype html>"));
    assert!(report(&env, &["--html"]).starts_with("<!doctype html>"));
    env.run(&["report", "--html", "--json"]).exits(2);
}

#[test]
fn a_dash_is_standard_output_and_a_folder_that_is_not_there_is_a_slip() {
    let env = over();
    assert_eq!(report(&env, &["-o", "-"]), report(&env, &[]));
    assert!(!env.project().join("-").exists());
    env.run(&["report", "-o", "a.pdf"]).exits(2).says(&[
        "error: cannot write a report as `.pdf`",
        "hint: use a name that ends in .md, .html or .json",
    ]);
    assert!(!env.project().join("a.pdf").exists());
    env.run(&["report", "-o", "nigth/a.html"])
        .exits(2)
        .says(&["the folder `nigth` does not exist"]);
    assert!(!env.project().join("nigth").exists());
}

#[test]
fn nothing_but_a_regular_file_is_written_over() {
    let env = over();
    env.file("mine.txt", "mine");
    fs::create_dir(env.project().join("folder")).unwrap();
    symlink(env.project().join("mine.txt"), env.project().join("link.html")).unwrap();
    for name in ["folder", "link.html", "/dev/null"] {
        env.run(&["report", "-o", name]).exits(2).says(&[name, "is not a regular file"]);
    }
    assert_eq!(fs::read_to_string(env.project().join("mine.txt")).unwrap(), "mine");
    env.run(&["report", "-o", "mine.txt"]).exits(0);
    assert_ne!(fs::read_to_string(env.project().join("mine.txt")).unwrap(), "mine");
}

/// Fails if a member of an object, at any depth, is missing in the help of its command.
fn is_documented(help: &str, object: &Value) {
    for (name, value) in object.as_object().into_iter().flatten() {
        let between = |c: char| !(c.is_alphanumeric() || c == '_');
        assert!(help.split(between).any(|word| word == name), "{name} is not in the help:\n{help}");
        // The event reference documents the members of these.
        if !["limits", "totals", "tokens", "result", "changes"].contains(&name.as_str()) {
            value.as_array().into_iter().flatten().for_each(|item| is_documented(help, item));
            is_documented(help, value);
        }
    }
}

#[test]
fn the_object_has_what_the_help_says_and_no_more() {
    let env = over();
    let page: Value = serde_json::from_str(&report(&env, &["--json"])).unwrap();
    assert_eq!((&page["status"], &page["is_rehearsal"]), (&"rehearsed".into(), &true.into()));
    assert_eq!(page["iterations"][0]["status"], "rejected");
    assert_eq!(page["iterations"][0]["claims"][0]["checks"][0]["result"]["how"]["code"], 1);
    assert!(page["paths"]["log"].as_str().unwrap().contains("/iterate-"), "{page}");
    // Create one of each kind of object.
    env.run(&["new", "a"]).exits(0);
    env.file(".nightwright/tasks/a/TODO.md", "- [x] one\n- [ ] two\n");
    made_up(&env, &SampleRun::new("a", 2, noon()));
    for (command, arguments) in [
        (&["report"][..], &[][..]),
        (&["status"], &[]),
        (&["status"], &["--all"]),
        (&["list"], &[]),
        (&["task", "show"], &["a"]),
    ] {
        let help = env.run(&[command, &["--help"]].concat()).exits(0).out;
        let page = env.run(&[command, arguments, &["--json"]].concat()).exits(0).out;
        let page: Value = serde_json::from_str(&page).unwrap();
        let page = if page.is_array() { page[0].clone() } else { page };
        assert!(page.is_object(), "{page}");
        is_documented(&help, &page);
    }
}

#[test]
fn a_run_that_is_running_is_reported_as_far_as_it_is() {
    let env = TestEnv::new();
    let script = env.script(
        "[[attempt]]\nsteps = [{ run = \"while [ ! -e go ]; do sleep 0.02; done\" }]\n\
         end = { result = \"<promise>COMPLETE</promise>\" }\n",
    );
    let mut arguments = vec!["run", "-p", "Do it", "-m", "2", "--no-delay", "--dry-run"];
    arguments.extend(["--rehearsal", &script]);
    let child = env.start(&arguments);
    env.wait_for("agent_ready");
    let page = report(&env, &[]);
    assert!(page.contains("**Still running.**"), "{page}");
    assert!(page.contains("*The run is still in progress.*"), "{page}");
    assert!(page.contains("- **Iteration 1:** in progress"), "{page}");
    env.file("go", "");
    finish(child).exits(0);
    assert!(!report(&env, &[]).contains("going on"));
}

#[test]
fn a_damaged_journal_is_reported_up_to_the_damage_and_says_so() {
    let env = TestEnv::new();
    let run = made_up(&env, &SampleRun::new("a", 6, noon()));
    let text = fs::read_to_string(run.journal()).unwrap();
    let lines: Vec<_> = text.lines().collect();
    damage(&run, 10);
    let output = env.run(&["report"]).exits(0).says(&["warning: line 10 of", "is damaged"]);
    assert!(
        output.out.contains("**Unknown.** Outcome unknown: the journal is damaged from line 10"),
        "{}",
        output.out
    );
    assert!(!output.out.contains("nightwright resume"), "{}", output.out);
    assert!(output.out.contains("## Incomplete"), "{}", output.out);
    assert!(output.out.contains("skipped this line and all later ones"), "{}", output.out);
    assert!(output.out.contains("**Iteration 1:**"), "{}", output.out);
    assert!(env.run(&["report", "--html"]).exits(0).out.contains("<h2>Incomplete</h2>"));

    fs::write(run.journal(), format!("{}\n{}", lines[..12].join("\n"), &lines[12][..20])).unwrap();
    let page = report(&env, &[]);
    assert!(page.contains("the end of the journal is incomplete (20 bytes)"), "{page}");
    assert!(page.contains("**Crashed.**"), "{page}");
}

#[test]
fn all_agree_on_the_last_run_though_its_journal_is_damaged() {
    let env = TestEnv::new();
    env.run(&["new", "a"]).exits(0);
    made_up(&env, &SampleRun::new("a", 2, noon()));
    let last = made_up(&env, &SampleRun::new("a", 6, noon() + SignedDuration::from_hours(3)));
    damage(&last, 15);
    let id = last.id().0.as_str();

    let output = env.run(&["status"]).exits(0).says(&["warning: line 15 of", "is damaged"]);
    assert!(
        output.out.contains("state         unknown: the end of its journal is unreadable"),
        "{}",
        output.out
    );
    assert!(output.out.contains("incomplete    line 15 of"), "{}", output.out);
    assert!(
        output.out.contains("iteration     3 of at most 20\n"),
        "what is before it is told: {}",
        output.out
    );
    assert!(!output.out.contains("nightwright resume"), "{}", output.out);

    let output = env.run(&["list"]).exits(0);
    let line = output.out.lines().nth(1).unwrap();
    assert!(line.contains("error") && line.contains("is unknown: line 15 of"), "{line}");
    let output = env
        .run(&["task", "show", "a"])
        .exits(0)
        .says(&["warning: the result of run ", "is damaged"]);
    assert!(output.out.contains(&format!("last run      {id}: its result is unknown")));
    assert!(!output.out.contains("nightwright resume"), "{}", output.out);
    assert!(output.out.contains("start another: nightwright run a"), "{}", output.out);

    let object = |words: &[&str]| -> Value {
        serde_json::from_str(&env.run(&[words, &["--json"]].concat()).exits(0).out).unwrap()
    };
    for words in [&["status"][..], &["status", "a"], &["report"], &["report", "a"]] {
        let page = object(words);
        assert_eq!((&page["run"], &page["state"]), (&id.into(), &"unknown".into()), "{words:?}");
        assert!(page["missing"][0].as_str().unwrap().contains("line 15 of"), "{page}");
    }
    assert_eq!(object(&["task", "show", "a"])["last_run"]["id"], id);
    let row = &object(&["list"])[0];
    assert_eq!((&row["last_run"]["id"], &row["last_run"]["outcome"]), (&id.into(), &Value::Null));
    assert!(row["problem"].as_str().unwrap().contains("line 15 of"), "{row}");
}

#[test]
fn the_commits_of_a_run_are_listed_by_their_subjects() {
    let env = TestEnv::new();
    let project = env.project();
    git(&project, &["init", "--quiet"]);
    let from = commit(&project, "before the run");
    commit(&project, "orders: use the new router");
    let to = commit(&project, "invoices: see https://example.org\n\nand more");
    let run = SampleRun::new("a", 2, noon());
    let folder = made_up(&env, &run);
    let mut records = run.records();
    between(&mut records, &from, &to);
    write(&folder, &records);
    let page = report(&env, &[]);
    assert!(
        page.contains(&format!("- `{}` `invoices: see https://example.org`\n", &to[..10])),
        "{page}"
    );
    assert!(page.contains("` orders: use the new router\n"), "{page}");
    assert!(!page.contains("before the run"), "{page}");
    fs::remove_dir_all(project.join(".git")).unwrap();
    let page = report(&env, &[]);
    assert!(page.contains("their subjects are unknown: there is no repository"), "{page}");
}

#[test]
fn secrets_in_the_subjects_of_commits_are_masked_in_every_format() {
    const VARIABLE: &str = "hunter2-of-the-environment";
    const OPERATOR_SECRET: &str = "hunter3-that-the-run-was-told";
    let env = TestEnv::new();
    let project = env.project();
    git(&project, &["init", "--quiet"]);
    let from = commit(&project, "before the run");
    // The secret is at the position where a long subject is truncated.
    let long = format!("{}{VARIABLE}", "x".repeat(190));
    commit(&project, &long);
    let token = concat!("gh", "p_", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let to = commit(&project, &format!("log in with {VARIABLE}, {OPERATOR_SECRET} and {token}"));
    let run = SampleRun::new("a", 2, noon());
    let folder = made_up(&env, &run);
    let mut records = run.records();
    between(&mut records, &from, &to);
    if let Event::Run(RunEvent::Started(started)) = &mut records[0].event {
        started.settings.goal = format!("Use {OPERATOR_SECRET}.");
        started.settings.masked = true;
        secrets::save_settings(folder.path(), &started.settings).unwrap();
        started.settings.goal = format!("Use {}.", "*".repeat(OPERATOR_SECRET.len()));
    }
    write(&folder, &records);
    for format in ["--markdown", "--html", "--json"] {
        let mut command = env.command(&["report", format]);
        let page = finish(command.env("DB_PASSWORD", VARIABLE).spawn().unwrap()).exits(0).out;
        assert!(page.contains("log in with ****"), "{page}");
        for part in ["hunter2", "hunter3", "a1B2c3"] {
            assert!(!page.contains(part), "{part} is in {page}");
        }
    }
    // If the secrets are unknown, nothing is printed.
    fs::create_dir_all(project.join(".nightwright")).unwrap();
    env.file(".nightwright/config.toml", "[redact]\npatterns = [\"(\"]\n");
    let page = report(&env, &[]);
    assert!(page.contains("their subjects are unknown: "), "{page}");
    assert!(!page.contains("log in"), "{page}");
}

#[test]
fn the_last_of_two_runs_of_the_same_second_is_the_one_that_began_later() {
    let env = TestEnv::new();
    env.run(&["new", "a"]).exits(0);
    // The names have a random order, so five of them rule out a coincidence.
    let began = |millis| SampleRun::new("a", 1, noon() + SignedDuration::from_millis(millis));
    let later = made_up(&env, &began(900));
    let others: Vec<PathBuf> =
        (1..5).map(|number| made_up(&env, &began(number)).path().to_owned()).collect();
    let wanted = later.id().0.as_str();
    for words in [&["status", "--json"][..], &["status", "a", "--json"], &["report", "--json"]] {
        let page: Value = serde_json::from_str(&env.run(words).exits(0).out).unwrap();
        assert_eq!(page["run"], wanted, "{words:?}, not one of {others:?}");
    }
    let page: Value =
        serde_json::from_str(&env.run(&["task", "show", "a", "--json"]).exits(0).out).unwrap();
    assert_eq!(page["last_run"]["id"], wanted);
    assert_eq!(page["iterations"]["execution"], 5);
}

#[test]
fn the_next_prompt_can_be_printed_as_json() {
    let env = TestEnv::new();
    let object = env.run(&["prompt", "-p", "Do it all.", "-m", "2", "--json"]).exits(0).out;
    let page: Value = serde_json::from_str(&object).unwrap();
    assert!(page["prompt"].as_str().unwrap().contains("Do it all."), "{page}");
    assert!(page["system"].is_string() && page["notes"].is_array(), "{page}");
}

//! `legwork report`: a run on a page, while it goes on, after its end, and where its journal is
//! damaged.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use jiff::{SignedDuration, Timestamp};
use legwork::journal::{RunDir, run_dir};
use legwork_core::chronicle::SampleRun;
use legwork_core::journal::encode;
use serde_json::Value;

use super::git::git;
use super::harness::{Hermit, finish};

/// A rejected claim, then one that is believed.
const TWO_CLAIMS: &str = r#"
[[attempt]]
cost = 0.25
steps = [{ say = "I begin." }, { write = "a.txt", text = "a" }]
ending = { result = "All of it.\n<promise>COMPLETE</promise>" }

[[attempt]]
cost = 0.5
steps = [{ write = "done.txt", text = "yes" }]
ending = { result = "Now really <b>all</b> of it, @everyone.\n<promise>COMPLETE</promise>" }
"#;

fn over() -> Hermit {
    let hermit = Hermit::new();
    let script = hermit.script(TWO_CLAIMS);
    let mut arguments =
        vec!["run", "-p", "Do it all.", "-m", "5", "--max-cost", "10", "--no-delay"];
    arguments.extend(["--verify", "test -e done.txt", "--dry-run", "--rehearsal", &script]);
    hermit.run(&arguments).exits(0);
    hermit
}

fn report(hermit: &Hermit, more: &[&str]) -> String {
    hermit.run(&[&["report"], more].concat()).exits(0).out
}

/// Puts the journal of a made-up run into the state of the project.
pub(crate) fn made_up(hermit: &Hermit, run: &SampleRun) -> RunDir {
    let home = run_dir::project_folder(&hermit.path("state"), &hermit.project()).unwrap();
    let folder = RunDir::create(&home, run.start).unwrap();
    let mut lines = Vec::new();
    for (seq, record) in (1..).zip(run.records()) {
        encode(&mut lines, seq, folder.id(), &record);
    }
    fs::write(folder.journal(), lines).unwrap();
    folder
}

fn noon() -> Timestamp {
    "2026-11-16T12:00:00Z".parse().unwrap()
}

#[test]
fn a_report_tells_the_claims_what_they_cost_and_what_became_of_them() {
    let hermit = over();
    let page = report(&hermit, &[]);
    for part in [
        "# Do it all.\n\n**Done and verified.** Task completed successfully after 2 iterations; \
         verified by `test -e done.txt`",
        "| cost | $0.76 of $10.00 |\n",
        "| cost per accepted change | ",
        "**Iteration 1: rejected.** Claimed by the promise marker; ",
        "- check `test -e done.txt`: failed (exit 1), ",
        "- check `test -e done.txt`: passed (exit 0), ",
        "- **Iteration 1:** claim rejected, 1 file, $0.25, ",
        "- **Iteration 2:** claim believed, 1 file, $0.51, ",
        "`Now really <b>all</b> of it, @everyone.",
    ] {
        assert!(page.contains(part), "{part} is not in:\n{page}");
    }
}

#[test]
fn the_ending_of_the_file_chooses_the_format() {
    let hermit = over();
    for (name, begins) in
        [("a.html", "<!doctype html>"), ("a.md", "# Do it all."), ("a.json", "{"), ("a", "# Do")]
    {
        hermit.run(&["report", "-o", name]).exits(0).says(&["wrote the report of run", name]);
        let text = fs::read_to_string(hermit.project().join(name)).unwrap();
        assert!(text.starts_with(begins), "{name}: {text}");
    }
    hermit.run(&["report", "--html", "-o", "b.md"]).exits(0);
    let text = fs::read_to_string(hermit.project().join("b.md")).unwrap();
    assert!(text.starts_with("<!doctype html>"));
    assert!(report(&hermit, &["--html"]).starts_with("<!doctype html>"));
    hermit.run(&["report", "--html", "--json"]).exits(2);
}

#[test]
fn nothing_but_a_plain_file_is_written_over() {
    let hermit = over();
    hermit.file("mine.txt", "mine");
    fs::create_dir(hermit.project().join("folder")).unwrap();
    symlink(hermit.project().join("mine.txt"), hermit.project().join("link.html")).unwrap();
    for name in ["folder", "link.html", "/dev/null"] {
        hermit.run(&["report", "-o", name]).exits(2).says(&[name, "is not a plain file"]);
    }
    assert_eq!(fs::read_to_string(hermit.project().join("mine.txt")).unwrap(), "mine");
    hermit.run(&["report", "-o", "mine.txt"]).exits(0);
    assert_ne!(fs::read_to_string(hermit.project().join("mine.txt")).unwrap(), "mine");
}

#[test]
fn the_object_has_what_the_help_says_and_no_more() {
    let hermit = over();
    let help = hermit.run(&["report", "--help"]).exits(0).out;
    let page: Value = serde_json::from_str(&report(&hermit, &["--json"])).unwrap();
    assert_eq!(page["verdict"], "verified");
    assert_eq!(page["iterations"][0]["fate"], "rejected");
    assert_eq!(page["iterations"][0]["claims"][0]["checks"][0]["verdict"]["how"]["code"], 1);
    let iteration = &page["iterations"][0];
    for object in [&page, iteration, &iteration["attempts"][0], &iteration["claims"][0]] {
        for name in object.as_object().unwrap().keys() {
            let said = |c: char| !(c.is_alphanumeric() || c == '_');
            assert!(help.split(said).any(|word| word == name), "{name} is not in the help");
        }
    }
}

#[test]
fn a_run_that_is_going_on_is_told_as_far_as_it_is() {
    let hermit = Hermit::new();
    let script = hermit.script(
        "[[attempt]]\nsteps = [{ run = \"while [ ! -e go ]; do sleep 0.02; done\" }]\n\
         ending = { result = \"<promise>COMPLETE</promise>\" }\n",
    );
    let mut arguments = vec!["run", "-p", "Do it", "-m", "2", "--no-delay", "--dry-run"];
    arguments.extend(["--rehearsal", &script]);
    let child = hermit.start(&arguments);
    hermit.wait_for("agent_ready");
    let page = report(&hermit, &[]);
    assert!(page.contains("**Still running.**"), "{page}");
    assert!(page.contains("*The run is going on; this is how far it is.*"), "{page}");
    assert!(page.contains("- **Iteration 1:** going on"), "{page}");
    hermit.file("go", "");
    finish(child).exits(0);
    assert!(!report(&hermit, &[]).contains("going on"));
}

#[test]
fn a_damaged_journal_is_told_up_to_the_damage_and_says_so() {
    let hermit = Hermit::new();
    let run = made_up(&hermit, &SampleRun::new("a", 6, noon()));
    let text = fs::read_to_string(run.journal()).unwrap();
    let lines: Vec<_> = text.lines().collect();
    let broken: Vec<_> =
        lines
            .iter()
            .enumerate()
            .map(|(place, line)| {
                if place == 9 { line.replace("\"event\"", "\"Event\"") } else { (*line).to_owned() }
            })
            .collect();
    fs::write(run.journal(), broken.join("\n") + "\n").unwrap();
    let did = hermit.run(&["report"]).exits(0).says(&["warning: line 10 of", "is damaged"]);
    assert!(did.out.contains("## This is not all of it"), "{}", did.out);
    assert!(did.out.contains("that line and all after it are missing here"), "{}", did.out);
    assert!(did.out.contains("**Iteration 1:**"), "{}", did.out);
    assert!(hermit.run(&["report", "--html"]).exits(0).out.contains("This is not all of it"));

    fs::write(run.journal(), format!("{}\n{}", lines[..12].join("\n"), &lines[12][..20])).unwrap();
    let page = report(&hermit, &[]);
    assert!(page.contains("the last 20 bytes of the journal were not written whole"), "{page}");
    assert!(page.contains("**Broken off.**"), "{page}");
}

#[test]
fn the_commits_of_a_run_are_told_by_their_subjects() {
    let hermit = Hermit::new();
    let project = hermit.project();
    git(&project, &["init", "--quiet"]);
    let commit = |message: &str| {
        git(
            &project,
            &[
                "-c",
                "user.name=a",
                "-c",
                "user.email=a",
                "commit",
                "--quiet",
                "--allow-empty",
                "-m",
                message,
            ],
        );
        git(&project, &["rev-parse", "HEAD"])
    };
    let from = commit("before the run");
    let mut run = SampleRun::new("a", 2, noon());
    run.head = Some(from);
    let folder = made_up(&hermit, &run);
    commit("orders: use the new router");
    let to = commit("invoices: see https://example.org\n\nand more");
    // The run began at the first commit and ended at the last.
    let mut lines = Vec::new();
    for (seq, mut record) in (1..).zip(run.records()) {
        if let legwork_core::event::Event::IterationFinished(finished) = &mut record.event
            && let Some(mark) = &mut finished.end
        {
            mark.head = Some(to.clone());
        }
        encode(&mut lines, seq, folder.id(), &record);
    }
    fs::write(folder.journal(), lines).unwrap();
    let page = report(&hermit, &[]);
    assert!(
        page.contains(&format!("- `{}` `invoices: see https://example.org`\n", &to[..10])),
        "{page}"
    );
    assert!(page.contains("` orders: use the new router\n"), "{page}");
    assert!(!page.contains("before the run"), "{page}");
    fs::remove_dir_all(project.join(".git")).unwrap();
    let page = report(&hermit, &[]);
    assert!(page.contains("what they say is not known: the repository is not there"), "{page}");
}

#[test]
fn the_last_of_two_runs_of_the_same_second_is_the_one_that_began_later() {
    let hermit = Hermit::new();
    hermit.run(&["new", "a"]).exits(0);
    // By chance the names are in either order: with five of them it is never luck.
    let began = |millis| SampleRun::new("a", 1, noon() + SignedDuration::from_millis(millis));
    let later = made_up(&hermit, &began(900));
    let others: Vec<PathBuf> =
        (1..5).map(|number| made_up(&hermit, &began(number)).path().to_owned()).collect();
    let wanted = later.id().0.as_str();
    for words in [&["status", "--json"][..], &["status", "a", "--json"], &["report", "--json"]] {
        let page: Value = serde_json::from_str(&hermit.run(words).exits(0).out).unwrap();
        assert_eq!(page["run"], wanted, "{words:?}, not one of {others:?}");
    }
    let page: Value =
        serde_json::from_str(&hermit.run(&["show", "a", "--json"]).exits(0).out).unwrap();
    assert_eq!(page["last_run"]["id"], wanted);
    assert_eq!(page["iterations"]["execution"], 5);
}

#[test]
fn what_the_next_iteration_is_told_can_be_had_as_an_object() {
    let hermit = Hermit::new();
    let object = hermit.run(&["prompt", "-p", "Do it all.", "-m", "2", "--json"]).exits(0).out;
    let page: Value = serde_json::from_str(&object).unwrap();
    assert!(page["prompt"].as_str().unwrap().contains("Do it all."), "{page}");
    assert!(page["system"].is_string() && page["notes"].is_array(), "{page}");
}

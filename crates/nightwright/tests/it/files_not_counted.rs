//! Files that change during a run without being work: nightwright's own output, and files written
//! by checks.

use std::fs::File;
use std::process::Stdio;

use nightwright_core::event::{Event, GateEvent, IterationEvent, NoteEvent, Progress, Record};
use nightwright_core::run_view::shell_word;

use super::git::git;
use super::harness::{RunningCommand, TestEnv, finish, run_outcome};

/// The progress of each iteration.
fn movements(journal: &[Record]) -> Vec<Progress> {
    let finished = |record: &Record| match &record.event {
        Event::Iteration(IterationEvent::Finished(finished)) => Some(finished.progress),
        _ => None,
    };
    journal.iter().filter_map(finished).collect()
}

/// The files in the last inspection of the gate.
fn inspected(journal: &[Record]) -> Vec<String> {
    let changes = journal.iter().rev().find_map(|record| match &record.event {
        Event::Gate(GateEvent::ChangesInspected { changes, .. }) => Some(changes.clone()),
        _ => None,
    });
    changes.unwrap().listed.into_iter().map(|file| file.path).collect()
}

fn warnings(journal: &[Record]) -> Vec<String> {
    let warning = |record: &Record| match &record.event {
        Event::Note(NoteEvent::Warning { text }) => Some(text.clone()),
        _ => None,
    };
    journal.iter().filter_map(warning).collect()
}

/// A repository with one commit.
fn repository() -> TestEnv {
    let env = TestEnv::new();
    env.file("a.txt", "one\n").file("results.json", "{}\n");
    let project = env.project();
    git(&project, &["init", "--quiet", "--initial-branch=main"]);
    git(&project, &["add", "--all"]);
    git(&project, &["commit", "--quiet", "-m", "first"]);
    env
}

/// A script with identical attempts.
fn always(steps: &str, count: usize) -> String {
    format!("[[attempt]]\nsteps = [{steps}]\n").repeat(count)
}

#[test]
fn output_of_a_run_in_the_project_is_no_work() {
    for with_git in [true, false] {
        let env = if with_git { repository() } else { TestEnv::new() };
        let script = env.script(&always(r#"{ say = "Let me look." }"#, 9));
        let into = |name: &str| Stdio::from(File::create(env.project().join(name)).unwrap());
        let mut command = env.command(&[
            "run",
            "look around",
            "-m",
            "9",
            "--no-delay",
            "--dry-run",
            "--rehearsal",
            &script,
            "--output",
            "json",
        ]);
        let mut child = RunningCommand::from(
            command.stdout(into("run.json")).stderr(into("run.log")).spawn().unwrap(),
        );
        child.wait().unwrap();
        let journal = env.journal();
        assert_eq!(run_outcome(&journal), "stagnated", "with git: {with_git}");
        assert_eq!(movements(&journal), [Progress::Idle; 3], "with git: {with_git}");
    }
}

#[test]
fn nor_is_the_file_of_a_tee_behind_a_pipe() {
    let env = repository();
    let script = shell_word(&env.script(&always(r#"{ say = "Let me look." }"#, 9)));
    std::os::unix::fs::symlink(super::agent_env::NIGHTWRIGHT, env.path("bin/nightwright")).unwrap();
    let line = format!(
        "nightwright run 'look around' -m 9 --no-delay --dry-run --rehearsal {script} 2>&1 | \
         cat | tee run.log"
    );
    let mut command = std::process::Command::new("sh");
    command.env_clear().envs(env.command(&[]).get_envs().filter_map(|(k, v)| Some((k, v?))));
    let command = command.args(["-c", &line]).current_dir(env.project());
    let output = finish(
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap(),
    );
    assert!(output.out.contains("Run "), "{}", output.out);
    assert!(std::fs::read_to_string(env.project().join("run.log")).unwrap().contains("Run "));
    let journal = env.journal();
    assert_eq!(run_outcome(&journal), "stagnated");
    assert_eq!(movements(&journal), [Progress::Idle; 3]);
}

#[test]
fn the_gate_does_not_see_what_the_run_prints_also_after_a_resumption() {
    let env = repository();
    let script = env.script(&format!(
        "{}[[attempt]]\nsteps = [{{ write = \"b.txt\", text = \"b\" }}]\n\
         end = {{ result = \"<promise>COMPLETE</promise>\" }}\n",
        always(r#"{ write = "a.txt", text = "two\n" }"#, 1),
    ));
    let into = |name: &str| Stdio::from(File::create(env.project().join(name)).unwrap());
    let first = ["run", "-p", "x", "-m", "1", "--no-delay", "--dry-run", "--rehearsal", &script];
    let mut command = env.command(&[&first[..], &["--verify", "true"]].concat());
    command.stderr(into("first.log")).spawn().unwrap().wait().unwrap();
    let mut command = env.command(&["resume", "-m", "2"]);
    command.stderr(into("second.log")).spawn().unwrap().wait().unwrap();
    let journal = env.journal();
    assert_eq!(run_outcome(&journal), "completed");
    assert_eq!(inspected(&journal), ["a.txt", "b.txt"]);
}

#[test]
fn files_written_by_a_check_are_no_work_and_are_named() {
    let env = repository();
    let check = "n=$(cat n 2>/dev/null || echo 0); echo $((n + 1)) > n; \
                 echo \"{ \\\"run\\\": $n }\" > results.json; false";
    // The agent works once and claims completion. Then it only runs the tests, which write the same
    // files.
    let script = format!(
        "[[attempt]]\nsteps = [{{ write = \"a.txt\", text = \"two\" }}]\n\
         end = {{ result = \"<promise>COMPLETE</promise>\" }}\n{}",
        (1..9).map(|n| always(&format!(
            r#"{{ write = "n", text = "9{n}" }}, {{ write = "results.json", text = "9{n}" }}"#
        ), 1)).collect::<String>(),
    );
    let output = env.rehearse(&script, "9", &["--verify", check]);
    let journal = env.journal();
    let idle = [Progress::Idle; 3];
    assert_eq!(movements(&journal), [&[Progress::Work][..], &idle].concat());
    assert_eq!(run_outcome(&journal), "stagnated");
    let expected = "  the checks wrote files, which do not count as work: `n`, `results.json`";
    assert_eq!(output.err.matches(expected).count(), 1, "{}", output.err);
    assert_eq!(output.err.matches("the checks wrote").count(), 1, "{}", output.err);
}

#[test]
fn files_of_checks_stay_in_the_diff_if_they_are_tracked_or_decide_what_checks_say() {
    let check = "echo $$ > coverage.txt; echo $$ > results.json; echo x > conftest.py";
    let script = "[[attempt]]\nsteps = [{ write = \"a.txt\", text = \"two\" }]\n\
                  end = { result = \"<promise>COMPLETE</promise>\" }\n";
    for with in [&["--no-baseline"][..], &[]] {
        let env = repository();
        env.rehearse(script, "1", &[&["--verify", check], with].concat());
        let journal = env.journal();
        // A file that existed before the first iteration and is unchanged is not a change.
        let expected: &[&str] = match with {
            [] => &["a.txt", "results.json"],
            _ => &["a.txt", "conftest.py", "results.json"],
        };
        assert_eq!(inspected(&journal), expected);
    }
}

#[test]
fn source_code_that_a_check_formats_is_still_work() {
    let env = repository();
    env.file("lib.rs", "fn a() {}\n");
    let check = "sed -i 's/;/ ;/' lib.rs; false";
    let claim = "end = { result = \"<promise>COMPLETE</promise>\" }\n";
    let attempt = |n: u32, end: &str| {
        format!(
            "[[attempt]]\nsteps = [{{ write = \"lib.rs\", text = \"fn a{n}() {{ x(); }}\" }}]\n{end}"
        )
    };
    let script = [attempt(1, claim), attempt(2, ""), attempt(3, "")].concat();
    env.rehearse(&script, "3", &["--verify", check]);
    let journal = env.journal();
    assert_eq!(movements(&journal), [Progress::Work; 3]);
    let said = warnings(&journal);
    assert!(said.iter().any(|text| text == "the checks changed files: `lib.rs`"), "{said:?}");
}

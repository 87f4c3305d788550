//! Whole runs in a repository, with the rehearsal agent.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use nightwright_core::event::{Event, GateEvent, IterationEvent, IterationFinished, Record};
use nightwright_core::run_view::shell_word;

use super::git;
use crate::harness::{Output, TestEnv, run_outcome, shell_path};

/// A project with a commit in it.
fn repository() -> TestEnv {
    let env = TestEnv::new();
    let project = env.project();
    git(&project, &["init", "--quiet", "--initial-branch=main"]);
    for (key, value) in [("user.name", "Ann"), ("user.email", "ann@example.org")] {
        git(&project, &["config", key, value]);
    }
    env.file("a.txt", "one\n");
    git(&project, &["add", "--all"]);
    git(&project, &["commit", "--quiet", "-m", "first"]);
    env
}

/// A script with one attempt for each command line.
fn script(commands: &[&str]) -> String {
    let attempt = |command: &&str| format!("[[attempt]]\nsteps = [{{ run = '''{command}''' }}]\n");
    commands.iter().map(attempt).collect()
}

fn rehearse(env: &TestEnv, commands: &[&str], most: &str) -> Output {
    let script = env.script(&script(commands));
    let run = ["run", "-p", "x", "-m", most, "--dry-run", "--no-delay", "--no-detect"];
    env.run(&[&run[..], &["--rehearsal", &script]].concat())
}

fn iterations(journal: &[Record]) -> Vec<IterationFinished> {
    let mut all = Vec::new();
    for record in journal {
        if let Event::Iteration(IterationEvent::Finished(finished)) = &record.event {
            all.push(finished.as_ref().clone());
        }
    }
    all
}

fn warnings(journal: &[Record]) -> Vec<String> {
    let warnings = journal.iter().filter(|record| record.event.name() == "warning");
    warnings.map(|record| serde_json::to_string(&record.event).unwrap()).collect()
}

#[test]
fn commits_of_nothing_or_of_the_notes_are_no_work() {
    let env = repository();
    let notes = "echo more >>SHARED_TASK_NOTES.md; git add -A; git commit -qm notes";
    let nothing = "git commit -q --allow-empty -m nothing";
    rehearse(&env, &[notes, nothing], "6").exits(0);
    let journal = env.journal();
    assert_eq!(run_outcome(&journal), "stagnated");
    let iterations = iterations(&journal);
    assert_eq!(iterations.iter().map(|one| one.commits).collect::<Vec<_>>(), [1, 1, 1]);
    assert!(warnings(&journal).is_empty(), "{:?}", warnings(&journal));
}

#[test]
fn a_commit_of_what_was_left_is_work_and_going_back_and_forth_is_not() {
    let env = repository();
    let there = "echo two >a.txt";
    let commit = "git commit -qam two; echo three >>a.txt; git commit -qam three";
    let back = "git checkout -q HEAD~1";
    let forth = "git checkout -q main";
    rehearse(&env, &[there, commit, back, forth, back, forth], "6").exits(0);
    let journal = env.journal();
    let iterations = iterations(&journal);
    let figures: Vec<_> = iterations.iter().map(|one| (one.files_changed, one.commits)).collect();
    assert_eq!(figures[..2], [(1, 0), (1, 2)]);
    // `two` was there before it was committed, but the tree of that commit was not looked at.
    assert_eq!(run_outcome(&journal), "stagnated");
    assert_eq!(iterations.len(), 6);
}

#[test]
fn uncommitted_changes_at_the_start_are_no_work_of_the_run() {
    let env = repository();
    env.file("a.txt", "mine\n").file("also.txt", "mine\n");
    rehearse(&env, &["true"], "6").exits(0);
    let journal = env.journal();
    assert_eq!(run_outcome(&journal), "stagnated");
    assert!(iterations(&journal).iter().all(|one| one.files_changed == 0));
    assert_eq!(fs::read_to_string(env.project().join("a.txt")).unwrap(), "mine\n");
}

#[test]
fn commands_that_the_agent_writes_into_git_configuration_never_run() {
    let env = repository();
    let evil = env.path("bin/evil");
    fs::write(&evil, "#!/bin/sh\ntouch \"${0%/*}/ran\"\ncat\n").unwrap();
    fs::set_permissions(&evil, fs::Permissions::from_mode(0o755)).unwrap();
    // Git passes the value to a shell again.
    let (work, evil) = ("echo two >a.txt", shell_word(&shell_path(&evil)));
    let set = |options: &str| {
        format!(
            "git config {options} filter.x.clean {evil}; git config {options} core.fsmonitor {evil}"
        )
    };
    let attributes = "echo '* filter=x' >.gitattributes";
    let configure = format!("{attributes}; {}; {}", set("--global"), set(""));
    rehearse(&env, &[work, &configure, "echo four >a.txt", "true"], "6").exits(0);
    let journal = env.journal();
    assert!(!env.path("bin/ran").exists());
    assert!(warnings(&journal).is_empty(), "{:?}", warnings(&journal));
    let changed: Vec<_> = iterations(&journal).iter().map(|one| one.files_changed).collect();
    assert_eq!(changed[..4], [1, 1, 1, 0]);
}

#[test]
fn a_removed_repository_is_no_work_but_a_finding_of_the_gate() {
    let env = repository();
    let script = env.script(
        "[[attempt]]\nsteps = [{ run = 'rm -rf .git; echo two >a.txt' }]\n\
         [[attempt]]\nsteps = []\nend = { result = \"<promise>COMPLETE</promise>\" }\n",
    );
    let run = ["run", "-p", "x", "-m", "2", "--dry-run", "--no-delay", "--rehearsal", &script];
    env.run(&run);
    let journal = env.journal();
    let changed: Vec<_> = iterations(&journal).iter().map(|one| one.files_changed).collect();
    assert_eq!(changed, [1, 0]);
    let findings = journal.iter().find_map(|record| match &record.event {
        Event::Gate(GateEvent::ChangesInspected { findings, .. }) => Some(findings.clone()),
        _ => None,
    });
    let findings = findings.expect("the gate looks at the changes");
    assert!(findings.iter().any(|finding| finding.path == ".git"), "{findings:?}");
}

#[test]
fn an_iteration_costs_at_most_two_processes_of_git() {
    let env = repository();
    let log = env.path("calls");
    let wrapper = env.path("bin/git");
    let paths = std::env::var_os("PATH").unwrap();
    let real = std::env::split_paths(&paths).map(|folder| folder.join("git"));
    let real = shell_path(&real.into_iter().find(|git| git.is_file()).unwrap());
    let text =
        format!("#!/bin/sh\necho \"$@\" >>{log}\nexec {real} \"$@\"\n", log = env.word("calls"));
    fs::write(&wrapper, text).unwrap();
    fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).unwrap();
    let commit = format!("date +%N >>a.txt; {real} commit -qam work");
    rehearse(&env, &[&commit, "date +%N >>a.txt", &commit, &commit], "4").exits(0);
    let calls = fs::read_to_string(&log).unwrap();
    // Four at the start for the run's own Git folder, and one to survey. One for each iteration,
    // and one more for each of the three that committed. Two read the committed text of `a.txt`,
    // once.
    assert_eq!(calls.lines().count(), 5 + 4 + 3 + 2, "{calls}");
    assert!(calls.lines().all(|call| call.contains("core.fsmonitor=false")), "{calls}");
    let commits: u32 = iterations(&env.journal()).iter().map(|one| one.commits).sum();
    assert_eq!(commits, 3);
}

#[test]
fn the_gate_learns_what_changed_since_the_run_began() {
    let env = repository();
    let script = env.script(
        "[[attempt]]\nsteps = [{ run = 'echo two >>a.txt; git commit -qam two; echo x >b.txt' }]\n\
         end = { result = \"<promise>COMPLETE</promise>\" }\n",
    );
    let run = ["run", "-p", "x", "-m", "2", "--dry-run", "--no-delay", "--rehearsal", &script];
    env.run(&run).exits(0);
    let journal = env.journal();
    let inspected = journal.iter().find_map(|record| match &record.event {
        Event::Gate(GateEvent::ChangesInspected { changes, .. }) => Some(changes.clone()),
        _ => None,
    });
    let changes = inspected.expect("the gate looks at the changes");
    let figures: Vec<_> =
        changes.listed.iter().map(|file| (file.path.as_str(), file.added, file.removed)).collect();
    assert_eq!(figures, [("a.txt", 1, 0), ("b.txt", 1, 0)]);
}

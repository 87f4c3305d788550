//! The checks before the first iteration, on real commands.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use nightwright_core::event::{Event, GateEvent, Record};
use nightwright_core::input::{CheckPurpose, CheckResult};

use super::harness::{RunningCommand, TestEnv, finish, names, run_outcome};

/// Writes the file that the checks below look for, and claims completion.
const WORKS: &str = r#"
[[attempt]]
steps = [{ write = "done.txt", text = "done" }]
end = { result = "<promise>COMPLETE</promise>" }
"#;

/// Prints what cargo prints, and fails until the work is done.
const COUNTS: &str = "test -e done.txt && exit 0; \
                      echo 'test result: FAILED. 12 passed; 2 failed; 0 ignored'; exit 101";

/// The results of the baseline, and whether they were reused from an earlier run.
fn baseline(journal: &[Record]) -> Option<(Vec<CheckResult>, bool)> {
    journal.iter().find_map(|record| match &record.event {
        Event::Gate(GateEvent::ChecksFinished {
            purpose: CheckPurpose::Baseline,
            results,
            reused_from,
            ..
        }) => Some((results.clone(), reused_from.is_some())),
        _ => None,
    })
}

#[test]
fn a_check_that_fails_at_first_is_counted_and_proves_the_work_later() {
    let env = TestEnv::new();
    env.rehearse(WORKS, "3", &["--verify", COUNTS]).exits(0).says(&[
        "Running the checks before the first iteration",
        "failed: 2 of 14 tests",
        "Task completed successfully after 1 iteration",
    ]);
    let journal = env.journal();
    let place = |name| names(&journal).iter().position(|event| *event == name);
    assert!(place("checks_finished") < place("iteration_started"), "{:?}", names(&journal));
}

/// The first check fails once and never again; the second one always fails at first.
#[test]
fn a_check_that_fails_quickly_runs_again_and_is_flaky_if_it_passes_then() {
    let env = TestEnv::new();
    let once = format!("test -e {0} || {{ touch {0}; exit 1; }}", env.word("ran"));
    let output = env.rehearse(WORKS, "3", &["--verify", &once]).exits(0).says(&[
        "is flaky: it failed, then passed on rerun",
        "passing them does not verify the work",
        "judged complete by a model",
    ]);
    assert!(!output.err.contains("` failed"), "{}", output.err);
    let logs = env.runs()[0].join("checks");
    assert!(logs.join("baseline-1-again.log").exists());

    let env = TestEnv::new();
    let counted = format!("echo x >> {}; {COUNTS}", env.word("count"));
    env.rehearse(WORKS, "3", &["--verify", &counted])
        .exits(0)
        .says(&["failed: 2 of 14 tests", "completed successfully after 1 iteration"]);
    let runs = fs::read_to_string(env.path("count")).unwrap().lines().count();
    assert_eq!(runs, 3, "twice before the work, and once after it");
}

#[test]
fn a_check_whose_program_is_missing_refuses_the_run_and_says_how_to_continue() {
    let env = TestEnv::new();
    let check = "no-such-program-here --all";
    let output = env.rehearse(WORKS, "3", &["--verify", check]).exits(2).says(&[
        "Not started: `no-such-program-here --all` cannot run: `no-such-program-here` is not in \
         PATH",
        "--no-baseline",
    ]);
    let journal = env.journal();
    assert_eq!(run_outcome(&journal), "checks_cannot_run");
    assert!(!names(&journal).contains(&"attempt_started"), "{}", output.err);
    // Without the baseline, the run starts and the check fails in the gate.
    env.rehearse(WORKS, "1", &["--verify", check, "--no-baseline"])
        .exits(0)
        .says(&["rejected: `no-such-program-here --all` failed (exit 127)"]);
}

#[test]
fn a_script_that_is_not_executable_cannot_run() {
    let env = TestEnv::new();
    env.file("t.sh", "#!/bin/sh\nexit 0\n");
    let script = env.project().join("t.sh");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o644)).unwrap();
    env.rehearse(WORKS, "1", &["--verify", "./t.sh"])
        .exits(2)
        .says(&["`./t.sh` is not executable"]);
}

#[test]
fn a_program_missing_inside_the_check_is_a_warning() {
    let env = TestEnv::new();
    env.file("t.sh", "test -e done.txt && exit 0\nno-such-runner\n");
    env.rehearse(WORKS, "3", &["--verify", "sh t.sh"]).exits(0).says(&[
        "`sh t.sh` failed because `no-such-runner` is missing",
        "the checks gave no result before the first iteration",
        "judged complete by a model (as far as nightwright knows, no check failed before the run \
         began)",
    ]);
}

#[test]
fn a_check_that_takes_too_long_is_cut_off_and_the_rest_is_not_reached() {
    let env = TestEnv::new();
    let script = env.script(WORKS);
    let slow = "test -e done.txt || sleep 60";
    let run = ["run", "-p", "x", "-m", "2", "--no-delay", "--dry-run", "--rehearsal", &script];
    let mut command = env.command(&[&run[..], &["--verify", slow, "--verify", "true"]].concat());
    let child =
        RunningCommand::from(command.env("NIGHTWRIGHT_VERIFY_BASELINE", "1s").spawn().unwrap());
    finish(child).exits(0).says(&[
        "timed out after ",
        "not enough time to run `true` before the first iteration",
        "judged complete by a model",
    ]);
}

/// The check takes 3 s in the baseline and a little more than its timeout of 6 s in the gate. Its
/// deadline there is three times what the baseline measured.
#[test]
fn a_slow_baseline_extends_the_deadline_of_the_check() {
    let env = TestEnv::new();
    let script = env.script(WORKS);
    let slow = "test -e done.txt || { sleep 3; exit 1; }; sleep 6.2";
    let run = ["run", "-p", "x", "-m", "1", "--no-delay", "--dry-run", "--rehearsal", &script];
    let mut command = env.command(&[&run[..], &["--verify", slow]].concat());
    let child =
        RunningCommand::from(command.env("NIGHTWRIGHT_VERIFY_TIMEOUT", "6s").spawn().unwrap());
    finish(child).exits(0).says(&["Task completed successfully after 1 iteration"]);
}

#[test]
fn a_result_for_the_same_tree_is_reused_and_one_for_another_tree_is_not() {
    let env = TestEnv::new();
    let count = env.path("count");
    let check = format!("echo x >> {}; test -e done.txt || exit 0", env.word("count"));
    let ran = || fs::read_to_string(&count).unwrap_or_default().lines().count();
    let idle = "[[attempt]]\nend = { result = \"Hm.\" }\n";
    env.rehearse(idle, "1", &["--verify", &check]).exits(0);
    assert_eq!(ran(), 1);
    let output = env.rehearse(idle, "1", &["--verify", &check]).exits(0);
    assert_eq!(ran(), 1, "{}", output.err);
    assert!(output.err.contains("passed (cached "), "{}", output.err);
    env.file("another.txt", "x");
    env.rehearse(idle, "1", &["--verify", &check]).exits(0);
    assert_eq!(ran(), 2);
}

#[test]
fn a_failure_is_measured_again_because_its_cause_may_be_gone() {
    let env = TestEnv::new();
    let service = env.path("service");
    let check =
        format!("test -e {} || {{ echo '# pass 1\n# fail 1'; exit 1; }}", env.word("service"));
    let idle = "[[attempt]]\nend = { result = \"Hm.\" }\n";
    env.rehearse(idle, "1", &["--verify", &check]).exits(0).says(&["` failed"]);
    fs::write(&service, "").unwrap();
    env.rehearse(idle, "1", &["--verify", &check]).exits(0).says(&["passed ("]);
}

#[test]
fn no_check_runs_if_one_of_them_cannot() {
    let env = TestEnv::new();
    let checks = ["--verify", "touch ran", "--verify", "cd . && no-such-program-here"];
    env.rehearse(WORKS, "1", &checks).exits(2).says(&["`no-such-program-here` is not in PATH"]);
    assert!(!env.project().join("ran").exists());
}

#[test]
fn a_check_that_needs_a_withheld_variable_refuses_the_run_with_the_setting() {
    let env = TestEnv::new();
    let script = env.script(WORKS);
    let check = "sh -uc 'echo $DB_PASSWORD'";
    let run = ["run", "-p", "x", "-m", "1", "--dry-run", "--rehearsal", &script, "--verify", check];
    let start = |pass: &str| {
        let mut command = env.command(&run);
        command.env("DB_PASSWORD", "not-so-secret-4711").env("NIGHTWRIGHT_VERIFY_PASS_ENV", pass);
        finish(command.spawn().unwrap())
    };
    start("").exits(2).says(&["it needs `DB_PASSWORD`, which checks do not get"]);
    start("DB_PASSWORD").exits(0);
}

#[test]
fn a_detached_run_stays_at_the_terminal_until_its_checks_can_run() {
    let env = TestEnv::new();
    let script = env.script(WORKS);
    let run = ["run", "-p", "x", "-m", "1", "--dry-run", "--rehearsal", &script, "--detach"];
    let check = ["--verify", "no-such-program-here"];
    env.run(&[&run[..], &check].concat()).exits(2).says(&["is not in PATH"]);
}

#[test]
fn a_baseline_that_was_stopped_proves_nothing_when_the_run_is_resumed() {
    let env = TestEnv::new();
    let script = env.script(WORKS);
    let hold = env.path("hold");
    fs::write(&hold, "").unwrap();
    let slow = format!("test ! -e {} || sleep 600", env.word("hold"));
    let run = ["run", "-p", "x", "-m", "2", "--dry-run", "--rehearsal", &script];
    let child = env.start(&[&run[..], &["--verify", &slow, "--verify", "true"]].concat());
    env.wait_for("checks_started");
    env.run(&["stop"]).exits(0);
    finish(child).exits(0);
    fs::remove_file(&hold).unwrap();
    env.run(&["resume"]).exits(0).says(&["judged complete by a model"]);
}

#[test]
fn files_that_the_checks_wrote_before_the_first_iteration_are_no_work() {
    let env = TestEnv::new();
    let idle = "[[attempt]]\nsteps = [{ write = \"coverage.xml\", text = \"2\" }]\n\
                end = { result = \"Hm.\" }\n"
        .repeat(3);
    let check = "echo 1 > coverage.xml; false";
    env.rehearse(&idle, "5", &["--verify", check])
        .exits(0)
        .says(&["the checks wrote files, which do not count as work: `coverage.xml`"]);
    assert_eq!(run_outcome(&env.journal()), "stagnated");
}

#[test]
fn a_stop_ends_the_checks_before_the_first_iteration() {
    for (stop, code, outcome) in
        [(&["stop"][..], 0, "stopped"), (&["stop", "--now"], 130, "interrupted")]
    {
        let env = TestEnv::new();
        let script = env.script(WORKS);
        let child = env.start(&[
            "run",
            "-p",
            "x",
            "-m",
            "2",
            "--verify",
            "sleep 600",
            "--dry-run",
            "--rehearsal",
            &script,
        ]);
        env.wait_for("checks_started");
        env.run(stop).exits(0);
        finish(child).exits(code);
        let journal = env.journal();
        assert_eq!(run_outcome(&journal), outcome);
        assert!(!names(&journal).contains(&"iteration_started"));
    }
}

#[test]
fn turned_off_the_checks_run_only_in_the_gate() {
    let env = TestEnv::new();
    env.rehearse(WORKS, "3", &["--verify", "true", "--no-baseline"])
        .exits(0)
        .says(&["Task completed successfully after 1 iteration"]);
    assert_eq!(baseline(&env.journal()), None);
}

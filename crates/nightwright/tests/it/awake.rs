//! The machine stays awake while a run has something to do.

use std::fs::{self, File};
use std::process::Command;
use std::time::{Duration, Instant};

use super::agent_env::is_alive;
use super::agent_program::program;
use super::harness::{RunningCommand, TestEnv, finish, run_outcome};

/// The timeout of a test; only a failing test takes this long.
const TEST_TIMEOUT: Duration = Duration::from_mins(1);

/// Works as soon as the test creates the file `go`.
const WORKER: &str = "#!/bin/sh\nPATH=/usr/bin:/bin\ncat > /dev/null\n\
                      : > started-$NIGHTWRIGHT_ITERATION\n\
                      until [ -e go ]; do sleep 0.02; done\n\
                      echo x >> made.txt\necho 'Some of it is done.'\n";

/// Records its call and its process, and runs the given command like the real program.
fn inhibit(env: &TestEnv) {
    let seen = env.word("seen");
    fs::create_dir(env.path("seen")).unwrap();
    program(
        env,
        "systemd-inhibit",
        &format!(
            "#!/bin/sh\nprintf '%s\\n' \"$@\" > {seen}/arguments\necho $$ >> {seen}/pids\n\
             while [ \"${{1#--}}\" != \"$1\" ]; do shift; done\n\"$@\"\necho x >> {seen}/ended\n"
        ),
    );
}

/// The IDs of the processes that kept the machine awake.
fn pids(env: &TestEnv) -> Vec<String> {
    let text = fs::read_to_string(env.path("seen/pids")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[track_caller]
fn eventually(what: &str, fact: impl Fn() -> bool) {
    let begun = Instant::now();
    while !fact() {
        assert!(begun.elapsed() < TEST_TIMEOUT, "never came true: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn command(env: &TestEnv, more: &[&str]) -> Command {
    program(env, "worker", WORKER);
    let fixed = ["run", "-p", "x", "-m", "2", "--no-delay", "--agent-command", "worker"];
    let mut command = env.command(&[&fixed[..], more].concat());
    command.env("NIGHTWRIGHT_KEEP_AWAKE", "true");
    command
}

fn start(env: &TestEnv, more: &[&str]) -> RunningCommand {
    command(env, more).spawn().unwrap().into()
}

fn go(env: &TestEnv) {
    env.file("go", "");
}

#[test]
fn the_machine_is_kept_awake_as_long_as_the_run_continues() {
    let env = TestEnv::new();
    inhibit(&env);
    let child = start(&env, &[]);
    eventually("somebody keeps it awake", || pids(&env).len() == 1);
    env.wait_for("attempt_started");
    let run = env.runs()[0].file_name().unwrap().to_str().unwrap().to_owned();
    assert_eq!(
        fs::read_to_string(env.path("seen/arguments")).unwrap(),
        format!("--what=sleep:idle\n--who=nightwright\n--why=run {run}\n--mode=block\ncat\n")
    );
    let keeper = pids(&env).remove(0);
    assert!(is_alive(&keeper));
    assert!(!env.path("seen/ended").exists(), "what it runs has ended");
    go(&env);
    let output = finish(child).exits(0);
    assert!(!output.err.contains("asleep"), "{}", output.err);
    eventually("nobody keeps it awake any more", || !is_alive(&keeper));
    assert_eq!(pids(&env).len(), 1, "once a run is enough");
    assert_eq!(run_outcome(&env.journal()), "max_iterations");
}

#[test]
fn the_inhibitor_dies_with_nightwright_even_on_sigkill() {
    let env = TestEnv::new();
    inhibit(&env);
    let mut child = start(&env, &[]);
    eventually("somebody keeps it awake", || pids(&env).len() == 1);
    let keeper = pids(&env).remove(0);
    child.kill().unwrap();
    child.wait().unwrap();
    eventually("nobody keeps it awake any more", || !is_alive(&keeper));
}

#[test]
fn a_pause_lets_it_sleep_once_nothing_is_running() {
    let env = TestEnv::new();
    inhibit(&env);
    let child = start(&env, &[]);
    eventually("the agent works", || env.project().join("started-1").exists());
    eventually("somebody keeps it awake", || pids(&env).len() == 1);
    let keeper = pids(&env).remove(0);
    env.run(&["pause"]).exits(0);
    env.wait_for("run_paused");
    assert!(is_alive(&keeper), "the agent is still at work");
    go(&env);
    eventually("nobody keeps it awake any more", || !is_alive(&keeper));
    fs::remove_file(env.project().join("go")).unwrap();
    env.run(&["resume"]).exits(0);
    eventually("somebody keeps it awake again", || pids(&env).len() == 2);
    go(&env);
    finish(child).exits(0);
    eventually("nobody is left", || pids(&env).iter().all(|pid| !is_alive(pid)));
}

/// The log of the only run, as written so far.
fn log(env: &TestEnv) -> String {
    let files = fs::read_dir(&env.runs()[0]).unwrap().map(|entry| entry.unwrap().path());
    let log = files.into_iter().find(|path| path.extension().is_some_and(|end| end == "log"));
    log.map(|path| fs::read_to_string(path).unwrap()).unwrap_or_default()
}

#[test]
fn a_refusal_is_no_trouble_and_only_those_who_want_to_know_everything_are_notified() {
    for (level, warnings) in [("progress", 0), ("quiet", 0), ("verbose", 1)] {
        let env = TestEnv::new();
        let refuses = "#!/bin/sh\necho 'Failed to inhibit: Access denied' >&2\n\
                       : > \"$HOME/refused\"\nexit 1\n";
        program(&env, "systemd-inhibit", refuses);
        let said = env.path("said");
        let mut command = command(&env, &["--output", level]);
        let mut child =
            RunningCommand::from(command.stderr(File::create(&said).unwrap()).spawn().unwrap());
        let err = || fs::read_to_string(&said).unwrap();
        eventually("it was refused", || env.path("home/refused").exists());
        let line = "cannot keep the machine awake: `";
        eventually("who wants to know is told", || err().matches(line).count() >= warnings);
        eventually("whoever looks later can read of it", || log(&env).contains(line));
        go(&env);
        assert!(child.wait().unwrap().success(), "{}", err());
        assert_eq!(err().matches(line).count(), warnings, "{level}:\n{}", err());
        assert_eq!(err().matches("Access denied").count(), warnings, "{level}:\n{}", err());
        assert!(!err().contains("warning"), "{level}:\n{}", err());
        assert_eq!(log(&env).matches(line).count(), 1, "{level}:\n{}", log(&env));
        assert_eq!(run_outcome(&env.journal()), "max_iterations");
    }
}

#[test]
fn without_an_inhibitor_the_run_continues() {
    let env = TestEnv::new();
    go(&env);
    let mut command = command(&env, &["-v"]);
    command.env("PATH", env.path("bin"));
    let output = finish(command.spawn().unwrap()).exits(0);
    let line = "cannot keep the machine awake: `systemd-inhibit` is not in PATH";
    assert_eq!(output.err.matches(line).count(), 1, "{}", output.err);
}

#[test]
fn rehearsals_and_disabled_runs_start_no_inhibitor() {
    let env = TestEnv::new();
    inhibit(&env);
    go(&env);
    let mut rehearsal = env.command(&["run", "-p", "x", "-m", "2", "--dry-run", "--no-delay"]);
    rehearsal.env("NIGHTWRIGHT_KEEP_AWAKE", "true");
    finish(rehearsal.spawn().unwrap()).exits(0);
    finish(command(&env, &[]).env("NIGHTWRIGHT_KEEP_AWAKE", "false").spawn().unwrap()).exits(0);
    let mut demo = env.command(&["demo"]);
    finish(demo.env("NIGHTWRIGHT_KEEP_AWAKE", "true").spawn().unwrap()).exits(0);
    assert_eq!(pids(&env), [""; 0]);
}

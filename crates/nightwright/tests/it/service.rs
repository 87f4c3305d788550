//! `nightwright service`, and `nightwright resume --if-needed`, which the service runs.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nightwright::store::lock;
use rustix::process::{Pid, Signal, kill_process};

use super::agent_env::NIGHTWRIGHT;
use super::agent_program::program;
use super::harness::{Output, RunningCommand, TestEnv, finish, names, run_outcome};

/// The first attempt waits until the test creates the file `go`.
const HELD: &str = r#"
[[attempt]]
steps = [{ run = "until [ -e go ]; do sleep 0.02; done" }, { write = "a.txt", text = "a" }]
end = { result = "One half." }
[[attempt]]
steps = [{ write = "b.txt", text = "b" }]
end = { result = "<promise>COMPLETE</promise>" }
[[attempt]]
steps = [{ write = "c.txt", text = "c" }]
end = { result = "<promise>COMPLETE</promise>" }
"#;

/// A project with a task.
fn with_task() -> TestEnv {
    let env = TestEnv::new();
    env.run(&["new", "migrate"]).exits(0);
    env.file(".nightwright/tasks/migrate/INSTRUCTIONS.md", "Write both files.\n");
    env
}

/// Starts a run of the task and waits until the agent works.
fn at_work(env: &TestEnv) -> RunningCommand {
    let script = env.script(HELD);
    let fixed = ["run", "migrate", "-m", "6", "--no-delay", "--dry-run", "--rehearsal"];
    let child = env.start(&[&fixed[..], &[&script]].concat());
    env.wait_for("agent_ready");
    child
}

fn signal(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

fn if_needed(env: &TestEnv) -> Output {
    env.run(&["resume", "--if-needed", "migrate"])
}

/// Whether the run was resumed.
fn continued(env: &TestEnv) -> bool {
    names(&env.journal()).contains(&"run_continued")
}

fn unit(env: &TestEnv) -> PathBuf {
    env.path("home/.config/systemd/user/nightwright-migrate.service")
}

#[test]
fn runs_cut_off_by_a_shutdown_or_power_failure_continue() {
    for (how, code) in [(Signal::TERM, Some(130)), (Signal::KILL, None)] {
        let env = with_task();
        let mut child = at_work(&env);
        signal(&child, how);
        assert_eq!(child.wait().unwrap().code(), code);
        env.file("go", "");
        if_needed(&env).exits(0);
        assert!(continued(&env), "{how:?}");
        assert_eq!(run_outcome(&env.journal()), "completed", "{how:?}");
        // A second call has nothing to do.
        let before = env.journal().len();
        if_needed(&env).exits(0).says(&["Nothing to resume: run ", " has ended."]);
        assert_eq!(env.journal().len(), before);
    }
}

#[test]
fn a_run_stopped_by_the_operator_stays_stopped() {
    for stop in [Some(&["stop", "--now"][..]), None] {
        let env = with_task();
        let child = at_work(&env);
        match stop {
            Some(arguments) => drop(env.run(arguments).exits(0)),
            None => signal(&child, Signal::INT),
        }
        finish(child).exits(130);
        if_needed(&env).exits(0).says(&["Nothing to resume: run ", " has ended."]);
        assert!(!continued(&env));
    }
    // The run was asked to stop before a power failure.
    let env = with_task();
    let mut child = at_work(&env);
    env.run(&["stop"]).exits(0);
    env.wait_for("stop_requested");
    child.kill().unwrap();
    child.wait().unwrap();
    if_needed(&env).exits(0).says(&[" has a stop request"]);
    assert!(!continued(&env));
}

#[test]
fn a_paused_run_waits_for_the_operator() {
    let env = with_task();
    let child = at_work(&env);
    env.run(&["pause"]).exits(0);
    env.wait_for("run_paused");
    signal(&child, Signal::TERM);
    finish(child).exits(130);
    if_needed(&env).exits(0).says(&["is paused"]);
    assert!(!continued(&env));
}

#[test]
fn without_a_run_or_with_a_live_one_nothing_happens() {
    let env = with_task();
    if_needed(&env).exits(0).says(&["Nothing to resume: the run does not exist."]);
    let output = env.run(&["resume", "--if-needed", "migrate", "-q"]).exits(0);
    assert_eq!((output.out.as_str(), output.err.as_str()), ("", ""));
    let child = at_work(&env);
    if_needed(&env).exits(0).says(&["is running (pid "]);
    env.file("go", "");
    finish(child).exits(0);
    env.run(&["resume", "--if-needed", "--again"]).exits(2);
}

#[test]
fn a_service_is_written_once_and_says_how_to_enable_it() {
    let env = with_task();
    let mut command = env.command(&["service", "install", "migrate"]);
    command.env("ANTHROPIC_API_KEY", "sk-very-secret").env("NIGHTWRIGHT_AGENT_PASS_ENV", "MY_*");
    command.env("MY_TOKEN", "also-secret");
    let output = finish(command.spawn().unwrap()).exits(0).says(&[
        "systemctl --user daemon-reload\n",
        "systemctl --user enable nightwright-migrate.service\n",
        "loginctl enable-linger",
        "the agent gets ANTHROPIC_API_KEY, MY_TOKEN, which the service does not have",
        "~/.config/nightwright/environment",
    ]);
    let file = unit(&env);
    assert!(output.out.contains(file.to_str().unwrap()), "{}", output.out);
    let text = fs::read_to_string(&file).unwrap();
    assert!(!text.contains("-secret"), "{text}");
    let project = env.project().canonicalize().unwrap().display().to_string();
    let state = format!("NIGHTWRIGHT_STATE_DIR={}", env.path("state").display());
    // A word of a unit file.
    let word =
        |text: &str| if text.contains(' ') { format!("\"{text}\"") } else { text.to_owned() };
    for line in [
        format!("ExecStart={NIGHTWRIGHT} resume --if-needed -C {} migrate", word(&project)),
        format!("WorkingDirectory={project}"),
        format!("Environment={}", word(&state)),
    ] {
        assert!(text.lines().any(|there| there == line), "no `{line}` in:\n{text}");
    }
    // A service of nightwright for the same project is overwritten.
    env.run(&["service", "install", "migrate"]).exits(0);
    let printed = env.run(&["service", "install", "migrate", "--print"]).exits(0).out;
    assert_eq!(printed, fs::read_to_string(&file).unwrap());
}

#[test]
fn units_of_others_are_left_alone() {
    let env = with_task();
    let file = unit(&env);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "[Unit]\nDescription=mine\n").unwrap();
    let install = ["service", "install", "migrate"];
    env.run(&install).exits(1).says(&["nightwright did not write it", "--yes"]);
    env.run(&["service", "remove", "migrate"]).exits(1).says(&["nightwright did not write"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), "[Unit]\nDescription=mine\n");
    env.run(&["service", "install", "migrate", "--yes"]).exits(0);
    assert!(fs::read_to_string(&file).unwrap().contains("ExecStart="));

    // A task of the same name in another project.
    let other = env.path("other");
    fs::create_dir_all(other.join(".nightwright/tasks/migrate")).unwrap();
    let other = other.to_str().unwrap();
    let there = ["service", "install", "migrate", "-C", other];
    env.run(&there).exits(1).says(&["it is for `", "--name"]);
    env.run(&[&there[..], &["--name", "migrate-2"]].concat()).exits(0);
    assert!(file.with_file_name("nightwright-migrate-2.service").exists());

    env.run(&["service", "remove", "migrate"]).exits(0).says(&["daemon-reload"]);
    assert!(!file.exists());
    env.run(&["service", "remove", "migrate"]).exits(1).says(&["there is no service `migrate`"]);
    env.run(&["service", "remove", "../x"]).exits(2);
    env.run(&["service", "install", "nothing"]).exits(1).says(&["there is no run `nothing`"]);
}

#[test]
fn with_enable_the_system_is_notified_and_remove_takes_the_link_away() {
    let env = with_task();
    let log = env.path("calls");
    program(&env, "systemctl", &format!("#!/bin/sh\necho \"$@\" >> {}\n", env.word("calls")));
    env.run(&["service", "install", "migrate", "--enable"]).exits(0);
    assert_eq!(
        fs::read_to_string(&log).unwrap(),
        "--user daemon-reload\n--user enable nightwright-migrate.service\n"
    );
    let file = unit(&env);
    let wanted = file.with_file_name("default.target.wants");
    fs::create_dir(&wanted).unwrap();
    let link = wanted.join("nightwright-migrate.service");
    std::os::unix::fs::symlink(&file, &link).unwrap();
    env.run(&["service", "remove", "migrate"]).exits(0);
    assert!(!link.is_symlink() && !file.exists());

    program(&env, "systemctl", "#!/bin/sh\necho 'Failed to connect to bus' >&2\nexit 1\n");
    env.run(&["service", "install", "migrate", "--enable"])
        .exits(1)
        .says(&["Failed to connect to bus", "yourself; the unit file already exists"]);
    assert!(file.exists());
}

#[test]
fn without_a_name_it_is_the_last_run_or_its_task() {
    let env = with_task();
    env.run(&["service", "install"]).exits(1).says(&["there is no run in"]);
    let script = env.script(HELD);
    let goal = ["run", "-p", "x", "-m", "6", "--no-delay", "--dry-run", "--rehearsal", &script];
    let child = env.start(&goal);
    env.wait_for("agent_ready");
    let run = env.runs()[0].file_name().unwrap().to_str().unwrap().to_owned();
    let text = env.run(&["service", "install", "--print"]).exits(0).out;
    assert!(text.contains(&format!(" {run}\n")), "{text}");
    let said = env.run(&["service", "install"]).exits(0).out;
    assert!(said.contains(&format!("it resumes the run {run}, and no later one")), "{said}");
    env.file("go", "");
    finish(child).exits(0);
    // The service would do nothing for a run that has ended.
    for name in [None, Some(&*run)] {
        let install = ["service", "install"].into_iter().chain(name).collect::<Vec<_>>();
        env.run(&install).exits(1).says(&["cannot install a service for run"]);
    }
    let env = with_task();
    let child = at_work(&env);
    let text = env.run(&["service", "install", "--print"]).exits(0).out;
    assert!(text.contains(" migrate\n"), "{text}");
    env.file("go", "");
    finish(child).exits(0);
}

/// Between the first check and the lock, another process resumes the run and completes it. Its lock
/// makes the service wait.
#[test]
fn a_run_that_completed_meanwhile_is_not_resumed() {
    let env = with_task();
    let child = at_work(&env);
    env.file("go", "");
    finish(child).exits(0);
    let run = env.runs().pop().unwrap();
    let journal = run.join("journal.jsonl");
    let whole = fs::read_to_string(&journal).unwrap();
    let cut = whole.find("\"event\":\"run_finished\"").unwrap();
    let cut = whole[..cut].rfind('\n').unwrap() + 1;
    fs::write(&journal, &whole[..cut]).unwrap();
    let mut options = File::options();
    let alive = options.create(true).append(true).open(run.join("tree.lock")).unwrap();
    alive.lock_shared().unwrap();

    let child = env.start(&["resume", "--if-needed", "migrate"]);
    let begun = Instant::now();
    while lock::peek(&run.join("lock")).is_none_or(|owner| owner.pid != child.id()) {
        assert!(begun.elapsed() < Duration::from_mins(1), "it does not take the lock");
        std::thread::sleep(Duration::from_millis(5));
    }
    fs::write(&journal, &whole).unwrap();
    drop(alive);
    finish(child).exits(0).says(&["Nothing to resume: run ", " has ended."]);
    assert!(!continued(&env));
    assert_eq!(run_outcome(&env.journal()), "completed");
}

/// If systemd reports a missing program, the message contains the name from the unit.
#[test]
fn systemd_has_nothing_to_say_against_the_unit_and_finds_the_program() {
    let env = TestEnv::new();
    let project = env.path("my 50% \"shop\" $HOME \\x 'y'");
    fs::create_dir_all(project.join(".nightwright/tasks/migrate")).unwrap();
    let own = env.path("a $b 50% {c};d").join("leg work");
    fs::create_dir(own.parent().unwrap()).unwrap();
    fs::copy(NIGHTWRIGHT, &own).unwrap();
    let install = ["service", "install", "migrate", "-C", project.to_str().unwrap()];
    let plain = env.command(&install);
    let mut command = Command::new(&own);
    command.args(install).current_dir(env.project()).env_clear();
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let installed = command.output().unwrap();
    assert!(installed.status.success(), "{}", String::from_utf8_lossy(&installed.stderr));

    assert_eq!(verified(&env), Ok(()));
    fs::remove_file(&own).unwrap();
    let complaint = verified(&env).unwrap_err();
    let missing = format!("Command {} is not executable", own.display());
    assert!(complaint.contains(&missing), "{complaint}");
}

/// The complaints of systemd about the unit.
fn verified(env: &TestEnv) -> Result<(), String> {
    let mut command = Command::new("systemd-analyze");
    command.args(["verify", "--user"]).arg(unit(env)).stdin(Stdio::null());
    command.env("XDG_RUNTIME_DIR", env.path("tmp")).env("HOME", env.path("home"));
    let output = command.output().unwrap_or_else(|error| {
        panic!(
            "`systemd-analyze` cannot be asked: {error}; `cargo xtask test` installs it on Debian"
        )
    });
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() && !said.contains("nightwright-migrate") {
        Ok(())
    } else {
        Err(said)
    }
}

//! `--detach`: a run that continues without its terminal.

use std::fs;
use std::io::{PipeReader, PipeWriter};
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nightwright::process::tree_lock;
use nightwright_core::event::{Event, RunEvent};
use nightwright_core::run_view::shell_word;
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::{Pid, Signal, kill_process};

use super::agent_env::{NIGHTWRIGHT, is_alive};
use super::agent_program::program;
use super::harness::{Output, TestEnv, finish, names, run_outcome};
use super::terminal::Terminal;

/// The timeout of a test; only a failing test takes this long.
const TEST_TIMEOUT: Duration = Duration::from_mins(1);

/// The first attempt waits until the test creates the file `go`.
const HELD: &str = r#"
[[attempt]]
steps = [{ run = "until [ -e go ]; do sleep 0.02; done" }, { write = "a.txt", text = "a" }]
end = { result = "One half." }
[[attempt]]
steps = [{ write = "b.txt", text = "b" }]
end = { result = "<promise>COMPLETE</promise>" }
"#;

/// The version request takes a long time.
const SLOW: &str = "#!/bin/sh\n: > \"$HOME/asked\"\nexec sleep 20\n";

/// A detached run. All of its processes are killed on drop.
struct DetachedRun {
    env: TestEnv,
}

impl DetachedRun {
    /// Starts a detached run with these options and waits until it has begun.
    fn start(options: &[&str]) -> (Self, Output) {
        let detached = Self { env: TestEnv::new() };
        let script = detached.env.script(HELD);
        let fixed = ["run", "-p", "both halves", "-m", "4", "--no-delay", "--detach", "--dry-run"];
        let more = ["--rehearsal", script.as_str()];
        let output = detached.env.run(&[&fixed[..], &more, options].concat());
        (detached, output)
    }

    fn folder(&self) -> PathBuf {
        self.env.runs().pop().unwrap()
    }

    fn go(&self) {
        self.env.file("go", "");
    }

    /// The process ID of the run, from its lock.
    fn pid(&self) -> String {
        let output = self.env.run(&["status", "--json"]).exits(0);
        let status: serde_json::Value = serde_json::from_str(&output.out).unwrap();
        status["pid"].to_string()
    }

    /// Waits until the run and all of its processes have exited.
    #[track_caller]
    fn ends(&self) -> &'static str {
        self.env.wait_for("run_finished");
        assert_no_process_is_left(&self.env);
        run_outcome(&self.env.journal())
    }
}

impl Drop for DetachedRun {
    fn drop(&mut self) {
        // Fails if the run has already ended, as it should have.
        let _ = self.env.command(&["stop", "--now"]).output();
    }
}

/// Processes whose command line or environment refers to the test environment.
fn belonging_to(env: &TestEnv) -> Vec<String> {
    let folder = env.path("");
    let folder = folder.to_str().unwrap().trim_end_matches('/');
    let says = |process: &Path, file: &str| {
        let bytes = fs::read(process.join(file)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).contains(folder)
    };
    let all = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
    all.filter(|process| says(process, "cmdline") || says(process, "environ"))
        .map(|process| process.file_name().unwrap().to_str().unwrap().to_owned())
        .filter(|pid| is_alive(pid))
        .collect()
}

#[track_caller]
fn eventually(what: &str, fact: impl Fn() -> bool) {
    let begun = Instant::now();
    while !fact() {
        assert!(begun.elapsed() < TEST_TIMEOUT, "never came true: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Checks that no process is left: the run, its guards, its agent.
#[track_caller]
fn assert_no_process_is_left(env: &TestEnv) {
    eventually("nobody is left", || belonging_to(env).is_empty());
    for run in env.runs() {
        assert!(tree_lock::is_free(&run.join("tree.lock"), TEST_TIMEOUT).unwrap());
    }
}

fn signal(pid: &str, signal: Signal) {
    kill_process(Pid::from_raw(pid.parse().unwrap()).unwrap(), signal).unwrap();
}

#[test]
fn a_detached_run_outlives_its_terminal_and_comes_to_its_end() {
    let detached = DetachedRun { env: TestEnv::new() };
    let env = &detached.env;
    let script = shell_word(&env.script(HELD));
    let line = format!(
        "{NIGHTWRIGHT} run -p 'both halves' -m 4 --no-delay --detach --dry-run --rehearsal {script}"
    );
    let terminal = Terminal::run(env, &line);
    let screen = terminal.shows("exit=0");
    let run = detached.folder().file_name().unwrap().to_str().unwrap().to_owned();
    for line in [
        run.as_str(),
        "The run continues without this terminal (pid ",
        &format!("nightwright status {run}"),
        &format!("nightwright log -f {run}"),
        &format!("nightwright stop {run}"),
    ] {
        assert!(screen.contains(line), "no `{line}`:\n{screen}");
    }
    assert!(!screen.contains("Running iteration"), "it still speaks:\n{screen}");
    env.wait_for("agent_ready");
    let pid = detached.pid();
    drop(terminal);

    // A separate session without a terminal, and no descriptors of the old one.
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let facts: Vec<_> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    assert_eq!((facts[3], facts[4]), (pid.as_str(), "0"), "session and terminal: {stat}");
    let descriptor = |number| fs::read_link(format!("/proc/{pid}/fd/{number}")).unwrap();
    assert_eq!(descriptor(0), Path::new("/dev/null"));
    assert_eq!(descriptor(1), Path::new("/dev/null"));
    assert_eq!(descriptor(2), detached.folder().canonicalize().unwrap().join("detached.err"));
    for entry in fs::read_dir(format!("/proc/{pid}/fd")).unwrap() {
        let leads_to = fs::read_link(entry.unwrap().path()).unwrap_or_default();
        assert!(!leads_to.starts_with("/dev/pts"), "{}", leads_to.display());
    }

    // The run ignores a hang-up signal from any source.
    signal(&pid, Signal::HUP);
    detached.go();
    assert_eq!(detached.ends(), "completed");
    assert!(!names(&env.journal()).contains(&"stop_requested"));
    let complaints = fs::read_to_string(detached.folder().join("detached.err")).unwrap();
    assert_eq!(complaints, "");
}

#[test]
fn it_can_be_watched_spoken_to_and_stopped_from_elsewhere() {
    let (detached, output) = DetachedRun::start(&[]);
    let output = output.exits(0);
    let env = &detached.env;
    let run = output.out.trim().to_owned();
    assert_eq!(detached.folder().file_name().unwrap().to_str(), Some(run.as_str()));
    env.wait_for("agent_ready");
    let log = env.start(&["log", "-f", &run]);
    env.run(&["status", &run]).exits(0);
    env.run(&["tell", &run, "mind the gap"]).exits(0);
    env.run(&["pause", &run]).exits(0);
    env.wait_for("run_paused");
    env.run(&["resume", &run, "--detach"]).exits(0);
    env.wait_for("run_resumed");
    env.run(&["stop", &run]).exits(0);
    env.wait_for("stop_requested");
    detached.go();
    assert_eq!(detached.ends(), "stopped");
    let followed = finish(log).exits(0);
    assert!(followed.out.contains("mind the gap"), "{}", followed.out);
    assert!(followed.out.contains("ITERATION 1"), "{}", followed.out);
}

#[test]
fn sigterm_ends_it_as_any_run() {
    let (detached, output) = DetachedRun::start(&["-q"]);
    output.exits(0);
    detached.env.wait_for("agent_ready");
    signal(&detached.pid(), Signal::TERM);
    assert_eq!(detached.ends(), "interrupted");
}

#[test]
fn programs_get_one_object_and_the_quiet_get_the_id() {
    let (detached, output) = DetachedRun::start(&["--output", "json"]);
    let output = output.exits(0);
    let word: serde_json::Value = serde_json::from_str(&output.out).unwrap();
    let folder = detached.folder();
    assert_eq!(word["run"].as_str(), folder.file_name().unwrap().to_str());
    assert_eq!(word["pid"].to_string(), detached.pid());
    assert_eq!(word["run_folder"].as_str(), folder.to_str());
    let project = detached.env.project().canonicalize().unwrap();
    assert_eq!(word["project"].as_str(), project.to_str());
    assert_eq!(output.err, "");

    let (detached, output) = DetachedRun::start(&["-q"]);
    let output = output.exits(0);
    let run = detached.folder().file_name().unwrap().to_str().unwrap().to_owned();
    assert_eq!((output.out.trim(), output.err.as_str()), (run.as_str(), ""));
}

#[test]
fn errors_before_the_detach_are_reported_with_their_exit_code() {
    let env = TestEnv::new();
    env.run(&["run", "--detach"]).exits(2).says(&["no task or goal given"]);
    env.run(&["run", "-p", "x", "--detach", "--nonsense"]).exits(2).says(&["--nonsense"]);
    env.run(&["run", "nothing", "--detach"]).exits(2).says(&["nothing"]);
    let missing = ["run", "-p", "x", "-m", "1", "--agent-command", "missing", "--detach"];
    env.run(&missing).exits(1).says(&["missing"]);
    env.run(&["resume", "--detach"]).exits(1).says(&["there is no run"]);
    assert_eq!(env.runs(), [""; 0].map(PathBuf::from));

    let (detached, output) = DetachedRun::start(&[]);
    output.exits(0);
    let second = ["-C", ".", "run", "-p", "x", "-m", "1", "--dry-run", "--detach"];
    detached.env.run(&second).exits(1).says(&["is in use by run"]);
    assert_no_process_is_left(&env);
}

#[test]
fn words_for_the_agent_that_look_like_the_option_stay_words() {
    let (detached, output) = DetachedRun::start(&["--", "--detach"]);
    output.exits(0);
    let Some(Event::Run(RunEvent::Started(started))) =
        detached.env.journal().first().map(|record| record.event.clone())
    else {
        panic!("it has not begun")
    };
    assert_eq!(started.settings.agent.arguments, ["--detach"]);
}

#[test]
fn questions_are_asked_before_the_terminal_is_left() {
    let detached = DetachedRun { env: TestEnv::new() };
    let env = &detached.env;
    fs::create_dir(env.project().join(".nightwright")).unwrap();
    env.file(".nightwright/config.toml", "verify.commands = [\"true\"]\n");
    let script = shell_word(&env.script(HELD));
    let terminal = Terminal::run(
        env,
        &format!("{NIGHTWRIGHT} run -p 'both' -m 4 --detach --dry-run --rehearsal {script}"),
    );
    terminal.shows("[y]es");
    assert!(env.runs().is_empty());
    terminal.types(&["y", "Enter"]);
    terminal.shows("The run continues without this terminal");
    terminal.shows("exit=0");
    detached.go();
    env.wait_for("run_finished");
}

#[test]
fn ctrl_c_before_it_has_begun_ends_it_all() {
    let env = TestEnv::new();
    program(&env, "claude", SLOW);
    let path = format!("PATH={}:$PATH", env.word("bin"));
    let terminal = Terminal::run(
        &env,
        &format!("{path} {NIGHTWRIGHT} run -p x -m 1 --permissions usual --detach"),
    );
    eventually("the program was asked", || env.path("home/asked").exists());
    terminal.types(&["C-c"]);
    terminal.shows("exit=130");
    drop(terminal);
    assert_no_process_is_left(&env);
    assert!(env.runs().is_empty(), "{:?}", env.runs());
}

#[test]
fn a_kill_before_the_start_leaves_nothing_behind() {
    let env = TestEnv::new();
    program(&env, "claude", SLOW);
    let mut child = env.start(&["run", "-p", "x", "-m", "1", "--detach"]);
    eventually("the program was asked", || env.path("home/asked").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    assert_no_process_is_left(&env);
    assert!(env.runs().is_empty(), "{:?}", env.runs());
}

/// A pipe whose writing end programs inherit.
fn pipe() -> (PipeReader, PipeWriter) {
    let (reader, writer) = std::io::pipe().unwrap();
    fcntl_setfd(&writer, FdFlags::empty()).unwrap();
    (reader, writer)
}

#[test]
fn a_detached_run_without_a_parent_does_not_begin() {
    let env = TestEnv::new();
    let (reader, writer) = pipe();
    drop(reader);
    let departs = format!("--detach-fd={}", writer.as_raw_fd());
    let output = env.run(&["run", &departs, "-p", "x", "-m", "1", "--dry-run"]);
    output.exits(1).says(&["cannot reach the process that started this run"]);
    assert!(env.runs().is_empty(), "{:?}", env.runs());
}

#[test]
fn a_detached_run_ends_if_its_parent_dies_before_the_report() {
    let env = TestEnv::new();
    let script = "#!/bin/sh\n: > \"$HOME/asked\"\n\
                  [ \"$1\" = --version ] || exec sleep 60\n\
                  until [ -e \"$HOME/answer\" ]; do sleep 0.02; done\n\
                  echo '2.1.300 (Claude Code)'\n";
    program(&env, "claude", script);
    let (reader, writer) = pipe();
    let departs = format!("--detach-fd={}", writer.as_raw_fd());
    let child = env.start(&["run", &departs, "-p", "x", "-m", "1"]);
    drop(writer);
    eventually("the program was asked", || env.path("home/asked").exists());
    drop(reader);
    fs::write(env.path("home/answer"), "").unwrap();
    finish(child).exits(130);
    assert_eq!(run_outcome(&env.journal()), "interrupted");
    let complaints = fs::read_to_string(env.runs()[0].join("detached.err")).unwrap();
    assert!(complaints.contains("cannot detach from the terminal"), "{complaints}");
    assert_no_process_is_left(&env);
}

#[test]
fn a_run_that_was_left_continues_detached() {
    let detached = DetachedRun { env: TestEnv::new() };
    let env = &detached.env;
    let script = env.script(HELD);
    let fixed = ["run", "-p", "both", "-m", "4", "--no-delay", "--dry-run", "--rehearsal"];
    let mut child = env.start(&[&fixed[..], &[&script]].concat());
    env.wait_for("agent_ready");
    child.kill().unwrap();
    child.wait().unwrap();
    env.run(&["resume", "--detach"]).exits(0).says(&["The run continues without"]);
    env.wait_for("run_continued");
    detached.go();
    assert_eq!(detached.ends(), "completed");
}

#[test]
fn a_run_that_ends_at_once_is_reported_here() {
    for (options, json) in [(&[][..], false), (&["-q"], false), (&["--output", "json"], true)] {
        let env = TestEnv::new();
        env.run(&["run", "-p", "x", "-m", "1", "--dry-run"]).exits(0);
        let run = env.runs()[0].file_name().unwrap().to_str().unwrap().to_owned();
        // Remove the last event, as if the process had died before it recorded the limit.
        let journal = env.runs()[0].join("journal.jsonl");
        let text = fs::read_to_string(&journal).unwrap();
        let (before, _) = text.trim_end().rsplit_once('\n').unwrap();
        fs::write(&journal, format!("{before}\n")).unwrap();
        env.reseal();
        let resume = [&["resume", "--detach"][..], options].concat();
        let output = env.run(&resume).exits(0);
        assert!(names(&env.journal()).contains(&"run_continued"));
        if json {
            let word: serde_json::Value = serde_json::from_str(&output.out).unwrap();
            assert_eq!(word["run"].as_str(), Some(run.as_str()));
        } else {
            assert_eq!(output.out.trim(), run);
        }
        if options.is_empty() {
            output.says(&["Reached maximum iterations (1)"]);
        } else {
            assert_eq!(output.err, "");
        }
        assert_no_process_is_left(&env);
    }
}

#[test]
fn the_run_is_named_even_if_its_id_cannot_be_printed() {
    let detached = DetachedRun { env: TestEnv::new() };
    let env = &detached.env;
    let script = env.script(HELD);
    let fixed = ["run", "-p", "both", "-m", "4", "--no-delay", "--detach", "--dry-run", "-q"];
    let mut command = env.command(&[&fixed[..], &["--rehearsal", &script]].concat());
    command.stdout(fs::File::options().write(true).open("/dev/full").unwrap());
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    let run = detached.folder().file_name().unwrap().to_str().unwrap().to_owned();
    for words in [
        "error: cannot write to standard output".to_owned(),
        format!("nightwright stop {run}"),
        format!("nightwright status {run}"),
    ] {
        assert!(said.contains(&words), "no `{words}`:\n{said}");
    }
    detached.go();
    assert_eq!(detached.ends(), "completed");
}

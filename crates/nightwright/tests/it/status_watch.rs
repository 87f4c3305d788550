//! The status file, watched while it is written in all usual ways, with the real watcher and
//! machine.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use nightwright::runtime::evidence_files::EvidenceFiles;
use nightwright::runtime::status_watch::{StatusWatcher, WatchMethod};
use nightwright_core::effect::Effect;
use nightwright_core::event::{AgentFacts, Event, IterationEvent, RunStarted, StatusText};
use nightwright_core::input::{Input, Prepared, StatusReport, WorkspaceMark};
use nightwright_core::machine::Machine;
use nightwright_core::redact::Secrets;
use nightwright_core::settings::{self, EvidenceKind, SandboxKind, Settings};
use nightwright_core::units::{Fingerprint, Now};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::harness::{RunningCommand, TestEnv, finish, names};

/// The shortest delay that can be configured.
const DEBOUNCE: Duration = Duration::from_millis(500);

/// The timeout of a test; only a failing test takes this long.
const TEST_TIMEOUT: Duration = Duration::from_mins(1);

/// A status file, a watcher, and the machine that decides which changes are reported.
struct WatchedStatus {
    project: TempDir,
    machine: Machine,
    reports: Receiver<StatusReport>,
}

/// The options of the watcher.
struct WatchOptions {
    means: WatchMethod,
    debounce: Duration,
    only_meaningful: bool,
}

impl Default for WatchOptions {
    fn default() -> Self {
        Self { means: WatchMethod::Notify, debounce: DEBOUNCE, only_meaningful: true }
    }
}

fn settings_files() -> settings::Files {
    settings::Files { status: Some("task/.status.json".to_owned()), ..settings::Files::default() }
}

fn status_file(project: &Path) -> PathBuf {
    project.join("task/.status.json")
}

fn files(project: &Path) -> EvidenceFiles {
    EvidenceFiles::new(project, &settings_files(), &[EvidenceKind::Status], Secrets::default())
}

/// A project whose status file has this content, if any.
fn project(before: Option<&str>) -> TempDir {
    let project = tempfile::tempdir().unwrap();
    fs::create_dir(project.path().join("task")).unwrap();
    if let Some(text) = before {
        fs::write(status_file(project.path()), text).unwrap();
    }
    project
}

impl WatchedStatus {
    fn new(project: TempDir, how: &WatchOptions) -> Self {
        let mut settings = Settings { files: settings_files(), ..Settings::default() };
        settings.status_watch.only_meaningful = how.only_meaningful;
        let machine = begun(settings, files(project.path()).status_alone());
        let watch = StatusWatcher::new(files(project.path()), how.debounce, how.means).unwrap();
        let (sender, reports) = channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(watch.watch(move |report| sender.send(report).is_ok()));
        });
        Self { project, machine, reports }
    }

    /// Watches a status file with this content, before anything else is written.
    fn saying(before: &str, how: &WatchOptions) -> Self {
        let mut watched = Self::new(project(Some(before)), how);
        let first = watched.reports.recv_timeout(TEST_TIMEOUT).unwrap();
        assert_eq!(watched.decide(first), None, "what was there before is no change");
        watched
    }

    fn path(&self) -> PathBuf {
        status_file(self.project.path())
    }

    fn write(&self, text: &str) {
        fs::write(self.path(), text).unwrap();
    }

    fn decide(&mut self, report: StatusReport) -> Option<String> {
        let step = self.machine.handle(now(), Input::Status(report));
        assert!(step.effects.is_empty(), "it is reported, and nothing else follows");
        let reported: Vec<_> =
            step.events().filter_map(StatusText::of).map(|text| text.line()).collect();
        assert!(reported.len() <= 1, "{reported:?}");
        reported.into_iter().next()
    }

    /// Waits until the watcher reads a matching report. Fails if any report counts as a change.
    fn reads(&mut self, wanted: impl Fn(&StatusReport) -> bool) {
        loop {
            let report = self.reports.recv_timeout(TEST_TIMEOUT).unwrap();
            let found = wanted(&report);
            assert_eq!(self.decide(report), None);
            if found {
                return;
            }
        }
    }

    /// Fails if any report so far counts as a change.
    fn tells_nothing_yet(&mut self) {
        while let Ok(report) = self.reports.try_recv() {
            assert_eq!(self.decide(report), None);
        }
    }

    /// Returns the next reported change; fails if there is none.
    fn next(&mut self) -> String {
        let begun = Instant::now();
        loop {
            match self.reports.recv_timeout(TEST_TIMEOUT) {
                Ok(report) => {
                    if let Some(reported) = self.decide(report) {
                        return reported;
                    }
                }
                Err(RecvTimeoutError::Timeout) => panic!("nothing was reported"),
                Err(RecvTimeoutError::Disconnected) => panic!("the watch is over"),
            }
            assert!(begun.elapsed() < TEST_TIMEOUT, "nothing was reported");
        }
    }
}

fn now() -> Now {
    Now { wall: jiff::Timestamp::UNIX_EPOCH, mono: Duration::ZERO }
}

/// A machine in its first iteration.
fn begun(settings: Settings, status: Option<StatusReport>) -> Machine {
    let mut machine = Machine::new(RunStarted {
        settings,
        agent: AgentFacts::default(),
        project: String::new(),
        git_head: None,
        containment: String::new(),
        sandbox: SandboxKind::Off,
        baseline: None,
        hooks: std::collections::BTreeMap::new(),
        seed: 1,
    });
    let step = machine.handle(now(), Input::Start);
    let ticket = step.effects.iter().find_map(|effect| match effect {
        Effect::Prepare { ticket, .. } => Some(*ticket),
        _ => None,
    });
    let fingerprint = Fingerprint("a".to_owned());
    let mark = Some(WorkspaceMark { fingerprint, head: None, head_tree: None, status: None });
    let prepared = Prepared { mark, checklist: None, status, disk: None };
    let step = machine.handle(now(), Input::Prepared(ticket.unwrap(), prepared));
    assert!(
        step.events()
            .any(|event| matches!(event, Event::Iteration(IterationEvent::Started { .. })))
    );
    machine
}

fn status(completed: u32, summary: &str) -> String {
    format!(
        r#"{{"complete":false,"progress":{{"completed":{completed},"total":200}},"summary":"{summary}"}}"#
    )
}

#[test]
fn a_file_that_comes_after_the_start_is_reported() {
    let mut watched = WatchedStatus::new(project(None), &WatchOptions::default());
    watched.write(&status(1, "begun"));
    assert_eq!(watched.next(), "1/200 items - begun");
}

#[test]
fn a_file_that_is_replaced_is_reported_again_and_again() {
    let mut watched = WatchedStatus::saying(&status(1, "before"), &WatchOptions::default());
    for done in 2..5 {
        let other = watched.project.path().join("task/.status.json.tmp");
        fs::write(&other, status(done, "moved")).unwrap();
        fs::rename(&other, watched.path()).unwrap();
        assert_eq!(watched.next(), format!("{done}/200 items (+1) - moved"));
    }
}

#[test]
fn half_a_file_that_stands_for_long_is_not_reported_and_the_rest_is() {
    let mut watched = WatchedStatus::saying(&status(1, "before"), &WatchOptions::default());
    // A second watcher with the same delay shows when the first one has read the half.
    let mut other = WatchedStatus::saying(&status(1, "before"), &WatchOptions::default());
    let whole = status(2, "whole");
    watched.write(&whole[..whole.len() / 2]);
    for done in 2..5 {
        other.write(&status(done, "meanwhile"));
        other.next();
    }
    watched.tells_nothing_yet();
    watched.write(&whole);
    assert_eq!(watched.next(), "2/200 items (+1) - whole");
}

#[test]
fn a_change_of_the_time_alone_is_not_reported() {
    let mut watched =
        WatchedStatus::saying(r#"{"complete":false,"lastUpdated":"1"}"#, &WatchOptions::default());
    watched.write(r#"{"complete":false,"lastUpdated":"2","notes":"slow"}"#);
    // The file was read, and no change was reported.
    watched.reads(|report| report.updated.as_deref() == Some("2"));
    watched.write(r#"{"complete":false,"lastUpdated":"3","summary":"tests"}"#);
    assert_eq!(watched.next(), "tests");
}

#[test]
fn a_change_of_the_time_alone_is_reported_where_every_change_is_wanted() {
    let how = WatchOptions { only_meaningful: false, ..WatchOptions::default() };
    let mut watched = WatchedStatus::saying(r#"{"complete":false,"lastUpdated":"1"}"#, &how);
    watched.write(r#"{"complete":false,"lastUpdated":"2"}"#);
    assert_eq!(watched.next(), "not complete");
    watched.write(r#"{"complete":true,"lastUpdated":"2"}"#);
    assert_eq!(watched.next(), "complete");
}

/// Writes 100 times in about a second. Returns whether all gaps were short enough to count as one
/// series.
fn write_a_hundred(watched: &WatchedStatus, from: u32) -> bool {
    let (mut last, mut steady) = (Instant::now(), true);
    for done in from + 1..=from + 100 {
        watched.write(&status(done, "many"));
        steady &= last.elapsed() < DEBOUNCE / 2;
        last = Instant::now();
        std::thread::sleep(Duration::from_millis(10));
    }
    steady
}

#[test]
fn a_hundred_changes_in_a_second_are_reported_once_as_the_last_left_it() {
    // Try again if the machine is too busy to write this fast.
    for _ in 0..20 {
        let mut watched = WatchedStatus::saying(&status(0, "before"), &WatchOptions::default());
        if write_a_hundred(&watched, 0) {
            assert_eq!(watched.next(), "100/200 items (+100) - many");
            watched.write(&status(101, "one more"));
            assert_eq!(watched.next(), "101/200 items (+1) - one more");
            return;
        }
    }
    panic!("a hundred files were never written in a second or so");
}

#[test]
fn a_file_that_never_rests_is_reported_now_and_then_as_it_was() {
    let how = WatchOptions { debounce: Duration::from_millis(200), ..WatchOptions::default() };
    let mut watched = WatchedStatus::saying(&status(0, "before"), &how);
    let (path, enough) = (watched.path(), Arc::new(AtomicBool::new(false)));
    let stop = Arc::clone(&enough);
    let writer = std::thread::spawn(move || {
        let mut done = 0;
        while !stop.load(Ordering::Relaxed) {
            done += 1;
            fs::write(&path, status(done, &format!("number {done}"))).unwrap();
            std::thread::sleep(Duration::from_millis(10));
        }
        done
    });
    let reported: Vec<String> = (0..3).map(|_| watched.next()).collect();
    enough.store(true, Ordering::Relaxed);
    let last = writer.join().unwrap();
    let number = |line: &String| line.split('/').next().unwrap().parse::<u32>().unwrap();
    let numbers: Vec<u32> = reported.iter().map(number).collect();
    assert!(numbers.is_sorted() && numbers.iter().all(|number| *number <= last), "{reported:?}");
    for (line, number) in reported.iter().zip(numbers) {
        assert!(line.ends_with(&format!(" - number {number}")), "{line}");
    }
}

#[test]
fn a_folder_that_comes_later_is_watched() {
    let project = tempfile::tempdir().unwrap();
    let mut watched = WatchedStatus::new(project, &WatchOptions::default());
    fs::create_dir(watched.project.path().join("task")).unwrap();
    watched.write(&status(3, "there now"));
    assert_eq!(watched.next(), "3/200 items - there now");
    watched.write(&status(4, "and again"));
    assert_eq!(watched.next(), "4/200 items (+1) - and again");
}

#[test]
fn a_folder_that_is_replaced_is_watched_like_the_one_before() {
    let mut watched = WatchedStatus::saying(&status(1, "before"), &WatchOptions::default());
    let folder = watched.project.path().join("task");
    fs::rename(&folder, watched.project.path().join("old")).unwrap();
    fs::create_dir(&folder).unwrap();
    watched.write(&status(2, "new folder"));
    assert_eq!(watched.next(), "2/200 items (+1) - new folder");
    watched.write(&status(3, "still"));
    assert_eq!(watched.next(), "3/200 items (+1) - still");
}

#[test]
fn without_notifications_polling_finds_every_change() {
    let how = WatchOptions { means: WatchMethod::Poll, ..WatchOptions::default() };
    let mut watched = WatchedStatus::saying(&status(1, "before"), &how);
    for done in 2..4 {
        watched.write(&status(done, "found"));
        assert_eq!(watched.next(), format!("{done}/200 items (+1) - found"));
    }
}

#[test]
fn a_link_out_of_the_project_is_not_followed() {
    let elsewhere = tempfile::tempdir().unwrap();
    let secret = elsewhere.path().join("status.json");
    fs::write(&secret, status(9, "not yours")).unwrap();
    let mut watched = WatchedStatus::saying(&status(1, "before"), &WatchOptions::default());
    fs::remove_file(watched.path()).unwrap();
    symlink(&secret, watched.path()).unwrap();
    assert_eq!(files(watched.project.path()).status_alone(), None);
    fs::remove_file(watched.path()).unwrap();
    watched.write(&status(2, "ours"));
    assert_eq!(watched.next(), "2/200 items (+1) - ours");
}

#[test]
fn without_a_status_file_nothing_is_watched() {
    let project = project(None);
    let none = EvidenceFiles::new(
        project.path(),
        &settings::Files::default(),
        &[EvidenceKind::Status],
        Secrets::default(),
    );
    assert!(StatusWatcher::new(none, DEBOUNCE, WatchMethod::Notify).is_none());
}

/// A task with instructions.
fn with_task() -> TestEnv {
    let env = TestEnv::new();
    env.run(&["new", "night"]).exits(0);
    env.file(".nightwright/tasks/night/INSTRUCTIONS.md", "Move the orders.");
    env
}

/// Returns the reported changes of the status file, in order.
fn reported(env: &TestEnv) -> Vec<String> {
    let journal = env.journal();
    let events = journal.iter().map(|record| &record.event);
    events.filter_map(StatusText::of).map(|text| text.line()).collect()
}

#[test]
fn a_change_is_reported_while_the_agent_works_and_interrupts_nothing() {
    let env = with_task();
    let script = env.script("[[attempt]]\nsteps = [{ say = \"hm\" }]\nend = { hang = true }\n");
    let mut command =
        env.command(&["run", "night", "-m", "3", "--dry-run", "--rehearsal", &script]);
    let child = RunningCommand::from(
        command.env("NIGHTWRIGHT_STATUS_WATCH_DEBOUNCE", "500ms").spawn().unwrap(),
    );
    env.wait_for("agent_ready");
    env.file(".nightwright/tasks/night/.status.json", &status(5, "orders moved"));
    env.wait_for("status_changed");
    assert!(!names(&env.journal()).contains(&"attempt_cancelled"));
    kill_process(Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap(), Signal::INT).unwrap();
    finish(child).exits(130).says(&["status: 5/200 items - orders moved"]);
    assert_eq!(reported(&env), ["5/200 items - orders moved"]);
}

/// Two iterations that each write the status file once.
const WRITES: &str = r#"
[[attempt]]
steps = [{ write = "a.txt", text = "half" }, { write = ".nightwright/tasks/night/.status.json", text = '{"complete":false,"progress":{"completed":1,"total":2},"summary":"half"}' }]
end = { result = "One half." }

[[attempt]]
steps = [{ write = "a.txt", text = "all" }, { write = ".nightwright/tasks/night/.status.json", text = '{"complete":true,"progress":{"completed":2,"total":2},"summary":"all"}' }]
end = { result = "All of it." }

[[verify]]
verdict = "yes"
reason = "it is there"
"#;

#[test]
fn the_last_change_of_an_iteration_is_reported_whatever_the_debounce() {
    let env = with_task();
    let script = env.script(WRITES);
    let arguments =
        ["run", "night", "-m", "5", "--no-delay", "--dry-run", "--rehearsal", script.as_str()];
    let mut command = env.command(&arguments);
    command.env("NIGHTWRIGHT_STATUS_WATCH_DEBOUNCE", "10s");
    finish(command.spawn().unwrap())
        .exits(0)
        .says(&["status: 1/2 items - half", "status: 2/2 items (+1) - all - complete"]);
    assert_eq!(reported(&env), ["1/2 items - half", "2/2 items (+1) - all - complete"]);
}

#[test]
fn nothing_is_reported_where_the_watch_is_off() {
    let env = with_task();
    let script = env.script(WRITES);
    let arguments =
        ["run", "night", "-m", "5", "--no-delay", "--dry-run", "--rehearsal", script.as_str()];
    let mut command = env.command(&arguments);
    command.env("NIGHTWRIGHT_STATUS_WATCH", "false");
    finish(command.spawn().unwrap()).exits(0);
    assert_eq!(reported(&env), Vec::<String>::new());
}

#[test]
fn a_debounce_out_of_range_is_an_error_that_names_the_key() {
    let env = with_task();
    for value in ["499ms", "11s", "0", "soon"] {
        let mut command = env.command(&["run", "night", "-m", "3", "--dry-run"]);
        command.env("NIGHTWRIGHT_STATUS_WATCH_DEBOUNCE", value);
        finish(command.spawn().unwrap())
            .exits(2)
            .says(&["NIGHTWRIGHT_STATUS_WATCH_DEBOUNCE", "from 500ms to 10s"]);
    }
}

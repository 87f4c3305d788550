//! Attacks on the operator's commands: from inside a run, and on what `stop` trusts.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nightwright::runtime::control_socket::{self, ControlRequest};
use nightwright_core::event::StopWhen;

use crate::agent_env::NIGHTWRIGHT;
use crate::harness::{RunningCommand, TestEnv, finish, names, run_outcome};

/// Waits for the test, then works.
const PATIENT: &str = r#"
[[attempt]]
steps = [{ run = "while [ ! -e go ]; do sleep 0.02; done" }, { write = "a.txt", text = "a" }]
end = { result = "A part of it." }
"#;

/// A script whose agent runs this line and works.
fn inside(line: &str) -> String {
    format!(
        "[[attempt]]\nsteps = [{{ run = '''{line}''' }}, {{ write = \"a.txt\", text = \"a\" }}]\n\
         end = {{ result = \"A part of it.\" }}\n"
    )
}

#[test]
fn an_agent_cannot_approve_its_settings_or_control_its_run_and_the_operator_can() {
    let commands = [
        "trust --yes",
        "config set verify.commands true",
        "init --yes",
        "tell hello",
        "resume",
        "stop --cancel",
        "stop",
        "stop --now",
        "pause",
        "run -p x -m 1 --yes",
        "task setup t",
    ];
    let env = TestEnv::new();
    let [state, out] = ["state", "out"].map(|name| env.word(name));
    let line = |command: &&str| {
        format!(
            "NIGHTWRIGHT_STATE_DIR={state} {NIGHTWRIGHT} {command} >> {out} 2>&1 && echo done >> {out}"
        )
    };
    let lines: Vec<_> = commands.iter().map(line).collect();
    env.rehearse(&inside(&lines.join("; ")), "1", &[]).exits(0);
    let said = fs::read_to_string(env.path("out")).unwrap();
    assert_eq!(said.matches(" started this command").count(), commands.len(), "{said}");
    assert!(!said.contains("done"), "{said}");
    let journal = env.journal();
    let events = names(&journal);
    for event in ["stop_requested", "feedback_added", "paused"] {
        assert!(!events.contains(&event), "{event}");
    }
    assert_eq!(run_outcome(&journal), "max_iterations");
    // The same from outside.
    env.run(&["config", "set", "limits.max_iterations", "3"]).exits(0);
    env.run(&["trust", "--yes"]).exits(0);
}

#[test]
fn a_request_that_a_program_of_the_run_sends_to_the_socket_is_refused() {
    let env = TestEnv::new();
    let [state, copy, out] = ["state", "copy", "out"].map(|name| env.word(name));
    // In the other state folder, the command does not see that it belongs to a run.
    let line = format!(
        "cp -r {state} {copy} 2>> {out}; run=$(cd {copy} && echo */runs/*); \
         rm -f {copy}/$run/control.sock; ln -s {state}/$run/control.sock {copy}/$run/control.sock; \
         NIGHTWRIGHT_STATE_DIR={copy} {NIGHTWRIGHT} stop -C . >> {out} 2>&1"
    );
    env.rehearse(&inside(&line), "1", &[]).exits(0);
    let said = fs::read_to_string(env.path("out")).unwrap();
    assert!(said.contains("a program of the run sent it"), "{said}");
    let journal = env.journal();
    assert!(!names(&journal).contains(&"stop_requested"));
    assert!(names(&journal).contains(&"warning"));
}

fn start(env: &TestEnv) -> RunningCommand {
    let script = env.script(PATIENT);
    let child = env.start(&["run", "-p", "x", "-m", "1", "--dry-run", "--rehearsal", &script]);
    env.wait_for("agent_ready");
    child
}

/// Whether a process with this id shows a text to all users.
fn shows(pid: u32, text: &str) -> bool {
    let shown = fs::read(format!("/proc/{pid}/cmdline")).unwrap();
    String::from_utf8_lossy(&shown).contains(text)
}

#[test]
fn process_lists_do_not_show_the_goal_of_a_run_and_do_show_that_of_another_program() {
    let env = TestEnv::new();
    let script = env.script(PATIENT);
    let goal = "buy the company in secret";
    let child = env.start(&["run", "-p", goal, "-m", "1", "--dry-run", "--rehearsal", &script]);
    env.wait_for("agent_ready");
    assert!(!shows(child.id(), "company"), "nightwright shows it");
    let below = fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id())).unwrap();
    for pid in below.split_whitespace() {
        assert!(!shows(pid.parse().unwrap(), "company"), "{pid} shows it");
    }
    let mut other = Command::new("sh");
    let mut other = other.args(["-c", "read x", goal]).stdin(Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    while !shows(other.id(), "company") {
        assert!(begun.elapsed() < Duration::from_mins(1), "the other program does not show it");
    }
    other.kill().unwrap();
    other.wait().unwrap();
    env.file("go", "");
    finish(child).exits(0);
}

/// Answers every request as a run would, and does nothing.
fn impostor(path: &Path) {
    fs::remove_file(path).unwrap();
    let listener = UnixListener::bind(path).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut line = String::new();
            BufReader::new(&stream).read_line(&mut line).unwrap();
            // A client that found out has closed it.
            let _ = stream.write_all(b"{\"answer\":\"taken\"}\n");
        }
    });
}

#[test]
fn stop_ends_the_run_whatever_answers_for_it_and_whatever_its_lock_file_says() {
    let other = std::process::id();
    let harms: [fn(&Path, u32); 4] = [
        |run, _| impostor(&run.join("control.sock")),
        |run, _| fs::write(run.join("lock"), "").unwrap(),
        |run, other| {
            let text = fs::read_to_string(run.join("lock")).unwrap();
            let mut owner: serde_json::Value = serde_json::from_str(&text).unwrap();
            owner["pid"] = other.into();
            owner["started"] = serde_json::Value::Null;
            fs::write(run.join("lock"), format!("{owner}\n")).unwrap();
            impostor(&run.join("control.sock"));
        },
        |run, _| {
            fs::remove_file(run.join("lock")).unwrap();
            fs::remove_file(run.join("control.sock")).unwrap();
        },
    ];
    for (index, harm) in harms.into_iter().enumerate() {
        let env = TestEnv::new();
        let child = start(&env);
        let run = env.runs()[0].clone();
        harm(&run, other);
        let stopped = env.run(&["stop", "--now"]).exits(0);
        let warns = stopped.err.contains("warning: cannot reach run");
        assert_eq!(warns, index != 1, "{index}: {}", stopped.err);
        finish(child).exits(130);
        // The service leaves a run alone that a person stopped.
        let resumed = env.run(&["resume", "--if-needed"]).exits(0);
        assert!(!names(&env.journal()).contains(&"run_continued"), "{index}: {}", resumed.err);
    }
}

#[test]
fn a_client_that_does_not_compare_accepts_an_impostor() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("control.sock");
    fs::write(&path, "").unwrap();
    impostor(&path);
    let stop = ControlRequest::Stop { when: StopWhen::Now };
    control_socket::send(&path, &stop, None).unwrap();
    let own = i32::try_from(std::process::id()).unwrap();
    control_socket::send(&path, &stop, Some(own + 1)).unwrap_err();
}

//! Runs without a reader: closed pipes, blocked terminals, and agents that print faster than the
//! output is read. The run continues, and everything is stored.

use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use nightwright_core::event::{Event, NoteEvent};

use super::agent_program::program;
use super::fake_agent::FakeAgentEnv;
use super::harness::{RunningCommand, run_outcome, shell_path};
use super::pty::Pty;

/// The maximum duration of a run that does not have to wait.
const TEST_TIMEOUT: Duration = Duration::from_mins(2);

/// A short output and a result.
const FEW: &str = "init; says hello; tool; tool_done; result done";

/// 50,000 messages, printed as fast as possible.
const MANY: &str = r#"init
yes '{"type":"assistant","message":{"id":"msg_1","model":"m","content":[{"type":"text","text":"one of very many messages"}],"stop_reason":null,"usage":{"input_tokens":10,"output_tokens":1}},"parent_tool_use_id":null}' | head -n 50000 | pour
result done"#;

/// A line of 10 million bytes.
const LONG: &str = r#"init
{
    printf '{"type":"assistant","message":{"id":"msg_1","model":"m","content":[{"type":"text","text":"'
    head -c 10000000 /dev/zero | tr '\0' x
    printf '"}],"stop_reason":null,"usage":{"input_tokens":10,"output_tokens":1}},"parent_tool_use_id":null}\n'
} | pour
result done"#;

/// Waits for the end of a run. Fails if it takes too long.
#[track_caller]
fn wait(mut child: RunningCommand) -> Option<i32> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        if begun.elapsed() > TEST_TIMEOUT {
            child.kill().unwrap();
            panic!("not done after {TEST_TIMEOUT:?}");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Checks that one iteration ends the same way, with or without a reader.
#[track_caller]
fn usual_end(scene: &FakeAgentEnv, code: Option<i32>) {
    assert_eq!((code, run_outcome(&scene.env.journal())), (Some(0), "max_iterations"));
    scene.all_is_kept("001-1");
}

#[test]
fn a_closed_output_ends_the_display_and_not_the_run() {
    for level in ["json", "progress", "verbose"] {
        let scene = FakeAgentEnv::new(FEW);
        let mut child = scene.start(&["-m", "1", "--output", level]);
        drop((child.stdout.take(), child.stderr.take()));
        usual_end(&scene, wait(child));
    }
}

#[test]
fn a_blocked_terminal_does_not_hold_up_the_run() {
    for level in ["progress", "verbose"] {
        // The agent prints once there is a panel and the terminal is full.
        let scene = FakeAgentEnv::new(&MANY.replacen("init\n", "init; until_told full\n", 1));
        let pty = Pty::new(24, 80);
        let mut command = scene.command(&["-m", "1", "--output", level]);
        command.env("TERM", "xterm-256color").stdout(Stdio::null()).stderr(pty.end());
        let child = RunningCommand::from(command.spawn().unwrap());
        drop(command);
        let mut text = pty.read_until("░");
        pty.fill();
        scene.agent.tell("full");
        usual_end(&scene, wait(child));
        text.push_str(&String::from_utf8_lossy(&pty.unread()));
        // The terminal is unchanged for a later reader: none of its modes was touched.
        for modes in ["\u{1b}[?", "\u{1b}[=", "\u{1b}[>", "\u{1b}[4", "\u{1b}c", "\u{1b}("] {
            assert!(!text.contains(modes), "{modes:?} was written");
        }
    }
}

/// Runs with full output on a blocked terminal until the run ends.
#[track_caller]
fn unread(scene: &FakeAgentEnv, most: &str, meanwhile: impl FnOnce(&Pty)) -> Option<i32> {
    let pty = Pty::new(24, 80);
    let mut command = scene.command(&["-m", most, "--output", "verbose", "--yes"]);
    command.env("TERM", "xterm-256color").env("NIGHTWRIGHT_KEEP_AWAKE", "true");
    let child =
        RunningCommand::from(command.stdout(Stdio::null()).stderr(pty.end()).spawn().unwrap());
    drop(command);
    meanwhile(&pty);
    wait(child)
}

#[test]
fn a_machine_that_may_fall_asleep_is_reported_by_who_shows_and_not_by_the_loop() {
    let talks = MANY.replace("result done", "until_told refused; result done");
    let scene = FakeAgentEnv::new(&talks);
    let (full, refused) = (scene.agent.file("full"), scene.agent.file("refused"));
    let refuses = format!(
        "#!/bin/sh\nPATH=/usr/bin:/bin\nuntil [ -e {} ]; do sleep 0.02; done\n\
         echo 'Access denied' >&2\n: > {}\nexit 1\n",
        shell_path(&full),
        shell_path(&refused)
    );
    program(&scene.env, "systemd-inhibit", &refuses);
    let code = unread(&scene, "2", |pty| {
        pty.is_filled();
        scene.agent.tell("full");
    });
    assert_eq!((code, run_outcome(&scene.env.journal())), (Some(0), "max_iterations"));
    assert!(refused.exists(), "nobody was refused anything");
}

#[test]
fn a_message_about_a_hook_that_is_never_read_does_not_block_the_end() {
    let scene = FakeAgentEnv::new(MANY);
    let seen = scene.agent.file("seen");
    fs::create_dir_all(scene.env.project().join(".nightwright/hooks")).unwrap();
    // The hook runs long enough to be mentioned, and then fails, which is also reported.
    let hook = scene.env.project().join(".nightwright/hooks/finished");
    let text = format!("#!/bin/sh\nsleep 2.5\n: > {}\nexit 1\n", shell_path(&seen));
    fs::write(&hook, text).unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    usual_end(&scene, unread(&scene, "1", Pty::is_filled));
    assert!(seen.exists(), "nightwright did not wait for the hook");
}

#[test]
fn unread_events_suppress_nothing_on_standard_error() {
    let scene = FakeAgentEnv::new(MANY);
    fs::create_dir_all(scene.env.project().join(".nightwright/hooks")).unwrap();
    let hook = scene.env.project().join(".nightwright/hooks/finished");
    fs::write(&hook, "#!/bin/sh\nexit 3\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let arguments = ["-m", "1", "--output", "json", "--include-messages", "--yes"];
    let mut child = scene.start(&arguments);
    let (unread, mut words) = (child.stdout.take(), child.stderr.take().unwrap());
    usual_end(&scene, wait(child));
    drop(unread);
    let mut said = String::new();
    words.read_to_string(&mut said).unwrap();
    assert!(said.contains("warning: the hook `finished` failed: exited with 3"), "{said}");
}

#[test]
fn a_blocked_pipe_does_not_hold_up_the_run() {
    let scene = FakeAgentEnv::new(MANY);
    let mut child = scene.start(&["-m", "1", "--output", "verbose"]);
    let unread = (child.stdout.take(), child.stderr.take());
    usual_end(&scene, wait(child));
    drop(unread);
}

#[test]
fn events_that_cannot_be_written_cause_a_warning() {
    let scene = FakeAgentEnv::new("init; until_told go; result done");
    let mut command = scene.command(&["-m", "1", "--output", "json"]);
    command.stdout(File::options().write(true).open("/dev/full").unwrap());
    let mut child = RunningCommand::from(command.spawn().unwrap());
    scene.env.wait_for("warning");
    scene.agent.tell("go");
    drop(child.stderr.take());
    usual_end(&scene, wait(child));
    let journal = scene.env.journal();
    let warnings: Vec<_> = journal
        .iter()
        .filter_map(|record| match &record.event {
            Event::Note(NoteEvent::Warning { text }) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    let [warning] = warnings.as_slice() else { panic!("{warnings:?}") };
    assert!(warning.starts_with("cannot print events: No space left"), "{warning}");
}

#[test]
fn a_line_of_ten_megabytes_is_kept_and_shown_as_far_as_it_makes_sense() {
    let scene = FakeAgentEnv::new(LONG);
    let pty = Pty::new(24, 80);
    let mut command = scene.command(&["-m", "1", "--output", "verbose"]);
    let child =
        RunningCommand::from(command.stdout(Stdio::null()).stderr(pty.end()).spawn().unwrap());
    drop(command);
    let watched = pty.watch(24, 80);
    usual_end(&scene, wait(child));
    let all = watched.all();
    let after = all.iter().filter(|line| line.starts_with("iteration 1: ")).count();
    assert_eq!(after, 1, "what came after it is not among the last {} lines", all.len());
}

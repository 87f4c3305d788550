//! Pipes, devices, sockets and folders in place of the files of a run. Reading a pipe blocks, and
//! reading a device never ends.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::harness::{Output, TestEnv, finish_within};

/// The time in which a command must refuse a file that is none.
const AT_ONCE: Duration = Duration::from_secs(20);
/// The time after which opening a pipe counts as blocked.
const BLOCKED: Duration = Duration::from_millis(500);

/// Creates something at a path.
type Make = fn(&Path);

/// The things that an attacker puts in place of a file.
const KINDS: [(&str, Make); 4] = [
    ("pipe", |path| {
        assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    }),
    ("device", |path| symlink("/dev/zero", path).unwrap()),
    ("socket", |path| drop(UnixListener::bind(path).unwrap())),
    ("folder", |path| fs::create_dir(path).unwrap()),
];

/// The one line of a command that needs the file.
const REFUSED: &str = "it is not a regular file";

fn run(env: &TestEnv, line: &str) -> Output {
    let words = shell_words::split(line).unwrap();
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let mut command = env.command(&words);
    finish_within(command.stdin(Stdio::null()).spawn().unwrap(), AT_ONCE)
}

/// Puts each kind in place of a file and runs these commands. A command with `true` must refuse it
/// with one line; the others do not need the file, and must only end.
fn attack(env: &TestEnv, file: &Path, commands: &[(&str, bool)]) {
    let kept = env.path("kept");
    let had = fs::rename(file, &kept).is_ok();
    for (kind, make) in KINDS {
        make(file);
        for (line, refuses) in commands {
            let output = run(env, line);
            let text = format!("{kind} {}, {line}: {}", file.display(), output.err);
            if *refuses {
                assert_eq!(output.code, Some(1), "{text}");
                assert_eq!(output.err.matches(REFUSED).count(), 1, "{text}");
            }
            assert!(output.err.lines().count() <= 3, "{text}");
        }
        fs::remove_file(file).or_else(|_| fs::remove_dir(file)).unwrap();
    }
    if had {
        fs::rename(kept, file).unwrap();
    }
    // Without the attack, they read the file.
    for (line, _) in commands.iter().filter(|(_, refuses)| *refuses) {
        let output = run(env, line);
        assert!(!output.err.contains(REFUSED), "{line}: {}", output.err);
    }
}

/// A project with a run that ended, and with a task.
fn project() -> TestEnv {
    let env = TestEnv::new();
    env.run(&["new", "t"]).exits(0);
    env.rehearse("[[attempt]]\nend = { result = \"Done.\" }\n", "1", &[]).exits(0);
    env
}

#[test]
fn a_journal_that_is_no_file_is_refused_at_once() {
    let env = project();
    let journal = env.runs()[0].join("journal.jsonl");
    let commands = [
        ("status", true),
        ("status --all", false),
        ("log --json", true),
        ("log -f --json", true),
        ("log", false),
        ("log -f", false),
        ("report", true),
        ("resume", true),
        ("stop", true),
        ("list", false),
    ];
    attack(&env, &journal, &commands);
    KINDS[0].1(&env.path("pipe"));
    fs::rename(env.path("pipe"), &journal).unwrap();
    // The log is in another file.
    let output = run(&env, "log").exits(0);
    assert!(output.out.contains("EXECUTION LOG") && output.err.contains(REFUSED), "{}", output.err);
    let all = run(&env, "status --all").exits(0);
    assert!(all.out.contains("unknown: the end of its journal"), "{}", all.out);
}

#[test]
fn a_lock_that_is_no_file_is_refused_at_once() {
    let env = project();
    let run = env.runs()[0].clone();
    let commands = [("status", false), ("log", false), ("stop", false), ("resume --again", true)];
    attack(&env, &run.join("lock"), &commands);
    let commands = [("status", false), ("stop", false), ("resume --again", true)];
    attack(&env, &run.join("tree.lock"), &commands);
}

#[test]
fn other_records_that_are_no_files_are_refused_at_once() {
    let env = project();
    let run = env.runs()[0].clone();
    let commands = [("status", false), ("report", false), ("log", false), ("resume", false)];
    attack(&env, &run.join("unmasked.json"), &commands);
    let status = env.project().join(".nightwright/tasks/t/.status.json");
    attack(&env, &status, &[("list", false), ("status", false), ("task show t", false)]);
    let approvals = env.path("state/trust");
    fs::create_dir_all(&approvals).unwrap();
    let name = env.runs()[0].ancestors().nth(2).unwrap().file_name().unwrap().to_owned();
    let file = approvals.join(name).with_extension("json");
    env.file(".nightwright/config.toml", "[commands]\ntest = \"true\"\n");
    attack(&env, &file, &[("trust --yes", true), ("trust --list", true)]);
}

#[test]
fn inspect_refuses_what_is_no_file_and_takes_a_pipe_on_standard_input() {
    let env = TestEnv::new();
    for (kind, make) in KINDS {
        let path = env.path(kind);
        make(&path);
        let output = run(&env, &format!("inspect {}", env.word(kind))).exits(1);
        let wanted = if kind == "folder" { "it is a folder" } else { REFUSED };
        assert!(output.err.contains(wanted), "{kind}: {}", output.err);
        assert_eq!(
            output.err.contains("`-` to read the standard input"),
            kind != "folder",
            "{kind}"
        );
    }
    env.paste("printf '{}\\n' | nightwright inspect -").exits(0);
}

#[test]
fn a_program_that_opens_a_pipe_waits_for_another_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe");
    KINDS[0].1(&path);
    let (sender, receiver) = mpsc::channel();
    let opened = path.clone();
    let reader = thread::spawn(move || {
        let read = fs::read(opened);
        // The receiver may be gone.
        let _ = sender.send(());
        read
    });
    assert!(receiver.recv_timeout(BLOCKED).is_err(), "reading a pipe does not block");
    fs::write(&path, "x").unwrap();
    assert_eq!(reader.join().unwrap().unwrap(), b"x");
}

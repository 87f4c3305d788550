//! The temporary folder of a run: available to every program, private, short, and removed
//! afterwards.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nightwright_core::event::{Event, NoteEvent};

use super::agent_program::program;
use super::harness::{TestEnv, finish, run_outcome};

/// The maximum length of a `TMPDIR` in which a socket with a name of 60 bytes can be bound.
const MAX_TMPDIR_LEN: usize = 107 - 60 - "/".len();

/// Uses the temporary folder like an ordinary program, and stores its path in `seen/NAME`.
const USE: &str = "test -d \"$TMPDIR\" && file=$(mktemp) && case \"$file\" in \"$TMPDIR\"/*) ;; \
                   *) echo \"not below TMPDIR: $file\"; exit 1 ;; esac && stat -c %a \"$TMPDIR\" \
                   > SEEN/NAME.mode && echo \"$TMPDIR\" > SEEN/NAME";

fn uses_temp(env: &TestEnv, name: &str) -> String {
    fs::create_dir_all(env.path("seen")).unwrap();
    USE.replace("SEEN", &env.word("seen")).replace("NAME", name)
}

/// The temporary folder that a program used.
fn seen(env: &TestEnv, name: &str) -> PathBuf {
    let text = fs::read_to_string(env.path("seen").join(name));
    PathBuf::from(text.unwrap_or_else(|_| panic!("{name} had no temporary folder")).trim_end())
}

/// An agent that uses its temporary folder, works, claims completion and gives verdicts.
fn worker(env: &TestEnv) {
    let (work, call) = (uses_temp(env, "agent"), uses_temp(env, "call"));
    program(
        env,
        "worker",
        &format!(
            "#!/bin/sh\ncat > /dev/null\n\
             if [ \"$NIGHTWRIGHT_PURPOSE\" = verify ]; then {call}; echo 'VERDICT: yes - fine'; exit; fi\n\
             {work} || exit 3\n\
             mkdir -p \"$TMPDIR/cache/module\" && chmod 555 \"$TMPDIR/cache/module\" \"$TMPDIR/cache\"\n\
             echo work >> made.txt\necho '<promise>COMPLETE</promise>'\n"
        ),
    );
}

fn hook(env: &TestEnv, name: &str) {
    let folder = env.project().join(".nightwright/hooks");
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join(name);
    fs::write(&file, format!("#!/bin/sh\n{}\n", uses_temp(env, name))).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn agent_checks_calls_and_hooks_have_a_temporary_folder_that_exists_and_is_removed() {
    let env = TestEnv::new();
    worker(&env);
    hook(&env, "started");
    hook(&env, "finished");
    let check = uses_temp(&env, "check");
    let run = ["run", "-p", "x", "-m", "1", "--no-delay", "--yes", "--agent-command", "worker"];
    let output = env.run(&[&run[..], &["--verify", &check]].concat()).exits(0);
    assert_eq!(run_outcome(&env.journal()), "completed", "{}", output.err);
    let failed = |event: &Event| matches!(event, Event::Note(NoteEvent::HookFailed { .. }));
    assert!(!env.journal().iter().any(|record| failed(&record.event)), "{}", output.err);
    for name in ["agent", "call", "check", "started", "finished"] {
        let temp = seen(&env, name);
        assert!(temp.as_os_str().len() <= MAX_TMPDIR_LEN, "{name}: {}", temp.display());
        assert_eq!(fs::read_to_string(env.path(&format!("seen/{name}.mode"))).unwrap(), "700\n");
        assert!(!temp.parent().unwrap().exists(), "{name}: {} is left", temp.display());
    }
    assert_eq!(records(&env), 0);
}

#[test]
fn a_long_tmpdir_or_one_inside_the_project_is_not_used() {
    for folder in ["project/tmp", "a-very-long-name-for-a-folder-of-temporary-files/and-one-more"] {
        let env = TestEnv::new();
        worker(&env);
        fs::create_dir_all(env.path(folder)).unwrap();
        let run = ["run", "-p", "x", "-m", "1", "--no-delay", "--agent-command", "worker"];
        let mut command = env.command(&run);
        command.env("TMPDIR", env.path(folder));
        finish(command.spawn().unwrap()).exits(0);
        let temp = seen(&env, "agent");
        assert!(!temp.starts_with(env.path(folder)), "{}", temp.display());
        assert!(temp.as_os_str().len() <= MAX_TMPDIR_LEN, "{}", temp.display());
    }
}

#[test]
fn the_next_start_removes_the_temporary_folder_of_a_killed_run() {
    let env = TestEnv::new();
    let temp = killed(&env);
    assert!(temp.is_dir(), "{} is gone before the next start", temp.display());
    // A start in another project with the same state folder also cleans up.
    fs::create_dir(env.path("other")).unwrap();
    let other = env.path("other").display().to_string();
    let script = env.script("[[attempt]]\nend = { result = \"Some.\" }\n");
    env.run(&["run", "-C", &other, "-p", "x", "-m", "1", "--dry-run", "--rehearsal", &script])
        .exits(0);
    assert!(!temp.exists(), "{} is left", temp.display());
    assert_eq!(records(&env), 0);
}

/// Kills a run whose agent has left files. Returns the temporary folder of the run.
fn killed(env: &TestEnv) -> PathBuf {
    let mark = uses_temp(env, "agent");
    let cache = "mkdir -p \"$TMPDIR/cache\" && echo x > \"$TMPDIR/cache/x\" && \
                 chmod 555 \"$TMPDIR/cache\"";
    program(
        env,
        "sleeper",
        &format!("#!/bin/sh\n{cache}; {mark}; echo > {}/ready; exec sleep 300\n", env.word("seen")),
    );
    let mut run = env.start(&["run", "-p", "x", "-m", "1", "--agent-command", "sleeper"]);
    await_file(&env.path("seen/ready"));
    run.kill().unwrap();
    run.wait().unwrap();
    seen(env, "agent").parent().unwrap().to_owned()
}

fn await_file(path: &Path) {
    let begun = Instant::now();
    while !path.exists() {
        assert!(begun.elapsed() < Duration::from_mins(1), "no {}", path.display());
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The number of temporary folders recorded in the state folder.
fn records(env: &TestEnv) -> usize {
    fs::read_dir(env.path("state/temp")).map_or(0, Iterator::count)
}

//! Attacks on the git of nightwright: its private folder, and the programs that it starts.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use nightwright_core::event::{Event, NoteEvent};

use crate::git::{command, git};
use crate::harness::TestEnv;

#[test]
fn a_filter_in_the_private_folder_runs_nothing_and_plain_git_would_run_it() {
    let env = TestEnv::new();
    let (project, ran) = (env.project(), env.path("ran"));
    git(&project, &["init", "--quiet"]);
    env.file("a.txt", "one\n");
    git(&project, &["add", "."]);
    git(&project, &["commit", "--quiet", "-m", "one"]);
    let clean = format!("touch {}; cat", env.word("ran"));
    let filter = format!("[filter \"evil\"]\n\tclean = {clean:?}\n");
    fs::write(env.path("filter"), &filter).unwrap();
    let script = format!(
        "[[attempt]]\nsteps = [{{ run = '''for file in {1}/*/runs/*/git/config; \
         do cat {0} >> \"$file\"; done; \
         echo '*.txt filter=evil' > .gitattributes; echo two > a.txt''' }}]\n\
         end = {{ result = \"A part of it.\" }}\n",
        env.word("filter"),
        env.word("state")
    );
    env.rehearse(&script.repeat(2), "2", &[]).exits(0);
    assert!(!ran.exists(), "git ran the program of the agent");
    let texts: Vec<_> = env
        .journal()
        .into_iter()
        .filter_map(|record| match record.event {
            Event::Note(NoteEvent::Warning { text }) if text.contains("private git") => Some(text),
            _ => None,
        })
        .collect();
    assert_eq!(texts.len(), 1, "{texts:?}");

    // The same configuration, where nothing compares it.
    let folder = project.join(".git");
    let config = fs::read_to_string(folder.join("config")).unwrap();
    fs::write(folder.join("config"), config + &filter).unwrap();
    let doctor = env.run(&["doctor"]);
    assert!(doctor.out.contains("some changes in the project are not committed"), "{}", doctor.out);
    assert!(!ran.exists(), "doctor ran the program of the agent");
    let status = command(&project).arg("status").output().unwrap();
    assert!(status.status.success() && ran.exists(), "{status:?}");
}

/// Starts a process that leaves its parents and its session, and then the real git.
fn hostile_git(env: &TestEnv) {
    let pids = env.word("pids");
    let text = format!(
        "#!/bin/sh\nsetsid sh -c 'echo $$ >> {pids}; exec sleep 600' > /dev/null 2>&1 &\n\
         while [ ! -s {pids} ]; do sleep 0.01; done\nPATH=/usr/bin:/bin exec git \"$@\"\n"
    );
    let path = env.path("bin/git");
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// The processes that the hostile git left behind and that are alive.
fn alive(env: &TestEnv) -> Vec<String> {
    let pids = fs::read_to_string(env.path("pids")).unwrap_or_default();
    let is_alive = |pid: &&str| {
        let words = fs::read(Path::new("/proc").join(pid).join("cmdline")).unwrap_or_default();
        words.starts_with(b"sleep\x00600") || words.starts_with(b"sh\0")
    };
    pids.lines().filter(is_alive).map(str::to_owned).collect()
}

#[test]
fn a_program_that_git_started_dies_with_it_and_without_a_guard_it_lives() {
    let env = TestEnv::new();
    let project = env.project();
    git(&project, &["init", "--quiet"]);
    env.file("a.txt", "one\n");
    git(&project, &["add", "."]);
    git(&project, &["commit", "--quiet", "-m", "one"]);
    hostile_git(&env);
    env.run(&["doctor"]);
    assert!(env.path("pids").exists(), "doctor did not run this git");
    assert_eq!(alive(&env), Vec::<String>::new());

    fs::remove_file(env.path("pids")).unwrap();
    let script =
        "[[attempt]]\nsteps = [{ run = \"echo two > a.txt\" }]\nend = { result = \"A.\" }\n";
    env.rehearse(script, "1", &[]).exits(0);
    assert!(env.path("pids").exists(), "the run did not run this git");
    assert_eq!(alive(&env), Vec::<String>::new());

    fs::remove_file(env.path("pids")).unwrap();
    let mut status = Command::new(env.path("bin/git"));
    status.arg("status").current_dir(&project).env("GIT_CONFIG_GLOBAL", "/dev/null");
    let status = status.output();
    assert!(status.unwrap().status.success());
    let begun = Instant::now();
    while alive(&env).is_empty() {
        assert!(begun.elapsed() < Duration::from_mins(1), "the process did not live");
    }
    for pid in alive(&env) {
        let killed = Command::new("kill").args(["-9", &pid]).status().unwrap();
        assert!(killed.success());
    }
}

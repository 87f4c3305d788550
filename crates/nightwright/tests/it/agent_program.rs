//! The agent program: its search, its version check, and the errors if it cannot be used.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use insta::assert_snapshot;
use nightwright::agent::program::{FoundProgram, Freshness, ProgramError, ProgramQuery, find};
use nightwright::process::Containment;
use nightwright_core::stream::dialect::claude::COVERED;
use nightwright_core::stream::version::{Version, VersionSupport};

use super::agent_env::{GROWING, NIGHTWRIGHT, is_alive};
use super::harness::{Output, TestEnv, finish, shell_path};

/// Installs a program in the `bin` folder of the test environment.
pub(crate) fn program(env: &TestEnv, name: &str, script: &str) -> PathBuf {
    let path = env.path("bin").join(name);
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// Installs a stand-in for the agent program. It prints its version, plays a recording of the real
/// program, and logs each version request.
pub(crate) fn player(env: &TestEnv, version: &str, recording: &str) -> PathBuf {
    let asked = env.word("asked");
    let stream = recorded(recording).join("stdout.ndjson");
    let script = format!(
        "#!/bin/sh\n\
         [ \"$1\" = --version ] && echo x >> {asked} && echo '{version}' && exit\n\
         read -r prompt\ncat {}\n",
        shell_path(&stream)
    );
    program(env, "claude", &script)
}

/// The folder with the files of a recording.
pub(crate) fn recorded(name: &str) -> PathBuf {
    recordings().join(name)
}

fn recordings() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../nightwright-core/tests/fixtures/claude")
}

const RUN: [&str; 6] = ["run", "-p", "x", "-m", "1", "--no-delay"];

fn times_asked(env: &TestEnv) -> usize {
    fs::read_to_string(env.path("asked")).unwrap_or_default().lines().count()
}

/// The error of a run that cannot start, with `~` for the folder of the test environment.
fn refusal(env: &TestEnv) -> String {
    let output = env.run(&RUN).exits(1);
    assert_eq!(output.out, "");
    assert!(env.runs().is_empty(), "something was begun");
    output.err.replace(env.path("").to_str().unwrap(), "~/").trim_end().to_owned()
}

fn refusal_of(script: &str) -> String {
    let env = TestEnv::new();
    program(&env, "claude", script);
    refusal(&env)
}

#[test]
fn a_program_that_is_not_there_is_reported_in_the_known_words() {
    assert_snapshot!(refusal(&TestEnv::new()), @r#"
    error: Claude CLI not found. Make sure 'claude' is installed and in PATH.
    hint: run `nightwright run -p "..." -m 3 --dry-run` to try nightwright without it
    "#);
}

#[test]
fn a_file_that_is_not_executable_is_named() {
    let env = TestEnv::new();
    let claude = program(&env, "claude", "#!/bin/sh\n");
    fs::set_permissions(&claude, fs::Permissions::from_mode(0o644)).unwrap();
    assert_snapshot!(refusal(&env), @"
    error: `~/bin/claude` is not executable
    hint: run `chmod +x '~/bin/claude'`, or reinstall it
    ");
}

#[test]
fn a_link_that_leads_nowhere_is_named_with_its_target() {
    let env = TestEnv::new();
    symlink("/nowhere/claude", env.path("bin/claude")).unwrap();
    assert_snapshot!(refusal(&env), @"
    error: cannot follow the link `~/bin/claude` to `/nowhere/claude`: No such file or directory (os error 2)
    hint: reinstall it, or remove the link
    ");
    let env = TestEnv::new();
    symlink("claude", env.path("bin/claude")).unwrap();
    assert!(refusal(&env).contains("` to `claude`: "));
}

#[test]
fn a_folder_of_its_name_is_no_program() {
    let env = TestEnv::new();
    fs::create_dir(env.path("bin/claude")).unwrap();
    assert_snapshot!(refusal(&env), @"
    error: `~/bin/claude` is a folder, not a program
    hint: rename `~/bin/claude`, or install the program in an earlier folder of PATH
    ");
}

#[test]
fn a_script_without_its_interpreter_is_not_called_missing() {
    assert_snapshot!(refusal_of("#!/nowhere/node --harmony\n"), @"
    error: cannot start `~/bin/claude`: its interpreter `/nowhere/node` does not exist
    hint: install `/nowhere/node`, or change the first line of the file
    ");
    let env = refusal_of("#!/usr/bin/env no-such-node\n");
    assert!(env.contains("--version` exited with 127: ") && env.contains("no-such-node"), "{env}");
}

#[test]
fn a_program_for_another_system_is_not_called_missing() {
    assert_snapshot!(refusal_of("\u{7f}ELF and nothing else"), @"
    error: cannot start `~/bin/claude`: Exec format error (os error 8)
    hint: reinstall it: it may be for another system
    ");
}

#[test]
fn a_program_that_fails_dies_or_talks_nonsense_is_quoted() {
    assert_snapshot!(refusal_of("#!/bin/sh\necho; echo no licence >&2\nexit 3\n"), @"
    error: `~/bin/claude --version` exited with 3: no licence
    hint: run `~/bin/claude --version` by hand to see why
    ");
    assert_snapshot!(refusal_of("#!/bin/sh\nkill -SEGV $$\n"), @"
    error: signal 11 killed `~/bin/claude --version`
    hint: run `~/bin/claude --version` by hand to see why
    ");
    assert_snapshot!(refusal_of("#!/bin/sh\nprintf 'Usage: \\033[2Jclaude\\n...\\n'\n"), @"
    error: `~/bin/claude --version` printed `Usage: claude`, not a version such as `2.1.325 (Claude Code)`
    hint: check that this is Claude Code: `type -a claude` lists all programs with that name
    ");
    assert!(refusal_of("#!/bin/sh\n").contains("printed nothing, not a version"));
}

#[test]
fn a_version_older_than_the_recordings_is_refused_with_the_one_needed() {
    assert_snapshot!(refusal_of("#!/bin/sh\necho '2.0.14 (Claude Code)'\n"), @"
    error: `~/bin/claude` is version 2.0.14; nightwright needs 2.1.197 or newer
    hint: update it with `claude update` or `npm install -g @anthropic-ai/claude-code@latest`
    ");
}

#[test]
fn a_newer_version_is_reported_once_and_used() {
    for (version, is_reported) in
        [("2.1.326", true), ("3.0.0", true), ("2.1.325", false), ("2.1.197", false)]
    {
        let env = TestEnv::new();
        player(&env, &format!("{version} (Claude Code)"), "a_plain");
        let output = env.run(&RUN).exits(0);
        assert_eq!(
            output.err.matches("is newer than 2.1.325").count(),
            usize::from(is_reported),
            "{}",
            output.err
        );
        let quiet = env.run(&[&RUN[..], &["-q"]].concat()).exits(0);
        assert_eq!(quiet.err, "");
    }
}

#[test]
fn path_and_version_are_in_the_journal() {
    let env = TestEnv::new();
    let claude = player(&env, "2.1.325 (Claude Code)", "a_plain");
    env.run(&RUN).exits(0);
    let text = fs::read_to_string(env.runs()[0].join("journal.jsonl")).unwrap();
    let first: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(first["agent"]["path"], claude.to_str().unwrap());
    assert_eq!(first["agent"]["version"], "2.1.325");
}

#[test]
fn a_program_is_asked_once_as_long_as_it_stays_the_same() {
    let env = TestEnv::new();
    player(&env, "2.1.325 (Claude Code)", "a_plain");
    for _ in 0..3 {
        env.run(&RUN).exits(0);
    }
    assert_eq!(times_asked(&env), 1);
    assert!(env.path("home/.cache/nightwright/agents.json").is_file());

    fs::remove_file(env.path("bin/claude")).unwrap();
    player(&env, "2.1.3261 (Claude Code)", "a_plain");
    env.run(&RUN).exits(0).says(&["2.1.3261 is newer"]);
    assert_eq!(times_asked(&env), 2, "another file is another program");

    let mut command = env.command(&RUN);
    command.env("XDG_CACHE_HOME", env.path("cache"));
    finish(command.spawn().unwrap()).exits(0);
    assert!(env.path("cache/nightwright/agents.json").is_file());
}

#[test]
fn an_old_answer_or_one_from_the_future_does_not_count() {
    let env = TestEnv::new();
    player(&env, "2.1.325 (Claude Code)", "a_plain");
    env.run(&RUN).exits(0);
    let file = env.path("home/.cache/nightwright/agents.json");
    let kept = fs::read_to_string(&file).unwrap();
    let now = jiff::Timestamp::now();
    for (hours, asked) in [(-1, 1), (-25, 2), (1, 2)] {
        let then = now + jiff::SignedDuration::from_hours(hours);
        let mut value: serde_json::Value = serde_json::from_str(&kept).unwrap();
        value["entries"][0]["asked"] = then.to_string().into();
        fs::write(&file, value.to_string()).unwrap();
        let before = times_asked(&env);
        env.run(&RUN).exits(0);
        assert_eq!(times_asked(&env) - before + 1, asked, "asked {hours} hours from now");
    }
}

#[test]
fn a_damaged_cache_does_no_harm() {
    type Harm = fn(&Path);
    let harms: [(&str, Harm); 6] = [
        ("no JSON", |file| fs::write(file, b"\0\xff{").unwrap()),
        ("other JSON", |file| fs::write(file, "[1]").unwrap()),
        ("a later format", |file| {
            let text = fs::read_to_string(file).unwrap();
            fs::write(file, text.replace("\"format\":1", "\"format\":2")).unwrap();
        }),
        ("a folder", |file| {
            fs::remove_file(file).unwrap();
            fs::create_dir(file).unwrap();
        }),
        ("a pipe", |file| {
            fs::remove_file(file).unwrap();
            let kind = rustix::fs::FileType::Fifo;
            rustix::fs::mknodat(rustix::fs::CWD, file, kind, 0o600.into(), 0).unwrap();
        }),
        ("no place", |file| {
            let caches = file.parent().unwrap().parent().unwrap();
            fs::remove_dir_all(caches).unwrap();
            fs::write(caches, "in the way").unwrap();
        }),
    ];
    for (what, harm) in harms {
        let env = TestEnv::new();
        player(&env, "2.1.325 (Claude Code)", "a_plain");
        env.run(&RUN).exits(0);
        harm(&env.path("home/.cache/nightwright/agents.json"));
        let output = env.run(&RUN).exits(0);
        assert!(!output.err.contains("cache"), "{what}: {}", output.err);
        assert_eq!(times_asked(&env), 2, "{what}");
    }
}

#[test]
fn without_a_home_there_is_no_cache_and_that_is_all() {
    let env = TestEnv::new();
    player(&env, "2.1.325 (Claude Code)", "a_plain");
    let mut command = env.command(&RUN);
    command.env_remove("HOME").env("XDG_CACHE_HOME", "relative");
    finish(command.spawn().unwrap()).exits(0);
    assert!(!env.project().join("relative").exists());
}

#[test]
fn the_first_that_can_be_run_is_taken_and_the_project_chooses_nothing() {
    let env = TestEnv::new();
    fs::create_dir(env.path("early")).unwrap();
    fs::create_dir(env.path("early/claude")).unwrap();
    let late = player(&env, "2.1.325 (Claude Code)", "a_plain");
    // Programs of the project, found through an empty and a relative entry of `PATH`.
    fs::write(env.project().join("claude"), "#!/bin/sh\necho 2.1.325; touch pwned\n").unwrap();
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(env.project().join("claude"), executable).unwrap();
    let path =
        format!(":.:{}:{}:/usr/bin:/bin", env.path("early").display(), env.path("bin").display());
    let mut command = env.command(&RUN);
    command.env("PATH", path);
    finish(command.spawn().unwrap()).exits(0);
    let text = fs::read_to_string(env.runs()[0].join("journal.jsonl")).unwrap();
    assert!(text.contains(late.to_str().unwrap()));
    assert!(!env.project().join("pwned").exists());
}

/// Searches for a program as a run does, with another timeout.
async fn look(env: &TestEnv, timeout: Duration) -> Result<FoundProgram, ProgramError> {
    let path = env.path("bin");
    let wanted = ProgramQuery {
        name: "claude",
        path: Some(path.as_os_str()),
        covered: COVERED,
        environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
        containment: Containment::with_guard(NIGHTWRIGHT.into(), None, None),
        timeout,
        cache: None,
        freshness: Freshness::Asked,
    };
    find(&wanted).await
}

#[tokio::test]
async fn a_program_that_never_answers_is_given_up_with_all_it_started() {
    let env = TestEnv::new();
    let pid = env.path("pid");
    let script = format!(
        "#!/bin/sh\nsleep 1000 &\necho $! > {0}.new\nmv {0}.new {0}\nwait\n",
        env.word("pid")
    );
    let file = program(&env, "claude", &script);
    for waited in GROWING {
        let expected = ProgramError::NoAnswer { file: file.clone(), waited };
        assert_eq!(look(&env, waited).await, Err(expected));
        if let Ok(sleeper) = fs::read_to_string(&pid) {
            assert!(!is_alive(&sleeper), "it left something behind");
            return;
        }
    }
    panic!("it never started anything");
}

#[tokio::test]
async fn a_version_is_found_behind_the_warnings_of_an_interpreter() {
    let env = TestEnv::new();
    let script = "#!/bin/sh\necho '(node:7) a warning' >&2\necho '2.1.300 (Claude Code)'\n";
    let path = program(&env, "claude", script);
    let found = look(&env, Duration::from_secs(30)).await;
    let version = Version::new(2, 1, 300);
    assert_eq!(found, Ok(FoundProgram { path, version, support: VersionSupport::Covered }));
}

#[test]
fn the_covered_versions_are_those_of_the_recordings() {
    let mut versions = Vec::new();
    for folder in fs::read_dir(recordings()).unwrap() {
        let meta = fs::read_to_string(folder.unwrap().path().join("meta.json")).unwrap();
        let meta: serde_json::Value = serde_json::from_str(&meta).unwrap();
        versions.push(Version::parse(meta["version"].as_str().unwrap()).unwrap());
    }
    assert_eq!(versions.iter().min(), Some(&COVERED.oldest));
    assert_eq!(versions.iter().max(), Some(&COVERED.newest));
}

const SKIPPING: [&[&str]; 3] = [
    &["--dangerously-skip-permissions"],
    &["--", "--dangerously-skip-permissions"],
    &["--", "--permission-mode", "bypassPermissions"],
];

fn run_with(env: &TestEnv, more: &[&str], sandbox: Option<&str>) -> Output {
    let mut command = env.command(&[&RUN[..], more].concat());
    if let Some(sandbox) = sandbox {
        command.env("IS_SANDBOX", sandbox);
    }
    finish(command.spawn().unwrap())
}

#[test]
fn skipping_permissions_warns_every_time_however_it_is_asked_for() {
    for more in SKIPPING {
        let env = TestEnv::new();
        player(&env, "2.1.325 (Claude Code)", "a_plain");
        for _ in 0..2 {
            run_with(&env, more, Some("1")).exits(0).says(&[
                "warning: the agent may do everything without asking, and there is no sandbox",
            ]);
        }
        let mut quiet = vec!["-q"];
        quiet.extend(more);
        run_with(&env, &quiet, Some("1")).exits(0).says(&["warning: the agent may do"]);
    }
    let env = TestEnv::new();
    player(&env, "2.1.325 (Claude Code)", "a_plain");
    let output = run_with(&env, &[], None).exits(0);
    assert!(!output.err.contains("warning"), "{}", output.err);
}

#[test]
fn as_root_nothing_starts_that_the_program_would_refuse() {
    let root = rustix::process::getuid().is_root();
    for more in SKIPPING {
        for sandbox in [None, Some("0")] {
            let env = TestEnv::new();
            player(&env, "2.1.325 (Claude Code)", "a_plain");
            let output = run_with(&env, more, sandbox);
            if root {
                output.exits(1).says(&[
                    "error: the agent refuses to skip permissions as root",
                    "--allowed-tools",
                    "IS_SANDBOX=1",
                ]);
                assert!(env.runs().is_empty(), "something was begun");
            } else {
                output.exits(0);
            }
        }
    }
}

#[test]
fn the_word_that_it_is_a_sandbox_reaches_the_agent_only_where_it_matters() {
    for (more, reaches) in [(SKIPPING[0], true), (&[][..], false)] {
        let env = TestEnv::new();
        let seen = env.path("seen");
        let script = format!(
            "#!/bin/sh\n[ \"$1\" = --version ] && echo 2.1.325 && exit\n\
             read -r prompt; env > {}; cat {}\n",
            env.word("seen"),
            shell_path(&recorded("a_plain").join("stdout.ndjson"))
        );
        program(&env, "claude", &script);
        run_with(&env, more, Some("1")).exits(0);
        let seen = fs::read_to_string(seen).unwrap();
        assert_eq!(seen.contains("IS_SANDBOX=1"), reaches, "{more:?}");
    }
}

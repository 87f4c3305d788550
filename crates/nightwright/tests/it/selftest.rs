//! `nightwright selftest`: all rows hold on this machine, leave nothing behind, and are reported as
//! text and as JSON.

use std::env;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::fake_agent::census::Census;
use super::git::git;
use super::harness::{TestEnv, finish};

/// The timeout of a test; only a failing test takes this long.
const TEST_TIMEOUT: Duration = Duration::from_mins(1);

const ROWS: [&str; 13] = [
    "hang-at-start",
    "hang-after-result",
    "silence",
    "usage-limit",
    "crash",
    "garbage",
    "false-claim",
    "repeated-false-claims",
    "orphans",
    "sigterm",
    "sigkill",
    "full-disk",
    "full-journal",
];

/// The processes of a self-test in this folder, except those that cleared their environment.
fn census(env: &TestEnv) -> Census {
    let tmp = env.path("tmp").canonicalize().unwrap();
    Census {
        notes: env.path("none"),
        signs: vec![format!("HOME={}/nightwright-selftest-", tmp.display())],
    }
}

fn folders(env: &TestEnv) -> Vec<String> {
    let entries = fs::read_dir(env.path("tmp")).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn result_of(row: &Value) -> &str {
    row["result"].as_str().unwrap()
}

#[test]
fn every_row_holds_or_says_why_it_was_not_tested_and_nothing_is_left() {
    let env = TestEnv::new();
    let output = env.run(&["selftest", "--json"]).exits(0);
    let report: Value = serde_json::from_str(&output.out).unwrap();
    assert_eq!(report["format"], 1);
    assert_eq!(report["failed"], 0);
    assert_eq!(report["survivors_checked"], true);
    assert_eq!(report["survivors"], Value::Array(Vec::new()));
    let rows = report["tests"].as_array().unwrap();
    let count = |name: &str| rows.iter().filter(|row| result_of(row) == name).count();
    assert_eq!(report["passed"], count("passed"));
    assert_eq!(report["not_tested"], count("not_tested"));
    let names: Vec<_> = rows.iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names, ROWS);
    for row in rows {
        match result_of(row) {
            "passed" => assert!(row["seconds"].as_f64().unwrap() > 0.0, "{row}"),
            // Some machines allow no separate disk.
            "not_tested" => {
                assert!(row["name"].as_str().unwrap().starts_with("full-"), "{row}");
                assert!(!row["why"].as_str().unwrap().is_empty(), "{row}");
            }
            other => panic!("{other}: {row}"),
        }
    }
    for level in report["containment"].as_array().unwrap() {
        assert!(level.as_str().unwrap().starts_with("guard"), "{level}");
    }
    assert_eq!(folders(&env), [""; 0]);
    assert!(fs::read_dir(env.path("state")).unwrap().next().is_none(), "a state was touched");
    assert!(fs::read_dir(env.path("home")).unwrap().next().is_none(), "a home was touched");
    census(&env).nobody("the self-test is over");
}

#[test]
fn a_row_can_be_played_alone_and_its_folder_kept() {
    let env = TestEnv::new();
    let output = env.run(&["selftest", "--only", "false-claim", "--keep"]).exits(0);
    let shown: Vec<_> = output.out.lines().collect();
    assert!(shown[0].starts_with("false claim of completion"), "{}", output.out);
    assert!(shown[0].contains("passed"), "{}", output.out);
    assert!(output.out.contains("\nContainment: guard"), "{}", output.out);
    assert!(shown.last().unwrap().starts_with("1 of 1 passed in "), "{}", output.out);
    let kept = folders(&env);
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert!(output.err.contains(&kept[0]), "{}", output.err);
    let row = env.path("tmp").join(&kept[0]).join("false-claim");
    assert!(row.join("project/done").exists());
}

/// The case of a `TMPDIR` inside a project.
#[test]
fn a_temporary_folder_inside_a_repository_leaves_that_repository_alone() {
    let env = TestEnv::new();
    let repository = env.path("tmp");
    git(&repository, &["init", "--quiet"]);
    fs::create_dir(repository.join(".nightwright")).unwrap();
    fs::create_dir(repository.join("tmp")).unwrap();
    let only = ["selftest", "--keep", "--only", "false-claim", "--only", "sigkill"];
    let mut command = env.command(&only);
    command.env_remove("GIT_CEILING_DIRECTORIES").env("TMPDIR", repository.join("tmp"));
    let output = finish(command.spawn().unwrap()).exits(0);
    assert!(output.out.contains("\n2 of 2 passed in "), "{}", output.out);
    let kept = fs::read_dir(repository.join("tmp")).unwrap().next().unwrap().unwrap().path();
    for row in ["false-claim", "sigkill"] {
        assert!(kept.join(row).join("project/done").exists(), "`{row}` worked elsewhere");
    }
    assert!(!repository.join("done").exists());
    assert_eq!(fs::read_dir(repository.join(".nightwright")).unwrap().count(), 0);
    assert_eq!(git(&repository, &["for-each-ref"]), "");
}

#[test]
fn a_row_that_does_not_exist_is_refused_with_the_names_of_those_that_do() {
    let env = TestEnv::new();
    let output = env.run(&["selftest", "--only", "false-claim", "--only", "flood"]).exits(2);
    let output = output.says(&["error: unknown test `flood`"]).says(&ROWS);
    assert_eq!(output.out, "");
    assert_eq!(folders(&env), [""; 0]);
}

/// Provokes a failure with a `PATH` that has almost no programs.
#[test]
fn a_row_that_did_not_hold_says_what_was_expected_and_seen_and_keeps_its_folder() {
    let env = TestEnv::new();
    // The check needs these.
    link_programs(&["mktemp", "rm"], &env.path("bin"));
    let mut command = env.command(&["selftest", "--only", "silence", "--only", "orphans"]);
    let output = finish(command.env("PATH", env.path("bin")).spawn().unwrap()).exits(1);
    // The silent agent needs no programs. The one that leaves servers behind does.
    assert!(output.out.contains("silence                  passed"), "{}", output.out);
    assert!(output.out.contains("orphans                  FAILED"), "{}", output.out);
    assert!(output.out.contains("    expected: "), "{}", output.out);
    assert!(output.out.contains("    actual: "), "{}", output.out);
    assert!(output.out.contains("    outcome: "), "{}", output.out);
    assert!(output.out.contains("\n1 of 2 passed in "), "{}", output.out);
    assert!(output.out.ends_with(" s; failed: orphans\n"), "{}", output.out);
    let kept = folders(&env);
    assert_eq!(kept.len(), 1, "{kept:?}");
    let folder = env.path("tmp").join(&kept[0]);
    assert!(output.out.contains(&format!("/{}/orphans\n", kept[0])), "{}", output.out);
    assert!(folder.join("orphans").exists());
    assert!(!folder.join("silence").exists());
    census(&env).nobody("the self-test is over");
}

/// Writes a program into a separate folder.
fn program(env: &TestEnv, folder: &str, name: &str, text: &str) {
    let place = env.path(folder);
    fs::create_dir_all(&place).unwrap();
    fs::write(place.join(name), text).unwrap();
    fs::set_permissions(place.join(name), Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_disk_that_was_never_made_is_not_filled_and_nothing_is_said_to_have_held_on_it() {
    let env = TestEnv::new();
    program(&env, "liars", "mount", "#!/bin/sh\nexit 0\n");
    let path = env::var("PATH").unwrap();
    let path = format!("{}:{path}", env.path("liars").display());
    let rows = ["--only", "full-disk", "--only", "full-journal"];
    let mut command = env.command(&[&["selftest"], &rows[..]].concat());
    let output = finish(command.env("PATH", path).spawn().unwrap()).exits(0);
    assert!(output.out.contains("\n0 of 2 passed in "), "{}", output.out);
    let sum = " s; not tested here: full-disk, full-journal\n";
    assert!(output.out.ends_with(sum), "{}", output.out);
    assert!(output.out.contains("    why: cannot mount a test disk: "), "{}", output.out);
}

/// Links these programs of the system into a folder.
fn link_programs(names: &[&str], folder: &Path) {
    let path = env::var_os("PATH").unwrap();
    for name in names {
        let mut known = env::split_paths(&path).map(|folder| folder.join(name));
        let real = known.find(|program| program.exists()).unwrap();
        symlink(real, folder.join(name)).unwrap();
    }
}

#[test]
fn without_session_leaders_orphans_are_not_tested() {
    let env = TestEnv::new();
    fs::create_dir(env.path("few")).unwrap();
    let few = ["cat", "env", "mktemp", "nohup", "rm", "sh", "sleep", "wc"];
    link_programs(&few, &env.path("few"));
    let rows = ["orphans", "sigterm", "sigkill"];
    let only: Vec<&str> = rows.iter().flat_map(|row| ["--only", row]).collect();
    let mut command = env.command(&[&["selftest"], &only[..]].concat());
    let output = finish(command.env("PATH", env.path("few")).spawn().unwrap()).exits(0);
    assert!(output.out.contains("`setsid` is not installed"), "{}", output.out);
    assert!(output.out.contains("\n0 of 3 passed in "), "{}", output.out);
    let sum = " s; not tested here: orphans, sigterm, sigkill\n";
    assert!(output.out.ends_with(sum), "{}", output.out);
    census(&env).nobody("the self-test is over");
}

/// Waits until a process of the self-test is running.
fn until_at_work(env: &TestEnv, child: &mut Child) {
    let begun = Instant::now();
    while !folders(env).iter().any(|folder| {
        ["sigterm", "sigkill"]
            .iter()
            .any(|row| env.path("tmp").join(folder).join(row).join("home/ready").exists())
    }) {
        assert!(child.try_wait().unwrap().is_none(), "it has ended");
        assert!(begun.elapsed() < TEST_TIMEOUT, "nobody is at work");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn an_interrupted_self_test_ends_everything_it_started() {
    let env = TestEnv::new();
    let rows = ["sigterm", "sigkill", "silence", "full-journal"];
    let only: Vec<&str> = rows.iter().flat_map(|row| ["--only", row]).collect();
    let mut child = env.start(&[&["selftest"], &only[..]].concat());
    until_at_work(&env, &mut child);
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    let output = finish(child).exits(130);
    assert_eq!(output.out, "");
    census(&env).nobody("you interrupted it");
    assert_eq!(folders(&env), [""; 0]);
}

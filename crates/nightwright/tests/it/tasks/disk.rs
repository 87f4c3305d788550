//! A project that cannot be written: nothing is lost, and the error says why.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{TestEnv, tree, with_task};
use crate::agent_env::NIGHTWRIGHT;
use crate::harness::Output;
use crate::harness::finish;

/// An unprivileged user ID.
const NOBODY: u32 = 65534;

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[expect(clippy::print_stderr, reason = "whoever reads the log sees what was not tested")]
pub(crate) fn skip(why: &str) {
    eprintln!("skipped: {why}");
}

/// Runs a command as a user who is subject to file permissions.
fn run_as_nobody(env: &TestEnv, arguments: &[&str]) -> Output {
    let plain = env.command(arguments);
    let mut command = Command::new("setpriv");
    command
        .args([&format!("--reuid={NOBODY}"), "--clear-groups", "--", NIGHTWRIGHT])
        .args(arguments);
    command.current_dir(env.project()).env_clear();
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.stdin(std::process::Stdio::null());
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    finish(command.spawn().unwrap())
}

/// Lets everybody into the hermit's folders.
fn open_up(env: &TestEnv) {
    for name in ["", "project", "state", "home", "tmp"] {
        fs::set_permissions(env.path(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut left = vec![env.path("state")];
    while let Some(path) = left.pop() {
        chown(&path, Some(NOBODY), None).unwrap();
        if path.is_dir() {
            left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
}

#[test]
fn a_project_that_can_not_be_written_is_a_clear_error_and_loses_nothing() {
    if !is_root() {
        return skip("only root can become somebody else");
    }
    let env = with_task();
    env.run(&["new", "b"]).exits(0);
    env.run(&["task", "archive", "b"]).exits(0);
    env.file(".nightwright/tasks/a/NOTES.md", "notes");
    env.run(&["task", "template", "save", "a", "t"]).exits(0);
    open_up(&env);
    let can_run = run_as_nobody(&env, &["list"]);
    if can_run.code != Some(0) {
        return skip(&format!("another user cannot run nightwright here: {}", can_run.err));
    }
    let before = tree(&env.project());
    for command in [
        &["new", "c"][..],
        &["new", "c", "--from", "t"],
        &["task", "reset", "a", "--yes"],
        &["task", "archive", "a"],
        &["task", "delete", "a", "--yes"],
        &["task", "restore", "b"],
        &["task", "template", "save", "a", "u"],
        &["task", "template", "delete", "t", "--yes"],
    ] {
        run_as_nobody(&env, command).exits(1).says(&[
            "error: cannot write `",
            "/.nightwright/",
            "ermission denied",
        ]);
        assert_eq!(tree(&env.project()), before, "{command:?}");
    }
    run_as_nobody(&env, &["task", "show", "a"]).exits(0);
}

/// A disk of 64 KiB; it is gone when this is.
pub(crate) struct SmallDisk(PathBuf);

impl SmallDisk {
    pub(crate) fn mount(place: &Path) -> Result<Self, String> {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"]).arg(place);
        match mount.output() {
            Ok(done) if done.status.success() => Ok(Self(place.to_owned())),
            Ok(done) => Err(String::from_utf8_lossy(&done.stderr).into_owned()),
            Err(error) => Err(error.to_string()),
        }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let done = Command::new("umount").arg(&self.0).status();
        let unmounted = done.is_ok_and(|status| status.success());
        assert!(unmounted || std::thread::panicking(), "cannot unmount {}", self.0.display());
    }
}

/// Fills the disk except for this number of bytes.
fn fill(folder: &Path, but: usize) {
    let mut size = 64 << 10;
    while fs::write(folder.join("filler"), vec![b'x'; size]).is_err() {
        size -= 4096;
    }
    fs::write(folder.join("filler"), vec![b'x'; size.saturating_sub(but)]).unwrap();
}

#[test]
fn a_full_disk_is_a_clear_error_and_the_task_stays_whole() {
    if !is_root() {
        return skip("only root can mount a small disk");
    }
    let env = TestEnv::new();
    let disk = match SmallDisk::mount(&env.project()) {
        Ok(disk) => disk,
        Err(why) => return skip(&format!("no small disk: {why}")),
    };
    env.run(&["new", "b"]).exits(0);
    env.file(".nightwright/tasks/b/INSTRUCTIONS.md", &noise(12_000));
    env.run(&["task", "template", "save", "b", "t"]).exits(0);
    env.run(&["task", "archive", "b"]).exits(0);
    env.run(&["new", "a"]).exits(0);
    env.file(super::INSTRUCTIONS, &noise(9_000));
    fill(&env.project(), 4096);

    let before = tree(&env.project());
    for command in [
        &["new", "c", "--from", "t"][..],
        &["task", "archive", "a"],
        &["task", "delete", "a", "--yes"],
        &["task", "restore", "b"],
        &["task", "template", "save", "a", "u"],
    ] {
        let output = env.run(command).exits(1).says(&["error: cannot ", "o space left on device"]);
        assert_eq!(tree(&env.project()), before, "{command:?}: {}", output.err);
    }
    // With free space again, everything is there and works.
    fs::remove_file(env.project().join("filler")).unwrap();
    env.run(&["task", "archive", "a"]).exits(0);
    env.run(&["task", "restore", "b"]).exits(0);
    drop(disk);
}

/// Text that does not become smaller in an archive.
fn noise(length: usize) -> String {
    let mut seed = 0x2545_F491_4F6C_DD1D_u64;
    let mut next = || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        char::from(b' ' + u8::try_from(seed % 95).unwrap())
    };
    (0..length).map(|_| next()).collect()
}

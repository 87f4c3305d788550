//! Files that a program inside, or a crash, leaves in the way of the next start.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::time::Duration;

use nightwright::process::{Containment, Launch, SigtermScope};
use nightwright::sandbox::{ProgramKind, SandboxedProgram};
use nightwright_core::sandbox::mounts::Access;
use rustix::fs::{CWD, Mode};
use rustix::process::{Pid, Signal, kill_process};

use crate::git::git;
use crate::harness::{TestEnv, finish, finish_within, takes_less_than};
use crate::sandbox::{is_usable, opened, script};

const RUN: [&str; 7] = ["run", "-p", "x", "-m", "1", "--dry-run", "--sandbox"];

fn run_in(kind: &str) -> Vec<&str> {
    [&RUN[..], &[kind]].concat()
}

#[test]
fn a_home_without_access_does_not_prevent_the_next_start() {
    if !is_usable() {
        return;
    }
    let env = TestEnv::new();
    fs::write(env.path("home/.npmrc"), "fund=false\n").unwrap();
    let plant = "mkdir -p ~/.config/git; chmod 400 ~/.gitconfig ~/.npmrc; chmod 000 ~/.config/git\n\
                 chmod 000 ~/.config; chmod 000 ~";
    env.rehearse(&script(plant), "1", &["--sandbox", "bwrap"]).exits(0);
    let look = "git config --global user.name > name.txt; cat ~/.npmrc > npmrc.txt";
    env.rehearse(&script(look), "1", &["--sandbox", "bwrap"]).exits(0);
    let read = |name: &str| fs::read_to_string(env.project().join(name)).unwrap();
    assert_eq!(read("npmrc.txt"), "fund=false\n");
}

#[test]
fn a_link_that_leads_nowhere_is_named_with_its_target() {
    if !is_usable() {
        return;
    }
    for name in [".claude", ".mcp.json", ".git/hooks"] {
        let env = TestEnv::new();
        git(&env.project(), &["init", "--quiet"]);
        let link = env.project().join(name);
        // Without a template, there are no hooks.
        let _ = fs::remove_dir_all(&link);
        symlink("gone/away", &link).unwrap();
        let place = format!("`{}` is a link to `gone/away`", link.display());
        env.run(&run_in("bwrap")).exits(2).says(&[&place, "remove the link"]);
    }
}

#[test]
fn a_pipe_in_a_protected_place_does_not_stop_the_test() {
    if !is_usable() {
        return;
    }
    let env = TestEnv::new();
    let pipe = env.project().join(".mcp.json");
    let mode = Mode::RUSR | Mode::WUSR;
    rustix::fs::mknodat(CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let (sandbox, room) = opened(&env);
    takes_less_than(Duration::from_secs(5), || sandbox.must_protect(&room).unwrap().took);
}

#[test]
fn what_a_killed_run_left_is_removed_without_a_sandbox_too() {
    if !is_usable() {
        return;
    }
    let env = TestEnv::new();
    git(&env.project(), &["init", "--quiet"]);
    let file = env.script(&script("touch started; while :; do sleep 0.1; done"));
    let child = env.start(&[&run_in("bwrap")[..], &["--rehearsal", &file]].concat());
    while !env.project().join("started").exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(env.project().join(".mcp.json").exists());
    kill_process(Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap(), Signal::KILL).unwrap();
    finish(child);
    assert!(env.project().join(".mcp.json").exists(), "the test tests nothing");
    env.run(&run_in("off")).exits(0);
    for name in [".mcp.json", ".claude", ".git/commondir", ".git/objects/info/alternates"] {
        assert!(!env.project().join(name).exists(), "{name}");
    }
}

#[test]
fn a_judge_has_its_own_home() {
    if !is_usable() {
        return;
    }
    let env = TestEnv::new();
    let (sandbox, room) = opened(&env);
    let run = |kind, line: &str| {
        let launch = Launch {
            program: "/bin/sh".into(),
            arguments: vec!["-c".into(), line.into()],
            environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
            directory: env.project(),
            containment: Containment::choose(None),
            sigterm_scope: SigtermScope::All,
        };
        let program = SandboxedProgram {
            launch,
            kind,
            access: Access::ReadOnly,
            room: room.clone(),
            shown: Vec::new(),
        };
        let entered = sandbox.enter(program).unwrap();
        let output = Command::new(&entered.launch.program)
            .args(&entered.launch.arguments)
            .env_clear()
            .envs(entered.launch.environment.iter().map(|(name, value)| (name, value)))
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let plant = "mkdir -p ~/.config/git && echo '[core] fsmonitor = evil' > ~/.config/git/config";
    run(ProgramKind::Agent, plant);
    let look = "cat ~/.config/git/config; echo x > ~/own";
    assert_eq!(run(ProgramKind::Judge, look), "");
    assert!(run(ProgramKind::Check, look).contains("evil"));
    assert_eq!(run(ProgramKind::Judge, "ls ~/own"), "", "each judge has another one");
    let judges = env.path("state/project-0001/sandbox/judges");
    assert_eq!(fs::read_dir(judges).unwrap().count(), 0, "they are removed");
}

#[test]
fn no_placeholder_is_committed_whatever_the_repository_ignores() {
    if !is_usable() {
        return;
    }
    let env = TestEnv::new();
    fs::write(env.path("home/.gitconfig"), "[user]\n\tname = Jo\n\temail = jo@example.com\n")
        .unwrap();
    let top = env.project();
    git(&top, &["init", "--quiet", "--initial-branch=main"]);
    git(&top, &["config", "core.excludesFile", ".own-ignore"]);
    fs::write(top.join(".own-ignore"), "*.log\n").unwrap();
    let project = top.join("o *[x]?\\");
    fs::create_dir_all(project.join(".nightwright")).unwrap();
    fs::write(project.join(".nightwright/config.toml"), "").unwrap();
    let lines = "touch b.txt b.log; git add -A .; git commit -q -m inside";
    let file = env.script(&script(lines));
    let mut command = env.command(&[&run_in("bwrap")[..], &["--rehearsal", &file]].concat());
    finish(command.current_dir(&project).spawn().unwrap()).exits(0);
    let committed = git(&top, &["show", "--format=", "--name-only", "-z", "HEAD"]);
    assert!(committed.contains("b.txt"), "{committed}");
    for name in [".mcp.json", "b.log"] {
        assert!(!committed.contains(name), "{committed}");
    }
}

#[test]
fn a_project_whose_path_is_not_text_is_refused_by_name() {
    if !is_usable() {
        return;
    }
    let env = TestEnv::new();
    let project = env.path("bad").with_file_name(OsStr::from_bytes(b"bad\xff"));
    fs::create_dir(&project).unwrap();
    let mut command = env.command(&["sandbox", "test"]);
    let done =
        finish_within(command.current_dir(&project).spawn().unwrap(), Duration::from_mins(1));
    done.exits(2).says(&["bad", "is not valid UTF-8"]);
}

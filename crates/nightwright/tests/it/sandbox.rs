//! The sandbox with bubblewrap: what works inside, that its test notices every hole, and that
//! nothing survives. Each test reports that it tested nothing where bubblewrap cannot be used.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nightwright::sandbox::{Sandbox, SandboxError, SandboxSpec, try_bubblewrap};
use nightwright_core::event::{Event, RunEvent};
use nightwright_core::sandbox::bwrap::BwrapOption;
use nightwright_core::settings::{SandboxKind, Settings};
use rustix::process::{Pid, Signal, kill_process};

use crate::agent_env::{NIGHTWRIGHT, is_alive};
use crate::git::git;
use crate::harness::{RunningCommand, TestEnv, finish, names, run_outcome};
use crate::pty::Pty;

/// Whether bubblewrap can make a sandbox here.
pub(crate) fn is_usable() -> bool {
    let tried = try_bubblewrap(Path::new("/nonexistent"));
    if let Err(error) = &tried {
        crate::tasks::disk::skip(&format!("the sandbox: {error}"));
    }
    tried.is_ok()
}

/// A script whose agent runs these lines and works.
pub(crate) fn script(lines: &str) -> String {
    format!(
        "[[attempt]]\nsteps = [{{ run = '''{lines}\ntrue''' }}, {{ write = \"a.txt\", text = \"a\" }}]\n\
         end = {{ result = \"A part of it.\" }}\n"
    )
}

/// Runs these lines in a sandbox, in a project with a repository.
fn inside(env: &TestEnv, lines: &str) -> String {
    if !env.project().join(".git").exists() {
        git(&env.project(), &["init", "--quiet", "--initial-branch=main"]);
    }
    env.rehearse(&script(lines), "1", &["--sandbox", "bwrap"]).exits(0).err
}

fn files_of(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn an_agent_edits_and_commits_inside_and_nothing_is_left_of_the_sandbox() {
    if !is_usable() {
        return;
    }
    let env = TestEnv::new();
    fs::write(env.path("home/.gitconfig"), "[user]\n\tname = Jo\n\temail = jo@example.com\n")
        .unwrap();
    let said = inside(
        &env,
        "echo text > b.txt\ngit add -A\ngit commit -q -m 'from inside'\necho $HOME > home.txt\n\
         echo cached > ~/cache\necho $TMPDIR >> home.txt\necho $NIGHTWRIGHT_INSIDE_SANDBOX >> home.txt",
    );
    assert!(
        said.contains(
            "Sandbox: bwrap. The agent may do anything inside this project; network is on and \
             recorded."
        ),
        "{said}"
    );
    let log = git(&env.project(), &["log", "--format=%an %s", "--name-only"]);
    assert_eq!(log.trim(), "Jo from inside\n\nb.txt", "no placeholder was committed");
    assert_eq!(files_of(&env.project()), [".git", "a.txt", "b.txt", "home.txt"]);
    assert!(!env.project().join(".git/commondir").exists());
    let home = env.path("home").display().to_string();
    let noted = fs::read_to_string(env.project().join("home.txt")).unwrap();
    assert_eq!(noted, format!("{home}\n/tmp\nbwrap\n"));
    assert_eq!(files_of(&env.path("home")), [".gitconfig"], "the home is private");
    let Event::Run(RunEvent::Started(started)) = &env.journal()[0].event else { panic!() };
    assert_eq!(started.sandbox, SandboxKind::Bwrap);
}

#[test]
fn checks_run_inside_and_see_the_caches_of_the_agent() {
    if !is_usable() {
        return;
    }
    let env = TestEnv::new();
    fs::write(env.path("home/secret"), "x").unwrap();
    let check = format!("test -e ~/cache && test ! -e {}", env.word("home/secret"));
    let text = script("echo x > ~/cache")
        .replace("A part of it.", "All of it. <promise>COMPLETE</promise>");
    let done = env.rehearse(&text, "1", &["--sandbox", "bwrap", "--verify", &check]);
    assert_eq!(run_outcome(&env.journal()), "completed", "{}", done.err);
}

#[test]
fn a_sandbox_that_cannot_be_made_refuses_the_run_and_ends_a_resumed_one() {
    if !is_usable() {
        return;
    }
    let env = TestEnv::new();
    let broken = env.path("broken");
    fs::create_dir(&broken).unwrap();
    let program = broken.join("bwrap");
    fs::write(
        &program,
        "#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n",
    )
    .unwrap();
    std::os::unix::fs::symlink("/bin/true", broken.join("unused")).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&program, mode).unwrap();
    let path = format!("{}:/usr/bin:/bin", broken.display());
    let run = ["run", "-p", "x", "-m", "1", "--dry-run", "--sandbox", "bwrap"];
    finish(env.command(&run).env("PATH", &path).spawn().unwrap())
        .exits(2)
        .says(&["the sandbox does not start", "--sandbox off"]);
    assert!(env.runs().is_empty(), "nothing was started");

    env.run(&run).exits(0);
    let resume = ["resume", "-m", "2"];
    finish(env.command(&resume).env("PATH", &path).spawn().unwrap()).exits(1);
    assert_eq!(run_outcome(&env.journal()), "sandbox_failed");
    env.run(&["resume", "-m", "2", "--sandbox", "off"]).exits(0);
    assert_eq!(run_outcome(&env.journal()), "completed");
}

/// A sandbox of a project with everything that is protected.
pub(crate) fn opened(env: &TestEnv) -> (Sandbox, PathBuf) {
    // As nightwright does at its start: a program inside must not inherit files.
    nightwright::process::set_cloexec_on_inherited_fds();
    git(&env.project(), &["init", "--quiet", "--initial-branch=main"]);
    fs::create_dir_all(env.project().join(".claude")).unwrap();
    fs::create_dir_all(env.path("home/.rustup/toolchains")).unwrap();
    fs::create_dir_all(env.path("home/.ssh")).unwrap();
    fs::write(env.path("home/.ssh/id"), "secret").unwrap();
    let mut settings = Settings::default();
    settings.sandbox.kind = SandboxKind::Bwrap;
    let project_state = env.path("state").join("project-0001");
    let room = env.path("tmp").join("room");
    fs::create_dir_all(&room).unwrap();
    let sandbox = Sandbox::open(&SandboxSpec {
        settings: &settings,
        project: &env.project(),
        state: &env.path("state"),
        project_state: &project_state,
        programs: Vec::new(),
        canary: NIGHTWRIGHT.into(),
        environment: vec![
            ("HOME".into(), env.path("home").into()),
            ("PATH".into(), "/usr/bin:/bin".into()),
        ],
    });
    (sandbox.unwrap().unwrap(), room)
}

/// Options without which a program inside gains nothing.
fn is_harmless(option: &BwrapOption) -> bool {
    let word = option[0].to_str().unwrap();
    // bubblewrap itself protects these, if they are writable.
    let protected = ["/proc/sysrq-trigger", "/proc/irq", "/proc/bus"];
    if option.last().is_some_and(|place| protected.iter().any(|known| place == known)) {
        return true;
    }
    // bubblewrap gives other users no capabilities, and makes the namespace only where it can.
    let is_root = rustix::process::getuid().is_root();
    word == "--unshare-cgroup-try" || word == "--symlink" || (word == "--cap-drop" && !is_root)
}

#[test]
fn the_test_passes_and_notices_every_missing_option() {
    if !is_usable() {
        return;
    }
    let env = TestEnv::new();
    let (sandbox, room) = opened(&env);
    let trial = sandbox.must_protect(&room).unwrap();
    assert!(trial.results.len() > 30, "{}", trial.results.len());
    let count = std::cell::Cell::new(0);
    let without = |index: usize| {
        sandbox.trial(&room, &|mut options| {
            count.set(options.len());
            if index < options.len() && !is_harmless(&options[index]) {
                options.remove(index);
            } else {
                // Something that is always noticed.
                options.retain(|option| option[0] != "--chdir");
            }
            options
        })
    };
    let mut index = 0;
    loop {
        let noticed = match without(index) {
            Ok(trial) => !trial.differences.is_empty(),
            Err(error) => matches!(error, SandboxError::NotStarted(_)),
        };
        assert!(noticed, "a sandbox without its option {index} passes");
        index += 1;
        if index >= count.get() {
            break;
        }
    }
    assert!(index > 30, "{index} options");
}

#[test]
fn the_test_notices_a_mount_that_can_be_written_to() {
    if !is_usable() {
        return;
    }
    let env = TestEnv::new();
    let (sandbox, room) = opened(&env);
    let count = std::cell::Cell::new(0);
    let mut opened = 0;
    let mut index = 0;
    loop {
        let was_changed = std::cell::Cell::new(false);
        let trial = sandbox.trial(&room, &|mut options| {
            count.set(options.len());
            let mounts: Vec<_> = options.iter_mut().filter(|one| one[0] == "--ro-bind").collect();
            count.set(mounts.len());
            if let Some(mount) = mounts.into_iter().nth(index)
                && mount[1] != "/dev/null"
                // In a container, these may be read-only themselves.
                && !Path::new(&mount[1]).starts_with("/proc")
            {
                mount[0] = "--bind".into();
                was_changed.set(true);
            }
            options
        });
        if was_changed.get() {
            opened += 1;
            let found = trial.unwrap().differences;
            assert!(!found.is_empty(), "the mount {index} can be written to");
        }
        index += 1;
        if index >= count.get() {
            break;
        }
    }
    assert!(opened > 8, "{opened}");
}

#[test]
fn a_file_that_an_earlier_program_planted_at_a_mount_point_leads_nowhere() {
    if !is_usable() {
        return;
    }
    let env = TestEnv::new();
    let outside = env.path("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("victim"), "theirs").unwrap();
    fs::create_dir_all(env.path("home/.local/share/uv")).unwrap();
    let out = env.word("outside");
    let plant = format!(
        "rm -rf ~/.config ~/.gitconfig\nln -s {out} ~/.config\nln -s {out}/victim ~/.gitconfig\n\
         ln -s /oldroot{out} ~/planted\nchmod 500 ~"
    );
    inside(&env, &plant);
    let second = TestEnv::rehearse(&env, &script("true"), "1", &["--sandbox", "bwrap"]);
    second.exits(0);
    assert_eq!(files_of(&outside), ["victim"]);
    assert_eq!(fs::read_to_string(outside.join("victim")).unwrap(), "theirs");
}

/// The living processes of this environment.
fn alive(env: &TestEnv) -> Vec<i32> {
    let home = format!("HOME={}\0", env.path("home").display());
    let ours = |path: &Path| {
        fs::read(path.join("environ"))
            .is_ok_and(|text| text.windows(home.len()).any(|part| part == home.as_bytes()))
    };
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if let Ok(pid) = name.parse()
            && ours(&entry.path())
            && is_alive(&name)
        {
            found.push(pid);
        }
    }
    found
}

fn command_of(pid: i32) -> String {
    let text = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&text).replace('\0', " ")
}

/// The agent leaves processes that do not want to end, and waits.
const STUBBORN: &str = "trap '' TERM HUP\n(setsid sh -c \"trap '' TERM; while :; do sleep 1; done\" &)\n\
                     touch started\nwhile :; do sleep 1; done";

fn start_stubborn(env: &TestEnv) -> RunningCommand {
    let script = env.script(&script(STUBBORN));
    let run = ["run", "-p", "x", "-m", "1", "--dry-run", "--sandbox", "bwrap", "--rehearsal"];
    let child = env.start(&[&run[..], &[&script]].concat());
    let begun = Instant::now();
    while !env.project().join("started").exists() {
        assert!(begun.elapsed() < Duration::from_mins(1), "it does not start");
        std::thread::sleep(Duration::from_millis(10));
    }
    child
}

fn kill(pid: i32) {
    // It may have exited in the meantime.
    let _ = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
}

#[track_caller]
fn wait_until_none_is_alive(env: &TestEnv) {
    let begun = Instant::now();
    while !alive(env).is_empty() {
        let left: Vec<_> = alive(env).into_iter().map(command_of).collect();
        assert!(begun.elapsed() < Duration::from_secs(5), "still alive: {left:#?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn nothing_inside_survives_the_supervisor_the_guard_or_bubblewrap() {
    if !is_usable() {
        return;
    }
    for victim in ["supervisor", "guard", "bwrap", "supervisor and guard"] {
        let env = TestEnv::new();
        let mut child = start_stubborn(&env);
        let supervisor = i32::try_from(child.id()).unwrap();
        let children = format!("/proc/{supervisor}/task/{supervisor}/children");
        let guards: Vec<i32> = fs::read_to_string(children)
            .unwrap()
            .split_whitespace()
            .filter_map(|pid| pid.parse().ok())
            .collect();
        assert!(!guards.is_empty());
        let sandboxes = alive(&env).into_iter().filter(|pid| command_of(*pid).contains("bwrap "));
        match victim {
            "supervisor" => kill(supervisor),
            "guard" => guards.iter().copied().for_each(kill),
            "bwrap" => sandboxes.take(1).for_each(kill),
            _ => {
                kill(supervisor);
                guards.iter().copied().for_each(kill);
            }
        }
        if victim == "guard" || victim == "bwrap" {
            // The run continues without the attempt, and is stopped.
            kill(supervisor);
        }
        child.wait().unwrap();
        wait_until_none_is_alive(&env);
    }
}

#[test]
fn a_stopped_program_gets_its_time_to_end_inside() {
    if !is_usable() {
        return;
    }
    let env = TestEnv::new();
    let check = "trap 'echo bye > bye.txt; exit 0' TERM; touch started; \
                 while :; do sleep 0.05; done";
    let run = ["run", "-p", "x", "-m", "1", "--dry-run", "--sandbox", "bwrap", "--verify", check];
    let child = env.start(&run);
    let begun = Instant::now();
    while !env.project().join("started").exists() {
        assert!(begun.elapsed() < Duration::from_mins(1), "it does not start");
        std::thread::sleep(Duration::from_millis(10));
    }
    env.run(&["stop", "--now"]).exits(0);
    finish(child).exits(130);
    assert_eq!(fs::read_to_string(env.project().join("bye.txt")).unwrap(), "bye\n");
    wait_until_none_is_alive(&env);
}

#[test]
fn a_worktree_is_committed_in_and_the_main_work_tree_stays_as_it_is() {
    if !is_usable() {
        return;
    }
    let env = TestEnv::new();
    fs::write(env.path("home/.gitconfig"), "[user]\n\tname = Jo\n\temail = jo@example.com\n")
        .unwrap();
    let main = env.path("main");
    fs::create_dir(&main).unwrap();
    git(&main, &["init", "--quiet", "--initial-branch=main"]);
    git(&main, &["commit", "--quiet", "--allow-empty", "-m", "first"]);
    fs::remove_dir(env.project()).unwrap();
    git(&main, &["worktree", "add", "--quiet", "-b", "side", env.project().to_str().unwrap()]);
    let config = fs::read_to_string(main.join(".git/config")).unwrap();
    inside(
        &env,
        "echo x > b.txt\ngit add -A\ngit commit -q -m inside\ngit worktree prune\n\
         git config a.b c\necho evil > \"$(git rev-parse --git-common-dir)/hooks/pre-commit\"",
    );
    assert_eq!(git(&env.project(), &["log", "--format=%s"]).trim(), "inside\nfirst");
    assert_eq!(git(&main, &["log", "--format=%s"]).trim(), "first");
    assert_eq!(fs::read_to_string(main.join(".git/config")).unwrap(), config);
    assert!(!main.join(".git/hooks/pre-commit").exists());
    assert!(names(&env.journal()).contains(&"run_finished"));
}

#[test]
fn settings_give_more_and_a_project_cannot_give_itself_anything() {
    if !is_usable() {
        return;
    }
    let env = TestEnv::with_files(&[(
        ".nightwright/config.toml",
        "sandbox.kind = \"off\"\nsandbox.read = [\"~/secret\"]\n",
    )]);
    let extra = env.path("extra");
    fs::create_dir(&extra).unwrap();
    fs::write(env.path("home/secret"), "x").unwrap();
    fs::create_dir_all(env.path("home/.config/nightwright")).unwrap();
    let own = format!("sandbox.kind = \"bwrap\"\nsandbox.write = [\"{}\"]\n", extra.display());
    fs::write(env.path("home/.config/nightwright/config.toml"), own).unwrap();
    let line = format!("echo x > {}/given; cat ~/secret > stolen", env.word("extra"));
    env.rehearse(&script(&line), "1", &["--ignore-untrusted"]).exits(0);
    assert!(extra.join("given").exists());
    assert_eq!(fs::read_to_string(env.project().join("stolen")).unwrap_or_default(), "");
}

#[test]
fn root_gets_no_sandbox_for_a_project_of_another_user() {
    if !is_usable() || !rustix::process::getuid().is_root() {
        return;
    }
    let env = TestEnv::new();
    std::os::unix::fs::chown(env.project(), Some(65534), Some(65534)).unwrap();
    env.run(&["run", "-p", "x", "-m", "1", "--dry-run", "--sandbox", "bwrap"])
        .exits(2)
        .says(&["belongs to another user", "as the owner of the project"]);
}

#[test]
fn explain_names_what_is_protected_and_the_shell_runs_inside() {
    if !is_usable() {
        return;
    }
    let env = TestEnv::new();
    git(&env.project(), &["init", "--quiet", "--initial-branch=main"]);
    fs::write(env.path("home/secret"), "x").unwrap();
    let explained = env.run(&["sandbox", "explain"]).exits(0).out;
    for words in ["Protected in the project:", "/project/.git/hooks", "Network: network is on"] {
        assert!(explained.contains(words), "{words}: {explained}");
    }
    let tested = env.run(&["sandbox", "test"]).exits(0).out;
    assert!(tested.starts_with("bwrap protects: "), "{tested}");
    let line = "ls -A ~; echo $NIGHTWRIGHT_INSIDE_SANDBOX; exit 7";
    let shell = env.run(&["sandbox", "shell", "--", "sh", "-c", line]).exits(7);
    assert!(shell.out.contains("bwrap") && !shell.out.contains("secret"), "{}", shell.out);
    assert_eq!(files_of(&env.project()), [".git"], "nothing is left");
    assert!(env.run(&["doctor"]).out.contains("off; bwrap works here"));
}

#[test]
fn the_shell_has_a_terminal_with_job_control_and_ctrl_c() {
    if !is_usable() || !Path::new("/bin/bash").exists() {
        return;
    }
    let env = TestEnv::new();
    let pty = Pty::new(30, 90);
    let shell = ["sandbox", "shell", "--", "/bin/bash", "--norc", "--noprofile", "-i"];
    let mut command = env.command(&shell);
    command.env("TERM", "xterm").stdin(pty.end()).stdout(pty.end()).stderr(pty.end());
    let mut child = command.spawn().unwrap();
    drop(command);
    let pty = pty.watch(30, 90);
    pty.shows(|screen| screen.contains("bash-"));
    // The numbers appear only in the output, when the program is in the foreground.
    pty.types("sh -c 'stty size; echo run-$((1)); sleep 1000'\r");
    pty.shows(|screen| screen.contains("30 90") && screen.contains("run-1"));
    pty.types("\u{1a}");
    pty.shows(|screen| screen.contains("Stopped"));
    pty.types("sh -c 'echo run-$((2)); sleep 1000'\r");
    pty.shows(|screen| screen.contains("run-2"));
    pty.types("\u{3}");
    pty.shows(|screen| screen.contains("^C"));
    pty.types("echo still-$((40 + 2)); kill %1\r");
    pty.shows(|screen| screen.contains("still-42") && !screen.contains("no job control"));
    pty.types("exit 7\r");
    // The shell warns about a stopped job, once.
    pty.types("exit 7\r");
    assert_eq!(child.wait().unwrap().code(), Some(7));
}

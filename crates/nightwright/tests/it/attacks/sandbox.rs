//! Attacks from inside a sandbox. Each control is the same attack in a run without one.

use std::fs;

use crate::git::git;
use crate::harness::TestEnv;
use crate::sandbox::{is_usable, script};

/// The attacks: a name, and shell commands that exit with 0 only if something was gained. `STATE`,
/// `REAL` and `OUTSIDE` are the paths of the state folder, the real home and a folder next to the
/// project.
const ATTACKS: &[(&str, &str)] = &[
    ("read the state folder", "ls STATE | grep ."),
    (
        "forge the journal",
        "for journal in STATE/*/runs/*/journal.jsonl; do echo forged >> \"$journal\"; done",
    ),
    ("reach the control socket", "test -S \"$(echo STATE/*/runs/*/control.sock)\""),
    ("read a key", "cat REAL/.ssh/id"),
    ("read a login of a package manager", "grep abc REAL/.npmrc"),
    ("write next to the project", "echo x > OUTSIDE/file && test -e OUTSIDE/present"),
    ("plant a hook", "echo x > .git/hooks/pre-commit"),
    ("replace the hooks", "mv .git/hooks .git/aside"),
    ("configure git", "git config core.fsmonitor evil"),
    ("replace the configuration", "cp .git/config .git/c2 && mv .git/c2 .git/config"),
    ("replace the repository", "cp -r .git copy && mv .git aside && mv copy .git"),
    ("name another git folder", "echo ../evil > .git/commondir"),
    ("plant attributes", "echo '* filter=evil' > .git/info/attributes"),
    ("instruct the next session", "mkdir -p .claude && echo '{}' > .claude/settings.json"),
    ("replace the settings of the agent", "mv .claude aside2"),
    ("plant an MCP server", "echo '{}' > .mcp.json"),
    (
        "change the limits of the next run",
        "mkdir -p .nightwright && echo > .nightwright/config.toml",
    ),
    ("put a link in a protected place", "ln -sf /etc/passwd .mcp.json"),
    ("name objects elsewhere", "echo OUTSIDE/objects > .git/objects/info/alternates"),
    ("move the objects away", "mv .git/objects .git/o && mkdir -p .git/objects/info"),
    ("redirect another worktree", "echo ../evil > .git/worktrees/other/commondir"),
    ("destroy another worktree", "rm -rf .git/worktrees/other && test ! -e .git/worktrees/other"),
    ("configure a worktree", "echo x > .git/config.worktree"),
    ("plant a hook where a setting points", "mkdir -p .githooks && echo x > .githooks/pre-commit"),
    ("write an included configuration", "echo '[core]' > .gitconfig"),
    ("configure a submodule", "echo x >> .git/modules/lib/config"),
    ("replace the link of a submodule", "rm lib/.git && mkdir lib/.git"),
    ("read another folder", "ls OUTSIDE | grep present"),
    ("write to the real home", "echo x > REAL/planted && test -e REAL/.ssh/id"),
    ("instruct the agent everywhere", "echo x > REAL/.claude/CLAUDE.md"),
    ("see the sockets of the system", "ls -A /run | grep -v '^nightwright$' | grep ."),
    ("write to the system", "touch /usr/planted"),
    ("write to the root", "mkdir /planted"),
    ("write to /etc", "touch /etc/planted"),
    ("see a process outside", "kill -0 $(cat STATE-PID)"),
    ("read the environment of a process outside", "cat /proc/$(cat STATE-PID)/environ | grep -q ."),
    ("enter the root of a process outside", "ls /proc/$(cat STATE-PID)/root/ | grep -q ."),
    ("create a user namespace", "unshare -U true"),
    ("create a mount namespace", "unshare -m true || unshare -Um true"),
    ("mount", "mkdir -p m && mount -t tmpfs none m || unshare -Urm mount -t tmpfs none m"),
    ("make a protected mount writable", "unshare -Urm mount -o remount,rw / "),
    ("write to the terminal of the user", "test \"$(ps -o sid= -p $$ | tr -d ' ')\" = 0"),
];

/// Attacks that work without a sandbox only as root.
const AS_ROOT: &[(&str, &str)] = &[
    ("read the shadow file", "cat /etc/shadow | grep ."),
    ("create a device", "mknod device c 1 3 && echo x > device"),
    ("read a disk", "cat /dev/vda /dev/sda /dev/nvme0n1 | head -c 1 | wc -c | grep 1"),
    ("trace a process outside", "head -c 1 /proc/$(cat STATE-PID)/maps"),
    (
        "write through the root of another process",
        "echo x > /proc/1/root/OUTSIDE/planted && test -e OUTSIDE/planted",
    ),
    ("change a setting of the kernel", "v=$(cat SYS/vm/swappiness) && echo $v > SYS/vm/swappiness"),
    (
        "name a program for crashes",
        "v=$(cat SYS/kernel/core_pattern) && echo \"$v\" > SYS/kernel/core_pattern",
    ),
];

/// Attacks that gain nothing without a sandbox either on some machines, such as those on
/// namespaces: their control may fail.
const WITHOUT_CONTROL: &[&str] = &[
    "create a user namespace",
    "create a mount namespace",
    "mount",
    "make a protected mount writable",
    "write to the terminal of the user",
    "read a disk",
    "create a device",
    "write to the system",
    "write to the root",
    "write to /etc",
    // In a container, these files may be read-only.
    "change a setting of the kernel",
    "name a program for crashes",
    "write through the root of another process",
];

/// Adds a hooks folder, an included file, a worktree and a submodule to the repository.
fn add_parts(env: &TestEnv) {
    let project = env.project();
    let run = |arguments: &[&str]| git(&project, arguments);
    run(&["init", "--quiet", "--initial-branch=main"]);
    run(&["commit", "--quiet", "--allow-empty", "-m", "first"]);
    run(&["config", "core.hooksPath", ".githooks"]);
    run(&["config", "include.path", "../.gitconfig"]);
    run(&["worktree", "add", "--quiet", "-b", "side", env.path("outside/other").to_str().unwrap()]);
    let (lib, module) = (project.join("lib"), project.join(".git/modules/lib"));
    fs::create_dir(&lib).unwrap();
    git(&lib, &["init", "--quiet"]);
    fs::create_dir(project.join(".git/modules")).unwrap();
    fs::rename(lib.join(".git"), &module).unwrap();
    fs::write(lib.join(".git"), "gitdir: ../.git/modules/lib\n").unwrap();
    git(&lib, &["config", "core.worktree", "../../../lib"]);
}

/// Runs one attack, and returns whether it gained something.
fn gains(attack: &str, kind: &str) -> bool {
    let env = TestEnv::new();
    fs::create_dir(env.path("outside")).unwrap();
    add_parts(&env);
    fs::create_dir(env.project().join(".claude")).unwrap();
    fs::create_dir(env.path("home/.ssh")).unwrap();
    fs::create_dir_all(env.path("home/.claude")).unwrap();
    fs::write(env.path("home/.claude/CLAUDE.md"), "mine").unwrap();
    fs::write(env.path("outside/present"), "").unwrap();
    fs::write(env.path("home/.ssh/id"), "secret").unwrap();
    fs::write(env.path("home/.npmrc"), "//r/:_authToken=abc\n").unwrap();
    fs::write(env.project().join("pid"), std::process::id().to_string()).unwrap();
    let attack = attack
        .replace("STATE-PID", &env.word("project/pid"))
        .replace("STATE", &env.word("state"))
        .replace("REAL", &env.word("home"))
        .replace("SYS", "/proc/sys")
        .replace("OUTSIDE", &env.word("outside"));
    let line = format!("( {attack} ) > said.txt 2>&1 && echo yes > gained.txt");
    let run = env.rehearse(&script(&line), "1", &["--sandbox", kind, "--no-baseline"]);
    // A forged journal ends the run.
    assert!(matches!(run.code, Some(0 | 1)), "{}", run.err);
    assert!(env.project().join("said.txt").exists(), "the attack did not start: {}", run.err);
    env.project().join("gained.txt").exists()
}

/// Whether the attack may be tried without a sandbox: it does no harm to this machine.
fn has_control(name: &str) -> bool {
    !WITHOUT_CONTROL.contains(&name)
}

#[test]
fn nothing_is_gained_from_inside_a_sandbox() {
    if !is_usable() {
        return;
    }
    let is_root = rustix::process::getuid().is_root();
    let as_root = if is_root { AS_ROOT } else { &[] };
    for (name, attack) in ATTACKS.iter().chain(as_root) {
        assert!(!gains(attack, "bwrap"), "from inside, an agent can {name}");
        if has_control(name) {
            assert!(gains(attack, "off"), "the attack is harmless: {name}");
        }
    }
}

//! Attacks with a repository: one program inside plants something that the next program, or git
//! outside, would obey. Each control is the same attack in a run without a sandbox.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::git::git;
use crate::harness::{TestEnv, finish};
use crate::sandbox::{is_usable, script};

/// Attacks of two attempts: the first plants, and the second exits with 0 only if something was
/// gained. `VICTIM` is another repository of the user.
const IN_REPOSITORY: &[(&str, &str, &str)] = &[
    (
        "see the objects of another repository",
        "echo VICTIM/.git/objects > .git/objects/info/alternates",
        "ls VICTIM/.git/objects | grep .",
    ),
    (
        "see any folder as objects",
        "mkdir -p .git/objects/info; echo VICTIM > .git/objects/info/alternates",
        "cat VICTIM/secret",
    ),
    ("hide the repository", "mv .git/HEAD .git/H", "echo '[core]' >> .git/config"),
    (
        "redirect its own repository",
        "rm -f .git/commondir; echo VICTIM/.git > .git/commondir",
        "echo x > VICTIM/.git/planted",
    ),
];
/// Such attacks in a project without a repository.
const WITHOUT_REPOSITORY: &[(&str, &str, &str)] = &[
    (
        "adopt another repository",
        "echo 'gitdir: VICTIM/.git' > .git",
        "echo x > VICTIM/.git/planted",
    ),
    ("link another repository", "ln -s VICTIM/.git .git", "echo x > VICTIM/.git/planted"),
    (
        "share another repository",
        "mkdir .git; echo 'ref: refs/heads/main' > .git/HEAD; echo VICTIM/.git > .git/commondir",
        "echo x > VICTIM/.git/planted",
    ),
];

fn victim(env: &TestEnv) {
    let victim = env.path("victim");
    fs::create_dir(&victim).unwrap();
    git(&victim, &["init", "--quiet", "--initial-branch=main"]);
    fs::write(victim.join("secret"), "secret").unwrap();
}

fn gains(plant: &str, attack: &str, kind: &str, has_repository: bool) -> bool {
    let env = TestEnv::new();
    victim(&env);
    if has_repository {
        git(&env.project(), &["init", "--quiet", "--initial-branch=main"]);
    }
    let word = env.word("victim");
    let first = format!("( {plant} ) > planted.txt 2>&1").replace("VICTIM", &word);
    let second = format!("( {attack} ) > said.txt 2>&1 && echo yes > gained.txt");
    let both = script(&first) + &script(&second.replace("VICTIM", &word));
    let run = env.rehearse(&both, "2", &["--sandbox", kind, "--no-baseline"]);
    assert!(env.project().join("planted.txt").exists(), "{}", run.err);
    env.project().join("gained.txt").exists()
}

#[test]
fn nothing_that_was_planted_in_a_repository_helps_the_next_program() {
    if !is_usable() {
        return;
    }
    for (attacks, has_repository) in [(IN_REPOSITORY, true), (WITHOUT_REPOSITORY, false)] {
        for (name, plant, attack) in attacks {
            assert!(!gains(plant, attack, "bwrap", has_repository), "an agent can {name}");
            assert!(gains(plant, attack, "off", has_repository), "the attack is harmless: {name}");
        }
    }
}

#[test]
fn a_run_refuses_a_repository_that_does_not_name_the_project() {
    if !is_usable() {
        return;
    }
    let env = TestEnv::new();
    victim(&env);
    let target = env.path("victim/.git");
    fs::write(env.project().join(".git"), format!("gitdir: {}\n", target.display())).unwrap();
    let run = ["run", "-p", "x", "-m", "1", "--dry-run", "--sandbox", "bwrap"];
    env.run(&run).exits(2).says(&["does not name this project", "core.worktree"]);
    git(&env.path("victim"), &["config", "core.worktree", env.project().to_str().unwrap()]);
    env.run(&run).exits(0);
}

#[test]
fn a_project_inside_a_repository_cannot_get_another_one() {
    if !is_usable() {
        return;
    }
    for (kind, is_gained) in [("bwrap", false), ("off", true)] {
        let env = TestEnv::new();
        git(&env.project(), &["init", "--quiet", "--initial-branch=main"]);
        let project = env.project().join("crates/one");
        fs::create_dir_all(project.join(".nightwright")).unwrap();
        fs::write(project.join(".nightwright/config.toml"), "").unwrap();
        let lines = "( git init . && ls .git/HEAD ) > said.txt 2>&1 && echo yes > gained.txt";
        let file = env.script(&script(lines));
        let run = ["run", "-p", "x", "-m", "1", "--dry-run", "--sandbox", kind, "--rehearsal"];
        let mut command = env.command(&[&run[..], &[&file]].concat());
        finish(command.current_dir(&project).spawn().unwrap());
        assert!(project.join("said.txt").exists());
        assert_eq!(project.join("gained.txt").exists(), is_gained, "{kind}");
    }
}

#[test]
fn git_init_and_git_worktree_work_inside() {
    if !is_usable() {
        return;
    }
    let env = TestEnv::new();
    fs::write(env.path("home/.gitconfig"), "[user]\n\tname = Jo\n\temail = jo@example.com\n")
        .unwrap();
    let first = "git init -q .\ngit commit -q --allow-empty -m first";
    let second =
        "git worktree add -q -b side near\n(cd near; echo x > f; git add f; git commit -qm f)";
    let third = "(cd near; echo y > f; git commit -qam g)\ngit gc -q\ngit worktree remove near\n\
                 git log --format=%s side > log.txt";
    let all = [first, second, third].map(script).concat();
    env.rehearse(&all, "3", &["--sandbox", "bwrap", "--no-baseline"]).exits(0);
    assert_eq!(fs::read_to_string(env.project().join("log.txt")).unwrap(), "g\nf\nfirst\n");
    assert!(!env.project().join("near").exists());
}

#[test]
fn a_check_cannot_read_the_login_of_the_agent() {
    if !is_usable() {
        return;
    }
    for (kind, expected) in [("bwrap", "none"), ("off", "login")] {
        let env = TestEnv::new();
        fs::create_dir_all(env.path("home/.claude")).unwrap();
        fs::write(env.path("home/.claude/.credentials.json"), "login").unwrap();
        let file = env.word("home/.claude/.credentials.json");
        let check = format!("cat {file} > seen.txt; test -s seen.txt || echo none > seen.txt");
        let run = ["--sandbox", kind, "--no-baseline", "--verify", &check];
        let text = script("true").replace("A part of it.", "All. <promise>COMPLETE</promise>");
        let done = env.rehearse(&text, "1", &run);
        let seen = fs::read_to_string(env.project().join("seen.txt"));
        assert_eq!(seen.unwrap_or_default().trim(), expected, "{}", done.err);
    }
}

fn wait_for(file: &Path) {
    let begun = Instant::now();
    while !file.exists() {
        assert!(begun.elapsed() < Duration::from_mins(1), "no {}", file.display());
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn the_end_of_one_sandbox_opens_nothing_in_that_of_another_worktree() {
    if !is_usable() {
        return;
    }
    let env = TestEnv::new();
    let (main, side) = (env.path("main"), env.path("side"));
    fs::create_dir(&main).unwrap();
    git(&main, &["init", "--quiet", "--initial-branch=main"]);
    git(&main, &["commit", "--quiet", "--allow-empty", "-m", "first"]);
    fs::remove_dir(env.project()).unwrap();
    for (name, folder) in [("one", env.project()), ("two", side.clone())] {
        git(&main, &["worktree", "add", "--quiet", "-b", name, folder.to_str().unwrap()]);
    }
    let attack = "touch begun\nwhile [ ! -e go ]; do sleep 0.05; done\n\
                  echo evil > \"$(git rev-parse --git-common-dir)/commondir\" && echo yes > gained.txt";
    let waiting = env.path("waiting.toml");
    fs::write(&waiting, script(attack)).unwrap();
    let run = |file: &Path| {
        let words = ["run", "-p", "x", "-m", "1", "--dry-run", "--sandbox", "bwrap", "--rehearsal"];
        env.command(&[&words[..], &[file.to_str().unwrap()]].concat())
    };
    // The second one begins first: it creates the entries, and would remove them.
    let mut other = run(&waiting);
    let other = other.current_dir(&side).spawn().unwrap();
    wait_for(&side.join("begun"));
    let own = run(&waiting).spawn().unwrap();
    wait_for(&env.project().join("begun"));
    fs::write(side.join("go"), "").unwrap();
    finish(other).exits(0);
    fs::write(env.project().join("go"), "").unwrap();
    finish(own).exits(0);
    assert!(!env.project().join("gained.txt").exists());
    assert!(!main.join(".git/commondir").exists(), "the last one removes everything");
}

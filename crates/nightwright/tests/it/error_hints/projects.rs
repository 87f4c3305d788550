//! Errors about the project, its configuration and the machine.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::super::harness::{Hermit, finish};

/// Puts an agent program of this version in the way.
fn agent(hermit: &Hermit, version: &str) {
    let path = hermit.path("bin/claude");
    fs::write(&path, format!("#!/bin/sh\necho '{version} (Claude Code)'\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn an_unknown_key_is_followed_by_all_that_there_are() {
    let hermit = Hermit::new();
    let did = hermit.elsewhere(&["config", "get", "zzqqxx"]).exits(2);
    let line = hermit.command_of(&did, "see all keys: nightwright config list");
    assert!(hermit.paste_elsewhere(&line).exits(0).out.contains("limits.max_cost"));

    // In a file it must not keep the hint from working.
    hermit.configured("zzqqxx = 1\n");
    let did = hermit.elsewhere(&["config", "list"]).exits(2);
    let line = hermit.command_of(&did, "see all keys: nightwright config schema");
    assert!(hermit.paste_elsewhere(&line).exits(0).out.contains("max_cost"));
}

#[test]
fn a_variable_that_cannot_be_read_is_explained_by_the_hint() {
    let hermit = Hermit::new();
    let mut command = hermit.command_elsewhere(&["run", "-p", "x", "-m", "1", "--dry-run"]);
    let did = finish(command.env("NIGHTWRIGHT_MAX_COST", "much").spawn().unwrap()).exits(2);
    let hint =
        "it sets `{key}`, which this explains: env -u {name} nightwright config explain {key}";
    let line = hermit.command_of(&did, hint);
    let mut shell = hermit.shell(&line);
    shell.current_dir(hermit.path("home")).env("NIGHTWRIGHT_MAX_COST", "much");
    assert!(finish(shell.spawn().unwrap()).exits(0).out.contains("an amount in US dollars"));
}

#[test]
fn what_is_not_approved_is_approved_by_the_hint() {
    let run = ["run", "-p", "x", "-m", "1", "--dry-run"];
    let in_a_run = "look at it and approve it: nightwright trust; for this run only: --trust; to \
                    leave it out: --ignore-untrusted";
    let in_resume = "look at it and approve it: nightwright trust; for this run only: --trust";
    let elsewhere = "look at it and approve it: nightwright trust";
    for (arguments, hint, code) in [
        (&run[..], in_a_run, 2),
        (&["resume", "--reload"], in_resume, 2),
        (&["validate", "t", "--dry-run"], elsewhere, 2),
        (&["doctor"], elsewhere, 1),
    ] {
        let hermit = Hermit::new();
        hermit.ready_task("t");
        hermit.rehearse("[[attempt]]\nending = { auth = \"no\" }", "9", &[]).exits(1);
        hermit.configured("[agent]\npermissions = \"bypass\"\n");
        let did = hermit.elsewhere(arguments).exits(code);
        hermit.paste_elsewhere(&(hermit.command_of(&did, hint) + " --yes")).exits(0);
        hermit.elsewhere(&["trust", "--list"]).exits(0);
    }
}

#[test]
fn the_agent_s_own_settings_are_approved_by_the_note_about_them() {
    let hermit = Hermit::new();
    fs::create_dir(hermit.project().join(".claude")).unwrap();
    hermit.file(".claude/settings.json", "{}");
    let did = hermit.elsewhere(&["run", "-p", "x", "-m", "1", "--dry-run"]).exits(0);
    let line = hermit.command_of(&did, "; approve them with `nightwright trust`");
    hermit.paste_elsewhere(&(line + " --yes")).exits(0);
    hermit.elsewhere(&["trust", "--list"]).exits(0);
}

#[test]
fn without_the_agent_program_a_rehearsal_works() {
    let hermit = Hermit::new();
    let did = hermit.elsewhere(&["run", "-p", "x", "-m", "1"]).exits(1);
    let hint = "to try nightwright without it: nightwright run -p \"...\" -m 3 --dry-run";
    hermit.paste_elsewhere(&hermit.command_of(&did, hint)).exits(0).says(&["rehearsal"]);
}

#[test]
fn doctor_says_how_to_find_a_check_and_how_to_try_an_agent() {
    let hermit = Hermit::new();
    hermit.file("Makefile", "test:\n\ttrue\n");
    agent(&hermit, "99.0.0");
    let did = hermit.elsewhere(&["doctor"]);
    let line =
        hermit.command_of(&did, "to try it out for a cent or so: nightwright doctor --probe");
    // The program gives no answer, and that is what is said.
    assert!(hermit.paste_elsewhere(&line).exits(1).out.contains("probe"));
    let hint = "to find the test command of this project: nightwright init";
    hermit.paste_elsewhere(&hermit.command_of(&did, hint)).exits(0);
    assert!(hermit.read(".nightwright/config.toml").contains("make test"));
}

#[test]
fn notifications_get_an_address_by_the_hint() {
    let hermit = Hermit::new();
    let did = hermit.elsewhere(&["notify", "test"]).exits(2);
    let hint =
        "set one: nightwright config set --user notify.url https://ntfy.sh/A-NAME-NOBODY-GUESSES";
    hermit.paste_elsewhere(&hermit.command_of(&did, hint)).exits(0);
    assert!(hermit.elsewhere(&["config", "get", "notify.url"]).exits(0).out.contains("ntfy.sh"));
}

#[test]
fn principles_are_written_and_shown_by_the_hint() {
    let hermit = Hermit::new();
    let did = hermit.elsewhere(&["principles", "--show"]).exits(1);
    let line = hermit.command_of(&did, "write it: nightwright principles");
    hermit.paste_elsewhere(&(line + " --preset startup")).exits(0);
    let did = hermit.elsewhere(&["principles", "--preset", "startup"]).exits(1);
    let hint = "see what it says: nightwright principles --show; write it anew with `--force`: the \
                old one is kept as `{}`";
    assert!(!hermit.paste_elsewhere(&hermit.command_of(&did, hint)).exits(0).out.is_empty());
}

#[test]
fn principles_that_the_configuration_names_are_written_or_unset_by_the_hint() {
    let unset = "nightwright config unset";
    let hermit = Hermit::new();
    hermit.configured("[principles]\nfile = \"mine.toml\"\n");
    let run = ["run", "-p", "x", "-m", "1", "--dry-run"];
    let lines = hermit.printed(&hermit.elsewhere(&run).exits(2), unset);
    hermit.paste_elsewhere(&lines[1]).exits(0);
    hermit.elsewhere(&run).exits(0);

    let hermit = Hermit::new();
    hermit
        .ready_task("t")
        .file(".nightwright/tasks/t/task.toml", "[principles]\nfile = \"mine.toml\"\n");
    let run = ["run", "t", "-m", "1", "--dry-run"];
    let hint = "write it: NIGHTWRIGHT_PRINCIPLES_FILE={} nightwright principles";
    let lines = hermit.printed(&hermit.elsewhere(&run).exits(2), hint);
    hermit.paste_elsewhere(&format!("{} --preset startup", lines[0])).exits(0);
    hermit.elsewhere(&run).exits(0);
}

#[test]
fn manual_pages_go_into_the_folder_of_the_hint() {
    let hermit = Hermit::new();
    let did = hermit.run(&["man", "--dir", "/proc/pages"]).exits(1);
    let hint = "give a folder that you may write to: nightwright man --dir DIR";
    hermit.paste(&hermit.command_of(&did, hint).replace("DIR", "pages")).exits(0);
    assert!(hermit.project().join("pages/nightwright.1").exists());
}

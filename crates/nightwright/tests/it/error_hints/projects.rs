//! Errors about the project, its configuration and the machine.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::harness::{TestEnv, finish};

/// Puts an agent program of this version in the way.
fn agent(env: &TestEnv, version: &str) {
    let path = env.path("bin/claude");
    fs::write(&path, format!("#!/bin/sh\necho '{version} (Claude Code)'\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn an_unknown_key_is_followed_by_all_that_there_are() {
    let env = TestEnv::new();
    let output = env.elsewhere(&["config", "get", "zzqqxx"]).exits(2);
    let line = env.command_of(&output, "run `nightwright config list` to see all keys");
    assert!(env.paste_elsewhere(&line).exits(0).out.contains("limits.max_cost"));

    // In a file it must not keep the hint from working.
    env.configured("zzqqxx = 1\n");
    let output = env.elsewhere(&["config", "list"]).exits(2);
    let line = env.command_of(&output, "run `nightwright config schema` to see all keys");
    assert!(env.paste_elsewhere(&line).exits(0).out.contains("max_cost"));
}

#[test]
fn a_variable_that_cannot_be_read_is_explained_by_the_hint() {
    let env = TestEnv::new();
    let mut command = env.command_elsewhere(&["run", "-p", "x", "-m", "1", "--dry-run"]);
    let output = finish(command.env("NIGHTWRIGHT_MAX_COST", "much").spawn().unwrap()).exits(2);
    let hint =
        "for an explanation of `{key}`, run `env -u {name} nightwright config explain {key}`";
    let line = env.command_of(&output, hint);
    let mut shell = env.shell(&line);
    shell.current_dir(env.path("home")).env("NIGHTWRIGHT_MAX_COST", "much");
    assert!(finish(shell.spawn().unwrap()).exits(0).out.contains("an amount in US dollars"));
}

#[test]
fn the_hint_gives_the_missing_approval() {
    let run = ["run", "-p", "x", "-m", "1", "--dry-run"];
    let in_a_run = "review and approve it with `nightwright trust`; add --yes to approve it for this run \
                    only, or --ignore-untrusted to skip it";
    let in_resume =
        "review and approve it with `nightwright trust`; add --yes to approve it for this run only";
    let elsewhere = "review and approve it with `nightwright trust`";
    for (arguments, hint, code) in [
        (&run[..], in_a_run, 2),
        (&["resume", "--reload"], in_resume, 2),
        (&["task", "validate", "t", "--dry-run"], elsewhere, 2),
        (&["doctor"], elsewhere, 1),
    ] {
        let env = TestEnv::new();
        env.ready_task("t");
        env.rehearse("[[attempt]]\nend = { auth = \"no\" }", "9", &[]).exits(1);
        env.configured("[agent]\npermissions = \"bypass\"\n");
        let output = env.elsewhere(arguments).exits(code);
        env.paste_elsewhere(&(env.command_of(&output, hint) + " --yes")).exits(0);
        env.elsewhere(&["trust", "--list"]).exits(0);
    }
}

#[test]
fn the_agent_s_own_settings_are_approved_by_the_note_about_them() {
    let env = TestEnv::new();
    fs::create_dir(env.project().join(".claude")).unwrap();
    env.file(".claude/settings.json", "{}");
    let output = env.elsewhere(&["run", "-p", "x", "-m", "1", "--dry-run"]).exits(0);
    let line = env.command_of(&output, "; approve them with `nightwright trust`");
    env.paste_elsewhere(&(line + " --yes")).exits(0);
    env.elsewhere(&["trust", "--list"]).exits(0);
}

#[test]
fn looser_values_of_a_project_are_approved_by_the_notes_about_them() {
    let env = TestEnv::new();
    let user = env.path("home").join(".config/nightwright");
    fs::create_dir_all(&user).unwrap();
    let text = "verify.commands = [\"false\"]\n[limits]\nmax_cost = 1\n";
    fs::write(user.join("config.toml"), text).unwrap();
    env.configured("[limits]\nmax_cost = 50\n");
    fs::create_dir_all(env.project().join(".nightwright/modes/prompt")).unwrap();
    let mode = ".nightwright/modes/prompt/mode.toml";
    env.file(
        mode,
        "description = \"plans\"\nworks_on = \"goal\"\nevidence = [\"planned\"]\n\
         list = { file = \"PLAN.md\", place = \"project\" }\nidle_unless = \"worked\"\n",
    );
    let run = ["run", "-p", "x", "-m", "1", "--dry-run"];
    let output = env.elsewhere(&run);
    let to_loosen = env.command_of(&output, "run `nightwright trust` to use the project's");
    let to_skip = env.command_of(&output, "run `nightwright trust` to skip them");
    assert_eq!(to_loosen, to_skip);
    env.paste_elsewhere(&(to_skip + " --yes")).exits(0);
    let output = env.elsewhere(&run);
    assert!(!output.err.contains("nightwright trust"), "{}", output.err);
}

#[test]
fn without_the_agent_program_a_rehearsal_works() {
    let env = TestEnv::new();
    let output = env.elsewhere(&["run", "-p", "x", "-m", "1"]).exits(1);
    let hint = "run `nightwright run -p \"...\" -m 3 --dry-run` to try nightwright without it";
    env.paste_elsewhere(&env.command_of(&output, hint)).exits(0).says(&["rehearsal"]);
}

#[test]
fn doctor_says_how_to_find_a_check_and_how_to_try_an_agent() {
    let env = TestEnv::new();
    env.file("Makefile", "test:\n\ttrue\n");
    agent(&env, "99.0.0");
    let output = env.elsewhere(&["doctor"]);
    let line =
        env.command_of(&output, "run `nightwright doctor --probe` to test it for about $0.01");
    // The program gives no answer, and that is what is said.
    assert!(env.paste_elsewhere(&line).exits(1).out.contains("probe"));
    let hint = "run `nightwright init` to find the test command of this project";
    env.paste_elsewhere(&env.command_of(&output, hint)).exits(0);
    assert!(env.read(".nightwright/config.toml").contains("make test"));
}

#[test]
fn notifications_get_an_address_by_the_hint() {
    let env = TestEnv::new();
    let output = env.elsewhere(&["notify", "test"]).exits(2);
    let hint =
        "run `nightwright config set --user notify.url https://ntfy.sh/A-NAME-ONLY-YOU-KNOW`";
    env.paste_elsewhere(&env.command_of(&output, hint)).exits(0);
    assert!(env.elsewhere(&["config", "get", "notify.url"]).exits(0).out.contains("ntfy.sh"));
}

#[test]
fn principles_are_written_and_shown_by_the_hint() {
    let env = TestEnv::new();
    let output = env.elsewhere(&["principles", "--show"]).exits(1);
    let line = env.command_of(&output, "run `nightwright principles` to write it");
    env.paste_elsewhere(&(line + " --preset startup")).exits(0);
    let output = env.elsewhere(&["principles", "--preset", "startup"]).exits(1);
    let hint = "run `nightwright principles --show` to print it, or add `--yes` to replace it \
                (nightwright keeps the old file as `{}`)";
    assert!(!env.paste_elsewhere(&env.command_of(&output, hint)).exits(0).out.is_empty());
}

#[test]
fn principles_that_the_configuration_names_are_written_or_unset_by_the_hint() {
    let unset = "nightwright config unset";
    let env = TestEnv::new();
    env.configured("[principles]\nfile = \"mine.toml\"\n");
    let run = ["run", "-p", "x", "-m", "1", "--dry-run"];
    let lines = env.printed(&env.elsewhere(&run).exits(2), unset);
    env.paste_elsewhere(&lines[1]).exits(0);
    env.elsewhere(&run).exits(0);

    let env = TestEnv::new();
    env.ready_task("t")
        .file(".nightwright/tasks/t/task.toml", "[principles]\nfile = \"mine.toml\"\n");
    let run = ["run", "t", "-m", "1", "--dry-run"];
    let hint = "run `NIGHTWRIGHT_PRINCIPLES_FILE={} nightwright principles` to write it";
    let lines = env.printed(&env.elsewhere(&run).exits(2), hint);
    env.paste_elsewhere(&format!("{} --preset startup", lines[0])).exits(0);
    env.elsewhere(&run).exits(0);
}

#[test]
fn manual_pages_go_into_the_folder_of_the_hint() {
    let env = TestEnv::new();
    let output = env.run(&["man", "--dir", "/proc/pages"]).exits(1);
    let hint = "run `nightwright man --dir DIR` with a folder that you can write to";
    env.paste(&env.command_of(&output, hint).replace("DIR", "pages")).exits(0);
    assert!(env.project().join("pages/nightwright.1").exists());
}

//! Help, completions, manual pages.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use super::harness::Hermit;

#[test]
fn without_a_command_the_commands_are_shown_by_what_they_are_for() {
    let did = Hermit::new().run(&[]).exits(2);
    for title in ["First steps:", "Tasks:", "Runs:", "Settings:", "Options:", "Examples:"] {
        assert!(did.err.contains(&format!("\n{title}\n")), "{title} is not in:\n{}", did.err);
    }
    assert!(did.err.contains("\n  run          Work on a task or a goal"), "{}", did.err);
    assert!(!did.err.contains("reference"), "what is hidden is not shown:\n{}", did.err);
    let asked = Hermit::new().run(&["--help"]).exits(0);
    assert_eq!(asked.out, did.err, "asked for, it is data");
}

#[test]
fn a_run_without_task_and_goal_shows_help_and_the_tasks_there_are() {
    let hermit = Hermit::new();
    hermit.run(&["new", "migrate-api"]).exits(0);
    let did = hermit.run(&["run"]).exits(2).says(&[
        "Usage: nightwright run [OPTIONS] [TASK]",
        "--max-cost",
        "Examples:",
        "neither a task nor a goal was given",
        "name a task (migrate-api)",
    ]);
    assert!(!did.err.contains("--retry-delay"), "the options that matter only:\n{}", did.err);
    let at = |text: &str| did.err.find(text).unwrap();
    assert!(at("Usage:") < at("neither a task"), "what is wrong comes last");
}

#[test]
fn version_is_what_the_option_says() {
    let hermit = Hermit::new();
    let did = hermit.run(&["version"]).exits(0);
    assert_eq!(did.out, hermit.run(&["--version"]).exits(0).out);
    assert!(did.out.starts_with("nightwright "), "{}", did.out);
}

/// What bash offers for the last of these words.
fn completed(script: &str, words: &[&str]) -> Vec<String> {
    let last = words.len() - 1;
    let quoted: Vec<_> = words.iter().map(|word| format!("'{word}'")).collect();
    let ask = format!(
        "{script}\nCOMP_WORDS=({}); COMP_CWORD={last}\n_nightwright nightwright \"${{COMP_WORDS[{last}]}}\" \
         \"${{COMP_WORDS[{}]}}\"\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
        quoted.join(" "),
        last.saturating_sub(1),
    );
    let done = Command::new("bash").args(["--norc", "-c", &ask]).stdin(Stdio::null()).output();
    let done = done.unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_options_and_values() {
    let script = Hermit::new().run(&["completions", "bash"]).exits(0).out;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nightwright");
    fs::write(&path, &script).unwrap();
    let checked = Command::new("bash").arg("-n").arg(&path).status().unwrap();
    assert!(checked.success());

    assert_eq!(completed(&script, &["nightwright", "ru"]), ["run"]);
    assert_eq!(completed(&script, &["nightwright", "run", "--max-c"]), ["--max-cost"]);
    assert_eq!(completed(&script, &["nightwright", "run", "--output", "js"]), ["json"]);
    assert_eq!(completed(&script, &["nightwright", "config", "exp"]), ["explain"]);
    let hidden = completed(&script, &["nightwright", "refer"]);
    assert!(hidden.iter().all(String::is_empty), "what is hidden is offered: {hidden:?}");
}

#[test]
fn every_shell_gets_its_script() {
    let hermit = Hermit::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let did = hermit.run(&["completions", shell]).exits(0);
        assert!(did.out.contains("include-messages"), "{shell}:\n{}", did.out);
        assert!(!did.out.contains("generated reference"), "{shell} offers what is hidden");
        assert_eq!(did.err, "");
    }
    hermit.run(&["completions", "tcsh"]).exits(2).says(&["tcsh", "bash", "zsh", "fish"]);
}

/// Whether a program is there.
fn is_there(program: &str) -> bool {
    Command::new("sh")
        .args(["-c", &format!("command -v {program}")])
        .stdout(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

#[test]
fn every_command_has_a_manual_page() {
    let hermit = Hermit::new();
    let folder = hermit.path("home").join("man1");
    let did = hermit.run(&["man", "--dir", folder.to_str().unwrap()]).exits(0);
    let mut names: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    for name in
        ["nightwright.1", "nightwright-run.1", "nightwright-config-set.1", "nightwright-man.1"]
    {
        assert!(names.iter().any(|found| found == name), "{name} is not in {names:?}");
    }
    assert!(!names.iter().any(|name| name.contains("reference")), "{names:?}");
    assert!(did.out.starts_with(&format!("{} pages in ", names.len())), "{}", did.out);
    for name in &names {
        let page = fs::read_to_string(folder.join(name)).unwrap();
        let title = name.trim_end_matches(".1");
        assert!(page.contains(&format!(".TH {title} 1")), "{name}:\n{page}");
        assert!(
            page.contains(".SH SYNOPSIS") && page.contains(".SH EXAMPLES\n"),
            "{name}:\n{page}"
        );
        assert!(!page.contains("Examples:"), "{name}:\n{page}");
        assert!(!page.contains('\u{1b}'), "{name} has colours in it");
        // Where there is a reader of manual pages, it has nothing to complain of.
        if is_there("groff") {
            let read = Command::new("groff")
                .args(["-man", "-Tutf8", "-ww", "-z"])
                .arg(folder.join(name))
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&read.stderr);
            assert!(read.status.success() && said.is_empty(), "{name}: {said}");
        }
    }
    let main = hermit.run(&["man"]).exits(0).out;
    assert_eq!(main, fs::read_to_string(folder.join("nightwright.1")).unwrap());
    let page = hermit.run(&["man", "config", "set"]).exits(0).out;
    assert_eq!(page, fs::read_to_string(folder.join("nightwright-config-set.1")).unwrap());
}

#[test]
fn the_page_of_an_unknown_command_is_refused_with_the_nearest() {
    let hermit = Hermit::new();
    let did = hermit.run(&["man", "rnu"]).exits(2);
    did.says(&["`nightwright` has no command `rnu`", "did you mean `run`?"]);
    let did = hermit.run(&["man", "config", "sett"]).exits(2);
    did.says(&["`nightwright config` has no command `sett`", "did you mean `set`?"]);
    hermit.run(&["man", "reference"]).exits(2).says(&["no command `reference`", "--help"]);
    assert!(!hermit.path("project").join("run").exists());
}

#[test]
fn help_that_can_t_be_written_is_an_error() {
    for arguments in [&["--help"][..], &["run", "-h"], &["--version"], &["version"], &["man"]] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let ended = Command::new(env!("CARGO_BIN_EXE_nightwright"))
            .args(arguments)
            .stdout(full)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(1), "{arguments:?}: {said}");
        assert!(said.contains("can't write to standard output"), "{arguments:?}: {said}");
    }
}

#[test]
fn a_folder_that_can_t_be_written_is_named() {
    let hermit = Hermit::new();
    let file = hermit.path("home").join("file");
    fs::write(&file, "").unwrap();
    let did = hermit.run(&["man", "--dir", file.to_str().unwrap()]).exits(1);
    assert!(did.err.contains("home/file"), "{}", did.err);
    let taken = hermit.path("home").join("taken");
    fs::create_dir_all(taken.join("nightwright-run.1")).unwrap();
    fs::set_permissions(&taken, fs::Permissions::from_mode(0o700)).unwrap();
    hermit.run(&["man", "--dir", taken.to_str().unwrap()]).exits(1).says(&["nightwright-run.1"]);
}

//! Help, completions, manual pages.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use super::agent_env::NIGHTWRIGHT;
use super::harness::TestEnv;
use super::pty::Pty;

#[test]
fn without_a_command_the_commands_are_shown_by_what_they_are_for() {
    let output = TestEnv::new().run(&[]).exits(2);
    for title in ["Commands:", "Tasks:", "Control:", "Machine:", "Options:", "Examples:"] {
        assert!(output.err.contains(&format!("\n{title}\n")), "{title} is not in:\n{}", output.err);
    }
    assert!(output.err.contains("\n  run          Work on a task or a goal"), "{}", output.err);
    assert!(!output.err.contains("reference"), "what is hidden is not shown:\n{}", output.err);
    let asked = TestEnv::new().run(&["--help"]).exits(0);
    assert_eq!(asked.out, output.err, "asked for, it is data");
}

#[test]
fn a_run_without_task_and_goal_shows_help_and_the_tasks_there_are() {
    let env = TestEnv::new();
    env.run(&["new", "migrate-api"]).exits(0);
    let output = env.run(&["run"]).exits(2).says(&[
        "Usage: nightwright run [OPTIONS] [TASK]",
        "--max-cost",
        "Examples:",
        "no task or goal given",
        "name a task (migrate-api)",
    ]);
    assert!(!output.err.contains("--retry-delay"), "the options that matter only:\n{}", output.err);
    let at = |text: &str| output.err.find(text).unwrap();
    assert!(at("Usage:") < at("no task or goal given"), "what is wrong comes last");
}

#[test]
fn version_is_what_the_option_says() {
    let env = TestEnv::new();
    let output = env.run(&["version"]).exits(0);
    assert_eq!(output.out, env.run(&["--version"]).exits(0).out);
    assert!(output.out.starts_with("nightwright "), "{}", output.out);
}

/// Returns a project with a task, a custom mode and a run, and the binary in `PATH`.
fn project_to_complete() -> TestEnv {
    let env = TestEnv::new();
    std::os::unix::fs::symlink(NIGHTWRIGHT, env.path("bin").join("nightwright")).unwrap();
    env.run(&["new", "migrate-api"]).exits(0);
    env.run(&["new", "tidy-up"]).exits(0);
    fs::create_dir_all(env.project().join(".nightwright/modes/careful")).unwrap();
    env.rehearse("[[attempt]]\nsteps = [{ say = \"x\" }]\n", "1", &[]);
    env
}

/// The output of a shell that runs this text in the project.
fn shell(env: &TestEnv, program: &str, options: &[&str], text: &str) -> Vec<String> {
    let mut command = Command::new(program);
    command.env_clear().envs(env.command(&[]).get_envs().filter_map(|(k, v)| Some((k, v?))));
    let done = command.args(options).args(["-c", text]).current_dir(env.project());
    let done = done.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success() && said.is_empty(), "{program}: {said}");
    String::from_utf8(done.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// The completions that bash offers for the last word.
fn bash(env: &TestEnv, script: &str, words: &[&str]) -> Vec<String> {
    let last = words.len() - 1;
    let quoted: Vec<_> = words.iter().map(|word| format!("'{word}'")).collect();
    let ask = format!(
        "{script}\nCOMP_WORDS=({}); COMP_CWORD={last}; COMP_TYPE=9\n\
         _clap_complete_nightwright nightwright \"${{COMP_WORDS[{last}]}}\" \
         \"${{COMP_WORDS[{}]}}\" 2>/dev/null\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
        quoted.join(" "),
        last.saturating_sub(1),
    );
    shell(env, "bash", &["--norc"], &ask)
}

#[test]
fn bash_completes_commands_options_and_what_exists_in_the_project() {
    let env = project_to_complete();
    let script = env.run(&["completions", "bash"]).exits(0).out;
    let path = env.path("script");
    fs::write(&path, &script).unwrap();
    assert!(Command::new("bash").arg("-n").arg(&path).status().unwrap().success());

    let offers = |words: &[&str]| bash(&env, &script, &[&["nightwright"], words].concat());
    assert_eq!(offers(&["ru"]), ["run"]);
    assert_eq!(offers(&["run", "--max-c"]), ["--max-cost"]);
    assert_eq!(offers(&["run", "--output", "js"]), ["json"]);
    assert_eq!(offers(&["config", "exp"]), ["explain"]);
    assert_eq!(offers(&["run", "mig"]), ["migrate-api"]);
    assert_eq!(offers(&["task", "show", "t"]), ["tidy-up"]);
    assert_eq!(offers(&["run", "--mode", "ca"]), ["careful"]);
    assert_eq!(offers(&["new", "x", "--mode", "iter"]), ["iterative"]);
    assert_eq!(offers(&["config", "explain", "limits.max_c"]), ["limits.max_cost"]);
    assert_eq!(offers(&["help", "selft"]), ["selftest"]);
    let id = env.runs()[0].file_name().unwrap().to_str().unwrap().to_owned();
    assert_eq!(offers(&["report", &id[..4]]), [id.as_str()]);
    assert_eq!(offers(&["status", "mig"]), ["migrate-api"], "a run goes by its task, too");
    let hidden = offers(&["refer"]);
    assert!(hidden.iter().all(String::is_empty), "what is hidden is offered: {hidden:?}");
    let named = offers(&["new", "mig"]);
    assert!(named.iter().all(String::is_empty), "a new task has a new name: {named:?}");
}

#[test]
fn fish_and_zsh_complete_the_same_where_they_are_installed() {
    let env = project_to_complete();
    if is_there("fish") {
        let script = env.run(&["completions", "fish"]).exits(0).out;
        let ask = format!("{script}\ncomplete --do-complete 'nightwright run mig'");
        assert_eq!(shell(&env, "fish", &["--no-config"], &ask), ["migrate-api"]);
    }
    if is_there("zsh") {
        // Zsh completes only in interactive shells, so the test calls its function with a replaced
        // helper.
        let script = env.run(&["completions", "zsh"]).exits(0).out;
        assert!(script.starts_with("#compdef nightwright\n"), "{script}");
        let ask = format!(
            "compdef() {{ }}\n_describe() {{ print -l -- ${{(P)3}} }}\n{script}\n\
             words=(nightwright run mig); CURRENT=3\n_clap_dynamic_completer_nightwright"
        );
        assert_eq!(shell(&env, "zsh", &["-f"], &ask), ["migrate-api"]);
    }
}

#[test]
fn every_shell_gets_its_script() {
    let env = TestEnv::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = env.run(&["completions", shell]).exits(0);
        assert!(output.out.contains("NIGHTWRIGHT_COMPLETE"), "{shell}:\n{}", output.out);
        assert!(!output.out.contains(NIGHTWRIGHT), "{shell}: the script outlives the build");
        assert_eq!(output.err, "");
    }
    env.run(&["completions", "tcsh"]).exits(2).says(&["tcsh", "bash", "zsh", "fish"]);
}

#[test]
fn help_is_a_command_too() {
    let env = TestEnv::new();
    for (words, option) in [
        (&["help"][..], &["--help"][..]),
        (&["help", "run"], &["run", "--help"]),
        (&["help", "config", "set"], &["config", "set", "--help"]),
    ] {
        assert_eq!(env.run(words).exits(0).out, env.run(option).exits(0).out, "{words:?}");
    }
    env.run(&["help", "rnu"])
        .exits(2)
        .says(&["unknown command `rnu`", "did you mean `nightwright run`?"]);
}

#[test]
fn a_misspelt_command_gets_a_suggestion() {
    let env = TestEnv::new();
    for (word, meant) in [("rn", "run"), ("satus", "status"), ("resmue", "resume")] {
        let output = env.run(&[word]).exits(2);
        output.says(&[
            &format!("error: unknown command `{word}`\n"),
            &format!("did you mean `nightwright {meant}`?"),
        ]);
    }
    env.run(&["config", "exlpain"]).exits(2).says(&["did you mean `nightwright config explain`?"]);
    env.run(&["frobnicate"]).exits(2).says(&["list the commands with `nightwright --help`"]);
    let output = env.run(&["run", "x", "--maxx-cost", "5"]).exits(2).says(&["'--max-cost'"]);
    assert!(!output.err.contains("-- --maxx-cost"), "{}", output.err);
}

#[test]
fn a_task_command_without_task_gets_the_right_command_line() {
    let env = TestEnv::new();
    env.run(&["new", "migrate-api"]).exits(0);
    for (words, meant) in [
        (&["show", "migrate-api"][..], "nightwright task show migrate-api"),
        (&["shwo", "migrate-api", "--json"], "nightwright task show migrate-api --json"),
        (&["template", "list"], "nightwright task template list"),
        (&["task", "delte", "migrate-api", "--yes"], "nightwright task delete migrate-api --yes"),
    ] {
        let output = env.run(words).exits(2);
        let line = output.err.split("hint: did you mean `").nth(1).unwrap();
        let line = line.split('`').next().unwrap();
        assert_eq!(line, meant);
        env.paste(line).exits(0);
    }
    env.run(&["setup", "my task"]).exits(2).says(&["nightwright task setup \"my task\"`?"]);
    env.run(&["help", "setup"]).exits(2).says(&["did you mean `nightwright task setup`?"]);
}

#[test]
fn on_a_terminal_a_manual_page_opens_in_man() {
    let env = TestEnv::new();
    let man = env.path("bin").join("man");
    let seen = env.path("seen");
    fs::write(&man, format!("#!/bin/sh\ncat \"$1\" > {}\necho paged\n", env.word("seen"))).unwrap();
    fs::set_permissions(&man, fs::Permissions::from_mode(0o755)).unwrap();
    let pty = Pty::new(24, 80);
    let mut command = env.command(&["man", "run"]);
    let mut child = command.stdout(pty.end()).stderr(pty.end()).spawn().unwrap();
    drop(command);
    assert!(child.wait().unwrap().success());
    assert_eq!(String::from_utf8_lossy(&pty.unread()).trim(), "paged");
    let page = env.run(&["man", "run"]).exits(0).out;
    assert_eq!(fs::read_to_string(&seen).unwrap().trim_end(), page.trim_end());

    // Without `man`, the plain help is shown.
    let pty = Pty::new(24, 80);
    let mut command = env.command(&["man", "version"]);
    command.env("PATH", env.path("home")).stdout(pty.end()).stderr(pty.end());
    assert!(command.spawn().unwrap().wait().unwrap().success());
    drop(command);
    let shown = String::from_utf8_lossy(&pty.unread()).into_owned();
    assert!(shown.contains("Usage:") && !shown.contains(".TH"), "{shown}");
}

/// Whether a program is installed.
fn is_there(program: &str) -> bool {
    Command::new("sh")
        .args(["-c", &format!("command -v {program}")])
        .stdout(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

#[test]
fn every_command_has_a_manual_page() {
    let env = TestEnv::new();
    let folder = env.path("home").join("man1");
    let output = env.run(&["man", "--dir", folder.to_str().unwrap()]).exits(0);
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
    assert!(output.out.starts_with(&format!("{} pages in ", names.len())), "{}", output.out);
    for name in &names {
        let page = fs::read_to_string(folder.join(name)).unwrap();
        let title = name.trim_end_matches(".1");
        assert!(page.contains(&format!(".TH {title} 1")), "{name}:\n{page}");
        assert!(
            page.contains(".SH SYNOPSIS") && page.contains(".SH EXAMPLES\n"),
            "{name}:\n{page}"
        );
        assert!(!page.contains("Examples:"), "{name}:\n{page}");
        let undescribed = page.split("\n.TP\n").skip(1).filter(|entry| {
            let description = entry.lines().nth(1).unwrap_or_default();
            description.is_empty() || description.starts_with('.')
        });
        assert_eq!(undescribed.collect::<Vec<_>>(), [""; 0], "{name}");
        assert!(!page.contains('\u{1b}'), "{name} has colors in it");
        // If groff is installed, it must accept the page without warnings.
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
    let main = env.run(&["man"]).exits(0).out;
    assert_eq!(main, fs::read_to_string(folder.join("nightwright.1")).unwrap());
    let page = env.run(&["man", "config", "set"]).exits(0).out;
    assert_eq!(page, fs::read_to_string(folder.join("nightwright-config-set.1")).unwrap());
}

#[test]
fn the_page_of_an_unknown_command_is_refused_with_the_nearest() {
    let env = TestEnv::new();
    let output = env.run(&["man", "rnu"]).exits(2);
    output.says(&["unknown command `rnu`", "did you mean `nightwright run`?"]);
    let output = env.run(&["man", "config", "sett"]).exits(2);
    output.says(&["unknown command `config sett`", "did you mean `nightwright config set`?"]);
    env.run(&["man", "reference"]).exits(2).says(&["unknown command `reference`", "--help"]);
    assert!(!env.path("project").join("run").exists());
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
        assert!(said.contains("cannot write to standard output"), "{arguments:?}: {said}");
    }
}

#[test]
fn a_folder_that_can_t_be_written_is_named() {
    let env = TestEnv::new();
    let file = env.path("home").join("file");
    fs::write(&file, "").unwrap();
    let output = env.run(&["man", "--dir", file.to_str().unwrap()]).exits(1);
    assert!(output.err.contains("home/file"), "{}", output.err);
    let taken = env.path("home").join("taken");
    fs::create_dir_all(taken.join("nightwright-run.1")).unwrap();
    fs::set_permissions(&taken, fs::Permissions::from_mode(0o700)).unwrap();
    env.run(&["man", "--dir", taken.to_str().unwrap()]).exits(1).says(&["nightwright-run.1"]);
}

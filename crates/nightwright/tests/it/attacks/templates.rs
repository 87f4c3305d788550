//! Templates of a project that would exhaust the program.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;
use std::time::Duration;

use crate::harness::{Output, TestEnv, finish_within};

/// The time in which a template must be refused.
const SOON: Duration = Duration::from_secs(20);
/// Set in the process that renders the template without limits.
const UNBOUNDED: &str = "NIGHTWRIGHT_TEST_UNBOUNDED_TEMPLATE";

fn nested(count: usize) -> String {
    format!("{{% if {}branch %}}x{{% endif %}}", "not ".repeat(count))
}

/// Starts a run of a mode with this prompt. The project sets the test command to a text of this
/// length.
fn run(prompt: &str, length: usize) -> Output {
    let env = TestEnv::new();
    let mode = env.project().join(".nightwright/modes/prompt");
    fs::create_dir_all(&mode).unwrap();
    fs::write(mode.join("prompt.md"), prompt).unwrap();
    let config = format!("[commands]\ntest = \"{}\"\n", "x".repeat(length));
    env.file(".nightwright/config.toml", &config);
    let script = env.script("[[attempt]]\nend = { result = \"Done.\" }\n");
    let run = ["run", "-p", "x", "-m", "1", "--no-delay", "--yes", "--dry-run", "--rehearsal"];
    let command = env.command(&[&run[..], &[&script]].concat()).spawn().unwrap();
    finish_within(command, SOON)
}

#[test]
fn a_template_that_would_exhaust_the_program_is_refused_and_a_small_one_is_not() {
    let inserted = "{{ test_command }}";
    for (prompt, length, wanted) in [
        (nested(20_000), 1, "a tag can have at most 32 words"),
        (nested(50_000), 1, "it is longer than 131072 bytes"),
        (inserted.repeat(1001), 1, "a template can have at most 1000 tags"),
        ("{% if branch %}".repeat(17), 1, "`if` can nest at most 16 deep"),
        (inserted.to_owned(), 900_000, "the value of `test_command` is longer than 65536 bytes"),
        (inserted.repeat(1000), 60_000, "the text could be longer than 1048576 bytes"),
    ] {
        let output = run(&prompt, length).exits(2);
        assert!(output.err.contains(wanted), "{wanted}: {}", output.err);
        assert!(output.err.len() < 1000, "{}", output.err);
    }
    run(&(nested(20) + &inserted.repeat(15)), 60_000).exits(0);
}

/// Renders what the attack needs, in a separate process: this test starts itself.
#[test]
fn the_template_engine_alone_has_no_limits() {
    if std::env::var_os(UNBOUNDED).is_some() {
        let environment = minijinja::Environment::new();
        // The result does not matter: the stack overflows before.
        drop(environment.render_str(&nested(50_000), minijinja::context!(branch => "")));
        return;
    }
    let name = "attacks::templates::the_template_engine_alone_has_no_limits";
    let mut command = Command::new(std::env::current_exe().unwrap());
    let output = command.args(["--exact", name]).env(UNBOUNDED, "1").output().unwrap();
    assert!(output.status.signal().is_some(), "{output:?}");
}

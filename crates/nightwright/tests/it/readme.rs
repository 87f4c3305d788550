//! The commands of the README, in its order, in a small project, with the rehearsal agent.

use std::fs;

use super::harness::TestEnv;

const README: &str = include_str!("../../../../README.md");

/// Commands that need a person, an agent program, a network, a service manager, or take long.
const NOT_HERE: [&str; 13] = [
    "nightwright demo",
    "nightwright task setup",
    "nightwright task validate",
    "nightwright verify",
    "nightwright service install",
    "nightwright config set --user notify.url",
    "nightwright notify test",
    "nightwright stop",
    "nightwright pause",
    "nightwright tell",
    "nightwright doctor --probe",
    "nightwright selftest",
    "nightwright completions",
];

fn commands() -> Vec<Vec<String>> {
    let lines = README.lines().filter_map(|line| line.strip_prefix("$ "));
    let ours = lines.filter(|line| line.starts_with("nightwright "));
    let ours = ours.filter(|line| !NOT_HERE.iter().any(|start| line.starts_with(start)));
    ours.map(|line| shell_words::split(line.split(" #").next().unwrap()).unwrap()).collect()
}

#[test]
fn the_commands_of_the_readme_do_what_it_says() {
    let env = TestEnv::new();
    env.file("Makefile", "test:\n\ttrue\nlint:\n\ttrue\n");
    let mut ran = 0;
    for words in commands() {
        let mut words: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
        match words[0] {
            "init" => words.push("--yes"),
            "man" if words.contains(&"--dir") => continue,
            // The findings depend on the machine, so starting the command is enough.
            "doctor" => {
                env.run(&words);
                continue;
            }
            // A completed run cannot be resumed, and `resume` reports that.
            "resume" => {
                let output = env.run(&words);
                assert!(!output.err.contains("Usage:"), "{words:?}: {}", output.err);
                continue;
            }
            _ => {}
        }
        // Use a scripted agent.
        if words[0] == "run" {
            words.retain(|word| *word != "--detach");
            words.extend(["--dry-run", "--no-delay"]);
            if words[1] == "migrate-api" {
                let task = env.project().join(".nightwright/tasks/migrate-api");
                fs::write(task.join("INSTRUCTIONS.md"), "Move the handlers.\n").unwrap();
            }
        }
        let output = env.run(&words);
        assert_eq!(output.code, Some(0), "{words:?}: {}", output.err);
        ran += 1;
    }
    assert!(ran >= 9, "only {ran} commands were run");
    let page = fs::read_to_string(env.project().join("report.html")).unwrap();
    assert!(page.contains("</html>"));
}

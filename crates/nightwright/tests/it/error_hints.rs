//! Every command in the hint of an error works as printed. Each error is provoked in a folder
//! outside the project, and its hint is run there. A unit test compares these hints with those in
//! the source, so that none is missing.

mod projects;
mod runs;
mod tasks;

use std::fs;
use std::process::Command;

use super::harness::{Output, RunningCommand, TestEnv, finish};

impl TestEnv {
    /// Runs a command for the project from another folder.
    fn elsewhere(&self, arguments: &[&str]) -> Output {
        finish(self.command_elsewhere(arguments).spawn().unwrap())
    }

    fn command_elsewhere(&self, arguments: &[&str]) -> Command {
        let project = self.project().display().to_string();
        let mut command = self.command(&[&["-C", &project], arguments].concat());
        command.current_dir(self.path("home"));
        command
    }

    /// Runs a command line in a shell in that folder.
    fn paste_elsewhere(&self, line: &str) -> Output {
        finish(self.shell(line).current_dir(self.path("home")).spawn().unwrap())
    }

    /// The commands of a hint that was printed. `hint` is its text in the source.
    #[track_caller]
    fn printed(&self, output: &Output, hint: &str) -> Vec<String> {
        let named = format!("nightwright -C {} ", self.word("project"));
        let all = format!("{}\n{}", output.out, output.err);
        let line = all.lines().find(|line| fits(&line.replace(&named, "nightwright "), hint));
        let line = line.unwrap_or_else(|| panic!("no `{hint}` in:\n{all}"));
        let commands = commands(line);
        assert!(!commands.is_empty(), "no command in `{line}`");
        commands
    }

    /// The only command of a hint.
    #[track_caller]
    fn command_of(&self, output: &Output, hint: &str) -> String {
        let mut commands = self.printed(output, hint);
        assert_eq!(commands.len(), 1, "{commands:?}");
        commands.remove(0)
    }

    /// A task with instructions.
    fn ready_task(&self, name: &str) -> &Self {
        self.task(name);
        self.file(&format!(".nightwright/tasks/{name}/INSTRUCTIONS.md"), "Write done.txt.\n")
    }

    /// Writes the configuration of the project.
    fn configured(&self, text: &str) -> &Self {
        fs::create_dir_all(self.project().join(".nightwright")).unwrap();
        self.file(".nightwright/config.toml", text)
    }

    /// Starts a run whose agent hangs.
    fn live(&self, what: &[&str]) -> RunningCommand {
        let script = self.script(
            "[[attempt]]\nsteps = [{ say = \"one\" }]\nend = { hang = true }\n\
             [[attempt]]\nend = { result = \"<promise>COMPLETE</promise>\" }",
        );
        let more = ["-m", "3", "--verify", "true", "--dry-run", "--rehearsal", &script];
        let child = self.start(&[&["run"], what, &more].concat());
        self.wait_for("agent_ready");
        child
    }

    /// Ends such a run, after the hint has requested a stop.
    fn was_stopped(&self, child: RunningCommand) {
        self.wait_for("stop_requested");
        self.run(&["stop", "--now"]).exits(0);
        finish(child).exits(130);
    }

    fn run_id(&self) -> String {
        self.runs()[0].file_name().unwrap().to_str().unwrap().to_owned()
    }
}

/// Whether a line contains the parts of a format string, in that order.
fn fits(line: &str, template: &str) -> bool {
    let mut rest = line;
    let mut parts = template.split('{').enumerate().map(|(index, part)| match index {
        0 => part,
        _ => part.split_once('}').map_or(part, |(_, after)| after),
    });
    parts.all(|part| match rest.find(part) {
        Some(at) => {
            rest = &rest[at + part.len()..];
            true
        }
        None => false,
    })
}

/// The commands in a line, including variables set in front of them.
fn commands(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in line.match_indices("nightwright ") {
        let (before, after) = line.split_at(at);
        let quoted = before.matches('`').count() % 2 == 1;
        let begins = if quoted { "`" } else { ": " };
        let start = before.rfind(begins).map_or(0, |start| start + begins.len());
        let variables = &line[start..at];
        if !variables.is_empty() && !variables.starts_with("env ") && !variables.contains('=') {
            // This is the name of the program in a sentence.
            continue;
        }
        let end = if quoted { after.find('`') } else { after.find("; ") };
        found.push(line[start..at + end.unwrap_or(after.len())].to_owned());
    }
    found
}

//! Denials of the agent program, and the rules that would allow the denied calls.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::command::{commands, covers, exact, paths, rule_for, without_redirections};
use super::rule;
use crate::display::one_line;

/// The maximum length of an offered rule, as a word of a command line. A few of them fit on one
/// displayed line.
const MAX_RULE: usize = 300;
/// The replacement for a secret. A rule that contains it matches nothing.
const MASK: &str = "***";

/// Commands that read the files they name. The agent program allows them inside the project.
const READERS: &[&str] = &[
    "[", "date", "echo", "false", "printf", "pwd", "test", "true", "type", "which", "cat", "cd",
    "cut", "diff", "du", "file", "find", "grep", "head", "ls", "nl", "od", "pushd", "rg", "sort",
    "stat", "strings", "tac", "tail", "tree", "uniq", "wc", "xxd", "jq", "awk",
];
/// Commands that write the files they name. If edits are allowed, they are allowed inside the
/// project.
const WRITERS: &[&str] = &[
    "chmod", "cp", "ln", "mkdir", "mv", "patch", "rm", "rmdir", "sed", "tee", "touch", "truncate",
];

/// Commands that change more than the project, or run any code. A next step never suggests to allow
/// them among others.
const FAR_REACHING: &[&str] = &[
    "git push",
    "git reset",
    "git clean",
    "git checkout",
    "git restore",
    "git rebase",
    "git config",
    "npm publish",
    "pnpm publish",
    "yarn publish",
    "yarn npm publish",
    "cargo publish",
    "cargo login",
    "twine",
    "gem push",
    "gh",
    "glab",
    "curl",
    "wget",
    "ssh",
    "scp",
    "sftp",
    "rsync",
    "nc",
    "sh",
    "bash",
    "zsh",
    "dash",
    "eval",
    "env",
    "exec",
    "xargs",
    "sudo",
    "su",
    "doas",
    "chroot",
    "kill",
    "pkill",
    "killall",
    "dd",
    "mkfs",
    "mount",
    "umount",
    "shutdown",
    "reboot",
    "systemctl",
    "crontab",
    "docker run",
    "docker exec",
    "docker push",
    "docker system",
    "podman run",
    "podman exec",
    "podman push",
    "podman system",
    "terraform",
    "kubectl apply",
    "kubectl delete",
    "helm",
    "aws",
    "gcloud",
    "az",
];

/// Whether a rule allows a command that changes more than the project, or runs any code.
pub fn is_far_reaching(rule: &str) -> bool {
    let Some(command) = rule.strip_prefix("Bash(") else { return false };
    FAR_REACHING.iter().any(|program| {
        let rest = command.strip_prefix(program);
        rest.is_some_and(|rest| rest.starts_with([' ', ':', ')']))
    })
}

/// A tool call that the agent program denied.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Denial {
    /// The name of the denied tool.
    pub tool: String,
    /// The command, file or address of the call; empty if unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub input: String,
    /// The reason that the program gave.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
}

/// A denied command or call, and the rule that allows it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct DeniedCommand {
    /// The name of the denied tool.
    pub tool: String,
    /// The command, file or address; for a line of several commands, the denied one.
    pub command: String,
    /// The rule for `--allowed-tools`; absent if no rule allows it.
    pub rule: Option<String>,
}

impl DeniedCommand {
    /// The denied command, or the tool and its subject, for display.
    pub fn what(&self) -> String {
        what(&self.tool, &self.command)
    }

    /// A hint on how to allow it, for display.
    pub fn advice(&self) -> String {
        advice(self.rule.as_deref())
    }
}

/// The denied command, or the tool and its subject, for display.
pub fn what(tool: &str, command: &str) -> String {
    match (tool, command) {
        (tool, "") => tool.to_owned(),
        ("Bash", command) => command.to_owned(),
        (tool, input) => format!("{tool} {input}"),
    }
}

/// A hint on how to allow a denied call, for display.
pub fn advice(rule: Option<&str>) -> String {
    match rule {
        None => "no rule allows it".to_owned(),
        Some("Bash") => "allow with --allowed-tools \"Bash\", which allows any command".to_owned(),
        Some(rule) => format!("allow with --allowed-tools {}", quoted(rule)),
    }
}

/// The rule as one word of a shell command line.
pub fn quoted(rule: &str) -> String {
    if rule.contains(['"', '$', '`', '\\', '!']) {
        format!("'{}'", rule.replace('\'', "'\\''"))
    } else {
        format!("\"{rule}\"")
    }
}

/// Splits a denial into its denied commands. `granted` are the agent's rules, and `project` is the
/// folder in which it may read and edit.
pub fn refused(denial: &Denial, granted: &[String], project: &str) -> Vec<DeniedCommand> {
    let mut all = with_any_rule(denial, granted, project);
    for refused in &mut all {
        let rule = refused.rule.take();
        // The agent program allows no rule for the root folder.
        refused.rule = rule.filter(|rule| !rule.contains("(///")).and_then(|rule| {
            let broader = Some(refused.tool.clone()).filter(|tool| !granted.contains(tool));
            match (can_be_pasted(&rule), granted.contains(&rule)) {
                (true, false) => Some(rule),
                // The rule did not help.
                (true, true) => broader,
                // A rule that cannot be pasted as displayed would allow something else, or nothing.
                (false, _) => broader.filter(|tool| tool == "Bash"),
            }
        });
    }
    all.dedup();
    all
}

/// Whether a rule is unchanged after it was displayed on a line and copied.
fn can_be_pasted(rule: &str) -> bool {
    let word = quoted(rule);
    word.len() <= MAX_RULE
        && one_line(&word, MAX_RULE) == word
        && !rule.contains(MASK)
        && rule::problem(rule).is_none()
}

fn with_any_rule(denial: &Denial, granted: &[String], project: &str) -> Vec<DeniedCommand> {
    let Denial { tool, input, why } = denial;
    let one = |rule: Option<String>| {
        vec![DeniedCommand { tool: tool.clone(), command: input.clone(), rule }]
    };
    if cannot_be_allowed(why) {
        return one(None);
    }
    match tool.as_str() {
        "Bash" if input.is_empty() => one(Some("Bash".to_owned())),
        "Bash" => {
            let all = of_line(input, why, granted, project).into_iter();
            all.map(|(command, rule)| DeniedCommand {
                tool: tool.clone(),
                command,
                rule: Some(rule),
            })
            .collect()
        }
        "Write" | "Edit" | "MultiEdit" | "NotebookEdit" if input.starts_with('/') => {
            one(Some(format!("Edit(/{input})")))
        }
        "Read" if input.starts_with('/') => one(Some(format!("Read(/{input})"))),
        "WebFetch" => one(Some(match host(input) {
            Some(host) => format!("WebFetch(domain:{host})"),
            None => tool.clone(),
        })),
        _ => one(Some(tool.clone())),
    }
}

/// Whether the denial is independent of rules: removing a system folder, changing files that the
/// agent program or Git runs, and tools in `agent.disallowed_tools`.
fn cannot_be_allowed(why: &str) -> bool {
    why.contains("cannot be auto-allowed by permission rules")
        || why.contains("which is a sensitive file")
        || why.contains("/.claude/")
        || (why.starts_with("Permission to use") && why.contains("has been denied"))
}

/// The denied commands of a line, each with its rule.
fn of_line(line: &str, why: &str, granted: &[String], project: &str) -> Vec<(String, String)> {
    let whole = |rule: String| vec![(line.to_owned(), rule)];
    if let Some(path) = quoted_path(why, "Output redirection to ") {
        let mut all = whole(format!("Edit(/{path})"));
        all.extend(uncovered(line, granted, project));
        return all;
    }
    if let Some((_, path)) = why.split_once(" in ").filter(|(program, _)| !program.contains(' '))
        && let Some(path) = quoted_path(path, "")
    {
        let reads = why.contains("was blocked");
        return whole(format!("{}(/{path}/**)", if reads { "Read" } else { "Edit" }));
    }
    let of_parts = why.split_once("approval: ").map(|(_, parts)| parts);
    if why.is_empty() || why == "This command requires approval" || of_parts.is_some() {
        let refused: Vec<_> = commands(line)
            .into_iter()
            .filter_map(|command| Some((command, named(of_parts, command)?)))
            .filter(|(command, named)| *named == CommandMention::Alone || is_open(command, granted))
            .flat_map(|(command, named)| of_command(command, granted, project, named))
            .collect();
        if !refused.is_empty() {
            return refused;
        }
    }
    // The program cannot analyze a part of this line. It allows such a line only word for word, or
    // with a rule for all commands.
    let word_for_word = why.contains("can't be checked before it runs")
        && !why.contains("used as a file")
        || why.contains("as shell code")
        || why.contains("executes commands or modifies files");
    whole(if word_for_word { exact(line) } else { "Bash".to_owned() })
}

/// How the program's message names a denied command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CommandMention {
    /// The message names only this command, so it is the denied one.
    Alone,
    /// The message names several or none: another one may be denied.
    Among,
}

/// How the program's list of denied commands contains this one; `None` if it does not.
fn named(parts: Option<&str>, command: &str) -> Option<CommandMention> {
    let Some(parts) = parts else { return Some(CommandMention::Among) };
    let bare = without_redirections(command);
    let is_separate = |text: &str, marks: &[&str]| {
        text.trim().is_empty() || marks.iter().any(|mark| text.ends_with(mark))
    };
    let mut found = None;
    for command in [command.trim(), bare.trim()].into_iter().filter(|command| !command.is_empty()) {
        for (at, _) in parts.match_indices(command) {
            let (before, after) = (&parts[..at], parts[at + command.len()..].trim_start());
            let after_mark = |marks: &[&str]| {
                after.is_empty() || marks.iter().any(|mark| after.starts_with(mark))
            };
            if is_separate(before, &[", "]) && after_mark(&[","]) {
                return Some(CommandMention::Alone);
            }
            let operators = ["&& ", "|| ", "; ", "| ", ", "];
            let behind = ["&&", "||", ";", "|", ",", ">", "<", "2>"];
            if is_separate(before, &operators) && after_mark(&behind) {
                found = Some(CommandMention::Among);
            }
        }
    }
    found
}

/// Whether no rule covers a command, and the program does not allow it by itself.
fn is_open(command: &str, granted: &[String]) -> bool {
    let command = without_redirections(command);
    let program = command.split(' ').next().unwrap_or_default();
    !READERS.contains(&program)
        && !WRITERS.contains(&program)
        && !granted.iter().any(|rule| covers(rule, &command))
}

/// The commands of a line that no rule covers.
fn uncovered(line: &str, granted: &[String], project: &str) -> Vec<(String, String)> {
    commands(line)
        .into_iter()
        .filter(|command| is_open(command, granted))
        .flat_map(|command| of_command(command, granted, project, CommandMention::Among))
        .collect()
}

/// The rules for one command. It is denied for what it is, or for a path outside the project.
fn of_command(
    command: &str,
    granted: &[String],
    project: &str,
    named_as: CommandMention,
) -> Vec<(String, String)> {
    let bare = without_redirections(command);
    let (written, named) = paths(command);
    let program = named.first().copied().unwrap_or_default();
    let is_outside = |path: &&&str| {
        path.starts_with('/') && !path.starts_with("/dev/") && !is_inside(path, project)
    };
    let mut all: Vec<(String, String)> = Vec::new();
    let mut add = |rule: String| all.push((command.trim().to_owned(), rule));
    for path in written.iter().filter(is_outside) {
        add(format!("Edit(/{path})"));
    }
    let outside = named.iter().skip(1).filter(is_outside);
    if READERS.contains(&program) {
        outside.for_each(|path| add(format!("Read(/{path}/**)")));
    } else if WRITERS.contains(&program) {
        outside.for_each(|path| add(format!("Edit(/{path}/**)")));
    }
    let is_covered = granted.iter().any(|rule| covers(rule, &bare));
    if all.is_empty() || !(is_covered || READERS.contains(&program) || WRITERS.contains(&program)) {
        // A command that is denied although a rule covers it is denied for another reason.
        let rule = if is_covered && named_as == CommandMention::Alone {
            "Bash".to_owned()
        } else {
            rule_for(&bare)
        };
        all.push((command.trim().to_owned(), rule));
    }
    all
}

fn is_inside(path: &str, project: &str) -> bool {
    !project.is_empty()
        && path.strip_prefix(project).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The quoted path after these words.
fn quoted_path<'a>(text: &'a str, before: &str) -> Option<&'a str> {
    let path = text.strip_prefix(before)?.strip_prefix('\'')?.split_once('\'')?.0;
    path.starts_with('/').then_some(path)
}

fn host(url: &str) -> Option<&str> {
    let rest = url.split_once("://")?.1;
    let host = rest.split(['/', '?', '#']).next()?;
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let host = host.split(':').next()?;
    (!host.is_empty()).then_some(host)
}

#[cfg(test)]
mod tests;

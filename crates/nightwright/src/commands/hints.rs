//! Tests that no message names a command or option that does not exist. The tests extract every
//! nightwright command line from the sources, and parse it as if a user had pasted it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Command;
use clap::error::ErrorKind;

/// Arguments of format strings that stand for a complete part of a command, or for nothing.
const MAY_BE_EMPTY: [&str; 2] = ["flag", "work"];

#[test]
fn every_command_line_in_a_message_can_be_parsed() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for file in sources() {
        for text in literals(&code(&file)) {
            for line in command_lines(&text) {
                count += 1;
                if let Some(why) = problem(&line) {
                    wrong.push(format!("{}: `{line}`: {why}", file.display()));
                }
            }
        }
    }
    assert!(count > 50, "only {count} command lines were found");
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn every_option_in_a_hint_exists() {
    let mut known = BTreeSet::new();
    options(&super::command(), &mut known);
    let mut wrong = Vec::new();
    for file in sources() {
        for hint in calls(&code(&file), ".hint(") {
            for word in hint.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-')) {
                let is_option = word.strip_prefix("--").is_some_and(|name| !name.is_empty());
                if is_option && !known.contains(word) {
                    wrong.push(format!("{}: {word} in `{hint}`", file.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn every_familiar_word_leads_to_a_valid_command() {
    let mut wrong = Vec::new();
    for hint in super::cli::familiar::hints() {
        let lines = command_lines(hint);
        wrong.extend(lines.iter().filter_map(|line| Some(format!("`{line}`: {}", problem(line)?))));
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn command_lines_are_found_as_people_would_read_them() {
    let found = |text: &str| command_lines(text);
    assert_eq!(found("run `nightwright trust`, then"), ["nightwright trust"]);
    assert_eq!(
        found("raise it: nightwright resume {run} -m 10{flag}"),
        ["nightwright resume x -m 10"]
    );
    assert_eq!(found("nightwright kills the agent"), Vec::<String>::new());
    assert!(problem("nightwright resume x -m N").is_some());
    assert!(problem("nightwright rezume x").is_some());
    assert!(problem("nightwright tell").is_none(), "the name of a command");
    assert!(problem("nightwright tell x --loud").is_some());
}

/// Files whose command lines are not hints of errors: help, examples, messages of success, and the
/// next steps of a run. A separate test covers the latter.
const NO_ERRORS: [&str; 35] = [
    "app/agent_program/claude.rs",
    "app/control_inputs.rs",
    "app/detach/parent.rs",
    "commands/demo.rs",
    "commands/cli/examples.rs",
    "commands/init.rs",
    "commands/log.rs",
    "commands/pause.rs",
    "commands/principles.rs",
    "commands/reference.rs",
    "commands/resume/recall.rs",
    "commands/run/first_run.rs",
    "commands/service.rs",
    "commands/status/all.rs",
    "commands/task/archive.rs",
    "commands/task/conversation.rs",
    "commands/task/delete.rs",
    "commands/task/list.rs",
    "commands/task/new.rs",
    "commands/task/reset.rs",
    "commands/task/restore.rs",
    "commands/task/show.rs",
    "commands/task/template.rs",
    "commands/task/validate.rs",
    "init/import.rs",
    "output/lines.rs",
    "output/panel.rs",
    "phrases/claim.rs",
    "phrases/event.rs",
    "principles/toml_form.rs",
    "rehearsal/reference.rs",
    "run_view/liveness.rs",
    "run_view/next.rs",
    "store/temp_folder.rs",
    "text.rs",
];

/// A new hint with a command needs a test that pastes it, in `tests/it/error_hints`.
#[test]
fn every_command_in_a_hint_is_tried() {
    let mut written = BTreeSet::new();
    for file in sources() {
        let code = code(&file);
        let all = NO_ERRORS.iter().all(|known| !file.ends_with(known));
        let texts = if all { literals(&code) } else { calls(&code, ".hint(") };
        let has_command = |text: &String| !command_lines(text).is_empty() || depends(text);
        written.extend(texts.into_iter().filter(has_command).map(|text| plain(&text)));
    }
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/error_hints");
    let mut files = Vec::new();
    walk(&tests, &mut files);
    let texts = files.iter().flat_map(|file| literals(&code(file)));
    let tried: BTreeSet<_> = texts.map(|text| plain(&text)).collect();
    let missing: Vec<_> = written.difference(&tried).collect();
    assert!(missing.is_empty(), "no test pastes {missing:#?}");
}

/// Whether the text has a command whose name is an argument of the format string.
fn depends(text: &str) -> bool {
    text.contains("run `nightwright {")
}

/// Returns a format string without the names of its arguments.
fn plain(text: &str) -> String {
    let mut parts = text.split('{');
    let first = parts.next().unwrap_or_default().to_owned();
    parts
        .fold(first, |all, part| all + "{}" + part.split_once('}').map_or(part, |(_, after)| after))
}

/// Returns why this line could not be pasted; `None` if it could.
fn problem(line: &str) -> Option<String> {
    let words = match shell_words::split(line) {
        Ok(words) => words,
        Err(error) => return Some(error.to_string()),
    };
    let names_a_command = is_path(&super::command(), &words[1..]);
    match super::command().try_get_matches_from(&words) {
        Ok(_) => None,
        Err(error) => match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => None,
            ErrorKind::MissingRequiredArgument
            | ErrorKind::MissingSubcommand
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
                if names_a_command =>
            {
                None
            }
            _ => Some(error.to_string().lines().next().unwrap_or_default().to_owned()),
        },
    }
}

fn is_path(root: &Command, words: &[String]) -> bool {
    words.iter().try_fold(root, |command, word| command.find_subcommand(word)).is_some()
}

/// Returns the nightwright command lines in a string: in backticks, or up to the end of a clause.
fn command_lines(text: &str) -> Vec<String> {
    const NAME: &str = "nightwright ";
    let root = super::command();
    let mut found = Vec::new();
    for (at, _) in text.match_indices(NAME) {
        let before = text[..at].chars().next_back();
        let rest = &text[at..];
        let quoted = text[..at].matches('`').count() % 2 == 1;
        let end = if quoted && rest[NAME.len()..].starts_with(|c: char| c.is_ascii_lowercase()) {
            rest.find('`')
        } else if quoted {
            // The name of the command is only known at run time.
            continue;
        } else if before.is_none_or(|c| c.is_whitespace() || c == '(') {
            let verb = rest[NAME.len()..].split(|c: char| !c.is_ascii_lowercase()).next();
            if verb.and_then(|verb| root.find_subcommand(verb)).is_none() {
                continue;
            }
            let stops = ["; ", ", ", "\n", " (", ". ", "  ", " && ", " > ", " | "];
            stops.iter().filter_map(|stop| rest.find(stop)).min()
        } else {
            continue;
        };
        let line = filled(&rest[..end.unwrap_or(rest.len())]);
        let line = line.trim_end_matches(['.', ')', ':', ' ']).to_owned();
        found.push(line.replace('\n', " "));
    }
    found
}

/// Returns a format string with placeholders for its arguments.
fn filled(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        out.push_str(&rest[..at]);
        let Some(end) = rest[at..].find('}') else { break };
        let name = rest[at + 1..at + end].split(':').next().unwrap_or_default();
        if !MAY_BE_EMPTY.contains(&name) {
            out.push('x');
        }
        rest = &rest[at + end + 1..];
    }
    out.push_str(rest);
    out
}

fn options(command: &Command, known: &mut BTreeSet<String>) {
    known.insert("--help".to_owned());
    for argument in command.get_arguments() {
        known.extend(argument.get_long().map(|name| format!("--{name}")));
    }
    for inner in command.get_subcommands() {
        options(inner, known);
    }
}

/// Returns the source files of all crates, without tests.
fn sources() -> Vec<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for folder in ["src", "../nightwright-process/src", "../nightwright-core/src"] {
        walk(&here.join(folder), &mut files);
    }
    assert!(files.len() > 200, "only {} files", files.len());
    files
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() && !["tests", "stories", "story", "properties"].contains(&&*name) {
            walk(&path, files);
        } else if path.extension().is_some_and(|end| end == "rs")
            && !["tests.rs", "hints.rs", "samples.rs"].contains(&&*name)
        {
            files.push(path);
        }
    }
}

/// Returns the code of a file, without its tests and comments.
fn code(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap();
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let is_comment = |line: &&str| !line.trim_start().starts_with("//");
    text.lines().filter(is_comment).collect::<Vec<_>>().join("\n")
}

/// Returns the arguments of every call of this function, as text.
fn calls(code: &str, function: &str) -> Vec<String> {
    let calls = code.match_indices(function).map(|(at, _)| {
        let mut depth = 0_i32;
        let body = &code[at + function.len() - 1..];
        let end = body.find(|c| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            depth == 0
        });
        &body[..end.unwrap_or(body.len())]
    });
    calls.flat_map(literals).collect()
}

/// Returns the unescaped string literals in a piece of code.
fn literals(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = code;
    while let Some(at) = rest.find('"') {
        let raw = rest[..at].ends_with('r') || rest[..at].ends_with("r#");
        if rest[..at].ends_with('\'') && rest[at + 1..].starts_with('\'') {
            rest = &rest[at + 2..];
            continue;
        }
        let body = &rest[at + 1..];
        let (text, length) =
            if raw { raw_text(body, rest[..at].ends_with('#')) } else { text(body) };
        found.push(text);
        rest = &body[length..];
    }
    found
}

fn raw_text(body: &str, hashed: bool) -> (String, usize) {
    let close = if hashed { "\"#" } else { "\"" };
    let end = body.find(close).unwrap_or(body.len());
    (body[..end].to_owned(), (end + close.len()).min(body.len()))
}

fn text(body: &str) -> (String, usize) {
    let mut out = String::new();
    let mut chars = body.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (out, at + 1),
            '\\' => match chars.next() {
                Some((_, 'n')) => out.push('\n'),
                Some((_, '\n')) => {
                    // A continued line: skip its indentation.
                    let rest = chars.as_str();
                    let skip = rest.len() - rest.trim_start().len();
                    for _ in rest[..skip].chars() {
                        chars.next();
                    }
                }
                Some((_, other)) => out.push(other),
                None => {}
            },
            other => out.push(other),
        }
    }
    (out, body.len())
}

//! `nightwright help`, and the additions to `-h` and `--help`: groups of commands, and examples.

use std::fmt::Write as _;
use std::process::ExitCode;

use clap::builder::StyledStr;
use clap::{ArgAction, Args, Command};

use super::cli::examples::{EXAMPLES, Example};
use super::cli::key_options::helps_by_mode;
use super::cli::usage;
use crate::error::Failure;

#[derive(Clone, Debug, Args)]
pub(super) struct HelpArgs {
    /// Name of the command, such as `run` or `config set` [default: nightwright itself]
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
}

/// Prints the same text as `nightwright COMMAND --help`.
pub(super) fn help(options: &HelpArgs) -> Result<ExitCode, Failure> {
    let mut root = super::command();
    root.build();
    usage::find_command(&root, &options.command)?;
    let line = ["nightwright"].into_iter().chain(options.command.iter().map(String::as_str));
    match super::command().try_get_matches_from(line.chain(["--help"])) {
        Err(help) => usage::clap_error(help, &[]),
        Ok(_) => Ok(ExitCode::SUCCESS),
    }
}

/// A title, and the commands of the group.
type CommandGroup = (&'static str, &'static [&'static str]);

/// The groups: first the commands that every user needs, then the others by topic.
const GROUPS: &[CommandGroup] = &[
    ("Commands", &["init", "run", "status", "log", "stop", "resume", "report", "doctor"]),
    ("Tasks", &["new", "list", "task"]),
    ("More ways to run", &["plan", "build", "verify", "demo"]),
    ("Control", &["pause", "tell"]),
    ("Project and configuration", &["config", "trust", "principles", "notify"]),
    ("Machine", &["sandbox", "selftest", "service"]),
    ("Other", &["inspect", "prompt", "man", "completions", "help", "version"]),
];

/// Options that are parsed but have no effect on a command, so that its help does not list them.
const WITHOUT_EFFECT: [(&str, &[&str]); 3] = [
    ("plan", &["--mode", "all", "keep_going"]),
    ("build", &["--mode", "all", "keep_going"]),
    (
        "prompt",
        &[
            "all",
            "keep_going",
            "yes",
            "detach",
            "--verbose",
            "--quiet",
            "--output",
            "include_messages",
            "--color",
            "require_complete",
        ],
    ),
];

/// The commands that take one task; `run` takes several.
pub(super) const SINGLE_TASK: [&str; 3] = ["plan", "build", "prompt"];

/// The argument of a command that takes one task.
const ONE_TASK: &str = "Name of a task, or a goal in quotes (text with a space in it)";

/// The commands that start a run, with the mode that they imply.
const STARTING: [(&str, Option<&str>); 4] =
    [("run", None), ("plan", Some("plan")), ("build", Some("build")), ("prompt", None)];

/// The selector of the command that resumes a run.
const RESUMABLE_RUN: &str = "Run ID, a prefix of one, or a task name [default: \
    the active or last run; an unfinished real run comes before a rehearsal]";

/// The selector of commands that need a run that is active.
const ACTIVE_RUN: &str = "Run ID, a prefix of one, or a task name [default: the active run]";

/// Adds examples to every command, and the overview to the program.
pub(super) fn with_help(root: Command) -> Command {
    let overview = overview(&root);
    let root = WITHOUT_EFFECT.iter().fold(root, |root, (name, options)| {
        root.mut_subcommand(name, |command| {
            options.iter().fold(command, |command, option| {
                command.mut_arg(option, |option| option.hide(true))
            })
        })
    });
    let root = ["stop", "pause"].iter().fold(root, |root, name| {
        root.mut_subcommand(name, |command| {
            command.mut_arg("run", |run| run.help(ACTIVE_RUN).long_help(None::<&str>))
        })
    });
    // Unlike `mut_subcommand` and `mut_arg`, these functions keep the order.
    let root = root.mut_subcommands(|command| {
        if command.get_name() == "resume" {
            return command.mut_args(|arg| match arg.get_id().as_str() {
                "run" => arg.help(RESUMABLE_RUN).long_help(None::<&str>),
                _ => arg,
            });
        }
        let starting = STARTING.iter().find(|(name, _)| *name == command.get_name());
        let Some((_, mode)) = starting else { return command };
        let helps = helps_by_mode(*mode);
        let takes_one = SINGLE_TASK.contains(&command.get_name());
        command.mut_args(|arg| {
            if takes_one && arg.get_id() == "tasks" {
                return arg.action(ArgAction::Set).num_args(1).help(ONE_TASK);
            }
            match helps.iter().find(|(option, _)| *option == arg.get_id().as_str()) {
                Some((_, help)) => arg.help(help.clone()),
                None => arg,
            }
        })
    });
    with_examples(root, "").help_template(overview)
}

/// Returns the help of the program itself, because clap does not support groups of commands.
fn overview(root: &Command) -> StyledStr {
    let (header, literal) = (*root.get_styles().get_header(), *root.get_styles().get_literal());
    let mut text = String::from("{about-with-newline}\n{usage-heading} {usage}\n");
    let widest = root.get_subcommands().map(|command| command.get_name().len()).max();
    let width = widest.unwrap_or_default();
    for (title, names) in GROUPS {
        let _ = write!(text, "\n{header}{title}:{header:#}\n");
        for command in names.iter().filter_map(|name| root.find_subcommand(name)) {
            let name = command.get_name();
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            let gap = " ".repeat(width - name.len());
            let _ = writeln!(text, "  {literal}{name}{literal:#}{gap}  {about}");
        }
    }
    let _ = write!(text, "\n{header}Options:{header:#}\n{{options}}{{after-help}}");
    StyledStr::from(text)
}

/// Returns the command and its subcommands, with examples after their other help.
fn with_examples(command: Command, path: &str) -> Command {
    let mut with_help = command.mut_subcommands(|inner| {
        let path = format!("{path} {}", inner.get_name());
        with_examples(inner, path.trim())
    });
    let Some((_, examples)) = EXAMPLES.iter().find(|(name, _)| *name == path) else {
        return with_help;
    };
    let examples = listed(&with_help, examples);
    let short = with_help.get_after_help().map(|text| text.ansi().to_string());
    let long = with_help.get_after_long_help().map(|text| text.ansi().to_string());
    let has_more =
        long.is_some() || with_help.get_arguments().any(clap::Arg::is_hide_short_help_set);
    let more =
        has_more.then(|| format!("Use `nightwright {path} --help` for all options and details."));
    let full = joined([long.or_else(|| short.clone()), Some(examples.clone()), None]);
    with_help = with_help.after_help(StyledStr::from(joined([short, Some(examples), more])));
    // If both strings are the same, one is enough.
    if has_more { with_help.after_long_help(StyledStr::from(full)) } else { with_help }
}

fn listed(command: &Command, examples: &[Example]) -> String {
    let (header, literal) =
        (*command.get_styles().get_header(), *command.get_styles().get_literal());
    let mut text = format!("{header}Examples:{header:#}");
    for (line, about) in examples {
        let _ = write!(text, "\n  {literal}{line}{literal:#}\n      {about}");
    }
    text
}

fn joined(parts: [Option<String>; 3]) -> String {
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    parts.join("\n\n")
}

#[cfg(test)]
mod tests {
    use clap::error::ErrorKind;

    use super::*;

    fn root() -> Command {
        super::super::command()
    }

    /// Collects every visible command, with its path.
    fn all(command: &Command, path: &str, found: &mut Vec<(String, Command)>) {
        for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
            let path = format!("{path} {}", inner.get_name()).trim().to_owned();
            all(inner, &path, found);
            found.push((path, inner.clone()));
        }
    }

    fn commands() -> Vec<(String, Command)> {
        let mut found = Vec::new();
        all(&root(), "", &mut found);
        found
    }

    #[test]
    fn every_command_is_in_the_overview_once() {
        let shown = root().get_subcommands().filter(|c| !c.is_hide_set()).count();
        let listed: Vec<_> = GROUPS.iter().flat_map(|(_, names)| names.iter()).collect();
        assert_eq!(listed.len(), shown, "{listed:?}");
        for command in root().get_subcommands().filter(|c| !c.is_hide_set()) {
            let name = command.get_name();
            assert_eq!(listed.iter().filter(|one| **one == &name).count(), 1, "{name}");
        }
    }

    #[test]
    fn every_command_has_two_to_four_examples() {
        let commands = commands();
        for (path, _) in &commands {
            let examples = EXAMPLES.iter().find(|(name, _)| name == path);
            let count = examples.map_or(0, |(_, examples)| examples.len());
            assert!((2..=4).contains(&count), "`{path}` has {count} examples");
        }
        let known = commands.len() + 1;
        assert_eq!(EXAMPLES.len(), known, "there are examples of commands that are not there");
    }

    #[test]
    fn every_example_is_a_command_line_that_is_understood() {
        for (path, examples) in EXAMPLES {
            for (line, about) in *examples {
                // The rest of the line belongs to the shell.
                let line = line.split(['|', '>']).next().unwrap_or_default();
                for line in line.split("&&") {
                    let words = shell_words::split(line).unwrap();
                    let read = root().try_get_matches_from(usage::project_last(
                        words.iter().map(Into::into).collect(),
                    ));
                    let wrong =
                        read.err().filter(|error| error.kind() != ErrorKind::DisplayVersion);
                    assert!(wrong.is_none(), "`{path}`: `{line}`: {wrong:?}");
                }
                assert!(!about.is_empty(), "{line}");
            }
        }
    }

    /// Returns every nightwright command in a page, without its comment and redirection.
    fn commands_of(page: &str) -> Vec<String> {
        let lines = page.lines().filter_map(|line| line.strip_prefix("$ "));
        let ours = lines.filter(|line| line.starts_with("nightwright "));
        ours.map(|line| line.split(" #").next().unwrap_or(line).to_owned()).collect()
    }

    #[test]
    fn every_command_in_the_readme_is_understood() {
        let commands = commands_of(include_str!("../../../../README.md"));
        assert!(commands.len() > 20, "{commands:?}");
        for line in commands {
            let words = shell_words::split(line.split(" >").next().unwrap_or(&line)).unwrap();
            let words = words.iter().map(Into::into).collect();
            let read = root().try_get_matches_from(usage::project_last(words));
            assert!(read.is_ok(), "`{line}`: {}", read.unwrap_err());
        }
    }

    #[test]
    fn short_help_of_a_run_shows_the_twelve_options_that_matter() {
        for name in ["run", "plan", "build"] {
            let root = root();
            let run = root.find_subcommand(name).unwrap();
            let shown: Vec<_> = run
                .get_arguments()
                .filter(|arg| !arg.is_positional() && !arg.is_hide_short_help_set())
                .filter_map(|arg| arg.get_long())
                .collect();
            assert_eq!(shown.len(), 12, "{shown:?}");
            let help = run.clone().render_help().to_string();
            let last = help.trim_end().lines().last().unwrap();
            assert_eq!(
                last,
                format!("Use `nightwright {name} --help` for all options and details.")
            );
        }
    }

    #[test]
    fn long_help_of_a_run_shows_every_option_under_a_heading() {
        let root = root();
        let run = root.find_subcommand("run").unwrap();
        let help = run.clone().render_long_help().to_string();
        for heading in ["Options:", "Completion:", "Limits:", "Pace:", "Agent:", "Output:"] {
            assert!(help.contains(&format!("\n{heading}\n")), "{heading}");
        }
        let shown = run.get_arguments().filter(|arg| !arg.is_hide_set());
        for arg in shown.filter_map(|arg| arg.get_long()) {
            assert!(help.contains(&format!("--{arg}")), "--{arg}");
        }
        let tokens = help.split("--max-tokens").nth(1).unwrap();
        let about = tokens.split("\n\n").next().unwrap();
        assert!(about.contains("N tokens") && about.contains("agent.max_output_tokens"), "{about}");
    }

    #[test]
    fn the_overview_begins_with_the_eight_commands_that_matter() {
        let help = root().render_help().to_string();
        let first = help.split("\nCommands:\n").nth(1).and_then(|rest| rest.split("\n\n").next());
        let names: Vec<_> =
            first.unwrap().lines().filter_map(|line| line.split_whitespace().next()).collect();
        let expected = ["init", "run", "status", "log", "stop", "resume", "report", "doctor"];
        assert_eq!(names, expected);
    }

    #[test]
    fn confirmation_has_one_flag_and_the_project_has_one_option() {
        for (path, command) in commands() {
            for arg in command.get_arguments() {
                let (long, short) = (arg.get_long().unwrap_or_default(), arg.get_short());
                assert!(!["force", "trust"].contains(&long), "`{path} --{long}`");
                assert_eq!(long == "yes", short == Some('y'), "`{path} --{long}`");
                assert_eq!(long == "project", short == Some('C'), "`{path} --{long}`");
            }
        }
    }

    #[test]
    fn every_help_text_is_one_short_sentence_without_a_full_stop() {
        for (path, command) in commands() {
            let about = command.get_about().unwrap().to_string();
            let options = command.get_arguments().filter_map(|arg| arg.get_help());
            for text in [about].into_iter().chain(options.map(ToString::to_string)) {
                assert!(text.starts_with(|c: char| c.is_ascii_uppercase()), "`{path}`: {text}");
                assert!(!text.ends_with('.') && text.len() <= 250, "`{path}`: {text}");
                let words = ["The ", "What ", "Whether ", "As ", "So "];
                assert!(words.iter().all(|word| !text.starts_with(word)), "`{path}`: {text}");
            }
        }
    }

    #[test]
    fn tables_in_help_fit_into_100_columns() {
        for (path, command) in commands() {
            let help = command.get_after_long_help().or(command.get_after_help());
            let help = help.map(ToString::to_string).unwrap_or_default();
            let notes = help.split("Examples:").next().unwrap_or_default();
            for line in notes.lines().filter(|line| line.starts_with(' ')) {
                assert!(line.len() <= 100, "`{path}`: {line}");
            }
        }
    }

    #[test]
    fn only_commands_at_the_top_are_hidden() {
        for command in root().get_subcommands() {
            assert!(command.get_subcommands().all(|inner| !inner.is_hide_set()));
        }
    }
}

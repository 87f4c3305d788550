//! The commands for working on nightwright: `cargo xtask test`, `tidy`, `docs` and more.
//!
//! Each command is a module with one function that takes the root of the repository and returns a
//! one-sentence error if it fails. This file only finds the command and maps the result to an exit
//! code: 0 for success, 1 for a failure, 2 for a command that does not exist.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "xtask is a terminal program: findings on stdout, the rest on stderr"
)]

mod bench;
mod cache;
mod check;
mod claude;
mod deny;
mod dist;
mod docs;
mod fuzz;
mod mutants;
mod pictures;
mod program;
mod proof;
mod simulate;
mod tally;
mod test;
mod tidy;
mod toolchains;
mod tools;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const HELP: &str = "\
Usage: cargo xtask COMMAND

Commands:
  test                     Run all checks that a change must pass: format, lints, docs, tests, judgement,
                           tidy, pages
  test STEP                Run one step of them, such as `test projects`
  check                    Run the fast checks for daily use: format, lints, unit tests, fast
                           integration tests, tidy
  tidy                     Check the rules of the source tree that the compiler does not check
  docs                     Write the generated pages in docs/reference/
  docs --check             Fail if these pages are not up to date
  simulate [--seeds N]     Run N simulations with faults (default 100,000)
  simulate --seed N        Play one simulated run and print its events
  bench stream             Measure a long stream, compared with `tee` and `jq`; `--megabytes N`
                           (default 1,000)
  bench decode             Measure decoding, compared with a plain typed decode; `--megabytes N`
                           (default 500)
  bench judgement          Play scripted agents that lie, loop and hang, compared with two plain loops;
                           `--file F` (a file or a folder), `--only NAME`
  bench fingerprint        Measure fingerprinting, compared with `git status`; `--files N` (default 100,000)
  bench listing            `list`, `show` and `status` over many runs; `--runs N` (default 1,000)
  bench sandbox            Measure what a sandbox adds to each iteration
  kill-test [--times N]    Kill runs at random moments and count surviving processes (default 100)
  fuzz [TARGET]            Fuzz the parsers with random input; `--minutes N` each (default 10)
  dist                     Build a release archive in target/dist: static binary, completions, manual
                           pages, checksum and `install.sh`, tried in an empty home
  pictures                 Generate the images in docs/img/: the demo, and a report in `chromium`
  deny                     Check licenses, banned crates and sources (requires cargo-deny)
  mutants [NAME]           Inject bugs into a copy of the tree; fail if the tests miss one
  help                     Print this help
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args_os()
        .skip(1)
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();

    match Command::parse(&words) {
        Ok(command) => command.run(&root()),
        Err(usage) => {
            eprintln!("error: {usage}\n\n{HELP}");
            ExitCode::from(2)
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Command {
    Test { only: Option<&'static str> },
    Check,
    Deny,
    Dist,
    Tidy,
    Docs(docs::DocsMode),
    Simulate(simulate::Play),
    Bench(bench::Bench),
    Proof(proof::Proof),
    Fuzz(fuzz::FuzzOptions),
    Mutants { only: Option<String> },
    Pictures,
    Help,
}

impl Command {
    fn parse(words: &[&str]) -> Result<Self, String> {
        match words {
            [] | ["help" | "-h" | "--help"] => Ok(Self::Help),
            ["test"] => Ok(Self::Test { only: None }),
            ["test", step] => test::named(step).map(|step| Self::Test { only: Some(step) }),
            ["check"] => Ok(Self::Check),
            ["deny"] => Ok(Self::Deny),
            ["dist"] => Ok(Self::Dist),
            ["tidy"] => Ok(Self::Tidy),
            ["docs"] => Ok(Self::Docs(docs::DocsMode::Write)),
            ["docs", "--check"] => Ok(Self::Docs(docs::DocsMode::Check)),
            ["docs", other, ..] => Err(format!("`docs` accepts only `--check`, not `{other}`")),
            ["simulate", rest @ ..] => simulate::Play::parse(rest).map(Self::Simulate),
            ["bench", rest @ ..] => bench::Bench::parse(rest).map(Self::Bench),
            ["kill-test", rest @ ..] => proof::Proof::parse(rest).map(Self::Proof),
            ["fuzz", rest @ ..] => fuzz::FuzzOptions::parse(rest).map(Self::Fuzz),
            ["pictures"] => Ok(Self::Pictures),
            ["mutants"] => Ok(Self::Mutants { only: None }),
            ["mutants", name] => Ok(Self::Mutants { only: Some((*name).to_owned()) }),
            ["mutants", _, other, ..] => {
                Err(format!("`mutants` takes one name; unexpected `{other}`"))
            }
            ["test", _, other, ..] => Err(format!("`test` takes one step, not `{other}` too")),
            [command @ ("check" | "deny" | "dist" | "tidy" | "pictures" | "help"), other, ..] => {
                Err(format!("`{command}` takes no arguments, not `{other}`"))
            }
            [other, ..] => Err(format!("unknown command `{other}`")),
        }
    }

    fn run(&self, root: &Path) -> ExitCode {
        let result = match self {
            Self::Test { only } => test::run(root, *only),
            Self::Check => check::run(root),
            Self::Deny => deny::run(root),
            Self::Dist => dist::run(root),
            Self::Tidy => tidy::run(root),
            Self::Docs(mode) => docs::run(root, *mode),
            Self::Simulate(play) => simulate::run(root, *play),
            Self::Bench(bench) => bench::run(root, bench),
            Self::Proof(proof) => proof::run(root, *proof),
            Self::Fuzz(hunt) => fuzz::run(root, hunt),
            Self::Mutants { only } => mutants::run(root, only.as_deref()),
            Self::Pictures => pictures::run(root),
            Self::Help => {
                print!("{HELP}");
                Ok(())
            }
        };
        match result {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => {
                eprintln!("error: {failure}");
                ExitCode::FAILURE
            }
        }
    }
}

/// Returns the folder of the workspace, independent of the current folder.
fn root() -> PathBuf {
    // Cargo sets the variable; the compiled-in path is for a binary that is started directly.
    let package = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    package.parent().map_or(package.clone(), Path::to_path_buf)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_argument_means_help() {
        assert_eq!(Command::parse(&[]), Ok(Command::Help));
        assert_eq!(Command::parse(&["help"]), Ok(Command::Help));
    }

    #[test]
    fn docs_writes_unless_check_is_given() {
        assert_eq!(Command::parse(&["docs"]), Ok(Command::Docs(docs::DocsMode::Write)));
        assert_eq!(Command::parse(&["docs", "--check"]), Ok(Command::Docs(docs::DocsMode::Check)));
    }

    #[test]
    fn unknown_arguments_are_named() {
        for (words, named) in [
            (&["tset"][..], "`tset`"),
            (&["docs", "--chekc"], "`--chekc`"),
            (&["docs", "--check", "more"], "`--check`"),
            (&["test", "fast"], "`fast`"),
            (&["test", "tidy", "docs"], "`docs`"),
            (&["check", "fast"], "`fast`"),
            (&["simulate", "--all"], "`--all`"),
            (&["bench", "everything"], "`everything`"),
            (&["kill-test", "everything"], "`everything`"),
            (&["fuzz", "everything"], "`everything`"),
            (&["mutants", "one", "two"], "`two`"),
        ] {
            let usage = Command::parse(words).unwrap_err();
            assert!(usage.contains(named), "{usage}");
        }
    }

    #[test]
    fn help_names_every_command() {
        for command in [
            "test",
            "test STEP",
            "check",
            "deny",
            "dist",
            "tidy",
            "docs",
            "docs --check",
            "simulate",
            "bench stream",
            "bench decode",
            "bench judgement",
            "bench fingerprint",
            "bench listing",
            "bench sandbox",
            "kill-test",
            "fuzz",
            "mutants",
            "help",
        ] {
            assert!(HELP.contains(&format!("\n  {command} ")), "{command}");
        }
    }
}

//! Writes the generated pages in `docs/reference`, or checks that they are current.
//!
//! The product prints each page (`nightwright reference PAGE`), because only it knows its options,
//! events and outcomes. This module only writes the pages or compares them.

use std::path::Path;
use std::process::Command;
use std::{fs, io};

use crate::program::{self, cargo};

/// The pages of `nightwright reference`, and the name of each file in `docs/reference`.
const PAGES: [(&str, &str); 8] = [
    ("cli", "cli.md"),
    ("events", "events.md"),
    ("outcomes", "outcomes.md"),
    ("rehearsal", "rehearsal.md"),
    ("config", "config.md"),
    ("environment", "environment.md"),
    ("schema", "config.schema.json"),
    ("event-schema", "events.schema.json"),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DocsMode {
    Write,
    Check,
}

pub(crate) fn run(root: &Path, mode: DocsMode) -> Result<(), String> {
    // Uses the build options of the tests, because those artifacts usually already exist. Other
    // options would compile the product and its dependencies again.
    program::run(&mut cargo(root, &["test", "--quiet", "--workspace", "--no-run"]))?;

    let mut stale = Vec::new();
    for (page, file) in PAGES {
        let path = format!("docs/reference/{file}");
        let wanted = generate(root, page)?;
        let found =
            read(&root.join(&path)).map_err(|error| format!("cannot read {path}: {error}"))?;
        let Some(difference) = difference(&path, found.as_deref(), &wanted) else {
            continue;
        };
        match mode {
            DocsMode::Check => stale.push(difference),
            DocsMode::Write => {
                write(&root.join(&path), &wanted)
                    .map_err(|error| format!("cannot write {path}: {error}"))?;
                eprintln!("wrote {path}");
            }
        }
    }
    if stale.is_empty() {
        return Ok(());
    }
    println!("{}", stale.join("\n"));
    Err("generated pages are out of date\nhint: run `cargo xtask docs`".to_owned())
}

/// Generates one page with the binary that was just built. The text does not depend on the machine,
/// because environment variables that could affect it are removed.
fn generate(root: &Path, page: &str) -> Result<String, String> {
    let mut command = Command::new(program::built(root, "debug"));
    command.args(["reference", page]).current_dir(root);
    command.env("NO_COLOR", "1").env("LC_ALL", "C.UTF-8").env_remove("COLUMNS");
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("NIGHTWRIGHT_") {
            command.env_remove(name);
        }
    }
    let text = program::stdout(&mut command)?;
    if text.trim().is_empty() {
        return Err(format!("`{}` printed an empty page", program::shown(&command)));
    }
    Ok(text)
}

/// Returns `path:line:` and the first two lines that differ; nothing if the page is current.
fn difference(path: &str, found: Option<&str>, wanted: &str) -> Option<String> {
    let Some(found) = found else {
        return Some(format!("{path}:1: the page is missing"));
    };
    if found == wanted {
        return None;
    }
    let (mut left, mut right) = (found.split('\n'), wanted.split('\n'));
    let mut line = 1;
    loop {
        match (left.next(), right.next()) {
            (Some(is), Some(should)) if is == should => line += 1,
            (is, should) => {
                let [is, should] = [is, should].map(|text| text.unwrap_or("(the page ends)"));
                return Some(format!(
                    "{path}:{line}: the page is not current\n  is:        {is}\n  should be: {should}"
                ));
            }
        }
    }
}

fn read(path: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_current_page_has_no_difference() {
        assert_eq!(difference("p.md", Some("# A\nb\n"), "# A\nb\n"), None);
    }

    #[test]
    fn a_missing_page_is_not_current() {
        assert_eq!(difference("p.md", None, "# A\n").unwrap(), "p.md:1: the page is missing");
    }

    #[test]
    fn the_first_line_that_differs_is_shown() {
        assert_eq!(
            difference("p.md", Some("# A\nold\nx\n"), "# A\nnew\ny\n").unwrap(),
            "p.md:2: the page is not current\n  is:        old\n  should be: new"
        );
    }

    #[test]
    fn a_page_that_is_longer_or_shorter_differs_there() {
        let longer = difference("p.md", Some("a\nb\nc"), "a\nb").unwrap();
        assert!(longer.starts_with("p.md:3:") && longer.ends_with("(the page ends)"), "{longer}");
        let shorter = difference("p.md", Some("a"), "a\nb").unwrap();
        assert!(shorter.starts_with("p.md:2:") && shorter.ends_with('b'), "{shorter}");
    }
}

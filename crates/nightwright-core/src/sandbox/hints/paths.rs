//! Paths in error messages, and the settings that give access to them.

use std::ops::Range;
use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use super::{HintContext, NEAR, Need};
use crate::sandbox::lists;

/// Folders with at most this number of components are never offered: `/`, `/etc`, `/home`.
const MAX_TOP: usize = 2;

/// Folders of the kernel, which the sandbox makes itself.
const KERNEL: &[&str] = &["/proc", "/dev", "/sys"];

/// A line that reports a failure, among the lines around it.
#[derive(Clone, Debug)]
pub(super) struct Failure<'a> {
    pub(super) lines: &'a [&'a str],
    pub(super) at: usize,
    /// The position of the words that report it.
    pub(super) cause: Range<usize>,
}

/// A path in an error message: in quotes, or up to a blank or a colon.
static PATH: LazyLock<Regex> = LazyLock::new(|| {
    let quoted =
        r#"['"`‘“](?<quoted>(?:~|\.{0,2})/[^'"`’”]+|\.(?:git|claude|mcp\.json)[^'"`’”]*)['"`’”]"#;
    let bare =
        r#"(?:^|[\s(=:>])(?<bare>~?/[^\s:'"`(),;]+|\.(?:git|claude)/[^\s:'"`(),;]+|\.mcp\.json)"#;
    Regex::new(&format!("{quoted}|{bare}")).expect("the pattern is a constant")
});

/// The path that a failure is about: after the words that report it, else the last one before
/// them, else one in the lines around.
pub(super) fn of_failure(failure: &Failure<'_>) -> Option<String> {
    let Failure { lines, at, cause } = failure;
    let line = lines[*at];
    let after = all(&line[cause.end..]).next();
    let before = || all(&line[..cause.start]).last();
    // The words themselves may contain it: `config file .git/config: Device or resource busy`.
    let within = || all(&line[cause.clone()]).last();
    let earlier =
        || lines[at.saturating_sub(NEAR)..*at].iter().rev().find_map(|line| all(line).last());
    let later = || lines[at + 1..].iter().take(NEAR).find_map(|line| all(line).next());
    after.or_else(before).or_else(within).or_else(earlier).or_else(later)
}

fn all(text: &str) -> impl Iterator<Item = String> {
    PATH.captures_iter(text).filter_map(|found| {
        let path = found.name("quoted").or_else(|| found.name("bare"))?.as_str();
        let path = path.trim_end_matches(['.', ',', '/']);
        (path.len() > 1).then(|| path.to_owned())
    })
}

/// The path with the home folder in place of `~`.
pub(super) fn absolute(path: &str, home: &Path) -> PathBuf {
    path.strip_prefix("~/").map_or_else(|| PathBuf::from(path), |rest| home.join(rest))
}

/// The need of a program that could not write.
pub(super) fn to_write(failure: &Failure<'_>, context: HintContext<'_>) -> Option<Need> {
    let path = absolute(&of_failure(failure)?, context.home);
    let inside =
        if path.is_relative() { Some(&*path) } else { path.strip_prefix(context.project).ok() };
    if let Some(inside) = inside {
        return protected(inside).map(Need::Write);
    }
    writable(&path, context)
}

/// The need of a program that did not find a file. A file that did not exist outside either was to
/// be created.
pub(super) fn to_read(failure: &Failure<'_>, context: HintContext<'_>) -> Option<Need> {
    let path = absolute(&of_failure(failure)?, context.home);
    let is_own =
        path.starts_with(context.project) || KERNEL.iter().any(|folder| path.starts_with(folder));
    if path.is_relative() || is_own || is_climbing(&path) {
        return None;
    }
    if !context.existing.contains(&path) {
        return writable(&path, context);
    }
    let shown = if is_socket(&path) { path.parent()? } else { &path };
    (!is_top(shown, context.home)).then(|| Need::Read(setting(shown, context.home)))
}

/// Write access to the path if it exists, else to the closest folder that does.
fn writable(path: &Path, context: HintContext<'_>) -> Option<Need> {
    if is_climbing(path) {
        return None;
    }
    let existing = path.ancestors().find(|path| context.existing.contains(*path))?;
    // A file of the system may be meant, but never a whole folder of it.
    let system = lists::SYSTEM.iter().chain(KERNEL).any(|folder| path.starts_with(folder));
    if system && existing != path {
        return None;
    }
    (!is_top(existing, context.home)).then(|| Need::Write(setting(existing, context.home)))
}

/// The protected entry of the project that contains a path.
fn protected(inside: &Path) -> Option<String> {
    let mut parts = inside.components().filter_map(|part| match part {
        Component::Normal(name) => name.to_str(),
        Component::CurDir | Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
            None
        }
    });
    let first = parts.next()?;
    if first == ".git" {
        let second = parts.next()?;
        return Some(format!(".git/{}", second.strip_suffix(".lock").unwrap_or(second)));
    }
    // The state of nightwright itself is never offered.
    let is_protected = lists::PROTECTED.contains(&first) && first != ".nightwright";
    is_protected.then(|| first.to_owned())
}

/// Whether access to this folder would open too much.
fn is_top(path: &Path, home: &Path) -> bool {
    path.components().count() <= MAX_TOP || home.starts_with(path)
}

fn is_climbing(path: &Path) -> bool {
    path.components().any(|part| part == Component::ParentDir)
}

/// Whether the path looks like a socket. A server creates it again when it starts, so its folder
/// must be shown.
fn is_socket(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.starts_with(".s.") || name.to_ascii_lowercase().ends_with(".sock")
}

/// The path as a setting: `~/` is the home folder.
fn setting(path: &Path, home: &Path) -> String {
    match path.strip_prefix(home) {
        Ok(rest) => format!("~/{}", rest.display()),
        Err(_) => path.display().to_string(),
    }
}

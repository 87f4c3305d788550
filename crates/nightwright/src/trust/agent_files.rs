//! Files that the agent program itself uses: settings, which can contain hooks, MCP servers, and
//! folders with skills, sub-agents and the like.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use nightwright_core::display::one_line;
use nightwright_core::outcome::count;
use nightwright_core::stream::dialect::claude;

use super::{MAX_LINE_CHARS, TrustItem, file, hash, is_secret};
use crate::files::{self, FileError};
use crate::secrets;

/// The files of a project, with a description of each.
const FILES: [(&str, &str); 3] = [
    (".claude/settings.json", "agent settings"),
    (".claude/settings.local.json", "agent settings"),
    (".mcp.json", "MCP servers, which give the agent additional tools"),
];

/// The folders of a project, with a description of each.
const FOLDERS: [(&str, &str); 6] = [
    (".claude/agents", "sub-agents"),
    (".claude/commands", "commands for the agent"),
    (".claude/hooks", "scripts for the hooks of the agent"),
    (".claude/output-styles", "output styles"),
    (".claude/rules", "rules for the agent"),
    (".claude/skills", "skills"),
];

/// The files and folders in the user's own configuration of the agent program.
const OF_USER: ([&str; 2], [&str; 6]) = (
    ["settings.json", "CLAUDE.md"],
    ["agents", "commands", "hooks", "output-styles", "rules", "skills"],
);

/// Maximum number of files and folders in a folder.
const MAX_ENTRIES: usize = 2000;
/// Maximum size of all files in a folder.
const MAX_BYTES: u64 = 8 << 20;
/// Maximum depth of folders within a folder.
const MAX_DEPTH: usize = 8;
/// Number of files of a folder that are named.
const NAMED_FILES: usize = 20;
/// Number of digits that tell two contents apart in a difference.
const HASH_DIGITS: usize = 12;

/// Returns the files and folders of a project that exist.
pub fn agent_files(project: &Path) -> Vec<TrustItem> {
    let files = FILES.iter().filter(|(name, _)| !is_empty(&project.join(name)));
    let files = files.filter_map(|(name, what)| file(project, Path::new(name), what, described));
    let folders = FOLDERS.iter().filter_map(|(name, what)| folder(project, Path::new(name), what));
    files.map(|(item, _)| item).chain(folders).collect()
}

/// Returns the files and folders that exist in the user's configuration of the agent program. They
/// need no approval; the result shows whether one has changed.
pub fn user_agent_files(config: &Path) -> Vec<TrustItem> {
    // The user may link them from anywhere.
    let Ok(config) = config.canonicalize() else { return Vec::new() };
    let Ok(inner) = config.strip_prefix("/") else { return Vec::new() };
    let (root, (files, folders)) = (Path::new("/"), OF_USER);
    let files =
        files.iter().filter_map(|name| file(root, &inner.join(name), "", |_, _| String::new()));
    let folders = folders.iter().filter_map(|name| folder(root, &inner.join(name), ""));
    let items = files.map(|(item, _)| item).chain(folders);
    items.map(|item| TrustItem { location: format!("/{}", item.location), ..item }).collect()
}

/// Whether a file has no content, and so no effect. A killed run with a sandbox may leave one.
fn is_empty(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_file() && found.len() == 0)
}

/// Describes a file by what it would run and allow.
fn described(what: &str, bytes: &[u8]) -> String {
    let mut shown = format!("{what}, {}", count(bytes.len(), "byte"));
    for line in claude::describe(&String::from_utf8_lossy(bytes), is_secret) {
        let line = secrets::of_user().mask(&line).into_owned();
        shown.push_str("\n| ");
        // A part that is left out could be the one that runs.
        shown.push_str(&one_line(&line, usize::MAX));
    }
    shown
}

/// Returns a folder that needs an approval as a whole; `None` if it does not exist.
fn folder(project: &Path, place: &Path, what: &str) -> Option<TrustItem> {
    let name = place.display().to_string();
    let path = project.join(place);
    if fs::symlink_metadata(&path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        return None;
    }
    let mut found = FolderContent::default();
    if let Err(error) = found.add(project, place, 0) {
        return Some(TrustItem::odd(name, what, &error));
    }
    found.files.sort();
    let files = &found.files;
    let content: Vec<_> =
        files.iter().map(|(path, mark, hash)| format!("{path:?} {mark} {hash}")).collect();
    let text: Vec<_> = files
        .iter()
        .map(|(path, mark, hash)| {
            format!("{path}{mark} {}", hash.get(..HASH_DIGITS).unwrap_or(hash))
        })
        .collect();
    let mut shown = vec![format!(
        "{what}: {} {}",
        files.len(),
        if files.len() == 1 { "file" } else { "files" }
    )];
    let named = files.iter().take(NAMED_FILES);
    shown
        .extend(named.map(|(path, mark, _)| format!("| {}{mark}", one_line(path, MAX_LINE_CHARS))));
    if files.len() > NAMED_FILES {
        shown.push(format!("| ... {}", count(files.len() - NAMED_FILES, "more file")));
    }
    let item = TrustItem::new(name, shown.join("\n"), content.join("\n").as_bytes());
    Some(item.with_text(text.join("\n").as_bytes()))
}

/// The files of a folder: the path, a mark for programs, and the hash of the content.
#[derive(Default)]
struct FolderContent {
    files: Vec<(String, &'static str, String)>,
    entries: usize,
    bytes: u64,
}

impl FolderContent {
    /// Adds all files of a folder. A link is followed if its target is inside the project.
    fn add(&mut self, project: &Path, place: &Path, depth: usize) -> Result<(), FileError> {
        let path = project.join(place);
        files::check_inside(project, &path)?;
        let fail = |source| FileError::Read { path: path.clone(), source };
        let too_large = || fail(io::Error::other("it is too large"));
        if depth > MAX_DEPTH {
            return Err(too_large());
        }
        for entry in fs::read_dir(&path).map_err(fail)? {
            let inner = place.join(entry.map_err(fail)?.file_name());
            self.entries += 1;
            if self.entries > MAX_ENTRIES {
                return Err(too_large());
            }
            let metadata = fs::metadata(project.join(&inner)).map_err(fail)?;
            if metadata.is_dir() {
                self.add(project, &inner, depth + 1)?;
                continue;
            }
            let left = MAX_BYTES - self.bytes;
            let Some(bytes) = files::read_inside(project, &inner, left)? else { continue };
            self.bytes += bytes.len() as u64;
            let is_program = metadata.permissions().mode() & 0o111 != 0;
            let mark = if is_program { " (executable)" } else { "" };
            self.files.push((inner.display().to_string(), mark, hash(&bytes)));
        }
        Ok(())
    }
}

/// Returns the locations at which two lists of items differ.
pub fn differing(before: &[TrustItem], now: &[TrustItem]) -> Vec<PathBuf> {
    let is_in =
        |item: &TrustItem, list: &[TrustItem]| list.iter().any(|other| other.is_same_as(item));
    let gone = before.iter().filter(|item| !is_in(item, now));
    let new = now.iter().filter(|item| !is_in(item, before));
    let mut all: Vec<_> = gone.chain(new).map(|item| PathBuf::from(&item.location)).collect();
    all.sort();
    all.dedup();
    all
}

//! Facts about the machine and the user, collected once for a run.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use nightwright_core::sandbox::facts::{FileKind, HostFacts, ToolHome};
use nightwright_core::sandbox::{lists, plan};
use nightwright_core::settings::SandboxSettings;

use super::entries::{entries_at, entry_at};
use super::{SandboxError, SandboxSpec};
use nightwright_core::sandbox::plan::PlanError;

/// Maximum number of entries of `/etc` that are looked at.
const MAX_IN_ETC: usize = 20_000;
/// Maximum depth of folders in `/etc`.
const MAX_DEPTH: usize = 6;

pub(super) fn collect(spec: &SandboxSpec<'_>, private: &Path) -> Result<HostFacts, SandboxError> {
    let home = value(&spec.environment, "HOME").map(PathBuf::from);
    let home = home.filter(|home| home.is_absolute());
    let home = home.and_then(|home| entry_at(&home)).ok_or(PlanError::NoHome)?;
    let prepare = |source| SandboxError::Prepare { path: private.to_owned(), source };
    fs::create_dir_all(private).map_err(prepare)?;
    fs::set_permissions(private, fs::Permissions::from_mode(0o700)).map_err(prepare)?;
    let real = |path: &Path| path.canonicalize().map_err(prepare);
    let mut facts = HostFacts {
        home: home.real,
        home_links: home.links,
        state: real(spec.state)?,
        private: real(private)?,
        path: folders_of_path(&spec.environment),
        tool_homes: tool_homes(&spec.environment),
        named_files: named_files(&spec.environment),
        programs: spec.programs.clone(),
        restricted: restricted(),
        ..HostFacts::default()
    };
    let by_user = by_user(&spec.settings.sandbox, &facts.home);
    facts.entries = entries_at(lists::paths(&facts).into_iter().chain(by_user));
    Ok(facts)
}

fn value<'a>(environment: &'a [(OsString, OsString)], name: &str) -> Option<&'a OsString> {
    environment.iter().find(|(known, _)| known == name).map(|(_, value)| value)
}

fn folders_of_path(environment: &[(OsString, OsString)]) -> Vec<PathBuf> {
    let path = value(environment, "PATH").cloned().unwrap_or_default();
    env::split_paths(&path).filter(|folder| folder.is_absolute()).collect()
}

fn tool_homes(environment: &[(OsString, OsString)]) -> Vec<ToolHome> {
    let find = |variable: &str| {
        let folder = PathBuf::from(value(environment, variable)?);
        // A link is not followed inside: the variable is left out there.
        let found = entry_at(&folder).filter(|found| found.kind == FileKind::Folder)?;
        Some(ToolHome { variable: variable.to_owned(), folder: found.real })
    };
    lists::folder_variables().filter_map(find).collect()
}

fn named_files(environment: &[(OsString, OsString)]) -> Vec<PathBuf> {
    let files = lists::NAMED_FILES.iter().filter_map(|name| value(environment, name));
    files.map(PathBuf::from).filter(|path| path.is_absolute()).collect()
}

/// The paths outside the project that the user's settings name.
fn by_user(settings: &SandboxSettings, home: &Path) -> Vec<PathBuf> {
    let SandboxSettings { read, write, devices, .. } = settings;
    let named = read.iter().chain(write).chain(devices);
    named.filter_map(|name| plan::outside_path(name, home)).collect()
}

/// The entries of `/etc` that not everyone may read, and those that are always secret.
fn restricted() -> Vec<(PathBuf, FileKind)> {
    let mut found = Vec::new();
    let mut budget = MAX_IN_ETC;
    walk(Path::new("/etc"), 0, &mut budget, &mut found);
    for path in lists::SECRET_IN_ETC {
        let path = Path::new(path);
        let is_known = found.iter().any(|(known, _): &(PathBuf, _)| path.starts_with(known));
        if let Some(entry) = entry_at(path).filter(|entry| !is_known && entry.real == path) {
            found.push((entry.real, entry.kind));
        }
    }
    found
}

fn walk(folder: &Path, depth: usize, budget: &mut usize, found: &mut Vec<(PathBuf, FileKind)>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if *budget == 0 {
            // Nothing is known about the rest of this folder.
            found.retain(|(path, _)| !path.starts_with(folder));
            return found.push((folder.to_owned(), FileKind::Folder));
        }
        *budget -= 1;
        let Ok(facts) = entry.metadata() else { continue };
        let (path, mode) = (entry.path(), facts.permissions().mode());
        if facts.is_dir() {
            if mode & 0o005 != 0o005 {
                found.push((path, FileKind::Folder));
            } else if depth < MAX_DEPTH {
                walk(&path, depth + 1, budget, found);
            }
        } else if facts.is_file() && mode & 0o004 == 0 {
            found.push((path, FileKind::File));
        }
    }
}

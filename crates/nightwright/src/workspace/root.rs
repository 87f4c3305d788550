//! Finds the folder of the project and its repository on disk. [`nightwright_core::root`] decides
//! which one it is.

use std::env;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use nightwright_core::root::{self, Folder, Root, SearchLimits};

use crate::workspace::is_repository;

/// The folder that marks a project.
const SETTINGS: &str = ".nightwright";
/// All users may create files, but remove only their own.
const SHARED: u32 = 0o1002;

/// Returns the project that a folder belongs to. The path contains no links.
pub fn find(start: &Path) -> Option<Root> {
    root::root(&folders(start), &limits())
}

/// Returns the root of the repository that contains a project. The path contains no links.
pub fn repository(project: &Path) -> Option<PathBuf> {
    root::repository(&folders(project), &limits()).map(Path::to_owned)
}

/// Whether a folder is the home folder or `/`.
pub fn is_too_wide(folder: &Path) -> bool {
    limits().is_too_wide(folder)
}

/// Returns a folder and all its parents, up to the first that cannot be read.
fn folders(start: &Path) -> Vec<Folder> {
    start.ancestors().map_while(folder).collect()
}

fn folder(path: &Path) -> Option<Folder> {
    let facts = fs::metadata(path).ok()?;
    Some(Folder {
        path: path.to_owned(),
        is_configured: path.join(SETTINGS).is_dir(),
        is_repository: is_repository(path),
        device: facts.dev(),
        owner: facts.uid(),
        is_shared: facts.permissions().mode() & SHARED == SHARED,
    })
}

fn limits() -> SearchLimits {
    let real = |path: PathBuf| path.canonicalize().unwrap_or(path);
    let home = env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    let ceilings = env::var_os("GIT_CEILING_DIRECTORIES").unwrap_or_default();
    let ceilings = env::split_paths(&ceilings).filter(|path| path.is_absolute());
    SearchLimits {
        home: home.map(real),
        ceilings: ceilings.map(real).collect(),
        user: rustix::process::geteuid().as_raw(),
    }
}

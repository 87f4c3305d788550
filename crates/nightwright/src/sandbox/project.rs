//! Facts about the project, collected for every program: they change with the work.

use std::fs;
use std::path::{Path, PathBuf};

use nightwright_core::sandbox::facts::{ProjectFacts, RepositoryFacts};
use nightwright_core::sandbox::lists;

use super::look::{look_at, look_at_all};
use super::{Sandbox, git};
use crate::files;
use crate::workspace::Repository;

/// Maximum size of git's files that are read here.
const MAX_BYTES: u64 = 64 << 10;
/// Maximum number of submodules that are protected.
const MAX_MODULES: usize = 1_000;
/// Maximum depth of folders between the git folders of submodules.
const MAX_DEPTH: usize = 8;

impl Sandbox {
    /// Looks at the project.
    pub(super) fn project_facts(&self) -> ProjectFacts {
        let (root, root_links) = match look_at(&self.project) {
            Some(found) => (found.real, found.links),
            None => (self.project.clone(), Vec::new()),
        };
        let mut facts = ProjectFacts {
            repository: Repository::around(&root).map(|found| repository(&found)),
            task: self.task.clone(),
            requested: self.requested.clone(),
            root,
            root_links,
            ..ProjectFacts::default()
        };
        facts.entries = look_at_all(lists::project_paths(&facts));
        facts
    }
}

fn repository(found: &Repository) -> RepositoryFacts {
    let real = |path: PathBuf| look_at(&path).map_or(path, |entry| entry.real);
    let git_folder = real(found.folder.clone());
    let shared_folder = real(found.shared().to_owned());
    let mut modules = Vec::new();
    find_modules(&shared_folder.join("modules"), 0, &mut modules);
    RepositoryFacts {
        top: found.top.clone(),
        hooks_path: git::hooks_path(&found.top).map(real),
        alternates: alternates(&shared_folder.join("objects")),
        git_folder,
        shared_folder,
        modules,
    }
}

/// Finds the git folders of submodules, which may contain those of other submodules.
fn find_modules(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if found.len() == MAX_MODULES || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        if path.join("HEAD").is_file() {
            find_modules(&path.join("modules"), depth, found);
            found.push(path);
        } else if depth < MAX_DEPTH {
            // The name of a submodule may contain slashes.
            find_modules(&path, depth + 1, found);
        }
    }
}

/// The object folders of other repositories that this one uses.
fn alternates(objects: &Path) -> Vec<PathBuf> {
    let text = files::read_at_most(&objects.join("info/alternates"), MAX_BYTES);
    let text = text.unwrap_or_default();
    let lines = String::from_utf8_lossy(&text).into_owned();
    let paths = lines.lines().filter(|line| !line.is_empty()).map(|line| objects.join(line));
    paths.filter_map(|path| Some(look_at(&path)?.real)).collect()
}

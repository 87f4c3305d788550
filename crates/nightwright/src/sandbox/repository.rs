//! The repository of a project, accepted once when the sandbox is opened.
//!
//! The files `.git`, `commondir` and `alternates` name other folders, and a program inside may have
//! written them. A folder that they name is shown only if it names the project in turn: such a
//! folder cannot be written inside.

use std::fs;
use std::path::{Path, PathBuf};

use nightwright_core::sandbox::facts::{ModuleFacts, RepositoryFacts, WorktreeAge, WorktreeFacts};
use nightwright_core::sandbox::git_settings::{self, RepositorySettings};

use super::SandboxError;
use super::entries::entry_at;
use crate::files;
use crate::workspace::Repository;

/// Maximum size of git's files that are read here.
const MAX_BYTES: u64 = 64 << 10;
/// Maximum number of submodules that are protected.
const MAX_MODULES: usize = 1_000;
/// Maximum number of worktrees that are protected.
const MAX_WORKTREES: usize = 1_000;
/// Maximum depth of folders between the git folders of submodules.
const MAX_DEPTH: usize = 8;
/// Maximum length of a chain of such repositories, as in git.
const MAX_ALTERNATES: usize = 5;
/// The file in a folder of objects that names others.
const ALTERNATES: &str = "info/alternates";

/// The places of a repository, which stay the same while the sandbox is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OpenRepository {
    places: Places,
    alternates: Vec<PathBuf>,
    /// The git folders of its worktrees.
    worktrees: Vec<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Places {
    top: PathBuf,
    git_folder: PathBuf,
    shared_folder: PathBuf,
}

impl OpenRepository {
    /// Looks for the repository around a project, and accepts it.
    pub(super) fn around(root: &Path) -> Result<Option<Self>, SandboxError> {
        let Some(places) = Places::around(root) else { return Ok(None) };
        if !places.belong_together() {
            return Err(SandboxError::ForeignRepository {
                dot_git: places.top.join(".git"),
                target: places.shared_folder,
            });
        }
        let alternates = alternates(&places.shared_folder.join("objects"));
        let worktrees = worktrees(&places.shared_folder).into_iter().map(|(folder, _)| folder);
        Ok(Some(Self { worktrees: worktrees.collect(), alternates, places }))
    }

    /// The repository for the next program, given the one that was accepted at first. It stays the
    /// same even if git does not find it any more: its files are still there, and another program
    /// could repair it.
    pub(super) fn again(first: Option<&Self>, root: &Path) -> Result<Option<Self>, SandboxError> {
        let Some(first) = first else {
            // The agent may create one, in the project itself.
            return match Self::around(root)? {
                Some(other) if !other.places.is_ordinary(root) => {
                    Err(SandboxError::ChangedRepository(other.places.top.join(".git")))
                }
                // It is new, and so are its worktrees.
                new => Ok(new.map(|new| Self { worktrees: Vec::new(), ..new })),
            };
        };
        match Places::around(root) {
            Some(now) if now != first.places => {
                Err(SandboxError::ChangedRepository(now.top.join(".git")))
            }
            Some(_) | None => Ok(Some(first.clone())),
        }
    }

    pub(super) fn top(&self) -> &Path {
        &self.places.top
    }

    /// The git folder that all worktrees share.
    pub(super) fn shared_folder(&self) -> &Path {
        &self.places.shared_folder
    }

    /// The facts for a plan.
    pub(super) fn facts(&self, settings: RepositorySettings) -> RepositoryFacts {
        let Places { top, git_folder, shared_folder } = self.places.clone();
        let mut modules = Vec::new();
        find_modules(&shared_folder.join("modules"), 0, &mut modules);
        if git_folder != shared_folder {
            find_modules(&git_folder.join("modules"), 0, &mut modules);
        }
        let others =
            worktrees(&shared_folder).into_iter().filter(|(other, _)| *other != git_folder);
        let worktrees = others.map(|(git_folder, work_tree)| {
            let is_known = self.worktrees.contains(&git_folder);
            let age = if is_known { WorktreeAge::Known } else { WorktreeAge::New };
            WorktreeFacts { git_folder, work_tree, age }
        });
        RepositoryFacts {
            worktrees: worktrees.collect(),
            hooks_path: settings.hooks_path,
            included: settings.included,
            modules,
            alternates: self.alternates.clone(),
            top,
            git_folder,
            shared_folder,
        }
    }
}

impl Places {
    fn around(root: &Path) -> Option<Self> {
        let found = Repository::around(root)?;
        let git_folder = entry_at(&found.folder)?.real;
        let shared_folder = entry_at(found.shared())?.real;
        Some(Self { top: found.top, git_folder, shared_folder })
    }

    /// Whether it is a folder `.git` in the project, with nothing elsewhere.
    fn is_ordinary(&self, root: &Path) -> bool {
        let own = root.join(".git");
        self.top == root && self.git_folder == own && self.shared_folder == own
    }

    /// Whether the git folder is in the work tree, or names the work tree.
    fn belong_together(&self) -> bool {
        let Self { top, git_folder, shared_folder } = self;
        let real = |path: &Path| entry_at(path).map(|found| found.real);
        if git_folder == shared_folder {
            let named = || real(&work_tree_of(git_folder)?);
            return git_folder.starts_with(top) || named().as_ref() == Some(top);
        }
        git_folder.parent() == Some(&*shared_folder.join("worktrees"))
            && named_by_worktree(git_folder).and_then(|path| real(&path)).as_ref() == Some(top)
    }
}

fn text(path: &Path) -> Option<String> {
    let bytes = files::read_at_most(path, MAX_BYTES).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The folder of the files that the settings of a git folder name.
fn work_tree_of(git_folder: &Path) -> Option<PathBuf> {
    git_settings::work_tree_in(&text(&git_folder.join("config"))?, git_folder)
}

/// The folder of the files of a worktree.
fn named_by_worktree(git_folder: &Path) -> Option<PathBuf> {
    let dot_git = git_folder.join(text(&git_folder.join("gitdir"))?.trim());
    dot_git.parent().map(Path::to_owned)
}

/// Finds the git folders of submodules, which may contain those of other submodules.
fn find_modules(folder: &Path, depth: usize, found: &mut Vec<ModuleFacts>) {
    for path in folders_in(folder) {
        if found.len() == MAX_MODULES {
            return;
        }
        if path.join("HEAD").is_file() {
            find_modules(&path.join("modules"), depth, found);
            let work_tree = work_tree_of(&path).and_then(|tree| Some(entry_at(&tree)?.real));
            found.push(ModuleFacts { git_folder: path, work_tree });
        } else if depth < MAX_DEPTH {
            // The name of a submodule may contain slashes.
            find_modules(&path, depth + 1, found);
        }
    }
}

/// The git folders of the linked worktrees, with the folders of their files that exist.
fn worktrees(shared: &Path) -> Vec<(PathBuf, Option<PathBuf>)> {
    let folders = folders_in(&shared.join("worktrees")).take(MAX_WORKTREES);
    let with_files = folders.map(|folder| {
        let files = named_by_worktree(&folder).and_then(|path| Some(entry_at(&path)?.real));
        (folder, files)
    });
    with_files.collect()
}

fn folders_in(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|one| one.path())
}

/// The object folders of other repositories that this one uses, also those that they use in turn.
fn alternates(objects: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    let mut next = vec![objects.to_owned()];
    for _ in 0..MAX_ALTERNATES {
        for folder in std::mem::take(&mut next) {
            let text = text(&folder.join(ALTERNATES)).unwrap_or_default();
            let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
            let real = lines.filter_map(|line| Some(entry_at(&folder.join(line))?.real));
            let new: Vec<_> =
                real.filter(|path| is_objects(path) && !found.contains(path)).collect();
            found.extend(new.iter().cloned());
            next.extend(new);
        }
    }
    found
}

/// Whether a folder contains the objects of a repository. Nothing else is shown as one.
fn is_objects(folder: &Path) -> bool {
    let Some(git_folder) = folder.parent().filter(|_| folder.ends_with("objects")) else {
        return false;
    };
    folder.is_dir() && git_folder.join("HEAD").is_file() && git_folder.join("refs").is_dir()
}

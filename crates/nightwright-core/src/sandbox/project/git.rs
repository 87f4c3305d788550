//! The repository in a sandbox: git works inside, and runs nothing outside later that was planted.

use std::path::Path;

use super::{Work, mount_parents};
use crate::sandbox::facts::{
    Entry, FileKind, ModuleFacts, ProjectFacts, RepositoryFacts, WorktreeAge, WorktreeFacts,
};
use crate::sandbox::lists;
use crate::sandbox::mounts::{Access, Content, Mount, PlaceholderContent, Reason};

impl Work<'_> {
    pub(super) fn git(&mut self, repository: &RepositoryFacts) {
        let RepositoryFacts { top, git_folder, shared_folder, modules, .. } = repository;
        let is_worktree = git_folder != shared_folder;
        let dot_git = top.join(".git");
        if *git_folder != dot_git {
            self.protect_if_there(&dot_git);
        }
        // As a mount point, the folder cannot be moved away.
        self.bind(shared_folder, FileKind::Folder, self.access, Reason::Git);
        mount_parents(self.plan, shared_folder);
        for worktree in &repository.worktrees {
            self.other_worktree(worktree);
        }
        if is_worktree {
            for name in lists::MAIN_WORK_TREE {
                self.protect_if_there(&shared_folder.join(name));
            }
            self.own_worktree(git_folder);
        }
        self.git_folder(shared_folder);
        for ModuleFacts { git_folder, work_tree } in modules {
            self.git_folder(git_folder);
            if let Some(folder) = work_tree.as_ref().filter(|folder| folder.starts_with(top)) {
                self.protect_if_there(&folder.join(".git"));
            }
        }
        self.named_by_settings(repository);
        for folder in &repository.alternates {
            if self.plan.source_of(folder).is_none() {
                self.bind(folder, FileKind::Folder, Access::ReadOnly, Reason::Git);
            }
        }
    }

    /// Protects the entries of a git folder that name programs or other folders.
    fn git_folder(&mut self, folder: &Path) {
        for name in lists::GIT_FOLDERS {
            self.protect(&folder.join(name), PlaceholderContent::Folder);
        }
        for name in lists::GIT_FILES {
            self.protect(&folder.join(name), PlaceholderContent::File(""));
        }
        let common = PlaceholderContent::File(lists::GIT_COMMON_ITSELF);
        self.protect(&folder.join(lists::GIT_COMMON), common);
    }

    /// Opens the git folder of a worktree, except for the entries that say where everything is.
    fn own_worktree(&mut self, git_folder: &Path) {
        let content = Content::Bind { from: git_folder.to_owned(), access: self.access };
        let mount = Mount { content, kind: FileKind::Folder, reason: Reason::Git };
        self.plan.mounts.insert(git_folder.to_owned(), mount);
        mount_parents(self.plan, git_folder);
        for name in lists::WORKTREE_LINKS {
            self.protect_if_there(&git_folder.join(name));
        }
        let settings = git_folder.join(lists::WORKTREE_SETTINGS);
        self.protect(&settings, PlaceholderContent::File(""));
    }

    /// Protects another worktree of the repository. One in the project can be used inside; and one
    /// that a program inside creates can also be removed again by the same run.
    fn other_worktree(&mut self, worktree: &WorktreeFacts) {
        let WorktreeFacts { git_folder, work_tree, age } = worktree;
        let inside = work_tree.as_ref().filter(|folder| folder.starts_with(&self.top));
        match (inside, age) {
            (None, _) => self.protect_if_there(git_folder),
            (Some(folder), WorktreeAge::Known) => {
                self.own_worktree(git_folder);
                self.protect_if_there(&folder.join(".git"));
            }
            (Some(_), WorktreeAge::New) => {}
        }
    }

    /// Protects the files that the configuration names.
    fn named_by_settings(&mut self, repository: &RepositoryFacts) {
        let RepositoryFacts { top, git_folder, shared_folder, .. } = repository;
        let places = [top, git_folder, shared_folder];
        let hooks = repository.hooks_path.iter().map(|path| (path, PlaceholderContent::Folder));
        let files = repository.included.iter().map(|path| (path, PlaceholderContent::File("")));
        for (path, missing) in hooks.chain(files) {
            // A folder around the project stays writable.
            if places.into_iter().any(|place| path.starts_with(place) && path != place) {
                self.protect(path, missing);
            } else {
                self.protect_if_inside(path);
            }
        }
    }

    /// Protects an entry that is named by a path outside, but lies in the project.
    fn protect_if_inside(&mut self, path: &Path) {
        let is_inside = |entry: &Entry| entry.real.starts_with(&self.top) && entry.real != self.top;
        if self.entries.get(path).is_some_and(is_inside) {
            self.protect_if_there(path);
        }
    }

    /// Prevents that a program inside creates another repository for the project: the next program
    /// would get access to the folders that its files name.
    pub(super) fn no_other_repository(
        &mut self,
        facts: &ProjectFacts,
        shown: Option<&RepositoryFacts>,
    ) {
        if let Some(repository) = &facts.repository {
            for folder in lists::between(&repository.top, &facts.root) {
                if shown.is_some() || folder == facts.root {
                    self.protect(&folder.join(".git"), PlaceholderContent::Folder);
                }
            }
        } else if self.entries.get(&facts.root.join(".git/config")).is_some() {
            // A repository that is damaged now could be repaired, with another configuration.
            self.protect_if_there(&facts.root.join(".git"));
        }
    }
}

//! The project in a sandbox: everything can be changed, except what would run outside later.
//!
//! A protected entry is a mount point, and so is every folder between it and the project: a folder
//! that is no mount point could be moved away and replaced.

use std::path::{Path, PathBuf};

use super::facts::{Entries, Entry, FileKind, Link, ProjectFacts, RepositoryFacts};
use super::lists;
use super::mounts::{Access, Content, Mount, MountPlan, Placeholder, PlaceholderContent, Reason};

/// The top folders of the work: the project, and the repository around it.
pub(super) fn tops(facts: &ProjectFacts, home: &Path) -> Vec<PathBuf> {
    let top = repository(facts, home).map(|repository| repository.top.clone());
    top.into_iter().chain([facts.root.clone()]).collect()
}

/// The repository, unless it contains the user's home: then only the project is shown.
fn repository<'a>(facts: &'a ProjectFacts, home: &Path) -> Option<&'a RepositoryFacts> {
    facts.repository.as_ref().filter(|repository| !home.starts_with(&repository.top))
}

/// Adds the project and its repository. `opened` are the settings that lift a protection.
pub(super) fn add(
    plan: &mut MountPlan,
    facts: &ProjectFacts,
    home: &Path,
    access: Access,
    opened: &[String],
) {
    let repository = repository(facts, home);
    let opened = opened.iter().filter_map(|name| opened_path(name, &facts.root, home)).collect();
    let mut work = Work { plan, entries: &facts.entries, access, opened, top: PathBuf::new() };
    for top in tops(facts, home).iter().rev() {
        work.bind(top, FileKind::Folder, access, Reason::Project);
    }
    anchor(work.plan, &facts.root);
    work.links(&facts.root_links);
    if let Some(repository) = repository {
        work.git(repository);
        work.top.clone_from(&repository.top);
        for name in lists::PROTECTED {
            if repository.top != facts.root {
                work.protect_if_there(&repository.top.join(name));
            }
        }
    } else {
        work.top.clone_from(&facts.root);
    }
    for name in lists::PROTECTED {
        let content = if lists::PROTECTED_FILES.contains(name) {
            PlaceholderContent::File("")
        } else {
            PlaceholderContent::Folder
        };
        work.protect(&facts.root.join(name), content);
    }
    if access == Access::ReadWrite {
        work.task(facts);
    }
}

/// Makes every folder between a place and the mount around it a mount point.
pub(super) fn anchor(plan: &mut MountPlan, place: &Path) {
    let Some((around, outer)) = plan.mount_around(place) else { return };
    let (around, access) = (around.to_owned(), outer.access());
    // In the private home, moving a folder changes nothing on the machine.
    if !plan.shows(&around) {
        return;
    }
    let above: Vec<PathBuf> = place
        .ancestors()
        .skip(1)
        .take_while(|above| *above != around)
        .map(Path::to_owned)
        .collect();
    for folder in above {
        let Some(from) = plan.source_of(&folder) else { continue };
        let mount = Mount {
            content: Content::Bind { from, access },
            kind: FileKind::Folder,
            reason: Reason::AboveProtected,
        };
        plan.mounts.insert(folder, mount);
    }
}

/// The entry of the project whose protection a setting lifts.
fn opened_path(name: &str, root: &Path, home: &Path) -> Option<PathBuf> {
    let path = super::plan::outside_path(name, home).unwrap_or_else(|| root.join(name));
    let is_plain = !path.components().any(|part| part == std::path::Component::ParentDir);
    is_plain.then_some(path)
}

struct Work<'a> {
    plan: &'a mut MountPlan,
    entries: &'a Entries,
    access: Access,
    /// Entries that the user does not want protected.
    opened: Vec<PathBuf>,
    /// The folder inside which links may lead.
    top: PathBuf,
}

impl Work<'_> {
    fn bind(&mut self, path: &Path, kind: FileKind, access: Access, reason: Reason) {
        let content = Content::Bind { from: path.to_owned(), access };
        self.plan.mounts.insert(path.to_owned(), Mount { content, kind, reason });
    }

    fn links(&mut self, links: &[Link]) {
        for Link { at, target } in links {
            let content = Content::Link { target: target.clone() };
            let mount = Mount { content, kind: FileKind::File, reason: Reason::Project };
            self.plan.mounts.entry(at.clone()).or_insert(mount);
        }
    }

    fn is_opened(&self, path: &Path) -> bool {
        self.opened.iter().any(|opened| path.starts_with(opened))
    }

    /// Protects an entry; one that does not exist is created with this content.
    fn protect(&mut self, path: &Path, missing: PlaceholderContent) {
        // A program that may change nothing needs no protected entries.
        if self.access == Access::ReadOnly || self.is_opened(path) {
            return;
        }
        if self.entries.get(path).is_some() {
            return self.protect_if_there(path);
        }
        let kind = match missing {
            PlaceholderContent::Folder => FileKind::Folder,
            PlaceholderContent::File(_) => FileKind::File,
        };
        self.plan.placeholders.push(Placeholder { path: path.to_owned(), content: missing });
        self.cover(path, kind);
    }

    fn protect_if_there(&mut self, path: &Path) {
        if self.access == Access::ReadOnly || self.is_opened(path) {
            return;
        }
        let Some(Entry { real, kind, links }) = self.entries.get(path).cloned() else { return };
        if links.is_empty() {
            return self.cover(path, kind);
        }
        // Nothing can be mounted on a link: its target is protected, and the link is compared
        // afterwards. A target outside the project is not visible.
        self.plan.watched_links.extend(links);
        if real.starts_with(&self.top) {
            self.cover(&real, kind);
        }
    }

    fn cover(&mut self, path: &Path, kind: FileKind) {
        self.bind(path, kind, Access::ReadOnly, Reason::Protected);
        anchor(self.plan, path);
    }

    fn git(&mut self, repository: &RepositoryFacts) {
        let RepositoryFacts { top, git_folder, shared_folder, modules, .. } = repository;
        self.top.clone_from(top);
        let is_worktree = git_folder != shared_folder;
        let dot_git = top.join(".git");
        if *git_folder != dot_git {
            self.protect_if_there(&dot_git);
        }
        // As a mount point, the folder cannot be moved away.
        self.bind(shared_folder, FileKind::Folder, self.access, Reason::Git);
        anchor(self.plan, shared_folder);
        if is_worktree {
            self.main_work_tree(git_folder, shared_folder);
        }
        for folder in [shared_folder].into_iter().chain(modules) {
            self.git_folder(folder);
        }
        if let Some(hooks) = repository.hooks_path.as_ref().filter(|path| path.starts_with(top)) {
            self.protect_if_there(hooks);
        }
        for folder in &repository.alternates {
            if self.plan.source_of(folder).is_none() {
                self.bind(folder, FileKind::Folder, Access::ReadOnly, Reason::Git);
            }
        }
    }

    /// Protects the entries of a git folder that name programs.
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

    /// Protects what belongs to the main work tree and to other worktrees.
    fn main_work_tree(&mut self, git_folder: &Path, shared_folder: &Path) {
        for name in lists::OTHER_WORK_TREES {
            self.protect_if_there(&shared_folder.join(name));
        }
        let content = Content::Bind { from: git_folder.to_owned(), access: self.access };
        let mount = Mount { content, kind: FileKind::Folder, reason: Reason::Git };
        self.plan.mounts.insert(git_folder.to_owned(), mount);
        for name in lists::WORKTREE_LINKS {
            self.protect_if_there(&git_folder.join(name));
        }
        self.protect(&git_folder.join("config.worktree"), PlaceholderContent::File(""));
    }

    /// Opens the folder of the running task inside the protected folder.
    fn task(&mut self, facts: &ProjectFacts) {
        let folder = facts.task.as_ref().map(|task| facts.root.join(task));
        let is_plain = |entry: &Entry| entry.links.is_empty();
        if let Some(folder) = folder.filter(|path| self.entries.get(path).is_some_and(is_plain)) {
            self.bind(&folder, FileKind::Folder, Access::ReadWrite, Reason::Task);
            for name in lists::TASK_FILES {
                let file = folder.join(name);
                if self.entries.get(&file).is_some_and(is_plain) {
                    self.bind(&file, FileKind::File, Access::ReadOnly, Reason::Protected);
                } else if *name == lists::TASK_SETTINGS && self.entries.get(&file).is_none() {
                    self.protect(&file, PlaceholderContent::File(""));
                }
            }
        }
        if let Some(file) = facts.requested.as_ref().map(|file| facts.root.join(file)) {
            self.requested(&file);
        }
    }

    /// Lets the agent write a file that nightwright asks for.
    fn requested(&mut self, file: &Path) {
        if self.plan.is_writable(file) {
            return;
        }
        match self.entries.get(file) {
            Some(entry) if !entry.links.is_empty() => return,
            Some(_) => {}
            None => self
                .plan
                .placeholders
                .push(Placeholder { path: file.to_owned(), content: PlaceholderContent::File("") }),
        }
        self.bind(file, FileKind::File, Access::ReadWrite, Reason::Task);
    }
}

//! The project in a sandbox: everything can be changed, except what would run outside later.
//!
//! A protected entry is a mount point, and so is every folder between it and the project: a folder
//! that is no mount point could be moved away and replaced.

mod git;
mod opened;

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
    let tops = tops(facts, home);
    let opened = opened::paths(opened, &facts.root, &tops, home, &mut plan.notes);
    let top = tops[0].clone();
    let mut work = Work { plan, entries: &facts.entries, access, opened, top };
    for top in tops.iter().rev() {
        work.bind(top, FileKind::Folder, access, Reason::Project);
    }
    mount_parents(work.plan, &facts.root);
    work.links(&facts.root_links);
    if let Some(repository) = repository {
        work.git(repository);
        if repository.top != facts.root {
            work.agent_files(&repository.top);
        }
    }
    work.no_other_repository(facts, repository);
    work.agent_files(&facts.root);
    if access == Access::ReadWrite {
        work.task(facts);
    }
}

/// Makes every folder between a place and the mount around it a mount point.
pub(super) fn mount_parents(plan: &mut MountPlan, place: &Path) {
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

    /// Protects what configures the agent and nightwright.
    fn agent_files(&mut self, folder: &Path) {
        for name in lists::PROTECTED {
            let content = if lists::PROTECTED_FILES.contains(name) {
                PlaceholderContent::File("")
            } else {
                PlaceholderContent::Folder
            };
            self.protect(&folder.join(name), content);
        }
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
        let Some(path) = self.place_of_missing(path) else { return };
        if self.plan.mounts.get(&path).is_some_and(|mount| mount.reason == Reason::Protected) {
            return;
        }
        let kind = match missing {
            PlaceholderContent::Folder => FileKind::Folder,
            PlaceholderContent::File(_) => FileKind::File,
        };
        self.plan.placeholders.push(Placeholder { path: path.clone(), content: missing });
        self.cover(&path, kind);
    }

    /// The place for a missing entry, whose folder may be a link; `None` if it is not visible.
    fn place_of_missing(&mut self, path: &Path) -> Option<PathBuf> {
        let (parent, name) = (path.parent()?, path.file_name()?);
        let Some(Entry { real, links, .. }) = self.entries.get(parent) else {
            return Some(path.to_owned());
        };
        if links.is_empty() {
            return Some(path.to_owned());
        }
        self.plan.watched_links.extend(links.iter().cloned());
        real.starts_with(&self.top).then(|| real.join(name))
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
        mount_parents(self.plan, path);
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

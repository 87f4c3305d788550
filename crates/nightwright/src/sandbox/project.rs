//! Facts about the project, collected for every program: they change with the work.

use nightwright_core::sandbox::facts::ProjectFacts;
use nightwright_core::sandbox::git_settings::RepositorySettings;
use nightwright_core::sandbox::lists;

use super::entries::{entries_at, entry_at};
use super::repository::OpenRepository;
use super::{Sandbox, SandboxError, git};

/// The project, with the part of git's settings that the private home needs.
pub(super) struct FoundProject {
    pub(super) facts: ProjectFacts,
    pub(super) settings: RepositorySettings,
}

impl Sandbox {
    /// Looks at the project.
    pub(super) fn find_project(&self) -> Result<FoundProject, SandboxError> {
        let (root, root_links) = match entry_at(&self.project) {
            Some(found) => (found.real, found.links),
            None => (self.project.clone(), Vec::new()),
        };
        let repository = OpenRepository::again(self.repository.as_ref(), &root)?;
        let settings =
            repository.as_ref().map(|found| git::repository_settings(found.top(), &self.host.home));
        let settings = settings.unwrap_or_default();
        let mut facts = ProjectFacts {
            repository: repository.map(|found| found.facts(settings.clone())),
            task: self.task.clone(),
            requested: self.requested.clone(),
            root,
            root_links,
            ..ProjectFacts::default()
        };
        facts.entries = entries_at(lists::project_paths(&facts));
        Ok(FoundProject { facts, settings })
    }
}

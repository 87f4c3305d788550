//! Tests of plans on small machines that exist only as facts.

mod plans;
mod properties;
mod repositories;

use std::path::{Path, PathBuf};

use super::facts::{Entries, Entry, FileKind, HostFacts, Link, ProjectFacts, RepositoryFacts};
use super::mounts::{Access, MountPlan};
use super::plan::{self, PlanError, ProgramKind, Request};
use crate::settings::SandboxSettings;

/// A machine with a user `u`, a project in a repository, and a state folder in the home.
#[derive(Clone, Debug)]
struct Machine {
    host: HostFacts,
    project: ProjectFacts,
    settings: SandboxSettings,
    access: Access,
    program: ProgramKind,
}

impl Machine {
    fn new() -> Self {
        let host = HostFacts {
            home: "/users/u".into(),
            state: "/users/u/.local/state/nightwright".into(),
            private: "/users/u/.local/state/nightwright/app-1234/sandbox".into(),
            path: vec!["/users/u/.cargo/bin".into(), "/usr/bin".into()],
            ..HostFacts::default()
        };
        let git: PathBuf = "/users/u/code/app/.git".into();
        let repository = RepositoryFacts {
            top: "/users/u/code/app".into(),
            git_folder: git.clone(),
            shared_folder: git,
            ..RepositoryFacts::default()
        };
        let project = ProjectFacts {
            root: "/users/u/code/app".into(),
            repository: Some(repository),
            ..ProjectFacts::default()
        };
        let settings = SandboxSettings::default();
        let mut machine = Self {
            host,
            project,
            settings,
            access: Access::ReadWrite,
            program: ProgramKind::Agent,
        };
        for folder in ["/usr", "/etc", "/usr/bin", "/users/u", "/users/u/.cargo/bin"] {
            machine = machine.folder(folder);
        }
        machine.project_folder(".git").project_file(".git/config").project_folder(".git/hooks")
    }

    fn folder(self, path: &str) -> Self {
        self.entry(path, path, FileKind::Folder, &[])
    }

    fn file(self, path: &str) -> Self {
        self.entry(path, path, FileKind::File, &[])
    }

    fn entry(mut self, path: &str, real: &str, kind: FileKind, links: &[(&str, &str)]) -> Self {
        self.host.entries.0.insert(path.into(), entry(real, kind, links));
        self
    }

    fn project_folder(self, name: &str) -> Self {
        let path = self.project.root.join(name);
        self.project_entry(name, &path, FileKind::Folder, &[])
    }

    fn project_file(self, name: &str) -> Self {
        let path = self.project.root.join(name);
        self.project_entry(name, &path, FileKind::File, &[])
    }

    fn project_entry(
        mut self,
        name: &str,
        real: &Path,
        kind: FileKind,
        links: &[(&str, &str)],
    ) -> Self {
        let path = self.project.root.join(name);
        let real = real.to_str().unwrap();
        self.project.entries.0.insert(path, entry(real, kind, links));
        self
    }

    fn try_plan(&self) -> Result<MountPlan, PlanError> {
        plan::plan(&Request {
            host: &self.host,
            project: &self.project,
            settings: &self.settings,
            program: self.program,
            home: &plan::private_home(&self.host),
            project_access: self.access,
            temporary: Path::new("/tmp/nw-000001/1"),
            shown: &[],
            network: &[],
        })
    }

    fn plan(&self) -> MountPlan {
        self.try_plan().unwrap()
    }
}

fn entry(real: &str, kind: FileKind, links: &[(&str, &str)]) -> Entry {
    let links = links.iter().map(|(at, target)| Link { at: at.into(), target: target.into() });
    Entry { real: real.into(), kind, links: links.collect() }
}

/// Whether a program inside can change or replace this path.
fn can_change(plan: &MountPlan, path: &str) -> bool {
    let path = Path::new(path);
    // The nearest mount decides about the contents, and the mount around it about its name.
    let Some((place, mount)) = plan.mount_of(path) else { return false };
    if mount.access() == Access::ReadWrite {
        return true;
    }
    // A folder above the mount that is no mount point itself could be moved away.
    place.ancestors().skip(1).any(|above| {
        // In the private home, moving a folder changes nothing on the machine.
        let is_mount = plan.mounts.contains_key(above);
        !is_mount && plan.shows(above) && plan.is_writable(above)
    })
}

#[test]
fn no_entry_means_that_nothing_exists() {
    assert_eq!(Entries::default().get(Path::new("/x")), None);
}

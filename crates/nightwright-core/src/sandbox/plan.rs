//! Makes the plan: which files are visible in a sandbox, and which of them can be changed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::SHOWN_FILES;
use super::facts::{Entry, FileKind, HostFacts, Link, ProjectFacts};
use super::lists;
use super::mounts::{Access, Content, Mount, MountPlan, Reason};
use super::project;
use crate::settings::SandboxSettings;

/// The folder of the private home, in the private folder of a project.
pub const PRIVATE_HOME: &str = "agent-home";
/// The folder of the private folders of tools, there.
const PRIVATE_TOOLS: &str = "agent-tools";

/// The program that a sandbox is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    pub host: &'a HostFacts,
    pub project: &'a ProjectFacts,
    pub settings: &'a SandboxSettings,
    pub program: ProgramKind,
    /// The folder of the machine that is shown as the home of the user.
    pub home: &'a Path,
    /// The access of the program to the project.
    pub project_access: Access,
    /// The folder of the machine for its temporary files.
    pub temporary: &'a Path,
    /// Files to show in [`SHOWN_FILES`], by their names there.
    pub shown: &'a [ShownFile],
    /// Files and folders that the network of the sandbox needs.
    pub network: &'a [NetworkMount],
}

/// A file or folder of nightwright that the network of a sandbox shows, read-only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkMount {
    pub place: PathBuf,
    pub from: PathBuf,
    pub kind: FileKind,
}

/// The kind of program in a sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProgramKind {
    /// An attempt of the agent, a review, or a shell of the user. They share a private home, and have
    /// the login of the agent.
    Agent,
    /// A call that judges the work. It has the login, and its own home: the agent could leave
    /// instructions or programs in the shared one.
    Judge,
    /// A check. It shares the home, and has no login.
    Check,
}

/// A file of nightwright that a program may see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownFile {
    pub name: String,
    pub from: PathBuf,
    pub access: Access,
}

/// Why there can be no sandbox for a project.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    #[error("the user has no home folder")]
    NoHome,
    #[error("the project `{}` contains the home folder", .0.display())]
    AroundHome(PathBuf),
}

/// Returns the mounts of a sandbox.
pub fn plan(request: &Request<'_>) -> Result<MountPlan, PlanError> {
    let Request { host, project, settings, .. } = request;
    let home = &host.home;
    if home.parent().is_none() {
        return Err(PlanError::NoHome);
    }
    if home.starts_with(&project.root) {
        return Err(PlanError::AroundHome(project.root.clone()));
    }
    let work = project::tops(project, home);
    let mut planner = Planner { host, program: request.program, work, plan: MountPlan::default() };
    planner.system();
    planner.temporary(request.temporary, request.shown);
    planner.home(request.home, settings);
    planner.tools();
    planner.programs();
    planner.by_user(settings);
    let opened = &settings.write;
    project::add(&mut planner.plan, project, home, request.project_access, opened);
    planner.hide_state();
    planner.network(request.network);
    Ok(planner.finish())
}

/// The folder that the sandbox shows as the home of the user, except to judges.
pub fn private_home(host: &HostFacts) -> PathBuf {
    host.private.join(PRIVATE_HOME)
}

struct Planner<'a> {
    host: &'a HostFacts,
    program: ProgramKind,
    /// The top folders of the work, which are shown as a whole.
    work: Vec<PathBuf>,
    plan: MountPlan,
}

impl Planner<'_> {
    fn put(&mut self, place: impl Into<PathBuf>, content: Content, kind: FileKind, reason: Reason) {
        self.plan.mounts.insert(place.into(), Mount { content, kind, reason });
    }

    /// Shows a file or folder at its own place, with the links that lead there.
    fn show(&mut self, path: &Path, access: Access, reason: Reason) -> bool {
        let Some(entry) = self.host.entries.get(path).cloned() else { return false };
        self.show_entry(&entry, access, reason)
    }

    fn show_entry(&mut self, entry: &Entry, access: Access, reason: Reason) -> bool {
        let Entry { real, kind, links } = entry;
        // Nothing of the state folder is visible, and the home itself is private.
        if *real == self.host.home || real.starts_with(&self.host.state) || real.parent().is_none()
        {
            return false;
        }
        if self.work.iter().any(|top| real.starts_with(top)) {
            return true;
        }
        self.links(links, reason);
        let content = Content::Bind { from: real.clone(), access };
        self.put(real.clone(), content, *kind, reason);
        true
    }

    fn links(&mut self, links: &[Link], reason: Reason) {
        for Link { at, target } in links {
            let content = Content::Link { target: target.clone() };
            let mount = Mount { content, kind: FileKind::File, reason };
            self.plan.mounts.entry(at.clone()).or_insert(mount);
        }
    }

    /// Whether a folder contains files that are private or belong to the work.
    fn contains_private(&self, folder: &Path) -> bool {
        let HostFacts { home, state, .. } = self.host;
        self.work.iter().chain([home, state]).any(|path| path.starts_with(folder))
    }

    fn system(&mut self) {
        for path in lists::SYSTEM {
            self.show(Path::new(path), Access::ReadOnly, Reason::System);
        }
        for path in lists::LINKED_IN_ETC {
            self.show(Path::new(path), Access::ReadOnly, Reason::System);
        }
        let named = &self.host.named_files;
        for path in named {
            self.show(path, Access::ReadOnly, Reason::System);
        }
        for (path, kind) in &self.host.restricted {
            let content = match kind {
                FileKind::Folder => Content::Empty,
                FileKind::File | FileKind::Special => Content::Nothing,
            };
            self.put(path, content, *kind, Reason::Secret);
        }
        self.put("/run", Content::Memory, FileKind::Folder, Reason::System);
        self.put("/dev", Content::Devices, FileKind::Folder, Reason::System);
        self.put("/dev/shm", Content::Memory, FileKind::Folder, Reason::Temporary);
        self.put("/proc", Content::Processes, FileKind::Folder, Reason::System);
        // As root, programs inside could change the settings of the kernel otherwise.
        for path in lists::KERNEL_SETTINGS {
            self.show(Path::new(path), Access::ReadOnly, Reason::System);
        }
    }

    fn temporary(&mut self, room: &Path, shown: &[ShownFile]) {
        for place in ["/tmp", "/var/tmp"] {
            let content = Content::Bind { from: room.to_owned(), access: Access::ReadWrite };
            self.put(place, content, FileKind::Folder, Reason::Temporary);
        }
        for ShownFile { name, from, access } in shown {
            let content = Content::Bind { from: from.clone(), access: *access };
            let place = Path::new(SHOWN_FILES).join(name);
            self.put(place, content, FileKind::File, Reason::Program);
        }
    }

    fn home(&mut self, from: &Path, settings: &SandboxSettings) {
        let host = self.host;
        let content = Content::Bind { from: from.to_owned(), access: Access::ReadWrite };
        self.put(host.home.clone(), content, FileKind::Folder, Reason::Home);
        self.links(&host.home_links, Reason::Home);
        for name in lists::TOOLS {
            self.show(&host.home.join(name), Access::ReadOnly, Reason::Tools);
        }
        self.agent_settings(&host.home.join(lists::AGENT_FOLDER));
        if settings.registry_logins {
            for name in lists::PACKAGE_SETTINGS.iter().chain(lists::PACKAGE_LOGINS) {
                self.show(&host.home.join(name), Access::ReadOnly, Reason::Settings);
            }
        }
    }

    fn agent_settings(&mut self, folder: &Path) {
        for name in lists::AGENT_SETTINGS {
            self.show(&folder.join(name), Access::ReadOnly, Reason::AgentSettings);
        }
        match self.program {
            // The agent rewrites the file when it renews its login. A copy would log the user out.
            ProgramKind::Agent | ProgramKind::Judge => {
                let file = folder.join(lists::AGENT_LOGIN);
                self.show(&file, Access::ReadWrite, Reason::AgentLogin);
            }
            ProgramKind::Check => {
                let state = self.host.home.join(lists::AGENT_STATE);
                self.put(state, Content::Nothing, FileKind::File, Reason::AgentLogin);
            }
        }
    }

    /// Shows the tools that variables and `PATH` name.
    fn tools(&mut self) {
        let host = self.host;
        for home in &host.tool_homes {
            let folder = &home.folder;
            if let Some((_, parts)) =
                lists::TOOL_HOMES.iter().find(|(name, _)| *name == home.variable)
            {
                if folder.starts_with(&host.home) || host.home.starts_with(folder) {
                    // The private home contains it.
                    continue;
                }
                let from = host.private.join(PRIVATE_TOOLS).join(&home.variable);
                let content = Content::Bind { from, access: Access::ReadWrite };
                self.put(folder.clone(), content, FileKind::Folder, Reason::Tools);
                for part in *parts {
                    self.show(&folder.join(part), Access::ReadOnly, Reason::Tools);
                }
                if home.variable == lists::AGENT_VARIABLE {
                    self.agent_settings(folder);
                }
            } else if !self.contains_private(folder) {
                self.show(folder, Access::ReadOnly, Reason::Tools);
            }
        }
        for folder in &host.path {
            self.program_folder(folder);
        }
    }

    /// Shows a folder of `PATH`, with the installation that it belongs to.
    fn program_folder(&mut self, folder: &Path) {
        let host = self.host;
        if !folder.is_absolute() {
            return;
        }
        let Some(entry) = host.entries.get(folder) else {
            if folder.starts_with(&host.home) && folder != host.home {
                // A program inside could create it, and plant programs for the checks there.
                self.put(folder, Content::Empty, FileKind::Folder, Reason::Tools);
            }
            return;
        };
        let entry = entry.clone();
        if self.contains_private(&entry.real) {
            return;
        }
        self.show_entry(&entry, Access::ReadOnly, Reason::Tools);
        let Some(prefix) = entry.real.parent().filter(|prefix| !self.contains_private(prefix))
        else {
            return;
        };
        let is_bin = entry.real.ends_with("bin") || entry.real.ends_with("sbin");
        if is_bin && prefix.parent().is_some() && lists::is_installation(prefix, host) {
            let kind = FileKind::Folder;
            let whole = Entry { real: prefix.to_owned(), kind, links: Vec::new() };
            self.show_entry(&whole, Access::ReadOnly, Reason::Tools);
        }
    }

    fn programs(&mut self) {
        let host = self.host;
        for program in &host.programs {
            let Some(entry) = host.entries.get(program).cloned() else { continue };
            self.show_entry(&entry, Access::ReadOnly, Reason::Program);
            for path in [program, &entry.real] {
                if let Some(package) = lists::package_of(path) {
                    let whole = Entry { real: package, kind: FileKind::Folder, links: Vec::new() };
                    self.show_entry(&whole, Access::ReadOnly, Reason::Program);
                }
            }
        }
    }

    /// Shows what the user gives to the sandbox outside the project.
    fn by_user(&mut self, settings: &SandboxSettings) {
        let lists = [(&settings.read, Access::ReadOnly), (&settings.write, Access::ReadWrite)];
        for (name, access) in
            lists.iter().flat_map(|(list, access)| list.iter().map(|n| (n, *access)))
        {
            let Some(path) = outside_path(name, &self.host.home) else { continue };
            if lists::KERNEL_FOLDERS.iter().any(|folder| path.starts_with(folder)) {
                let hint = "name single devices in `sandbox.devices`";
                self.plan.notes.push(format!("cannot show `{name}`: {hint}"));
            } else if path == self.host.home {
                self.plan.notes.push(format!("cannot show `{name}`: the home is private"));
            } else if !self.show(&path, access, Reason::ByUser) {
                self.plan.notes.push(format!("`{name}` does not exist or cannot be shown"));
            }
        }
        for name in &settings.devices {
            let from = PathBuf::from(name);
            if self.host.entries.get(&from).is_some() {
                self.put(from.clone(), Content::Device { from }, FileKind::Special, Reason::ByUser);
            } else {
                self.plan.notes.push(format!("there is no device `{name}`"));
            }
        }
    }

    /// Covers the state folder wherever another mount would show it.
    fn hide_state(&mut self) {
        let state = &self.host.state;
        let shown: Vec<PathBuf> = self
            .plan
            .mounts
            .iter()
            .filter_map(|(place, mount)| match &mount.content {
                Content::Bind { from, .. } => Some(place.join(state.strip_prefix(from).ok()?)),
                Content::Device { .. }
                | Content::Memory
                | Content::Empty
                | Content::Nothing
                | Content::Devices
                | Content::Processes
                | Content::Link { .. } => None,
            })
            .collect();
        for place in shown {
            if self.plan.source_of(&place).as_deref() == Some(state) {
                project::mount_parents(&mut self.plan, &place);
                self.put(place, Content::Empty, FileKind::Folder, Reason::State);
            }
        }
    }

    /// Shows the files of the network, some of them over those of the machine.
    fn network(&mut self, mounts: &[NetworkMount]) {
        for NetworkMount { place, from, kind } in mounts {
            let content = Content::Bind { from: from.clone(), access: Access::ReadOnly };
            self.put(place, content, *kind, Reason::Network);
        }
    }

    /// Removes the mounts that change nothing.
    fn finish(mut self) -> MountPlan {
        let plan = &self.plan;
        let is_needed = |place: &Path, mount: &Mount| -> bool {
            let Some((_, outer)) = plan.mount_around(place) else { return true };
            match (&mount.content, mount.reason) {
                // As mount points, these cannot be moved away.
                (_, Reason::AboveProtected | Reason::Protected | Reason::Git | Reason::Project) => {
                    !matches!(mount.content, Content::Link { .. }) || is_own_link(plan, place)
                }
                (Content::Link { .. }, _) => is_own_link(plan, place),
                (Content::Bind { from, access }, _) => {
                    let around = place.parent().and_then(|parent| plan.source_of(parent));
                    let same =
                        around.zip(place.file_name()).map(|(around, name)| around.join(name));
                    same.as_ref() != Some(from) || outer.access() != *access
                }
                _ => true,
            }
        };
        let needed: BTreeMap<_, _> = plan
            .mounts
            .iter()
            .filter(|(place, mount)| is_needed(place, mount))
            .map(|(place, mount)| (place.clone(), mount.clone()))
            .collect();
        self.plan.mounts = needed;
        self.plan
    }
}

/// Whether a link is not already visible because the folder that contains it is shown.
fn is_own_link(plan: &MountPlan, place: &Path) -> bool {
    !place.parent().is_some_and(|parent| plan.shows(parent))
}

/// The path outside the project that a setting names; `None` for one inside it.
pub fn outside_path(name: &str, home: &Path) -> Option<PathBuf> {
    match name.strip_prefix("~/") {
        Some(rest) => Some(home.join(rest)),
        None if name == "~" => Some(home.to_owned()),
        None if Path::new(name).is_absolute() => Some(PathBuf::from(name)),
        None => None,
    }
}

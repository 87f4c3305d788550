//! A plan of mounts: what each place in the sandbox shows.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::facts::{FileKind, Link};

/// The access of programs inside to the files of a mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    ReadOnly,
    ReadWrite,
}

/// The contents of a mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A file or folder of the machine.
    Bind { from: PathBuf, access: Access },
    /// A device of the machine.
    Device { from: PathBuf },
    /// An empty folder in memory.
    Memory,
    /// An empty folder that nothing can be written to.
    Empty,
    /// An empty file that nothing can be written to.
    Nothing,
    /// The usual devices, such as `/dev/null`.
    Devices,
    /// The processes in the sandbox.
    Processes,
    /// A symbolic link to this target.
    Link { target: PathBuf },
}

/// Why a mount is there, for the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    System,
    Secret,
    Temporary,
    Home,
    Tools,
    AgentSettings,
    AgentLogin,
    Settings,
    Program,
    Project,
    Protected,
    /// A folder above a protected entry. As a mount point, it cannot be moved away.
    AboveProtected,
    Git,
    Task,
    ByUser,
    Network,
    State,
}

/// A mount without its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    pub content: Content,
    pub kind: FileKind,
    pub reason: Reason,
}

impl Mount {
    /// The mode of access, if it shows files that could be written.
    pub fn access(&self) -> Access {
        match &self.content {
            Content::Bind { access, .. } => *access,
            Content::Device { .. } | Content::Memory | Content::Processes => Access::ReadWrite,
            Content::Empty | Content::Nothing | Content::Devices | Content::Link { .. } => {
                Access::ReadOnly
            }
        }
    }
}

/// A protected entry that does not exist. It is created for a program, so that something can be
/// mounted there, and removed afterwards.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Placeholder {
    pub path: PathBuf,
    pub content: PlaceholderContent,
}

/// The contents of a placeholder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PlaceholderContent {
    Folder,
    File(&'static str),
}

/// A mount point, or a link, in a folder of the machine that a program inside can change.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MountPoint {
    /// The folder of the machine in which it is created.
    pub base: PathBuf,
    /// The path relative to `base`.
    pub path: PathBuf,
    pub content: MountPointContent,
}

/// The kind of file that has to exist at a mount point.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MountPointContent {
    Folder,
    File,
    Link(PathBuf),
}

/// All mounts of a sandbox.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MountPlan {
    /// The mounts by their place. In this order, a folder comes before everything inside it.
    pub mounts: BTreeMap<PathBuf, Mount>,
    /// The protected entries that have to be created.
    pub placeholders: Vec<Placeholder>,
    /// Protected entries that are links: a mount cannot protect the link itself.
    pub watched_links: Vec<Link>,
    /// Settings that could not be followed, with the reason.
    pub notes: Vec<String>,
}

impl MountPlan {
    /// The mount that shows this path, and its place. `None` for the empty root.
    pub fn mount_of(&self, path: &Path) -> Option<(&Path, &Mount)> {
        path.ancestors().find_map(|place| self.mount_at(place))
    }

    /// The mount that contains the place of another one.
    pub fn mount_around(&self, place: &Path) -> Option<(&Path, &Mount)> {
        place.ancestors().skip(1).find_map(|above| self.mount_at(above))
    }

    fn mount_at(&self, place: &Path) -> Option<(&Path, &Mount)> {
        self.mounts.get_key_value(place).map(|(place, mount)| (place.as_path(), mount))
    }

    /// The file of the machine that is visible at this path, if any.
    pub fn source_of(&self, path: &Path) -> Option<PathBuf> {
        let (place, mount) = self.mount_of(path)?;
        match &mount.content {
            Content::Bind { from, .. } | Content::Device { from } => {
                let rest = path.strip_prefix(place).ok()?;
                Some(if rest.as_os_str().is_empty() { from.clone() } else { from.join(rest) })
            }
            Content::Memory
            | Content::Empty
            | Content::Nothing
            | Content::Devices
            | Content::Processes
            | Content::Link { .. } => None,
        }
    }

    /// Whether a folder or file of the machine is visible at its own path.
    pub fn shows(&self, path: &Path) -> bool {
        self.source_of(path).is_some_and(|source| source == path)
    }

    /// Whether a program inside can write to this path.
    pub fn is_writable(&self, path: &Path) -> bool {
        self.mount_of(path).is_some_and(|(_, mount)| mount.access() == Access::ReadWrite)
    }

    /// The mount points in folders that programs inside can change. They must exist before anything
    /// is mounted there, and an earlier program may have put links in their places.
    pub fn mount_points(&self) -> Vec<MountPoint> {
        let mut points = Vec::new();
        for (place, mount) in &self.mounts {
            let Some((around, outer)) = self.mount_around(place) else { continue };
            let Content::Bind { from: base, access } = &outer.content else { continue };
            let Ok(rest) = place.strip_prefix(around) else { continue };
            let is_itself = matches!(&mount.content, Content::Bind { from, .. }
                if *from == base.join(rest));
            if is_itself || *access == Access::ReadOnly {
                continue;
            }
            let content = match (&mount.content, mount.kind) {
                (Content::Link { target }, _) => MountPointContent::Link(target.clone()),
                (_, FileKind::Folder) => MountPointContent::Folder,
                (_, FileKind::File | FileKind::Special) => MountPointContent::File,
            };
            points.push(MountPoint { base: base.clone(), path: rest.to_owned(), content });
        }
        points
    }
}

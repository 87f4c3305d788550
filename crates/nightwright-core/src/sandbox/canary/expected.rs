//! The required results of the canary, derived from the plan.

use std::path::{Path, PathBuf};

use super::{Probe, ProbeResult};
use crate::sandbox::bwrap::UserNamespaces;
use crate::sandbox::environment::TEMPORARY;
use crate::sandbox::facts::{FileKind, HostFacts};
use crate::sandbox::mounts::{Access, Content, Mount, MountPlan, Reason};

/// Folders that nothing inside may write to, whatever the plan.
const NEVER_WRITABLE: &[&str] = &["/", "/usr", "/etc", "/dev", "/home"];
/// A setting of the kernel that root can change, and that names a program.
const KERNEL_SETTING: &str = "/proc/sys/kernel/core_pattern";
/// Files of the user that nothing inside may read.
const NEVER_READABLE: &[&str] = &[".ssh", ".aws", ".gnupg", ".config/gh", ".netrc"];

/// A probe, and its required result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expectation {
    pub probe: Probe,
    pub must: Must,
}

/// The required result of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Must {
    Fail,
    Work,
    /// It may work, but must change nothing outside the sandbox.
    StayInside,
}

/// The sandbox that is tried, and its surroundings.
#[derive(Clone, Copy, Debug)]
pub struct Tried<'a> {
    pub plan: &'a MountPlan,
    pub host: &'a HostFacts,
    pub project: &'a Path,
    /// Whether the project is in a repository.
    pub has_repository: bool,
    pub user_namespaces: UserNamespaces,
    /// The process ID of nightwright, outside the sandbox.
    pub supervisor: i32,
    /// Files outside that the user can read.
    pub planted: &'a [PathBuf],
    /// The network of the sandbox; `None` if it uses that of the machine.
    pub network: Option<TriedNetwork<'a>>,
}

/// The network that is tried, and listeners of nightwright outside it.
#[derive(Clone, Copy, Debug)]
pub struct TriedNetwork<'a> {
    /// The port of a listener on the loopback of the machine.
    pub port: u16,
    /// The name of an abstract Unix socket.
    pub socket: &'a str,
    /// The port of the proxy inside, if there is one.
    pub proxy: Option<u16>,
}

/// Returns everything that the canary tries.
pub fn expectations(tried: &Tried<'_>) -> Vec<Expectation> {
    let Tried { plan, host, project, .. } = *tried;
    let mut all = Vec::new();
    let mut add = |must, probe| all.push(Expectation { probe, must });
    let create = |folder: &Path, keep| Probe::Create { folder: folder.to_owned(), keep };

    let folders = NEVER_WRITABLE.iter().map(Path::new);
    for folder in folders.filter(|folder| !plan.is_writable(folder)) {
        add(Must::Fail, create(folder, false));
    }
    add(Must::Fail, Probe::Open { file: KERNEL_SETTING.into() });
    for (place, mount) in &plan.mounts {
        let result = match (&mount.content, mount.reason) {
            (Content::Nothing | Content::Empty, _) => Some(Probe::Read { path: place.clone() }),
            (Content::Bind { access: Access::ReadOnly, .. }, Reason::Protected) => {
                Some(writing(place, mount))
            }
            _ => None,
        };
        if let Some(probe) = result {
            add(Must::Fail, probe);
        }
        let is_fixed = matches!(mount.reason, Reason::Protected | Reason::AboveProtected);
        if is_fixed
            && plan
                .mount_around(place)
                .is_some_and(|(_, around)| around.access() == Access::ReadWrite)
        {
            add(Must::Fail, Probe::Move { path: place.clone() });
        }
    }
    let hidden = NEVER_READABLE.iter().map(|name| host.home.join(name));
    for path in hidden.chain([host.state.clone()]).chain(tried.planted.iter().cloned()) {
        if plan.source_of(&path).is_none_or(|source| source != path) {
            add(Must::Fail, Probe::Read { path });
        }
    }
    add(Must::Fail, create(&host.state, false));
    add(Must::Fail, Probe::Signal { pid: tried.supervisor });
    add(Must::Work, Probe::Replace { folder: project.to_owned() });
    add(Must::Work, Probe::Replace { folder: TEMPORARY.into() });
    add(Must::Work, Probe::Replace { folder: host.home.clone() });
    if let Some(parent) = project.parent().filter(|parent| !plan.shows(parent)) {
        add(Must::StayInside, create(parent, true));
    }
    add(Must::StayInside, create(&host.home, true));

    if let Some(TriedNetwork { port, socket, proxy }) = tried.network {
        add(Must::Fail, Probe::Connect { port });
        add(Must::Fail, Probe::AbstractSocket { name: socket.to_owned() });
        add(Must::Work, Probe::Bridge { proxy });
    }

    add(Must::Fail, Probe::MountNamespace);
    match tried.user_namespaces {
        // The kernel refuses one to a process with threads, and git is run with the help of one.
        UserNamespaces::Refused => add(Must::Fail, Probe::UserNamespace),
        UserNamespaces::Allowed => {}
    }
    if tried.has_repository {
        add(Must::Work, Probe::Git { folder: project.to_owned() });
    }
    all
}

/// The probe that would write to a read-only mount.
fn writing(place: &Path, mount: &Mount) -> Probe {
    match mount.kind {
        FileKind::Folder => Probe::Create { folder: place.to_owned(), keep: false },
        FileKind::File | FileKind::Special => Probe::Open { file: place.to_owned() },
    }
}

impl Expectation {
    /// The difference between the result and the required one, in words.
    pub(super) fn difference(&self, result: &ProbeResult, escaped: &[Probe]) -> Option<String> {
        let words = self.probe.words();
        match (self.must, result) {
            (Must::Fail, ProbeResult::Failed(_)) | (Must::Work, ProbeResult::Done) => None,
            (Must::Fail, ProbeResult::Done) => Some(format!("programs inside can {words}")),
            (Must::Work, ProbeResult::Failed(why)) => {
                Some(format!("programs inside cannot {words}: {why}"))
            }
            (Must::StayInside, _) => escaped
                .contains(&self.probe)
                .then(|| format!("programs inside can {words} on this machine")),
        }
    }
}

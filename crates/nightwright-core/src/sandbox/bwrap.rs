//! The command line of bubblewrap for a plan.

use std::ffi::OsString;
use std::path::Path;

use super::mounts::{Access, Content, Mount, MountPlan};

/// The name of the program.
pub const PROGRAM: &str = "bwrap";

/// Maximum size of each folder in memory, in bytes.
const MEMORY_BYTES: &str = "1073741824";

/// Whether programs inside may create user namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserNamespaces {
    Allowed,
    Refused,
}

/// One option with its arguments.
pub type BwrapOption = Vec<OsString>;

/// Returns the options of a sandbox, without the program that runs in it.
pub fn options(plan: &MountPlan, directory: &Path, namespaces: UserNamespaces) -> Vec<BwrapOption> {
    let mut options = isolation(namespaces);
    // A link in a folder of the machine is a mount point, which was created before.
    let is_made = |place: &Path, mount: &Mount| {
        let around = plan.mount_around(place).map(|(_, around)| &around.content);
        matches!(mount.content, Content::Link { .. })
            && matches!(around, Some(Content::Bind { .. }))
    };
    for (place, mount) in plan.mounts.iter().filter(|(place, mount)| !is_made(place, mount)) {
        options.extend(mount_options(place, mount));
    }
    // A folder becomes read-only once everything inside it is mounted, the root last: without
    // that, a write outside would succeed and vanish.
    let is_closed = |mount: &&Mount| matches!(mount.content, Content::Empty | Content::Devices);
    for (place, _) in plan.mounts.iter().filter(|(_, mount)| is_closed(mount)) {
        options.push(vec!["--remount-ro".into(), place.into()]);
    }
    options.push(vec!["--remount-ro".into(), "/".into()]);
    options.push(vec!["--chdir".into(), directory.into()]);
    options
}

/// The namespaces and privileges, which do not depend on the plan.
fn isolation(namespaces: UserNamespaces) -> Vec<BwrapOption> {
    let mut words = vec!["--die-with-parent", "--unshare-user"];
    match namespaces {
        UserNamespaces::Allowed => {}
        UserNamespaces::Refused => words.push("--disable-userns"),
    }
    words.extend(["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]);
    // Programs must not write into the input of the terminal that nightwright was started from.
    words.push("--new-session");
    let single = words.into_iter().map(|word| vec![OsString::from(word)]);
    // As root, programs inside could mount otherwise.
    single.chain([vec!["--cap-drop".into(), "ALL".into()]]).collect()
}

/// The arguments that only try whether this machine allows such a sandbox.
pub fn attempt() -> Vec<OsString> {
    let mut all: Vec<OsString> = isolation(UserNamespaces::Refused).into_iter().flatten().collect();
    let rest = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--", "true"];
    all.extend(rest.map(OsString::from));
    all
}

fn mount_options(place: &Path, mount: &Mount) -> Vec<BwrapOption> {
    let place = OsString::from(place);
    let memory = |place| vec!["--size".into(), MEMORY_BYTES.into(), "--tmpfs".into(), place];
    match &mount.content {
        Content::Bind { from, access: Access::ReadOnly } => {
            vec![vec!["--ro-bind".into(), from.into(), place]]
        }
        Content::Bind { from, access: Access::ReadWrite } => {
            vec![vec!["--bind".into(), from.into(), place]]
        }
        Content::Device { from } => vec![vec!["--dev-bind".into(), from.into(), place]],
        Content::Memory | Content::Empty => vec![memory(place)],
        Content::Nothing => vec![vec!["--ro-bind".into(), "/dev/null".into(), place]],
        Content::Devices => vec![vec!["--dev".into(), place]],
        Content::Processes => vec![vec!["--proc".into(), place]],
        Content::Link { target } => vec![vec!["--symlink".into(), target.into(), place]],
    }
}

/// The arguments that run a program in a sandbox with these options.
pub fn arguments(options: &[BwrapOption], program: &Path, arguments: &[OsString]) -> Vec<OsString> {
    let mut all: Vec<OsString> = options.iter().flatten().cloned().collect();
    all.push("--".into());
    all.push(program.into());
    all.extend(arguments.iter().cloned());
    all
}

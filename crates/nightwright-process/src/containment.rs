//! Containment: how the agent's processes are kept together. Chosen once at startup for all
//! children.

use std::env;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use nightwright_core::units::RunId;
use ring::digest::{SHA256, digest};

use super::guard::wire::GuardOrder;
use super::process_table;

/// The prefix of the names of nightwright's cgroups. It is followed by the PID namespace of the
/// creator, its process ID and the number of the group. For a run, the state folder and the run ID
/// follow.
const PREFIX: &str = "nightwright-";

/// The containment that this machine supports.
#[derive(Clone, Debug)]
pub struct Containment {
    inner: Arc<ContainmentInner>,
}

#[derive(Debug)]
struct ContainmentInner {
    /// The binary that runs as the guard.
    guard: PathBuf,
    /// The lock that guards hold while any process below them is alive.
    lock: Option<PathBuf>,
    /// The folder in which each guard creates a cgroup.
    groups: Option<PathBuf>,
    /// The state folder and the run, as part of a cgroup name.
    owner: Option<String>,
    /// The number of cgroups named so far.
    made: AtomicU32,
}

/// The guarantee that a containment gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContainmentLevel {
    /// Every descendant is known to its guard, and all are killed atomically.
    GuardAndGroup,
    /// Every descendant is known to its guard.
    Guard,
    /// Only the process group is known: processes that leave it are out of reach.
    ProcessGroup,
}

impl ContainmentLevel {
    /// A short name, for the journal and `doctor`.
    pub fn name(self) -> &'static str {
        match self {
            Self::GuardAndGroup => "guard and cgroup",
            Self::Guard => "guard",
            Self::ProcessGroup => "process group",
        }
    }

    /// One sentence that explains the guarantee, for `doctor`.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::GuardAndGroup => "kills every process that the agent starts, atomically (cgroup)",
            Self::Guard => "kills every process that the agent starts",
            Self::ProcessGroup => {
                "processes that leave the agent's group can survive it on this system"
            }
        }
    }
}

impl Containment {
    /// Returns the best containment of this machine, with nightwright itself as the guard. `lock`
    /// belongs to the run.
    pub fn choose(lock: Option<PathBuf>) -> Self {
        Self::with_guard(own_program(), lock, groups_folder())
    }

    /// Like [`Containment::choose`], for a run: the state folder and run ID identify processes left
    /// by a crash.
    pub fn of_run(lock: PathBuf, state: &Path, run: &RunId) -> Self {
        let owner = Some(format!("{}.{run}", tag(state)));
        let made = AtomicU32::new(0);
        let (guard, groups) = (own_program(), groups_folder());
        Self { inner: Arc::new(ContainmentInner { guard, lock: Some(lock), groups, owner, made }) }
    }

    /// With this binary as guard, and a control group for each child in the folder `groups`.
    pub fn with_guard(guard: PathBuf, lock: Option<PathBuf>, groups: Option<PathBuf>) -> Self {
        let made = AtomicU32::new(0);
        Self { inner: Arc::new(ContainmentInner { guard, lock, groups, owner: None, made }) }
    }

    pub fn level(&self) -> ContainmentLevel {
        if !process_table::is_there() {
            ContainmentLevel::ProcessGroup
        } else if self.inner.groups.is_some() {
            ContainmentLevel::GuardAndGroup
        } else {
            ContainmentLevel::Guard
        }
    }

    pub(super) fn guard(&self) -> &Path {
        &self.inner.guard
    }

    /// Fills in the fields of the order that depend on the containment.
    pub(super) fn fill(&self, order: &mut GuardOrder) {
        order.lock = self.inner.lock.clone().unwrap_or_default();
        if let Some(folder) = &self.inner.groups {
            let number = self.inner.made.fetch_add(1, Ordering::Relaxed);
            let mut name = format!("{PREFIX}{}-{}-{number}", number_space(), std::process::id());
            if let Some(owner) = &self.inner.owner {
                name.push('.');
                name.push_str(owner);
            }
            order.group = folder.join(name);
        }
    }
}

/// The path of the running program, valid even if its file has been replaced since the start.
pub fn own_program() -> PathBuf {
    let itself = Path::new("/proc/self/exe");
    if itself.exists() {
        return itself.to_owned();
    }
    // Most likely the name by which the program was started.
    env::current_exe().unwrap_or_else(|_| "nightwright".into())
}

/// The cgroup of this process, if it can contain new cgroups.
pub fn groups_folder() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let member = fs::read_to_string("/proc/self/cgroup").ok()?;
    let folder = own_group(&mounts, &member)?;
    is_usable(&folder).then_some(folder)
}

/// The PID namespace of this process: in a container, the same number is another process.
pub(super) fn number_space() -> String {
    let space = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    space.to_string_lossy().chars().filter(char::is_ascii_digit).collect()
}

/// The process that created the cgroup of this name, if its process ID is valid in this namespace.
pub(super) fn maker_of(name: &str, space: &str) -> Option<i32> {
    let mut parts = name.strip_prefix(PREFIX)?.split('-');
    (parts.next()? == space && !space.is_empty()).then(|| parts.next()?.parse().ok())?
}

/// The run that the cgroup of this name was created for, if it belongs to this state folder.
pub(super) fn run_of<'a>(name: &'a str, state: &Path) -> Option<&'a str> {
    let (_, owner) = name.split_once('.')?;
    let (found, run) = owner.split_once('.')?;
    (found == tag(state)).then_some(run)
}

/// The tag of a state folder in the name of a cgroup.
fn tag(state: &Path) -> String {
    let real = state.canonicalize();
    let path = real.as_deref().unwrap_or(state);
    let hash = digest(&SHA256, path.as_os_str().as_bytes());
    let first_four =
        hash.as_ref().iter().take(4).fold(0u32, |all, byte| all << 8 | u32::from(*byte));
    format!("{first_four:08x}")
}

/// The mount path of the cgroup of this process, from the kernel's two lists.
fn own_group(mounts: &str, member: &str) -> Option<PathBuf> {
    let path = member.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let mount = mounts.lines().find_map(|line| {
        // 36 35 98:0 /root /mount/point options - type source options
        let (before, after) = line.split_once(" - ")?;
        let mut fields = before.split(' ').skip(3);
        let (root, point) = (fields.next()?, fields.next()?);
        // A mount that shows only part of the hierarchy does not reveal the path of this process.
        let whole = after.split(' ').next() == Some("cgroup2") && root == "/";
        whole.then(|| PathBuf::from(point))
    })?;
    Some(mount.join(path))
}

/// Whether the folder is a cgroup, and a new cgroup in it can be killed. Being able to create a
/// folder proves nothing.
fn is_usable(folder: &Path) -> bool {
    /// The constant `CGROUP2_SUPER_MAGIC` of the kernel.
    const MAGIC: u64 = 0x6367_7270;
    static TRIALS: AtomicU32 = AtomicU32::new(0);
    let kind = rustix::fs::statfs(folder).map(|facts| facts.f_type);
    if !kind.is_ok_and(|kind| u64::try_from(kind) == Ok(MAGIC)) {
        return false;
    }
    let number = TRIALS.fetch_add(1, Ordering::Relaxed);
    let name = format!("{PREFIX}{}-{}-trial{number}", number_space(), std::process::id());
    let trial = folder.join(name);
    let made = fs::create_dir(&trial).is_ok();
    let usable = made && trial.join(super::guard::KILL).exists() && {
        // Permission to create a cgroup does not include permission to move processes into it.
        fs::OpenOptions::new().write(true).open(trial.join("cgroup.procs")).is_ok()
            && fs::OpenOptions::new().write(true).open(folder.join("cgroup.procs")).is_ok()
    };
    if made {
        // A leftover is empty, and is removed with the stale cgroups.
        let _ = fs::remove_dir(&trial);
    }
    usable
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIXED: &str = "\
25 20 0:22 / /sys/fs/cgroup ro,nosuid - tmpfs tmpfs ro,mode=755
26 25 0:23 / /sys/fs/cgroup/unified rw,nosuid shared:2 - cgroup2 cgroup2 rw
27 25 0:24 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory";

    #[test]
    fn the_own_cgroup_is_found_at_its_mount_point() {
        let own = own_group(MIXED, "4:memory:/x\n0::/user.slice/a.scope\n");
        assert_eq!(own, Some("/sys/fs/cgroup/unified/user.slice/a.scope".into()));
        assert_eq!(own_group(MIXED, "0::/\n"), Some("/sys/fs/cgroup/unified/".into()));
    }

    #[test]
    fn without_the_new_kind_of_groups_there_is_none() {
        assert_eq!(own_group(MIXED, "4:memory:/x\n"), None);
        let old = "27 25 0:24 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory";
        assert_eq!(own_group(old, "0::/\n"), None);
        let part = "26 25 0:23 /../.. /sys/fs/cgroup rw - cgroup2 cgroup2 rw";
        assert_eq!(own_group(part, "0::/\n"), None);
        assert_eq!(own_group("", ""), None);
    }

    #[test]
    fn a_group_of_another_space_of_process_numbers_is_nobodys() {
        assert_eq!(maker_of("nightwright-4026-77-3", "4026"), Some(77));
        assert_eq!(maker_of("nightwright-4027-77-3", "4026"), None);
        assert_eq!(maker_of("nightwright--77-3", ""), None);
        assert_eq!(maker_of("nightwright-4026-77-trial0", "4026"), Some(77));
        assert_eq!(maker_of("nightwright-77-trial", "4026"), None);
        assert_eq!(maker_of("user.slice", "4026"), None);
    }

    #[test]
    fn a_group_is_known_by_its_state_folder_and_its_run() {
        let (here, elsewhere) = (Path::new("/state"), Path::new("/other"));
        let name = format!("nightwright-4026-77-3.{}.20261115-233412-7f3a", tag(here));
        assert_eq!(maker_of(&name, "4026"), Some(77));
        assert_eq!(run_of(&name, here), Some("20261115-233412-7f3a"));
        assert_eq!(run_of(&name, elsewhere), None);
        assert_eq!(run_of("nightwright-4026-77-3", here), None);
    }

    #[test]
    fn a_folder_that_can_be_made_is_no_group() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!is_usable(folder.path()));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

//! Free disk space, and the minimum to keep free.

use std::io;
use std::path::Path;

use nightwright_core::input::Disk;

/// The maximum of the floor, for large disks.
const MAX_FLOOR: u64 = 1 << 30;

/// Returns the disk with the least space above its floor, among those that hold these folders. The
/// floor is 2 % of the disk, at most 1 GiB.
pub fn space<'a>(folders: impl IntoIterator<Item = &'a Path>) -> Option<Disk> {
    let disks = folders.into_iter().filter_map(|folder| disk_of(folder).ok());
    disks.min_by_key(|disk| disk.free.saturating_sub(disk.floor))
}

fn disk_of(folder: &Path) -> io::Result<Disk> {
    let facts = rustix::fs::statvfs(folder)?;
    let free = facts.f_bavail.saturating_mul(facts.f_frsize);
    let total = facts.f_blocks.saturating_mul(facts.f_frsize);
    Ok(Disk { free, floor: (total / 50).min(MAX_FLOOR) })
}

//! Free space.

use std::io;
use std::path::Path;

use nightwright_core::input::Disk;

/// No disk needs more than this free.
const FLOOR_MAX: u64 = 1 << 30;

/// The tighter of the disks that hold these folders. The floor is the smaller of 1 GiB and 2 %.
pub fn space<'a>(folders: impl IntoIterator<Item = &'a Path>) -> Option<Disk> {
    let disks = folders.into_iter().filter_map(|folder| disk_of(folder).ok());
    disks.min_by_key(|disk| disk.free.saturating_sub(disk.floor))
}

fn disk_of(folder: &Path) -> io::Result<Disk> {
    let facts = rustix::fs::statvfs(folder)?;
    let free = facts.f_bavail.saturating_mul(facts.f_frsize);
    let total = facts.f_blocks.saturating_mul(facts.f_frsize);
    Ok(Disk { free, floor: (total / 50).min(FLOOR_MAX) })
}

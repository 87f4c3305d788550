//! Groups whose maker is dead and whose guard was killed too. What is in them may have wiped the
//! mark by which orphans are found otherwise.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Pid;

use super::containment::{groups_folder, maker_of, number_space};
use super::guard::{self, KILL, MEMBERS};
use super::table::{self, Process};

/// How long the killed may take to be gone.
const GONE: Duration = Duration::from_secs(2);
/// How often that is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// Kills whoever is in such a group, and removes it. Says how many there were.
pub fn end_left_over() -> usize {
    let Some(entries) = groups_folder().and_then(|folder| fs::read_dir(folder).ok()) else {
        return 0;
    };
    let space = number_space();
    let is_left = |name: &str| {
        let maker = maker_of(name, &space).and_then(Pid::from_raw);
        maker.is_some_and(|maker| table::Stat::of(maker).is_none())
    };
    let left = entries.flatten().filter(|entry| entry.file_name().to_str().is_some_and(is_left));
    left.map(|entry| end(&entry.path())).sum()
}

fn end(group: &Path) -> usize {
    let members = members(group);
    if !members.is_disjoint(&guarded(&table::all())) {
        // They have a guard, which is ending them at this moment, and more politely.
        return 0;
    }
    if !members.is_empty() {
        // Fails only if the group is gone, and everybody in it with it.
        let _ = fs::write(group.join(KILL), "1");
    }
    let begin = Instant::now();
    while fs::remove_dir(group).is_err() && group.exists() && begin.elapsed() < GONE {
        thread::sleep(LOOK);
    }
    members.len()
}

fn members(group: &Path) -> BTreeSet<i32> {
    let list = fs::read_to_string(group.join(MEMBERS)).unwrap_or_default();
    list.lines().filter_map(|number| number.parse().ok()).collect()
}

/// Everybody below a guard, whoever it works for.
fn guarded(all: &[Process]) -> BTreeSet<i32> {
    let number = |process: &Process| process.pid.as_raw_nonzero().get();
    let is_guard = |process: &&Process| {
        let words = fs::read(format!("/proc/{}/cmdline", number(process))).unwrap_or_default();
        words.split(|&byte| byte == 0).next() == Some(guard::NAME.as_bytes())
    };
    let guards = all.iter().filter(is_guard).map(number).collect();
    table::below(all, &guards).iter().map(number).collect()
}

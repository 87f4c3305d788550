//! A control group that allows no subgroups: processes in it run as on a machine without control
//! groups.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nightwright::process::groups_folder;

/// The time that the last process may take to exit.
const LEAVING: Duration = Duration::from_secs(5);

/// Gone when it is dropped.
pub(super) struct Cell {
    folder: PathBuf,
}

impl Cell {
    /// `None` where there are no groups anyway.
    pub(super) fn make() -> Option<Self> {
        let folder = groups_folder()?.join(format!("nightwright-test-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let cell = Self { folder };
        fs::write(cell.folder.join("cgroup.max.descendants"), "0").unwrap();
        Some(cell)
    }

    /// The same command, started inside.
    pub(super) fn inside(&self, command: &Command) -> Command {
        let mut outer = Command::new("/bin/sh");
        outer
            .args(["-c", "echo 0 >\"$0/cgroup.procs\" && exec \"$@\""])
            .arg(&self.folder)
            .arg(command.get_program())
            .args(command.get_args())
            .env_clear()
            .envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))))
            .stdin(Stdio::null());
        if let Some(folder) = command.get_current_dir() {
            outer.current_dir(folder);
        }
        outer
    }
}

impl Drop for Cell {
    fn drop(&mut self) {
        let begun = Instant::now();
        while fs::remove_dir(&self.folder).is_err() && begun.elapsed() < LEAVING {
            thread::sleep(Duration::from_millis(20));
        }
    }
}

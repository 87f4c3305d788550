//! The state of the files in a private git folder, to notice that another process changed them.
//!
//! The agent is the same user, so it can write to the folder. A configuration with a filter would
//! make git run its program, and a changed index would hide its work. No content is read: an
//! ordinary process cannot choose the change time of a file.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The files that nothing changes after the folder was made. Some of them must not exist.
const FIXED: [&str; 14] = [
    "HEAD",
    "config",
    "config.worktree",
    "commondir",
    "hooks",
    "links",
    "place",
    "shallow",
    "info/attributes",
    "info/exclude",
    "info/grafts",
    "info/sparse-checkout",
    "objects/info/alternates",
    "objects/pack",
];
/// The file that git itself updates.
const INDEX: &str = "index";
/// The lock of the index.
const LOCK: &str = "index.lock";

/// The identity of a file and its last change; `None` if there is none.
type FileState = Option<(u64, u64, u64, i64, i64)>;

/// The known state of a private git folder.
#[derive(Debug)]
pub(super) struct PrivateFacts {
    folder: PathBuf,
    fixed: [FileState; FIXED.len()],
    /// The state of the index after the last command.
    index: FileState,
}

/// How a git command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommandEnd {
    Exited,
    /// It did not start, or was killed because it exceeded a limit.
    Killed,
}

impl PrivateFacts {
    pub(super) fn of(folder: &Path) -> Self {
        let fixed = FIXED.map(|name| state(&folder.join(name)));
        Self { folder: folder.to_owned(), fixed, index: state(&folder.join(INDEX)) }
    }

    /// Whether the folder is as the last command left it.
    pub(super) fn hold(&self) -> bool {
        let now = Self::of(&self.folder);
        self.fixed == now.fixed && self.index == now.index
    }

    /// Notes the changes of a command. A killed one leaves the old index or the new one, because git
    /// renames it into place, and perhaps a lock, which would prevent later updates.
    pub(super) fn command_ended(&mut self, end: CommandEnd) {
        if end == CommandEnd::Killed {
            // Usually there is none.
            let _ = fs::remove_file(self.folder.join(LOCK));
        }
        self.index = state(&self.folder.join(INDEX));
    }
}

fn state(path: &Path) -> FileState {
    let found = fs::symlink_metadata(path).ok()?;
    Some((found.dev(), found.ino(), found.len(), found.ctime(), found.ctime_nsec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_change_by_another_process_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["info", "objects", "objects/info", "objects/pack"] {
            fs::create_dir(path(name)).unwrap();
        }
        for name in ["HEAD", "config", "index"] {
            fs::write(path(name), "x").unwrap();
        }
        for name in ["config", "commondir", "info/exclude", "index"] {
            let facts = PrivateFacts::of(folder.path());
            assert!(facts.hold());
            // The new time of the change may equal the old one, but the length differs.
            fs::write(path(name), "more than before").unwrap();
            assert!(!facts.hold(), "{name}");
            fs::remove_file(path(name)).unwrap();
            fs::write(path("config"), "x").unwrap();
        }
    }

    #[test]
    fn a_command_may_change_the_index_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("config"), "x").unwrap();
        let mut facts = PrivateFacts::of(folder.path());
        fs::write(folder.path().join("index"), "x").unwrap();
        facts.command_ended(CommandEnd::Exited);
        assert!(facts.hold());
        fs::write(folder.path().join("index"), "longer").unwrap();
        fs::write(folder.path().join("index.lock"), "").unwrap();
        facts.command_ended(CommandEnd::Killed);
        assert!(facts.hold(), "nobody else changed anything");
        assert!(!folder.path().join("index.lock").exists());
        for end in [CommandEnd::Exited, CommandEnd::Killed] {
            fs::write(folder.path().join("config"), format!("{end:?}")).unwrap();
            facts.command_ended(end);
            assert!(!facts.hold());
        }
    }
}

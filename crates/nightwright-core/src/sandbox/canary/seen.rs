//! The facts that the canary sees about itself, and the required ones.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Outside;
use crate::sandbox::mounts::{Access, Content, Mount};

/// Namespaces that must not be those of nightwright. The one for control groups is missing: bwrap
/// creates it only where the kernel allows it.
const OWN_NAMESPACES: &[&str] = &["user", "mnt", "pid", "ipc", "uts"];
/// The capabilities of a process, in its `/proc/PID/status`.
const CAPABILITIES: &[&str] = &["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"];

/// A mount in the table of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SeenMount {
    ReadOnly,
    ReadWrite,
}

/// Facts about the process of the canary.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sights {
    /// The mounts by their places. The last one at a place counts.
    pub mounts: BTreeMap<PathBuf, SeenMount>,
    /// The lines of `/proc/self/status`, by their names.
    pub status: BTreeMap<String, String>,
    /// The namespaces, by name.
    pub namespaces: BTreeMap<String, String>,
    /// Whether the leader of its session is inside.
    pub has_own_session: bool,
    /// Whether the kernel kills it when its parent exits.
    pub dies_with_parent: bool,
    /// The number of open descriptors besides the three standard ones.
    pub extra_descriptors: usize,
    pub directory: PathBuf,
}

impl Sights {
    /// The differences from what must be, in words.
    pub(super) fn differences(&self, outside: &Outside<'_>) -> Vec<String> {
        let mut found = self.of_process(outside);
        if self.mounts.get(Path::new("/")) != Some(&SeenMount::ReadOnly) {
            found.push("the root folder is writable inside".to_owned());
        }
        for (place, mount) in &outside.plan.mounts {
            found.extend(self.of_mount(place, mount));
        }
        found
    }

    fn of_mount(&self, place: &Path, mount: &Mount) -> Option<String> {
        if matches!(mount.content, Content::Link { .. }) {
            return None;
        }
        let shown = place.display();
        let wanted = match mount.access() {
            Access::ReadOnly => SeenMount::ReadOnly,
            Access::ReadWrite => SeenMount::ReadWrite,
        };
        match self.mounts.get(place) {
            None => Some(format!("nothing is mounted at `{shown}`")),
            Some(SeenMount::ReadWrite) if wanted == SeenMount::ReadOnly => {
                Some(format!("`{shown}` is not read-only inside"))
            }
            // A file system of the machine may be read-only itself.
            Some(_) => None,
        }
    }

    fn of_process(&self, outside: &Outside<'_>) -> Vec<String> {
        let mut found = Vec::new();
        let network = outside.has_network.then_some(&"net");
        for name in OWN_NAMESPACES.iter().chain(network) {
            let theirs = self.namespaces.get(*name);
            if theirs.is_none() || theirs == outside.namespaces.get(*name) {
                found.push(format!("the sandbox shares the {name} namespace of this machine"));
            }
        }
        for name in CAPABILITIES {
            let none = self.status.get(*name).is_some_and(|set| set.trim_matches('0').is_empty());
            if !none {
                found.push(format!("programs inside have capabilities ({name})"));
            }
        }
        if self.status.get("NoNewPrivs").map(String::as_str) != Some("1") {
            found.push("programs inside can gain privileges".to_owned());
        }
        if !self.has_own_session {
            found.push("programs inside share the session of the terminal".to_owned());
        }
        if !self.dies_with_parent {
            found.push("programs inside survive the end of the sandbox".to_owned());
        }
        if self.extra_descriptors > 0 {
            let count = self.extra_descriptors;
            found.push(format!("programs inside inherit {count} open files"));
        }
        if self.directory != outside.directory {
            found.push(format!("programs inside start in `{}`", self.directory.display()));
        }
        found
    }
}

/// Reads the table of mounts in `/proc/self/mountinfo`.
pub fn parse_mounts(text: &str) -> BTreeMap<PathBuf, SeenMount> {
    let mut mounts = BTreeMap::new();
    for line in text.lines() {
        // 36 35 98:0 /root /mount/point options - type source options
        let mut fields = line.split(' ').skip(4);
        let (Some(place), Some(options)) = (fields.next(), fields.next()) else { continue };
        let is_read_only = options.split(',').any(|option| option == "ro");
        let seen = if is_read_only { SeenMount::ReadOnly } else { SeenMount::ReadWrite };
        mounts.insert(PathBuf::from(unescaped(place)), seen);
    }
    mounts
}

/// Replaces the octal escapes of spaces, tabs, newlines and backslashes.
fn unescaped(text: &str) -> String {
    let mut plain = text.to_owned();
    for (escape, letter) in [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")] {
        plain = plain.replace(escape, letter);
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_mounts_says_what_is_read_only() {
        let text = "65 42 0:40 /newroot / ro,nosuid - tmpfs tmpfs rw\n\
                    66 65 254:0 /x /a\\040b rw,nosuid - ext4 /dev/vda rw\n\
                    67 66 254:0 /x /a\\040b ro - ext4 /dev/vda rw\n\nbroken\n";
        let expected = [("/", SeenMount::ReadOnly), ("/a b", SeenMount::ReadOnly)];
        let expected: BTreeMap<_, _> =
            expected.into_iter().map(|(place, seen)| (PathBuf::from(place), seen)).collect();
        assert_eq!(parse_mounts(text), expected);
    }
}

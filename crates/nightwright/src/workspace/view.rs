//! The project as git sees it: what differs from the commit at which the run began.
//!
//! ```text
//!   base ──────────────── `git status` in our own folder: one process ───────▶ the files as they are
//!   base ──── commits of the run ────▶ head
//!        `drift`: folded from the log, one process when head has moved
//! ```
//!
//! Which files differ does not depend on what is committed, so that one state of the files has one
//! description. The drift says what is committed, and how many commits that took.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ring::digest::{Context, SHA256};

use super::git::GitError;
use super::identity::{Identity, IdentityCache, ObjectFormat, REPOSITORY};
use super::private::{PrivateGit, checked_out};
use super::rules::{WalkEntry, WorkRules};
use super::status::{self, GitStatus, LOG_FORMAT, LoggedCommit, MovedFile, TrackedFile};
use super::{CommitState, FileOrigin, Snapshot, SnapshotItem, SnapshotKind, hash_item};
use crate::hex::hex;

/// Commits that are remembered to count from.
const PASSED: usize = 10_000;
/// Commits that are counted in a run.
const COUNTED: usize = 1_000_000;

/// The names of a tree with nothing in it.
const EMPTY_TREE: [(ObjectFormat, &str); 2] = [
    (ObjectFormat::Sha1, "4b825dc642cb6eb9a060e54bf8d69288fbee4904"),
    (ObjectFormat::Sha256, "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"),
];

/// What is known of a repository.
#[derive(Debug)]
pub(super) struct GitView {
    pub(super) private: PrivateGit,
    head: Option<String>,
    /// Files that differ between base and head, with both sides.
    drift: BTreeMap<PathBuf, IdentityPair>,
    /// Where the head has been, and how many commits had been made by then.
    passed: Vec<(Option<String>, u32)>,
    /// Commits that were counted: whoever goes back to one makes none.
    counted: HashSet<String>,
}

type IdentityPair = (Option<Identity>, Option<Identity>);

impl GitView {
    /// Begins to look at a repository.
    pub(super) fn open(private: PrivateGit) -> Result<Self, GitError> {
        // Work must never be invisible, and what is ignored is.
        let is_inside = private.repository.inside != Path::new("");
        if is_inside && private.git.succeeds(&["check-ignore", "--quiet", "--", "."])? {
            return Err(GitError::Ignored);
        }
        let base = private.base.clone();
        Ok(Self {
            private,
            head: base.clone(),
            drift: BTreeMap::new(),
            counted: base.iter().cloned().collect(),
            passed: vec![(base, 0)],
        })
    }

    pub(super) fn format(&self) -> ObjectFormat {
        self.private.format
    }

    /// The commit at which the run began.
    pub(super) fn base(&self) -> Option<&str> {
        self.private.base.as_deref()
    }

    /// Whether a file was added in a commit of the run.
    pub(super) fn is_committed(&self, path: &Path) -> bool {
        self.drift.get(path).is_some_and(|(_, head)| head.is_some())
    }

    /// Commits made since the head was at `commit`, as far as that is known.
    pub(super) fn commits_since(&self, commit: Option<&str>) -> u32 {
        let now = self.passed.last().map_or(0, |(_, count)| *count);
        let then = self.passed.iter().rev().find(|(head, _)| head.as_deref() == commit);
        then.map_or(0, |(_, count)| now - count)
    }

    /// The project as it is now.
    pub(super) fn look(
        &mut self,
        rules: &WorkRules,
        identities: &mut IdentityCache,
    ) -> Result<Snapshot, GitError> {
        let output = self.private.git.run([
            "status",
            "--porcelain=v2",
            "-z",
            "--untracked-files=all",
            "--no-renames",
            // Git would run one more of itself in each, by their configuration. They are walked.
            "--ignore-submodules=all",
            "--",
            ".",
        ])?;
        let status = status::status(&output)?;
        drop(output);
        // A repository that is gone or broken says nothing new; the files are known without it.
        let _ = self.follow();
        Ok(self.assemble(status, rules, identities))
    }

    /// Brings the drift up to what is checked out.
    fn follow(&mut self) -> Result<(), GitError> {
        let repository = &self.private.repository;
        if !repository.folder.join("HEAD").exists() {
            return Ok(());
        }
        let head = checked_out(repository)?;
        if self.head == head {
            return Ok(());
        }
        let commits = match &head {
            Some(new) => self.log(self.head.as_deref(), new)?,
            None => Vec::new(),
        };
        if leads(&commits, self.head.as_deref(), head.as_deref()) {
            for commit in commits.iter().rev() {
                self.fold(&commit.moved);
                self.pass(Some(&commit.id), [commit]);
            }
        } else {
            self.drift = self.differences(head.as_deref())?;
            self.pass(head.as_deref(), &commits);
        }
        self.head = head;
        Ok(())
    }

    fn pass<'a>(
        &mut self,
        head: Option<&str>,
        commits: impl IntoIterator<Item = &'a LoggedCommit>,
    ) {
        let mut count = self.passed.last().map_or(0, |(_, count)| *count);
        let inside = &self.private.repository.inside;
        // A commit elsewhere in the repository is not one of this project's.
        let is_ours = |commit: &&LoggedCommit| {
            *inside == *Path::new("")
                || commit.moved.iter().any(|moved| moved.path.starts_with(inside))
        };
        for commit in commits.into_iter().filter(is_ours) {
            if self.counted.len() < COUNTED && self.counted.insert(commit.id.clone()) {
                count += 1;
            }
        }
        self.passed.push((head.map(str::to_owned), count));
        if self.passed.len() > 2 * PASSED {
            self.passed.drain(..PASSED);
        }
    }

    /// The commits between two heads, the newest first. Too many of them are as good as none.
    fn log(&self, old: Option<&str>, new: &str) -> Result<Vec<LoggedCommit>, GitError> {
        let range = old.map_or_else(|| new.to_owned(), |old| format!("{old}..{new}"));
        let output = self.private.git.run([
            "log",
            "-z",
            "--raw",
            "--no-abbrev",
            "--no-renames",
            "--no-color",
            "--no-decorate",
            "--no-notes",
            "--no-mailmap",
            "--no-ext-diff",
            "--no-textconv",
            "--ignore-submodules=dirty",
            "--first-parent",
            "--diff-merges=first-parent",
            LOG_FORMAT,
            "--end-of-options",
            &range,
            "--",
        ]);
        match output {
            Ok(output) => status::log(&output),
            // The old commit is gone, or there is no end to the list: the trees say the rest.
            Err(GitError::TooMuch | GitError::Failed(_)) => Ok(Vec::new()),
            Err(trouble) => Err(trouble),
        }
    }

    fn fold(&mut self, moved: &[MovedFile]) {
        for MovedFile { path, old, new } in moved {
            let Ok(path) = path.strip_prefix(&self.private.repository.inside) else { continue };
            let sides = self.drift.entry(path.to_owned());
            let sides = sides.or_insert_with(|| (old.clone(), old.clone()));
            sides.1.clone_from(new);
            if sides.0 == sides.1 {
                self.drift.remove(path);
            }
        }
    }

    /// What differs between the base and a head that the run did not come to by commits.
    fn differences(&self, head: Option<&str>) -> Result<BTreeMap<PathBuf, IdentityPair>, GitError> {
        let empty = EMPTY_TREE.iter().find(|(format, _)| *format == self.private.format);
        let empty = empty.map_or("", |(_, name)| name);
        let output = self.private.git.run([
            "diff-tree",
            "-r",
            "-z",
            "--raw",
            "--no-abbrev",
            "--no-renames",
            "--no-ext-diff",
            "--no-textconv",
            "--end-of-options",
            self.base().unwrap_or(empty),
            head.unwrap_or(empty),
        ])?;
        let moves = status::moves(&output)?.into_iter();
        let inside = moves.filter_map(|moved| {
            let path = moved.path.strip_prefix(&self.private.repository.inside).ok()?;
            Some((path.to_owned(), (moved.old, moved.new)))
        });
        Ok(inside.collect())
    }

    fn assemble(
        &self,
        status: GitStatus,
        rules: &WorkRules,
        identities: &mut IdentityCache,
    ) -> Snapshot {
        let mut sight = SnapshotBuilder {
            inside: &self.private.repository.inside,
            // Git does not look into what it knows as other repositories, whatever is there now.
            inner: self.private.repository.inner(&self.private.links, rules),
            snapshot: Snapshot::default(),
            files: BTreeMap::new(),
            rules,
            identities,
        };
        for file in status.tracked {
            sight.add_tracked(file);
        }
        for path in status.untracked {
            sight.add_untracked(&path);
        }
        sight.add_committed(&self.drift);
        let SnapshotBuilder { mut snapshot, mut files, inner, .. } = sight;
        files.retain(|_, item| match &mut item.origin {
            FileOrigin::Commit(base) => settle(base, &mut item.now),
            FileOrigin::Start => true,
        });
        files.retain(|path, _| !rules.is_counted(path));
        snapshot.files = Arc::new(files);
        for folder in inner {
            snapshot.add(rules.walk(&folder), rules, identities, &FileOrigin::Start);
        }
        snapshot.add(rules.counted(), rules, identities, &FileOrigin::Start);
        snapshot.kind = SnapshotKind::Git(CommitState {
            base: self.base().map(str::to_owned),
            head: self.head.clone(),
            tree: self.tree(rules),
        });
        snapshot
    }

    /// The identity of what is committed and counts.
    fn tree(&self, rules: &WorkRules) -> String {
        let mut hasher = Context::new(&SHA256);
        hasher.update(self.base().unwrap_or_default().as_bytes());
        let counts = |path: &Path| rules.counts(path) && !rules.is_output(path);
        for (path, (_, head)) in self.drift.iter().filter(|(path, _)| counts(path)) {
            hash_item(&mut hasher, path, head.as_ref());
        }
        hex(&hasher.finish().as_ref()[..16])
    }
}

/// A snapshot in the making.
struct SnapshotBuilder<'a> {
    /// Where in the repository the project is.
    inside: &'a Path,
    /// Other repositories, which are walked.
    inner: BTreeSet<PathBuf>,
    snapshot: Snapshot,
    files: BTreeMap<PathBuf, SnapshotItem>,
    rules: &'a WorkRules,
    identities: &'a mut IdentityCache,
}

impl SnapshotBuilder<'_> {
    fn add_tracked(&mut self, file: TrackedFile) {
        let Ok(path) = file.path.strip_prefix(self.inside) else { return };
        if !self.rules.counts(path) {
            return;
        }
        let mut now = self.snapshot.identify(path, self.rules, self.identities);
        if let Some(now) = &mut now
            && now.mode | 0o111 == file.mode | 0o111
        {
            // Git knows better where the file system has no such bit.
            now.mode = file.mode;
        }
        if file.mode == REPOSITORY {
            self.inner.insert(path.to_owned());
            now = None;
        }
        self.files
            .insert(path.to_owned(), SnapshotItem { origin: FileOrigin::Commit(file.head), now });
    }

    fn add_untracked(&mut self, path: &Path) {
        let is_folder = path.as_os_str().as_bytes().ends_with(b"/");
        let Ok(path) = path.strip_prefix(self.inside) else { return };
        if !self.rules.counts(path) {
            return;
        }
        if is_folder {
            self.inner.insert(path.to_owned());
            return;
        }
        let now = self.snapshot.identify(path, self.rules, self.identities);
        // One that was taken out of the index only is in the list of those that git knows too.
        let new = || SnapshotItem { origin: FileOrigin::Commit(None), now: None };
        self.files.entry(path.to_owned()).or_insert_with(new).now = now;
    }

    /// Adds what was committed since although it is ignored: it is the repository's now.
    fn add_committed(&mut self, drift: &BTreeMap<PathBuf, IdentityPair>) {
        for (path, (base, head)) in drift {
            let Some(head) = head else { continue };
            if base.is_some() || self.files.contains_key(path) || !self.rules.counts(path) {
                continue;
            }
            if head.mode == REPOSITORY {
                if self.rules.root.join(path).join(".git").exists() {
                    self.inner.insert(path.clone());
                }
                continue;
            }
            let now = self.snapshot.identify(path, self.rules, self.identities);
            self.files.insert(path.clone(), SnapshotItem { origin: FileOrigin::Commit(None), now });
        }
    }
}

/// Whether there is a difference between the two that counts. What another repository is at is
/// told by the files in it.
fn settle(base: &mut Option<Identity>, now: &mut Option<Identity>) -> bool {
    for side in [&mut *base, &mut *now] {
        if side.as_ref().is_some_and(|identity| identity.mode == REPOSITORY) {
            *side = None;
        }
    }
    base != now
}

/// Whether commits, the newest first, are the whole way from one head to another.
fn leads(commits: &[LoggedCommit], old: Option<&str>, new: Option<&str>) -> bool {
    let mut at = new;
    for commit in commits {
        if at != Some(commit.id.as_str()) {
            return false;
        }
        at = commit.parent.as_deref();
    }
    !commits.is_empty() && at == old
}

impl Snapshot {
    /// The identity of a file as it is on disk; what can't be read is noted.
    fn identify(
        &mut self,
        path: &Path,
        rules: &WorkRules,
        identities: &mut IdentityCache,
    ) -> Option<Identity> {
        match identities.of(&rules.root.join(path), path) {
            Ok(identity) => identity,
            Err(error) if is_gone(&error) => None,
            Err(error) => {
                self.unreadable.push(format!("{}: {error}", path.display()));
                // There is something, and nobody knows what.
                Some(Identity { mode: 0, id: Arc::default() })
            }
        }
    }

    /// Adds what a walk comes to, but nothing that is known already.
    pub(super) fn add(
        &mut self,
        walk: impl Iterator<Item = WalkEntry>,
        rules: &WorkRules,
        identities: &mut IdentityCache,
        origin: &FileOrigin,
    ) {
        let files = Arc::make_mut(&mut self.files);
        for entry in walk {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    self.unreadable.push(error.to_string());
                    continue;
                }
            };
            let Ok(path) = entry.path().strip_prefix(&rules.root) else { continue };
            let is_file = entry.file_type().is_some_and(|kind| !kind.is_dir());
            if !is_file || rules.left_out.iter().any(|out| path.starts_with(out)) {
                continue;
            }
            match identities.of(entry.path(), path) {
                Ok(Some(identity)) => {
                    let item = SnapshotItem { origin: origin.clone(), now: Some(identity) };
                    files.entry(path.to_owned()).or_insert(item);
                }
                Ok(None) => {}
                // Gone between the listing and the reading: then it is not there.
                Err(error) if is_gone(&error) => {}
                Err(error) => self.unreadable.push(format!("{}: {error}", path.display())),
            }
        }
    }
}

fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

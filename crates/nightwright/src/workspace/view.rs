//! The state of the project according to git: the differences from the commit at the start of the
//! run.
//!
//! ```text
//!   base ──────────────── `git status` in the private folder: one process ────▶ the current files
//!   base ──── commits of the run ────▶ head
//!        `drift`: folded from the log, one process when head has moved
//! ```
//!
//! The list of differing files does not depend on new commits, so that one state of the files has
//! one description. The drift describes the commits of the run and their number.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ring::digest::{Context, SHA256};

use super::git::{GitError, GitTimeout};
use super::git_output::{self, GitStatus, LOG_FORMAT, LoggedCommit, MovedFile, TrackedFile};
use super::identity::{Identity, IdentityCache, ObjectFormat, REPOSITORY};
use super::private::{PrivateGit, checked_out};
use super::rules::{WalkEntry, WorkRules};
use super::{CommitState, FileOrigin, Snapshot, SnapshotItem, SnapshotKind, hash_item};
use crate::hex::hex;

/// Maximum number of positions of HEAD that are remembered.
const PASSED: usize = 10_000;
/// Maximum number of commits that are counted in a run.
const COUNTED: usize = 1_000_000;

/// The names of the empty tree.
const EMPTY_TREE: [(ObjectFormat, &str); 2] = [
    (ObjectFormat::Sha1, "4b825dc642cb6eb9a060e54bf8d69288fbee4904"),
    (ObjectFormat::Sha256, "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"),
];

/// The known state of a repository.
#[derive(Debug)]
pub(super) struct GitView {
    pub(super) private: PrivateGit,
    head: Option<String>,
    /// Files that differ between base and head, with both sides.
    drift: BTreeMap<PathBuf, IdentityPair>,
    /// The earlier positions of HEAD, with the number of commits at that time.
    passed: Vec<(Option<String>, u32)>,
    /// Commits that were counted, so that checking out an old one does not count again.
    counted: HashSet<String>,
    /// The command that was killed when the drift was last updated, if any.
    pub(super) timeout: Option<GitTimeout>,
}

type IdentityPair = (Option<Identity>, Option<Identity>);

impl GitView {
    /// Starts to track a repository.
    pub(super) fn open(private: PrivateGit) -> Result<Self, GitError> {
        // Work must never be invisible, and ignored files are.
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
            timeout: None,
        })
    }

    pub(super) fn format(&self) -> ObjectFormat {
        self.private.format
    }

    /// Returns the commit at the start of the run.
    pub(super) fn base(&self) -> Option<&str> {
        self.private.base.as_deref()
    }

    /// Whether a commit of the run added the file.
    pub(super) fn is_committed(&self, path: &Path) -> bool {
        self.drift.get(path).is_some_and(|(_, head)| head.is_some())
    }

    /// Returns the number of commits since HEAD was at `commit`, if that is known.
    pub(super) fn commits_since(&self, commit: Option<&str>) -> u32 {
        let now = self.passed.last().map_or(0, |(_, count)| *count);
        let then = self.passed.iter().rev().find(|(head, _)| head.as_deref() == commit);
        then.map_or(0, |(_, count)| now - count)
    }

    /// Takes a snapshot of the project.
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
            // Git would start another process in each submodule, with its configuration. They are
            // walked instead.
            "--ignore-submodules=all",
            "--",
            ".",
        ])?;
        let status = git_output::status(&output)?;
        drop(output);
        // A missing or broken repository adds nothing; the files are known without it.
        self.timeout = match self.follow() {
            Err(GitError::TimedOut(timeout)) => Some(timeout),
            Ok(()) | Err(_) => None,
        };
        Ok(self.assemble(status, rules, identities))
    }

    /// Updates the drift to the current HEAD.
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
        // A commit elsewhere in the repository does not belong to this project.
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

    /// Returns the commits between two heads, newest first; empty if there are too many.
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
            Ok(output) => git_output::log(&output),
            // The old commit is gone, or the list is too long: the trees are compared instead.
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

    /// Returns the differences between the base and a head that the run did not reach by commits.
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
        let moves = git_output::moves(&output)?.into_iter();
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
            // Git does not look into submodules, whatever they contain now.
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

    /// Returns the identity of the committed files that count as work.
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

/// A snapshot that is being built.
struct SnapshotBuilder<'a> {
    /// The path of the project in the repository.
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
            // If the file system has no executable bit, git knows the mode.
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
        // A file that was removed from the index only is also listed as tracked.
        let new = || SnapshotItem { origin: FileOrigin::Commit(None), now: None };
        self.files.entry(path.to_owned()).or_insert_with(new).now = now;
    }

    /// Adds files that were committed although they are ignored: they are tracked now.
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

/// Whether the two sides differ. The commit of a submodule is ignored: its files are compared
/// instead.
fn settle(base: &mut Option<Identity>, now: &mut Option<Identity>) -> bool {
    for side in [&mut *base, &mut *now] {
        if side.as_ref().is_some_and(|identity| identity.mode == REPOSITORY) {
            *side = None;
        }
    }
    base != now
}

/// Whether the commits, newest first, form the complete path from one head to another.
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
    /// Returns the identity of a file on disk; an unreadable file is recorded.
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
                // The file exists, but its content is unknown.
                Some(Identity { mode: 0, id: Arc::default() })
            }
        }
    }

    /// Adds the files of a walk that are not in the snapshot yet.
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
                // The file was removed after it was listed.
                Err(error) if is_gone(&error) => {}
                Err(error) => self.unreadable.push(format!("{}: {error}", path.display())),
            }
        }
    }
}

fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

//! The changes since the start of the run, with both sides of every file as far as they are known.
//!
//! The old side comes from the start tree or from the commit at the start of the run, the new side
//! from the disk. A file that cannot be compared any more is a separate finding, so that it does
//! not count as unchanged.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use nightwright_core::input::{InspectionTimeout, NotInspected, TamperFinding};
use nightwright_core::tamper::{self, FileDiff, FileSide};

use super::git::{Git, GitTimeout};
use super::identity::{self, IdentityCache, LINK};
use super::rules::is_configuration;
use super::start_tree::{StartTree, StartTreeEntry, StartTreeKind};
use super::{FileOrigin, Snapshot, SnapshotItem, SnapshotKind, Workspace, WorkspaceView};
use crate::config::without_secrets;
use crate::files;
use crate::hex::hex;
use crate::process::CapturedEnd;

/// Larger files are not read.
pub(super) const MAX_FILE: u64 = 1 << 20;
/// Maximum number of files whose sides are read.
const FILES: usize = 2_000;
/// Maximum total size of both sides.
const BYTES: u64 = 32 << 20;
/// Bytes at the start of a file that are searched for a NUL byte, as git does.
const BINARY: usize = 8_000;

impl Workspace {
    /// Records the files that git has no copy of, for the rest of the run. `snapshot` is the first
    /// one of the run.
    pub fn save_start_tree(&mut self, snapshot: &Snapshot, run_folder: &Path) -> io::Result<()> {
        let kind = match (&self.view, &snapshot.kind) {
            (WorkspaceView::Git(view), SnapshotKind::Git(_)) => {
                StartTreeKind::Git { base: view.base().map(str::to_owned) }
            }
            // Git failed at the start, so its later answers cannot be compared with anything.
            (WorkspaceView::Git(_), SnapshotKind::Walk | SnapshotKind::Stray { .. })
            | (WorkspaceView::None | WorkspaceView::Walk, _) => {
                self.view = WorkspaceView::Walk;
                StartTreeKind::Walk
            }
        };
        let effective = self.effective();
        // Files that the checks wrote before the first iteration are not shown as changes later, so
        // they are not recorded.
        let is_loose_output = |path: &Path, item: &SnapshotItem| {
            matches!(item.origin, FileOrigin::Commit(None))
                && self.rules.is_output(path)
                && !path.to_str().is_some_and(tamper::is_source)
        };
        let current = current(snapshot, &effective).into_iter();
        let files = current
            .filter(|(path, item)| !is_loose_output(path, item))
            .map(|(path, item)| (path.to_owned(), item.now.clone()))
            .collect();
        let kept = StartTree::save(run_folder, kind.clone(), &self.rules.root, files);
        let (start_tree, kept) = match kept {
            Ok(start_tree) => (start_tree, Ok(())),
            Err(error) => (StartTree::bare(kind), Err(error)),
        };
        self.start_tree = Some(start_tree);
        kept
    }

    /// Returns the changes since the start of the run. `snapshot` is the current state.
    /// [`Workspace::gaps`] returns the files that could not be compared.
    pub fn changes(&mut self, snapshot: &Snapshot) -> Vec<FileDiff> {
        // Contents that disappeared from the repository are a finding, so all of them are requested
        // from git.
        self.blobs.clear();
        self.compare(snapshot)
    }

    /// Returns the changes with cached committed contents, for statistics.
    pub fn changes_by_memory(&mut self, snapshot: &Snapshot) -> Vec<FileDiff> {
        self.compare(snapshot)
    }

    fn compare(&mut self, snapshot: &Snapshot) -> Vec<FileDiff> {
        self.gaps.clear();
        self.timeouts.clear();
        let mut drafts = self.drafts(snapshot);
        // Existing files come first, because something may have been removed from them. Small files
        // come before large ones, so that one large file does not use up the budget.
        drafts.sort_by(|a, b| a.order().cmp(&b.order()));
        let known = std::mem::take(&mut self.blobs);
        let (blobs, timeout) = match &self.view {
            WorkspaceView::Git(view) => blobs(&view.private.git, &drafts, known),
            WorkspaceView::None | WorkspaceView::Walk => (HashMap::new(), None),
        };
        let mut budget = ReadBudget { files: FILES, bytes: BYTES };
        let mut gone = self.has_lost_git(snapshot) && self.timeout.is_none();
        let mut left = Vec::new();
        let mut unread = Vec::new();
        let mut changes = Vec::new();
        for draft in drafts {
            let before = match self.before(&draft, &blobs, &budget) {
                OldSide::Side(side) => Some(side),
                OldSide::Gone => {
                    gone = true;
                    Some(FileSide::Opaque)
                }
                OldSide::TimedOut => {
                    unread.push(draft.path.to_string_lossy().into_owned());
                    Some(FileSide::Opaque)
                }
                OldSide::NotRead => None,
            };
            let fits = before.as_ref().is_some_and(|before| budget.takes(before, draft.size));
            let (before, after) = match before {
                Some(before) if fits => (before, self.on_disk(&draft.path)),
                Some(FileSide::Absent) => (FileSide::Absent, draft.hidden()),
                Some(FileSide::Text(_) | FileSide::Opaque) | None => {
                    left.push(draft.path.clone());
                    (FileSide::Opaque, draft.hidden())
                }
            };
            if before == after && before != FileSide::Opaque {
                continue;
            }
            let path = draft.path.to_string_lossy().into_owned();
            changes.push(FileDiff { path, before, after });
        }
        self.blobs = blobs;
        self.note_gaps(gone, &left);
        self.note_timeouts(snapshot, timeout, unread);
        changes.sort_by(|a, b| a.path.cmp(&b.path));
        changes
    }

    /// Returns the git commands that were killed, and what the last [`Workspace::changes`] could not
    /// compare without them.
    pub fn timeouts(&self) -> &[InspectionTimeout] {
        &self.timeouts
    }

    fn note_timeouts(
        &mut self,
        snapshot: &Snapshot,
        timeout: Option<GitTimeout>,
        unread: Vec<String>,
    ) {
        if let (true, Some(timeout)) = (self.has_lost_git(snapshot), &self.timeout) {
            let what = NotInspected::Everything;
            self.timeouts.push(InspectionTimeout { why: timeout.to_string(), what });
        }
        if let Some(timeout) = timeout {
            let what = NotInspected::Files(unread);
            self.timeouts.push(InspectionTimeout { why: timeout.to_string(), what });
        }
    }

    /// Returns the findings for files that the last [`Workspace::changes`] could not compare.
    pub fn gaps(&self) -> &[TamperFinding] {
        &self.gaps
    }

    fn note_gaps(&mut self, gone: bool, left: &[PathBuf]) {
        if gone {
            let what = "nightwright can no longer compare the changes with the commit at the start \
                        of the run";
            self.gaps.push(TamperFinding { path: ".git".to_owned(), what: what.to_owned() });
        }
        if let Some(first) = left.iter().min() {
            let what = match left.len() {
                1 => "did not compare 1 changed file: there are too many".to_owned(),
                count => format!("did not compare {count} changed files: there are too many"),
            };
            self.gaps.push(TamperFinding { path: first.to_string_lossy().into_owned(), what });
        }
    }

    /// Whether the run started with git, but this snapshot was taken without it.
    fn has_lost_git(&self, snapshot: &Snapshot) -> bool {
        let kind = self.start_tree.as_ref().map(StartTree::kind);
        let began = matches!(kind, Some(StartTreeKind::Git { .. }));
        began && !matches!(snapshot.kind, SnapshotKind::Git(_))
    }

    /// Takes a snapshot of the effective files in nightwright's folder.
    fn effective(&self) -> Snapshot {
        let mut effective = Snapshot::default();
        // A separate cache: the shared one forgets every file that a snapshot does not request.
        let mut identities = IdentityCache::new(self.identities.format);
        effective.add(self.rules.effective(), &self.rules, &mut identities, &FileOrigin::Start);
        effective
    }

    fn drafts(&self, snapshot: &Snapshot) -> Vec<ChangeDraft> {
        let effective = self.effective();
        let mut current = current(snapshot, &effective);
        let lost = self.has_lost_git(snapshot);
        let root = &self.rules.root;
        let Some(start_tree) = &self.start_tree else {
            return current
                .into_iter()
                .filter_map(|(path, item)| Some(ChangeDraft::of(root, path, item.origin.known()?)))
                .collect();
        };
        let mut drafts = Vec::new();
        for (path, kept) in start_tree.kept() {
            let now = current.remove(path.as_path()).map(|item| &item.now);
            // Between different kinds of snapshots, only the text can be compared.
            if lost || now != Some(&kept.identity) {
                drafts.push(ChangeDraft::of(root, path, OldSource::Kept(kept.clone())));
            }
        }
        for (path, item) in current {
            let before = match item.origin.known() {
                Some(before) => before,
                None if lost || !start_tree.has_copies() => continue,
                None => OldSource::Known(start_tree.unknown()),
            };
            drafts.push(ChangeDraft::of(root, path, before));
        }
        drafts
    }

    fn before(
        &self,
        draft: &ChangeDraft,
        blobs: &HashMap<String, OldSide>,
        budget: &ReadBudget,
    ) -> OldSide {
        let old = match &draft.before {
            OldSource::Known(side) => OldSide::Side(side.clone()),
            OldSource::Kept(_) if budget.files == 0 => OldSide::NotRead,
            OldSource::Kept(kept) => {
                let side = self.start_tree.as_ref().map(|start_tree| start_tree.side(kept));
                OldSide::Side(side.unwrap_or(FileSide::Opaque))
            }
            OldSource::Blob(id) => blobs.get(id).cloned().unwrap_or(OldSide::NotRead),
        };
        match old {
            OldSide::Side(FileSide::Text(text)) if is_configuration(&draft.path) => {
                let text = public(text.as_bytes());
                OldSide::Side(text.map_or(FileSide::Opaque, |bytes| side(&bytes)))
            }
            OldSide::Side(_) | OldSide::Gone | OldSide::TimedOut | OldSide::NotRead => old,
        }
    }

    fn on_disk(&self, path: &Path) -> FileSide {
        match fs::symlink_metadata(self.rules.root.join(path)) {
            Ok(metadata) if metadata.is_dir() => FileSide::Absent,
            Ok(_) => read(&self.rules.root, path).map_or(FileSide::Opaque, |bytes| side(&bytes)),
            Err(error) => match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => FileSide::Absent,
                _ => FileSide::Opaque,
            },
        }
    }
}

/// Returns the snapshot together with the effective files in nightwright's folder.
fn current<'a>(
    snapshot: &'a Snapshot,
    effective: &'a Snapshot,
) -> BTreeMap<&'a Path, &'a SnapshotItem> {
    let all = snapshot.files.iter().chain(effective.files.iter());
    all.map(|(path, item)| (path.as_path(), item)).collect()
}

/// A change whose sides are not read yet.
#[derive(Debug)]
struct ChangeDraft {
    path: PathBuf,
    before: OldSource,
    /// The size on disk; `None` if the file does not exist.
    size: Option<u64>,
}

/// The source of the old side.
#[derive(Debug)]
enum OldSource {
    Known(FileSide),
    Kept(StartTreeEntry),
    /// In the commit, with this object name.
    Blob(String),
}

/// The old side, after an attempt to read it.
#[derive(Clone, Debug)]
pub(super) enum OldSide {
    Side(FileSide),
    /// The file existed, but can no longer be read.
    Gone,
    /// Git was killed before it printed the text.
    TimedOut,
    /// The budget was exhausted.
    NotRead,
}

impl ChangeDraft {
    fn of(root: &Path, path: &Path, before: OldSource) -> Self {
        let metadata = fs::symlink_metadata(root.join(path)).ok();
        let size = metadata.filter(|metadata| !metadata.is_dir()).map(|metadata| metadata.len());
        Self { path: path.to_owned(), before, size }
    }

    fn order(&self) -> (bool, u64, &Path) {
        let is_new = matches!(self.before, OldSource::Known(FileSide::Absent));
        (is_new, self.size.unwrap_or(0), &self.path)
    }

    /// Returns the new side without its contents.
    fn hidden(&self) -> FileSide {
        if self.size.is_some() { FileSide::Opaque } else { FileSide::Absent }
    }
}

impl FileOrigin {
    /// Returns the old side according to the commit, if the commit decides it.
    fn known(&self) -> Option<OldSource> {
        match self {
            Self::Commit(None) => Some(OldSource::Known(FileSide::Absent)),
            Self::Commit(Some(identity)) if identity.mode == LINK => {
                Some(OldSource::Known(FileSide::Opaque))
            }
            Self::Commit(Some(identity)) => Some(OldSource::Blob(hex(&identity.id))),
            Self::Start => None,
        }
    }
}

/// The remaining files and bytes that may be read.
struct ReadBudget {
    files: usize,
    bytes: u64,
}

impl ReadBudget {
    /// Whether the budget allows to read a file with this current size.
    fn takes(&mut self, before: &FileSide, size: Option<u64>) -> bool {
        let old = match before {
            FileSide::Text(text) => text.len() as u64,
            FileSide::Absent | FileSide::Opaque => 0,
        };
        // Larger files are not read, so they cost nothing.
        let bytes = old + size.filter(|size| *size <= MAX_FILE).unwrap_or(0);
        if self.files == 0 || bytes > self.bytes {
            return false;
        }
        self.files -= 1;
        self.bytes -= bytes;
        true
    }
}

/// Returns the contents of the commit by object name, and the command that was killed, if any. Two
/// git processes are needed: one for the sizes, and one for the contents that fit the budget. Known
/// contents are not requested again.
fn blobs(
    git: &Git,
    drafts: &[ChangeDraft],
    mut known: HashMap<String, OldSide>,
) -> (HashMap<String, OldSide>, Option<GitTimeout>) {
    let names = drafts.iter().filter_map(|draft| match &draft.before {
        OldSource::Blob(id) => Some(id.as_str()),
        OldSource::Known(_) | OldSource::Kept(_) => None,
    });
    let names: Vec<_> = names.take(FILES).collect();
    known.retain(|name, old| matches!(old, OldSide::Side(_)) && names.contains(&name.as_str()));
    let unknown: Vec<_> = names.into_iter().filter(|name| !known.contains_key(*name)).collect();
    let bytes = known.values().map(|old| match old {
        OldSide::Side(FileSide::Text(text)) => text.len() as u64,
        OldSide::Side(FileSide::Absent | FileSide::Opaque)
        | OldSide::Gone
        | OldSide::TimedOut
        | OldSide::NotRead => 0,
    });
    let (mut wanted, mut left) = (Vec::new(), BYTES.saturating_sub(bytes.sum()));
    let mut all = known;
    all.extend(unknown.iter().map(|name| ((*name).to_owned(), OldSide::Gone)));
    let lengths = match batch(git, "--batch-check", &unknown) {
        Ok(lengths) => lengths,
        Err(timeout) => return (timed_out(all, &unknown), Some(timeout)),
    };
    for line in String::from_utf8_lossy(&lengths).lines() {
        let words: Vec<_> = line.split(' ').collect();
        // A missing object has another format.
        let [name, "blob", length] = words[..] else { continue };
        let length = length.parse().unwrap_or(u64::MAX);
        let old = if length > MAX_FILE {
            OldSide::Side(FileSide::Opaque)
        } else if length > left {
            OldSide::NotRead
        } else {
            left -= length;
            wanted.push(name.to_owned());
            continue;
        };
        all.insert(name.to_owned(), old);
    }
    let wanted: Vec<_> = wanted.iter().map(String::as_str).collect();
    match batch(git, "--batch", &wanted) {
        Ok(output) => contents(&output, &mut all),
        Err(timeout) => return (timed_out(all, &wanted), Some(timeout)),
    }
    (all, None)
}

/// Marks these objects as unknown because git was killed.
fn timed_out(mut all: HashMap<String, OldSide>, names: &[&str]) -> HashMap<String, OldSide> {
    all.extend(names.iter().map(|name| ((*name).to_owned(), OldSide::TimedOut)));
    all
}

/// Returns git's answer about objects, which is empty if git failed. The error is a timeout.
fn batch(git: &Git, option: &str, names: &[&str]) -> Result<Vec<u8>, GitTimeout> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let mut input = names.join("\n");
    input.push('\n');
    let arguments = ["cat-file", option];
    let Ok(answer) = git.run_raw(arguments, input.into_bytes()) else { return Ok(Vec::new()) };
    match answer.ended {
        CapturedEnd::Exited(exit) if exit.code() == Some(0) => Ok(answer.output),
        CapturedEnd::Exited(_) | CapturedEnd::TooMuch => Ok(Vec::new()),
        CapturedEnd::TimedOut => Err(git.timeout(&arguments)),
    }
}

/// Parses the output of `git cat-file --batch`: `NAME blob LENGTH`, the content, a newline.
fn contents(mut output: &[u8], all: &mut HashMap<String, OldSide>) {
    while let Some(end) = output.iter().position(|&byte| byte == b'\n') {
        let (line, rest) = (&output[..end], &output[end + 1..]);
        let words: Vec<_> = String::from_utf8_lossy(line).split(' ').map(str::to_owned).collect();
        let [name, _, length] = &words[..] else {
            // A missing object.
            output = rest;
            continue;
        };
        let length = length.parse().unwrap_or(usize::MAX);
        let Some(content) = rest.get(..length) else { break };
        // Git does not verify that the content matches its name, and the agent can write to the
        // repository.
        if identity::is_named(content, name) {
            all.insert(name.clone(), OldSide::Side(side(content)));
        }
        output = rest.get(length + 1..).unwrap_or_default();
    }
}

/// Returns the content of a regular file of the project without secret values, unless it is too
/// large or outside the project.
pub(super) fn read(root: &Path, path: &Path) -> Option<Vec<u8>> {
    let bytes = whole(root, path)?;
    if is_configuration(path) { public(&bytes) } else { Some(bytes) }
}

/// Returns a configuration without secret values; `None` if it cannot be parsed.
fn public(bytes: &[u8]) -> Option<Vec<u8>> {
    Some(without_secrets(str::from_utf8(bytes).ok()?)?.into_bytes())
}

fn whole(root: &Path, path: &Path) -> Option<Vec<u8>> {
    let metadata = fs::symlink_metadata(root.join(path)).ok()?;
    if !metadata.is_file() || metadata.len() > MAX_FILE {
        return None;
    }
    files::read_inside(root, path, MAX_FILE).ok().flatten()
}

pub(super) fn is_text(bytes: &[u8]) -> bool {
    !bytes[..bytes.len().min(BINARY)].contains(&0)
}

/// Converts a content for comparison. Line endings are normalized, because git may store others
/// than the disk.
pub(super) fn side(bytes: &[u8]) -> FileSide {
    if is_text(bytes) {
        FileSide::Text(String::from_utf8_lossy(bytes).replace("\r\n", "\n"))
    } else {
        FileSide::Opaque
    }
}

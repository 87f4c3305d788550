//! The state of the project's files: one fingerprint of everything that counts as work, and the
//! changes since the run started.
//!
//! In a repository, git lists the files that differ from the commit at the start of the run. It
//! runs in a private git folder, so that the project's configuration cannot influence it. Without
//! git, a walk over the files respects ignore files.
//!
//! Paths, modes and contents count. The notes that iterations leave for each other and
//! nightwright's own folder do not.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use nightwright_core::input::{InspectionTimeout, TamperFinding};
use nightwright_core::policy::outputs::{self, TouchKind, TouchedFile};
use nightwright_core::units::Fingerprint;
use ring::digest::{Context, SHA256};
use tempfile::TempDir;

use crate::hex::hex;

mod branch;
mod changes;
mod commits;
pub(crate) mod console_files;
mod difference;
mod disk;
mod git;
mod git_output;
mod identity;
pub mod mentions;
mod notes;
mod private;
mod private_facts;
mod repository;
pub mod root;
mod rules;
mod start_tree;
mod uncommitted;
mod view;

pub use branch::{Branches, branches, head_commit};
pub use commits::commits;
pub use difference::{figures, inspection};
pub use disk::space;
pub(crate) use git::safe_path;
pub use notes::read_notes;
pub use repository::{Repository, is_repository};
pub use start_tree::StartTree;
pub use uncommitted::has_uncommitted;

use changes::OldSide;
use git::{GIT_TIMEOUT, GitError, GitTimeout};
use identity::{Identity, IdentityCache};
use private::{BaseCommit, PrivateGit};
use rules::WorkRules;
use start_tree::StartTreeKind;
use view::GitView;

/// A project folder, with the caches and settings for taking snapshots.
#[derive(Debug)]
pub struct Workspace {
    rules: WorkRules,
    identities: IdentityCache,
    view: WorkspaceView,
    /// The files at the start of the run, as far as they were recorded.
    start_tree: Option<StartTree>,
    /// The run folder, which contains the private git folder.
    run: Option<PathBuf>,
    /// A place for the private git folder when there is no run.
    temporary: Option<TempDir>,
    /// The last snapshot that was taken.
    last: Option<Snapshot>,
    /// Contents from the commit that the last comparison needed, by their object names. The next
    /// comparison needs mostly the same.
    blobs: HashMap<String, OldSide>,
    /// The changes that the last comparison could not compare.
    gaps: Vec<TamperFinding>,
    /// The git commands that were killed during the last comparison or the snapshot before it.
    timeouts: Vec<InspectionTimeout>,
    /// The time limit for one git command.
    git_timeout: Duration,
    /// The git command that was killed while the last snapshot was taken.
    timeout: Option<GitTimeout>,
    /// The commit at the start of the run, if another process changed the private git folder.
    rebuild: Option<BaseCommit>,
    /// Whether the user was warned that git fails.
    warned_about_git: bool,
    /// Warnings for the user that were not shown yet.
    warnings: Vec<String>,
}

/// The warning about a changed private git folder.
const REBUILT: &str = "another process changed the private git folder of this run; nightwright \
                       replaces it";

/// How the project is inspected.
#[derive(Debug)]
enum WorkspaceView {
    /// Not determined yet: no snapshot was taken.
    None,
    /// By walking over all files.
    Walk,
    Git(Box<GitView>),
}

/// A state of a project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// With git: the files that differ from the commit at the start of the run. Without git: all
    /// files.
    files: Arc<BTreeMap<PathBuf, SnapshotItem>>,
    /// The files that could not be read.
    pub unreadable: Vec<String>,
    kind: SnapshotKind,
    /// Files that checks wrote: they are included for comparisons, but do not count as work.
    outputs: CheckOutputs,
}

/// Names of files and folders that checks wrote.
type CheckOutputs = Arc<BTreeSet<String>>;

/// How a snapshot was taken. Only snapshots of the same kind can be compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum SnapshotKind {
    /// By walking over all files.
    #[default]
    Walk,
    Git(CommitState),
    /// By walking over all files, because git failed this time.
    Stray {
        /// The last commit state that git reported.
        committed: Option<CommitState>,
        /// The fingerprint of all the files.
        walked: Fingerprint,
        /// The fingerprint of the last snapshot, until a change is certain.
        fingerprint: Fingerprint,
    },
}

/// One file of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SnapshotItem {
    origin: FileOrigin,
    /// The current identity; `None` if the file does not exist.
    now: Option<Identity>,
}

/// The source of a file's state at the start of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
enum FileOrigin {
    /// In the commit, which contains this file.
    Commit(Option<Identity>),
    /// In the start tree, if it was recorded there.
    Start,
}

/// The state of the commits, as git reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct CommitState {
    base: Option<String>,
    head: Option<String>,
    /// The identity of the committed files that count as work.
    tree: String,
}

impl Workspace {
    /// Creates the workspace of the project at `root`. Paths in `left_out` are relative to it.
    pub fn new(root: &Path, left_out: Vec<PathBuf>) -> Self {
        Self {
            rules: WorkRules {
                root: root.to_owned(),
                left_out,
                counted: Vec::new(),
                outputs: CheckOutputs::default(),
            },
            identities: IdentityCache::default(),
            view: WorkspaceView::None,
            start_tree: None,
            run: None,
            temporary: None,
            last: None,
            blobs: HashMap::new(),
            gaps: Vec::new(),
            timeouts: Vec::new(),
            git_timeout: GIT_TIMEOUT,
            timeout: None,
            rebuild: None,
            warned_about_git: false,
            warnings: Vec::new(),
        }
    }

    /// Counts these files and folders as work although they are inside nightwright's folder. They
    /// are relative to the root.
    #[must_use]
    pub fn counting(mut self, counted: Vec<PathBuf>) -> Self {
        self.rules.counted = counted;
        self
    }

    /// Keeps the private git folder in this run folder.
    #[must_use]
    pub fn in_run(mut self, folder: &Path) -> Self {
        self.run = Some(folder.to_owned());
        self
    }

    /// Kills a git command after this time.
    #[must_use]
    pub fn with_git_timeout(mut self, limit: Duration) -> Self {
        self.git_timeout = limit;
        self
    }

    /// Compares with the state at the start of a run.
    #[must_use]
    pub fn since(mut self, start_tree: StartTree) -> Self {
        self.compare_with(start_tree);
        self
    }

    /// Compares with the state at the start of a run, from the next snapshot on.
    pub fn compare_with(&mut self, start_tree: StartTree) {
        // The start tree determines how the project is inspected. If git is used already, the view
        // knows the private folder from before the agent started.
        let is_open = match (&self.view, start_tree.kind()) {
            (WorkspaceView::Git(view), StartTreeKind::Git { base }) => {
                view.base() == base.as_deref()
            }
            (WorkspaceView::Git(_) | WorkspaceView::None | WorkspaceView::Walk, _) => false,
        };
        if !is_open {
            self.view = WorkspaceView::None;
        }
        self.start_tree = Some(start_tree);
        self.last = None;
    }

    /// Ignores a file for the rest of the run, because nightwright itself writes it.
    pub fn leave_out(&mut self, path: &Path) {
        if !self.rules.left_out.iter().any(|out| out == path) {
            self.rules.left_out.push(path.to_owned());
        }
    }

    /// Stops counting these files and folders as work.
    pub fn add_outputs<'a>(&mut self, outputs: impl IntoIterator<Item = &'a String>) {
        let mut all = BTreeSet::clone(&self.rules.outputs);
        all.extend(outputs.into_iter().cloned());
        self.rules.outputs = Arc::new(all);
    }

    /// Whether a check wrote this file and it was never committed. Such a file is not shown as a
    /// change unless it can influence the result of a check.
    pub fn is_loose_output(&self, path: &str) -> bool {
        let is_committed = match &self.view {
            WorkspaceView::Git(view) => view.is_committed(Path::new(path)),
            WorkspaceView::None | WorkspaceView::Walk => false,
        };
        self.rules.is_output(Path::new(path)) && !is_committed
    }

    /// Returns the number of files in a folder of the project, counting up to `enough`.
    pub fn files_in(&self, folder: &str, enough: usize) -> usize {
        let found = self.rules.walk(Path::new(folder)).flatten();
        let files = found.filter(|entry| entry.file_type().is_some_and(|kind| !kind.is_dir()));
        files.take(enough).count()
    }

    /// Whether the state at the start of the run is known.
    pub fn has_start_tree(&self) -> bool {
        self.start_tree.is_some()
    }

    /// Returns the warnings since the last call.
    pub fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }

    /// Returns the number of commits since HEAD was at `commit`; 0 without git.
    pub fn commits_since(&self, commit: Option<&str>) -> u32 {
        match &self.view {
            WorkspaceView::Git(view) => view.commits_since(commit),
            WorkspaceView::None | WorkspaceView::Walk => 0,
        }
    }

    /// Takes a snapshot of the project.
    pub fn snapshot(&mut self) -> Snapshot {
        let mut seen = self.look();
        if let (Err(GitError::Changed), WorkspaceView::Git(view)) = (&seen, &self.view) {
            let base = BaseCommit::At(view.base().map(str::to_owned));
            if self.rebuild.replace(base).is_none() {
                self.warnings.push(REBUILT.to_owned());
            }
            self.view = WorkspaceView::None;
            seen = self.look();
        }
        self.timeout = match &seen {
            Err(GitError::TimedOut(timeout)) => Some(timeout.clone()),
            Ok(_) | Err(_) => None,
        };
        let snapshot = match seen {
            Ok(Some(snapshot)) => snapshot,
            Ok(None) => self.walked(),
            Err(trouble) => {
                if !std::mem::replace(&mut self.warned_about_git, true) {
                    let text = "scanning all files without git";
                    self.warnings.push(format!("{text}: {trouble}"));
                }
                match self.view {
                    WorkspaceView::Walk => self.walked(),
                    WorkspaceView::None | WorkspaceView::Git(_) => self.strayed(),
                }
            }
        };
        self.identities.settle();
        let snapshot = Snapshot { outputs: Arc::clone(&self.rules.outputs), ..snapshot };
        self.last = Some(snapshot.clone());
        snapshot
    }

    /// Takes a snapshot with git; `None` if the project is inspected without it.
    fn look(&mut self) -> Result<Option<Snapshot>, GitError> {
        self.open()?;
        match &mut self.view {
            WorkspaceView::Git(view) => {
                self.identities.format = view.format();
                let snapshot = view.look(&self.rules, &mut self.identities)?;
                if let Some(timeout) = view.timeout.take() {
                    self.warnings.push(format!("not all commits are counted: {timeout}"));
                }
                Ok(Some(snapshot))
            }
            WorkspaceView::None | WorkspaceView::Walk => Ok(None),
        }
    }

    /// Takes a snapshot without git, after git failed. The first one cannot be compared with git's
    /// answers, so it counts as unchanged. Later ones are compared with each other.
    fn strayed(&mut self) -> Snapshot {
        let mut snapshot = self.walked();
        snapshot.outputs = Arc::clone(&self.rules.outputs);
        let walked = snapshot.fingerprint();
        let fingerprint = match self.last.as_ref().map(|last| (last, &last.kind)) {
            Some((last, SnapshotKind::Git(_))) => last.fingerprint(),
            Some((last, SnapshotKind::Stray { walked: before, .. })) if *before == walked => {
                last.fingerprint()
            }
            Some((_, SnapshotKind::Stray { .. } | SnapshotKind::Walk)) | None => walked.clone(),
        };
        let committed = self.last.as_ref().and_then(Snapshot::committed).cloned();
        snapshot.kind = SnapshotKind::Stray { committed, walked, fingerprint };
        snapshot
    }

    /// Takes a snapshot of all files without git.
    fn walked(&mut self) -> Snapshot {
        let mut snapshot = Snapshot::default();
        let Self { rules, identities, .. } = self;
        snapshot.add(rules.walk(Path::new("")), rules, identities, &FileOrigin::Start);
        snapshot.add(rules.counted(), rules, identities, &FileOrigin::Start);
        snapshot
    }

    /// Determines how to inspect the project, if that is not known. A run that started without git
    /// continues without it; a run that started with git tries git for each snapshot.
    fn open(&mut self) -> Result<(), GitError> {
        if !matches!(self.view, WorkspaceView::None) {
            return Ok(());
        }
        let kind = self.start_tree.as_ref().map(StartTree::kind);
        let (base, otherwise) = match kind {
            _ if self.rebuild.is_some() => (self.rebuild.clone(), WorkspaceView::None),
            Some(StartTreeKind::Walk) => (None, WorkspaceView::Walk),
            Some(StartTreeKind::Git { base }) => {
                (Some(BaseCommit::At(base.clone())), WorkspaceView::None)
            }
            None => (Some(BaseCommit::First), WorkspaceView::Walk),
        };
        let opened = match base {
            Some(base) => {
                let limit = self.git_timeout;
                self.private(&base).and_then(|private| {
                    let limited = private.map(|mut private| {
                        private.git.limit(limit);
                        private
                    });
                    limited.map(GitView::open).transpose()
                })
            }
            None => Ok(None),
        };
        let (sight, result) = match opened {
            Ok(Some(view)) => (WorkspaceView::Git(Box::new(view)), Ok(())),
            Ok(None) | Err(GitError::Ignored) => (WorkspaceView::Walk, Ok(())),
            Err(trouble) => (otherwise, Err(trouble)),
        };
        self.view = sight;
        result
    }

    /// Returns the private git folder of the run, or a new one; `None` without a repository.
    fn private(&mut self, base: &BaseCommit) -> Result<Option<PrivateGit>, GitError> {
        let project = &self.rules.root;
        let ours = self.run.as_ref().map(|run| run.join(private::FOLDER));
        if let (BaseCommit::At(commit), None) = (base, &self.rebuild) {
            let kept = self.start_tree.as_ref().and_then(StartTree::git_folder);
            let mut there = kept.iter().chain(&ours);
            let is_it = |private: &PrivateGit| private.base == *commit;
            let open = |folder: &PathBuf| PrivateGit::open(folder, project).filter(is_it);
            if let Some(private) = there.find_map(open) {
                return Ok(Some(private));
            }
        }
        let repository = match (Repository::around(project), base) {
            (Some(repository), _) => repository,
            (None, BaseCommit::First) => return Ok(None),
            (None, BaseCommit::At(_)) => {
                return Err(GitError::Failed("the repository no longer exists".to_owned()));
            }
        };
        let folder = match (ours, &self.temporary) {
            (Some(folder), _) => folder,
            (None, Some(folder)) => folder.path().join(private::FOLDER),
            (None, None) => {
                let folder = TempDir::new().map_err(|error| GitError::Folder(error.to_string()))?;
                self.temporary.insert(folder).path().join(private::FOLDER)
            }
        };
        PrivateGit::make(&folder, &repository, base).map(Some)
    }
}

impl Snapshot {
    /// Returns one hash of the whole snapshot.
    pub fn fingerprint(&self) -> Fingerprint {
        let mut hasher = Context::new(&SHA256);
        match &self.kind {
            SnapshotKind::Walk => {}
            SnapshotKind::Git(CommitState { base, .. }) => {
                hasher.update(base.as_deref().unwrap_or("no commit").as_bytes());
            }
            SnapshotKind::Stray { fingerprint, .. } => return fingerprint.clone(),
        }
        for (path, item) in self.files.iter().filter(|(path, _)| !self.is_output(path)) {
            hash_item(&mut hasher, path, item.now.as_ref());
        }
        Fingerprint(hex(&hasher.finish().as_ref()[..16]))
    }

    /// Returns how many files were added, changed or removed since `before`; `None` if the
    /// snapshots were taken in different ways.
    pub fn changed_since(&self, before: &Self) -> Option<u32> {
        self.changed(before, |_| true)
    }

    /// Like [`Self::changed_since`], without one file, which is relative to the project.
    pub fn changed_outside(&self, before: &Self, beside: &Path) -> Option<u32> {
        self.changed(before, |path| path != beside)
    }

    fn changed(&self, before: &Self, counts: impl Fn(&Path) -> bool) -> Option<u32> {
        let differing = self.differing(before)?;
        let count = differing.filter(|path| counts(path) && !self.is_output(path)).count();
        Some(u32::try_from(count).unwrap_or(u32::MAX))
    }

    /// Returns the files that differ between two snapshots; `None` if they cannot be compared.
    fn differing<'a>(&'a self, before: &'a Self) -> Option<impl Iterator<Item = &'a Path>> {
        let can_be_compared = match (&self.kind, &before.kind) {
            (SnapshotKind::Git(now), SnapshotKind::Git(then)) => now.base == then.base,
            (SnapshotKind::Walk, SnapshotKind::Walk)
            | (SnapshotKind::Stray { .. }, SnapshotKind::Stray { .. }) => true,
            (SnapshotKind::Walk | SnapshotKind::Git(_) | SnapshotKind::Stray { .. }, _) => false,
        };
        let changed = self.files.iter().filter(|(path, item)| {
            before.files.get(*path).is_none_or(|before| before.now != item.now)
        });
        let changed = changed.map(|(path, _)| path.as_path());
        let back = before.files.keys().filter(|path| !self.files.contains_key(*path));
        can_be_compared.then(|| changed.chain(back.map(PathBuf::as_path)))
    }

    /// Returns the changes to files since an earlier snapshot, except files that checks are known
    /// to write.
    pub fn touched_since(&self, before: &Self) -> Vec<TouchedFile> {
        let differing = self.differing(before).into_iter().flatten();
        let touched = differing.filter(|path| !self.is_output(path)).map(|path| {
            let (now, then) = (self.files.get(path), before.files.get(path));
            let how = match (now, then) {
                // The file no longer differs from the commit.
                (None, Some(SnapshotItem { origin: FileOrigin::Commit(Some(_)), .. })) => {
                    TouchKind::Changed
                }
                (None | Some(SnapshotItem { now: None, .. }), _) => TouchKind::Removed,
                (Some(SnapshotItem { origin: FileOrigin::Commit(Some(_)), .. }), _) => {
                    TouchKind::Changed
                }
                (Some(_), None | Some(SnapshotItem { now: None, .. })) => TouchKind::Created,
                (Some(_), Some(_)) => TouchKind::Changed,
            };
            TouchedFile { path: path.to_string_lossy().into_owned(), how }
        });
        touched.collect()
    }

    fn is_output(&self, path: &Path) -> bool {
        is_output(&self.outputs, path)
    }

    /// Returns the commit that is checked out; `None` without git.
    pub fn head(&self) -> Option<&str> {
        self.committed()?.head.as_deref()
    }

    /// Returns the identity of the committed files that count as work; `None` without git.
    pub fn head_tree(&self) -> Option<&str> {
        Some(&self.committed()?.tree)
    }

    fn committed(&self) -> Option<&CommitState> {
        match &self.kind {
            SnapshotKind::Walk => None,
            SnapshotKind::Git(committed) => Some(committed),
            SnapshotKind::Stray { committed, .. } => committed.as_ref(),
        }
    }
}

fn is_output(outputs: &CheckOutputs, path: &Path) -> bool {
    // Fast path: this is called for most files, and most projects have no outputs.
    !outputs.is_empty()
        && path
            .to_str()
            .is_some_and(|path| outputs::covers(outputs.iter().map(String::as_str), path))
}

fn hash_item(hasher: &mut Context, path: &Path, item: Option<&Identity>) {
    hasher.update(path.as_os_str().as_bytes());
    hasher.update(&[0]);
    if let Some(Identity { mode, id }) = item {
        hasher.update(&mode.to_be_bytes());
        hasher.update(id);
    } else {
        hasher.update(&[0xff; 4]);
    }
    hasher.update(&[0]);
}

#[cfg(test)]
mod tests;

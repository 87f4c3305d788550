//! Watches the status file of a task while the agent works.
//!
//! The watch is on the folder, not on the file: the file may not exist yet, and a rename over it
//! would leave the watch on the old file. System notifications only trigger a read. The file is
//! read with the same code as everywhere else, and the machine decides whether the contents are
//! new.
//!
//! The file is read after a pause in the changes. Every change restarts the pause, up to a limit,
//! so that a file that changes constantly is still read from time to time.
//!
//! In addition, the file is polled every few seconds. This covers a folder that was created later
//! or replaced, file systems without notifications, exhausted watches, and notifications that were
//! lost while the queue was full. New contents found by polling must be the same at the next poll.

mod debounce;
#[cfg(test)]
mod tests;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nightwright_core::input::StatusReport;
use notify::event::{AccessKind, AccessMode};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use self::debounce::Debounce;
use crate::runtime::evidence_files::EvidenceFiles;

/// Sends the time of the last change of the file.
type ChangeSender = watch::Sender<Instant>;

/// The interval at which the file is polled in addition to notifications.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// How changes of the file are detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchMethod {
    /// By notifications of the system, with additional polling.
    Notify,
    /// By polling alone, without notifications.
    Poll,
}

/// The status file of a run, watched for changes.
#[derive(Debug)]
pub struct StatusWatcher {
    files: Arc<EvidenceFiles>,
    path: PathBuf,
    folder: PathBuf,
    debounce: Duration,
    means: WatchMethod,
}

impl StatusWatcher {
    /// Creates a watch on the status file of `files`; `None` if none is read. If the system has no
    /// notifications, the watch falls back to polling.
    pub fn new(files: EvidenceFiles, debounce: Duration, means: WatchMethod) -> Option<Self> {
        let path = files.status_path()?;
        let folder = path.parent()?.to_owned();
        Some(Self { files: Arc::new(files), path, folder, debounce, means })
    }

    /// Passes the contents of the file to `tell`, now and after every change, until `tell` returns
    /// false.
    pub async fn watch(self, tell: impl Fn(StatusReport) -> bool) {
        self.run(watch::Sender::new(Instant::now()), tell).await;
    }

    async fn run(self, changes: ChangeSender, tell: impl Fn(StatusReport) -> bool) {
        let mut receiver = changes.subscribe();
        let mut watch: Option<FolderWatch> = None;
        let mut seen = None;
        // Set when a read differs from the previous one.
        let mut debounce: Option<Debounce> = None;
        // The contents at the start are reported at once.
        let mut is_stable = true;
        loop {
            // Without notifications, polling is enough; the next poll tries to attach again.
            watch = self.attach(watch.take(), &changes).ok();
            let found = self.read().await;
            let now = Instant::now();
            if let Some(quiet) = &mut debounce
                && found != seen
            {
                quiet.changed(now);
            }
            let over = debounce.is_some_and(|quiet| quiet.due() <= now);
            if is_stable || over || found == seen {
                debounce = None;
                // Also reports unchanged contents, because an earlier report may have been lost.
                if let Some(report) = &found
                    && !tell(report.clone())
                {
                    return;
                }
            } else {
                debounce.get_or_insert(Debounce::after(now, self.debounce));
            }
            seen = found;
            let pause = if watch.is_some() { POLL_INTERVAL } else { self.debounce };
            let next = debounce.map_or(now + pause, |quiet| quiet.due());
            is_stable = tokio::select! {
                // This function holds a sender, so the channel is never closed.
                _ = receiver.changed() => {
                    self.wait_until_quiet(&mut receiver).await;
                    true
                }
                () = sleep_until(next) => false,
            };
        }
    }

    /// Waits until no change has arrived for the debounce time. Further changes do not wake the
    /// task.
    async fn wait_until_quiet(&self, receiver: &mut watch::Receiver<Instant>) {
        let mut quiet = Debounce::after(*receiver.borrow_and_update(), self.debounce);
        while Instant::now() < quiet.due() {
            sleep_until(quiet.due()).await;
            quiet.changed(*receiver.borrow_and_update());
        }
    }

    async fn read(&self) -> Option<StatusReport> {
        let files = Arc::clone(&self.files);
        // If the task fails, the next poll reads again.
        tokio::task::spawn_blocking(move || files.status_alone()).await.ok().flatten()
    }

    /// Keeps the watch on the folder, or replaces it if the folder was replaced.
    fn attach(
        &self,
        watch: Option<FolderWatch>,
        changes: &ChangeSender,
    ) -> io::Result<FolderWatch> {
        match self.means {
            WatchMethod::Poll => return Err(io::ErrorKind::Unsupported.into()),
            WatchMethod::Notify => {}
        }
        let facts = fs::metadata(&self.folder)?;
        let identity = (facts.dev(), facts.ino());
        match watch {
            Some(watch) if watch.identity == identity && !watch.failed.load(Ordering::Relaxed) => {
                Ok(watch)
            }
            Some(_) | None => self.watch_folder(identity, changes),
        }
    }

    /// Fails if the system has no notifications, or no more watches.
    fn watch_folder(
        &self,
        identity: (u64, u64),
        changes: &ChangeSender,
    ) -> io::Result<FolderWatch> {
        let failed = Arc::new(AtomicBool::new(false));
        let (changes, names, lost) =
            (changes.clone(), WatchedNames::of(&self.path), Arc::clone(&failed));
        let on_news = move |news: notify::Result<notify::Event>| {
            let change = names.classify(&news);
            if change == FileChange::Loss {
                lost.store(true, Ordering::Relaxed);
            }
            if change != FileChange::Nothing {
                changes.send_replace(Instant::now());
            }
        };
        let mut watcher = notify::recommended_watcher(on_news).map_err(io::Error::other)?;
        watcher.watch(&self.folder, RecursiveMode::NonRecursive).map_err(io::Error::other)?;
        Ok(FolderWatch { identity, failed, _watcher: watcher })
    }
}

/// A watch on one folder. It ends when it is dropped.
struct FolderWatch {
    /// Device and inode, to detect that the folder was replaced.
    identity: (u64, u64),
    /// Whether notifications may have stopped.
    failed: Arc<AtomicBool>,
    _watcher: RecommendedWatcher,
}

/// The meaning of a notification for the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileChange {
    /// Ignored: the notification concerns another file, or only a read.
    Nothing,
    /// The contents may have changed.
    Change,
    /// The contents may have changed, and the watch may send no more notifications.
    Loss,
}

/// The names whose notifications count. The system may spell the parent folders differently.
#[derive(Debug)]
struct WatchedNames {
    file: OsString,
    folder: OsString,
}

impl WatchedNames {
    fn of(path: &Path) -> Self {
        let name = |path: Option<&Path>| path.and_then(Path::file_name).unwrap_or_default().into();
        Self { file: name(Some(path)), folder: name(path.parent()) }
    }

    fn classify(&self, news: &notify::Result<notify::Event>) -> FileChange {
        // An error means that notifications may have been lost.
        let Ok(event) = news else { return FileChange::Loss };
        let about = |name: &OsStr| event.paths.iter().any(|path| path.file_name() == Some(name));
        let ours = event.paths.is_empty() || about(&self.file) || about(&self.folder);
        match event.kind {
            EventKind::Remove(_) if about(&self.folder) => FileChange::Loss,
            EventKind::Access(access) if access != AccessKind::Close(AccessMode::Write) => {
                FileChange::Nothing
            }
            EventKind::Access(_)
            | EventKind::Any
            | EventKind::Create(_)
            | EventKind::Modify(_)
            | EventKind::Remove(_)
            | EventKind::Other => {
                if ours {
                    FileChange::Change
                } else {
                    FileChange::Nothing
                }
            }
        }
    }
}

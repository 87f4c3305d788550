//! Watches the status file of a task while the agent works.
//!
//! The folder is watched and not the file: the file may not be there yet, and whoever replaces it
//! by renaming another would leave a watch on the old one behind. The system's word only wakes us;
//! what the file says is read by the same code as everywhere else, and whether that is news is
//! decided by the machine, which forgets nothing and tells nothing twice.
//!
//! It is read when it was left alone for a while: every change makes the wait begin anew, up to a
//! bound, so that a file which is written without end is told now and then all the same.
//!
//! Beside that the file is looked at every few seconds in any case. That finds what the system can't
//! tell: a folder that came later or was replaced, a file system without such news, watches that are
//! used up, and a word that was lost while the queue of the loop was full. What is found that way
//! and is new has to stand until the next look, too.

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

/// Says when the file changed last.
type ChangeSender = watch::Sender<Instant>;

/// How often the file is looked at beside the system's news.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// How it is noticed that the file changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchMethod {
    /// By the system's news, with a look every few seconds beside it.
    Notify,
    /// By looking alone.
    Poll,
}

/// The status file of a run, watched.
#[derive(Debug)]
pub struct StatusWatch {
    files: Arc<EvidenceFiles>,
    path: PathBuf,
    folder: PathBuf,
    debounce: Duration,
    means: WatchMethod,
}

impl StatusWatch {
    /// The status file among these; `None` if there is none to be read. How it is noticed that it
    /// changed is the system's business: where it has no means, looking is one.
    pub fn new(files: EvidenceFiles, debounce: Duration, means: WatchMethod) -> Option<Self> {
        let path = files.status_path()?;
        let folder = path.parent()?.to_owned();
        Some(Self { files: Arc::new(files), path, folder, debounce, means })
    }

    /// Tells what the file says, now and after every change, until nobody wants to know any more.
    pub async fn watch(self, tell: impl Fn(StatusReport) -> bool) {
        self.run(watch::Sender::new(Instant::now()), tell).await;
    }

    async fn run(self, bell: ChangeSender, tell: impl Fn(StatusReport) -> bool) {
        let mut rung = bell.subscribe();
        let mut ear: Option<FolderWatch> = None;
        let mut seen = None;
        // Begins when a look finds something else than the look before.
        let mut unrest: Option<Debounce> = None;
        // What is there at the beginning is told as it is.
        let mut rested = true;
        loop {
            // Where the system has no news to give, looking has to do; the next look tries again.
            ear = self.attach(ear.take(), &bell).ok();
            let found = self.read().await;
            let now = Instant::now();
            if let Some(quiet) = &mut unrest
                && found != seen
            {
                quiet.changed(now);
            }
            let over = unrest.is_some_and(|quiet| quiet.due() <= now);
            if rested || over || found == seen {
                unrest = None;
                // Also what was told already: it may never have arrived.
                if let Some(report) = &found
                    && !tell(report.clone())
                {
                    return;
                }
            } else {
                unrest.get_or_insert(Debounce::after(now, self.debounce));
            }
            seen = found;
            let pause = if ear.is_some() { POLL_INTERVAL } else { self.debounce };
            let next = unrest.map_or(now + pause, |quiet| quiet.due());
            rested = tokio::select! {
                // We hold the bell ourselves, so this is never its end.
                _ = rung.changed() => {
                    self.wait_until_quiet(&mut rung).await;
                    true
                }
                () = sleep_until(next) => false,
            };
        }
    }

    /// Waits until the bell was not rung for a while. However often it is, that wakes nobody.
    async fn wait_until_quiet(&self, rung: &mut watch::Receiver<Instant>) {
        let mut quiet = Debounce::after(*rung.borrow_and_update(), self.debounce);
        while Instant::now() < quiet.due() {
            sleep_until(quiet.due()).await;
            quiet.changed(*rung.borrow_and_update());
        }
    }

    async fn read(&self) -> Option<StatusReport> {
        let files = Arc::clone(&self.files);
        // One that broke off is made again with the next look.
        tokio::task::spawn_blocking(move || files.status_alone()).await.ok().flatten()
    }

    /// Keeps the watch on the folder, or puts one on the folder that stands in its place now.
    fn attach(&self, ear: Option<FolderWatch>, bell: &ChangeSender) -> io::Result<FolderWatch> {
        match self.means {
            WatchMethod::Poll => return Err(io::ErrorKind::Unsupported.into()),
            WatchMethod::Notify => {}
        }
        let facts = fs::metadata(&self.folder)?;
        let identity = (facts.dev(), facts.ino());
        match ear {
            Some(ear) if ear.identity == identity && !ear.failed.load(Ordering::Relaxed) => Ok(ear),
            Some(_) | None => self.watch_folder(identity, bell),
        }
    }

    /// Fails where the system has no news to give, or none for one more folder.
    fn watch_folder(&self, identity: (u64, u64), bell: &ChangeSender) -> io::Result<FolderWatch> {
        let failed = Arc::new(AtomicBool::new(false));
        let (bell, names, lost) = (bell.clone(), WatchedNames::of(&self.path), Arc::clone(&failed));
        let heard = move |news: notify::Result<notify::Event>| {
            let heard = names.classify(&news);
            if heard == FileChange::Loss {
                lost.store(true, Ordering::Relaxed);
            }
            if heard != FileChange::Nothing {
                bell.send_replace(Instant::now());
            }
        };
        let mut watcher = notify::recommended_watcher(heard).map_err(io::Error::other)?;
        watcher.watch(&self.folder, RecursiveMode::NonRecursive).map_err(io::Error::other)?;
        Ok(FolderWatch { identity, failed, _watcher: watcher })
    }
}

/// A watch on one folder. It ends when it is dropped.
struct FolderWatch {
    /// By what the folder is told from one that takes its place.
    identity: (u64, u64),
    /// Whether it may hear nothing any more.
    failed: Arc<AtomicBool>,
    _watcher: RecommendedWatcher,
}

/// What news say about the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileChange {
    /// Nothing: they are of other files, or of somebody who reads, as we do.
    Nothing,
    /// It may say something else now.
    Change,
    /// The same, and there may be no more news from this watch.
    Loss,
}

/// Whose news count. The folders above may be spelled in another way by the system.
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
        // With an error news may have been lost.
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

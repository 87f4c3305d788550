//! Tests of the watch with real files, simulated time and manual notifications.

use std::sync::Mutex;

use nightwright_core::redact::Secrets;
use nightwright_core::settings::{self, EvidenceKind};
use notify::Event;
use notify::event::{CreateKind, DataChange, Flag, ModifyKind, RemoveKind};
use tempfile::TempDir;

use super::*;

const DEBOUNCE: Duration = Duration::from_millis(500);

/// A status file that is watched by polling and by manual notifications.
struct WatchEnv {
    project: TempDir,
    changes: ChangeSender,
    reported: Arc<Mutex<Vec<u32>>>,
}

impl WatchEnv {
    fn new() -> Self {
        let project = tempfile::tempdir().unwrap();
        let names =
            settings::Files { status: Some("status.json".to_owned()), ..Default::default() };
        let files =
            EvidenceFiles::new(project.path(), &names, &[EvidenceKind::Status], Secrets::default());
        let watch = StatusWatcher::new(files, DEBOUNCE, WatchMethod::Poll).unwrap();
        let (changes, reported) = (ChangeSender::new(Instant::now()), Arc::default());
        let list: Arc<Mutex<Vec<u32>>> = Arc::clone(&reported);
        tokio::spawn(watch.run(changes.clone(), move |report| {
            list.lock().unwrap().push(report.progress.unwrap().completed);
            true
        }));
        Self { project, changes, reported }
    }

    /// Returns a watch that has read a file with the value 0.
    async fn begun() -> Self {
        let watch = Self::new();
        watch.write(&status(0));
        pass(DEBOUNCE * 3).await;
        assert_eq!(watch.news(), [0]);
        watch
    }

    fn write(&self, text: &str) {
        fs::write(self.project.path().join("status.json"), text).unwrap();
    }

    fn ring(&self) {
        self.changes.send_replace(Instant::now());
    }

    /// Returns the reported values without repetitions.
    fn news(&self) -> Vec<u32> {
        let mut reported = self.reported.lock().unwrap().clone();
        reported.dedup();
        reported
    }
}

fn status(completed: u32) -> String {
    format!(r#"{{"complete":false,"progress":{{"completed":{completed},"total":200}}}}"#)
}

/// Advances the simulated time.
async fn pass(time: Duration) {
    tokio::time::sleep(time + Duration::from_millis(1)).await;
}

#[tokio::test(start_paused = true)]
async fn a_file_that_is_written_repeatedly_is_reported_once_at_the_end() {
    let watch = WatchEnv::begun().await;
    for done in 1..=100 {
        watch.write(&status(done));
        watch.ring();
        pass(Duration::from_millis(10)).await;
    }
    assert_eq!(watch.news(), [0]);
    pass(DEBOUNCE).await;
    assert_eq!(watch.news(), [0, 100]);
}

#[tokio::test(start_paused = true)]
async fn a_constantly_changing_file_is_reported_periodically() {
    let watch = WatchEnv::begun().await;
    let begun = Instant::now();
    let mut done = 0;
    while begun.elapsed() < DEBOUNCE * 5 * 4 {
        done += 1;
        watch.write(&status(done));
        watch.ring();
        pass(Duration::from_millis(100)).await;
    }
    let news = watch.news();
    assert!((4..=5).contains(&news.len()), "{news:?}");
    assert!(news.is_sorted() && news.iter().all(|reported| *reported <= done), "{news:?}");
    pass(DEBOUNCE).await;
    assert_eq!(watch.news().last(), Some(&done));
}

#[tokio::test(start_paused = true)]
async fn half_a_file_says_nothing_however_long_it_stands() {
    let watch = WatchEnv::begun().await;
    let whole = status(7);
    watch.write(&whole[..whole.len() / 2]);
    watch.ring();
    pass(DEBOUNCE * 20).await;
    assert_eq!(watch.news(), [0]);
    watch.write(&whole);
    watch.ring();
    pass(DEBOUNCE).await;
    assert_eq!(watch.news(), [0, 7]);
    pass(DEBOUNCE * 20).await;
    assert_eq!(watch.news(), [0, 7]);
}

#[tokio::test(start_paused = true)]
async fn half_a_file_says_nothing_when_polling() {
    let watch = WatchEnv::begun().await;
    let whole = status(7);
    watch.write(&whole[..whole.len() / 2]);
    pass(DEBOUNCE * 20).await;
    assert_eq!(watch.news(), [0]);
    watch.write(&whole);
    pass(DEBOUNCE * 20).await;
    assert_eq!(watch.news(), [0, 7]);
}

#[tokio::test(start_paused = true)]
async fn a_polled_change_must_be_stable_before_it_is_reported() {
    let watch = WatchEnv::begun().await;
    for done in 1..=6 {
        watch.write(&status(done));
        pass(Duration::from_millis(300)).await;
    }
    assert_eq!(watch.news(), [0], "every look found something else");
    pass(DEBOUNCE * 2).await;
    assert_eq!(watch.news(), [0, 6]);
}

#[tokio::test(start_paused = true)]
async fn a_file_that_changes_between_polls_is_reported_periodically() {
    let watch = WatchEnv::begun().await;
    for done in 1..=100 {
        watch.write(&status(done));
        pass(Duration::from_millis(100)).await;
    }
    let news = watch.news();
    assert!((3..=5).contains(&news.len()), "{news:?}");
}

#[tokio::test(start_paused = true)]
async fn a_report_is_repeated_in_case_it_was_lost() {
    let watch = WatchEnv::begun().await;
    watch.write(&status(1));
    watch.ring();
    pass(DEBOUNCE * 4).await;
    let again = watch.reported.lock().unwrap().iter().filter(|reported| **reported == 1).count();
    assert!(again > 1, "{again}");
}

#[tokio::test(start_paused = true)]
async fn constant_notifications_do_not_cause_more_reads() {
    let watch = WatchEnv::begun().await;
    let before = watch.reported.lock().unwrap().len();
    for _ in 0..2500 {
        watch.ring();
        pass(Duration::ZERO).await;
    }
    let read = watch.reported.lock().unwrap().len() - before;
    assert!(read <= 2, "read {read} times in five times the wait");
}

fn change_of(kind: EventKind, path: &str) -> FileChange {
    let names = WatchedNames::of(Path::new("project/task/.status.json"));
    names.classify(&Ok(Event::new(kind).add_path(path.into())))
}

#[test]
fn only_changes_of_the_file_and_its_folder_count() {
    let written = EventKind::Modify(ModifyKind::Data(DataChange::Any));
    assert_eq!(change_of(written, "/spelled/otherwise/.status.json"), FileChange::Change);
    assert_eq!(change_of(written, "project/task/TODO.md"), FileChange::Nothing);
    let closed = EventKind::Access(AccessKind::Close(AccessMode::Write));
    assert_eq!(change_of(closed, "project/task/.status.json"), FileChange::Change);
    let opened = EventKind::Access(AccessKind::Open(AccessMode::Any));
    assert_eq!(change_of(opened, "project/task/.status.json"), FileChange::Nothing, "a read");
    assert_eq!(
        change_of(EventKind::Create(CreateKind::Folder), "project/task"),
        FileChange::Change
    );
}

#[test]
fn a_watch_that_lost_its_folder_or_failed_is_put_up_again() {
    assert_eq!(change_of(EventKind::Remove(RemoveKind::Folder), "project/task"), FileChange::Loss);
    let names = WatchedNames::of(Path::new("project/task/.status.json"));
    assert_eq!(names.classify(&Err(notify::Error::generic("lost"))), FileChange::Loss);
    let overflow = Event::new(EventKind::Other).set_flag(Flag::Rescan);
    assert_eq!(names.classify(&Ok(overflow)), FileChange::Change);
}

//! Progress files of an agent: status, checklist and others, in a real project.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use nightwright::runtime::evidence_files::{
    EvidenceFiles, EvidenceSnapshot, StaleStatusPolicy, archive_stale_status,
};
use nightwright_core::input::Checklist;
use nightwright_core::redact::Secrets;
use nightwright_core::settings::{self, EvidenceKind};
use tempfile::TempDir;

const STATUS: &str = "task/.status.json";
const TODO: &str = "task/TODO.md";
const PLAN: &str = "IMPLEMENTATION_PLAN.md";

struct EvidenceEnv {
    folder: TempDir,
}

impl EvidenceEnv {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["project/task", "run", "elsewhere"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        Self { folder }
    }

    fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    fn run(&self) -> PathBuf {
        self.folder.path().join("run")
    }

    fn elsewhere(&self, name: &str) -> PathBuf {
        self.folder.path().join("elsewhere").join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.project().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn files(&self, list: &str) -> EvidenceFiles {
        self.masked_files(list, Secrets::default())
    }

    fn masked_files(&self, list: &str, secrets: Secrets) -> EvidenceFiles {
        let files = settings::Files {
            task: Some("task".to_owned()),
            status: Some(STATUS.to_owned()),
            list: Some(list.to_owned()),
            principles: None,
        };
        let evidence = [EvidenceKind::Status, EvidenceKind::Todo];
        EvidenceFiles::new(&self.project(), &files, &evidence, secrets)
    }

    fn set_aside(&self) -> Option<PathBuf> {
        archive_stale_status(
            &self.project(),
            Path::new(STATUS),
            &self.run(),
            StaleStatusPolicy::Moved,
            &Secrets::default(),
        )
        .unwrap()
    }

    /// Everything that is in the run folder.
    fn kept(&self) -> Vec<String> {
        let entries = fs::read_dir(self.run()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

fn open(boxes: Option<Checklist>) -> Option<(u32, u32)> {
    boxes.map(|boxes| (boxes.open, boxes.done))
}

#[test]
fn files_that_are_not_there_say_nothing() {
    let place = EvidenceEnv::new();
    assert_eq!(place.files(TODO).read(), EvidenceSnapshot::default());
}

#[test]
fn status_and_boxes_are_read_as_they_are() {
    let place = EvidenceEnv::new();
    place.write(STATUS, r#"{"complete": true, "summary": "All in."}"#);
    place.write(TODO, "- [x] a\n- [ ] b\n");
    let look = place.files(TODO).read();
    let status = look.status.unwrap();
    assert!(status.complete);
    assert_eq!(status.summary, "All in.");
    assert_eq!(open(look.checklist), Some((1, 1)));
    assert!(look.warnings.is_empty(), "{:?}", look.warnings);
}

#[test]
fn without_detection_nothing_is_read() {
    let place = EvidenceEnv::new();
    place.write(STATUS, "{");
    let files = settings::Files { status: Some(STATUS.to_owned()), ..settings::Files::default() };
    assert_eq!(
        EvidenceFiles::new(&place.project(), &files, &[], Secrets::default()).read(),
        EvidenceSnapshot::default()
    );
}

#[test]
fn a_file_written_again_has_another_identity_and_one_left_alone_has_not() {
    let place = EvidenceEnv::new();
    let mut files = place.files(TODO);
    assert_eq!(files.read().identity, None);
    place.write(STATUS, r#"{"complete": true}"#);
    let first = files.read().identity;
    assert!(first.is_some());
    assert_eq!(files.read().identity, first);
    // Careful programs replace a file by renaming: the same text in another file.
    let beside = place.project().join("task/beside");
    fs::write(&beside, r#"{"complete": true}"#).unwrap();
    fs::rename(&beside, place.project().join(STATUS)).unwrap();
    assert_ne!(files.read().identity, first);
}

#[test]
fn an_invalid_status_file_is_one_warning_and_no_evidence_but_is_there() {
    let place = EvidenceEnv::new();
    let mut files = place.files(TODO);
    place.write(STATUS, "{\"complete\": tr");
    let look = files.read();
    assert_eq!(look.status, None);
    assert!(look.identity.is_some());
    assert_eq!(
        look.warnings,
        ["ignoring `task/.status.json`: it is not valid JSON: \
          EOF while parsing a value at line 1 column 15"]
    );
    assert!(files.read().warnings.is_empty(), "it was said");
    place.write(STATUS, "[]");
    assert_eq!(files.read().warnings.len(), 1, "another mistake");
    place.write(STATUS, r#"{"complete": false}"#);
    assert!(files.read().warnings.is_empty());
    place.write(STATUS, "[]");
    assert_eq!(files.read().warnings.len(), 1, "the mistake is back");
}

#[test]
fn a_contradiction_is_a_warning_that_names_the_file() {
    let place = EvidenceEnv::new();
    place.write(STATUS, r#"{"complete": true, "progress": {"completed": 3, "total": 5}}"#);
    let look = place.files(TODO).read();
    assert_eq!(look.warnings, ["`task/.status.json`: it says complete, but 3 of 5 are done"]);
    assert!(look.status.unwrap().complete);
}

#[test]
fn links_out_of_the_project_are_not_followed() {
    let place = EvidenceEnv::new();
    fs::write(place.elsewhere("status"), r#"{"complete": true}"#).unwrap();
    fs::write(place.elsewhere("list"), "- [x] a").unwrap();
    symlink(place.elsewhere("status"), place.project().join(STATUS)).unwrap();
    symlink(place.elsewhere("list"), place.project().join(TODO)).unwrap();
    let look = place.files(TODO).read();
    assert_eq!((look.status, look.identity, look.checklist), (None, None, None));
    assert_eq!(look.warnings.len(), 2, "{:?}", look.warnings);
    for warning in &look.warnings {
        assert!(warning.contains("outside the project"), "{warning}");
    }
    assert_eq!(place.set_aside(), None);
    assert!(place.elsewhere("status").exists());
    assert!(place.kept().is_empty());
}

#[test]
fn a_special_or_too_large_file_is_a_warning() {
    let place = EvidenceEnv::new();
    fs::create_dir(place.project().join(STATUS)).unwrap();
    place.write(TODO, &"- [x] a\n".repeat(1 << 20));
    let look = place.files(TODO).read();
    assert_eq!((look.status, look.checklist), (None, None));
    assert_eq!(look.warnings.len(), 2, "{:?}", look.warnings);
    fs::remove_dir(place.project().join(STATUS)).unwrap();
    place.write(STATUS, &" ".repeat((1 << 20) + 1));
    let warnings = place.files(PLAN).read().warnings;
    assert!(warnings[0].ends_with("is larger than 1048576 bytes"), "{warnings:?}");
    assert_eq!(place.set_aside(), None);
}

#[test]
fn a_folder_stands_in_for_a_plan_that_is_not_there() {
    let place = EvidenceEnv::new();
    place.write("impl/login.md", "- [ ] a\n");
    assert_eq!(open(place.files(PLAN).read().checklist), None, "no README");
    place.write("impl/README.md", "- [x] overview\n");
    place.write("impl/deep/er/logout.md", "- [ ] b\n- [x] c\n");
    place.write("impl/archive/old.md", "- [ ] d\n");
    place.write("impl/notes.txt", "- [ ] e\n");
    symlink(place.elsewhere(""), place.project().join("impl/linked")).unwrap();
    assert_eq!(open(place.files(PLAN).read().checklist), Some((2, 2)));
    assert_eq!(open(place.files("impl/README.md").read().checklist), Some((2, 2)));
    assert_eq!(open(place.files(TODO).read().checklist), None, "only for a plan");
    place.write(PLAN, "- [x] all\n");
    assert_eq!(open(place.files(PLAN).read().checklist), Some((0, 1)));
}

#[test]
fn a_plan_of_which_a_part_can_t_be_read_has_no_boxes() {
    let place = EvidenceEnv::new();
    place.write("impl/README.md", "- [x] a\n");
    fs::write(place.elsewhere("list"), "- [ ] b").unwrap();
    symlink(place.elsewhere("list"), place.project().join("impl/b.md")).unwrap();
    let look = place.files(PLAN).read();
    assert_eq!(look.checklist, None);
    assert!(look.warnings[0].starts_with("cannot count the checkboxes: "), "{:?}", look.warnings);
}

#[test]
fn the_status_file_of_an_earlier_run_is_moved_into_the_run_folder() {
    for text in [
        r#"{"complete": true}"#,
        r#"{"status": "Done"}"#,
        r#"{"status": "failed", "summary": "no"}"#,
    ] {
        let place = EvidenceEnv::new();
        place.write(STATUS, text);
        let kept = place.set_aside().unwrap();
        assert_eq!(kept, place.run().join("status-before.json"));
        assert_eq!(fs::read_to_string(&kept).unwrap(), text);
        assert_eq!(fs::metadata(&kept).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(!place.project().join(STATUS).exists());
        assert_eq!(place.files(TODO).read(), EvidenceSnapshot::default());
        assert_eq!(place.set_aside(), None, "nothing left to move");
    }
}

#[test]
fn an_archived_status_is_masked_and_recognized_with_and_without_the_secret() {
    let place = EvidenceEnv::new();
    let text = r#"{"complete": true, "summary": "works with correct-horse-9x"}"#;
    place.write(STATUS, text);
    let secrets = Secrets::new(["correct-horse-9x"], [""; 0]).unwrap();
    let (project, run) = (place.project(), place.run());
    let moved = StaleStatusPolicy::Moved;
    let kept =
        archive_stale_status(&project, Path::new(STATUS), &run, moved, &secrets).unwrap().unwrap();
    let kept = fs::read_to_string(kept).unwrap();
    assert!(kept.contains("works with ****************") && !kept.contains("horse"), "{kept}");

    for secrets in [secrets, Secrets::default()] {
        let look = |text: &str| {
            place.write(STATUS, text);
            place.masked_files(TODO, secrets.clone()).in_run(&place.run()).read().status
        };
        assert_eq!(look(text), None, "the old one is back");
        assert!(look(&text.replace("works", "still works")).is_some());
        assert!(look(r#"{"complete": true}"#).is_some());
    }
}

#[test]
fn a_second_one_does_not_replace_the_first() {
    let place = EvidenceEnv::new();
    for _ in 0..2 {
        place.write(STATUS, r#"{"complete": true}"#);
        place.set_aside().unwrap();
    }
    assert_eq!(place.kept(), ["status-before-2.json", "status-before.json"]);
}

#[test]
fn a_status_file_that_claims_nothing_stays() {
    for text in [r#"{"complete": false}"#, r#"{"complete": false, "status": "done"}"#, "{", ""] {
        let place = EvidenceEnv::new();
        place.write(STATUS, text);
        assert_eq!(place.set_aside(), None, "{text}");
        assert_eq!(fs::read_to_string(place.project().join(STATUS)).unwrap(), text);
        assert!(place.kept().is_empty(), "{text}");
    }
}

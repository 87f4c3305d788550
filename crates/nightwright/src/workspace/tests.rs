use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;
use rustix::fs::Mode;

fn project() -> (TempDir, Workspace) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.txt"), "one").unwrap();
    fs::create_dir(folder.path().join("sub")).unwrap();
    fs::write(folder.path().join("sub/b.txt"), "two").unwrap();
    let workspace = Workspace::new(folder.path(), vec![PathBuf::from("NOTES.md")]);
    (folder, workspace)
}

fn make_pipe(path: &Path) {
    let mode = Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
}

#[test]
fn an_untouched_project_keeps_its_fingerprint() {
    let (_folder, mut workspace) = project();
    assert_eq!(workspace.snapshot().fingerprint(), workspace.snapshot().fingerprint());
}

#[test]
fn content_names_modes_and_links_count() {
    let (folder, mut workspace) = project();
    let mut seen = vec![workspace.snapshot().fingerprint()];
    let file = folder.path().join("a.txt");
    let steps: [&dyn Fn(); 5] = [
        &|| fs::write(&file, "two").unwrap(),
        &|| fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap(),
        &|| fs::rename(&file, folder.path().join("c.txt")).unwrap(),
        &|| symlink("c.txt", folder.path().join("link")).unwrap(),
        &|| fs::remove_file(folder.path().join("sub/b.txt")).unwrap(),
    ];
    for (index, step) in steps.iter().enumerate() {
        step();
        let now = workspace.snapshot().fingerprint();
        assert!(!seen.contains(&now), "step {index} did not change the fingerprint");
        seen.push(now);
    }
}

#[test]
fn a_change_of_the_same_size_right_after_a_look_is_noticed() {
    let (folder, mut workspace) = project();
    let mut seen = Vec::new();
    for text in ["aaa", "bbb", "ccc", "ddd"] {
        fs::write(folder.path().join("a.txt"), text).unwrap();
        let now = workspace.snapshot().fingerprint();
        assert!(!seen.contains(&now));
        seen.push(now);
    }
}

#[test]
fn notes_ignored_files_and_the_nightwright_folder_do_not_count() {
    let (folder, mut workspace) = project();
    fs::write(folder.path().join(".gitignore"), "*.log\n").unwrap();
    let before = workspace.snapshot().fingerprint();
    fs::write(folder.path().join("NOTES.md"), "for later").unwrap();
    fs::write(folder.path().join("out.log"), "noise").unwrap();
    fs::create_dir_all(folder.path().join(".nightwright/tasks")).unwrap();
    fs::write(folder.path().join(".nightwright/tasks/x"), "ours").unwrap();
    fs::create_dir(folder.path().join(".git")).unwrap();
    fs::write(folder.path().join(".git/HEAD"), "ref").unwrap();
    assert_eq!(workspace.snapshot().fingerprint(), before);
}

#[test]
fn an_ignore_file_above_the_project_hides_nothing() {
    let outer = tempfile::tempdir().unwrap();
    fs::write(outer.path().join(".gitignore"), "*\n").unwrap();
    let project = outer.path().join("project");
    fs::create_dir(&project).unwrap();
    let mut workspace = Workspace::new(&project, vec![]);
    let before = workspace.snapshot().fingerprint();
    fs::write(project.join("work.txt"), "done").unwrap();
    assert_ne!(workspace.snapshot().fingerprint(), before);
}

#[test]
fn a_pipe_in_place_of_the_notes_is_refused_and_not_waited_for() {
    let (folder, _) = project();
    let pipe = folder.path().join("NOTES.md");
    make_pipe(&pipe);
    let error = read_notes(folder.path(), Path::new("NOTES.md")).unwrap_err().to_string();
    assert!(error.contains("NOTES.md"), "{error}");
}

#[test]
fn changed_files_are_counted() {
    let (folder, mut workspace) = project();
    let before = workspace.snapshot();
    fs::write(folder.path().join("a.txt"), "changed").unwrap();
    fs::write(folder.path().join("new.txt"), "new").unwrap();
    fs::remove_file(folder.path().join("sub/b.txt")).unwrap();
    let now = workspace.snapshot();
    assert_eq!(now.changed_since(&before), Some(3));
    assert_eq!(now.changed_outside(&before, Path::new("a.txt")), Some(2));
    assert_eq!(now.changed_outside(&before, Path::new("sub/b.txt")), Some(2));
    assert_eq!(now.changed_outside(&before, Path::new("other")), Some(3));
}

#[test]
fn a_pipe_in_the_project_is_not_read() {
    let (folder, mut workspace) = project();
    let before = workspace.snapshot().fingerprint();
    let pipe = folder.path().join("pipe");
    make_pipe(&pipe);
    assert_eq!(workspace.snapshot().fingerprint(), before);
}

#[test]
fn missing_notes_are_none_and_a_link_out_of_the_project_is_refused() {
    let (folder, _) = project();
    assert!(read_notes(folder.path(), Path::new("NOTES.md")).unwrap().is_none());
    symlink("/etc/passwd", folder.path().join("NOTES.md")).unwrap();
    let error = read_notes(folder.path(), Path::new("NOTES.md")).unwrap_err().to_string();
    assert!(error.contains("outside the project"), "{error}");
}

#[test]
fn a_folder_in_place_of_the_notes_is_an_error_that_names_it() {
    let (folder, _) = project();
    let error = read_notes(folder.path(), Path::new("sub")).unwrap_err().to_string();
    assert!(error.contains("sub"), "{error}");
}

#[test]
fn only_the_ends_of_endless_notes_are_read() {
    let (folder, _) = project();
    let text = format!("BEGIN{}END", "€".repeat(1 << 20));
    fs::write(folder.path().join("NOTES.md"), &text).unwrap();
    let notes = read_notes(folder.path(), Path::new("NOTES.md")).unwrap().unwrap();
    assert!(text.starts_with(&notes.head) && text.ends_with(&notes.tail), "whole characters");
    let kept = notes.head.len() + notes.tail.len();
    assert!(kept < 200_000);
    assert_eq!(kept as u64 + notes.left_out, text.len() as u64);
}

#[test]
fn files_that_count_in_the_nightwright_folder_count_even_if_ignored() {
    let (folder, workspace) = project();
    let task = folder.path().join(".nightwright/tasks/t");
    fs::create_dir_all(task.join("reports")).unwrap();
    fs::write(folder.path().join(".gitignore"), ".nightwright\n").unwrap();
    let counted = ["TODO.md", "reports"].map(|name| Path::new(".nightwright/tasks/t").join(name));
    let mut workspace = workspace.counting(counted.to_vec());
    let mut seen = vec![workspace.snapshot().fingerprint()];
    for (name, counts) in [
        ("NOTES.md", false),
        (".status.json", false),
        ("TODO.md", true),
        ("feedback.md", false),
        ("reports/one.md", true),
    ] {
        fs::write(task.join(name), "text").unwrap();
        let now = workspace.snapshot().fingerprint();
        assert_eq!(!seen.contains(&now), counts, "{name}");
        seen.push(now);
    }
}

#[test]
fn a_pipe_in_the_place_of_a_file_of_git_s_is_not_waited_for() {
    let pipe = |path: &Path| {
        rustix::fs::mkfifoat(rustix::fs::CWD, path, Mode::RWXU).unwrap();
    };
    let folder = tempfile::tempdir().unwrap();
    pipe(&folder.path().join(".git"));
    branches(folder.path());
    let outer = folder.path().join("outer");
    let project = outer.join("project");
    for part in [outer.join(".git/objects"), outer.join(".git/refs"), project.join(".git")] {
        fs::create_dir_all(part).unwrap();
    }
    fs::write(outer.join(".git/HEAD"), "ref: refs/heads/outer\n").unwrap();
    for name in ["HEAD", "commondir", "packed-refs"] {
        pipe(&project.join(".git").join(name));
    }
    assert_eq!(branches(&project).current.as_deref(), Some("outer"));
}

#[test]
fn ignore_files_of_git_count_nested_and_negated_and_those_of_other_programs_do_not() {
    let (folder, mut workspace) = project();
    let write = |path: &str, text: &str| fs::write(folder.path().join(path), text).unwrap();
    write(".gitignore", "*.log\n/sub/out/\n");
    write("sub/.gitignore", "!keep.log\n");
    write(".ignore", "*\n");
    let before = workspace.snapshot();
    fs::create_dir(folder.path().join("sub/out")).unwrap();
    write("a.log", "1");
    write("sub/b.log", "2");
    write("sub/out/c.txt", "3");
    assert_eq!(workspace.snapshot().changed_since(&before), Some(0), "all of it is ignored");
    write("sub/keep.log", "4");
    write("d.txt", "5");
    assert_eq!(workspace.snapshot().changed_since(&before), Some(2));
}

#[test]
fn a_pipe_in_place_of_an_ignore_file_blocks_nothing() {
    let (folder, mut workspace) = project();
    make_pipe(&folder.path().join(".gitignore"));
    make_pipe(&folder.path().join("sub/.ignore"));
    let before = workspace.snapshot();
    fs::write(folder.path().join("new.txt"), "new").unwrap();
    assert_eq!(workspace.snapshot().changed_since(&before), Some(1));
}

//! Plans for repositories: what git obeys outside cannot be changed inside.

use std::path::{Path, PathBuf};

use super::{Machine, can_change};
use crate::sandbox::facts::{FileKind, ModuleFacts, RepositoryFacts, WorktreeAge, WorktreeFacts};
use crate::sandbox::mounts::MountPlan;

const APP: &str = "/users/u/code/app";

pub(super) fn other_worktree(shared: &str, name: &str, at: Option<&str>) -> WorktreeFacts {
    WorktreeFacts {
        git_folder: format!("{shared}/worktrees/{name}").into(),
        work_tree: at.map(PathBuf::from),
        age: WorktreeAge::Known,
    }
}

fn repository(machine: &mut Machine) -> &mut RepositoryFacts {
    machine.project.repository.as_mut().unwrap()
}

#[track_caller]
fn assert_changeable(plan: &MountPlan, expected: bool, paths: &[&str]) {
    for path in paths {
        assert_eq!(can_change(plan, &format!("{APP}/{path}")), expected, "{path}");
    }
}

#[test]
fn no_program_inside_names_the_objects_of_another_repository() {
    let plan = Machine::new().plan();
    assert_changeable(&plan, false, &[".git/objects/info/alternates"]);
    assert_changeable(&plan, true, &[".git/objects/info/commit-graph", ".git/objects/pack/x"]);
    assert!(plan.mounts.contains_key(Path::new(&format!("{APP}/.git/objects"))), "it could move");
}

#[test]
fn other_worktrees_cannot_be_changed_and_new_ones_can_be_created() {
    let shared = format!("{APP}/.git");
    let mut machine = Machine::new();
    let mut new = other_worktree(&shared, "new", Some("/users/u/code/app/new"));
    new.age = WorktreeAge::New;
    repository(&mut machine).worktrees = vec![
        other_worktree(&shared, "far", Some("/srv/far")),
        other_worktree(&shared, "gone", None),
        other_worktree(&shared, "near", Some("/users/u/code/app/near")),
        new,
    ];
    let mut machine = machine.project_file("near/.git").project_file("new/.git");
    for name in ["far", "gone", "near", "new"] {
        machine = machine.project_folder(&format!(".git/worktrees/{name}"));
        for file in ["commondir", "gitdir"] {
            machine = machine.project_file(&format!(".git/worktrees/{name}/{file}"));
        }
    }
    let plan = machine.plan();
    let in_worktrees = |names: &[&str]| -> Vec<String> {
        names.iter().map(|name| format!(".git/worktrees/{name}")).collect()
    };
    let check = |expected, names: &[&str]| {
        let paths = in_worktrees(names);
        assert_changeable(&plan, expected, &paths.iter().map(String::as_str).collect::<Vec<_>>());
    };
    check(false, &["far/HEAD", "far/commondir", "gone/commondir", "near/commondir"]);
    check(false, &["near/gitdir", "near/config.worktree"]);
    check(true, &["near/HEAD", "near/index", "new/commondir", "another/HEAD"]);
    assert_changeable(&plan, false, &["near/.git"]);
    assert_changeable(&plan, true, &["new/.git", "near/src"]);
}

#[test]
fn the_link_from_a_submodule_to_its_git_folder_stays() {
    let mut machine = Machine::new();
    repository(&mut machine).modules = vec![ModuleFacts {
        git_folder: format!("{APP}/.git/modules/lib").into(),
        work_tree: Some(format!("{APP}/lib").into()),
    }];
    let plan = machine.project_file("lib/.git").project_file(".git/modules/lib/config").plan();
    assert_changeable(&plan, false, &["lib/.git", ".git/modules/lib/config"]);
    assert_changeable(&plan, false, &[".git/modules/lib/objects/info/alternates"]);
    assert_changeable(&plan, true, &["lib/src", ".git/modules/lib/index"]);
}

#[test]
fn what_the_configuration_names_is_protected_even_if_it_is_missing() {
    let mut machine = Machine::new();
    repository(&mut machine).hooks_path = Some(format!("{APP}/.githooks").into());
    repository(&mut machine).included =
        vec![format!("{APP}/.gitconfig").into(), "/users/u/.gitconfig.work".into()];
    let plan = machine.plan();
    assert_changeable(&plan, false, &[".githooks/pre-commit", ".gitconfig"]);
    assert!(!plan.mounts.contains_key(Path::new("/users/u/.gitconfig.work")));

    let mut machine = Machine::new();
    repository(&mut machine).hooks_path = Some(format!("{APP}/hooks").into());
    let (link, target) = (format!("{APP}/hooks"), format!("{APP}/tools/hooks"));
    let plan = machine
        .project_entry("hooks", Path::new(&target), FileKind::Folder, &[(&link, "tools/hooks")])
        .plan();
    assert_changeable(&plan, false, &["tools/hooks/pre-commit"]);
    assert_eq!(plan.watched_links.len(), 1);
}

#[test]
fn a_project_in_a_repository_gets_no_other_repository() {
    let mut machine = Machine::new();
    machine.project.root = format!("{APP}/crates/one").into();
    let plan = machine.plan();
    assert_changeable(&plan, false, &["crates/one/.git", "crates/.git", ".git/config"]);
    assert_changeable(
        &plan,
        false,
        &[".mcp.json", ".claude/settings.json", "crates/one/.mcp.json"],
    );
    assert_changeable(&plan, true, &["crates/one/src", "target/x", ".git/index"]);
    // The repository of a whole home is not shown.
    repository(&mut machine).top = "/users/u".into();
    assert_changeable(&machine.plan(), false, &["crates/one/.git"]);
}

#[test]
fn a_project_without_a_repository_may_create_one_and_a_damaged_one_stays_as_it_is() {
    let mut machine = Machine::new();
    machine.project.entries.0.clear();
    machine.project.repository = None;
    assert_changeable(&machine.plan(), true, &[".git/config"]);
    let damaged = machine.project_folder(".git").project_file(".git/config").plan();
    assert_changeable(&damaged, false, &[".git/config", ".git/HEAD"]);
}

#[test]
fn a_setting_opens_only_entries_strictly_inside_the_project() {
    let cases = [
        (".git/config", true, 0),
        ("/users/u/code/app/.git/config", true, 0),
        ("~/code/app/.git/config", true, 0),
        (".git", true, 0),
        ("/users/u/code/app", false, 1),
        ("/users/u/code", false, 1),
        ("/users", false, 1),
        ("~", false, 1),
        ("", false, 1),
        (".", false, 1),
        ("../app/.git/config", false, 1),
        ("/", false, 1),
    ];
    for (name, is_opened, notes) in cases {
        let mut machine = Machine::new().folder("/users").folder("/users/u/code");
        machine.settings.write = vec![name.to_owned()];
        let plan = machine.plan();
        assert_eq!(can_change(&plan, &format!("{APP}/.git/config")), is_opened, "{name}");
        let own: Vec<_> = plan.notes.iter().filter(|note| note.contains("sandbox.write")).collect();
        assert_eq!(own.len(), notes, "{name}: {:?}", plan.notes);
    }
}

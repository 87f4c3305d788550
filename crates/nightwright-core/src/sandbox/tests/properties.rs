//! Properties of every plan, whatever the machine looks like.

use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::{Machine, can_change};
use crate::sandbox::bwrap::{self, UserNamespaces};
use crate::sandbox::facts::{FileKind, ModuleFacts, RepositoryFacts, WorktreeAge, WorktreeFacts};
use crate::sandbox::mounts::{Access, Content, MountPlan};
use crate::sandbox::{lists, plan};

/// Places for a project, a repository around it, a home and a state folder.
const PLACES: [&str; 8] = ["/", "/a", "/a/b", "/a/b/c", "/d", "/d/e", "/tmp/x", "/usr/src/x"];

prop_compose! {
    fn machines()(
        root in 1..PLACES.len(),
        top in 0..PLACES.len(),
        home in 1..PLACES.len(),
        state in 1..PLACES.len(),
        read in proptest::collection::vec(0..PLACES.len(), 0..3),
        write in proptest::collection::vec(0..PLACES.len(), 0..2),
        path in proptest::collection::vec(0..PLACES.len(), 0..3),
        there in proptest::collection::vec(any::<bool>(), 16),
        is_read_only in any::<bool>(),
        shared in 0..PLACES.len(),
        parts in proptest::collection::vec(any::<bool>(), 5),
    ) -> Machine {
        let mut machine = Machine::new();
        machine.project.entries.0.clear();
        machine.project.repository = None;
        machine.project.root = PLACES[root].into();
        machine.host.home = PLACES[home].into();
        machine.host.state = Path::new(PLACES[state]).join("state");
        machine.host.private = machine.host.state.join("app/sandbox");
        machine.host.path = path.iter().map(|at| Path::new(PLACES[*at]).join("bin")).collect();
        for place in PLACES {
            machine = machine.folder(place).folder(&format!("{place}/bin")).folder(&format!("{place}/lib"));
        }
        let names = |list: &[usize]| list.iter().map(|at| PLACES[*at].to_owned()).collect::<Vec<_>>();
        machine.settings.read = names(&read);
        machine.settings.write = names(&write);
        if PLACES[root].starts_with(PLACES[top]) {
            let top = PathBuf::from(PLACES[top]);
            machine.project.repository = Some(repository(top, Path::new(PLACES[shared]), &parts));
        }
        let paths = lists::project_paths(&machine.project);
        for (path, is_there) in paths.iter().zip(there.iter().cycle()) {
            if *is_there {
                let path = path.to_str().unwrap().to_owned();
                let is_file = Path::new(&path).extension().is_some_and(|kind| kind == "json");
                let kind = if is_file { FileKind::File } else { FileKind::Folder };
                machine.project.entries.0.insert(path.clone().into(), super::entry(&path, kind, &[]));
            }
        }
        let worktrees = machine.project.repository.iter().flat_map(|all| &all.worktrees);
        let folders: Vec<_> = worktrees.map(|other| other.git_folder.clone()).collect();
        for folder in folders {
            let entry = super::entry(folder.to_str().unwrap(), FileKind::Folder, &[]);
            machine.project.entries.0.insert(folder, entry);
        }
        if is_read_only {
            machine.access = Access::ReadOnly;
        }
        machine
    }
}

/// A repository, which may be a worktree of one in another place, with some of these parts.
fn repository(top: PathBuf, other: &Path, parts: &[bool]) -> RepositoryFacts {
    let is_worktree = parts[0] && other != top;
    let shared_folder = if is_worktree { other.join(".git") } else { top.join(".git") };
    let git_folder =
        if is_worktree { shared_folder.join("worktrees/w") } else { shared_folder.clone() };
    let module =
        ModuleFacts { git_folder: git_folder.join("modules/m"), work_tree: Some(top.join("m")) };
    let worktree = WorktreeFacts {
        git_folder: shared_folder.join("worktrees/x"),
        work_tree: None,
        age: WorktreeAge::Known,
    };
    RepositoryFacts {
        hooks_path: parts[1].then(|| top.join("tools/hooks")),
        included: parts[1].then(|| top.join("tools/gitconfig")).into_iter().collect(),
        modules: parts[2].then_some(module).into_iter().collect(),
        worktrees: parts[3].then_some(worktree).into_iter().collect(),
        alternates: parts[4].then(|| "/srv/objects".into()).into_iter().collect(),
        top,
        git_folder,
        shared_folder,
    }
}

/// Everything in a repository that no program inside may change.
fn protected_of(repository: &RepositoryFacts) -> Vec<PathBuf> {
    let shared = &repository.shared_folder;
    let modules = repository.modules.iter().map(|module| &module.git_folder);
    let names = ["config", "hooks/x", "info/x", "commondir", "objects/info/alternates"];
    let mut paths: Vec<PathBuf> =
        modules.chain([shared]).flat_map(|folder| names.map(|name| folder.join(name))).collect();
    paths.extend(repository.hooks_path.iter().chain(&repository.included).cloned());
    paths.push(repository.git_folder.join("config.worktree"));
    paths.extend(repository.worktrees.iter().map(|other| other.git_folder.join("commondir")));
    paths
}

/// Whether the machine's file is one that the sandbox shows in place of the user's.
fn is_private(machine: &Machine, source: &Path) -> bool {
    source.starts_with(&machine.host.private)
}

fn sources(plan: &MountPlan) -> Vec<(PathBuf, PathBuf)> {
    let pairs = plan.mounts.iter().filter_map(|(place, mount)| match &mount.content {
        Content::Bind { from, .. } => Some((place.clone(), from.clone())),
        _ => None,
    });
    pairs.collect()
}

proptest! {
    #[test]
    fn no_protected_entry_can_be_changed_or_moved_away(machine in machines()) {
        let Ok(plan) = machine.try_plan() else { return Ok(()) };
        for name in lists::PROTECTED {
            let path = machine.project.root.join(name);
            prop_assert!(!can_change(&plan, path.to_str().unwrap()), "{}", path.display());
        }
        let repository = machine.project.repository.as_ref();
        let shown = repository.filter(|all| !machine.host.home.starts_with(&all.top));
        for path in shown.into_iter().flat_map(protected_of) {
            prop_assert!(!can_change(&plan, path.to_str().unwrap()), "{}", path.display());
        }
    }

    #[test]
    fn nothing_of_the_state_folder_is_visible(machine in machines()) {
        let Ok(plan) = machine.try_plan() else { return Ok(()) };
        let secret = machine.host.state.join("other/runs/1/journal.jsonl");
        for (place, from) in sources(&plan) {
            prop_assert!(
                !from.starts_with(&machine.host.state) || is_private(&machine, &from),
                "{} shows {}", place.display(), from.display()
            );
            if let Ok(rest) = secret.strip_prefix(&from) {
                let seen = plan.source_of(&place.join(rest));
                prop_assert!(seen.as_ref() != Some(&secret), "at {}", place.join(rest).display());
            }
        }
    }

    #[test]
    fn nothing_of_the_home_is_visible_unless_it_was_given(machine in machines()) {
        let Ok(plan) = machine.try_plan() else { return Ok(()) };
        let secret = machine.host.home.join(".ssh/id_ed25519");
        for (place, from) in sources(&plan) {
            if let Ok(rest) = secret.strip_prefix(&from) {
                let seen = plan.source_of(&place.join(rest));
                prop_assert!(seen.as_ref() != Some(&secret), "at {}", place.join(rest).display());
            }
        }
    }

    #[test]
    fn outer_mounts_come_before_inner_ones_and_the_root_is_closed_last(machine in machines()) {
        let Ok(plan) = machine.try_plan() else { return Ok(()) };
        let places: Vec<_> = plan.mounts.keys().collect();
        for (at, place) in places.iter().enumerate() {
            prop_assert!(!places[at + 1..].iter().any(|later| place.starts_with(later)));
        }
        let options = bwrap::options(&plan, &machine.project.root, UserNamespaces::Refused);
        let last = options.len() - 1;
        prop_assert_eq!(&options[last - 1][..], &["--remount-ro", "/"]);
        let mounts = |word: &std::ffi::OsString| word == "--bind" || word == "--ro-bind";
        prop_assert!(!options[last..].iter().any(|option| mounts(&option[0])));
    }

    #[test]
    fn a_plan_is_the_same_every_time(machine in machines()) {
        prop_assert_eq!(machine.try_plan(), machine.try_plan());
        if let Ok(made) = machine.try_plan() {
            prop_assert_eq!(plan::private_home(&machine.host), machine.host.private.join("agent-home"));
            prop_assert!(made.mounts.contains_key(&machine.project.root) || made.shows(&machine.project.root));
        }
    }
}

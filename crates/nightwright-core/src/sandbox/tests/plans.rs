//! Plans for machines with one property each.

use std::path::{Path, PathBuf};

use super::repositories::other_worktree;
use super::{Machine, can_change};
use crate::sandbox::bwrap::{self, UserNamespaces};
use crate::sandbox::facts::{FileKind, ToolHome};
use crate::sandbox::mounts::{
    Access, Content, MountPlan, MountPointContent, Placeholder, PlaceholderContent,
};
use crate::sandbox::plan::{PlanError, ProgramKind};

const APP: &str = "/users/u/code/app";

fn placeholders(plan: &MountPlan) -> Vec<String> {
    plan.placeholders.iter().map(|one| one.path.display().to_string()).collect()
}

fn source(plan: &MountPlan, path: &str) -> Option<PathBuf> {
    plan.source_of(Path::new(path))
}

#[test]
fn the_project_is_writable_and_what_runs_outside_later_is_not() {
    let plan = Machine::new().project_folder(".claude").plan();
    for path in ["src/lib.rs", "Cargo.toml", ".git/objects/x", ".git/index", ".git/HEAD"] {
        assert!(can_change(&plan, &format!("{APP}/{path}")), "{path}");
    }
    for path in [
        ".git/config",
        ".git/hooks/pre-commit",
        ".git/info/attributes",
        ".git/commondir",
        ".git/config.worktree",
        ".claude/settings.json",
        ".mcp.json",
        ".nightwright/config.toml",
    ] {
        assert!(!can_change(&plan, &format!("{APP}/{path}")), "{path}");
    }
    assert!(plan.mounts.contains_key(Path::new(&format!("{APP}/.git"))), "it could be moved");
}

#[test]
fn a_missing_protected_entry_is_created_and_an_existing_one_is_not() {
    let plan = Machine::new().project_folder(".claude").project_file(".mcp.json").plan();
    assert_eq!(
        placeholders(&plan),
        [
            ".git/info",
            ".git/config.worktree",
            ".git/objects/info/alternates",
            ".git/commondir",
            ".nightwright"
        ]
        .map(|name| format!("{APP}/{name}"))
    );
    let common = Placeholder {
        path: format!("{APP}/.git/commondir").into(),
        content: PlaceholderContent::File(".\n"),
    };
    assert!(plan.placeholders.contains(&common), "git reads it");
}

#[test]
fn a_setting_lifts_the_protection_of_one_entry() {
    let mut machine = Machine::new();
    machine.settings.write = vec![".git/config".to_owned()];
    let plan = machine.plan();
    assert!(can_change(&plan, &format!("{APP}/.git/config")));
    assert!(!plan.mounts.contains_key(Path::new(&format!("{APP}/.git/config"))), "git renames it");
    assert!(!can_change(&plan, &format!("{APP}/.git/hooks/x")));
}

#[test]
fn the_home_is_private_and_shows_tools_and_settings_of_the_agent_read_only() {
    let plan = Machine::new()
        .folder("/users/u/.rustup/toolchains")
        .file("/users/u/.claude/settings.json")
        .file("/users/u/.claude/.credentials.json")
        .plan();
    let private = "/users/u/.local/state/nightwright/app-1234/sandbox/agent-home";
    assert_eq!(source(&plan, "/users/u/.cache/x"), Some(format!("{private}/.cache/x").into()));
    assert!(plan.is_writable(Path::new("/users/u/.cargo/registry")));
    for path in
        ["/users/u/.cargo/bin", "/users/u/.rustup/toolchains", "/users/u/.claude/settings.json"]
    {
        assert!(plan.shows(Path::new(path)) && !plan.is_writable(Path::new(path)), "{path}");
    }
    let login = Path::new("/users/u/.claude/.credentials.json");
    assert!(plan.shows(login) && plan.is_writable(login), "the agent renews its login");
    for path in ["/users/u/.ssh/id", "/users/u/code/other", "/users/u/.aws"] {
        assert!(!plan.shows(Path::new(path)), "{path}");
    }
}

#[test]
fn a_check_gets_no_login() {
    let mut machine = Machine::new().file("/users/u/.claude/.credentials.json");
    let login = Path::new("/users/u/.claude/.credentials.json");
    assert!(machine.plan().shows(login));
    machine.program = ProgramKind::Judge;
    assert!(machine.plan().shows(login));
    machine.program = ProgramKind::Check;
    let plan = machine.plan();
    assert!(!plan.shows(login));
    assert_eq!(source(&plan, "/users/u/.claude.json"), None);
}

#[test]
fn links_to_the_system_are_shown_as_links() {
    let plan = Machine::new()
        .entry("/bin", "/usr/bin", FileKind::Folder, &[("/bin", "usr/bin")])
        .entry(
            "/etc/resolv.conf",
            "/run/systemd/resolve/stub-resolv.conf",
            FileKind::File,
            &[("/etc/resolv.conf", "../run/systemd/resolve/stub-resolv.conf")],
        )
        .plan();
    let bin = &plan.mounts[Path::new("/bin")];
    assert_eq!(bin.content, Content::Link { target: "usr/bin".into() });
    assert!(!plan.mounts.contains_key(Path::new("/usr/bin")), "it is a part of /usr");
    assert!(!plan.mounts.contains_key(Path::new("/etc/resolv.conf")), "it is a part of /etc");
    assert!(plan.shows(Path::new("/run/systemd/resolve/stub-resolv.conf")));
}

#[test]
fn a_folder_of_path_is_shown_with_its_installation_and_never_with_private_files() {
    let mut machine = Machine::new()
        .folder("/srv/tool/bin")
        .folder("/srv/tool/lib")
        .folder("/users/u/conda/bin")
        .folder("/users/u/conda/conda-meta")
        .folder("/users/u/bin")
        .folder("/users/u/.local/bin")
        .folder("/users/u/.local/lib")
        .folder("/users/u/code/app/node_modules/.bin");
    machine.host.path = [
        "/srv/tool/bin",
        "/users/u/conda/bin",
        "/users/u/bin",
        "/users/u/.local/bin",
        "/users/u/missing/bin",
        "/users/u/code/app/node_modules/.bin",
        "relative",
    ]
    .map(PathBuf::from)
    .to_vec();
    let plan = machine.plan();
    for path in
        ["/srv/tool/lib/x", "/users/u/conda/lib/x", "/users/u/bin/x", "/users/u/.local/bin/x"]
    {
        assert!(plan.shows(Path::new(path)) && !plan.is_writable(Path::new(path)), "{path}");
    }
    for path in ["/users/u/.local/share/keyrings", "/users/u/.ssh"] {
        assert!(!plan.shows(Path::new(path)), "{path}");
    }
    let missing = "/users/u/missing/bin/cargo";
    assert!(!can_change(&plan, missing) || plan.mount_of(Path::new(missing)).is_some());
    assert!(!plan.is_writable(Path::new(missing)), "the checks would run what is planted there");
    let own = format!("{APP}/node_modules/.bin/x");
    assert!(plan.is_writable(Path::new(&own)), "the project stays writable");
}

#[test]
fn the_settings_of_the_kernel_are_read_only_and_no_setting_shows_the_machines_own() {
    let mut machine = Machine::new().folder("/proc").folder("/dev").folder("/proc/sys");
    machine.settings.write = ["/proc", "/dev", "/proc/sys"].map(str::to_owned).to_vec();
    let plan = machine.plan();
    assert!(!plan.is_writable(Path::new("/proc/sys/kernel/core_pattern")));
    assert!(plan.is_writable(Path::new("/proc/self/oom_score_adj")));
    assert_eq!(plan.mounts[Path::new("/proc")].content, Content::Processes);
    assert_eq!(plan.mounts[Path::new("/dev")].content, Content::Devices);
    assert_eq!(plan.notes.len(), 3, "{:?}", plan.notes);
}

#[test]
fn a_tool_outside_the_home_gets_a_private_folder_with_its_programs() {
    let mut machine = Machine::new().folder("/data/cargo").folder("/data/cargo/bin");
    machine.host.tool_homes =
        vec![ToolHome { variable: "CARGO_HOME".to_owned(), folder: "/data/cargo".into() }];
    let plan = machine.plan();
    assert!(plan.shows(Path::new("/data/cargo/bin/cargo")));
    assert!(!plan.shows(Path::new("/data/cargo/credentials.toml")));
    assert!(plan.is_writable(Path::new("/data/cargo/registry")));
}

#[test]
fn a_worktree_leaves_the_main_work_tree_alone() {
    let mut machine = Machine::new();
    let main = "/users/u/code/main/.git";
    let repository = machine.project.repository.as_mut().unwrap();
    repository.git_folder = format!("{main}/worktrees/app").into();
    repository.shared_folder = main.into();
    repository.worktrees = vec![other_worktree(main, "other", Some("/srv/other"))];
    let root = Path::new("/users/u/code/app/");
    machine = machine.project_file(".git");
    for (name, kind) in [
        ("config", FileKind::File),
        ("hooks", FileKind::Folder),
        ("HEAD", FileKind::File),
        ("index", FileKind::File),
        ("worktrees/other", FileKind::Folder),
        ("worktrees/app/gitdir", FileKind::File),
        ("worktrees/app/commondir", FileKind::File),
    ] {
        let path = format!("{main}/{name}");
        machine = machine.project_entry(&path, Path::new(&path), kind, &[]);
    }
    assert!(root.starts_with(&machine.project.root));
    let plan = machine.plan();
    for path in ["objects/x", "refs/heads/x", "worktrees/app/HEAD", "worktrees/app/index"] {
        assert!(can_change(&plan, &format!("{main}/{path}")), "{path}");
    }
    for path in [
        "config",
        "hooks/x",
        "HEAD",
        "index",
        "worktrees/other/HEAD",
        "worktrees/app/gitdir",
        "worktrees/app/commondir",
        "worktrees/app/config.worktree",
        "commondir",
    ] {
        assert!(!can_change(&plan, &format!("{main}/{path}")), "{path}");
    }
    assert!(!can_change(&plan, "/users/u/code/app/.git"));
}

#[test]
fn a_protected_link_is_watched_and_its_target_in_the_project_protected() {
    let target = Path::new("/users/u/code/app/tools/claude");
    let link = "/users/u/code/app/.claude";
    let plan = Machine::new()
        .project_entry(".claude", target, FileKind::Folder, &[(link, "tools/claude")])
        .plan();
    assert!(!can_change(&plan, "/users/u/code/app/tools/claude/settings.json"));
    assert!(plan.mounts.contains_key(Path::new("/users/u/code/app/tools")), "it could be moved");
    assert_eq!(plan.watched_links.len(), 1);
    let outside = Path::new("/users/u/dotfiles/claude");
    let plan = Machine::new()
        .project_entry(".claude", outside, FileKind::Folder, &[(link, "../../dotfiles/claude")])
        .plan();
    assert!(!plan.shows(outside));
}

#[test]
fn in_the_folder_of_the_running_task_only_the_users_files_are_protected() {
    let task = ".nightwright/tasks/t";
    let mut machine = Machine::new()
        .project_folder(".nightwright")
        .project_folder(task)
        .project_file(&format!("{task}/INSTRUCTIONS.md"))
        .project_file(&format!("{task}/task.toml"))
        .project_file(&format!("{task}/.state.json"));
    machine.project.task = Some(task.into());
    let plan = machine.plan();
    for name in ["NOTES.md", "TODO.md"] {
        assert!(plan.is_writable(Path::new(&format!("{APP}/{task}/{name}"))), "{name}");
    }
    for name in ["INSTRUCTIONS.md", "task.toml", ".state.json", "../other/NOTES.md"] {
        let path = format!("{APP}/.nightwright/tasks/t/{name}").replace("t/../", "");
        assert!(!plan.is_writable(Path::new(&path)), "{path}");
    }
}

#[test]
fn a_call_may_change_nothing_in_the_project_and_creates_nothing_there() {
    let mut machine = Machine::new();
    machine.access = Access::ReadOnly;
    let plan = machine.plan();
    assert_eq!(plan.placeholders, []);
    for path in ["src/lib.rs", ".git/index", ".nightwright/x"] {
        assert!(!plan.is_writable(Path::new(&format!("{APP}/{path}"))), "{path}");
    }
}

#[test]
fn a_project_around_the_home_has_no_sandbox_and_a_repository_around_it_is_not_shown() {
    let mut machine = Machine::new();
    machine.project.root = "/users/u".into();
    assert_eq!(machine.try_plan(), Err(PlanError::AroundHome("/users/u".into())));
    let mut machine = Machine::new();
    machine.project.repository.as_mut().unwrap().top = "/users/u".into();
    let plan = machine.plan();
    assert!(plan.shows(Path::new("/users/u/code/app/src")));
    assert!(!plan.shows(Path::new("/users/u/.ssh")));
}

#[test]
fn the_state_folder_is_hidden_even_in_the_project() {
    let mut machine = Machine::new();
    machine.host.state = format!("{APP}/build/state").into();
    machine.host.private = format!("{APP}/build/state/app/sandbox").into();
    let plan = machine.plan();
    assert_eq!(source(&plan, &format!("{APP}/build/state/app/runs")), None);
    assert!(plan.mounts.contains_key(Path::new(&format!("{APP}/build"))), "it could be moved");
    assert!(plan.is_writable(Path::new(&format!("{APP}/build/x"))));
}

#[test]
fn mount_points_in_the_private_home_are_named_for_preparation() {
    let points = Machine::new().file("/users/u/.rustup/settings.toml").plan().mount_points();
    let has = |path: &str, content: MountPointContent| {
        points.iter().any(|point| {
            point.path == Path::new(path)
                && point.content == content
                && point.base.ends_with("agent-home")
        })
    };
    assert!(has(".rustup/settings.toml", MountPointContent::File));
    assert!(has("code/app", MountPointContent::Folder));
    assert!(!has("code/app/.git", MountPointContent::Folder), "it exists in the project");
}

#[test]
fn options_close_the_root_last_and_name_no_variable() {
    let plan = Machine::new().plan();
    let options = bwrap::options(&plan, Path::new(APP), UserNamespaces::Refused);
    let words: Vec<_> = options.iter().map(|option| option[0].to_str().unwrap()).collect();
    for word in [
        "--die-with-parent",
        "--unshare-user",
        "--disable-userns",
        "--unshare-pid",
        "--unshare-ipc",
        "--unshare-uts",
        "--new-session",
        "--cap-drop",
    ] {
        assert_eq!(words.iter().filter(|known| **known == word).count(), 1, "{word}");
    }
    let root = options.iter().position(|option| option[1..] == ["/"]).unwrap();
    assert_eq!(options[root][0], "--remount-ro");
    assert_eq!(words[root + 1..], ["--chdir"]);
    assert!(!words.contains(&"--setenv"), "other users can read arguments");
    let line = bwrap::arguments(&options, Path::new("/usr/bin/true"), &["x".into()]);
    assert_eq!(line[line.len() - 3..], ["--", "/usr/bin/true", "x"]);
}

//! The lists behind the plan: which folders of tools, settings and protected files there are.

use std::path::{Path, PathBuf};

use super::facts::{HostFacts, ProjectFacts, RepositoryFacts};

/// Folders of the system, shown read-only.
pub(super) const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/nix",
    "/snap",
    "/gnu/store",
    "/home/linuxbrew",
];

/// Entries of `/proc` with settings of the whole machine, which root could change even in a sandbox.
pub(super) const KERNEL_SETTINGS: &[&str] = &[
    "/proc/sys",
    "/proc/sysrq-trigger",
    "/proc/irq",
    "/proc/bus",
    "/proc/fs",
    "/proc/mtrr",
    "/proc/scsi",
    "/proc/acpi",
];

/// Folders that a sandbox never shares with the machine.
pub(super) const KERNEL_FOLDERS: &[&str] = &["/dev", "/proc"];

/// Files in `/etc` that are often links to places that are not shown.
pub(super) const LINKED_IN_ETC: &[&str] =
    &["/etc/resolv.conf", "/etc/hosts", "/etc/localtime", "/etc/machine-id", "/etc/ssl/certs"];

/// Entries in `/etc` that are covered even if everyone may read them.
pub const SECRET_IN_ETC: &[&str] = &[
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/ssl/private",
    "/etc/sudoers",
    "/etc/sudoers.d",
];

/// Programs and toolchains in the user's home, shown read-only.
pub(super) const TOOLS: &[&str] = &[
    ".rustup/toolchains",
    ".rustup/settings.toml",
    ".cargo/bin",
    ".cargo/env",
    ".nvm",
    ".fnm",
    ".local/share/fnm",
    ".volta",
    ".asdf",
    ".local/share/mise",
    ".pyenv",
    ".local/bin",
    ".local/share/uv",
    ".local/share/pipx",
    ".local/share/pnpm",
    ".bun/bin",
    ".deno/bin",
    "go/bin",
    "sdk",
    ".sdkman",
    ".rbenv",
    ".rvm",
    ".ghcup/bin",
    ".juliaup",
    ".dotnet",
    ".cache/ms-playwright",
];

/// The configuration of the agent in its folder, shown read-only.
pub(super) const AGENT_SETTINGS: &[&str] =
    &["settings.json", "CLAUDE.md", "skills", "agents", "commands", "plugins"];
/// The folder of the agent's configuration, in the user's home.
pub const AGENT_FOLDER: &str = ".claude";
/// The file with the login of the agent, which the agent itself updates.
pub(super) const AGENT_LOGIN: &str = ".credentials.json";
/// The file with the state of the agent in the user's home, which may contain a login.
pub(super) const AGENT_STATE: &str = ".claude.json";
/// The variable that names another folder for the agent's configuration.
pub const AGENT_VARIABLE: &str = "CLAUDE_CONFIG_DIR";

/// The folder of a tool, if a variable places it outside the user's home: its variable, and the
/// parts that are shown read-only. The rest is private to the project.
pub(super) const TOOL_HOMES: &[(&str, &[&str])] = &[
    ("RUSTUP_HOME", &["toolchains", "settings.toml"]),
    ("CARGO_HOME", &["bin", "env"]),
    ("GOPATH", &["bin"]),
    (AGENT_VARIABLE, AGENT_SETTINGS),
];

/// Variables that name folders with programs, shown read-only as a whole.
pub(super) const PROGRAM_FOLDERS: &[&str] = &[
    "JAVA_HOME",
    "JDK_HOME",
    "GRADLE_HOME",
    "MAVEN_HOME",
    "M2_HOME",
    "GOROOT",
    "NVM_DIR",
    "PYENV_ROOT",
    "RBENV_ROOT",
    "ASDF_DIR",
    "VOLTA_HOME",
    "DOTNET_ROOT",
    "ANDROID_HOME",
    "ANDROID_SDK_ROOT",
    "CONDA_PREFIX",
    "VIRTUAL_ENV",
];

/// Variables that name files or folders to show, such as certificates.
pub const NAMED_FILES: &[&str] = &[
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "PIP_CERT",
    "CARGO_HTTP_CAINFO",
    "NIX_SSL_CERT_FILE",
    "AWS_CA_BUNDLE",
];

/// Settings of package managers in the user's home, copied without their logins.
pub const PACKAGE_SETTINGS: &[&str] = &[
    ".cargo/config.toml",
    ".cargo/config",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".bunfig.toml",
    ".pip/pip.conf",
    ".config/pip/pip.conf",
    ".config/uv/uv.toml",
    ".config/pypoetry/config.toml",
    ".condarc",
    ".gemrc",
    ".bundle/config",
    ".m2/settings.xml",
    ".gradle/gradle.properties",
    ".config/go/env",
];

/// Files with the logins of package managers, shown only if the user wants it.
pub const PACKAGE_LOGINS: &[&str] = &[
    ".cargo/credentials.toml",
    ".cargo/credentials",
    ".config/pypoetry/auth.toml",
    ".gem/credentials",
];

/// Entries of the project that no program inside may change.
pub const PROTECTED: &[&str] = &[".nightwright", ".claude", ".mcp.json"];
/// Those of them that are files.
pub(super) const PROTECTED_FILES: &[&str] = &[".mcp.json"];

/// Files in the folder of the running task that only the user changes.
pub(super) const TASK_FILES: &[&str] = &["INSTRUCTIONS.md", TASK_SETTINGS, ".state.json"];
/// The one that may be missing, and is valid when it is empty.
pub(super) const TASK_SETTINGS: &str = "task.toml";

/// Entries of a git folder with which git would run programs or read its configuration from
/// elsewhere.
pub(super) const GIT_FOLDERS: &[&str] = &["hooks", "info"];
pub(super) const GIT_FILES: &[&str] = &["config", "config.worktree", ALTERNATES];
/// The file that names object folders of other repositories.
pub const ALTERNATES: &str = "objects/info/alternates";
/// The folders that contain this file.
const AROUND_ALTERNATES: &[&str] = &["objects", "objects/info"];
/// The file that names the folder with the configuration and the hooks.
pub(super) const GIT_COMMON: &str = "commondir";
/// The contents of that file in an ordinary git folder: the folder itself.
pub(super) const GIT_COMMON_ITSELF: &str = ".\n";
/// Entries of the shared git folder that belong to the main work tree.
pub(super) const MAIN_WORK_TREE: &[&str] = &["HEAD", "index"];
/// Entries of a worktree's git folder that say where the worktree is.
pub(super) const WORKTREE_LINKS: &[&str] = &["gitdir", "commondir"];
/// The settings of one worktree.
pub(super) const WORKTREE_SETTINGS: &str = "config.worktree";

/// Variables that name sockets or files that are not visible inside.
pub(super) const UNREACHABLE: &[&str] = &[
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "SSH_ASKPASS",
    "GIT_ASKPASS",
    "GIT_CONFIG_GLOBAL",
    "DBUS_SESSION_BUS_ADDRESS",
    "DBUS_SYSTEM_BUS_ADDRESS",
    "XDG_RUNTIME_DIR",
    "GPG_AGENT_INFO",
    "GNUPGHOME",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "DOCKER_HOST",
    "DOCKER_CONFIG",
    "KUBECONFIG",
    "NETRC",
    "NIGHTWRIGHT_STATE_DIR",
];

/// Names that mark a folder as the root of an installation, so that all of it can be shown.
const INSTALLATION_MARKS: &[&str] = &["conda-meta", "pyvenv.cfg"];
/// Such names for a folder outside the user's home.
const OUTER_INSTALLATION_MARKS: &[&str] = &["lib", "lib64", "libexec", "share"];

/// The paths of the machine to look at.
pub fn paths(facts: &HostFacts) -> Vec<PathBuf> {
    let system = SYSTEM.iter().chain(LINKED_IN_ETC).chain(KERNEL_SETTINGS);
    let mut paths: Vec<PathBuf> = system.map(PathBuf::from).collect();
    paths.extend(TOOLS.iter().chain(PACKAGE_LOGINS).map(|name| facts.home.join(name)));
    paths.extend(PACKAGE_SETTINGS.iter().map(|name| facts.home.join(name)));
    let agent = facts.home.join(AGENT_FOLDER);
    paths.extend(AGENT_SETTINGS.iter().chain([&AGENT_LOGIN]).map(|name| agent.join(name)));
    for home in &facts.tool_homes {
        paths.push(home.folder.clone());
        let parts = TOOL_HOMES.iter().filter(|(variable, _)| *variable == home.variable);
        paths.extend(parts.flat_map(|(_, parts)| *parts).map(|part| home.folder.join(part)));
        paths.push(home.folder.join(AGENT_LOGIN));
    }
    for folder in &facts.path {
        paths.push(folder.clone());
        if let Some(prefix) = folder.parent() {
            paths.push(prefix.to_owned());
            let marks = INSTALLATION_MARKS.iter().chain(OUTER_INSTALLATION_MARKS);
            paths.extend(marks.map(|mark| prefix.join(mark)));
        }
    }
    paths.extend(facts.named_files.iter().chain(&facts.programs).cloned());
    paths.extend(facts.programs.iter().filter_map(|program| package_of(program)));
    paths.push(facts.home.clone());
    paths
}

/// The variables that name folders of tools.
pub fn folder_variables() -> impl Iterator<Item = &'static str> {
    TOOL_HOMES.iter().map(|(name, _)| *name).chain(PROGRAM_FOLDERS.iter().copied())
}

/// Whether the folder has the marks of an installation.
pub(super) fn is_installation(prefix: &Path, facts: &HostFacts) -> bool {
    let has = |mark: &&str| facts.entries.get(&prefix.join(mark)).is_some();
    let is_outside = !prefix.starts_with(&facts.home);
    INSTALLATION_MARKS.iter().any(has) || (is_outside && OUTER_INSTALLATION_MARKS.iter().any(has))
}

/// The folder of packages that contains a program of npm: the program needs its other files.
pub fn package_of(program: &Path) -> Option<PathBuf> {
    let above = program.ancestors().filter(|path| path.ends_with("node_modules"));
    above.last().map(Path::to_owned)
}

/// The paths of the project to look at.
pub fn project_paths(facts: &ProjectFacts) -> Vec<PathBuf> {
    let mut paths = vec![facts.root.clone(), facts.root.join(".git/config")];
    let tops = facts.repository.iter().map(|repository| &repository.top);
    for folder in tops.clone().chain([&facts.root]) {
        paths.extend(PROTECTED.iter().map(|name| folder.join(name)));
    }
    for top in tops {
        paths.extend(between(top, &facts.root).map(|folder| folder.join(".git")));
        paths.push(top.join(".git"));
    }
    if let Some(task) = &facts.task {
        paths.extend(TASK_FILES.iter().map(|name| facts.root.join(task).join(name)));
        paths.push(facts.root.join(task));
    }
    paths.extend(facts.requested.iter().map(|file| facts.root.join(file)));
    paths.extend(facts.repository.iter().flat_map(repository_paths));
    paths
}

/// The folders from the project up to the top of its repository, without the top.
pub(super) fn between<'a>(top: &'a Path, root: &'a Path) -> impl Iterator<Item = &'a Path> {
    root.ancestors().take_while(move |folder| *folder != top && folder.starts_with(top))
}

fn repository_paths(facts: &RepositoryFacts) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    let modules = facts.modules.iter().map(|module| &module.git_folder);
    let worktrees = facts.worktrees.iter().map(|worktree| &worktree.git_folder);
    let folders = [&facts.git_folder, &facts.shared_folder].into_iter().chain(modules);
    for folder in folders.chain(worktrees) {
        let names = GIT_FOLDERS.iter().chain(GIT_FILES).chain(AROUND_ALTERNATES);
        let names = names.chain(MAIN_WORK_TREE).chain(WORKTREE_LINKS);
        paths.extend(names.map(|name| folder.join(name)));
        paths.push(folder.clone());
    }
    let modules = facts.modules.iter().filter_map(|module| module.work_tree.as_ref());
    let worktrees = facts.worktrees.iter().filter_map(|worktree| worktree.work_tree.as_ref());
    paths.extend(modules.chain(worktrees).map(|folder| folder.join(".git")));
    let named = facts.hooks_path.iter().chain(&facts.included);
    paths.extend(named.chain(&facts.alternates).cloned());
    paths
}

//! Facts about the machine and the project, from which a plan is made.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The type of a file, after following links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileKind {
    File,
    Folder,
    /// A device, a socket or a pipe.
    Special,
}

/// A symbolic link on the way to a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Link {
    /// The location of the link, without links in its own path.
    pub at: PathBuf,
    /// The target, as written in the link.
    pub target: PathBuf,
}

/// An existing file or folder of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The path without links.
    pub real: PathBuf,
    pub kind: FileKind,
    /// The links on the way to it, in the order in which they are followed.
    pub links: Vec<Link>,
}

/// The files and folders that exist, by the paths under which they were looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entries(pub BTreeMap<PathBuf, Entry>);

impl Entries {
    /// The entry at a path; `None` if nothing exists there.
    pub fn get(&self, path: &Path) -> Option<&Entry> {
        self.0.get(path)
    }
}

/// A variable that names the home folder of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolHome {
    pub variable: String,
    pub folder: PathBuf,
}

/// Facts about the machine and the user. They stay the same during a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostFacts {
    /// The home folder of the user, without links.
    pub home: PathBuf,
    /// The links in the path by which the user names it.
    pub home_links: Vec<Link>,
    /// The folder for all state of nightwright, without links. It is invisible inside.
    pub state: PathBuf,
    /// The folder in the state of the project with the files that the sandbox shows instead of the
    /// user's, such as the home folder.
    pub private: PathBuf,
    /// The folders on `PATH`.
    pub path: Vec<PathBuf>,
    /// The variables that name home folders of tools.
    pub tool_homes: Vec<ToolHome>,
    /// Files that variables name, such as certificates.
    pub named_files: Vec<PathBuf>,
    /// Programs to show, such as the agent.
    pub programs: Vec<PathBuf>,
    /// Entries in `/etc` that not everyone may read.
    pub restricted: Vec<(PathBuf, FileKind)>,
    /// The entries at the paths of [`paths`](super::lists::paths) for these facts.
    pub entries: Entries,
}

/// Facts about the project. They may change with every program that works in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectFacts {
    /// The project folder, without links.
    pub root: PathBuf,
    /// The links in the path by which the user names it.
    pub root_links: Vec<Link>,
    pub repository: Option<RepositoryFacts>,
    /// The folder of the running task, relative to the project.
    pub task: Option<PathBuf>,
    /// A file below `.nightwright` that the agent is asked to write, relative to the project.
    pub requested: Option<PathBuf>,
    /// The entries at the paths of [`project_paths`](super::lists::project_paths).
    pub entries: Entries,
}

/// The repository that contains the project. All paths are without links.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepositoryFacts {
    /// The top of the work tree.
    pub top: PathBuf,
    /// The git folder of the work tree.
    pub git_folder: PathBuf,
    /// The git folder that all work trees share. It differs from `git_folder` in a worktree.
    pub shared_folder: PathBuf,
    /// The folder that the setting `core.hooksPath` names. It may be missing, or a link.
    pub hooks_path: Option<PathBuf>,
    /// The files with further settings that the configuration names. They may be missing, or links.
    pub included: Vec<PathBuf>,
    pub modules: Vec<ModuleFacts>,
    /// The linked worktrees, except the one that contains the project.
    pub worktrees: Vec<WorktreeFacts>,
    /// Object folders of other repositories that this one uses.
    pub alternates: Vec<PathBuf>,
}

/// The repository of a submodule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModuleFacts {
    pub git_folder: PathBuf,
    /// The folder of its files, if its configuration names it.
    pub work_tree: Option<PathBuf>,
}

/// A linked worktree besides the project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorktreeFacts {
    /// Its folder in the shared git folder.
    pub git_folder: PathBuf,
    /// The folder of its files, if it exists.
    pub work_tree: Option<PathBuf>,
    pub age: WorktreeAge,
}

/// Whether a worktree existed when the sandbox was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorktreeAge {
    Known,
    New,
}

//! The sandbox of a run: collects the facts, prepares the mount points, and wraps the programs.
//!
//! ```text
//!   supervisor ─▶ guard ─▶ nw-net, which makes the network ─▶ bwrap ─▶ the program
//! ```
//!
//! The plan comes from `nightwright_core::sandbox`. No program of the agent runs while the mount
//! points are prepared. Nevertheless no link is followed: an earlier program may have left one.

mod canary_program;
mod enter;
mod entries;
mod folder_use;
mod git;
mod git_links;
mod home_files;
mod host;
mod mount_points;
pub mod network;
mod open_network;
mod placeholders;
mod project;
mod repository;
mod trial;

use std::env;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nightwright_core::run_view::shell_word;
use nightwright_core::sandbox::bwrap::{self, UserNamespaces};
use nightwright_core::sandbox::facts::HostFacts;
use nightwright_core::sandbox::plan::PlanError;
pub use nightwright_core::sandbox::plan::ProgramKind;
use nightwright_core::settings::{SandboxKind, SandboxSettings, Settings};
use rustix::fs::{Access, access};

pub(crate) use self::canary_program::{COMMAND as CANARY_COMMAND, main as canary_main};
pub use self::enter::{Entered, SandboxedProgram, show_variable, shown_path};
use self::home_files::HomeFiles;
use self::open_network::OpenNetwork;
pub use self::placeholders::remove_leftovers;
use self::repository::OpenRepository;
pub use self::trial::{ChangeOptions, Trial};
use crate::error::Failure;
use crate::process::{CapturedCommand, CapturedEnd, run_captured};
use crate::workspace::{Repository, safe_path};

/// The time limit for an attempt that usually takes milliseconds.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum size of its output, which is usually empty.
const MAX_ATTEMPT_OUTPUT: usize = 4 << 10;

/// The folder in the state of a project with the files of its sandbox.
const PRIVATE: &str = "sandbox";
/// The folder for the homes of judges, in this folder.
const JUDGES: &str = "judges";

/// The sandbox of a run, opened once.
#[derive(Debug)]
pub struct Sandbox {
    kind: SandboxKind,
    /// The path of `bwrap`, from the user's `PATH`.
    program: PathBuf,
    host: HostFacts,
    /// The project folder, as the user names it.
    project: PathBuf,
    /// Its repository, as it was when the sandbox was opened.
    repository: Option<OpenRepository>,
    /// The folder of the running task, relative to the project.
    task: Option<PathBuf>,
    /// A file below `.nightwright` that the agent is asked to write.
    requested: Option<PathBuf>,
    settings: SandboxSettings,
    files: HomeFiles,
    /// The path of nightwright, which is also the canary.
    canary: PathBuf,
    /// The network of the programs inside; `None` if they use that of the machine.
    network: Option<OpenNetwork>,
}

/// The run for which a sandbox is opened.
#[derive(Clone, Debug)]
pub struct SandboxSpec<'a> {
    pub settings: &'a Settings,
    pub project: &'a Path,
    /// The folder for all state.
    pub state: &'a Path,
    /// The state folder of the project.
    pub project_state: &'a Path,
    /// Programs to show, such as the agent.
    pub programs: Vec<PathBuf>,
    /// The path of nightwright, which is also the canary.
    pub canary: PathBuf,
    /// The environments of the programs that will run inside.
    pub environment: Vec<(OsString, OsString)>,
}

/// A sandbox cannot be used here.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    #[error("there is no `bwrap` on PATH")]
    NoProgram,
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error("cannot prepare the sandbox in `{}`", path.display())]
    Prepare { path: PathBuf, source: std::io::Error },
    #[error("the sandbox does not start: {0}")]
    NotStarted(String),
    #[error("`{}` is a link to `{}`, which does not exist", link.display(), target.display())]
    DanglingLink { link: PathBuf, target: PathBuf },
    #[error(
        "`{}` names the git folder `{}`, which does not name this project", dot_git.display(),
        target.display()
    )]
    ForeignRepository { dot_git: PathBuf, target: PathBuf },
    #[error("`{}` was created or changed, and names another repository", .0.display())]
    ChangedRepository(PathBuf),
    #[error("the path `{}` is not valid UTF-8", .0.display())]
    NotUtf8(PathBuf),
    #[error("the project `{}` belongs to another user", .0.display())]
    ForeignProject(PathBuf),
    #[error("the sandbox failed its test: {}", .0.join("; "))]
    Unsafe(Vec<String>),
}

impl SandboxError {
    /// Advice for the user, if there is any besides a test of the sandbox.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NoProgram => {
                "install bubblewrap 0.8 or newer (`apt-get install bubblewrap`)".to_owned()
            }
            Self::Plan(PlanError::AroundHome(_)) => {
                "run nightwright in a folder inside your home folder".to_owned()
            }
            Self::Plan(PlanError::NoHome) => "set HOME to your home folder".to_owned(),
            Self::ForeignProject(_) => {
                "run nightwright as the owner of the project: root has no power over the files of \
                 other users in a sandbox"
                    .to_owned()
            }
            Self::NotStarted(why) if why.contains("disable-userns") => {
                "install bubblewrap 0.8 or newer".to_owned()
            }
            Self::NotStarted(why) if is_namespace_refusal(why) => {
                "allow `bwrap` to create user namespaces (on Ubuntu 24.04, with an AppArmor \
                 profile)"
                    .to_owned()
            }
            Self::DanglingLink { .. } => "create its target, or remove the link".to_owned(),
            Self::ForeignRepository { dot_git, target } => {
                let word = |path: &Path| shell_word(&path.to_string_lossy());
                let top = dot_git.parent().unwrap_or(dot_git);
                format!(
                    "if you did not create `{}`, remove it; otherwise run `git --git-dir {} config \
                     core.worktree {}`",
                    dot_git.display(),
                    word(target),
                    word(top)
                )
            }
            Self::ChangedRepository(_) => "review it, and remove it".to_owned(),
            Self::NotUtf8(_) => "rename the folder".to_owned(),
            Self::Prepare { .. } | Self::NotStarted(_) | Self::Unsafe(_) => return None,
        };
        Some(hint)
    }

    /// Whether a run could do without the sandbox.
    fn can_be_avoided(&self) -> bool {
        match self {
            Self::NoProgram
            | Self::NotUtf8(_)
            | Self::Prepare { .. }
            | Self::NotStarted(_)
            | Self::Unsafe(_) => true,
            Self::Plan(_)
            | Self::ForeignProject(_)
            | Self::DanglingLink { .. }
            | Self::ForeignRepository { .. }
            | Self::ChangedRepository(_) => false,
        }
    }
}

/// Whether bubblewrap complains that the system refuses namespaces.
fn is_namespace_refusal(why: &str) -> bool {
    ["setting up uid map", "Creating new namespace failed", "No permissions to create"]
        .iter()
        .any(|text| why.contains(text))
}

impl From<SandboxError> for Failure {
    fn from(error: SandboxError) -> Self {
        let details = || "run `nightwright sandbox test` for details".to_owned();
        let mut hint = error.hint().unwrap_or_else(details);
        if error.can_be_avoided() {
            hint.push_str(", or run without a sandbox: `--sandbox off`");
        }
        // The run could not start as requested.
        Self::usage(crate::error::chain(&error)).hint(hint)
    }
}

impl Sandbox {
    /// Opens the sandbox of these settings; `None` if it is off. Changes nothing outside the state
    /// folder, except that it removes what a crash left in the project.
    pub fn open(spec: &SandboxSpec<'_>) -> Result<Option<Self>, SandboxError> {
        let settings = &spec.settings.sandbox;
        match settings.kind {
            SandboxKind::Off | SandboxKind::External => return Ok(None),
            SandboxKind::Bwrap => {}
        }
        if spec.project.to_str().is_none() {
            return Err(SandboxError::NotUtf8(spec.project.to_owned()));
        }
        let root = spec.project.canonicalize().unwrap_or_else(|_| spec.project.to_owned());
        let repository = OpenRepository::around(&root)?;
        let top = repository.as_ref().map_or(&*root, OpenRepository::top).to_owned();
        let program = find_bwrap(&top).ok_or(SandboxError::NoProgram)?;
        if rustix::process::getuid().is_root()
            && fs::metadata(spec.project).is_ok_and(|found| found.uid() != 0)
        {
            return Err(SandboxError::ForeignProject(spec.project.to_owned()));
        }
        let private = spec.project_state.join(PRIVATE);
        let host = host::collect(spec, &private)?;
        let network = open_network::open(spec, &host)?;
        let files = HomeFiles::of_user(&host, settings, &spec.environment, &top);
        let folder = spec.settings.files.task.as_ref().map(PathBuf::from);
        Ok(Some(Self {
            kind: settings.kind,
            program,
            host,
            project: spec.project.to_owned(),
            repository,
            task: folder,
            requested: spec.settings.files.principles.as_ref().map(PathBuf::from),
            settings: settings.clone(),
            files,
            canary: spec.canary.clone(),
            network,
        }))
    }

    pub fn kind(&self) -> SandboxKind {
        self.kind
    }

    fn user_namespaces(&self) -> UserNamespaces {
        if self.settings.userns { UserNamespaces::Allowed } else { UserNamespaces::Refused }
    }
}

/// Fails if bubblewrap cannot make a sandbox on this machine. Changes nothing. A program in the
/// project is not used.
pub fn try_bubblewrap(project: &Path) -> Result<(), SandboxError> {
    let top = Repository::around(project).map_or_else(|| project.to_owned(), |found| found.top);
    let program = find_bwrap(&top).ok_or(SandboxError::NoProgram)?;
    let environment = [(OsString::from("PATH"), safe_path(&top))];
    let tried = run_captured(CapturedCommand {
        program: program.as_os_str(),
        arguments: &bwrap::attempt(),
        environment: &environment,
        directory: Path::new("/"),
        input: Vec::new(),
        limit: ATTEMPT_TIMEOUT,
        max_output: MAX_ATTEMPT_OUTPUT,
    })
    .map_err(|error| SandboxError::NotStarted(error.to_string()))?;
    match tried.ended {
        CapturedEnd::Exited(exit) if exit.is_success() => Ok(()),
        CapturedEnd::Exited(_) | CapturedEnd::TimedOut | CapturedEnd::TooMuch => {
            Err(SandboxError::NotStarted(tried.complaint))
        }
    }
}

/// Finds bubblewrap on the user's `PATH`, but not in the project: the agent can write there.
fn find_bwrap(top: &Path) -> Option<PathBuf> {
    let path = safe_path(top);
    let mut files = env::split_paths(&path).map(|folder| folder.join(bwrap::PROGRAM));
    files.find(|file| file.is_file() && access(file, Access::EXEC_OK).is_ok())
}

//! Puts a program into the sandbox: prepares everything that its mounts need, and wraps its launch.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use nightwright_core::run_view::shell_word;
use nightwright_core::sandbox::SHOWN_FILES;
use nightwright_core::sandbox::bwrap::{self, BwrapOption};
use nightwright_core::sandbox::environment::{self, Inside};
use nightwright_core::sandbox::explain;
use nightwright_core::sandbox::facts::{FileKind, Link, ProjectFacts};
use nightwright_core::sandbox::mounts::{Access, Content, MountPlan};
use nightwright_core::sandbox::plan::{self, ProgramKind, Request, ShownFile};

use super::folder_use::FolderUse;
use super::git_links::GitLinks;
use super::mount_points::{self, Obstacle};
use super::placeholders::{Place, Placeholders};
use super::project::FoundProject;
use super::{JUDGES, Sandbox, SandboxError};
use crate::hex::hex;
use crate::process::{Launch, SigtermScope};
use crate::random;

/// A program that will run in the sandbox.
#[derive(Debug)]
pub struct SandboxedProgram {
    /// How it would be started without a sandbox.
    pub launch: Launch,
    pub kind: ProgramKind,
    /// Its access to the project.
    pub access: Access,
    /// The folder for its temporary files.
    pub room: PathBuf,
    /// Files of nightwright that it may see.
    pub shown: Vec<ShownFile>,
}

/// A program that is ready to start. Keep this until its processes are gone: dropping it removes
/// what was created for the program.
#[derive(Debug)]
pub struct Entered {
    pub launch: Launch,
    _placeholders: Placeholders,
    _home: Home,
    links: Vec<Link>,
    git_links: Option<GitLinks>,
}

impl Entered {
    /// Warnings about changes that the user must review after the program.
    pub fn warnings(&self) -> Vec<String> {
        let changed = self.changed_links().into_iter();
        let changed = changed.map(|link| {
            format!("`{}` changed, although it is protected: review it", link.display())
        });
        let before = self.git_links.as_ref();
        let now = before.map(GitLinks::again).unwrap_or_default();
        let planted = now.into_iter().map(|link| {
            let link = link.display();
            format!("`{link}` is a new link that leads out of the git folder: remove it before you run git")
        });
        changed.chain(planted).collect()
    }

    /// Protected links that the program changed. A mount cannot protect a link.
    fn changed_links(&self) -> Vec<PathBuf> {
        let is_changed = |link: &&Link| fs::read_link(&link.at).ok().as_ref() != Some(&link.target);
        self.links.iter().filter(is_changed).map(|link| link.at.clone()).collect()
    }
}

/// Everything about one program in the sandbox.
pub(super) struct Prepared {
    pub(super) plan: MountPlan,
    pub(super) project: ProjectFacts,
    pub(super) options: Vec<BwrapOption>,
    /// The file with ignore rules that the repository itself names.
    ignore_file: Option<PathBuf>,
    /// The folder of the machine that is shown as the home of the user.
    home: Home,
}

/// The folder that is shown as the home of the user.
#[derive(Debug)]
enum Home {
    Shared(PathBuf),
    /// The home of one judge, removed with it.
    Own(PathBuf),
}

impl Home {
    fn path(&self) -> &Path {
        match self {
            Self::Shared(path) | Self::Own(path) => path,
        }
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        match self {
            Self::Shared(_) => {}
            // The next start removes what is left.
            Self::Own(path) => drop(fs::remove_dir_all(path)),
        }
    }
}

/// A program that a sandbox is planned for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Planned<'a> {
    pub(super) kind: ProgramKind,
    pub(super) access: Access,
    pub(super) room: &'a Path,
    pub(super) shown: &'a [ShownFile],
    pub(super) directory: &'a Path,
}

/// The path under which a program sees a file of nightwright.
pub fn shown_path(name: &str) -> PathBuf {
    Path::new(SHOWN_FILES).join(name)
}

impl Sandbox {
    /// Prepares the mounts, and returns the launch of the program inside.
    pub fn enter(&self, program: SandboxedProgram) -> Result<Entered, SandboxError> {
        let SandboxedProgram { launch, kind, access, room, shown } = program;
        let git = self.begin_use()?;
        let directory = &launch.directory;
        let planned = Planned { kind, access, room: &room, shown: &shown, directory };
        let prepared = self.plan_for(planned)?;
        let placeholders = self.prepare(&prepared, git)?;
        let mut variables = self.variables(&prepared.plan, &room, &launch.environment);
        if prepared.ignore_file.is_some() {
            environment::set_ignore_file(&mut variables, &self.host.home);
        }
        let launch = self.wrap(&prepared.options, &launch, variables);
        let Prepared { plan, home, .. } = prepared;
        let is_writer = access == Access::ReadWrite;
        let folder = self.repository.as_ref().filter(|_| is_writer);
        let git_links = folder.map(|found| GitLinks::of(found.shared_folder()));
        let links = plan.watched_links;
        Ok(Entered { launch, _placeholders: placeholders, _home: home, links, git_links })
    }

    /// Notes that a program uses the git folder, before anything looks at it.
    pub(super) fn begin_use(&self) -> Result<Option<FolderUse>, SandboxError> {
        let Some(repository) = &self.repository else { return Ok(None) };
        let path = repository.shared_folder();
        let begun = FolderUse::begin(path);
        begun.map(Some).map_err(|source| SandboxError::Prepare { path: path.to_owned(), source })
    }

    /// Plans the mounts; changes nothing.
    pub(super) fn plan_for(&self, planned: Planned<'_>) -> Result<Prepared, SandboxError> {
        let Planned { kind, access, room, shown, directory } = planned;
        let FoundProject { facts: project, settings } = self.find_project()?;
        let room = room.canonicalize().unwrap_or_else(|_| room.to_owned());
        let home = match kind {
            ProgramKind::Agent | ProgramKind::Check => Home::Shared(plan::private_home(&self.host)),
            ProgramKind::Judge => {
                Home::Own(self.host.private.join(JUDGES).join(hex(&random::nonce())))
            }
        };
        let plan = plan::plan(&Request {
            host: &self.host,
            project: &project,
            settings: &self.settings,
            program: kind,
            home: home.path(),
            project_access: access,
            temporary: &room,
            shown,
            network: &self.network_mounts(),
        })?;
        let directory = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
        let mut options = self.network_options();
        options.extend(bwrap::options(&plan, &directory, self.user_namespaces()));
        Ok(Prepared { plan, project, options, ignore_file: settings.ignore_file, home })
    }

    /// Creates what must exist before the mounts can be made.
    pub(super) fn prepare(
        &self,
        prepared: &Prepared,
        git: Option<FolderUse>,
    ) -> Result<Placeholders, SandboxError> {
        let Prepared { plan, project, .. } = prepared;
        let private = &self.host.private;
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| SandboxError::Prepare { path, source }
        };
        for mount in plan.mounts.values() {
            if let Content::Bind { from, .. } = &mount.content
                && mount.kind == FileKind::Folder
                && let Ok(rest) = from.strip_prefix(private)
            {
                mount_points::ensure_folders(private, rest, Obstacle::Removed)
                    .map_err(failed(from))?;
            }
        }
        let home = prepared.home.path();
        // The agent may have taken away its own access.
        fs::set_permissions(home, fs::Permissions::from_mode(0o700)).map_err(failed(home))?;
        let ignore = prepared.ignore_file.as_deref();
        self.files
            .write(home, &self.host, project, &plan.placeholders, ignore)
            .map_err(failed(home))?;
        for point in plan.mount_points() {
            let is_own = point.base.starts_with(private) || is_temporary(&point.base);
            // Nothing that belongs to the user is removed.
            let obstacle = if is_own { Obstacle::Removed } else { Obstacle::Refused };
            mount_points::ensure(&point.base, &point.path, &point.content, obstacle)
                .map_err(failed(&point.base.join(&point.path)))?;
        }
        for one in &plan.placeholders {
            if let Ok(target) = fs::read_link(&one.path) {
                return Err(SandboxError::DanglingLink { link: one.path.clone(), target });
            }
        }
        let place = Place {
            root: project.root.clone(),
            shared: self.repository.as_ref().map(|found| found.shared_folder().to_owned()),
        };
        Placeholders::create(private, place, git, &plan.placeholders).map_err(failed(&project.root))
    }

    /// Describes the sandbox of a program that works on the project.
    pub fn explain(&self, room: &Path) -> Result<String, SandboxError> {
        let prepared = self.plan_for(self.agent_in(room))?;
        Ok(explain::explain(&prepared.plan) + &self.explain_network())
    }

    /// The agent, at work on the project.
    fn agent_in<'a>(&'a self, room: &'a Path) -> Planned<'a> {
        let (kind, access) = (ProgramKind::Agent, Access::ReadWrite);
        Planned { kind, access, room, shown: &[], directory: &self.project }
    }

    /// The command line of that sandbox, for a shell.
    pub fn command_line(&self, room: &Path) -> Result<String, SandboxError> {
        let prepared = self.plan_for(self.agent_in(room))?;
        let mut words = self.outer_command();
        words.push(self.program.clone().into());
        words.extend(prepared.options.iter().flatten().cloned());
        let words: Vec<_> = words.iter().map(|word| shell_word(&word.to_string_lossy())).collect();
        Ok(words.join(" "))
    }

    /// The environment of a program inside.
    pub(super) fn variables(
        &self,
        plan: &MountPlan,
        room: &Path,
        all: &[(OsString, OsString)],
    ) -> Vec<(OsString, OsString)> {
        let inside =
            Inside { plan, home: &self.host.home, temporary: room, kind: self.kind.name() };
        let mut all = environment::inside(all, inside);
        self.change_variables(&mut all);
        all
    }

    /// Wraps the launch of a program. This is the only place that starts bubblewrap.
    pub(super) fn wrap(
        &self,
        options: &[BwrapOption],
        launch: &Launch,
        environment: Vec<(OsString, OsString)>,
    ) -> Launch {
        let mut line = self.outer_command();
        line.push(self.program.clone().into());
        let mut inside = self.inner_command();
        inside.push(launch.program.clone().into());
        inside.extend(launch.arguments.iter().cloned());
        let program = inside.remove(0);
        line.extend(bwrap::arguments(options, Path::new(&program), &inside));
        let mut line = line.into_iter();
        let program = line.next().unwrap_or_default().into();
        Launch {
            program,
            arguments: line.collect(),
            environment,
            // The folder exists for bubblewrap, which then changes to the one inside.
            directory: PathBuf::from("/"),
            containment: launch.containment.clone(),
            sigterm_scope: SigtermScope::Namespace,
        }
    }
}

/// Whether a path is in a folder for temporary files of nightwright.
fn is_temporary(base: &Path) -> bool {
    base.ancestors().any(|path| {
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        name.len() == 9 && name.starts_with("nw-") && path.join(".nightwright-temp").is_file()
    })
}

/// Replaces a variable that names a file of nightwright by the path inside, and returns the file to
/// show.
pub fn show_variable(
    environment: &mut [(OsString, OsString)],
    name: &str,
    access: Access,
) -> io::Result<Option<ShownFile>> {
    let Some((_, value)) = environment.iter_mut().find(|(known, _)| known == name) else {
        return Ok(None);
    };
    let from = PathBuf::from(&value);
    let Some(file) = from.file_name().and_then(OsStr::to_str).map(str::to_owned) else {
        return Ok(None);
    };
    if access == Access::ReadWrite {
        // A file must exist to be shown.
        crate::files::append_regular(&from)?;
    }
    *value = shown_path(&file).into();
    Ok(Some(ShownFile { name: file, from, access }))
}

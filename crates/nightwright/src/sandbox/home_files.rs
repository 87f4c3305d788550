//! The files of the private home that are made from the user's own, without their logins.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use nightwright_core::sandbox::facts::{HostFacts, ProjectFacts};
use nightwright_core::sandbox::mounts::Placeholder;
use nightwright_core::sandbox::{git_settings, lists, package_settings};
use nightwright_core::settings::SandboxSettings;
use nightwright_core::stream::dialect::claude;

use super::entries::entry_at;
use super::{git, mount_points};
use crate::files;

/// Maximum size of a settings file.
const MAX_BYTES: u64 = 8 << 20;

/// The files, read once at the start of a run: the agent's programs change nothing in them.
#[derive(Debug)]
pub(super) struct HomeFiles {
    /// The user's git settings, as git lists them.
    git: Vec<u8>,
    /// The user's ignore rules.
    ignore: String,
    /// Settings of package managers by their paths in the home.
    packages: Vec<(&'static str, String)>,
    /// The state of the agent program, with its login.
    agent_state: String,
    /// The folder that contains it in the sandbox.
    agent_state_folder: PathBuf,
}

impl HomeFiles {
    pub(super) fn of_user(
        host: &HostFacts,
        settings: &SandboxSettings,
        environment: &[(OsString, OsString)],
        top: &Path,
    ) -> Self {
        let git = git::users_settings(top);
        let ignore = git_settings::value_of(&git, git_settings::IGNORE_FILE);
        let ignore = ignore.map_or_else(
            || host.home.join(".config/git/ignore"),
            |name| match name.strip_prefix("~/") {
                Some(rest) => host.home.join(rest),
                None => host.home.join(name),
            },
        );
        let packages = if settings.registry_logins {
            // The files themselves are shown.
            Vec::new()
        } else {
            let copied = lists::PACKAGE_SETTINGS.iter().filter_map(|name| {
                let text = text(&host.home.join(name))?;
                Some((*name, package_settings::without_logins(name, &text)))
            });
            copied.collect()
        };
        let own = environment.iter().find(|(name, _)| name == claude::CONFIG_VARIABLE);
        let folder = own.map_or_else(|| host.home.clone(), |(_, folder)| PathBuf::from(folder));
        Self {
            git,
            ignore: text(&ignore).unwrap_or_default(),
            packages,
            agent_state: text(&folder.join(claude::STATE_FILE)).unwrap_or_default(),
            agent_state_folder: folder,
        }
    }

    /// Writes the files into the private home.
    pub(super) fn write(
        &self,
        home: &Path,
        host: &HostFacts,
        project: &ProjectFacts,
        placeholders: &[Placeholder],
        ignore_file: Option<&Path>,
    ) -> io::Result<()> {
        let top = project.repository.as_ref().map(|repository| &repository.top);
        let top = top.unwrap_or(&project.root);
        let hidden: Vec<PathBuf> = placeholders
            .iter()
            .filter_map(|one| one.path.strip_prefix(top).ok().map(Path::to_owned))
            .filter(|path| !path.starts_with(".git"))
            .collect();
        let safe = [top.clone(), project.root.clone()];
        let put = |path: &str, text: &str| mount_points::write(home, Path::new(path), text);
        put(".gitconfig", &git_settings::config(&self.git, &safe, &host.home))?;
        let own = ignore_file.map(|file| ignore_rules(file, top).unwrap_or_default());
        let ignore = own.as_ref().unwrap_or(&self.ignore);
        put(git_settings::IGNORE_PLACE, &git_settings::ignore(ignore, &hidden))?;
        for (path, text) in &self.packages {
            put(path, text)?;
        }
        if self.agent_state_folder == host.home {
            let path = home.join(claude::STATE_FILE);
            let own = files::read_at_most(&path, MAX_BYTES).unwrap_or_default();
            let own = String::from_utf8_lossy(&own);
            put(claude::STATE_FILE, &claude::sandbox_state(&self.agent_state, &own))?;
        }
        Ok(())
    }
}

/// The ignore rules in a file that a repository names. In the project, a program inside may have
/// put a link in its place.
fn ignore_rules(file: &Path, top: &Path) -> Option<String> {
    if file.starts_with(top) && entry_at(file)?.real != file {
        return None;
    }
    text(file)
}

/// The content of a file of the user, who may keep it elsewhere and link to it.
fn text(path: &Path) -> Option<String> {
    let real = path.canonicalize().ok()?;
    String::from_utf8(files::read_at_most(&real, MAX_BYTES).ok()?).ok()
}

//! Pinned hooks: which hooks a run has, and the copies that it executes.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use nightwright_core::display::one_line;
use nightwright_core::hook::{Hook, Hooks};

use crate::config::nearest::nearest;
use crate::error::Failure;
use crate::files;
use crate::store::run_dir;
use crate::trust::{self, HOOKS, ItemForm, TrustItem};

/// The maximum length of a shown file name, in characters.
const NAME: usize = 100;

/// The approved hooks that a run can use.
#[derive(Clone, Debug, Default)]
pub struct ApprovedHooks {
    /// The hooks to run, as approved.
    pub items: Vec<TrustItem>,
    /// Warnings about hooks that are not run.
    pub warnings: Vec<String>,
}

impl ApprovedHooks {
    /// Enables the approved hooks in the settings.
    pub fn apply(&self, hooks: &mut Hooks) {
        for hook in Hook::ALL {
            hooks.set(hook, self.items.iter().any(|item| item.location == in_project(hook)));
        }
    }
}

/// Selects the approved files that have the name of a hook and are executable.
pub fn choose(project: &Path, approved: &[TrustItem]) -> ApprovedHooks {
    let mut chosen = ApprovedHooks::default();
    for item in approved {
        let name =
            item.location.strip_prefix(HOOKS).map_or("", |name| name.trim_start_matches('/'));
        let place = one_line(&item.location, NAME);
        let Some(hook) = Hook::ALL.into_iter().find(|hook| hook.name() == name) else {
            // Other files may belong to hooks. Warn only if the name looks like a misspelled hook.
            if let Some(meant) = nearest(name, Hook::ALL.map(Hook::name)) {
                let text = format!("ignoring `{place}`: did you mean `{meant}`?");
                chosen.warnings.push(text);
            }
            continue;
        };
        if item.form == ItemForm::Odd {
            let shown = one_line(&item.shown, 2 * NAME);
            chosen.warnings.push(format!("skipping `{place}`: {shown}"));
        } else if !is_executable(&project.join(in_project(hook))) {
            let text = format!("skipping `{place}`: it is not executable (chmod +x {place})");
            chosen.warnings.push(text);
        } else {
            chosen.items.push(item.clone());
        }
    }
    chosen.warnings.extend(leading_nowhere(project));
    chosen
}

/// Warns about dangling links, which cannot be approved because they have no content.
fn leading_nowhere(project: &Path) -> impl Iterator<Item = String> {
    let links = Hook::ALL.into_iter().map(in_project).filter(|place| {
        let path = project.join(place);
        fs::symlink_metadata(&path).is_ok() && fs::metadata(&path).is_err()
    });
    links
        .map(|place| format!("skipping `{place}`: it is a broken link"))
        .collect::<Vec<_>>()
        .into_iter()
}

/// The programs of a run's hooks, as approved when the run began.
#[derive(Clone, Default)]
pub struct PinnedHooks {
    programs: BTreeMap<Hook, PinnedProgram>,
}

#[derive(Clone)]
enum PinnedProgram {
    /// The content of the approved program.
    Held(Vec<u8>),
    /// The reason why the hook must not run.
    Refused(String),
}

/// A verified copy of a hook.
#[derive(Debug)]
pub(super) struct PinnedCopy {
    pub(super) path: PathBuf,
    /// Whether the copy had been changed and was restored.
    pub(super) put_back: bool,
}

impl fmt::Debug for PinnedHooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Leave out the contents: they may be long.
        f.debug_set().entries(self.programs.keys()).finish()
    }
}

/// Copies the hooks of a new run into its directory. Fails if a hook has changed since its
/// approval.
pub fn pin(project: &Path, run: &Path, items: &[TrustItem]) -> Result<PinnedHooks, Failure> {
    let mut pinned = PinnedHooks::default();
    for hook in Hook::ALL {
        let Some(item) = items.iter().find(|item| item.location == in_project(hook)) else {
            continue;
        };
        let bytes = trust::hook_content(project, item)?;
        let path = place(run, hook);
        files::replace_program(&path, &bytes).map_err(|error| Failure::because(&error))?;
        pinned.programs.insert(hook, PinnedProgram::Held(bytes));
    }
    Ok(pinned)
}

/// Loads the hooks of a resumed run from its directory. Each copy must have the hash recorded in
/// the journal.
pub fn recall(run: &Path, wanted: Hooks, hashes: &BTreeMap<String, String>) -> PinnedHooks {
    let wanted = Hook::ALL.into_iter().filter(|hook| wanted.has(*hook));
    let programs = wanted.map(|hook| {
        let hash = hashes.get(hook.name());
        let program = match (read(&place(run, hook)), hash) {
            (Ok(bytes), Some(hash)) if trust::hash(&bytes) == *hash => PinnedProgram::Held(bytes),
            (Ok(_), _) => PinnedProgram::Refused(
                "skipped: its copy in the run folder differs from the approved version".to_owned(),
            ),
            (Err(error), _) => PinnedProgram::Refused(format!(
                "skipped: cannot read its copy in the run folder: {error}"
            )),
        };
        (hook, program)
    });
    PinnedHooks { programs: programs.collect() }
}

impl PinnedHooks {
    /// The hash of each hook, by name, for the journal.
    pub fn hashes(&self) -> BTreeMap<String, String> {
        let held = self.programs.iter().filter_map(|(hook, program)| match program {
            PinnedProgram::Held(bytes) => Some((hook.name().to_owned(), trust::hash(bytes))),
            PinnedProgram::Refused(_) => None,
        });
        held.collect()
    }

    /// Returns the copy of a hook. A changed copy is restored first, because the agent can write to
    /// the run directory.
    pub(super) fn ready(&self, run: &Path, hook: Hook) -> Result<PinnedCopy, String> {
        let bytes = match self.programs.get(&hook) {
            Some(PinnedProgram::Held(bytes)) => bytes,
            Some(PinnedProgram::Refused(why)) => return Err(why.clone()),
            None => return Err("skipped: it did not exist when the run began".to_owned()),
        };
        let path = place(run, hook);
        if is_executable(&path) && read(&path).is_ok_and(|there| there == *bytes) {
            return Ok(PinnedCopy { path, put_back: false });
        }
        if fs::symlink_metadata(run.join(run_dir::HOOKS)).is_ok_and(|folder| !folder.is_dir()) {
            // If this fails, the next statement reports the reason.
            let _ = fs::remove_file(run.join(run_dir::HOOKS));
        }
        files::replace_program(&path, bytes).map_err(|error| {
            let why = Failure::because(&error).message;
            format!("skipped: its copy changed, and nightwright cannot restore it: {why}")
        })?;
        Ok(PinnedCopy { path, put_back: true })
    }
}

/// Reads a copy without following links.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    files::open_regular(path)?.take(trust::MAX_HOOK_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The path of a hook's copy.
fn place(run: &Path, hook: Hook) -> PathBuf {
    run.join(run_dir::HOOKS).join(hook.name())
}

fn in_project(hook: Hook) -> String {
    format!("{HOOKS}/{}", hook.name())
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|facts| facts.permissions().mode() & 0o111 != 0)
}

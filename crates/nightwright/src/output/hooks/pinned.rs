//! Which hooks a run has, and the copies of them that it runs.

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

/// So much of a name is shown.
const NAME: usize = 100;

/// What a run has of the hooks that were approved.
#[derive(Clone, Debug, Default)]
pub struct ApprovedHooks {
    /// Those that are run, as they were approved.
    pub items: Vec<TrustItem>,
    /// What people should know.
    pub warnings: Vec<String>,
}

impl ApprovedHooks {
    /// Lets a run have those that are chosen.
    pub fn apply(&self, hooks: &mut Hooks) {
        for hook in Hook::ALL {
            hooks.set(hook, self.items.iter().any(|item| item.location == in_project(hook)));
        }
    }
}

/// Chooses among what was approved: what is a hook by its name, and can be run.
pub fn choose(project: &Path, approved: &[TrustItem]) -> ApprovedHooks {
    let mut chosen = ApprovedHooks::default();
    for item in approved {
        let name =
            item.location.strip_prefix(HOOKS).map_or("", |name| name.trim_start_matches('/'));
        let place = one_line(&item.location, NAME);
        let Some(hook) = Hook::ALL.into_iter().find(|hook| hook.name() == name) else {
            // Others may lie there for hooks to use. Only what was meant as one is worth a word.
            if let Some(meant) = nearest(name, Hook::ALL.map(Hook::name)) {
                let text = format!("`{place}` is never run: the hook is called `{meant}`");
                chosen.warnings.push(text);
            }
            continue;
        };
        if item.form == ItemForm::Odd {
            let shown = one_line(&item.shown, 2 * NAME);
            chosen.warnings.push(format!("`{place}` is not run: {shown}"));
        } else if !is_executable(&project.join(in_project(hook))) {
            let text = format!("`{place}` is not run: it is not executable (chmod +x {place})");
            chosen.warnings.push(text);
        } else {
            chosen.items.push(item.clone());
        }
    }
    chosen.warnings.extend(leading_nowhere(project));
    chosen
}

/// A link that leads nowhere cannot be approved, because there is nothing to approve.
fn leading_nowhere(project: &Path) -> impl Iterator<Item = String> {
    let links = Hook::ALL.into_iter().map(in_project).filter(|place| {
        let path = project.join(place);
        fs::symlink_metadata(&path).is_ok() && fs::metadata(&path).is_err()
    });
    links
        .map(|place| format!("`{place}` is not run: it is a link that leads nowhere"))
        .collect::<Vec<_>>()
        .into_iter()
}

/// The programs that a run has for its hooks: what was approved when it began.
#[derive(Clone, Default)]
pub struct PinnedHooks {
    programs: BTreeMap<Hook, PinnedProgram>,
}

/// What there is of one.
#[derive(Clone)]
enum PinnedProgram {
    /// All of it.
    Held(Vec<u8>),
    /// Nothing that may be run.
    Refused(String),
}

/// A copy that is what was approved.
#[derive(Debug)]
pub(super) struct PinnedCopy {
    pub(super) path: PathBuf,
    /// It was not, and was put back.
    pub(super) put_back: bool,
}

impl fmt::Debug for PinnedHooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not what they say: that may be long.
        f.debug_set().entries(self.programs.keys()).finish()
    }
}

/// Copies the hooks of a run that begins into its folder. What is not what was approved any more
/// is refused.
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

/// The hooks of a run that an earlier process began, from its folder: each has to have the hash
/// that was recorded for it.
pub fn recall(run: &Path, wanted: Hooks, hashes: &BTreeMap<String, String>) -> PinnedHooks {
    let wanted = Hook::ALL.into_iter().filter(|hook| wanted.has(*hook));
    let programs = wanted.map(|hook| {
        let hash = hashes.get(hook.name());
        let program = match (read(&place(run, hook)), hash) {
            (Ok(bytes), Some(hash)) if trust::hash(&bytes) == *hash => PinnedProgram::Held(bytes),
            (Ok(_), _) => PinnedProgram::Refused(
                "is not run: its copy in the folder of the run is not what was approved when the \
                 run began"
                    .to_owned(),
            ),
            (Err(error), _) => PinnedProgram::Refused(format!(
                "is not run: its copy in the folder of the run cannot be read: {error}"
            )),
        };
        (hook, program)
    });
    PinnedHooks { programs: programs.collect() }
}

impl PinnedHooks {
    /// The hash of each, by its name, for the journal.
    pub fn hashes(&self) -> BTreeMap<String, String> {
        let held = self.programs.iter().filter_map(|(hook, program)| match program {
            PinnedProgram::Held(bytes) => Some((hook.name().to_owned(), trust::hash(bytes))),
            PinnedProgram::Refused(_) => None,
        });
        held.collect()
    }

    /// The copy of a hook, made anew if it is not what was approved: the agent can write in the
    /// folder of the run.
    pub(super) fn ready(&self, run: &Path, hook: Hook) -> Result<PinnedCopy, String> {
        let bytes = match self.programs.get(&hook) {
            Some(PinnedProgram::Held(bytes)) => bytes,
            Some(PinnedProgram::Refused(why)) => return Err(why.clone()),
            None => return Err("is not run: the run began without it".to_owned()),
        };
        let path = place(run, hook);
        if is_executable(&path) && read(&path).is_ok_and(|there| there == *bytes) {
            return Ok(PinnedCopy { path, put_back: false });
        }
        if fs::symlink_metadata(run.join(run_dir::HOOKS)).is_ok_and(|folder| !folder.is_dir()) {
            // If it cannot be removed, the next line says what is wrong.
            let _ = fs::remove_file(run.join(run_dir::HOOKS));
        }
        files::replace_program(&path, bytes).map_err(|error| {
            let why = Failure::because(&error).message;
            format!("is not run: its copy was changed, and could not be put back: {why}")
        })?;
        Ok(PinnedCopy { path, put_back: true })
    }
}

/// A copy, itself and not what it may lead to.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    files::open_regular(path)?.take(trust::MAX_HOOK_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The copy of a hook.
fn place(run: &Path, hook: Hook) -> PathBuf {
    run.join(run_dir::HOOKS).join(hook.name())
}

fn in_project(hook: Hook) -> String {
    format!("{HOOKS}/{}", hook.name())
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|facts| facts.permissions().mode() & 0o111 != 0)
}

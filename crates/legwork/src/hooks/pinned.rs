//! Which hooks a run has, and the copies of them that it runs.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use legwork_core::display::one_line;
use legwork_core::hook::{Hook, Hooks};

use crate::error::Failure;
use crate::nearest::nearest;
use crate::trust::{self, Form, HOOKS, Item};

/// The folder of the copies in the folder of a run.
const COPIES: &str = "hooks";
/// So much of a name is shown.
const NAME: usize = 100;

/// What a run has of the hooks that were approved.
#[derive(Clone, Debug, Default)]
pub struct Chosen {
    /// Those that are run, as they were approved.
    pub items: Vec<Item>,
    /// What people should know.
    pub warnings: Vec<String>,
}

impl Chosen {
    /// Lets a run have those that are chosen.
    pub fn apply(&self, hooks: &mut Hooks) {
        for hook in Hook::ALL {
            hooks.set(hook, self.items.iter().any(|item| item.place == in_project(hook)));
        }
    }
}

/// Chooses among what was approved: what is a hook by its name, and can be run.
pub fn choose(project: &Path, approved: &[Item]) -> Chosen {
    let mut chosen = Chosen::default();
    for item in approved {
        let name = item.place.strip_prefix(HOOKS).map_or("", |name| name.trim_start_matches('/'));
        let place = one_line(&item.place, NAME);
        let Some(hook) = Hook::ALL.into_iter().find(|hook| hook.name() == name) else {
            // Others may lie there for hooks to use. Only what was meant as one is worth a word.
            if let Some(meant) = nearest(name, Hook::ALL.map(Hook::name)) {
                let text = format!("`{place}` is never run: the hook is called `{meant}`");
                chosen.warnings.push(text);
            }
            continue;
        };
        if item.form == Form::Odd {
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

/// A link that leads nowhere can't be approved, because there is nothing to approve.
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

/// Copies the hooks of a run that begins into its folder. What is not what was approved any more
/// is refused.
pub fn pin(project: &Path, run: &Path, items: &[Item]) -> Result<(), Failure> {
    if items.is_empty() {
        return Ok(());
    }
    let folder = run.join(COPIES);
    let cant = |what: &Path, error: &dyn std::fmt::Display| {
        Failure::trouble(format!("can't write `{}`: {error}", what.display()))
    };
    DirBuilder::new().mode(0o700).create(&folder).map_err(|error| cant(&folder, &error))?;
    for hook in Hook::ALL {
        let Some(item) = items.iter().find(|item| item.place == in_project(hook)) else { continue };
        let bytes = trust::hook_content(project, item)?;
        let path = place(run, hook);
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).mode(0o700).open(&path);
        file.and_then(|mut file| file.write_all(&bytes)).map_err(|error| cant(&path, &error))?;
    }
    Ok(())
}

/// The copy of a hook.
pub(super) fn place(run: &Path, hook: Hook) -> PathBuf {
    run.join(COPIES).join(hook.name())
}

fn in_project(hook: Hook) -> String {
    format!("{HOOKS}/{}", hook.name())
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|facts| facts.permissions().mode() & 0o111 != 0)
}

//! `nightwright trust`: approve what the project would run on this machine.

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use nightwright_core::display::one_line;

use super::{eprint_safe, print, select_run};
use crate::app::approval::{self, ApprovalAnswer};
use crate::config::modes;
use crate::config::{self, ConfigLayer};
use crate::error::Failure;
use crate::task::{self, Task};
use crate::trust::{self, ApprovalStore, TrustItem};

/// So much of a name is shown.
const NAME: usize = 80;

/// What the command can be told.
#[derive(Clone, Debug, Args)]
pub(super) struct TrustArgs {
    /// Only say what is approved and what is not; exits 1 if anything is not
    #[arg(long, conflicts_with_all = ["yes", "revoke"])]
    list: bool,

    /// Approve without asking
    #[arg(short, long, conflicts_with = "revoke")]
    yes: bool,

    /// Take all approvals for this project back
    #[arg(long)]
    revoke: bool,

    /// The project folder [default: the project around the current folder]
    #[arg(short = 'C', long, value_name = "DIR")]
    project: Option<PathBuf>,
}

pub(super) fn trust(options: &TrustArgs) -> Result<ExitCode, Failure> {
    let project = select_run::project(options.project.as_deref())?;
    let mut store = ApprovalStore::open(&project, env::var_os)?;
    if options.revoke {
        let count = store.revoke()?;
        print(&format!("{count} approvals taken back"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let items = everything(&project)?;
    if items.is_empty() {
        print("There is nothing to approve: this project runs nothing of its own.")?;
        return Ok(ExitCode::SUCCESS);
    }
    let all: Vec<_> = items.iter().map(|item| (item, item.state(store.approvals()))).collect();
    print(&approval::list(&all, &store))?;
    let open = approval::unapproved(&items, &store);
    if options.list {
        return Ok(if open.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    if open.is_empty() {
        print("Everything is approved.")?;
        return Ok(ExitCode::SUCCESS);
    }
    if !options.yes {
        if !approval::can_ask() {
            return Err(Failure::usage("there is no terminal to ask on")
                .hint("approve all of it with --yes"));
        }
        match approval::answer("Approve all of it? [y]es, [n]o: ")? {
            ApprovalAnswer::Yes => {}
            ApprovalAnswer::No | ApprovalAnswer::Ignore => {
                eprint_safe("Nothing was approved.");
                return Ok(ExitCode::FAILURE);
            }
        }
    }
    store.approve(open.iter().map(|(item, _)| *item))?;
    print("Approved. A change to something else needs another approval.")?;
    Ok(ExitCode::SUCCESS)
}

/// What the project, its tasks and its modes would run, and what the agent would take from it. A
/// task or mode that can't be read runs nothing either; it is named.
fn everything(project: &Path) -> Result<Vec<TrustItem>, Failure> {
    // What the user's own file and the environment say needs nobody's approval.
    let mut layers = config::load(project, None, |_| None)?;
    let mut add = |layer: Result<ConfigLayer, Failure>, what: &str| match layer {
        Ok(layer) => layers.push(layer),
        Err(failure) => eprint_safe(&format!("note: {what} is left out: {}", failure.message)),
    };
    match task::list(project) {
        Ok(tasks) => {
            for listed in tasks {
                let what = format!("the task `{}`", one_line(&listed.name, NAME));
                add(listed.task.and_then(|task| of_task(project, &task)), &what);
            }
        }
        Err(failure) => eprint_safe(&format!("note: the tasks are left out: {}", failure.message)),
    }
    for name in modes::known(project) {
        let what = format!("the mode `{}`", one_line(&name, NAME));
        add(modes::load(project, &name).map(|mode| mode.defaults), &what);
    }
    let mut items = trust::items(project, &layers);
    items.extend(trust::agent_files(project));
    Ok(items)
}

fn of_task(project: &Path, task: &Task) -> Result<ConfigLayer, Failure> {
    config::ConfigFile::task(project, task.name().as_str())?.layer()
}

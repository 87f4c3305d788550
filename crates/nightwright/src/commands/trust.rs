//! `nightwright trust`: approve the commands and hooks that the project would run on this machine.

use std::env;
use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use nightwright_core::display::one_line;
use nightwright_core::outcome::count;

use super::cli::context::ProjectArgs;
use super::cli::terminal;
use crate::app::approval;
use crate::config::modes;
use crate::config::{self, ConfigFile, ConfigLayer};
use crate::console::{eprint_safe, print};
use crate::error::Failure;
use crate::task::{self, Task};
use crate::trust::{self, ApprovalStore, TrustItem};

/// The variable with the user's checks.
const CHECKS: &str = "NIGHTWRIGHT_VERIFY_COMMANDS";
/// Maximum characters shown of a name.
const NAME: usize = 80;

#[derive(Clone, Debug, Args)]
pub(super) struct TrustArgs {
    /// List approved and unapproved items; exit 1 if any is unapproved
    #[arg(long, conflicts_with_all = ["yes", "revoke"])]
    list: bool,

    /// Approve without asking
    #[arg(short, long, conflicts_with = "revoke")]
    yes: bool,

    /// Revoke all approvals of this project
    #[arg(long)]
    revoke: bool,

    #[command(flatten)]
    project: ProjectArgs,
}

impl TrustArgs {
    /// Whether the command changes what is approved.
    pub(super) fn approves(&self) -> bool {
        !self.list
    }
}

pub(super) fn trust(options: &TrustArgs) -> Result<ExitCode, Failure> {
    let project = options.project.find()?;
    let mut store = ApprovalStore::open(&project, env::var_os)?;
    if options.revoke {
        let revoked = store.revoke()?;
        print(&format!("revoked {}", count(revoked, "approval")))?;
        return Ok(ExitCode::SUCCESS);
    }
    let items = everything(&project)?;
    if items.is_empty() {
        print("Nothing to approve: this project has no commands, hooks or agent settings.")?;
        return Ok(ExitCode::SUCCESS);
    }
    let all: Vec<_> = items.iter().map(|item| (item, item.state(store.approvals()))).collect();
    print(&approval::list(&all, &store))?;
    let open = approval::unapproved(&items, &store);
    if options.list {
        return Ok(if open.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    if open.is_empty() {
        print("You have approved everything.")?;
        return Ok(ExitCode::SUCCESS);
    }
    let refusal =
        || Failure::usage("cannot ask: not a terminal").hint("approve all of it with --yes");
    if !terminal::confirm_unless(options.yes, "Approve all of it?", refusal)? {
        return Ok(ExitCode::FAILURE);
    }
    store.approve(open.iter().map(|(item, _)| *item))?;
    print("Approved. If the content changes, nightwright asks again.")?;
    Ok(ExitCode::SUCCESS)
}

/// Returns everything that the project, its tasks and its modes would run, and the files for the
/// agent. An unreadable task or mode runs nothing; it is only named.
fn everything(project: &Path) -> Result<Vec<TrustItem>, Failure> {
    // The user's own configuration and the environment need no approval.
    let mut layers = config::load(project, None, |_| None)?;
    let mut add = |layer: Result<ConfigLayer, Failure>, what: &str| match layer {
        Ok(layer) => layers.push(layer),
        Err(failure) => eprint_safe(&format!("note: skipped {what}: {}", failure.message)),
    };
    match task::list(project) {
        Ok(tasks) => {
            for listed in tasks {
                let what = format!("the task `{}`", one_line(&listed.name, NAME));
                add(listed.task.and_then(|task| of_task(project, &task)), &what);
            }
        }
        Err(failure) => eprint_safe(&format!("note: skipped the tasks: {}", failure.message)),
    }
    let mut planning = Vec::new();
    for name in modes::known(project) {
        let what = format!("the mode `{}`", one_line(&name, NAME));
        let mode = modes::load(project, &name);
        planning.extend(mode.iter().filter_map(trust::planning_mode));
        add(mode.map(|mode| mode.defaults), &what);
    }
    let mut items = trust::items(project, &layers);
    let user = ConfigFile::user(|name| env::var_os(name));
    let user = user.map(|user| user.layer()).transpose()?;
    let has_checks = user.as_ref().is_some_and(|user| user.get("verify.commands").is_some());
    if has_checks || env::var_os(CHECKS).is_some() {
        items.extend(planning);
    }
    for layer in &layers {
        items.extend(trust::looser_settings(project, layer, user.as_ref()));
    }
    items.extend(trust::agent_files(project));
    Ok(items)
}

fn of_task(project: &Path, task: &Task) -> Result<ConfigLayer, Failure> {
    ConfigFile::task(project, task.name().as_str())?.layer()
}

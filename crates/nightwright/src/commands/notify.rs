//! `nightwright notify`: test the notifications.

use std::env;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand};
use nightwright_core::units::RunId;
use serde_json::{Value as Json, json};

use super::cli::context::ProjectArgs;
use crate::app::approval::{self, TrustFlags, UntrustedPolicy};
use crate::config::{self, KEYS, ResolvedConfig, is_notify_key};
use crate::console::{print, print_json};
use crate::error::Failure;
use crate::output::notify::{self, Address, TestDelivery};
use crate::secrets;
use crate::task::Task;

#[derive(Clone, Debug, Args)]
#[command(disable_help_subcommand = true)]
pub(super) struct NotifyArgs {
    #[command(subcommand)]
    what: NotifyCommand,
}

#[derive(Clone, Debug, Subcommand)]
enum NotifyCommand {
    /// Send a test notification to every configured URL; exit 1 if a delivery fails
    Test {
        /// Print a JSON array with one object per URL
        #[arg(long)]
        json: bool,

        /// Use the configuration of this task
        #[arg(long, value_name = "NAME")]
        task: Option<String>,

        #[command(flatten)]
        project: ProjectArgs,
    },
}

pub(super) fn notify(options: &NotifyArgs) -> Result<ExitCode, Failure> {
    let NotifyCommand::Test { json, task, project } = &options.what;
    let project = project.find()?;
    let task = task.as_deref().map(|name| Task::open(&project, name)).transpose()?;
    let task = task.as_ref().map(|task| task.name().as_str());
    let layers = config::load(&project, task, |name| env::var_os(name))?;
    // Other unapproved settings do not matter here.
    let other: Vec<_> = KEYS
        .iter()
        .filter(|key| key.gated && !is_notify_key(key.name))
        .map(|key| key.name)
        .collect();
    let shown = approval::settle_settings(&project, layers.clone(), UntrustedPolicy::Ignore)?;
    let layers = layers.into_iter().map(|layer| layer.without(&other)).collect();
    let untrusted = UntrustedPolicy::Ask(TrustFlags::NotThere);
    let resolved = ResolvedConfig::new(approval::settle_settings(&project, layers, untrusted)?);
    let addresses = Address::all(&resolved, |name| env::var_os(name))?;
    if addresses.is_empty() {
        return Err(Failure::usage("there is no URL for notifications").hint(
            "run `nightwright config set --user notify.url https://ntfy.sh/A-NAME-ONLY-YOU-KNOW`",
        ));
    }
    let secrets = secrets::of_config(&ResolvedConfig::new(shown))?;
    let tried = notify::test(&addresses, RunId("test".to_owned()), &secrets);
    if *json {
        print_json(&tried.iter().map(as_json).collect::<Vec<_>>())?;
    } else {
        let lines: Vec<_> = tried.iter().map(describe).collect();
        print(&lines.join("\n"))?;
    }
    let arrived = tried.len() == addresses.len() && tried.iter().all(|tried| tried.why.is_none());
    Ok(if arrived { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn describe(tried: &TestDelivery) -> String {
    let TestDelivery { address, status, why, took } = tried;
    let took = seconds(*took);
    match (why, status) {
        (None, Some(status)) => format!("{address}: delivered (HTTP {status}, {took} s)"),
        (None, None) => format!("{address}: delivered ({took} s)"),
        (Some(why), _) => format!("{address}: not delivered ({took} s): {why}"),
    }
}

fn as_json(tried: &TestDelivery) -> Json {
    let TestDelivery { address, status, why, took } = tried;
    json!({
        "kind": address.service().name(),
        "host": address.url().host(),
        "arrived": why.is_none(),
        "status": status,
        "error": why,
        "seconds": took.as_secs_f64(),
    })
}

fn seconds(took: Duration) -> String {
    format!("{:.1}", took.as_secs_f64())
}

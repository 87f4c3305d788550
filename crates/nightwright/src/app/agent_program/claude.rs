//! Claude Code: finds the program, and checks that it accepts the settings.

use std::env;
use std::ffi::OsString;

use nightwright_core::event::AgentFacts;
use nightwright_core::permissions::{self, Permissions};
use nightwright_core::sandbox::network::NetworkWay;
use nightwright_core::settings::Settings;
use nightwright_core::stream::dialect::claude;
use nightwright_core::stream::version::{Version, VersionSupport};

use crate::agent::program::cache::VersionCache;
use crate::agent::program::{
    self, ANSWER_TIME, FoundProgram, Freshness, ProgramError, ProgramQuery,
};
use crate::config::OutputLevel;
use crate::console::eprint_safe;
use crate::error::Failure;
use crate::process::Containment;

/// The variable that tells the agent program that it runs in a sandbox.
pub(crate) const SANDBOXED: &str = "IS_SANDBOX";

/// Finds Claude Code on this machine.
pub(crate) async fn find_claude(
    environment: Vec<(OsString, OsString)>,
    freshness: Freshness,
) -> Result<FoundProgram, ProgramError> {
    let path = env::var_os("PATH");
    let wanted = ProgramQuery {
        name: "claude",
        path: path.as_deref(),
        covered: claude::COVERED,
        environment,
        containment: Containment::choose(None),
        timeout: ANSWER_TIME,
        cache: VersionCache::of_user(env::var_os),
        freshness,
    };
    program::find(&wanted).await
}

/// Prints what the user should know before Claude Code starts.
pub(super) fn introduce(
    agent: &AgentFacts,
    settings: &Settings,
    network: Option<NetworkWay>,
    level: OutputLevel,
) {
    if let Some(note) = newer(agent).filter(|_| level.shows_messages()) {
        eprint_safe(&note);
    }
    if let Some(line) = permissions::describe_sandbox(settings, network) {
        if level.shows_messages() {
            eprint_safe(&line);
            if !may_do_everything(settings) {
                eprint_safe(&permissions::describe(settings));
            }
        }
    } else if may_do_everything(settings) {
        eprint_safe("warning: the agent may do everything without asking, and there is no sandbox");
    } else if level.shows_messages() {
        eprint_safe(&permissions::describe(settings));
    }
}

/// Returns a note about a version newer than the tested ones.
fn newer(agent: &AgentFacts) -> Option<String> {
    let version = Version::parse(agent.version.as_deref()?)?;
    match claude::COVERED.support(version) {
        VersionSupport::Newer => Some(format!(
            "claude {version} is newer than {}, the newest tested version; run `nightwright doctor \
             --probe` to test it.",
            claude::COVERED.newest
        )),
        VersionSupport::TooOld | VersionSupport::Covered => None,
    }
}

/// Whether the agent may do everything without asking, by an option of nightwright or of Claude
/// Code.
pub(super) fn may_do_everything(settings: &Settings) -> bool {
    let own = |argument: &String| {
        argument == "--dangerously-skip-permissions" || argument.ends_with("bypassPermissions")
    };
    settings.agent.permissions == Permissions::Bypass || settings.agent.arguments.iter().any(own)
}

/// Fails if Claude Code would refuse to run: as root, it bypasses permissions only in a declared
/// sandbox.
pub(crate) fn refused_as_root(
    settings: &Settings,
    environment: &[(OsString, OsString)],
) -> Result<(), Failure> {
    let sandboxed = environment.iter().any(|(name, value)| name == SANDBOXED && value == "1");
    let sandboxed = sandboxed || settings.sandbox.kind.is_on();
    if !may_do_everything(settings) || sandboxed || !rustix::process::getuid().is_root() {
        return Ok(());
    }
    Err(Failure::trouble("the agent refuses to skip permissions as root").hint(format!(
        "run nightwright as another user, or list the allowed tools with --allowed-tools; in a \
         disposable container, set {SANDBOXED}=1"
    )))
}

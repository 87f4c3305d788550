//! Claude Code: whether it is there, and whether it will do what it is asked for.

use std::env;
use std::ffi::OsString;

use nightwright_core::event::AgentFacts;
use nightwright_core::permissions::{self, Permissions};
use nightwright_core::settings::Settings;
use nightwright_core::stream::dialect::claude;
use nightwright_core::stream::version::{Version, VersionSupport};

use crate::agent::program::cache::VersionCache;
use crate::agent::program::{
    self, ANSWER_TIME, FoundProgram, Freshness, ProgramError, ProgramQuery,
};
use crate::commands::eprint_safe;
use crate::error::Failure;
use crate::output::OutputLevel;
use crate::process::Containment;

/// With this, the agent program believes that it is in a sandbox.
pub(super) const SANDBOXED: &str = "IS_SANDBOX";

/// Looks for Claude Code on this machine.
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

/// What people should know before it starts.
pub(super) fn introduce(agent: &AgentFacts, settings: &Settings, level: OutputLevel) {
    if let Some(note) = newer(agent).filter(|_| level.shows_messages()) {
        eprint_safe(&note);
    }
    if may_do_everything(settings) {
        eprint_safe("warning: the agent may do everything without asking, and there is no sandbox");
    } else if level.shows_messages() {
        eprint_safe(&permissions::describe(settings));
    }
}

/// What to say of a version that nobody has tried yet.
fn newer(agent: &AgentFacts) -> Option<String> {
    let version = Version::parse(agent.version.as_deref()?)?;
    match claude::COVERED.support(version) {
        VersionSupport::Newer => Some(format!(
            "claude {version} is newer than {}, the newest that nightwright is tested with; \
             `nightwright doctor --probe` tries it out.",
            claude::COVERED.newest
        )),
        VersionSupport::TooOld | VersionSupport::Covered => None,
    }
}

/// Whether the agent needs nobody's leave for anything, be it by our option or by its own.
pub(super) fn may_do_everything(settings: &Settings) -> bool {
    let own = |argument: &String| {
        argument == "--dangerously-skip-permissions" || argument.ends_with("bypassPermissions")
    };
    settings.agent.permissions == Permissions::Bypass || settings.agent.arguments.iter().any(own)
}

/// The agent program refuses to do everything as root, unless it is told that it is in a sandbox.
pub(crate) fn refused_as_root(
    settings: &Settings,
    environment: &[(OsString, OsString)],
) -> Result<(), Failure> {
    let sandboxed = environment.iter().any(|(name, value)| name == SANDBOXED && value == "1");
    if !may_do_everything(settings) || sandboxed || !rustix::process::getuid().is_root() {
        return Ok(());
    }
    Err(Failure::trouble("the agent refuses to skip permissions as root").hint(format!(
        "run nightwright as another user, or name what the agent may use with --allowed-tools; in a \
         container that may be lost, set {SANDBOXED}=1"
    )))
}

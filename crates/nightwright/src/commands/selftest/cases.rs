//! The cases of the self-test: what happens in each, and how it is judged.

use super::expectations::{self, CaseCheck};
use crate::error::Failure;

/// One failure scenario of a run.
#[derive(Debug)]
pub(super) struct SelftestCase {
    /// The name for `--only`, and for the folder.
    pub(super) name: &'static str,
    /// The title shown to the user.
    pub(super) title: &'static str,
    /// The script of the rehearsal agent.
    pub(super) script: &'static str,
    /// The action on the run.
    pub(super) act: CaseAction,
    /// Settings other than the [usual](USUAL) ones, as variables.
    pub(super) settings: &'static [(&'static str, &'static str)],
    /// The expectations, in addition to no remaining processes.
    pub(super) check: CaseCheck,
}

/// An action on a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CaseAction {
    /// No action: the run ends by itself.
    Leave,
    /// Sends SIGTERM as soon as the agent is busy.
    Terminate,
    /// Sends SIGKILL at that moment, and resumes the run once no process is left.
    KillAndResume,
    /// Stores the state on a disk with little space.
    SmallDisk,
}

/// The settings that all cases share. Timeouts are long enough for a busy machine, and short enough
/// that a case reports where it hangs.
pub(super) const USUAL: [(&str, &str); 9] = [
    ("NIGHTWRIGHT_START_TIMEOUT", "30s"),
    ("NIGHTWRIGHT_IDLE_TIMEOUT", "30s"),
    ("NIGHTWRIGHT_TOOL_TIMEOUT", "30s"),
    ("NIGHTWRIGHT_AFTER_RESULT_TIMEOUT", "30s"),
    ("NIGHTWRIGHT_VERIFY_TIMEOUT", "30s"),
    ("NIGHTWRIGHT_VERIFY_MODEL", "off"),
    ("NIGHTWRIGHT_RETRY_DELAY", "1s"),
    ("NIGHTWRIGHT_DELAY", "0"),
    ("NIGHTWRIGHT_MAX_ITERATIONS", "3"),
];

/// The check that must pass before completion is accepted. Like most test programs, it needs a
/// temporary file.
pub(super) const CHECK: &str = "file=$(mktemp) && rm \"$file\" && \
    { test -e done || { echo 'there is no file called done'; exit 1; }; }";
/// The output of the failed check, which the next prompt must contain.
pub(super) const CHECK_OUTPUT: &str = "there is no file called done";
/// The number of processes that `family.sh` starts.
pub(super) const FAMILY: usize = 4;
/// The number of these processes that lead their own session.
pub(super) const LEADERS: usize = 2;

/// The cases in the order in which they are shown and started, the longest first.
pub(super) static CASES: [SelftestCase; 13] = [
    case(
        "hang-at-start",
        "hang at the start",
        include_str!("scripts/hang_at_start.toml"),
        expectations::hang_at_start,
    )
    .settings(&[("NIGHTWRIGHT_START_TIMEOUT", "3s")]),
    case(
        "hang-after-result",
        "hang after the result",
        include_str!("scripts/hang_after_result.toml"),
        expectations::hang_after_result,
    )
    .settings(&[("NIGHTWRIGHT_AFTER_RESULT_TIMEOUT", "1s")]),
    case("silence", "silence", include_str!("scripts/silence.toml"), expectations::silence)
        .settings(&[("NIGHTWRIGHT_IDLE_TIMEOUT", "3s")]),
    case(
        "usage-limit",
        "usage limit",
        include_str!("scripts/usage_limit.toml"),
        expectations::usage_limit,
    ),
    case("crash", "agent crash", include_str!("scripts/crash.toml"), expectations::crash),
    case("garbage", "invalid output", include_str!("scripts/garbage.toml"), expectations::garbage),
    case(
        "false-claim",
        "false claim of completion",
        include_str!("scripts/false_claim.toml"),
        expectations::false_claim,
    ),
    case(
        "repeated-false-claims",
        "repeated false claims",
        include_str!("scripts/repeated_false_claims.toml"),
        expectations::repeated_false_claims,
    ),
    case("orphans", "orphans", include_str!("scripts/orphans.toml"), expectations::orphans),
    case(
        "sigterm",
        "SIGTERM to nightwright",
        include_str!("scripts/sigterm.toml"),
        expectations::sigterm,
    )
    .act(CaseAction::Terminate),
    case(
        "sigkill",
        "SIGKILL and resume",
        include_str!("scripts/sigkill.toml"),
        expectations::sigkill,
    )
    .act(CaseAction::KillAndResume),
    case("full-disk", "full disk", include_str!("scripts/full_disk.toml"), expectations::full_disk)
        .act(CaseAction::SmallDisk),
    // Needed if the disk's blocks are so large that there is enough space.
    case(
        "full-journal",
        "full disk (journal only)",
        include_str!("scripts/full_journal.toml"),
        expectations::full_journal,
    )
    .act(CaseAction::SmallDisk)
    .settings(&[("NIGHTWRIGHT_IDLE_TIMEOUT", "3s")]),
];

const fn case(
    name: &'static str,
    title: &'static str,
    script: &'static str,
    check: CaseCheck,
) -> SelftestCase {
    SelftestCase { name, title, script, act: CaseAction::Leave, settings: &[], check }
}

impl SelftestCase {
    const fn act(self, act: CaseAction) -> Self {
        Self { act, ..self }
    }

    const fn settings(self, settings: &'static [(&'static str, &'static str)]) -> Self {
        Self { settings, ..self }
    }
}

/// Returns the cases with these names; all cases if there are no names.
pub(super) fn chosen(names: &[String]) -> Result<Vec<&'static SelftestCase>, Failure> {
    let known = |name: &str| CASES.iter().any(|case| case.name == name);
    if let Some(unknown) = names.iter().find(|name| !known(name)) {
        let all: Vec<_> = CASES.iter().map(|case| case.name).collect();
        return Err(Failure::usage(format!("unknown test `{unknown}`"))
            .hint(format!("choose one of {}", all.join(", "))));
    }
    let wanted =
        |case: &&SelftestCase| names.is_empty() || names.iter().any(|name| name == case.name);
    Ok(CASES.iter().filter(wanted).collect())
}

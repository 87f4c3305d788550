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
    pub(super) judgement: CaseCheck,
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
    SelftestCase {
        name: "hang-at-start",
        title: "hang at start",
        script: include_str!("scripts/hang_at_start.toml"),
        act: CaseAction::Leave,
        settings: &[("NIGHTWRIGHT_START_TIMEOUT", "3s")],
        judgement: expectations::hang_at_start,
    },
    SelftestCase {
        name: "hang-after-result",
        title: "hang after the result",
        script: include_str!("scripts/hang_after_result.toml"),
        act: CaseAction::Leave,
        settings: &[("NIGHTWRIGHT_AFTER_RESULT_TIMEOUT", "1s")],
        judgement: expectations::hang_after_result,
    },
    SelftestCase {
        name: "silence",
        title: "silence",
        script: include_str!("scripts/silence.toml"),
        act: CaseAction::Leave,
        settings: &[("NIGHTWRIGHT_IDLE_TIMEOUT", "3s")],
        judgement: expectations::silence,
    },
    SelftestCase {
        name: "usage-limit",
        title: "usage limit",
        script: include_str!("scripts/usage_limit.toml"),
        act: CaseAction::Leave,
        settings: &[],
        judgement: expectations::usage_limit,
    },
    SelftestCase {
        name: "crash",
        title: "crash of the agent",
        script: include_str!("scripts/crash.toml"),
        act: CaseAction::Leave,
        settings: &[],
        judgement: expectations::crash,
    },
    SelftestCase {
        name: "garbage",
        title: "garbage in the stream",
        script: include_str!("scripts/garbage.toml"),
        act: CaseAction::Leave,
        settings: &[],
        judgement: expectations::garbage,
    },
    SelftestCase {
        name: "lie",
        title: "lie about completion",
        script: include_str!("scripts/lie.toml"),
        act: CaseAction::Leave,
        settings: &[],
        judgement: expectations::lie,
    },
    SelftestCase {
        name: "stubborn-lie",
        title: "lie again and again",
        script: include_str!("scripts/stubborn_lie.toml"),
        act: CaseAction::Leave,
        settings: &[],
        judgement: expectations::stubborn_lie,
    },
    SelftestCase {
        name: "orphans",
        title: "orphans",
        script: include_str!("scripts/orphans.toml"),
        act: CaseAction::Leave,
        settings: &[],
        judgement: expectations::orphans,
    },
    SelftestCase {
        name: "sigterm",
        title: "SIGTERM of the runner",
        script: include_str!("scripts/sigterm.toml"),
        act: CaseAction::Terminate,
        settings: &[],
        judgement: expectations::sigterm,
    },
    SelftestCase {
        name: "sigkill",
        title: "SIGKILL and resume",
        script: include_str!("scripts/sigkill.toml"),
        act: CaseAction::KillAndResume,
        settings: &[],
        judgement: expectations::sigkill,
    },
    SelftestCase {
        name: "full-disk",
        title: "full disk",
        script: include_str!("scripts/full_disk.toml"),
        act: CaseAction::SmallDisk,
        settings: &[],
        judgement: expectations::full_disk,
    },
    SelftestCase {
        name: "full-journal",
        title: "no room for the journal",
        script: include_str!("scripts/full_journal.toml"),
        act: CaseAction::SmallDisk,
        // Needed if the disk's blocks are so large that there is enough space.
        settings: &[("NIGHTWRIGHT_IDLE_TIMEOUT", "3s")],
        judgement: expectations::full_journal,
    },
];

/// Returns the cases with these names; all cases if there are no names.
pub(super) fn chosen(names: &[String]) -> Result<Vec<&'static SelftestCase>, Failure> {
    let known = |name: &str| CASES.iter().any(|row| row.name == name);
    if let Some(unknown) = names.iter().find(|name| !known(name)) {
        let all: Vec<_> = CASES.iter().map(|row| row.name).collect();
        return Err(Failure::usage(format!("--only `{unknown}`: there is no such row"))
            .hint(format!("choose one of {}", all.join(", "))));
    }
    let wanted =
        |row: &&SelftestCase| names.is_empty() || names.iter().any(|name| name == row.name);
    Ok(CASES.iter().filter(wanted).collect())
}

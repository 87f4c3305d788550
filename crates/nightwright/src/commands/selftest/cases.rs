//! The rows: what is played, and which judgement it has to pass.

use super::expectations::{self, CaseCheck};
use crate::error::Failure;

/// One thing that goes wrong in a night.
#[derive(Debug)]
pub(super) struct SelftestCase {
    /// For `--only`, and for its folder.
    pub(super) name: &'static str,
    /// For people.
    pub(super) title: &'static str,
    /// What the agent does.
    pub(super) script: &'static str,
    /// What is done to the run.
    pub(super) act: CaseAction,
    /// Settings other than the [usual](USUAL) ones, as variables.
    pub(super) settings: &'static [(&'static str, &'static str)],
    /// What has to be true afterwards, beside that nobody is left.
    pub(super) judgement: CaseCheck,
}

/// What is done to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CaseAction {
    /// Nothing: it comes to its own end.
    Leave,
    /// SIGTERM as soon as the agent is in the middle of its work.
    Terminate,
    /// SIGKILL at that moment, and a resumption when nobody is left.
    KillAndResume,
    /// Its state is on a disk with little room.
    SmallDisk,
}

/// What all rows have in common. Deadlines are long enough for a busy machine where nothing hangs,
/// and short enough that a row which hangs in an unexpected place says which.
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

/// The check that has to pass before completion is believed. Like most test programs it needs a
/// temporary file.
pub(super) const CHECK: &str = "file=$(mktemp) && rm \"$file\" && \
    { test -e done || { echo 'there is no file called done'; exit 1; }; }";
/// What it says when it does not: the next prompt has to have it.
pub(super) const CHECK_OUTPUT: &str = "there is no file called done";
/// How many processes `family.sh` starts.
pub(super) const FAMILY: usize = 4;
/// How many of them lead a session of their own.
pub(super) const LEADERS: usize = 2;

/// In the order in which they are shown and begun: the long ones come first.
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
        // Where the blocks of a disk are so large that there is room all the same.
        settings: &[("NIGHTWRIGHT_IDLE_TIMEOUT", "3s")],
        judgement: expectations::full_journal,
    },
];

/// Those of these names; without any, all.
pub(super) fn chosen(names: &[String]) -> Result<Vec<&'static SelftestCase>, Failure> {
    let known = |name: &str| CASES.iter().any(|row| row.name == name);
    if let Some(unknown) = names.iter().find(|name| !known(name)) {
        let all: Vec<_> = CASES.iter().map(|row| row.name).collect();
        return Err(Failure::usage(format!("--only `{unknown}`: there is no such row"))
            .hint(format!("the rows are {}", all.join(", "))));
    }
    let wanted =
        |row: &&SelftestCase| names.is_empty() || names.iter().any(|name| name == row.name);
    Ok(CASES.iter().filter(wanted).collect())
}

//! What a program of ours finds in its environment: what is allowed, what we set, and what tells
//! it which attempt it is.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;

use legwork_core::agent::dialect::Dialect;

use super::process::Setup;
use super::{Order, Source};

/// Where programs put their temporary files, inside the folder of the run.
pub(super) const TEMP_FOLDER: &str = "tmp";

/// The variables of `ours` that are passed on, and those that we set. The same for agents, checks
/// and hooks. `also` is the user's wish for more.
pub fn inherited(
    dialect: Dialect,
    ours: impl IntoIterator<Item = (OsString, OsString)>,
    also: impl Fn(&str) -> bool,
) -> Vec<(OsString, OsString)> {
    let allowed = |name: &OsStr| {
        name.to_str().is_some_and(|name| dialect.environment_allows(name) || also(name))
    };
    let mut all: Vec<_> = ours.into_iter().filter(|(name, _)| allowed(name)).collect();
    for (name, value) in dialect.environment_defaults() {
        if !all.iter().any(|(there, _)| there == name) {
            all.push((name.into(), value.into()));
        }
    }
    for (name, value) in dialect.environment_sets() {
        set(&mut all, name, value);
    }
    all
}

/// Adds what one attempt or call has of its own. `turn` is which call of its purpose it is.
pub(super) fn add(
    all: &mut Vec<(OsString, OsString)>,
    setup: &Setup,
    order: &Order,
    turn: Option<u32>,
) {
    let (name, number, mark) = match order.source {
        Source::Attempt(id) => ("LEGWORK_ATTEMPT", id.0, id.to_string()),
        Source::Call(id) => ("LEGWORK_CALL", id.0, format!("c{id}")),
    };
    set(all, name, number.to_string());
    set(all, "LEGWORK_MARK", format!("{}.{mark}.{}", setup.run, nonce()));
    set(all, "LEGWORK_RUN_ID", &setup.run.0);
    set(all, "LEGWORK_ITERATION", order.iteration.to_string());
    set(all, "LEGWORK_TASK", setup.task.as_deref().unwrap_or_default());
    if let Some(purpose) = order.purpose {
        set(all, "LEGWORK_PURPOSE", purpose.name());
    }
    if let Some(turn) = turn {
        set(all, "LEGWORK_TURN", turn.to_string());
    }
    let temp = setup.folder.join(TEMP_FOLDER);
    for name in temp_variables(setup.dialect) {
        set(all, name, &temp);
    }
}

/// By which variables a program is told where its temporary files go.
fn temp_variables(dialect: Dialect) -> &'static [&'static str] {
    match dialect {
        Dialect::Claude => &["TMPDIR", "CLAUDE_CODE_TMPDIR"],
    }
}

fn set(all: &mut Vec<(OsString, OsString)>, name: &str, value: impl AsRef<OsStr>) {
    all.retain(|(there, _)| there != name);
    all.push((name.into(), value.as_ref().to_owned()));
}

/// Tells the marks of two processes apart even if everything else about them is the same.
fn nonce() -> String {
    let mut bytes = [0; 8];
    // Without chance from the kernel the number of the process has to do: it is for sweeping up
    // after ourselves, not for keeping anybody out.
    if rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()).is_err() {
        bytes = u64::from(std::process::id()).to_be_bytes();
    }
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string can't fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

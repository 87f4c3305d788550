//! Compares the journal of a run with its seal before the run is resumed.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::FileExt as _;

use nightwright_core::outcome::count;

use crate::commands::cli::select_run::damaged;
use crate::error::Failure;
use crate::files;
use crate::store::journal;
use crate::store::run_dir::RunDir;
use crate::store::seal::{self, SealMatch};

/// Fails if the journal is not the one that the run wrote. Removes events that the run did not
/// write, and returns a warning about them. The caller holds the lock of the run.
pub(super) fn drop_unsealed(folder: &RunDir) -> Result<Option<String>, Failure> {
    let path = folder.journal();
    // A damaged line is named first, because it says more.
    let journal = journal::read(&path).map_err(|error| damaged(&error))?;
    if journal.records.is_empty() {
        return Ok(None);
    }
    let unreadable = |error: io::Error| {
        Failure::trouble(format!("cannot compare `{}` with its seal: {error}", path.display()))
    };
    let length = match seal::compare(&folder.seal(), &path).map_err(unreadable)? {
        SealMatch::Intact { length } => length,
        SealMatch::Changed => {
            let why = format!("another process changed its journal `{}`", path.display());
            return Err(refused(folder, &why));
        }
        SealMatch::Unsealed => {
            return Err(refused(folder, "its seal is missing or unreadable"));
        }
    };
    let torn = journal.torn.map_or(0, |torn| torn.length);
    let added = std::fs::metadata(&path).map_err(unreadable)?.len().saturating_sub(length);
    // An incomplete line at the end is what a crash leaves.
    if added <= torn {
        return Ok(None);
    }
    cut(folder, length).map_err(unreadable)?;
    Ok(Some(format!(
        "removed {} from the end of the journal: an incomplete write, or an addition by another \
         process",
        count(added, "byte")
    )))
}

/// Removes everything after this length, and keeps a copy of it.
fn cut(folder: &RunDir, length: u64) -> io::Result<()> {
    let path = folder.journal();
    let file = files::open_regular_with(OpenOptions::new().read(true).write(true), &path)?;
    let mut foreign = vec![0; 1 << 20];
    let count = file.read_at(&mut foreign, length)?;
    let mut copy = files::create_anew(&path.with_extension("foreign"))?;
    io::Write::write_all(&mut copy, &foreign[..count])?;
    file.set_len(length)?;
    file.sync_all()
}

fn refused(folder: &RunDir, why: &str) -> Failure {
    Failure::trouble(format!("cannot resume run {}: {why}", folder.id()))
        .hint("review the project, then start a new run")
}

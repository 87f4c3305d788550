//! `nightwright selftest`: test how this machine handles crashes, hangs, limits and full disks.
//!
//! The real binary executes every [case](cases) with the rehearsal agent. Each case has its own
//! folder with a home, a project and a state, so the user's files are not touched. The
//! [observation] consists of the journal, the exit codes and the list of processes. A pure function
//! [judges](expectations) it.
//!
//! This process is the subreaper: processes that a run leaves behind are reparented to it,
//! detected, and killed at the end.

mod case_env;
mod cases;
mod expectations;
mod observation;
mod result;

use std::env;
use std::fs;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use tempfile::TempDir;

use self::case_env::CaseEnv;
use self::cases::SelftestCase;
use self::observation::CaseObservation;
use self::result::{CaseResult, SelftestReport};
use crate::app::async_command::{block_on, catch_signals, interrupted};
use crate::console::{eprint_safe, print};
use crate::error::Failure;
use crate::process;
use crate::workspace::space;

/// Maximum number of parallel cases; most of them only wait.
const MAX_PARALLEL: usize = 6;
/// The timeout of a case; one that takes longer counts as hanging.
const CASE_TIMEOUT: Duration = Duration::from_secs(40);
/// The deadline of all cases after the start of the test, so that it takes at most 1 minute.
const TOTAL_TIMEOUT: Duration = Duration::from_secs(55);
/// The required free disk space; all cases together use less.
const REQUIRED_BYTES: u64 = 64 * MEGABYTE;
const MEGABYTE: u64 = 1_000_000;
/// How long exiting processes may take at the end of the test.
const LEAVING: Duration = Duration::from_secs(1);
/// The interval at which processes are checked.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

#[derive(Clone, Debug, Args)]
#[command(
    after_help = "The tests use the rehearsal agent and temporary folders: no account, no network, no \
                  changes to your files. They take at most 1 minute. The exit code is 1 if any of them \
                  fails."
)]
pub(super) struct SelftestArgs {
    /// Run only this test; repeatable
    #[arg(long, value_name = "TEST")]
    only: Vec<String>,

    /// Keep the folders of all tests, not only of failed ones
    #[arg(long)]
    keep: bool,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn selftest(options: &SelftestArgs) -> Result<ExitCode, Failure> {
    let cases = cases::chosen(&options.only)?;
    let program = env::current_exe().map_err(|error| {
        Failure::trouble(format!("cannot find the nightwright program: {error}"))
    })?;
    let place = env::temp_dir();
    check_disk_space(&place, space([place.as_path()]).map(|disk| disk.free))?;
    let folder = tempfile::Builder::new()
        .prefix("nightwright-selftest-")
        .tempdir()
        .map_err(|error| Failure::trouble(format!("cannot create a folder: {error}")))?;
    let play = SelftestRunner {
        program,
        // The canonical path, as other processes see it, even if it contains links.
        folder: folder.path().canonicalize().unwrap_or_else(|_| folder.path().to_owned()),
        begun: Instant::now(),
        stop: Arc::default(),
        interactive: !options.json && io::stderr().is_terminal(),
    };
    let stop = Arc::clone(&play.stop);
    let played = block_on(async {
        let mut signals = catch_signals()?;
        process::become_subreaper();
        let mut playing = tokio::task::spawn_blocking(move || play.all(&cases));
        let trouble = |error: tokio::task::JoinError| Failure::trouble(error.to_string());
        tokio::select! {
            report = &mut playing => report.map(Some).map_err(trouble),
            () = signals.next() => {
                stop.store(true, Ordering::Relaxed);
                playing.await.map_err(trouble)?;
                Ok(None)
            }
        }
    })?;
    let Some(report) = played else { return Ok(interrupted()) };
    tidy_up(folder, &report, options.keep);
    print(report.show(options.json)?.trim_end())?;
    Ok(ExitCode::from(u8::from(!report.is_fine())))
}

/// Fails if there is too little disk space for all cases. Otherwise a full disk would look like a
/// failed test.
fn check_disk_space(folder: &Path, free: Option<u64>) -> Result<(), Failure> {
    // If the free space is unknown, the test starts anyway.
    let Some(free) = free.filter(|free| *free < REQUIRED_BYTES) else { return Ok(()) };
    let message = format!(
        "the self-test needs {} MB in `{}`, and only {} MB are free there",
        REQUIRED_BYTES / MEGABYTE,
        folder.display(),
        free / MEGABYTE
    );
    let hint = "free some disk space, or set TMPDIR to another folder";
    Err(Failure::trouble(message).hint(hint))
}

/// Removes the folders of passed cases; the others are kept for inspection.
fn tidy_up(folder: TempDir, report: &SelftestReport, keep: bool) {
    if keep || !report.is_fine() {
        for case in &report.cases {
            if !keep && case.is_fine() {
                // A folder that cannot be removed stays in the temporary folder.
                let _ = fs::remove_dir_all(folder.path().join(case.name));
            }
        }
        let kept = folder.keep();
        if keep {
            eprint_safe(&format!("The folders of all tests are in {}.", kept.display()));
        }
    }
}

/// The environment for executing cases.
struct SelftestRunner {
    program: PathBuf,
    folder: PathBuf,
    begun: Instant,
    /// Set when the user interrupts the test.
    stop: Arc<AtomicBool>,
    /// Whether to show progress on a terminal.
    interactive: bool,
}

impl SelftestRunner {
    /// Executes the cases in parallel, and leaves no processes behind.
    fn all(&self, cases: &[&'static SelftestCase]) -> SelftestReport {
        let next = AtomicUsize::new(0);
        let mut results = thread::scope(|scope| {
            let (sender, receiver) = mpsc::channel();
            for _ in 0..MAX_PARALLEL.min(cases.len()) {
                let (sender, next) = (sender.clone(), &next);
                scope.spawn(move || {
                    while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let result = self.case(case);
                        // The receiver exists until the last result.
                        let _ = sender.send(result);
                    }
                });
            }
            drop(sender);
            let mut results = Vec::new();
            for result in receiver {
                results.push(result);
                if self.interactive
                    && !self.stop.load(Ordering::Relaxed)
                    && let Some(result) = results.last()
                {
                    eprint_safe(&format!("{}/{} {}", results.len(), cases.len(), result.line()));
                }
            }
            results
        });
        results.sort_by_key(|result| cases.iter().position(|case| case.name == result.name));
        let survivors = self.strays();
        process::end_guards();
        if self.interactive && !self.stop.load(Ordering::Relaxed) {
            eprint_safe("");
        }
        let watched = process::can_be_watched();
        SelftestReport { cases: results, survivors, watched, took: self.begun.elapsed() }
    }

    /// Returns the remaining child processes after all cases. Exiting processes get a moment.
    fn strays(&self) -> Vec<String> {
        let begun = Instant::now();
        loop {
            let left = process::live_descendants();
            let finished = begun.elapsed() > LEAVING || self.stop.load(Ordering::Relaxed);
            if left.is_empty() || finished {
                return left;
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    fn case(&self, case: &'static SelftestCase) -> CaseResult {
        let begun = Instant::now();
        let deadline = (begun + CASE_TIMEOUT).min(self.begun + TOTAL_TIMEOUT);
        let folder = self.folder.join(case.name);
        let seen = CaseEnv::set(&folder, &self.program, case, deadline, &self.stop)
            .and_then(|mut env| env.play(case));
        let containment = seen.as_ref().ok().and_then(CaseObservation::containment);
        CaseResult {
            name: case.name,
            title: case.title,
            outcome: seen.and_then(|seen| expectations::evaluate(case, &seen)),
            containment,
            took: begun.elapsed(),
            folder,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_little_room_is_refused_with_the_folder_and_the_variable_that_names_it() {
        let place = Path::new("/small");
        for free in [0, REQUIRED_BYTES - 1] {
            let said = check_disk_space(place, Some(free)).unwrap_err().to_string();
            assert!(said.contains("needs 64 MB in `/small`"), "{said}");
            assert!(said.contains("TMPDIR"), "{said}");
        }
        assert!(check_disk_space(place, Some(REQUIRED_BYTES)).is_ok());
        assert!(check_disk_space(place, None).is_ok());
    }
}

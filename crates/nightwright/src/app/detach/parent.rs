//! The process that waits at the terminal until the run has started.

use std::ffi::OsString;
use std::process::ExitCode;

use nightwright_core::display::one_line;

use super::{DetachFormat, DetachReport};
use crate::app::async_command::block_on;
use crate::console::eprint_safe;
use crate::error::Failure;
use crate::paste::from_here;
use crate::process::{self, DetachOutcome};

/// The maximum length of an unreadable report when shown, in characters.
const MAX_REPORT_CHARS: usize = 60;

/// Runs the command with these arguments in another process, waits until its run has started, and
/// prints how to follow it.
pub(crate) fn detach(arguments: Vec<OsString>) -> Result<ExitCode, Failure> {
    let option = |number| OsString::from(format!("--detach-fd={number}"));
    let outcome = block_on(async {
        process::start_detached(arguments, option)
            .map_err(|error| Failure::trouble(format!("cannot start nightwright: {error}")))
    })?;
    match outcome {
        DetachOutcome::Detached(report) => {
            let report: DetachReport = serde_json::from_slice(&report).map_err(|_| {
                let text = one_line(&String::from_utf8_lossy(&report), MAX_REPORT_CHARS);
                Failure::trouble(format!(
                    "the run continues in the background, but its ID is unknown: its process \
                     reported `{text}`"
                ))
                .hint("run `nightwright status` to find it")
            })?;
            report.announce()?;
            Ok(ExitCode::SUCCESS)
        }
        DetachOutcome::Ended(exit) => {
            let code = exit.code().or_else(|| exit.signal().map(|signal| 128 + signal));
            Ok(ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)))
        }
    }
}

impl DetachReport {
    /// Prints the report. If the id cannot be printed, the user still learns that the run
    /// continues, because nothing else reports it.
    fn announce(&self) -> Result<(), Failure> {
        let help = from_here(&self.help()).into_owned();
        match (self.print(), self.tone) {
            (Ok(()), DetachFormat::People) => eprint_safe(&help),
            (Ok(()), DetachFormat::Quiet | DetachFormat::Json) => {}
            (Err(failure), DetachFormat::People | DetachFormat::Quiet | DetachFormat::Json) => {
                eprint_safe(&help);
                let Self { run, .. } = self;
                let message = format!("{}; run {run} continues", failure.message);
                return Err(Failure::trouble(message)
                    .hint(format!("run `nightwright stop {run}` to stop it")));
            }
        }
        Ok(())
    }

    /// Returns the commands for following the run.
    fn help(&self) -> String {
        let Self { run, pid, .. } = self;
        format!(
            "The run continues without this terminal (pid {pid}).\n  \
             nightwright status {run}       show its status\n  \
             nightwright log -f {run}       follow its log\n  \
             nightwright tell {run} \"TEXT\"  send a message to the agent\n  \
             nightwright stop {run}         stop it after this iteration"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_for_users_lists_the_commands_to_follow_it() {
        let word = DetachReport {
            run: "20261116-183131-0a1b".to_owned(),
            pid: 4711,
            project: "/srv/my shop".into(),
            run_folder: "/state/run".into(),
            tone: DetachFormat::People,
        };
        insta::assert_snapshot!(word.help(), @r#"
        The run continues without this terminal (pid 4711).
          nightwright status 20261116-183131-0a1b       show its status
          nightwright log -f 20261116-183131-0a1b       follow its log
          nightwright tell 20261116-183131-0a1b "TEXT"  send a message to the agent
          nightwright stop 20261116-183131-0a1b         stop it after this iteration
        "#);
    }
}

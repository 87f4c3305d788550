//! Inspections that are incomplete because a git command of nightwright was killed. That alone is no
//! tampering. A claim that rests on a file that was not inspected is treated like any other finding,
//! because the agent can make git slow.

use super::is_protected;
use crate::input::{InspectionTimeout, NotInspected, TamperFinding};
use crate::outcome::count;

/// The warning that names the command and its limit.
pub(crate) fn warning(timeout: &InspectionTimeout) -> String {
    let InspectionTimeout { why, what } = timeout;
    match what {
        NotInspected::Everything => format!("{why}; the changes of the run are not inspected"),
        NotInspected::Files(files) => {
            let files = count(u32::try_from(files.len()).unwrap_or(u32::MAX), "changed file");
            format!("{why}; {files} inspected by name only")
        }
    }
}

/// The finding, if the inspection was impossible, or if a file that can influence the checks was not
/// inspected.
pub(crate) fn finding(timeout: &InspectionTimeout, commands: &[String]) -> Option<TamperFinding> {
    let InspectionTimeout { why, what } = timeout;
    match what {
        NotInspected::Everything => Some(TamperFinding {
            path: ".git".to_owned(),
            what: format!("cannot inspect the changes of the run: {why}"),
        }),
        NotInspected::Files(files) => {
            let mut protected = files.iter().filter(|path| is_protected(path, commands));
            let path = protected.next()?.clone();
            let what = match protected.count() {
                0 => format!("cannot inspect this change: {why}"),
                more => format!("cannot inspect this change and {more} more: {why}"),
            };
            Some(TamperFinding { path, what })
        }
    }
}

//! A status file with secrets: the file as written decides, and its masked version gives the words.

use super::{InvalidStatus, ParsedStatus, read};
use crate::evidence::identity;
use crate::input::StatusReport;
use crate::redact::Secrets;
use crate::stream::news::Blocker;

/// Parses a status file, and masks the secrets in its texts.
pub fn read_masked(bytes: &[u8], secrets: &Secrets) -> Result<ParsedStatus, InvalidStatus> {
    let written = read(bytes)?;
    match read(&secrets.mask_json(bytes)) {
        Ok(masked) if decides_the_same(&written.report, &masked.report) => Ok(masked),
        // A mask hides a word that decides, such as the value of `status`.
        Ok(_) | Err(_) => Ok(with_masks(written, secrets)),
    }
}

fn decides_the_same(one: &StatusReport, other: &StatusReport) -> bool {
    let decision = |report: &StatusReport| {
        let impossible: Vec<_> = report.blockers.iter().map(Blocker::is_impossible).collect();
        let StatusReport { complete, progress, worked, contradictions, .. } = report;
        (*complete, report.failed.is_some(), *progress, *worked, contradictions.len(), impossible)
    };
    decision(one) == decision(other)
}

fn with_masks(written: ParsedStatus, secrets: &Secrets) -> ParsedStatus {
    let mask = |text: &mut String| *text = secrets.mask(text).into_owned();
    let ParsedStatus { mut report, mut warnings } = written;
    let StatusReport { failed, summary, phase, notes, updated, blockers, contradictions, .. } =
        &mut report;
    [failed, phase, notes, updated].into_iter().flatten().for_each(mask);
    contradictions.iter_mut().chain(&mut warnings).chain([summary]).for_each(mask);
    for blocker in blockers {
        *blocker = identity::masked(blocker, secrets);
    }
    ParsedStatus { report, warnings }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"{"status": "failed", "summary": "no disk", "progress": {"completed": 1,
        "total": 2}, "blockers": ["Impossible: no disk"], "worked": true}"#;

    #[test]
    fn a_mask_changes_no_decision_of_a_status_file() {
        let plain = read(FILE.as_bytes()).unwrap().report;
        for pattern in [".+", "failed", "disk"] {
            let secrets = Secrets::new([""; 0], [pattern]).unwrap();
            let masked = read_masked(FILE.as_bytes(), &secrets).unwrap().report;
            assert!(decides_the_same(&plain, &masked), "{pattern}: {masked:?}");
            let shown = format!("{:?}{:?}", masked.summary, masked.failed);
            assert!(pattern == "failed" || !shown.contains("disk"), "{pattern}: {shown}");
        }
    }

    #[test]
    fn a_secret_at_the_limit_of_a_text_is_masked_before_it_is_cut() {
        let secrets = Secrets::new(["correct-horse-9x7Q2z"], [""; 0]).unwrap();
        let summary = format!("{}correct-horse-9x7Q2z", "x".repeat(3990));
        let file = format!(r#"{{"complete": false, "summary": "{summary}"}}"#);
        let masked = read_masked(file.as_bytes(), &secrets).unwrap().report;
        assert!(masked.summary.ends_with("x**********…"), "{}", masked.summary);
    }
}

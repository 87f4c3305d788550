//! Masks change the words of a report, and nothing else.

use super::*;
use crate::stream::news::Answer;
use crate::stream::outcome::Consequence;

const SECRET: &str = "correct-horse-9x7Q2z";
const LIMIT: &str = r#"{"type":"result","subtype":"success","is_error":true,"result":"Claude AI usage limit reached|1700000000","num_turns":1,"total_cost_usd":0.25,"stop_reason":"stop_sequence"}"#;

/// The report on these lines of a program whose output is masked.
fn heard(secrets: &Secrets, lines: &[&str]) -> AttemptReport {
    of_call(secrets, None, lines).report
}

fn of_call(secrets: &Secrets, purpose: Option<CallPurpose>, lines: &[&str]) -> FinishedTranscript {
    let mut transcript = Transcript::new(TranscriptOptions {
        dialect: Dialect::Claude,
        completion: &Completion::default(),
        secrets,
        purpose,
        live: false,
        started: Duration::ZERO,
    });
    feed(&mut transcript, lines);
    let exit = Some(ProcessExit::Code(0));
    let closing = AttemptExit { exit, stdout_bytes: 1, ..AttemptExit::default() };
    transcript.conclude(Duration::from_mins(1), Timestamp::UNIX_EPOCH, closing)
}

fn result(text: &str) -> String {
    let text = serde_json::Value::from(text);
    RESULT.replace(r#""All done.\n<promise>COMPLETE</promise>""#, &text.to_string())
}

/// The report without its texts.
fn decisions(report: &AttemptReport) -> String {
    let AttemptReport { outcome, text_evidence, denied, edited, answer, .. } = report.clone();
    let blockers: Vec<_> = text_evidence.blockers.iter().map(Blocker::is_impossible).collect();
    let signals: Vec<_> = text_evidence.findings.iter().map(|finding| finding.signal).collect();
    let bare = AttemptReport {
        text_evidence: TextEvidence {
            blockers: Vec::new(),
            decisions: Vec::new(),
            findings: Vec::new(),
            conflict: None,
            marker_ignored: None,
            summary: String::new(),
            ..text_evidence.clone()
        },
        denied: Vec::new(),
        edited: None,
        answer: None,
        outcome: AttemptOutcome::Finished,
        unknown: Vec::new(),
        ..report.clone()
    };
    let complete = match answer {
        Some(Answer::Verdict(verdict)) => Some(verdict.complete),
        Some(Answer::Text { .. }) | None => None,
    };
    let counts = (text_evidence.decisions.len(), denied.len(), edited.map(|files| files.len()));
    let outcome = (std::mem::discriminant(&outcome), outcome.consequence() == Consequence::Assess);
    format!("{bare:?} {blockers:?} {signals:?} {complete:?} {counts:?} {outcome:?}")
}

#[test]
fn a_pattern_that_matches_everything_changes_no_decision() {
    let masks = Secrets::new([""; 0], [".+"]).unwrap();
    let blocker = text("null", "<blocker>\\nImpossible: no disk\\n</blocker>");
    let decided = text("null", "**Decision**: keep it\\n**Rationale**: stability");
    let asks = result("I have two options. Which one do you prefer?");
    let login = r#"{"type":"assistant","error":"authentication_failed","isApiErrorMessage":true,"message":{"model":"<synthetic>","content":[{"type":"text","text":"Invalid API key"}]}}"#;
    let failed = r#"{"type":"result","subtype":"success","is_error":true,"result":"Invalid API key","num_turns":1,"total_cost_usd":0}"#;
    for lines in [
        &[INIT, BASH, BASH_BACK, RESULT][..],
        &[INIT, &blocker, &decided, RESULT],
        &[INIT, &asks],
        &[INIT, START, END, LIMIT],
        &[INIT, login, failed],
        &["not a message"],
        &[],
    ] {
        let (plain, masked) = (heard(&Secrets::default(), lines), heard(&masks, lines));
        assert_eq!(decisions(&masked), decisions(&plain), "{lines:?}");
        let (cost, free) = (masked.cost.or(masked.priced), Some(Usd::ZERO));
        assert!(lines.is_empty() || failed == lines[lines.len() - 1] || cost != free, "{lines:?}");
        let shown = masked.text_evidence.summary;
        assert!(shown.chars().all(|c| matches!(c, '*' | ' ' | '…')), "{shown}");
    }
}

#[test]
fn a_verdict_is_read_before_its_reason_is_masked() {
    let masks = Secrets::new([""; 0], [".+"]).unwrap();
    let object = r#"{"verdict": "no", "reason": "two tests fail", "missing": ["a test"]}"#;
    for answer in [object, "Two tests fail.\nVERDICT: no - two tests fail"] {
        let lines = [INIT, &result(answer)];
        let heard = of_call(&masks, Some(CallPurpose::Verify), &lines).report;
        let Some(Answer::Verdict(verdict)) = heard.answer else { panic!("no verdict: {answer}") };
        assert_eq!((verdict.complete, &*verdict.reason), (false, "**************"));
    }
}

#[test]
fn a_secret_is_masked_before_its_text_is_cut() {
    let secrets = Secrets::new([SECRET], [""; 0]).unwrap();
    let long = format!("{} {SECRET} more", "word ".repeat(37));
    let report = heard(&secrets, &[INIT, &result(&long)]);
    assert!(!report.text_evidence.summary.contains("correct"), "{}", report.text_evidence.summary);
    let blocker = format!("<blocker>{}{SECRET}</blocker>", "x".repeat(1990));
    let report = heard(&secrets, &[INIT, &result(&blocker)]);
    assert!(report.text_evidence.blockers[0].description.ends_with("xx**********"));
}

#[test]
fn a_text_that_was_cut_at_its_beginning_may_begin_with_a_part_of_a_secret() {
    let secrets = Secrets::new([SECRET], [""; 0]).unwrap();
    let text = format!("horse-9x7Q2z and {}", "word ".repeat(210_000));
    let heard = of_call(&secrets, None, &[INIT, &result(&text[..(1 << 20) - 3])]);
    assert!(heard.final_text.starts_with("************ and word"), "{}", &heard.final_text[..40]);
}

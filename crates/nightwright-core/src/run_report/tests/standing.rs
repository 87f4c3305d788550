//! Tests of the headline: whether the run has ended, is a rehearsal, or is incompletely recorded.

use super::*;
use crate::event::{
    AttemptEvent, Event, GateEvent, GateResult, IterationEvent, NoteEvent, RunEvent,
};
use crate::outcome::{Outcome, Proof};
use crate::run_view::JournalBreak;
use crate::settings::Scope;
use crate::stream::news::Blocker;

fn records_of(agent: &str, scope: Scope, iterations: u32) -> Vec<Record> {
    let mut records = sample(iterations).records();
    if let Event::Run(RunEvent::Started(started)) = &mut records[0].event {
        agent.clone_into(&mut started.agent.name);
        started.settings.scope = scope;
    }
    records
}

#[test]
fn a_rehearsal_is_called_one_and_never_done() {
    let report = told(&records_of("rehearsal", Scope::Whole, 4), false);
    assert!(report.is_rehearsal);
    assert_eq!(report.status, ReportStatus::Rehearsed);
    let (markdown, html) = (report.markdown(), report.html());
    for page in [&markdown, &html] {
        assert!(page.contains("Rehearsal"), "{page}");
        assert!(
            page.contains("the rehearsal agent replaces the real one and spends nothing"),
            "{page}"
        );
        assert!(page.contains("ehearsal, nothing spent"), "{page}");
        assert!(!page.contains("Completed and verified"), "{page}");
        assert!(!page.to_lowercase().contains("review the changes"), "{page}");
        assert!(page.contains("without --dry-run"), "{page}");
    }
    assert!(html.contains("<h2>Simulated cost</h2>"), "{html}");
    assert!(!html.contains("Cost by purpose"), "{html}");
    assert!(
        markdown.contains("| cost | rehearsal, nothing spent (simulated cost: $"),
        "{markdown}"
    );
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!((&json["is_rehearsal"], &json["status"]), (&true.into(), &"rehearsed".into()));
    let real = serde_json::to_value(told(&sample(4).records(), false)).unwrap();
    assert_eq!((&real["is_rehearsal"], &real["status"]), (&false.into(), &"verified".into()));
}

fn unread(records: &[Record], from: JournalBreak, is_live: bool) -> RunReport {
    let context = ReportContext { is_live, now: records.last().unwrap().at };
    let missing = vec!["line 9 is damaged".to_owned()];
    report_of(records, context, UnreadableJournal { missing, from: Some(from) })
}

#[test]
fn the_outcome_of_a_damaged_journal_is_unknown() {
    let records = sample(6).records();
    // A recorded outcome may not be the last one, because the run may have been resumed.
    for end in [8, records.len()] {
        let report = unread(&records[..end], JournalBreak::Damaged { line: 9 }, false);
        assert_eq!((report.state, report.status), (Liveness::Unknown, ReportStatus::Unknown));
        assert_eq!((report.outcome, report.verification.as_ref()), (None, None));
        for page in [report.markdown(), report.html()] {
            assert!(page.contains("Unknown"), "{page}");
            assert!(page.contains("the journal is damaged from line 9"), "{page}");
            assert!(!page.contains("nightwright resume"), "{page}");
            assert!(!page.contains("has not ended"), "{page}");
            assert!(!page.contains("Completed and verified"), "{page}");
        }
    }
    let newer = unread(&records[..8], JournalBreak::Newer { line: 9 }, false);
    assert!(newer.markdown().contains("a newer nightwright wrote the journal from line 9 on"));
    assert_eq!(newer.next, ["update nightwright: a newer version recorded this run"]);
    let live = unread(&records[..8], JournalBreak::Newer { line: 9 }, true);
    assert_eq!((live.state, live.status), (Liveness::Running, ReportStatus::Running));
}

#[test]
fn an_active_run_does_not_suggest_a_resume() {
    let live = told(&sample(6).records()[..8], true);
    assert_eq!(live.next.len(), 3, "{:?}", live.next);
    for (step, command) in
        live.next.iter().zip(["nightwright log -f", "nightwright tell", "nightwright stop"])
    {
        assert!(step.contains(command), "{step}");
    }
    let gone = told(&sample(6).records()[..8], false);
    assert!(gone.next[0].contains("`nightwright resume 2"), "{:?}", gone.next);
}

#[test]
fn only_checks_are_called_a_verification() {
    for (proof, verdict, headline) in [
        (Proof::Checks, "verified", "Completed and verified"),
        (Proof::Model, "judged", "Judged complete by a model"),
        (Proof::None, "not_verified", "Completed, not verified"),
    ] {
        let mut records = sample(3).records();
        for record in &mut records {
            match &mut record.event {
                Event::Gate(GateEvent::Finished {
                    result: GateResult::Passed { proof: passed },
                }) => {
                    *passed = proof;
                }
                Event::Run(RunEvent::Finished { outcome, .. }) => {
                    *outcome = Outcome::completed(proof);
                }
                _ => {}
            }
        }
        let report = told(&records, false);
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!((&json["proof"], &json["status"]), (&proof.name().into(), &verdict.into()));
        for page in [report.markdown(), report.html()] {
            assert!(page.contains(headline), "{page}");
            let claims = page.contains("Completed and verified") || page.contains("erified by `");
            assert_eq!(claims, proof == Proof::Checks, "{page}");
        }
    }
}

#[test]
fn what_to_do_next_is_on_both_pages_however_it_ended() {
    let mut records = sample(3).records();
    assert!(told(&records, false).markdown().contains("## Next steps\n\n- Review the changes\n"));
    if let Event::Run(RunEvent::Started(started)) = &mut records[0].event {
        started.git_head = Some("9fceb02d0ae598e95dc970b74767f19372d61af8".to_owned());
    }
    let report = told(&records, false);
    assert!(report.markdown().contains("- Review the changes: `git diff 9fceb02d0a`\n"));
    assert!(report.html().contains("<h2>Next steps</h2><ul><li>Review the changes"));
}

#[test]
fn a_completed_run_does_not_need_the_denied_commands_any_more() {
    let mut records = sample(3).records();
    let record = records[1].clone();
    let blocker = |key: &str| {
        let blocker = Blocker::new(key, format!("the {key}"));
        Record { event: Event::Note(NoteEvent::BlockerReported { blocker }), ..record.clone() }
    };
    records.splice(2..2, [blocker(Blocker::PERMISSIONS), blocker("password")]);
    assert_eq!(blockers(&records), ["the password"]);
    records.pop();
    assert_eq!(blockers(&records), ["the permissions", "the password"]);
}

#[test]
fn a_judgement_is_no_run() {
    let mut records = records_of("claude", Scope::Gate, 1);
    // The run consists only of the gate.
    records.retain(|record| {
        !matches!(
            record.event,
            Event::Attempt(
                AttemptEvent::Started { .. }
                    | AttemptEvent::Finished { .. }
                    | AttemptEvent::AgentReady { .. }
            )
        )
    });
    for record in &mut records {
        if let Event::Iteration(IterationEvent::Started { iteration, kind, .. }) = &mut record.event
        {
            (iteration.0, *kind) = (0, IterationKind::VerifyOnly);
        } else if let Event::Gate(GateEvent::Started { iteration, .. }) = &mut record.event {
            iteration.0 = 0;
        } else if let Event::Iteration(IterationEvent::Finished(finished)) = &mut record.event {
            finished.iteration.0 = 0;
        } else if let Event::Gate(GateEvent::Finished { result }) = &mut record.event {
            let why = "a test is missing".to_owned();
            *result = GateResult::Rejected { why };
        } else if let Event::Run(RunEvent::Finished { outcome, .. }) = &mut record.event {
            *outcome = Outcome::Unverified { why: "a test is missing".to_owned() };
        }
    }
    let report = told(&records, false);
    let (markdown, html) = (report.markdown(), report.html());
    assert!(
        markdown.starts_with("# Verification of migrate-api\n\n**Not verified.** "),
        "{markdown}"
    );
    assert!(markdown.contains("**Verification: rejected.**"), "{markdown}");
    assert!(markdown.contains("`nightwright verify migrate-api`"), "{markdown}");
    assert!(html.contains("<h1>Verification of migrate-api</h1>"), "{html}");
    assert!(html.contains("<h3>Verification</h3>"), "{html}");
    for page in [&markdown, &html] {
        assert!(!page.to_lowercase().contains("iteration 0"), "{page}");
        assert!(!page.contains("nightwright resume"), "{page}");
    }
}

#[test]
fn the_pages_name_the_files_of_the_run() {
    let mut report = told(&sample(1).records(), false);
    let [run_folder, journal] = ["/state/runs/x", "/state/runs/x/journal.jsonl"].map(Into::into);
    let log = Some("/state/runs/x/iterate-1.log".into());
    report.places = Some(RunPaths { run_folder, journal, log });
    for page in [report.markdown(), report.html()] {
        for place in ["/state/runs/x/journal.jsonl", "/state/runs/x/iterate-1.log"] {
            assert!(page.contains(place), "{place} is not in {page}");
        }
    }
}

#[test]
fn what_looks_alike_on_the_timeline_is_alike() {
    let mut records = sample(12).records();
    for record in &mut records {
        if let Event::Iteration(IterationEvent::Finished(finished)) = &mut record.event
            && finished.iteration.0 == 2
        {
            finished.result = IterationResult::Interrupted;
        }
    }
    let html = told(&records, false).html();
    for entry in [
        "<li><i class=\"work\"></i>work</li>",
        "<li><i class=\"idle\"></i>no changes</li>",
        "<li><i class=\"interrupted\"></i>interrupted</li>",
        "<li><i class=\"wait\"></i>waiting</li>",
    ] {
        assert!(html.contains(entry), "{entry} is not in {html}");
    }
    for class in ["idle", "interrupted", "work-reported", "away", "unknown"] {
        let (shown, colour) = (format!("rect.{class} {{"), format!("fill: var(--{class});"));
        assert!(html.contains(&format!("{shown} {colour} }}")), "{class} has a colour of its own");
    }
}

fn blockers(records: &[Record]) -> Vec<String> {
    told(records, false).blockers.iter().map(Blocker::sentence).collect()
}

#[test]
fn the_report_has_the_fields_of_a_blocker() {
    let mut records = sample(3).records();
    let blocker = Blocker { action: Some("send <it>".to_owned()), ..Blocker::new("k", "no key") };
    let event = Event::Note(NoteEvent::BlockerReported { blocker });
    records.splice(2..2, [Record { event, ..records[1].clone() }]);
    let report = told(&records, false);
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["blockers"][0]["description"], "no key");
    assert_eq!(json["blockers"][0]["action"], "send <it>");
    assert!(report.markdown().contains("no key. Action: send <it>"), "{}", report.markdown());
    assert!(report.html().contains("no key. Action: send &lt;it&gt;"));
}

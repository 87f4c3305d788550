//! Tests of counts, and of the number of items left off a list.

use super::*;
use crate::event::{
    AttemptEvent, CallEvent, Event, GateEvent, GateResult, IterationEvent, NoteEvent,
    OperatorEvent, RunEvent,
};
use crate::input::{CheckResult, CheckVerdict, TamperFinding};
use crate::stream::news::Blocker;

#[test]
fn an_iteration_that_changed_nothing_is_no_accepted_change() {
    let mut records = sample(6).records();
    for record in &mut records {
        if let Event::Iteration(IterationEvent::Finished(finished)) = &mut record.event {
            (finished.commits, finished.files_changed) = (0, 0);
            if finished.progress == Progress::Work {
                finished.progress = Progress::WorkReported;
            }
        }
    }
    let report = told(&records, false);
    assert_eq!(report.iterations[0].status, IterationStatus::WorkReported);
    // Only the claim that was finally accepted counts.
    assert_eq!((report.accepted.unit, report.accepted.count), (AcceptedUnit::Iterations, 1));
    assert!(report.markdown().contains("- **Iteration 1:** work reported, "));
}

#[test]
fn retries_are_counted_beyond_the_list_of_attempts() {
    let mut records = sample(1).records();
    let one =
        records.iter().find(|it| matches!(it.event, Event::Attempt(AttemptEvent::Started { .. })));
    let one = one.unwrap().clone();
    records.splice(2..2, std::iter::repeat_n(one, 49));
    let report = told(&records, false);
    assert_eq!(report.iterations[0].attempts.len(), 30);
    assert_eq!(report.iterations[0].attempt_count, 50);
    assert!(report.markdown().contains(", 49 retries, "), "{}", report.markdown());
}

#[test]
fn unlisted_commits_are_counted() {
    let mut report = told(&sample(200).records(), false);
    assert_eq!(report.totals.commits, 300);
    let commit = |number: u32| Commit {
        hash: format!("{number:040x}"),
        at: None,
        subject: format!("commit {number}"),
    };
    report.commits.listed = (0..200).map(commit).collect();
    assert!(report.markdown().contains("- and 250 more\n"), "{}", report.markdown());
    assert!(report.html().contains("The newest 200 of 300."));
}

#[test]
fn every_list_says_how_much_of_it_is_left_off() {
    let mut records = sample(1).records();
    let result = |number: u32| CheckResult {
        command: format!("check {number}"),
        verdict: CheckVerdict::Passed,
        output: String::new(),
        tests: None,
        log: None,
        duration: Duration::from_secs(1),
        outside: false,
    };
    let finding =
        |number: u32| TamperFinding { path: format!("{number}.rs"), what: "skipped".into() };
    for record in &mut records {
        if let Event::Gate(GateEvent::ChecksFinished { results, .. }) = &mut record.event {
            *results = (0..33).map(result).collect();
        } else if let Event::Gate(GateEvent::ChangesInspected { findings, .. }) = &mut record.event
        {
            *findings = (0..34).map(finding).collect();
        } else if let Event::Gate(GateEvent::VerdictGiven { missing, .. }) = &mut record.event {
            *missing = (0..35).map(|number| format!("thing {number}")).collect();
        } else if let Event::Run(RunEvent::Started(started)) = &mut record.event {
            started.settings.verify.commands =
                (0..36).map(|number| format!("check {number}")).collect();
        }
    }
    let record = |event| Record { event, ..records[1].clone() };
    let early = record(Event::Operator(OperatorEvent::StopCancelled));
    let blocker = |number: u32| {
        let text = format!("key {number}");
        record(Event::Note(NoteEvent::BlockerReported {
            blocker: Blocker::new(text.clone(), text),
        }))
    };
    let blockers: Vec<_> = (0..137).map(blocker).collect();
    records.splice(2..2, blockers);
    records.splice(1..1, std::iter::repeat_n(early, 38));
    let report = told(&records, false);
    let claim = &report.iterations[0].claims[0];
    assert_eq!((claim.more_checks, claim.more_findings, claim.more_missing), (3, 4, 5));
    assert_eq!(report.parameters.as_ref().unwrap().more_checks, 6);
    assert_eq!((report.more_blockers, report.more_before), (37, 8));
    let markdown = report.markdown();
    for part in [
        "- and 3 more checks\n",
        "- and 4 more findings\n",
        "- and 5 more missing items\n",
        "- and 37 more\n",
        "- and 8 more\n",
    ] {
        assert!(markdown.contains(part), "{part} is not in {markdown}");
    }
    let html = report.html();
    for number in [3, 4, 5, 6, 37, 8] {
        assert!(html.contains(&format!("and {number} more")), "{number}: {html}");
    }
}

#[test]
fn the_result_of_the_last_of_many_claims_belongs_to_that_claim() {
    let mut records = sample(1).records();
    let is_gate = |it: &Record| matches!(it.event, Event::Gate(GateEvent::Started { .. }));
    let gate = records.iter().position(is_gate).unwrap();
    let rejected = GateResult::Rejected { why: "no".to_owned() };
    let one = [records[gate].event.clone(), Event::Gate(GateEvent::Finished { result: rejected })];
    let one = one.map(|event| Record { event, ..records[gate].clone() });
    let many: Vec<_> = std::iter::repeat_n(one, 40).flatten().collect();
    records.splice(gate..gate, many);
    let report = told(&records, false);
    let iteration = &report.iterations[0];
    assert_eq!((iteration.claims.len(), iteration.left_off), (30, 11));
    assert_eq!(iteration.claims[28].outcome, ClaimOutcome::Rejected);
    assert_eq!(iteration.claims[29].outcome, ClaimOutcome::Verified);
}

#[test]
fn what_happened_before_the_first_iteration_is_on_the_pages() {
    let mut records = sample(1).records();
    let text = "the hook of the night was slow".to_owned();
    let early = Record {
        event: Event::Note(NoteEvent::Warning { text: text.clone() }),
        ..records[0].clone()
    };
    let feedback = Event::Operator(OperatorEvent::StopCancelled);
    records.splice(1..1, [early.clone(), Record { event: feedback, ..early }]);
    let report = told(&records, false);
    let (markdown, html) = (report.markdown(), report.html());
    let (_, section) = markdown.split_once("## Before the first iteration\n").unwrap();
    assert!(section.contains(&format!(" warning: {text}\n")), "{section}");
    assert!(section.contains(" control: stop cancelled\n"), "{section}");
    let (_, section) = html.split_once("<h2>Before the first iteration</h2>").unwrap();
    assert!(section.contains("stop cancelled"), "{section}");
}

#[test]
fn an_estimated_price_says_so_and_a_cheap_axis_has_no_label_twice() {
    let mut records = sample(3).records();
    for record in &mut records {
        if let Event::Attempt(AttemptEvent::Finished { cost, figure, .. }) = &mut record.event {
            *figure = crate::event::CostSource::Estimated;
            *cost = Usd::from_micros(4_100);
        } else if let Event::Call(CallEvent::Finished { cost, .. }) = &mut record.event {
            *cost = Usd::ZERO;
        }
    }
    let report = told(&records, false);
    assert!(report.markdown().contains("| cost per accepted change | about $0.00"));
    let html = report.html();
    let (_, chart) = html.split_once("<h3>Cost per iteration</h3>").unwrap();
    let (_, axis) = chart.split_once("<div class=\"y\"").unwrap();
    let (axis, _) = axis.split_once("</div>").unwrap();
    let labels: Vec<_> = axis.split("<span").skip(1).collect();
    let texts: Vec<_> = labels.iter().map(|label| label.split('>').nth(1).unwrap()).collect();
    let mut distinct = texts.clone();
    distinct.dedup();
    assert!(texts.len() > 2 && distinct == texts, "{texts:?}");
}

//! Tests of the report: journals as input, and the visible parts of the report as output.

mod counts;
mod hostile;
#[path = "../../tests/support/replace_texts.rs"]
mod replace_texts;
#[path = "../../tests/support/sample_run.rs"]
mod sample_run;
mod standing;
mod times;

use self::sample_run::SampleRun;
use super::*;
use crate::event::{
    CallEvent, Event, IterationEvent, IterationResult, NoteEvent, Record, RunEvent, SecondOpinion,
    samples,
};
use crate::outcome::Outcome;
use crate::results::ClaimOutcome;
use crate::run_view::RunView;
use std::time::Duration;

const START: &str = "2026-11-15T23:34:12Z";

fn sample(iterations: u32) -> SampleRun {
    SampleRun::new("migrate-api", iterations, START.parse().unwrap())
}

fn told(records: &[Record], is_live: bool) -> RunReport {
    let now = records.last().map_or(Timestamp::UNIX_EPOCH, |record| record.at);
    let context = ReportContext { is_live, now: now + Duration::from_mins(1) };
    report_of(records, context, UnreadableJournal::default())
}

fn report_of(records: &[Record], context: ReportContext, unread: UnreadableJournal) -> RunReport {
    let mut view = RunView::with_history();
    for record in records {
        view.record(record);
    }
    RunReport::of(RunId("20261115-233412-7f3a".to_owned()), view, context, unread)
}

/// Counts the occurrences of a string in a page.
fn count_of(page: &str, what: &str) -> usize {
    page.matches(what).count()
}

#[test]
fn a_verified_run_says_so_first() {
    let report = told(&sample(6).records(), false);
    assert_eq!((report.state, report.status), (Liveness::Ended, ReportStatus::Verified));
    let markdown = report.markdown();
    assert!(
        markdown.starts_with("# migrate-api\n\n**Completed and verified.** Task completed"),
        "{markdown}"
    );
    assert!(markdown.contains("verified by `cargo test` and a model's verdict"), "{markdown}");
    assert!(report.html().contains("<p class=\"headline\">Completed and verified</p>"));
}

#[test]
fn what_the_iterations_cost_adds_up_to_what_the_run_cost() {
    let records = sample(25).records();
    let report = told(&records, false);
    let Event::Run(RunEvent::Finished { totals, .. }) = &records.last().unwrap().event else {
        panic!()
    };
    let mut sum = Usd::ZERO;
    let mut tokens = Tokens::default();
    for iteration in &report.iterations {
        sum += iteration.cost_usd;
        tokens += iteration.tokens;
    }
    assert_eq!((sum, tokens), (totals.cost, totals.tokens));
    assert_eq!(report.totals, *totals);
}

#[test]
fn a_rejected_claim_keeps_its_reason_and_what_is_missing() {
    let report = told(&sample(6).records(), false);
    let fates: Vec<_> = report.iterations.iter().map(|iteration| iteration.status).collect();
    assert_eq!(fates[4..], [IterationStatus::Rejected, IterationStatus::Accepted]);
    let claim = &report.iterations[4].claims[0];
    assert_eq!(claim.outcome, ClaimOutcome::Rejected);
    assert_eq!(claim.missing, ["src/webhooks.rs uses `old::Router` in two places"]);
    for page in [report.markdown(), report.html()] {
        assert!(page.contains("handlers of the webhooks still import the old router"), "{page}");
        assert!(page.contains("old::Router"), "{page}");
    }
}

#[test]
fn a_second_opinion_is_named_where_it_gave_the_verdict() {
    let first = told(&sample(6).records(), false);
    assert_eq!(first.iterations[5].claims[0].second_opinion, None);
    for page in [first.markdown(), first.html()] {
        assert!(page.contains("s verdict: complete") && !page.contains("second opinion"), "{page}");
    }

    let mut records = sample(6).records();
    let asked = records.iter_mut().rev().find_map(|record| match &mut record.event {
        Event::Call(CallEvent::Started { second_opinion, .. }) => Some(second_opinion),
        _ => None,
    });
    *asked.unwrap() = Some(SecondOpinion::OtherModel);
    let report = told(&records, false);
    for page in [report.markdown(), report.html()] {
        assert!(page.to_lowercase().contains("a second opinion: complete"), "{page}");
        assert!(page.contains("s verdict: not complete"), "{page}");
    }
    let claim = serde_json::to_value(&report.iterations[5].claims[0]).unwrap();
    assert_eq!(claim["second_opinion"], "other_model");
}

#[test]
fn an_accepted_change_costs_the_run_divided_by_its_commits() {
    let report = told(&sample(6).records(), false);
    let AcceptedWork { unit, count, cost_usd } = report.accepted;
    assert_eq!((unit, count), (AcceptedUnit::Commits, 9));
    assert_eq!(cost_usd, Some(report.totals.cost.per(9)));
}

#[test]
fn without_commits_the_iterations_that_counted_are_the_changes() {
    let mut records = sample(6).records();
    for record in &mut records {
        if let Event::Iteration(IterationEvent::Finished(finished)) = &mut record.event {
            finished.commits = 0;
        }
    }
    let report = told(&records, false);
    // Four iterations made progress, and one claim was accepted. The rejected claim does not count.
    assert_eq!(report.accepted.unit, AcceptedUnit::Iterations);
    assert_eq!(report.accepted.count, 5);
}

#[test]
fn where_nothing_was_accepted_no_price_is_made_up() {
    let report = told(&sample(6).records()[..1], false);
    assert_eq!(report.accepted.cost_usd, None);
    assert!(report.markdown().contains("| cost per accepted change | — (nothing accepted) |"));
}

#[test]
fn an_active_run_and_an_interrupted_one_are_distinguished() {
    let records = sample(6).records();
    let half = &records[..8];
    let live = told(half, true);
    assert_eq!((live.state, live.status), (Liveness::Running, ReportStatus::Running));
    assert_eq!(live.iterations.last().unwrap().status, IterationStatus::Running);
    assert!(live.html().contains("The run is still in progress"));
    let gone = told(half, false);
    assert_eq!((gone.state, gone.status), (Liveness::Crashed, ReportStatus::Crashed));
    assert_eq!(gone.iterations.last().unwrap().status, IterationStatus::Interrupted);
    assert!(gone.markdown().contains("The run crashed."));
}

#[test]
fn a_wait_is_a_span_of_its_length() {
    let report = told(&sample(6).records(), false);
    let wait = report.spans.iter().find(|span| span.kind == SpanKind::Wait).unwrap();
    assert_eq!(wait.end.duration_since(wait.start).as_mins(), 47);
    assert_eq!(report.totals.waited, Duration::from_mins(47));
}

#[test]
fn every_beginning_of_every_journal_has_its_pages() {
    let all = samples().into_iter().enumerate().map(|(second, event)| Record {
        at: Timestamp::UNIX_EPOCH + Duration::from_secs(second as u64),
        active: Duration::from_secs(second as u64),
        event,
    });
    for records in [all.collect::<Vec<_>>(), sample(9).records()] {
        for end in 0..=records.len() {
            let report = told(&records[..end], end % 2 == 0);
            assert!(report.html().ends_with("</html>\n"));
            assert!(report.markdown().starts_with("# "));
            serde_json::to_string(&report).unwrap();
        }
    }
}

#[test]
fn a_page_of_a_thousand_iterations_stays_small_and_has_them_all() {
    let words = "What was done, told at some length. ".repeat(200);
    let run = SampleRun { words: Some(words), ..sample(1000) };
    let report = told(&run.records(), false);
    let html = report.html();
    assert!(html.contains("id=\"iteration-1000\""));
    assert_eq!(count_of(&html, "<details class=\"iteration\""), 1000);
    assert!(html.len() < 5 << 20, "{} bytes", html.len());
    assert!(report.markdown().len() < 200 << 10);
}

#[test]
fn what_is_long_is_cut_and_the_cut_is_said() {
    let run = SampleRun { words: Some("x".repeat(10_000)), ..sample(3) };
    let report = told(&run.records(), false);
    assert!(report.iterations[0].summary.ends_with("… (8500 more characters)"));
    let mut records = sample(1).records();
    let one = Record {
        event: Event::Note(NoteEvent::Warning { text: "again".to_owned() }),
        ..records[1].clone()
    };
    records.splice(2..2, std::iter::repeat_n(one, 1000));
    let report = told(&records, false);
    assert_eq!(report.iterations[0].notes.len(), 30);
    assert_eq!(report.iterations[0].left_off, 970);
    assert_eq!((report.warnings.len(), report.more_warnings), (200, 800));
    assert!(report.html().contains("and 960 more"));
}

#[test]
fn a_failed_iteration_says_what_went_wrong() {
    let mut records = sample(2).records();
    for record in &mut records {
        if let Event::Iteration(IterationEvent::Finished(finished)) = &mut record.event {
            finished.result =
                IterationResult::Failed { why: "the disk is full".to_owned(), too_long: false };
        }
        if let Event::Run(RunEvent::Finished { outcome, .. }) = &mut record.event {
            *outcome =
                Outcome::ConsecutiveErrors { errors: 2, last: "the disk is full".to_owned() };
        }
    }
    let report = told(&records, false);
    assert_eq!(report.status, ReportStatus::NotDone);
    assert_eq!(report.iterations[0].status, IterationStatus::Failed);
    assert!(report.html().contains("<h4>Error</h4><p class=\"words\">the disk is full</p>"));
    assert!(report.markdown().contains("failed, "), "{}", report.markdown());
}

#[test]
fn the_page_forbids_everything_but_itself() {
    let html = told(&sample(2).records(), false).html();
    assert!(
        html.contains("content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:;")
    );
    for outside in ["http://", "https://", "url(", "@import", "<script", "<link", "<iframe", "href"]
    {
        assert_eq!(count_of(&html, outside), 0, "{outside}");
    }
}

#[test]
fn files_are_listed_once_with_their_lines() {
    let records = sample(6).records();
    let report = told(&records, false);
    assert_eq!(report.files_changed, 7, "as many as differ at the end, each once");
    let markdown = report.markdown();
    let (_, files) = markdown.split_once("## Files changed\n\n").unwrap();
    assert!(files.starts_with("- `src/orders.rs`: +72 -30\n"), "{files}");
    assert!(files.contains("- and 3 more files\n"), "{files}");
    let html = report.html();
    for part in ["<h2>Files changed</h2>", "src/orders.rs"] {
        assert_eq!(count_of(&html, part), 1, "{part}");
    }
}

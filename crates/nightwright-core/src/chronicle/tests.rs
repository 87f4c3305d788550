//! Journals in, what a reader of the report would notice out.

mod counts;
mod hostile;
mod standing;
mod times;

use super::*;
use crate::event::{Event, IterationResult, Record, samples};
use crate::outcome::Outcome;
use std::time::Duration;

const START: &str = "2026-11-15T23:34:12Z";

fn sample(iterations: u32) -> SampleRun {
    SampleRun::new("migrate-api", iterations, START.parse().unwrap())
}

fn told(records: &[Record], is_live: bool) -> Chronicle {
    let mut chronicler = Chronicler::new(RunId("20261115-233412-7f3a".to_owned()));
    for record in records {
        chronicler.record(record);
    }
    let now = records.last().map_or(Timestamp::UNIX_EPOCH, |record| record.at);
    chronicler.finish(Teller { is_live, now: now + Duration::from_mins(1) }, Unread::default())
}

/// How often something stands in a page.
fn count_of(page: &str, what: &str) -> usize {
    page.matches(what).count()
}

#[test]
fn a_verified_run_says_so_first() {
    let chronicle = told(&sample(6).records(), false);
    assert_eq!((chronicle.state, chronicle.verdict), (State::Ended, Verdict::Verified));
    let markdown = chronicle.markdown();
    assert!(
        markdown.starts_with("# migrate-api\n\n**Done and verified.** Task completed"),
        "{markdown}"
    );
    assert!(markdown.contains("verified by `cargo test` and a model's verdict"), "{markdown}");
    assert!(chronicle.html().contains("<p class=\"headline\">Done and verified</p>"));
}

#[test]
fn what_the_iterations_cost_adds_up_to_what_the_run_cost() {
    let records = sample(25).records();
    let chronicle = told(&records, false);
    let Event::RunFinished { totals, .. } = &records.last().unwrap().event else { panic!() };
    let mut sum = Usd::ZERO;
    let mut tokens = Tokens::default();
    for chapter in &chronicle.iterations {
        sum += chapter.cost_usd;
        tokens += chapter.tokens;
    }
    assert_eq!((sum, tokens), (totals.cost, totals.tokens));
    assert_eq!(chronicle.totals, *totals);
}

#[test]
fn a_rejected_claim_keeps_its_reason_and_what_is_missing() {
    let chronicle = told(&sample(6).records(), false);
    let fates: Vec<_> = chronicle.iterations.iter().map(|chapter| chapter.fate).collect();
    assert_eq!(fates[4..], [Fate::Rejected, Fate::Believed]);
    let claim = &chronicle.iterations[4].claims[0];
    assert_eq!(claim.judgement, Judgement::Rejected);
    assert_eq!(claim.missing, ["src/webhooks.rs uses `old::Router` in two places"]);
    for page in [chronicle.markdown(), chronicle.html()] {
        assert!(page.contains("handlers of the webhooks still import the old router"), "{page}");
        assert!(page.contains("old::Router"), "{page}");
    }
}

#[test]
fn an_accepted_change_costs_the_run_divided_by_its_commits() {
    let chronicle = told(&sample(6).records(), false);
    let Accepted { unit, count, cost_usd } = chronicle.accepted;
    assert_eq!((unit, count), (AcceptedUnit::Commits, 9));
    assert_eq!(cost_usd, Some(chronicle.totals.cost.per(9)));
}

#[test]
fn without_commits_the_iterations_that_counted_are_the_changes() {
    let mut records = sample(6).records();
    for record in &mut records {
        if let Event::IterationFinished(finished) = &mut record.event {
            finished.commits = 0;
        }
    }
    let chronicle = told(&records, false);
    // Four that worked and the one that was believed; the claim that was rejected is none.
    assert_eq!(chronicle.accepted.unit, AcceptedUnit::Iterations);
    assert_eq!(chronicle.accepted.count, 5);
}

#[test]
fn where_nothing_was_accepted_no_price_is_made_up() {
    let chronicle = told(&sample(6).records()[..1], false);
    assert_eq!(chronicle.accepted.cost_usd, None);
    assert!(
        chronicle.markdown().contains("| cost per accepted change | — (nothing was accepted) |")
    );
}

#[test]
fn a_run_that_goes_on_and_one_that_was_broken_off_are_told_apart() {
    let records = sample(6).records();
    let half = &records[..8];
    let live = told(half, true);
    assert_eq!((live.state, live.verdict), (State::Running, Verdict::GoingOn));
    assert_eq!(live.iterations.last().unwrap().fate, Fate::GoingOn);
    assert!(live.html().contains("The run is going on"));
    let gone = told(half, false);
    assert_eq!((gone.state, gone.verdict), (State::Gone, Verdict::Gone));
    assert_eq!(gone.iterations.last().unwrap().fate, Fate::Interrupted);
    assert!(gone.markdown().contains("The process of the run is gone"));
}

#[test]
fn waits_are_spans_of_their_own_length() {
    let chronicle = told(&sample(6).records(), false);
    let wait = chronicle.spans.iter().find(|span| span.kind == SpanKind::Wait).unwrap();
    assert_eq!(wait.end.duration_since(wait.start).as_mins(), 47);
    assert_eq!(chronicle.totals.waited, Duration::from_mins(47));
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
            let chronicle = told(&records[..end], end % 2 == 0);
            assert!(chronicle.html().ends_with("</html>\n"));
            assert!(chronicle.markdown().starts_with("# "));
            serde_json::to_string(&chronicle).unwrap();
        }
    }
}

#[test]
fn a_page_of_a_thousand_iterations_stays_small_and_has_them_all() {
    let words = "What was done, told at some length. ".repeat(200);
    let run = SampleRun { words: Some(words), ..sample(1000) };
    let chronicle = told(&run.records(), false);
    let html = chronicle.html();
    assert!(html.contains("id=\"iteration-1000\""));
    assert_eq!(count_of(&html, "<details class=\"iteration\""), 1000);
    assert!(html.len() < 5 << 20, "{} bytes", html.len());
    assert!(chronicle.markdown().len() < 200 << 10);
}

#[test]
fn what_is_long_is_cut_and_the_cut_is_said() {
    let run = SampleRun { words: Some("x".repeat(10_000)), ..sample(3) };
    let chronicle = told(&run.records(), false);
    assert!(chronicle.iterations[0].summary.ends_with("… (8500 more characters)"));
    let mut records = sample(1).records();
    let one = Record { event: Event::Warning { text: "again".to_owned() }, ..records[1].clone() };
    records.splice(2..2, std::iter::repeat_n(one, 1000));
    let chronicle = told(&records, false);
    assert_eq!(chronicle.iterations[0].notes.len(), 30);
    assert_eq!(chronicle.iterations[0].left_off, 970);
    assert_eq!((chronicle.warnings.len(), chronicle.more_warnings), (200, 800));
    assert!(chronicle.html().contains("and 960 more"));
}

#[test]
fn a_failed_iteration_says_what_went_wrong() {
    let mut records = sample(2).records();
    for record in &mut records {
        if let Event::IterationFinished(finished) = &mut record.event {
            finished.result =
                IterationResult::Failed { why: "the disk is full".to_owned(), too_long: false };
        }
        if let Event::RunFinished { outcome, .. } = &mut record.event {
            *outcome =
                Outcome::ConsecutiveErrors { errors: 2, last: "the disk is full".to_owned() };
        }
    }
    let chronicle = told(&records, false);
    assert_eq!(chronicle.verdict, Verdict::NotDone);
    assert_eq!(chronicle.iterations[0].fate, Fate::Failed);
    assert!(
        chronicle
            .html()
            .contains("<h4>What went wrong</h4><p class=\"words\">the disk is full</p>")
    );
    assert!(chronicle.markdown().contains("failed, "), "{}", chronicle.markdown());
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
    let chronicle = told(&records, false);
    assert_eq!(chronicle.files_changed, 7, "as many as differ at the end, each once");
    let markdown = chronicle.markdown();
    let (_, files) = markdown.split_once("## Files changed\n\n").unwrap();
    assert!(files.starts_with("- `src/orders.rs`: +72 -30\n"), "{files}");
    assert!(files.contains("- and 3 more files\n"), "{files}");
    let html = chronicle.html();
    for part in ["<h2>Files changed</h2>", "src/orders.rs"] {
        assert_eq!(count_of(&html, part), 1, "{part}");
    }
}

//! Costs, times and tokens, compared with their limits.

use std::time::Duration;

use super::iterations::progress;
use crate::event::{Spend, Totals};
use crate::failing::Failing;
use crate::outcome::count;
use crate::phrases::{self, capitalized};
use crate::run_report::chart::{self, Bar, BarChart, BarPart};
use crate::run_report::page::{OwnText, PageValue, fields};
use crate::run_report::{IterationReport, RunReport, format};
use crate::units::{Tokens, Usd};

/// Returns the variables with the figures of a run.
pub(super) fn of(report: &RunReport) -> Vec<(&'static str, PageValue)> {
    let RunReport { totals, limits, .. } = report;
    let spent = format::cost(totals.cost, totals.estimated);
    let waited_for = if totals.waited.is_zero() { "no waits" } else { "for limits" };
    vec![
        ("nothing", format::NOTHING.into()),
        ("nothing_spent", phrases::NOTHING_SPENT.into()),
        ("rehearsed_cost", OwnText(phrases::rehearsed_cost(&spent)).into()),
        ("spent", OwnText(spent).into()),
        ("max_cost", limits.max_cost.map(|most| OwnText(most.exact())).into()),
        ("accepted", accepted(report)),
        ("duration", totals.duration.into()),
        ("max_duration", limits.max_duration.into()),
        ("waited", totals.waited.into()),
        ("waited_for", waited_for.into()),
        ("iteration_count", totals.iterations.into()),
        ("max_iterations", limits.max_iterations.into()),
        ("attempts", OwnText(count(totals.attempts, "attempt")).into()),
        ("tokens", tokens(&totals.tokens)),
        ("max_tokens", limits.max_tokens.map(compact).into()),
        ("files_changed", OwnText(count(report.files_changed, "file")).into()),
        ("progress", report.progress.map(progress).into()),
        ("failing_curve", report.failing_curve.clone().map(OwnText).into()),
        ("shares", shares(report)),
        ("spending", spending(totals)),
        ("more_spans", report.more_spans.into()),
    ]
}

fn accepted(report: &RunReport) -> PageValue {
    fields! { cost: format::accepted(report), by: format::accepted_by(report) }
}

fn compact(number: u64) -> OwnText {
    OwnText(format::compact(number))
}

pub(super) fn tokens(tokens: &Tokens) -> PageValue {
    let Tokens { input, output, cache_read, cache_write } = *tokens;
    fields! {
        counted: compact(tokens.counted()),
        input: compact(input),
        output: compact(output),
        cache_read: compact(cache_read),
        cache_write: compact(cache_write),
    }
}

/// How much of each limit is used up.
fn shares(report: &RunReport) -> PageValue {
    let RunReport { totals, limits, .. } = report;
    let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let iterations = limits.max_iterations.map(|most| (totals.iterations.into(), most.into()));
    let progress = report.progress.map(|items| (items.completed.into(), items.total.into()));
    fields! {
        cost: limits.max_cost.map(|most| share(totals.cost.micros(), most.micros())),
        duration: limits.max_duration.map(|most| share(millis(totals.duration), millis(most))),
        iterations: iterations.map(|(part, whole)| share(part, whole)),
        tokens: limits.max_tokens.map(|most| share(totals.tokens.counted(), most)),
        progress: progress.map(|(part, whole)| share(part, whole)),
    }
}

fn share(part: u64, whole: u64) -> PageValue {
    let percent = u128::from(part) * 100 / u128::from(whole.max(1));
    let percent = u32::try_from(percent).unwrap_or(u32::MAX);
    fields! { percent: percent, width: percent.min(100) }
}

/// The cost by purpose; `None` without any.
fn spending(totals: &Totals) -> PageValue {
    if totals.by_purpose.is_empty() {
        return None::<PageValue>.into();
    }
    let mut rows: Vec<(&String, &Spend)> = totals.by_purpose.iter().collect();
    // The sort is stable, so the other purposes stay ordered by name.
    rows.sort_by_key(|(name, _)| *name != Totals::WORK);
    let all = rows.iter().fold(0_u32, |all, (_, spend)| all.saturating_add(spend.count));
    let row = |name: PageValue, count: u32, cost: Usd, spent: &Tokens| {
        fields! { name: name, count: count, cost: cost, tokens: tokens(spent) }
    };
    let by_purpose =
        |(name, spend): (&String, &Spend)| row(name.into(), spend.count, spend.cost, &spend.tokens);
    fields! {
        total: row("all".into(), all, totals.cost, &totals.tokens),
        rows: rows.into_iter().map(by_purpose).collect::<Vec<_>>(),
    }
}

/// The charts of cost and tokens.
pub(super) fn charts(report: &RunReport) -> OwnText {
    let totals = &report.totals;
    let spent = format::cost(totals.cost, totals.estimated);
    let caption = if report.is_rehearsal {
        phrases::rehearsed_cost(&spent)
    } else {
        format!("{spent} in total")
    };
    let caption = format!("{}.", capitalized(&caption));
    let shown = |micros: u64| Usd::from_micros(micros).to_string();
    let tick = &format::amount;
    let chart = BarChart { title: "Cost per iteration", caption: &caption, shown: &shown, tick };
    let bars: Vec<_> = report.iterations.iter().map(cost_bar).collect();
    let cost = chart::bars(chart, &bars);
    let caption = format!(
        "{} in total, plus {} read from the cache.",
        format::compact(totals.tokens.counted()),
        format::compact(totals.tokens.cache_read)
    );
    let (shown, tick) = (&format::compact, &|tokens: u64, _: u64| format::compact(tokens));
    let chart = BarChart { title: "Tokens per iteration", caption: &caption, shown, tick };
    let bars: Vec<_> = report.iterations.iter().map(token_bar).collect();
    OwnText(failing_chart(report) + &cost.0 + &chart::bars(chart, &bars).0)
}

/// The chart of what failed after each iteration; empty if that is unknown, or nothing ever failed.
fn failing_chart(report: &RunReport) -> String {
    let Some(curve) = &report.failing_curve else { return String::new() };
    let counts_tests = report.iterations.iter().filter_map(|iteration| iteration.checks);
    let counts_tests = counts_tests.clone().any(|checks| checks.failing.failed_tests().is_some());
    let value = |failing: Failing| match failing.failed_tests() {
        Some(tests) => tests.failed,
        None => failing.checks,
    };
    let bar = |iteration: &IterationReport| {
        let value = value(iteration.checks?.failing).into();
        let parts = vec![BarPart { class: "failed", name: "failing", value }];
        Some(Bar { number: iteration.number, parts })
    };
    let bars: Vec<_> = report.iterations.iter().filter_map(bar).collect();
    if bars.is_empty() {
        return String::new();
    }
    let caption = format!("{}, from the start of the run.", capitalized(curve));
    let title = if counts_tests {
        "Failing tests after each iteration"
    } else {
        "Failing checks after each iteration"
    };
    let (shown, tick) = (&format::compact, &|number: u64, _: u64| format::compact(number));
    chart::bars(BarChart { title, caption: &caption, shown, tick }, &bars).0
}

fn cost_bar(iteration: &IterationReport) -> Bar {
    let part = BarPart {
        class: chart::status_class(iteration.status),
        name: phrases::iteration_status(iteration.status),
        value: iteration.cost_usd.micros(),
    };
    Bar { number: iteration.number, parts: vec![part] }
}

fn token_bar(iteration: &IterationReport) -> Bar {
    let Tokens { input, output, cache_write, cache_read: _ } = iteration.tokens;
    let parts = vec![
        BarPart { class: "t-output", name: "output", value: output },
        BarPart { class: "t-input", name: "input", value: input },
        BarPart { class: "t-cache", name: "cache write", value: cache_write },
    ];
    Bar { number: iteration.number, parts }
}

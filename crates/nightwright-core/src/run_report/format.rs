//! Formats of numbers, amounts and times that only reports use.

use jiff::Timestamp;

use super::page::OwnText;
use super::{AcceptedUnit, AcceptedWork, IterationReport, RunReport};
use crate::event::CostSource;
use crate::outcome::count;
use crate::phrases;
use crate::units::{Usd, human};

/// The placeholder for an unknown value.
pub(super) const NOTHING: &str = "—";

/// The figures of an iteration: `4 files, 2 commits, $0.42, 6m 12s`. Zero values are omitted.
pub(super) fn figures(iteration: &IterationReport) -> OwnText {
    let IterationReport { files_changed, commits, cost_usd, estimated_usd, .. } = iteration;
    let retries = match iteration.retries() {
        0 => None,
        1 => Some("1 retry".to_owned()),
        retries => Some(format!("{retries} retries")),
    };
    let parts = phrases::changes(*files_changed, *commits)
        .chain(retries)
        .chain([cost(*cost_usd, *estimated_usd)])
        .chain(iteration.duration.map(human))
        .chain(iteration.checks.map(|checks| phrases::failing(checks.failing)));
    OwnText(parts.collect::<Vec<_>>().join(", "))
}

/// An amount, marked as approximate if any part of it is an estimate.
pub(super) fn cost(cost: Usd, estimated: Usd) -> String {
    if estimated > Usd::ZERO { format!("about {cost}") } else { cost.to_string() }
}

/// The cost of a process.
pub(super) fn charged(cost: Usd, figure: Option<CostSource>) -> OwnText {
    OwnText(figure.map_or_else(|| NOTHING.to_owned(), |figure| phrases::cost(cost, figure)))
}

/// The cost per accepted change.
pub(super) fn accepted(report: &RunReport) -> OwnText {
    let known = report.accepted.cost_usd.filter(|_| !report.is_rehearsal);
    let known = known.map(|each| cost(each, report.totals.estimated));
    OwnText(known.unwrap_or_else(|| NOTHING.to_owned()))
}

/// The number of commits or iterations by which the cost was divided.
pub(super) fn accepted_by(report: &RunReport) -> OwnText {
    let AcceptedWork { unit, count: number, .. } = report.accepted;
    OwnText(match (unit, number) {
        (_, _) if report.is_rehearsal => phrases::NOTHING_SPENT.to_owned(),
        (_, 0) => "nothing accepted".to_owned(),
        (AcceptedUnit::Commits, number) => count(number, "commit"),
        (AcceptedUnit::Iterations, number) => {
            format!("{} with progress", count(number, "iteration"))
        }
    })
}

/// Date and time: `2026-11-16 15:50:33 UTC`.
pub(super) fn date(at: Timestamp) -> OwnText {
    OwnText(at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string())
}

/// An amount on an axis, with as many decimals as the axis steps need.
pub(super) fn amount(micros: u64, step: u64) -> String {
    let (mut decimals, mut unit) = (6, 1);
    while decimals > 2 && step.is_multiple_of(unit * 10) {
        decimals -= 1;
        unit *= 10;
    }
    format!("${:.decimals$}", Usd::from_micros(micros).dollars())
}

/// A number in short form: `850`, `12.3k`, `4.5M`.
pub(super) fn compact(number: u64) -> String {
    let (unit, name) = match number {
        0..1_000 => return number.to_string(),
        1_000..1_000_000 => (1_000, "k"),
        1_000_000..1_000_000_000 => (1_000_000, "M"),
        1_000_000_000.. => (1_000_000_000, "G"),
    };
    let (whole, tenth) = (number / unit, number % unit / (unit / 10));
    if whole >= 100 || tenth == 0 {
        format!("{whole}{name}")
    } else {
        format!("{whole}.{tenth}{name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_never_says_the_same_twice() {
        let labels = |step: u64| [0, 1, 2, 3].map(|count| amount(count * step, step));
        assert_eq!(labels(5_000), ["$0.000", "$0.005", "$0.010", "$0.015"]);
        assert_eq!(labels(200), ["$0.0000", "$0.0002", "$0.0004", "$0.0006"]);
        assert_eq!(labels(1), ["$0.000000", "$0.000001", "$0.000002", "$0.000003"]);
        assert_eq!(labels(2_000_000), ["$0.00", "$2.00", "$4.00", "$6.00"]);
    }

    #[test]
    fn large_numbers_are_short() {
        let cases = [(0, "0"), (999, "999"), (1_000, "1k"), (12_345, "12.3k"), (123_456, "123k")];
        for (number, text) in cases.into_iter().chain([(4_567_000, "4.5M"), (2 << 30, "2.1G")]) {
            assert_eq!(compact(number), text);
        }
    }
}

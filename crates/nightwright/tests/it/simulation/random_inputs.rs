//! The input of a simulated run: settings at its start, limits and commands later.

use std::time::Duration;

use nightwright_core::event::{StopSource, StopWhen};
use nightwright_core::input::Control;
use nightwright_core::settings::{
    Council, Every, EvidenceKind, IdleUnless, Limits, Settings, Stagnation, Tamper, VerdictMode,
    WatchdogResponse,
};
use nightwright_core::units::Usd;

use super::dice::Dice;

pub(super) fn settings(dice: &mut Dice) -> Settings {
    let mut settings = Settings { goal: "do it".to_owned(), ..Settings::default() };
    settings.completion.evidence = dice.of(&[
        vec![],
        vec![EvidenceKind::Promise, EvidenceKind::Signal],
        vec![EvidenceKind::Promise],
        vec![EvidenceKind::Status, EvidenceKind::Todo, EvidenceKind::Promise],
        vec![EvidenceKind::Plan, EvidenceKind::Promise],
    ]);
    settings.completion.signal_threshold = dice.of(&[1, 3]);
    settings.limits = limits(dice, &settings);
    settings.retry.max_retries = dice.of(&[0, 1, 5]);
    settings.retry.max_consecutive_errors = dice.of(&[1, 3, 9]);
    settings.progress.threshold = dice.of(&[0, 1, 3]);
    settings.progress.no_gain = dice.of(&[0, 2, 4]);
    settings.progress.outcome = dice.of(&[Stagnation::Stagnated, Stagnation::NoChanges]);
    settings.progress.idle_unless = dice.of(&[IdleUnless::None, IdleUnless::Worked]);
    settings.delay = dice.of(&[0, 1, 60]).seconds();
    settings.verify.commands = dice.of(&[vec![], vec!["make test".to_owned()]]);
    settings.verify.baseline = dice.of(&[None, Some(Duration::from_mins(5))]);
    settings.verify.every = dice.of(&[Every::Auto, Every::Always, Every::Claim]);
    settings.verify.model = dice.of(&[VerdictMode::Off, VerdictMode::Auto, VerdictMode::Always]);
    settings.verify.tamper = dice.of(&[Tamper::Off, Tamper::Warn, Tamper::Reject]);
    settings.extras.review = dice.of(&[None, None, Some(String::new())]);
    settings.extras.council = dice.of(&[Council::Off, Council::On]);
    settings.extras.watchdog =
        dice.of(&[WatchdogResponse::Off, WatchdogResponse::Live, WatchdogResponse::Next]);
    settings.deadlines.attempt = dice.of(&[None, Some(600), Some(3600)]).map(Seconds::seconds);
    settings.hooks.started = dice.one_in(4);
    settings.hooks.next_iteration = dice.one_in(4);
    settings.hooks.iteration_finished = dice.one_in(4);
    settings.hooks.blocked = dice.one_in(3);
    settings
}

/// Limits that let the run end in some way or other.
pub(super) fn limits(dice: &mut Dice, settings: &Settings) -> Limits {
    let mut limits = Limits {
        max_iterations: dice.of(&[None, None, Some(1), Some(8), Some(30), Some(30), Some(30)]),
        max_cost: dice.of(&[None, None, Some(40), Some(300), Some(2000)]).map(Usd::from_cents),
        max_tokens: dice.of(&[None, None, None, Some(500), Some(5000)]),
        max_duration: dice
            .of(&[None, None, None, Some(180), Some(3600), Some(8 * 3600)])
            .map(Seconds::seconds),
        reserve: dice.of(&[0, 10]),
        max_wait: dice.of(&[20 * 60, 3600, 12 * 3600]).seconds(),
        ..Limits::default()
    };
    limits.quota.five_hour = dice.of(&[None, Some(90)]);
    if settings.completion.evidence.is_empty() && limits.max_iterations.is_none() {
        limits.max_iterations = Some(10);
    }
    limits
}

/// Something the operator may want at any moment.
pub(super) fn control(dice: &mut Dice) -> Control {
    let by = dice.of(&[StopSource::Signal, StopSource::Operator, StopSource::StopFile]);
    let when = if dice.one_in(3) { StopWhen::Now } else { StopWhen::AfterIteration };
    match dice.below(10) {
        0 => Control::Stop { when, by },
        1..=3 => Control::CancelStop,
        4 => Control::Pause,
        5..=6 => Control::Resume,
        7 => Control::Tell { text: "mind the gap".to_owned() },
        _ => Control::RetryNow,
    }
}

trait Seconds {
    fn seconds(self) -> Duration;
}

impl Seconds for u64 {
    fn seconds(self) -> Duration {
        Duration::from_secs(self)
    }
}

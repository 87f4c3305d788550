//! The limits and the checks that a run gets from what the user asked for.

use crate::settings::{Depth, EvidenceKind, Limits, Scope, Settings, Tamper, VerdictMode};
use crate::units::Usd;

/// An unlimited run still ends after this many iterations, unless the user lifts that limit too.
pub const FAILSAFE_ITERATIONS: u32 = 1000;

/// A verdict may take this part of a small budget: most of it is for the work.
const VERDICTS_IN_A_RUN: u64 = 4;

/// A verification asks once more if the model gives no verdict.
const VERDICTS_IN_A_VERIFICATION: u64 = 2;

/// Whether a run without any limit is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnlimitedRuns {
    /// A forgotten limit would otherwise only be noticed in the morning.
    Refused,
    /// The user asked for it.
    Allowed,
}

/// The origin of the iteration limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IterationLimit {
    NotSet,
    /// The limit is the mode's default.
    ByMode,
    /// The limit is in the user's configuration or on the command line.
    ByUser,
    /// The user set the iteration limit to 0, which removes it.
    Lifted,
}

/// The origin of the depth of a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChosenDepth {
    ByUser,
    BuiltIn,
}

/// Why a run may not start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitRefusal {
    /// No limit would ever end it.
    NoLimit,
    /// The run has only a token limit, and an agent command reports none.
    OnlyTokens,
}

/// Sets the limits of a run.
///
/// # Errors
/// If the run could last forever and the user did not ask for that.
pub fn limit_run(
    settings: &mut Settings,
    unlimited: UnlimitedRuns,
    iterations: IterationLimit,
) -> Result<(), LimitRefusal> {
    let limits = &mut settings.limits;
    if unlimited == UnlimitedRuns::Allowed && iterations == IterationLimit::ByMode {
        limits.max_iterations = None;
    }
    if limits.is_unlimited() {
        if unlimited == UnlimitedRuns::Refused {
            return Err(LimitRefusal::NoLimit);
        }
        if iterations != IterationLimit::Lifted {
            limits.max_iterations = Some(FAILSAFE_ITERATIONS);
        }
    }
    if settings.agent.command.is_some() && has_only_tokens(limits) {
        return Err(LimitRefusal::OnlyTokens);
    }
    let max_cost = limits.max_cost;
    cap_verdict(settings, max_cost, VERDICTS_IN_A_RUN);
    Ok(())
}

/// Makes the settings those of a verification: only the gate, whose end needs no limit. `max_cost` is
/// the limit that the user gave for it; limits of the work do not count.
pub fn limit_verification(settings: &mut Settings, max_cost: Option<Usd>) {
    settings.scope = Scope::Gate;
    settings.limits = Limits {
        max_iterations: None,
        max_cost,
        max_duration: None,
        max_tokens: None,
        reserve: 0,
        ..settings.limits.clone()
    };
    cap_verdict(settings, max_cost, VERDICTS_IN_A_VERIFICATION);
}

/// Drops configured checks in a mode that writes a plan, which its `evidence` shows. A plan is
/// written before any check passes, so only checks from the command line (`given`) apply.
pub fn drop_checks_of_plan(settings: &mut Settings, evidence: &[EvidenceKind], given: bool) {
    if evidence.contains(&EvidenceKind::Planned) && !given {
        settings.verify.commands.clear();
    }
}

/// Whether a check or a model would judge the work.
pub fn can_judge(settings: &Settings) -> bool {
    settings.verify.model != VerdictMode::Off || !settings.verify.commands.is_empty()
}

/// Adapts a verification of work whose start is unknown. Without a list of changes, tampering cannot
/// be detected, and a model must read the project itself unless the user chose the `depth`.
pub fn verify_without_changes(settings: &mut Settings, depth: ChosenDepth) {
    settings.verify.tamper = Tamper::Off;
    match depth {
        ChosenDepth::ByUser => {}
        ChosenDepth::BuiltIn => settings.verify.depth = Depth::Deep,
    }
}

fn cap_verdict(settings: &mut Settings, max_cost: Option<Usd>, verdicts: u64) {
    if let Some(max_cost) = max_cost {
        let verify = &mut settings.verify;
        verify.max_cost = verify.max_cost.min(max_cost.per(verdicts));
    }
}

fn has_only_tokens(limits: &Limits) -> bool {
    let without_tokens = Limits { max_tokens: None, ..limits.clone() };
    limits.max_tokens.is_some() && without_tokens.is_unlimited()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn limited(limits: Limits) -> Settings {
        Settings { limits, ..Settings::default() }
    }

    fn iterations(max: u32) -> Settings {
        limited(Limits { max_iterations: Some(max), ..Limits::default() })
    }

    #[test]
    fn a_run_without_a_limit_is_refused_unless_the_user_asks_for_it() {
        let mut settings = Settings::default();
        let refused = limit_run(&mut settings, UnlimitedRuns::Refused, IterationLimit::NotSet);
        assert_eq!(refused, Err(LimitRefusal::NoLimit));
        let lifted = limit_run(&mut settings, UnlimitedRuns::Refused, IterationLimit::Lifted);
        assert_eq!(lifted, Err(LimitRefusal::NoLimit));
        let mut settings = iterations(3);
        assert_eq!(
            limit_run(&mut settings, UnlimitedRuns::Refused, IterationLimit::ByMode),
            Ok(()),
            "the mode's default is a limit"
        );
        assert_eq!(settings.limits.max_iterations, Some(3));
    }

    #[test]
    fn an_unlimited_run_has_a_failsafe_that_zero_iterations_lift() {
        let failsafe = |mut settings: Settings, given| {
            limit_run(&mut settings, UnlimitedRuns::Allowed, given).expect("it is allowed");
            settings.limits.max_iterations
        };
        let none = Settings::default;
        assert_eq!(failsafe(none(), IterationLimit::NotSet), Some(FAILSAFE_ITERATIONS));
        assert_eq!(failsafe(none(), IterationLimit::Lifted), None);
        assert_eq!(failsafe(iterations(3), IterationLimit::ByMode), Some(FAILSAFE_ITERATIONS));
        assert_eq!(failsafe(iterations(3), IterationLimit::ByUser), Some(3));
        let cost = Limits { max_cost: Some(Usd::from_cents(500)), ..Limits::default() };
        assert_eq!(failsafe(limited(cost), IterationLimit::NotSet), None, "the cost is a limit");
    }

    #[test]
    fn tokens_alone_do_not_limit_an_agent_command() {
        let tokens = Limits { max_tokens: Some(1000), ..Limits::default() };
        let both = Limits { max_duration: Some(Duration::from_mins(5)), ..tokens.clone() };
        let limit = |limits: &Limits, command: Option<&str>| {
            let mut settings = limited(limits.clone());
            settings.agent.command = command.map(str::to_owned);
            limit_run(&mut settings, UnlimitedRuns::Refused, IterationLimit::NotSet)
        };
        assert_eq!(limit(&tokens, Some("agent")), Err(LimitRefusal::OnlyTokens));
        assert_eq!(limit(&tokens, None), Ok(()));
        assert_eq!(limit(&both, Some("agent")), Ok(()));
    }

    #[test]
    fn a_verdict_takes_at_most_a_quarter_of_the_budget_of_a_run() {
        let verdict = |cents| {
            let max_cost = Some(Usd::from_cents(cents));
            let mut settings = limited(Limits { max_cost, ..Limits::default() });
            limit_run(&mut settings, UnlimitedRuns::Refused, IterationLimit::NotSet)
                .expect("it has a limit");
            settings.verify.max_cost
        };
        assert_eq!(verdict(40), Usd::from_cents(10));
        assert_eq!(verdict(1000), Usd::from_cents(25), "the setting");
    }

    #[test]
    fn a_verification_has_only_the_limit_that_was_given_for_it() {
        let mut settings = iterations(3);
        settings.limits.max_tokens = Some(5);
        limit_verification(&mut settings, Some(Usd::from_cents(10)));
        assert_eq!(settings.scope, Scope::Gate);
        assert_eq!((settings.limits.max_iterations, settings.limits.max_tokens), (None, None));
        assert_eq!(
            (settings.limits.max_cost, settings.limits.reserve),
            (Usd::from_dollars(0.1), 0)
        );
        assert_eq!(settings.verify.max_cost, Usd::from_cents(5), "it may ask twice");
        let mut settings = iterations(3);
        limit_verification(&mut settings, None);
        assert_eq!(settings.verify.max_cost, Usd::from_cents(25));
    }
}

//! Limit policy: what remains of the limits, and what an attempt or call may use.

use std::time::Duration;

use crate::outcome::{Outcome, ReachedLimit};
use crate::prompt::RemainingLimits;
use crate::settings::{Limits, Settings, VerdictMode};
use crate::units::{Usd, human};

/// The minimum money for starting an attempt.
pub const MIN_COST: Usd = Usd::from_cents(1);
/// The minimum time for starting an attempt.
pub const MIN_TIME: Duration = Duration::from_secs(30);
/// How long a look at the project may take. The first look at a huge project on a slow disk takes
/// minutes; a file system that hangs never answers.
pub const PROJECT_TIMEOUT: Duration = Duration::from_hours(1);
/// A smaller reserve counts as none.
const MIN_RESERVE_COST: Usd = Usd::from_cents(5);
/// A shorter reserve counts as none.
const MIN_RESERVE_TIME: Duration = Duration::from_mins(1);

/// The usage of a run so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Consumed {
    /// The number of finished iterations.
    pub iterations: u32,
    pub cost: Usd,
    /// The tokens that count toward the limit.
    pub tokens: u64,
    /// The time spent working.
    pub active: Duration,
}

/// Whether the limits allow an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Budget {
    /// An attempt that works is allowed.
    Work(Allowance),
    /// Only a wrap-up is allowed; then the run ends with this outcome.
    WrapUp(Allowance, Outcome),
    /// No attempt is allowed.
    None(Outcome),
}

/// The limits of one attempt; `None` for no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allowance {
    pub cost: Option<Usd>,
    pub time: Option<Duration>,
    pub tokens: Option<u64>,
}

/// Returns the unused part of each limit.
pub fn remaining(settings: &Settings, used: Consumed) -> RemainingLimits {
    let limits = &settings.limits;
    RemainingLimits {
        iterations: limits.max_iterations.map(|max| max.saturating_sub(used.iterations)),
        cost: limits.max_cost.map(|max| max.minus(used.cost)),
        duration: limits.max_duration.map(|max| max.saturating_sub(used.active)),
        tokens: limits.max_tokens.map(|max| max.saturating_sub(used.tokens)),
    }
}

/// Whether these limits exceed the one that ended a run; true if no limit ended it.
pub fn is_raised(limits: &Limits, outcome: &Outcome) -> bool {
    match outcome.reached_limit() {
        Some(ReachedLimit::Iterations(old)) => limits.max_iterations.is_none_or(|new| new > old),
        Some(ReachedLimit::Cost(old)) => limits.max_cost.is_none_or(|new| new > old),
        Some(ReachedLimit::Tokens(old)) => limits.max_tokens.is_none_or(|new| new > old),
        Some(ReachedLimit::Duration(old)) => limits.max_duration.is_none_or(|new| new > old),
        None => true,
    }
}

/// Whether another iteration may begin.
pub fn before_iteration(settings: &Settings, used: Consumed) -> Budget {
    match settings.limits.max_iterations {
        Some(limit) if used.iterations >= limit => Budget::None(Outcome::MaxIterations { limit }),
        _ => before_attempt(settings, used),
    }
}

/// Whether another attempt may begin.
pub fn before_attempt(settings: &Settings, used: Consumed) -> Budget {
    let limits = &settings.limits;
    let left = remaining(settings, used);
    if let (Some(limit), Some(left)) = (limits.max_cost, left.cost)
        && left < MIN_COST
    {
        return Budget::None(Outcome::MaxCost { limit });
    }
    if let (Some(limit), Some(0)) = (limits.max_tokens, left.tokens) {
        return Budget::None(Outcome::MaxTokens { limit });
    }
    if let (Some(limit), Some(left)) = (limits.max_duration, left.duration)
        && left < MIN_TIME
    {
        return Budget::None(Outcome::MaxDuration { limit });
    }

    let all = Allowance { cost: left.cost, time: left.duration, tokens: left.tokens };
    let (cost_reserve, time_reserve) = reserves(settings);
    if let (Some(limit), Some(left), Some(reserve)) = (limits.max_cost, left.cost, cost_reserve)
        && left.minus(reserve) < MIN_COST
    {
        return Budget::WrapUp(all, Outcome::MaxCost { limit });
    }
    if let (Some(limit), Some(left), Some(reserve)) =
        (limits.max_duration, left.duration, time_reserve)
        && left.saturating_sub(reserve) < MIN_TIME
    {
        return Budget::WrapUp(all, Outcome::MaxDuration { limit });
    }

    let cost = left.cost.map(|left| {
        let work = left.minus(cost_reserve.unwrap_or_default());
        // Money for the gate is held back, unless that would leave none for the work: checks cost
        // nothing, and a claim that cannot be judged is reported as such.
        match work.minus(gate_cost(settings)) {
            rest if rest >= MIN_COST => rest,
            _ => work,
        }
    });
    let time = left.duration.map(|left| left.saturating_sub(time_reserve.unwrap_or_default()));
    Budget::Work(Allowance { cost, time, tokens: left.tokens })
}

/// The maximum time for the checks before the first iteration, so that at least as much remains for
/// the work; `None` for no limit.
pub fn time_before_work(settings: &Settings, used: Consumed) -> Option<Duration> {
    remaining(settings, used).duration.map(|left| left.saturating_sub(MIN_TIME) / 2)
}

/// The reason why a run ends although a limit is not used up: the rest is too little to start
/// anything.
pub fn too_little(limit: &Outcome, used: Consumed) -> Option<String> {
    match limit {
        Outcome::MaxDuration { limit } => {
            let left = limit.saturating_sub(used.active);
            let short = !left.is_zero() && left < MIN_TIME;
            short.then(|| {
                format!(
                    "remaining time too short for another iteration (minimum {})",
                    human(MIN_TIME)
                )
            })
        }
        Outcome::MaxCost { limit } => {
            let left = limit.minus(used.cost);
            let short = left > Usd::ZERO && left < MIN_COST;
            let least = MIN_COST.exact();
            short.then(|| {
                format!("remaining budget too small for another iteration (minimum {least})")
            })
        }
        _ => None,
    }
}

/// The allowance of a call with this price, or the limit that it would exceed. The reserve may be
/// used: the wrap-up then has less, but the limit holds.
pub fn before_call(settings: &Settings, used: Consumed, cap: Usd) -> Result<Allowance, Outcome> {
    if let Budget::None(outcome) = before_attempt(settings, used) {
        return Err(outcome);
    }
    let left = remaining(settings, used);
    match (settings.limits.max_cost, left.cost) {
        (Some(limit), Some(left)) if left < cap => Err(Outcome::MaxCost { limit }),
        _ => Ok(Allowance { cost: Some(cap), time: left.duration, tokens: left.tokens }),
    }
}

/// Like [`before_call`], for an optional call: reserves the cost and time of the gate that would
/// follow, and half of the tokens.
pub fn before_extra_call(
    settings: &Settings,
    used: Consumed,
    cap: Usd,
) -> Result<Allowance, Outcome> {
    let share = before_call(settings, used, cap + gate_cost(settings))?;
    let time = share.time.map(|left| left.saturating_sub(gate_time(settings)));
    if let (Some(limit), Some(time)) = (settings.limits.max_duration, time)
        && time < MIN_TIME
    {
        return Err(Outcome::MaxDuration { limit });
    }
    Ok(Allowance { cost: Some(cap), time, tokens: share.tokens.map(|left| left / 2) })
}

fn reserves(settings: &Settings) -> (Option<Usd>, Option<Duration>) {
    let limits = &settings.limits;
    let cost = limits.max_cost.map(|max| max.percent(limits.reserve));
    let time = limits.max_duration.map(|max| max * u32::from(limits.reserve) / 100);
    (
        cost.filter(|reserve| *reserve >= MIN_RESERVE_COST),
        time.filter(|reserve| *reserve >= MIN_RESERVE_TIME),
    )
}

/// The time for the verdict of the gate that would follow. Checks have their own time, and always
/// run.
fn gate_time(settings: &Settings) -> Duration {
    match settings.verify.model {
        VerdictMode::Off => Duration::ZERO,
        VerdictMode::Auto | VerdictMode::Always => {
            settings.verify.verdict_time(settings.verdict_depth()) + MIN_TIME
        }
    }
}

/// The maximum cost of the gate that would follow.
fn gate_cost(settings: &Settings) -> Usd {
    match settings.verify.model {
        VerdictMode::Off => Usd::ZERO,
        VerdictMode::Auto | VerdictMode::Always => settings.verify.max_cost,
    }
}

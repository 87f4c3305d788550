//! What is left of the limits, and what an attempt or call may take of it.

use std::time::Duration;

use crate::outcome::{Outcome, ReachedLimit};
use crate::prompt::RemainingLimits;
use crate::settings::{Limits, Settings, VerdictMode};
use crate::units::{Usd, human};

/// No attempt starts with less money than this.
pub const MIN_COST: Usd = Usd::from_cents(1);
/// No attempt starts with less time than this.
pub const MIN_TIME: Duration = Duration::from_secs(30);
/// A reserve smaller than this is none.
const MIN_RESERVE_COST: Usd = Usd::from_cents(5);
/// A reserve shorter than this is none.
const MIN_RESERVE_TIME: Duration = Duration::from_mins(1);

/// What has been used so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Consumed {
    /// Iterations finished.
    pub iterations: u32,
    /// Money.
    pub cost: Usd,
    /// Tokens that count.
    pub tokens: u64,
    /// Time at work.
    pub active: Duration,
}

/// Whether there is room for an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Budget {
    /// For work.
    Work(Allowance),
    /// Only for leaving things in order; then the run ends as said.
    WrapUp(Allowance, Outcome),
    /// For nothing.
    None(Outcome),
}

/// What one attempt may take. `None` = no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allowance {
    /// Money.
    pub cost: Option<Usd>,
    /// Time.
    pub time: Option<Duration>,
    /// Tokens.
    pub tokens: Option<u64>,
}

/// What is left.
pub fn remaining(settings: &Settings, used: Consumed) -> RemainingLimits {
    let limits = &settings.limits;
    RemainingLimits {
        iterations: limits.max_iterations.map(|max| max.saturating_sub(used.iterations)),
        cost: limits.max_cost.map(|max| max.minus(used.cost)),
        duration: limits.max_duration.map(|max| max.saturating_sub(used.active)),
        tokens: limits.max_tokens.map(|max| max.saturating_sub(used.tokens)),
    }
}

/// Whether these limits leave more room than the one that a run ended by; true if it ended by none.
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
        // Money for the gate is held back, unless that would leave nothing to do the work with:
        // checks cost nothing, and a claim that can't be judged is told as such.
        match work.minus(gate_cost(settings)) {
            rest if rest >= MIN_COST => rest,
            _ => work,
        }
    });
    let time = left.duration.map(|left| left.saturating_sub(time_reserve.unwrap_or_default()));
    Budget::Work(Allowance { cost, time, tokens: left.tokens })
}

/// How much time the checks may take before the first iteration, so that at least as much is left for
/// the work; `None` = no limit.
pub fn time_before_work(settings: &Settings, used: Consumed) -> Option<Duration> {
    remaining(settings, used).duration.map(|left| left.saturating_sub(MIN_TIME) / 2)
}

/// Why a run ends by a limit that it has not used up: the rest is too little to begin anything.
pub fn too_little(limit: &Outcome, used: Consumed) -> Option<String> {
    match limit {
        Outcome::MaxDuration { limit } => {
            let left = limit.saturating_sub(used.active);
            let short = !left.is_zero() && left < MIN_TIME;
            short.then(|| format!("no time for another iteration (minimum {})", human(MIN_TIME)))
        }
        Outcome::MaxCost { limit } => {
            let left = limit.minus(used.cost);
            let short = left > Usd::ZERO && left < MIN_COST;
            let least = MIN_COST.exact();
            short.then(|| format!("no money for another iteration (minimum {least})"))
        }
        _ => None,
    }
}

/// What a call of this price may take, or the limit that it does not fit into. The reserve is left
/// out of account: what a call takes from it is missing from the wrap-up, not from the limit.
pub fn before_call(settings: &Settings, used: Consumed, cap: Usd) -> Result<Allowance, Outcome> {
    if let Budget::None(ending) = before_attempt(settings, used) {
        return Err(ending);
    }
    let left = remaining(settings, used);
    match (settings.limits.max_cost, left.cost) {
        (Some(limit), Some(left)) if left < cap => Err(Outcome::MaxCost { limit }),
        _ => Ok(Allowance { cost: Some(cap), time: left.duration, tokens: left.tokens }),
    }
}

/// The same for a call that can be done without: the gate that would follow comes before it, with
/// its money, its time, and half of the tokens.
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

/// What the verdict of the gate that would follow may take. Checks have their own time, and are run
/// in any case.
fn gate_time(settings: &Settings) -> Duration {
    match settings.verify.model {
        VerdictMode::Off => Duration::ZERO,
        VerdictMode::Auto | VerdictMode::Always => {
            settings.verify.verdict_time(settings.verdict_depth()) + MIN_TIME
        }
    }
}

/// What the gate that would follow may cost.
fn gate_cost(settings: &Settings) -> Usd {
    match settings.verify.model {
        VerdictMode::Off => Usd::ZERO,
        VerdictMode::Auto | VerdictMode::Always => settings.verify.max_cost,
    }
}

//! The usage of an attempt: the program's own figures where it reported any, and an estimate for
//! the rest.

use crate::stream::dialect::Dialect;
use crate::stream::message::{AgentMessage, MessageKind, Owner, ResultFacts, UsageAt};
use crate::units::{Tokens, Usd};

/// The number of concurrent agents whose last message is tracked. For further agents, the first
/// figures of a message count.
const MAX_FOLLOWED: usize = 64;

/// The usage of a running attempt or call so far, for display. The journal gets the figures when it
/// ends.
#[derive(Debug, Default)]
pub struct RunningSpend {
    dialect: Dialect,
    tracker: SpendTracker,
}

impl RunningSpend {
    /// The usage before the first message.
    pub fn new(dialect: Dialect) -> Self {
        Self { dialect, tracker: SpendTracker::default() }
    }

    /// Adds the usage that a message reports, if any.
    pub fn message(&mut self, message: &AgentMessage<'_>) {
        if let MessageKind::Usage { when, id, model, tokens } = &message.kind {
            let (owner, when, tokens) = (&message.owner, *when, *tokens);
            let seen = MessageUsage { owner, when, id, model, tokens };
            self.tracker.message(self.dialect, seen);
        } else if let MessageKind::Result(result) = &message.kind {
            self.tracker.result(self.dialect, result);
        }
    }

    /// The tokens so far.
    pub fn tokens(&self) -> Tokens {
        self.tracker.tokens()
    }

    /// The cost so far: what the agent reported, and an estimate for the rest.
    pub fn cost(&self) -> Usd {
        self.tracker.cost(self.dialect)
    }
}

/// The figures so far.
#[derive(Debug, Default)]
pub(super) struct SpendTracker {
    /// The reported usage of finished turns.
    reported: ReportedUsage,
    /// The estimate for turns whose results gave no figures.
    unreported: EstimatedUsage,
    /// The estimate for messages that ended since the last result.
    since: EstimatedUsage,
    /// The last message of each working agent.
    followed: Vec<TrackedMessage>,
}

#[derive(Debug, Default)]
struct ReportedUsage {
    results: u32,
    /// The sum over the turns that reported their own figures.
    turns: Option<UsageTotals>,
    /// The totals before the first turn: a resumed session continues its earlier totals.
    carried: UsageTotals,
    /// The last reported total of all turns.
    total_tokens: Option<Tokens>,
    total_cost: Option<Usd>,
}

#[derive(Clone, Copy, Debug, Default)]
struct UsageTotals {
    tokens: Tokens,
    cost: Usd,
}

impl UsageTotals {
    fn is_zero(&self) -> bool {
        self.tokens.is_zero() && self.cost == Usd::ZERO
    }
}

/// The growth of the totals with a result, as far as it reported them.
#[derive(Clone, Copy, Debug)]
struct UsageGrowth {
    tokens: Option<Tokens>,
    cost: Option<Usd>,
}

#[derive(Clone, Copy, Debug, Default)]
struct EstimatedUsage {
    tokens: Tokens,
    price: Usd,
}

#[derive(Debug)]
struct TrackedMessage {
    /// The call that started the sub-agent; `None` for the main agent.
    call: Option<String>,
    id: String,
    model: String,
    /// The usage that the estimate does not include yet.
    tokens: Tokens,
}

/// The usage of a model's message at its start, in between, or at its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct MessageUsage<'a> {
    pub(super) owner: &'a Owner<'a>,
    pub(super) when: UsageAt,
    pub(super) id: &'a str,
    pub(super) model: &'a str,
    pub(super) tokens: Tokens,
}

/// The final usage of an attempt.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SpendTotal {
    /// The cost that the program reported.
    pub(super) cost: Option<Usd>,
    /// The cost estimated by the price table.
    pub(super) priced: Option<Usd>,
    pub(super) tokens: Tokens,
}

impl SpendTracker {
    /// Records the start, a part or the end of a model's message.
    pub(super) fn message(&mut self, dialect: Dialect, seen: MessageUsage<'_>) {
        let MessageUsage { owner, when, id, model, tokens } = seen;
        let call = match owner {
            Owner::Main => None,
            Owner::Sub { call } => Some(&**call),
        };
        let position = self.followed.iter().position(|message| message.call.as_deref() == call);
        let last = position.map(|position| self.followed.swap_remove(position));
        let next = match (when, last) {
            // A part of a message repeats the figures of its start.
            (UsageAt::Part, Some(last)) if last.id == id => last,
            (UsageAt::Start | UsageAt::Part, last) => {
                // A message that never ended was cut off, and was paid for all the same.
                if let Some(last) = last {
                    self.since.add(dialect, &last.model, last.tokens);
                }
                TrackedMessage {
                    call: call.map(str::to_owned),
                    id: id.to_owned(),
                    model: model.to_owned(),
                    tokens,
                }
            }
            (UsageAt::End, Some(last)) => {
                self.since.add(dialect, &last.model, larger(last.tokens, tokens));
                TrackedMessage { tokens: Tokens::default(), ..last }
            }
            (UsageAt::End, None) => return self.since.add(dialect, model, tokens),
        };
        self.follow(dialect, next);
    }

    fn follow(&mut self, dialect: Dialect, message: TrackedMessage) {
        if self.followed.len() >= MAX_FOLLOWED {
            // Prefer a message that has ended; otherwise the end of the oldest one goes unnoticed.
            let ended = self.followed.iter().position(|message| message.tokens.is_zero());
            let left = self.followed.swap_remove(ended.unwrap_or(0));
            self.since.add(dialect, &left.model, left.tokens);
        }
        self.followed.push(message);
    }

    /// Records the figures of a result at the end of a turn.
    pub(super) fn result(&mut self, dialect: Dialect, result: &ResultFacts) {
        self.settle(dialect);
        let turn = std::mem::take(&mut self.since);
        let own = result.turn_tokens.zip(result.turn_cost);
        let own = own.map(|(tokens, cost)| UsageTotals { tokens, cost });
        let grown = self.reported.result(own, result);
        let reported = own.unwrap_or_default();
        let mut open = self.unreported;
        if reported.is_zero() {
            // If a turn was cut off before its figures were summed, a model was asked all the same.
            open.more(turn);
        }
        // Totals that grew by as much also cover turns without figures. If this turn has no
        // figures, any growth of the totals belongs to it.
        let all_tokens = reported.tokens.counted().saturating_add(open.tokens.counted());
        let covers_tokens = grown.tokens.is_some_and(|grown| grown.counted() >= all_tokens);
        let covers_cost =
            grown.cost.is_some_and(|grown| covers_tokens || grown >= reported.cost + open.price);
        let has_tokens = own.is_none() && grown.tokens.is_some_and(|grown| !grown.is_zero());
        let has_cost = own.is_none() && grown.cost.is_some_and(|grown| grown > Usd::ZERO);
        if covers_tokens {
            self.unreported.tokens = Tokens::default();
        } else if !has_tokens {
            self.unreported.tokens = open.tokens;
        }
        if covers_cost {
            self.unreported.price = Usd::ZERO;
        } else if !has_cost {
            self.unreported.price = open.price;
        }
    }

    /// The tokens seen so far.
    pub(super) fn tokens(&self) -> Tokens {
        let mut tokens = self.reported.tokens();
        tokens += self.unreported.tokens;
        tokens += self.since.tokens;
        for message in &self.followed {
            tokens += message.tokens;
        }
        tokens
    }

    /// The cost seen so far, as far as it is known or can be estimated.
    fn cost(&self, dialect: Dialect) -> Usd {
        let known = self.reported.cost().unwrap_or_default();
        let ended = known + self.unreported.price + self.since.price;
        self.followed.iter().fold(ended, |sum, message| {
            if message.tokens.is_zero() {
                return sum;
            }
            sum + dialect.price(&message.model, &message.tokens)
        })
    }

    /// Computes the final usage. `worked` is whether the program got as far as asking a model.
    pub(super) fn bill(mut self, dialect: Dialect, worked: bool) -> SpendTotal {
        self.settle(dialect);
        let tokens = self.tokens();
        let estimate = self.unreported.price + self.since.price;
        let is_all = estimate == Usd::ZERO;
        match self.reported.cost() {
            Some(cost) if is_all => SpendTotal { cost: Some(cost), priced: None, tokens },
            Some(cost) => SpendTotal { cost: None, priced: Some(cost + estimate), tokens },
            None if !is_all => SpendTotal { cost: None, priced: Some(estimate), tokens },
            None => SpendTotal { cost: None, priced: (!worked).then_some(Usd::ZERO), tokens },
        }
    }

    /// Adds all tracked messages to the estimate.
    fn settle(&mut self, dialect: Dialect) {
        for message in std::mem::take(&mut self.followed) {
            self.since.add(dialect, &message.model, message.tokens);
        }
    }
}

impl ReportedUsage {
    /// Adds a result, and returns the growth of the totals.
    fn result(&mut self, own: Option<UsageTotals>, result: &ResultFacts) -> UsageGrowth {
        // Only the totals include results before the first one that was seen.
        let is_first = self.results == 0 && result.index.unwrap_or(0) == 0;
        if let (true, Some(own)) = (is_first, own) {
            self.carried = UsageTotals {
                tokens: beyond(result.total_tokens.unwrap_or_default(), own.tokens),
                cost: result.total_cost.unwrap_or_default().minus(own.cost),
            };
        }
        if let Some(own) = own {
            let sum = self.turns.get_or_insert_default();
            sum.tokens += own.tokens;
            sum.cost += own.cost;
        }
        self.results = self.results.saturating_add(1);
        let tokens = self.total_tokens.unwrap_or(self.carried.tokens);
        let cost = self.total_cost.unwrap_or(self.carried.cost);
        let grown = UsageGrowth {
            tokens: result.total_tokens.map(|total| beyond(total, tokens)),
            cost: result.total_cost.map(|total| total.minus(cost)),
        };
        self.total_tokens = result.total_tokens.or(self.total_tokens);
        self.total_cost = result.total_cost.or(self.total_cost);
        grown
    }

    /// The sum over the turns, unless the totals are higher because a result was lost.
    fn cost(&self) -> Option<Usd> {
        let total = self.total_cost.map(|total| total.minus(self.carried.cost));
        self.turns.map(|turns| turns.cost).max(total)
    }

    fn tokens(&self) -> Tokens {
        let total = self.total_tokens.map(|total| beyond(total, self.carried.tokens));
        larger(self.turns.unwrap_or_default().tokens, total.unwrap_or_default())
    }
}

impl EstimatedUsage {
    fn more(&mut self, other: Self) {
        self.tokens += other.tokens;
        self.price += other.price;
    }

    fn add(&mut self, dialect: Dialect, model: &str, tokens: Tokens) {
        if !tokens.is_zero() {
            self.tokens += tokens;
            self.price += dialect.price(model, &tokens);
        }
    }
}

/// Figures at the end may omit those already reported at the start.
fn larger(start: Tokens, end: Tokens) -> Tokens {
    Tokens {
        input: start.input.max(end.input),
        output: start.output.max(end.output),
        cache_read: start.cache_read.max(end.cache_read),
        cache_write: start.cache_write.max(end.cache_write),
    }
}

fn beyond(all: Tokens, part: Tokens) -> Tokens {
    Tokens {
        input: all.input.saturating_sub(part.input),
        output: all.output.saturating_sub(part.output),
        cache_read: all.cache_read.saturating_sub(part.cache_read),
        cache_write: all.cache_write.saturating_sub(part.cache_write),
    }
}

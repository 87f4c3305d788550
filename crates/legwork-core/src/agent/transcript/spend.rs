//! What an attempt has used: the program's own figures where it gave any, and an estimate for
//! what it did not live to report.

use crate::agent::dialect::Dialect;
use crate::agent::message::{Owner, ResultFacts, UsageAt};
use crate::units::{Tokens, Usd};

/// More messages at once than this are not followed.
const OPEN_MAX: usize = 64;

/// The figures so far.
#[derive(Debug, Default)]
pub(super) struct Spend {
    /// Of turns that are over, as reported.
    reported: Reported,
    /// Of messages that ended since the last result.
    since: Estimate,
    /// Of messages that have not ended.
    open: Vec<Open>,
}

#[derive(Debug, Default)]
struct Reported {
    results: u32,
    /// Sums over the turns; `None` once a result came without.
    turns: Option<(Tokens, Usd)>,
    /// What the last result said of all turns.
    total_tokens: Option<Tokens>,
    total_cost: Option<Usd>,
    /// What we saw of turns whose results gave no figures.
    seen: Tokens,
}

#[derive(Clone, Copy, Debug, Default)]
struct Estimate {
    tokens: Tokens,
    price: Usd,
}

#[derive(Debug)]
struct Open {
    /// The call that started the sub-agent; `None` for the main agent.
    call: Option<String>,
    model: String,
    tokens: Tokens,
}

/// What it came to in the end.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Bill {
    /// The program's figure.
    pub(super) cost: Option<Usd>,
    /// Ours.
    pub(super) priced: Option<Usd>,
    pub(super) tokens: Tokens,
}

impl Spend {
    /// A message of the model began or ended.
    pub(super) fn message(
        &mut self,
        dialect: Dialect,
        owner: &Owner<'_>,
        when: UsageAt,
        model: &str,
        tokens: Tokens,
    ) {
        let call = match owner {
            Owner::Main => None,
            Owner::Sub { call } => Some(&**call),
        };
        let position = self.open.iter().position(|open| open.call.as_deref() == call);
        let begun = position.map(|position| self.open.swap_remove(position));
        match (when, begun) {
            (UsageAt::Start, begun) => {
                // A message that never ended was broken off, and was paid for all the same.
                if let Some(begun) = begun {
                    self.since.add(dialect, &begun.model, begun.tokens);
                }
                if self.open.len() < OPEN_MAX {
                    let call = call.map(str::to_owned);
                    self.open.push(Open { call, model: model.to_owned(), tokens });
                }
            }
            (UsageAt::End, Some(begun)) => {
                self.since.add(dialect, &begun.model, larger(begun.tokens, tokens));
            }
            (UsageAt::End, None) => self.since.add(dialect, model, tokens),
        }
    }

    /// A turn is over, and the result says what it used.
    pub(super) fn result(&mut self, result: &ResultFacts) {
        let reported = &mut self.reported;
        let before = if reported.results == 0 { Some(Default::default()) } else { reported.turns };
        reported.turns = match (before, result.turn_tokens, result.turn_cost) {
            (Some((mut tokens, cost)), Some(turn_tokens), Some(turn_cost)) => {
                tokens += turn_tokens;
                Some((tokens, cost + turn_cost))
            }
            (_, _, _) => None,
        };
        if result.turn_tokens.is_none() && result.total_tokens.is_none() {
            reported.seen += self.since.tokens;
        }
        reported.results += 1;
        reported.total_tokens = result.total_tokens;
        reported.total_cost = result.total_cost;
        self.since = Estimate::default();
        self.open.clear();
    }

    /// Tokens seen so far.
    pub(super) fn tokens(&self) -> Tokens {
        let mut tokens = self.reported.tokens();
        tokens += self.since.tokens;
        for open in &self.open {
            tokens += open.tokens;
        }
        tokens
    }

    /// What it came to. `worked` is whether the program got as far as to ask a model.
    pub(super) fn bill(mut self, dialect: Dialect, worked: bool) -> Bill {
        for open in std::mem::take(&mut self.open) {
            self.since.add(dialect, &open.model, open.tokens);
        }
        let mut tokens = self.reported.tokens();
        tokens += self.since.tokens;
        let reported = self.reported.cost();
        let is_all = self.since.tokens.is_zero();
        match reported {
            Some(cost) if is_all => Bill { cost: Some(cost), priced: None, tokens },
            Some(cost) => Bill { cost: None, priced: Some(cost + self.since.price), tokens },
            None if !is_all => Bill { cost: None, priced: Some(self.since.price), tokens },
            None => Bill { cost: None, priced: (!worked).then_some(Usd::ZERO), tokens },
        }
    }
}

impl Reported {
    fn cost(&self) -> Option<Usd> {
        self.turns.map(|(_, cost)| cost).or(self.total_cost)
    }

    fn tokens(&self) -> Tokens {
        self.turns.map(|(tokens, _)| tokens).or(self.total_tokens).unwrap_or(self.seen)
    }
}

impl Estimate {
    fn add(&mut self, dialect: Dialect, model: &str, tokens: Tokens) {
        self.tokens += tokens;
        self.price += dialect.price(model, &tokens);
    }
}

/// Figures at the end may leave out what was already said at the beginning.
fn larger(start: Tokens, end: Tokens) -> Tokens {
    Tokens {
        input: start.input.max(end.input),
        output: start.output.max(end.output),
        cache_read: start.cache_read.max(end.cache_read),
        cache_write: start.cache_write.max(end.cache_write),
    }
}

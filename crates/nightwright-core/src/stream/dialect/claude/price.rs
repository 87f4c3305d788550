//! Token prices, used to estimate the cost of an attempt that did not report it.

use crate::units::{Tokens, Usd};

/// Prices in millionths of a dollar per million tokens.
#[derive(Clone, Copy, Debug)]
struct Price {
    family: &'static str,
    input: u64,
    output: u64,
    cache_write: u64,
    cache_read: u64,
}

/// Prices of the most expensive current model in each family, with the more expensive cache tier.
/// An estimate that is too high stops a run early; one that is too low overspends. The most
/// expensive family comes first and is used for unknown models.
const PRICES: [Price; 3] = [
    Price {
        family: "opus",
        input: 5_000_000,
        output: 25_000_000,
        cache_write: 10_000_000,
        cache_read: 500_000,
    },
    Price {
        family: "sonnet",
        input: 3_000_000,
        output: 15_000_000,
        cache_write: 6_000_000,
        cache_read: 300_000,
    },
    Price {
        family: "haiku",
        input: 1_000_000,
        output: 5_000_000,
        cache_write: 2_000_000,
        cache_read: 100_000,
    },
];

/// The cost of these tokens of this model, by the table.
pub fn price(model: &str, tokens: &Tokens) -> Usd {
    let price = PRICES.iter().find(|price| model.contains(price.family)).unwrap_or(&PRICES[0]);
    let part = |count: u64, each: u64| u128::from(count) * u128::from(each);
    let sum = part(tokens.input, price.input)
        + part(tokens.output, price.output)
        + part(tokens.cache_write, price.cache_write)
        + part(tokens.cache_read, price.cache_read);
    Usd::from_micros(u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLION: Tokens = Tokens {
        input: 1_000_000,
        output: 1_000_000,
        cache_read: 1_000_000,
        cache_write: 1_000_000,
    };

    #[test]
    fn a_model_costs_what_its_family_costs_and_an_unknown_one_the_most() {
        let cents = |model| price(model, &MILLION).micros() / 10_000;
        assert_eq!(cents("claude-haiku-5-5"), 810);
        assert_eq!(cents("claude-sonnet-4-5"), 2430);
        assert_eq!(cents("claude-opus-4-8[1m]"), 4050);
        assert_eq!(cents("something-new"), 4050);
        assert_eq!(cents(""), 4050);
    }

    #[test]
    fn a_few_tokens_cost_something_and_no_number_overflows() {
        let one = Tokens { cache_read: 1, ..Tokens::default() };
        assert_eq!(price("haiku", &one), Usd::from_micros(1));
        let all = Tokens { input: u64::MAX, ..MILLION };
        assert_eq!(price("opus", &all), Usd::from_micros(u64::MAX));
    }
}

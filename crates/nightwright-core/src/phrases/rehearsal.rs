//! Phrases for rehearsals, in which the rehearsal agent replaces the real one.

/// A description of a rehearsal.
pub const REHEARSAL: &str = "the rehearsal agent replaces the real one, nothing is spent, and the result says nothing about the work";

/// The notice after a rehearsal.
pub const REHEARSAL_ENDED: &str =
    "This was a rehearsal: no real agent worked, and nothing was spent.";

/// The text in place of a cost.
pub const NOTHING_SPENT: &str = "rehearsal, nothing was spent";

/// The cost of a rehearsal: `rehearsal, nothing was spent (simulated cost: $0.76)`.
pub fn rehearsed_cost(cost: &str) -> String {
    format!("{NOTHING_SPENT} (simulated cost: {cost})")
}

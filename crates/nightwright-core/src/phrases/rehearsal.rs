//! Phrases for rehearsals, in which the rehearsal agent replaces the real one.

/// A description of a rehearsal.
pub const REHEARSAL: &str = "the rehearsal agent replaces the real one and spends nothing; the \
                             result says nothing about the work";

/// The notice after a rehearsal.
pub const REHEARSAL_ENDED: &str =
    "This was a rehearsal: no real agent worked, and it cost nothing.";

/// The text in place of a cost.
pub const NOTHING_SPENT: &str = "rehearsal, nothing spent";

/// The cost of a rehearsal: `rehearsal, nothing spent (simulated cost: $0.76)`.
pub fn rehearsed_cost(cost: &str) -> String {
    format!("{NOTHING_SPENT} (simulated cost: {cost})")
}

//! Phrases for rehearsals, in which a script takes the place of the agent.

/// What a rehearsal is.
pub const REHEARSAL: &str =
    "the agent is a script, nothing is spent, and the result says nothing about the work";

/// The notice after a rehearsal.
pub const REHEARSAL_ENDED: &str =
    "This was a rehearsal: the agent was a script, and nothing was spent.";

/// The text in place of a cost.
pub const NOTHING_SPENT: &str = "rehearsal, nothing was spent";

/// The cost of a rehearsal: `rehearsal, nothing was spent ($0.76 according to its script)`.
pub fn rehearsed_cost(cost: &str) -> String {
    format!("{NOTHING_SPENT} ({cost} according to its script)")
}

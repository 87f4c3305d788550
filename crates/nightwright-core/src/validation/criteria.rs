//! The criteria for instructions of unattended work.

/// A requirement on instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Criterion {
    /// The name in an answer.
    pub id: &'static str,
    /// A short title of the criterion.
    pub title: &'static str,
    /// The question to answer.
    pub question: &'static str,
    pub weight: Importance,
}

/// Whether instructions must meet a criterion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Importance {
    /// The criterion must be met.
    Required,
    /// The criterion improves the instructions, but is optional.
    Recommended,
}

impl Importance {
    pub fn name(self) -> &'static str {
        match self {
            Self::Required => "required",
            Self::Recommended => "recommended",
        }
    }
}

/// All criteria, in the order of questions and display.
pub const CRITERIA: [Criterion; 10] = [
    required(
        "outcome",
        "The goal is an outcome",
        "Would two readers agree on what is different once the work is done? An activity \
         (\"improve\", \"work on\", \"look into\") is not an outcome.",
    ),
    required(
        "checkable",
        "An outsider can check that the work is done",
        "Is there a list of conditions, each with a yes-or-no answer from the project alone? \
         \"Works well\" and \"is clean\" are not conditions.",
    ),
    required(
        "verification",
        "Verification: exact commands",
        "Are there exact commands or steps, and the output that means success?",
    ),
    required(
        "scope",
        "Scope: what is part of the work, and what is not",
        "Is there a boundary that keeps an eager agent from doing more, and a lazy one from doing \
         less?",
    ),
    required(
        "steps",
        "The work has small, ordered parts",
        "Can one iteration finish and verify each part before the next one begins, without a later \
         one?",
    ),
    required(
        "self_contained",
        "No open questions, and no person needed",
        "Is every decision made, every referenced thing available, every access granted? A \
         deliberate choice for the agent is not an open question.",
    ),
    required(
        "constraints",
        "Constraints: what must not change",
        "Do the instructions name the interfaces, files, data, dependencies or conventions that \
         must not change, or say that there are none?",
    ),
    recommended(
        "places",
        "Files and places have names",
        "Does the reader know where to begin, and do those places exist?",
    ),
    recommended(
        "examples",
        "There is an example of the expected result",
        "Is there at least one concrete input with its output, or a part of the expected result?",
    ),
    recommended(
        "when_stuck",
        "Guidance for getting stuck",
        "Do the instructions say which solution is acceptable when the agent is stuck, what to \
         leave for last, and what to write down?",
    ),
];

const fn required(id: &'static str, title: &'static str, question: &'static str) -> Criterion {
    Criterion { id, title, question, weight: Importance::Required }
}

const fn recommended(id: &'static str, title: &'static str, question: &'static str) -> Criterion {
    Criterion { id, title, question, weight: Importance::Recommended }
}

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
        "The goal is stated as an outcome",
        "Would two readers agree on what is different in the world when all is done? An activity \
         (\"improve\", \"work on\", \"look into\") is no outcome.",
    ),
    required(
        "checkable",
        "Someone else can check that the work is finished",
        "Is there a list of conditions that can each be answered with yes or no from the project \
         alone? \"Works well\" and \"is clean\" are no conditions.",
    ),
    required(
        "verification",
        "How to verify is said, with commands",
        "Are there exact commands or steps, and what they show when all is well?",
    ),
    required(
        "scope",
        "What belongs to the work, and what does not, is said",
        "Is there a line that keeps an eager agent from doing more, and a lazy one from doing less?",
    ),
    required(
        "steps",
        "The work is in small parts, in an order",
        "Can each part be finished and verified in one sitting before the next one begins, and does \
         none need a later one?",
    ),
    required(
        "self_contained",
        "No question is left open and no person is needed",
        "Is every decision taken, every reference to be found, every access there? A choice that is \
         left to the agent on purpose is no open question.",
    ),
    required(
        "constraints",
        "What must not be touched is said",
        "Are interfaces, files, data, dependencies or habits named that have to stay as they are, or \
         does it say that there are none?",
    ),
    recommended(
        "places",
        "Files and places are named",
        "Does the reader know where to begin, and are those places really there?",
    ),
    recommended(
        "examples",
        "There is an example of the expected result",
        "Is there at least one concrete input with its output, or a piece of the wanted result?",
    ),
    recommended(
        "when_stuck",
        "What to do when stuck is said",
        "Does it say which way out is acceptable, what may be left for last, and what has to be \
         written down then?",
    ),
];

const fn required(id: &'static str, title: &'static str, question: &'static str) -> Criterion {
    Criterion { id, title, question, weight: Importance::Required }
}

const fn recommended(id: &'static str, title: &'static str, question: &'static str) -> Criterion {
    Criterion { id, title, question, weight: Importance::Recommended }
}

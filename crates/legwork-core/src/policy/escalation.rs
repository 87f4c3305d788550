//! What is done about a problem that the watchdog keeps noticing.

use crate::agent::report::{Notice, WatchSignal};

/// The next step for a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Response {
    /// An extra call gives a diagnosis and some concrete steps.
    Advise,
    /// The next prompt asks for thinking about the root cause.
    RootCause,
    /// It is a blocker: only a person can help.
    Blocker,
}

/// What to do when a problem is noticed in its `round`-th iteration, from 1.
pub fn response(round: u32) -> Response {
    match round {
        0..=3 => Response::Advise,
        4 => Response::RootCause,
        5.. => Response::Blocker,
    }
}

/// What an agent that asks or gives up is told when nobody is there.
pub fn answer(notice: &Notice) -> &'static str {
    match notice.signal {
        WatchSignal::Asking => {
            "Nobody is here to answer. Choose by the instructions and principles you have, note \
             the choice and why, and go on."
        }
        WatchSignal::GivingUp => {
            "Nobody will take this over. Note what fails and why, put this item aside if it can't \
             be done now, and go on with the next one."
        }
        WatchSignal::Repetition => {
            "You are making the same tool call again and again. It will not change its answer: \
             look at what it said and do something else."
        }
        WatchSignal::ToolErrors => {
            "Several tool calls in a row failed. Read the errors, check your assumptions about \
             paths and state, and take a smaller step."
        }
        WatchSignal::Compaction => {
            "Your context overflows again and again. Write what matters into the notes, read less \
             at a time, and take one item only."
        }
    }
}

/// What the next prompt asks for when advice has not helped.
pub fn root_cause(notice: &Notice) -> String {
    format!(
        "The same problem came up in several iterations: {}. Don't try another fix yet. Write down \
         what you know for certain, what you only assume, and how each assumption could be tested; \
         test them; then act on the cause.",
        notice.text.trim()
    )
}

//! Whose turn it is: what we have said to the agent, what it has taken up of it, and whether it is
//! at work.
//!
//! A message that comes while a tool runs goes into the running turn; one that comes while the
//! model writes its last words waits, together with others, for a turn of its own, which begins
//! after the result. So results can't be counted against messages. A program that repeats each
//! message when it takes it up lets us know; of one that does not, we assume a result for each.

/// The state of a conversation with the agent.
#[derive(Debug)]
pub(super) struct Talk {
    input: Input,
    turn: Turn,
    /// Messages of ours, the prompt included.
    sent: u32,
    /// Messages that were repeated to us.
    taken: u32,
    results: u32,
}

/// Whether more can be said to the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Input {
    /// It never could, as far as we know.
    Never,
    Open,
    Closed,
}

/// Whether the agent is at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    /// It is, at the prompt or at something that it began by itself.
    GoesOn,
    /// It is, at a message that we sent after the prompt.
    Answers,
    /// It has given a result and not begun anew.
    Over,
}

impl Talk {
    /// The prompt was sent. `open` is whether more can follow.
    pub(super) fn new(open: bool) -> Self {
        let input = if open { Input::Open } else { Input::Never };
        Self { input, turn: Turn::GoesOn, sent: 1, taken: 0, results: 0 }
    }

    /// A further message was sent.
    pub(super) fn say(&mut self) {
        self.sent = self.sent.saturating_add(1);
    }

    /// No more messages will be sent.
    pub(super) fn close(&mut self) {
        self.input = match self.input {
            Input::Open | Input::Closed => Input::Closed,
            Input::Never => Input::Never,
        };
    }

    /// The program has taken up messages of ours.
    pub(super) fn take_up(&mut self, messages: u32) {
        // What it repeats beyond what we said is no message of ours.
        let taken = self.taken.saturating_add(messages).min(self.sent);
        if taken > self.taken && self.turn == Turn::Over {
            self.turn = Turn::Answers;
        }
        self.taken = taken;
    }

    /// The agent is at work.
    pub(super) fn begin_turn(&mut self) {
        self.turn = match self.turn {
            Turn::Over if self.waiting() > 0 => Turn::Answers,
            Turn::Over => Turn::GoesOn,
            Turn::GoesOn | Turn::Answers => return,
        };
    }

    /// A result came.
    pub(super) fn end_turn(&mut self) {
        self.turn = Turn::Over;
        self.results = self.results.saturating_add(1);
    }

    /// Results so far.
    pub(super) fn results(&self) -> u32 {
        self.results
    }

    /// Whether more can be said.
    pub(super) fn is_open(&self) -> bool {
        self.input == Input::Open
    }

    /// Messages that have not been taken up.
    pub(super) fn waiting(&self) -> u32 {
        self.sent.saturating_sub(self.answered())
    }

    fn answered(&self) -> u32 {
        if self.taken > 0 { self.taken } else { self.results }
    }

    /// Messages after the prompt that were taken up, as far as anybody knows; `None` where there
    /// can have been none.
    pub(super) fn heard(&self) -> Option<u32> {
        let heard = self.answered().min(self.sent).saturating_sub(1);
        (self.input != Input::Never || self.sent > 1).then_some(heard)
    }

    /// Whether it is at work on something that we said after its last result: what it said there
    /// was not its last word.
    pub(super) fn is_answering(&self) -> bool {
        self.turn == Turn::Answers
    }

    /// Whether only the exit is missing.
    pub(super) fn is_leaving(&self) -> bool {
        self.turn == Turn::Over && self.input != Input::Open && self.waiting() == 0
    }
}

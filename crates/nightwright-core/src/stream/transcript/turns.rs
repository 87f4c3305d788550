//! Whose turn it is: what we have said to the agent, what it has taken up of it, and whether it is
//! at work.
//!
//! A message that comes while a tool runs goes into the running turn; one that comes while the
//! model writes its last words waits, together with others, for a turn of its own, which begins
//! after the result. So results can't be counted against messages. A program that repeats each
//! message when it takes it up lets us know; of one that does not, we assume a result for each.

/// The state of a conversation with the agent.
#[derive(Debug)]
pub(super) struct TurnState {
    input: InputState,
    turn: TurnPhase,
    /// Messages of ours, the prompt included.
    sent: u32,
    /// Messages that were repeated to us.
    acknowledged: u32,
    results: u32,
}

/// Whether more can be said to the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InputState {
    /// It never could, as far as we know.
    Never,
    Open,
    Closed,
}

/// Whether the agent is at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TurnPhase {
    /// It is, at the prompt or at something that it began by itself.
    Working,
    /// It is, at a message that we sent after the prompt.
    Answering,
    /// It has given a result and not begun anew.
    Idle,
}

impl TurnState {
    /// The prompt was sent. `open` is whether more can follow.
    pub(super) fn new(open: bool) -> Self {
        let input = if open { InputState::Open } else { InputState::Never };
        Self { input, turn: TurnPhase::Working, sent: 1, acknowledged: 0, results: 0 }
    }

    /// A further message was sent.
    pub(super) fn message_sent(&mut self) {
        self.sent = self.sent.saturating_add(1);
    }

    /// No more messages will be sent.
    pub(super) fn close(&mut self) {
        self.input = match self.input {
            InputState::Open | InputState::Closed => InputState::Closed,
            InputState::Never => InputState::Never,
        };
    }

    /// The program has taken up messages of ours.
    pub(super) fn acknowledge(&mut self, messages: u32) {
        // What it repeats beyond what we said is no message of ours.
        let taken = self.acknowledged.saturating_add(messages).min(self.sent);
        if taken > self.acknowledged && self.turn == TurnPhase::Idle {
            self.turn = TurnPhase::Answering;
        }
        self.acknowledged = taken;
    }

    /// The agent is at work.
    pub(super) fn begin_turn(&mut self) {
        self.turn = match self.turn {
            TurnPhase::Idle if self.waiting() > 0 => TurnPhase::Answering,
            TurnPhase::Idle => TurnPhase::Working,
            TurnPhase::Working | TurnPhase::Answering => return,
        };
    }

    /// A result came.
    pub(super) fn end_turn(&mut self) {
        self.turn = TurnPhase::Idle;
        self.results = self.results.saturating_add(1);
    }

    /// Results so far.
    pub(super) fn results(&self) -> u32 {
        self.results
    }

    /// Whether more can be said.
    pub(super) fn is_open(&self) -> bool {
        self.input == InputState::Open
    }

    /// Messages that have not been taken up.
    pub(super) fn waiting(&self) -> u32 {
        self.sent.saturating_sub(self.answered())
    }

    fn answered(&self) -> u32 {
        if self.acknowledged > 0 { self.acknowledged } else { self.results }
    }

    /// Messages after the prompt that were taken up, as far as anybody knows; `None` where there
    /// can have been none.
    pub(super) fn acknowledged(&self) -> Option<u32> {
        let heard = self.answered().min(self.sent).saturating_sub(1);
        (self.input != InputState::Never || self.sent > 1).then_some(heard)
    }

    /// Whether it is at work on something that we said after its last result: what it said there
    /// was not its last word.
    pub(super) fn is_answering(&self) -> bool {
        self.turn == TurnPhase::Answering
    }

    /// Whether only the exit is missing.
    pub(super) fn is_exiting(&self) -> bool {
        self.turn == TurnPhase::Idle && self.input != InputState::Open && self.waiting() == 0
    }
}

//! Turn tracking: which messages were sent to the agent, which it has taken up, and whether it is
//! working.
//!
//! A message that arrives while a tool runs joins the running turn. One that arrives while the
//! model writes its last words waits, together with others, for its own turn after the result. So
//! results cannot be matched with messages. A program that repeats each message when it takes it up
//! makes this visible; for any other, one result per message is assumed.

/// The state of a conversation with the agent.
#[derive(Debug)]
pub(super) struct TurnState {
    input: InputState,
    turn: TurnPhase,
    /// The number of messages sent, including the prompt.
    sent: u32,
    /// The number of messages that the program repeated.
    acknowledged: u32,
    results: u32,
}

/// Whether more messages can be sent to the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InputState {
    /// The input was never open, as far as is known.
    Never,
    Open,
    Closed,
}

/// Whether the agent is working.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TurnPhase {
    /// The agent is working on the prompt, or on something it began by itself.
    Working,
    /// The agent is working on a message sent after the prompt.
    Answering,
    /// The agent has given a result and not started again.
    Idle,
}

impl TurnState {
    /// The state after the prompt was sent. `open` is whether more messages can follow.
    pub(super) fn new(open: bool) -> Self {
        let input = if open { InputState::Open } else { InputState::Never };
        Self { input, turn: TurnPhase::Working, sent: 1, acknowledged: 0, results: 0 }
    }

    /// Records a further message.
    pub(super) fn message_sent(&mut self) {
        self.sent = self.sent.saturating_add(1);
    }

    /// Records that no more messages will be sent.
    pub(super) fn close(&mut self) {
        self.input = match self.input {
            InputState::Open | InputState::Closed => InputState::Closed,
            InputState::Never => InputState::Never,
        };
    }

    /// Records that the program has taken up messages.
    pub(super) fn acknowledge(&mut self, messages: u32) {
        // Repetitions beyond the messages sent are not messages of nightwright.
        let taken = self.acknowledged.saturating_add(messages).min(self.sent);
        if taken > self.acknowledged && self.turn == TurnPhase::Idle {
            self.turn = TurnPhase::Answering;
        }
        self.acknowledged = taken;
    }

    /// Records that the agent is working.
    pub(super) fn begin_turn(&mut self) {
        self.turn = match self.turn {
            TurnPhase::Idle if self.waiting() > 0 => TurnPhase::Answering,
            TurnPhase::Idle => TurnPhase::Working,
            TurnPhase::Working | TurnPhase::Answering => return,
        };
    }

    pub(super) fn end_turn(&mut self) {
        self.turn = TurnPhase::Idle;
        self.results = self.results.saturating_add(1);
    }

    /// The number of results so far.
    pub(super) fn results(&self) -> u32 {
        self.results
    }

    /// Whether more messages can be sent.
    pub(super) fn is_open(&self) -> bool {
        self.input == InputState::Open
    }

    /// The number of messages that have not been taken up.
    pub(super) fn waiting(&self) -> u32 {
        self.sent.saturating_sub(self.answered())
    }

    fn answered(&self) -> u32 {
        if self.acknowledged > 0 { self.acknowledged } else { self.results }
    }

    /// The number of messages after the prompt that were taken up, as far as is known; `None` if
    /// none could be sent.
    pub(super) fn acknowledged(&self) -> Option<u32> {
        let acknowledged = self.answered().min(self.sent).saturating_sub(1);
        (self.input != InputState::Never || self.sent > 1).then_some(acknowledged)
    }

    /// Whether the agent is working on a message sent after its last result. That result was then
    /// not its last word.
    pub(super) fn is_answering(&self) -> bool {
        self.turn == TurnPhase::Answering
    }

    /// Whether only the exit is outstanding.
    pub(super) fn is_exiting(&self) -> bool {
        self.turn == TurnPhase::Idle && self.input != InputState::Open && self.waiting() == 0
    }
}

//! A prompter for tests.

use super::{NoAnswer, Prompter};

/// A prompter with fixed answers; after the last one, the input ends.
pub(crate) struct ScriptedPrompter {
    answers: Vec<&'static str>,
    /// Everything that was shown, including the questions.
    pub(crate) printed: String,
}

impl ScriptedPrompter {
    pub(crate) fn new(answers: &[&'static str]) -> Self {
        Self { answers: answers.iter().rev().copied().collect(), printed: String::new() }
    }
}

impl Prompter for ScriptedPrompter {
    fn tell(&mut self, text: &str) {
        self.printed.push_str(text);
        self.printed.push('\n');
    }

    fn ask(&mut self, question: &str) -> Result<String, NoAnswer> {
        self.tell(question);
        self.answers.pop().map(|answer| format!("{answer}\n")).ok_or(NoAnswer::EndOfInput)
    }
}

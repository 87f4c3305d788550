//! A piece of what the agent said, ready to be shown.

use legwork_core::agent::message::{AgentMessage, Part, Said, Went};
use legwork_core::display::{display_safe, one_line};
use serde_json::Value;

/// The most characters of what a tool was called with.
const LONGEST_DETAIL: usize = 160;

/// The arguments that tell most about a call, the most telling first.
const TELLING: [&str; 10] = [
    "command",
    "file_path",
    "notebook_path",
    "pattern",
    "url",
    "query",
    "skill",
    "description",
    "path",
    "prompt",
];

/// A piece of what the agent said: owned, and safe to be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Its words.
    Text {
        /// The words.
        text: String,
    },
    /// It calls a tool.
    ToolCall {
        /// Which.
        name: String,
        /// With what, in a few words.
        detail: String,
    },
    /// A tool call failed.
    ToolError {
        /// Which tool, where that is known.
        name: Option<String>,
        /// What it said, all of it.
        text: String,
    },
}

impl Shown {
    /// What there is to show of a message, if anything. Words that will be repeated as a whole are
    /// left out until they are, and the words of agents that the agent started are its own affair.
    pub fn from_message(message: &AgentMessage<'_>) -> Option<Self> {
        match &message.said {
            Said::Text { text, part: Part::Whole } if message.owner.is_main() => {
                let text = display_safe(text.trim()).into_owned();
                (!text.is_empty()).then_some(Self::Text { text })
            }
            Said::ToolCall { name, input, .. } => Some(Self::ToolCall {
                name: one_line(name, LONGEST_DETAIL),
                detail: one_line(&detail(input), LONGEST_DETAIL),
            }),
            Said::ToolResult { went: Went::Wrong, content, .. } => Some(Self::ToolError {
                name: None,
                text: display_safe(content_text(content).trim()).into_owned(),
            }),
            Said::Text { .. }
            | Said::ToolResult { .. }
            | Said::Ready(_)
            | Said::Thinking
            | Said::Heartbeat { .. }
            | Said::ApiRetry { .. }
            | Said::RateLimit(_)
            | Said::Denied { .. }
            | Said::Usage { .. }
            | Said::SyntheticError(_)
            | Said::Compaction
            | Said::Result(_)
            | Said::TakenUp { .. }
            | Said::Other { .. }
            | Said::Unknown { .. } => None,
        }
    }

    /// How much memory it takes, about.
    pub fn size(&self) -> usize {
        let text = match self {
            Self::Text { text } => text.len(),
            Self::ToolCall { name, detail } => name.len() + detail.len(),
            Self::ToolError { name, text } => name.as_ref().map_or(0, String::len) + text.len(),
        };
        text + size_of::<Self>()
    }
}

/// The telling argument of a call, else the names of its arguments.
fn detail(input: &str) -> String {
    let Ok(Value::Object(arguments)) = serde_json::from_str(input) else {
        return String::new();
    };
    let telling = TELLING.iter().find_map(|key| arguments.get(*key)?.as_str());
    match telling {
        Some(telling) => telling.to_owned(),
        None => arguments.keys().map(String::as_str).collect::<Vec<_>>().join(", "),
    }
}

/// The text of what a tool gave: a string, or a list of blocks.
fn content_text(content: &str) -> String {
    match serde_json::from_str(content) {
        Ok(Value::String(text)) => text,
        Ok(Value::Array(blocks)) => {
            let texts = blocks.iter().filter_map(|block| block.get("text")?.as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        Ok(_) | Err(_) => content.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use legwork_core::agent::message::Owner;

    use super::*;

    fn shown(owner: Owner<'_>, said: Said<'_>) -> Option<Shown> {
        Shown::from_message(&AgentMessage { owner, said })
    }

    fn call(input: &str) -> String {
        let said = Said::ToolCall { id: "1".into(), name: "Tool".into(), input };
        match shown(Owner::Main, said) {
            Some(Shown::ToolCall { detail, .. }) => detail,
            other => panic!("not a call: {other:?}"),
        }
    }

    #[test]
    fn a_call_shows_its_telling_argument_else_the_names_of_all() {
        let cases = [
            (r#"{"description":"run tests","command":"make\ntest"}"#, "make test"),
            (r#"{"file_path":"src/a.rs","content":"…"}"#, "src/a.rs"),
            (r#"{"depth":2,"command":7}"#, "command, depth"),
            (r#"{"command":"\u001b[2Jls"}"#, "ls"),
            ("not json", ""),
        ];
        for (input, detail) in cases {
            assert_eq!(call(input), detail);
        }
    }

    #[test]
    fn only_failed_results_are_shown_and_whole() {
        let result =
            |went, content| shown(Owner::Main, Said::ToolResult { id: "1".into(), went, content });
        assert_eq!(result(Went::Well, r#""fine""#), None);
        for content in [r#""no such\nfile""#, r#"[{"type":"text","text":"no such\nfile"}]"#] {
            let text = "no such\nfile".to_owned();
            assert_eq!(result(Went::Wrong, content), Some(Shown::ToolError { name: None, text }));
        }
    }

    #[test]
    fn only_whole_words_of_the_agent_itself_are_shown() {
        let text = |part| Said::Text { text: " hello\u{1b}[1m \n".into(), part };
        let hello = Some(Shown::Text { text: "hello".to_owned() });
        assert_eq!(shown(Owner::Main, text(Part::Whole)), hello);
        assert_eq!(shown(Owner::Main, text(Part::Delta)), None);
        assert_eq!(shown(Owner::Sub { call: "1".into() }, text(Part::Whole)), None);
    }
}

//! The JSON output: journal lines unchanged, and the agent's lines wrapped in an object.

use std::borrow::Cow;
use std::fmt;
use std::fmt::Write as _;
use std::io::{self, Write};

use nightwright_core::display::is_unsafe;
use nightwright_core::journal::JournalLine;
use nightwright_core::units::RunId;
use serde::de::IgnoredAny;
use serde_json::json;

use super::{BufferedOutput, Reporter, ReporterInput, Speaker};

/// The version of the objects that wrap the agent's lines.
const VERSION: u32 = 1;

/// Writes the journal lines unchanged, and on request the agent's output.
pub(super) struct JsonReporter {
    out: BufferedOutput,
    wants: ReporterInput,
    /// The run ID, known from the first event.
    run: Option<RunId>,
}

impl JsonReporter {
    /// Writes only the events.
    pub(super) fn new(out: Box<dyn Write + Send>) -> Self {
        Self { out: BufferedOutput::new(out), wants: ReporterInput::Events, run: None }
    }

    /// Writes the events and the agent's lines, in the order in which they occurred.
    pub(super) fn with_messages(out: Box<dyn Write + Send>) -> Self {
        Self { wants: ReporterInput::Everything, ..Self::new(out) }
    }
}

impl fmt::Debug for JsonReporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JsonReporter").finish_non_exhaustive()
    }
}

impl Reporter for JsonReporter {
    fn past(&mut self, line: &JournalLine) {
        self.run = Some(line.run.clone());
    }

    fn event(&mut self, line: &JournalLine, raw: &[u8]) -> io::Result<()> {
        if self.run.is_none() {
            self.run = Some(line.run.clone());
        }
        self.out.write_all(raw)?;
        self.out.write_all(b"\n")
    }

    fn raw(&mut self, speaker: Speaker, line: &[u8]) -> io::Result<()> {
        match self.wants {
            ReporterInput::Events => return Ok(()),
            ReporterInput::Messages | ReporterInput::Everything => {}
        }
        let run = self.run.as_ref().map_or("", |run| run.0.as_str());
        writeln!(self.out, "{}", agent_line(run, speaker, line))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn wants(&self) -> ReporterInput {
        self.wants
    }
}

/// Wraps a line of the agent's output: JSON as `message`, anything else as `text`.
fn agent_line(run: &str, speaker: Speaker, line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let whole = matches!(text, Cow::Borrowed(_));
    let (key, value) = if whole && serde_json::from_str::<IgnoredAny>(&text).is_ok() {
        ("message", harmless(text.trim()))
    } else {
        ("text", harmless(&json!(text).to_string()))
    };
    let run = harmless(&json!(run).to_string());
    let who = match speaker {
        Speaker::Attempt(attempt) => format!("\"attempt\":{}", attempt.0),
        Speaker::Call(call, purpose) => {
            format!("\"call\":{},\"purpose\":\"{}\"", call.0, purpose.name())
        }
    };
    format!("{{\"v\":{VERSION},\"run\":{run},\"{key}\":{value},{who}}}")
}

/// Replaces characters that a terminal would interpret or hide. Inside strings they become
/// equivalent escapes; elsewhere they can only be white space.
fn harmless(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '\t' | '\r' | '\n' => safe.push(' '),
            c if is_unsafe(c) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    // Writing to a string cannot fail.
                    let _ = write!(safe, "\\u{unit:04x}");
                }
            }
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;
    use nightwright_core::event::CallPurpose;
    use nightwright_core::units::{AttemptId, CallId};
    use serde_json::Value;

    const WORKER: Speaker = Speaker::Attempt(AttemptId(7));

    fn read(line: &str) -> Value {
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"))
    }

    #[test]
    fn the_agent_s_own_json_is_kept_as_it_is() {
        let line =
            agent_line("run-1", WORKER, br#"{"type":"x","n":1.50,"big":123456789012345678901}"#);
        assert_eq!(
            line,
            r#"{"v":1,"run":"run-1","message":{"type":"x","n":1.50,"big":123456789012345678901},"attempt":7}"#
        );
    }

    #[test]
    fn a_call_says_what_it_is_for() {
        let line = agent_line("run-1", Speaker::Call(CallId(3), CallPurpose::Verify), b"{}");
        assert_eq!(line, r#"{"v":1,"run":"run-1","message":{},"call":3,"purpose":"verify"}"#);
    }

    #[test]
    fn invalid_json_is_output_as_text() {
        for (line, text) in [
            (&b"plain words"[..], "plain words"),
            (br#"{"half":"#, r#"{"half":"#),
            (b"{} {}", "{} {}"),
            (b"\xff\xfe", "\u{fffd}\u{fffd}"),
            (b"{\"bad\":\"\xff\"}", "{\"bad\":\"\u{fffd}\"}"),
            (b"tab\tand \x1b[2J", "tab\tand \u{1b}[2J"),
            (b"", ""),
        ] {
            let shown = agent_line("r", WORKER, line);
            assert_eq!(read(&shown)["text"], text, "{shown}");
        }
    }

    #[test]
    fn nothing_that_a_terminal_obeys_is_printed_and_nothing_is_lost() {
        let text = "a\u{7f}b\u{9b}2Jc\u{202e}d\u{061c}e\u{85}f\u{200b}\u{2060}\u{feff}\u{e0041}";
        for line in [format!("{{\r\"t\":\t\"{text}\"}}\r"), text.to_owned()] {
            let shown = agent_line("r", WORKER, line.as_bytes());
            assert!(
                shown.is_ascii() && !shown.contains(|c: char| c.is_ascii_control()),
                "{shown:?}"
            );
            let value = read(&shown);
            let content = value["message"]["t"].as_str().or(value["text"].as_str());
            assert_eq!(content, Some(text));
        }
    }
}

//! Generates the output of an agent during a long day of work, with the same bytes every time.
//!
//! A turn has the shape of recordings of the real program. It contains an answer in small pieces,
//! the whole answer, a tool call, and the tool's result, which its line contains twice. Most lines
//! are small, most bytes are in tool results, and sometimes a tool returns a megabyte.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;

/// A million bytes, as in the printed figures.
pub(super) const MEGABYTE: u64 = 1_000_000;

/// The number of pieces of an answer in one turn.
const PIECES: u32 = 24;
/// One turn out of this number has a tool result of a megabyte.
const HUGE_EVERY: u32 = 64;
/// The size of a huge result without the other parts of its line. The line stays below a MiB.
const HUGE: usize = 1_000_000;
/// The number of bytes that are generated before the content repeats.
const FRESH: usize = 16_000_000;

const INIT: &str = r#"{"type":"system","subtype":"init","cwd":"/srv/shop","session_id":"93fd1bec-23d6-49f1-a483-bc2fceb7182a","tools":["Task","Bash","Edit","Read","Write"],"mcp_servers":[],"model":"claude-opus-5-5","permissionMode":"acceptEdits","claude_code_version":"2.1.325","uuid":"1f2e4bb0-07b4-4a0a-9d4a-6f1f4f6f7c11"}"#;
const RESULT: &str = r#"{"is_error":false,"duration_ms":81000,"type":"result","subtype":"success","num_turns":7,"result":"Two handlers are moved; three are left.","stop_reason":"end_turn","total_cost_usd":0.42,"terminal_reason":"completed","modelUsage":{"claude-opus-5-5":{"inputTokens":1000,"outputTokens":2000,"cacheReadInputTokens":30000,"cacheCreationInputTokens":400,"costUSD":0.42}},"model_usage_since_last_result":{"claude-opus-5-5":{"inputTokens":1000,"outputTokens":2000,"cacheReadInputTokens":30000,"cacheCreationInputTokens":400,"costUSD":0.42}},"permission_denials":[],"session_id":"93fd1bec-23d6-49f1-a483-bc2fceb7182a","uuid":"7722c62f-2fdf-4b71-97d8-5ceac6fe1ced"}"#;
/// The last part of most lines.
const END: &str = r#""session_id":"93fd1bec-23d6-49f1-a483-bc2fceb7182a","parent_tool_use_id":null,"uuid":"2f148ec7-3b14-4b6f-b470-616416796478""#;

const WORDS: [&str; 16] = [
    "the",
    "handler",
    "router",
    "now",
    "returns",
    "an",
    "error",
    "when",
    "its",
    "argument",
    "is",
    "missing",
    "größer",
    "self.state",
    "0x7f3a",
    "fn",
];

/// Additional lines of unusual size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extra {
    /// No additional lines at all.
    None,
    /// Tool results and messages of the agent of up to this number of bytes each.
    LongLines(usize),
    /// Messages of the agent with this number of bytes in one line, but without a very long string.
    ManyBlocks(usize),
    /// One line of this number of bytes that is not JSON.
    Endless(usize),
}

/// Writes a complete stream of about this number of megabytes.
pub(super) fn write(path: &Path, megabytes: u64, extra: Extra) -> io::Result<u64> {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let mut fresh = String::new();
    let mut turns = Turns { chance: 1, count: 0 };
    while fresh.len() < FRESH {
        turns.next(&mut fresh);
    }
    writeln!(file, "{INIT}")?;
    let mut written = 0;
    while written < megabytes * MEGABYTE {
        file.write_all(fresh.as_bytes())?;
        written += fresh.len() as u64;
    }
    match extra {
        Extra::None => {}
        Extra::LongLines(bytes) => {
            let mut lines = String::new();
            // Different sizes, so that allocated memory does not fit the next line by chance.
            for share in [2, 1, 3, 1] {
                turns.tool_result(&mut lines, bytes / share);
                turns.answer(&mut lines, bytes / share);
            }
            file.write_all(lines.as_bytes())?;
            file.write_all(fresh.as_bytes())?;
        }
        Extra::ManyBlocks(bytes) => {
            let mut lines = String::new();
            for _ in 0..3 {
                turns.blocks(&mut lines, bytes);
            }
            file.write_all(lines.as_bytes())?;
        }
        Extra::Endless(bytes) => {
            let piece = vec![b'x'; 1 << 20];
            for _ in 0..bytes.div_ceil(piece.len()) {
                file.write_all(&piece)?;
            }
            writeln!(file)?;
        }
    }
    writeln!(file, "{RESULT}")?;
    file.flush()?;
    Ok(file.into_inner().map_err(io::IntoInnerError::into_error)?.metadata()?.len())
}

struct Turns {
    chance: u64,
    count: u32,
}

impl Turns {
    /// Writes one turn, a few dozen lines.
    fn next(&mut self, out: &mut String) {
        self.count += 1;
        line(
            out,
            &format!(r#"{{"type":"system","subtype":"status","status":"requesting",{END}}}"#),
        );
        let usage = r#""usage":{"input_tokens":100,"cache_creation_input_tokens":400,"cache_read_input_tokens":30000,"output_tokens":1,"service_tier":"standard"}"#;
        event(
            out,
            &format!(
                r#"{{"type":"message_start","message":{{"id":"msg_dc3efa41ff6e44d4935170bd","type":"message","role":"assistant","model":"claude-opus-5-5","content":[],"stop_reason":null,{usage}}}}}"#
            ),
        );
        event(
            out,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
        );
        for _ in 0..PIECES {
            let text = self.text(40);
            event(
                out,
                &format!(
                    r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{text}"}}}}"#
                ),
            );
        }
        event(out, r#"{"type":"content_block_stop","index":0}"#);
        self.answer(out, 1000);
        for _ in 0..PIECES / 2 {
            event(
                out,
                r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"command\": \"cargo test --work"}}"#,
            );
        }
        self.tool_call(out);
        event(
            out,
            r#"{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":100,"output_tokens":312}}"#,
        );
        event(out, r#"{"type":"message_stop"}"#);
        let bytes = if self.count.is_multiple_of(HUGE_EVERY) { HUGE } else { self.result_size() };
        self.tool_result(out, bytes);
    }

    /// Writes a message of the agent in one piece.
    fn answer(&mut self, out: &mut String, bytes: usize) {
        let text = self.text(bytes);
        line(
            out,
            &format!(
                r#"{{"type":"assistant","message":{{"id":"msg_dc3efa41ff6e44d4935170bd","type":"message","role":"assistant","model":"claude-opus-5-5","content":[{{"type":"text","text":"{text}"}}],"stop_reason":null,"usage":{{"input_tokens":100,"output_tokens":1}}}},{END},"timestamp":"2026-11-15T19:45:28.232Z","request_id":"req_df85a50b92374dbda6f2e9d0"}}"#
            ),
        );
    }

    /// Writes a message of the agent in blocks of a megabyte.
    fn blocks(&mut self, out: &mut String, bytes: usize) {
        let text = self.text(HUGE);
        let block = format!(r#"{{"type":"text","text":"{text}"}}"#);
        let blocks = vec![block; bytes / HUGE].join(",");
        line(
            out,
            &format!(
                r#"{{"type":"assistant","message":{{"model":"claude-opus-5-5","content":[{blocks}]}},{END}}}"#
            ),
        );
    }

    fn tool_call(&mut self, out: &mut String) {
        let command = self.text(300);
        let id = self.count;
        line(
            out,
            &format!(
                r#"{{"type":"assistant","message":{{"id":"msg_dc3efa41ff6e44d4935170bd","type":"message","role":"assistant","model":"claude-opus-5-5","content":[{{"type":"tool_use","id":"toolu_{id:024}","name":"Bash","input":{{"command":"{command}","description":"Run the tests"}}}}],"stop_reason":null,"usage":{{"input_tokens":100,"output_tokens":1}}}},{END},"timestamp":"2026-11-15T19:45:28.232Z"}}"#
            ),
        );
    }

    fn tool_result(&mut self, out: &mut String, bytes: usize) {
        let text = self.text(bytes / 2);
        let id = self.count;
        line(
            out,
            &format!(
                r#"{{"type":"user","message":{{"role":"user","content":[{{"tool_use_id":"toolu_{id:024}","type":"tool_result","content":"{text}","is_error":false}}]}},{END},"timestamp":"2026-11-15T19:45:28.355Z","tool_use_result":{{"stdout":"{text}","stderr":"","interrupted":false,"isImage":false}}}}"#
            ),
        );
    }

    /// Returns a size between 1 and 100 kB, as often below 10 kB as above.
    fn result_size(&mut self) -> usize {
        let kilobytes = [1, 2, 4, 8, 12, 25, 50, 100];
        kilobytes[self.roll(kilobytes.len())] * 1000
    }

    /// Returns the content of a JSON string: words in lines of about sixty characters, with some
    /// quotes.
    fn text(&mut self, bytes: usize) -> String {
        let mut text = String::with_capacity(bytes + 16);
        let mut column = 0;
        while text.len() < bytes {
            let before = text.len();
            match self.roll(64) {
                0 => text.push_str(r#"\""#),
                1 => text.push_str(r"\t"),
                2 => text.push_str("größer"),
                _ => text.push_str(WORDS[self.roll(WORDS.len())]),
            }
            column += text.len() - before + 1;
            if column > 60 {
                text.push_str(r"\n");
                column = 0;
            } else {
                text.push(' ');
            }
        }
        text
    }

    /// Returns a pseudo-random number below `below`, always from the same sequence.
    fn roll(&mut self, below: usize) -> usize {
        self.chance = self.chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(self.chance >> 33).unwrap_or(0) % below
    }
}

fn event(out: &mut String, event: &str) {
    line(
        out,
        &format!(
            r#"{{"type":"stream_event","event":{event},{END},"api_message_id":"msg_dc3efa41ff6e44d4935170bd"}}"#
        ),
    );
}

fn line(out: &mut String, line: &str) {
    writeln!(out, "{line}").expect("writing to memory cannot fail");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_same_every_time_and_has_lines_of_every_size() {
        let made = || {
            let mut out = String::new();
            let mut turns = Turns { chance: 1, count: 0 };
            for _ in 0..HUGE_EVERY {
                turns.next(&mut out);
            }
            out
        };
        let text = made();
        assert_eq!(text, made());
        let longest = text.lines().map(str::len).max().unwrap();
        assert!((1_000_000..1 << 20).contains(&longest), "{longest}");
        let small = text.lines().filter(|line| line.len() < 1000).count();
        assert!(small * 10 > text.lines().count() * 9, "{small}");
        let small_bytes: usize = text.lines().map(str::len).filter(|size| *size < 2000).sum();
        let share = small_bytes * 100 / text.len();
        assert!((20..40).contains(&share), "{share} % of the bytes are in small lines");
    }
}

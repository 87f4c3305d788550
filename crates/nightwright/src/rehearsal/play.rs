//! Plays one scene: its steps, then its end.

use std::io::{self, BufRead, Write};
use std::process::ExitCode;
use std::thread::sleep;
use std::time::Duration;

use jiff::Timestamp;
use nightwright_core::units::Usd;
use rustix::process::{Signal, getpid, kill_process};
use serde_json::{Value, json};

use super::failure::ApiError;
use super::scene_end::SceneEnd;
use super::script::{Scene, SceneReply, ScriptUsage, ScriptVerdict};
use super::step::SceneStep;
use super::stream::{PrintedBlock, StreamPrinter, TurnResult};
use super::tools;

/// How long a scene hangs: even a forgotten process must exit eventually.
const HANG_TIME: Duration = Duration::from_hours(1);
/// The default cost of a scene.
const COST: Usd = Usd::from_cents(1);
/// The text of a scene without any text.
const DONE: &str = "Done.";
/// The default reply to a further message.
const REPLY: &str = "Understood, continuing.";

/// The input after the prompt: closed, or a session that stays open.
pub(super) enum PlayInput<R> {
    Closed,
    Open(R),
}

/// Plays a scene and returns the exit code of the process.
pub(super) fn play<W: Write, R: BufRead>(
    scene: &Scene,
    model: &str,
    prompt: &str,
    mut stream: StreamPrinter<W>,
    input: PlayInput<R>,
    on_message: impl FnMut(&str),
) -> io::Result<ExitCode> {
    match &scene.end {
        SceneEnd::HangAtStart(_) => return Ok(hang()),
        SceneEnd::SilentExit(code) => return Ok(exit(*code)),
        SceneEnd::BadStart(text) => {
            // If standard error is closed, the exit code must be enough.
            let _ = writeln!(io::stderr(), "{text}");
            return Ok(ExitCode::FAILURE);
        }
        SceneEnd::LastWords
        | SceneEnd::Result(_)
        | SceneEnd::Verdict { .. }
        | SceneEnd::Answer(_)
        | SceneEnd::HangAfterResult(..)
        | SceneEnd::Hang(_)
        | SceneEnd::Crash(_)
        | SceneEnd::Signal(_)
        | SceneEnd::MaxTurns
        | SceneEnd::Budget
        | SceneEnd::Failure(_) => {}
    }
    stream.init()?;
    stream.acknowledge(prompt)?;
    let mut shares = TokenShares::of(scene);
    for step in &scene.steps {
        play_step(&mut stream, step, &mut shares)?;
    }
    let code = end(scene, model, &mut stream, &mut shares)?;
    if let PlayInput::Open(lines) = input
        && scene.end.has_result()
    {
        converse(scene, &mut stream, lines, on_message)?;
    }
    match &scene.end {
        SceneEnd::HangAfterResult(..) => Ok(hang()),
        _ => Ok(code),
    }
}

/// Divides the tokens of a scene among its messages.
struct TokenShares {
    whole: ScriptUsage,
    count: u64,
    given: u64,
}

impl TokenShares {
    fn of(scene: &Scene) -> Self {
        let whole = scene.tokens.unwrap_or(ScriptUsage::TYPICAL);
        Self::among(whole, &scene.steps, final_text(scene))
    }

    fn among(whole: ScriptUsage, steps: &[SceneStep], last_words: Option<&str>) -> Self {
        let steps = steps.iter().filter(|step| step.is_message()).count() as u64;
        Self { whole, count: (steps + u64::from(last_words.is_some())).max(1), given: 0 }
    }

    fn next(&mut self) -> ScriptUsage {
        let share = self.whole.share(self.given, self.count);
        self.given += 1;
        share
    }
}

/// Returns the final text of the model, in addition to the steps.
fn final_text(scene: &Scene) -> Option<&str> {
    match &scene.end {
        SceneEnd::Result(text) | SceneEnd::HangAfterResult(text, _) => Some(text),
        SceneEnd::Verdict { reason, .. } => Some(reason),
        SceneEnd::Answer(_) => Some(DONE),
        SceneEnd::LastWords if last_text(&scene.steps).is_none() => Some(DONE),
        SceneEnd::LastWords
        | SceneEnd::Hang(_)
        | SceneEnd::HangAtStart(_)
        | SceneEnd::Crash(_)
        | SceneEnd::Signal(_)
        | SceneEnd::SilentExit(_)
        | SceneEnd::BadStart(_)
        | SceneEnd::MaxTurns
        | SceneEnd::Budget
        | SceneEnd::Failure(_) => None,
    }
}

fn play_step<W: Write>(
    stream: &mut StreamPrinter<W>,
    step: &SceneStep,
    shares: &mut TokenShares,
) -> io::Result<()> {
    let allowed = match step {
        SceneStep::Denied { command: Some(command), .. } => stream.allows(command),
        _ => false,
    };
    let mut tool = |name: &str, input: Value, use_it: &dyn Fn() -> tools::ToolResult| {
        let call = stream.message(&PrintedBlock::Tool { name, input }, shares.next())?;
        let outcome = use_it();
        stream.tool_result(&call, outcome.as_deref().map_err(String::as_str))
    };
    match step {
        SceneStep::Write { path, text } => {
            tool("Write", json!({"file_path": path, "content": text}), &|| tools::write(path, text))
        }
        SceneStep::Edit { path, old, new } => {
            tool("Edit", json!({"file_path": path, "old_string": old, "new_string": new}), &|| {
                tools::edit(path, old, new)
            })
        }
        SceneStep::Run(command) => {
            tool("Bash", json!({"command": command}), &|| tools::run(command))
        }
        SceneStep::Read(path) => tool("Read", json!({"file_path": path}), &|| tools::read(path)),
        SceneStep::Denied { tool: _, command: Some(command) } if allowed => {
            tool("Bash", json!({"command": command}), &|| tools::run(command))
        }
        SceneStep::Denied { tool: name, command } => {
            let input = json!({"command": command.as_deref().unwrap_or("true")});
            let call = stream
                .message(&PrintedBlock::Tool { name, input: input.clone() }, shares.next())?;
            stream.denied(name, &call, &input)
        }
        SceneStep::Say(text) => stream.message(&PrintedBlock::Text(text), shares.next()).map(drop),
        SceneStep::Think(text) => {
            stream.message(&PrintedBlock::Thinking(text), shares.next()).map(drop)
        }
        SceneStep::Wait(time) => {
            sleep(*time);
            Ok(())
        }
        SceneStep::Garbage(line) => stream.raw(format!("{line}\n").as_bytes()),
        SceneStep::Flood(bytes) => flood(stream, *bytes),
        SceneStep::Quota { used, window } => {
            let resets = Timestamp::now() + jiff::SignedDuration::from_hours(2);
            stream.quota(*used, *window, resets)
        }
        SceneStep::Compact => stream.compaction(),
    }
}

/// Prints lines of 64 bytes, one block at a time.
fn flood<W: Write>(stream: &mut StreamPrinter<W>, bytes: u64) -> io::Result<()> {
    let line = format!("{}\n", "noise ".repeat(11).trim_end());
    let block = line.repeat(1024).into_bytes();
    let mut left = usize::try_from(bytes).unwrap_or(usize::MAX);
    while left > 0 {
        let size = left.min(block.len());
        stream.raw(&block[..size])?;
        left -= size;
    }
    // The next message starts on a new line.
    stream.raw(b"\n")
}

fn end<W: Write>(
    scene: &Scene,
    model: &str,
    stream: &mut StreamPrinter<W>,
    shares: &mut TokenShares,
) -> io::Result<ExitCode> {
    if let Some(text) = final_text(scene) {
        stream.message(&PrintedBlock::Text(text), shares.next())?;
    }
    let cost = if stream.has_output() { scene.cost.unwrap_or(COST) } else { Usd::ZERO };
    let verdict = match &scene.end {
        SceneEnd::Verdict { verdict, reason, missing } => {
            ruling(*verdict, reason, missing, stream.is_shaped())
        }
        SceneEnd::Answer(answer) => structured(answer),
        SceneEnd::Result(text) | SceneEnd::HangAfterResult(text, _) => success(text),
        SceneEnd::LastWords => success(last_text(&scene.steps).unwrap_or(DONE)),
        SceneEnd::MaxTurns => {
            used_up("error_max_turns", "max_turns", "Reached maximum number of turns (1)")
        }
        SceneEnd::Budget => {
            used_up("error_max_budget_usd", "budget_exhausted", "Reached maximum budget")
        }
        SceneEnd::Failure(failure) => {
            let error = ApiError::of(failure, model, Timestamp::now());
            stream.failure(&error, cost)?;
            return Ok(ExitCode::FAILURE);
        }
        SceneEnd::Hang(_) | SceneEnd::HangAtStart(_) => return Ok(hang()),
        SceneEnd::Crash(code) | SceneEnd::SilentExit(code) => return Ok(exit(*code)),
        SceneEnd::Signal(number) => return Ok(die(*number)),
        SceneEnd::BadStart(_) => return Ok(ExitCode::FAILURE),
    };
    let code = if verdict.is_error { ExitCode::FAILURE } else { ExitCode::SUCCESS };
    stream.result(verdict, cost)?;
    Ok(code)
}

fn last_text(steps: &[SceneStep]) -> Option<&str> {
    steps.iter().rev().find_map(|step| match step {
        SceneStep::Say(text) => Some(text.as_str()),
        _ => None,
    })
}

fn success(text: &str) -> TurnResult<'static> {
    TurnResult {
        subtype: "success",
        is_error: false,
        terminal_reason: "completed",
        stop_reason: "end_turn",
        extra: json!({"result": text}),
    }
}

fn used_up(
    subtype: &'static str,
    terminal_reason: &'static str,
    error: &str,
) -> TurnResult<'static> {
    TurnResult {
        subtype,
        is_error: true,
        terminal_reason,
        stop_reason: "tool_use",
        extra: json!({"errors": [error]}),
    }
}

/// Returns a verdict that matches the schema, or without a schema a text that ends with the verdict
/// line.
fn ruling(
    verdict: ScriptVerdict,
    reason: &str,
    missing: &[String],
    shaped: bool,
) -> TurnResult<'static> {
    let word = match verdict {
        ScriptVerdict::Yes => "yes",
        ScriptVerdict::No => "no",
        ScriptVerdict::Unreadable => return success(reason),
    };
    if !shaped {
        let line = reason.replace('\n', " ");
        return success(&format!("{reason}\n\nVERDICT: {word} - {line}"));
    }
    let answer = json!({"verdict": word, "reason": reason, "missing": missing});
    let result = answer.to_string();
    TurnResult {
        stop_reason: "tool_use",
        extra: json!({"result": result, "structured_output": answer}),
        ..success("")
    }
}

/// Returns an answer that matches the schema, or a string if it is not valid JSON.
fn structured(answer: &str) -> TurnResult<'static> {
    match serde_json::from_str::<Value>(answer) {
        Ok(value) => TurnResult {
            stop_reason: "tool_use",
            extra: json!({"result": answer, "structured_output": value}),
            ..success("")
        },
        Err(_) => success(answer),
    }
}

/// Answers every further message of a session that stays open, each with a separate result.
fn converse<W: Write, R: BufRead>(
    scene: &Scene,
    stream: &mut StreamPrinter<W>,
    lines: R,
    mut on_message: impl FnMut(&str),
) -> io::Result<()> {
    let usual = SceneReply { says: Some(REPLY.to_owned()), ..SceneReply::default() };
    let mut replies = scene.replies.iter();
    let last = scene.replies.last().unwrap_or(&usual);
    for line in lines.lines() {
        let line = line?;
        let Some(text) = super::live_message(&line) else {
            continue;
        };
        on_message(&text);
        stream.init()?;
        stream.acknowledge(&text)?;
        answer(replies.next().unwrap_or(last), stream)?;
    }
    Ok(())
}

fn answer<W: Write>(reply: &SceneReply, stream: &mut StreamPrinter<W>) -> io::Result<()> {
    let last = last_text(&reply.steps);
    let last_words = reply.says.as_deref().or(if last.is_none() { Some(REPLY) } else { None });
    let mut shares = TokenShares::among(ScriptUsage::TYPICAL, &reply.steps, last_words);
    for step in &reply.steps {
        play_step(stream, step, &mut shares)?;
    }
    if let Some(text) = last_words {
        stream.message(&PrintedBlock::Text(text), shares.next())?;
    }
    stream.result(success(last_words.or(last).unwrap_or(REPLY)), COST)
}

fn hang() -> ExitCode {
    sleep(HANG_TIME);
    ExitCode::FAILURE
}

fn exit(code: i32) -> ExitCode {
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}

/// Kills the process with a signal; if that signal does not kill it, returns the corresponding exit
/// code.
fn die(number: i32) -> ExitCode {
    if let Some(signal) = Signal::from_named_raw(number) {
        // If the signal cannot be sent, the exit code below is used.
        let _ = kill_process(getpid(), signal);
    }
    exit(128 + number)
}

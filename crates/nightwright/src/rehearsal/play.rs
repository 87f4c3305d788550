//! Plays one scene: its steps, then its ending.

use std::io::{self, BufRead, Write};
use std::process::ExitCode;
use std::thread::sleep;
use std::time::Duration;

use jiff::Timestamp;
use nightwright_core::units::Usd;
use rustix::process::{Signal, getpid, kill_process};
use serde_json::{Value, json};

use super::ending::Ending;
use super::failure::ApiError;
use super::script::{Reply, Ruling, Scene, Usage};
use super::step::Step;
use super::stream::{Block, Stream, Verdict};
use super::tools;

/// Even what "never ends" ends: nobody comes back for a process forgotten for so long.
const FOREVER: Duration = Duration::from_hours(1);
/// What a scene costs if it does not say.
const COST: Usd = Usd::from_cents(1);
/// What is said by a scene that says nothing.
const DONE: &str = "Done.";
/// What is said to a further message if the scene does not say.
const REPLY: &str = "Understood, I go on.";

/// The input after the prompt: closed, or a session that stays open.
pub(super) enum Input<R> {
    Closed,
    Open(R),
}

/// Plays a scene and gives back the exit code of the process, if it comes to that.
pub(super) fn play<W: Write, R: BufRead>(
    scene: &Scene,
    model: &str,
    prompt: &str,
    mut stream: Stream<W>,
    input: Input<R>,
    heard: impl FnMut(&str),
) -> io::Result<ExitCode> {
    match &scene.ending {
        Ending::HangAtStart(_) => return Ok(hang()),
        Ending::SilentExit(code) => return Ok(exit(*code)),
        Ending::BadStart(text) => {
            // Nobody to tell when standard error is closed; the exit code says enough.
            let _ = writeln!(io::stderr(), "{text}");
            return Ok(ExitCode::FAILURE);
        }
        Ending::LastWords
        | Ending::Result(_)
        | Ending::Verdict { .. }
        | Ending::Answer(_)
        | Ending::HangAfterResult(..)
        | Ending::Hang(_)
        | Ending::Crash(_)
        | Ending::Signal(_)
        | Ending::MaxTurns
        | Ending::Budget
        | Ending::Failure(_) => {}
    }
    stream.init()?;
    stream.take_up(prompt)?;
    let mut shares = Shares::of(scene);
    for step in &scene.steps {
        perform(&mut stream, step, &mut shares)?;
    }
    let code = end(scene, model, &mut stream, &mut shares)?;
    if let Input::Open(lines) = input
        && scene.ending.has_result()
    {
        converse(scene, &mut stream, lines, heard)?;
    }
    match &scene.ending {
        Ending::HangAfterResult(..) => Ok(hang()),
        _ => Ok(code),
    }
}

/// Divides the tokens of a scene among its messages.
struct Shares {
    whole: Usage,
    count: u64,
    given: u64,
}

impl Shares {
    fn of(scene: &Scene) -> Self {
        let whole = scene.tokens.unwrap_or(Usage::TYPICAL);
        Self::among(whole, &scene.steps, last_words(scene))
    }

    fn among(whole: Usage, steps: &[Step], last_words: Option<&str>) -> Self {
        let steps = steps.iter().filter(|step| step.is_message()).count() as u64;
        Self { whole, count: (steps + u64::from(last_words.is_some())).max(1), given: 0 }
    }

    fn next(&mut self) -> Usage {
        let share = self.whole.share(self.given, self.count);
        self.given += 1;
        share
    }
}

/// What the model says at the end, beyond the steps.
fn last_words(scene: &Scene) -> Option<&str> {
    match &scene.ending {
        Ending::Result(text) | Ending::HangAfterResult(text, _) => Some(text),
        Ending::Verdict { reason, .. } => Some(reason),
        Ending::Answer(_) => Some(DONE),
        Ending::LastWords if last_said(&scene.steps).is_none() => Some(DONE),
        Ending::LastWords
        | Ending::Hang(_)
        | Ending::HangAtStart(_)
        | Ending::Crash(_)
        | Ending::Signal(_)
        | Ending::SilentExit(_)
        | Ending::BadStart(_)
        | Ending::MaxTurns
        | Ending::Budget
        | Ending::Failure(_) => None,
    }
}

fn perform<W: Write>(stream: &mut Stream<W>, step: &Step, shares: &mut Shares) -> io::Result<()> {
    let allowed = match step {
        Step::Denied { command: Some(command), .. } => stream.allows(command),
        _ => false,
    };
    let mut tool = |name: &str, input: Value, use_it: &dyn Fn() -> tools::Outcome| {
        let call = stream.message(&Block::Tool { name, input }, shares.next())?;
        let outcome = use_it();
        stream.tool_result(&call, outcome.as_deref().map_err(String::as_str))
    };
    match step {
        Step::Write { path, text } => {
            tool("Write", json!({"file_path": path, "content": text}), &|| tools::write(path, text))
        }
        Step::Edit { path, old, new } => {
            tool("Edit", json!({"file_path": path, "old_string": old, "new_string": new}), &|| {
                tools::edit(path, old, new)
            })
        }
        Step::Run(command) => tool("Bash", json!({"command": command}), &|| tools::run(command)),
        Step::Read(path) => tool("Read", json!({"file_path": path}), &|| tools::read(path)),
        Step::Denied { tool: _, command: Some(command) } if allowed => {
            tool("Bash", json!({"command": command}), &|| tools::run(command))
        }
        Step::Denied { tool: name, command } => {
            let input = json!({"command": command.as_deref().unwrap_or("true")});
            let call =
                stream.message(&Block::Tool { name, input: input.clone() }, shares.next())?;
            stream.denied(name, &call, &input)
        }
        Step::Say(text) => stream.message(&Block::Text(text), shares.next()).map(drop),
        Step::Think(text) => stream.message(&Block::Thinking(text), shares.next()).map(drop),
        Step::Wait(time) => {
            sleep(*time);
            Ok(())
        }
        Step::Garbage(line) => stream.raw(format!("{line}\n").as_bytes()),
        Step::Flood(bytes) => flood(stream, *bytes),
        Step::Quota { used, window } => {
            let resets = Timestamp::now() + jiff::SignedDuration::from_hours(2);
            stream.quota(*used, *window, resets)
        }
        Step::Compact => stream.compaction(),
    }
}

/// Lines of 64 bytes, a block at a time.
fn flood<W: Write>(stream: &mut Stream<W>, bytes: u64) -> io::Result<()> {
    let line = format!("{}\n", "noise ".repeat(11).trim_end());
    let block = line.repeat(1024).into_bytes();
    let mut left = usize::try_from(bytes).unwrap_or(usize::MAX);
    while left > 0 {
        let size = left.min(block.len());
        stream.raw(&block[..size])?;
        left -= size;
    }
    // The message after it begins a line of its own.
    stream.raw(b"\n")
}

fn end<W: Write>(
    scene: &Scene,
    model: &str,
    stream: &mut Stream<W>,
    shares: &mut Shares,
) -> io::Result<ExitCode> {
    if let Some(text) = last_words(scene) {
        stream.message(&Block::Text(text), shares.next())?;
    }
    let cost = if stream.has_spoken() { scene.cost.unwrap_or(COST) } else { Usd::ZERO };
    let verdict = match &scene.ending {
        Ending::Verdict { verdict, reason, missing } => {
            ruling(*verdict, reason, missing, stream.is_shaped())
        }
        Ending::Answer(answer) => structured(answer),
        Ending::Result(text) | Ending::HangAfterResult(text, _) => success(text),
        Ending::LastWords => success(last_said(&scene.steps).unwrap_or(DONE)),
        Ending::MaxTurns => {
            used_up("error_max_turns", "max_turns", "Reached maximum number of turns (1)")
        }
        Ending::Budget => {
            used_up("error_max_budget_usd", "budget_exhausted", "Reached maximum budget")
        }
        Ending::Failure(failure) => {
            let error = ApiError::of(failure, model, Timestamp::now());
            stream.failure(&error, cost)?;
            return Ok(ExitCode::FAILURE);
        }
        Ending::Hang(_) | Ending::HangAtStart(_) => return Ok(hang()),
        Ending::Crash(code) | Ending::SilentExit(code) => return Ok(exit(*code)),
        Ending::Signal(number) => return Ok(die(*number)),
        Ending::BadStart(_) => return Ok(ExitCode::FAILURE),
    };
    let code = if verdict.is_error { ExitCode::FAILURE } else { ExitCode::SUCCESS };
    stream.result(verdict, cost)?;
    Ok(code)
}

fn last_said(steps: &[Step]) -> Option<&str> {
    steps.iter().rev().find_map(|step| match step {
        Step::Say(text) => Some(text.as_str()),
        _ => None,
    })
}

fn success(text: &str) -> Verdict<'static> {
    Verdict {
        subtype: "success",
        is_error: false,
        terminal_reason: "completed",
        stop_reason: "end_turn",
        extra: json!({"result": text}),
    }
}

fn used_up(subtype: &'static str, terminal_reason: &'static str, error: &str) -> Verdict<'static> {
    Verdict {
        subtype,
        is_error: true,
        terminal_reason,
        stop_reason: "tool_use",
        extra: json!({"errors": [error]}),
    }
}

/// A verdict in the shape that was asked for; without one in words, with the line that was asked for
/// instead.
fn ruling(verdict: Ruling, reason: &str, missing: &[String], shaped: bool) -> Verdict<'static> {
    let word = match verdict {
        Ruling::Yes => "yes",
        Ruling::No => "no",
        Ruling::Unreadable => return success(reason),
    };
    if !shaped {
        let line = reason.replace('\n', " ");
        return success(&format!("{reason}\n\nVERDICT: {word} - {line}"));
    }
    let answer = json!({"verdict": word, "reason": reason, "missing": missing});
    let result = answer.to_string();
    Verdict {
        stop_reason: "tool_use",
        extra: json!({"result": result, "structured_output": answer}),
        ..success("")
    }
}

/// An answer in the shape that was asked for; words where it is no JSON.
fn structured(answer: &str) -> Verdict<'static> {
    match serde_json::from_str::<Value>(answer) {
        Ok(value) => Verdict {
            stop_reason: "tool_use",
            extra: json!({"result": answer, "structured_output": value}),
            ..success("")
        },
        Err(_) => success(answer),
    }
}

/// A session that stays open: every further message gets an answer and a result of its own.
fn converse<W: Write, R: BufRead>(
    scene: &Scene,
    stream: &mut Stream<W>,
    lines: R,
    mut heard: impl FnMut(&str),
) -> io::Result<()> {
    let usual = Reply { says: Some(REPLY.to_owned()), ..Reply::default() };
    let mut replies = scene.replies.iter();
    let last = scene.replies.last().unwrap_or(&usual);
    for line in lines.lines() {
        let line = line?;
        let Some(text) = super::live_message(&line) else {
            continue;
        };
        heard(&text);
        stream.init()?;
        stream.take_up(&text)?;
        answer(replies.next().unwrap_or(last), stream)?;
    }
    Ok(())
}

fn answer<W: Write>(reply: &Reply, stream: &mut Stream<W>) -> io::Result<()> {
    let said = last_said(&reply.steps);
    let last_words = reply.says.as_deref().or(if said.is_none() { Some(REPLY) } else { None });
    let mut shares = Shares::among(Usage::TYPICAL, &reply.steps, last_words);
    for step in &reply.steps {
        perform(stream, step, &mut shares)?;
    }
    if let Some(text) = last_words {
        stream.message(&Block::Text(text), shares.next())?;
    }
    stream.result(success(last_words.or(said).unwrap_or(REPLY)), COST)
}

fn hang() -> ExitCode {
    sleep(FOREVER);
    ExitCode::FAILURE
}

fn exit(code: i32) -> ExitCode {
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}

/// Dies by a signal; by an exit code that says so if that signal does not kill.
fn die(number: i32) -> ExitCode {
    if let Some(signal) = Signal::from_named_raw(number) {
        // If it can't be sent the exit code below has to do.
        let _ = kill_process(getpid(), signal);
    }
    exit(128 + number)
}

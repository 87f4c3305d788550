//! `nightwright inspect`: show a recorded stream of the agent, and how a run would classify it.
//!
//! The stream passes through the same reader, transcript and classification as a live one, line by
//! line. Memory use is limited by the longest line. The text output parses each line a second time,
//! as for a live stream. It shows the beginning of a string, and the transcript keeps the end.
//!
//! Secrets are masked, as in a live stream. A recording from elsewhere contains them unmasked; the
//! files of a run are masked already.

use std::env;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, value_parser};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use nightwright_core::display::{display_safe, one_line};
use nightwright_core::outcome::count;
use nightwright_core::permissions::denial::{self, Denial};
use nightwright_core::phrases::thousands;
use nightwright_core::redact::{Secrets, StreamMasker};
use nightwright_core::settings::Completion;
use nightwright_core::stream::dialect::Dialect;
use nightwright_core::stream::lines::{LineSplitter, StreamLine};
use nightwright_core::stream::news::{AttemptReport, TextEvidence};
use nightwright_core::stream::outcome::{AttemptOutcome, Consequence, ProcessExit};
use nightwright_core::stream::output_masker::OutputMasker;
use nightwright_core::stream::transcript::{
    AttemptExit, FinishedTranscript, Transcript, TranscriptOptions,
};
use nightwright_core::units::{AttemptId, Tokens, Usd};
use serde::Serialize;

use crate::config::{ColorChoice, OutputLevel};
use crate::console::print;
use crate::error::Failure;
use crate::files;
use crate::output::follow::show;
use crate::output::{self, OutputCapabilities, Reporter, Speaker, Style};
use crate::process::OutputTail;
use crate::secrets;

/// Bytes per read of the recording.
const CHUNK: usize = 256 << 10;

/// Maximum bytes kept from the end of standard error, as for a live stream.
const MAX_STDERR: usize = 16 << 10;

/// Maximum characters of a reason that are shown.
const MAX_WHY: usize = 500;

#[derive(Clone, Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub(super) struct InspectArgs {
    /// Recorded standard output of the agent, one JSON object per line (`-`: standard input)
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Exit code of the agent process
    #[arg(long, value_name = "N", value_parser = value_parser!(i32).range(0..=255), allow_negative_numbers = true, conflicts_with = "signal")]
    exit_code: Option<i32>,

    /// Signal that killed the agent process
    #[arg(long, value_name = "N", value_parser = value_parser!(i32).range(1..=64), allow_negative_numbers = true)]
    signal: Option<i32>,

    /// Recorded standard error of the agent
    #[arg(long, value_name = "FILE")]
    stderr: Option<PathBuf>,

    /// Print one JSON object instead of the stream
    #[arg(long)]
    json: bool,
}

const AFTER_HELP: &str = "\
Without --exit-code and --signal, a stream without a result counts as a failed process (exit code 1).

Fields of the --json object:
  outcome         outcome of the attempt, such as finished, usage_limited or crashed
  retry           next action of the run:
                    no     assess the work, without another attempt
                    retry  start another attempt (after `suspect`, only if there is no work)
                    wait   wait for the limit to reset, then start another attempt
                    fail   fail the iteration: retrying this prompt cannot succeed
                    stop   end the run: no attempt can succeed
  until           time of the reset, or null if unknown
  cost_usd        cost in US dollars, or null if unknown
  cost_estimated  whether the cost is an estimate rather than the agent's own figure
  tokens          tokens of all models: input, output, cache_read, cache_write
  turns           number of turns that the agent counts
  results         number of results: one per turn of the conversation
  tool_calls      number of tool calls, including those of sub-agents
  tool_errors     number of failed tool calls
  bad_lines       number of lines that are not messages
  unknown_events  number of events and results that this version of nightwright does not know
  final_text      last message of the agent
  markers         markers in the last message: promise, signal, end_phrase, states_done, blockers";

/// The object that `--json` prints.
#[derive(Debug, Serialize)]
struct InspectReport {
    outcome: &'static str,
    retry: &'static str,
    until: Option<Timestamp>,
    cost_usd: Option<Usd>,
    cost_estimated: bool,
    tokens: Tokens,
    turns: u32,
    results: u32,
    tool_calls: u32,
    tool_errors: u32,
    bad_lines: u64,
    unknown_events: u64,
    final_text: String,
    markers: Vec<&'static str>,
}

pub(super) fn inspect(options: &InspectArgs) -> Result<ExitCode, Failure> {
    let secrets = secrets::of_environment(&[])?;
    let stderr = options.stderr.as_deref().map(|path| read_stderr(path, &secrets)).transpose()?;
    let (mut stream, now) = open(&options.file)?;
    let shown = if options.json { None } else { Some(InspectScreen::new()) };
    let mut recording = InspectedStream::new(shown, secrets);
    recording.read(&mut *stream, &options.file)?;
    let finished = recording.finish(options.death(), stderr, now);
    if options.json {
        let object = serde_json::to_string(&InspectReport::from(finished))
            .map_err(|error| Failure::trouble(format!("cannot write it as JSON: {error}")))?;
        print(&object)?;
    } else {
        print(&summary(&finished.report))?;
    }
    Ok(ExitCode::SUCCESS)
}

impl InspectArgs {
    fn death(&self) -> Option<ProcessExit> {
        self.signal.map(ProcessExit::Signal).or(self.exit_code.map(ProcessExit::Code))
    }
}

/// Opens the recording. Also returns the time of its last line, as far as known, because dates in
/// messages have no year and times have no day.
fn open(path: &Path) -> Result<(Box<dyn Read>, Timestamp), Failure> {
    if path == Path::new("-") {
        return Ok((Box::new(io::stdin().lock()), Timestamp::now()));
    }
    let file = open_file(
        path,
        "a file with the recorded output of the agent, such as `output/001-1.ndjson`",
    )?;
    let written = file.metadata().and_then(|facts| facts.modified()).ok();
    let written = written.and_then(|time| Timestamp::try_from(time).ok());
    Ok((Box::new(file), written.unwrap_or_else(Timestamp::now)))
}

/// Opens a file; `wanted` describes the expected file in the error message.
fn open_file(path: &Path, wanted: &str) -> Result<File, Failure> {
    // Following a link is fine here, but a pipe or a device could block or never end.
    let target = path.canonicalize().map_err(|error| unreadable(path, &error))?;
    let kind = target.symlink_metadata().map_err(|error| unreadable(path, &error))?;
    if kind.is_dir() {
        return Err(Failure::trouble(format!("cannot read `{}`: it is a folder", path.display()))
            .hint(format!("pass {wanted}")));
    }
    files::open_regular(&target).map_err(|error| {
        let failure = unreadable(path, &error);
        if kind.is_file() {
            failure
        } else {
            failure.hint("pass a regular file, or `-` to read the standard input")
        }
    })
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Failure::trouble(format!("cannot read `{}`: {error}", path.display()))
}

fn read_stderr(path: &Path, secrets: &Secrets) -> Result<OutputTail, Failure> {
    let mut file = open_file(path, "a file with what the agent printed on standard error")?;
    let mut tail = OutputTail::new(MAX_STDERR);
    let mut masking = StreamMasker::new(secrets.clone());
    chunks(&mut file, |chunk| {
        masking.push(chunk, |text| tail.push(text));
        Ok(())
    })
    .map_err(|error| unreadable(path, &error))?;
    masking.finish(|text| tail.push(text));
    Ok(tail)
}

/// Reads a stream to its end, in chunks.
fn chunks(stream: &mut dyn Read, mut each: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let mut buffer = vec![0; CHUNK];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(size) => each(&buffer[..size])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// The display of the stream for the terminal.
struct InspectScreen {
    lines: LineSplitter,
    reporter: Box<dyn Reporter + Send>,
}

impl InspectScreen {
    fn new() -> Self {
        let surroundings = OutputCapabilities::of(env::var_os, &io::stdout());
        let style = Style::new(ColorChoice::Auto, &surroundings);
        let reporter = output::reporter(OutputLevel::Verbose, style, Box::new(io::stdout()));
        Self { lines: Dialect::Claude.lines_to_show(), reporter }
    }

    fn push(&mut self, chunk: &[u8]) -> io::Result<()> {
        let Self { lines, reporter } = self;
        let mut shown = Ok(());
        lines.push(chunk, |line| show_line(&mut shown, line, reporter.as_mut()));
        shown
    }

    fn close(&mut self) -> io::Result<()> {
        let Self { lines, reporter } = self;
        let mut shown = Ok(());
        lines.finish(|line| show_line(&mut shown, line, reporter.as_mut()));
        shown?;
        reporter.close()
    }
}

fn show_line(shown: &mut io::Result<()>, line: StreamLine<'_>, reporter: &mut dyn Reporter) {
    if shown.is_ok() {
        *shown = show(Dialect::Claude, Speaker::Attempt(AttemptId(1)), line, reporter);
    }
}

/// A stream that is being fed to the transcript.
struct InspectedStream {
    masking: OutputMasker,
    lines: LineSplitter,
    transcript: Transcript,
    bytes: u64,
    /// `None` if nothing is shown, or if writing has failed.
    screen: Option<InspectScreen>,
    /// The error that ended the display, if any.
    write_error: Option<io::Error>,
}

impl InspectedStream {
    fn new(screen: Option<InspectScreen>, secrets: Secrets) -> Self {
        let transcript = Transcript::new(TranscriptOptions {
            dialect: Dialect::Claude,
            completion: &Completion::default(),
            secrets: &secrets,
            purpose: None,
            live: false,
            started: Duration::ZERO,
        });
        let masking = OutputMasker::new(Dialect::Claude, secrets);
        let lines = Dialect::Claude.lines();
        Self { masking, lines, transcript, bytes: 0, screen, write_error: None }
    }

    fn read(&mut self, stream: &mut dyn Read, path: &Path) -> Result<(), Failure> {
        chunks(stream, |chunk| {
            self.push(chunk);
            Ok(())
        })
        .map_err(|error| unreadable(path, &error))?;
        self.last_line();
        match self.write_error.take() {
            // The reader closed the pipe, which is not an error.
            Some(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            Some(error) => {
                Err(Failure::trouble(format!("cannot write to standard output: {error}")))
            }
            None => Ok(()),
        }
    }

    fn push(&mut self, chunk: &[u8]) {
        self.bytes += chunk.len() as u64;
        let Self { masking, lines, transcript, .. } = self;
        let mut shown = Vec::new();
        lines.push(chunk, |line| take(transcript, line));
        masking.push(chunk, |text| shown.extend_from_slice(text));
        self.on_screen(|screen| screen.push(&shown));
    }

    fn last_line(&mut self) {
        let Self { masking, lines, transcript, .. } = self;
        let mut shown = Vec::new();
        lines.finish(|line| take(transcript, line));
        masking.finish(|text| shown.extend_from_slice(text));
        self.on_screen(|screen| {
            screen.push(&shown)?;
            screen.close()
        });
    }

    fn on_screen(&mut self, show: impl FnOnce(&mut InspectScreen) -> io::Result<()>) {
        let Some(screen) = &mut self.screen else { return };
        if let Err(error) = show(screen) {
            self.write_error = Some(error);
            self.screen = None;
        }
    }

    fn finish(
        self,
        exit: Option<ProcessExit>,
        stderr: Option<OutputTail>,
        now: Timestamp,
    ) -> FinishedTranscript {
        let stderr_bytes = stderr.as_ref().map_or(0, OutputTail::total);
        let stderr = stderr.map(OutputTail::into_text).unwrap_or_default();
        let closing = AttemptExit {
            exit: exit.or(Some(ProcessExit::Code(1))),
            cut: None,
            stderr: &stderr,
            stdout_bytes: self.bytes,
            stderr_bytes,
            zone: Some(&TimeZone::system()),
        };
        self.transcript.conclude(Duration::ZERO, now, closing)
    }
}

fn take(transcript: &mut Transcript, line: StreamLine<'_>) {
    match line {
        StreamLine::Whole(line) => transcript.line(Duration::ZERO, line, &mut |_| {}, &mut |_| {}),
        StreamLine::TooLong { .. } => transcript.unreadable(Duration::ZERO),
    }
}

impl From<FinishedTranscript> for InspectReport {
    fn from(finished: FinishedTranscript) -> Self {
        let FinishedTranscript { report, final_text } = finished;
        let (cost_usd, cost_estimated) = cost(&report);
        let stream = report.stream;
        Self {
            outcome: report.outcome.name(),
            retry: follows(&report.outcome.consequence()),
            until: until(&report.outcome),
            cost_usd,
            cost_estimated,
            tokens: report.tokens,
            turns: report.turns,
            results: stream.results,
            tool_calls: stream.tool_calls,
            tool_errors: stream.tool_errors,
            bad_lines: stream.bad_lines,
            unknown_events: stream.unknown_events,
            final_text,
            markers: markers(&report.text_evidence),
        }
    }
}

/// Returns the cost, and whether it is an estimate.
fn cost(report: &AttemptReport) -> (Option<Usd>, bool) {
    if let Some(cost) = report.cost {
        return (Some(cost), false);
    }
    let unseen = report.priced.unwrap_or_default() == Usd::ZERO && report.tokens.is_zero();
    let silent = report.stream.stdout_bytes == 0 || report.stream.results > 0;
    let free = unseen && silent && report.outcome.never_asked();
    (if free { Some(Usd::ZERO) } else { report.priced }, !free)
}

fn until(outcome: &AttemptOutcome) -> Option<Timestamp> {
    match outcome.consequence() {
        Consequence::Wait { until, .. } => until,
        Consequence::Assess
        | Consequence::AssessWorkTree
        | Consequence::Retry
        | Consequence::FailIteration { .. }
        | Consequence::EndRun { .. } => None,
    }
}

/// Returns a short name for what a run does next.
fn follows(consequence: &Consequence) -> &'static str {
    match consequence {
        Consequence::Assess => "no",
        Consequence::AssessWorkTree | Consequence::Retry => "retry",
        Consequence::Wait { .. } => "wait",
        Consequence::FailIteration { .. } => "fail",
        Consequence::EndRun { .. } => "stop",
    }
}

fn markers(words: &TextEvidence) -> Vec<&'static str> {
    carried(words).map(|(name, _)| name).collect()
}

/// Returns the evidence in the last message: its name for JSON, and a description.
fn carried(words: &TextEvidence) -> impl Iterator<Item = (&'static str, &'static str)> {
    let all = [
        (words.promise, ("promise", "the completion marker")),
        (words.signal, ("signal", "the completion signal")),
        (words.end_phrase, ("end_phrase", "the end phrase")),
        (words.states_done, ("states_done", "a statement that the work is done")),
        (!words.blockers.is_empty(), ("blockers", "a blocker")),
    ];
    all.into_iter().filter(|(there, _)| *there).map(|(_, names)| names)
}

/// Returns a summary of a few lines.
fn summary(report: &AttemptReport) -> String {
    let AttemptReport { outcome, stream, tokens, .. } = report;
    let (name, sentence) = (outcome.name(), one_line(&outcome.sentence(), MAX_WHY));
    let first = if sentence == name { sentence } else { format!("{name}: {sentence}") };
    let mut lines = vec![first, format!("  next in a run: {}", next(outcome))];
    let cost = match cost(report) {
        (Some(cost), false) => cost.to_string(),
        (Some(cost), true) => format!("about {cost}"),
        (None, _) => "an unknown amount".to_owned(),
    };
    lines.push(format!(
        "  {}, {}; cost {cost}, {} tokens in, {} out, {} cache read, {} cache write",
        count(report.turns, "turn"),
        count(stream.results, "result"),
        thousands(tokens.input),
        thousands(tokens.output),
        thousands(tokens.cache_read),
        thousands(tokens.cache_write),
    ));
    lines.push(format!(
        "  {}, {} failed",
        count(stream.tool_calls, "tool call"),
        stream.tool_errors
    ));
    let carried: Vec<_> = carried(&report.text_evidence).map(|(_, words)| words).collect();
    if !carried.is_empty() {
        lines.push(format!("  final message contains: {}", carried.join(", ")));
    }
    if !report.denied.is_empty() {
        let what = |denial: &Denial| denial::what(&denial.tool, &denial.input);
        let denied: Vec<_> = report.denied.iter().map(what).collect();
        lines.push(format!("  denied: {}", names(&denied)));
    }
    if stream.bad_lines > 0 {
        lines.push(format!("  lines that are not messages: {}", stream.bad_lines));
    }
    if stream.unknown_events > 0 {
        let (number, kinds) = (stream.unknown_events, names(&report.unknown));
        lines.push(format!("  unknown to this version of nightwright: {number} ({kinds})"));
    }
    lines.join("\n")
}

fn names(names: &[String]) -> String {
    let names: Vec<_> = names.iter().map(|name| display_safe(name)).collect();
    one_line(&names.join(", "), MAX_WHY)
}

fn next(outcome: &AttemptOutcome) -> String {
    match outcome.consequence() {
        Consequence::Assess => "assess the work".to_owned(),
        Consequence::AssessWorkTree => {
            "assess the work, or start another attempt if there is none".to_owned()
        }
        Consequence::Retry => "start another attempt".to_owned(),
        Consequence::Wait { until: Some(until), .. } => {
            format!("wait until {until}, then start another attempt")
        }
        Consequence::Wait { until: None, .. } => "wait, then start another attempt".to_owned(),
        Consequence::FailIteration { .. } => {
            "fail the iteration: this prompt cannot work".to_owned()
        }
        Consequence::EndRun { .. } => "end the run".to_owned(),
    }
}

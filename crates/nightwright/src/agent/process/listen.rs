//! Reads both outputs of the agent's process until they end.

use std::time::Duration;

use nightwright_core::redact::{Secrets, StreamMasker};
use nightwright_core::stream::dialect::Dialect;
use nightwright_core::stream::lines::{LineSplitter, StreamLine};
use nightwright_core::stream::message::AgentMessage;
use nightwright_core::stream::news::AgentNews;
use nightwright_core::stream::output_masker::OutputMasker;
use nightwright_core::stream::transcript::Transcript;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, sleep_until};

use super::raw::RawOutput;
use super::{AgentInput, ClockFn, ShowFn};
use crate::agent::{NewsSender, NewsSource};
use crate::process::{OutputTail, Stderr, Stdout, read_some};

/// Size of one read of standard output.
const CHUNK: usize = 128 << 10;
/// Size of one read of standard error, which is not time-critical.
const STDERR_CHUNK: usize = 16 << 10;
/// The size of the standard output pipe, if the system grants it. With the usual 64 KiB, a program
/// that prints fast and its reader would constantly wait for each other.
const PIPE_BYTES: usize = 1 << 20;
/// Maximum bytes of standard error that are kept, from its end.
const MAX_STDERR: usize = 16 << 10;
/// Minimum time between two pulses.
const PULSE: Duration = Duration::from_secs(1);
/// How long pipes that another process holds open are read after the exit.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// The output pipes of the program.
pub(super) struct OutputPipes {
    pub(super) stdout: Option<Stdout>,
    pub(super) stderr: Option<Stderr>,
}

/// A session that stays open: the messages to send, and the channel for the program's input lines.
pub(super) type LiveSession = (Dialect, mpsc::Receiver<AgentInput>, mpsc::Sender<String>);

/// How output is recorded: secrets are masked first.
pub(super) struct OutputRecording<'a> {
    pub(super) dialect: Dialect,
    pub(super) raw: RawOutput,
    pub(super) secrets: &'a Secrets,
}

/// Reads the output, records it and sends the relevant news.
pub(super) struct OutputListener<'a> {
    transcript: Transcript,
    stdout: OutputMasker,
    lines: LineSplitter,
    raw: RawOutput,
    stdout_bytes: u64,
    stderr: StreamMasker,
    /// The last part of standard error.
    stderr_tail: OutputTail,
    /// Whether a line has arrived.
    has_output: bool,
    news: &'a NewsSender,
    clock: ClockFn,
    show: Option<(NewsSource, ShowFn)>,
}

impl<'a> OutputListener<'a> {
    pub(super) fn new(
        transcript: Transcript,
        keeping: OutputRecording<'_>,
        news: &'a NewsSender,
        clock: ClockFn,
        show: Option<(NewsSource, ShowFn)>,
    ) -> Self {
        let OutputRecording { dialect, raw, secrets } = keeping;
        Self {
            transcript,
            stdout: OutputMasker::new(dialect, secrets.clone()),
            lines: dialect.lines(),
            raw,
            stdout_bytes: 0,
            stderr: StreamMasker::new(secrets.clone()),
            stderr_tail: OutputTail::new(MAX_STDERR),
            has_output: false,
            news,
            clock,
            show,
        }
    }

    /// Reads until the process has exited and both pipes have ended, or the drain timeout expires.
    pub(super) async fn listen(
        &mut self,
        mut pipes: OutputPipes,
        mut session: Option<LiveSession>,
        mut over: oneshot::Receiver<()>,
    ) {
        widen(pipes.stdout.as_ref());
        let (mut out, mut err) = (vec![0; CHUNK], vec![0; STDERR_CHUNK]);
        let mut pulse = interval_at(Instant::now() + PULSE, PULSE);
        pulse.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut patience = None;
        self.complain().await;
        while patience.is_none() || pipes.stdout.is_some() || pipes.stderr.is_some() {
            tokio::select! {
                biased;
                () = until(patience) => break,
                _ = &mut over, if patience.is_none() => patience = Some(Instant::now() + DRAIN_TIMEOUT),
                message = next(&mut session) => self.pass_on(message, &mut session),
                _ = pulse.tick(), if patience.is_none() => self.pulse().await,
                n = read_some(&mut pipes.stderr, &mut err) => self.complaints(&err[..n]),
                n = read_some(&mut pipes.stdout, &mut out) => self.chunk(&out[..n], &mut pulse).await,
            }
        }
        self.drain(&mut pipes.stdout, &mut out, &mut pulse).await;
        let Self { stderr, stderr_tail, .. } = self;
        stderr.finish(|text| stderr_tail.push(text));
        self.last_line().await;
    }

    fn complaints(&mut self, bytes: &[u8]) {
        let Self { stderr, stderr_tail, .. } = self;
        stderr.push(bytes, |text| stderr_tail.push(text));
    }

    /// Reads what the pipe already contains. Later output is ignored.
    async fn drain(&mut self, pipe: &mut Option<Stdout>, out: &mut [u8], pulse: &mut Interval) {
        let mut read_so_far = 0;
        while pipe.is_some() && read_so_far < PIPE_BYTES {
            tokio::select! {
                biased;
                n = read_some(pipe, out) => {
                    read_so_far += n;
                    self.chunk(&out[..n], pulse).await;
                }
                () = std::future::ready(()) => return,
            }
        }
    }

    /// Returns the transcript, the number of bytes on standard output and the end of standard
    /// error.
    pub(super) fn finish(self) -> (Transcript, u64, OutputTail) {
        (self.transcript, self.stdout_bytes, self.stderr_tail)
    }

    async fn chunk(&mut self, bytes: &[u8], pulse: &mut Interval) {
        self.stdout_bytes += bytes.len() as u64;
        let mono = (self.clock)().mono;
        let mut news = Vec::new();
        let Self { stdout, raw, lines, transcript, show, .. } = self;
        let mut lines_seen = 0_u32;
        // The transcript reads what the agent printed, and masks only the texts that it passes on.
        // Otherwise a mask could hide the cost.
        lines.push(bytes, |line| {
            lines_seen += 1;
            take(transcript, mono, line, show.as_ref(), &mut news);
        });
        stdout.push(bytes, |bytes| raw.append(bytes));
        // The events that follow are recorded next, and their readers expect this output in the
        // file.
        raw.flush();
        self.send_news(news).await;
        self.complain().await;
        if lines_seen > 0 && !self.has_output {
            self.has_output = true;
            pulse.reset();
            self.pulse().await;
        }
    }

    /// Handles a last line without a newline.
    async fn last_line(&mut self) {
        let mono = (self.clock)().mono;
        let mut news = Vec::new();
        let Self { stdout, raw, lines, transcript, show, .. } = self;
        lines.finish(|line| take(transcript, mono, line, show.as_ref(), &mut news));
        stdout.finish(|bytes| raw.append(bytes));
        raw.flush();
        self.send_news(news).await;
    }

    async fn send_news(&self, news: Vec<AgentNews>) {
        for news in news {
            self.news.send(news).await;
        }
    }

    async fn pulse(&self) {
        let pulse = self.transcript.pulse((self.clock)().mono);
        self.news.send(AgentNews::Pulse(pulse)).await;
    }

    async fn complain(&mut self) {
        if let Some(text) = self.raw.complaint() {
            self.news.warn(text).await;
        }
    }

    fn pass_on(&mut self, message: Option<AgentInput>, session: &mut Option<LiveSession>) {
        match (message, &session) {
            (Some(AgentInput::Text(text)), Some((dialect, _, lines))) => {
                // A full queue means that the program has not read the previous messages. It would
                // not read this one either, so no answer is expected.
                if lines.try_send(dialect.message_line(&text)).is_ok() {
                    self.transcript.nudge_noted();
                }
            }
            // Dropping the sender closes the program's input.
            (Some(AgentInput::Close) | None, _) | (Some(AgentInput::Text(_)), None) => {
                self.transcript.close_input_noted();
                *session = None;
            }
        }
    }
}

fn take(
    transcript: &mut Transcript,
    mono: Duration,
    line: StreamLine<'_>,
    show: Option<&(NewsSource, ShowFn)>,
    news: &mut Vec<AgentNews>,
) {
    match line {
        StreamLine::Whole(line) => {
            let mut shown = |message: &AgentMessage<'_>| {
                if let Some((source, show)) = show {
                    show(*source, message);
                }
            };
            transcript.line(mono, line, &mut |item| news.push(item), &mut shown);
        }
        StreamLine::TooLong { .. } => transcript.unreadable(mono),
    }
}

fn widen(pipe: Option<&Stdout>) {
    if let Some(pipe) = pipe {
        // The kernel refuses users who already have many large pipes: then the size stays as it is.
        let _ = rustix::pipe::fcntl_setpipe_size(pipe, PIPE_BYTES);
    }
}

async fn until(patience: Option<Instant>) {
    match patience {
        Some(then) => sleep_until(then).await,
        None => std::future::pending().await,
    }
}

async fn next(session: &mut Option<LiveSession>) -> Option<AgentInput> {
    match session {
        Some((_, messages, _)) => messages.recv().await,
        None => std::future::pending().await,
    }
}

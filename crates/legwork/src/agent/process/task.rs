//! The life of one attempt or call, from its start to its report.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use legwork_core::agent::dialect::{Dialect, InputShape};
use legwork_core::agent::outcome::{AttemptOutcome, CutReason};
use legwork_core::agent::report::{AgentNews, AttemptReport};
use legwork_core::agent::transcript::{Closing, Reading, Transcript};
use legwork_core::effect::Grace;
use tokio::io::AsyncWriteExt;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::sleep;

use super::listen::{Listener, Pipes};
use super::raw::Raw;
use super::{Clock, Message, Setup, Show};
use crate::agent::cut::Cut;
use crate::agent::{Order, Post, environment};
use crate::process::{Child, GRACE, Launch, Stdin, spawn};

/// The program takes no longer prompt on its standard input.
const PROMPT_MAX: usize = 10_000_000;
/// Lines that wait to be written, see `MESSAGES_MAX`.
const LINES_MAX: usize = super::MESSAGES_MAX;

/// What one attempt or call needs to know.
pub(super) struct Job {
    order: Order,
    launch: Launch,
    system_file: Option<PathBuf>,
    raw_file: PathBuf,
    raw_failed: Arc<AtomicBool>,
    folder: PathBuf,
    dialect: Dialect,
    input: InputShape,
    completion: legwork_core::settings::Completion,
    clock: Clock,
    show: Option<Show>,
}

impl Job {
    pub(super) fn new(
        setup: &Setup,
        order: Order,
        turn: Option<u32>,
        raw_failed: Arc<AtomicBool>,
    ) -> Self {
        let system_file = (!order.prompt.system.is_empty())
            .then(|| setup.folder.join(format!("prompts/{}.system.md", order.label)));
        let mut environment = setup.environment.clone();
        environment::add(&mut environment, setup, &order, turn);
        Self {
            launch: Launch {
                program: setup.program.clone(),
                arguments: (setup.arguments)(&order, system_file.as_deref()),
                environment,
                directory: setup.project.clone(),
            },
            system_file,
            raw_file: setup.folder.join(format!("output/{}.ndjson", order.label)),
            raw_failed,
            folder: setup.folder.clone(),
            dialect: setup.dialect,
            input: if order.purpose.is_none() { setup.input } else { InputShape::Prompt },
            completion: setup.completion.clone(),
            clock: Arc::clone(&setup.clock),
            show: setup.show.clone(),
            order,
        }
    }
}

/// Runs one attempt or call. Its exit is the last that is heard of it.
pub(super) async fn run(
    job: Job,
    post: Post,
    cuts: watch::Receiver<Option<Cut>>,
    messages: mpsc::Receiver<Message>,
) {
    let report = match begin(&job) {
        Ok(child) => attempt(job, child, &post, cuts, messages).await,
        Err(outcome) => AttemptReport::bare(outcome),
    };
    post.send(AgentNews::Exited(Box::new(report))).await;
}

fn begin(job: &Job) -> Result<Child, AttemptOutcome> {
    let not_started = |why: String| AttemptOutcome::NotStarted { why };
    let size = job.order.prompt.user.len();
    if size > PROMPT_MAX {
        let why = format!("the prompt has {size} bytes; the agent takes no more than 10 MB");
        return Err(not_started(why));
    }
    if let Some(path) = &job.system_file {
        let written = write_private(path, &job.order.prompt.system);
        written.map_err(|e| not_started(format!("can't write `{}`: {e}", path.display())))?;
    }
    let temp = job.folder.join(environment::TEMP_FOLDER);
    make_folder(&temp).map_err(|e| not_started(format!("can't make `{}`: {e}", temp.display())))?;
    spawn(&job.launch).map_err(|error| AttemptOutcome::BadStart { why: complaint(job, &error) })
}

/// Why a program could not be started, in words that say what to do.
fn complaint(job: &Job, error: &io::Error) -> String {
    let Launch { program, directory, .. } = &job.launch;
    if error.kind() != io::ErrorKind::NotFound {
        return format!("can't start `{}`: {error}", program.display());
    }
    if !directory.is_dir() {
        return format!("the project folder `{}` is gone", directory.display());
    }
    if program.file_name().is_some_and(|name| name == "claude") {
        return "Claude CLI not found. Make sure 'claude' is installed and in PATH.".to_owned();
    }
    format!("`{}` not found", program.display())
}

async fn attempt(
    job: Job,
    mut child: Child,
    post: &Post,
    cuts: watch::Receiver<Option<Cut>>,
    messages: mpsc::Receiver<Message>,
) -> AttemptReport {
    let (lines, written) = mpsc::channel(LINES_MAX);
    let (first, session) = match job.input {
        InputShape::Prompt => {
            // Nothing can follow, and that is what closes the input.
            drop(lines);
            (plain(&job.order.prompt.user), None)
        }
        InputShape::Messages => {
            let first = job.dialect.message_line(&job.order.prompt.user);
            (first, Some((job.dialect, messages, lines)))
        }
    };
    let pipes = Pipes { stdout: child.take_stdout(), stderr: child.take_stderr() };
    let feeding = feed(child.take_stdin(), first, written);
    let mut listener = listener(&job, post, session.is_some());

    let (over, is_over) = oneshot::channel();
    let cut = {
        let working = async {
            let listening = listener.listen(pipes, session, is_over);
            tokio::join!(keep(&child, cuts, over), listening).0
        };
        tokio::pin!(working, feeding);
        tokio::select! {
            cut = &mut working => cut,
            // All is said; what is left is to listen.
            () = &mut feeding => working.await,
        }
    };
    // A process that can't be waited for has left nothing to say how it ended.
    let exit = child.bury().await.ok().map(|exit| exit.0);
    let now = (job.clock)();
    let (transcript, stdout_bytes, stderr) = listener.finish();
    let stderr_bytes = stderr.total();
    let stderr = stderr.into_text();
    let closing = Closing { exit, cut, stderr: &stderr, stdout_bytes, stderr_bytes };
    transcript.finish(now.mono, now.wall, closing)
}

fn listener<'a>(job: &Job, post: &'a Post, live: bool) -> Listener<'a> {
    let transcript = Transcript::new(Reading {
        dialect: job.dialect,
        completion: &job.completion,
        purpose: job.order.purpose,
        live,
        started: (job.clock)().mono,
    });
    let raw = Raw::open(&job.raw_file, Arc::clone(&job.raw_failed));
    let show = job.show.clone().map(|show| (job.order.source, show));
    Listener::new(transcript, raw, post, Arc::clone(&job.clock), show)
}

/// A prompt as it goes over standard input. One that begins with a slash would be taken for a
/// command to the program itself and never reach the model.
fn plain(text: &str) -> String {
    if text.trim_start().starts_with('/') {
        return format!("This is your task:\n{text}");
    }
    text.to_owned()
}

/// Writes the prompt and what follows it, and closes the input when nothing can follow any more.
async fn feed(stdin: Option<Stdin>, first: String, mut more: mpsc::Receiver<String>) {
    let Some(mut stdin) = stdin else { return };
    // A program that closes its input, or is gone, has heard enough: its exit tells why.
    if stdin.write_all(first.as_bytes()).await.is_err() {
        return;
    }
    while let Some(line) = more.recv().await {
        if stdin.write_all(line.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// Waits for the process to die, and sees to it when that is asked for: SIGTERM, some seconds,
/// SIGKILL. Says why it was ended, if it was.
async fn keep(
    child: &Child,
    mut cuts: watch::Receiver<Option<Cut>>,
    over: oneshot::Sender<()>,
) -> Option<CutReason> {
    // A process that can't be waited for is as good as over: the burial ends it.
    let cut = tokio::select! {
        biased;
        _ = child.exited() => None,
        cut = Cut::wanted(&mut cuts) => Some(cut),
    };
    if let Some(cut) = cut {
        end(child, cut, &mut cuts).await;
    }
    // The listener is gone only if it failed, and then nobody has to be told.
    let _ = over.send(());
    cut.map(|cut| cut.why)
}

async fn end(child: &Child, cut: Cut, cuts: &mut watch::Receiver<Option<Cut>>) {
    if cut.grace == Grace::Usual {
        child.terminate();
        tokio::select! {
            biased;
            _ = child.exited() => return,
            () = sleep(GRACE) => {}
            () = Cut::without_grace(cuts) => {}
        }
    }
    child.kill();
    // As above: the burial ends what can't be waited for.
    let _ = child.exited().await;
}

fn write_private(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        make_folder(folder)?;
    }
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    options.open(path)?.write_all(text.as_bytes())
}

fn make_folder(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

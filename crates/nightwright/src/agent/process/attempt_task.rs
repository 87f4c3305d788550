//! The life cycle of one attempt or call, from its start to its report.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;
use nightwright_core::effect::Grace;
use nightwright_core::event::CallPurpose;
use nightwright_core::phrases::familiar;
use nightwright_core::prompt::Prompt;
use nightwright_core::redact::Secrets;
use nightwright_core::sandbox::mounts::Access;
use nightwright_core::sandbox::plan::ShownFile;
use nightwright_core::stream::dialect::{Dialect, InputShape};
use nightwright_core::stream::news::{AgentNews, AttemptReport};
use nightwright_core::stream::outcome::{AttemptOutcome, CancelReason, ProcessExit};
use nightwright_core::stream::transcript::{AttemptExit, Transcript, TranscriptOptions};
use rustix::io::Errno;
use tokio::io::AsyncWriteExt;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{sleep, timeout};

use super::listen::{OutputListener, OutputPipes, OutputRecording};
use super::raw::RawOutput;
use super::{AgentInput, AgentSandbox, AgentSetup, ClockFn, NoticesFn, ShowFn, WarnedOnce};
use crate::agent::cancel::Cancellation;
use crate::agent::judge_home::JudgeHome;
use crate::agent::{AgentRequest, NewsSender, NewsSource, environment};
use crate::files;
use crate::process::{Child, Launch, SigtermScope, Stdin, Survivors, spawn};
use crate::sandbox::{self, Entered, ProgramKind, SandboxedProgram};
use crate::store::temp_folder::TempHandle;

/// The delays before a program that could not be started is tried again.
const START_RETRY_DELAYS: [Duration; 4] = [
    Duration::from_millis(500),
    Duration::from_secs(2),
    Duration::from_secs(6),
    Duration::from_secs(15),
];
/// How long a program that is cancelled during its start may take to finish starting.
const START_TIMEOUT: Duration = Duration::from_millis(500);
/// Maximum characters of standard error shown for an agent that crashed.
const MAX_STDERR_CHARS: usize = 300;
/// Capacity of the queue of lines to write, see `MAX_MESSAGES`.
const MAX_LINES: usize = super::MAX_MESSAGES;

/// The inputs of one attempt or call.
pub(super) struct AttemptTask {
    request: AgentRequest,
    launch: Launch,
    system_file: Option<PathBuf>,
    raw_file: PathBuf,
    warned: WarnedOnce,
    temp: TempHandle,
    dialect: Dialect,
    input: InputShape,
    completion: nightwright_core::settings::Completion,
    clock: ClockFn,
    show: Option<ShowFn>,
    secrets: Secrets,
    judge: Option<JudgeHome>,
    notices: Option<NoticesFn>,
    sandbox: Option<AgentSandbox>,
}

/// The name of the file with the system prompt in a sandbox.
const SYSTEM_FILE: &str = "system.md";

impl AttemptTask {
    pub(super) fn new(
        setup: &AgentSetup,
        request: AgentRequest,
        turn: Option<u32>,
        warned: WarnedOnce,
    ) -> Self {
        let system_file = (!request.prompt.system.is_empty())
            .then(|| setup.folder.join(format!("prompts/{}.system.md", request.label)));
        let mut environment = setup.environment.clone();
        environment::add(&mut environment, setup, &request, turn);
        // The run folder is not visible in a sandbox.
        let seen = match &setup.sandbox {
            Some(_) => system_file.as_ref().map(|_| sandbox::shown_path(SYSTEM_FILE)),
            None => system_file.clone(),
        };
        Self {
            launch: Launch {
                program: setup.program.clone(),
                arguments: (setup.arguments)(&request, seen.as_deref()),
                environment,
                directory: setup.project.clone(),
                containment: setup.containment.clone(),
                sigterm_scope: SigtermScope::All,
            },
            system_file,
            raw_file: setup.folder.join(format!("output/{}.ndjson", request.label)),
            warned,
            temp: setup.temp.clone(),
            dialect: setup.dialect,
            input: if request.purpose.is_none() { setup.input } else { InputShape::Prompt },
            completion: setup.completion.clone(),
            clock: Arc::clone(&setup.clock),
            show: setup.show.clone(),
            secrets: setup.secrets.clone(),
            judge: setup.judge.clone().filter(|_| request.purpose.is_some()),
            notices: setup.notices.clone(),
            sandbox: setup.sandbox.clone(),
            request,
        }
    }
}

/// Runs one attempt or call. The exit is its last news.
pub(super) async fn run(
    job: AttemptTask,
    news: NewsSender,
    cuts: watch::Receiver<Option<Cancellation>>,
    messages: mpsc::Receiver<AgentInput>,
) {
    let warned = job.warned.clone();
    let (temp, room) = (job.temp.clone(), room(job.request.source));
    let notices = job.notices.clone();
    let report = match begin_unless_cut(&job, cuts.clone()).await {
        Ok((child, entered)) => {
            let report = attempt(job, child, &news, cuts, messages).await;
            // Before the report: what was created for the program must not count as its work.
            leave(entered, &news).await;
            report
        }
        Err(outcome) => AttemptReport::bare(outcome),
    };
    let new = warned.first_time(&report.unknown);
    if !new.is_empty() {
        news.warn(format!(
            "the agent's output contains items that this version of nightwright does not know: {}",
            new.join(", ")
        ))
        .await;
    }
    if let Some(notices) = notices {
        // A panic there loses the notices, but must not lose the report.
        let found = tokio::task::spawn_blocking(move || notices()).await.unwrap_or_default();
        for text in warned.first_time(&found) {
            news.warn(text.to_owned()).await;
        }
    }
    news.send(AgentNews::Exited(Box::new(report))).await;
    // The folder can be large, and nothing waits for its removal.
    tokio::task::spawn_blocking(move || temp.clear(&room));
}

/// Starts the program. A start that is cancelled may take [`START_TIMEOUT`] to complete, because a
/// started process can be ended and awaited like any other. After that, the start is abandoned.
async fn begin_unless_cut(
    job: &AttemptTask,
    mut cuts: watch::Receiver<Option<Cancellation>>,
) -> Result<(Child, Option<Entered>), AttemptOutcome> {
    let begun = begin(job);
    tokio::pin!(begun);
    let cut = tokio::select! {
        begun = &mut begun => return begun,
        cut = Cancellation::wanted(&mut cuts) => cut,
    };
    if let Ok(Ok(begun)) = timeout(START_TIMEOUT, begun).await {
        return Ok(begun);
    }
    Err(match cut.why {
        CancelReason::Deadline(which) => AttemptOutcome::TimedOut { which },
        CancelReason::AfterResult
        | CancelReason::Limit
        | CancelReason::Auth
        | CancelReason::StopNow => AttemptOutcome::Interrupted,
    })
}

async fn begin(job: &AttemptTask) -> Result<(Child, Option<Entered>), AttemptOutcome> {
    let not_started = |why: String| AttemptOutcome::NotStarted { why };
    let size = job.request.prompt.user.len();
    if let Some(longest) = job.dialect.longest_prompt()
        && size > longest
    {
        let most = longest / 1_000_000;
        let why =
            format!("the prompt is {size} bytes long, but the agent accepts at most {most} MB");
        return Err(not_started(why));
    }
    if let Some(path) = &job.system_file {
        let written = write_private(path, &job.request.prompt.system);
        written.map_err(|e| not_started(format!("cannot write `{}`: {e}", path.display())))?;
    }
    let room = job.temp.room(&room(job.request.source)).map_err(|error| {
        let path = job.temp.path().display();
        not_started(format!("cannot create a temporary folder in `{path}`: {error}"))
    })?;
    let mut launch = job.launch.clone();
    environment::set_temp(&mut launch.environment, job.dialect, &room);
    if let Some(judge) = &job.judge {
        let written = judge.write_into(&room, &mut launch.environment);
        written.map_err(|error| {
            not_started(format!("cannot create its configuration in `{}`: {error}", room.display()))
        })?;
    }
    let (launch, entered) = enter(job, launch, &room).await.map_err(not_started)?;
    let mut waits = START_RETRY_DELAYS.iter();
    loop {
        let error = match spawn(&launch).await {
            Ok(child) => return Ok((child, entered)),
            Err(error) => error,
        };
        match waits.next() {
            Some(wait) if may_pass(&error) => sleep(*wait).await,
            // The machine lacked resources; the program itself may be fine.
            None if may_pass(&error) => return Err(not_started(complaint(job, &error))),
            Some(_) | None => {
                return Err(AttemptOutcome::BadStart { why: complaint(job, &error) });
            }
        }
    }
}

/// Puts the program into the sandbox, if there is one.
async fn enter(
    job: &AttemptTask,
    mut launch: Launch,
    room: &Path,
) -> Result<(Launch, Option<Entered>), String> {
    let Some(AgentSandbox { sandbox, shown, variables }) = job.sandbox.clone() else {
        return Ok((launch, None));
    };
    for (name, value) in variables {
        environment::set(&mut launch.environment, name, value);
    }
    let mut files: Vec<ShownFile> = Vec::new();
    for (name, access) in shown {
        let file = sandbox::show_variable(&mut launch.environment, name, access);
        files.extend(file.map_err(|error| format!("cannot open the file of {name}: {error}"))?);
    }
    files.extend(job.system_file.clone().map(|from| ShownFile {
        name: SYSTEM_FILE.to_owned(),
        from,
        access: Access::ReadOnly,
    }));
    let (kind, access) = match job.request.purpose {
        // A reviewer fixes what it finds.
        None | Some(CallPurpose::Review) => (ProgramKind::Agent, Access::ReadWrite),
        Some(CallPurpose::Verify | CallPurpose::Advise | CallPurpose::Council) => {
            (ProgramKind::Judge, Access::ReadOnly)
        }
    };
    let program = SandboxedProgram { launch, kind, access, room: room.to_owned(), shown: files };
    // Looks at many files, and asks git.
    let entering = tokio::task::spawn_blocking(move || sandbox.enter(program));
    let entered = entering.await.map_err(|error| error.to_string())?;
    let entered = entered.map_err(|error| crate::error::chain(&error))?;
    Ok((entered.launch.clone(), Some(entered)))
}

/// Removes what was created for the program in the sandbox.
async fn leave(entered: Option<Entered>, news: &NewsSender) {
    let Some(entered) = entered else { return };
    for warning in entered.warnings() {
        news.warn(warning).await;
    }
    // A panic there leaves files that the next start removes.
    let _ = tokio::task::spawn_blocking(move || drop(entered)).await;
}

/// Whether the failure may be temporary: a lack of processes, memory or descriptors, or a file that
/// is being replaced.
fn may_pass(error: &io::Error) -> bool {
    match error.kind() {
        io::ErrorKind::NotFound
        | io::ErrorKind::PermissionDenied
        | io::ErrorKind::NotADirectory
        | io::ErrorKind::IsADirectory
        | io::ErrorKind::ArgumentListTooLong => false,
        _ => error.raw_os_error() != Some(Errno::NOEXEC.raw_os_error()),
    }
}

/// Explains why a program could not be started.
fn complaint(job: &AttemptTask, error: &io::Error) -> String {
    let Launch { program, directory, .. } = &job.launch;
    if error.kind() != io::ErrorKind::NotFound {
        return format!("cannot start `{}`: {error}", program.display());
    }
    if !directory.is_dir() {
        return format!("the project folder `{}` no longer exists", directory.display());
    }
    if program.file_name().is_some_and(|name| name == "claude") {
        return familiar::CLAUDE_NOT_FOUND.to_owned();
    }
    format!("`{}` not found", program.display())
}

async fn attempt(
    job: AttemptTask,
    mut child: Child,
    news: &NewsSender,
    cuts: watch::Receiver<Option<Cancellation>>,
    messages: mpsc::Receiver<AgentInput>,
) -> AttemptReport {
    let (lines, written) = mpsc::channel(MAX_LINES);
    let (first, session) = match job.input {
        InputShape::Prompt => {
            // Dropping the sender closes the input after the prompt.
            drop(lines);
            let Prompt { system, user } = &job.request.prompt;
            (job.dialect.prompt_text(system, user), None)
        }
        InputShape::Messages => {
            let first = job.dialect.message_line(&job.request.prompt.user);
            (first, Some((job.dialect, messages, lines)))
        }
    };
    let pipes = OutputPipes { stdout: child.take_stdout(), stderr: child.take_stderr() };
    let feeding = feed(child.take_stdin(), first, written);
    let mut listener = listener(&job, news, session.is_some());

    let (over, is_over) = oneshot::channel();
    let cut = {
        let working = async {
            let listening = listener.listen(pipes, session, is_over);
            tokio::join!(keep(&child, cuts, over), listening).0
        };
        tokio::pin!(working, feeding);
        tokio::select! {
            cut = &mut working => cut,
            // All input is written; only the output remains.
            () = &mut feeding => working.await,
        }
    };
    let (exit, left) = child.gone().await;
    if left == Survivors::Some {
        let name = &job.request.label;
        let text = format!(
            "nightwright could not kill all processes of attempt {name}; they are still running"
        );
        news.warn(text).await;
    }
    report(&job, listener, exit.0, cut, news).await
}

/// Reads what the attempt left, and warns about the last words of an agent that crashed.
async fn report(
    job: &AttemptTask,
    listener: OutputListener<'_>,
    exit: ProcessExit,
    cut: Option<CancelReason>,
    news: &NewsSender,
) -> AttemptReport {
    let now = (job.clock)();
    let (transcript, stdout_bytes, stderr) = listener.finish();
    let stderr_bytes = stderr.total();
    let stderr = stderr.into_text();
    let closing = AttemptExit {
        exit: Some(exit),
        cut,
        stderr: &stderr,
        stdout_bytes,
        stderr_bytes,
        zone: Some(&TimeZone::system()),
    };
    let report = transcript.finish(now.mono, now.wall, closing);
    if let AttemptOutcome::Crashed { .. } = report.outcome
        && let Some(words) = last_line(&stderr)
        && !job.warned.first_time(std::slice::from_ref(&words)).is_empty()
    {
        news.warn(format!("the agent's last line on standard error: {words}")).await;
    }
    report
}

/// Returns the last line that is not blank, cut to a readable length.
fn last_line(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).rfind(|line| !line.is_empty())?;
    Some(line.chars().take(MAX_STDERR_CHARS).collect())
}

fn listener<'a>(job: &AttemptTask, news: &'a NewsSender, live: bool) -> OutputListener<'a> {
    let transcript = Transcript::new(TranscriptOptions {
        dialect: job.dialect,
        completion: &job.completion,
        secrets: &job.secrets,
        purpose: job.request.purpose,
        live,
        started: (job.clock)().mono,
    });
    let raw = RawOutput::open(&job.raw_file, Arc::clone(&job.warned.raw_failed));
    let show = job.show.clone().map(|show| (job.request.source, show));
    let kept = OutputRecording { dialect: job.dialect, raw, secrets: &job.secrets };
    OutputListener::new(transcript, kept, news, Arc::clone(&job.clock), show)
}

/// Writes the prompt and the messages after it, and closes the input when no more can follow.
async fn feed(stdin: Option<Stdin>, first: String, mut more: mpsc::Receiver<String>) {
    let Some(mut stdin) = stdin else { return };
    // The program closed its input or exited; its exit explains why.
    if stdin.write_all(first.as_bytes()).await.is_err() {
        return;
    }
    while let Some(line) = more.recv().await {
        if stdin.write_all(line.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// Waits for the process to exit. On a cancellation, sends SIGTERM, waits for the grace period and
/// sends SIGKILL. Returns the reason of the cancellation, if any.
async fn keep(
    child: &Child,
    mut cuts: watch::Receiver<Option<Cancellation>>,
    over: oneshot::Sender<()>,
) -> Option<CancelReason> {
    let cut = tokio::select! {
        biased;
        () = child.exited() => None,
        cut = Cancellation::wanted(&mut cuts) => Some(cut),
    };
    if let Some(cut) = cut {
        end(child, cut, &mut cuts).await;
    }
    // The receiver is gone only if the listener failed.
    let _ = over.send(());
    cut.map(|cut| cut.why)
}

async fn end(child: &Child, cut: Cancellation, cuts: &mut watch::Receiver<Option<Cancellation>>) {
    match cut.grace {
        Grace::Usual => tokio::select! {
            biased;
            () = child.end() => {}
            () = Cancellation::without_grace(cuts) => child.end_now().await,
        },
        Grace::None => child.end_now().await,
    }
}

/// Returns the name of its folder for temporary files.
fn room(source: NewsSource) -> String {
    match source {
        NewsSource::Attempt(id) => id.to_string(),
        NewsSource::Call(id) => format!("c{id}"),
    }
}

fn write_private(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        make_folder(folder)?;
    }
    files::create_anew(path)?.write_all(text.as_bytes())
}

fn make_folder(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

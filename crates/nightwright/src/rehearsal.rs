//! The rehearsal agent: the nightwright binary as a stand-in for the real agent program.
//!
//! It is started like the real one, reads its prompt from standard input and prints the same
//! stream, following a [script](mod@script). Its tools really work, but only inside the project.
//! Thus a dry run, the demo, the self-test and most tests cover everything except the model.
//!
//! Its environment selects the scene: `NIGHTWRIGHT_ATTEMPT`, or for a call `NIGHTWRIGHT_PURPOSE`
//! with `NIGHTWRIGHT_TURN`, the number of the call within its purpose (by default
//! `NIGHTWRIGHT_CALL`). Requests are logged to the file `NIGHTWRIGHT_REHEARSAL_LOG`, one per line.
//!
//! It uses neither the async runtime nor the configuration, so it starts in a millisecond.

mod failure;
mod play;
mod reference;
mod scene_end;
pub mod script;
mod step;
mod stream;
mod tools;

use std::ffi::OsString;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::{env, fmt};

pub use scene_end::{ProviderFailure, SceneEnd, SigtermResponse};
pub use step::{QuotaStepWindow, SceneStep};

use serde_json::{Value, json};

use self::play::{PlayInput, play};
use self::script::{SceneKind, Script, ScriptError};
use self::stream::{StreamOptions, StreamPrinter, VERSION};
use crate::files;
use crate::process::blocking;
use crate::random;

/// The script of `nightwright demo`.
pub const DEMO_SCRIPT: &str = include_str!("rehearsal/demo.toml");
/// The project of `nightwright demo`: names and contents.
pub const DEMO_PROJECT: [(&str, &str); 4] = [
    ("README.md", include_str!("rehearsal/demo_project/README.md")),
    ("TODO.md", include_str!("rehearsal/demo_project/TODO.md")),
    ("check.sh", include_str!("rehearsal/demo_project/check.sh")),
    ("slug.sh", include_str!("rehearsal/demo_project/slug.sh")),
];
/// The check in the project of `nightwright demo`.
pub const DEMO_CHECK: &str = "sh check.sh";

/// The hidden command that runs the rehearsal agent.
pub(crate) const COMMAND: &str = "rehearse";

/// The variable with the path of the script; without it, the default script is played.
pub const SCRIPT_VARIABLE: &str = "NIGHTWRIGHT_REHEARSAL_SCRIPT";
/// The variable with the path of the request log; without it, nothing is logged.
pub const LOG_VARIABLE: &str = "NIGHTWRIGHT_REHEARSAL_LOG";

/// Set on the second start of a process that ignores SIGTERM.
const IGNORES_SIGNALS_VARIABLE: &str = "NIGHTWRIGHT_REHEARSAL_IGNORES_SIGNALS";
/// Maximum size of a prompt, as in the real program.
const MAX_PROMPT: u64 = 10_000_000;

/// Runs the stand-in; `arguments` are those of the real program.
pub fn main(arguments: &[OsString]) -> ExitCode {
    match run(arguments) {
        Ok(code) => code,
        Err(failure) => {
            // If standard error is closed, the exit code must be enough.
            let _ = writeln!(io::stderr(), "rehearsal: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[OsString]) -> Result<ExitCode, RehearsalError> {
    let arguments =
        AgentArguments(arguments.iter().map(|text| text.to_string_lossy().into()).collect());
    if arguments.has("--version") {
        writeln!(io::stdout(), "{VERSION} (nightwright rehearsal)")
            .map_err(RehearsalError::Stream)?;
        return Ok(ExitCode::SUCCESS);
    }
    let role = SceneRequest::from_environment();
    let scene = script()?.scene(role.part, role.number);
    if scene.end.manners() == SigtermResponse::Ignores
        && env::var_os(IGNORES_SIGNALS_VARIABLE).is_none()
    {
        return Err(RehearsalError::CannotIgnoreSigterm(blocking::start_over_ignoring_sigterm(
            IGNORES_SIGNALS_VARIABLE,
        )));
    }

    let mut stdin = BufReader::new(io::stdin().lock());
    let live = arguments.value("--input-format") == Some("stream-json");
    let prompt = if live { first_message(&mut stdin) } else { whole_prompt(&mut stdin) };
    let prompt = prompt.map_err(RehearsalError::Prompt)?;
    let log = RequestLog::from_environment();
    log.request(role, &arguments, &prompt)?;

    let model = scene.model.clone().or_else(|| arguments.value("--model").map(str::to_owned));
    let model = model.unwrap_or_else(|| "rehearsal".to_owned());
    let cast = StreamOptions {
        model: model.clone(),
        permission_mode: arguments.permission_mode().to_owned(),
        allowed: arguments.values("--allowedTools"),
        folder: env::current_dir().unwrap_or_default().to_string_lossy().into_owned(),
        partial: arguments.has("--include-partial-messages"),
        replay: arguments.has("--replay-user-messages"),
        shaped: arguments.has("--json-schema"),
        chance: chance(),
    };
    let input = if live { PlayInput::Open(stdin) } else { PlayInput::Closed };
    let stream = StreamPrinter::new(io::stdout().lock(), cast);
    // A message that cannot be logged does not stop the scene.
    let on_message = |text: &str| drop(log.message(role, text));
    play(&scene, &model, &prompt, stream, input, on_message).map_err(RehearsalError::Stream)
}

/// Why the stand-in could not play a scene.
#[derive(Debug)]
enum RehearsalError {
    Script(ScriptError),
    Unreadable(PathBuf, io::Error),
    Prompt(io::Error),
    Log(PathBuf, io::Error),
    CannotIgnoreSigterm(io::Error),
    Stream(io::Error),
}

impl fmt::Display for RehearsalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Script(error) => error.fmt(f),
            Self::Unreadable(path, error) => write!(f, "cannot read `{}`: {error}", path.display()),
            Self::Prompt(error) => write!(f, "cannot read the prompt: {error}"),
            Self::Log(path, error) => write!(f, "cannot write `{}`: {error}", path.display()),
            Self::CannotIgnoreSigterm(error) => write!(f, "cannot ignore SIGTERM: {error}"),
            Self::Stream(error) => write!(f, "cannot write to standard output: {error}"),
        }
    }
}

fn script() -> Result<Script, RehearsalError> {
    let Some(path) = env::var_os(SCRIPT_VARIABLE).map(PathBuf::from) else {
        return Script::parse(script::DEFAULT, "default.toml".as_ref())
            .map_err(RehearsalError::Script);
    };
    let text =
        fs::read_to_string(&path).map_err(|e| RehearsalError::Unreadable(path.clone(), e))?;
    Script::parse(&text, &path).map_err(RehearsalError::Script)
}

/// The requested kind of scene, and its number.
#[derive(Clone, Copy, Debug)]
struct SceneRequest {
    part: SceneKind,
    number: u32,
}

impl SceneRequest {
    fn from_environment() -> Self {
        let part = match env::var("NIGHTWRIGHT_PURPOSE").unwrap_or_default().as_str() {
            "verify" => SceneKind::Verify,
            "review" => SceneKind::Review,
            "advise" => SceneKind::Advise,
            "council" => SceneKind::Council,
            "validate" => SceneKind::Validate,
            _ => {
                return Self {
                    part: SceneKind::Attempt,
                    number: number("NIGHTWRIGHT_ATTEMPT").unwrap_or(1),
                };
            }
        };
        let turn = number("NIGHTWRIGHT_TURN").or_else(|| number("NIGHTWRIGHT_CALL"));
        Self { part, number: turn.unwrap_or(1) }
    }
}

/// The arguments of the real program that matter here.
struct AgentArguments(Vec<String>);

impl AgentArguments {
    fn has(&self, name: &str) -> bool {
        self.0.iter().any(|argument| argument == name)
    }

    fn value(&self, name: &str) -> Option<&str> {
        let at = self.0.iter().position(|argument| argument == name)?;
        self.0.get(at + 1).map(String::as_str)
    }

    /// Returns the values of an option that takes several.
    fn values(&self, name: &str) -> Vec<String> {
        let from = self.0.iter().position(|argument| argument == name).map(|at| at + 1);
        let values = from.into_iter().flat_map(|from| &self.0[from..]);
        values.take_while(|argument| !argument.starts_with("--")).cloned().collect()
    }

    fn permission_mode(&self) -> &str {
        match self.value("--permission-mode") {
            Some(mode) => mode,
            None if self.has("--dangerously-skip-permissions") => "bypassPermissions",
            None => "default",
        }
    }
}

fn whole_prompt(stdin: &mut impl Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    stdin.take(MAX_PROMPT + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 {
        0 => Err(io::Error::other("it is empty")),
        1..=MAX_PROMPT => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        _ => Err(io::Error::other("piped stdin input exceeds 10MB")),
    }
}

fn first_message(stdin: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    while stdin.read_line(&mut line)? > 0 {
        if let Some(text) = live_message(&line) {
            return Ok(text);
        }
        line.clear();
    }
    Err(io::Error::other("there was no message"))
}

/// Returns the text of a user message in a session that stays open.
fn live_message(line: &str) -> Option<String> {
    let line: Value = serde_json::from_str(line).ok()?;
    if line.get("type")?.as_str()? != "user" {
        return None;
    }
    match line.get("message")?.get("content")? {
        Value::String(text) => Some(text.clone()),
        Value::Array(blocks) => {
            let texts = blocks.iter().filter_map(|block| block.get("text")?.as_str());
            Some(texts.collect::<Vec<_>>().join("\n"))
        }
        _ => None,
    }
}

/// The request log, with one line of JSON per request.
struct RequestLog(Option<PathBuf>);

impl RequestLog {
    fn from_environment() -> Self {
        Self(env::var_os(LOG_VARIABLE).map(PathBuf::from))
    }

    fn request(
        &self,
        role: SceneRequest,
        arguments: &AgentArguments,
        prompt: &str,
    ) -> Result<(), RehearsalError> {
        let system = arguments.value("--append-system-prompt-file").map(fs::read_to_string);
        self.append(&json!({
            "part": role.part.name(), "number": role.number, "iteration": number("NIGHTWRIGHT_ITERATION"),
            "attempt": number("NIGHTWRIGHT_ATTEMPT"), "call": number("NIGHTWRIGHT_CALL"),
            "purpose": env::var("NIGHTWRIGHT_PURPOSE").ok(), "prompt": prompt,
            "system": system.and_then(Result::ok), "arguments": arguments.0,
        }))
    }

    fn message(&self, role: SceneRequest, text: &str) -> Result<(), RehearsalError> {
        self.append(&json!({
            "part": role.part.name(), "number": role.number, "message": text,
        }))
    }

    fn append(&self, line: &Value) -> Result<(), RehearsalError> {
        let Some(path) = &self.0 else { return Ok(()) };
        let write = || {
            let mut file = files::append_regular(path)?;
            file.write_all(format!("{line}\n").as_bytes())
        };
        write().map_err(|error| RehearsalError::Log(path.clone(), error))
    }
}

fn number(name: &str) -> Option<u32> {
    env::var(name).ok()?.parse().ok()
}

/// Returns a value that makes the ids of two processes different.
fn chance() -> u64 {
    u64::from_ne_bytes(random::nonce())
}

//! Asks the agent to judge the instructions, and retries once if the answer cannot be parsed.

use std::ffi::OsString;
use std::fmt;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf, absolute};
use std::time::Duration;

use nightwright_core::run_view::REHEARSED;
use nightwright_core::settings::Settings;
use nightwright_core::setup_prompts::SetupPrompt;
use nightwright_core::stream::dialect::ToolAccess;
use nightwright_core::stream::news::AttemptReport;
use nightwright_core::units::Usd;
use nightwright_core::validation::{self, ValidationResult};
use tempfile::TempDir;

use crate::agent::ask::{AgentAnswer, AgentEndpoint, AgentQuestion, SystemPrompt, ask};
use crate::app::agent_program::{AgentProgram, environment};
use crate::app::locked_run::temp_folder;
use crate::commands::task::conversation::SetupTask;
use crate::console::eprint_safe;
use crate::error::Failure;
use crate::files;
use crate::rehearsal;
use crate::signals::Signals;
use crate::store::run_dir;

/// Maximum cost of one answer.
const CAP: Usd = Usd::from_cents(100);
/// The timeout of one answer.
const DEADLINE: Duration = Duration::from_mins(10);
/// Maximum number of attempts to get an answer.
const MAX_TRIES: u32 = 2;
/// The instruction after an answer that could not be parsed.
const RETRY_INSTRUCTION: &str = "\nnightwright cannot read an earlier answer to this. Give the JSON object, with every \
                     criterion in it, and nothing else.\n";

/// The question, and the agent that answers it.
pub(super) struct ValidationQuestion<'a> {
    pub(super) task: &'a SetupTask,
    pub(super) program: &'a AgentProgram,
    /// The script of the rehearsal agent.
    pub(super) rehearsal: Option<&'a Path>,
    pub(super) model: Option<&'a str>,
    pub(super) question: String,
}

/// An answer that could be parsed.
#[derive(Debug)]
pub(super) struct ValidationAnswer {
    pub(super) result: ValidationResult,
    pub(super) cost: ValidationCost,
    /// The model that the agent reported.
    pub(super) model: Option<String>,
}

/// The cost of the answers, as far as it is known.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ValidationCost {
    pub(super) amount: Option<Usd>,
    pub(super) estimated: bool,
    /// Whether the agent was a rehearsal, which costs nothing.
    is_rehearsal: bool,
}

impl ValidationCost {
    fn add(&mut self, report: &AttemptReport) {
        let more = report.cost.or(report.priced);
        self.estimated |= report.cost.is_none();
        self.amount = match (self.amount, more) {
            (Some(so_far), Some(more)) => Some(so_far + more),
            (one, other) => one.or(other),
        };
    }
}

impl fmt::Display for ValidationCost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.amount, self.estimated) {
            (Some(amount), false) => write!(f, "cost {amount}")?,
            (Some(amount), true) => write!(f, "cost about {amount}")?,
            (None, _) => f.write_str("cost unknown")?,
        }
        f.write_str(if self.is_rehearsal { REHEARSED } else { "" })
    }
}

impl ValidationQuestion<'_> {
    /// Asks, and retries once if the answer cannot be parsed; `None` if it was interrupted.
    pub(super) async fn ask(
        &self,
        signals: &mut Signals,
    ) -> Result<Option<ValidationAnswer>, Failure> {
        let SetupTask { settings, variables, .. } = self.task;
        let system = self.task.setup_prompt(SetupPrompt::Validate)?;
        let agent = tokio::select! {
            agent = self.program.find(settings, variables) => agent?,
            () = signals.next() => return Ok(None),
        };
        let (folder, log) = (folder()?, self.log()?);
        let temp = temp_folder(Some(self.task.project()))?;
        let schema = validation::schema();
        let mut prompt = self.question.clone();
        let is_rehearsal = self.program.is_rehearsal();
        let mut cost = ValidationCost { is_rehearsal, ..ValidationCost::default() };
        let mut turn = 1;
        loop {
            let environment = self.environment(settings, turn, log.as_deref());
            let endpoint = AgentEndpoint {
                program: PathBuf::from(&agent.path),
                before: self.program.first_arguments(),
                dialect: self.program.dialect(),
                environment,
                secrets: self.task.secrets.clone(),
                project: self.task.project().to_owned(),
                folder: folder.path().to_owned(),
                temp: temp.handle(),
            };
            let question = AgentQuestion {
                label: &format!("validate-{turn}"),
                prompt: &prompt,
                system: SystemPrompt::Also(&system),
                schema: Some(&schema),
                cap: CAP,
                deadline: DEADLINE,
                model: self.model.or(settings.model.name.as_deref()),
                tools: ToolAccess::ReadOnly,
            };
            let Some(answer) = ask(&endpoint, &question, signals).await else {
                return Ok(None);
            };
            cost.add(&answer.report);
            if let Some(failure) = answer.failure() {
                return Err(self.explained(failure, &answer, folder));
            }
            if let Some(result) = validation::read(answer.structured(), answer.text()) {
                return Ok(Some(ValidationAnswer { result, cost, model: answer.model }));
            }
            if turn == MAX_TRIES {
                let message = "the agent answered twice, and neither answer was a valid result";
                let failure = Failure::trouble(format!("{message}; {cost}"));
                return Err(self.explained(failure, &answer, folder));
            }
            turn += 1;
            prompt.push_str(RETRY_INSTRUCTION);
        }
    }

    /// Adds the path of the agent's output to a failure that has no other explanation. A rehearsal
    /// leaves no files behind.
    fn explained(&self, failure: Failure, answer: &AgentAnswer, mut folder: TempDir) -> Failure {
        if failure.hint.is_some() || self.program.is_rehearsal() {
            return failure;
        }
        folder.disable_cleanup(true);
        failure.hint(format!("see its output in `{}`", answer.raw.display()))
    }

    /// Returns the file that records the prompts of a rehearsal, in the state folder of the
    /// project.
    fn log(&self) -> Result<Option<PathBuf>, Failure> {
        let AgentProgram::Rehearsal(_) = self.program else { return Ok(None) };
        let home = run_dir::state_of(self.task.project())?;
        let log = home.join(run_dir::REHEARSAL_LOG);
        let created = DirBuilder::new().recursive(true).mode(0o700).create(&home);
        // An earlier rehearsal may have left a file.
        let made = created.and_then(|()| files::create_anew(&log));
        made.map_err(|error| {
            Failure::trouble(format!("cannot write `{}`: {error}", log.display()))
        })?;
        eprint_safe(&format!("Requests to the rehearsal agent: {}", log.display()));
        Ok(Some(log))
    }

    /// Returns the environment of the agent.
    fn environment(
        &self,
        settings: &Settings,
        turn: u32,
        log: Option<&Path>,
    ) -> Vec<(OsString, OsString)> {
        let mut all = environment(self.program.dialect(), settings, &self.task.variables);
        all.push(("NIGHTWRIGHT_PURPOSE".into(), "validate".into()));
        all.push(("NIGHTWRIGHT_TURN".into(), turn.to_string().into()));
        if let Some(log) = log {
            all.push((rehearsal::LOG_VARIABLE.into(), log.into()));
            if let Some(script) = self.rehearsal {
                // The script runs in the project, which may not be the current folder.
                let script = absolute(script).unwrap_or_else(|_| script.to_owned());
                all.push((rehearsal::SCRIPT_VARIABLE.into(), script.into()));
            }
        }
        all
    }
}

/// Creates the temporary folder for the files of the question.
fn folder() -> Result<TempDir, Failure> {
    let made = tempfile::Builder::new().prefix("nightwright-validate-").tempdir();
    made.map_err(|error| Failure::trouble(format!("cannot create a temporary folder: {error}")))
}

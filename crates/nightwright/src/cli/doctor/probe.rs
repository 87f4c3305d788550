//! `nightwright doctor --probe`: one tiny call, made and read exactly as an attempt is.

mod verdict;

use std::ffi::OsString;
use std::fs;
use std::io;
use std::time::Duration;

use nightwright_core::agent::dialect::Dialect;
use nightwright_core::agent::dialect::ToolAccess;
use nightwright_core::units::Usd;

use super::finding::DoctorFinding;
use crate::agent::program::FoundProgram;
use crate::ask::{AgentEndpoint, AgentQuestion, SystemPrompt, ask};
use crate::cli::session;
use crate::error::Failure;
use crate::secrets;
use crate::signals::Signals;

/// What is asked.
const QUESTION: AgentQuestion<'static> = AgentQuestion {
    label: "probe",
    prompt: "Answer with the one word: ready",
    system: SystemPrompt::Only("Answer as briefly as you can."),
    schema: None,
    cap: Usd::from_cents(5),
    deadline: Duration::from_secs(90),
    model: None,
    tools: ToolAccess::None,
};

/// Makes the call and says what came of it; `None` if it was interrupted.
pub(super) async fn probe(
    found: &FoundProgram,
    environment: Vec<(OsString, OsString)>,
    signals: &mut Signals,
) -> Result<Option<DoctorFinding>, Failure> {
    let cant = |error: io::Error| Failure::trouble(format!("can't make a folder for it: {error}"));
    let mut folder =
        tempfile::Builder::new().prefix("nightwright-probe-").tempdir().map_err(cant)?;
    // An empty one: nothing of a project is sent, and nothing of it has a say.
    let project = folder.path().join("project");
    fs::create_dir(&project).map_err(cant)?;
    let temp = session::temp_folder(None)?;
    let respondent = AgentEndpoint {
        program: found.path.clone(),
        before: Vec::new(),
        dialect: Dialect::Claude,
        secrets: secrets::of_environment(&environment)?,
        environment,
        project,
        folder: folder.path().to_owned(),
        temp: temp.handle(),
    };
    let Some(answer) = ask(&respondent, &QUESTION, signals).await else {
        return Ok(None);
    };
    let finding = verdict::verdict(&answer);
    if finding.is_ok() {
        return Ok(Some(finding));
    }
    // Whoever wants to know more, or to report it, needs what was printed.
    folder.disable_cleanup(true);
    let printed = answer.raw.display();
    Ok(Some(finding.hint(format!("what it printed is in `{printed}`"))))
}

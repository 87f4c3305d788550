//! `nightwright doctor --probe`: one small call, executed and parsed exactly like an attempt.

mod verdict;

use std::ffi::OsString;
use std::fs;
use std::io;
use std::time::Duration;

use nightwright_core::stream::dialect::Dialect;
use nightwright_core::stream::dialect::ToolAccess;
use nightwright_core::units::Usd;

use super::finding::DoctorFinding;
use crate::agent::ask::{AgentEndpoint, AgentQuestion, SystemPrompt, ask};
use crate::agent::program::FoundProgram;
use crate::app::locked_run::temp_folder;
use crate::error::Failure;
use crate::secrets;
use crate::signals::Signals;

/// The question of the probe.
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

/// Executes the call and reports its result; `None` if it was interrupted.
pub(super) async fn probe(
    found: &FoundProgram,
    environment: Vec<(OsString, OsString)>,
    signals: &mut Signals,
) -> Result<Option<DoctorFinding>, Failure> {
    let cant = |error: io::Error| {
        Failure::trouble(format!("cannot create a folder for the probe: {error}"))
    };
    let mut folder =
        tempfile::Builder::new().prefix("nightwright-probe-").tempdir().map_err(cant)?;
    // The folder is empty, so nothing of the project is sent or takes effect.
    let project = folder.path().join("project");
    fs::create_dir(&project).map_err(cant)?;
    let temp = temp_folder(None)?;
    let endpoint = AgentEndpoint {
        program: found.path.clone(),
        before: Vec::new(),
        dialect: Dialect::Claude,
        secrets: secrets::of_environment(&environment)?,
        environment,
        project,
        folder: folder.path().to_owned(),
        temp: temp.handle(),
    };
    let Some(answer) = ask(&endpoint, &QUESTION, signals).await else {
        return Ok(None);
    };
    let finding = verdict::verdict(&answer);
    if finding.is_ok() {
        return Ok(Some(finding));
    }
    // The user needs the output to investigate or report the problem.
    folder.disable_cleanup(true);
    let printed = answer.raw.display();
    Ok(Some(finding.hint(format!("see its output in `{printed}`"))))
}

//! Checks whether the sandbox works and protects on this machine.

use std::path::Path;

use nightwright_core::settings::{SandboxKind, Settings};

use super::configured;
use super::finding::DoctorFinding;
use crate::commands::sandbox::{OpenSandbox, failure};
use crate::error::Failure;
use crate::sandbox::{SandboxError, try_bubblewrap};

/// Reports the sandbox that a run would have, and whether it works.
pub(super) async fn sandbox(project: &Path, settings: &Settings) -> DoctorFinding {
    let (project, kind) = (project.to_owned(), settings.sandbox.kind);
    let trying = tokio::task::spawn_blocking(move || match kind {
        SandboxKind::Off => try_bubblewrap(&project).map_err(|error| failure(&error)),
        SandboxKind::Bwrap => test(&project),
        SandboxKind::External => Ok(()),
    });
    let works = trying.await.unwrap_or_else(|error| Err(Failure::trouble(error.to_string())));
    let finding = match (kind, works) {
        (SandboxKind::Off, Ok(())) => {
            DoctorFinding::ok("sandbox", "off; bwrap works here (`--sandbox bwrap`)")
        }
        (SandboxKind::Off, Err(failure)) => {
            let text = format!("off; bwrap cannot be used here: {}", failure.message);
            DoctorFinding::ok("sandbox", text)
        }
        (SandboxKind::External, _) => DoctorFinding::ok(
            "sandbox",
            "external: this machine is the sandbox, and the agent may do anything on it",
        ),
        (SandboxKind::Bwrap, Ok(())) => {
            DoctorFinding::ok("sandbox", "bwrap: the agent sees and changes only this project")
        }
        (SandboxKind::Bwrap, Err(failure)) => configured::problem("sandbox", &failure),
    };
    finding.fact("kind", kind.name())
}

/// Tests the sandbox of this project as a run would.
fn test(project: &Path) -> Result<(), Failure> {
    let differences = OpenSandbox::open(project)?.trial()?.differences;
    if differences.is_empty() {
        return Ok(());
    }
    Err(failure(&SandboxError::Unsafe(differences)))
}

//! The questions of the first run in a project that is not set up. The answers apply to that run,
//! like options. `nightwright init` saves them.

use std::io::{self, BufRead as _, Write as _};
use std::path::Path;

use nightwright_core::display::display_safe;

use crate::app::run_spec::ResolvedRequest;
use crate::config::{ConfigLayer, ValueOrigin};
use crate::console::{self, advise, eprint_safe};
use crate::error::Failure;
use crate::init::ask::{self, NoAnswer, Prompter};
use crate::init::detect::detect;
use crate::init::project_files::ProjectFiles;

/// The file that marks a project as set up. The folder alone may contain only tasks.
const SETTINGS: &str = ".nightwright/config.toml";

/// Whether there is a terminal to ask on, and the project is not set up.
pub(super) fn is_due(project: &Path) -> bool {
    console::is_interactive() && !project.join(SETTINGS).exists()
}

/// Asks for the relevant settings that no layer of the configuration contains, and adds the answers
/// to the options of the command line.
pub(super) fn ask(
    project: &Path,
    request: &ResolvedRequest,
    flags: &mut ConfigLayer,
) -> Result<(), Failure> {
    let ResolvedRequest { settings, resolved, .. } = request;
    let is_open = |key| *resolved.origin(key) == ValueOrigin::BuiltIn;
    let mut answered = false;
    // These permissions do not apply to another agent, and in a sandbox the agent may do everything.
    let has_permissions = settings.agent.command.is_none() && !settings.sandbox.kind.is_on();
    if has_permissions && is_open("agent.permissions") {
        let unanswered = |gone| unanswered(gone, "--permissions usual");
        let level = ask::permissions(&mut LinePrompt).map_err(unanswered)?;
        flags.set_by_flag("--permissions", "agent.permissions", level.name());
        answered = true;
    }
    let has_use = settings.completion.expects_work() && is_open("verify.commands");
    let test = has_use.then(|| detect(&ProjectFiles::of(project)).main.commands.test).flatten();
    if let Some(test) = test {
        let unanswered = |gone| unanswered(gone, "--verify CMD");
        if ask::check(&mut LinePrompt, &test).map_err(unanswered)? {
            flags.set_by_flag("--verify", "verify.commands", vec![test]);
        }
        answered = true;
    }
    if answered {
        advise("This applies to this run only. `nightwright init` saves it for later runs.\n");
    }
    Ok(())
}

fn unanswered(_: NoAnswer, option: &str) -> Failure {
    Failure::usage("the input ended before the answer; nightwright started nothing")
        .hint(format!("answer it with `{option}`"))
}

/// Reads from the terminal, line by line. Reading stops after the answer, because later keys are
/// for the run.
struct LinePrompt;

impl Prompter for LinePrompt {
    fn tell(&mut self, text: &str) {
        eprint_safe(text);
    }

    fn ask(&mut self, question: &str) -> Result<String, NoAnswer> {
        let mut out = io::stderr();
        // If the terminal is gone, the read reports it.
        drop(write!(out, "{}", display_safe(question)).and_then(|()| out.flush()));
        let mut line = String::new();
        match io::stdin().lock().read_line(&mut line) {
            Ok(0) | Err(_) => Err(NoAnswer::EndOfInput),
            Ok(_) => Ok(line),
        }
    }
}

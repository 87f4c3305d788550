//! `nightwright demo`: show a complete run on a small project, with the rehearsal agent.

use std::collections::BTreeMap;
use std::fs;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use nightwright_core::outcome::Strictness;
use nightwright_core::settings::{Settings, VerdictMode};
use nightwright_core::units::Usd;

use crate::app::agent_program::{AgentProgram, RehearsalScript};
use crate::app::execute;
use crate::app::run_spec::RunSpec;
use crate::clock::ClockSpeed;
use crate::config::log_settings::LogSettings;
use crate::config::{ColorChoice, OutputLevel};
use crate::console::eprint_safe;
use crate::error::Failure;
use crate::hooks;
use crate::rehearsal::{DEMO_CHECK, DEMO_PROJECT, DEMO_SCRIPT};
use crate::secrets;

#[derive(Clone, Debug, Args)]
pub(super) struct DemoArgs {
    /// Also show the messages and tool calls of the agent
    #[arg(short, long)]
    verbose: bool,
}

pub(super) fn demo(options: &DemoArgs) -> Result<ExitCode, Failure> {
    let secrets = secrets::of_environment(&[])?;
    let folder =
        tempfile::Builder::new().prefix("nightwright-demo-").tempdir().map_err(|error| {
            Failure::trouble(format!("cannot create a folder for the demo: {error}"))
        })?;
    for (name, text) in DEMO_PROJECT {
        let path = folder.path().join(name);
        fs::write(&path, text).map_err(|error| {
            Failure::trouble(format!("cannot write `{}`: {error}", path.display()))
        })?;
    }
    eprint_safe(&format!(
        "The demo uses a small project with a failing test ({}), and deletes it afterwards.\n\
         The rehearsal agent works on it now, without cost and with shorter waits.\n\
         The equivalent command in your own project:\n  nightwright run -p \"make check.sh pass\" \
         --verify \"{DEMO_CHECK}\" -m 5\n",
        folder.path().display()
    ));

    let mut settings = Settings { goal: "make check.sh pass".to_owned(), ..Settings::default() };
    settings.limits.max_iterations = Some(5);
    settings.limits.max_cost = Usd::from_dollars(5.0);
    settings.notes_file = Some("SHARED_TASK_NOTES.md".to_owned());
    settings.verify.commands = vec![DEMO_CHECK.to_owned()];
    // The check of the demo fails reliably, so a second run of it shows nothing new.
    settings.verify.rerun = nightwright_core::settings::Rerun::Never;
    settings.verify.model = VerdictMode::Off;
    settings.delay = Duration::from_millis(200);
    let spec = RunSpec {
        project: folder.path().to_owned(),
        settings,
        task: None,
        hooks: hooks::ApprovedHooks::default(),
        agent_files: Vec::new(),
        variables: BTreeMap::new(),
        secrets,
        since: None,
        program: AgentProgram::Rehearsal(Some(RehearsalScript::built_in(DEMO_SCRIPT))),
        level: if options.verbose { OutputLevel::Verbose } else { OutputLevel::Progress },
        color: ColorChoice::Auto,
        logs: LogSettings::default(),
        notify: Vec::new(),
        strictness: Strictness::RequireComplete,
        clock_speed: ClockSpeed::Fast,
        keep_awake: false,
        detach: None,
    };
    let code = execute::run(&spec)?;
    eprint_safe("\nNext, in your own project:\n  nightwright init");
    Ok(code)
}

//! `legwork init`: set a project up: find out its type and commands, and write .legwork/.

use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use legwork_core::display::display_safe;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

use super::session::{catch_signals, interrupted};
use super::{approval, print, say, which};
use crate::config::{self, ConfigFile};
use crate::error::Failure;
use crate::init::ask::{Gone, Person, describe};
use crate::init::import::Import;
use crate::init::place::{CONFIG, Existing, check_new};
use crate::init::{Look, Setup, Written};
use crate::signals::Signals;

/// No line that somebody types is as long as that.
const LONGEST_LINE: u64 = 64 << 10;

/// What the command can be told.
#[derive(Clone, Debug, Args)]
pub(super) struct Options {
    /// The project folder [default: this one]
    #[arg(short = 'C', long, value_name = "DIR")]
    project: Option<PathBuf>,

    /// Write the configuration anew; the old one is kept as `config.toml.bak`
    #[arg(long)]
    force: bool,

    /// Ask nothing and take what was found
    #[arg(short, long)]
    yes: bool,

    /// Leave alone what other tools left
    #[arg(long)]
    no_import: bool,
}

pub(super) fn init(options: &Options) -> Result<ExitCode, Failure> {
    let project = which::project(options.project.as_deref())?;
    let existing = if options.force { Existing::Kept } else { Existing::Refused };
    check_new(&project, existing)?;
    let mut look = Look::at(&project);
    if options.no_import {
        look.imports = crate::init::import::Imports::default();
    }
    for line in look.lines() {
        say(&line);
    }
    for note in &look.imports.notes {
        say(&format!("note: {note}"));
    }
    // From here on Ctrl-C comes as an answer: it can't fall between two files.
    let mut terminal = Terminal::new()?;
    let setup = if options.yes {
        by_default(look)
    } else if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        say(
            "There is no terminal to ask on: what was found is taken, and the permissions `edits`.",
        );
        by_default(look)
    } else {
        match look.ask(&mut terminal) {
            Ok(setup) => setup,
            Err(Gone::Interrupted) => {
                say("\nNothing was written.");
                return Ok(interrupted());
            }
            Err(Gone::EndOfInput) => {
                let message = "the input ended before all questions were answered";
                return Err(Failure::trouble(message)
                    .hint("nothing was written; `--yes` takes what was found"));
            }
        }
    };
    let show = |written: &Written| show(written, &setup);
    setup.carry_out(
        &project,
        &format!("{:#}\n", config::schema()),
        existing,
        show,
        approve_for_init,
    )?;
    Ok(ExitCode::SUCCESS)
}

/// Records that what the configuration would run was chosen by the user. Hooks that were there
/// before are none of it.
fn approve_for_init(project: &Path) -> Result<(), Failure> {
    approval::approve_settings(project, &ConfigFile::project(project).layer()?)
}

fn by_default(look: Look) -> Setup {
    for import in &look.imports.imports {
        say(&describe(import));
    }
    look.defaults()
}

fn show(written: &Written, setup: &Setup) -> Result<(), Failure> {
    for note in &written.notes {
        say(&format!("note: {note}"));
    }
    say("\nWritten:");
    for file in &written.files {
        print(&display_safe(file))?;
    }
    let tests = match &setup.choices.commands.test {
        Some(test) => format!(
            "`{test}` has to pass before work counts as done (`verify.commands`). Writing it there \
             approves it: legwork runs it without asking again."
        ),
        None => format!(
            "There is no test command: a model alone will judge whether work is done. Better set \
             `verify.commands` in `{CONFIG}`."
        ),
    };
    let imported =
        setup.imports.iter().flat_map(Import::tasks).take(1).map(|name| {
            format!("  {:<45} a task that was imported\n", format!("legwork run {name}"))
        });
    say(&format!(
        "\n{tests}\n\nNext:\n{}  \
         legwork run -p \"make the tests pass\" -m 10    a goal, at most ten iterations\n  \
         legwork new NAME                              a task with instructions of its own",
        imported.collect::<String>()
    ));
    Ok(())
}

/// Somebody at the terminal.
struct Terminal {
    runtime: Runtime,
    signals: Signals,
    lines: Option<mpsc::Receiver<String>>,
}

impl Terminal {
    fn new() -> Result<Self, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Failure::trouble(format!("can't start: {error}")))?;
        let signals = runtime.block_on(async { catch_signals() })?;
        Ok(Self { runtime, signals, lines: None })
    }
}

impl Person for Terminal {
    fn tell(&mut self, text: &str) {
        say(text);
    }

    fn ask(&mut self, question: &str) -> Result<String, Gone> {
        let mut out = io::stderr();
        // Nobody to ask when the terminal is gone; reading from it says so.
        drop(write!(out, "{}", display_safe(question)).and_then(|()| out.flush()));
        let lines = self.lines.get_or_insert_with(read_lines);
        let signals = &mut self.signals;
        self.runtime.block_on(async {
            tokio::select! {
                biased;
                () = signals.next() => Err(Gone::Interrupted),
                line = lines.recv() => line.ok_or(Gone::EndOfInput),
            }
        })
    }
}

/// The lines of standard input. A read can't be given up, so a thread of its own waits for it, and
/// is left behind when nobody wants its lines any more.
fn read_lines() -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel(1);
    std::thread::spawn(move || {
        loop {
            let mut line = Vec::new();
            let mut input = io::stdin().lock().take(LONGEST_LINE);
            match input.read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            if sender.blocking_send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                return;
            }
        }
    });
    receiver
}

//! A unit of systemd, of the user's own.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{OURS, ServiceUnit};
use crate::error::Failure;

/// What stands before the project in a unit.
const PROJECT: &str = "# Project: ";

/// Where the units are that are started with the user's own manager.
const WANTED: &str = "default.target.wants";

/// The unit. It is told to end by SIGTERM, which a run takes for a reboot: that is how the next one
/// knows to go on. Only what was killed or has crashed is started again; an ending is one.
pub(super) fn unit(service: &ServiceUnit) -> String {
    let ServiceUnit { name, project, environment, .. } = service;
    let mut text = format!(
        "# {OURS}: it is written anew by the next one.\n\
         {PROJECT}{project}\n\
         [Unit]\n\
         Description=nightwright: {name} in {where_}\n\
         StartLimitIntervalSec=1h\n\
         StartLimitBurst=5\n\
         \n\
         [Service]\n\
         Type=exec\n\
         WorkingDirectory={where_}\n",
        where_ = percent(project),
    );
    for (name, value) in environment {
        // Writing to a string cannot fail.
        let _ =
            writeln!(text, "Environment={}", word(&format!("{name}={value}"), DollarEscape::Plain));
    }
    let [program, arguments @ ..] = service.command();
    let mut line = word(program, DollarEscape::Plain);
    for argument in arguments {
        line.push(' ');
        line.push_str(&word(argument, DollarEscape::Doubled));
    }
    let _ = write!(
        text,
        "EnvironmentFile=-%h/.config/nightwright/environment\n\
         ExecStart={line}\n\
         KillMode=mixed\n\
         TimeoutStopSec=60\n\
         SuccessExitStatus=130\n\
         Restart=on-abnormal\n\
         RestartForceExitStatus=101\n\
         RestartSec=30\n\
         Delegate=yes\n\
         \n\
         [Install]\n\
         WantedBy=default.target\n"
    );
    text
}

/// Whether systemd starts a program with this path, however it is quoted.
pub(super) fn starts(program: &str) -> bool {
    !program.contains(['"', '\'', '\\'])
}

/// What a dollar stands for itself by.
#[derive(Clone, Copy)]
enum DollarEscape {
    /// Itself: no variable is looked for.
    Plain,
    /// Two of them.
    Doubled,
}

/// A word as a unit has it: quoted where a space or a quote would end it, and with nothing that
/// stands for something else.
fn word(text: &str, dollar: DollarEscape) -> String {
    let mut plain = true;
    let mut quoted = String::new();
    for c in text.chars() {
        plain &= c.is_ascii_alphanumeric() || "/._-+,=:@".contains(c);
        match (c, dollar) {
            ('"' | '\\', _) => quoted.extend(['\\', c]),
            ('%', _) => quoted.push_str("%%"),
            ('$', DollarEscape::Doubled) => quoted.push_str("$$"),
            _ => quoted.push(c),
        }
    }
    if plain { quoted } else { format!("\"{quoted}\"") }
}

/// A text that is taken as it is, but for the percent sign.
fn percent(text: &str) -> String {
    text.replace('%', "%%")
}

/// What the unit is called.
fn unit_name(name: &str) -> String {
    format!("nightwright-{name}.service")
}

/// Where it is.
pub(super) fn file(
    name: &str,
    variable: impl Fn(&'static str) -> Option<OsString>,
) -> Option<PathBuf> {
    let folder = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let configs = folder("XDG_CONFIG_HOME").or_else(|| Some(folder("HOME")?.join(".config")))?;
    Some(configs.join("systemd/user").join(unit_name(name)))
}

/// What tells systemd about it.
pub(super) fn commands(name: &str) -> [Vec<String>; 2] {
    let unit = unit_name(name);
    [&["daemon-reload"][..], &["enable", &unit]].map(|words| {
        ["systemctl", "--user"].iter().chain(words).map(|&word| word.to_owned()).collect()
    })
}

/// The project of a unit of ours.
pub(super) fn project(unit: &str) -> Option<String> {
    unit.lines().find_map(|line| line.strip_prefix(PROJECT)).map(str::to_owned)
}

/// Takes away the link by which it is started, as `systemctl disable` would.
pub(super) fn disable(name: &str, file: &Path) -> Result<(), Failure> {
    let Some(folder) = file.parent() else { return Ok(()) };
    let link = folder.join(WANTED).join(unit_name(name));
    if !link.is_symlink() {
        return Ok(());
    }
    match fs::remove_file(&link) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Failure::trouble(format!("cannot remove `{}`: {error}", link.display())))
        }
        Err(_) | Ok(()) => Ok(()),
    }
}

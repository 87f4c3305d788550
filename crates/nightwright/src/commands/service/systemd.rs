//! Writes systemd user units.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{ServiceUnit, UNIT_HEADER};
use crate::error::Failure;

/// The prefix of the line that names the project.
const PROJECT: &str = "# Project: ";

/// The folder of units that start with the user's service manager.
const WANTED: &str = "default.target.wants";

/// Returns the text of the unit. systemd stops it with SIGTERM, which a run treats as a reboot, so
/// the next start resumes it. Only a killed or crashed process is restarted, not one that ended
/// normally.
pub(super) fn unit(service: &ServiceUnit) -> String {
    let ServiceUnit { name, project, environment, .. } = service;
    let mut text = format!(
        "# {UNIT_HEADER}: the next installation replaces it.\n\
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

/// Whether systemd can start a program with this path, however it is quoted.
pub(super) fn starts(program: &str) -> bool {
    !program.contains(['"', '\'', '\\'])
}

/// How a literal dollar sign is written.
#[derive(Clone, Copy)]
enum DollarEscape {
    /// As it is, because systemd expands no variables there.
    Plain,
    /// As two dollar signs.
    Doubled,
}

/// Returns a word for a unit file, quoted if necessary and with special characters escaped.
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

/// Escapes percent signs; everything else is literal.
fn percent(text: &str) -> String {
    text.replace('%', "%%")
}

/// Returns the full name of the unit.
fn unit_name(name: &str) -> String {
    format!("nightwright-{name}.service")
}

/// Returns the path of the unit file.
pub(super) fn file(
    name: &str,
    variable: impl Fn(&'static str) -> Option<OsString>,
) -> Option<PathBuf> {
    let folder = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let configs = folder("XDG_CONFIG_HOME").or_else(|| Some(folder("HOME")?.join(".config")))?;
    Some(configs.join("systemd/user").join(unit_name(name)))
}

/// Returns the commands that make systemd load and enable the unit.
pub(super) fn commands(name: &str) -> [Vec<String>; 2] {
    let unit = unit_name(name);
    [&["daemon-reload"][..], &["enable", &unit]].map(|words| {
        ["systemctl", "--user"].iter().chain(words).map(|&word| word.to_owned()).collect()
    })
}

/// Returns the project of a unit of nightwright.
pub(super) fn project(unit: &str) -> Option<String> {
    unit.lines().find_map(|line| line.strip_prefix(PROJECT)).map(str::to_owned)
}

/// Removes the link that starts the unit, like `systemctl disable`.
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

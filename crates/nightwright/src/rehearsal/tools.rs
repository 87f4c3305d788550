//! The tools of the stand-in. They really do their work, but only inside the project: every folder
//! on the path is opened without following links.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
use rustix::io::Errno;

use crate::process::blocking;

/// Maximum output of a command that the model is shown, as in the real program.
const MAX_OUTPUT: usize = 30_000;
/// Larger files are refused, as by the real program.
const MAX_READ: u64 = 256 << 10;

/// The result of a tool call: a string or an error for the model.
pub(super) type ToolResult = Result<String, String>;

pub(super) fn write(path: &Path, text: &str) -> ToolResult {
    let shown = path.display();
    replace(path, text).map_err(|error| format!("cannot write {shown}: {error}"))?;
    Ok(format!("The file {shown} has been updated successfully."))
}

pub(super) fn edit(path: &Path, old: &str, new: &str) -> ToolResult {
    let shown = path.display();
    let text = content(path).map_err(|error| format!("cannot read {shown}: {error}"))?;
    match text.matches(old).count() {
        0 => Err(tool_error(&format!("String to replace not found in file.\nString: {old}"))),
        1 => write(path, &text.replacen(old, new, 1)),
        many => Err(tool_error(&format!(
            "Found {many} matches of the string to replace, but replace_all is false."
        ))),
    }
}

pub(super) fn read(path: &Path) -> ToolResult {
    let text = match content(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err("File does not exist.".to_owned());
        }
        Err(error) => return Err(format!("cannot read {}: {error}", path.display())),
    };
    let numbered = text.lines().enumerate().map(|(index, line)| format!("{}\t{line}", index + 1));
    Ok(numbered.collect::<Vec<_>>().join("\n"))
}

pub(super) fn run(command: &str) -> ToolResult {
    let (exit, output) = blocking::shell(command, MAX_OUTPUT)
        .map_err(|error| format!("cannot run the command: {error}"))?;
    let output = output.trim_end();
    match (exit.code(), exit.signal()) {
        (Some(0), _) => Ok(output.to_owned()),
        (Some(code), _) => Err(format!("Exit code {code}\n{output}")),
        (None, signal) => Err(format!("Exit code {}\n{output}", 128 + signal.unwrap_or(0))),
    }
}

fn tool_error(text: &str) -> String {
    format!("<tool_use_error>{text}</tool_use_error>")
}

fn content(path: &Path) -> io::Result<String> {
    let file = open(path, OFlags::RDONLY, MissingFolder::IsAnError)?;
    let mut text = String::new();
    let read = file.take(MAX_READ + 1).read_to_string(&mut text)?;
    if read as u64 > MAX_READ {
        return Err(io::Error::other("the file is too large"));
    }
    Ok(text)
}

fn replace(path: &Path, text: &str) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC;
    open(path, flags, MissingFolder::IsMade)?.write_all(text.as_bytes())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum MissingFolder {
    IsMade,
    IsAnError,
}

/// Opens a file folder by folder. A link anywhere in the path is an error, whatever its target.
fn open(path: &Path, flags: OFlags, folders: MissingFolder) -> io::Result<File> {
    let steady = OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = OFlags::RDONLY | OFlags::DIRECTORY | steady;
    let mut names: Vec<_> = path
        .components()
        .map(|part| match part {
            Component::Normal(name) => Ok(name),
            _ => Err(io::Error::other("the path leads out of the project")),
        })
        .collect::<Result<_, _>>()?;
    let Some(file) = names.pop() else {
        return Err(io::Error::other("the path is empty"));
    };
    let mut folder: OwnedFd = openat(CWD, ".", directory, Mode::empty())?;
    for name in names {
        if folders == MissingFolder::IsMade {
            match mkdirat(&folder, name, Mode::from_raw_mode(0o755)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        folder = openat(&folder, name, directory, Mode::empty()).map_err(no_links)?;
    }
    let mode = Mode::from_raw_mode(0o644);
    // Without `NONBLOCK`, opening a named pipe would block forever.
    let file = openat(&folder, file, flags | steady | OFlags::NONBLOCK, mode).map_err(no_links)?;
    Ok(File::from(file))
}

fn no_links(error: Errno) -> io::Error {
    match error {
        Errno::LOOP | Errno::NOTDIR => {
            io::Error::other("the path contains a link, or a file in place of a folder")
        }
        other => other.into(),
    }
}

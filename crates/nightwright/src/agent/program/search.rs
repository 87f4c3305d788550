//! The program on the path, found as a shell would find it.

use std::env;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use super::ProgramError;

/// The most that the first line of a script is read for.
const FIRST_LINE_MAX: u64 = 4 << 10;

/// A program by its name on the path, or by its own path. What it needs to run is there, too.
pub fn locate(name: &str, path: Option<&OsStr>) -> Result<PathBuf, ProgramError> {
    let file = if name.contains('/') {
        let file = PathBuf::from(name);
        if !look(&file)? {
            return Err(ProgramError::Nothing { file });
        }
        file
    } else {
        search(name, path)?
    };
    // The system would say "not found" of the script itself, which helps nobody. A file that
    // can't be read may still be one that can be run.
    if let Ok(Some(interpreter)) = interpreter(&file)
        && !interpreter.exists()
    {
        return Err(ProgramError::NoInterpreter { file, interpreter });
    }
    Ok(file)
}

/// The first file of this name that can be run. If there is none, the first that almost could.
///
/// Entries that depend on where nightwright is started are left out: in a project they would let the
/// project choose the program.
fn search(name: &str, path: Option<&OsStr>) -> Result<PathBuf, ProgramError> {
    let mut almost = None;
    for folder in env::split_paths(path.unwrap_or_default()).filter(|folder| folder.is_absolute()) {
        let file = folder.join(name);
        match look(&file) {
            Ok(true) => return Ok(file),
            Ok(false) => {}
            Err(trouble) => almost = almost.or(Some(trouble)),
        }
    }
    Err(almost.unwrap_or_else(|| ProgramError::NotFound { name: name.to_owned() }))
}

/// Whether there is a program.
fn look(file: &Path) -> Result<bool, ProgramError> {
    let there = match fs::metadata(file) {
        Ok(there) => there,
        Err(error) => return dangling(file, &error),
    };
    let file = file.to_owned();
    if !there.is_file() {
        let folder = there.is_dir();
        let what = if folder { "a folder" } else { "a special file" };
        return Err(ProgramError::NoFile { file, what });
    }
    match access(&file, Access::EXEC_OK) {
        Ok(()) => Ok(true),
        Err(_) => Err(ProgramError::NotExecutable { file }),
    }
}

/// What can't be looked at is not there, unless it is a link that leads nowhere.
fn dangling(file: &Path, error: &io::Error) -> Result<bool, ProgramError> {
    match fs::read_link(file) {
        Ok(target) => {
            let (file, why) = (file.to_owned(), error.to_string());
            Err(ProgramError::Dangling { file, target, why })
        }
        Err(_) => Ok(false),
    }
}

/// What the first line of a script names, if the file is a script.
fn interpreter(file: &Path) -> io::Result<Option<PathBuf>> {
    let mut start = Vec::new();
    File::open(file)?.take(FIRST_LINE_MAX).read_to_end(&mut start)?;
    let Some(line) = start.strip_prefix(b"#!") else {
        return Ok(None);
    };
    let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    Ok(words.next().map(|word| PathBuf::from(OsStr::from_bytes(word))))
}

//! Finds a program in `PATH`, as a shell does.

use std::env;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use super::ProgramError;

/// Maximum bytes read to find the first line of a script.
const MAX_FIRST_LINE: u64 = 4 << 10;

/// Finds a program by its name in `PATH` or by its path, and checks that its interpreter exists.
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
    // The system would report the script itself as not found. An unreadable file may still be
    // executable.
    if let Ok(Some(interpreter)) = interpreter(&file)
        && !interpreter.exists()
    {
        return Err(ProgramError::NoInterpreter { file, interpreter });
    }
    Ok(file)
}

/// Returns the first executable file with this name, or the error of the first candidate.
///
/// Relative entries of `PATH` are skipped: they would let the project choose the program.
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

/// Whether the file is an executable program.
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

/// A file that cannot be read counts as missing, unless it is a dangling link.
fn dangling(file: &Path, error: &io::Error) -> Result<bool, ProgramError> {
    match fs::read_link(file) {
        Ok(target) => {
            let (file, why) = (file.to_owned(), error.to_string());
            Err(ProgramError::Dangling { file, target, why })
        }
        Err(_) => Ok(false),
    }
}

/// Returns the interpreter named in the first line, if the file is a script.
fn interpreter(file: &Path) -> io::Result<Option<PathBuf>> {
    let mut start = Vec::new();
    File::open(file)?.take(MAX_FIRST_LINE).read_to_end(&mut start)?;
    let Some(line) = start.strip_prefix(b"#!") else {
        return Ok(None);
    };
    let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    Ok(words.next().map(|word| PathBuf::from(OsStr::from_bytes(word))))
}

//! Reads the notes file, in which iterations leave information for each other.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use nightwright_core::prompt::NotesExcerpt;
use rustix::fs::{Mode, OFlags};

/// Files up to this size are read completely; of larger ones, only the two ends.
const WHOLE: u64 = 1 << 20;
/// Bytes read of each end.
const END: u64 = 64 << 10;

/// The notes cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum NotesError {
    /// A file operation failed.
    #[error("cannot read the notes file `{}`", path.display())]
    File { path: PathBuf, source: io::Error },
    /// The file is a link out of the project.
    #[error("the notes file `{}` leads out of the project, to `{}`", path.display(), target.display())]
    Elsewhere { path: PathBuf, target: PathBuf },
}

/// Reads the notes; `None` if there are none yet. A link out of the project is refused.
pub fn read_notes(project: &Path, notes: &Path) -> Result<Option<NotesExcerpt>, NotesError> {
    let path = project.join(notes);
    let fail = |source| NotesError::File { path: path.clone(), source };
    let target = match path.canonicalize() {
        Ok(target) => target,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(fail(error)),
    };
    if !target.starts_with(project.canonicalize().map_err(fail)?) {
        return Err(NotesError::Elsewhere { path, target });
    }
    // Non-blocking: opening a pipe in its place would block forever.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::open(&target, flags, Mode::empty());
    let mut file = File::from(opened.map_err(|error| fail(error.into()))?);
    let metadata = file.metadata().map_err(fail)?;
    if !metadata.is_file() {
        return Err(fail(io::Error::other("it is not a plain file")));
    }
    read_ends(&mut file, metadata.len()).map(Some).map_err(fail)
}

fn read_ends(file: &mut File, size: u64) -> io::Result<NotesExcerpt> {
    let mut head = Vec::new();
    if size <= WHOLE {
        file.take(WHOLE + 1).read_to_end(&mut head)?;
        return Ok(String::from_utf8_lossy(&head).into_owned().into());
    }
    file.by_ref().take(END).read_to_end(&mut head)?;
    let mut tail = Vec::new();
    file.seek(SeekFrom::Start(size - END))?;
    file.take(END).read_to_end(&mut tail)?;
    // A character that the gap cuts in two belongs to the gap.
    if let Err(error) = std::str::from_utf8(&head)
        && error.error_len().is_none()
    {
        head.truncate(error.valid_up_to());
    }
    let is_rest = |byte: &&u8| **byte & 0xc0 == 0x80;
    let rest = tail.iter().take(3).take_while(is_rest).count();
    let tail = &tail[rest..];
    Ok(NotesExcerpt {
        left_out: size.saturating_sub((head.len() + tail.len()) as u64),
        head: String::from_utf8_lossy(&head).into_owned(),
        tail: String::from_utf8_lossy(tail).into_owned(),
    })
}

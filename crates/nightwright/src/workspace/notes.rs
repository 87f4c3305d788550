//! Reads the notes file, in which iterations leave information for each other.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use nightwright_core::prompt::NotesExcerpt;

use crate::files::{self, FileError};

/// Files up to this size are read completely; of larger ones, only the two ends.
const WHOLE: u64 = 1 << 20;
/// Bytes read of each end.
const END: u64 = 64 << 10;

/// Reads the notes; `None` if there are none yet. A link that leads out of the project is refused.
pub fn read_notes(project: &Path, notes: &Path) -> Result<Option<NotesExcerpt>, FileError> {
    let Some(mut file) = files::open_inside(project, notes)? else { return Ok(None) };
    let read = file.metadata().and_then(|metadata| read_ends(&mut file, metadata.len()));
    read.map(Some).map_err(|source| FileError::Read { path: project.join(notes), source })
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

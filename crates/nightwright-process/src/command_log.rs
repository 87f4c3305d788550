//! What a command printed, in a file: all of it, unless it is very much.

use std::fs::File;
use std::io::{self, Write as _};

use super::output_tail::OutputTail;

/// So much is kept of the beginning, and is in the file at once.
const HEAD: usize = 1 << 20;
/// So much is kept of the end, in memory until the command is over.
const TAIL: usize = 3 << 20;

/// The file. One that can't be written is given up; the command goes on.
#[derive(Debug)]
pub struct CommandLog {
    file: File,
    room: usize,
    rest: OutputTail,
    written: io::Result<()>,
}

impl CommandLog {
    /// Begins a log in this file.
    pub fn new(file: File) -> Self {
        Self { file, room: HEAD, rest: OutputTail::new(TAIL), written: Ok(()) }
    }

    /// More of what the command printed.
    pub(super) fn push(&mut self, more: &[u8]) {
        if self.written.is_err() {
            return;
        }
        let (head, rest) = more.split_at(more.len().min(self.room));
        self.room -= head.len();
        self.written = self.file.write_all(head);
        if !rest.is_empty() {
            self.rest.push(rest);
        }
    }

    /// Writes the rest; an error if anything could not be written.
    pub fn close(mut self) -> io::Result<()> {
        self.written?;
        let (left_out, rest) = self.rest.into_bytes();
        if left_out > 0 {
            writeln!(self.file, "\n[... {left_out} bytes left out ...]")?;
        }
        self.file.write_all(&rest)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn kept(chunks: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut log = CommandLog::new(file.reopen().unwrap());
        for chunk in chunks {
            log.push(&chunk);
        }
        log.close().unwrap();
        fs::read(file.path()).unwrap()
    }

    #[test]
    fn what_fits_is_kept_byte_by_byte() {
        let bytes: Vec<u8> = (0..HEAD + TAIL).map(|n| u8::try_from(n % 251).unwrap()).collect();
        let chunks = bytes.chunks(60_001).map(<[u8]>::to_vec);
        assert!(kept(chunks) == bytes);
    }

    #[test]
    fn of_more_the_beginning_and_the_end_are_kept_and_the_cut_is_named() {
        let block = b"0123456789abcdef".repeat(4096);
        let all = kept(std::iter::repeat_n(block.clone(), 100));
        let left_out = 100 * block.len() - HEAD - TAIL;
        let mark = format!("\n[... {left_out} bytes left out ...]\n");
        assert_eq!(all.len(), HEAD + mark.len() + TAIL);
        assert_eq!(&all[HEAD..HEAD + mark.len()], mark.as_bytes());
    }

    #[test]
    fn a_full_disk_is_an_error_at_the_end_and_nothing_before() {
        let Ok(full) = fs::OpenOptions::new().write(true).open("/dev/full") else { return };
        let mut log = CommandLog::new(full);
        log.push(b"some");
        log.push(b"more");
        assert!(log.close().is_err());
    }
}

//! Log file of a command's output: the complete output, or its beginning and end if it is very
//! long.

use std::fs::File;
use std::io::{self, Write as _};

use super::output_tail::OutputTail;

/// The number of bytes kept from the beginning. They are written to the file immediately.
const HEAD: usize = 1 << 20;
/// The number of bytes kept from the end. They stay in memory until the command ends.
const TAIL: usize = 3 << 20;

/// The log file of one command. After a write error the log is abandoned; the command continues.
#[derive(Debug)]
pub struct CommandLog {
    file: File,
    room: usize,
    rest: OutputTail,
    written: io::Result<()>,
}

impl CommandLog {
    pub fn new(file: File) -> Self {
        Self { file, room: HEAD, rest: OutputTail::new(TAIL), written: Ok(()) }
    }

    /// Appends output of the command.
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

    /// Writes the rest, and returns the first write error, if any.
    pub fn close(mut self) -> io::Result<()> {
        self.written?;
        let (left_out, rest) = self.rest.into_bytes();
        if left_out > 0 {
            writeln!(self.file, "\n[... {left_out} bytes omitted ...]")?;
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
    fn output_within_the_limit_is_kept_byte_for_byte() {
        let bytes: Vec<u8> = (0..HEAD + TAIL).map(|n| u8::try_from(n % 251).unwrap()).collect();
        let chunks = bytes.chunks(60_001).map(<[u8]>::to_vec);
        assert!(kept(chunks) == bytes);
    }

    #[test]
    fn longer_output_keeps_its_beginning_and_end_and_names_the_cut() {
        let block = b"0123456789abcdef".repeat(4096);
        let all = kept(std::iter::repeat_n(block.clone(), 100));
        let left_out = 100 * block.len() - HEAD - TAIL;
        let mark = format!("\n[... {left_out} bytes omitted ...]\n");
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

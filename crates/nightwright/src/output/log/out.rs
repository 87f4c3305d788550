//! The files of a log: one in the run directory, and an optional copy in the project.

use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use crate::error::WarnFn;
use crate::files;
use crate::store::journal::create_file;

/// The size of the buffer, in bytes.
const BUFFER: usize = 10 << 10;

type OpenFn = Box<dyn FnOnce() -> io::Result<Box<dyn Write + Send>> + Send>;

/// The files to write a log to. A file that fails is closed, and the other continues.
pub struct LogOutput {
    files: Vec<LogTarget>,
    complain: WarnFn,
}

struct LogTarget {
    /// The name used in warnings, such as `the log`.
    what: &'static str,
    path: PathBuf,
    state: LogTargetState,
}

enum LogTargetState {
    /// The file is created with the first write.
    Closed(OpenFn),
    Open(BufWriter<Box<dyn Write + Send>>),
    /// A write failed, and the file is closed.
    Gone,
}

impl LogOutput {
    /// Creates an output without files. `complain` receives a warning for each file that fails.
    pub fn new(complain: WarnFn) -> Self {
        Self { files: Vec::new(), complain }
    }

    /// Adds a new file that only its owner can read.
    #[must_use]
    pub fn file(self, path: &Path) -> Self {
        let place = path.to_owned();
        self.to("the log", path, move || Ok(Box::new(create_file(&place)?)))
    }

    /// Adds a copy in a directory of the project.
    #[must_use]
    pub fn copy(self, project: &Path, folder: &Path, name: &str) -> Self {
        let path = project.join(folder).join(name);
        let (project, name) = (project.to_owned(), name.to_owned());
        let folder = folder.to_owned();
        self.to("the copy of the log", &path, move || {
            Ok(Box::new(create_inside(&project, &folder, &name)?))
        })
    }

    /// Adds a target that `open` opens with the first write.
    #[must_use]
    pub fn to(
        mut self,
        what: &'static str,
        path: &Path,
        open: impl FnOnce() -> io::Result<Box<dyn Write + Send>> + Send + 'static,
    ) -> Self {
        let state = LogTargetState::Closed(Box::new(open));
        self.files.push(LogTarget { what, path: path.to_owned(), state });
        self
    }

    /// Writes to all files. Fails when none of them is left.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.each(|target| target.write(bytes))
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.each(LogTarget::flush)
    }

    /// Whether any buffer contains text.
    pub(super) fn holds(&self) -> bool {
        self.files.iter().any(|target| match &target.state {
            LogTargetState::Open(file) => !file.buffer().is_empty(),
            LogTargetState::Closed(_) | LogTargetState::Gone => false,
        })
    }

    fn each(&mut self, mut act: impl FnMut(&mut LogTarget) -> io::Result<()>) -> io::Result<()> {
        for target in &mut self.files {
            if let Err(error) = act(target) {
                target.give_up();
                let (what, path) = (target.what, target.path.display());
                (self.complain)(format!("cannot write {what} `{path}`: {error}"));
            }
        }
        let gone = |target: &LogTarget| matches!(target.state, LogTargetState::Gone);
        if self.files.iter().all(gone) {
            return Err(io::Error::other("cannot write any log"));
        }
        Ok(())
    }
}

impl LogTarget {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let LogTargetState::Closed(_) = self.state
            && let LogTargetState::Closed(open) =
                std::mem::replace(&mut self.state, LogTargetState::Gone)
        {
            self.state = LogTargetState::Open(BufWriter::with_capacity(BUFFER, open()?));
        }
        match &mut self.state {
            LogTargetState::Open(file) => file.write_all(bytes),
            LogTargetState::Closed(_) | LogTargetState::Gone => Ok(()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.state {
            LogTargetState::Open(file) => file.flush(),
            LogTargetState::Closed(_) | LogTargetState::Gone => Ok(()),
        }
    }

    /// Closes the file without writing its buffer.
    fn give_up(&mut self) {
        if let LogTargetState::Open(file) = std::mem::replace(&mut self.state, LogTargetState::Gone)
        {
            drop(file.into_parts());
        }
    }
}

/// Creates a file that only its owner can read, in a directory of the project. Creates the
/// directory if necessary, and follows no links.
fn create_inside(project: &Path, folder: &Path, name: &str) -> io::Result<File> {
    let place = project.join(folder);
    let check =
        || files::check_inside(project, &place).map_err(|error| io::Error::other(whole(&error)));
    check()?;
    std::fs::create_dir_all(&place)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::open(&place, flags, Mode::empty())?;
    check()?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::openat(&opened, name, flags, Mode::RUSR | Mode::WUSR)?))
}

fn whole(error: &dyn std::error::Error) -> String {
    crate::error::Failure::because(error).message
}

impl fmt::Debug for LogOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let paths: Vec<_> = self.files.iter().map(|target| &target.path).collect();
        f.debug_struct("LogOutput").field("files", &paths).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::sync::{Arc, Mutex};

    use super::*;

    /// A disk with this many bytes of free space.
    struct SmallDisk(usize);

    impl Write for SmallDisk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            match self.0.min(bytes.len()) {
                0 => Err(io::ErrorKind::StorageFull.into()),
                fits => {
                    self.0 -= fits;
                    Ok(fits)
                }
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn complaints() -> (Arc<Mutex<Vec<String>>>, WarnFn) {
        let received = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&received);
        (received, Arc::new(move |text| sink.lock().unwrap().push(text)))
    }

    #[test]
    fn a_failed_log_is_reported_once_and_its_copy_continues() {
        let folder = tempfile::tempdir().unwrap();
        let (received, complain) = complaints();
        let mut out = LogOutput::new(complain)
            .to("the log", Path::new("/state/x.log"), || Ok(Box::new(SmallDisk(15 << 10))))
            .copy(folder.path(), Path::new(".nightwright/logs"), "x.log");
        for _ in 0..100 {
            out.write(&[b'x'; 1 << 10]).unwrap();
        }
        out.flush().unwrap();
        let received = received.lock().unwrap();
        assert_eq!(*received, ["cannot write the log `/state/x.log`: no storage space"]);
        let copy = folder.path().join(".nightwright/logs/x.log");
        let facts = fs::metadata(&copy).unwrap();
        assert_eq!((facts.len(), facts.permissions().mode() & 0o777), (100 << 10, 0o600));
    }

    #[test]
    fn once_nothing_can_be_written_there_is_nothing_to_write_for() {
        let (received, complain) = complaints();
        let mut out =
            LogOutput::new(complain).to("the log", Path::new("x"), || Ok(Box::new(SmallDisk(0))));
        assert!(out.write(b"a").is_ok() && out.holds());
        assert!(out.flush().is_err() && !out.holds());
        assert!(out.write(b"b").is_err() && out.flush().is_err());
        assert_eq!(received.lock().unwrap().len(), 1);
    }

    #[test]
    fn buffered_text_is_written_in_pieces_of_ten_kilobytes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.log");
        let mut out = LogOutput::new(complaints().1).file(&path);
        out.write(b"begin\n").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"");
        out.write(&[b'x'; 10 << 10]).unwrap();
        assert!(fs::read(&path).unwrap().starts_with(b"begin\n"));
        out.flush().unwrap();
        assert_eq!(fs::read(&path).unwrap().len(), 6 + (10 << 10));
    }

    #[test]
    fn no_copy_is_written_where_a_link_leads() {
        let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let project = folder.path();
        symlink(outside.path(), project.join(".nightwright")).unwrap();
        let (received, complain) = complaints();
        let mut out =
            LogOutput::new(complain).copy(project, Path::new(".nightwright/logs"), "x.log");
        assert!(out.write(b"a").is_err());
        assert!(received.lock().unwrap()[0].contains("outside the project"));
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    }
}

//! A unix socket in a folder whose path may be too long for the address of a socket.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

/// The place of a unix socket. The folder stays open, so its short path by descriptor stays valid.
#[derive(Debug)]
pub struct SocketPath {
    folder: OwnedFd,
    name: OsString,
}

impl SocketPath {
    pub fn new(path: &Path) -> io::Result<Self> {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a socket needs a folder"));
        };
        // A link or a pipe in place of the folder is neither followed nor waited for.
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::PATH | OFlags::CLOEXEC;
        let folder = rustix::fs::open(folder, flags, rustix::fs::Mode::empty())?;
        Ok(Self { folder, name: OsStr::to_owned(name) })
    }

    /// Another path of the same socket, short enough for an address.
    pub fn short(&self) -> PathBuf {
        let folder = self.folder.as_raw_fd().to_string();
        Path::new("/proc/self/fd").join(folder).join(&self.name)
    }
}

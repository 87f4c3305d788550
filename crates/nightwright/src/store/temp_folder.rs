//! The temporary folder of a run: the `TMPDIR` of the agent, checks, hooks and calls.
//!
//! ```text
//! STATE/temp/nw-1a2b3c           contains the folder's path; locked while its owner is alive
//! /tmp/nw-1a2b3c/                0700
//!   .nightwright-temp            only folders with this file are removed
//!   7/  c2/  check/  hook/       one for each program, empty when it starts
//! ```
//!
//! The folder is below the user's `TMPDIR` unless that is unsuitable (see
//! `nightwright_core::temp`). Its path is short, because programs put Unix sockets there. The owner
//! removes it at the end of the run; after a crash the next start in the same state folder does.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read as _, Write as _};
use std::ops::Deref;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nightwright_core::temp::{self, Candidate, RankedFolder};

use crate::error::Failure;
use crate::files;
use crate::hex::hex;
use crate::random;
use crate::store::journal::create_file;

/// The folder of the records, in the state folder.
const RECORDS: &str = "temp";
/// The prefix of the names of all temporary folders.
const PREFIX: &str = "nw-";
/// The number of digits after the prefix.
const DIGITS: usize = 6;
/// The file that marks a folder as a temporary folder of nightwright.
const MARKER: &str = ".nightwright-temp";
const MARKER_TEXT: &str =
    "Temporary files of a nightwright run. nightwright removes this folder.\n";
/// Maximum length of the name of a program's folder.
const MAX_SUBFOLDER_NAME: usize = 6;
/// Maximum length of the path of a Unix socket.
const SOCKET_PATH: usize = 107;
/// Bytes of a socket's path that are left for its name.
const SOCKET_NAME: usize = 60;
/// The folders to fall back to, best first.
const USUAL: [&str; 2] = ["/tmp", "/var/tmp"];
/// How many names are tried.
const MAX_NAME_TRIES: u32 = 16;
/// Maximum size of a record, which contains one path.
const MAX_RECORD_BYTES: u64 = 8 << 10;

/// The temporary folder of a run. Dropping it removes the folder even if handles exist, so that a
/// task that has not ended yet does not leave the folder behind.
#[derive(Debug)]
pub struct TempFolder(TempHandle);

/// A handle to a temporary folder that another value owns.
#[derive(Clone, Debug)]
pub struct TempHandle(Arc<OwnedTempFolder>);

#[derive(Debug)]
struct OwnedTempFolder {
    path: PathBuf,
    record: PathBuf,
    /// Holds the lock that shows that the folder is in use.
    _lock: File,
    kept: AtomicBool,
}

/// No temporary folder could be created.
#[derive(Debug, thiserror::Error)]
#[error("cannot create a temporary folder in `{}`", folder.display())]
pub struct TempError {
    folder: PathBuf,
    source: io::Error,
}

impl From<TempError> for Failure {
    fn from(error: TempError) -> Self {
        Self::because(&error).hint("set TMPDIR to a folder that you can write to")
    }
}

/// Returns the folders to try, best first: `user` is the value of `TMPDIR`.
pub fn places(user: Option<OsString>, project: Option<&Path>) -> Vec<RankedFolder> {
    let user = user.filter(|user| !user.is_empty()).map(PathBuf::from);
    let look = |folder: PathBuf| Candidate {
        is_in_project: project.is_some_and(|project| is_inside(&folder, project)),
        leaves_room_for_sockets: leaves_room_for_sockets(&folder),
        is_in_memory: is_in_memory(&folder),
        folder,
    };
    temp::places(user.map(look), USUAL.map(|folder| look(folder.into())).into())
}

fn is_inside(folder: &Path, project: &Path) -> bool {
    match (folder.canonicalize(), project.canonicalize()) {
        (Ok(folder), Ok(project)) => folder.starts_with(project),
        (Err(_), _) | (_, Err(_)) => folder.starts_with(project),
    }
}

/// Whether files in this folder take up memory. A folder that cannot be read cannot be used.
fn is_in_memory(folder: &Path) -> bool {
    /// The kernel's `TMPFS_MAGIC` and `RAMFS_MAGIC`.
    const MAGIC: [u64; 2] = [0x0102_1994, 0x8584_58f6];
    let kind = rustix::fs::statfs(folder).map(|facts| facts.f_type);
    kind.is_ok_and(|kind| MAGIC.iter().any(|magic| u64::try_from(kind) == Ok(*magic)))
}

fn leaves_room_for_sockets(folder: &Path) -> bool {
    let ours = "/".len() + PREFIX.len() + DIGITS + "/".len() + MAX_SUBFOLDER_NAME + "/".len();
    folder.as_os_str().len() + ours + SOCKET_NAME <= SOCKET_PATH
}

impl TempFolder {
    /// Creates a new folder in the first writable one of `places`, and records it in `state`.
    pub fn create(state: &Path, places: &[RankedFolder]) -> Result<Self, TempError> {
        let mut first = None;
        for RankedFolder { folder, .. } in places {
            match Self::create_in(state, folder) {
                Ok(created) => return Ok(created),
                Err(source) => {
                    first.get_or_insert(TempError { folder: folder.clone(), source });
                }
            }
        }
        Err(first.unwrap_or_else(|| TempError {
            folder: PathBuf::from(USUAL[0]),
            source: io::ErrorKind::NotFound.into(),
        }))
    }

    fn create_in(state: &Path, folder: &Path) -> io::Result<Self> {
        let records = state.join(RECORDS);
        let mut tries = 0;
        loop {
            tries += 1;
            let name = format!("{PREFIX}{}", hex(&random::bytes::<{ DIGITS / 2 }>()?));
            let (path, record) = (folder.join(&name), records.join(&name));
            private_folders(&records)?;
            // Recorded before it exists: a crash in between leaves nothing behind.
            let lock = match write_record(&record, &path) {
                // Another process chose the same name, or removed the empty folder of records.
                Err(error) if is_race(&error) && tries < MAX_NAME_TRIES => continue,
                lock => lock?,
            };
            let Some(lock) = lock else {
                // Another process removed the record while it looked for leftovers.
                continue;
            };
            let created =
                OwnedTempFolder { path, record, _lock: lock, kept: AtomicBool::new(false) };
            match private_folder(&created.path) {
                Ok(()) => {}
                Err(error)
                    if error.kind() == io::ErrorKind::AlreadyExists && tries < MAX_NAME_TRIES =>
                {
                    // The folder belongs to another state folder and is left alone.
                    created.forget();
                    continue;
                }
                Err(error) => {
                    created.forget();
                    return Err(error);
                }
            }
            created.mark()?;
            return Ok(Self(TempHandle(Arc::new(created))));
        }
    }

    /// Returns a handle for a program that uses the folder.
    pub fn handle(&self) -> TempHandle {
        self.0.clone()
    }
}

impl Deref for TempFolder {
    type Target = TempHandle;

    fn deref(&self) -> &TempHandle {
        &self.0
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        let owned = &self.0.0;
        if !owned.kept.load(Ordering::Relaxed) && discard(&owned.path) {
            owned.forget();
        }
    }
}

impl TempHandle {
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Creates an empty folder for the program with this name. The name must be short: it is part
    /// of the path of every socket that the program creates there.
    pub fn room(&self, name: &str) -> io::Result<PathBuf> {
        self.clear(name);
        self.shared_room(name)
    }

    /// Like [`Self::room`], but keeps the files of an earlier program.
    pub fn shared_room(&self, name: &str) -> io::Result<PathBuf> {
        debug_assert!(name.len() <= MAX_SUBFOLDER_NAME, "`{name}` is too long");
        let owned = &self.0;
        match private_folder(&owned.path) {
            // Another program has deleted everything below `/tmp`.
            Ok(()) => owned.mark()?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => owned.check()?,
            Err(error) => return Err(error),
        }
        let room = owned.path.join(name);
        match private_folder(&room) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && is_ours(&room) => {}
            created => created?,
        }
        Ok(room)
    }

    /// Removes the folder of a program.
    pub fn clear(&self, name: &str) {
        remove(&self.0.path.join(name));
    }

    /// Leaves the removal to the next start, because a program of the user still runs in the
    /// folder.
    pub fn keep(&self) {
        self.0.kept.store(true, Ordering::Relaxed);
    }
}

impl OwnedTempFolder {
    fn mark(&self) -> io::Result<()> {
        let mut marker = files::create_anew(&self.path.join(MARKER))?;
        marker.write_all(MARKER_TEXT.as_bytes())
    }

    fn check(&self) -> io::Result<()> {
        if is_ours(&self.path) {
            Ok(())
        } else {
            Err(io::Error::other("it no longer belongs to this run"))
        }
    }

    fn forget(&self) {
        // If this fails, the next start removes it.
        let _ = fs::remove_file(&self.record);
        if let Some(records) = self.record.parent() {
            // Fails while the folder contains other records.
            let _ = fs::remove_dir(records);
        }
    }
}

/// Whether the error results from another process that did the same at this moment.
fn is_race(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound)
}

/// Removes the temporary folders that crashed processes recorded in this state folder.
pub fn sweep(state: &Path) {
    let Ok(entries) = fs::read_dir(state.join(RECORDS)) else { return };
    for record in entries.flatten().map(|entry| entry.path()) {
        let Ok(mut file) = files::open_regular(&record) else { continue };
        if file.try_lock().is_err() {
            continue;
        }
        if discard_recorded(&record, &mut file) {
            // A process that waits for the lock notices that the file is gone.
            let _ = fs::remove_file(&record);
        }
    }
}

/// Removes the folder of a record. Returns whether nothing remains; a record without a path was
/// never used.
fn discard_recorded(record: &Path, file: &mut File) -> bool {
    let mut bytes = Vec::new();
    if file.take(MAX_RECORD_BYTES).read_to_end(&mut bytes).is_err() {
        return false;
    }
    let Some(path) = bytes.strip_suffix(b"\n").filter(|path| !path.is_empty()) else {
        return true;
    };
    let path = PathBuf::from(OsString::from_vec(path.to_vec()));
    let ours = path.is_absolute() && is_name(&path) && path.file_name() == record.file_name();
    !ours || discard(&path)
}

/// Whether the name is `nw-` and six digits.
fn is_name(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_bytes();
    let digits = name.strip_prefix(PREFIX.as_bytes()).unwrap_or_default();
    digits.len() == DIGITS && digits.iter().all(u8::is_ascii_hexdigit)
}

/// Removes a temporary folder. Returns whether nothing remains to be done.
fn discard(path: &Path) -> bool {
    if fs::symlink_metadata(path).is_err() {
        return true;
    }
    if !is_ours(path) {
        // The path is now used by something else.
        return true;
    }
    let marker = path.join(MARKER);
    if fs::symlink_metadata(&marker).is_ok_and(|facts| facts.is_file()) {
        return remove(path);
    }
    // Without the marker, only an empty folder is removed: the process died before it wrote the
    // marker.
    fs::remove_dir(path).is_ok()
}

fn is_ours(path: &Path) -> bool {
    fs::symlink_metadata(path)
        .is_ok_and(|facts| facts.is_dir() && facts.uid() == rustix::process::getuid().as_raw())
}

/// Removes a folder and everything in it, including read-only folders, without following links.
/// Returns whether it is gone.
fn remove(folder: &Path) -> bool {
    if fs::symlink_metadata(folder).is_err() {
        return true;
    }
    // Mounted file systems must not be emptied.
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let mut points = mounts.lines().filter_map(|line| line.split(' ').nth(4));
    if points.any(|point| Path::new(point).starts_with(folder)) {
        return false;
    }
    if fs::remove_dir_all(folder).is_ok() {
        return true;
    }
    // The module caches of Go and other tools contain read-only folders.
    unlock(folder);
    fs::remove_dir_all(folder).is_ok()
}

/// Gives the owner access to a folder and all its subfolders.
fn unlock(folder: &Path) {
    let Ok(facts) = fs::symlink_metadata(folder) else { return };
    if !facts.is_dir() {
        return;
    }
    let mode = facts.permissions().mode();
    if mode & 0o700 != 0o700 {
        // If this fails, the folder stays and takes up space.
        let _ = fs::set_permissions(folder, fs::Permissions::from_mode(mode | 0o700));
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            unlock(&entry.path());
        }
    }
}

/// Writes a record and locks it; `None` if a sweep removed it in between.
fn write_record(record: &Path, path: &Path) -> io::Result<Option<File>> {
    let mut file = create_file(record)?;
    file.lock()?;
    if file.metadata()?.nlink() == 0 {
        return Ok(None);
    }
    file.write_all(&[path.as_os_str().as_bytes(), b"\n"].concat())?;
    file.sync_all()?;
    Ok(Some(file))
}

fn private_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}

fn private_folders(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// Returns a state folder and a folder for temporary folders.
    fn two() -> (tempfile::TempDir, PathBuf, Vec<RankedFolder>) {
        let folder = tempfile::tempdir().unwrap();
        let (state, temp) = (folder.path().join("state"), folder.path().join("t"));
        fs::create_dir(&temp).unwrap();
        (folder, state, vec![RankedFolder { folder: temp, instead: None }])
    }

    /// Simulates a crash: only the lock is released.
    fn crash(temp: TempFolder) -> PathBuf {
        let path = temp.path().to_owned();
        temp.keep();
        drop(temp);
        path
    }

    #[test]
    fn a_room_is_new_private_and_gone_with_the_folder() {
        let (_folder, state, places) = two();
        let temp = TempFolder::create(&state, &places).unwrap();
        let room = temp.room("check").unwrap();
        assert!(is_name(temp.path()), "{}", temp.path().display());
        for folder in [temp.path(), &room] {
            let mode = fs::metadata(folder).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o700, "{}", folder.display());
        }
        fs::write(room.join("left"), "x").unwrap();
        assert_eq!(fs::read_dir(temp.room("check").unwrap()).unwrap().count(), 0);
        let path = temp.path().to_owned();
        drop(temp);
        assert!(!path.exists());
        assert!(!state.join(RECORDS).exists());
    }

    #[test]
    fn a_socket_with_a_name_of_60_bytes_can_be_bound_in_every_room() {
        let (_folder, state, _) = two();
        let temp = TempFolder::create(&state, &places(None, None)).unwrap();
        for name in ["check", "hook", "c99999", "999999"] {
            let socket = temp.room(name).unwrap().join("s".repeat(SOCKET_NAME));
            std::os::unix::net::UnixListener::bind(&socket).unwrap();
        }
    }

    #[test]
    fn a_folder_that_was_removed_under_way_is_created_again() {
        let (_folder, state, places) = two();
        let temp = TempFolder::create(&state, &places).unwrap();
        fs::remove_dir_all(temp.path()).unwrap();
        assert!(temp.room("7").unwrap().is_dir());
        let path = temp.path().to_owned();
        drop(temp);
        assert!(!path.exists());
    }

    #[test]
    fn the_next_start_removes_what_a_crash_left_and_nothing_that_is_in_use() {
        let (_folder, state, places) = two();
        let live = TempFolder::create(&state, &places).unwrap();
        let dead = TempFolder::create(&state, &places).unwrap();
        let cache = dead.room("7").unwrap().join("module");
        fs::create_dir(&cache).unwrap();
        fs::write(cache.join("file"), "x").unwrap();
        fs::set_permissions(&cache, fs::Permissions::from_mode(0o555)).unwrap();
        let dead = crash(dead);
        sweep(&state);
        assert!(live.path().is_dir());
        assert!(!dead.exists());
        assert_eq!(fs::read_dir(state.join(RECORDS)).unwrap().count(), 1);
    }

    #[test]
    fn the_next_start_follows_no_link_and_removes_no_foreign_files() {
        let (folder, state, places) = two();
        let precious = folder.path().join("precious");
        fs::create_dir(&precious).unwrap();
        fs::write(precious.join("file"), "x").unwrap();
        // A link in place of the folder.
        let linked = crash(TempFolder::create(&state, &places).unwrap());
        fs::remove_dir_all(&linked).unwrap();
        symlink(&precious, &linked).unwrap();
        // A link inside it.
        let inside = TempFolder::create(&state, &places).unwrap();
        symlink(&precious, inside.room("7").unwrap().join("link")).unwrap();
        let inside = crash(inside);
        // A folder with that name but without the marker.
        let unmarked = crash(TempFolder::create(&state, &places).unwrap());
        fs::remove_file(unmarked.join(MARKER)).unwrap();
        fs::write(unmarked.join("file"), "x").unwrap();
        // A record that names another folder.
        fs::write(state.join(RECORDS).join("nw-0000ff"), format!("{}\n", precious.display()))
            .unwrap();
        sweep(&state);
        assert!(precious.join("file").exists());
        assert!(unmarked.join("file").exists());
        assert!(!inside.exists());
    }

    #[test]
    fn a_path_that_is_too_long_for_sockets_or_inside_the_project_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("project");
        fs::create_dir_all(project.join("tmp")).unwrap();
        let why = |user: &str| places(Some(user.into()), Some(&project))[0].instead;
        let inside = project.join("tmp").display().to_string();
        assert_eq!(why(&inside), Some("it is inside the project"));
        assert_eq!(why(&format!("/{}", "x".repeat(28))), None);
        let too_long = format!("/{}", "x".repeat(29));
        assert_eq!(why(&too_long), Some("its path is too long for Unix sockets"));
    }

    #[test]
    fn a_folder_in_memory_is_distinguished_from_one_on_disk() {
        assert!(!is_in_memory(Path::new("/proc")));
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        let mounted = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        for mount in mounted.filter(|mount| mount[2] == "tmpfs") {
            let point = Path::new(mount[1]);
            // Another file system may be mounted over it.
            let last = mounts.lines().rfind(|line| line.split(' ').nth(1) == Some(mount[1]));
            if point.is_dir() && last.is_some_and(|last| last.contains(" tmpfs ")) {
                assert!(is_in_memory(point), "{}", point.display());
            }
        }
    }

    #[test]
    fn a_folder_that_cannot_be_written_to_is_passed_over() {
        let (folder, state, mut places) = two();
        places.insert(0, RankedFolder { folder: folder.path().join("missing"), instead: None });
        assert!(TempFolder::create(&state, &places).is_ok());
        let error = TempFolder::create(&state, &places[..1]).unwrap_err();
        let failure = Failure::from(error);
        assert!(failure.message.contains("missing"), "{failure}");
        assert!(failure.hint.unwrap().contains("TMPDIR"));
    }
}

//! The state of the project at the start of a run, as far as git has no copy: uncommitted changes,
//! untracked files, and without git all files.
//!
//! ```text
//! RUN/start-tree/
//!   contents     the concatenated contents of the files
//!   index        how the project was inspected; the identity and copy of each file
//! ```
//!
//! The index is written last and replaced atomically: without it there is no start tree.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder};
use std::io::{self, BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use nightwright_core::input::WorkspaceMark;
use nightwright_core::tamper::FileSide;

use super::changes::{self, MAX_FILE};
use super::identity::Identity;
use super::private;
use crate::files;
use crate::hex::hex;
use crate::store::journal::create_file;

/// The name of the folder in the run folder.
const FOLDER: &str = "start-tree";
const CONTENTS: &str = "contents";
const INDEX: &str = "index";
/// The first word of an index.
const TITLE: &str = "nightwright-start-tree-1";

/// Maximum number of copies.
const COPIES: usize = 5_000;
/// Maximum total size of the copies.
const BYTES: u64 = 32 << 20;
/// Maximum number of files in the index.
const FILES: usize = 100_000;
/// Maximum size of an index with that many files.
const MAX_INDEX: u64 = 64 << 20;

/// The state of the project at the start of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartTree {
    kind: StartTreeKind,
    kept: BTreeMap<PathBuf, StartTreeEntry>,
    /// Whether the index contains all files that are not in git.
    whole: bool,
    /// The run folder, if it has copies.
    run: Option<PathBuf>,
}

/// How the project was inspected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum StartTreeKind {
    /// By walking over all files.
    Walk,
    Git {
        /// The commit; `None` before the first one.
        base: Option<String>,
    },
}

/// A file at the start of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StartTreeEntry {
    /// `None` if the file did not exist, although the commit contains it.
    pub(super) identity: Option<Identity>,
    /// The offset and length of its copy.
    copy: Option<(u64, u64)>,
}

impl StartTree {
    /// Returns the start tree of a run, if its folder has one.
    pub fn of(run_folder: &Path) -> Option<Self> {
        let folder = run_folder.join(FOLDER);
        let mut bytes = Vec::new();
        files::open_regular(&folder.join(INDEX))
            .ok()?
            .take(MAX_INDEX)
            .read_to_end(&mut bytes)
            .ok()?;
        Self::decode(&bytes, run_folder)
    }

    /// Returns the start tree of a run that recorded none: the commit at its start.
    pub fn of_mark(mark: &WorkspaceMark) -> Self {
        let kind = match mark.head_tree {
            Some(_) => StartTreeKind::Git { base: mark.head.clone() },
            None => StartTreeKind::Walk,
        };
        Self::bare(kind)
    }

    /// Returns a start tree without any files.
    pub(super) fn bare(kind: StartTreeKind) -> Self {
        Self { kind, kept: BTreeMap::new(), whole: false, run: None }
    }

    pub(super) fn kind(&self) -> &StartTreeKind {
        &self.kind
    }

    pub(super) fn kept(&self) -> &BTreeMap<PathBuf, StartTreeEntry> {
        &self.kept
    }

    /// Returns the old side of a file that is neither in the index nor in git.
    pub(super) fn unknown(&self) -> FileSide {
        if self.whole { FileSide::Absent } else { FileSide::Opaque }
    }

    /// Whether the run recorded the files that are not in git.
    pub(super) fn has_copies(&self) -> bool {
        self.run.is_some()
    }

    /// Returns the private git folder of the run, if any.
    pub(super) fn git_folder(&self) -> Option<PathBuf> {
        Some(self.run.as_ref()?.join(private::FOLDER))
    }

    /// Records the files at the start of a run.
    pub(super) fn save(
        run_folder: &Path,
        kind: StartTreeKind,
        root: &Path,
        files: Vec<(PathBuf, Option<Identity>)>,
    ) -> io::Result<Self> {
        let folder = run_folder.join(FOLDER);
        // A process that died while writing may have left a partial start tree.
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let kept = Self::write(run_folder, &folder, kind, root, files);
        if kept.is_err() {
            // A partial start tree is useless, and the error is reported anyway.
            let _ = fs::remove_dir_all(&folder);
        }
        kept
    }

    fn write(
        run_folder: &Path,
        folder: &Path,
        kind: StartTreeKind,
        root: &Path,
        files: Vec<(PathBuf, Option<Identity>)>,
    ) -> io::Result<Self> {
        DirBuilder::new().mode(0o700).create(folder)?;
        let mut writer = BufWriter::new(create_file(&folder.join(CONTENTS))?);
        let (mut copies, mut length) = (0, 0);
        let whole = files.len() <= FILES;
        let mut kept = BTreeMap::new();
        for (path, identity) in files.into_iter().take(FILES) {
            let mut copy = None;
            if identity.is_some()
                && copies < COPIES
                && let Some(bytes) = changes::read(root, &path)
                && length + bytes.len() as u64 <= BYTES
                && changes::is_text(&bytes)
            {
                writer.write_all(&bytes)?;
                copy = Some((length, bytes.len() as u64));
                copies += 1;
                length += bytes.len() as u64;
            }
            kept.insert(path, StartTreeEntry { identity, copy });
        }
        writer.flush()?;
        let start_tree = Self { kind, kept, whole, run: Some(run_folder.to_owned()) };
        let beside = folder.join("index.new");
        create_file(&beside)?.write_all(&start_tree.encode())?;
        fs::rename(&beside, folder.join(INDEX))?;
        Ok(start_tree)
    }

    /// Returns the contents of the file at the start of the run.
    pub(super) fn side(&self, kept: &StartTreeEntry) -> FileSide {
        let (Some(run), Some((start, length))) = (&self.run, kept.copy) else {
            return if kept.identity.is_some() { FileSide::Opaque } else { FileSide::Absent };
        };
        let read = || {
            let mut file = files::open_regular(&run.join(FOLDER).join(CONTENTS))?;
            file.seek(SeekFrom::Start(start))?;
            let mut bytes = Vec::new();
            file.take(length.min(MAX_FILE)).read_to_end(&mut bytes)?;
            Ok::<_, io::Error>(bytes)
        };
        read().map_or(FileSide::Opaque, |bytes| changes::side(&bytes))
    }

    fn encode(&self) -> Vec<u8> {
        let whole = if self.whole { "whole" } else { "cut" };
        let kind = match &self.kind {
            StartTreeKind::Walk => "walk -".to_owned(),
            StartTreeKind::Git { base } => format!("git {}", base.as_deref().unwrap_or("-")),
        };
        let mut bytes = format!("{TITLE} {whole} {kind}\0").into_bytes();
        for (path, StartTreeEntry { identity, copy }) in &self.kept {
            let what = match identity {
                Some(Identity { mode, id }) => format!("{mode:o} {}", hex(id)),
                None => "- -".to_owned(),
            };
            let place = match copy {
                Some((start, length)) => format!("{start} {length}"),
                None => "- -".to_owned(),
            };
            bytes.extend_from_slice(format!("{what} {place} ").as_bytes());
            bytes.extend_from_slice(path.as_os_str().as_bytes());
            bytes.push(0);
        }
        bytes
    }

    /// Returns `None` if the index is incomplete or has another format.
    fn decode(bytes: &[u8], run_folder: &Path) -> Option<Self> {
        let mut records = bytes.strip_suffix(b"\0")?.split(|&byte| byte == 0);
        let title = str::from_utf8(records.next()?).ok()?;
        let [TITLE, whole, kind, base] = title.split(' ').collect::<Vec<_>>()[..] else {
            return None;
        };
        let kind = match kind {
            "git" => StartTreeKind::Git { base: (base != "-").then(|| base.to_owned()) },
            _ => StartTreeKind::Walk,
        };
        let kept: Option<_> = records.map(decode_kept).collect();
        let run = Some(run_folder.to_owned());
        Some(Self { kind, kept: kept?, whole: whole == "whole", run })
    }
}

fn decode_kept(record: &[u8]) -> Option<(PathBuf, StartTreeEntry)> {
    let parts: Vec<_> = record.splitn(5, |&byte| byte == b' ').collect();
    let [mode, id, start, length, path] = parts[..] else { return None };
    let number =
        |digits: &[u8], radix| u64::from_str_radix(str::from_utf8(digits).ok()?, radix).ok();
    let identity = match mode {
        b"-" => None,
        _ => Some(Identity {
            mode: u32::try_from(number(mode, 8)?).ok()?,
            id: id
                .as_chunks::<2>()
                .0
                .iter()
                .map(|pair| u8::try_from(number(pair, 16)?).ok())
                .collect::<Option<_>>()?,
        }),
    };
    let copy = match start {
        b"-" => None,
        _ => Some((number(start, 10)?, number(length, 10)?)),
    };
    let path = Path::new(OsStr::from_bytes(path)).to_owned();
    Some((path, StartTreeEntry { identity, copy }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_files_are_read_again_under_any_name() {
        let folder = tempfile::tempdir().unwrap();
        let odd = Path::new(OsStr::from_bytes(b"odd \xff\nname"));
        fs::write(folder.path().join(odd), "text").unwrap();
        fs::write(folder.path().join("binary"), b"\0\0").unwrap();
        let identity = |mode| Some(Identity { mode, id: vec![7, 255].into() });
        let files = vec![
            (odd.to_owned(), identity(0o100_644)),
            (PathBuf::from("binary"), identity(0o100_755)),
            (PathBuf::from("gone"), None),
        ];
        let kind = StartTreeKind::Git { base: Some("abc".to_owned()) };
        let made = StartTree::save(folder.path(), kind, folder.path(), files).unwrap();
        let read = StartTree::of(folder.path()).unwrap();
        assert_eq!(read, made);
        let side = |name: &Path| read.side(&read.kept()[name]);
        assert_eq!(side(odd), FileSide::Text("text".to_owned()));
        assert_eq!(side(Path::new("binary")), FileSide::Opaque);
        assert_eq!(side(Path::new("gone")), FileSide::Absent);
    }

    #[test]
    fn an_index_that_is_not_whole_is_none() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(StartTree::of(folder.path()), None);
        let start_tree =
            StartTree::save(folder.path(), StartTreeKind::Walk, folder.path(), Vec::new()).unwrap();
        assert_eq!(StartTree::of(folder.path()), Some(start_tree));
        let index = folder.path().join("start-tree/index");
        for bytes in [&b""[..], b"nightwright-start-tree-1 whole", b"other whole walk -\0"] {
            fs::write(&index, bytes).unwrap();
            assert_eq!(StartTree::of(folder.path()), None, "{bytes:?}");
        }
    }
}

//! Parsers for the output of git. Records end with a zero byte, so that they can contain any name.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::git::GitError;
use super::identity::Identity;

/// The parsed output of `git status --porcelain=v2 -z`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct GitStatus {
    /// Tracked files that differ from the commit or the index.
    pub(super) tracked: Vec<TrackedFile>,
    /// Untracked files; a folder is another repository.
    pub(super) untracked: Vec<PathBuf>,
}

/// A tracked file that differs from the commit or the index.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TrackedFile {
    pub(super) path: PathBuf,
    /// The file's identity in the commit.
    pub(super) head: Option<Identity>,
    /// The mode in the work tree; 0 if the file does not exist.
    pub(super) mode: u32,
}

/// A file that differs between two commits.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MovedFile {
    pub(super) path: PathBuf,
    pub(super) old: Option<Identity>,
    pub(super) new: Option<Identity>,
}

/// A commit with its changes relative to its first parent.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LoggedCommit {
    pub(super) id: String,
    pub(super) parent: Option<String>,
    pub(super) moved: Vec<MovedFile>,
}

/// The format of a log: a byte that no other line starts with, the commit, its parents.
pub(super) const LOG_FORMAT: &str = "--format=%x01%H %P";

pub(super) fn status(output: &[u8]) -> Result<GitStatus, GitError> {
    let mut status = GitStatus::default();
    let mut records = records(output);
    while let Some(record) = records.next() {
        match record.split_first() {
            Some((b'1', rest)) => status.tracked.push(tracked(rest, [2, 4, 5], 7)?),
            Some((b'2', rest)) => {
                status.tracked.push(tracked(rest, [2, 4, 5], 8)?);
                // The old path; absent with `--no-renames`.
                records.next();
            }
            // The second of the three sides of a conflict is the current branch.
            Some((b'u', rest)) => status.tracked.push(tracked(rest, [3, 5, 7], 9)?),
            Some((b'?', rest)) => status.untracked.push(path(&rest[1.min(rest.len())..])),
            Some((b'#' | b'!', _)) | None => {}
            Some(_) => return Err(odd(record)),
        }
    }
    Ok(status)
}

/// Parses a record of words and a path. `places` are the words with the mode in the commit, the
/// mode in the work tree and the name in the commit. `words` is the number of words before the
/// path.
fn tracked(record: &[u8], places: [usize; 3], words: usize) -> Result<TrackedFile, GitError> {
    // The record starts with a space, so word 0 is empty.
    let parts: Vec<_> = record.splitn(words + 2, |&byte| byte == b' ').collect();
    let word = |place: usize| parts.get(place).copied().ok_or_else(|| odd(record));
    let [mode, now, id] = places;
    Ok(TrackedFile {
        head: identity(word(mode + 1)?, word(id + 1)?)?,
        mode: octal(word(now + 1)?)?,
        path: path(word(words + 1)?),
    })
}

/// Parses the output of `git diff-tree -r -z --raw`.
pub(super) fn moves(output: &[u8]) -> Result<Vec<MovedFile>, GitError> {
    let mut all = Vec::new();
    let mut records = records(output);
    while let Some(record) = records.next() {
        let record = record.trim_ascii();
        if !record.is_empty() {
            all.push(moved(record, records.next())?);
        }
    }
    Ok(all)
}

/// Parses the output of `git log -z --raw` in [`LOG_FORMAT`], newest first.
pub(super) fn log(output: &[u8]) -> Result<Vec<LoggedCommit>, GitError> {
    let mut all: Vec<LoggedCommit> = Vec::new();
    let mut records = records(output);
    while let Some(record) = records.next() {
        let record = record.trim_ascii();
        match record.split_first() {
            None => {}
            Some((1, rest)) => {
                let mut words = text(rest)?.split(' ').filter(|word| !word.is_empty());
                let id = words.next().ok_or_else(|| odd(record))?.to_owned();
                let parent = words.next().map(str::to_owned);
                all.push(LoggedCommit { id, parent, moved: Vec::new() });
            }
            Some(_) => {
                let commit = all.last_mut().ok_or_else(|| odd(record))?;
                commit.moved.push(moved(record, records.next())?);
            }
        }
    }
    Ok(all)
}

/// A file of the index.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct IndexEntry<'a> {
    pub(super) path: &'a Path,
    /// The tag that shows how git inspects the file.
    pub(super) tag: u8,
    pub(super) is_repository: bool,
}

/// Parses the output of `git ls-files -v --stage -z`: `H 100644 NAME 0`, a tab, the path.
pub(super) fn listed(output: &[u8]) -> impl Iterator<Item = IndexEntry<'_>> {
    records(output).filter_map(|record| {
        let (&tag, rest) = record.split_first()?;
        let tab = rest.iter().position(|&byte| byte == b'\t')?;
        let is_repository = rest.starts_with(b" 160000 ");
        let path = Path::new(OsStr::from_bytes(&rest[tab + 1..]));
        Some(IndexEntry { path, tag, is_repository })
    })
}

/// Parses `:100644 100755 OLD NEW M`, and the path after it.
fn moved(record: &[u8], name: Option<&[u8]>) -> Result<MovedFile, GitError> {
    let words: Vec<_> = record.split(|&byte| byte == b' ').collect();
    match (words.as_slice(), name) {
        ([[b':', before @ ..], after, old, new, ..], Some(name)) if !name.is_empty() => {
            Ok(MovedFile {
                path: path(name),
                old: identity(before, old)?,
                new: identity(after, new)?,
            })
        }
        _ => Err(odd(record)),
    }
}

fn records(output: &[u8]) -> impl Iterator<Item = &[u8]> {
    output.split(|&byte| byte == 0)
}

fn path(name: &[u8]) -> PathBuf {
    Path::new(OsStr::from_bytes(name)).to_owned()
}

/// Parses mode and name; mode 0 means that the file does not exist.
fn identity(mode: &[u8], id: &[u8]) -> Result<Option<Identity>, GitError> {
    let mode = octal(mode)?;
    Ok(if mode == 0 { None } else { Some(Identity { mode, id: bytes(id)? }) })
}

fn octal(digits: &[u8]) -> Result<u32, GitError> {
    u32::from_str_radix(text(digits)?, 8).map_err(|_| odd(digits))
}

fn bytes(digits: &[u8]) -> Result<Arc<[u8]>, GitError> {
    let pair = |pair: &[u8; 2]| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok();
    let (pairs, rest) = digits.as_chunks::<2>();
    let all: Option<Arc<[u8]>> = pairs.iter().map(pair).collect();
    all.filter(|_| rest.is_empty()).ok_or_else(|| odd(digits))
}

fn text(bytes: &[u8]) -> Result<&str, GitError> {
    str::from_utf8(bytes).map_err(|_| odd(bytes))
}

fn odd(bytes: &[u8]) -> GitError {
    let start = &bytes[..bytes.len().min(80)];
    GitError::Odd(String::from_utf8_lossy(start).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    const B: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

    fn named(mode: u32, byte: u8) -> Identity {
        Identity { mode, id: vec![byte; 20].into() }
    }

    #[test]
    fn every_kind_of_record_is_read_with_any_name() {
        let output = format!(
            "# branch.oid {A}\0# branch.head main\0\
             1 .M N... 100644 100644 100755 {A} {B} a b\nc\0\
             1 A. N... 000000 100644 100644 {A} {B} new\0\
             2 R. N... 100644 100644 100644 {A} {B} R100 to\0from\0\
             u UU N... 100644 100755 100644 100644 {A} {B} {A} both\0\
             ? un known\0? inner/\0! ignored\0"
        );
        let status = status(output.as_bytes()).unwrap();
        let tracked: Vec<_> = status
            .tracked
            .iter()
            .map(|file| (file.path.to_str().unwrap(), file.head.clone(), file.mode))
            .collect();
        assert_eq!(
            tracked,
            [
                ("a b\nc", Some(named(0o100_644, 0xaa)), 0o100_755),
                ("new", None, 0o100_644),
                ("to", Some(named(0o100_644, 0xaa)), 0o100_644),
                ("both", Some(named(0o100_755, 0xbb)), 0o100_644),
            ]
        );
        assert_eq!(status.untracked, [Path::new("un known"), Path::new("inner/")]);
    }

    #[test]
    fn the_files_of_an_index_are_read_with_how_git_looks_at_them() {
        let output = format!("H 100644 {A} 0\ta\0h 160000 {B} 0\tin\tner\0");
        let listed: Vec<_> = listed(output.as_bytes()).collect();
        let (a, inner) = (Path::new("a"), Path::new("in\tner"));
        assert_eq!(
            listed,
            [
                IndexEntry { path: a, tag: b'H', is_repository: false },
                IndexEntry { path: inner, tag: b'h', is_repository: true },
            ]
        );
    }

    #[test]
    fn an_unknown_git_status_is_reported_and_not_guessed() {
        for output in ["1 .M\0", "x y\0", "1 .M N... 1 2 3 zz yy p\0"] {
            assert!(matches!(status(output.as_bytes()), Err(GitError::Odd(_))), "{output}");
        }
        assert!(log(b":100644 100644 aa bb M\0p\0").is_err());
        assert!(moves(b":100644 100644 aa bb M\0").is_err());
    }

    #[test]
    fn a_log_has_commits_with_what_they_changed() {
        let output = format!(
            "\x01{A} {B} {B}\0\n:000000 100644 {A} {B} A\0\x01odd\0\0\x01{B} \0\n\
             :100644 000000 {A} {B} D\0gone\0"
        );
        let commits = log(output.as_bytes()).unwrap();
        assert_eq!(commits.len(), 2);
        assert_eq!((commits[0].id.as_str(), commits[0].parent.as_deref()), (A, Some(B)));
        assert_eq!(commits[0].moved[0].path, Path::new("\x01odd"));
        assert_eq!(commits[0].moved[0].new, Some(named(0o100_644, 0xbb)));
        assert_eq!((commits[1].parent.as_deref(), &commits[1].moved[0].new), (None, &None));
    }
}

//! The private git folder of a run, in which all git commands run.
//!
//! ```text
//! RUN/git/
//!   HEAD                      the commit at the start of the run
//!   config                    how to read files; no settings that name programs
//!   index                     a copy of the repository's index at the start
//!   info/                     ignore rules and text attributes at the start
//!   objects/pack              that commit and its trees, without file contents
//!   objects/info/alternates   the object folder of the repository
//!   links                     submodules in the index
//!   place                     the repository's folders; written last
//! ```
//!
//! Changes that the agent makes to the repository, its configuration or the user's have no effect
//! here. Only contents and new commits come from the repository. Without it, everything else is
//! still known. The folder is built under another name and renamed when it is complete.

use std::collections::HashMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs::{self, DirBuilder};
use std::io::{self, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use super::git::{Git, GitError};
use super::git_output;
use super::identity::ObjectFormat;
use super::repository::{Head, Repository, bytes_of, open_plain, text_of};
use crate::store::journal::create_file;

/// The name of the folder in the run folder.
pub(super) const FOLDER: &str = "git";
const PLACE: &str = "place";
const LINKS: &str = "links";
/// The contents of `HEAD` before the first commit: a branch that never exists.
const UNBORN: &str = "ref: refs/heads/none";
/// Maximum size of ignore lists and other lists of git that are copied.
const LIST: u64 = 1 << 20;
/// Maximum size of the list of submodules in the index.
const MAX_LINKS: u64 = 16 << 20;
/// Maximum number of files that make up an index.
const PIECES: usize = 16;

/// Settings that define how files are read: each is a boolean or a word.
const COPIED: [&str; 10] = [
    "core.filemode",
    "core.symlinks",
    "core.ignorecase",
    "core.autocrlf",
    "core.eol",
    "core.precomposeunicode",
    "core.checkstat",
    "core.trustctime",
    "core.sparsecheckout",
    "core.sparsecheckoutcone",
];

/// Files with which git would read its configuration from elsewhere, or run programs.
const FOREIGN: [&str; 3] = ["commondir", "config.worktree", "hooks"];

/// The commit at the start of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum BaseCommit {
    /// The commit that is checked out now.
    First,
    /// This commit; `None` before the first commit.
    At(Option<String>),
}

/// The private git folder for a repository.
#[derive(Debug)]
pub(super) struct PrivateGit {
    pub(super) git: Git,
    pub(super) repository: Repository,
    pub(super) format: ObjectFormat,
    /// The commit at the start of the run; `None` before the first commit.
    pub(super) base: Option<String>,
    /// Submodules in the index, relative to the top.
    pub(super) links: Vec<PathBuf>,
}

impl PrivateGit {
    /// Opens an existing folder, for a project that has not moved.
    pub(super) fn open(folder: &Path, project: &Path) -> Option<Self> {
        let place = bytes_of(&folder.join(PLACE), LIST)?;
        let mut paths = place.split(|&byte| byte == 0).map(to_path);
        let (top, real, shared) = (paths.next()?, paths.next()?, paths.next()?);
        let inside = project.canonicalize().ok()?.strip_prefix(&top).ok()?.to_owned();
        let head = text_of(&folder.join("HEAD"), LIST)?;
        let base = Some(head.trim()).filter(|head| *head != UNBORN).map(str::to_owned);
        let config = text_of(&folder.join("config"), LIST)?;
        // An earlier process made the folder, and the agent may have changed it since.
        if !is_harmless(&config) || FOREIGN.iter().any(|name| folder.join(name).exists()) {
            return None;
        }
        let format =
            if config.contains("objectFormat") { ObjectFormat::Sha256 } else { ObjectFormat::Sha1 };
        let links = bytes_of(&folder.join(LINKS), MAX_LINKS)?;
        let links = links.split(|&byte| byte == 0).filter(|path| !path.is_empty());
        // A killed git may have left a lock, which would prevent updates of the index. Usually the
        // file does not exist.
        let _ = fs::remove_file(folder.join("index.lock"));
        Some(Self {
            git: Git::alone(folder, &top, &inside).watched(folder),
            links: links.map(to_path).collect(),
            repository: Repository { top, folder: real, shared, inside },
            format,
            base,
        })
    }

    /// Creates a new folder, replacing the one at this path.
    pub(super) fn make(
        folder: &Path,
        repository: &Repository,
        base: &BaseCommit,
    ) -> Result<Self, GitError> {
        let beside = folder.with_extension("new");
        let made = remove(folder)
            .and_then(|()| remove(&beside))
            .map_err(no_folder)
            .and_then(|()| build(&beside, repository, base))
            .and_then(|()| fs::rename(&beside, folder).map_err(no_folder));
        if let Err(trouble) = made {
            // The error is reported anyway.
            let _ = remove(&beside);
            return Err(trouble);
        }
        let project = repository.top.join(&repository.inside);
        Self::open(folder, &project).ok_or_else(|| no_folder(io::ErrorKind::NotFound.into()))
    }
}

fn build(folder: &Path, repository: &Repository, base: &BaseCommit) -> Result<(), GitError> {
    let commit = match base {
        BaseCommit::First => checked_out(repository)?,
        BaseCommit::At(commit) => commit.clone(),
    };
    let settings = GitSettings::of(repository);
    lay_out(folder, repository, &settings, commit.as_deref()).map_err(no_folder)?;
    let git = Git::alone(folder, &repository.top, Path::new(""));
    if let Some(commit) = &commit {
        // Without them, the objects of the repository are used as long as they exist.
        let _ = keep_folders(&git, folder, commit);
    }
    // Later, the agent may have changed the repository's index.
    let copied = *base == BaseCommit::First && copy_index(folder, &repository.folder).is_ok();
    let listed = match copied.then(|| list(&git)) {
        Some(Ok(listed)) => listed,
        Some(Err(GitError::TooMuch)) => Vec::new(),
        Some(Err(_)) | None => {
            remove_file(&folder.join("index")).map_err(no_folder)?;
            if let Some(commit) = &commit {
                git.run(["read-tree", commit])?;
            }
            list(&git).unwrap_or_default()
        }
    };
    show_all(&git, &listed, &repository.top)?;
    let links: Vec<_> = git_output::listed(&listed)
        .filter(|listed| listed.is_repository)
        .flat_map(|listed| [listed.path.as_os_str().as_bytes(), &[0]].concat())
        .collect();
    let Repository { top, folder: real, shared, inside: _ } = repository;
    let place: Vec<_> = [top, real, shared].map(|path| path.as_os_str().as_bytes()).join(&0);
    write(&folder.join(LINKS), &links)
        .and_then(|()| write(&folder.join(PLACE), &place))
        .map_err(no_folder)
}

/// Returns the commit that is checked out; `None` before the first commit.
pub(super) fn checked_out(repository: &Repository) -> Result<Option<String>, GitError> {
    match repository.head() {
        Head::Commit(commit) => Ok(Some(commit)),
        Head::Unborn => Ok(None),
        Head::Unknown => {
            let git = Git::of_user(&repository.folder, &repository.top);
            match git.run(["rev-parse", "--verify", "HEAD"]) {
                Ok(commit) => Ok(Some(String::from_utf8_lossy(commit.trim_ascii()).into_owned())),
                Err(GitError::Failed(why)) if why.contains("Needed a single revision") => Ok(None),
                Err(trouble) => Err(trouble),
            }
        }
    }
}

/// Creates everything except the index and the objects.
fn lay_out(
    folder: &Path,
    repository: &Repository,
    settings: &GitSettings,
    commit: Option<&str>,
) -> io::Result<()> {
    for name in ["", "info", "refs", "objects", "objects/info", "objects/pack"] {
        DirBuilder::new().mode(0o700).create(folder.join(name))?;
    }
    write(&folder.join("HEAD"), format!("{}\n", commit.unwrap_or(UNBORN)).as_bytes())?;
    write(&folder.join("config"), settings.config(commit).as_bytes())?;
    let objects = repository.shared.join("objects");
    write(&folder.join("objects/info/alternates"), &quoted(&objects))?;
    let list = |path: &Path| bytes_of(path, LIST).unwrap_or_default();
    // The user's global ignore rules come first, because the repository's rules override them.
    let mut ignored = settings.excludes.as_deref().map(list).unwrap_or_default();
    ignored.push(b'\n');
    ignored.extend(list(&repository.shared.join("info/exclude")));
    write(&folder.join("info/exclude"), &ignored)?;
    for (name, from) in [
        ("info/attributes", repository.shared.join("info/attributes")),
        ("info/sparse-checkout", repository.folder.join("info/sparse-checkout")),
        ("shallow", repository.shared.join("shallow")),
    ] {
        if let Some(bytes) = bytes_of(&from, LIST) {
            write(&folder.join(name), &bytes)?;
        }
    }
    Ok(())
}

/// Copies the commit and its trees, so that its list of files stays available whatever happens to
/// the repository.
fn keep_folders(git: &Git, folder: &Path, commit: &str) -> Result<(), GitError> {
    let words = ["rev-list", "--objects", "--no-walk", "--filter=blob:none", commit];
    let objects = git.run(words)?;
    let pack = folder.join("objects/pack/pack");
    let words = ["pack-objects", "--quiet", "--window=0", "--threads=1"].map(OsStr::new);
    git.run_with_input(words.into_iter().chain([pack.as_os_str()]), objects)?;
    Ok(())
}

/// Copies the index with its modification time: git assumes that a file as recent as the index may
/// have changed after it.
fn copy_index(folder: &Path, real: &Path) -> io::Result<()> {
    let mut names = vec![OsString::from("index")];
    for entry in fs::read_dir(real)?.flatten() {
        let name = entry.file_name();
        if name.as_bytes().starts_with(b"sharedindex.") && names.len() < PIECES {
            names.push(name);
        }
    }
    for name in names {
        let mut from = open_plain(&real.join(&name)).ok_or(io::ErrorKind::NotFound)?;
        let mut to = create_file(&folder.join(&name))?;
        io::copy(&mut from, &mut to)?;
        to.set_modified(from.metadata()?.modified()?)?;
    }
    Ok(())
}

fn list(git: &Git) -> Result<Vec<u8>, GitError> {
    git.run(["ls-files", "-v", "--stage", "-z"])
}

/// Makes git inspect files that are marked as unchanged or skipped.
fn show_all(git: &Git, listed: &[u8], top: &Path) -> Result<(), GitError> {
    let is_hidden = |tag: u8, path: &Path| match tag {
        // A file that does not exist was never checked out.
        b'S' | b's' => fs::symlink_metadata(top.join(path)).is_ok(),
        _ => false,
    };
    for (option, hidden) in [
        ("--no-assume-unchanged", paths(listed, |tag, _| tag.is_ascii_lowercase())),
        ("--no-skip-worktree", paths(listed, is_hidden)),
    ] {
        if !hidden.is_empty() {
            git.run_with_input(["update-index", option, "-z", "--stdin"], hidden)?;
        }
    }
    Ok(())
}

fn paths(listed: &[u8], is_wanted: impl Fn(u8, &Path) -> bool) -> Vec<u8> {
    git_output::listed(listed)
        .filter(|listed| is_wanted(listed.tag, listed.path))
        .flat_map(|listed| [listed.path.as_os_str().as_bytes(), &[0]].concat())
        .collect()
}

/// The settings that are taken from the configuration.
#[derive(Debug, Default, PartialEq, Eq)]
struct GitSettings {
    /// Booleans and single words.
    copied: Vec<(&'static str, String)>,
    is_sha256: bool,
    /// The user's global ignore file.
    excludes: Option<PathBuf>,
}

impl GitSettings {
    /// Reads the settings of the repository and the user. An unreadable configuration counts as
    /// empty.
    fn of(repository: &Repository) -> Self {
        let git = Git::of_user(&repository.folder, &repository.top);
        let output = git.run(["config", "--list", "-z", "--includes"]).unwrap_or_default();
        let home = env::var_os("HOME").map(PathBuf::from);
        let of_programs = env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
        let of_programs = of_programs.or_else(|| Some(home.as_ref()?.join(".config")));
        let usual = of_programs.map(|folder| folder.join("git/ignore"));
        Self::read(&output, home.as_deref(), usual)
    }

    fn read(output: &[u8], home: Option<&Path>, usual: Option<PathBuf>) -> Self {
        let mut all = HashMap::new();
        for record in output.split(|&byte| byte == 0) {
            let end = record.iter().position(|&byte| byte == b'\n');
            let (name, value) = match end {
                Some(end) => (&record[..end], &record[end + 1..]),
                None => (record, &b"true"[..]),
            };
            all.insert(name, value);
        }
        let is_word = |value: &&str| {
            value.len() < 16 && value.chars().all(|letter| letter.is_ascii_alphanumeric())
        };
        let word = |name: &str| str::from_utf8(all.get(name.as_bytes())?).ok().filter(is_word);
        let excludes = match all.get(&b"core.excludesfile"[..]) {
            Some(value) => match value.strip_prefix(b"~/") {
                Some(rest) => home.map(|home| home.join(OsStr::from_bytes(rest))),
                None => Some(to_path(value)).filter(|path| path.is_absolute()),
            },
            None => usual,
        };
        Self {
            copied: COPIED
                .iter()
                .filter_map(|name| Some((*name, word(name)?.to_owned())))
                .collect(),
            is_sha256: word("extensions.objectformat") == Some("sha256"),
            excludes,
        }
    }

    /// Returns the configuration of the private folder.
    fn config(&self, commit: Option<&str>) -> String {
        let is_sha256 = commit.map_or(self.is_sha256, |commit| commit.len() == 64);
        let mut text = format!(
            "[core]\n\trepositoryFormatVersion = {}\n\tbare = false\n\tuntrackedCache = false\n\
             \tsharedRepository = 0600\n",
            u8::from(is_sha256)
        );
        for (name, value) in &self.copied {
            let name = name.trim_start_matches("core.");
            // Writing to a string cannot fail.
            let _ = writeln!(text, "\t{name} = {value}");
        }
        if is_sha256 {
            text.push_str("[extensions]\n\tobjectFormat = sha256\n");
        }
        text
    }
}

/// Whether a configuration consists of booleans and words that are known to run no program.
fn is_harmless(config: &str) -> bool {
    const OWN: [&str; 5] =
        ["repositoryFormatVersion", "bare", "untrackedCache", "sharedRepository", "objectFormat"];
    config.lines().all(|line| {
        match line.strip_prefix('\t').and_then(|line| line.split_once(" = ")) {
            Some((name, value)) => {
                let copied = COPIED.iter().any(|key| key.strip_prefix("core.") == Some(name));
                let word = value.chars().all(|letter| letter.is_ascii_alphanumeric());
                (copied || OWN.contains(&name)) && word
            }
            None => line == "[core]" || line == "[extensions]",
        }
    })
}

/// Quotes a path so that it fits on one line.
fn quoted(path: &Path) -> Vec<u8> {
    let mut text = vec![b'"'];
    for &byte in path.as_os_str().as_bytes() {
        match byte {
            b'\n' => text.extend(b"\\n"),
            b'"' | b'\\' => text.extend([b'\\', byte]),
            _ => text.push(byte),
        }
    }
    text.extend(b"\"\n");
    text
}

fn to_path(bytes: &[u8]) -> PathBuf {
    OsString::from_vec(bytes.to_vec()).into()
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    create_file(path)?.write_all(bytes)
}

fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn remove_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the function is passed to map_err")]
fn no_folder(error: io::Error) -> GitError {
    GitError::Folder(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_truths_and_words_are_taken_from_a_configuration() {
        let output = b"core.filemode\nfalse\0core.autocrlf\ninput\0core.fsmonitor\n/evil\0\
            core.eol\nlf\n[core]\nfsmonitor=/evil\0core.ignorecase\0filter.x.clean\n/evil\0\
            core.excludesfile\n~/ignored\0extensions.objectformat\nsha256\0";
        let settings = GitSettings::read(output, Some(Path::new("/elsewhere/a")), None);
        assert_eq!(settings.excludes.as_deref(), Some(Path::new("/elsewhere/a/ignored")));
        let config = settings.config(None);
        assert!(is_harmless(&config));
        for foreign in ["[filter \"x\"]", "\tfsmonitor = evil", "\teol = ../x", "\tpager = x"] {
            assert!(!is_harmless(&format!("{config}{foreign}\n")), "{foreign}");
        }
        insta::assert_snapshot!(settings.config(None), @r"
        [core]
        	repositoryFormatVersion = 1
        	bare = false
        	untrackedCache = false
        	sharedRepository = 0600
        	filemode = false
        	ignorecase = true
        	autocrlf = input
        [extensions]
        	objectFormat = sha256
        ");
    }

    #[test]
    fn any_path_is_one_line() {
        assert_eq!(quoted(Path::new("/a b/\"\n\\")), b"\"/a b/\\\"\\n\\\\\"\n");
    }
}

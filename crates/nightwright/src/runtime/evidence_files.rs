//! Reads the files in which the agent reports its progress.
//!
//! The agent writes these files, so they can contain anything. A file that is unreadable, invalid
//! or a link out of the project is a warning, not evidence. If a part of a checklist cannot be
//! read, none of its boxes count, because that part may contain an open one.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nightwright_core::evidence::{plan, status};
use nightwright_core::input::{Checklist, StatusReport};
use nightwright_core::redact::{Secrets, agrees, has_masks};
use nightwright_core::settings::{self, EvidenceKind};

use crate::error::chain;
use crate::files::{self, FileError};
use crate::store::journal::create_file;

/// Maximum size of a checklist file.
const MAX_LIST: u64 = 4 << 20;

/// Maximum number of files of a plan.
const MAX_FILES: usize = 500;

/// Maximum depth of the folders of a plan.
const MAX_DEPTH: usize = 8;

/// How often a file that changes during reading is read.
const READS: u32 = 3;

/// The base name, in the run folder, of status files from before the run.
const BEFORE: &str = "status-before";

/// Maximum number of such files, one per start of the run.
const MAX_BEFORE: u32 = 1000;

/// The evidence files of a run.
#[derive(Debug)]
pub struct EvidenceFiles {
    project: PathBuf,
    status: Option<PathBuf>,
    list: Option<PathBuf>,
    /// Whether a folder may replace a missing checklist file.
    may_be_folder: bool,
    /// The contents of the status file before the run. If exactly this content reappears, it is
    /// stale.
    before: Vec<Vec<u8>>,
    /// Secrets to mask in the contents.
    secrets: Secrets,
    /// The warnings of the last read.
    warned: Vec<String>,
}

/// How to handle a status file from an earlier run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StaleStatusPolicy {
    /// The file is moved to the run folder.
    Moved,
    /// The file is copied to the run folder, and stays in place.
    Copied,
}

/// Maximum bytes of a checklist that a verifier is shown.
const MAX_LIST_BYTES: usize = 64 << 10;

/// The contents of the evidence files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EvidenceSnapshot {
    /// The status file, if it is valid.
    pub status: Option<StatusReport>,
    /// Identifies this version of the status file, whether it is valid or not.
    pub identity: Option<String>,
    /// The boxes of the checklist.
    pub checklist: Option<Checklist>,
    /// The text of the checklist, up to the limit for verifiers.
    pub list: String,
    /// The warnings that the previous read did not have.
    pub warnings: Vec<String>,
}

impl EvidenceFiles {
    /// Creates the evidence files of a run. Without any kind of evidence, nothing is read. Secrets
    /// are masked in all contents.
    pub fn new(
        project: &Path,
        files: &settings::Files,
        evidence: &[EvidenceKind],
        secrets: Secrets,
    ) -> Self {
        let read = |file: &Option<String>| {
            let file = file.as_ref().filter(|file| !file.is_empty() && !evidence.is_empty());
            file.map(PathBuf::from)
        };
        let list = read(&files.list);
        Self {
            project: project.to_owned(),
            status: read(&files.status),
            may_be_folder: list.as_deref() == Some(Path::new(plan::FILE)),
            list,
            before: Vec::new(),
            secrets,
            warned: Vec::new(),
        }
    }

    /// Ignores the stale status files that are stored in this run folder.
    #[must_use]
    pub fn in_run(self, run_folder: &Path) -> Self {
        let names = (1..=MAX_BEFORE).map(|number| run_folder.join(before_name(number)));
        let before = names.map_while(|path| files::read_regular(&path).ok()).collect();
        Self { before, ..self }
    }

    /// Reads all files. A warning is returned once, and again only after a read without it.
    pub fn read(&mut self) -> EvidenceSnapshot {
        let mut warnings = Vec::new();
        let (status, identity) = self.status(&mut warnings);
        let (checklist, list) = self.list(&mut warnings);
        let earlier = std::mem::replace(&mut self.warned, warnings.clone());
        warnings.retain(|warning| !earlier.contains(warning));
        EvidenceSnapshot { status, identity, checklist, list, warnings }
    }

    /// Reads only the status file, if it is valid and written by this run. Problems with it are
    /// reported by [`EvidenceFiles::read`].
    pub fn status_alone(&self) -> Option<StatusReport> {
        self.status(&mut Vec::new()).0
    }

    /// The path of the status file, if it is read.
    pub fn status_path(&self) -> Option<PathBuf> {
        self.status.as_ref().map(|path| self.project.join(path))
    }

    fn status(&self, warnings: &mut Vec<String>) -> (Option<StatusReport>, Option<String>) {
        let Some(path) = &self.status else { return (None, None) };
        let (bytes, identity) = match read_status(&self.project, path) {
            Ok(Some(found)) => found,
            Ok(None) => return (None, None),
            Err(error) => {
                warnings.push(format!("ignoring the status file: {}", chain(&error)));
                return (None, None);
            }
        };
        let masked = self.secrets.mask_json(&bytes);
        if self.before.iter().any(|before| self.is_stale_copy(before, &masked)) {
            return (None, None);
        }
        let name = path.display();
        let report = match status::read_masked(&bytes, &self.secrets) {
            Ok(read) => {
                warnings.extend(read.warnings.iter().map(|odd| format!("`{name}`: {odd}")));
                Some(read.report)
            }
            Err(why) => {
                let why = why.to_string();
                warnings.push(format!("ignoring `{name}`: {}", self.secrets.mask(&why)));
                None
            }
        };
        (report, Some(identity))
    }

    /// Whether the contents match a stored status file. The stored one has masks, perhaps of
    /// secrets that are unknown to this process.
    fn is_stale_copy(&self, before: &[u8], bytes: &[u8]) -> bool {
        if *self.secrets.mask_json(before) == *bytes {
            return true;
        }
        let read = serde_json::from_slice::<serde_json::Value>;
        match (read(before), read(bytes)) {
            (Ok(before), Ok(now)) => has_masks(&before) && agrees(&before, &now),
            (Ok(_) | Err(_), _) => false,
        }
    }

    fn list(&self, warnings: &mut Vec<String>) -> (Option<Checklist>, String) {
        let Some(list) = self.list.as_ref() else { return (None, String::new()) };
        let files = match read_text(&self.project, list) {
            Ok(Some(_)) if list == Path::new(plan::README) => read_folder(&self.project),
            Ok(Some(text)) => Ok(vec![(plan::FILE.to_owned(), text)]),
            Ok(None) if self.may_be_folder => read_folder(&self.project),
            Ok(None) => return (None, String::new()),
            Err(error) => Err(chain(&error)),
        };
        match files {
            Ok(files) => (plan::combine(&files), shown(&files)),
            Err(why) => {
                warnings.push(format!("cannot count the checkboxes: {why}"));
                (None, String::new())
            }
        }
    }
}

/// Returns the text of a checklist, up to the limit.
fn shown(files: &[(String, String)]) -> String {
    let mut all = String::new();
    for (name, text) in files {
        if files.len() > 1 {
            all.push_str(name);
            all.push('\n');
        }
        all.push_str(text);
        if all.len() > MAX_LIST_BYTES {
            all.truncate(all.floor_char_boundary(MAX_LIST_BYTES));
            break;
        }
    }
    all
}

/// Stores a status file that reports completion or failure in the run folder, because a report of
/// an earlier run is not evidence for this one.
///
/// Returns its new path; `None` if there was nothing to store. It works across file systems, and
/// after a crash the file exists in at least one place.
///
/// The stored file is masked, because it contains the agent's words. Except for the user's own
/// words and files (`prompts/`, `unmasked.json`, `start-tree/`), the run folder contains no
/// secrets.
/// The stored file is only read by the user and compared with later ones.
pub fn archive_stale_status(
    project: &Path,
    status_file: &Path,
    run_folder: &Path,
    policy: StaleStatusPolicy,
    secrets: &Secrets,
) -> Result<Option<PathBuf>, FileError> {
    let bytes = match read_status(project, status_file) {
        Ok(Some((bytes, _))) => bytes,
        Ok(None) => return Ok(None),
        // It is not evidence; the next read reports the error.
        Err(_) => return Ok(None),
    };
    let is_over =
        status::read(&bytes).is_ok_and(|read| read.report.complete || read.report.failed.is_some());
    if !is_over {
        return Ok(None);
    }
    let kept = keep(run_folder, &secrets.mask_json(&bytes))
        .map_err(|source| FileError::Write { path: run_folder.join(BEFORE), source })?;
    if policy == StaleStatusPolicy::Copied {
        return Ok(Some(kept));
    }
    let path = project.join(status_file);
    let fail = |source| FileError::Write { path: path.clone(), source };
    fs::remove_file(&path).map_err(fail)?;
    if let Some(folder) = path.parent() {
        sync_folder(folder).map_err(fail)?;
    }
    Ok(Some(kept))
}

/// Writes a new file in the run folder and syncs it to the disk.
fn keep(run_folder: &Path, bytes: &[u8]) -> io::Result<PathBuf> {
    let mut number = 1;
    loop {
        let path = run_folder.join(before_name(number));
        match create_file(&path) {
            Ok(mut file) => {
                file.write_all(bytes)?;
                file.sync_all()?;
                sync_folder(run_folder)?;
                return Ok(path);
            }
            // A resumed run has one from an earlier start.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < MAX_BEFORE => {
                number += 1;
            }
            Err(error) => return Err(error),
        }
    }
}

fn before_name(number: u32) -> String {
    match number {
        1 => format!("{BEFORE}.json"),
        _ => format!("{BEFORE}-{number}.json"),
    }
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Reads the status file and its identity from the same open file; `None` if it does not exist.
fn read_status(project: &Path, relative: &Path) -> Result<Option<(Vec<u8>, String)>, FileError> {
    let path = project.join(relative);
    let fail = |source| FileError::Read { path: path.clone(), source };
    let most = status::MAX_STATUS_BYTES as u64;
    let mut found = None;
    for _ in 0..READS {
        let Some(file) = files::open_inside(project, relative)? else { return Ok(None) };
        let before = identity(&file).map_err(fail)?;
        let mut bytes = Vec::new();
        (&file).take(most + 1).read_to_end(&mut bytes).map_err(fail)?;
        if bytes.len() as u64 > most {
            return Err(FileError::TooLarge { path: path.clone(), most });
        }
        let is_whole = identity(&file).map_err(fail)? == before;
        found = Some((bytes, before));
        if is_whole {
            break;
        }
        // The file changed during the read, so the bytes may be a mix of two versions.
    }
    Ok(found)
}

/// Returns inode, size, and the times of the last changes of content and metadata.
fn identity(file: &File) -> io::Result<String> {
    let data = file.metadata()?;
    Ok(format!(
        "{}:{}:{}.{:09}:{}.{:09}",
        data.ino(),
        data.size(),
        data.mtime(),
        data.mtime_nsec(),
        data.ctime(),
        data.ctime_nsec()
    ))
}

fn read_text(project: &Path, relative: &Path) -> Result<Option<String>, FileError> {
    let bytes = files::read_inside(project, relative, MAX_LIST)?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

/// Reads the files of a plan in a folder; empty if the folder is not a plan.
fn read_folder(project: &Path) -> Result<Vec<(String, String)>, String> {
    let mut paths = Vec::new();
    match files::open_inside(project, Path::new(plan::README)) {
        Ok(Some(_)) => {}
        Ok(None) => return Ok(Vec::new()),
        Err(error) => return Err(chain(&error)),
    }
    list_folder(project, plan::FOLDER, 0, &mut paths)?;
    paths.sort();
    let mut files = Vec::new();
    for path in paths {
        let text = read_text(project, Path::new(&path)).map_err(|error| chain(&error))?;
        // A file that was removed meanwhile has no boxes.
        files.extend(text.map(|text| (path, text)));
    }
    Ok(files)
}

/// Lists the files of a plan in a folder and its subfolders. Links to folders are not followed.
fn list_folder(
    project: &Path,
    folder: &str,
    depth: usize,
    paths: &mut Vec<String>,
) -> Result<(), String> {
    let fail = |error: io::Error| format!("cannot read `{folder}`: {error}");
    for entry in fs::read_dir(project.join(folder)).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        let kind = entry.file_type().map_err(fail)?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else {
            return Err(format!("a name in `{folder}` is not UTF-8: {}", name.display()));
        };
        let path = format!("{folder}/{name}");
        if kind.is_dir() {
            let is_archive = name.eq_ignore_ascii_case(plan::ARCHIVE);
            if depth >= MAX_DEPTH {
                return Err(format!("`{path}` is nested too deeply for a plan"));
            }
            if !is_archive {
                list_folder(project, &path, depth + 1, paths)?;
            }
        } else if plan::is_part(&path) {
            if paths.len() >= MAX_FILES {
                return Err(format!("`{}` has more than {MAX_FILES} files", plan::FOLDER));
            }
            paths.push(path);
        }
    }
    Ok(())
}

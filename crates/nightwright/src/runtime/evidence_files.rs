//! The files in which the agent says how far it is, as they are on disk.
//!
//! They are the agent's, and it may have made anything of them: a file that leads out of the
//! project, can't be read or says nothing is a warning and no evidence. A list of which a part
//! can't be read has no boxes at all, for an open one may be in that part.

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

/// A longer list is none that anybody ticks.
const LIST_MAX: u64 = 4 << 20;

/// A plan of more files is not read.
const FILES_MAX: usize = 500;

/// Folders of a plan in each other.
const DEPTH_MAX: usize = 8;

/// Looks at a file that changes while it is read.
const READS: u32 = 3;

/// The name that a status file from before the run gets in the run folder.
const BEFORE: &str = "status-before";

/// A run is not gone on with more often than this.
const BEFORE_MAX: u32 = 1000;

/// The evidence files of a run.
#[derive(Debug)]
pub struct EvidenceFiles {
    project: PathBuf,
    status: Option<PathBuf>,
    list: Option<PathBuf>,
    /// Whether a folder may stand in for a list that is not there.
    may_be_folder: bool,
    /// What the status file said before the run: whenever it says exactly that again, somebody has
    /// brought the old one back.
    before: Vec<Vec<u8>>,
    /// What is masked in what they say.
    secrets: Secrets,
    /// What was warned of when they were looked at last.
    warned: Vec<String>,
}

/// What becomes of a status file that was left by an earlier run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StaleStatusPolicy {
    /// It is moved out of the way.
    Moved,
    /// It is copied, and stays where it is.
    Copied,
}

/// So much of a list is shown to whoever judges.
const SHOWN: usize = 64 << 10;

/// What the evidence files say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EvidenceSnapshot {
    /// The status file, if it is valid.
    pub status: Option<StatusReport>,
    /// By what another version of the status file is told from this one, valid or not.
    pub identity: Option<String>,
    /// The boxes of the list.
    pub checklist: Option<Checklist>,
    /// The list itself, as much of it as anybody is shown.
    pub list: String,
    /// What is odd and was not when they were looked at before.
    pub warnings: Vec<String>,
}

impl EvidenceFiles {
    /// The files of a run. Where nothing is evidence, nothing is read.
    pub fn new(project: &Path, files: &settings::Files, evidence: &[EvidenceKind]) -> Self {
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
            secrets: Secrets::default(),
            warned: Vec::new(),
        }
    }

    /// The same in a run with this folder: what was set aside there says nothing when it comes
    /// back.
    #[must_use]
    pub fn in_run(self, run_folder: &Path) -> Self {
        let names = (1..=BEFORE_MAX).map(|number| run_folder.join(before_name(number)));
        let before = names.map_while(|path| fs::read(path).ok()).collect();
        Self { before, ..self }
    }

    /// Masks these in what they say.
    pub fn mask(&mut self, secrets: Secrets) {
        self.secrets = secrets;
    }

    /// What they say now. A warning is given once, and again only after it was gone.
    pub fn read(&mut self) -> EvidenceSnapshot {
        let mut warnings = Vec::new();
        let (status, identity) = self.status(&mut warnings);
        let (checklist, list) = self.list(&mut warnings);
        let told = std::mem::replace(&mut self.warned, warnings.clone());
        warnings.retain(|warning| !told.contains(warning));
        EvidenceSnapshot { status, identity, checklist, list, warnings }
    }

    /// The status file alone, if it is valid and of this run. What is odd about it is told when all
    /// of them are looked at.
    pub fn status_alone(&self) -> Option<StatusReport> {
        self.status(&mut Vec::new()).0
    }

    /// Where the status file is, if there is one to be read.
    pub fn status_path(&self) -> Option<PathBuf> {
        self.status.as_ref().map(|path| self.project.join(path))
    }

    fn status(&self, warnings: &mut Vec<String>) -> (Option<StatusReport>, Option<String>) {
        let Some(path) = &self.status else { return (None, None) };
        let (bytes, identity) = match read_status(&self.project, path) {
            Ok(Some(found)) => found,
            Ok(None) => return (None, None),
            Err(error) => {
                warnings.push(format!("the status file is no evidence: {}", chain(&error)));
                return (None, None);
            }
        };
        let bytes = self.secrets.mask_json(&bytes);
        if self.before.iter().any(|before| self.is_stale_copy(before, &bytes)) {
            return (None, None);
        }
        let name = path.display();
        let report = match status::read(&bytes) {
            Ok(read) => {
                warnings.extend(read.warnings.iter().map(|odd| format!("`{name}`: {odd}")));
                Some(read.report)
            }
            Err(why) => {
                warnings.push(format!("`{name}` is not valid and no evidence: {why}"));
                None
            }
        };
        (report, Some(identity))
    }

    /// Whether this is what was set aside, which has masks: perhaps of secrets that nobody knows any
    /// more when a run goes on, or that whoever only watches was not told.
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
                warnings.push(format!("the boxes can't be counted: {why}"));
                (None, String::new())
            }
        }
    }
}

/// The text of a list, up to what anybody is shown of it.
fn shown(files: &[(String, String)]) -> String {
    let mut all = String::new();
    for (name, text) in files {
        if files.len() > 1 {
            all.push_str(name);
            all.push('\n');
        }
        all.push_str(text);
        if all.len() > SHOWN {
            all.truncate(all.floor_char_boundary(SHOWN));
            break;
        }
    }
    all
}

/// Keeps a status file that says complete or failed in the run folder: what an earlier run said is
/// no evidence of this one. Gives the place where it is now; `None` if there was nothing to keep.
/// Works across file systems, and after a crash the file is in one place at least.
///
/// What is kept has masks: it is the agent's words, not the user's, and but for the user's own
/// words and files (`prompts/`, `told.json`, `baseline/`) the run folder is free of secrets. Nobody
/// goes on with what it says; it is there to be read, and to be known again.
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
        // No evidence now and none later; whoever looks at it says so.
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

/// Writes a new file of the run folder and waits until it is on the disk.
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
            // A run that went on after its end had one before.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < BEFORE_MAX => {
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

/// The status file and its identity, both of the same open file; `None` if it is not there.
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
        // It was written to meanwhile: what was read may be of two versions.
    }
    Ok(found)
}

/// Inode, size, and when content and entry were changed.
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
    let bytes = files::read_inside(project, relative, LIST_MAX)?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

/// The files of a plan in a folder; none if it is no plan.
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
        // What is gone by now has no boxes.
        files.extend(text.map(|text| (path, text)));
    }
    Ok(files)
}

/// The files of a plan in a folder and the folders in it. Folders behind links are left alone.
fn list_folder(
    project: &Path,
    folder: &str,
    depth: usize,
    paths: &mut Vec<String>,
) -> Result<(), String> {
    let fail = |error: io::Error| format!("can't read `{folder}`: {error}");
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
            if depth >= DEPTH_MAX {
                return Err(format!("`{path}` is too deep for a plan"));
            }
            if !is_archive {
                list_folder(project, &path, depth + 1, paths)?;
            }
        } else if plan::is_part(&path) {
            if paths.len() >= FILES_MAX {
                return Err(format!("`{}` has more than {FILES_MAX} files", plan::FOLDER));
            }
            paths.push(path);
        }
    }
    Ok(())
}

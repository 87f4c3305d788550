//! The files that receive nightwright's standard output and standard error.
//!
//! `nightwright run > run.log`, `nohup nightwright run` and `nightwright run | tee run.log` write
//! into the project during the run. These writes are neither the agent's work nor changes to
//! verify.
//!
//! A regular file is known by its descriptor. A pipe leads to another program, such as `tee`: on
//! Linux, `/proc` shows which processes read from it and which files they write. The search is
//! bounded and limited to processes of the same user.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use nightwright_core::tamper;
use rustix::fs::{FileType, fstat};

/// In the run folder: the files that all its processes found, one JSON string per line.
const FILE_NAME: &str = "console-files.jsonl";
/// Larger files are not read.
const MAX_KEPT: u64 = 64 << 10;
/// Maximum number of files to ignore.
const MAX_FILES: usize = 16;

/// Finds these files, and records them for later processes of the run.
#[derive(Debug)]
pub(crate) struct ConsoleFiles {
    project: PathBuf,
    kept: PathBuf,
    /// Paths relative to the project.
    files: BTreeSet<PathBuf>,
    search: SearchState,
}

/// Whether there may be more to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SearchState {
    /// The other program may not have opened its file yet.
    Open,
    Finished,
}

impl ConsoleFiles {
    pub(crate) fn new(project: &Path, run_folder: &Path) -> Self {
        let kept = run_folder.join(FILE_NAME);
        let files = recall(&kept);
        Self { project: project.to_owned(), kept, files, search: SearchState::Open }
    }

    /// Returns the files known so far, relative to the project.
    pub(crate) fn files(&mut self) -> impl Iterator<Item = &Path> {
        if self.search == SearchState::Open {
            self.look();
        }
        self.files.iter().map(PathBuf::as_path)
    }

    fn look(&mut self) {
        self.search = SearchState::Finished;
        let (out, err) = (io::stdout(), io::stderr());
        for (number, descriptor) in [(1, out.as_fd()), (2, err.as_fd())] {
            match behind(descriptor) {
                DescriptorTarget::File => {
                    if let Some(path) = plain_file(number, descriptor) {
                        self.add(&path);
                    }
                }
                DescriptorTarget::Pipe(pipe) => {
                    let found = pipes::written_by_readers_of(pipe, &self.project);
                    if found.is_empty() {
                        self.search = SearchState::Open;
                    }
                    for path in &found {
                        self.add(path);
                    }
                }
                DescriptorTarget::Other => {}
            }
        }
    }

    fn add(&mut self, path: &Path) {
        let inside = path.strip_prefix(&self.project).ok();
        let Some(file) = inside.filter(|file| !file.as_os_str().is_empty()) else { return };
        if self.files.len() < MAX_FILES && self.files.insert(file.to_owned()) {
            // If this fails, a later process of the run counts the file as work once.
            let _ = keep(&self.kept, file);
        }
    }
}

fn keep(kept: &Path, file: &Path) -> io::Result<()> {
    let Some(name) = file.to_str() else { return Ok(()) };
    let mut kept = fs::File::options().append(true).create(true).open(kept)?;
    writeln!(kept, "{}", serde_json::Value::from(name))
}

fn recall(kept: &Path) -> BTreeSet<PathBuf> {
    let bounded = fs::metadata(kept).is_ok_and(|it| it.is_file() && it.len() <= MAX_KEPT);
    let text = bounded.then(|| fs::read_to_string(kept).ok()).flatten().unwrap_or_default();
    let names = text.lines().filter_map(|line| serde_json::from_str::<String>(line).ok());
    // The agent can write to this file too, so it can never exclude code or tests.
    let harmless =
        names.filter(|name| !tamper::is_source(name) && !tamper::is_protected(name, &[]));
    let inside =
        |name: &PathBuf| name.components().all(|part| matches!(part, Component::Normal(_)));
    harmless.map(PathBuf::from).filter(inside).take(MAX_FILES).collect()
}

/// The kind of file behind a descriptor.
enum DescriptorTarget {
    File,
    /// The inode of a pipe.
    Pipe(u64),
    Other,
}

fn behind(descriptor: BorrowedFd<'_>) -> DescriptorTarget {
    let Ok(stat) = fstat(descriptor) else { return DescriptorTarget::Other };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => DescriptorTarget::File,
        FileType::Fifo => DescriptorTarget::Pipe(stat.st_ino),
        _ => DescriptorTarget::Other,
    }
}

/// Returns the path of one of this process's descriptors, if the file still exists.
fn plain_file(number: i32, descriptor: BorrowedFd<'_>) -> Option<PathBuf> {
    let path = fs::read_link(format!("/proc/self/fd/{number}")).ok()?;
    let (opened, there) = (fstat(descriptor).ok()?, fs::symlink_metadata(&path).ok()?);
    (there.ino() == opened.st_ino && there.dev() == opened.st_dev).then_some(path)
}

mod pipes {
    use std::collections::HashSet;
    use std::fs;
    use std::path::{Path, PathBuf};

    /// Maximum length of a pipeline, such as `nightwright run | grep -v x | tee run.log`.
    const HOPS: usize = 4;
    /// Maximum number of processes to inspect, those with the nearest ids first: a shell starts the
    /// parts of a pipeline one after the other.
    const PROCESSES: usize = 1_000;
    /// Maximum number of descriptors per process.
    const DESCRIPTORS: usize = 256;

    /// Returns the files in a folder that the programs at the other end of a pipe write.
    pub(super) fn written_by_readers_of(pipe: u64, folder: &Path) -> Vec<PathBuf> {
        let mut files = Vec::new();
        let (mut pipes, mut known) = (vec![pipe], HashSet::from([pipe]));
        for _ in 0..HOPS {
            let mut next = Vec::new();
            for process in readers(&pipes) {
                for open in descriptors(process).into_iter().filter(|open| open.writes) {
                    match open.pipe() {
                        Some(pipe) if known.insert(pipe) => next.push(pipe),
                        Some(_) => {}
                        None if open.target.starts_with(folder) && open.target.is_file() => {
                            files.push(open.target);
                        }
                        None => {}
                    }
                }
            }
            if next.is_empty() {
                break;
            }
            pipes = next;
        }
        files
    }

    /// An open descriptor of a process.
    struct OpenDescriptor {
        target: PathBuf,
        writes: bool,
    }

    impl OpenDescriptor {
        fn pipe(&self) -> Option<u64> {
            let name = self.target.to_str()?;
            name.strip_prefix("pipe:[")?.strip_suffix(']')?.parse().ok()
        }
    }

    /// Returns the other processes that read from one of these pipes.
    fn readers(pipes: &[u64]) -> Vec<u32> {
        let ours = std::process::id();
        let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
        let numbers =
            entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let mut all: Vec<u32> = numbers.filter(|number| *number != ours).collect();
        all.sort_by_key(|number| number.abs_diff(ours));
        all.truncate(PROCESSES);
        let reads = |open: &OpenDescriptor| {
            !open.writes && open.pipe().is_some_and(|it| pipes.contains(&it))
        };
        all.retain(|process| descriptors(*process).iter().any(reads));
        all
    }

    fn descriptors(process: u32) -> Vec<OpenDescriptor> {
        // Processes of other users and processes that have exited cannot be read.
        let Ok(entries) = fs::read_dir(format!("/proc/{process}/fd")) else { return Vec::new() };
        let open = entries.flatten().take(DESCRIPTORS).filter_map(|entry| {
            let target = fs::read_link(entry.path()).ok()?;
            let name = entry.file_name();
            let info = format!("/proc/{process}/fdinfo/{}", name.to_str()?);
            let writes = is_open_for_writing(&fs::read_to_string(info).ok()?);
            Some(OpenDescriptor { target, writes })
        });
        open.collect()
    }

    fn is_open_for_writing(info: &str) -> bool {
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
        let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
        flags.is_some_and(|flags| flags & 0o3 != 0)
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn the_flags_of_a_descriptor_say_whether_it_writes() {
            assert!(!is_open_for_writing("pos:\t0\nflags:\t0100000\nmnt_id:\t9\n"));
            assert!(is_open_for_writing("pos:\t0\nflags:\t0100001\n"));
            assert!(is_open_for_writing("flags:\t02100002\n"));
            assert!(!is_open_for_writing(""));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_process_of_the_run_knows_what_an_earlier_one_wrote() {
        let (project, run) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut first = ConsoleFiles::new(project.path(), run.path());
        first.add(&project.path().join("logs/run.log"));
        first.add(&project.path().join("run.log"));
        first.add(Path::new("/elsewhere/run.log"));
        first.add(project.path());
        let second = ConsoleFiles::new(project.path(), run.path());
        assert_eq!(second.files, first.files);
        let names: Vec<_> = second.files.iter().map(|file| file.to_str().unwrap()).collect();
        assert_eq!(names, ["logs/run.log", "run.log"]);

        let forged = "\"tests/test_a.py\"\n\"src/lib.rs\"\n\"../up.log\"\n\"/etc/x.log\"\nnone\n";
        fs::write(run.path().join(FILE_NAME), forged).unwrap();
        assert!(ConsoleFiles::new(project.path(), run.path()).files.is_empty());
    }
}

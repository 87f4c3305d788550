//! `cargo xtask pictures`: the images in `docs/img`, of the demo in a real terminal and of a report
//! in a real browser.
//!
//! The demo runs in a terminal of a fixed size. When the screen shows the expected text, it is
//! saved as an SVG file.
//!
//! Tools of the demo finish too quickly for an image. For that image, the same script runs in a
//! project whose check waits until the image is taken. Times of day and the number of the run
//! differ each time, so the test command does not check these files.

mod report;
mod svg;

use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::program::{self, built, cargo};

const FOLDER: &str = "docs/img";
const ROWS: u16 = 28;
const COLUMNS: u16 = 100;

/// The timeout for the demo, which takes ten seconds.
const DEMO_TIMEOUT: Duration = Duration::from_mins(1);

/// The script of the demo, and its project.
const SCRIPT: &str = "crates/nightwright/src/rehearsal/demo.toml";
const PROJECT: &str = "crates/nightwright/src/rehearsal/demo_project";

/// Makes the check wait for the file `taken` after the first change.
const HOLD: &str = "if grep -q lower slug.sh; then until [ -e taken ]; do sleep 0.05; done; fi";

/// The time of an image: for each entry, one line on the screen contains all of its words.
type Moment = [&'static [&'static str]];

const LIMIT: &Moment = &[&["waiting until"], &["r retry now"]];
const TOOL: &Moment = &[&["Edit"], &["working", "Bash: sh check.sh"], &["s stop after"]];

pub(crate) fn run(root: &Path) -> Result<(), String> {
    program::run(&mut cargo(root, &["build", "--quiet"]))?;
    let folder = root.join(FOLDER);
    fs::create_dir_all(&folder).map_err(|error| format!("cannot make {FOLDER}: {error}"))?;
    report::take(root, &folder.join("report.png"))?;
    eprintln!("wrote {FOLDER}/report.png");
    let keep = |name: &str, screen: &vt100::Screen| {
        fs::write(folder.join(name), without_chance(&svg::draw(screen)))
            .map_err(|error| format!("cannot write {FOLDER}/{name}: {error}"))?;
        eprintln!("wrote {FOLDER}/{name}");
        Ok::<_, String>(())
    };
    keep("progress.svg", &take(in_front(root).arg("demo"), LIMIT, || Ok(()))?)?;
    let scratch = Path::new("/tmp/nightwright-pictures");
    let project = held(root, scratch).map_err(|error| format!("cannot make a project: {error}"))?;
    let mut run = in_front(root);
    run.args(["run", "--verbose", "--dry-run", "-m", "1", "--max-cost", "5"]);
    run.args(["-p", "make check.sh pass", "--rehearsal"]).arg(root.join(SCRIPT));
    run.arg("-C").arg(&project).env("NIGHTWRIGHT_STATE_DIR", scratch.join("state"));
    keep("verbose.svg", &take(&mut run, TOOL, || fs::write(project.join("taken"), ""))?)?;
    fs::remove_dir_all(scratch).map_err(|error| format!("cannot remove the project: {error}"))
}

/// Returns a command for nightwright. It reads keys only in the foreground of a terminal.
fn in_front(root: &Path) -> Command {
    let mut command = Command::new("setsid");
    command.arg("--ctty").arg(built(root, "debug"));
    command
}

/// Copies the demo's project with a check that waits.
fn held(root: &Path, scratch: &Path) -> std::io::Result<PathBuf> {
    if scratch.exists() {
        fs::remove_dir_all(scratch)?;
    }
    let project = scratch.join("slug");
    fs::create_dir_all(&project)?;
    for entry in fs::read_dir(root.join(PROJECT))? {
        let entry = entry?;
        fs::copy(entry.path(), project.join(entry.file_name()))?;
    }
    let check = project.join("check.sh");
    let text = fs::read_to_string(&check)?;
    fs::write(check, text.replacen('\n', &format!("\n{HOLD}\n"), 1))?;
    Ok(project)
}

/// Replaces the random letters in the name of the demo's folder.
fn without_chance(picture: &str) -> String {
    const FOLDER: &str = "nightwright-demo";
    let mut parts = picture.split(FOLDER);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let name = part.find(|c: char| c != '-' && !c.is_ascii_alphanumeric());
        text + FOLDER + &part[name.unwrap_or(part.len())..]
    })
}

/// Runs a demo until it exits and returns the screen at the given time. Calls `taken` at that time.
fn take(
    command: &mut Command,
    moment: &Moment,
    taken: impl Fn() -> std::io::Result<()>,
) -> Result<vt100::Screen, String> {
    let (mut demo, output) =
        play(command).map_err(|error| format!("cannot play the demo: {error}"))?;
    let mut picture = None;
    let mut parser = vt100::Parser::new(ROWS, COLUMNS, 0);
    let begun = Instant::now();
    while let Ok(bytes) = output.recv_timeout(DEMO_TIMEOUT.saturating_sub(begun.elapsed())) {
        parser.process(&bytes);
        let text = parser.screen().contents();
        let is_there =
            |words: &&[&str]| text.lines().any(|line| words.iter().all(|word| line.contains(word)));
        if picture.is_none() && moment.iter().all(is_there) {
            picture = Some(parser.screen().clone());
            taken().map_err(|error| format!("cannot continue the demo: {error}"))?;
        }
    }
    let ended = demo.wait().map_err(|error| format!("cannot wait for the demo: {error}"))?;
    if !ended.success() {
        return Err(format!("the demo failed: {ended}"));
    }
    picture.ok_or_else(|| {
        format!("the screen never showed {moment:?}; it ended as\n{}", parser.screen().contents())
    })
}

/// Starts a demo in a separate terminal and forwards its output.
fn play(command: &mut Command) -> std::io::Result<(Child, Receiver<Vec<u8>>)> {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    grantpt(&ours)?;
    unlockpt(&ours)?;
    let size = Winsize { ws_row: ROWS, ws_col: COLUMNS, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&ours, size)?;
    let name = ptsname(&ours, Vec::new())?;
    let path = Path::new(std::ffi::OsStr::from_bytes(name.as_bytes()));
    let theirs = OpenOptions::new().read(true).write(true).open(path)?;
    let demo = command
        .env("TERM", "xterm-256color")
        .env("LANG", "C.UTF-8")
        .env("TMPDIR", "/tmp")
        .env_remove("NO_COLOR")
        .stdin(theirs.try_clone()?)
        .stdout(theirs.try_clone()?)
        .stderr(theirs)
        .spawn()?;
    let (sender, receiver) = channel();
    let mut from = File::from(ours);
    thread::spawn(move || {
        let mut bytes = vec![0; 64 << 10];
        // An error means that the other end is closed.
        while let Ok(count @ 1..) = from.read(&mut bytes) {
            if sender.send(bytes[..count].to_vec()).is_err() {
                return;
            }
        }
    });
    Ok((demo, receiver))
}

//! The image of a report: the page of an invented run in a browser.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::program::{self, built, cargo};

/// The name of the task in the invented run.
const TASK: &str = "migrate-api";
const ITERATIONS: &str = "8";
/// The size of the browser window: two screens high.
const SIZE: &str = "--window-size=1200,1500";

/// Takes the image and writes it to `picture`.
pub(super) fn take(root: &Path, picture: &Path) -> Result<(), String> {
    let example = ["build", "--quiet", "--package", "nightwright", "--example", "made_up_runs"];
    program::run(&mut cargo(root, &example))?;
    let scratch = Path::new("/tmp/nightwright-pictures-report");
    if scratch.exists() {
        fs::remove_dir_all(scratch).map_err(|error| format!("cannot clear a folder: {error}"))?;
    }
    let project = scratch.join("shop");
    fs::create_dir_all(&project).map_err(|error| format!("cannot create a folder: {error}"))?;
    let nightwright = built(root, "debug");
    let made_up = nightwright.with_file_name("examples").join("made_up_runs");
    let state = scratch.join("state");
    let in_project = |program: &Path| {
        let mut command = Command::new(program);
        command.current_dir(&project).env("NIGHTWRIGHT_STATE_DIR", &state).stderr(Stdio::null());
        command
    };
    program::run(in_project(&nightwright).args(["new", TASK]).stdout(Stdio::null()))?;
    program::run(in_project(&made_up).arg(&project).args(["1", ITERATIONS, TASK]))?;
    let page = scratch.join("report.html");
    program::run(in_project(&nightwright).args(["report", "-o"]).arg(&page))?;
    let browser = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--hide-scrollbars",
        SIZE,
    ];
    let mut shot = Command::new("chromium");
    shot.args(browser)
        .arg(format!("--user-data-dir={}", scratch.join("browser").display()))
        .arg(format!("--screenshot={}", picture.display()))
        .arg(format!("file://{}", page.display()))
        .stderr(Stdio::null());
    program::run(&mut shot)?;
    fs::remove_dir_all(scratch).map_err(|error| format!("cannot remove a folder: {error}"))
}

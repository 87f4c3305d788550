//! The HTML report in a real browser: it opens, however long the run was, and nothing that the agent
//! wrote runs or reaches for anything.

use std::fs;
use std::io::ErrorKind;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use jiff::Timestamp;
use legwork_core::chronicle::SampleRun;

use super::harness::Hermit;
use super::looking_back::made_up;

/// How long a browser may take on a machine that has much else to do, in seconds.
const PATIENCE: &str = "150";

fn start() -> Timestamp {
    "2026-11-15T23:34:12Z".parse().unwrap()
}

/// The page of a made-up run, as a file.
fn page(hermit: &Hermit, run: &SampleRun) -> std::path::PathBuf {
    made_up(hermit, run);
    let path = hermit.path("report.html");
    hermit.run(&["report", "-o", &path.display().to_string()]).exits(0);
    path
}

/// What the browser has made of a page, once it is done with it.
fn opened(hermit: &Hermit, page: &Path) -> String {
    let mut browser = Command::new("timeout");
    browser
        .args([PATIENCE, "chromium"])
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--disable-dev-shm-usage", "--dump-dom"])
        .arg(format!("--user-data-dir={}", hermit.path("browser").display()))
        .arg(format!("file://{}", page.display()))
        .env("HOME", hermit.path("home"))
        .env("TMPDIR", hermit.path("tmp"))
        .stdin(Stdio::null());
    let Output { status, stdout, stderr } = browser.output().unwrap();
    let said = String::from_utf8_lossy(&stderr);
    assert!(
        status.success(),
        "`chromium` is needed here, and it failed ({status}): {said}\n\
         hint: install it (on Debian: apt-get install chromium), or let `cargo xtask test` do it"
    );
    String::from_utf8(stdout).unwrap()
}

#[test]
fn nothing_that_the_agent_wrote_runs_or_reaches_out() {
    let hermit = Hermit::new();
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    server.set_nonblocking(true).unwrap();
    let address = format!("http://{}", server.local_addr().unwrap());
    // Each would leave a mark in the document, or ask the server for something.
    let mark = "document.documentElement.setAttribute('owned','1');document.title='owned'";
    let evil = format!(
        "</p></details></style></title></textarea></svg>]]>--><script>{mark}</script>\
         <img src=x onerror=\"{mark}\"><img src=\"{address}/img\"><svg onload=\"{mark}\"><script>{mark}</script>\
         <a href=\"javascript:{mark}\">x</a><svg><animate onbegin=\"{mark}\" attributeName=x dur=1s>\
         <style>@import url({address}/css);body{{background:url({address}/bg)}}</style>\
         <link rel=stylesheet href=\"{address}/link\"><iframe src=\"{address}/frame\"></iframe>\
         <meta http-equiv=refresh content=\"0;url={address}/meta\"><base href=\"{address}/\">\
         \" onmouseover=\"{mark}\" style=\"background:url({address}/attr)\" x=' onfocus='{mark}' autofocus"
    );
    let mut run = SampleRun::new("migrate-api", 4, start());
    run.words = Some(evil.clone());
    // A task's name comes from the journal, too.
    run.task.push_str(&evil);
    let page = page(&hermit, &run);
    let document = opened(&hermit, &page);
    assert!(document.contains("Done and verified"), "{document}");
    assert!(document.contains("&lt;script&gt;"), "the words are there, as words");
    for sign in
        ["owned=\"1\"", "<title>owned", "<script", "<img", "<iframe", "<link", "<a ", "<base"]
    {
        assert!(!document.contains(sign), "{sign} is in:\n{document}");
    }
    let asked = server.accept().map(|(_, from)| from);
    assert_eq!(asked.map_err(|error| error.kind()), Err(ErrorKind::WouldBlock));
}

#[test]
fn without_the_escaping_this_browser_would_have_shown_it() {
    // What the test above looks for does happen in a page that lets it.
    let hermit = Hermit::new();
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let page = hermit.path("open.html");
    let address = server.local_addr().unwrap();
    let text = format!(
        "<!doctype html><title>x</title><img src=\"http://{address}/img\">\
         <script>document.documentElement.setAttribute('owned','1')</script>"
    );
    fs::write(&page, text).unwrap();
    // Somebody who is asked has to answer, or the page is never done.
    let asked = std::thread::spawn(move || server.accept().map(drop).is_ok());
    assert!(opened(&hermit, &page).contains("owned=\"1\""));
    assert!(asked.join().unwrap());
}

#[test]
fn the_report_of_a_thousand_iterations_opens_to_its_end() {
    let hermit = Hermit::new();
    let page = page(&hermit, &SampleRun::new("migrate-api", 1000, start()));
    assert!(fs::metadata(&page).unwrap().len() < 5 << 20);
    let document = opened(&hermit, &page);
    assert!(document.contains("id=\"iteration-1000\""), "the last iteration is in the document");
    assert!(document.trim_end().ends_with("</html>"));
    assert_eq!(document.matches("<details class=\"iteration\"").count(), 1000);
}

//! The HTML report in a real browser: long reports open, and text from the agent neither runs nor
//! loads anything.

use std::fs;
use std::io::{ErrorKind, Read as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use jiff::Timestamp;
use nightwright_core::event::{Event, NoteEvent, Record};

use super::git::git;
use super::harness::TestEnv;
use super::replace_texts::replace_all_texts;
use super::report::records;
use super::report_states::{between, commit, made_up, write};
use super::sample_run::SampleRun;

/// The timeout of the browser on a busy machine, in seconds.
const BROWSER_TIMEOUT_SECONDS: &str = "150";

fn start() -> Timestamp {
    "2026-11-15T23:34:12Z".parse().unwrap()
}

/// Writes the report of a sample run to a file.
fn page(env: &TestEnv, run: &SampleRun) -> PathBuf {
    made_up(env, run);
    written(env)
}

fn written(env: &TestEnv) -> PathBuf {
    let path = env.path("report.html");
    env.run(&["report", "-o", &path.display().to_string()]).exits(0);
    path
}

/// The document of the browser after it has loaded a page.
fn opened(env: &TestEnv, page: &Path) -> String {
    let mut browser = Command::new("timeout");
    browser
        .args([BROWSER_TIMEOUT_SECONDS, "chromium"])
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--disable-dev-shm-usage", "--dump-dom"])
        .arg(format!("--user-data-dir={}", env.path("browser").display()))
        .arg(format!("file://{}", page.display()))
        .env("HOME", env.path("home"))
        .env("TMPDIR", env.path("tmp"))
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

/// A script that leaves a mark in the document.
const MARK: &str = "document.documentElement.setAttribute('owned','1');document.title='owned'";

/// All events, in a run with a rejected and an accepted claim, with hostile text in every field.
fn hostile(words: &str) -> Vec<Record> {
    let mut all = records();
    let early = |text: &str| Event::Note(NoteEvent::Warning { text: text.to_owned() });
    let first = all[0].clone();
    all.insert(1, Record { event: early("before anything"), ..first });
    let rest = SampleRun::new("migrate-api", 4, start() + Duration::from_mins(5)).records();
    all.extend(rest.into_iter().skip(1));
    replace_all_texts(&all, words)
}

#[test]
fn no_text_in_the_page_runs_code_or_sends_requests() {
    let env = TestEnv::new();
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    server.set_nonblocking(true).unwrap();
    let address = format!("http://{}", server.local_addr().unwrap());
    // Each of these would leave a mark in the document or send a request to the server.
    let evil = format!(
        "</p></details></style></title></textarea></svg>]]>--><script>{MARK}</script>\
         <img src=x onerror=\"{MARK}\"><img src=\"{address}/img\"><svg onload=\"{MARK}\"><script>{MARK}</script>\
         <a href=\"javascript:{MARK}\">x</a><svg><animate onbegin=\"{MARK}\" attributeName=x dur=1s>\
         <style>@import url({address}/css);body{{background:url({address}/bg)}}</style>\
         <link rel=stylesheet href=\"{address}/link\"><iframe src=\"{address}/frame\"></iframe>\
         <meta http-equiv=refresh content=\"0;url={address}/meta\"><base href=\"{address}/\">\
         \" onmouseover=\"{MARK}\" style=\"background:url({address}/attr)\" x=' onfocus='{MARK}' autofocus"
    );
    // The commit subject is hostile too, and short enough to be shown in full.
    let project = env.project();
    git(&project, &["init", "--quiet"]);
    let from = commit(&project, "before the run");
    let subject = format!("<script>{MARK}</script><img src=\"{address}/git\">");
    let to = commit(&project, &subject);
    let mut records = hostile(&evil);
    between(&mut records, &from, &to);
    let folder = made_up(&env, &SampleRun::new("migrate-api", 4, start()));
    write(&folder, &records);
    let document = opened(&env, &written(&env));
    assert!(document.contains("Completed and verified"), "{document}");
    // The text occurs in the subject, the goal, blockers, warnings, hooks, checks and many others.
    let shown = document.matches("&lt;script&gt;").count();
    assert!(shown > 60, "the words are there, as words: {shown}");
    assert!(document.contains(&subject.replace('<', "&lt;").replace('>', "&gt;")), "{document}");
    for sign in
        ["owned=\"1\"", "<title>owned", "<script", "<img", "<iframe", "<link", "<a ", "<base"]
    {
        assert!(!document.contains(sign), "{sign} is in:\n{document}");
    }
    let asked = server.accept().map(|(_, from)| from);
    assert_eq!(asked.map_err(|error| error.kind()), Err(ErrorKind::WouldBlock));
}

#[test]
fn injected_content_is_stopped_by_the_content_security_policy() {
    let env = TestEnv::new();
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    server.set_nonblocking(true).unwrap();
    let address = format!("http://{}", server.local_addr().unwrap());
    let page = page(&env, &SampleRun::new("migrate-api", 2, start()));
    let raw = format!(
        "<script>{MARK}</script><img src=x onerror=\"{MARK}\"><img src=\"{address}/img\">\
         <svg onload=\"{MARK}\"></svg><link rel=stylesheet href=\"{address}/link\">\
         <iframe src=\"{address}/frame\"></iframe><script src=\"{address}/script\"></script>"
    );
    let text = fs::read_to_string(&page).unwrap();
    fs::write(&page, text.replace("</main>", &format!("{raw}</main>"))).unwrap();
    let document = opened(&env, &page);
    assert!(
        document.contains(&format!("<script>{MARK}</script>")),
        "it is in the page: {document}"
    );
    assert!(!document.contains("owned=\"1\""), "{document}");
    assert!(!document.contains("<title>owned"), "{document}");
    // The browser may open a connection for a frame before it applies the policy, but must send
    // nothing.
    while let Ok((mut connection, _)) = server.accept() {
        let mut asked = Vec::new();
        connection.read_to_end(&mut asked).unwrap();
        assert_eq!(String::from_utf8_lossy(&asked), "");
    }
}

#[test]
fn without_the_escaping_this_browser_would_have_shown_it() {
    // The same content has an effect in a page without protection.
    let env = TestEnv::new();
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let page = env.path("open.html");
    let address = server.local_addr().unwrap();
    let text = format!(
        "<!doctype html><title>x</title><img src=\"http://{address}/img\">\
         <script>document.documentElement.setAttribute('owned','1')</script>"
    );
    fs::write(&page, text).unwrap();
    // The server has to answer, because the page would load forever otherwise.
    let asked = std::thread::spawn(move || server.accept().map(drop).is_ok());
    assert!(opened(&env, &page).contains("owned=\"1\""));
    assert!(asked.join().unwrap());
}

#[test]
fn the_report_of_a_thousand_iterations_opens_to_its_end() {
    let env = TestEnv::new();
    let page = page(&env, &SampleRun::new("migrate-api", 1000, start()));
    assert!(fs::metadata(&page).unwrap().len() < 5 << 20);
    let document = opened(&env, &page);
    assert!(document.contains("id=\"iteration-1000\""), "the last iteration is in the document");
    assert!(document.trim_end().ends_with("</html>"));
    assert_eq!(document.matches("<details class=\"iteration\"").count(), 1000);
}

//! Notifications, sent by the real program to a local server.

mod end;
pub(crate) mod server;

use std::fs;
use std::path::Path;

use nightwright_core::event::{Event, NoteEvent};
use ring::digest::{SHA256, digest};
use rustix::process::Signal;
use serde_json::json;

use self::server::{Refusing, Sent, Server, ServerAnswer};
use super::fake_agent::send;
use super::harness::{Output, TestEnv, finish, run_outcome};

const DONE: &str = "[[attempt]]\nsteps = [{ write = 'a.txt', text = 'a' }]\n\
                    end = { result = '<promise>COMPLETE</promise>' }\n";

const IDLE: &str = "[[attempt]]\nend = { result = 'I looked around.' }\n";

const HANGING: &str = "[[attempt]]\nend = { hang = true }\n";

/// Writes these addresses into the user's configuration.
fn configure(env: &TestEnv, text: &str) {
    let folder = env.path("home").join(".config/nightwright");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.toml"), text).unwrap();
}

fn rehearsal<'a>(script: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut all = vec!["run", "-p", "make it größer", "--no-delay", "--dry-run", "--rehearsal"];
    all.push(script);
    all.extend(more);
    all
}

/// Starts a run whose agent plays this script, with all notifications sent to one server.
fn run_with_server(script: &str, more: &[&str]) -> (TestEnv, Server, Output) {
    let (env, server) = (TestEnv::new(), Server::kind());
    configure(&env, &format!("notify.url = '{}'", server.url("/hook")));
    let script = env.script(script);
    let output = env.run(&rehearsal(&script, more));
    (env, server, output)
}

/// The kinds of the notifications that a webhook received.
pub(crate) fn kinds(sent: &[Sent]) -> Vec<String> {
    let kind = |sent: &Sent| sent.json()["notice"]["kind"].as_str().unwrap().to_owned();
    sent.iter().map(kind).collect()
}

fn outcome_kinds(sent: &[Sent]) -> Vec<String> {
    let mut kinds = kinds(sent);
    kinds.retain(|kind| ["completion", "stopped", "error"].contains(&kind.as_str()));
    kinds
}

/// All requests to this path.
fn at<'a>(sent: &'a [Sent], path: &str) -> Vec<&'a Sent> {
    sent.iter().filter(|sent| sent.path == path).collect()
}

fn warnings(env: &TestEnv) -> Vec<String> {
    let text = |event: &Event| match event {
        Event::Note(NoteEvent::Warning { text }) => Some(text.clone()),
        _ => None,
    };
    env.journal().iter().filter_map(|record| text(&record.event)).collect()
}

#[test]
fn everybody_gets_it_in_the_form_they_take() {
    let (env, server) = (TestEnv::new(), Server::kind());
    let at_path = |path: &str| server.url(path);
    configure(
        &env,
        &format!(
            "[[notify]]\nurl = '{}'\nkind = 'ntfy'\ntoken = 'tk_mine'\n\
             [[notify]]\nurl = '{}'\nkind = 'slack'\nevents = ['completion']\n\
             [[notify]]\nurl = '{}'\nkind = 'discord'\nevents = ['completion']\n\
             [[notify]]\nurl = '{}'\nsecret_env = 'HUSH'\n",
            at_path("/ntfy"),
            at_path("/slack"),
            at_path("/discord"),
            at_path("/hook"),
        ),
    );
    let script = env.script(DONE);
    let mut command =
        env.command(&rehearsal(&script, &["-m", "3", "--verify", "true", "--no-baseline"]));
    finish(command.env("HUSH", "a secret of ours").spawn().unwrap()).exits(0);
    let seen = server.seen();
    let run = env.runs()[0].file_name().unwrap().to_str().unwrap().to_owned();

    let ntfy = at(&seen, "/ntfy");
    assert_eq!(ntfy.len(), 3, "{seen:?}");
    let header = |name| ntfy[2].header(name).unwrap_or_default();
    assert_eq!(
        header("title"),
        "=?UTF-8?Q?=5Brehearsal=5D=20make=20it=20gr=C3=B6=C3=9Fer=3A=20completed?= \
         =?UTF-8?Q?=20and=20verified?="
    );
    assert_eq!((header("priority"), header("tags")), ("high", "white_check_mark,nightwright"));
    assert_eq!(header("authorization"), "Bearer tk_mine");
    assert!(ntfy[2].body.starts_with("Task completed successfully after 1 iteration\n"));
    assert_eq!(ntfy[0].header("priority"), Some("default"));

    let [slack] = at(&seen, "/slack")[..] else { panic!("{seen:?}") };
    let text = slack.json()["text"].as_str().unwrap().to_owned();
    assert!(
        text.starts_with("*[rehearsal] make it größer: completed and verified*\nTask completed"),
        "{text}"
    );
    let [discord] = at(&seen, "/discord")[..] else { panic!("{seen:?}") };
    let json = discord.json();
    assert_eq!(json["allowed_mentions"], json!({ "parse": [] }));
    assert!(json["content"].as_str().unwrap().starts_with("**[rehearsal] make it größer: compl"));

    let hook = at(&seen, "/hook");
    let last = hook[2].json();
    assert_eq!(last["notice"]["kind"], "completion");
    assert_eq!(last["event"]["event"], "run_finished");
    assert_eq!(last["event"]["seq"], last["notice"]["seq"]);
    assert_eq!((&last["version"], &last["run"]), (&json!(1), &json!(run)));
    assert_eq!(last["event"].get("crc"), None);
    let id = format!("{run}-{}-completion", last["notice"]["seq"]);
    assert_eq!(hook[2].header("idempotency-key"), Some(id.as_str()));
    for sent in &hook {
        let wanted = format!("sha256={}", hmac("a secret of ours", &sent.body));
        assert_eq!(sent.header("x-nightwright-signature"), Some(wanted.as_str()));
        assert!(sent.header("user-agent").unwrap().starts_with("nightwright/"), "{sent:?}");
    }
    assert_eq!(hook[0].json()["event"]["event"], "run_started");
}

fn digit(half: u8) -> char {
    char::from_digit(u32::from(half), 16).unwrap()
}

/// Computes the signature by its definition, as a receiver would.
fn hmac(key: &str, body: &str) -> String {
    let mut block = [0; 64];
    block[..key.len()].copy_from_slice(key.as_bytes());
    let padded = |pad: u8| block.map(|byte| byte ^ pad);
    let inner = digest(&SHA256, &[&padded(0x36)[..], body.as_bytes()].concat());
    let outer = digest(&SHA256, &[&padded(0x5c)[..], inner.as_ref()].concat());
    outer.as_ref().iter().flat_map(|byte| [byte >> 4, byte & 15]).map(digit).collect()
}

#[test]
fn every_outcome_sends_exactly_one_of_the_three() {
    const CRASHING: &str = "[[attempt]]\nend = { crash = 3 }";
    for (script, more, code, name, kind) in [
        (DONE, &["-m", "3"][..], 0, "completed", "completion"),
        (IDLE, &["-m", "9"], 0, "stagnated", "completion"),
        (IDLE, &["-m", "1"], 0, "max_iterations", "stopped"),
        (IDLE, &["-m", "1", "--require-complete"], 3, "max_iterations", "stopped"),
        (CRASHING, &["-m", "9", "--max-retries", "0"], 1, "consecutive_errors", "error"),
        (CRASHING, &["-m", "1", "--max-retries", "0"], 1, "all_iterations_failed", "error"),
    ] {
        let (env, server, output) = run_with_server(script, more);
        let output = output.exits(code);
        assert_eq!(run_outcome(&env.journal()), name);
        assert_eq!(outcome_kinds(&server.seen()), [kind], "{name}: {}", output.err);
        assert_eq!(warnings(&env), [""; 0], "{name}");
    }
}

#[test]
fn an_interrupt_is_reported_too() {
    let (env, server) = (TestEnv::new(), Server::kind());
    configure(&env, &format!("notify.url = '{}'", server.url("/hook")));
    let script = env.script(HANGING);
    let child = env.start(&rehearsal(&script, &["-m", "3"]));
    env.wait_for("agent_ready");
    send(&child, Signal::INT);
    finish(child).exits(130);
    assert_eq!(kinds(&server.seen()), ["setup_complete", "execution_start", "stopped"]);
    let text = server.seen()[2].json()["notice"]["text"].to_string();
    assert!(
        text.contains("Interrupted") && text.contains("Next: resume the run: nightwright resume"),
        "{text}"
    );
}

#[test]
fn an_outcome_that_could_not_be_recorded_is_reported() {
    let (env, server) = (TestEnv::new(), Server::kind());
    configure(&env, &format!("notify.url = '{}'", server.url("/hook")));
    let script = env.script(
        "[[attempt]]\nsteps = [{ run = \"rm -rf ../state/*/runs/*/journal.jsonl\" }]\n\
         end = { result = \"gone\" }\n",
    );
    env.run(&rehearsal(&script, &["-m", "9"])).exits(1);
    assert_eq!(outcome_kinds(&server.seen()), ["error"]);
    let last = server.seen().pop().unwrap().json();
    assert_eq!(last["event"], json!(null));
    let text = last["notice"]["text"].as_str().unwrap();
    assert!(text.starts_with("Another process changed the journal of the run"), "{text}");
}

#[test]
fn a_run_that_continues_tells_its_next_end_and_not_its_past() {
    let (env, server, output) = run_with_server(IDLE, &["-m", "1"]);
    output.exits(0);
    assert_eq!(kinds(&server.seen()), ["setup_complete", "execution_start", "stopped"]);
    env.run(&["resume", "-m", "2"]).exits(0);
    assert_eq!(kinds(&server.seen()[3..]), ["stopped"]);
    let keys: Vec<_> = server
        .seen()
        .iter()
        .map(|sent| sent.header("idempotency-key").unwrap().to_owned())
        .collect();
    assert_ne!(keys[2], keys[3]);
}

#[test]
fn a_failed_request_is_retried_with_the_same_key() {
    let env = TestEnv::new();
    let server = Server::start(vec![
        ServerAnswer::With(500, "", "try later"),
        ServerAnswer::With(429, "retry-after: 1\r\n", ""),
        ServerAnswer::With(204, "", ""),
    ]);
    configure(&env, &format!("[notify]\nurl = '{}'\nevents = ['completion']", server.url("/h")));
    let script = env.script(DONE);
    let output = env.run(&rehearsal(&script, &["-m", "3"])).exits(0);
    let seen = server.seen();
    assert_eq!(kinds(&seen), ["completion"; 3]);
    assert!(
        seen.iter().all(|sent| sent.header("idempotency-key") == seen[0].header("idempotency-key"))
    );
    assert!(seen.iter().all(|sent| sent.body == seen[0].body));
    assert!(!output.err.contains("did not deliver"), "{}", output.err);
}

#[test]
fn each_unreachable_server_costs_one_warning_and_never_the_run() {
    let env = TestEnv::new();
    let elsewhere = Server::kind();
    let never = Server::start(vec![ServerAnswer::Never]);
    let drip = Server::start(vec![ServerAnswer::Drip]);
    let broken = Server::start(vec![ServerAnswer::With(503, "", "out of order")]);
    let moved = Server::start(vec![ServerAnswer::Elsewhere(elsewhere.url("/secret-place"))]);
    let refusing = Refusing::new();
    let well = Server::kind();
    let urls = [
        never.url("/topic-1"),
        drip.url("/topic-2"),
        broken.url("/topic-3"),
        moved.url("/topic-4"),
        refusing.url(),
        well.url("/topic-5"),
    ];
    let text = urls.map(|url| format!("[[notify]]\nurl = '{url}'\n")).concat();
    configure(&env, &text);
    let script = env.script(DONE);
    let output = env.run(&rehearsal(&script, &["-m", "3"])).exits(0);
    assert_eq!(run_outcome(&env.journal()), "completed");
    // Failures before the end are in the journal and on the screen. Later ones are printed at the
    // end.
    let warning = |server: &Server, why: &str| {
        format!("to webhook at {}{why}", server.url("").replace("http://", ""))
    };
    for server in [&never, &drip] {
        // On a busy machine the time for an answer passes before the run ends.
        let either =
            [" before the run ended", ": no response within "].map(|why| warning(server, why));
        assert_eq!(output.err.matches(&warning(server, "")).count(), 1, "{}", output.err);
        assert!(either.iter().any(|text| output.err.contains(text)), "{either:?}: {}", output.err);
    }
    for (server, why) in [
        (&broken, ": the server responded with 503 Service Unavailable: out of order"),
        (&moved, ": the server responded with 301 Moved Permanently: a redirect to 127.0.0.1:"),
    ] {
        assert_eq!(output.err.matches(&warning(server, "")).count(), 1, "{}", output.err);
        let text = warning(server, why);
        assert!(output.err.contains(&text), "{text}: {}", output.err);
    }
    assert_eq!(output.err.matches("notifications to webhook").count(), 5, "{}", output.err);
    let said = format!("{:?} {}", warnings(&env), output.err);
    assert!(!said.contains("topic-") && !said.contains("secret-place"), "{said}");
    assert!(elsewhere.seen().is_empty(), "a redirect was followed");
    assert_eq!(kinds(&well.seen()), ["setup_complete", "execution_start", "completion"]);
    assert_eq!(kinds(&moved.seen()).len(), 3, "a redirect is not tried again");
}

#[test]
fn a_repeated_address_is_masked_before_it_is_cut() {
    for (path, answer) in [
        ("/topic-of-mine", "no such topic: topic-of-mine"),
        ("/hooks/topic-of-mine", "Cannot POST /hooks/topic-of-mine: no topic-of-mine"),
        ("?key=topic-of-mine-0123", "bad key topic-of-mine-0123"),
        // The secret is at the position where the answer is truncated.
        (
            "/topic-of-mine",
            "There is no such place, and there never was one, as far as anybody here can remember, \
             or would ever tell if so: topic-of-mine is unknown",
        ),
    ] {
        let env = TestEnv::new();
        let server = Server::start(vec![ServerAnswer::With(404, "", answer)]);
        configure(&env, &format!("notify.url = '{}'", server.url(path)));
        let output = env.run(&["notify", "test"]).exits(1);
        assert!(output.out.contains("the server responded with 404 Not Found: "), "{}", output.out);
        assert!(!output.out.contains("topic-o"), "{}", output.out);
    }
}

#[test]
fn an_overloaded_server_sets_the_retry_delay() {
    let env = TestEnv::new();
    let busy = ServerAnswer::With(503, "retry-after: 2\r\n", "");
    let server = Server::start(vec![busy, ServerAnswer::With(200, "", "")]);
    configure(&env, &format!("notify.url = '{}'", server.url("/hook")));
    let output = env.run(&["notify", "test", "--json"]).exits(0);
    let tried: serde_json::Value = serde_json::from_str(&output.out).unwrap();
    // Without the header, the retry would follow after one second.
    assert!(tried[0]["seconds"].as_f64().unwrap() >= 2.0, "{tried}");
}

#[test]
fn disabled_kinds_are_not_sent() {
    let (env, server) = (TestEnv::new(), Server::kind());
    configure(&env, &format!("[notify]\nurl = '{}'\nevents = []", server.url("/hook")));
    let script = env.script(DONE);
    env.run(&rehearsal(&script, &["-m", "3"])).exits(0);
    assert!(server.seen().is_empty());
}

#[test]
fn mistakes_are_reported_before_a_run_begins() {
    let env = TestEnv::new();
    let script = env.script(DONE);
    for (name, value, wanted) in [
        (
            "NIGHTWRIGHT_NOTIFY_URL",
            "ntfy.sh/topic-of-mine",
            "NIGHTWRIGHT_NOTIFY_URL is `...`, but must be a URL",
        ),
        ("NIGHTWRIGHT_NOTIFY_URL", "http://10.0.0.1/topic-of-mine", "uses unencrypted http://"),
        ("NIGHTWRIGHT_NOTIFY_KIND", "mail", "must be one of `auto`, `ntfy`, `slack`"),
        ("NIGHTWRIGHT_NOTIFY_EVENTS", "morning", "a list of any of `setup_complete`"),
        ("NIGHTWRIGHT_NOTIFY", "[{ kind = 'ntfy' }]", "each with `url`"),
    ] {
        let mut command = env.command(&rehearsal(&script, &["-m", "1"]));
        let output =
            finish(command.env(name, value).spawn().unwrap()).exits(2).says(&[wanted, "hint: "]);
        assert!(!output.err.contains("topic-of-mine"), "{}", output.err);
    }
    let mut command = env.command(&rehearsal(&script, &["-m", "1"]));
    command
        .env("NIGHTWRIGHT_NOTIFY_URL", "https://ntfy.sh/x")
        .env("NIGHTWRIGHT_NOTIFY_TOKEN_ENV", "NOPE");
    finish(command.spawn().unwrap())
        .exits(2)
        .says(&["names the variable `NOPE`, which is not set"]);
    assert!(env.runs().is_empty());
}

#[test]
fn project_configuration_needs_an_approval() {
    let (env, server) = (TestEnv::new(), Server::kind());
    fs::create_dir(env.project().join(".nightwright")).unwrap();
    env.file(
        ".nightwright/config.toml",
        &format!("notify.url = '{}'", server.url("/topic-of-mine")),
    );
    let script = env.script(DONE);
    let run = rehearsal(&script, &["-m", "3"]);
    let output =
        env.run(&run).exits(2).says(&["you have not approved", "notify.url = \"http://127.0.0.1:"]);
    assert!(!output.err.contains("topic-of-mine"), "{}", output.err);
    env.run(&["notify", "test"]).exits(2).says(&["you have not approved", "nightwright trust"]);
    let mut ignoring = run.clone();
    ignoring.push("--ignore-untrusted");
    env.run(&ignoring).exits(0);
    assert!(server.seen().is_empty());
    env.run(&["trust", "--yes"]).exits(0);
    env.run(&["notify", "test"]).exits(0);
    env.run(&run).exits(0);
    assert_eq!(server.seen().len(), 4);
}

#[test]
fn a_run_that_continues_needs_the_approval_too() {
    let (env, server, output) = run_with_server(IDLE, &["-m", "1"]);
    output.exits(0);
    let seen = server.seen().len();
    fs::create_dir(env.project().join(".nightwright")).unwrap();
    env.file(".nightwright/config.toml", &format!("notify.url = '{}'", server.url("/theirs")));
    env.run(&["resume", "-m", "2"]).exits(2).says(&["you have not approved", "notify.url"]);
    assert_eq!(server.seen().len(), seen);
}

#[test]
fn a_test_says_what_came_of_it() {
    let env = TestEnv::new();
    env.run(&["notify", "test"]).exits(2).says(&["no URL", "hint: ", "notify.url"]);
    let (well, sick) = (
        Server::kind(),
        Server::start(vec![ServerAnswer::With(404, "", "no <b>such\u{1b}[2J topic")]),
    );
    configure(
        &env,
        &format!(
            "[[notify]]\nurl = '{}'\nkind = 'ntfy'\nevents = []\n[[notify]]\nurl = '{}'\n",
            well.url("/t"),
            sick.url("/topic-of-mine")
        ),
    );
    let output = env.run(&["notify", "test"]).exits(1);
    let lines: Vec<_> = output.out.lines().collect();
    assert!(
        lines[0].starts_with("ntfy at 127.0.0.1:") && lines[0].contains(": delivered (HTTP 200, ")
    );
    assert!(
        lines[1].ends_with("the server responded with 404 Not Found: no <b>such topic"),
        "{lines:?}"
    );
    assert_eq!(sick.seen().len(), 1, "it would be the same a second time");
    assert_eq!(well.seen()[0].header("title"), Some("nightwright: test notification"));
    let json: serde_json::Value =
        serde_json::from_str(&env.run(&["notify", "test", "--json"]).exits(1).out).unwrap();
    assert_eq!((&json[0]["arrived"], &json[0]["status"]), (&json!(true), &json!(200)));
    assert_eq!((&json[1]["arrived"], &json[1]["status"]), (&json!(false), &json!(404)));
    assert!(!output.out.contains("topic-of-mine") && !json.to_string().contains("topic-of-mine"));
}

#[test]
fn addresses_and_secrets_are_shown_and_kept_nowhere() {
    let (env, server) = (TestEnv::new(), Server::kind());
    let url = server.url("/topic-of-mine");
    configure(
        &env,
        &format!("[notify]\nurl = '{url}'\nsecret = 'hush-hush-hush'\ntoken = 'tk-of-mine'"),
    );
    let script = env.script(&format!(
        "[[attempt]]\nsteps = [{{ say = 'I send it to {url} with hush-hush-hush and tk-of-mine.' }}, \
         {{ write = 'a.txt', text = 'a' }}]\nend = {{ result = '<promise>COMPLETE</promise> {url}' }}\n"
    ));
    let output = env.run(&rehearsal(&script, &["-m", "3", "--verbose"])).exits(0);
    let list = env.run(&["config", "list"]).exits(0).out;
    let explained = env.run(&["config", "explain", "notify.url"]).exits(0).out;
    assert!(list.contains("http://127.0.0.1:") && list.contains("notify.secret"), "{list}");
    let kept = texts(&env.path("state"));
    assert!(kept.contains("I send it to "), "the journal and the outputs are there");
    for secret in ["topic-of-mine", "hush-hush-hush", "tk-of-mine"] {
        for text in [&output.err, &output.out, &list, &explained, &kept] {
            assert!(!text.contains(secret), "{secret} is in {text}");
        }
    }
    assert_eq!(server.seen()[0].header("authorization"), Some("Bearer tk-of-mine"));
}

/// The content of all files in a folder, except rehearsal scripts, which are the user's own files.
fn texts(folder: &Path) -> String {
    let mut all = String::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.push_str(&texts(&path));
        } else if path.extension().is_none_or(|end| end != "toml") {
            all.push_str(&String::from_utf8_lossy(&fs::read(&path).unwrap_or_default()));
        }
    }
    all
}

#[test]
fn several_addresses_are_not_mixed_with_one() {
    let env = TestEnv::new();
    fs::create_dir(env.project().join(".nightwright")).unwrap();
    let text = "[[notify]]\nurl = 'https://ntfy.sh/x'\n";
    env.file(".nightwright/config.toml", text);
    env.run(&["config", "set", "notify.url", "https://ntfy.sh/y"])
        .exits(2)
        .says(&["cannot set `notify.url`", "has several `[[notify]]` tables"]);
    assert_eq!(fs::read_to_string(env.project().join(".nightwright/config.toml")).unwrap(), text);
    let output = env.run(&["config", "set", "notify", "{ url = 'https://ntfy.sh/z' }"]).exits(0);
    assert!(
        output.err.contains("https://ntfy.sh/...") && !output.err.contains("ntfy.sh/z"),
        "{}",
        output.err
    );
    // Setting a value approves it.
    env.run(&["trust", "--list"]).exits(0);
}

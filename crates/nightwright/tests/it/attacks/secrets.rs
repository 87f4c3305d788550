//! Secrets that nightwright does not know, in every form of the table, through every door.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nightwright_core::event::{Event, FeedbackSource, NoteEvent};
use serde_json::{Value, json};

use crate::agent_program::program;
use crate::harness::{TEST_TIMEOUT, TestEnv, finish};
use crate::notify::server::Server;

/// The table of the unit tests. A dot divides each secret into pieces.
const FORMS: &str = include_str!("../../../../nightwright-core/src/redact/tests/forms.txt");
const VERSION: &str = "2.1.210 (Claude Code)";

/// Files of a run with the user's own texts.
const OWN: [&str; 3] = ["/prompts/", "/unmasked.json", "/start-tree/"];

/// Secrets in another line than their names.
const ENTRIES: [(&str, &str, &str); 3] = [
    ("- name: SHOP_PASSWORD\n  value: ", "quince-41-Harbor", ""),
    ("- name: \"SHOP_API_KEY\"\n  value: \"", "7c1e0f5a9b3d4e6f8a02", "\""),
    ("  \"name\": \"SHOP_SECRET\",\n  \"value\": \"", "Maple7!Ferry2", "\","),
];

/// A text with a secret, and the secret.
type Form = (String, String);

fn forms() -> Vec<Form> {
    let form = |line: &str| {
        let parts: Vec<_> = line.split('\t').collect();
        let [group, before, secret, after] = parts[..] else { panic!("{line}") };
        let secret = secret.replace('·', "");
        (group != "limit").then(|| (format!("{before}{secret}{after}"), secret))
    };
    let entry = |(before, secret, after): (&str, &str, &str)| {
        (format!("{before}{secret}{after}"), secret.to_owned())
    };
    FORMS.lines().filter_map(form).chain(ENTRIES.map(entry)).collect()
}

/// An agent that says this text, runs a tool that prints it, and prints it to stderr.
fn stream(text: &str) -> String {
    let usage = json!({ "input_tokens": 1, "output_tokens": 1 });
    let lines = [
        json!({
            "type": "system", "subtype": "init", "session_id": "s", "model": "claude-x",
            "tools": ["Bash"], "mcp_servers": [], "permissionMode": "default", "cwd": "/",
            "apiKeySource": "none", "claude_code_version": "2.1.210",
        }),
        json!({
            "type": "assistant", "session_id": "s", "parent_tool_use_id": null,
            "message": { "id": "m", "model": "claude-x", "role": "assistant", "type": "message",
                "content": [{ "type": "text", "text": text },
                    { "type": "tool_use", "id": "t", "name": "Bash", "input": { "command": text } }],
                "usage": usage },
        }),
        json!({
            "type": "user", "session_id": "s", "parent_tool_use_id": null,
            "message": { "role": "user",
                "content": [{ "type": "tool_result", "tool_use_id": "t", "content": text }] },
        }),
        json!({
            "type": "result", "subtype": "success", "is_error": false, "duration_ms": 1,
            "num_turns": 1, "result": text, "session_id": "s", "total_cost_usd": 0.01,
            "usage": usage, "permission_denials": [],
        }),
    ];
    lines.iter().map(|line| line.to_string() + "\n").collect()
}

/// A project whose agent, check and hook print the table, with notifications to a server.
fn planted(text: &str) -> (TestEnv, Server) {
    let (env, server) = (TestEnv::new(), Server::kind());
    fs::write(env.path("forms"), text).unwrap();
    fs::write(env.path("stream"), stream(text)).unwrap();
    let [forms, stream] = ["forms", "stream"].map(|name| env.word(name));
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && echo '{VERSION}' && exit\nread -r prompt\n\
         cat {forms} >&2\necho work >> made.txt\ncat {stream}\n"
    );
    program(&env, "claude", &script);
    let hooks = env.project().join(".nightwright/hooks");
    fs::create_dir_all(&hooks).unwrap();
    let hook = hooks.join("iteration_finished");
    fs::write(&hook, format!("#!/bin/sh\ncat {forms}; cat {forms} >&2; exit 1\n")).unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let config = env.path("home").join(".config/nightwright");
    fs::create_dir_all(&config).unwrap();
    let address = format!("notify.url = '{}'\n", server.url("/hook"));
    fs::write(config.join("config.toml"), address).unwrap();
    env.run(&["trust", "--yes"]).exits(0);
    (env, server)
}

fn all_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            all_files(&entry.path(), files);
        } else if entry.file_type().unwrap().is_file() {
            files.push(entry.path());
        }
    }
}

/// The files in the state folder, except those with the user's own texts.
fn state_files(env: &TestEnv) -> Vec<(String, String)> {
    let mut files = Vec::new();
    all_files(&env.path("state"), &mut files);
    let named = files.into_iter().map(|file| (file.display().to_string(), file));
    named
        .filter(|(name, _)| !OWN.iter().any(|own| name.contains(own)))
        .map(|(name, file)| (name, String::from_utf8_lossy(&fs::read(file).unwrap()).into_owned()))
        .collect()
}

/// Fails if one of these texts contains a secret, or if none of those with a wanted name has a mask.
#[track_caller]
fn assert_masked(forms: &[Form], texts: &[(String, String)], wanted: &[&str]) {
    for wanted in wanted {
        let is_there =
            texts.iter().any(|(name, text)| name.contains(wanted) && text.contains("****"));
        assert!(is_there, "no mask in {wanted}");
    }
    let mut shown = Vec::new();
    for (form, secret) in forms {
        let written = Value::from(secret.as_str()).to_string();
        for (name, text) in texts {
            if text.contains(secret) || text.contains(written.trim_matches('"')) {
                shown.push(format!("{name}: {form}"));
            }
        }
    }
    assert!(shown.is_empty(), "{} places:\n{}", shown.len(), shown.join("\n"));
}

/// The output of a command that succeeds.
fn said(env: &TestEnv, name: &str, arguments: &[&str]) -> [(String, String); 2] {
    let output = env.run(arguments).exits(0);
    [(format!("{name}: stdout"), output.out), (format!("{name}: stderr"), output.err)]
}

#[test]
fn unknown_secrets_show_in_no_output_and_no_file() {
    let forms = forms();
    assert!(forms.len() >= 120, "{}", forms.len());
    let lines: Vec<_> = forms.iter().map(|(text, _)| text.as_str()).collect();
    let (env, server) = planted(&(lines.join("\n") + "\n"));
    let goal = format!("Use these:\n{}", lines.join("\n"));
    let check = format!("cat {}; exit 1", env.word("forms"));
    let run = ["run", "-p", &goal, "-m", "1", "--no-delay", "--verify", &check];
    let verbose = [&run[..], &["--verbose"]].concat();
    let messages = [&run[..], &["--output", "json", "--include-messages"]].concat();
    let mut texts = said(&env, "run", &verbose).to_vec();
    texts.extend(said(&env, "run --output json", &messages));
    texts.extend(said(&env, "status", &["status"]));
    texts.extend(said(&env, "status --json", &["status", "--json"]));
    texts.extend(said(&env, "log", &["log"]));
    for name in ["report.md", "report.html", "report.json"] {
        let path = env.path(name).display().to_string();
        texts.extend(said(&env, name, &["report", "-o", &path]));
        texts.push((name.to_owned(), fs::read_to_string(path).unwrap()));
    }
    texts.extend(server.seen().into_iter().map(|sent| ("webhook".to_owned(), sent.body)));
    texts.extend(state_files(&env));
    let wanted = ["journal.jsonl", "/output/", "/checks/", "hooks.log", "webhook"];
    assert_masked(&forms, &texts, &wanted);
}

#[test]
fn unknown_secrets_in_messages_tasks_and_recordings_show_nowhere() {
    let forms = forms();
    let lines: Vec<_> = forms.iter().map(|(text, _)| text.as_str()).collect();
    let text = lines.join("\n");
    let env = TestEnv::new();
    env.run(&["new", "port", "--mode", "loop"]).exits(0);
    env.file(".nightwright/tasks/port/INSTRUCTIONS.md", "Port it.\n");
    let list = format!("- [ ] {}\n", lines.join("\n- [ ] "));
    env.file(".nightwright/tasks/port/TODO.md", &list);
    let status = json!({
        "complete": false, "worked": true, "summary": text,
        "progress": { "completed": 1, "total": 2 }, "blockers": [text],
    });
    fs::write(env.path("status.json"), status.to_string()).unwrap();
    fs::write(env.path("stream"), stream(&text)).unwrap();
    fs::write(env.path("forms"), &text).unwrap();
    let [go, status, stream] = ["go", "status.json", "stream"].map(|name| env.word(name));
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && echo '{VERSION}' && exit\nread -r prompt\n\
         until [ -e {go} ]; do sleep 0.02; done\n\
         cp {status} .nightwright/tasks/port/.status.json\n\
         echo work >> made.txt\ncat {stream}\n"
    );
    program(&env, "claude", &script);

    let run = env.start(&["run", "port", "-m", "1", "--no-delay", "--verbose"]);
    env.wait_for("attempt_started");
    let mut texts = said(&env, "tell", &["tell", "port", &text]).to_vec();
    env.wait_for("feedback_added");
    texts.extend(said(&env, "live status", &["status", "port"]));
    texts.extend(said(&env, "live status --json", &["status", "port", "--json"]));
    // The log is written by another thread.
    let begun = Instant::now();
    let live_log = loop {
        let texts = said(&env, "live log", &["log"]);
        if texts[0].1.contains("for the next iteration: ") {
            break texts;
        }
        assert!(begun.elapsed() < TEST_TIMEOUT, "no message in {texts:?}");
        sleep(Duration::from_millis(20));
    };
    texts.extend(live_log);
    texts.extend(said(&env, "live task show", &["task", "show", "port"]));
    fs::write(env.path("go"), "").unwrap();
    let run = finish(run);
    texts.extend([("run: stdout".to_owned(), run.out), ("run: stderr".to_owned(), run.err)]);

    texts.extend(said(&env, "log", &["log"]));
    texts.extend(said(&env, "task show", &["task", "show", "port"]));
    texts.extend(said(&env, "task show --json", &["task", "show", "port", "--json"]));
    texts.extend(said(&env, "task list", &["task", "list"]));
    let kept = env.runs()[0].join("output/001-1.ndjson").display().to_string();
    for (name, file) in [("inspect", env.path("stream").display().to_string()), ("kept", kept)] {
        let stderr = env.path("forms").display().to_string();
        let arguments = ["inspect", &file, "--stderr", &stderr, "--exit-code", "0"];
        texts.extend(said(&env, name, &arguments));
        texts.extend(said(
            &env,
            &format!("{name} --json"),
            &[&arguments[..], &["--json"]].concat(),
        ));
    }
    texts.extend(state_files(&env));
    let wanted = [
        "journal.jsonl",
        "live log: stdout",
        "log: stdout",
        "run: stderr",
        "live task show: stdout",
        "task show --json: stdout",
        "inspect: stdout",
        "inspect --json: stdout",
        "kept: stdout",
    ];
    assert_masked(&forms, &texts, &wanted);
    let told = env.journal().into_iter().any(|record| {
        let Event::Note(NoteEvent::FeedbackAdded { source: FeedbackSource::Human, text }) =
            record.event
        else {
            return false;
        };
        text.contains("****")
    });
    assert!(told, "the message is not in the journal");
}

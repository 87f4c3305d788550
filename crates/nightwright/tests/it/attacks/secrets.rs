//! Secrets that nightwright does not know, in every form of the table, through every door.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::agent_program::program;
use crate::harness::TestEnv;
use crate::notify::server::Server;

/// The table of the unit tests. A dot divides each secret into pieces.
const FORMS: &str = include_str!("../../../../nightwright-core/src/redact/tests/forms.txt");
const VERSION: &str = "2.1.210 (Claude Code)";

/// Files of a run with the user's own texts.
const OWN: [&str; 3] = ["/prompts/", "/unmasked.json", "/start-tree/"];

/// A text with a secret, and the secret.
type Form = (String, String);

fn forms() -> Vec<Form> {
    let form = |line: &str| {
        let parts: Vec<_> = line.split('\t').collect();
        let [group, before, secret, after] = parts[..] else { panic!("{line}") };
        let secret = secret.replace('·', "");
        (group != "limit").then(|| (format!("{before}{secret}{after}"), secret))
    };
    FORMS.lines().filter_map(form).collect()
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

#[test]
fn unknown_secrets_show_in_no_output_and_no_file() {
    let forms = forms();
    assert!(forms.len() >= 120, "{}", forms.len());
    let lines: Vec<_> = forms.iter().map(|(text, _)| text.as_str()).collect();
    let (env, server) = planted(&(lines.join("\n") + "\n"));
    let goal = format!("Use these:\n{}", lines.join("\n"));
    let check = format!("cat {}; exit 1", env.word("forms"));
    let run = ["run", "-p", &goal, "-m", "1", "--no-delay", "--verify", &check];
    let said = |name: &str, arguments: &[&str]| {
        let output = env.run(arguments).exits(0);
        [(format!("{name}: stdout"), output.out), (format!("{name}: stderr"), output.err)]
    };
    let verbose = [&run[..], &["--verbose"]].concat();
    let messages = [&run[..], &["--output", "json", "--include-messages"]].concat();
    let mut texts = said("run", &verbose).to_vec();
    texts.extend(said("run --output json", &messages));
    texts.extend(said("status", &["status"]));
    texts.extend(said("status --json", &["status", "--json"]));
    texts.extend(said("log", &["log"]));
    for name in ["report.md", "report.html", "report.json"] {
        let path = env.path(name).display().to_string();
        texts.extend(said(name, &["report", "-o", &path]));
        texts.push((name.to_owned(), fs::read_to_string(path).unwrap()));
    }
    texts.extend(server.seen().into_iter().map(|sent| ("webhook".to_owned(), sent.body)));
    let mut files = Vec::new();
    all_files(&env.path("state"), &mut files);
    for file in files {
        let name = file.display().to_string();
        if !OWN.iter().any(|own| name.contains(own)) {
            let bytes = fs::read(&file).unwrap();
            texts.push((name, String::from_utf8_lossy(&bytes).into_owned()));
        }
    }
    for wanted in ["journal.jsonl", "/output/", "/checks/", "hooks.log", "webhook"] {
        let is_there =
            texts.iter().any(|(name, text)| name.contains(wanted) && text.contains("****"));
        assert!(is_there, "no mask in {wanted}");
    }
    let mut shown = Vec::new();
    for (form, secret) in &forms {
        let written = Value::from(secret.as_str()).to_string();
        for (name, text) in &texts {
            if text.contains(secret) || text.contains(written.trim_matches('"')) {
                shown.push(format!("{name}: {form}"));
            }
        }
    }
    assert!(shown.is_empty(), "{} places:\n{}", shown.len(), shown.join("\n"));
}

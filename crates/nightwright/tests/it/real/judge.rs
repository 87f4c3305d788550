//! A judge of the real agent program: what others wrote does not reach it, and its login works.

use std::fs;
use std::path::Path;

use nightwright_core::event::{Event, GateEvent, GateResult};
use serde_json::json;

use super::{RealEnv, VERIFIER, claim, verdict};
use crate::harness::finish;
use crate::messages_api::ApiRequest;
use crate::messages_api::scenario::{Scenario, call, say};

/// The beginning of every planted text.
const PLANTED: &str = "PLANTED-";

/// The files that a worker reads at its start, with the name of the text in each.
const READ_BY_WORKERS: [(&str, &str); 9] = [
    ("home/.claude/CLAUDE.md", "USER-MEMORY"),
    ("home/.claude/rules/x.md", "USER-RULE"),
    ("home/.claude/skills/users/SKILL.md", "USER-SKILL"),
    ("home/.claude/agents/users.md", "USER-AGENT"),
    ("project/CLAUDE.md", "MEMORY"),
    ("project/.claude/rules/x.md", "RULE"),
    ("project/.claude/skills/projects/SKILL.md", "SKILL"),
    ("project/.claude/agents/projects.md", "AGENT"),
    ("CLAUDE.md", "PARENT"),
];

/// Further files that someone may read.
const OTHERS: [(&str, &str); 4] = [
    ("project/CLAUDE.local.md", "LOCAL"),
    ("project/AGENTS.md", "AGENTS"),
    ("project/src/CLAUDE.md", "NESTED"),
    ("home/.claude/commands/users.md", "USER-COMMAND"),
];

/// Plants all texts, and hooks that write files.
fn plant(real: &RealEnv) {
    let folder = real.env.path("");
    for (path, name) in READ_BY_WORKERS.into_iter().chain(OTHERS) {
        let text =
            format!("---\nname: {name}\ndescription: {PLANTED}{name}.\n---\n{PLANTED}{name}.\n");
        write(&folder.join(path), &text);
    }
    write(&folder.join("project/src/a.txt"), "A file.\n");
    for who in ["home", "project"] {
        let hook = format!("touch {}hook-of-{who}-$NIGHTWRIGHT_PURPOSE", real.env.word(""));
        let hooks =
            json!({ "SessionStart": [{ "hooks": [{ "type": "command", "command": hook }] }] });
        let settings = json!({ "hooks": hooks }).to_string();
        write(&folder.join(who).join(".claude/settings.json"), &settings);
    }
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn has(request: &ApiRequest, name: &str) -> bool {
    request.body.to_string().contains(&format!("{PLANTED}{name}."))
}

fn hooked(real: &RealEnv, who: &str, purpose: &str) -> bool {
    real.env.path(&format!("hook-of-{who}-{purpose}")).exists()
}

#[test]
fn nothing_that_others_wrote_reaches_a_verifier_or_a_reviewer_and_it_reaches_the_worker() {
    const REVIEWER: &str = "Look at the changes like a reviewer.";
    let scenario = |project: &Path| {
        let file = project.join("src/a.txt");
        let read = || call("Read", json!({ "file_path": file }));
        let work = json!({ "file_path": project.join("b.txt"), "content": "b" });
        Scenario::of(vec![call("Write", work), claim()])
            .with(REVIEWER, vec![read(), say("It is good.")])
            .with(VERIFIER, vec![read(), verdict("yes", "it is there")])
    };
    let Some(real) = RealEnv::begin_in(scenario) else { return };
    plant(&real);
    real.env.run(&["config", "set", "agent.settings", "user", "project"]).exits(0);
    real.env.run(&["config", "set", "verify.depth", "deep"]).exits(0);
    real.env.run(&["trust", "--yes"]).exits(0);
    let output = real.run("x", &["-m", "1", "--review-prompt", REVIEWER]).exits(0);

    let asked = real.api().asked();
    let (judges, workers): (Vec<_>, Vec<_>) =
        asked.iter().partition(|request| request.says(REVIEWER) || request.says(VERIFIER));
    assert_eq!((judges.len(), workers.len()), (4, 2), "{}", output.err);
    for (_, name) in READ_BY_WORKERS {
        assert!(has(workers[0], name), "{name} does not reach the worker");
    }
    for judge in judges {
        let body = judge.body.to_string();
        let planted = body.find(PLANTED).map(|at| &body[at..body.len().min(at + 30)]);
        assert_eq!(planted, None, "{:?}", judge.opening());
    }
    assert!(hooked(&real, "home", "") && hooked(&real, "project", ""), "the worker's hooks run");
    for purpose in ["review", "verify"] {
        for who in ["home", "project"] {
            assert!(!hooked(&real, who, purpose), "a hook of {who} ran in a call to {purpose}");
        }
    }
    assert!(!output.err.contains("ignored the answer"), "{}", output.err);
    assert!(!output.err.contains("changed during the run"), "{}", output.err);
    let passed = real.journal().into_iter().any(|record| {
        matches!(
            record.event,
            Event::Gate(GateEvent::Finished { result: GateResult::Passed { .. } })
        )
    });
    assert!(passed, "{}", output.err);
}

#[test]
fn the_login_of_the_user_works_for_a_judge() {
    let far = 4_102_444_800_000_u64;
    let login = json!({ "claudeAiOauth": {
        "accessToken": "from-the-file", "refreshToken": "x", "expiresAt": far,
        "scopes": ["user:inference", "user:profile"], "subscriptionType": "max",
    } });
    let helper = json!({ "apiKeyHelper": "echo from-the-helper" });
    let key = json!({ "primaryApiKey": "from-the-state" });
    for (file, text, header, value) in [
        (".claude/settings.json", helper, "x-api-key", "from-the-helper"),
        (".claude/.credentials.json", login, "authorization", "Bearer from-the-file"),
        (".claude.json", key, "x-api-key", "from-the-state"),
    ] {
        let scenario =
            Scenario::of(vec![claim()]).with(VERIFIER, vec![verdict("yes", "it is there")]);
        let Some(real) = RealEnv::begin(scenario) else { return };
        let path = real.env.path("home").join(file);
        write(&path, &text.to_string());
        let mut command = real.command(&["run", "-p", "x", "--no-delay", "-m", "1"]);
        command.env_remove("ANTHROPIC_API_KEY");
        let output = finish(command.spawn().unwrap()).exits(0);
        real.assert_no_process_is_alive();
        let asked = real.asked_for_verdict();
        assert_eq!(asked.len(), 1, "{file}: {}", output.err);
        assert_eq!(asked[0].header(header), Some(value), "{file}");
        if file.ends_with(".credentials.json") {
            assert_eq!(fs::read_to_string(path).unwrap(), text.to_string(), "it is not replaced");
        }
    }
}

#[test]
fn without_an_approval_the_agents_files_in_the_project_are_not_loaded() {
    let Some(real) = RealEnv::begin(Scenario::of(vec![say("There is more."), say("And more.")]))
    else {
        return;
    };
    plant(&real);
    let of_project = ["SKILL", "AGENT", "RULE"];
    let output = real.run("x", &["-m", "1"]).exits(0);
    let first = &real.api().asked()[0];
    assert!(has(first, "USER-SKILL") && !hooked(&real, "project", ""), "{}", output.err);
    for name in of_project {
        assert!(!has(first, name), "{name} reaches the worker");
    }
    real.env.run(&["trust", "--yes"]).exits(0);
    real.run("x", &["-m", "1"]).exits(0);
    let second = &real.api().asked()[1];
    assert!(hooked(&real, "project", ""));
    for name in of_project {
        assert!(has(second, name), "{name} does not reach the worker");
    }
}

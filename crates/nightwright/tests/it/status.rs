//! `nightwright status`: a run while it is running, after its end, and after its process was
//! killed.

use std::collections::BTreeSet;
use std::fs;

use nightwright_core::event::{AttemptEvent, Event, OperatorEvent};
use rustix::process::Signal;
use serde_json::Value;

use super::fake_agent::{FakeAgentEnv, send};
use super::harness::{RunningCommand, TestEnv, finish};

const PATIENT: &str = r#"
[[attempt]]
cost = 0.25
steps = [{ say = "I wait." }, { run = "while [ ! -e go ]; do sleep 0.02; done" }, { write = "a.txt", text = "a" }]
end = { result = "All of it.\n<promise>COMPLETE</promise>" }
"#;

fn started() -> (TestEnv, RunningCommand) {
    let env = TestEnv::new();
    let script = env.script(PATIENT);
    let mut arguments = vec!["run", "-p", "Do it all.\nAnd well.", "-m", "5", "--max-cost", "10"];
    arguments.extend(["--no-delay", "--dry-run", "--rehearsal", &script]);
    let child = env.start(&arguments);
    env.wait_for("agent_ready");
    (env, child)
}

fn object(env: &TestEnv) -> Value {
    serde_json::from_str(&env.run(&["status", "--json"]).exits(0).out).unwrap()
}

#[test]
fn a_run_that_is_running_says_what_it_does_and_against_which_limits() {
    let (env, child) = started();
    let text = env.run(&["status"]).exits(0).out;
    for part in [
        "state         running: the agent has been working since ".to_owned(),
        format!(" (pid {})\n", child.id()),
        "goal          Do it all.\n".to_owned(),
        "iteration     1 of at most 5\n".to_owned(),
        "cost          rehearsal, nothing spent (simulated cost: $0.00 of $10.00".to_owned(),
        "rehearsal     the rehearsal agent replaces the real one".to_owned(),
        "next          follow its log: nightwright log -f ".to_owned(),
    ] {
        assert!(text.contains(&part), "{part} is not in:\n{text}");
    }
    env.run(&["stop"]).exits(0);
    env.run(&["pause"]).exits(0);
    env.wait_for("run_paused");
    let page = object(&env);
    assert_eq!((&page["state"], &page["is_rehearsal"]), (&"running".into(), &true.into()));
    assert_eq!(page["doing"]["what"], "working");
    // Requests since then do not affect the current activity.
    let journal = env.journal();
    let begun = journal
        .iter()
        .find(|record| matches!(record.event, Event::Attempt(AttemptEvent::Started { .. })));
    assert_eq!(page["doing"]["since"], begun.unwrap().at.to_string());
    assert_eq!((&page["stop"], &page["paused"]), (&"after_iteration".into(), &true.into()));
    assert_eq!((&page["max_iterations"], &page["max_cost_usd"]), (&5.into(), &10.0.into()));
    assert_eq!(page["iterations_left"], 1);
    assert_eq!(page["pid"], child.id());
    env.file("go", "");
    finish(child).exits(0);
}

#[test]
fn a_run_that_was_killed_says_so_and_how_to_continue() {
    let (env, mut child) = started();
    send(&child, Signal::KILL);
    child.wait().unwrap();
    let text = env.run(&["status"]).exits(0).out;
    assert!(text.contains("state         crashed"), "{text}");
    assert!(text.contains("next          resume the crashed run: nightwright resume 2"), "{text}");
    let page = object(&env);
    assert_eq!((&page["state"], &page["pid"]), (&"crashed".into(), &Value::Null));
    assert_eq!(page["outcome"], Value::Null);
}

#[test]
fn a_run_that_has_ended_says_how_and_every_member_is_documented() {
    let (env, child) = started();
    env.file("go", "");
    finish(child).exits(0);
    let text = env.run(&["status"]).exits(0).out;
    assert!(
        text.contains(
            "state         ended: Task judged complete by a model (no checks configured)"
        ),
        "{text}"
    );
    assert!(
        text.contains("last          iteration 1: claim accepted, 2 files, $0.26 (rehearsed)"),
        "{text}"
    );
    let page = object(&env);
    assert_eq!((&page["state"], &page["outcome"]["name"]), (&"ended".into(), &"completed".into()));
    assert_eq!(page["outcome"]["proof"], "model");
    assert_eq!(page["cost_usd"], 0.26);
    assert!(page["log"].as_str().unwrap().contains("/iterate-"));
    let help = env.run(&["status", "--help"]).exits(0).out;
    let documented: BTreeSet<_> =
        help.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
    let members = page.as_object().unwrap();
    for nested in ["doing", "iteration", "last_iteration", "outcome", "agent"] {
        for name in page[nested].as_object().unwrap().keys() {
            assert!(documented.contains(name.as_str()), "{nested}.{name}");
        }
    }
    for name in members.keys() {
        assert!(documented.contains(name.as_str()), "{name}");
    }
}

#[test]
fn a_run_that_is_not_there_is_an_error() {
    let env = TestEnv::new();
    env.run(&["status"]).exits(1).says(&["there is no run in `"]);
    let (env, child) = started();
    env.run(&["status", "nothing", "--json"]).exits(1).says(&["there is no run `nothing`"]);
    env.file("go", "");
    finish(child).exits(0);
}

#[test]
fn json_has_nothing_in_it_that_a_terminal_obeys() {
    let env = TestEnv::new();
    let script =
        env.script("[[attempt]]\nend = { result = \"a \\u009b2J and \\u202e and \\u200b end\" }");
    let run = ["run", "-p", "x \u{202e} y", "-m", "1", "--no-delay", "--dry-run"];
    env.run(&[&run[..], &["--rehearsal", &script]].concat());
    let json = env.run(&["status", "--json"]).exits(0).out;
    serde_json::from_str::<Value>(&json).unwrap();
    assert!(json.contains("\\u202e"), "{json}");
    assert!(!json.contains(['\u{9b}', '\u{202e}', '\u{200b}']), "{json}");
}

#[test]
fn without_utf8_a_cut_is_shown_in_ascii() {
    let env = TestEnv::new();
    let script = env.script("[[attempt]]\nend = { result = 'Nothing.' }\n");
    let goal = "much to do ".repeat(40);
    let run = ["run", "-p", &goal, "-m", "1", "--no-delay", "--dry-run", "--rehearsal", &script];
    env.run(&run).exits(0);
    let status = |locale: &str| {
        let child =
            RunningCommand::from(env.command(&["status"]).env("LANG", locale).spawn().unwrap());
        let text = finish(child).exits(0).out;
        text.lines().find(|line| line.starts_with("goal")).unwrap().to_owned()
    };
    assert!(status("C.UTF-8").ends_with('…'), "{}", status("C.UTF-8"));
    assert!(status("C").is_ascii() && status("C").ends_with("..."), "{}", status("C"));
}

#[test]
fn a_run_that_is_running_shows_the_last_tool_or_sentence_of_the_agent() {
    let (env, child) = started();
    let begun = std::time::Instant::now();
    let page = loop {
        let page = object(&env);
        if page["doing"]["last"].as_str().is_some_and(|last| last.starts_with("Bash: while")) {
            break page;
        }
        assert!(begun.elapsed().as_secs() < 60, "it never showed the tool: {}", page["doing"]);
        std::thread::sleep(std::time::Duration::from_millis(5));
    };
    assert_eq!(page["doing"]["what"], "working");
    let text = env.run(&["status"]).exits(0).out;
    assert!(text.contains("agent         Bash: while [ ! -e go ]"), "{text}");
    env.file("go", "");
    finish(child).exits(0);
    assert_eq!(object(&env)["doing"]["last"], Value::Null, "it has ended");
}

#[test]
fn all_runs_of_the_project_are_listed_the_newest_first() {
    let env = TestEnv::new();
    env.run(&["status", "--all"]).exits(0).says(&["no runs yet", "nightwright run"]);
    assert_eq!(env.run(&["status", "--all", "--json"]).exits(0).out, "[]\n");

    env.rehearse("[[attempt]]\nend = { auth = \"no\" }", "9", &[]).exits(1);
    let done = "[[attempt]]\nsteps = [{ write = \"a.txt\", text = \"a\" }]\n\
                end = { result = \"<promise>COMPLETE</promise>\" }";
    env.rehearse(done, "9", &["--verify", "true"]).exits(0);
    let ids: Vec<_> =
        env.runs().iter().rev().map(|run| run.file_name().unwrap().to_owned()).collect();
    let rows: Value =
        serde_json::from_str(&env.run(&["status", "--all", "--json"]).exits(0).out).unwrap();
    let rows = rows.as_array().unwrap();
    let listed: Vec<_> = rows
        .iter()
        .map(|row| row["run"].as_str().unwrap().into())
        .collect::<Vec<std::ffi::OsString>>();
    assert_eq!(listed, ids);
    assert_eq!((&rows[0]["state"], &rows[0]["outcome"]), (&"ended".into(), &"completed".into()));
    let text = env.run(&["status", "--all"]).exits(0).out;
    let lines: Vec<_> = text.lines().collect();
    assert!(lines[0].starts_with("RUN  ") && lines.len() == 3, "{text}");
    assert!(
        lines[1].starts_with(ids[0].to_str().unwrap()) && lines[1].contains("(rehearsal)"),
        "{text}"
    );
    env.run(&["status", "some-run", "--all"]).exits(2).says(&["cannot be used"]);
}

/// An agent whose commands are denied, as the real program reports it.
fn denied(commands: usize) -> String {
    let denied: Vec<_> = (0..commands)
        .map(|number| {
            format!(
                r#"{{"tool_name":"Bash","tool_use_id":"t{number}","tool_input":{{"command":"cloud-{number} get pods"}}}}"#
            )
        })
        .collect();
    let denied = denied.join(",");
    format!(
        r#"init; out '{{"type":"result","subtype":"success","is_error":false,"stop_reason":"end_turn","duration_ms":6000,"num_turns":2,"result":"I may not.","total_cost_usd":0.01,"permission_denials":[{denied}]}}'"#
    )
}

#[test]
fn a_command_is_never_cut_however_long_it_is() {
    let scene = FakeAgentEnv::new(&denied(11));
    finish(scene.start(&["-m", "1"])).exits(0);
    let text = scene.env.run(&["status"]).exits(0).out;
    let next = text.lines().find(|line| line.starts_with("next")).unwrap();
    assert!(next.contains("raise the limit, allow the denied commands and continue: "), "{text}");
    assert_eq!(next.matches("--allowed-tools").count(), 11, "{text}");
    assert!(!text.contains('…'), "{text}");
    let summary = scene.env.run(&["log"]).exits(0).out;
    assert!(summary.contains(next.trim_start_matches("next").trim()), "{summary}");
    // The shell takes the line as it is printed.
    scene.env.paste(&next[next.find("nightwright ").unwrap()..]).exits(0);
    let allowed = scene.env.journal().into_iter().find_map(|record| match record.event {
        Event::Operator(OperatorEvent::SettingsChanged { change, .. }) => Some(change.sentence()),
        _ => None,
    });
    assert!(allowed.is_some_and(|change| change.starts_with("agent.allowed_tools: added ")));
}

#[test]
fn the_usage_of_the_running_attempt_is_shown_as_an_estimate() {
    let message = r#"out '{"type":"assistant","message":{"id":"msg_1","model":"claude-sonnet-4-5","content":[{"type":"text","text":"I look."}],"stop_reason":null,"usage":{"input_tokens":200000,"output_tokens":10000}},"parent_tool_use_id":null}'"#;
    let scene = FakeAgentEnv::new(&format!(
        "init; {message}; : >\"$fake/said\"; until_told go; result done"
    ));
    let child = scene.start(&["-m", "1"]);
    scene.agent.wait_for("printed", 2);
    let begun = std::time::Instant::now();
    let page = loop {
        let page = object(&scene.env);
        if page["running"]["tokens"].as_u64().is_some_and(|tokens| tokens > 0) {
            break page;
        }
        assert!(begun.elapsed().as_secs() < 60, "it never showed the tokens: {page}");
        std::thread::sleep(std::time::Duration::from_millis(5));
    };
    assert_eq!(page["running"]["tokens"], 210_000);
    assert!(page["running"]["cost_usd"].as_f64().unwrap() > 0.5, "{page}");
    assert_eq!((&page["cost_usd"], &page["tokens"]), (&0.0.into(), &0.into()));
    let text = scene.env.run(&["status"]).exits(0).out;
    assert!(text.contains("cost          $0.00, and about $0."), "{text}");
    assert!(text.contains(" in the running attempt\n"), "{text}");
    assert!(text.contains("tokens        0, and 210,000 in the running attempt\n"), "{text}");
    scene.agent.tell("go");
    finish(child).exits(0);
    assert_eq!(object(&scene.env)["running"], Value::Null, "it has ended");
}

#[test]
fn a_verified_run_says_what_verified_it_and_a_paused_one_that_is_gone_is_not_at_work() {
    let done = "[[attempt]]\nsteps = [{ write = \"a.txt\", text = \"a\" }]\n\
                end = { result = \"<promise>COMPLETE</promise>\" }";
    let env = TestEnv::new();
    env.rehearse(done, "9", &["--verify", "test -e a.txt"]).exits(0);
    let text = env.run(&["status"]).exits(0).out;
    assert!(text.contains("\nproof         verified by `test -e a.txt`"), "{text}");

    let (env, mut child) = started();
    env.run(&["pause"]).exits(0);
    env.wait_for("run_paused");
    send(&child, Signal::KILL);
    child.wait().unwrap();
    let text = env.run(&["status"]).exits(0).out;
    assert!(text.contains("\npause         the run was paused when it crashed\n"), "{text}");
    assert!(!text.contains("the run pauses after the current"), "{text}");
}

#[test]
fn a_run_that_fails_before_its_first_event_is_not_listed() {
    let env = TestEnv::new();
    let run = |env: &TestEnv| env.rehearse("[[attempt]]\nend = { result = \"Hm.\" }", "1", &[]);
    run(&env).exits(0);
    let before = env.runs();
    // The seal of a run is created directly after its journal.
    let seals = before[0].parent().unwrap().with_file_name("seals");
    fs::remove_dir_all(&seals).unwrap();
    fs::write(&seals, "").unwrap();
    run(&env).exits(1).says(&["seals"]);
    assert_eq!(env.runs(), before);
    fs::remove_file(&seals).unwrap();
    let shown = env.run(&["status", "--json"]).exits(0);
    let id = before[0].file_name().unwrap().to_str().unwrap();
    assert!(shown.out.contains(id), "{}", shown.out);
}

//! `--output json --include-messages`: the agent's own lines between the events.

use std::fs;

use serde_json::Value;

use super::harness::{TestEnv, finish};

const SCRIPT: &str = r#"
[[attempt]]
steps = [{ write = "a.txt", text = "whole" }, { say = "all of it" }]
end = { result = "Done.\n\n<promise>COMPLETE</promise>" }

[[verify]]
verdict = "yes"
reason = "it is there"
"#;

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn the_agent_s_lines_stand_between_the_events_where_they_were_printed() {
    let env = TestEnv::new();
    let output = env.rehearse(SCRIPT, "5", &["--output", "json", "--include-messages"]).exits(0);
    let run = &env.runs()[0];
    let journal = fs::read_to_string(run.join("journal.jsonl")).unwrap();
    let (events, said): (Vec<_>, Vec<_>) =
        output.out.lines().partition(|line| line.starts_with("{\"v\":1,\"seq\":"));
    assert_eq!(events.join("\n"), journal.trim_end(), "the events are those of the journal");

    let id = run.file_name().unwrap().to_str().unwrap();
    let raw = |label: &str| {
        let text = fs::read_to_string(run.join(format!("output/{label}.ndjson"))).unwrap();
        lines(&text)
    };
    let said = lines(&said.join("\n"));
    assert!(said.iter().all(|line| line["v"] == 1 && line["run"] == id), "{said:?}");
    let by = |key: &str| -> Vec<Value> {
        said.iter().filter(|line| line[key] == 1).map(|line| line["message"].clone()).collect()
    };
    assert_eq!(by("attempt"), raw("001-1"), "all of the agent's output, in its order");
    assert!(!by("call").is_empty(), "the verifier's words, too");
    assert!(said.iter().any(|line| line["purpose"] == "verify"), "{said:?}");

    let all = lines(&output.out);
    let place = |found: &dyn Fn(&Value) -> bool| all.iter().position(found).unwrap();
    let first = place(&|line| line["attempt"] == 1 && line["message"].is_object());
    let last =
        all.iter().rposition(|line| line["attempt"] == 1 && line["message"].is_object()).unwrap();
    assert!(place(&|line| line["event"] == "attempt_started") < first);
    assert!(last < place(&|line| line["event"] == "attempt_finished"));
}

#[test]
fn words_of_an_agent_that_speaks_no_json_are_texts() {
    let env = TestEnv::new();
    env.file("agent.sh", "cat > /dev/null\nprintf 'plain \\033[2J words\\n{\"half\":\\n'\n");
    let arguments = [
        "run",
        "-p",
        "x",
        "-m",
        "1",
        "--no-delay",
        "--agent-command",
        "sh agent.sh",
        "--output",
        "json",
        "--include-messages",
    ];
    let output = env.run(&arguments);
    let all = lines(&output.out);
    let texts: Vec<_> = all.iter().filter_map(|line| line["text"].as_str()).collect();
    let texts: Vec<_> = texts.into_iter().filter(|text| text.contains("plain")).collect();
    assert_eq!(texts.first(), Some(&"plain \u{1b}[2J words"), "{}", output.out);
    assert!(!output.out.contains('\u{1b}'), "nothing that a terminal obeys is printed");
}

#[test]
fn it_has_a_meaning_with_json_only() {
    let env = TestEnv::new();
    for more in [&[][..], &["--verbose"], &["--quiet"], &["--output", "progress"]] {
        let mut arguments = vec!["run", "-p", "x", "-m", "1", "--dry-run", "--include-messages"];
        arguments.extend(more);
        env.run(&arguments).exits(2).says(&["--include-messages", "--output json"]);
    }
    assert!(env.runs().is_empty(), "wrong use leaves nothing behind");
    // If the configuration sets JSON output, the flag alone is enough.
    let mut command =
        env.command(&["run", "-p", "x", "-m", "1", "--dry-run", "--include-messages"]);
    let output = finish(command.env("NIGHTWRIGHT_OUTPUT", "json").spawn().unwrap());
    assert!(lines(&output.out).iter().any(|line| line["message"].is_object()), "{}", output.err);
}

//! The gate, with the real program on both of its sides: it claims, and it gives the verdict.

mod by_hand;
mod tampering;

use std::fs;
use std::path::Path;
use std::time::Duration;

use nightwright_core::event::{
    Event, FeedbackSource, GateEvent, GateResult, NoteEvent, VerdictKind, WaitEnd, WaitEvent,
    WaitKind,
};
use nightwright_core::outcome::{Outcome, Proof};
use nightwright_core::stream::verdict::SCHEMA;
use serde_json::{Value, json};

use super::{RealEnv, VERIFIER, accepted, claim, verdict};
use crate::harness::run_outcome;
use crate::messages_api::scenario::{
    ApiAnswer, FORM, Scenario, Usage, bash, call, refuse, say, usage_limit,
};

/// The outcome of an accepted claim.
fn settled(proof: Proof) -> Outcome {
    Outcome::completed(proof)
}

/// A file of the project is written.
fn write(project: &Path, file: &str, text: &str) -> ApiAnswer {
    call("Write", json!({ "file_path": project.join(file), "content": text }))
}

/// The model says no, and what is missing.
fn refusal(reason: &str, missing: &[&str]) -> ApiAnswer {
    call(FORM, json!({ "verdict": "no", "reason": reason, "missing": missing }))
}

/// Every verdict, with its reason.
fn verdicts(real: &RealEnv) -> Vec<(VerdictKind, String)> {
    let events = real.journal().into_iter().map(|record| record.event);
    events
        .filter_map(|event| match event {
            Event::Gate(GateEvent::VerdictGiven { verdict, reason, .. }) => Some((verdict, reason)),
            _ => None,
        })
        .collect()
}

/// The result of every gate.
fn gates(real: &RealEnv) -> Vec<GateResult> {
    let events = real.journal().into_iter().map(|record| record.event);
    events
        .filter_map(|event| match event {
            Event::Gate(GateEvent::Finished { result }) => Some(result),
            _ => None,
        })
        .collect()
}

/// The feedback, with its sources.
fn feedback(real: &RealEnv) -> Vec<(FeedbackSource, String)> {
    let events = real.journal().into_iter().map(|record| record.event);
    events
        .filter_map(|event| match event {
            Event::Note(NoteEvent::FeedbackAdded { source, text }) => Some((source, text)),
            _ => None,
        })
        .collect()
}

fn warnings(real: &RealEnv) -> Vec<String> {
    let events = real.journal().into_iter().map(|record| record.event);
    events
        .filter_map(|event| match event {
            Event::Note(NoteEvent::Warning { text }) => Some(text),
            _ => None,
        })
        .collect()
}

#[test]
fn the_output_of_a_failed_check_is_what_the_next_iteration_receives_and_can_repair() {
    let scenario = |project: &Path| {
        let answer = project.join("answer.txt");
        let correction =
            json!({ "file_path": answer, "old_string": "forty", "new_string": "forty-two" });
        accepted(vec![
            write(project, "answer.txt", "forty\n"),
            claim(),
            call("Read", json!({ "file_path": answer })),
            call("Edit", correction),
            claim(),
        ])
    };
    let Some(real) = RealEnv::begin_in(scenario) else { return };
    let check = "echo checked >> ../checks.log\n\
                 grep -qx forty-two answer.txt || { echo 'expected 42, got 40' >&2; exit 3; }\n";
    real.env.file("check.sh", check);
    let output = real.run("write the answer", &["-m", "5", "--verify", "sh check.sh"]).exits(0);
    let output = output.says(&["rejected: `sh check.sh` failed (exit 3)", "expected 42, got 40"]);
    output.says(&["Task completed successfully after 2 iterations"]);
    assert_eq!(real.outcome(), settled(Proof::Checks));
    assert_eq!(real.read("answer.txt").as_deref(), Some("forty-two\n"));
    let runs = fs::read_to_string(real.env.path("checks.log")).unwrap().lines().count();
    assert_eq!(runs, 5, "twice before the work, once after each claim, and a failed check again");

    let results = gates(&real);
    let [GateResult::Rejected { why, .. }, GateResult::Passed { .. }] = &results[..] else {
        panic!("{results:?}")
    };
    assert_eq!(why, "`sh check.sh` failed (exit 3)");
    let asked = real.asked_for_work();
    assert_eq!(asked.len(), 5);
    assert!(asked[0].says("expected 42, got 40"), "the baseline has failed in the same way");
    for words in ["You said that the work is complete. It is not", "expected 42, got 40"] {
        assert!(asked[2].says(words), "`{words}` is not in {:?}", asked[2].opening());
    }
    assert_eq!(asked[2].answers(), 0, "in a fresh session");
    assert_eq!(real.asked_for_verdict().len(), 1, "no model is asked about what a check refuted");
}

#[test]
fn a_verdict_has_a_form_a_cheap_model_and_no_tools_and_its_no_reaches_the_next_iteration() {
    // Three cents of the cheap model each.
    let dear = Usage { input: 100_000, output: 40_000 };
    let doubt = refusal("there is no second half", &["the second half", "its test"]);
    let belief = verdict("yes", "both halves are there");
    let scenario = |project: &Path| {
        Scenario::of(vec![
            write(project, "first.txt", "the first half\n"),
            claim(),
            write(project, "second.txt", "the second half\n"),
            claim(),
        ])
        .with(VERIFIER, vec![doubt.using(dear), belief.using(dear)])
    };
    let Some(real) = RealEnv::begin_in(scenario) else { return };
    let output = real.run("write both halves", &["-m", "5"]).exits(0);
    let output = output.says(&[
        "rejected: there is no second half",
        "missing: its test",
        "judged complete by a model",
    ]);
    output.says(&["after 2 iterations", "verify $0.06 in 2 calls"]);
    assert_eq!(real.outcome(), settled(Proof::Model));

    let asked = real.asked_for_verdict();
    assert_eq!(asked.len(), 2, "a verdict takes one message");
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    for request in &asked {
        assert_eq!(request.tools(), [FORM], "nothing to look with, and nothing to change with");
        let form = request.form().unwrap();
        for part in ["type", "properties", "required", "additionalProperties"] {
            assert_eq!(form[part], schema[part], "{part}");
        }
        assert!(request.model().starts_with("claude-haiku"), "{}", request.model());
        assert!(request.says("write both halves"), "it knows the goal");
        assert!(request.says("All of it is there."), "it knows what was said");
    }
    let work = real.asked_for_work();
    assert!(work.iter().all(|request| !request.model().starts_with("claude-haiku")));
    assert!(!work[1].says("there is no second half"));
    for words in ["there is no second half", "the second half", "its test"] {
        assert!(work[2].says(words), "the next one is not told: {words}");
    }
    let entries = feedback(&real);
    let [(FeedbackSource::Verifier, text)] = &entries[..] else { panic!("{entries:?}") };
    assert!(text.contains("its test"), "{text}");
    let totals = real.totals();
    let spent = totals.by_purpose["verify"];
    assert_eq!((spent.count, spent.cost.micros()), (2, 60_000));
    assert_eq!((spent.tokens.input, spent.tokens.output), (200_000, 80_000));
    assert_eq!(totals.cost, totals.by_purpose["work"].cost + spent.cost);
}

#[test]
fn a_deep_verdict_looks_at_the_project_and_can_change_nothing() {
    let scenario = |project: &Path| {
        let look = call("Read", json!({ "file_path": project.join("made.txt") }));
        let meddle = write(project, "meddled.txt", "I could\n");
        let verdict = verdict("yes", "it is made");
        Scenario::of(vec![write(project, "made.txt", "made by hand\n"), claim()])
            .with(VERIFIER, vec![look, meddle, bash("touch meddled.txt"), verdict])
    };
    let Some(real) = RealEnv::begin_in(scenario) else { return };
    real.env.run(&["config", "set", "verify.depth", "deep"]).exits(0);
    real.run("make it", &["-m", "2", "--allowed-tools", "Bash"]).exits(0);
    assert_eq!(real.outcome(), settled(Proof::Model));
    let asked = real.asked_for_verdict();
    assert_eq!(asked.len(), 4);
    assert!(asked.iter().all(|request| request.tools() == ["Glob", "Grep", "Read", FORM]));
    let results = asked[3].tool_results();
    assert!(results[0].0.contains("made by hand") && !results[0].1, "{results:?}");
    assert!(results[1].1 && results[2].1, "there are no such tools: {results:?}");
    assert_eq!(real.read("meddled.txt"), None);
    assert_eq!(verdicts(&real), [(VerdictKind::Yes, "it is made".to_owned())]);
}

#[test]
fn a_verifier_that_gives_no_verdict_rejects_nothing_and_twice_in_a_row_is_the_end() {
    let scenario = Scenario::of(vec![claim()]).with(VERIFIER, vec![say("That is hard to say.")]);
    let Some(real) = RealEnv::begin(scenario) else { return };
    let output = real.run("x", &["-m", "9", "--require-complete"]).exits(6);
    output.says(&["not verified: the model gave no verdict"]);
    assert!(matches!(real.outcome(), Outcome::Unverified { .. }), "{:?}", real.outcome());
    let results = gates(&real);
    let unclear = |result: &GateResult| matches!(result, GateResult::Inconclusive { .. });
    assert!(results.len() == 2 && results.iter().all(unclear), "{results:?}");
    assert_eq!(feedback(&real), [], "nobody said that anything is missing");
    let work = real.asked_for_work();
    assert_eq!(work.len(), 2);
    assert!(!work[1].says("You said that the work is complete"));
    let kinds: Vec<_> = verdicts(&real).into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, [VerdictKind::Inconclusive; 2]);
    assert_eq!(real.totals().by_purpose["verify"].count, 4, "each gate asks once more");
    assert_eq!(real.asked_for_verdict().len(), 8, "and the program reminds each of the form");
}

#[test]
fn a_verdict_after_a_reminder_or_a_mistake_in_the_form_is_a_verdict() {
    let mistake = call(FORM, json!({ "verdict": "perhaps" }));
    let answers = vec![
        say("I think so."),
        verdict("no", "the end is missing"),
        mistake,
        verdict("yes", "the end is there"),
    ];
    let Some(real) = RealEnv::begin(Scenario::of(vec![claim()]).with(VERIFIER, answers)) else {
        return;
    };
    real.run("x", &["-m", "9"]).exits(0);
    let given = verdicts(&real);
    let expected = [
        (VerdictKind::No, "the end is missing".to_owned()),
        (VerdictKind::Yes, "the end is there".to_owned()),
    ];
    assert_eq!(given, expected);
    assert_eq!(real.totals().by_purpose["verify"].count, 2, "one call for each verdict");
    assert_eq!(real.outcome(), settled(Proof::Model));
}

#[test]
fn a_usage_limit_in_front_of_the_verdict_is_waited_out_and_costs_neither_claim_nor_question() {
    let limited = usage_limit(Duration::from_secs(20));
    let scenario = Scenario::of(vec![claim()])
        .with(VERIFIER, vec![limited, verdict("yes", "it was worth the wait")]);
    let Some(real) = RealEnv::begin(scenario) else { return };
    let real = real.subscribed();
    let output = real.run("x", &["-m", "1"]).exits(0);
    assert_eq!(real.outcome(), settled(Proof::Model), "{}", output.err);
    assert!(output.err.contains("usage limit: waiting until"), "{}", output.err);
    assert_eq!(real.asked_for_work().len(), 1, "the work is not done again");
    assert_eq!(real.iterations().len(), 1);
    assert_eq!(verdicts(&real).len(), 1, "a limit is no verdict");
    let journal = real.journal();
    let waits: Vec<_> = journal
        .iter()
        .filter_map(|record| match record.event {
            Event::Wait(WaitEvent::Started { limit, until, .. }) => Some((limit, until)),
            _ => None,
        })
        .collect();
    let [(WaitKind::Usage, Some(until))] = waits[..] else { panic!("{waits:?}") };
    let ends =
        |record: &&_| matches!(record, Event::Wait(WaitEvent::Ended { why: WaitEnd::Elapsed, .. }));
    assert_eq!(journal.iter().map(|record| &record.event).filter(ends).count(), 1);
    let calls: Vec<_> =
        journal.iter().filter(|record| record.event.name() == "call_started").collect();
    assert_eq!(calls.len(), 2);
    assert!(calls[1].at >= until, "nothing was asked before the limit ended");
}

#[test]
fn a_refused_key_in_front_of_the_verdict_ends_the_run() {
    let refused = refuse(401, "authentication_error", "invalid x-api-key");
    let Some(real) = RealEnv::begin(Scenario::of(vec![claim()]).with(VERIFIER, vec![refused]))
    else {
        return;
    };
    let output = real.run("x", &["-m", "3"]).exits(1);
    assert_eq!(run_outcome(&real.journal()), "auth", "{}", output.err);
    assert!(gates(&real).is_empty() && verdicts(&real).is_empty(), "the claim is undecided");
    assert_eq!(real.asked_for_work().len(), 1);
    assert!(real.asked_for_verdict().len() < 3, "left alone the program asks three times");
}

#[test]
fn a_verifier_whose_model_does_not_exist_is_replaced_by_the_agent_s_own_with_a_warning() {
    let unknown = refuse(404, "not_found_error", "model: claude-none");
    // The program itself asks twice before it accepts that.
    let answers = vec![unknown.clone(), unknown, verdict("yes", "it is there")];
    let Some(real) = RealEnv::begin(Scenario::of(vec![claim()]).with(VERIFIER, answers)) else {
        return;
    };
    real.env.run(&["config", "set", "verify.model_name", "claude-none"]).exits(0);
    let output = real.run("x", &["-m", "3"]).exits(0);
    output.says(&["claude-none", "verify.model_name"]);
    assert_eq!(real.outcome(), settled(Proof::Model));
    let asked = real.asked_for_verdict();
    assert_eq!(asked.len(), 3);
    assert!(asked[..2].iter().all(|request| request.model() == "claude-none"));
    assert_eq!(asked[2].model(), real.asked_for_work()[0].model());
    let warned = warnings(&real);
    assert!(warned.iter().any(|text| text.contains("verify.model_name")), "{warned:?}");
}

#[test]
fn a_verifier_has_none_of_the_tools_of_the_user_s_own_servers() {
    let Some(real) = RealEnv::begin(accepted(vec![claim()])) else { return };
    fs::write(real.env.path("server.sh"), SERVER).unwrap();
    let server = json!({ "type": "stdio", "command": "sh", "args": [real.env.path("server.sh")] });
    let settings = json!({ "mcpServers": { "shop": server } });
    fs::write(real.env.path("home/.claude.json"), settings.to_string()).unwrap();
    real.run("x", &["-m", "1"]).exits(0);
    let work = real.asked_for_work();
    assert!(work[0].body.to_string().contains("mcp__shop__buy"), "{:?}", work[0].tools());
    assert_eq!(real.asked_for_verdict()[0].tools(), [FORM]);
}

/// A server with one tool, in as much of the protocol as that takes.
const SERVER: &str = r#"
while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\("[^"]*"\|[0-9]*\).*/\1/p')
    case $line in
        *'"initialize"'*) result='{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"shop","version":"1"}}' ;;
        *'"tools/list"'*) result='{"tools":[{"name":"buy","description":"buys","inputSchema":{"type":"object","properties":{}}}]}' ;;
        *) result='{}' ;;
    esac
    [ -z "$id" ] || printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

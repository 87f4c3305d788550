//! `nightwright doctor` and its probe.

use serde_json::{Value, json};

use super::RealEnv;
use crate::harness::RunningCommand;
use crate::messages_api::scenario::{ApiAnswer, Scenario, refuse, say};

/// The result of the probe, and the exit code of the command.
fn probe(answer: ApiAnswer, code: i32) -> Option<(RealEnv, Value)> {
    let real = RealEnv::begin(Scenario::of(vec![answer]))?;
    let child =
        RunningCommand::from(real.command(&["doctor", "--probe", "--json"]).spawn().unwrap());
    let output = real.finish(child).exits(code);
    let value: Value = serde_json::from_str(&output.out).unwrap();
    let all = value["findings"].as_array().unwrap();
    let found = |topic: &str| all.iter().find(|finding| finding["topic"] == topic).cloned();
    assert_eq!(found("agent").unwrap()["facts"]["version"], super::VERSION.trim());
    Some((real, found("probe").unwrap()))
}

#[test]
fn a_probe_is_one_tiny_call_and_every_line_of_it_is_understood() {
    let Some((real, probe)) = probe(say("ready"), 0) else { return };
    let facts = &probe["facts"];
    assert_eq!(probe["grade"], "ok", "{probe:#}");
    assert_eq!((&facts["outcome"], &facts["turns"]), (&json!("finished"), &json!(1)));
    assert_eq!((&facts["bad_lines"], &facts["unknown"]), (&json!(0), &json!([])));
    assert_eq!((&facts["missing"], &facts["result_last"]), (&json!([]), &json!(true)));
    let asked = real.api().asked();
    assert_eq!(asked.len(), 1);
    assert!(asked[0].says("Answer with the one word: ready"));
    let system: usize = asked[0].system().iter().map(|text| text.len()).sum();
    assert!(system < 2000, "the call is not tiny: {:#?}", asked[0].system());
    assert!(real.env.runs().is_empty());
}

#[test]
fn a_probe_with_a_key_that_is_not_taken_says_so_at_once() {
    let refusal = refuse(401, "authentication_error", "invalid x-api-key");
    let Some((_, probe)) = probe(refusal, 1) else { return };
    assert_eq!((&probe["grade"], &probe["facts"]["outcome"]), (&json!("problem"), &json!("auth")));
}

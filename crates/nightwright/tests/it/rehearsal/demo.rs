//! The script and the project of `nightwright demo`.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use nightwright::rehearsal::script::Script;
use nightwright::rehearsal::{DEMO_CHECK, DEMO_PROJECT, DEMO_SCRIPT, SceneStep};
use nightwright_core::stream::outcome::AttemptOutcome;
use nightwright_core::units::Usd;

use crate::agent_env::{AgentEnv, attempt, report};

/// The demo is what people see first: each attempt must do what the summary will say.
#[tokio::test]
async fn the_demo_fails_claims_falsely_waits_and_gets_there() {
    let stage = AgentEnv::with_script(DEMO_SCRIPT);
    for (name, text) in DEMO_PROJECT {
        fs::write(stage.project().join(name), text).unwrap();
    }
    let failing = || {
        let mut check = Command::new("/bin/sh");
        let output = check.args(["-c", DEMO_CHECK]).current_dir(stage.project()).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(text.lines().count(), 5, "{text}");
        let failing = text.lines().filter(|line| line.starts_with("FAIL")).count();
        assert_eq!(output.status.success(), failing == 0);
        failing
    };
    assert_eq!(failing(), 5);
    let mut agent = stage.rehearsal();
    let mut claims = Vec::new();
    for (number, left) in [(1, 3), (2, 1), (3, 1), (4, 0)] {
        let report = report(&mut agent, attempt(number)).await;
        assert_eq!(failing(), left, "after attempt {number}");
        let limited = matches!(report.outcome, AttemptOutcome::UsageLimited { until: Some(_) });
        assert_eq!(limited, number == 3, "{:?}", report.outcome);
        claims.push(report.text_evidence.promise);
        let cost = report.cost.unwrap();
        assert!((Usd::from_cents(8)..=Usd::from_cents(30)).contains(&cost), "{cost}");
    }
    assert_eq!(claims, [false, true, false, true]);
    let todo = fs::read_to_string(stage.project().join("TODO.md")).unwrap();
    assert!(!todo.contains("[ ]"), "{todo}");
}

#[test]
fn the_demo_can_be_watched_without_patience() {
    let demo = Script::parse(DEMO_SCRIPT, Path::new("demo.toml")).unwrap();
    let waits = demo.attempt.iter().flat_map(|scene| &scene.steps).map(|step| match step {
        SceneStep::Wait(time) => *time,
        _ => Duration::ZERO,
    });
    let sum: Duration = waits.sum();
    assert!(sum < Duration::from_secs(5), "{sum:?}");
}

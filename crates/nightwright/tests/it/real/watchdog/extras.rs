//! Additional calls: a council where principles contradict each other, and a reviewer.

use std::fs;
use std::path::Path;

use nightwright_core::event::{
    CallEvent, CallPurpose, CostSource, Event, FeedbackSource, NoteEvent,
};
use serde_json::{Value, json};

use super::{WORK, asked, calls, nudges, write};
use crate::harness::run_outcome;
use crate::messages_api::scenario::{call, refuse, say};
use crate::real::{CALL, RealEnv, VERDICT, accepted, claim, session};

/// How a conversation with a council begins.
const COUNCIL: &str = "# A decision between principles";
/// How one with a reviewer begins.
const REVIEWER: &str = "# Review";

#[test]
fn a_conflict_between_principles_is_decided_once_and_every_later_prompt_contains_it() {
    let conflict = "migration_burden asks for the old name, clarity_of_intent for a new one.";
    let decision = "The old name stays.\nWhoever finds it today has to find it tomorrow.";
    let scenario = |project: &Path| {
        accepted(vec![
            write(project, "one.txt", "one\n"),
            say(format!("One is there.\n\nPRINCIPLE_CONFLICT_UNRESOLVED: {conflict}")),
            write(project, "two.txt", "two\n"),
            say("Two is there, too. Three comes next."),
            write(project, "three.txt", "three\n"),
            claim(),
        ])
        .with(COUNCIL, vec![say(decision)])
    };
    let Some(real) = RealEnv::begin_in(scenario) else { return };
    fs::create_dir_all(real.env.project().join(".nightwright")).unwrap();
    real.env.file(".nightwright/principles.toml", "preset = \"enterprise\"\n");
    // Otherwise an advisor is asked why the check keeps failing.
    real.env.run(&["config", "set", "verify.every", "claim"]).exits(0);
    let output = real.run("write three files", &["-m", "5", "--verify", "test -e three.txt"]);
    assert_eq!(run_outcome(&real.journal()), "completed", "{}", output.exits(0).err);

    let council = asked(&real, COUNCIL);
    assert_eq!(council.len(), 1);
    for part in [conflict, "write three files"] {
        assert!(council[0].says(part), "`{part}` is not in {:?}", council[0].opening());
    }
    assert_eq!(council[0].tools(), ["Glob", "Grep", "Read"], "it changes nothing");
    let work = asked(&real, WORK);
    assert_eq!(work.len(), 6, "two in each iteration");
    for request in &work {
        assert!(request.says("migration_burden"), "every prompt has the principles");
    }
    let contains_advice = |at: usize| work[at].says("The old name stays.");
    assert_eq!([0, 2, 4].map(contains_advice), [false, true, true]);
    assert_eq!(nudges(&real), [], "a conflict is no question");
    assert_eq!(calls(&real), [CallPurpose::Council, CallPurpose::Verify]);
    let council = &real.totals().by_purpose["council"];
    assert_eq!((council.count, council.cost.micros()), (1, CALL));

    let kept = fs::read_to_string(real.env.runs()[0].join("decisions.jsonl")).unwrap();
    let kept: Vec<Value> = kept.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert_eq!(kept[0]["iteration"], 1);
    assert_eq!(kept[0]["decision"], decision);
    assert!(kept[0]["conflict"].as_str().unwrap().contains(conflict), "{kept:?}");
}

#[test]
fn a_review_is_a_separate_call_whose_fix_is_kept_and_verified() {
    let scenario = |project: &Path| {
        let answer = project.join("answer.txt");
        let repair =
            json!({ "file_path": answer, "old_string": "forty", "new_string": "forty-two" });
        accepted(vec![write(project, "answer.txt", "forty\n"), claim()]).with(
            REVIEWER,
            vec![
                call("Read", json!({ "file_path": answer })),
                call("Edit", repair),
                say("The answer was not whole. <promise>COMPLETE</promise>"),
            ],
        )
    };
    let Some(real) = RealEnv::begin_in(scenario) else { return };
    let check = "grep -qx forty-two answer.txt";
    let output = real.run("answer", &["-m", "3", "--verify", check, "-r", "Mind the units."]);
    assert_eq!(run_outcome(&real.journal()), "completed", "{}", output.exits(0).err);
    assert_eq!(real.read("answer.txt").as_deref(), Some("forty-two\n"));
    assert_eq!(real.iterations().len(), 1, "the gate sees what the reviewer left");
    assert_eq!(calls(&real), [CallPurpose::Review, CallPurpose::Verify]);

    let (work, review) = (asked(&real, WORK), asked(&real, REVIEWER));
    assert_eq!((work.len(), review.len()), (2, 3));
    assert_ne!(session(&work[0]), session(&review[0]));
    assert_eq!(review[0].answers(), 0, "it begins with nothing but the question");
    assert!(review[0].says("Mind the units.") && review[0].says("answer"));
    assert!(review[0].tools().contains(&"Edit"), "{:?}", review[0].tools());

    let finished = real.journal().into_iter().find_map(|record| match record.event {
        Event::Call(CallEvent::Finished {
            purpose: CallPurpose::Review,
            cost,
            figure,
            report,
            ..
        }) => Some((cost.micros(), figure, report.stream.tool_calls)),
        _ => None,
    });
    assert_eq!(finished, Some((3 * CALL, CostSource::Reported, 2)));
    let totals = real.totals();
    let purposes = ["work", "review", "verify"].map(|name| totals.by_purpose[name].cost.micros());
    assert_eq!(purposes, [2 * CALL, 3 * CALL, VERDICT]);
    assert_eq!(totals.cost.micros(), 5 * CALL + VERDICT);
}

#[test]
fn three_reviews_that_fail_in_a_row_end_the_run() {
    let scenario = |project: &Path| {
        let file = |number| write(project, &format!("{number}.txt"), "one\n");
        let next = || say("One more is there. The next one follows.");
        accepted(vec![file(1), next(), file(2), next(), file(3), next()])
            .with(REVIEWER, vec![refuse(400, "invalid_request_error", "this can't be reviewed")])
    };
    let Some(real) = RealEnv::begin_in(scenario) else { return };
    let output = real.run("write files", &["-m", "9", "--review-prompt"]).exits(1);
    assert_eq!(run_outcome(&real.journal()), "consecutive_errors", "{}", output.err);
    assert_eq!(real.iterations().len(), 3);
    assert_eq!(calls(&real), [CallPurpose::Review; 3]);
    assert!(output.err.contains("review"), "{}", output.err);
    assert_eq!(real.read("3.txt").as_deref(), Some("one\n"), "the work is kept");
    let is_feedback = |event: &Event| matches!(event, Event::Note(NoteEvent::FeedbackAdded { source, .. }) if *source == FeedbackSource::Watchdog);
    assert!(
        !real.journal().iter().any(|record| is_feedback(&record.event)),
        "the agent can't help it"
    );
}

//! The watchdog with the real program: what it says into a session that is open, and what it
//! leaves for the next prompt.

mod extras;

use std::path::Path;

use nightwright_core::event::{AttemptEvent, CallEvent, CallPurpose, Event};
use nightwright_core::stream::news::{WatchdogFinding, WatchdogSignal};
use serde_json::json;

use super::{CALL, RealEnv, VERDICT, accepted, claim, session};
use crate::harness::run_outcome;
use crate::messages_api::ApiRequest;
use crate::messages_api::scenario::{AnswerPhase, ApiAnswer, Fault, bash, blocks, call, say, tool};

/// How the conversation of an iteration begins.
const WORK: &str = "# One iteration";
/// How one with an advisor begins.
const ADVISOR: &str = "# Advice for a stuck agent";

/// A question that receives no answer.
const QUESTION: &str = "There are two names. Which one shall I take, left.txt or right.txt?";

/// A file of the project is written.
fn write(project: &Path, file: &str, text: &str) -> ApiAnswer {
    call("Write", json!({ "file_path": project.join(file), "content": text }))
}

/// The requests to the model in conversations that begin with these words.
fn asked(real: &RealEnv, words: &str) -> Vec<ApiRequest> {
    let mut asked = real.api().asked();
    asked.retain(|request| request.opening().iter().any(|text| text.contains(words)));
    asked
}

/// The messages to running sessions, with the findings that they answer.
fn nudges(real: &RealEnv) -> Vec<(Option<WatchdogFinding>, String)> {
    let events = real.journal().into_iter().map(|record| record.event);
    events
        .filter_map(|event| match event {
            Event::Attempt(AttemptEvent::MessageSent { answers, text, .. }) => {
                Some((answers, text))
            }
            _ => None,
        })
        .collect()
}

/// The findings of the watchdog.
fn noticed(real: &RealEnv) -> Vec<WatchdogSignal> {
    let events = real.journal().into_iter().map(|record| record.event);
    events
        .filter_map(|event| match event {
            Event::Attempt(AttemptEvent::WatchdogNoticed { finding, .. }) => Some(finding.signal),
            _ => None,
        })
        .collect()
}

/// Returns the purposes of the calls besides the work.
fn calls(real: &RealEnv) -> Vec<CallPurpose> {
    let events = real.journal().into_iter().map(|record| record.event);
    events
        .filter_map(|event| match event {
            Event::Call(CallEvent::Started { purpose, .. }) => Some(purpose),
            _ => None,
        })
        .collect()
}

/// The position of a string in a conversation, and its author.
fn place<'a>(conversation: &'a [(&str, String)], words: &str) -> (usize, &'a str) {
    let at = conversation.iter().position(|(_, text)| text.contains(words));
    let at = at.unwrap_or_else(|| panic!("`{words}` is not in {conversation:#?}"));
    (at, conversation[at].0)
}

/// The model ends its turn with these words, and continues in the same session after the answer.
fn continues_after(words: &'static str, signal: WatchdogSignal) {
    let scenario =
        |project: &Path| accepted(vec![say(words), write(project, "left.txt", "left\n"), claim()]);
    let Some(real) = RealEnv::begin_in(scenario) else { return };
    let output = real.run("write one of the two", &["-m", "3", "--verify", "test -e left.txt"]);
    assert_eq!(run_outcome(&real.journal()), "completed", "{}", output.exits(0).err);

    let nudges = nudges(&real);
    let [(Some(finding), answer)] = &nudges[..] else { panic!("{nudges:?}") };
    assert_eq!(finding.signal, signal);
    let work = asked(&real, WORK);
    assert_eq!(work.len(), 3, "the words, the file and the claim");
    let before = work[0].conversation();
    assert!(!before.iter().any(|(_, text)| text.contains(answer)), "{before:?}");
    let after = work[1].conversation();
    let prompt = place(&after, WORK);
    let said = place(&after, words);
    let answered = place(&after, answer);
    assert_eq!((prompt.1, said.1, answered.1), ("user", "assistant", "user"));
    assert!(prompt.0 < said.0 && said.0 < answered.0, "{after:#?}");
    assert!(work.iter().all(|request| session(request) == session(&work[0])));

    assert_eq!(real.outcomes(), ["finished"], "one attempt");
    assert_eq!(real.iterations().len(), 1);
    let report = &real.attempts()[0];
    assert_eq!((report.stream.results, report.stream.tool_calls), (2, 1));
    assert_eq!(calls(&real), [CallPurpose::Verify], "nobody else was asked");
    assert_eq!(real.read("left.txt").as_deref(), Some("left\n"));
    assert_eq!(real.totals().cost.micros(), 3 * CALL + VERDICT, "every turn is paid for");
}

#[test]
fn a_question_is_answered_in_its_own_session_and_the_work_continues_there() {
    continues_after(QUESTION, WatchdogSignal::Asking);
}

#[test]
fn a_surrender_is_answered_in_its_own_session_and_the_work_continues_there() {
    let words = "The check fails whatever I do. I give up: I am unable to complete this task.";
    continues_after(words, WatchdogSignal::GivingUp);
}

#[test]
fn a_second_question_within_a_minute_goes_to_an_advisor_whose_steps_are_in_the_next_prompt() {
    let again = "Do you want me to use printf or echo for that?";
    let advice = "Either will do.\n1. Use printf.\n2. Write left.txt.\n3. Say that it is there.";
    let scenario = |project: &Path| {
        accepted(vec![say(QUESTION), say(again), write(project, "left.txt", "left\n"), claim()])
            .with(ADVISOR, vec![say(advice)])
    };
    let Some(real) = RealEnv::begin_in(scenario) else { return };
    let output = real.run("write one of the two", &["-m", "3", "--verify", "test -e left.txt"]);
    assert_eq!(run_outcome(&real.journal()), "completed", "{}", output.exits(0).err);
    assert_eq!(nudges(&real).len(), 1, "the second one is not answered at once");
    assert_eq!(calls(&real), [CallPurpose::Advise, CallPurpose::Verify]);
    assert_eq!(real.iterations().len(), 2);

    let advisor = asked(&real, ADVISOR);
    assert_eq!(advisor.len(), 1);
    assert!(advisor[0].says(again) && advisor[0].says("write one of the two"));
    assert_eq!(advisor[0].tools(), ["Glob", "Grep", "Read"], "it changes nothing");
    let work = asked(&real, WORK);
    assert_eq!(work.len(), 4, "two in each iteration");
    assert_ne!(session(&work[1]), session(&work[2]));
    assert!(!work[1].says("Either will do."));
    let prompt = work[2].opening().concat();
    for part in ["printf or echo", "Either will do.", "1. Use printf.", "3. Say that it is there."]
    {
        assert!(prompt.contains(part), "`{part}` is not in:\n{prompt}");
    }
    let advised = &real.totals().by_purpose["advise"];
    assert_eq!((advised.count, advised.cost.micros()), (1, CALL));
}

#[test]
fn without_live_answers_a_question_ends_the_session() {
    let scenario = |project: &Path| {
        accepted(vec![say(QUESTION), write(project, "left.txt", "left\n"), claim()])
            .with(ADVISOR, vec![say("Both are right. Take left.txt.")])
    };
    let Some(real) = RealEnv::begin_in(scenario) else { return };
    real.env.run(&["config", "set", "watchdog.respond", "next"]).exits(0);
    let output = real.run("write one of the two", &["-m", "3", "--verify", "test -e left.txt"]);
    assert_eq!(run_outcome(&real.journal()), "completed", "{}", output.exits(0).err);
    assert_eq!(nudges(&real), []);
    assert_eq!(noticed(&real), [WatchdogSignal::Asking]);
    assert_eq!(real.outcomes(), ["finished", "finished"]);
    let work = asked(&real, WORK);
    assert_eq!(work.len(), 3, "one in the first iteration, two in the second");
    assert_eq!(work[1].answers(), 0, "it begins anew");
    assert_ne!(session(&work[0]), session(&work[1]));
    for part in [QUESTION, "You get no answer", "Both are right. Take left.txt."] {
        assert!(work[1].says(part), "`{part}` is not in {:?}", work[1].opening());
    }
    assert_eq!(calls(&real), [CallPurpose::Advise, CallPurpose::Verify]);
}

#[test]
fn an_agent_that_repeats_a_call_receives_a_message_in_the_running_turn() {
    let same = || tool("Bash", json!({ "command": "ls", "description": "look" }));
    let many = || blocks((0..3).map(|_| same()));
    // The last call is on its way while the watchdog speaks.
    let last = bash("echo another way").but(Fault::Pause(AnswerPhase::Middle));
    let Some(real) = RealEnv::begin(accepted(vec![many(), many(), last, claim()])) else { return };
    let child = real.start("look around", &["-m", "3", "--allowed-tools", "Bash"]);
    real.env.wait_for("message_sent");
    real.api().go_on();
    let output = real.finish(child);
    assert_eq!(run_outcome(&real.journal()), "completed", "{}", output.exits(0).err);

    assert_eq!(noticed(&real), [WatchdogSignal::Repetition], "once, whatever follows");
    let nudges = nudges(&real);
    let [(Some(_), answer)] = &nudges[..] else { panic!("{nudges:?}") };
    let work = asked(&real, WORK);
    assert_eq!(work.len(), 4, "nothing is asked for it");
    let received: Vec<_> = work.iter().map(|request| request.says(answer)).collect();
    assert!(!received[1] && received[3], "after the second lot of calls, not before: {received:?}");
    assert!(work[3].tool_results().iter().any(|(text, _)| text.contains("another way")));
    let report = &real.attempts()[0];
    assert_eq!((report.stream.results, report.stream.tool_calls), (1, 7), "one turn");
    assert_eq!(report.acknowledged, Some(1));
    assert_eq!(calls(&real), [CallPurpose::Verify]);
}

//! Prompts reach the model unchanged, whatever they contain.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use serde_json::json;

use super::{RealEnv, session};
use crate::harness::{RunningCommand, run_outcome};
use crate::messages_api::scenario::{Block, Scenario, blocks, say, tool};

/// Fails unless the model received the goal, in the prompt that is stored in the run's folder.
fn reaches_the_model(goal: &str) {
    let Some(real) = RealEnv::begin(Scenario::of(vec![say("I see.")])) else { return };
    real.run(goal, &["-m", "1"]).exits(0);
    assert_eq!(real.outcomes(), ["finished"]);
    let kept = fs::read_to_string(real.env.runs()[0].join("prompts/001-1.md")).unwrap();
    assert!(kept.contains(goal), "the goal is in the prompt as it was given");
    let asked = real.api().asked();
    assert_eq!(asked.len(), 1);
    assert!(asked[0].opening().contains(&kept.as_str()), "{:?}", asked[0].opening());
}

#[test]
fn a_goal_that_looks_like_a_command_of_the_program_goes_to_the_model() {
    reaches_the_model("/usage");
}

#[test]
fn a_goal_that_looks_like_an_option_goes_to_the_model() {
    reaches_the_model("- mend the tests\n- then the pages");
    reaches_the_model("--help and how it should look");
}

#[test]
fn a_goal_reaches_the_model_byte_for_byte() {
    reaches_the_model(
        "tabs\tand\r\nline ends, “quotes” 'of' \"all\" kinds, $HOME `id` \\n \\u0041, émojis 🦀🏳️‍🌈, \
         line\u{2028}and\u{2029}paragraph separators, \u{1b}[31mred\u{7f}, \u{202e}backwards\u{202c}, \
         a\u{301}ccents, <system-reminder>no</system-reminder> <promise>COMPLETE</promise> \
         @nobody.md {{template}} %s",
    );
}

#[test]
fn a_prompt_longer_than_any_argument_reaches_the_model() {
    let Some(real) = RealEnv::begin(Scenario::of(vec![say("I read it all.")])) else { return };
    let goal = format!("begin {} end of the goal", "word ".repeat(24_000));
    real.env.file("SHARED_TASK_NOTES.md", &"a note of earlier times\n".repeat(2_500));
    real.run(&goal, &["-m", "1"]).exits(0);
    assert_eq!(real.outcomes(), ["finished"]);
    let kept = fs::read_to_string(real.env.runs()[0].join("prompts/001-1.md")).unwrap();
    assert!(kept.len() > 131_072, "{}", kept.len());
    assert!(real.api().asked()[0].opening().contains(&kept.as_str()));
}

#[test]
fn a_goal_of_a_megabyte_reaches_the_model() {
    let Some(real) = RealEnv::begin(Scenario::of(vec![say("I read it all.")])) else { return };
    let goal = format!("begin {} end of the goal", "word ".repeat(200_000));
    let mut command = real.command(&["run", "--prompt", "-", "-m", "1"]);
    let mut child = RunningCommand::from(command.stdin(Stdio::piped()).spawn().unwrap());
    child.stdin.take().unwrap().write_all(goal.as_bytes()).unwrap();
    real.finish(child).exits(0);
    assert_eq!(real.outcomes(), ["finished"]);
    assert!(real.api().asked()[0].opening().iter().any(|text| text.contains(&goal)));
}

#[test]
fn the_next_iteration_begins_with_a_fresh_context() {
    let talks = blocks([
        Block::Thinking("a thought of the first".into()),
        Block::Text("words of the first on its way".into()),
        tool("Bash", json!({ "command": "echo 1 > one.txt; echo a result of the first" })),
    ]);
    let answers = vec![talks, say("The last words of the first."), say("The second.")];
    let Some(real) = RealEnv::begin(Scenario::of(answers)) else { return };
    real.run("x", &["-m", "2", "--allowed-tools", "Bash"]).exits(0);
    assert_eq!(run_outcome(&real.journal()), "max_iterations");
    let asked = real.api().asked();
    assert_eq!(asked.len(), 3);
    assert!(asked[1].body.to_string().contains("a result of the first"));
    let second = &asked[2];
    assert_eq!(second.answers(), 0, "a conversation that has just begun");
    let all = second.body.to_string();
    for word in ["a thought of the first", "on its way", "a result of the first"] {
        assert!(!all.contains(word), "{word}");
    }
    assert!(second.says("The previous iteration reported: “The last words of the first.”"));
    assert_ne!(session(&asked[0]), session(second));
}

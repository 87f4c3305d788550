//! The prompts of each mode, as `nightwright prompt` prints them.

use std::fmt::Write as _;
use std::fs;

use super::harness::TestEnv;

const MODES: [&str; 5] = ["loop", "iterative", "plan", "build", "prompt"];

/// A project with a task in this mode, in a folder whose name is always the same.
fn with_task(mode: &str) -> TestEnv {
    let env = TestEnv::new();
    env.run(&["new", "port", "--mode", mode]).exits(0);
    env.file(".nightwright/tasks/port/INSTRUCTIONS.md", "Port the parser to Rust.\n");
    env.run(&["config", "set", "commands.test", "cargo test"]).exits(0);
    env.run(&["config", "set", "limits.max_iterations", "9"]).exits(0);
    env
}

fn printed(env: &TestEnv, more: &[&str]) -> String {
    let mut arguments = vec!["prompt", "port"];
    arguments.extend(more);
    env.run(&arguments).exits(0).out
}

/// Returns everything that the agent receives: the addition to its system prompt, and the message.
fn whole(mode: &str) -> String {
    let env = with_task(mode);
    format!("{}\n=== the message ===\n\n{}", printed(&env, &["--system"]), printed(&env, &[]))
}

#[test]
fn every_mode_states_the_rules_for_unattended_work() {
    for mode in MODES {
        let text = whole(mode);
        let said = |part: &str| assert!(text.contains(part), "{mode}: `{part}` is not in:\n{text}");
        // No person will answer, nothing keeps running, nothing is skipped or weakened.
        said("You get no answers");
        said("Never leave work in the background");
        said("Do not skip an item because it is hard");
        said("Never weaken, disable or delete a test or check");
        // It names the notes file, and asks the agent to remove stale notes.
        said("`.nightwright/tasks/port/NOTES.md`");
        said("remove or rewrite outdated text");
        // The status contract, with an example.
        said("\"progress\": { \"completed\": 3, \"total\": 7 }");
        said("`.nightwright/tasks/port/.status.json`");
        // The markers, and when to use them.
        said("<promise>COMPLETE</promise>");
        said("<blocker>");
        said("A hard problem is not a blocker");
        // Its pacing.
        said(match mode {
            "loop" => "Do not start another item.",
            "iterative" => "Stop before your context or turns run out",
            "plan" => "This iteration writes or improves it.",
            "build" => "Then stop. Do not start another item.",
            _ => "finish it completely instead of starting several",
        });
        said("Port the parser to Rust.");
        if mode == "plan" {
            said("commit nothing");
        }
    }
}

#[test]
fn the_example_of_a_status_file_is_one_that_can_be_read() {
    let read = nightwright_core::evidence::status::read(
        nightwright_core::prompt::STATUS_EXAMPLE.as_bytes(),
    );
    let read = read.unwrap();
    assert_eq!(read.warnings, [""; 0]);
    assert!(!read.report.complete);
    assert_eq!(read.report.progress.map(|progress| progress.total), Some(7));
    assert_eq!(read.report.phase.as_deref(), Some("parser"));
}

#[test]
fn the_prompt_of_each_mode_is_the_one_that_was_agreed_on() {
    for mode in MODES {
        let text = whole(mode);
        insta::with_settings!({ snapshot_path => "prompts", prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(mode, text);
        });
    }
}

#[test]
fn consecutive_iterations_share_everything_up_to_the_first_changing_part() {
    let mut table = String::new();
    for mode in MODES {
        let env = with_task(mode);
        if mode == "build" {
            env.file("IMPLEMENTATION_PLAN.md", "- [ ] one\n");
        }
        let script = env.script(
            "[[attempt]]\nsteps = [{ write = \"a\", text = \"a\" }, { write = \".nightwright/tasks/port/NOTES.md\", text = \"half\" }]\n\
             [[attempt]]\nsteps = [{ write = \"b\", text = \"b\" }]\n",
        );
        env.run(&["run", "port", "-m", "2", "--dry-run", "--rehearsal", &script, "--no-delay"])
            .exits(0);
        let prompts = env.runs()[0].join("prompts");
        let read = |name: &str| fs::read_to_string(prompts.join(name)).unwrap();
        let (first, second) = (read("001-1.md"), read("002-1.md"));
        let shared = first.bytes().zip(second.bytes()).take_while(|(a, b)| a == b).count();
        let changing = first.find("## CONTEXT FROM PREVIOUS ITERATION").unwrap();
        assert!(shared >= changing, "{mode}: only {shared} of {changing} bytes are shared");
        let share = 100 * shared / first.len();
        writeln!(table, "{mode}: {shared} of {} bytes, {share}%", first.len()).unwrap();
        assert_eq!(read("001-1.system.md"), read("002-1.system.md"), "{mode}");
    }
    // The cached part of the second prompt, besides the whole system prompt.
    insta::assert_snapshot!(table, @"
    loop: 3542 of 3731 bytes, 94%
    iterative: 3246 of 3435 bytes, 94%
    plan: 3733 of 3922 bytes, 95%
    build: 3527 of 3716 bytes, 94%
    prompt: 3159 of 3348 bytes, 94%
    ");
}

#[test]
fn a_projects_own_words_for_the_agent_and_those_of_the_user_are_inserted_and_never_evaluated() {
    let env = with_task("loop");
    env.file(".nightwright/AGENTS.md", "Use tabs. {{ nope }}\n");
    env.file("more.md", "Be brief. {% raw %}\n");
    env.file(".nightwright/tasks/port/.status-instructions.md", "Write {{ it }} down.\n");
    let system = printed(&env, &["--system", "--append-system-prompt-file", "more.md"]);
    assert!(system.contains("Use tabs. {{ nope }}") && system.contains("Be brief. {% raw %}"));
    let user = printed(&env, &[]);
    assert!(user.contains("Write {{ it }} down.") && !user.contains("\"progress\": {"), "{user}");
}

//! Whole runs in each mode, with the rehearsal agent: real files, real evidence.

use std::fs;

use nightwright_core::event::{Event, RunEvent};

use super::harness::{Output, TestEnv, names, run_outcome};

/// A project with a task in this mode.
fn with_task(mode: &str) -> TestEnv {
    let env = TestEnv::new();
    env.run(&["new", "port", "--mode", mode]).exits(0);
    env.file(".nightwright/tasks/port/INSTRUCTIONS.md", "Port the parser.\n");
    env
}

/// An attempt that works without claiming completion.
const WORK: &str = "[[attempt]]\nsteps = [{ write = \"a\", text = \"a\" }]\n";

fn rehearse(env: &TestEnv, command: &[&str], script: &str) -> Output {
    let script = env.script(script);
    let mut arguments = command.to_vec();
    arguments.extend(["--dry-run", "--rehearsal", &script, "--no-delay"]);
    env.run(&arguments)
}

#[test]
fn loop_does_item_by_item_until_the_status_file_says_complete() {
    let env = with_task("loop");
    rehearse(
        &env,
        &["run", "port"],
        r#"
        [[attempt]]
        steps = [
          { write = ".nightwright/tasks/port/TODO.md", text = "- [x] lexer\n- [ ] parser\n" },
          { write = "lexer.rs", text = "lexer" },
          { write = ".nightwright/tasks/port/.status.json", text = '{"complete": false, "progress": {"completed": 1, "total": 2}, "worked": true, "summary": "the lexer", "phase": "parser", "blockers": []}' },
        ]
        end = { result = "One item done." }

        [[attempt]]
        steps = [
          { write = "parser.rs", text = "parser" },
          { write = ".nightwright/tasks/port/TODO.md", text = "- [x] lexer\n- [x] parser\n" },
          { write = ".nightwright/tasks/port/.status.json", text = '{"complete": true, "progress": {"completed": 2, "total": 2}, "worked": true, "summary": "the parser"}' },
        ]
        end = { result = "Both are done." }
        "#,
    )
    .exits(0)
    .says(&["judged complete by a model (no checks configured) after 2 iterations"]);
    assert_eq!(run_outcome(&env.journal()), "completed");
    let second = env.asked()[1]["prompt"].as_str().unwrap().to_owned();
    for said in [
        "The previous iteration reported: “the lexer”",
        "1 of 2 items were done.",
        "It was in the phase parser.",
    ] {
        assert!(second.contains(said), "{said} is not in:\n{second}");
    }
    let shown = env.run(&["task", "show", "port"]).exits(0);
    assert!(
        !shown.out.contains("completed"),
        "a rehearsal says nothing of the task: {}",
        shown.out
    );
}

#[test]
fn loop_takes_ticked_boxes_for_a_claim_only_without_a_status_file() {
    let env = with_task("loop");
    rehearse(
        &env,
        &["run", "port", "-m", "2"],
        r#"
        [[attempt]]
        steps = [{ write = ".nightwright/tasks/port/TODO.md", text = "- [x] all\n" }, { write = "a", text = "a" }]
        "#,
    )
    .exits(0)
    .says(&["judged complete by a model (no checks configured) after 1 iteration"]);
    let env = with_task("loop");
    rehearse(
        &env,
        &["run", "port", "-m", "1"],
        r#"
        [[attempt]]
        steps = [
          { write = ".nightwright/tasks/port/TODO.md", text = "- [x] all\n" },
          { write = ".nightwright/tasks/port/.status.json", text = '{"complete": false}' },
        ]
        "#,
    )
    .exits(0)
    .says(&["Reached maximum iterations (1)"]);
}

#[test]
fn iterative_stops_when_two_consecutive_iterations_do_nothing() {
    let env = with_task("iterative");
    rehearse(&env, &["run", "port"], "[[attempt]]\nend = { result = \"Looking.\" }\n")
        .exits(0)
        .says(&["2 consecutive iterations with no work"]);
    let env = with_task("iterative");
    rehearse(
        &env,
        &["run", "port"],
        r#"
        [[attempt]]
        steps = [{ write = "a", text = "a" }]
        end = { result = "Done.\n<promise>COMPLETE</promise>" }
        "#,
    )
    .exits(0)
    .says(&["judged complete by a model (no checks configured) after 1 iteration"]);
}

#[test]
fn a_plan_is_complete_when_it_is_promised_and_has_an_open_box_and_can_then_be_built() {
    let env = TestEnv::new();
    env.run(&["build", "--dry-run"]).exits(1).says(&["No plan found. Run: nightwright plan"]);
    rehearse(
        &env,
        &["plan"],
        r#"
        [[attempt]]
        end = { result = "Nothing to plan.\n<promise>COMPLETE</promise>" }

        [[attempt]]
        steps = [{ write = "IMPLEMENTATION_PLAN.md", text = "- [ ] the parser\n" }]
        end = { result = "Planned.\n<promise>COMPLETE</promise>" }
        "#,
    )
    .exits(0)
    .says(&["judged complete by a model (checks do not apply to a plan) after 2 iterations"]);

    let built = r#"
        [[attempt]]
        steps = [
          { write = "parser.rs", text = "parser" },
          { write = "IMPLEMENTATION_PLAN.md", text = "- [x] the parser\n" },
        ]
        end = { result = "Built." }
        "#;
    rehearse(&env, &["build", "-m", "3"], built)
        .exits(0)
        .says(&["judged complete by a model (no checks configured) after 1 iteration"]);
}

#[test]
fn a_plan_whose_boxes_are_all_ticked_goes_to_the_gate_without_an_iteration() {
    let env = TestEnv::new();
    env.file("IMPLEMENTATION_PLAN.md", "- [x] the parser\n");
    rehearse(&env, &["build", "-m", "3", "--verify", "true"], "[[attempt]]\n").exits(0).says(&[
        "No open items: only the verification remains",
        "judged complete by a model (the checks passed before the run began) after 0 iterations",
    ]);
    let journal = env.journal();
    assert!(!names(&journal).contains(&"attempt_started"), "{:?}", names(&journal));
}

#[test]
fn build_ends_without_changes_after_two_idle_iterations_and_has_a_limit() {
    let env = TestEnv::new();
    env.file("IMPLEMENTATION_PLAN.md", "- [ ] the parser\n");
    env.run(&["build", "--dry-run", "-m", "0"]).exits(2).says(&["a run needs a limit"]);
    rehearse(&env, &["build", "-m", "9"], "[[attempt]]\nend = { result = \"Hm.\" }\n")
        .exits(0)
        .says(&["No changes in 2 iterations"]);
    assert_eq!(run_outcome(&env.journal()), "no_changes");
}

#[test]
fn a_goal_is_reached_by_a_promise_and_handed_over_by_notes() {
    let env = TestEnv::new();
    rehearse(
        &env,
        &["run", "-p", "tidy up", "-m", "3"],
        r#"
        [[attempt]]
        steps = [{ write = "SHARED_TASK_NOTES.md", text = "the left half is tidy" }, { write = "a", text = "a" }]

        [[attempt]]
        steps = [{ write = "b", text = "b" }]
        end = { result = "<promise>COMPLETE</promise>" }
        "#,
    )
    .exits(0)
    .says(&["judged complete by a model (no checks configured) after 2 iterations"]);
    let second = env.asked()[1]["prompt"].as_str().unwrap().to_owned();
    assert!(second.contains("the left half is tidy"), "{second}");
}

#[test]
fn the_status_of_an_earlier_run_does_not_count() {
    let env = with_task("iterative");
    env.file(".nightwright/tasks/port/.status.json", "{\"complete\": true}");
    let status = env.project().join(".nightwright/tasks/port/.status.json");
    rehearse(&env, &["run", "port", "-m", "1"], WORK)
        .exits(0)
        .says(&["Reached maximum iterations (1)", "of an earlier run to `"]);
    assert!(status.exists(), "a rehearsal leaves the task as it is");
    fs::remove_dir_all(env.path("state")).unwrap();

    env.file("agent.sh", "cat >/dev/null; date >a; echo working\n");
    env.run(&["run", "port", "-m", "1", "--agent-command", "sh agent.sh"])
        .exits(0)
        .says(&["Reached maximum iterations (1)", "of an earlier run to `"]);
    assert!(!status.exists());
    let kept = env.runs()[0].join("status-before.json");
    assert_eq!(fs::read_to_string(kept).unwrap(), "{\"complete\": true}");
}

#[test]
fn a_status_file_that_is_brought_back_from_before_counts_nothing() {
    let env = with_task("iterative");
    env.file(".nightwright/tasks/port/.status.json", "{\"complete\": true}");
    env.file(
        "agent.sh",
        "cat >/dev/null; date >a\n\
         printf '{\"complete\": true}' >.nightwright/tasks/port/.status.json; echo working\n",
    );
    env.run(&["run", "port", "-m", "1", "--agent-command", "sh agent.sh"])
        .exits(0)
        .says(&["Reached maximum iterations (1)"]);
}

#[test]
fn a_status_file_that_can_t_be_read_is_warned_of_and_stops_nothing() {
    let env = with_task("iterative");
    env.file(".nightwright/tasks/port/.status.json", "{\"complete\": tr");
    rehearse(&env, &["run", "port", "-m", "1"], WORK)
        .exits(0)
        .says(&["Reached maximum iterations (1)", "ignoring `"]);
    let env = with_task("iterative");
    fs::create_dir(env.project().join(".nightwright/tasks/port/.status.json")).unwrap();
    rehearse(&env, &["run", "port", "-m", "1"], WORK)
        .exits(0)
        .says(&["Reached maximum iterations (1)", "ignoring the status file"]);
}

#[test]
fn the_project_can_be_named_before_the_command_and_after_it() {
    let env = with_task("loop");
    let project = env.project().display().to_string();
    for arguments in [&["-C", &project, "list"][..], &["list", "-C", &project]] {
        let mut command = env.command(arguments);
        let output = super::harness::finish(command.current_dir("/").spawn().unwrap()).exits(0);
        assert!(output.out.contains("port"), "{}", output.out);
    }
}

#[test]
fn a_mode_of_the_projects_own_works_by_its_own_words() {
    let env = TestEnv::new();
    fs::create_dir_all(env.project().join(".nightwright/modes/docs")).unwrap();
    env.file(
        ".nightwright/modes/docs/mode.toml",
        "description = \"writes pages\"\nworks_on = \"goal\"\nevidence = [\"promise\"]\n\
         [defaults]\nlimits.max_iterations = 2\ndelay = 0\n",
    );
    env.file(
        ".nightwright/modes/docs/prompt.md",
        "# Pages\n\nWrite one page in {{ project_root }}.\n",
    );
    rehearse(&env, &["run", "-p", "all pages", "--mode", "docs"], "[[attempt]]\nend = { result = \"<promise>COMPLETE</promise>\" }\nsteps = [{ write = \"a\", text = \"a\" }]\n")
        .exits(0)
        .says(&["files of this project", "judged complete by a model"]);
    let asked = env.asked()[0]["prompt"].as_str().unwrap().to_owned();
    assert!(asked.starts_with("# Pages\n\nWrite one page in /"), "{asked}");

    env.file(".nightwright/modes/docs/prompt.md", "# Pages\n\n{{ nope }}\n");
    env.run(&["run", "-p", "x", "--mode", "docs", "--dry-run"]).exits(2).says(&[
        "`.nightwright/modes/docs/prompt.md`, line 3",
        "`nope`",
        "project_root",
    ]);
    env.run(&["run", "-p", "x", "--mode", "dcos", "--dry-run"])
        .exits(2)
        .says(&["unknown mode `dcos`", "did you mean `docs`?"]);
}

#[test]
fn a_task_needs_instructions_and_a_mode_that_works_on_tasks_needs_a_task() {
    let env = TestEnv::new();
    env.run(&["new", "port"]).exits(0);
    env.run(&["run", "port", "--dry-run"])
        .exits(2)
        .says(&["Instructions not found. Run: nightwright task setup port"]);
    env.run(&["run", "nope", "--dry-run"]).exits(2).says(&["Task not found: nope"]);
    env.run(&["run", "-p", "x", "--mode", "loop", "-m", "1", "--dry-run"])
        .exits(2)
        .says(&["the mode `loop` needs a task", "nightwright new NAME --mode loop"]);
    env.run(&["run", "port", "-p", "x", "-m", "1", "--dry-run"])
        .exits(2)
        .says(&["cannot be used with"]);
    env.run(&["run"]).exits(2).says(&["name a task (port)"]);
}

#[test]
fn a_task_that_was_taken_as_the_words_of_an_option_is_noticed() {
    let env = TestEnv::new();
    env.run(&["new", "port"]).exits(0);
    let output = env.run(&["run", "-r", "port"]).exits(2);
    assert_eq!(
        output.err,
        "error: -r/--review-prompt took `port` as its value\n\
         hint: put the task first: run `nightwright run port -r`\n"
    );
    env.run(&["run", "-r", "look at the port"]).exits(2).says(&["name a task (port)"]);
}

#[test]
fn a_stop_file_in_the_folder_of_the_task_stops_its_run() {
    let env = with_task("iterative");
    let script = env.script(
        "[[attempt]]\nsteps = [{ run = \"touch .nightwright/tasks/port/.stop\" }, { wait = \"1s\" }, { write = \"a\", text = \"a\" }]\n",
    );
    env.run(&["run", "port", "--dry-run", "--rehearsal", &script])
        .exits(0)
        .says(&["Stopped after iteration 1, as requested"]);
}

#[test]
fn settings_of_the_task_and_flags_are_what_the_run_records() {
    let env = with_task("loop");
    env.file(
        ".nightwright/tasks/port/task.toml",
        "mode = \"loop\"\nlimits.max_iterations = 7\nretry.delay = \"9s\"\n",
    );
    rehearse(
        &env,
        &["run", "port", "--max-retries", "1"],
        "[[attempt]]\nend = { result = \"<promise>COMPLETE</promise>\" }\n",
    )
    .exits(0);
    let Event::Run(RunEvent::Started(started)) = &env.journal()[0].event else {
        panic!("no start")
    };
    let settings = &started.settings;
    assert_eq!(settings.mode, "loop");
    assert_eq!(settings.limits.max_iterations, Some(7));
    assert_eq!(settings.retry.max_retries, 1);
    assert_eq!(settings.retry.delay.as_secs(), 9);
    assert_eq!(settings.notes_file.as_deref(), Some(".nightwright/tasks/port/NOTES.md"));
    assert_eq!(settings.goal, "Port the parser.\n");
}

#[test]
fn text_with_a_space_is_a_goal_and_says_so() {
    let env = TestEnv::new();
    env.run(&["new", "fix"]).exits(0);
    let script = env.script("[[attempt]]\nsteps = [{ say = \"x\" }]\n");
    let run = ["run", "fix the tests", "-m", "1", "--dry-run", "--rehearsal", &script];
    let output = env.run(&run).exits(0);
    output.says(&["Goal: \"fix the tests\"", "because it contains a space"]);
    let Event::Run(RunEvent::Started(started)) = &env.journal()[0].event else {
        panic!("no start")
    };
    assert_eq!(
        (started.settings.task.as_deref(), started.settings.goal.as_str()),
        (None, "fix the tests")
    );
    assert_eq!(started.settings.mode, "prompt");

    let quiet = env.run(&[&run[..], &["-q"]].concat()).exits(0);
    assert!(!quiet.err.contains("because"), "{}", quiet.err);
    env.run(&["prompt", "fix the tests"]).exits(0);
    env.run(&["run", "fix the tests", "-p", "x", "--dry-run"]).exits(2);
}

#[test]
fn a_single_word_is_a_task_name_and_a_misspelt_one_never_starts_a_run() {
    let env = TestEnv::new();
    env.run(&["new", "migrate-api"]).exits(0);
    let output = env.run(&["run", "migrate-ap", "--dry-run"]).exits(2);
    output.says(&[
        "error: Task not found: migrate-ap\n",
        "did you mean `migrate-api`?",
        "nightwright run -p migrate-ap",
    ]);
    env.run(&["build", "migrate-ap", "--dry-run"])
        .exits(2)
        .says(&["nightwright build -p migrate-ap"]);
    env.run(&["run", " ", "--dry-run"]).exits(2).says(&["no task or goal given"]);
    assert!(env.runs().is_empty());
    // Commands without a goal do not mention one.
    let output = env.run(&["task", "show", "migrate-ap"]).exits(2);
    assert!(!output.err.contains("-p "), "{}", output.err);
}

#[test]
fn a_run_without_a_cost_limit_says_so_in_its_first_lines() {
    let env = TestEnv::new();
    let script = "[[attempt]]\nsteps = [{ say = \"x\" }]\n";
    let output = env.rehearse(script, "1", &[]);
    let first: Vec<_> = output.err.lines().take(6).collect();
    assert!(first.iter().any(|line| line.contains("no cost limit")), "{}", output.err);
    let output = env.rehearse(script, "1", &["--max-cost", "2"]);
    assert!(!output.err.contains("no cost limit"), "{}", output.err);
}

/// The first lines of a run without checks, with these settings of the model's verdict.
fn first_lines_without_checks(model: &str) -> Vec<String> {
    let env = TestEnv::new();
    let script = env.script("[[attempt]]\nend = { result = \"Hm.\" }\n");
    let run = ["run", "-p", "x", "-m", "1", "--dry-run", "--rehearsal", &script];
    let mut command = env.command(&run);
    let child = command.env("NIGHTWRIGHT_VERIFY_MODEL", model).spawn().unwrap();
    let output = super::harness::finish(child).exits(0);
    output.err.lines().take(8).map(str::to_owned).collect()
}

#[test]
fn a_run_without_checks_says_first_what_will_judge_it_and_how_to_get_a_check() {
    for (model, what) in [
        ("auto", "no checks: only a model judges the work"),
        ("always", "no checks: only a model judges the work"),
        ("off", "no checks and no model: nightwright verifies nothing"),
    ] {
        let lines = first_lines_without_checks(model);
        let line = format!("  {what}. To add a check, run `nightwright init` or pass --verify CMD");
        assert!(lines.contains(&line), "{model}: {lines:#?}");
    }
}

#[test]
fn a_goal_has_twenty_iterations_and_a_build_fifty_unless_more_is_said() {
    for (command, limit) in [
        (&["run", "-p", "x"][..], 20),
        (&["run", "fix the tests"], 20),
        (&["build"], 50),
        (&["run", "-p", "x", "--mode", "build"], 50),
        (&["build", "-m", "7"], 7),
    ] {
        let env = TestEnv::new();
        // Without open items, only the verification remains.
        env.file("IMPLEMENTATION_PLAN.md", "- [x] the parser\n");
        let script = "[[attempt]]\nsteps = [{ write = 'a', text = 'a' }]\n\
                      end = { result = '<promise>COMPLETE</promise>' }\n";
        rehearse(&env, command, script).exits(0);
        let Event::Run(RunEvent::Started(started)) = &env.journal()[0].event else {
            panic!("no start")
        };
        assert_eq!(started.settings.limits.max_iterations, Some(limit), "{command:?}");
    }
}

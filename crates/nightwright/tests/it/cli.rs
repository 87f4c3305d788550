//! The command line: exit codes, output and errors of whole commands.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use nightwright_core::event::{AttemptEvent, Event};
use rustix::process::{Pid, Signal, kill_process};

use super::harness::{TestEnv, finish, names, run_outcome};

/// A rehearsal that works for two iterations and then claims completion.
const HONEST: &str = r#"
[[attempt]]
cost = 0.20
steps = [{ write = "a.txt", text = "half" }, { say = "half of it" }]
end = { result = "One half is done." }

[[attempt]]
cost = 0.30
steps = [{ write = "a.txt", text = "whole" }]
end = { result = "All of it.\n\n<promise>COMPLETE</promise>" }

[[verify]]
cost = 0.02
verdict = "yes"
reason = "it is there"
"#;

/// A rehearsal whose agent hangs.
const HANGING: &str = r#"
[[attempt]]
steps = [{ say = "let me think" }]
end = { hang = true }
"#;

#[test]
fn the_demo_shows_a_whole_run() {
    let env = TestEnv::new();
    let output = env.run(&["demo"]).exits(0).says(&[
        "Running iteration 1...",
        "Running iteration 2...",
        "rejected: `sh check.sh` failed (exit 1)",
        "Running iteration 3...",
        "usage limit: waiting until",
        "Task completed successfully after 3 iterations",
        "verified by `sh check.sh`",
        "4 attempts",
        "(rehearsed: work $",
    ]);
    assert_eq!(output.out, "", "stdout is for data");
    nothing_is_spent(&output.err);
    let left: Vec<_> = fs::read_dir(env.path("tmp")).unwrap().collect();
    assert!(left.is_empty(), "left in the temporary folder: {left:?}");
    let journal = env.journal();
    assert_eq!(run_outcome(&journal), "completed");
    assert!(names(&journal).contains(&"limit_wait_ended"));
}

/// Fails if the text reports simulated costs as real ones.
fn nothing_is_spent(text: &str) {
    for line in text.lines().filter(|line| line.contains('$')) {
        let is_plain = line.contains("rehearsed") || line.contains("at most");
        assert!(is_plain, "this looks like real money: {line}");
    }
}

#[test]
fn a_dry_run_changes_nothing_and_ends() {
    let env = TestEnv::new();
    env.file("a.txt", "mine");
    let output = env
        .run(&["run", "-p", "make it better", "-m", "5", "--dry-run", "--no-delay"])
        .exits(0)
        .says(&[
            "judged complete by a model (no checks configured) after 2 iterations",
            "rehearsal.log",
        ]);
    nothing_is_spent(&output.err);
    assert_eq!(fs::read_dir(env.path("tmp")).unwrap().count(), 0);
    assert_eq!(fs::read_to_string(env.project().join("a.txt")).unwrap(), "mine");
    assert_eq!(fs::read_dir(env.project()).unwrap().count(), 1);
}

#[test]
fn a_run_works_claims_and_is_verified_by_the_checks() {
    let env = TestEnv::new();
    let script = env.script(HONEST);
    let arguments = [
        "run",
        "-p",
        "write a.txt",
        "-m",
        "5",
        "--no-delay",
        "--verify",
        "grep -q whole a.txt",
        "--dry-run",
        "--rehearsal",
        &script,
    ];
    env.run(&arguments).exits(0).says(&[
        "iteration 1: 1 file, $0.20 (rehearsed)",
        "Task completed successfully after 2 iterations",
        "verified by `grep -q whole a.txt`",
        "cost $0.52 (rehearsed: work $0.50 in 2 attempts, verify $0.02 in 1 call)",
    ]);
    let journal = env.journal();
    assert_eq!(run_outcome(&journal), "completed");
    let asked = env.asked();
    let parts: Vec<_> = asked.iter().map(|line| line["part"].as_str().unwrap()).collect();
    assert_eq!(parts, ["attempt", "attempt", "verify"]);
    assert!(asked[0]["prompt"].as_str().unwrap().contains("write a.txt"));
}

#[test]
fn a_false_claim_is_rejected_and_the_next_prompt_says_why() {
    let env = TestEnv::new();
    let script = env.script(
        r#"
        [[attempt]]
        steps = [{ write = "a.txt", text = "wrong" }]
        end = { result = "<promise>COMPLETE</promise>" }
        [[attempt]]
        steps = [{ write = "a.txt", text = "right" }]
        end = { result = "<promise>COMPLETE</promise>" }
        "#,
    );
    let check = "grep -q right a.txt || { echo nothing right in it; exit 3; }";
    let arguments = [
        "run",
        "-p",
        "write it",
        "-m",
        "5",
        "--no-delay",
        "--verify",
        check,
        "--dry-run",
        "--rehearsal",
        &script,
    ];
    env.run(&arguments).exits(0).says(&["rejected", "(exit 3)", "after 2 iterations"]);
    let second = env.asked().into_iter().filter(|line| line["part"] == "attempt").nth(1);
    let prompt = second.unwrap()["prompt"].as_str().unwrap().to_owned();
    assert!(prompt.contains("nothing right in it"), "{prompt}");
}

#[test]
fn json_output_is_the_journal_itself() {
    let env = TestEnv::new();
    let output = env.rehearse(HONEST, "5", &["--output", "json"]).exits(0);
    let journal = fs::read_to_string(env.runs()[0].join("journal.jsonl")).unwrap();
    assert_eq!(output.out, journal);
    for line in output.out.lines() {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(value["v"], 1);
    }
}

#[test]
fn quiet_says_nothing_when_all_is_well() {
    let env = TestEnv::new();
    let output = env.rehearse(HONEST, "5", &["-q"]).exits(0);
    assert_eq!((output.out.as_str(), output.err.as_str()), ("", ""));
}

#[test]
fn verbose_shows_the_agent_s_words_and_tools() {
    let env = TestEnv::new();
    env.rehearse(HONEST, "5", &["-v"]).exits(0).says(&["half of it", "Write", "a.txt"]);
}

#[test]
fn wrong_use_exits_2_and_says_what_is_allowed() {
    let env = TestEnv::new();
    let cases: &[(&[&str], &[&str])] = &[
        (&["run"], &["no task or goal given", "nightwright run -p"]),
        (&["run", "-p", ""], &["--prompt", "empty"]),
        (&["run", "-p", "x", "-m", "0"], &["a run needs a limit", "--max-cost", "--unlimited"]),
        (&["run", "-p", "x", "-m", "-1"], &["-1", "--max-iterations", "from 0 to 1000000"]),
        (&["run", "-p", "x", "-m", "many"], &["many", "from 0 to 1000000"]),
        (&["run", "-p", "x", "-m", "99999999999"], &["99999999999", "from 0 to 1000000"]),
        (&["run", "-p", "x", "--max-cost", "-5"], &["-5", "--max-cost", "US dollars"]),
        (&["run", "-p", "x", "--max-cost", "0"], &["--max-cost", "at least"]),
        (&["run", "-p", "x", "--max-duration", "-5m"], &["--max-duration"]),
        (&["run", "-p", "x", "--max-duration", "3s"], &["--max-duration", "at least 1m"]),
        (&["run", "-p", "x", "--max-tokens", "0"], &["--max-tokens", "above 0"]),
        (&["run", "-p", "x", "-m", "3", "-q", "-v"], &["--quiet", "--verbose", "cannot be used"]),
        (&["run", "-p", "x", "-m", "3", "-q", "--output", "json"], &["cannot be used"]),
        (&["run", "-p", "x", "-m", "3", "--output", "loud"], &["loud", "quiet, progress"]),
        (&["run", "-p", "x", "-m", "3", "-d", "1", "--no-delay"], &["cannot be used"]),
        (&["run", "-p", "x", "-m", "3", "--colour"], &["--colour", "--color"]),
        (&["run", "-p", "x", "-m", "3", "--idle-timeout", "0"], &["--idle-timeout", "at least 1s"]),
        (
            &["run", "-p", "x", "-m", "3", "--notes-file", "../n"],
            &["--notes-file", "a path inside the project"],
        ),
        (&["run", "-p", "x", "-m", "3", "-C", "nowhere"], &["nowhere"]),
        (&["run", "-p", "x", "-m", "3", "--rehearsal", "s.toml"], &["--dry-run"]),
        (&["run", "-p", "x", "-m", "3", "--dry-run", "--rehearsal", "s.toml"], &["s.toml"]),
        (&["walk"], &["walk", "nightwright"]),
        (&[], &["Usage"]),
    ];
    for (arguments, words) in cases {
        let output = env.run(arguments);
        assert_eq!(output.code, Some(2), "{arguments:?}\n{}", output.err);
        for word in *words {
            assert!(
                output.err.contains(word),
                "{arguments:?}: `{word}` is not in:\n{}",
                output.err
            );
        }
        assert_eq!(output.out, "", "{arguments:?}");
    }
    assert!(env.runs().is_empty(), "wrong use leaves nothing behind");
}

#[test]
fn a_broken_script_is_named_with_line_and_key() {
    let env = TestEnv::new();
    let script = env.script("[[attempt]]\nsteps = [{ shout = \"x\" }]\n");
    let arguments = ["run", "-p", "x", "-m", "3", "--dry-run", "--rehearsal", &script];
    env.run(&arguments).exits(2).says(&["script.toml", "shout", "docs/reference/rehearsal.md"]);
}

#[test]
fn without_the_agent_program_nothing_is_started() {
    let env = TestEnv::new();
    env.run(&["run", "-p", "x", "-m", "3"])
        .exits(1)
        .says(&["Claude CLI not found. Make sure 'claude' is installed and in PATH."]);
    assert!(env.runs().is_empty());
}

#[test]
fn an_agent_program_with_invalid_output_is_named() {
    let env = TestEnv::new();
    let claude = env.path("bin/claude");
    fs::write(&claude, "#!/bin/sh\necho what do you mean >&2\nexit 3\n").unwrap();
    fs::set_permissions(&claude, fs::Permissions::from_mode(0o755)).unwrap();
    env.run(&["run", "-p", "x", "-m", "3"])
        .exits(1)
        .says(&["claude --version", "what do you mean"]);
}

/// Installs a stand-in for `claude` that logs its arguments.
fn fake_claude(env: &TestEnv, result: &str) {
    let claude = env.path("bin/claude");
    let script = format!(
        "#!/bin/sh\n\
         [ \"$1\" = --version ] && echo '9.9.9 (fake)' && exit\n\
         echo \"$*\" >> {}\n\
         case \"$*\" in *--input-format*) read -r prompt;; *) cat > /dev/null;; esac\n\
         case \"$*\" in *acceptEdits*) echo work >> made.txt;; esac\n\
         printf '%s\\n' '{{\"type\":\"system\",\"subtype\":\"init\",\"model\":\"m\"}}'\n\
         printf '%s\\n' '{{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"num_turns\":3,\
         \"total_cost_usd\":0.05,\"modelUsage\":{{\"m\":{{\"inputTokens\":9,\"outputTokens\":9}}}},\
         \"result\":\"{result}\"}}'\n",
        env.word("calls")
    );
    fs::write(&claude, script).unwrap();
    fs::set_permissions(&claude, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn the_real_program_is_called_as_a_worker_and_judged_by_one_that_may_change_nothing() {
    let env = TestEnv::new();
    let result = "<promise>COMPLETE</promise>\\n\\nVERDICT: yes - it is there";
    fake_claude(&env, result);
    env.run(&[
        "run",
        "-p",
        "x",
        "-m",
        "2",
        "--no-delay",
        "--max-cost",
        "2",
        "--model",
        "opus",
        "--max-turns",
        "7",
        "--allowed-tools",
        "Bash(make:*)",
        "--verify",
        "true",
        "--no-baseline",
        "--",
        "--betas",
        "x",
    ])
    .exits(0)
    .says(&[
        "The agent may edit files and run: make, ",
        "Task completed successfully after 1 iteration",
    ]);
    let calls = fs::read_to_string(env.path("calls")).unwrap();
    let calls: Vec<_> = calls.lines().collect();
    assert_eq!(calls.len(), 2, "{calls:?}");
    for always in ["--print", "--output-format stream-json", "--setting-sources user"] {
        assert!(calls.iter().all(|call| call.contains(always)), "{always}: {calls:?}");
    }
    let workers = ["--permission-mode acceptEdits", "Bash(make:*)", "--max-turns 7", "--betas x"];
    for wish in workers {
        assert!(calls[0].contains(wish), "{wish}: {}", calls[0]);
        assert!(!calls[1].contains(wish), "{wish}: {}", calls[1]);
    }
    assert!(calls[0].contains("--model opus") && calls[0].contains("--max-budget-usd 1.55"));
}

#[test]
fn escape_sequences_of_an_agent_reach_the_terminal_at_no_level() {
    let script = "[[attempt]]\nend = { bad_start = \"\\u001b]0;pwned\\u0007\\u001b[2Joops\" }\n";
    for level in ["quiet", "progress", "verbose", "json"] {
        let env = TestEnv::new();
        let output = env.rehearse(script, "2", &["--output", level]).exits(1).says(&["oops"]);
        assert!(!output.err.contains('\u{1b}'), "{level}: {:?}", output.err);
    }
}

#[test]
fn a_journal_that_was_deleted_ends_the_run() {
    let env = TestEnv::new();
    let state = env.word("state");
    let script = env.script(&format!(
        "[[attempt]]\nsteps = [{{ run = '''rm -rf {state}/*/runs/*/journal.jsonl''' }}]\n\
         end = {{ result = \"gone\" }}\n"
    ));
    env.run(&["run", "-p", "x", "-m", "9", "--no-delay", "--dry-run", "--rehearsal", &script])
        .exits(1)
        .says(&["journal", "deleted"]);
}

#[test]
fn require_complete_has_an_exit_code_per_kind_of_outcome() {
    let idle = "[[attempt]]\nend = { result = \"I looked around.\" }\n";
    for (limit, code, ends) in [("1", 3, "max_iterations"), ("9", 4, "stagnated")] {
        let env = TestEnv::new();
        let script = env.script(idle);
        let arguments = [
            "run",
            "-p",
            "x",
            "-m",
            limit,
            "--no-delay",
            "--require-complete",
            "--dry-run",
            "--rehearsal",
            &script,
        ];
        env.run(&arguments).exits(code);
        assert_eq!(run_outcome(&env.journal()), ends);
    }
}

#[test]
fn an_interrupt_ends_the_agent_and_exits_130() {
    let env = TestEnv::new();
    let script = env.script(HANGING);
    let child = env.start(&["run", "-p", "x", "-m", "3", "--dry-run", "--rehearsal", &script]);
    env.wait_for("agent_ready");
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    finish(child).exits(130).says(&["Interrupted"]);
    let journal = env.journal();
    assert_eq!(run_outcome(&journal), "interrupted");
    let cost = journal.iter().find_map(|record| match &record.event {
        Event::Attempt(AttemptEvent::Finished { cost, .. }) => Some(*cost),
        _ => None,
    });
    assert!(cost.unwrap().micros() > 0, "an attempt nobody saw the end of is not free");
}

#[test]
fn a_second_run_in_the_same_project_learns_who_holds_it() {
    let env = TestEnv::new();
    let script = env.script(HANGING);
    let arguments = ["run", "-p", "x", "-m", "3", "--dry-run", "--rehearsal", &script];
    let child = env.start(&arguments);
    env.wait_for("agent_ready");
    let id = child.id().to_string();
    env.run(&arguments).exits(1).says(&["is in use by run", &format!("pid {id}"), "hint:"]);
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    finish(child).exits(130);
    assert_eq!(env.runs().len(), 1, "the run that never was left nothing");
}

#[test]
fn unreadable_notes_fail_the_iteration_and_name_the_file() {
    let env = TestEnv::new();
    fs::create_dir(env.project().join("SHARED_TASK_NOTES.md")).unwrap();
    let arguments = ["run", "-p", "x", "-m", "1", "--dry-run"];
    env.run(&arguments).exits(1).says(&["Iteration 1 failed", "SHARED_TASK_NOTES.md"]);
}

#[test]
fn a_state_folder_that_can_t_be_made_is_named() {
    let env = TestEnv::new();
    fs::write(env.path("blocked"), "a file").unwrap();
    let mut command = env.command(&["run", "-p", "x", "-m", "1", "--dry-run"]);
    command.env("NIGHTWRIGHT_STATE_DIR", env.path("blocked/state"));
    finish(command.spawn().unwrap()).exits(1).says(&["cannot create the folder", "blocked"]);
    let mut command = env.command(&["run", "-p", "x", "-m", "1", "--dry-run"]);
    command.env("NIGHTWRIGHT_STATE_DIR", "relative");
    finish(command.spawn().unwrap()).exits(1).says(&["NIGHTWRIGHT_STATE_DIR", "absolute"]);
}

#[test]
fn prompts_and_raw_output_are_kept_for_the_user_alone() {
    let env = TestEnv::new();
    let script = env.script(HONEST);
    let arguments =
        ["run", "-p", "write", "-m", "5", "--no-delay", "--dry-run", "--rehearsal", &script];
    env.run(&arguments).exits(0);
    let run = env.runs().remove(0);
    assert_eq!(fs::metadata(&run).unwrap().permissions().mode() & 0o777, 0o700);
    for name in ["journal.jsonl", "prompts/001-1.md", "prompts/002-1.md", "output/001-1.ndjson"] {
        let facts = fs::metadata(run.join(name)).unwrap_or_else(|_| panic!("no {name}"));
        assert_eq!(facts.permissions().mode() & 0o777, 0o600, "{name}");
    }
    assert!(!run.join("journal.reserve").exists(), "the space set aside is given back");
}

#[test]
fn a_closed_terminal_ends_the_display_and_not_the_run() {
    let env = TestEnv::new();
    let script = env.script(HONEST);
    let mut child = env.start(&[
        "run",
        "-p",
        "x",
        "-m",
        "5",
        "--no-delay",
        "--output",
        "json",
        "--dry-run",
        "--rehearsal",
        &script,
    ]);
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(run_outcome(&env.journal()), "completed");
}

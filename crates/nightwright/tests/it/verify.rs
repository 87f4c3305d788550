//! `nightwright verify`, and the check results that a run keeps.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use nightwright_core::event::{Event, GateEvent, GateResult};
use nightwright_core::test_counts::TestCounts;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::harness::{Output, TestEnv, finish, run_outcome, shell_path};

const REPORT: &str = ".nightwright/tasks/a/verification-report.md";

/// A project with a task `a`, and this configuration.
fn with_task(configuration: &str) -> TestEnv {
    let env = TestEnv::new();
    env.run(&["new", "a"]).exits(0);
    env.file(".nightwright/tasks/a/INSTRUCTIONS.md", "Write a greeting.\n")
        .file(".nightwright/config.toml", configuration);
    env
}

/// A project with a task, without verdicts of a model.
fn without_model() -> TestEnv {
    with_task("verify.model = \"off\"\n")
}

fn rehearse(env: &TestEnv, script: &str, arguments: &[&str]) -> Output {
    let script = env.script(script);
    let mut all = vec!["verify", "a", "--dry-run", "--rehearsal", &script];
    all.extend(arguments);
    env.run(&all)
}

fn object(output: &Output) -> Value {
    serde_json::from_str(&output.out).unwrap_or_else(|error| panic!("{error}: {}", output.out))
}

fn report(env: &TestEnv) -> String {
    fs::read_to_string(env.project().join(REPORT)).unwrap()
}

fn only_run(env: &TestEnv) -> PathBuf {
    let runs = env.runs();
    assert_eq!(runs.len(), 1, "{runs:?}");
    runs[0].clone()
}

#[test]
fn commands_alone_verify_a_task_and_no_agent_is_needed_for_it() {
    let env = without_model();
    let output = env.run(&["verify", "a", "--verify", "echo fine"]).exits(0);
    assert!(output.out.starts_with("`a` is verified: the checks passed\n"), "{}", output.out);
    assert!(output.out.contains("`echo fine` passed"), "{}", output.out);
    assert!(output.out.contains(REPORT), "{}", output.out);
    assert!(output.err.contains("verifying a"), "{}", output.err);
    assert!(!output.err.contains("claimed") && !output.err.contains("teration"), "{}", output.err);
    let report = report(&env);
    assert!(report.starts_with("# Verification of a\n\n**Verified.**"), "{report}");
    let run = only_run(&env);
    let id = run.file_name().unwrap().to_str().unwrap();
    for words in ["- check `echo fine`: passed", id, "| cost | $0.00"] {
        assert!(report.contains(words), "`{words}` is not in:\n{report}");
    }
    assert_eq!(run_outcome(&env.journal()), "completed");
}

#[test]
fn a_check_that_fails_is_shown_reported_and_kept_whole() {
    let env = without_model();
    let check = "echo first; seq 3000; echo the greeting is missing; exit 3";
    let output = env.run(&["verify", "a", "--verify", check]).exits(6);
    assert!(output.out.contains("`a` is not complete"), "{}", output.out);
    assert!(output.out.contains("    the greeting is missing"), "{}", output.out);
    assert!(output.out.contains("failed (exit 3)"), "{}", output.out);
    let report = report(&env);
    assert!(report.starts_with("# Verification of a\n\n**Not verified.**"), "{report}");
    assert!(report.contains("\nthe greeting is missing\n"), "{report}");
    let run = only_run(&env);
    for name in ["000-1.log", "000-1-again.log"] {
        let log = run.join("checks").join(name);
        let text = fs::read_to_string(&log).unwrap();
        assert!(text.starts_with("first\n1\n2\n") && text.ends_with("is missing\n"), "{name}");
        assert_eq!(fs::metadata(&log).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let log = env.journal().into_iter().find_map(|record| match record.event {
        Event::Gate(GateEvent::ChecksFinished { results, .. }) => results[0].log.clone(),
        _ => None,
    });
    assert_eq!(log.as_deref(), Some("checks/000-1-again.log"));
}

#[test]
fn very_much_output_is_cut_in_the_middle_and_the_cut_is_named() {
    let env = without_model();
    let check = "echo first; yes | head -c 9000000; echo last";
    env.run(&["verify", "a", "--verify", check]).exits(0);
    let text = fs::read_to_string(only_run(&env).join("checks/000-1.log")).unwrap();
    assert!(text.len() < 5 << 20, "{}", text.len());
    assert!(text.starts_with("first\n") && text.ends_with("last\n"));
    assert!(text.contains(" bytes omitted ...]"));
}

#[test]
fn the_summary_of_tests_after_very_much_output_is_counted() {
    let env = without_model();
    let check = "yes | head -c 20000000; echo '2 failed, 12 passed in 0.12s'; exit 1";
    env.run(&["verify", "a", "--verify", check]).exits(6);
    let counts = env.journal().into_iter().find_map(|record| match record.event {
        Event::Gate(GateEvent::ChecksFinished { results, .. }) => results[0].tests,
        _ => None,
    });
    assert_eq!(counts, Some(TestCounts { failed: 2, total: 14 }));
}

#[test]
fn a_log_that_cant_be_kept_is_left_out_and_the_check_counts() {
    let env = without_model();
    // A file replaces the folder for logs before the second check begins.
    let state = env.word("state");
    let first = format!("cd {state}/*/runs/* && rm -rf checks && echo x > checks");
    env.run(&["verify", "a", "--verify", &first, "--verify", "echo fine"]).exits(0);
    let logs: Vec<_> = env
        .journal()
        .into_iter()
        .find_map(|record| match record.event {
            Event::Gate(GateEvent::ChecksFinished { results, .. }) => Some(results),
            _ => None,
        })
        .unwrap()
        .into_iter()
        .map(|result| (result.verdict.is_pass(), result.log))
        .collect();
    assert_eq!(logs[1], (true, None));
}

#[test]
fn a_model_decides_and_says_what_is_missing() {
    let env = with_task("");
    let yes = "[[verify]]\nverdict = \"yes\"\nreason = \"the greeting is there\"\n";
    let output = rehearse(&env, yes, &["--json"]).exits(0);
    let said = object(&output);
    assert_eq!((&said["verdict"], &said["task"]), (&json!("pass"), &json!("a")));
    assert_eq!(said["reason"], "the greeting is there");
    assert_eq!((&said["cost_usd"], &said["report"]), (&json!(0.01), &json!(null)));
    assert_eq!(said["rehearsal"], true);
    assert!(!env.project().join(REPORT).exists(), "a rehearsal says nothing about the task");

    let no =
        "[[verify]]\nverdict = \"no\"\nreason = \"half of it\"\nmissing = [\"the farewell\"]\n";
    let output = rehearse(&env, no, &["--json"]).exits(6);
    let said = object(&output);
    assert_eq!((&said["verdict"], &said["reason"]), (&json!("fail"), &json!("half of it")));
    assert_eq!(said["missing"], json!(["the farewell"]));
    let output = rehearse(&env, yes, &[]).exits(0);
    assert!(output.out.starts_with("`a` would be accepted: "), "{}", output.out);
    let output = rehearse(&env, no, &[]).exits(6);
    assert!(output.out.starts_with("`a` would not be complete: half of it\n"), "{}", output.out);
    assert!(output.out.contains("  missing: the farewell\n"), "{}", output.out);
    assert!(
        output.out.contains("cost $0.01 (rehearsed: verify $0.01 in 1 call)"),
        "{}",
        output.out
    );
}

#[test]
fn no_verdict_is_neither_yes_nor_no() {
    let env = with_task("");
    let script = "[[verify]]\nverdict = \"unreadable\"\nreason = \"Well, VERDICT: yes or so.\"\n";
    let said = object(&rehearse(&env, script, &["--json"]).exits(6));
    assert_eq!(said["verdict"], "inconclusive");
    assert_eq!(env.asked().len(), 2, "it is asked once more, and no further");
}

#[test]
fn how_closely_it_looks_decides_about_tools_model_and_turns() {
    let env = with_task("");
    let script = "[[verify]]\nverdict = \"yes\"\n";
    rehearse(&env, script, &["--depth", "quick"]).exits(0);
    rehearse(&env, script, &["--depth", "deep"]).exits(0);
    let asked = env.asked();
    let words = |index: usize| {
        let words = asked[index]["arguments"].as_array().unwrap().iter();
        words.map(|word| word.as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let value = |index: usize, name: &str| {
        let words = words(index);
        let at = words.iter().position(|word| word == name)?;
        words.get(at + 1).cloned()
    };
    let deep = (0..2).find(|index| value(*index, "--tools").as_deref() != Some("")).unwrap();
    let quick = 1 - deep;
    assert_eq!(value(quick, "--max-turns").as_deref(), Some("3"));
    assert!(value(quick, "--system-prompt").unwrap().contains("no tools"));
    assert!(asked[quick]["prompt"].as_str().unwrap().contains("without any tools"));
    assert_eq!(value(deep, "--tools").as_deref(), Some("Read,Grep,Glob"));
    assert_eq!((value(deep, "--max-turns"), value(deep, "--system-prompt")), (None, None));
    assert!(asked[deep]["prompt"].as_str().unwrap().contains("tools that only read"));
    for index in [quick, deep] {
        assert_eq!(value(index, "--model").as_deref(), Some("haiku"));
        assert!(value(index, "--json-schema").unwrap().contains("\"missing\""));
        assert!(asked[index]["prompt"].as_str().unwrap().contains("Write a greeting."));
    }
}

#[test]
fn without_a_verifier_the_error_names_the_setting() {
    let env = without_model();
    env.run(&["verify", "a"])
        .exits(2)
        .says(&["cannot verify: there are no checks", "`verify.commands`"]);
    assert!(env.runs().is_empty());
    env.run(&["verify", "b"]).exits(2).says(&["Task not found: b"]);
}

#[test]
fn an_unaffordable_verdict_is_not_requested_again() {
    let env = with_task("");
    let script = "[[verify]]\nverdict = \"unreadable\"\nreason = \"Hard to say.\"\n";
    let said = object(&rehearse(&env, script, &["--json", "--max-cost", "0.01"]).exits(3));
    assert_eq!(said["verdict"], "unaffordable");
    assert_eq!(env.asked().len(), 1);
}

#[test]
fn judging_leaves_the_task_and_its_last_run_as_they_are() {
    let env = without_model();
    let agent = env.path("bin/agent");
    fs::write(
        &agent,
        "#!/bin/sh\ncat > /dev/null; date > made; echo '<promise>COMPLETE</promise>'\n",
    )
    .unwrap();
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).unwrap();
    env.run(&["run", "a", "-m", "2", "--agent-command", "agent", "--verify", "true"]).exits(0);
    let run = only_run(&env);
    let id = run.file_name().unwrap().to_str().unwrap().to_owned();
    let status = "{\"complete\": true, \"summary\": \"done\"}";
    env.file(".nightwright/tasks/a/.status.json", status);
    let before = env.run(&["task", "show", "a", "--json"]).exits(0).out;

    env.run(&["verify", "a", "--verify", "false"]).exits(6);
    let kept = fs::read_to_string(env.project().join(".nightwright/tasks/a/.status.json")).unwrap();
    assert_eq!(kept, status);
    assert_eq!(env.run(&["task", "show", "a", "--json"]).exits(0).out, before);
    assert_eq!(serde_json::from_str::<Value>(&before).unwrap()["last_run"]["id"], id.as_str());
    for which in [&[][..], &["a"]] {
        let mut resume = vec!["resume"];
        resume.extend(which);
        let output = env.run(&resume);
        assert!(output.err.contains(&id), "{}", output.err);
    }
    let judged = env.runs().into_iter().find(|folder| *folder != run).unwrap();
    let judged = judged.file_name().unwrap().to_str().unwrap();
    env.run(&["resume", judged, "--again"])
        .exits(2)
        .says(&["only verified `a`", "nightwright verify a"]);
}

#[test]
fn a_task_that_is_worked_on_is_not_judged_meanwhile() {
    let env = with_task("");
    let script = env.script("[[attempt]]\nend = { hang = true }\n");
    let run = env.start(&["run", "a", "-m", "1", "--dry-run", "--rehearsal", &script]);
    env.wait_for("attempt_started");
    env.run(&["verify", "a", "--dry-run"]).exits(1).says(&["in use by run"]);
    env.run(&["stop", "--now"]).exits(0);
    finish(run).exits(130);
}

#[test]
fn judging_can_be_interrupted() {
    let env = with_task("");
    let script = env.script("[[verify]]\nend = { hang = true }\n");
    let child = env.start(&["verify", "a", "--json", "--dry-run", "--rehearsal", script.as_str()]);
    env.wait_for("call_started");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = finish(child).exits(130);
    assert_eq!(object(&output)["verdict"], "interrupted");
}

#[test]
fn a_verification_without_an_answer_keeps_the_last_report() {
    let env = without_model();
    env.file(REPORT, "# a: verified\n\nas it was\n");
    let child = env.start(&["verify", "a", "--json", "--verify", "sleep 100"]);
    env.wait_for("checks_started");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let said = object(&finish(child).exits(130));
    assert_eq!((&said["verdict"], &said["report"]), (&json!("interrupted"), &json!(null)));
    assert_eq!(said["rehearsal"], false);
    assert_eq!(report(&env), "# a: verified\n\nas it was\n");

    // A verdict is impossible too, because the agent cannot be started.
    env.file(".nightwright/config.toml", "agent.command = \"no-such-program\"\n");
    let output = env.run(&["verify", "a", "--yes", "--verify", "true"]);
    assert_ne!(output.code, Some(0), "{}", output.err);
    assert_eq!(report(&env), "# a: verified\n\nas it was\n");
}

#[test]
fn hostile_words_are_no_markup_in_the_report() {
    let env = with_task("agent.command = \"judge\"\n");
    let judge = env.path("bin/judge");
    let words =
        "VERDICT: no - ![x](https://example.com/x.png) <b>[all](javascript:x)</b> *is* done";
    fs::write(&judge, format!("#!/bin/sh\ncat > /dev/null; echo '{words}'\n")).unwrap();
    fs::set_permissions(&judge, fs::Permissions::from_mode(0o755)).unwrap();
    let check = "true '![x](https://example.com/y.png)'";
    env.run(&["verify", "a", "--yes", "--verify", check]).exits(6);
    let report = report(&env);
    let reason = "`![x](https://example.com/x.png) <b>[all](javascript:x)</b> *is* done`";
    assert!(report.contains(reason), "{report}");
    assert!(report.contains(&format!("- check `{check}`: passed")), "{report}");
}

#[test]
fn changes_of_the_agent_to_the_checks_take_no_effect_in_its_run() {
    let env = with_task("verify.commands = [\"test -f real\"]\nverify.model = \"off\"\n");
    let script = env.script(
        "[[attempt]]\n\
         steps = [{ write = \".nightwright/config.toml\", text = \"verify.commands = ['true']\\n\" }]\n\
         end = { result = \"<promise>COMPLETE</promise>\" }\n",
    );
    let run = ["run", "a", "-m", "1", "--yes", "--no-delay", "--dry-run", "--rehearsal", &script];
    env.run(&run).exits(0);
    let journal = env.journal();
    assert_eq!(run_outcome(&journal), "max_iterations");
    let rejected = journal.iter().any(|record| match &record.event {
        Event::Gate(GateEvent::Finished { result: GateResult::Rejected { why, .. } }) => {
            why.contains("test -f real")
        }
        _ => false,
    });
    assert!(rejected, "the check of the start was run");
}

#[test]
fn the_summary_says_what_was_verified_by_what_and_what_that_cost() {
    let env = with_task("");
    let claims = "[[attempt]]\nsteps = [{ write = \"a\", text = \"a\" }]\n\
                  end = { result = \"<promise>COMPLETE</promise>\" }\n";
    let script = env.script(claims);
    let run = |more: &[&str]| {
        let mut all = vec!["run", "a", "-m", "1", "--dry-run", "--rehearsal", &script];
        all.extend(more);
        env.run(&all).exits(0)
    };
    run(&["--verify", "test -f a"]).says(&[
        "verified by `test -f a` and a model's verdict",
        "cost $0.02 (rehearsed: work $0.01 in 1 attempt, verify $0.01 in 1 call)",
    ]);
    env.file(".nightwright/config.toml", "verify.model = \"off\"\n");
    run(&[]).says(&[
        "Task completed, not verified (no checks configured), after 1 iteration",
        "not verified: there are no checks, and no model judged the work",
        "cost $0.01 (rehearsed: work $0.01 in 1 attempt)",
    ]);
}

#[test]
fn checks_that_passed_before_the_last_run_verify_nothing_by_hand_either() {
    let env = without_model();
    let worker = env.path("worker");
    fs::write(&worker, "#!/bin/sh\necho x > made.txt\necho '<promise>COMPLETE</promise>'\n")
        .unwrap();
    fs::set_permissions(&worker, fs::Permissions::from_mode(0o755)).unwrap();
    let worker = &shell_path(&worker);
    let run = ["run", "a", "-m", "1", "--no-delay", "--verify", "true", "--agent-command", worker];
    env.run(&run).exits(0).says(&["completed, not verified"]);
    let output = env.run(&["verify", "a", "--verify", "true"]).exits(6);
    assert!(!output.out.contains("is verified"), "{}", output.out);
}

#[test]
fn a_report_that_the_task_is_impossible_is_announced_and_judged_as_one() {
    let env = TestEnv::new();
    let script = "[[attempt]]\nend = { result = '''\n<blocker>\nDescription: two tests contradict \
                  each other\nImpossible: both judge f(1)\n</blocker>''' }\n\
                  [[verify]]\nverdict = 'yes'\nreason = 'They do.'\n";
    let output = env.rehearse(script, "3", &[]).exits(0).says(&[
        "reported as impossible: asking a model whether it is\n",
        "a model's verdict: impossible (They do.)\n",
        "The task is impossible as specified: two tests contradict each other",
    ]);
    assert!(!output.err.contains("complete:"), "{}", output.err);
    let report = env.run(&["report"]).exits(0).out;
    assert!(report.contains("a model's verdict: impossible"), "{report}");
}

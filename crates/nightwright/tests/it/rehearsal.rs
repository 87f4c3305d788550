//! The rehearsal agent: each end of a scene leads to the right outcome.

mod demo;
mod script;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Command, Stdio};
use std::time::Duration;

use nightwright_core::effect::Grace;
use nightwright_core::event::CallPurpose;
use nightwright_core::stream::dialect::InputShape;
use nightwright_core::stream::news::{AgentNews, Answer, QuotaWindow};
use nightwright_core::stream::outcome::{AttemptOutcome, CancelReason, Deadline, ProcessExit};
use nightwright_core::units::Usd;

use crate::agent_env::{AgentEnv, NIGHTWRIGHT, RunningAttempt, attempt, call, report};

#[tokio::test]
async fn every_end_of_a_scene_has_its_outcome() {
    use AttemptOutcome as Is;
    let crashed = |how| Is::Crashed { how };
    let why = |text: &str| text.to_owned();
    let cases = [
        ("result = 'Done.'", Is::Finished),
        ("max_turns = true", Is::TurnLimit),
        ("budget = true", Is::AttemptBudget),
        ("limit_unknown = true", Is::RateLimited),
        ("overloaded = true", Is::Overloaded),
        ("network = true", Is::Network),
        ("crash = 139", crashed(ProcessExit::Code(139))),
        ("crash = 0", crashed(ProcessExit::Code(0))),
        ("signal = 9", crashed(ProcessExit::Signal(9))),
        ("silent_exit = 0", crashed(ProcessExit::Code(0))),
        ("auth = 'Invalid API key'", Is::Auth { why: why("Invalid API key") }),
        ("billing = true", Is::Billing { why: why("Credit balance is too low") }),
        ("bad_start = 'no such option'", Is::BadStart { why: why("no such option") }),
        ("too_long = true", Is::PromptTooLong),
        ("error = 'too odd'", Is::BadRequest { why: why("API Error: 400 too odd") }),
        ("refuse = true", Is::Refused),
        ("output_limit = true", Is::OutputLimit),
    ];
    for (end, outcome) in cases {
        let stage = AgentEnv::with_script(&format!("[[attempt]]\nend = {{ {end} }}"));
        let report = report(&mut stage.rehearsal(), attempt(1)).await;
        assert_eq!(report.outcome, outcome, "{end}");
    }
}

#[tokio::test]
async fn a_missing_model_is_named() {
    let stage = AgentEnv::with_script("[[attempt]]\nmodel = 'opus-9'\nend = { no_model = true }");
    let report = report(&mut stage.rehearsal(), attempt(1)).await;
    let AttemptOutcome::ModelNotFound { why } = &report.outcome else { panic!("{report:?}") };
    assert!(why.contains("opus-9"), "{why}");
}

#[tokio::test]
async fn a_usage_limit_ends_when_the_script_says() {
    for (text, minutes) in [("2h13m", 133), ("3d", 3 * 24 * 60)] {
        let script =
            format!("[[attempt]]\nsteps = [{{ say = 'Well' }}]\nend = {{ limit = '{text}' }}");
        let before = jiff::Timestamp::now();
        let report = report(&mut AgentEnv::with_script(&script).rehearsal(), attempt(1)).await;
        let AttemptOutcome::UsageLimited { until: Some(until) } = report.outcome else {
            panic!("{report:?}")
        };
        let left = until.duration_since(before) - jiff::SignedDuration::from_mins(minutes);
        assert!((-2..30).contains(&left.as_secs()), "{text}: {until}");
        assert_eq!(report.cost, Some(Usd::from_cents(1)), "it had spoken before");
    }
}

#[tokio::test]
async fn each_way_to_hang_needs_a_cut() {
    let hang = AttemptOutcome::TimedOut { which: Deadline::Idle };
    let cases = [
        ("hang = true", CancelReason::Deadline(Deadline::Idle), hang.clone()),
        ("hang_after_result = 'Done.'", CancelReason::AfterResult, AttemptOutcome::Finished),
    ];
    for (end, why, outcome) in cases {
        let stage = AgentEnv::with_script(&format!("[[attempt]]\nend = {{ {end} }}"));
        let mut agent = stage.rehearsal();
        let mut performance = RunningAttempt::start(&mut agent, attempt(1));
        performance.until_ready().await;
        if why == CancelReason::AfterResult {
            performance
                .until(|news| matches!(news, AgentNews::Pulse(pulse) if pulse.exiting))
                .await;
        }
        performance.attempt().cancel(why, Grace::Usual);
        assert_eq!(performance.finish().await.1.outcome, outcome, "{end}");
    }
    let stage = AgentEnv::with_script("[[attempt]]\nend = { hang_at_start = true }");
    let mut agent = stage.rehearsal();
    let mut performance = RunningAttempt::start(&mut agent, attempt(1));
    let news = performance.until(|news| matches!(news, AgentNews::Pulse(_))).await;
    let AgentNews::Pulse(pulse) = news else { unreachable!("it was waited for") };
    assert!(pulse.quiet > Duration::ZERO);
    performance.attempt().cancel(CancelReason::Deadline(Deadline::Start), Grace::Usual);
    let (before, report) = performance.finish().await;
    assert!(!before.iter().any(|news| matches!(news, AgentNews::Ready(_))), "{before:?}");
    assert_eq!(report.outcome, AttemptOutcome::TimedOut { which: Deadline::Start });
}

#[tokio::test]
async fn tools_really_work_and_their_failures_are_reported() {
    let stage = AgentEnv::with_script(
        r#"[[attempt]]
        cost = 0.12
        tokens = { input = 1000, output = 101, cache_read = 50, cache_write = 7 }
        steps = [
          { write = "src/a.txt", text = "one two" },
          { edit = "src/a.txt", old = "two", new = "three" },
          { edit = "src/a.txt", old = "nowhere", new = "x" },
          { run = "cat src/a.txt >copy; exit 4" },
          { read = "src/a.txt" },
          { denied = "WebFetch" },
          { quota = 81, window = "seven_day" },
          { garbage = "not json" },
          { flood = 100000 },
          { think = "<promise>COMPLETE</promise>" },
        ]
        end = { result = "Here you are.\n<promise>COMPLETE</promise>" }"#,
    );
    let mut agent = stage.rehearsal();
    let (news, report) = RunningAttempt::start(&mut agent, attempt(1)).finish().await;
    assert_eq!(report.outcome, AttemptOutcome::Finished);
    assert_eq!(fs::read_to_string(stage.project().join("src/a.txt")).unwrap(), "one three");
    assert_eq!(fs::read_to_string(stage.project().join("copy")).unwrap(), "one three");
    assert_eq!(report.cost, Usd::from_dollars(0.12));
    let tokens = report.tokens;
    assert_eq!((tokens.input, tokens.output), (1000, 101));
    assert_eq!((tokens.cache_read, tokens.cache_write), (50, 7));
    assert_eq!(report.denied.len(), 1);
    assert_eq!(report.denied[0].tool, "WebFetch");
    assert!(report.text_evidence.promise);
    assert!(report.stream.stdout_bytes > 100_000 && report.stream.bad_lines > 1000);
    assert!(news.contains(&AgentNews::Denied(report.denied[0].clone())), "{news:?}");
    let quota = |news: &AgentNews| matches!(news, AgentNews::Quota(quota) if quota.used == 81 && quota.window == QuotaWindow::SevenDay);
    assert!(news.iter().any(quota), "{news:?}");

    let raw = fs::read_to_string(stage.run_folder().join("output/001-1.ndjson")).unwrap();
    for wanted in ["Exit code 4", "String to replace not found", "1\\tone three"] {
        assert!(raw.contains(wanted), "{wanted} is not in the stream");
    }
}

#[tokio::test]
async fn an_attempt_that_is_killed_has_an_estimate_of_its_cost() {
    let stage = AgentEnv::with_script(
        "[[attempt]]\nmodel = 'claude-opus-5-5'\nsteps = [{ say = 'a' }, { say = 'b' }]\nend = { signal = 9 }",
    );
    let report = report(&mut stage.rehearsal(), attempt(1)).await;
    assert_eq!((report.tokens.input, report.tokens.output), (1200, 300));
    assert_eq!(report.cost, None);
    assert!(report.priced > Some(Usd::ZERO), "{:?}", report.priced);
}

#[tokio::test]
async fn a_link_never_leads_out_of_the_project() {
    let stage = AgentEnv::with_script(
        r#"[[attempt]]
        steps = [
          { write = "out/a.txt", text = "x" },
          { write = "file", text = "x" },
          { edit = "file", old = "secret", new = "x" },
          { read = "file" },
        ]"#,
    );
    let outside = tempfile::tempdir().unwrap();
    let secret = outside.path().join("secret");
    fs::write(&secret, "secret").unwrap();
    symlink(outside.path(), stage.project().join("out")).unwrap();
    symlink(&secret, stage.project().join("file")).unwrap();
    report(&mut stage.rehearsal(), attempt(1)).await;
    assert_eq!(fs::read_to_string(&secret).unwrap(), "secret");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
    let raw = fs::read_to_string(stage.run_folder().join("output/001-1.ndjson")).unwrap();
    assert_eq!(
        raw.matches("the path contains a link, or a file in place of a folder").count() / 2,
        4,
        "{raw}"
    );
}

#[tokio::test]
async fn scenes_are_played_in_order_and_the_last_one_repeats() {
    let stage = AgentEnv::with_script(
        r#"
        [[attempt]]
        end = { result = "one" }
        [[attempt]]
        end = { result = "two" }
        [[verify]]
        verdict = "no"
        reason = "not yet"
        missing = ["tests"]
        [[verify]]
        verdict = "yes"
        reason = "now"
        [[verify]]
        verdict = "unreadable"
        reason = "Hard to say."
        [[advise]]
        end = { result = "Read the error." }
        "#,
    );
    let mut agent = stage.rehearsal();
    for (number, text) in [(1, "one"), (2, "two"), (3, "two")] {
        assert_eq!(report(&mut agent, attempt(number)).await.text_evidence.summary, text);
    }
    // Answers are counted by purpose, so the advice between two verdicts uses up none of them.
    let mut answers = Vec::new();
    for (number, purpose) in
        [CallPurpose::Verify, CallPurpose::Advise, CallPurpose::Verify, CallPurpose::Verify]
            .into_iter()
            .enumerate()
    {
        let number = u32::try_from(number).unwrap() + 1;
        let report = report(&mut agent, call(number, purpose)).await;
        answers.push(match report.answer {
            Some(Answer::Verdict(verdict)) => {
                format!("{} {} {:?}", verdict.complete, verdict.reason, verdict.missing)
            }
            Some(Answer::Text { text }) => text,
            None => "none".to_owned(),
        });
    }
    assert_eq!(answers, ["false not yet [\"tests\"]", "Read the error.", "true now []", "none"]);
}

#[tokio::test]
async fn the_log_of_a_rehearsal_is_private() {
    let stage = AgentEnv::with_script("");
    let mut agent = stage.rehearsal();
    report(&mut agent, attempt(2)).await;
    report(&mut agent, call(1, CallPurpose::Review)).await;
    let asked = stage.asked();
    assert_eq!((&asked[0]["attempt"], &asked[0]["prompt"]), (&2.into(), &"Do the work.".into()));
    assert!(asked[0]["arguments"].as_array().unwrap().contains(&"stream-json".into()));
    assert_eq!((&asked[1]["call"], &asked[1]["purpose"]), (&1.into(), &"review".into()));
    assert_eq!(fs::metadata(stage.log()).unwrap().permissions().mode() & 0o777, 0o600);
}

#[tokio::test]
async fn the_log_of_a_rehearsal_is_never_written_through_a_link() {
    let stage = AgentEnv::with_script("");
    let target = stage.project().join("target");
    symlink(&target, stage.log()).unwrap();
    let report = report(&mut stage.rehearsal(), attempt(1)).await;
    let AttemptOutcome::BadStart { why } = &report.outcome else { panic!("{report:?}") };
    assert!(why.contains("cannot write"), "{why}");
    assert!(!target.exists());
}

#[tokio::test]
async fn without_a_script_it_claims_in_the_second_attempt_and_changes_nothing() {
    let stage = AgentEnv::new();
    fs::write(stage.project().join("a.txt"), "a").unwrap();
    let mut agent = stage.rehearsal();
    let first = report(&mut agent, attempt(1)).await;
    let second = report(&mut agent, attempt(2)).await;
    assert_eq!((&first.outcome, first.text_evidence.promise), (&AttemptOutcome::Finished, false));
    assert_eq!((&second.outcome, second.text_evidence.promise), (&AttemptOutcome::Finished, true));
    let verdict = report(&mut agent, call(1, CallPurpose::Verify)).await.answer;
    assert!(matches!(verdict, Some(Answer::Verdict(verdict)) if verdict.complete));
    assert_eq!(fs::read_dir(stage.project()).unwrap().count(), 1);
    assert_eq!(fs::read_to_string(stage.project().join("a.txt")).unwrap(), "a");
}

#[tokio::test]
async fn a_session_that_stays_open_answers_until_its_input_is_closed() {
    let mut stage = AgentEnv::with_script(
        "[[attempt]]\nreplies = ['I go on.']\nend = { result = 'Which one?' }",
    );
    stage.input = InputShape::Messages;
    let mut agent = stage.rehearsal();
    let mut performance = RunningAttempt::start(&mut agent, attempt(1));
    let turn_ended = |news: &AgentNews| matches!(news, AgentNews::TurnEnded { .. });
    performance.until(turn_ended).await;
    performance.attempt().send_message("The first one.".to_owned());
    performance.until(turn_ended).await;
    performance.attempt().close_input();
    let (_, report) = performance.finish().await;
    assert_eq!(report.outcome, AttemptOutcome::Finished);
    assert_eq!(report.text_evidence.summary, "I go on.");
    assert_eq!(report.cost, Some(Usd::from_cents(2)), "both turns are charged");
    let asked = stage.asked();
    assert_eq!(
        (&asked[0]["prompt"], &asked[1]["message"]),
        (&"Do the work.".into(), &"The first one.".into())
    );
}

#[tokio::test]
async fn an_answer_to_a_further_message_can_do_something() {
    let mut stage = AgentEnv::with_script(
        r#"[[attempt]]
        end = { result = "Which one?" }
        [[attempt.replies]]
        steps = [{ say = "The second, then." }, { write = "second.txt", text = "2" }]
        [[attempt.replies]]
        steps = [{ run = "exit 3" }]
        says = "There is no third."
        "#,
    );
    stage.input = InputShape::Messages;
    let mut agent = stage.rehearsal();
    let mut performance = RunningAttempt::start(&mut agent, attempt(1));
    let turn_ended = |news: &AgentNews| matches!(news, AgentNews::TurnEnded { .. });
    for message in ["You choose.", "Go on.", "And now?"] {
        performance.until(turn_ended).await;
        performance.attempt().send_message(message.to_owned());
    }
    performance.until(turn_ended).await;
    performance.attempt().close_input();
    let (_, report) = performance.finish().await;
    assert_eq!(fs::read_to_string(stage.project().join("second.txt")).unwrap(), "2");
    assert_eq!(report.text_evidence.summary, "There is no third.");
    assert_eq!((report.stream.results, report.stream.tool_calls), (4, 3), "the last one repeats");
    assert_eq!(report.stream.tool_errors, 2);
}

#[tokio::test]
async fn repeated_steps_are_played_that_many_times() {
    let stage = AgentEnv::with_script(
        r#"[[attempt]]
        steps = [
          { run = "echo a >>log", times = 3 },
          { repeat = [{ run = "echo b >>log" }, { run = "echo c >>log", times = 2 }], times = 2 },
          { compact = true, times = 4 },
        ]
        end = { result = "That was much." }"#,
    );
    let report = report(&mut stage.rehearsal(), attempt(1)).await;
    let log = fs::read_to_string(stage.project().join("log")).unwrap();
    assert_eq!(log.replace('\n', ""), "aaabccbcc");
    assert_eq!(report.stream.tool_calls, 9);
    assert_eq!((report.stream.bad_lines, report.stream.unknown_events), (0, 0));
    let raw = fs::read_to_string(stage.run_folder().join("output/001-1.ndjson")).unwrap();
    assert_eq!(raw.matches("\"compact_boundary\"").count(), 4);
}

#[test]
fn it_answers_for_its_version_and_wants_a_prompt() {
    let run = |arguments: &[&str]| {
        Command::new(NIGHTWRIGHT).args(arguments).env_clear().stdin(Stdio::null()).output().unwrap()
    };
    let version = run(&["rehearse", "--version"]);
    assert_eq!(String::from_utf8(version.stdout).unwrap(), "2.1.325 (nightwright rehearsal)\n");
    let nothing = run(&["rehearse", "--print"]);
    assert_eq!((nothing.status.code(), nothing.stdout.len()), (Some(1), 0));
    assert_eq!(
        String::from_utf8(nothing.stderr).unwrap(),
        "rehearsal: cannot read the prompt: it is empty\n"
    );
}

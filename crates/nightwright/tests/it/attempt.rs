//! Rules for every attempt, with a process or a script as the agent, and rules for processes only.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use nightwright::agent::Agent;
use nightwright_core::effect::Grace;
use nightwright_core::prompt::Prompt;
use nightwright_core::stream::news::{AgentNews, AttemptReport, Ready};
use nightwright_core::stream::outcome::{
    AttemptOutcome, CancelReason, Consequence, Deadline, ProcessExit,
};
use tokio::time::Instant;

use crate::agent_env::{AgentEnv, RunningAttempt, attempt, eventually, is_alive, report};
use crate::harness::soon_takes_less_than;
use crate::scripted_agent::{ScriptStep, ScriptedAgent, ScriptedEntry, ScriptedLog};

/// The time that an agent has after it was asked to exit.
const GRACE: Duration = Duration::from_secs(5);

/// The behavior of an agent in a test.
#[derive(Clone, Copy)]
enum Behaviour {
    Finishes,
    /// Reports that it is ready and then ignores requests to exit.
    HangsIgnoringSignals,
    CantStart,
}

/// One of the two agent implementations, with access to its input.
trait AgentKind {
    fn agent(&mut self, behaviour: Behaviour) -> Box<dyn Agent>;
    /// The prompts that the agent received completely.
    fn received(&self) -> Vec<String>;
}

#[derive(Default)]
struct ScriptedKind(ScriptedLog);

impl AgentKind for ScriptedKind {
    fn agent(&mut self, behaviour: Behaviour) -> Box<dyn Agent> {
        let finished = Box::new(AttemptReport::bare(AttemptOutcome::Finished));
        let agent = ScriptedAgent::new(match behaviour {
            Behaviour::Finishes => {
                vec![vec![ScriptStep::After(Duration::from_secs(1)), ScriptStep::Exit(finished)]]
            }
            Behaviour::HangsIgnoringSignals => {
                let ready = ScriptStep::News(AgentNews::Ready(Ready::default()));
                vec![vec![ScriptStep::IgnoreTerm, ready, ScriptStep::Hang]]
            }
            Behaviour::CantStart => Vec::new(),
        });
        self.0 = agent.log();
        Box::new(agent)
    }

    fn received(&self) -> Vec<String> {
        self.0.orders().into_iter().map(|order| order.prompt.user).collect()
    }
}

struct ProcessKind(AgentEnv);

impl AgentKind for ProcessKind {
    fn agent(&mut self, behaviour: Behaviour) -> Box<dyn Agent> {
        let script = match behaviour {
            Behaviour::Finishes => "[[attempt]]\nend = { result = 'Done.' }",
            Behaviour::HangsIgnoringSignals => {
                "[[attempt]]\nend = { hang = true, ignore_term = true }"
            }
            Behaviour::CantStart => return Box::new(self.0.agent("no-such-agent", Vec::new())),
        };
        self.0 = AgentEnv::with_script(script);
        Box::new(self.0.rehearsal())
    }

    fn received(&self) -> Vec<String> {
        let asked = self.0.asked();
        asked.iter().map(|line| line["prompt"].as_str().unwrap().to_owned()).collect()
    }
}

/// Runs a test with both implementations: the script in paused time, the process in real time.
macro_rules! on_both {
    ($($name:ident: $story:ident,)*) => {
        mod scripted {
            $(#[tokio::test(start_paused = true)]
            async fn $name() { super::$story(&mut super::ScriptedKind::default()).await; })*
        }
        mod process {
            $(#[tokio::test]
            async fn $name() { super::$story(&mut super::ProcessKind(super::AgentEnv::new())).await; })*
        }
    };
}

on_both! {
    an_attempt_reports_its_exit_once_and_last: exit_once_and_last,
    a_cut_ends_a_stubborn_one_after_its_grace: cut_with_grace,
    a_second_cut_takes_away_grace: second_cut,
    a_cut_without_grace_ends_it_at_once: cut_without_grace,
    the_whole_prompt_is_received: prompt_received,
    a_failed_start_is_news: failed_start,
    dropping_ends_it_in_silence: dropped,
}

async fn exit_once_and_last(house: &mut dyn AgentKind) {
    let mut agent = house.agent(Behaviour::Finishes);
    // `finish` fails if anything follows the exit.
    let (_, report) = RunningAttempt::start(&mut *agent, attempt(1)).finish().await;
    assert_eq!(report.outcome, AttemptOutcome::Finished);
}

async fn cut_with_grace(house: &mut dyn AgentKind) {
    let mut agent = house.agent(Behaviour::HangsIgnoringSignals);
    let mut performance = RunningAttempt::start(&mut *agent, attempt(1));
    performance.until_ready().await;
    let begin = Instant::now();
    performance.attempt().cancel(CancelReason::Deadline(Deadline::Idle), Grace::Usual);
    let (_, report) = performance.finish().await;
    assert_eq!(report.outcome, AttemptOutcome::TimedOut { which: Deadline::Idle });
    assert!(begin.elapsed() >= GRACE, "no grace: {:?}", begin.elapsed());
}

async fn second_cut(house: &mut dyn AgentKind) {
    soon_takes_less_than(GRACE, async || {
        let mut agent = house.agent(Behaviour::HangsIgnoringSignals);
        let mut performance = RunningAttempt::start(&mut *agent, attempt(1));
        performance.until_ready().await;
        let begin = Instant::now();
        performance.attempt().cancel(CancelReason::Limit, Grace::Usual);
        tokio::task::yield_now().await;
        performance.attempt().cancel(CancelReason::StopNow, Grace::None);
        let (_, report) = performance.finish().await;
        assert_eq!(report.outcome, AttemptOutcome::AttemptBudget, "the first reason counts");
        begin.elapsed()
    })
    .await;
}

async fn cut_without_grace(house: &mut dyn AgentKind) {
    soon_takes_less_than(GRACE, async || {
        let mut agent = house.agent(Behaviour::HangsIgnoringSignals);
        let mut performance = RunningAttempt::start(&mut *agent, attempt(1));
        performance.until_ready().await;
        let begin = Instant::now();
        performance.attempt().cancel(CancelReason::StopNow, Grace::None);
        let (_, report) = performance.finish().await;
        assert_eq!(report.outcome, AttemptOutcome::Interrupted);
        begin.elapsed()
    })
    .await;
}

async fn prompt_received(house: &mut dyn AgentKind) {
    let mut agent = house.agent(Behaviour::Finishes);
    let user = format!("First line\n{}last line", "x".repeat(300_000));
    let prompt = Prompt { system: "Be brief.".to_owned(), user };
    let mut order = attempt(1);
    order.prompt = prompt.clone();
    assert_eq!(report(&mut *agent, order).await.outcome, AttemptOutcome::Finished);
    assert_eq!(house.received(), [prompt.user]);
}

async fn failed_start(house: &mut dyn AgentKind) {
    let mut agent = house.agent(Behaviour::CantStart);
    let (before, report) = RunningAttempt::start(&mut *agent, attempt(1)).finish().await;
    assert_eq!(before, []);
    assert_ne!(report.outcome.consequence(), Consequence::Assess, "{:?}", report.outcome);
}

async fn dropped(house: &mut dyn AgentKind) {
    let mut agent = house.agent(Behaviour::HangsIgnoringSignals);
    let mut performance = RunningAttempt::start(&mut *agent, attempt(1));
    performance.until_ready().await;
    performance.let_go();
    while let Some(news) = performance.next().await {
        assert!(!matches!(news, AgentNews::Exited(_)), "it was not silent");
    }
}

#[tokio::test(start_paused = true)]
async fn a_scripted_agent_logs_its_requests() {
    let mut agent = ScriptedAgent::new([vec![ScriptStep::Hang]]);
    let log = agent.log();
    let performance = RunningAttempt::start(&mut agent, attempt(1));
    performance.attempt().send_message("go on".to_owned());
    performance.attempt().close_input();
    performance.attempt().cancel(CancelReason::StopNow, Grace::Usual);
    assert_eq!(performance.finish().await.1.outcome, AttemptOutcome::Interrupted);
    let entries = log.entries();
    assert!(
        matches!(&entries[..], [
            ScriptedEntry::Started(_),
            ScriptedEntry::Sent(text),
            ScriptedEntry::InputClosed,
            ScriptedEntry::Cut(CancelReason::StopNow, Grace::Usual),
        ] if text == "go on"),
        "{entries:?}"
    );
}

#[tokio::test]
async fn a_missing_claude_is_reported_in_the_known_words() {
    let stage = AgentEnv::new();
    let report = report(&mut stage.agent("/nowhere/claude", Vec::new()), attempt(1)).await;
    let why = "Claude CLI not found. Make sure 'claude' is installed and in PATH.".to_owned();
    assert_eq!(report.outcome, AttemptOutcome::BadStart { why });
}

#[tokio::test]
async fn a_prompt_beyond_what_the_program_takes_is_refused_with_that_reason() {
    let stage = AgentEnv::new();
    let mut order = attempt(1);
    order.prompt.user = "x".repeat(10_000_001);
    let report = report(&mut stage.shell("exit 0"), order).await;
    let why = "the prompt is 10000001 bytes long, but the agent accepts at most 10 MB".to_owned();
    assert_eq!(report.outcome, AttemptOutcome::NotStarted { why });
}

#[tokio::test]
async fn an_unread_prompt_blocks_nothing() {
    let stage = AgentEnv::new();
    let mut order = attempt(1);
    order.prompt.user = "x".repeat(5_000_000);
    let report = report(&mut stage.shell("exit 3"), order).await;
    assert_eq!(report.outcome, AttemptOutcome::Crashed { how: ProcessExit::Code(3) });
}

#[tokio::test]
async fn a_prompt_that_looks_like_a_command_of_the_program_is_not_run_as_one() {
    let stage = AgentEnv::with_script("");
    let mut order = attempt(1);
    order.prompt.user = "/usage".to_owned();
    report(&mut stage.rehearsal(), order).await;
    assert_eq!(stage.asked()[0]["prompt"], "This is your task:\n/usage");
}

#[tokio::test]
async fn remaining_processes_of_the_group_are_killed_with_the_attempt() {
    let stage = AgentEnv::new();
    // The agent leaves a child that keeps the pipes open.
    let mut agent = stage.shell("cat >/dev/null; sleep 1000 & echo $! >sleeper; exit 5");
    let report = report(&mut agent, attempt(1)).await;
    assert_eq!(report.outcome, AttemptOutcome::Crashed { how: ProcessExit::Code(5) });
    let sleeper = fs::read_to_string(stage.project().join("sleeper")).unwrap();
    assert!(!is_alive(&sleeper), "a process outlived its attempt");
}

#[tokio::test]
async fn dropping_an_attempt_kills_its_group() {
    let stage = AgentEnv::new();
    let mut agent = stage.shell("trap '' TERM; sleep 1000 & echo $! >sleeper; echo {}; wait");
    let mut performance = RunningAttempt::start(&mut agent, attempt(1));
    performance.until(|news| matches!(news, AgentNews::Pulse(_))).await;
    let sleeper = fs::read_to_string(stage.project().join("sleeper")).unwrap();
    assert!(is_alive(&sleeper));
    drop(performance);
    eventually("the group is gone", || !is_alive(&sleeper)).await;
}

#[tokio::test]
async fn raw_output_is_kept_byte_for_byte_in_a_private_file() {
    let stage = AgentEnv::new();
    let mut agent =
        stage.shell(r#"printf 'no json\n\000\377\n{"type":"x"}\nno end'; echo oops >&2"#);
    let report = report(&mut agent, attempt(3)).await;
    let path = stage.run_folder().join("output/003-1.ndjson");
    assert_eq!(fs::read(&path).unwrap(), b"no json\n\0\xff\n{\"type\":\"x\"}\nno end");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!((report.stream.stdout_bytes, report.stream.stderr_bytes), (30, 5));
    assert_eq!(report.stream.bad_lines, 3);
}

#[tokio::test]
async fn raw_output_that_cannot_be_kept_is_reported_once_and_ends_nothing() {
    let stage = AgentEnv::with_script("[[attempt]]\nend = { result = 'Done.' }");
    fs::create_dir(stage.run_folder()).unwrap();
    fs::write(stage.run_folder().join("output"), "in the way").unwrap();
    let mut agent = stage.rehearsal();
    let mut troubles = Vec::new();
    for number in [1, 2] {
        let mut performance = RunningAttempt::start(&mut agent, attempt(number));
        while let Some(news) = performance.next().await {
            if let AgentNews::Exited(report) = news {
                assert_eq!(report.outcome, AttemptOutcome::Finished);
            }
        }
        troubles.append(&mut performance.troubles);
    }
    assert_eq!(troubles.len(), 1, "{troubles:?}");
    assert!(troubles[0].starts_with("cannot write the agent's raw output to"), "{troubles:?}");
}

#[tokio::test]
async fn the_environment_is_what_is_allowed_and_what_names_the_attempt() {
    let stage = AgentEnv::new();
    report(&mut stage.shell("cat >/dev/null; env >env"), attempt(4)).await;
    let text = fs::read_to_string(stage.project().join("env")).unwrap();
    let value = |name: &str| {
        text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('=').map(str::to_owned))
    };
    for (name, wanted) in [
        ("NIGHTWRIGHT_ATTEMPT", "4"),
        ("NIGHTWRIGHT_ITERATION", "4"),
        ("NIGHTWRIGHT_RUN_ID", "run-7"),
        ("NIGHTWRIGHT_TASK", "tidy"),
        ("CLAUDE_CODE_MAX_RETRIES", "2"),
    ] {
        assert_eq!(value(name).as_deref(), Some(wanted), "{name}");
    }
    assert!(value("NIGHTWRIGHT_MARK").unwrap().starts_with("run-7.4."));
    for name in ["SECRET_OF_OURS", "CLAUDECODE", "CARGO_BIN_NAME", "NIGHTWRIGHT_CALL"] {
        assert_eq!(value(name), None, "{name}");
    }
    let temp = value("TMPDIR").unwrap();
    assert!(temp.ends_with("/4"), "{temp}");
    assert_eq!(value("CLAUDE_CODE_TMPDIR").as_deref(), Some(temp.as_str()));
}

#[tokio::test]
async fn only_the_end_of_standard_error_is_kept_and_it_explains_a_bad_start() {
    let stage = AgentEnv::new();
    let script = "exec >&2; i=0; while [ $i -lt 2000 ]; do echo 0123456789; i=$((i+1)); done; \
                  echo no key; exit 1";
    let report = report(&mut stage.shell(script), attempt(1)).await;
    assert_eq!(report.stream.stderr_bytes, 22_007);
    let AttemptOutcome::BadStart { why } = &report.outcome else { panic!("{report:?}") };
    assert!(why.ends_with("no key") && why.len() < 17_000, "{} bytes", why.len());
}

#[tokio::test]
async fn the_system_prompt_is_given_as_a_file() {
    let stage = AgentEnv::with_script("");
    let mut order = attempt(1);
    order.prompt.system = "Be brief.".to_owned();
    report(&mut stage.rehearsal(), order).await;
    assert_eq!(stage.asked()[0]["system"], "Be brief.");
}

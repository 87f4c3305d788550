//! Every `next:` and `hint:` command works as printed: each is run in a shell, in a project whose
//! run ended with that outcome.

use std::collections::BTreeSet;
use std::fs;

use nightwright_core::event::{Event, OperatorEvent, Record, RunEvent};
use nightwright_core::journal::encode;
use nightwright_core::outcome::{Outcome, Proof, samples};
use nightwright_core::run_view::{NextStep, RunView};
use nightwright_core::units::RunId;

use super::agent_program::program;
use super::harness::{Output, RunningCommand, TestEnv, finish, names, run_outcome};
use super::sandbox::is_usable;

/// A script whose first attempt is given and whose second completes the work.
fn script(first: &str) -> String {
    format!(
        "{first}\n[[attempt]]\ncost = 0.10\ntokens = {{ input = 100, output = 50 }}\nsteps = [{{ write = \"done.txt\", text = \"1\" }}]\n\
         end = {{ result = \"Done.\\n<promise>COMPLETE</promise>\" }}\n"
    )
}

/// The check of the runs.
const CHECK: &[&str] = &["--verify", "test -e done.txt"];

/// A project with a run that has ended.
struct EndedRun {
    env: TestEnv,
    /// The output of the run; `None` if its journal was rewritten.
    output: Option<String>,
    /// The work of a person before the next step, such as installing a program.
    repair: fn(&TestEnv),
}

/// An environment with this configuration, without the cost of a model's verdict.
fn configured(text: &str) -> TestEnv {
    let env = TestEnv::new();
    let folder = env.path("home/.config/nightwright");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.toml"), format!("verify.model = \"off\"\n{text}")).unwrap();
    env
}

impl EndedRun {
    /// Runs a script with this first attempt.
    fn by(first: &str, more: &[&str]) -> Self {
        let most = if more.starts_with(&["-m"]) { &[][..] } else { &["-m", "9"] };
        Self::of(configured(""), &[&["run", "-p", "x"], CHECK, most, more].concat(), &script(first))
    }

    /// Runs a command with this script.
    fn of(env: TestEnv, command: &[&str], script: &str) -> Self {
        let script = env.script(script);
        let options = ["--no-delay", "--dry-run", "--rehearsal", &script];
        let said = env.run(&[command, &options].concat()).err;
        Self { env, output: Some(said), repair: |_| {} }
    }

    /// Returns a build with a plan whose first iterations do nothing.
    fn idle_build() -> Self {
        let env = configured("");
        env.file("IMPLEMENTATION_PLAN.md", "- [ ] one\n");
        let idle = "[[attempt]]\nend = { result = \"Hm.\" }\n".repeat(2);
        let works = "[[attempt]]\nsteps = [{ write = 'done.txt', text = '1' }, \
                     { write = 'IMPLEMENTATION_PLAN.md', text = '- [x] one' }]\n";
        Self::of(env, &[&["build", "-m", "9"], CHECK].concat(), &format!("{idle}{works}"))
    }

    /// Returns a task whose status file says first that it failed, and then that it is complete.
    fn failed_task() -> Self {
        let env = configured("");
        env.run(&["new", "t", "--mode", "iterative"]).exits(0);
        env.file(".nightwright/tasks/t/INSTRUCTIONS.md", "Write done.txt.\n");
        let attempt = |status: &str, file: &str| {
            format!(
                "[[attempt]]\nsteps = [{{ write = '{file}', text = '1' }}, \
                 {{ write = '.nightwright/tasks/t/.status.json', text = '{status}' }}]\n"
            )
        };
        let script = [
            attempt(r#"{"status": "failed", "summary": "no"}"#, "1.txt"),
            attempt(r#"{"complete": true, "summary": "yes"}"#, "done.txt"),
        ];
        Self::of(env, &[&["run", "t", "-m", "9"], CHECK].concat(), &script.concat())
    }

    /// Returns a run that was asked to stop after its first iteration.
    fn stopped(stop: &[&str]) -> Self {
        let env = TestEnv::new();
        let first = "[[attempt]]\ncost = 0.10\nsteps = [{ write = \"1.txt\", text = \"1\" }]\n\
                     end = { result = \"One.\" }";
        let script = env.script(&script(first));
        let run = ["run", "-p", "x", "-m", "9", "-d", "1h", "--verify", "test -e done.txt"];
        let child = env.start(&[&run[..], &["--dry-run", "--rehearsal", &script]].concat());
        env.wait_for("iteration_finished");
        env.run(stop).exits(0);
        Self { output: Some(finish(child).err), env, repair: |_| {} }
    }

    /// Replaces the outcome in the journal.
    fn rewritten(self, outcome: &Outcome) -> Self {
        let ended = self;
        let path = ended.env.runs()[0].join("journal.jsonl");
        let text = fs::read_to_string(&path).unwrap();
        let (before, _) = text.trim_end().rsplit_once('\n').unwrap();
        let Some(Record { at, active, event: Event::Run(RunEvent::Finished { totals, .. }) }) =
            ended.env.journal().pop()
        else {
            panic!("it has ended")
        };
        let event = Event::Run(RunEvent::Finished { outcome: outcome.clone(), note: None, totals });
        let record = Record { at, active, event };
        let mut line = Vec::new();
        let number = u64::try_from(before.lines().count() + 1).unwrap();
        encode(&mut line, number, &ended.run(), &record);
        fs::write(&path, [before.as_bytes(), b"\n", &line].concat()).unwrap();
        ended.env.reseal();
        Self { output: None, ..ended }
    }

    fn run(&self) -> RunId {
        let runs = self.env.runs();
        RunId(runs[0].file_name().unwrap().to_str().unwrap().to_owned())
    }

    fn steps(&self) -> Vec<NextStep> {
        RunView::of(&self.env.journal()).summary(&self.run()).next
    }
}

/// A run with this outcome, produced by the rehearsal agent if possible, else by a rewritten
/// journal. Every new outcome must be added here.
fn ended(outcome: &Outcome) -> EndedRun {
    let attempt = |end: &str| format!("[[attempt]]\ncost = 0.10\nend = {{ {end} }}");
    let by = |end: &str, more: &[&str]| EndedRun::by(&attempt(end), more);
    match outcome {
        Outcome::Completed { proof: Proof::Checks, .. } => EndedRun::by("", &[]),
        Outcome::Blocked { .. } => {
            let wants = "[[attempt]]\nsteps = [{ denied = \"Bash\", command = \"kubectl get pods\" }]\n\
                         end = { result = \"I may not look.\" }\n";
            EndedRun::by(&wants.repeat(2), &[])
        }
        Outcome::Stagnated { .. } => by("result = \"Hm.\"", &["--stagnation-threshold", "1"]),
        Outcome::MaxIterations { .. } => by("result = \"Hm.\"", &["-m", "1"]),
        Outcome::MaxCost { .. } => by("result = \"Hm.\"", &["--max-cost", "0.05"]),
        Outcome::MaxTokens { .. } => by("result = \"Hm.\"", &["--max-tokens", "100"]),
        Outcome::Unverified { .. } => {
            let claim = attempt("result = \"<promise>COMPLETE</promise>\"");
            EndedRun::by(&[&claim[..]; 3].join("\n"), &["--stagnation-threshold", "0"])
        }
        Outcome::Auth { .. } => by("auth = \"not logged in\"", &[]),
        Outcome::BadAgent { .. } => by("no_model = true", &["--model", "opsu"]),
        Outcome::LimitWaitTooLong { .. } => by("limit = \"40h\"", &[]),
        Outcome::Stopped => EndedRun::stopped(&["stop"]),
        Outcome::Interrupted => EndedRun::stopped(&["stop", "--now"]),
        Outcome::NoChanges { .. } => EndedRun::idle_build(),
        Outcome::Failed { .. } => EndedRun::failed_task(),
        Outcome::MaxDuration { .. } => {
            // The reserve leaves time only for a wrap-up.
            let command = [&["run", "-p", "x", "--max-duration", "2m"], CHECK].concat();
            let hm = script(&attempt("result = \"Hm.\""));
            EndedRun::of(configured("limits.reserve = 80\n"), &command, &hm)
        }
        Outcome::Completed { proof: Proof::Model, .. } => {
            EndedRun::of(TestEnv::new(), &["run", "-p", "x", "-m", "9"], &script(""))
        }
        Outcome::Completed { proof: Proof::None, .. } => {
            EndedRun::of(configured(""), &["run", "-p", "x", "-m", "9"], &script(""))
        }
        Outcome::ConsecutiveErrors { .. } => {
            let crashes = format!("{}\n", attempt("crash = 3")).repeat(3);
            EndedRun::by(&crashes, &["--max-retries", "0"])
        }
        Outcome::AllIterationsFailed { .. } => by("refuse = true", &["-m", "1"]),
        Outcome::ChecksCannotRun { .. } => EndedRun {
            repair: |env| drop(program(env, "not-there-yet", "#!/bin/sh\n")),
            ..EndedRun::by("", &["--verify", "not-there-yet"])
        },
        Outcome::Impossible { .. }
        | Outcome::CheckNeedsHost { .. }
        | Outcome::HookAbort { .. }
        | Outcome::DiskFull { .. }
        | Outcome::ProjectUnresponsive { .. }
        | Outcome::JournalFailed { .. }
        | Outcome::JournalDamaged { .. }
        | Outcome::SandboxFailed { .. } => by("auth = \"not logged in\"", &[]).rewritten(outcome),
    }
}

/// Runs a command line from a hint and checks its effect.
fn paste(env: &TestEnv, line: &str) {
    let before = env.journal().len();
    let verb = line.split_whitespace().nth(1).unwrap();
    if verb == "sandbox" && !is_usable() {
        return;
    }
    let output = env.paste(line).exits(0);
    match verb {
        "resume" => {
            let journal = env.journal();
            assert_eq!(names(&journal)[before], "run_continued", "{line}\n{}", output.err);
            assert_eq!(run_outcome(&journal), "completed", "{line}\n{}", output.err);
            assert!(env.project().join("done.txt").exists(), "{line}");
        }
        "config" => assert!(output.err.contains("sandbox.write = [\"/srv/e2e\"]"), "{line}"),
        "log" | "report" | "sandbox" => assert!(!output.out.is_empty(), "{line} prints nothing"),
        other => panic!("nobody knows what `{other}` should do: {line}"),
    }
}

/// One test per outcome, so that they run in parallel.
macro_rules! every_next_command_works_as_printed_after {
    ($($name:ident)*) => {
        mod every_next_command_works_as_printed_after {
            $(#[test]
            fn $name() {
                super::every_step_works_after(stringify!($name));
            })*
        }

        const OUTCOMES: &[&str] = &[$(stringify!($name)),*];
    };
}

every_next_command_works_as_printed_after! {
    completed
    stagnated
    no_changes
    blocked
    impossible
    unverified
    max_iterations
    max_cost
    max_duration
    max_tokens
    stopped
    interrupted
    failed
    consecutive_errors
    all_iterations_failed
    auth
    bad_agent
    checks_cannot_run
    check_needs_host
    hook_abort
    limit_wait_too_long
    disk_full
    project_unresponsive
    journal_failed
    journal_damaged
    sandbox_failed
}

#[test]
fn the_next_commands_of_every_outcome_are_tried() {
    let all: BTreeSet<_> = samples().iter().map(Outcome::name).collect();
    assert_eq!(all, OUTCOMES.iter().copied().collect());
}

fn every_step_works_after(name: &str) {
    let unverified = [Proof::Model, Proof::None].map(Outcome::completed);
    for outcome in samples().into_iter().chain(unverified).filter(|it| it.name() == name) {
        every_step_works(&outcome);
    }
}

fn every_step_works(outcome: &Outcome) {
    let steps = ended(outcome).steps();
    assert!(!steps.is_empty(), "{outcome}: nothing to do next");
    for (index, step) in steps.iter().enumerate() {
        // Each command gets a separate run, because the first one may change everything.
        let again = ended(outcome);
        assert_eq!(run_outcome(&again.env.journal()), outcome.name());
        let same = &again.steps()[index];
        if let Some(said) = &again.output {
            assert!(said.contains(&same.to_string()), "`{same}` is not in:\n{said}");
        }
        assert_eq!(step.text, same.text);
        match &same.command {
            Some(line) => {
                (again.repair)(&again.env);
                paste(&again.env, line);
            }
            None => assert!(!same.text.contains("nightwright "), "a command in words: {same}"),
        }
    }
}

/// The command line of a hint.
fn hint(output: &Output) -> String {
    let hint = output.err.lines().find_map(|line| line.strip_prefix("hint: "));
    let hint = hint.unwrap_or_else(|| panic!("no hint in:\n{}", output.err));
    let command = hint.split('`').find(|part| part.starts_with("nightwright "));
    command.unwrap_or_else(|| panic!("no command in `{hint}`")).to_owned()
}

#[test]
fn the_hint_of_a_limit_names_the_option_and_works_as_printed() {
    let hm = "[[attempt]]\ncost = 0.10\nend = { result = \"Hm.\" }";
    for (options, message) in [
        (["-m", "1"], "ended because it reached 1 iteration"),
        (["--max-cost", "0.05"], "ended because it reached a cost of $0.05"),
        (["--max-tokens", "100"], "ended because it reached 100 tokens"),
    ] {
        let env = EndedRun::by(hm, &options).env;
        let before = run_outcome(&env.journal());
        for arguments in [&["resume"][..], &["resume", "--again"], &["resume", "--model", "opus"]] {
            let output = env.run(arguments).exits(1).says(&[message, "to raise the limit"]);
            assert_eq!(run_outcome(&env.journal()), before, "{}", output.err);
        }
        let line = hint(&env.run(&["resume"]));
        paste(&env, &line);
    }
}

#[test]
fn a_limit_that_is_too_low_is_compared_with_what_was_used_and_the_hint_raises_it() {
    let env = EndedRun::by("[[attempt]]\ncost = 0.10\nend = { result = \"Hm.\" }", &[]).env;
    for (limit, fact, option) in [
        (
            ["-m", "1"],
            "its limit is 1 iteration, and it has used 2 iterations",
            "--max-iterations 4",
        ),
        (
            ["--max-cost", "0.10"],
            "its limit is a cost of $0.10, and it has used $0.2",
            "--max-cost 0.4",
        ),
    ] {
        let output = env.run(&[&["resume", "--again"][..], &limit].concat()).exits(1);
        let output = output.says(&[&format!("cannot continue: {fact}")]);
        assert!(hint(&output).contains(option), "{}", output.err);
    }
    let output = env.run(&["resume", "--again", "-m", "1"]);
    paste(&env, &hint(&output));
}

#[test]
fn a_completed_run_continues_by_the_hint_and_only_then() {
    let env = EndedRun::by("", &[]).env;
    let output = env.run(&["resume", "-m", "12"]).exits(1).says(&["has completed"]);
    paste(&env, &hint(&output));
}

#[test]
fn a_project_elsewhere_is_in_the_command() {
    let env = TestEnv::new();
    let script = env.script(&script("[[attempt]]\nend = { auth = \"no\" }"));
    let project = env.project().display().to_string();
    let elsewhere = |arguments: &[&str]| {
        let mut command = env.command(arguments);
        finish(command.current_dir(env.path("home")).spawn().unwrap())
    };
    let run = ["run", "-C", &project, "-p", "x", "-m", "1", "--dry-run", "--rehearsal", &script];
    let output = elsewhere(&run);
    let next = output.err.lines().find(|line| line.contains("next: ")).unwrap();
    let there = format!("nightwright -C {} resume ", env.word("project"));
    assert!(next.contains(&there), "{next}");
    let output = elsewhere(&["resume", "-C", &project]).exits(1);
    assert!(hint(&output).starts_with(&there), "{}", output.err);
    let output = elsewhere(&["status", "-C", &project]).exits(0);
    assert!(!output.out.contains("nightwright resume"), "{}", output.out);
}

#[test]
fn hints_about_runs_that_are_gone_or_alive_work_as_printed() {
    // `tell` without a message.
    let stopped = EndedRun::stopped(&["stop"]);
    let run = stopped.run().0;
    let output = stopped.env.run(&["tell", &run]).exits(2).says(&["no message for run"]);
    stopped.env.paste(&hint(&output)).exits(1).says(&["has ended: stopped"]);

    // `resume` without any run.
    let env = TestEnv::new();
    let output = env.run(&["resume"]).exits(1);
    let line = hint(&output);
    let mut rehearsed = line.clone();
    rehearsed.push_str(" --dry-run");
    env.paste(&rehearsed).exits(0);

    // The hint for a live run stops it.
    let env = TestEnv::new();
    let hang = env.script("[[attempt]]\nend = { hang = true }");
    let run = ["run", "-p", "x", "-m", "1", "--dry-run", "--rehearsal", &hang];
    let child = env.start(&run);
    env.wait_for("agent_ready");
    let output = env.run(&["resume", "-m", "3"]).exits(1).says(&["settings cannot change now"]);
    env.paste(&hint(&output)).exits(0);
    env.wait_for("stop_requested");
    env.run(&["stop", "--now"]).exits(0);
    finish(child).exits(130);
}

#[test]
fn a_denied_command_is_allowed_by_the_printed_next_step() {
    let EndedRun { env, output, .. } = ended(&Outcome::Blocked { needs: String::new() });
    allow_what_was_denied(&env, &output.unwrap());
}

#[test]
fn a_denied_command_can_be_allowed_whatever_else_ended_the_run() {
    // The agent also does other work after the denial.
    let denied = "[[attempt]]\nsteps = [{ denied = \"Bash\", command = \"kubectl get pods\" }, \
                  { write = \"1.txt\", text = \"1\" }]\nend = { result = \"Hm.\" }\n";
    let idle = format!("{denied}[[attempt]]\nend = {{ result = \"Hm.\" }}");
    let stagnated = EndedRun::by(&idle, &["--stagnation-threshold", "1"]);
    let claim = "[[attempt]]\nend = { result = \"<promise>COMPLETE</promise>\" }\n";
    let claims = format!("{denied}{}", claim.repeat(3));
    let unverified = EndedRun::by(&claims, &["--stagnation-threshold", "0"]);
    let denied = EndedRun::by(denied, &["-m", "1"]);
    let failed = denied.rewritten(&Outcome::Failed { why: "no".to_owned() });
    for (ended, outcome) in
        [(stagnated, "stagnated"), (unverified, "unverified"), (failed, "failed")]
    {
        assert_eq!(run_outcome(&ended.env.journal()), outcome, "{:?}", ended.output);
        let said = ended.steps().last().unwrap().to_string();
        if let Some(printed) = &ended.output {
            assert!(printed.contains(&said), "{printed}");
        }
        allow_what_was_denied(&ended.env, &said);
    }
}

/// Runs the next step that allows the denied command.
fn allow_what_was_denied(env: &TestEnv, said: &str) {
    let next = said.lines().find(|line| line.contains("allow the denied commands and continue: "));
    let next = next.unwrap_or_else(|| panic!("no such step in:\n{said}"));
    let line = &next[next.find("nightwright ").unwrap()..];
    assert!(line.ends_with("--allowed-tools \"Bash(kubectl get:*)\""), "{line}");
    paste(env, line);
    let allowed = env.journal().into_iter().find_map(|record| match record.event {
        Event::Operator(OperatorEvent::SettingsChanged { change, .. }) => Some(change.sentence()),
        _ => None,
    });
    let sentence = "agent.allowed_tools: added Bash(kubectl get:*)";
    assert_eq!(allowed.as_deref(), Some(sentence));
}

/// The first next step: its text and its command line.
fn next_step(said: &str) -> (&str, &str) {
    let next = said.lines().find_map(|line| line.trim_start().strip_prefix("next: ")).unwrap();
    next.split_once(": nightwright ").map(|(words, _)| (words, &next[words.len() + 2..])).unwrap()
}

#[test]
fn a_command_of_several_lines_is_allowed_only_with_every_other_and_that_is_said() {
    let wants = "[[attempt]]\nsteps = [{ denied = \"Bash\", command = \"bash -c 'cd web\\nmake'\" }]\n\
                 end = { result = \"I may not build.\" }\n";
    let EndedRun { env, output, .. } = EndedRun::by(&wants.repeat(2), &[]);
    let output = output.unwrap();
    assert!(!output.contains("Bash(bash"), "a rule that cannot be pasted:\n{output}");
    let (words, line) = next_step(&output);
    assert_eq!(words, "allow any command and continue");
    assert!(line.ends_with("--allowed-tools \"Bash\""), "{line}");
    paste(&env, line);
}

#[test]
fn guidance_in_the_named_file_reaches_the_agent_of_a_resumed_run() {
    let EndedRun { env, output, .. } = ended(&Outcome::Stagnated { idle: 1, failing: None });
    let output = output.unwrap();
    let (words, line) = next_step(&output);
    let file = words.split('`').nth(1).unwrap_or_else(|| panic!("no file in `{words}`"));
    env.file(file, "Start with the parser.\n");
    paste(&env, line);
    let asked = env.asked();
    let last = asked.iter().rfind(|line| line["part"] == "attempt").unwrap();
    assert!(last["prompt"].as_str().unwrap().contains("Start with the parser."), "{last}");
}

/// A run whose first attempt hangs and whose second does the work.
fn hanging(env: &TestEnv) -> RunningCommand {
    let hang = script("[[attempt]]\nsteps = [{ say = \"one\" }]\nend = { hang = true }");
    let script = env.script(&hang);
    let run = ["run", "-p", "x", "-m", "9", "--verify", "test -e done.txt", "--dry-run"];
    let child = env.start(&[&run[..], &["--rehearsal", &script]].concat());
    env.wait_for("agent_ready");
    child
}

/// The command in the output of `status` for this step.
fn step(env: &TestEnv, text: &str) -> String {
    let page = env.run(&["status"]).exits(0).out;
    let line = page.lines().find(|line| line.contains(text));
    let line = line.unwrap_or_else(|| panic!("no `{text}` in:\n{page}"));
    line[line.find("nightwright ").unwrap()..].to_owned()
}

#[test]
fn every_next_command_of_a_run_that_is_running_works_as_printed() {
    let env = TestEnv::new();
    let child = hanging(&env);
    let follow = step(&env, "follow its log: ");
    let follow = RunningCommand::from(env.shell(&follow).spawn().unwrap());
    env.paste(&step(&env, "send a message to the agent: ")).exits(0);
    env.run(&["pause"]).exits(0);
    env.wait_for("run_paused");
    env.paste(&step(&env, "resume the run: ")).exits(0);
    env.wait_for("run_resumed");
    env.paste(&step(&env, "stop it after this iteration: ")).exits(0);
    env.wait_for("stop_requested");
    env.run(&["stop", "--now"]).exits(0);
    finish(child).exits(130);
    assert!(finish(follow).exits(0).out.contains("TEXT"), "the log has what was said");
}

#[test]
fn every_next_command_of_a_crashed_run_works_as_printed() {
    let env = TestEnv::new();
    let mut child = hanging(&env);
    child.kill().unwrap();
    child.wait().unwrap();
    paste(&env, &step(&env, "resume the crashed run: "));
    // The same with a damaged journal.
    let path = env.runs()[0].join("journal.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("iteration_started", "iteration_", 1)).unwrap();
    let log = step(&env, "read the log: it may contain events that the journal lacks: ");
    assert!(!env.paste(&log).exits(0).out.is_empty());
}

#[test]
fn errors_are_shown_at_every_level() {
    let env = TestEnv::new();
    let check = ["--verify", "no-such-program-here", "-q"];
    let output = env.rehearse(&script(""), "9", &check).exits(2);
    assert_eq!(run_outcome(&env.journal()), "checks_cannot_run");
    output.says(&["error: Not started: `no-such-program-here` cannot run"]);
}

//! Hooks of the user: what they receive, and how they affect a run.

mod finished;
mod harm;
mod processes;

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use nightwright_core::event::{Event, NoteEvent};
use rustix::process::{Pid, Signal, kill_process};

use super::git::git;
use super::harness::{Output, RunningCommand, TestEnv, finish, names, run_outcome, shell_path};

/// Works once and claims completion.
const WORKS: &str = r#"
[[attempt]]
steps = [{ write = "a.txt", text = "a" }]
end = { result = "<promise>COMPLETE</promise>" }
"#;

/// Works in every iteration and never claims completion.
const GOES_ON: &str = r#"
[[attempt]]
steps = [{ run = "echo more >> a.txt" }]
end = { result = "Some of it." }
"#;

/// A script whose agent does nothing.
const IDLES: &str = r#"
[[attempt]]
end = { result = "I looked at it." }
"#;

/// A project with a folder for the output of hooks.
fn project() -> TestEnv {
    let env = TestEnv::new();
    fs::create_dir_all(env.project().join(".nightwright/hooks")).unwrap();
    fs::create_dir(env.path("seen")).unwrap();
    env
}

/// Writes a hook into the project. `SEEN` in its text is the folder for its output.
fn hook(env: &TestEnv, name: &str, text: &str) {
    file(env, name, &format!("#!/bin/sh\n{text}\n"), 0o755);
}

fn file(env: &TestEnv, name: &str, text: &str, mode: u32) {
    let path = env.project().join(".nightwright/hooks").join(name);
    fs::write(&path, text.replace("SEEN", "../seen")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
}

fn command(env: &TestEnv, script: &str, more: &[&str]) -> Command {
    let script = env.script(script);
    let first = ["run", "-p", "do it", "--no-delay", "--yes", "--dry-run", "--rehearsal"];
    env.command(&[&first[..], &[&script], more].concat())
}

fn run(env: &TestEnv, script: &str, more: &[&str]) -> Output {
    finish(command(env, script, more).spawn().unwrap())
}

fn seen(env: &TestEnv, name: &str) -> String {
    fs::read_to_string(env.path("seen").join(name)).unwrap_or_default()
}

/// The failed hooks and their reasons, from the journal.
fn failures(env: &TestEnv) -> Vec<(String, String)> {
    let events = env.journal().into_iter().map(|record| record.event);
    events
        .filter_map(|event| match event {
            Event::Note(NoteEvent::HookFailed { hook, why }) => Some((hook, why)),
            _ => None,
        })
        .collect()
}

fn warnings(env: &TestEnv) -> Vec<String> {
    let events = env.journal().into_iter().map(|record| record.event);
    events
        .filter_map(|event| match event {
            Event::Note(NoteEvent::Warning { text }) => Some(text),
            _ => None,
        })
        .collect()
}

/// Waits until a condition holds.
fn until(what: &str, mut fact: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !fact() {
        assert!(begun.elapsed() < Duration::from_mins(1), "{what}: it never came");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn wait_for(env: &TestEnv, name: &str) {
    until(name, || seen(env, name).ends_with('\n'));
}

fn pid(env: &TestEnv, name: &str) -> Pid {
    Pid::from_raw(seen(env, name).trim().parse().unwrap()).unwrap()
}

/// Whether the process whose ID a hook wrote is alive.
fn lives(env: &TestEnv, name: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid(env, name).as_raw_nonzero()));
    stat.is_ok_and(|stat| !stat.rsplit_once(')').unwrap().1.starts_with(" Z"))
}

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap(), signal).unwrap();
}

#[test]
fn all_hooks_run_in_order_with_events_of_the_journal() {
    let env = project();
    for name in ["started", "next_iteration", "iteration_finished", "finished", "blocked"] {
        hook(&env, name, "printf '%s ' $NIGHTWRIGHT_HOOK >> SEEN/all; cat >> SEEN/all");
    }
    run(&env, WORKS, &["-m", "3"]).exits(0).says(&["Your hooks run for real: `started`"]);
    let all = seen(&env, "all");
    let journal = fs::read_to_string(env.runs()[0].join("journal.jsonl")).unwrap();
    let received: Vec<_> = all
        .lines()
        .map(|line| {
            let (hook, line) = line.split_once(' ').unwrap();
            assert!(journal.lines().any(|recorded| recorded == line), "not as recorded: {line}");
            let event: serde_json::Value = serde_json::from_str(line).unwrap();
            (hook, event["event"].as_str().unwrap().to_owned())
        })
        .collect();
    assert_eq!(
        received.iter().map(|(hook, event)| (*hook, event.as_str())).collect::<Vec<_>>(),
        [
            ("started", "run_started"),
            ("next_iteration", "run_started"),
            ("iteration_finished", "iteration_finished"),
            ("finished", "run_finished"),
        ]
    );
}

#[test]
fn the_environment_says_how_far_the_run_is() {
    let env = project();
    for name in ["started", "next_iteration", "iteration_finished", "finished"] {
        hook(&env, name, "env > SEEN/$NIGHTWRIGHT_HOOK.$NIGHTWRIGHT_ITERATION");
    }
    for arguments in [
        &["init", "-q"][..],
        &["config", "user.email", "a@b"],
        &["config", "user.name", "a"],
        &["commit", "-q", "--allow-empty", "-m", "first"],
    ] {
        git(&env.project(), arguments);
    }
    let script = r#"
[[attempt]]
steps = [{ run = "echo more >> a.txt; git add a.txt; git commit -qm more" }]
end = { result = "Some of it." }
cost = 0.5
"#;
    let mut command = command(&env, script, &["-m", "2"]);
    command.env("NIGHTWRIGHT_MARK", "outer").env("MY_SECRET_WORD", "x");
    finish(command.spawn().unwrap()).exits(0);
    let value = |file: &str, name: &str| {
        let line = format!("NIGHTWRIGHT_{name}=");
        let text = seen(&env, file);
        text.lines().find_map(|l| l.strip_prefix(&line)).map(str::to_owned)
    };
    let at = |file: &str, expected: &[(&str, &str)]| {
        for (name, expected) in expected {
            assert_eq!(value(file, name).as_deref(), Some(*expected), "{name} in {file}");
        }
    };
    at(
        "started.0",
        &[
            ("HOOK", "started"),
            ("TASK", ""),
            ("MODE", "prompt"),
            ("MAX_ITERATIONS", "2"),
            ("LAST_EXIT_CODE", ""),
            ("LAST_DURATION", ""),
            ("COMMITS_MADE", ""),
            ("TOTAL_ITERATIONS", "0"),
            ("TOTAL_COST", "0.0000"),
            ("FINISH_TYPE", ""),
            ("PROOF", ""),
            ("FINISH_CLASS", ""),
            ("PLAN_FILE", ""),
            ("DRY_RUN", "1"),
        ],
    );
    at("next_iteration.1", &[("TOTAL_ITERATIONS", "0"), ("LAST_EXIT_CODE", "")]);
    at(
        "iteration_finished.1",
        &[
            ("LAST_EXIT_CODE", "0"),
            ("COMMITS_MADE", "1"),
            ("TOTAL_COMMITS", "1"),
            ("TOTAL_ITERATIONS", "1"),
            ("TOTAL_COST", "0.5000"),
        ],
    );
    // In seconds. A busy machine may need several.
    let took: u64 = value("iteration_finished.1", "LAST_DURATION").unwrap().parse().unwrap();
    assert!(took < 60, "{took}");
    at("next_iteration.2", &[("TOTAL_COMMITS", "1"), ("TOTAL_ITERATIONS", "1")]);
    at(
        "finished.2",
        &[
            ("FINISH_TYPE", "max_iterations"),
            ("PROOF", ""),
            ("FINISH_CLASS", "max_iterations"),
            ("TOTAL_COMMITS", "2"),
            ("TOTAL_ITERATIONS", "2"),
            ("TOTAL_COST", "1.0000"),
        ],
    );
    let project = env.project().canonicalize().unwrap();
    assert_eq!(value("started.0", "PROJECT_DIR").unwrap(), project.display().to_string());
    let run = env.runs()[0].file_name().unwrap().to_str().unwrap().to_owned();
    assert_eq!(value("finished.2", "RUN_ID").unwrap(), run);
    assert!(value("started.0", "STARTED_AT").unwrap().ends_with('Z'));
    let log = value("finished.2", "LOG_FILE").unwrap();
    assert!(fs::read_to_string(&log).unwrap().contains("Reached maximum iterations"), "{log}");
    let head = git(&project, &["rev-parse", "HEAD"]);
    assert_eq!(value("finished.2", "LAST_COMMIT_SHA").unwrap(), head);
    assert_ne!(value("started.0", "LAST_COMMIT_SHA").unwrap(), head);
    assert_eq!(value("started.0", "MARK"), None);
    assert!(!seen(&env, "started.0").contains("MY_SECRET_WORD"));
}

#[test]
fn every_new_blocker_is_a_line_and_rings_once() {
    let env = project();
    hook(&env, "blocked", "echo rang >> SEEN/rings; cat >> SEEN/needed");
    let script = r#"
[[attempt]]
steps = [{ run = "echo more >> a.txt" }]
end = { result = """
<blocker>
Description: the password of the database
Action: put it into `.env`
Resume: I run the migration
</blocker>
<blocker>a key for the map</blocker>""" }
"#;
    run(&env, script, &["-m", "2"]).exits(0);
    assert_eq!(seen(&env, "rings"), "rang\n");
    let needed = seen(&env, "needed");
    let needed: Vec<serde_json::Value> =
        needed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let texts: Vec<_> = needed.iter().map(|line| line["description"].as_str()).collect();
    assert_eq!(texts, [Some("the password of the database"), Some("a key for the map")]);
    assert_eq!(needed[0]["action"], "put it into `.env`");
    assert_eq!(needed[0]["resume"], "I run the migration");
    assert!(needed[1].get("action").is_none());
}

#[test]
fn a_skip_leaves_an_iteration_out_and_the_next_continues() {
    let env = project();
    hook(&env, "next_iteration", "test -e SEEN/asked && exit 0; touch SEEN/asked; exit 1");
    run(&env, WORKS, &["-m", "1"]).exits(0);
    let journal = env.journal();
    assert_eq!(run_outcome(&journal), "completed");
    assert_eq!(names(&journal).iter().filter(|name| **name == "iteration_skipped").count(), 1);
}

#[test]
fn ten_skips_in_a_row_end_the_run() {
    let env = project();
    hook(&env, "next_iteration", "exit 1");
    hook(&env, "finished", "echo $NIGHTWRIGHT_FINISH_TYPE $NIGHTWRIGHT_FINISH_CLASS >> SEEN/end");
    run(&env, WORKS, &["-m", "1"]).exits(1).says(&["skipped 10 consecutive iterations"]);
    assert!(!names(&env.journal()).contains(&"attempt_started"));
    assert_eq!(seen(&env, "end"), "hook_abort error\n");
}

#[test]
fn two_hooks_can_end_the_run_and_say_why() {
    for name in ["started", "next_iteration"] {
        let env = project();
        hook(&env, name, "echo first; echo 'not today' >&2; exit 2");
        run(&env, WORKS, &["-m", "1"])
            .exits(1)
            .says(&[&format!("Ended by a hook: `{name}` exited with 2"), "not today"]);
        let journal = env.journal();
        assert_eq!(run_outcome(&journal), "hook_abort");
        assert!(!names(&journal).contains(&"attempt_started"));
    }
}

#[test]
fn any_other_exit_is_a_warning_with_the_last_words_and_the_run_continues() {
    let env = project();
    hook(&env, "started", "seq 9; exit 3");
    hook(&env, "next_iteration", "kill -9 $$");
    hook(&env, "iteration_finished", "exit 2");
    hook(&env, "finished", "echo oh; exit 1");
    let output = run(&env, WORKS, &["-m", "1"]).exits(0);
    assert_eq!(run_outcome(&env.journal()), "completed");
    let expected = [
        ("started", "exited with 3: 7 | 8 | 9"),
        ("next_iteration", "killed by signal 9"),
        ("iteration_finished", "exited with 2"),
    ];
    let expected = expected.map(|(hook, why)| (hook.to_owned(), why.to_owned()));
    assert_eq!(failures(&env), expected);
    let output = output.says(&["the hook `finished` failed: exited with 1: oh"]);
    assert!(output.out.is_empty(), "hooks print to nobody: {}", output.out);
    let log = fs::read_to_string(env.runs()[0].join("hooks.log")).unwrap();
    assert!(log.contains("started exited with 3\n1\n2\n3\n"), "{log}");
    assert!(log.contains("finished exited with 1\noh\n"), "{log}");
}

#[test]
fn changes_of_a_hook_are_not_the_agents_work() {
    let env = project();
    hook(&env, "iteration_finished", "echo more >> changed.txt");
    run(&env, IDLES, &["-m", "9", "--stagnation-threshold", "2", "--no-detect"]).exits(0);
    let journal = env.journal();
    assert_eq!(run_outcome(&journal), "stagnated");
    assert_eq!(names(&journal).iter().filter(|name| **name == "iteration_finished").count(), 2);
    assert_eq!(fs::read_to_string(env.project().join("changed.txt")).unwrap(), "more\nmore\n");
}

#[test]
fn a_change_during_the_run_takes_no_effect_in_it() {
    let env = project();
    hook(&env, "iteration_finished", "echo mine >> SEEN/ran");
    hook(&env, "finished", "echo mine >> SEEN/ran");
    let evil = format!("#!/bin/sh\necho evil >> {}\n", env.word("seen/ran"));
    let script = format!(
        "[[attempt]]\nsteps = [\n\
         {{ write = \".nightwright/hooks/iteration_finished\", text = '''{evil}''' }},\n\
         {{ write = \".nightwright/hooks/next_iteration\", text = '''{evil}''' }},\n\
         {{ run = \"chmod +x .nightwright/hooks/*; rm .nightwright/hooks/finished\" }},\n\
         {{ run = \"echo more >> a.txt\" }} ]\n\
         end = {{ result = \"Some of it.\" }}\n"
    );
    run(&env, &script, &["-m", "2"]).exits(0);
    assert_eq!(failures(&env), []);
    assert_eq!(seen(&env, "ran"), "mine\nmine\nmine\n");
}

/// Starts a run and kills nightwright while the agent waits for the file `go`.
fn kill_at_work(env: &TestEnv) {
    let script = r#"
[[attempt]]
steps = [{ run = "while [ ! -e go ]; do sleep 0.02; done" }]
end = { result = "Some of it." }
"#;
    let mut child = RunningCommand::from(command(env, script, &["-m", "1"]).spawn().unwrap());
    env.wait_for("agent_ready");
    send(&child, Signal::KILL);
    child.wait().unwrap();
}

#[test]
fn a_run_that_continues_has_the_hooks_that_it_began_with() {
    let env = project();
    hook(&env, "started", "echo started >> SEEN/ran");
    hook(&env, "iteration_finished", "echo mine >> SEEN/ran");
    hook(&env, "finished", "echo $NIGHTWRIGHT_FINISH_TYPE >> SEEN/ran");
    kill_at_work(&env);
    hook(&env, "iteration_finished", "echo other >> SEEN/ran");
    env.file("go", "");
    env.run(&["resume"]).exits(0);
    assert_eq!(failures(&env), []);
    assert_eq!(seen(&env, "ran"), "started\nmine\nmax_iterations\n");
}

/// A script whose agent modifies the copies of the hooks in the run directory.
fn meddling(env: &TestEnv, with: &str) -> String {
    let state = env.word("state");
    format!(
        "[[attempt]]\nsteps = [{{ run = '''cd {state}/*/runs/*/ && {with}''' }}, \
         {{ run = \"echo more >> a.txt\" }}]\nend = {{ result = \"Some of it.\" }}\n"
    )
}

#[test]
fn changed_copies_of_hooks_are_not_run() {
    for harm in [
        "printf 'echo evil >> SEEN/ran' >> hooks/iteration_finished",
        "chmod 600 hooks/*",
        "rm -r hooks",
        "mkdir elsewhere; cp /bin/false elsewhere/iteration_finished; rm -r hooks; \
         ln -s elsewhere hooks",
    ] {
        let env = project();
        hook(&env, "iteration_finished", "echo mine >> SEEN/ran");
        hook(&env, "finished", "echo mine >> SEEN/ran");
        // The path from the project, where hooks run.
        let harm = harm.replace("SEEN", "../seen");
        run(&env, &meddling(&env, &harm), &["-m", "1"]).exits(0);
        assert_eq!(failures(&env), [], "{harm}");
        assert_eq!(seen(&env, "ran"), "mine\nmine\n", "{harm}");
        let warning = "the copy of the hook `iteration_finished` in the run folder changed";
        assert_eq!(warnings(&env).iter().filter(|w| w.contains(warning)).count(), 1, "{harm}");
    }
}

#[test]
fn a_run_that_continues_refuses_copies_that_are_not_what_was_approved() {
    let env = project();
    hook(&env, "iteration_finished", "echo mine >> SEEN/ran");
    hook(&env, "finished", "echo end >> SEEN/ran");
    kill_at_work(&env);
    let evil = format!("#!/bin/sh\necho evil >> {}\n", env.word("seen/ran"));
    fs::write(env.runs()[0].join("hooks/iteration_finished"), evil).unwrap();
    env.file("go", "");
    env.run(&["resume"]).exits(0);
    let failures = failures(&env);
    assert_eq!(failures.len(), 1, "{failures:?}");
    assert_eq!(failures[0].0, "iteration_finished");
    assert!(failures[0].1.contains("differs from the approved version"), "{failures:?}");
    assert_eq!(seen(&env, "ran"), "end\n");
}

#[test]
fn hooks_without_approval_are_not_run() {
    let env = project();
    hook(&env, "started", "touch SEEN/ran");
    let script = env.script(WORKS);
    let run = ["run", "-p", "x", "-m", "1", "--no-delay", "--dry-run", "--rehearsal", &script];
    env.run(&run).exits(2).says(&[".nightwright/hooks/started", "nightwright trust"]);
    let without = [&run[..], &["--ignore-untrusted"]].concat();
    env.run(&without).exits(0).says(&["Not used", ".nightwright/hooks/started"]);
    assert!(!env.path("seen/ran").exists());
    env.run(&["trust", "--yes"]).exits(0);
    env.run(&run).exits(0);
    assert!(env.path("seen/ran").exists());
}

#[test]
fn a_hook_that_cannot_run_is_named_once_at_the_start() {
    let env = project();
    file(&env, "started", "#!/bin/sh\ntouch SEEN/ran\n", 0o644);
    file(&env, "iteration-finished", "#!/bin/sh\ntouch SEEN/ran\n", 0o755);
    file(&env, "lib.sh", "true\n", 0o755);
    let hooks = env.project().join(".nightwright/hooks");
    fs::create_dir(hooks.join("next_iteration")).unwrap();
    symlink("nowhere", hooks.join("finished")).unwrap();
    run(&env, GOES_ON, &["-m", "2"]).exits(0);
    let warnings = warnings(&env);
    let named = |words: &str| warnings.iter().filter(|text| text.contains(words)).count();
    assert_eq!(named("skipping `.nightwright/hooks/started`: it is not executable (chmod +x"), 1);
    assert_eq!(
        named("ignoring `.nightwright/hooks/iteration-finished`: did you mean"),
        1,
        "{warnings:?}"
    );
    assert_eq!(named("did you mean `iteration_finished`"), 1);
    assert_eq!(named("skipping `.nightwright/hooks/next_iteration`"), 1);
    assert_eq!(named("skipping `.nightwright/hooks/finished`: it is a broken link"), 1);
    assert_eq!(named("lib.sh"), 0);
    assert!(!env.path("seen/ran").exists());
    assert_eq!(failures(&env), []);
}

#[test]
fn a_hook_that_can_t_be_started_says_what_is_missing() {
    let env = project();
    file(&env, "started", "#!/nonexistent/shell\n", 0o755);
    file(&env, "next_iteration", "", 0o755);
    run(&env, WORKS, &["-m", "1"]).exits(0);
    let failures = failures(&env);
    assert_eq!(failures[0].0, "started");
    assert!(failures[0].1.contains("the interpreter in its `#!` line does not exist"));
    assert_eq!(failures[1].0, "next_iteration");
    assert!(failures[1].1.contains("a script needs a first line such as"), "{failures:?}");
    assert_eq!(failures.len(), 2);
}

#[test]
fn secrets_and_escapes_of_a_hook_are_removed() {
    let env = project();
    hook(&env, "started", "printf 'key %s \\033[2J end\\n' \"$ANTHROPIC_API_KEY\"; exit 3");
    hook(&env, "finished", "printf 'key %s \\033[2J end\\n' \"$ANTHROPIC_API_KEY\"; exit 3");
    let key = "sk-ant-api03-0123456789abcdefghijklmnop";
    let mut command = command(&env, WORKS, &["-m", "1"]);
    let output = finish(command.env("ANTHROPIC_API_KEY", key).spawn().unwrap()).exits(0);
    let output = output.says(&["the hook `finished` failed: exited with 3: key"]);
    let folder = &env.runs()[0];
    let log = fs::read_to_string(folder.join("hooks.log")).unwrap();
    let journal = fs::read_to_string(folder.join("journal.jsonl")).unwrap();
    for (name, text) in [("log", &log), ("journal", &journal), ("screen", &output.err)] {
        assert!(!text.contains("0123456789abcdef"), "the secret is in the {name}: {text}");
        assert!(text.contains("exited with 3"), "{name}");
    }
    assert!(!log.contains('\u{1b}'));
    assert!(!failures(&env)[0].1.contains('\u{1b}'));
}

//! The panel below the lines, and the keys.

use std::fs;
use std::process::{Command, Stdio};

use nightwright_core::run_view::shell_word;

use super::agent_env::NIGHTWRIGHT;
use super::agent_program::program;
use super::harness::{RunningCommand, TestEnv, finish, names, run_outcome};
use super::pty::Pty;
use super::terminal::{Terminal, assert_sane};

/// The first attempt waits until the test creates the file `go`; the second one claims completion.
const HELD: &str = r#"
[[attempt]]
cost = 0.25
steps = [
  { say = "I begin." },
  { run = "until [ -e go ]; do sleep 0.02; done; : a command that is rather long, so that it has to be cut somewhere" },
  { write = "done.txt", text = "done" },
]
end = { result = "The first half is done." }

[[attempt]]
cost = 0.25
steps = [{ write = "more.txt", text = "more" }]
end = { result = "All done.\n<promise>COMPLETE</promise>" }
"#;

/// The first attempt reaches a usage limit.
const LIMITED: &str = r#"
[[attempt]]
end = { limit = "2h13m" }

[[attempt]]
steps = [{ write = "done.txt", text = "done" }]
end = { result = "All done.\n<promise>COMPLETE</promise>" }
"#;

fn arguments(script: &str) -> Vec<String> {
    let fixed = "run -p tidy -m 4 --max-cost 5 --no-delay --dry-run --rehearsal";
    fixed.split(' ').chain([script]).map(str::to_owned).collect()
}

fn command(env: &TestEnv, script: &str, more: &[&str]) -> Command {
    let script = env.script(script);
    let arguments = arguments(&script);
    let words: Vec<_> = arguments.iter().map(String::as_str).chain(more.iter().copied()).collect();
    let mut command = env.command(&words);
    command.env("TERM", "xterm-256color").stdout(Stdio::null());
    command
}

fn go(env: &TestEnv) {
    fs::write(env.project().join("go"), "").unwrap();
}

fn wait(mut child: RunningCommand) -> Option<i32> {
    child.stderr = None;
    child.wait().unwrap().code()
}

/// The number of lines on the screen that contain this text.
fn count(screen: &str, what: &str) -> usize {
    screen.lines().filter(|line| line.contains(what)).count()
}

#[test]
fn the_panel_stands_below_the_lines_while_the_run_continues_and_is_gone_after_it() {
    for (columns, level) in [(80, "progress"), (200, "progress"), (80, "verbose")] {
        let env = TestEnv::new();
        let pty = Pty::new(12, columns);
        let mut command = command(&env, HELD, &["--output", level]);
        let child = RunningCommand::from(command.stderr(pty.end()).spawn().unwrap());
        drop(command);
        let watched = pty.watch(12, columns);
        let screen = watched.shows(|screen| screen.contains("working · Bash: until [ -e go ]"));
        let lines: Vec<_> = screen.lines().collect();
        let at = lines.iter().position(|line| line.contains('░')).unwrap();
        for what in ["iteration 1/4", "about $0.0", " of $5.00"] {
            assert!(lines[at].contains(what), "no {what}:\n{screen}");
        }
        assert!(lines[at + 1].starts_with("working · "), "{screen}");
        assert!(lines.len() == at + 2, "something below the panel:\n{screen}");
        assert!(lines[..at].iter().any(|line| line.contains("Running iteration 1...")), "{screen}");
        // Keys have no effect if the terminal has no input.
        assert!(!screen.contains("stop after"), "{screen}");
        go(&env);
        assert_eq!(wait(child), Some(0));
        let all = watched.all();
        let text = all.join("\n");
        assert_eq!(count(&text, "░") + count(&text, "█") + count(&text, "working ·"), 0, "{text}");
        for line in ["Running iteration 1...", "Running iteration 2..."] {
            assert_eq!(all.iter().filter(|shown| *shown == line).count(), 1, "{text}");
        }
        assert_eq!(count(&text, "iteration 1: "), 1, "{text}");
        assert_eq!(run_outcome(&env.journal()), "completed");
    }
}

#[test]
fn an_agent_with_partial_output_is_not_silent() {
    let env = TestEnv::new();
    let piece = r#"{"type":"stream_event","session_id":"s","parent_tool_use_id":null,"event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"word "}}}"#;
    let init = r#"{"type":"system","subtype":"init","session_id":"s","model":"claude-x","tools":["Bash"],"mcp_servers":[],"permissionMode":"default","cwd":"/","apiKeySource":"none","slash_commands":[],"claude_code_version":"2.1.210"}"#;
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && echo '2.1.210 (Claude Code)' && exit\nread -r prompt\n\
         echo '{init}'\nuntil [ -e go ]; do echo '{piece}'; sleep 0.1; done\n"
    );
    program(&env, "claude", &script);
    let pty = Pty::new(20, 100);
    let run = ["run", "-p", "x", "-m", "1", "--max-retries", "0"];
    let mut command = env.command(&run);
    command.env("TERM", "xterm-256color").stdout(Stdio::null());
    let child = RunningCommand::from(command.stderr(pty.end()).spawn().unwrap());
    drop(command);
    let watched = pty.watch(20, 100);
    // Wait for longer than the minimum silence to show.
    let screen = watched.shows(|screen| screen.contains(" 8s ·") || screen.contains("silent"));
    assert!(screen.contains("working") && !screen.contains("silent"), "{screen}");
    go(&env);
    wait(child);
}

#[test]
fn a_terminal_that_is_made_narrower_shows_one_panel_that_fits() {
    let env = TestEnv::new();
    let pty = Pty::new(20, 200);
    let mut command = command(&env, HELD, &[]);
    let child = RunningCommand::from(command.stderr(pty.end()).spawn().unwrap());
    drop(command);
    let watched = pty.watch(20, 200);
    watched.shows(|screen| screen.contains("cut somewhere"));
    watched.resize(20, 50);
    let fits = |screen: &str| {
        screen.contains("working · ") && screen.contains('…') && count(screen, "working") == 1
    };
    let screen = watched.shows(fits);
    assert_eq!(count(&screen, "░"), 1, "{screen}");
    watched.resize(20, 120);
    let wider = |screen: &str| count(screen, "working") == 1 && screen.contains("a command that");
    let screen = watched.shows(wider);
    assert_eq!(count(&screen, "░"), 1, "{screen}");
    go(&env);
    assert_eq!(wait(child), Some(0));
    let text = watched.all().join("\n");
    assert_eq!(count(&text, "working ·"), 0, "{text}");
}

#[test]
fn without_a_terminal_or_on_a_dumb_one_there_is_not_a_byte_of_a_panel() {
    let env = TestEnv::new();
    go(&env);
    let output = finish(command(&env, HELD, &[]).stdout(Stdio::piped()).spawn().unwrap()).exits(0);
    assert!(!output.err.contains(['\u{1b}', '\r', '░', '█']), "{}", output.err);

    for term in [Some("dumb"), None] {
        let env = TestEnv::new();
        let pty = Pty::new(40, 100);
        let mut command = command(&env, HELD, &[]);
        match term {
            Some(term) => command.env("TERM", term),
            None => command.env_remove("TERM"),
        };
        let child = RunningCommand::from(command.stderr(pty.end()).spawn().unwrap());
        drop(command);
        let watched = pty.watch(40, 100);
        // On a terminal with a panel, lines are written together with it.
        watched.shows(|screen| screen.contains("Running iteration 1..."));
        go(&env);
        assert_eq!(wait(child), Some(0));
        // The terminal writes a newline as two bytes.
        let text = String::from_utf8(watched.bytes()).unwrap().replace("\r\n", "\n");
        assert!(text.contains("Running iteration 2..."), "{text}");
        assert!(!text.contains(['\u{1b}', '\r', '░', '█']), "{term:?}: {text:?}");
    }
}

#[test]
fn a_terminal_of_a_few_rows_keeps_its_lines_and_gets_no_copies_of_the_panel() {
    let is_panel = |line: &&str| line.contains('░') || line.starts_with("working ·");
    for rows in [2, 3] {
        let env = TestEnv::new();
        let pty = Pty::new(rows, 80);
        let mut command = command(&env, HELD, &[]);
        let child = RunningCommand::from(command.stderr(pty.end()).spawn().unwrap());
        drop(command);
        let watched = pty.watch(rows, 80);
        env.wait_for("agent_ready");
        // The panel is redrawn at least once, and leaves one row for the lines.
        let screen = watched.shows(|screen| screen.contains("1s ·"));
        let panel = screen.lines().filter(is_panel).count();
        assert_eq!(panel, usize::from(rows) - 1, "of {rows} rows:\n{screen}");
        assert!(!screen.lines().next().iter().any(is_panel), "of {rows} rows:\n{screen}");
        go(&env);
        assert_eq!(wait(child), Some(0));
        let text = watched.all().join("\n");
        assert_eq!(text.lines().filter(is_panel).count(), 0, "{text}");
        assert_eq!(count(&text, "█"), 0, "{text}");
        assert_eq!(count(&text, "Running iteration 1..."), 1, "{text}");
    }
}

/// Starts a run in a terminal that accepts keys.
fn typed(env: &TestEnv, script: &str, line: impl Fn(&str) -> String) -> Terminal {
    let script = shell_word(&env.script(script));
    let command = format!("{NIGHTWRIGHT} {}", arguments(&script).join(" "));
    Terminal::run(env, &line(&command))
}

#[test]
fn the_key_s_stops_after_the_iteration_however_often_it_is_pressed() {
    let env = TestEnv::new();
    let terminal = typed(&env, HELD, str::to_owned);
    terminal.shows("s stop after this iteration");
    terminal.types(&["s"]);
    terminal.shows("Stopping after this iteration, requested by pressing s");
    terminal.types(&["S"]);
    go(&env);
    assert_sane(&terminal.shows("extproc"));
    let journal = env.journal();
    let asked = names(&journal).into_iter().filter(|name| *name == "stop_requested").count();
    assert_eq!((asked, run_outcome(&journal)), (1, "stopped"));
}

#[test]
fn pasted_text_and_multibyte_keys_stop_nothing() {
    let env = TestEnv::new();
    let ahead = |command: &str| format!("until [ -e typed ]; do sleep 0.02; done; {command}");
    let terminal = typed(&env, HELD, ahead);
    // A single key, before the run reads keys.
    terminal.types(&["s"]);
    terminal.shows_when(|screen| screen.trim() == "s");
    fs::write(env.project().join("typed"), "").unwrap();
    terminal.shows("s stop after this iteration");
    terminal.types(&["-l", "git status"]);
    terminal.types(&["F4"]);
    terminal.types(&["M-s"]);
    go(&env);
    assert_sane(&terminal.shows("extproc"));
    let journal = env.journal();
    assert!(!names(&journal).contains(&"stop_requested"), "{:?}", names(&journal));
    assert_eq!(run_outcome(&journal), "completed");
}

#[test]
fn the_key_r_tries_at_once_what_is_being_waited_for() {
    let env = TestEnv::new();
    let terminal = typed(&env, LIMITED, str::to_owned);
    let screen = terminal.shows("r retry now");
    assert!(screen.contains("waiting until"), "{screen}");
    terminal.types(&["r"]);
    assert_sane(&terminal.shows("extproc"));
    assert_eq!(run_outcome(&env.journal()), "completed");
}

#[test]
fn ctrl_z_leaves_a_clean_terminal_and_the_run_continues_in_front() {
    let env = TestEnv::new();
    let line =
        |command: &str| format!("set -m; {command}; echo \"stopped=$?\"; stty -a; read enter; fg");
    let terminal = typed(&env, HELD, line);
    terminal.shows("s stop after this iteration");
    terminal.types(&["C-z"]);
    terminal.shows("stopped=1");
    let screen = terminal.shows("extproc");
    assert_sane(&screen);
    assert_eq!(count(&screen, "working"), 0, "{screen}");
    terminal.types(&["Enter"]);
    let screen = terminal.shows("s stop after this iteration");
    assert_eq!(count(&screen, "working"), 1, "{screen}");
    terminal.types(&["s"]);
    terminal.shows("requested by pressing s");
    go(&env);
    let screen = terminal.shows("exit=0");
    assert_eq!(count(&screen, "working"), 0, "{screen}");
    assert_eq!(run_outcome(&env.journal()), "stopped");
}

#[test]
fn keys_work_when_a_run_is_brought_to_the_foreground() {
    // On `fg`, this shell sends no signal to a job that is already running.
    for (then, key) in [("& read enter; fg", None), ("; bg; read enter; fg", Some("C-z"))] {
        let env = TestEnv::new();
        let terminal = typed(&env, HELD, |command| format!("bash -m -c '{command} {then}'"));
        if let Some(key) = key {
            terminal.shows("s stop after this iteration");
            terminal.types(&[key]);
        }
        env.wait_for("agent_ready");
        terminal.shows_when(|screen| {
            screen.contains("Running iteration 1...") && !screen.contains("s stop after")
        });
        terminal.types(&["Enter"]);
        terminal.shows("s stop after this iteration");
        terminal.types(&["s"]);
        terminal.shows("requested by pressing s");
        go(&env);
        terminal.shows("exit=0");
        assert_sane(&terminal.shows("extproc"));
        assert_eq!(run_outcome(&env.journal()), "stopped");
    }
}

#[test]
fn a_run_in_the_background_is_not_stopped_and_leaves_the_terminal_alone() {
    let env = TestEnv::new();
    let line = |command: &str| format!("set -m; {command} & read enter; stty -a; wait $!");
    let terminal = typed(&env, HELD, line);
    terminal.shows("Running iteration 1...");
    env.wait_for("agent_ready");
    // These keys are for the shell, which waits for input.
    terminal.types(&["s", "Enter"]);
    assert_sane(&terminal.shows("extproc"));
    go(&env);
    let screen = terminal.shows("exit=0");
    assert_eq!(count(&screen, "working"), 0, "{screen}");
    assert_eq!(run_outcome(&env.journal()), "completed");
}

#[test]
fn a_terminal_that_wraps_lines_anew_shows_one_panel_all_the_same() {
    let env = TestEnv::new();
    // On a full screen, the panel is at the bottom.
    let terminal = typed(&env, HELD, |command| format!("seq 100; {command}"));
    terminal.shows("Ctrl-C");
    terminal.tmux(&["resize-window", "-x", "40"]);
    // The last key fits only at the old width.
    let screen = terminal.shows_when(|screen| {
        count(screen, "s stop after this iteration") == 1 && !screen.contains("Ctrl-C")
    });
    assert_eq!(count(&screen, "working"), 1, "{screen}");
    go(&env);
    let screen = terminal.shows("exit=0");
    assert_eq!(count(&screen, "working"), 0, "{screen}");
    assert!(screen.contains("Running iteration 1..."), "{screen}");
}

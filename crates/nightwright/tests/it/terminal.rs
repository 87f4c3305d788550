//! A real terminal: key presses, and the state after a command.

use std::process::Command;
use std::time::{Duration, Instant};

use nightwright_core::run_view::shell_word;
use rustix::process::{Pid, Signal, kill_process};

use super::agent_env::NIGHTWRIGHT;
use super::harness::{TestEnv, takes_less_than, wait_past_debounce};

/// The timeout of a test; only a failing test takes this long.
const TEST_TIMEOUT: Duration = Duration::from_mins(1);

/// The time that an agent has after the first key press if it does not exit. The second key press
/// ends it at once.
const GRACE: Duration = Duration::from_secs(5);

/// A separate terminal, closed on drop.
pub(crate) struct Terminal {
    socket: String,
}

impl Terminal {
    /// Runs a command line in a shell in the project.
    pub(crate) fn run(env: &TestEnv, line: &str) -> Self {
        let socket = env.path("tmux").display().to_string();
        let setup = format!(
            "export NIGHTWRIGHT_STATE_DIR={} TMPDIR={} HOME={} GIT_CEILING_DIRECTORIES={}; \
             cd {}; {line}; echo \"exit=$?\"; stty -a; sleep 60",
            env.word("state"),
            env.word("tmp"),
            env.word("home"),
            env.word(""),
            env.word("project"),
        );
        let terminal = Self { socket };
        terminal.tmux(&["-f", "/dev/null", "new-session", "-d", "-x", "120", "-y", "60", &setup]);
        terminal
    }

    pub(crate) fn tmux(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("tmux");
        command.args(["-S", &self.socket]).args(arguments).env_clear();
        for (name, value) in [
            ("PATH", "/usr/local/bin:/usr/bin:/bin"),
            ("SHELL", "/bin/bash"),
            ("TERM", "xterm-256color"),
            ("LANG", "C.UTF-8"),
            ("TZ", "UTC"),
        ] {
            command.env(name, value);
        }
        let output = command.output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Types keys, by their names in tmux.
    pub(crate) fn types(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-S", "-"])
    }

    /// Waits until the screen shows this text.
    #[track_caller]
    pub(crate) fn shows(&self, text: &str) -> String {
        self.waits(text, |screen| screen.contains(text))
    }

    /// Waits until the screen meets a condition.
    #[track_caller]
    pub(crate) fn shows_when(&self, wanted: impl Fn(&str) -> bool) -> String {
        self.waits("such thing", wanted)
    }

    #[track_caller]
    fn waits(&self, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        let begun = Instant::now();
        loop {
            let screen = self.screen();
            if wanted(&screen) {
                return screen;
            }
            assert!(begun.elapsed() < TEST_TIMEOUT, "no `{what}` on the screen:\n{screen}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

/// Fails unless the terminal echoes input and reads whole lines.
pub(crate) fn assert_sane(screen: &str) {
    let words: Vec<_> = screen.split_whitespace().map(|word| word.trim_end_matches(';')).collect();
    for setting in ["icanon", "echo", "isig", "opost"] {
        assert!(words.contains(&setting), "{setting} is off:\n{screen}");
    }
}

/// Presses a key this many times, and returns the time from the first press to the exit.
fn interrupted(key: &str, presses: usize, script: &str) -> Duration {
    let env = TestEnv::new();
    let script = shell_word(&env.script(script));
    let line = format!("{NIGHTWRIGHT} run -p 'think hard' -m 3 --dry-run --rehearsal {script}");
    let terminal = Terminal::run(&env, &line);
    env.wait_for("agent_ready");
    terminal.shows("Running iteration 1...");
    terminal.shows("Ctrl-C stop now");
    let pressed = Instant::now();
    for _ in 1..presses {
        terminal.types(&[key]);
        env.wait_for("stop_requested");
        wait_past_debounce();
    }
    terminal.types(&[key]);
    let screen = terminal.shows("exit=130");
    let took = pressed.elapsed();
    assert!(screen.contains("Interrupted"), "{screen}");
    for panel in ["Ctrl-C stop now", "stop after this iteration", "░", "█"] {
        assert!(!screen.contains(panel), "the panel is left behind:\n{screen}");
    }
    assert_sane(&terminal.shows("extproc"));
    took
}

#[test]
fn ctrl_c_once_leaves_a_sane_terminal_and_exits_130() {
    interrupted("C-c", 1, "[[attempt]]\nend = { hang = true }\n");
}

#[test]
fn ctrl_backslash_does_the_same() {
    interrupted("C-\\", 1, "[[attempt]]\nend = { hang = true }\n");
}

#[test]
fn ctrl_c_twice_does_not_wait_for_an_agent_that_will_not_leave() {
    let script = "[[attempt]]\nend = { hang = true, ignore_term = true }\n";
    takes_less_than(GRACE, || interrupted("C-c", 2, script));
}

#[test]
fn fatal_signals_leave_a_sane_terminal_without_a_panel() {
    let signals = [
        Signal::USR1,
        Signal::USR2,
        Signal::ALARM,
        Signal::VTALARM,
        Signal::PROF,
        Signal::XCPU,
        Signal::XFSZ,
    ];
    std::thread::scope(|scope| {
        for signal in signals {
            scope.spawn(move || {
                let env = TestEnv::new();
                let script = shell_word(&env.script("[[attempt]]\nend = { hang = true }\n"));
                let line = format!("{NIGHTWRIGHT} run -p x -m 3 --dry-run --rehearsal {script}");
                let terminal = Terminal::run(&env, &line);
                terminal.shows("s stop after this iteration");
                let status = env.run(&["status", "--json"]).exits(0).out;
                let status: serde_json::Value = serde_json::from_str(&status).unwrap();
                let pid = i32::try_from(status["pid"].as_i64().unwrap()).unwrap();
                kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
                let screen = terminal.shows("exit=130");
                assert!(screen.contains("Interrupted"), "{signal:?}: {screen}");
                assert!(!screen.contains("s stop after"), "{signal:?}: {screen}");
                assert_sane(&terminal.shows("extproc"));
            });
        }
    });
}

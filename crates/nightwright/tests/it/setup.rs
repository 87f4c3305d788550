//! `nightwright task setup` and `nightwright task edit` in a real terminal, with programs that
//! leave the terminal in any state.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::agent_env::{NIGHTWRIGHT, is_alive};
use super::harness::TestEnv;
use super::terminal::Terminal;

/// How long processes of the agent may outlive it.
const EXIT_TIMEOUT: Duration = Duration::from_secs(30);

/// A project with the task `t` and this script as the agent. `$task` is the folder of the task.
pub(crate) fn with_agent(script: &str) -> TestEnv {
    let env = TestEnv::new();
    env.task("t");
    let path = env.path("bin/claude");
    let text = format!(
        "#!/bin/sh\n\
         [ \"$1\" = --version ] && {{ echo '2.1.325 (Claude Code)'; exit 0; }}\n\
         task=.nightwright/tasks/t\n{script}\n"
    );
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    env
}

impl TestEnv {
    /// Creates a task without instructions.
    pub(crate) fn task(&self, name: &str) -> &Self {
        fs::create_dir_all(self.project().join(".nightwright/tasks").join(name)).unwrap();
        self
    }

    /// The content of a file in the project.
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.project().join(name)).unwrap_or_default()
    }

    /// The shell command line for a command, which also stores the terminal settings before and
    /// after it.
    pub(crate) fn line(&self, command: &str) -> String {
        let [bin, before, after] = ["bin", "before", "after"].map(|name| self.word(name));
        format!(
            "stty -a >{before}; export PATH={bin}:/usr/bin:/bin; {NIGHTWRIGHT} {command}; code=$?; \
             stty -a >{after}; (exit $code)"
        )
    }

    /// Fails unless the terminal settings are unchanged.
    pub(crate) fn terminal_is_as_before(&self) {
        let [before, after] =
            ["before", "after"].map(|n| fs::read_to_string(self.path(n)).unwrap());
        assert!(before.contains("icanon"), "{before}");
        assert_eq!(before, after);
    }
}

fn wait_for_death(pid: &str) {
    let begun = Instant::now();
    while is_alive(pid) {
        assert!(begun.elapsed() < EXIT_TIMEOUT, "{pid} is still alive");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn the_agent_has_the_terminal_and_what_it_wrote_is_reported() {
    let env = with_agent(
        "printf '%s\\n' \"$@\" >arguments; env >environment; \
         while [ $# -gt 1 ]; do [ \"$1\" = --append-system-prompt-file ] && cp \"$2\" system; shift; done\n\
         echo 'What is the goal?'; read goal; [ -t 0 ] && [ -t 1 ] && [ -t 2 ] || exit 9\n\
         printf '# Goal\\n%s\\n' \"$goal\" >$task/INSTRUCTIONS.md; printf -- '- [ ] a\\n- [ ] b\\n' >$task/TODO.md",
    );
    let terminal = Terminal::run(&env, &env.line("task setup t --model opus"));
    terminal.shows("What is the goal?");
    terminal.types(&["-l", "all tests pass"]);
    terminal.types(&["Enter"]);
    let screen = terminal.shows("exit=0");
    assert!(screen.contains("INSTRUCTIONS.md`, 2 lines, 22 bytes"), "{screen}");
    assert!(screen.contains("The checklist has 2 items"), "{screen}");
    assert!(
        screen.contains("Next: `nightwright task validate t`, then `nightwright run t`"),
        "{screen}"
    );
    assert_eq!(env.read(".nightwright/tasks/t/INSTRUCTIONS.md"), "# Goal\nall tests pass\n");
    let arguments = env.read("arguments");
    for words in
        ["--permission-mode\nacceptEdits\n", "--setting-sources\nuser\n", "--model\nopus\n"]
    {
        assert!(arguments.contains(words), "{arguments}");
    }
    let system = env.read("system");
    assert!(system.contains(".nightwright/tasks/t/TODO.md"), "{system}");
    let environment = env.read("environment");
    assert!(environment.contains("\nNIGHTWRIGHT_MARK=setup.1."), "{environment}");
    assert!(!environment.contains("NIGHTWRIGHT_STATE_DIR="), "{environment}");
    env.terminal_is_as_before();
    assert_eq!(fs::read_dir(env.path("tmp")).unwrap().count(), 0);
    assert!(env.runs().is_empty());
}

#[test]
fn a_killed_agent_leaves_a_sane_terminal_and_no_process() {
    let env = with_agent(
        "stty raw -echo; printf '\\033[?25l\\033[?2004h'\n\
         setsid sh -c 'trap \"\" HUP; echo $$ >left; exec sleep 1000' &\n\
         (env -u NIGHTWRIGHT_MARK setsid sh -c 'echo $$ >unmarked; exec sleep 1000' &)\n\
         while [ ! -s left ] || [ ! -s unmarked ]; do :; done; kill -9 $$",
    );
    let terminal = Terminal::run(&env, &env.line("task setup t"));
    let screen = terminal.shows("exit=1");
    assert!(screen.contains("the agent wrote no instructions"), "{screen}");
    assert!(screen.contains("signal 9 killed the agent"), "{screen}");
    env.terminal_is_as_before();
    wait_for_death(env.read("left").trim());
    wait_for_death(env.read("unmarked").trim());
}

#[test]
fn ctrl_c_is_for_the_agent() {
    let env = with_agent(
        "trap 'echo enough >$task/INSTRUCTIONS.md; exit 0' INT; echo listening; \
         while :; do sleep 0.1; done",
    );
    let terminal = Terminal::run(&env, &env.line("task setup t"));
    terminal.shows("listening");
    terminal.types(&["C-c"]);
    let screen = terminal.shows("exit=0");
    assert!(screen.contains("Instructions written"), "{screen}");
    env.terminal_is_as_before();
}

#[test]
fn a_fatal_signal_is_passed_on_and_written_files_stay() {
    let env = with_agent(
        "trap 'echo half >$task/INSTRUCTIONS.md; exit 0' TERM; echo $PPID >parent; stty -echo; \
         echo listening; while :; do sleep 0.1; done",
    );
    let terminal = Terminal::run(&env, &env.line("task setup t"));
    terminal.shows("listening");
    let parent = env.read("parent").trim().parse().unwrap();
    kill_process(Pid::from_raw(parent).unwrap(), Signal::TERM).unwrap();
    let screen = terminal.shows("exit=130");
    assert!(screen.contains("Instructions written"), "{screen}");
    env.terminal_is_as_before();
}

#[test]
fn an_agent_that_stops_itself_gives_the_shell_back_and_continues_with_fg() {
    // `fg` continues the agent and nightwright at the same time, so the agent may read the terminal
    // settings before they are restored.
    let env = with_agent(
        "stty -echo; kill -STOP $$
         n=0; until stty -a | grep -q -- '-echo ' || [ $n -gt 200 ]; do n=$((n+1)); sleep 0.05; done
         stty -a >again; echo done >$task/INSTRUCTIONS.md",
    );
    let shell = format!("PS1='$ ' PATH={}:$PATH bash --norc -i", env.word("bin"));
    let terminal = Terminal::run(&env, &shell);
    terminal.types(&["-l", &format!("{NIGHTWRIGHT} task setup t")]);
    terminal.types(&["Enter"]);
    terminal.shows("Stopped");
    terminal.types(&["-l", "stty -a | grep -q ' echo ' && fg; echo \"fg=$?\""]);
    terminal.types(&["Enter"]);
    let screen = terminal.shows("fg=0");
    assert!(screen.contains("Instructions written"), "{screen}");
    assert!(env.read("again").contains("-echo "), "{}", env.read("again"));
}

#[test]
fn without_the_agent_program_it_says_what_to_install() {
    let env = TestEnv::new();
    env.task("t");
    let terminal = Terminal::run(&env, &env.line("task setup t"));
    let screen = terminal.shows("exit=1");
    let words = "Claude CLI not found. Make sure 'claude' is installed and in PATH.";
    assert!(screen.contains(words), "{screen}");
}

#[test]
fn an_edit_that_changes_nothing_is_not_called_a_success() {
    let env = with_agent("exit 3");
    env.file(".nightwright/tasks/t/INSTRUCTIONS.md", "Do it.\n");
    let terminal = Terminal::run(&env, &env.line("task edit t"));
    let screen = terminal.shows("exit=1");
    assert!(screen.contains("the agent changed nothing; the agent exited with code 3"), "{screen}");
}

#[test]
fn without_a_terminal_it_says_which_file_to_write() {
    let env = with_agent("exit 0");
    env.run(&["task", "setup", "t"]).exits(2).says(&[
        "error: `nightwright task setup` is a conversation with the agent and needs a terminal",
        "hint: write the instructions yourself, in `.nightwright/tasks/t/INSTRUCTIONS.md`",
    ]);
}

#[test]
fn instructions_that_are_there_are_edited_and_those_that_are_not_are_set_up() {
    let env = with_agent("exit 0");
    env.run(&["task", "edit", "t"])
        .exits(2)
        .says(&["Instructions not found. Run: nightwright task setup t"]);
    env.file(".nightwright/tasks/t/INSTRUCTIONS.md", "Do it.\n");
    env.run(&["task", "setup", "t"])
        .exits(2)
        .says(&["already has instructions", "nightwright task edit t"]);
    env.run(&["task", "setup", "nope"]).exits(2).says(&["Task not found: nope"]);
    env.run(&["task", "edit", "../t"]).exits(2).says(&["invalid task name `../t`"]);
}

#[test]
fn a_text_of_the_projects_own_mode_that_names_what_is_not_there_is_refused() {
    let env = with_agent("exit 0");
    env.file(".nightwright/tasks/t/INSTRUCTIONS.md", "Do it.\n");
    fs::create_dir_all(env.project().join(".nightwright/modes/loop")).unwrap();
    env.file(".nightwright/modes/loop/validate.md", "Judge {{ nope }}.\n");
    env.run(&["task", "validate", "t", "--dry-run"])
        .exits(2)
        .says(&["`.nightwright/modes/loop/validate.md`, line 1: unknown token `nope`"]);
}

#[test]
fn task_setup_with_another_agent_is_refused_with_a_reason() {
    let env = with_agent("exit 0");
    env.run(&["config", "set", "agent.command", "my-agent"]).exits(0);
    env.run(&["task", "setup", "t"]).exits(2).says(&[
        "`my-agent` (`agent.command`) is not an interactive agent",
        "write the instructions yourself",
    ]);
}

//! Hooks as processes: what they have to read, how long they may take, and what they may leave.

use super::*;
use crate::harness::RunningCommand;

/// Writes the IDs of a child in the same session and of one in a separate session.
const FAMILY: &str = "\
sleep 300 &
echo $! > SEEN/child
setsid sh -c 'echo $$ > SEEN/server; exec sleep 300' < /dev/null > /dev/null 2>&1 &
while [ ! -s SEEN/server ]; do sleep 0.02; done";

fn end_server(env: &TestEnv) {
    kill_process(pid(env, "server"), Signal::KILL).unwrap();
}

#[test]
fn unread_input_of_a_hook_blocks_nothing() {
    let env = project();
    hook(&env, "next_iteration", "wc -c > SEEN/size");
    // A hook that never reads, with a child that keeps its input open: the input exceeds a pipe.
    let holds = "exec 3<&0
setsid sh -c 'echo $$ > SEEN/server; exec sleep 300' <&3 > /dev/null 2>&1 &
while [ ! -s SEEN/server ]; do sleep 0.02; done";
    hook(&env, "started", holds);
    env.run(&["new", "t"]).exits(0);
    env.file(".nightwright/tasks/t/INSTRUCTIONS.md", &"Do it all. ".repeat(30_000));
    let script = env.script(GOES_ON);
    let run = ["run", "t", "-m", "1", "--no-delay", "--yes", "--dry-run", "--rehearsal", &script];
    env.run(&run).exits(0);
    end_server(&env);
    let size: usize = seen(&env, "size").trim().parse().unwrap();
    assert!(size > 300_000, "{size} bytes");
    assert_eq!(failures(&env), []);
}

#[test]
fn a_hook_that_takes_too_long_is_ended_with_its_stubborn_children() {
    let env = project();
    hook(
        &env,
        "started",
        "trap '' TERM; (trap '' TERM; while :; do sleep 0.05; done) & echo $! > SEEN/child; \
         echo $$ > SEEN/itself; echo waiting; while :; do sleep 0.05; done",
    );
    let mut command = command(&env, WORKS, &["-m", "1"]);
    finish(command.env("NIGHTWRIGHT_HOOKS_TIMEOUT", "1s").spawn().unwrap()).exits(0);
    let failures = failures(&env);
    assert_eq!(failures[0].0, "started");
    assert_eq!(failures[0].1, "timed out after 1s: waiting");
    assert!(!lives(&env, "itself"));
    assert!(!lives(&env, "child"));
    assert_eq!(run_outcome(&env.journal()), "completed");
}

#[test]
fn only_a_process_in_another_session_outlives_a_hook() {
    let env = project();
    hook(&env, "started", FAMILY);
    hook(&env, "next_iteration", "kill -0 $(cat SEEN/child) 2> /dev/null && exit 2; exit 0");
    run(&env, WORKS, &["-m", "1"]).exits(0);
    assert_eq!(failures(&env), []);
    assert!(!lives(&env, "child"));
    assert!(lives(&env, "server"), "the server is gone");
    end_server(&env);
}

#[test]
fn killing_nightwright_ends_a_hook_but_not_its_daemons() {
    let env = project();
    let text = format!("{FAMILY}\necho $$ > SEEN/itself; while :; do sleep 0.05; done");
    hook(&env, "started", &text);
    let mut child = RunningCommand::from(command(&env, WORKS, &["-m", "1"]).spawn().unwrap());
    wait_for(&env, "itself");
    send(&child, Signal::KILL);
    child.wait().unwrap();
    until("its end", || !lives(&env, "itself") && !lives(&env, "child"));
    assert!(lives(&env, "server"), "the server is gone");
    end_server(&env);
}

#[test]
fn stop_now_does_not_wait_for_a_hook_and_leaves_none() {
    let env = project();
    hook(&env, "started", "echo $$ > SEEN/itself; while :; do sleep 0.05; done");
    // Longer than any wait in this test, so waiting for the hook would be noticed.
    let mut command = command(&env, WORKS, &["-m", "1"]);
    let child =
        RunningCommand::from(command.env("NIGHTWRIGHT_HOOKS_TIMEOUT", "10m").spawn().unwrap());
    wait_for(&env, "itself");
    send(&child, Signal::INT);
    finish(child).exits(130);
    until("its end", || !lives(&env, "itself"));
    assert_eq!(run_outcome(&env.journal()), "interrupted");
}

#[test]
fn a_hook_inherits_no_descriptors() {
    let env = project();
    hook(&env, "started", "ls -l /proc/self/fd > SEEN/fds");
    run(&env, WORKS, &["-m", "1"]).exits(0);
    let fds = seen(&env, "fds");
    for held in ["lock", "journal", "socket:"] {
        assert!(!fds.contains(held), "`{held}` is open in a hook:\n{fds}");
    }
}

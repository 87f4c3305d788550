//! Hooks as processes: what they have to read, how long they may take, and what they may leave.

use super::*;

/// Leaves the number of a child in its session and of one in a session of its own.
const FAMILY: &str = "\
sleep 300 &
echo $! > SEEN/child
setsid sh -c 'echo $$ > SEEN/server; exec sleep 300' < /dev/null > /dev/null 2>&1 &
while [ ! -s SEEN/server ]; do sleep 0.02; done";

fn end_server(hermit: &Hermit) {
    kill_process(pid(hermit, "server"), Signal::KILL).unwrap();
}

#[test]
fn what_a_hook_does_not_read_holds_nobody_up() {
    let hermit = project();
    hook(&hermit, "next_iteration", "wc -c > SEEN/size");
    // One that never reads, and has somebody who holds its input open: that is more than a pipe
    // takes.
    let holds = "exec 3<&0
setsid sh -c 'echo $$ > SEEN/server; exec sleep 300' <&3 > /dev/null 2>&1 &
while [ ! -s SEEN/server ]; do sleep 0.02; done";
    hook(&hermit, "started", holds);
    hermit.run(&["new", "t"]).exits(0);
    hermit.file(".nightwright/tasks/t/INSTRUCTIONS.md", &"Do it all. ".repeat(30_000));
    let script = hermit.script(GOES_ON);
    let run = ["run", "t", "-m", "1", "--no-delay", "--trust", "--dry-run", "--rehearsal", &script];
    hermit.run(&run).exits(0);
    end_server(&hermit);
    let size: usize = seen(&hermit, "size").trim().parse().unwrap();
    assert!(size > 300_000, "{size} bytes");
    assert_eq!(failures(&hermit), []);
}

#[test]
fn a_hook_that_takes_too_long_is_ended_with_its_stubborn_children() {
    let hermit = project();
    hook(
        &hermit,
        "started",
        "trap '' TERM; (trap '' TERM; while :; do sleep 0.05; done) & echo $! > SEEN/child; \
         echo $$ > SEEN/itself; echo waiting; while :; do sleep 0.05; done",
    );
    let mut command = command(&hermit, WORKS, &["-m", "1"]);
    finish(command.env("NIGHTWRIGHT_HOOKS_TIMEOUT", "1s").spawn().unwrap()).exits(0);
    let failures = failures(&hermit);
    assert_eq!(failures[0].0, "started");
    assert_eq!(failures[0].1, "took longer than 1s and was ended: waiting");
    assert!(!lives(&hermit, "itself"));
    assert!(!lives(&hermit, "child"));
    assert_eq!(ending(&hermit.journal()), "completed");
}

#[test]
fn only_what_has_a_session_of_its_own_outlives_a_hook() {
    let hermit = project();
    hook(&hermit, "started", FAMILY);
    hook(&hermit, "next_iteration", "kill -0 $(cat SEEN/child) 2> /dev/null && exit 2; exit 0");
    run(&hermit, WORKS, &["-m", "1"]).exits(0);
    assert_eq!(failures(&hermit), []);
    assert!(!lives(&hermit, "child"));
    assert!(lives(&hermit, "server"), "the server is gone");
    end_server(&hermit);
}

#[test]
fn our_own_death_ends_a_hook_but_not_what_it_put_aside() {
    let hermit = project();
    let text = format!("{FAMILY}\necho $$ > SEEN/itself; while :; do sleep 0.05; done");
    hook(&hermit, "started", &text);
    let mut child = command(&hermit, WORKS, &["-m", "1"]).spawn().unwrap();
    wait_for(&hermit, "itself");
    send(&child, Signal::KILL);
    child.wait().unwrap();
    until("its end", || !lives(&hermit, "itself") && !lives(&hermit, "child"));
    assert!(lives(&hermit, "server"), "the server is gone");
    end_server(&hermit);
}

#[test]
fn stop_now_does_not_wait_for_a_hook_and_leaves_none() {
    let hermit = project();
    hook(&hermit, "started", "echo $$ > SEEN/itself; while :; do sleep 0.05; done");
    // Longer than anybody here waits: whoever waits for the hook is found out.
    let mut command = command(&hermit, WORKS, &["-m", "1"]);
    let child = command.env("NIGHTWRIGHT_HOOKS_TIMEOUT", "10m").spawn().unwrap();
    wait_for(&hermit, "itself");
    send(&child, Signal::INT);
    finish(child).exits(130);
    until("its end", || !lives(&hermit, "itself"));
    assert_eq!(ending(&hermit.journal()), "interrupted");
}

#[test]
fn a_hook_has_none_of_our_descriptors() {
    let hermit = project();
    hook(&hermit, "started", "ls -l /proc/self/fd > SEEN/fds");
    run(&hermit, WORKS, &["-m", "1"]).exits(0);
    let fds = seen(&hermit, "fds");
    for held in ["lock", "journal", "socket:"] {
        assert!(!fds.contains(held), "`{held}` is open in a hook:\n{fds}");
    }
}

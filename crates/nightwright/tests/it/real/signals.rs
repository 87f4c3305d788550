//! The end of a run in the middle of a tool call. Every command of the agent has a separate
//! session, out of reach of a signal to the agent's group.

use std::os::unix::process::CommandExt;
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::{RealEnv, accepted, claim};
use crate::harness::{RunningCommand, run_outcome, wait_past_debounce};
use crate::messages_api::scenario::{AnswerPhase, Fault, Scenario, bash, say};

/// A command with processes that are hard to kill: children in the background, in separate
/// sessions, ignoring signals, and one without its parent.
const STUBBORN: &str = "(setsid sleep 1001 > /dev/null 2>&1 &) ; \
     nohup sh -c 'trap \"\" TERM HUP INT; sleep 1002; sleep 1003' > /dev/null 2>&1 & \
     touch started; sleep 1004";

#[test]
fn a_termination_ends_the_run_the_agent_and_its_commands() {
    interrupted_by(|_, child| kill_process(pid(child), Signal::TERM).unwrap());
}

#[test]
fn ctrl_c_ends_the_run_the_agent_and_its_commands() {
    interrupted_by(|_, child| kill_process_group(pid(child), Signal::INT).unwrap());
}

#[test]
fn a_second_ctrl_c_kills_at_once_and_leaves_no_process() {
    interrupted_by(|real, child| {
        kill_process_group(pid(child), Signal::INT).unwrap();
        real.env.wait_for("stop_requested");
        wait_past_debounce();
        kill_process_group(pid(child), Signal::INT).unwrap();
    });
}

/// Interrupts a run in a separate foreground group of a terminal, in the middle of a command.
fn interrupted_by(interrupt: impl FnOnce(&RealEnv, &Child)) {
    let Some(real) = RealEnv::begin(Scenario::of(vec![bash(STUBBORN)])) else { return };
    let arguments = ["run", "-p", "x", "-m", "3", "--allowed-tools", "Bash"];
    let child = RunningCommand::from(real.command(&arguments).process_group(0).spawn().unwrap());
    in_the_command(&real);
    interrupt(&real, &child);
    real.finish(child).exits(130).says(&["Interrupted"]);
    assert_eq!(run_outcome(&real.journal()), "interrupted");
    assert_eq!(real.outcomes(), ["interrupted"]);
    let totals = real.totals();
    assert!(totals.cost.micros() > 0, "what was asked before is not free");
    assert_eq!(real.iterations().len(), 1);
}

#[test]
fn an_interrupt_ends_a_run_that_waits_for_the_model() {
    let hangs = say("I think that").but(Fault::Silence(AnswerPhase::Middle));
    let Some(real) = RealEnv::begin(Scenario::of(vec![hangs])) else { return };
    let child = real.start("wait for the model", &["-m", "3"]);
    real.api().wait_for("for the work", |request| request.says("wait for the model"));
    kill_process(pid(&child), Signal::INT).unwrap();
    real.finish(child).exits(130);
    assert_eq!(run_outcome(&real.journal()), "interrupted");
    assert_eq!(real.api().asked().len(), 1);
}

#[test]
fn nothing_survives_the_death_of_the_supervisor_and_the_run_can_be_resumed() {
    let Some(real) = RealEnv::begin(accepted(vec![bash(STUBBORN), claim()])) else { return };
    let mut child = real.start("x", &["-m", "3", "--allowed-tools", "Bash"]);
    in_the_command(&real);
    kill_process(pid(&child), Signal::KILL).unwrap();
    child.wait().unwrap();
    real.assert_no_process_is_alive();
    real.finish(real.command(&["resume"]).spawn().unwrap()).exits(0);
    assert_eq!(run_outcome(&real.journal()), "completed");
    assert_eq!(real.outcomes(), ["lost", "finished"]);
    assert!(real.totals().estimated.micros() > 0, "what was lost is not free");
}

#[test]
fn processes_left_by_a_tool_do_not_survive_the_attempt() {
    let leaves = "nohup sleep 1005 > /dev/null 2>&1 & (setsid sleep 1006 > /dev/null 2>&1 &); \
                  touch started";
    let scenario = Scenario::of(vec![bash(leaves), say("It runs in the background.")]);
    let Some(real) = RealEnv::begin(scenario) else { return };
    real.run("x", &["-m", "1", "--allowed-tools", "Bash"]).exits(0);
    assert_eq!(real.outcomes(), ["finished"]);
    assert!(real.read("started").is_some());
}

/// Waits until the agent's command is running.
pub(super) fn in_the_command(real: &RealEnv) {
    let begun = Instant::now();
    while real.read("started").is_none() {
        assert!(begun.elapsed() < Duration::from_mins(1), "the command never started");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn pid(child: &Child) -> Pid {
    Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap()
}

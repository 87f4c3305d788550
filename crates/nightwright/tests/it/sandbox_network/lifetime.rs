//! The processes and descriptors of the network, and what is left of them.

use std::fs;
use std::process::Command;
use std::time::Duration;

use nightwright::process::{CommandEnd, Exit, spawn};
use nightwright_core::sandbox::network::Policy;
use nightwright_core::stream::outcome::ProcessExit;
use tokio::time::timeout;

use super::Sandbox;
use super::outside::{FakeOutside, page};
use crate::agent_env::eventually;

fn sandbox() -> Sandbox {
    let outside = FakeOutside::default().server("93.184.216.34:80", page("hello\n"));
    Sandbox::new(Policy::default(), outside)
}

/// The processes whose command line contains a text, with their names.
fn processes(text: &str) -> Vec<(i32, String)> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        *pid != i32::try_from(std::process::id()).unwrap()
            && String::from_utf8_lossy(&line).contains(text)
    })
    .map(|pid| {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        (pid, name.trim().to_owned())
    })
    .collect()
}

fn kill(pid: i32) {
    let done = Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap();
    assert!(done.success());
}

#[tokio::test]
async fn the_exit_of_the_program_is_that_of_the_command() {
    let sandbox = sandbox();
    let ended = sandbox.finish("exit 7").await.ended;
    assert_eq!(ended, CommandEnd::Exited(Exit(ProcessExit::Code(7))));
}

#[tokio::test]
async fn nothing_is_left_when_any_process_of_the_chain_is_killed() {
    for victim in ["nw-net", "bwrap", "guard", "nothing"] {
        let sandbox = sandbox();
        let folder = sandbox.path().to_str().unwrap().to_owned();
        // The folder is in the command lines, by which the test finds the processes.
        let script = format!(
            "(setsid sh -c 'sleep 1000; : {folder}' &) ; sleep 1000 & \
             curl -s http://93.184.216.34/ >page; echo >ready; wait"
        );
        let mut child = spawn(&sandbox.launch(&script)).await.unwrap();
        let ready = sandbox.path().join("ready");
        eventually("the program runs", || ready.exists()).await;
        assert_eq!(fs::read_to_string(sandbox.path().join("page")).unwrap(), "hello\n");
        let found = processes(&folder);
        let sleepers = found.iter().filter(|(_, name)| name == "sh").count();
        assert!(sleepers > 0, "{found:?}");
        let (helper, _) = *found.iter().find(|(_, name)| name == "nw-net").unwrap();
        match victim {
            "nw-net" => kill(helper),
            "bwrap" => kill(found.iter().find(|(_, name)| name == "bwrap").unwrap().0),
            "guard" => {
                let status = fs::read_to_string(format!("/proc/{helper}/status")).unwrap();
                let parent = status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap();
                kill(parent.trim().parse().unwrap());
            }
            // The guard then kills everything.
            _ => drop(child.take_stdin()),
        }
        if victim == "nothing" {
            drop(child);
        } else {
            timeout(Duration::from_secs(20), child.gone()).await.unwrap();
        }
        eventually("everything is gone", || processes(&folder).is_empty()).await;
    }
}

#[tokio::test]
async fn a_program_that_is_asked_to_end_has_time_to_do_so() {
    let sandbox = sandbox();
    // The signal also ends a curl that starts while it is sent.
    let script = "trap 'until curl -s http://93.184.216.34/ >page; do :; done; exit 3' TERM; \
                  echo >ready; while :; do sleep 0.05; done";
    let child = spawn(&sandbox.launch(script)).await.unwrap();
    let ready = sandbox.path().join("ready");
    eventually("the program runs", || ready.exists()).await;
    child.terminate();
    let (exit, _) = timeout(Duration::from_secs(20), child.gone()).await.unwrap();
    assert_eq!(exit, Exit(ProcessExit::Code(3)));
    assert_eq!(fs::read_to_string(sandbox.path().join("page")).unwrap(), "hello\n");
}

#[tokio::test]
async fn the_network_leaves_no_descriptor_and_no_thread() {
    let count = |what: &str| fs::read_dir(format!("/proc/self/{what}")).unwrap().count();
    let run = async || {
        let sandbox = sandbox();
        assert_eq!(sandbox.run("curl -s http://93.184.216.34/").await, "hello\n");
    };
    run().await;
    let before = count("fd");
    for _ in 0..5 {
        run().await;
    }
    // The servers of the test keep their listeners.
    let listeners = 5;
    assert!(count("fd") <= before + listeners, "{} after {before}", count("fd"));
    eventually("the threads of the server are gone", || {
        let tasks = fs::read_dir("/proc/self/task").unwrap().flatten();
        tasks
            .filter_map(|task| fs::read_to_string(task.path().join("comm")).ok())
            .all(|name| name.trim() != "nw-network")
    })
    .await;
}

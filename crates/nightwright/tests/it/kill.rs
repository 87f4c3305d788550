//! Kills a run with SIGKILL at any moment, with child processes that are hard to kill. Five seconds
//! later no process is alive.
//!
//! `NIGHTWRIGHT_KILLS=100` sets the number of kills and prints the results. The moments are the
//! same each time.

mod cell;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nightwright::process::tree_lock;
use rustix::process::Signal;

use self::cell::Cell;
use super::fake_agent::{FakeAgentEnv, send};
use super::harness::{RunningCommand, shell_path};

/// The default number of kills.
const KILLS: u64 = 20;
/// The number of parallel kills; most of the time is waiting.
const MAX_PARALLEL: usize = 20;
/// The time within which all processes must exit after the kill.
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);
/// The interval between two searches for living processes.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// When a run is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Moment {
    /// While the run or its agent starts.
    Start,
    /// During a tool call of the agent.
    Tool,
    /// During a check of the gate.
    Check,
    /// After SIGTERM, during the grace period.
    Grace,
    /// While the run is resumed, after a kill during a tool call.
    Resume,
}

impl Moment {
    const ALL: [Self; 5] = [Self::Start, Self::Tool, Self::Check, Self::Grace, Self::Resume];

    fn name(self) -> &'static str {
        match self {
            Self::Start => "before init",
            Self::Tool => "during a tool",
            Self::Check => "during a check",
            Self::Grace => "during grace",
            Self::Resume => "during resume",
        }
    }

    /// Returns the script of the agent.
    fn words(self) -> &'static str {
        match self {
            Self::Start => "trap '' TERM; family; sleep 300",
            Self::Check => "init; result '<promise>COMPLETE</promise>'",
            Self::Tool | Self::Grace | Self::Resume => {
                "trap '' TERM; init; tool; family; sleep 300"
            }
        }
    }

    /// The maximum random delay of the kill, in milliseconds.
    fn breadth(self) -> u64 {
        match self {
            Self::Start => 800,
            Self::Tool | Self::Check => 300,
            Self::Grace => 4500,
            Self::Resume => 4000,
        }
    }
}

/// The result of one kill.
struct KillResult {
    moment: Moment,
    kept_by: &'static str,
    /// The time until no process was alive, if that happened.
    took: Option<Duration>,
    survivors: Vec<String>,
}

/// A pseudorandom number for each number (`SplitMix64`).
fn scatter(number: u64) -> u64 {
    let mut z = number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Performs the kill with this number.
fn kill(number: u64, cell: Option<&Cell>) -> KillResult {
    let kinds = Moment::ALL.len() as u64;
    let moment = Moment::ALL[usize::try_from(number % kinds).unwrap()];
    // Try each moment alternately with and without control groups, if they are available.
    let cell = cell.filter(|_| (number / kinds).is_multiple_of(2));
    let scene = FakeAgentEnv::new(moment.words());
    let mut child = begin(&scene, moment, cell);
    thread::sleep(Duration::from_millis(scatter(number) % moment.breadth()));
    // The run may have exited by itself before the kill.
    let _ = child.kill();
    let killed = Instant::now();
    child.wait().unwrap();
    let took = loop {
        let census = scene.census();
        if census.noted_alive().is_empty() && census.alive().is_empty() {
            break Some(killed.elapsed());
        }
        if killed.elapsed() > EXIT_TIMEOUT {
            break None;
        }
        thread::sleep(POLL_INTERVAL);
    };
    // No process starts again either.
    thread::sleep(EXIT_TIMEOUT.saturating_sub(killed.elapsed()));
    let mut survivors = scene.census().alive();
    let locks = scene.env.runs().into_iter().map(|run| run.join("tree.lock"));
    survivors.extend(
        locks
            .filter(|lock| !tree_lock::is_free(lock, Duration::ZERO).unwrap())
            .map(|lock| format!("whoever holds `{}`", lock.display())),
    );
    scene.census().end();
    KillResult { moment, kept_by: kept_by(&scene, cell), took, survivors }
}

/// Starts or resumes a run, and waits until it reaches the moment.
fn begin(scene: &FakeAgentEnv, moment: Moment, cell: Option<&Cell>) -> RunningCommand {
    let check = scene.agent.file("check.sh");
    fs::write(&check, scene.agent.script("trap '' TERM; family; sleep 300")).unwrap();
    let check = format!("sh {}", shell_path(&check));
    let start = |arguments: &[&str]| {
        let mut command = scene.env.command(arguments);
        if let Some(cell) = cell {
            command = cell.inside(&command);
        }
        // The output is not needed.
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap().into()
    };
    let run = ["run", "-p", "x", "-m", "3", "--no-delay", "--verify", &check];
    let mut child: RunningCommand = start(&run);
    if moment != Moment::Start {
        scene.agent.wait_for("family", 1);
    }
    match moment {
        Moment::Start | Moment::Tool | Moment::Check => child,
        Moment::Grace => {
            send(&child, Signal::TERM);
            child
        }
        Moment::Resume => {
            send(&child, Signal::KILL);
            child.wait().unwrap();
            start(&["resume"])
        }
    }
}

/// The kind of containment, checked against the journal if that has been written.
fn kept_by(scene: &FakeAgentEnv, cell: Option<&Cell>) -> &'static str {
    let wanted = if cell.is_some() || nightwright::process::groups_folder().is_none() {
        "guard"
    } else {
        "guard and cgroup"
    };
    let journal = scene.env.runs().first().map(|run| run.join("journal.jsonl"));
    let text = journal.and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default();
    if text.contains("run_started") {
        let said = format!("\"containment\":\"{wanted}\"");
        assert!(text.contains(&said), "not kept by {wanted}: {text}");
    }
    wanted
}

/// Performs all kills, several in parallel.
fn kill_all(kills: u64) -> Vec<KillResult> {
    let (next, cell) = (AtomicU64::new(0), Cell::make());
    let one_after_the_other = || {
        let mut deaths = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= kills {
                return deaths;
            }
            deaths.push(kill(number, cell.as_ref()));
        }
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..MAX_PARALLEL).map(|_| scope.spawn(one_after_the_other)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

/// A table with one line per kind of kill.
fn table(deaths: &[KillResult]) -> String {
    let mut kinds: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for death in deaths {
        kinds.entry((death.moment, death.kept_by)).or_default().push(death);
    }
    let mut text = format!(
        "{:<16} {:<18} {:>5} {:>10} {:>8}\n",
        "killed", "kept by", "kills", "survivors", "slowest"
    );
    for ((moment, kept_by), deaths) in kinds {
        let survivors: usize = deaths.iter().map(|death| death.survivors.len()).sum();
        let slowest = deaths.iter().map(|death| death.took.unwrap_or(EXIT_TIMEOUT)).max();
        let slowest = slowest.unwrap_or_default().as_secs_f64();
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:<16} {kept_by:<18} {:>5} {survivors:>10} {slowest:>6.2} s",
            moment.name(),
            deaths.len(),
        );
    }
    text
}

#[test]
fn no_process_is_alive_five_seconds_after_a_kill_at_any_moment() {
    let asked = std::env::var("NIGHTWRIGHT_KILLS").ok();
    let kills = asked.as_ref().map_or(KILLS, |text| text.parse().expect("a number of kills"));
    let deaths = kill_all(kills);
    if asked.is_some() {
        println!("\n{}", table(&deaths));
    }
    let survivors: Vec<_> = deaths
        .iter()
        .filter(|death| !death.survivors.is_empty())
        .map(|death| (death.moment, death.kept_by, &death.survivors))
        .collect();
    assert!(
        survivors.is_empty(),
        "alive after {EXIT_TIMEOUT:?}: {survivors:#?}\n{}",
        table(&deaths)
    );
    assert_eq!(deaths.len() as u64, kills);
    // A kill before any process exists proves nothing, so most kills must come later.
    let late = deaths.iter().filter(|death| death.took > Some(Duration::from_secs(1))).count();
    assert!(late * 2 > deaths.len(), "most kills have come too early:\n{}", table(&deaths));
}

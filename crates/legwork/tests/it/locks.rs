//! One run at a time in a project, however many are started.

use std::time::{Duration, Instant};

use super::harness::{Hermit, finish};

const HANGING: &str = "[[attempt]]\nending = { hang = true }\n";

/// How many are started; `LEGWORK_STARTS` asks for more.
fn starts() -> usize {
    std::env::var("LEGWORK_STARTS").map_or(200, |text| text.parse().expect("a number of starts"))
}

#[test]
fn of_two_hundred_simultaneous_starts_one_wins_and_the_others_name_it() {
    let hermit = Hermit::new();
    let script = hermit.script(HANGING);
    let arguments = ["run", "-p", "x", "-m", "3", "--dry-run", "--rehearsal", &script];
    let mut children: Vec<_> = (0..starts()).map(|_| hermit.start(&arguments)).collect();
    hermit.wait_for("agent_ready");
    // Losers leave at once; whoever is still there when all others are gone has won.
    let begun = Instant::now();
    let mut losers = Vec::new();
    while losers.len() + 1 < starts() {
        assert!(begun.elapsed() < Duration::from_mins(2), "only {} have left", losers.len());
        let mut there = Vec::new();
        for mut child in children {
            match child.try_wait().unwrap() {
                Some(_) => losers.push(child),
                None => there.push(child),
            }
        }
        children = there;
        std::thread::sleep(Duration::from_millis(5));
    }
    let winner = children.pop().expect("one has won");
    let id = format!("pid {}", winner.id());
    for loser in losers {
        finish(loser).exits(1).says(&["is in use by run", &id, "legwork stop"]);
    }
    hermit.run(&["stop", "--now"]).exits(0);
    finish(winner).exits(130);
    assert_eq!(hermit.runs().len(), 1, "those who lost leave nothing behind");
}

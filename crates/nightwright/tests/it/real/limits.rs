//! The limits of the agent.

use super::RealEnv;
use crate::harness::run_outcome;
use crate::messages_api::scenario::{Scenario, Usage, bash};

#[test]
fn used_up_turns_end_the_iteration_and_its_work_counts() {
    let Some(real) = RealEnv::begin(Scenario::of(vec![bash("date +%N >> times.txt")])) else {
        return;
    };
    let arguments = ["-m", "2", "--max-turns", "2", "--allowed-tools", "Bash"];
    real.run("note the time", &arguments).exits(0);
    assert_eq!(real.outcomes(), ["turn_limit", "turn_limit"], "a limit, and no failure");
    assert_eq!(run_outcome(&real.journal()), "max_iterations");
    assert_eq!(real.read("times.txt").map(|text| text.lines().count()), Some(4));
    assert_eq!(real.api().asked().len(), 4);
}

#[test]
fn the_money_for_the_run_is_passed_on_and_exceeded_by_one_message_at_most() {
    let costly = Usage { input: 10_000, output: 1_000 };
    let answer = bash("date +%N >> times.txt").using(costly);
    let Some(real) = RealEnv::begin(Scenario::of(vec![answer])) else { return };
    let output =
        real.run("note the time", &["-m", "9", "--max-cost", "1", "--allowed-tools", "Bash"]);
    output.exits(0);
    assert_eq!(run_outcome(&real.journal()), "max_cost");
    assert_eq!(real.outcomes()[0], "attempt_budget");
    let totals = real.totals();
    let calls = u64::try_from(real.api().asked().len()).unwrap();
    let each = totals.cost.micros() / calls;
    assert_eq!(totals.cost.micros(), each * calls, "every message is paid for, and none twice");
    assert!(totals.cost.micros() <= 1_000_000 + each, "{totals:?}");
    assert_eq!(totals.estimated.micros(), 0);
    assert_eq!(totals.tokens.input, 10_000 * calls);
}

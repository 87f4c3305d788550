//! Limits of the provider: what is waited for, and by whom.

use std::time::Duration;

use nightwright_core::event::{Event, WaitEnd, WaitEvent, WaitKind};
use nightwright_core::outcome::Outcome;

use super::{RealEnv, accepted, claim};
use crate::harness::{names, run_outcome};
use crate::messages_api::scenario::{Scenario, too_many, usage_limit};

#[test]
fn a_short_refusal_is_waited_out_by_the_program_itself() {
    let answers = vec![too_many(Duration::from_secs(1)), claim()];
    let Some(real) = RealEnv::begin(accepted(answers)) else { return };
    real.run("x", &["-m", "3"]).exits(0);
    assert_eq!(real.outcomes(), ["finished"]);
    let names = names(&real.journal());
    assert!(!names.contains(&"limit_wait_started") && !names.contains(&"retry_scheduled"));
}

#[test]
fn a_long_rate_limit_is_waited_out_and_costs_no_iteration() {
    let answers = vec![too_many(Duration::from_mins(10)), claim()];
    let Some(real) = RealEnv::begin(accepted(answers)) else { return };
    let child = real.start("x", &["-m", "1"]);
    real.env.wait_for("limit_wait_started");
    assert_eq!(real.asked_for_work().len(), 1, "the program gave up at once");
    let output = real.env.run(&["tell", &real.id(), "--retry-now"]);
    output.exits(0);
    real.finish(child).exits(0);
    assert_eq!(run_outcome(&real.journal()), "completed");
    assert_eq!(real.outcomes(), ["rate_limited", "finished"]);
    assert_eq!(real.iterations().len(), 1);
    assert_eq!(waits(&real), [(WaitKind::Rate, None, WaitEnd::RetryNow)]);
}

#[test]
fn a_usage_limit_is_waited_out_to_its_end_and_costs_no_iteration() {
    let answers = vec![usage_limit(Duration::from_secs(20)), claim()];
    let Some(real) = RealEnv::begin(accepted(answers)) else { return };
    let real = real.subscribed();
    let output = real.run("x", &["-m", "1"]).exits(0);
    assert_eq!(run_outcome(&real.journal()), "completed", "{}", output.err);
    assert_eq!(real.outcomes(), ["usage_limited", "finished"]);
    assert_eq!(real.iterations().len(), 1);
    let waits = waits(&real);
    let [(WaitKind::Usage, Some(until), WaitEnd::Elapsed)] = waits[..] else { panic!("{waits:?}") };
    let journal = real.journal();
    let second =
        journal.iter().filter(|record| record.event.name() == "attempt_started").nth(1).unwrap();
    assert!(second.at >= until, "nothing was tried before the limit ended");
    assert!(output.err.contains("usage limit: waiting until"), "{}", output.err);
    assert!(real.totals().waited >= Duration::from_secs(1));
}

#[test]
fn a_limit_that_lasts_too_long_ends_the_run_with_its_end_and_the_way_on() {
    let Some(real) = RealEnv::begin(Scenario::of(vec![usage_limit(Duration::from_hours(30))]))
    else {
        return;
    };
    let real = real.subscribed();
    let output = real.run("x", &["-m", "1"]).exits(1);
    assert_eq!(run_outcome(&real.journal()), "limit_wait_too_long", "{}", output.err);
    let resume = format!("nightwright resume {}", real.id());
    assert!(output.err.contains(&resume), "{}", output.err);
    let Outcome::LimitWaitTooLong { until: Some(until) } = real.outcome() else {
        panic!("{:?}", real.outcome())
    };
    assert!(output.err.contains(&until.strftime("%H:%M").to_string()), "{}", output.err);
    assert_eq!(real.api().asked().len(), 1);
}

/// The waits, with their limits and the reasons for their ends.
fn waits(real: &RealEnv) -> Vec<(WaitKind, Option<jiff::Timestamp>, WaitEnd)> {
    let mut waits = Vec::new();
    let mut begun = None;
    for record in real.journal() {
        match record.event {
            Event::Wait(WaitEvent::Started { limit, until, .. }) => begun = Some((limit, until)),
            Event::Wait(WaitEvent::Ended { why, .. }) => {
                let (limit, until) = begun.take().expect("a wait that ended has begun");
                waits.push((limit, until, why));
            }
            _ => {}
        }
    }
    waits
}

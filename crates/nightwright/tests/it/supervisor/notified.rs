//! Receivers of notifications that do not answer have no effect on a run.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use nightwright::config::{ConfigLayer, ResolvedConfig, ValueOrigin};
use nightwright::error::WarnFn;
use nightwright::output::follow::FollowTarget;
use nightwright::output::notify::{Address, Notifier};
use nightwright::runtime::supervisor::{InputQueues, Observers};
use nightwright_core::event::NoteEvent;
use nightwright_core::redact::Secrets;
use nightwright_core::run_view;

use super::*;
use crate::notify::server::{Refusing, Sent, Server, ServerAnswer};

/// The result of a run in virtual time.
struct NotifiedRun {
    /// The recorded events without the warnings.
    records: Vec<Record>,
    /// The warnings in the journal or after the end.
    complaints: BTreeSet<String>,
    /// How long its loop took, by the clock on the wall.
    took: Duration,
}

/// A run in virtual time with these addresses.
async fn run(addresses: &[String]) -> NotifiedRun {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.jsonl");
    let queues = InputQueues::default();
    let _operator = queues.operator();
    let warnings = queues.side_inputs();
    let complain: WarnFn = Arc::new(move |text| warnings.warn(text));
    let followed = FollowTarget {
        journal: path.clone(),
        output: folder.path().join("output"),
        after: 0,
        written: None,
    };
    let notifier = Notifier::start(&of(addresses), followed, &Secrets::default(), &complain);
    let wake = notifier.as_ref().map(Notifier::waker);
    let until = Some("2026-11-16T03:00:00Z".parse().expect("a date"));
    let scripts = vec![
        finishes(false),
        fails(AttemptOutcome::UsageLimited { until }),
        fails(AttemptOutcome::Overloaded),
        finishes(true),
    ];
    let (play, _) = ScriptedEffects::new(scripts, &["one", "two"]);
    let writer = journal::create(&path, RunId("r".to_owned())).unwrap();
    let clock = Clock::starting_at("2026-11-15T22:00:00Z".parse().expect("a date"));
    let watcher = Box::new(move |_: &[Record]| {
        if let Some(wake) = &wake {
            wake();
        }
    });
    let supervisor = Supervisor::new(
        queues,
        machine(settings()),
        writer,
        clock,
        play,
        Secrets::default(),
        Observers::of_records(watcher),
    );
    // The other clock stands still while the loop is blocked.
    let begun = std::time::Instant::now();
    let finished = supervisor.run(Input::Start).await;
    let took = begun.elapsed();
    let end = finished.end.map(|end| *end);
    let finished = run_view::FinalOutcome { outcome: finished.outcome, note: finished.note };
    let late = notifier.map(|notifier| notifier.close(finished, end).wait()).unwrap_or_default();
    let mut complaints: BTreeSet<_> = late.into_iter().collect();
    let mut records = journal::read(&path).unwrap().records;
    records.retain(|record| match &record.event {
        Event::Note(NoteEvent::Warning { text }) => {
            assert!(complaints.insert(text.clone()), "said twice: {text}");
            false
        }
        _ => true,
    });
    NotifiedRun { records, complaints, took }
}

fn of(urls: &[String]) -> Vec<Address> {
    let path = Path::new("config.toml");
    let tables: Vec<_> = urls.iter().map(|url| format!("[[notify]]\nurl = '{url}'\n")).collect();
    let layer =
        ConfigLayer::parse(ValueOrigin::User(path.to_owned()), path, &tables.concat()).unwrap();
    Address::all(&ResolvedConfig::new([layer]), |_| None).unwrap()
}

#[tokio::test(start_paused = true)]
async fn unreachable_servers_do_not_slow_a_run_down() {
    let alone = run(&[]).await;
    assert_eq!(alone.complaints.len(), 0);
    assert_eq!(alone.records.last().map(|record| record.event.name()), Some("run_finished"));
    let answers = [
        ServerAnswer::Never,
        ServerAnswer::Drip,
        ServerAnswer::With(500, "", ""),
        ServerAnswer::With(429, "retry-after: 3600\r\n", ""),
        ServerAnswer::Elsewhere("https://example.org/".to_owned()),
    ];
    let servers = answers.map(|answer| Server::start(vec![answer]));
    let mut urls: Vec<_> = servers.iter().map(|server| server.url("/x")).collect();
    let refusing = Refusing::new();
    urls.push(refusing.url());
    let notified = run(&urls).await;
    assert_eq!(notified.records, alone.records, "the very same events at the very same times");
    assert_eq!(
        notified.complaints.len(),
        urls.len(),
        "one warning for each: {:?}",
        notified.complaints
    );
    assert!(servers.iter().all(|server| !server.seen().is_empty()), "they were asked");
    // Waiting for a receiver that never answers would take ten seconds.
    assert!(notified.took < Duration::from_secs(8), "{:?}", notified.took);
}

#[tokio::test(start_paused = true)]
async fn a_run_takes_the_same_time_when_everything_arrives() {
    let server = Server::kind();
    let alone = run(&[]).await;
    let notified = run(&[server.url("/x")]).await;
    assert_eq!((notified.records, notified.complaints.len()), (alone.records, 0));
    let kind = |sent: &Sent| sent.json()["notice"]["kind"].as_str().unwrap().to_owned();
    let mut kinds: Vec<_> = server.seen().iter().map(kind).collect();
    // A run in virtual time ends before most notifications are sent, and then its end goes first.
    kinds.sort();
    assert_eq!(kinds, ["completion", "execution_start", "limit_wait", "setup_complete"]);
}

//! Whoever is told of a run, and does not answer, changes nothing about it.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex};

use legwork::config::{Layer, Origin, Resolved};
use legwork::notify::{Address, Complain, Notifier};
use legwork::publish::Followed;
use legwork_core::redact::Secrets;
use legwork_core::view;

use super::*;
use crate::notify::server::{Answer, Server, nobody};

/// A run in virtual time with these addresses, and how often somebody complained.
async fn run(addresses: &[String]) -> (Vec<Record>, usize) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.jsonl");
    let complaints = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&complaints);
    let complain: Complain = Arc::new(move |text| heard.lock().unwrap().push(text));
    let followed =
        Followed { journal: path.clone(), output: folder.path().join("output"), after: 0 };
    let notifier = Notifier::start(&of(addresses), followed, &Secrets::default(), &complain);
    let wake = notifier.as_ref().map(Notifier::waker);
    let until = Some("2026-11-16T03:00:00Z".parse().expect("a date"));
    let scripts = vec![
        finishes(false),
        fails(AttemptOutcome::UsageLimited { until }),
        fails(AttemptOutcome::Overloaded),
        finishes(true),
    ];
    let (play, _) = Play::new(scripts, &["one", "two"]);
    let writer = journal::create(&path, RunId("r".to_owned())).unwrap();
    let clock = Clock::starting_at("2026-11-15T22:00:00Z".parse().expect("a date"));
    let watcher = Box::new(move |_: &[Record]| {
        if let Some(wake) = &wake {
            wake();
        }
    });
    let (supervisor, _operator) =
        Supervisor::new(machine(settings()), writer, clock, play, watcher);
    let ending = supervisor.run(Input::Start).await;
    let ending = view::Ending { outcome: ending.outcome, note: ending.note };
    let late = notifier.map(|notifier| notifier.close(ending).wait()).unwrap_or_default();
    let records = journal::read(&path).unwrap().records;
    // Nobody records them here, so those of before are said again at the end.
    let all: BTreeSet<_> = complaints.lock().unwrap().drain(..).chain(late).collect();
    (records, all.len())
}

fn of(urls: &[String]) -> Vec<Address> {
    let path = Path::new("config.toml");
    let tables: Vec<_> = urls.iter().map(|url| format!("[[notify]]\nurl = '{url}'\n")).collect();
    let layer = Layer::parse(Origin::User(path.to_owned()), path, &tables.concat()).unwrap();
    Address::all(&Resolved::new([layer]), |_| None).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_run_takes_the_same_time_whoever_is_dead() {
    let (alone, complaints) = run(&[]).await;
    assert_eq!(complaints, 0);
    assert_eq!(alone.last().map(|record| record.event.name()), Some("run_finished"));
    let answers = [
        Answer::Never,
        Answer::Drip,
        Answer::With(500, "", ""),
        Answer::With(429, "retry-after: 3600\r\n", ""),
        Answer::Elsewhere("https://example.org/".to_owned()),
    ];
    let servers = answers.map(|answer| Server::start(vec![answer]));
    let mut urls: Vec<_> = servers.iter().map(|server| server.url("/x")).collect();
    urls.push(nobody());
    let (told, complaints) = run(&urls).await;
    assert_eq!(told, alone, "the very same events at the very same times");
    assert_eq!(complaints, urls.len(), "one warning for each");
    assert!(servers.iter().all(|server| !server.seen().is_empty()), "they were asked");
}

#[tokio::test(start_paused = true)]
async fn a_run_takes_the_same_time_when_everything_arrives() {
    let server = Server::kind();
    let (alone, _) = run(&[]).await;
    let (told, complaints) = run(&[server.url("/x")]).await;
    assert_eq!((told, complaints), (alone, 0));
    let kinds: Vec<_> =
        server.seen().iter().map(|sent| sent.json()["notice"]["kind"].clone()).collect();
    assert_eq!(kinds, ["setup_complete", "execution_start", "limit_wait", "completion"]);
}

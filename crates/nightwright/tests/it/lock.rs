//! Locks between processes that compete and crash.

use std::fs::{self, File};
use std::process::{Command, Stdio};
use std::sync::Barrier;
use std::time::{Duration, Instant};

use nightwright::store::lock::{Lock, LockError, LockOwner, peek};
use nightwright_core::units::RunId;

#[test]
fn one_of_many_racing_starts_wins_and_the_others_learn_which() {
    const RACERS: usize = 50;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lock");
    for round in 0..20 {
        let start = Barrier::new(RACERS);
        let results: Vec<_> = std::thread::scope(|scope| {
            let racers: Vec<_> = (0..RACERS)
                .map(|racer| {
                    let (path, start) = (&path, &start);
                    scope.spawn(move || {
                        let run = RunId(format!("round {round} racer {racer}"));
                        let owner =
                            LockOwner::current(run, "2026-11-15T23:34:12Z".parse().unwrap());
                        start.wait();
                        (owner.clone(), Lock::take(path, &owner))
                    })
                })
                .collect();
            racers.into_iter().map(|racer| racer.join().unwrap()).collect()
        });
        let winners: Vec<_> = results.iter().filter(|(_, result)| result.is_ok()).collect();
        assert_eq!(winners.len(), 1, "round {round}");
        for (_, result) in &results {
            match result {
                Ok(_) => {}
                Err(LockError::Held(held)) => assert_eq!(held.owner.as_ref(), Some(&winners[0].0)),
                Err(LockError::File(error)) => panic!("{error}"),
            }
        }
    }
}

#[test]
fn the_lock_of_a_dead_process_is_free_at_once_and_that_of_a_live_one_never() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lock");

    // The child has the lock through the open file that it inherits as its input.
    let file = File::create(&path).unwrap();
    file.try_lock().unwrap();
    let mut child = Command::new("sleep").arg("60").stdin(Stdio::from(file)).spawn().unwrap();
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    let started = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap().parse();
    let holder = LockOwner {
        pid: child.id(),
        started: Some(started.unwrap()),
        run: RunId("20261115-233412-7f3a".to_owned()),
        since: "2026-11-15T23:34:12Z".parse().unwrap(),
    };
    fs::write(&path, format!("{}\n", serde_json::to_string(&holder).unwrap())).unwrap();

    let us = LockOwner::current(RunId("ours".to_owned()), "2026-11-16T08:00:00Z".parse().unwrap());
    match Lock::take(&path, &us) {
        Err(LockError::Held(held)) => assert_eq!(held.owner, Some(holder.clone())),
        other => panic!("{other:?}"),
    }

    child.kill().unwrap();
    // A zombie process counts as dead.
    let deadline = Instant::now() + Duration::from_mins(1);
    let lock = loop {
        match Lock::take(&path, &us) {
            Ok(lock) => break lock,
            Err(error) => assert!(Instant::now() < deadline, "{error}"),
        }
    };
    assert!(!holder.is_alive());
    assert_eq!(peek(&path), Some(us));
    drop(lock);
    child.wait().unwrap();
}

#[test]
fn a_lock_that_only_a_child_of_a_dead_owner_has_is_waited_for_and_taken_over() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lock");
    // The lock contains no owner: a process that only inherited it holds it for longer than the
    // search for an owner takes.
    let file = File::create(&path).unwrap();
    file.try_lock().unwrap();
    let mut child = Command::new("sleep").arg("0.5").stdin(Stdio::from(file)).spawn().unwrap();
    let owner =
        LockOwner::current(RunId("next".to_owned()), "2026-11-15T23:34:12Z".parse().unwrap());
    let _taken = Lock::take(&path, &owner).unwrap();
    child.wait().unwrap();
}

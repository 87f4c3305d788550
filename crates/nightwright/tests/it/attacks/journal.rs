//! Attacks on the record of a run: its journal, live and after a crash.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;

use nightwright::store::journal::{self, JournalTail};
use nightwright_core::event::{Event, Record, RunEvent};
use nightwright_core::input::ResumePolicy;
use nightwright_core::journal::encode;
use nightwright_core::machine::Machine;
use nightwright_core::machine::resume::ResumeRefusal;
use nightwright_core::notification::{NotificationBuilder, NotificationKind};
use nightwright_core::outcome::{Outcome, Proof};
use nightwright_core::units::RunId;
use rustix::process::{Pid, Signal, kill_process};

use crate::harness::{RunningCommand, TestEnv, finish, run_outcome};
use crate::notify::server::Server;

/// Works, waits for the test, and works again.
const WAITS: &str = r#"
[[attempt]]
steps = [{ write = "a.txt", text = "a" }]
end = { result = "A part of it." }
[[attempt]]
steps = [{ run = "while [ ! -e go ]; do sleep 0.02; done" }, { write = "b.txt", text = "b" }]
end = { result = "Another part of it." }
"#;

fn start(env: &TestEnv) -> RunningCommand {
    let script = env.script(WAITS);
    let child = env.start(&[
        "run",
        "-p",
        "x",
        "-m",
        "2",
        "--no-delay",
        "--dry-run",
        "--rehearsal",
        &script,
    ]);
    env.wait_for_nth("agent_ready", 2);
    child
}

fn path(env: &TestEnv) -> PathBuf {
    env.runs()[0].join("journal.jsonl")
}

/// Returns a line that says that the run has completed, with the right number and checksum.
fn forged_end(env: &TestEnv) -> Vec<u8> {
    let records = env.journal();
    let Record { at, active, .. } = records.last().unwrap().clone();
    let outcome = Outcome::completed(Proof::Checks);
    let totals = nightwright_core::event::Totals::default();
    let event = Event::Run(RunEvent::Finished { outcome, note: None, totals });
    let run = RunId(env.runs()[0].file_name().unwrap().to_str().unwrap().to_owned());
    let mut line = Vec::new();
    encode(&mut line, records.len() as u64 + 1, &run, &Record { at, active, event });
    line
}

fn append(env: &TestEnv, bytes: &[u8]) {
    OpenOptions::new().append(true).open(path(env)).unwrap().write_all(bytes).unwrap();
}

fn kill(mut child: RunningCommand) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
    child.wait().unwrap();
}

#[test]
fn a_forged_end_reaches_no_hook_and_no_notification_and_a_plain_reader_accepts_it() {
    let (env, server) = (TestEnv::new(), Server::kind());
    let config = env.path("home").join(".config/nightwright");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("config.toml"), format!("notify.url = '{}'", server.url("/x"))).unwrap();
    let child = start(&env);
    let forged = forged_end(&env);
    append(&env, &forged);

    // A reader that knows only the file accepts the line.
    let mut notifications = NotificationBuilder::default();
    let mut kinds = Vec::new();
    let mut plain = JournalTail::open(&path(&env)).unwrap();
    let read = plain.poll_raw(|line, _| {
        kinds.extend(notifications.of(&line).into_iter().map(|notification| notification.kind));
    });
    read.unwrap();
    let fooled = kinds.last() == Some(&NotificationKind::Completion);

    finish(child).exits(1).says(&["Another process changed the journal of the run", "instead of"]);
    let sent: Vec<_> = server
        .seen()
        .iter()
        .map(|sent| sent.json()["notice"]["kind"].as_str().unwrap().to_owned())
        .filter(|kind| ["completion", "stopped", "error"].contains(&kind.as_str()))
        .collect();
    assert_eq!(sent, ["error"]);
    assert_eq!(run_outcome(&env.journal()), "journal_damaged");
    assert_eq!(fs::read(env.runs()[0].join("journal.foreign")).unwrap(), forged);
    // The run may have ended before the plain reader had a look.
    assert!(fooled || kinds.last() == Some(&NotificationKind::Error), "{kinds:?}");
}

#[test]
fn a_journal_that_was_truncated_replaced_removed_or_overwritten_ends_the_run() {
    for (harm, says) in [
        ("truncate -s 0 FILE", "0 bytes instead of"),
        ("cp FILE x && mv x FILE", "it replaced the file"),
        ("rm FILE", "it deleted the file"),
        ("printf X | dd of=FILE bs=1 seek=40 conv=notrunc", "it overwrote recorded events"),
    ] {
        let env = TestEnv::new();
        let file = format!("{}/*/runs/*/journal.jsonl", env.word("state"));
        let harm =
            harm.replace("of=FILE", &format!("of=\"$(echo {file})\"")).replace("FILE", &file);
        let script = format!(
            "[[attempt]]\nsteps = [{{ run = '''{harm}''' }}, {{ run = \"echo more >> a.txt\" }}]\n\
             end = {{ result = \"<promise>COMPLETE</promise>\" }}\n"
        );
        env.rehearse(&script, "1", &["--yes"]).exits(1).says(&["changed the journal", says]);
    }
}

#[test]
fn a_journal_that_was_changed_after_a_crash_is_not_resumed() {
    type Harm = fn(&TestEnv);
    let harms: [(Harm, &str); 3] = [
        (
            |env| {
                let journal = journal::read(&path(env)).unwrap();
                let mut records = journal.records.into_iter();
                let mut first = records.next().unwrap();
                let Event::Run(RunEvent::Started(started)) = &mut first.event else { panic!() };
                started.settings.limits.max_iterations = Some(1_000);
                let mut bytes = Vec::new();
                let all = std::iter::once(first).chain(records);
                for (seq, record) in (1..).zip(all) {
                    encode(&mut bytes, seq, journal.run.as_ref().unwrap(), &record);
                }
                fs::write(path(env), bytes).unwrap();
            },
            "another process changed its journal",
        ),
        (
            |env| {
                let text = fs::read_to_string(path(env)).unwrap();
                let lines: Vec<_> = text.lines().collect();
                fs::write(path(env), lines[..3].join("\n") + "\n").unwrap();
            },
            "another process changed its journal",
        ),
        (
            |env| {
                let seals = env.runs()[0].ancestors().nth(2).unwrap().join("seals");
                fs::remove_dir_all(seals).unwrap();
            },
            "its seal is missing or unreadable",
        ),
    ];
    for (harm, says) in harms {
        let env = TestEnv::new();
        kill(start(&env));
        harm(&env);
        let before = fs::read(path(&env)).unwrap();
        // The journal itself is good: without the comparison, the machine would continue.
        let machine = Machine::resume(&env.journal());
        assert_eq!(machine.refusal(&[], ResumePolicy::IfUnfinished), None);
        env.run(&["resume"]).exits(1).says(&[
            "cannot resume run ",
            says,
            "hint: review the project",
        ]);
        assert_eq!(fs::read(path(&env)).unwrap(), before);
        let status = env.run(&["status"]).exits(0);
        let warned = format!("{}{}", status.out, status.err).contains("another process changed");
        assert_eq!(warned, says.ends_with("its journal"), "{}{}", status.out, status.err);
    }
}

#[test]
fn events_that_were_added_after_a_crash_do_not_count_and_an_untouched_run_is_resumed() {
    for forge in [true, false] {
        let env = TestEnv::new();
        kill(start(&env));
        if forge {
            append(&env, &forged_end(&env));
            let fooled = Machine::resume(&env.journal());
            let refusal = fooled.refusal(&[], ResumePolicy::IfUnfinished);
            assert_eq!(refusal, Some(ResumeRefusal::Completed));
        }
        env.file("go", "");
        let resumed = env.run(&["resume"]).exits(0);
        assert_eq!(
            resumed.err.contains("an addition by another process"),
            forge,
            "{}",
            resumed.err
        );
        assert_eq!(run_outcome(&env.journal()), "max_iterations");
    }
}

//! Checks in a sandbox: what they lack is found before anything is spent, and given by a setting.

use std::fs;
use std::net::TcpListener;

use nightwright_core::event::{Event, GateEvent, Record, RunEvent};
use nightwright_core::input::{CheckPurpose, CheckResult};
use nightwright_core::outcome::Outcome;
use nightwright_core::settings::SandboxKind;

use super::harness::{Output, TestEnv, finish, names, run_outcome};
use super::pty::Pty;
use super::sandbox::is_usable;

/// Writes the file that proves the work, and claims completion.
const WORKS: &str = r#"
[[attempt]]
steps = [{ write = "done.txt", text = "done" }]
end = { result = "<promise>COMPLETE</promise>" }
"#;

fn env() -> TestEnv {
    let env = TestEnv::new();
    fs::create_dir(env.project().join(".nightwright")).unwrap();
    env
}

/// Writes the configuration of the project, and approves it.
fn configure(env: &TestEnv, text: &str) {
    env.file(".nightwright/config.toml", text);
    env.run(&["trust", "--yes"]).exits(0);
}

fn run(env: &TestEnv) -> Output {
    env.rehearse(WORKS, "2", &["--sandbox", "bwrap"])
}

/// The records of the newest run.
fn journal(env: &TestEnv) -> Vec<Record> {
    let newest = env.runs().pop().expect("a run");
    nightwright::store::journal::read(&newest.join("journal.jsonl")).unwrap().records
}

fn outcome(env: &TestEnv) -> Outcome {
    match journal(env).pop().unwrap().event {
        Event::Run(RunEvent::Finished { outcome, .. }) => outcome,
        other => panic!("{other:?}"),
    }
}

fn needed(env: &TestEnv) -> Vec<String> {
    match outcome(env) {
        Outcome::CheckNeedsHost { settings, .. } => settings,
        other => panic!("{other:?}"),
    }
}

/// The results of the checks for this purpose, inside and outside.
fn results(env: &TestEnv, wanted: CheckPurpose) -> Vec<CheckResult> {
    let all = journal(env).into_iter().filter_map(|record| match record.event {
        Event::Gate(GateEvent::ChecksFinished { purpose, results, outside, .. })
            if purpose == wanted =>
        {
            Some([results, outside].concat())
        }
        _ => None,
    });
    all.flatten().collect()
}

#[test]
fn a_check_that_writes_outside_the_project_gets_its_folder() {
    if !is_usable() {
        return;
    }
    let env = env();
    fs::create_dir_all(env.path("home/out")).unwrap();
    let out = env.word("home/out");
    configure(
        &env,
        &format!(
            "verify.commands = ['''echo x > {out}/x && test -e done.txt || ! test -e done.txt''', '''echo x > {out}/y''']\n"
        ),
    );
    let done = run(&env).exits(2).says(&[
        "Not started: `echo x",
        "fails in the sandbox and passes outside; it needs write access to `~/out`",
        "nightwright config set sandbox.write",
        "then start the run again",
    ]);
    assert_eq!(needed(&env), ["sandbox.write = [\"~/out\"]"], "{}", done.err);
    assert!(!names(&journal(&env)).contains(&"attempt_started"), "nothing was spent");

    // A resumed run would have the same sandbox.
    env.run(&["resume"]).exits(1).says(&["keeps its checks and its sandbox"]);
    let line = done.err.lines().find_map(|line| line.split_once(": nightwright config")).unwrap().1;
    env.paste(&format!("nightwright config{line}")).exits(0);
    run(&env).exits(0);
    assert_eq!(run_outcome(&journal(&env)), "completed");
    assert!(env.path("home/out/y").exists());
}

#[test]
fn a_check_that_reads_a_file_of_the_home_gets_it() {
    if !is_usable() {
        return;
    }
    let env = env();
    fs::write(env.path("home/.pgpass"), "x").unwrap();
    configure(&env, "verify.commands = ['cat ~/.pgpass']\n");
    let done = run(&env).exits(2);
    assert_eq!(needed(&env), ["sandbox.read = [\"~/.pgpass\"]"], "{}", done.err);
    env.run(&["config", "set", "sandbox.read", "~/.pgpass"]).exits(0);
    run(&env).exits(0);
    assert!(results(&env, CheckPurpose::Baseline).iter().all(|result| result.verdict.is_pass()));
}

/// Today the sandbox shares the network, so the check says what a database client would.
#[test]
fn a_check_that_needs_a_server_on_this_machine_gets_its_port() {
    if !is_usable() {
        return;
    }
    let env = env();
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let check = format!(
        "test -z \"$NIGHTWRIGHT_INSIDE_SANDBOX\" || {{ echo 'connect ECONNREFUSED 127.0.0.1:{port}'; exit 1; }}"
    );
    configure(&env, &format!("verify.commands = ['''{check}''']\n"));
    run(&env).exits(2).says(&[&format!("it needs port {port} of this machine")]);
    assert_eq!(needed(&env), [format!("sandbox.host_ports = [{port}]")]);
}

#[test]
fn a_check_outside_is_marked_everywhere_and_needs_an_approval() {
    if !is_usable() {
        return;
    }
    let env = env();
    let check = "test -z \"$NIGHTWRIGHT_INSIDE_SANDBOX\" && test -e done.txt";
    let line = format!("verify.commands = [{{ run = '''{check}''', sandbox = false }}]\n");
    env.file(".nightwright/config.toml", &line);
    run(&env).exits(2).says(&["sandbox = false", "nightwright trust"]);
    assert!(env.runs().is_empty());

    configure(&env, &line);
    let done = run(&env).exits(0).says(&["runs outside.", ", outside the sandbox"]);
    assert_eq!(run_outcome(&journal(&env)), "completed", "{}", done.err);
    let all = [CheckPurpose::Baseline, CheckPurpose::Gate].map(|purpose| results(&env, purpose));
    assert!(all.concat().iter().all(|result| result.outside), "{all:?}");
    assert_eq!(all.concat().len(), 2, "a check outside is not compared");
    let status = env.run(&["status"]).exits(0);
    assert!(status.out.contains(&format!("outside       {check}")), "{}", status.out);
    let report = env.run(&["report"]).exits(0);
    assert!(report.out.contains(", outside the sandbox"), "{}", report.out);
}

#[test]
fn a_check_that_fails_on_both_sides_is_ordinary_work() {
    if !is_usable() {
        return;
    }
    let env = env();
    configure(&env, "verify.commands = ['test -e done.txt']\n");
    run(&env).exits(0);
    assert_eq!(run_outcome(&journal(&env)), "completed");
    let outside = results(&env, CheckPurpose::Baseline).into_iter().filter(|one| one.outside);
    assert_eq!(outside.count(), 1);
}

#[test]
fn a_result_without_a_sandbox_is_not_reused_inside() {
    if !is_usable() {
        return;
    }
    let env = env();
    fs::write(env.path("home/.pgpass"), "x").unwrap();
    configure(&env, "verify.commands = ['cat ~/.pgpass']\n");
    env.rehearse("[[attempt]]\nend = { result = \"Hm.\" }", "1", &[]).exits(0);
    run(&env).exits(2);
    assert_eq!(run_outcome(&journal(&env)), "check_needs_host");
}

#[test]
fn on_a_terminal_the_setting_is_written_only_after_a_yes() {
    if !is_usable() {
        return;
    }
    let env = env();
    fs::write(env.path("home/.pgpass"), "x").unwrap();
    configure(&env, "verify.commands = ['cat ~/.pgpass']\n");
    let script = env.script(WORKS);
    let run =
        ["run", "-p", "x", "-m", "2", "--dry-run", "--rehearsal", &script, "--sandbox", "bwrap"];
    let before = fs::read_to_string(env.project().join(".nightwright/config.toml")).unwrap();
    for (answer, expected) in [("n", false), ("y", true)] {
        let pty = Pty::new(40, 120);
        let mut command = env.command(&run);
        command.stdin(pty.end()).stderr(pty.end());
        let mut child = command.spawn().unwrap();
        pty.read_until("Write it? [y/N]");
        pty.types(&format!("{answer}\n"));
        assert_eq!(child.wait().unwrap().code(), Some(2));
        let now = fs::read_to_string(env.project().join(".nightwright/config.toml")).unwrap();
        assert_eq!(now.contains("read = [\"~/.pgpass\"]"), expected, "{now}");
        assert_eq!(now == before, !expected);
    }
    let done = finish(env.command(&run).spawn().unwrap());
    done.exits(0);
}

#[test]
fn an_external_sandbox_frees_the_agent_and_is_named_everywhere() {
    let env = env();
    let run = [
        "--sandbox",
        "external",
        "--verify",
        "test -z \"$NIGHTWRIGHT_INSIDE_SANDBOX\" && test -e done.txt",
    ];
    env.rehearse(WORKS, "2", &run)
        .exits(0)
        .says(&["Sandbox: external. The agent may do anything on this machine."]);
    let Event::Run(RunEvent::Started(started)) = &journal(&env)[0].event else { panic!() };
    assert_eq!(started.sandbox, SandboxKind::External);
    assert_eq!(started.settings.agent.permissions.name(), "bypass");
    let status = env.run(&["status"]).exits(0);
    assert!(status.out.contains("sandbox       external"), "{}", status.out);
    let report = env.run(&["report"]).exits(0);
    assert!(!report.out.contains("no sandbox"), "{}", report.out);
}

#[test]
fn a_project_cannot_declare_this_machine_to_be_a_sandbox() {
    let env = env();
    env.file(".nightwright/config.toml", "sandbox.kind = 'external'\n");
    env.rehearse("[[attempt]]\nend = { result = \"Hm.\" }", "1", &[])
        .exits(0)
        .says(&["which is looser than the default (\"off\"). The default applies"]);
    let Event::Run(RunEvent::Started(started)) = &journal(&env)[0].event else { panic!() };
    assert_eq!(started.sandbox, SandboxKind::Off);
    assert_ne!(started.settings.agent.permissions.name(), "bypass");
    env.run(&["trust", "--yes"]).exits(0);
    env.rehearse("[[attempt]]\nend = { result = \"Hm.\" }", "1", &[])
        .exits(0)
        .says(&["Sandbox: external."]);
}

//! The environment variables that checks and hooks receive, and the warnings about the others.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::harness::{Output, TestEnv, finish};

const CLAIMS: &str = r#"
[[attempt]]
steps = [{ run = "echo more >> made.txt" }]
end = { result = "<promise>COMPLETE</promise>" }
"#;

/// The variables that the user has set.
const VARIABLES: [(&str, &str); 9] = [
    ("DATABASE_URL", "postgres://localhost/x"),
    ("FEATURE_FLAGS", "a,b"),
    ("CLAUDECODE", "1"),
    ("CLAUDE_CODE_SESSION_ID", "outer"),
    ("ANTHROPIC_API_KEY", "key-of-the-agent"),
    ("CLAUDE_CODE_OAUTH_TOKEN", "login-of-the-agent"),
    ("NPM_TOKEN", "npm-token-value"),
    ("DEPLOY_SECRET_ID", "deploy-value"),
    ("SMTP_PASSWORD", "smtp-value"),
];

fn run(env: &TestEnv, more: &[&str], variables: &[(&str, &str)]) -> Output {
    let script = env.script(CLAIMS);
    let run = ["run", "-p", "x", "-m", "1", "--no-delay", "--yes", "--dry-run", "--rehearsal"];
    let mut command = env.command(&[&run[..], &[&script], more].concat());
    command.envs(VARIABLES).envs(variables.iter().copied());
    finish(command.spawn().unwrap())
}

/// The names of the variables in the output of `env`.
fn names(env: &TestEnv, file: &str) -> Vec<String> {
    let text = fs::read_to_string(env.path(file)).unwrap();
    text.lines().filter_map(|line| Some(line.split_once('=')?.0.to_owned())).collect()
}

#[test]
fn checks_and_hooks_get_the_user_s_environment_without_sessions_logins_and_credentials() {
    let env = TestEnv::new();
    let hook = env.project().join(".nightwright/hooks/started");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, format!("#!/bin/sh\nenv > {}\n", env.word("hook"))).unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let check = format!("env > {}", env.word("check"));
    run(&env, &["--verify", &check], &[]).exits(0);
    for who in ["check", "hook"] {
        let names = names(&env, who);
        let has = |name: &str| names.iter().any(|known| known == name);
        for name in ["PATH", "HOME", "TMPDIR", "DATABASE_URL", "FEATURE_FLAGS"] {
            assert!(has(name), "the {who} has no {name}: {names:?}");
        }
        for (name, _) in &VARIABLES[2..] {
            assert!(!has(name), "the {who} has {name}");
        }
    }
}

#[test]
fn pass_env_names_exceptions() {
    let env = TestEnv::new();
    let check = format!("env > {}", env.word("check"));
    let pass = [("NIGHTWRIGHT_VERIFY_PASS_ENV", "[\"NPM_*\", \"SMTP_PASSWORD\"]")];
    run(&env, &["--verify", &check], &pass).exits(0);
    let names = names(&env, "check");
    for name in ["NPM_TOKEN", "SMTP_PASSWORD"] {
        assert!(names.iter().any(|known| known == name), "no {name}: {names:?}");
    }
    assert!(!names.iter().any(|known| known == "DEPLOY_SECRET_ID"), "{names:?}");
}

#[test]
fn a_failing_check_names_what_it_did_not_get_and_a_passing_one_does_not() {
    let env = TestEnv::new();
    fs::write(env.project().join(".env.example"), "SMTP_PASSWORD=\n").unwrap();
    let output = run(&env, &["--verify", "false"], &[]);
    let line = "checks run without SMTP_PASSWORD, DEPLOY_SECRET_ID and NPM_TOKEN.";
    assert_eq!(output.err.matches(line).count(), 1, "{}", output.err);
    assert!(output.err.contains("verify.pass_env = [\"SMTP_PASSWORD\"]"), "{}", output.err);
    for (_, value) in &VARIABLES[4..] {
        assert!(!output.err.contains(value), "{}", output.err);
    }
    let output = run(&env, &["--verify", "true"], &[]).exits(0);
    assert!(!output.err.contains("checks run without"), "{}", output.err);
}

#[test]
fn withheld_variables_that_the_project_mentions_are_named_at_the_start() {
    let env = TestEnv::new();
    let said = "This project's files mention";
    let output = run(&env, &["--verify", "true"], &[]).exits(0);
    assert!(!output.err.contains(said), "{}", output.err);
    env.file("compose.yaml", "services:\n  db:\n    image: ${DATABASE_URL} ${NOT_SET}\n");
    fs::create_dir_all(env.project().join(".github/workflows")).unwrap();
    env.file(".github/workflows/ci.yml", "env:\n  FEATURE_FLAGS: x\n  HOME: y\n");
    run(&env, &["--verify", "true"], &[]).exits(0).says(&[
        "This project's files mention DATABASE_URL and FEATURE_FLAGS, which the agent does not get.",
        "agent.pass_env = [\"DATABASE_URL\", \"FEATURE_FLAGS\"]",
    ]);
    let pass = [("NIGHTWRIGHT_AGENT_PASS_ENV", "[\"DATABASE_URL\", \"FEATURE_FLAGS\"]")];
    let output = run(&env, &["--verify", "true"], &pass).exits(0);
    assert!(!output.err.contains(said), "{}", output.err);
}

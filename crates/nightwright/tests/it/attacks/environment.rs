//! Credentials and libraries in the environment of the programs of a run.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use crate::harness::{TestEnv, finish};

/// Credentials for the registries of twelve tools.
const REGISTRIES: [&str; 12] = [
    "CARGO_REGISTRY_TOKEN",
    "CARGO_REGISTRIES_MINE_TOKEN",
    "NPM_TOKEN",
    "NODE_AUTH_TOKEN",
    "npm_config__auth",
    "TWINE_PASSWORD",
    "POETRY_PYPI_TOKEN_MINE",
    "BUNDLE_GEMS__EXAMPLE__COM",
    "GEM_HOST_API_KEY",
    "COMPOSER_AUTH",
    "DOCKER_AUTH_CONFIG",
    "NuGetPackageSourceCredentials_mine",
];
/// The value of each of them.
const PLANTED: &str = "planted-value";
/// The programs that write down their environment.
const PROGRAMS: [&str; 4] = ["agent", "judge", "check", "hook"];

/// Runs an agent, a judge, a check and a hook with these variables. Each writes its environment into
/// a file. Returns the texts in the order of [`PROGRAMS`].
fn environments(variables: &[(&str, &str)]) -> [String; 4] {
    let env = TestEnv::new();
    let [agent, judge, check, hook] = PROGRAMS.map(|name| env.word(name));
    let script = env.script(&format!(
        "[[attempt]]\nsteps = [{{ run = '''env > {agent}; echo x >> made''' }}]\n\
         end = {{ result = \"<promise>COMPLETE</promise>\" }}\n\
         [[verify]]\nsteps = [{{ run = '''env > {judge}''' }}]\nverdict = \"yes\"\n"
    ));
    let started = env.project().join(".nightwright/hooks/started");
    fs::create_dir_all(started.parent().unwrap()).unwrap();
    fs::write(&started, format!("#!/bin/sh\nenv > {hook}\n")).unwrap();
    fs::set_permissions(&started, fs::Permissions::from_mode(0o755)).unwrap();
    let verify = format!("env > {check}");
    let run = ["run", "-p", "x", "-m", "1", "--no-delay", "--yes", "--dry-run", "--rehearsal"];
    let mut command = env.command(&[&run[..], &[&script, "--verify", &verify]].concat());
    command.env("NIGHTWRIGHT_VERIFY_MODEL", "always").envs(variables.iter().copied());
    // The path of the project is not known before.
    std::os::unix::fs::symlink(env.project(), env.path("link")).unwrap();
    let [project, link] = [env.project(), env.path("link")].map(|path| path.display().to_string());
    let libraries = format!(":.:lib:{project}/lib:{link}:/opt/lib");
    command.env("LD_LIBRARY_PATH", libraries).env("LD_BIND_NOW", "1").env("LD_AUDIT", "");
    finish(command.spawn().unwrap()).exits(0);
    PROGRAMS.map(|name| fs::read_to_string(env.path(name)).unwrap())
}

#[test]
fn no_program_of_a_run_gets_registry_tokens_and_named_ones_they_do() {
    let planted = REGISTRIES.map(|name| (name, PLANTED));
    for (program, text) in PROGRAMS.iter().zip(environments(&planted)) {
        assert!(!text.contains(PLANTED), "{program}: {text}");
    }
    let names = serde_json::to_string(&REGISTRIES).unwrap();
    let pass = ["NIGHTWRIGHT_VERIFY_PASS_ENV", "NIGHTWRIGHT_AGENT_PASS_ENV"];
    let named = [&planted[..], &pass.map(|name| (name, names.as_str()))].concat();
    for (program, text) in PROGRAMS.iter().zip(environments(&named)) {
        assert_eq!(text.matches(PLANTED).count(), REGISTRIES.len(), "{program}: {text}");
    }
}

#[test]
fn a_pattern_gives_the_login_of_the_agent_to_no_check_and_its_name_does() {
    let login = ("ANTHROPIC_API_KEY", PLANTED);
    let has = |pass: &str| {
        environments(&[login, ("NIGHTWRIGHT_VERIFY_PASS_ENV", pass)])
            .map(|text| text.contains(PLANTED))
    };
    assert_eq!(has("[\"*\", \"ANTHROPIC_*\"]"), [true, true, false, false]);
    assert_eq!(has("[\"ANTHROPIC_API_KEY\"]"), [true; 4]);
}

#[test]
fn the_account_of_a_cloud_goes_to_the_agent_only_if_it_uses_the_cloud() {
    let keys = [("AWS_SECRET_ACCESS_KEY", PLANTED), ("GOOGLE_API_KEY", PLANTED)];
    for (switch, count) in [("CLAUDECODE", 0), ("CLAUDE_CODE_USE_BEDROCK", 1)] {
        let [agent, judge, check, hook] = environments(&[keys[0], keys[1], (switch, "1")]);
        for text in [agent, judge] {
            assert_eq!(text.matches(PLANTED).count(), count, "{text}");
        }
        for text in [check, hook] {
            assert!(!text.contains(PLANTED), "{text}");
        }
    }
}

#[test]
fn no_program_loads_libraries_of_the_project_and_without_the_rule_it_would() {
    for (program, text) in PROGRAMS.iter().zip(environments(&[])) {
        assert!(text.contains("LD_LIBRARY_PATH=/opt/lib\n"), "{program}: {text}");
        assert_eq!(text.matches("\nLD_").count(), 1, "{program}: {text}");
    }
    // A program that is started with the user's environment gets all of it.
    let mut command = Command::new("env");
    let output = command.env("LD_LIBRARY_PATH", ":.").env("LD_BIND_NOW", "1").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("LD_LIBRARY_PATH=:.\n") && text.contains("LD_BIND_NOW=1\n"), "{text}");
}

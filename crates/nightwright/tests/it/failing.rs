//! How many tests fail, everywhere a run shows it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use super::harness::{TestEnv, run_outcome};
use super::notify::server::Server;

/// Prints what pytest prints, for three files.
const CHECK: &str = "\
failed=0
for name in one two three; do test -e $name.txt || failed=$((failed + 1)); done
[ $failed = 0 ] && { echo '3 passed in 0.01s'; exit 0; }
echo \"$failed failed, $((3 - failed)) passed in 0.01s\"
exit 1
";

/// Writes two files, then the third. Its words look like a summary, and count nothing.
const SCRIPT: &str = r#"
[[attempt]]
steps = [{ say = "9 failed, 90 passed in 0.12s" }, { write = "one.txt", text = "1" }, { write = "two.txt", text = "2" }]
end = { result = "The suite says:\n\n7 failed, 70 passed in 0.12s" }

[[attempt]]
steps = [{ write = "three.txt", text = "3" }]
end = { result = "5 failed, 50 passed in 0.12s" }
"#;

const CURVE: &str = "failing 3 → 1 → 0";

/// Appends the name of the hook and what it receives to a file.
const HOOK: &str = "#!/bin/sh\n\
    echo \"$1 $NIGHTWRIGHT_FAILING_CHECKS $NIGHTWRIGHT_FAILING_TESTS\" >> HOOKS\n";

fn project(server: &Server) -> TestEnv {
    let env = TestEnv::new();
    env.file("check.sh", CHECK);
    let folder = env.path("home").join(".config/nightwright");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.toml"), format!("notify.url = '{}'", server.url("/hook")))
        .unwrap();
    fs::create_dir_all(env.project().join(".nightwright/hooks")).unwrap();
    for hook in ["started", "iteration_finished", "finished"] {
        let name = format!(".nightwright/hooks/{hook}");
        let text = HOOK.replace("$1", hook);
        env.file(&name, &text.replace("HOOKS", &env.word("hooks")));
        let path = env.project().join(name);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    env
}

#[test]
fn the_number_of_failing_tests_is_shown_everywhere_and_comes_from_the_checks_alone() {
    let server = Server::kind();
    let env = project(&server);
    let output = env.rehearse(SCRIPT, "9", &["--yes", "--verify", "sh check.sh"]).exits(0);
    assert_eq!(run_outcome(&env.journal()), "completed");
    assert!(output.err.contains("1 of 3 tests fails"), "{}", output.err);
    assert!(output.err.contains("failing 3 → 1"), "{}", output.err);

    let status: Value = serde_json::from_str(&env.run(&["status", "--json"]).exits(0).out).unwrap();
    assert_eq!(status["failing_curve"], CURVE);
    assert_eq!(status["failing"]["tests"]["total"], 3);
    let words = env.run(&["status"]).exits(0).out;
    assert!(words.contains(CURVE), "{words}");

    let hooks = fs::read_to_string(env.path("hooks")).unwrap();
    let expected = "iteration_finished 1 1\niteration_finished 0 0\nfinished 0 0\n";
    assert!(hooks.ends_with(expected), "{hooks}");

    let end = server.seen().last().unwrap().json().to_string();
    assert!(end.contains("Failing 3 → 1 → 0"), "{end}");

    let log = env.run(&["log"]).exits(0).out;
    assert!(log.contains("3 of 3 tests") && log.contains("1 of 3 tests fails"), "{log}");

    let report: Value = serde_json::from_str(&env.run(&["report", "--json"]).exits(0).out).unwrap();
    assert_eq!(report["failing_curve"], CURVE);
    assert_eq!(report["iterations"][0]["checks"]["tests"]["failed"], 1, "{report}");
    assert_eq!(report["iterations"][1]["checks"]["checks"], 0, "{report}");
    let page = env.run(&["report"]).exits(0).out;
    assert!(page.contains(CURVE) && page.contains("1 of 3 tests fails"), "{page}");
    env.run(&["report", "--html", "-o", "report.html"]).exits(0);
    let page = fs::read_to_string(env.project().join("report.html")).unwrap();
    assert!(page.contains("Failing tests after each iteration"), "{page}");
    assert!(page.contains("Failing 3 → 1 → 0"), "{page}");
}

//! Obstacles: what a check lacks that no work on the project provides, and how to remove it.
//!
//! Only the output of checks is read. What the agent's own tools print decides nothing.

use std::sync::LazyLock;

use regex::Regex;

use crate::baseline;
use crate::input::CheckResult;
use crate::stream::news::Blocker;

/// Something that a check lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// Identifies the obstacle in later runs of the checks.
    pub key: String,
    /// The missing thing, and how to remove the obstacle.
    pub text: String,
}

/// A variable or a host that a line of the output reports as missing.
static MISSING: LazyLock<Regex> = LazyLock::new(|| {
    let variable = r#"(?i:environment variable|env var)s? [`'"]?(?<variable1>[A-Z][A-Z0-9_]{2,})|\b(?<variable2>[A-Z][A-Z0-9]*_[A-Z0-9_]+)[`'"]?(?i: environment variable)?(?i:: unbound variable|: parameter not set| is not set| must be set| is required)"#;
    let host = r"(?i:could not resolve host:?|getaddrinfo (?:ENOTFOUND|EAI_AGAIN)|connect ECONNREFUSED) (?<host>[\w.-]+(?::\d+)?)";
    Regex::new(&format!("{variable}|{host}")).expect("the pattern is a constant")
});

/// The obstacles that the failing checks met, each once.
pub fn of(results: &[CheckResult]) -> Vec<Obstacle> {
    let mut all: Vec<Obstacle> = Vec::new();
    for result in results.iter().filter(|result| !result.verdict.is_pass()) {
        for obstacle in [missing_program(result), missing_resource(result)].into_iter().flatten() {
            if !all.contains(&obstacle) {
                all.push(obstacle);
            }
        }
    }
    all
}

/// The obstacle as a blocker, for a person.
pub fn blocker(obstacle: Obstacle) -> Blocker {
    Blocker::new(obstacle.key, obstacle.text)
}

fn missing_program(result: &CheckResult) -> Option<Obstacle> {
    let program = baseline::missing_program(result)?;
    let install = baseline::installer(&result.command);
    let how = install.map_or_else(|| "install it".to_owned(), |install| format!("run `{install}`"));
    let text = format!("`{}` needs `{program}`, which is missing: {how}", result.command);
    Some(Obstacle { key: format!("missing {program}"), text })
}

fn missing_resource(result: &CheckResult) -> Option<Obstacle> {
    let command = &result.command;
    let found = result.output.lines().find_map(|line| MISSING.captures(line))?;
    if let Some(host) = found.name("host") {
        let host = host.as_str();
        let text = format!("`{command}` cannot reach `{host}`: start it, or make it reachable");
        return Some(Obstacle { key: format!("host {host}"), text });
    }
    let variable = found.name("variable1").or_else(|| found.name("variable2"))?.as_str();
    let text = format!(
        "`{command}` needs the variable `{variable}`: set it, and pass it on with verify.pass_env \
         = [\"{variable}\"] if it is a credential"
    );
    Some(Obstacle { key: format!("variable {variable}"), text })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::input::CheckVerdict;
    use crate::stream::outcome::ProcessExit;

    fn obstacle(code: i32, output: &str) -> Option<String> {
        let result = CheckResult {
            command: "npm test".to_owned(),
            verdict: CheckVerdict::Failed { how: ProcessExit::Code(code) },
            output: output.to_owned(),
            tests: None,
            log: None,
            duration: Duration::ZERO,
        };
        of(&[result]).pop().map(|obstacle| obstacle.text)
    }

    #[test]
    fn an_obstacle_names_the_way_to_remove_it() {
        for (code, output, part) in [
            (127, "sh: 1: vitest: not found", "run `npm install`"),
            (1, "Error: environment variable STRIPE_KEY is not set", "[\"STRIPE_KEY\"]"),
            (1, "t.sh: line 3: DB_PASSWORD: unbound variable", "[\"DB_PASSWORD\"]"),
            (1, "Error: getaddrinfo ENOTFOUND db.internal", "cannot reach `db.internal`"),
            (1, "connect ECONNREFUSED 127.0.0.1:5432", "`127.0.0.1:5432`"),
        ] {
            let text = obstacle(code, output).unwrap_or_else(|| panic!("nothing in {output}"));
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn an_ordinary_failure_is_no_obstacle() {
        for output in ["expected 1, got 2", "FAILED tests/a.py", "error: a is required", ""] {
            assert_eq!(obstacle(1, output), None, "{output}");
        }
    }
}

//! Obstacles: what a check lacks that no work on the project provides, and how to remove it.
//!
//! Only the output of checks is read. Output of the agent's own tools is ignored.

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
    /// Whether it is a server on this machine, which the agent may have to write.
    pub is_local: bool,
}

/// A variable of the environment or a host that a line of the output reports as missing. A name in
/// capital letters alone is no variable: tests of a form say that `USER_ID is required`.
static MISSING: LazyLock<Regex> = LazyLock::new(|| {
    let name = "[A-Z][A-Z0-9_]{2,}";
    let variable = format!(
        r#"(?i:environment variable|env var)s?:? [`'"]?(?<v1>{name})|\b(?<v2>{name})[`'"]? (?i:environment variable|env var)|\b(?<v3>{name}): (?:unbound variable|parameter not set)|KeyError: ['"](?<v4>[A-Z][A-Z0-9]*_[A-Z0-9_]+)['"]"#
    );
    let at = r"\[?(?<h1>[\w.-]+|[0-9a-fA-F:]*::[0-9a-fA-F]*?)\]?(?<port>:\d+)?";
    let host = [
        &format!(
            r#"(?i:could not resolve host:?|no such host:?|getaddrinfo (?:ENOTFOUND|EAI_AGAIN)|connect ECONNREFUSED) {at}(?:[\s,;)'"]|$)"#
        ),
        r"dial tcp \[?(?<h2>[\w.:-]+?)\]?(?<port2>:\d+): connect: connection refused",
        r"lookup (?<h3>[\w.-]+)(?: on \S+)?: no such host",
        r"(?<refused>\[Errno 111\]|\(os error 111\)|(?i:connection refused))",
        "(?<unresolved>Temporary failure in name resolution|Name or service not known)",
    ]
    .join("|");
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
    Some(Obstacle { key: format!("missing {program}"), text, is_local: false })
}

fn missing_resource(result: &CheckResult) -> Option<Obstacle> {
    let found = result.output.lines().find_map(|line| MISSING.captures(line))?;
    let first =
        |names: &[&str]| names.iter().find_map(|name| found.name(name)).map(|it| it.as_str());
    let command = &result.command;
    if let Some(variable) = first(&["v1", "v2", "v3", "v4"]) {
        let text = format!(
            "`{command}` needs the variable `{variable}`: set it, and pass it on with \
             verify.pass_env = [\"{variable}\"] if it is a credential"
        );
        return Some(Obstacle { key: format!("variable {variable}"), text, is_local: false });
    }
    let port = first(&["port", "port2"]).unwrap_or_default();
    let host = first(&["h1", "h2", "h3"]).map(|host| {
        if host.contains(':') { format!("[{host}]{port}") } else { format!("{host}{port}") }
    });
    // A refusal that names no host is most likely one of a server on this machine.
    let is_local = first(&["refused"]).is_some() || host.as_deref().is_some_and(is_loopback);
    let name = host.map_or_else(|| "a host".to_owned(), |host| format!("`{host}`"));
    let text = format!("`{command}` cannot reach {name}: start it, or make it reachable");
    Some(Obstacle { key: format!("host {name}"), text, is_local })
}

fn is_loopback(host: &str) -> bool {
    ["127.", "localhost", "[::1]", "::1", "0.0.0.0"].iter().any(|local| host.starts_with(local))
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
            outside: false,
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
            (1, "connect ECONNREFUSED ::1:5432", "`[::1]:5432`"),
            (1, "KeyError: 'DB_PASSWORD'", "[\"DB_PASSWORD\"]"),
            (1, "dial tcp: lookup db.internal: no such host", "`db.internal`"),
            (1, "dial tcp 10.0.0.7:5432: connect: connection refused", "`10.0.0.7:5432`"),
            (1, "dial tcp [::1]:5432: connect: connection refused", "`[::1]:5432`"),
            (1, "socket.gaierror: [Errno -3] Temporary failure in name resolution", "a host"),
            (1, "ConnectionRefusedError: [Errno 111] Connection refused", "a host"),
            (1, "Connection refused (os error 111)", "a host"),
        ] {
            let text = obstacle(code, output).unwrap_or_else(|| panic!("nothing in {output}"));
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn an_ordinary_failure_is_no_obstacle() {
        for output in [
            "expected 1, got 2",
            "FAILED tests/a.py",
            "error: a is required",
            "AssertionError: USER_ID is required",
            "expected `API_KEY must be set`",
            "KeyError: 'name'",
            "",
        ] {
            assert_eq!(obstacle(1, output), None, "{output}");
        }
    }

    #[test]
    fn a_server_on_this_machine_is_local() {
        let is_local = |output: &str| {
            let verdict = CheckVerdict::Failed { how: ProcessExit::Code(1) };
            let (command, output) = ("npm test".to_owned(), output.to_owned());
            let (tests, log, duration) = (None, None, Duration::ZERO);
            let outside = false;
            let result = CheckResult { command, verdict, output, tests, log, duration, outside };
            of(&[result])[0].is_local
        };
        assert!(is_local("connect ECONNREFUSED 127.0.0.1:3000"));
        assert!(is_local("connect ECONNREFUSED ::1:3000"));
        assert!(is_local("ConnectionRefusedError: [Errno 111] Connection refused"));
        assert!(!is_local("connect ECONNREFUSED 10.0.0.7:5432"));
        assert!(!is_local("getaddrinfo ENOTFOUND db.internal"));
    }
}

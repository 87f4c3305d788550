//! Checks that CI runs the same command as contributors.

use super::Finding;

const SCRIPT: &str = ".ci/run";
const COMMAND: &str = "cargo xtask test";

pub(super) fn check(script: Option<&str>) -> Vec<Finding> {
    let calls = |line: &str| {
        let line = line.trim();
        line.strip_prefix("exec ").unwrap_or(line) == COMMAND
    };
    if script.is_some_and(|text| text.lines().any(calls)) {
        return Vec::new();
    }
    let why = "CI and contributors must run the same steps";
    vec![Finding::new(SCRIPT, 1, format!("the script must call `{COMMAND}`"), why)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_that_does_something_else_is_found() {
        for script in ["cargo test\n", "# cargo xtask test\n", "cargo xtask tests", ""] {
            assert_eq!(check(Some(script)).len(), 1, "{script}");
        }
        assert_eq!(check(None).len(), 1);
    }

    #[test]
    fn the_call_may_replace_the_shell() {
        assert_eq!(check(Some("cd x\nexec cargo xtask test\n")), []);
        assert_eq!(check(Some("cargo xtask test\n")), []);
    }
}

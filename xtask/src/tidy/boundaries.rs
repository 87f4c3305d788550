//! Allowed dependencies between crates and modules.

use super::Finding;
use super::source::mentions;
use super::tree::File;

const CORE_MANIFEST: &str = "crates/nightwright-core/Cargo.toml";
const SHELL: &str = "crates/nightwright/src";

/// Packages that the core crate must not depend on, and what each would add.
const NOT_IN_CORE: [(&str, &str); 11] = [
    ("tokio", "a runtime has timers and tasks; core only answers calls"),
    ("mio", "it waits for the operating system; core never blocks"),
    ("clap", "the command line belongs to the shell crate; core receives settings"),
    ("rustix", "it makes system calls; core only decides"),
    ("libc", "it makes system calls; core only decides"),
    ("ignore", "it walks folders; core receives the results as input"),
    ("walkdir", "it walks folders; core receives the results as input"),
    ("tempfile", "it writes files; core requests effects instead"),
    ("reqwest", "it opens connections; core requests effects instead"),
    ("hyper", "it opens connections; core requests effects instead"),
    ("getrandom", "randomness comes from a seed in the journal; otherwise a replay would differ"),
];

/// Paths that must not occur in the core crate; `cargo tree` does not list the standard library.
const NOT_IN_CORE_SOURCE: [(&str, &str); 9] = [
    ("std::fs", "core does no I/O; request an effect"),
    ("std::process", "core starts no processes; request an effect"),
    ("std::net", "core does no I/O; request an effect"),
    ("std::env", "the environment is an argument"),
    ("SystemTime::now", "time is an argument"),
    ("Instant::now", "time is an argument"),
    ("Timestamp::now", "time is an argument"),
    ("Zoned::now", "time is an argument"),
    ("tokio", "core only answers calls; it has no runtime"),
];

/// Code that runs next to a run and after it. A blocked terminal blocks every writer, so nothing
/// there writes directly.
const DURING_A_RUN: [&str; 8] = [
    "crates/nightwright/src/app/control_inputs.rs",
    "crates/nightwright/src/app/detach.rs",
    "crates/nightwright/src/app/execute.rs",
    "crates/nightwright/src/app/finish.rs",
    "crates/nightwright/src/app/keep_awake.rs",
    "crates/nightwright/src/app/operator_messages.rs",
    "crates/nightwright/src/app/outputs.rs",
    "crates/nightwright/src/app/wire.rs",
];
const SAYS: [&str; 3] = ["console::eprint_safe", "console::eprint_raw", "stderr().write"];

/// The only files that may contain unsafe code, with its reasons.
const UNSAFE_HOMES: [&str; 2] = [
    "crates/nightwright-process/src/descriptors.rs",
    "crates/nightwright-process/src/network/system_calls.rs",
];

const SPAWNS: [&str; 3] = ["Command::new(", "std::process::Command", "tokio::process"];

/// Searches the output of `cargo tree --prefix none` for forbidden packages.
pub(super) fn core_dependencies(core_tree: &Result<String, String>) -> Vec<Finding> {
    let finding = |rule: String, why: &str| Finding::new(CORE_MANIFEST, 1, rule, why);
    let tree = match core_tree {
        Ok(tree) => tree,
        Err(failure) => return vec![finding("core's dependencies are unknown".into(), failure)],
    };
    NOT_IN_CORE
        .iter()
        .filter(|(package, _)| tree.lines().any(|line| line.split(' ').next() == Some(package)))
        .map(|(package, why)| finding(format!("core must not depend on `{package}`"), why))
        .collect()
}

pub(super) fn core_source(files: &[File]) -> Vec<Finding> {
    let needles = NOT_IN_CORE_SOURCE.map(|(needle, _)| needle);
    let core = files.iter().filter(|file| file.path.starts_with("crates/nightwright-core/src/"));
    forbid(core, &needles, |needle| {
        let why = NOT_IN_CORE_SOURCE.iter().find(|(name, _)| *name == needle);
        (format!("core must not mention `{needle}`"), why.map_or("", |(_, why)| why))
    })
}

pub(super) fn run_does_not_print(files: &[File]) -> Vec<Finding> {
    let beside = |file: &&File| DURING_A_RUN.contains(&file.path.as_str());
    forbid(files.iter().filter(beside), &SAYS, |needle| {
        let rule = format!("no `{needle}` during a run");
        (rule, "a blocked terminal would stall the run; `StderrWriter` never blocks")
    })
}

pub(super) fn spawning_has_one_home(files: &[File]) -> Vec<Finding> {
    let elsewhere = |file: &&File| file.path.starts_with(SHELL);
    forbid(files.iter().filter(elsewhere), &SPAWNS, |needle| {
        let rule = format!("`{needle}` only in `nightwright-process`");
        (rule, "a child process started elsewhere is not contained and can outlive nightwright")
    })
}

pub(super) fn unsafe_code_has_one_home(files: &[File]) -> Vec<Finding> {
    let elsewhere = |file: &&File| {
        file.path.starts_with("crates/") && !UNSAFE_HOMES.contains(&file.path.as_str())
    };
    forbid(files.iter().filter(elsewhere), &["unsafe_code", "unsafe"], |_| {
        let rule = format!("unsafe code only in `{}`", UNSAFE_HOMES.join("` and `"));
        (rule, "a reviewer has only these files to read")
    })
}

fn forbid<'f>(
    files: impl Iterator<Item = &'f File>,
    needles: &[&str],
    explain: impl Fn(&str) -> (String, &'static str),
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files {
        for (line, needle) in mentions(&file.code, needles) {
            let (rule, why) = explain(needle);
            findings.push(Finding::new(&file.path, line, rule, why));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(findings: &[Finding]) -> Vec<usize> {
        findings.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn every_package_on_the_list_is_found_below_core() {
        for (package, why) in NOT_IN_CORE {
            let tree = format!("nightwright-core v0.1.0\nserde v1.0.0\n{package} v9.9.9 (*)\n");
            let findings = core_dependencies(&Ok(tree));
            assert_eq!(findings.len(), 1, "{package}");
            assert_eq!(findings[0].why, why);
        }
    }

    #[test]
    fn a_package_is_known_by_its_whole_name() {
        let tree = "nightwright-core v0.1.0\ntokio-util v0.7.0\nlibcst v1.0.0\n".to_owned();
        assert_eq!(core_dependencies(&Ok(tree)), []);
    }

    #[test]
    fn a_tree_that_cannot_be_had_is_a_finding() {
        let findings = core_dependencies(&Err("no such package".to_owned()));
        assert_eq!(findings[0].why, "no such package");
    }

    #[test]
    fn everything_on_the_list_is_found_in_the_source_of_core() {
        for (needle, why) in NOT_IN_CORE_SOURCE {
            let text = format!("// about {needle}\nfn f() {{ {needle}::x(); }}\n");
            let findings = core_source(&[File::new("crates/nightwright-core/src/a/b.rs", &text)]);
            assert_eq!(lines(&findings), [2], "{needle}");
            assert_eq!(findings[0].why, why);
        }
    }

    #[test]
    fn the_shell_may_touch_the_world() {
        assert_eq!(core_source(&[File::new("crates/nightwright/src/a.rs", "use std::fs;")]), []);
    }

    #[test]
    fn nothing_writes_to_the_terminal_directly_during_a_run() {
        for path in DURING_A_RUN {
            for text in
                ["\nuse crate::console::{X, eprint_safe};", "\ncrate::console::eprint_raw(x);"]
            {
                let found = run_does_not_print(&[File::new(path, text)]);
                assert_eq!(lines(&found), [2], "{path}: {text}");
            }
        }
        let text = "use crate::console::eprint_safe;";
        let before = File::new("crates/nightwright/src/app/agent_program.rs", text);
        assert_eq!(run_does_not_print(&[before]), []);
    }

    #[test]
    fn unsafe_code_is_found_wherever_it_has_no_home() {
        let text = "// unsafe is a word here\n#[expect(unsafe_code)]\nunsafe { f() }\n";
        let found = |path| lines(&unsafe_code_has_one_home(&[File::new(path, text)]));
        assert_eq!(found("crates/nightwright-process/src/child.rs"), [2, 3]);
        assert_eq!(found(UNSAFE_HOMES[0]), [0; 0]);
    }

    #[test]
    fn a_child_is_started_in_process_and_nowhere_else() {
        for text in ["Command::new(g)", "use tokio::process;", "use std::process::{Command, X};"] {
            let at = |path| spawning_has_one_home(&[File::new(path, text)]).len();
            assert_eq!(at("crates/nightwright/src/git/status.rs"), 1, "{text}");
            assert_eq!(at("crates/nightwright-process/src/spawn.rs"), 0, "{text}");
            assert_eq!(at("crates/nightwright/tests/it/harness.rs"), 0, "{text}");
        }
        let exit = File::new("crates/nightwright/src/main.rs", "use std::process::ExitCode;");
        assert_eq!(spawning_has_one_home(&[exit]), []);
    }
}

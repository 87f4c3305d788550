//! Remains of unfinished work: disabled tests, unfinished code, and paths of one machine.

use super::Finding;
use super::source::{is_name, mentions, whole_words};
use super::tree::File;

const UNFINISHED: [&str; 2] = ["todo!(", "unimplemented!("];

/// Finds disabled tests and unfinished code.
pub(super) fn unfinished(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files {
        for (line, needle) in mentions(&file.code, &UNFINISHED) {
            let rule = format!("no `{needle}`");
            let why = "unfinished code must not be merged";
            findings.push(Finding::new(&file.path, line, rule, why));
        }
        for (text, line) in file.code.lines().zip(1..) {
            if switches_off(text) {
                let why = "a test that does not run cannot fail; fix it or delete it";
                findings.push(Finding::new(&file.path, line, "no `#[ignore]`", why));
            }
        }
    }
    findings
}

/// Whether the line contains `#[ignore]`, with or without a reason or a condition.
fn switches_off(line: &str) -> bool {
    let conditional = line.contains("#[cfg_attr(") && whole_words(line, "ignore").next().is_some();
    line.contains("#[ignore") || conditional
}

/// The name of the project before its first release, split so that this file does not contain it.
const FORMER_NAME: &str = concat!("leg", "work");

/// Finds the former name, in any case, in the text or the path of a file.
pub(super) fn former_name(files: &[File]) -> Vec<Finding> {
    let is_named = |text: &str| text.to_lowercase().contains(FORMER_NAME);
    let mut findings = Vec::new();
    for file in files {
        let lines = file.text.lines().zip(1..).filter(|(text, _)| is_named(text));
        let path = is_named(&file.path).then_some(0);
        for line in path.into_iter().chain(lines.map(|(_, line)| line)) {
            let rule = format!("no `{FORMER_NAME}`");
            findings.push(Finding::new(
                &file.path,
                line,
                rule,
                "the project is called nightwright",
            ));
        }
    }
    findings
}

/// Finds paths that exist on one machine only. Recordings are exempt.
pub(super) fn machine_paths(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| !is_fixture(&file.path)) {
        for (text, line) in file.text.lines().zip(1..) {
            if let Some(path) = machine_path(text) {
                let rule = format!("no path of one machine (`{path}`)");
                let why = "the path does not exist on other machines";
                findings.push(Finding::new(&file.path, line, rule, why));
            }
        }
    }
    findings
}

fn is_fixture(path: &str) -> bool {
    path.split('/').any(|part| part == "fixtures")
}

/// Returns the first such path in a line, up to the part that identifies the machine.
fn machine_path(line: &str) -> Option<&str> {
    line.match_indices('/').find_map(|(at, _)| {
        // In the middle of a longer path, the same word is an ordinary folder name.
        let before = line[..at].chars().next_back();
        if before.is_some_and(|c| is_part(c) || matches!(c, '/' | '~' | '}' | '>' | ')')) {
            return None;
        }
        let (folder, rest) = line[at + 1..].split_once('/')?;
        let end = match folder {
            "work" | "root" => at + folder.len() + 2,
            "home" => {
                let name = rest.split_once('/')?.0;
                let is_person = !name.is_empty() && name.chars().all(is_part);
                is_person.then(|| at + "/home/".len() + name.len() + 1)?
            }
            _ => return None,
        };
        Some(&line[at..end])
    })
}

fn is_part(c: char) -> bool {
    is_name(c) || matches!(c, '-' | '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds the path at run time, because this file would violate the rule otherwise.
    fn absolute(parts: &[&str]) -> String {
        format!("/{}/", parts.join("/"))
    }

    #[test]
    fn unfinished_code_is_found_and_a_comment_about_it_is_not() {
        let text = "// todo!()\nfn f() { todo!() }\nfn g() { unimplemented!(\"x\") }\n\"todo!()\";";
        let found: Vec<_> =
            unfinished(&[File::new("a.rs", text)]).iter().map(|finding| finding.line).collect();
        assert_eq!(found, [2, 3]);
    }

    #[test]
    fn a_test_switched_off_is_found() {
        for text in [
            "#[ignore]",
            "#[ignore = \"slow\"]",
            "    #[test] #[ignore]",
            "#[cfg_attr(unix, ignore)]",
        ] {
            assert_eq!(unfinished(&[File::new("a.rs", text)]).len(), 1, "{text}");
        }
        for text in ["// #[ignore]", "use ignore::Walk;", "#[cfg_attr(unix, ignored)]"] {
            assert_eq!(unfinished(&[File::new("a.rs", text)]), [], "{text}");
        }
    }

    #[test]
    fn the_former_name_is_found_in_text_and_path() {
        let name = FORMER_NAME.to_uppercase();
        let files = [File::new("a.md", &format!("x\n{name}_STATE_DIR\n")), File::new(&name, "")];
        let found: Vec<_> = former_name(&files).iter().map(|finding| finding.line).collect();
        assert_eq!(found, [2, 0]);
        assert_eq!(former_name(&[File::new("a.md", "nightwright does the leg work")]), []);
    }

    #[test]
    fn paths_of_one_machine_are_found_in_any_file() {
        for parts in [&["work"][..], &["root"], &["home", "ann"], &["home", "ann-marie.b"]] {
            let path = absolute(parts);
            let file = File::new("README.md", &format!("first\nsee `{path}x`\n"));
            let findings = machine_paths(&[file]);
            assert_eq!(findings.len(), 1, "{path}");
            assert_eq!(findings[0].line, 2);
            assert!(findings[0].rule.contains(&path), "{}", findings[0].rule);
        }
    }

    #[test]
    fn other_paths_are_not() {
        let inner = absolute(&["work"]);
        for text in [
            format!("docs{inner}x"),
            format!("~{inner}x"),
            format!("$HOME{inner}x"),
            format!("https:/{inner}"),
            "/home/ and /home/x and /root and /workshop/x".to_owned(),
            "/home/<name>/x and /home/$USER/x and /usr/bin/x".to_owned(),
        ] {
            assert_eq!(machine_paths(&[File::new("a.md", &text)]), [], "{text}");
        }
    }

    #[test]
    fn recordings_are_kept_as_they_were_made() {
        let text = absolute(&["home", "ann"]);
        let at = |path| machine_paths(&[File::new(path, &text)]).len();
        assert_eq!(at("crates/nightwright/tests/fixtures/claude/limit.ndjson"), 0);
        assert_eq!(at("crates/nightwright/tests/it/limit.ndjson"), 1);
    }
}

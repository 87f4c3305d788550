//! Checks that a module of the program imports only modules of lower layers.

use super::Finding;
use super::source::mentions;
use super::tree::File;

const SHELL: &str = "crates/nightwright/src/";

/// The modules, lowest first. `output` is below `runtime`, so what displays a run cannot control
/// it.
const LAYERS: [&str; 24] = [
    "error",
    "files",
    "hex",
    "random",
    "clock",
    "signals",
    "paste",
    "name",
    "config",
    "store",
    "secrets",
    "task",
    "trust",
    "workspace",
    "sandbox",
    "agent",
    "init",
    "rehearsal",
    "output",
    "hooks",
    "runtime",
    "console",
    "app",
    "commands",
];

pub(super) fn upward_imports(files: &[File]) -> Vec<Finding> {
    // Tests may compare modules of all layers.
    let is_test = |path: &str| path.ends_with("tests.rs") || path.contains("/tests/");
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.is_rust() && !is_test(&file.path)) {
        let Some(path) = file.path.strip_prefix(SHELL) else {
            continue;
        };
        if ["lib.rs", "main.rs"].contains(&path) {
            continue;
        }
        let own = path.split(['/', '.']).next().unwrap_or_default();
        let Some(layer) = LAYERS.iter().position(|name| *name == own) else {
            let why = "add it to the list in `xtask/src/tidy/layers.rs`";
            findings.push(Finding::new(&file.path, 1, format!("`{own}` has no layer"), why));
            continue;
        };
        let above: Vec<_> =
            LAYERS[layer + 1..].iter().map(|name| format!("crate::{name}")).collect();
        let above: Vec<_> = above.iter().map(String::as_str).collect();
        findings.extend(mentions(&file.code, &above).into_iter().map(|(line, name)| {
            let rule = format!("no `{name}` in `{own}`");
            Finding::new(&file.path, line, rule, "a module imports only modules of lower layers")
        }));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let file = File::new(&format!("{SHELL}{path}"), text);
        upward_imports(&[file]).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn imports_of_higher_layers_are_found() {
        let text = "\nuse crate::{\n    clock::Clock,\n    runtime::supervisor,\n};";
        assert_eq!(lines("output.rs", text), [4]);
        assert_eq!(lines("output/page.rs", text), [4]);
        assert_eq!(lines("output/tests.rs", text), [0; 0]);
        assert_eq!(lines("app/wire.rs", text), [0; 0]);
        assert_eq!(lines("store.rs", "let x = crate::app::x;\nuse crate::apps;"), [1]);
    }

    #[test]
    fn a_new_module_needs_a_layer() {
        assert_eq!(lines("later.rs", ""), [1]);
    }
}

//! Makefiles: finds which of the usual targets exist.

use nightwright_core::settings::Commands;

use super::{DetectedProject, ProjectFiles, ProjectKind, first};

pub(super) fn make(view: &ProjectFiles, notes: &mut Vec<String>) -> Option<DetectedProject> {
    // In the order in which make searches for them.
    let by = first(view, &["GNUmakefile", "makefile", "Makefile"], notes)?;
    let targets = view.text(&by).map(targets).unwrap_or_default();
    let command = |names: &[&str]| {
        let name = names.iter().find(|name| targets.iter().any(|target| target == *name))?;
        Some(format!("make {name}"))
    };
    let commands = Commands {
        test: command(&["test", "check"]),
        build: command(&["build"]),
        lint: command(&["lint"]),
    };
    Some(DetectedProject { kind: ProjectKind::Make, by, commands })
}

/// Returns the targets with rules in this file. Included files are ignored.
fn targets(text: &str) -> Vec<String> {
    let mut targets = Vec::new();
    let mut in_definition = false;
    let text = text.replace("\r\n", "\n").replace("\\\n", " ");
    for line in text.lines() {
        // A recipe, or the text of a variable.
        if line.starts_with('\t') {
            continue;
        }
        match line.split_whitespace().next() {
            Some("define") => in_definition = true,
            Some("endef") => in_definition = false,
            Some(_) | None => {}
        }
        if in_definition {
            continue;
        }
        let line = line.split('#').next().unwrap_or_default();
        let Some((names, rest)) = line.split_once(':') else { continue };
        // `:=` and `::=` set a variable, and so does `a = b:c`; `.PHONY: test` makes no rule.
        let sets = rest.trim_start_matches(':').starts_with('=') || names.contains('=');
        if !sets && !names.trim_start().starts_with('.') {
            targets.extend(names.split_whitespace().map(str::to_owned));
        }
    }
    targets
}

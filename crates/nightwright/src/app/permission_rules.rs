//! Permission rules of a project: what its type usually needs, and its own commands.

use std::collections::BTreeSet;
use std::path::Path;

use nightwright_core::mode::{CommitPolicy, ModeDefinition};
use nightwright_core::permissions::{COMMIT, PermissionRules, usual};
use nightwright_core::settings::{Commands, Settings};

use crate::init::detect::{DetectedProject, DetectedProjects, detect};
use crate::init::project_files::ProjectFiles;

/// The maximum number of folders that are searched for manifests.
const PACKAGES: usize = 50;
/// Folders that often contain the packages of a project.
const ABOVE_PACKAGES: [&str; 4] = ["", "packages", "apps", "crates"];
/// Folders with third-party code, which are skipped.
const FOREIGN: [&str; 4] = ["node_modules", "target", "vendor", "venv"];

/// The rules for a run with these settings, for the current state of the project.
pub(super) fn rules(project: &Path, settings: &Settings, mode: &ModeDefinition) -> PermissionRules {
    let detected = detect(&ProjectFiles::of(project));
    let types = types(project, &detected);
    let own = own_commands(settings, &detected);
    let edits = match mode.commits {
        CommitPolicy::Yes => COMMIT.map(str::to_owned).to_vec(),
        CommitPolicy::No => Vec::new(),
    };
    PermissionRules { edits, usual: usual::rules(&types, &own) }
}

/// The types of the project and its packages.
fn types(project: &Path, detected: &DetectedProjects) -> Vec<String> {
    let mut all: Vec<String> = kinds(detected).collect();
    for package in packages(project) {
        let found = detect(&ProjectFiles::of_package(&package));
        for kind in kinds(&found) {
            if !all.contains(&kind) {
                all.push(kind);
            }
        }
    }
    let generic = crate::init::detect::ProjectKind::Generic.to_string();
    if all.iter().any(|kind| *kind != generic) {
        all.retain(|kind| *kind != generic);
    }
    all
}

fn kinds(detected: &DetectedProjects) -> impl Iterator<Item = String> {
    let all = std::iter::once(&detected.main).chain(&detected.others);
    all.map(|found| found.kind.to_string())
}

/// The folders in the project root, and in the usual parent folders of packages.
fn packages(project: &Path) -> BTreeSet<std::path::PathBuf> {
    let mut found = BTreeSet::new();
    for above in ABOVE_PACKAGES {
        let Ok(entries) = std::fs::read_dir(project.join(above)) else { continue };
        for entry in entries.flatten().take(1000) {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder && !name.starts_with('.') && !FOREIGN.contains(&&*name) {
                found.insert(entry.path());
            }
            if found.len() >= PACKAGES {
                return found;
            }
        }
    }
    found
}

/// The project's own commands without duplicates: configured, used by the gate, or detected from
/// its files.
fn own_commands(settings: &Settings, detected: &DetectedProjects) -> Vec<String> {
    let of = |commands: &Commands| {
        let Commands { test, build, lint } = commands.clone();
        [test, build, lint].into_iter().flatten().collect::<Vec<_>>()
    };
    let mut all: Vec<String> = Vec::new();
    let found = std::iter::once(&detected.main).chain(&detected.others);
    let found = found.flat_map(|found: &DetectedProject| of(&found.commands));
    let gate = settings.verify.commands.iter().cloned();
    for command in of(&settings.commands).into_iter().chain(gate).chain(found) {
        if !all.contains(&command) {
            all.push(command);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn of(files: &[(&str, &str)], settings: &Settings) -> PermissionRules {
        let project = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = project.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let mode = crate::config::modes::load(project.path(), "build").unwrap().definition;
        rules(project.path(), settings, &mode)
    }

    fn has(rules: &PermissionRules, rule: &str) -> bool {
        rules.usual.iter().any(|one| one == rule)
    }

    #[test]
    fn the_types_of_a_project_and_of_its_packages_count() {
        let rules = of(
            &[("Cargo.toml", "[package]\nname = \"x\""), ("web/package.json", "{}")],
            &Settings::default(),
        );
        assert!(has(&rules, "Bash(cargo test:*)") && has(&rules, "Bash(npm install:*)"));
        assert!(!has(&rules, "Bash(pytest:*)") && !has(&rules, "Bash(rake:*)"));
        assert!(has(&rules, "Bash(git commit:*)"));
    }

    #[test]
    fn the_projects_own_commands_come_first() {
        let mut settings = Settings::default();
        settings.commands.test = Some("./run-tests --all".to_owned());
        settings.verify.commands = vec!["tools/gate && make docs".to_owned()];
        let rules = of(&[("package.json", "{\"scripts\": {\"test\": \"x\"}}")], &settings);
        let first = ["Bash(./run-tests:*)", "Bash(tools/gate:*)", "Bash(make docs:*)"];
        assert_eq!(rules.usual[..3], first);
        assert_eq!(rules.usual[3], "Bash(npm test:*)");
    }

    #[test]
    fn building_may_commit_when_only_edits_are_allowed() {
        let rules = of(&[], &Settings::default());
        assert_eq!(rules.edits, COMMIT);
    }
}

//! JavaScript and TypeScript: finds the scripts in `package.json`, run by the package manager of
//! the lock file.

use nightwright_core::settings::Commands;
use serde_json::Value;

use super::{DetectedProject, ProjectFiles, ProjectKind, first};
use crate::init::project_files::{has_extension, inside};

/// The program that runs the scripts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PackageManager {
    Bun,
    Npm,
    Pnpm,
    Yarn,
}

pub(super) fn node(view: &ProjectFiles, notes: &mut Vec<String>) -> Option<DetectedProject> {
    let by = first(view, &["package.json"], notes)?;
    let package = match view.text(&by).map(serde_json::from_str::<Value>) {
        Some(Ok(package)) if package.is_object() => package,
        Some(Ok(_)) => {
            notes.push(format!("`{by}` is not a JSON object: its scripts are unknown"));
            Value::Null
        }
        Some(Err(error)) => {
            notes.push(format!("`{by}` is not valid JSON ({error}): its scripts are unknown"));
            Value::Null
        }
        None => Value::Null,
    };
    let manager = manager(view, &package);
    let script =
        |name: &str| package["scripts"][name].as_str().filter(|text| !text.trim().is_empty());
    let test = match script("test") {
        Some(text) if is_placeholder(text) => None,
        Some(text) if watches(text) => {
            let other = ["test:ci", "test:run", "test:unit"]
                .into_iter()
                .find(|name| script(name).is_some_and(|text| !watches(text)));
            if other.is_none() {
                notes.push(format!(
                    "the script `test` of `{by}` watches files and never ends: nightwright sets no \
                     test command"
                ));
            }
            other.map(|name| run(manager, name))
        }
        Some(_) => Some(run(manager, "test")),
        None if manager == PackageManager::Bun && has_tests(view) => Some("bun test".to_owned()),
        None => None,
    };
    let command = |name: &str| script(name).map(|_| run(manager, name));
    let commands = Commands { test, build: command("build"), lint: command("lint") };
    let kind = match manager {
        PackageManager::Bun => ProjectKind::Bun,
        PackageManager::Npm | PackageManager::Pnpm | PackageManager::Yarn => ProjectKind::Npm,
    };
    Some(DetectedProject { kind, by, commands })
}

/// Returns the package manager according to the lock file, else to `package.json`, else npm.
fn manager(view: &ProjectFiles, package: &Value) -> PackageManager {
    let locks = [
        ("bun.lock", PackageManager::Bun),
        ("bun.lockb", PackageManager::Bun),
        ("pnpm-lock.yaml", PackageManager::Pnpm),
        ("yarn.lock", PackageManager::Yarn),
        ("package-lock.json", PackageManager::Npm),
        ("npm-shrinkwrap.json", PackageManager::Npm),
        ("bunfig.toml", PackageManager::Bun),
    ];
    if let Some((_, manager)) = locks.iter().find(|(lock, _)| view.has_file(lock)) {
        return *manager;
    }
    let named = package["packageManager"].as_str().unwrap_or_default();
    match named.split('@').next() {
        Some("bun") => PackageManager::Bun,
        Some("pnpm") => PackageManager::Pnpm,
        Some("yarn") => PackageManager::Yarn,
        Some(_) | None => PackageManager::Npm,
    }
}

fn run(manager: PackageManager, script: &str) -> String {
    match (manager, script) {
        (PackageManager::Bun, _) => format!("bun run {script}"),
        (PackageManager::Npm, "test") => "npm test".to_owned(),
        (PackageManager::Npm, _) => format!("npm run {script}"),
        (PackageManager::Pnpm, "test") => "pnpm test".to_owned(),
        (PackageManager::Pnpm, _) => format!("pnpm run {script}"),
        (PackageManager::Yarn, "test") => "yarn test".to_owned(),
        (PackageManager::Yarn, _) => format!("yarn run {script}"),
    }
}

/// Whether the script is the placeholder that `npm init` writes without a test.
fn is_placeholder(script: &str) -> bool {
    script.contains("no test specified")
}

/// Whether a script watches files and does not end.
fn watches(script: &str) -> bool {
    let ends = ["--watch=false", "--watchAll=false", "--watch-all=false", "--no-watch", "--run"];
    if ends.iter().any(|option| script.contains(option)) || script.contains("CI=") {
        return false;
    }
    script.contains("--watch")
        || script.contains("react-scripts test")
        || script.split_whitespace().any(|word| word == "watch")
}

/// Whether there are files that Bun's test runner would run.
fn has_tests(view: &ProjectFiles) -> bool {
    let folders = ["", "src", "test", "tests", "__tests__"];
    folders.iter().any(|folder| {
        view.names_in(folder).any(|name| {
            let is_script = ["js", "jsx", "ts", "tsx"].iter().any(|end| has_extension(name, end));
            let marks = [".test.", "_test.", ".spec.", "_spec."];
            is_script
                && marks.iter().any(|mark| name.contains(mark))
                && view.has_file(&inside(folder, name))
        })
    })
}

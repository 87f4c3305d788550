//! JavaScript and TypeScript: the scripts that are really in `package.json`, run by the manager
//! whose lock file is there.

use nightwright_core::settings::Commands;
use serde_json::Value;

use super::{Found, Kind, View, first};
use crate::init::view::{has_extension, inside};

/// What runs the scripts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Manager {
    Bun,
    Npm,
    Pnpm,
    Yarn,
}

pub(super) fn node(view: &View, notes: &mut Vec<String>) -> Option<Found> {
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
                    "the script `test` of `{by}` watches files and never ends: no test command is set"
                ));
            }
            other.map(|name| run(manager, name))
        }
        Some(_) => Some(run(manager, "test")),
        None if manager == Manager::Bun && has_tests(view) => Some("bun test".to_owned()),
        None => None,
    };
    let command = |name: &str| script(name).map(|_| run(manager, name));
    let commands = Commands { test, build: command("build"), lint: command("lint") };
    let kind = match manager {
        Manager::Bun => Kind::Bun,
        Manager::Npm | Manager::Pnpm | Manager::Yarn => Kind::Npm,
    };
    Some(Found { kind, by, commands })
}

/// The manager by its lock file, else by what the package names, else npm.
fn manager(view: &View, package: &Value) -> Manager {
    let locks = [
        ("bun.lock", Manager::Bun),
        ("bun.lockb", Manager::Bun),
        ("pnpm-lock.yaml", Manager::Pnpm),
        ("yarn.lock", Manager::Yarn),
        ("package-lock.json", Manager::Npm),
        ("npm-shrinkwrap.json", Manager::Npm),
        ("bunfig.toml", Manager::Bun),
    ];
    if let Some((_, manager)) = locks.iter().find(|(lock, _)| view.has_file(lock)) {
        return *manager;
    }
    let named = package["packageManager"].as_str().unwrap_or_default();
    match named.split('@').next() {
        Some("bun") => Manager::Bun,
        Some("pnpm") => Manager::Pnpm,
        Some("yarn") => Manager::Yarn,
        Some(_) | None => Manager::Npm,
    }
}

fn run(manager: Manager, script: &str) -> String {
    match (manager, script) {
        (Manager::Bun, _) => format!("bun run {script}"),
        (Manager::Npm, "test") => "npm test".to_owned(),
        (Manager::Npm, _) => format!("npm run {script}"),
        (Manager::Pnpm, "test") => "pnpm test".to_owned(),
        (Manager::Pnpm, _) => format!("pnpm run {script}"),
        (Manager::Yarn, "test") => "yarn test".to_owned(),
        (Manager::Yarn, _) => format!("yarn run {script}"),
    }
}

/// What `npm init` writes when there is no test.
fn is_placeholder(script: &str) -> bool {
    script.contains("no test specified")
}

/// Whether a script waits for files to change instead of ending.
fn watches(script: &str) -> bool {
    let ends = ["--watch=false", "--watchAll=false", "--watch-all=false", "--no-watch", "--run"];
    if ends.iter().any(|option| script.contains(option)) || script.contains("CI=") {
        return false;
    }
    script.contains("--watch")
        || script.contains("react-scripts test")
        || script.split_whitespace().any(|word| word == "watch")
}

/// Whether there are files that Bun's own runner would take for tests.
fn has_tests(view: &View) -> bool {
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

//! Python: uses pytest if the project mentions it, else unittest if there are tests.
//!
//! The commands run in the environment of the lock file, else in the virtual environment in the
//! project's folder. The latter is named by its path, because it is not activated during a run.

use nightwright_core::settings::Commands;

use super::{DetectedProject, ProjectFiles, ProjectKind, first};
use crate::init::project_files::{has_extension, inside};

/// Files that identify a Python project, the most specific first.
const MARKS: [&str; 5] = ["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "Pipfile"];

/// Files that name dependencies and tools.
const NAMING: [&str; 6] = [
    "pyproject.toml",
    "setup.cfg",
    "tox.ini",
    "requirements.txt",
    "requirements-dev.txt",
    "dev-requirements.txt",
];

/// The usual folders of a virtual environment's programs.
const ENVIRONMENTS: [&str; 2] = [".venv/bin", "venv/bin"];

pub(super) fn python(view: &ProjectFiles, notes: &mut Vec<String>) -> Option<DetectedProject> {
    let by = first(view, &MARKS, notes)?;
    if let Some(Err(error)) = view.text("pyproject.toml").map(toml::from_str::<toml::Table>) {
        notes.push(format!("`pyproject.toml` is not valid TOML: {}", error.message()));
    }
    let start = if view.has_file("uv.lock") {
        "uv run "
    } else if view.has_file("poetry.lock") {
        "poetry run "
    } else {
        ""
    };
    let environment =
        ENVIRONMENTS.into_iter().find(|folder| view.has_file(&inside(folder, "python")));
    let environment = environment.filter(|_| start.is_empty());
    let own = |program: &str| {
        environment.map(|folder| inside(folder, program)).filter(|path| view.has_file(path))
    };
    let test = if speaks_of(view, "pytest", &["pytest.ini", "conftest.py", "tests/conftest.py"]) {
        // Unlike the program `pytest`, the module finds packages in the project's folder.
        let own = own("pytest").and_then(|_| own("python"));
        Some(own.map_or_else(|| format!("{start}pytest"), |python| format!("{python} -m pytest")))
    } else {
        unittest(view).map(|command| match start {
            "" => format!("{} {command}", own("python").unwrap_or_else(|| "python3".to_owned())),
            start => format!("{start}python {command}"),
        })
    };
    let lint = speaks_of(view, "ruff", &["ruff.toml", ".ruff.toml"]).then(|| {
        own("ruff").map_or_else(|| format!("{start}ruff check"), |ruff| format!("{ruff} check"))
    });
    let packaged = view.text("pyproject.toml").is_some_and(|text| text.contains("[build-system]"));
    let build = match start {
        "uv run " if packaged => Some("uv build".to_owned()),
        "poetry run " if packaged => Some("poetry build".to_owned()),
        _ => None,
    };
    Some(DetectedProject {
        kind: ProjectKind::Python,
        by,
        commands: Commands { test, build, lint },
    })
}

/// Whether one of the tool's files exists, or a file of the project names the tool.
fn speaks_of(view: &ProjectFiles, tool: &str, files: &[&str]) -> bool {
    files.iter().any(|file| view.has_file(file))
        || NAMING.iter().filter_map(|file| view.text(file)).any(|text| names(text, tool))
}

/// Whether a line that is not a comment contains the tool's name as a word, or as the start of one
/// (`pytest-cov`).
fn names(text: &str, tool: &str) -> bool {
    text.lines().map(|line| line.split('#').next().unwrap_or_default()).any(|line| {
        line.match_indices(tool).any(|(at, _)| {
            let before = line[..at].chars().next_back();
            let after = line[at + tool.len()..].chars().next();
            let is_letter = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
            !is_letter(before) && before != Some('-') && !(is_letter(after) && after != Some('_'))
        })
    })
}

fn unittest(view: &ProjectFiles) -> Option<&'static str> {
    let has_tests = |folder: &str| {
        view.names_in(folder).any(|name| {
            name.starts_with("test")
                && has_extension(name, "py")
                && view.has_file(&inside(folder, name))
        })
    };
    if has_tests("tests") {
        Some("-m unittest discover -s tests")
    } else if has_tests("test") {
        Some("-m unittest discover -s test")
    } else if has_tests("") {
        Some("-m unittest")
    } else {
        None
    }
}

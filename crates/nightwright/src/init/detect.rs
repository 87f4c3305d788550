//! Detects the kind of a project, and the commands that test, build and lint it.
//!
//! Only commands that the project's files support are used: a gate that always fails is worse than
//! none. Several kinds can be present. The main one is the first that has a test command, in the
//! order of [`ProjectKind`]; if none has, the first. Languages come before the tools that often
//! accompany them: a `package.json` for the documentation, a `Makefile` of shortcuts.

mod makefile;
mod node;
mod python;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::Path;

use nightwright_core::settings::Commands;

use super::project_files::{ProjectFiles, has_extension};

/// The kinds of projects, in the order of preference for the main one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProjectKind {
    Cargo,
    Go,
    /// C# and other .NET languages.
    Dotnet,
    Maven,
    /// Java or Kotlin with Gradle.
    Gradle,
    Python,
    Bun,
    /// JavaScript with npm, pnpm or Yarn.
    Npm,
    /// Any project with a makefile.
    Make,
    /// No known kind of project.
    Generic,
}

impl fmt::Display for ProjectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cargo => "cargo",
            Self::Go => "go",
            Self::Dotnet => "dotnet",
            Self::Maven => "maven",
            Self::Gradle => "gradle",
            Self::Python => "python",
            Self::Bun => "bun",
            Self::Npm => "npm",
            Self::Make => "make",
            Self::Generic => "generic",
        })
    }
}

/// One kind of project that was detected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DetectedProject {
    pub kind: ProjectKind,
    /// The file that identifies it; empty for [`ProjectKind::Generic`].
    pub by: String,
    /// The commands that its files support.
    pub commands: Commands,
}

/// The detected kinds of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DetectedProjects {
    pub main: DetectedProject,
    pub others: Vec<DetectedProject>,
    /// Files that could not be parsed.
    pub notes: Vec<String>,
}

/// Whether a folder has the manifest of a separate package. A makefile does not count: many folders
/// of a project have one.
pub fn has_manifest(folder: &Path) -> bool {
    let DetectedProjects { main, others, .. } = detect(&ProjectFiles::of(folder));
    others.iter().chain([&main]).any(|found| match found.kind {
        ProjectKind::Cargo
        | ProjectKind::Go
        | ProjectKind::Dotnet
        | ProjectKind::Maven
        | ProjectKind::Gradle
        | ProjectKind::Python
        | ProjectKind::Bun
        | ProjectKind::Npm => true,
        ProjectKind::Make | ProjectKind::Generic => false,
    })
}

/// Detects the kinds of a project.
pub fn detect(view: &ProjectFiles) -> DetectedProjects {
    let mut notes = Vec::new();
    let looks = [cargo, go, dotnet, maven, gradle, python::python, node::node, makefile::make];
    let mut found: Vec<DetectedProject> =
        looks.iter().filter_map(|look| look(view, &mut notes)).collect();
    found.sort_by_key(|found| (found.commands.test.is_none(), found.kind));
    let mut found = found.into_iter();
    let generic = || DetectedProject {
        kind: ProjectKind::Generic,
        by: String::new(),
        commands: Commands::default(),
    };
    DetectedProjects { main: found.next().unwrap_or_else(generic), others: found.collect(), notes }
}

fn commands(test: Option<String>, build: Option<String>, lint: Option<String>) -> Commands {
    Commands { test, build, lint }
}

/// Returns the first of these files that exists; an unreadable one is a note.
fn first(view: &ProjectFiles, names: &[&str], notes: &mut Vec<String>) -> Option<String> {
    let name = names.iter().find(|name| view.has_file(name))?;
    if let Some(why) = view.broken(name) {
        notes.push(why.to_owned());
    }
    Some((*name).to_owned())
}

fn cargo(view: &ProjectFiles, notes: &mut Vec<String>) -> Option<DetectedProject> {
    let by = first(view, &["Cargo.toml"], notes)?;
    let manifest = match view.text(&by).map(toml::from_str::<toml::Table>) {
        Some(Ok(manifest)) => manifest,
        Some(Err(error)) => {
            notes.push(format!("`{by}` is not valid TOML: {}", error.message()));
            toml::Table::new()
        }
        None => toml::Table::new(),
    };
    // Without the option, only the package at the root is tested.
    let all = if manifest.contains_key("workspace") { " --workspace" } else { "" };
    let command = |name: &str| Some(format!("cargo {name}{all}"));
    let lint = Some(format!("cargo clippy{all} --all-targets"));
    Some(DetectedProject {
        kind: ProjectKind::Cargo,
        by,
        commands: commands(command("test"), command("build"), lint),
    })
}

fn go(view: &ProjectFiles, notes: &mut Vec<String>) -> Option<DetectedProject> {
    let Some(by) = first(view, &["go.mod"], notes) else {
        let by = first(view, &["go.work"], notes)?;
        notes.push(format!(
            "`{by}` has its modules in subfolders: `go test ./...` would find none, so nightwright \
             sets no command"
        ));
        return Some(DetectedProject { kind: ProjectKind::Go, by, commands: Commands::default() });
    };
    let linter = [".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json"];
    let has_linter = linter.iter().any(|name| view.has_file(name));
    let lint = if has_linter { "golangci-lint run" } else { "go vet ./..." };
    let commands = commands(
        Some("go test ./...".to_owned()),
        Some("go build ./...".to_owned()),
        Some(lint.to_owned()),
    );
    Some(DetectedProject { kind: ProjectKind::Go, by, commands })
}

fn dotnet(view: &ProjectFiles, notes: &mut Vec<String>) -> Option<DetectedProject> {
    let with_extension = |extensions: &[&str]| -> Vec<String> {
        let is_one = |name: &&str| {
            extensions.iter().any(|one| has_extension(name, one)) && view.has_file(name)
        };
        view.names_in("").filter(is_one).map(str::to_owned).collect()
    };
    let solutions = with_extension(&["sln", "slnx"]);
    let projects = with_extension(&["csproj", "fsproj", "vbproj"]);
    let by = solutions.first().or(projects.first())?.clone();
    // If the tool cannot choose a file, the command must name it.
    let argument = match (solutions.len(), solutions.len() + projects.len()) {
        (_, 1) => String::new(),
        (1, _) => format!(" {}", shell_words::quote(&by)),
        _ => {
            let all = [solutions, projects].concat().join("`, `");
            notes.push(format!(
                "`dotnet` could not choose between `{all}`: nightwright sets no command"
            ));
            return Some(DetectedProject {
                kind: ProjectKind::Dotnet,
                by,
                commands: Commands::default(),
            });
        }
    };
    let commands = commands(
        Some(format!("dotnet test{argument}")),
        Some(format!("dotnet build{argument}")),
        Some(format!("dotnet format{argument} --verify-no-changes")),
    );
    Some(DetectedProject { kind: ProjectKind::Dotnet, by, commands })
}

fn maven(view: &ProjectFiles, notes: &mut Vec<String>) -> Option<DetectedProject> {
    let by = first(view, &["pom.xml"], notes)?;
    let program = if view.has_file("mvnw") { "./mvnw" } else { "mvn" };
    let checked = view.text(&by).is_some_and(|text| text.contains("maven-checkstyle-plugin"));
    let commands = commands(
        Some(format!("{program} test")),
        Some(format!("{program} compile")),
        checked.then(|| format!("{program} checkstyle:check")),
    );
    Some(DetectedProject { kind: ProjectKind::Maven, by, commands })
}

fn gradle(view: &ProjectFiles, notes: &mut Vec<String>) -> Option<DetectedProject> {
    let names = ["build.gradle.kts", "build.gradle", "settings.gradle.kts", "settings.gradle"];
    let by = first(view, &names, notes)?;
    let program = if view.has_file("gradlew") { "./gradlew" } else { "gradle" };
    let commands =
        commands(Some(format!("{program} test")), Some(format!("{program} assemble")), None);
    Some(DetectedProject { kind: ProjectKind::Gradle, by, commands })
}

//! Tests with all kinds of projects, usual and unusual.

use super::*;
use crate::init::project_files::EntryContent;

/// Files with their text; a name that ends in `/` is a folder.
fn view(files: &[(&str, &str)]) -> ProjectFiles {
    files.iter().fold(ProjectFiles::default(), |view, (path, text)| match path.strip_suffix('/') {
        Some(folder) => view.with(folder, EntryContent::Folder),
        None => view.with(path, EntryContent::Text((*text).to_owned())),
    })
}

fn shown(detected: &DetectedProjects) -> String {
    let one = |found: &DetectedProject| {
        let Commands { test, build, lint } = &found.commands;
        let named = [test, build, lint].map(|command| command.as_deref().unwrap_or("-"));
        format!("{}: {}", found.kind, named.join(" | "))
    };
    let mut all = vec![one(&detected.main)];
    all.extend(detected.others.iter().map(one));
    all.join("; ")
}

/// The files, the expected result, and the number of notes.
type DetectCase = (&'static [(&'static str, &'static str)], &'static str, usize);

fn hold(rows: &[DetectCase]) {
    for (files, expected, notes) in rows {
        let detected = detect(&view(files));
        assert_eq!(shown(&detected), *expected, "{files:?}");
        assert_eq!(detected.notes.len(), *notes, "{files:?}: {:?}", detected.notes);
    }
}

const TESTED: &str = r#"{"scripts": {"test": "vitest run", "build": "tsc", "lint": "eslint ."}}"#;
const ONLY_TEST: &str = r#"{"scripts": {"test": "node --test"}}"#;

#[test]
fn scripts_of_a_package_are_run_by_the_manager_whose_lock_file_is_there() {
    hold(&[
        (&[("package.json", TESTED)], "npm: npm test | npm run build | npm run lint", 0),
        (
            &[("package.json", TESTED), ("package-lock.json", "")],
            "npm: npm test | npm run build | npm run lint",
            0,
        ),
        (
            &[("package.json", TESTED), ("pnpm-lock.yaml", "")],
            "npm: pnpm test | pnpm run build | pnpm run lint",
            0,
        ),
        (
            &[("package.json", TESTED), ("yarn.lock", "")],
            "npm: yarn test | yarn run build | yarn run lint",
            0,
        ),
        (
            &[("package.json", TESTED), ("bun.lock", "")],
            "bun: bun run test | bun run build | bun run lint",
            0,
        ),
        (
            &[("package.json", TESTED), ("bun.lockb", ""), ("package-lock.json", "")],
            "bun: bun run test | bun run build | bun run lint",
            0,
        ),
        (
            &[("package.json", r#"{"packageManager": "pnpm@9.1.0", "scripts": {"test": "jest"}}"#)],
            "npm: pnpm test | - | -",
            0,
        ),
    ]);
}

#[test]
fn a_script_that_tests_nothing_or_never_ends_is_no_test_command() {
    let placeholder = r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#;
    assert_eq!(shown(&detect(&view(&[("package.json", placeholder)]))), "npm: - | - | -");
    hold(&[
        (&[("package.json", r#"{"scripts": {"test": "jest --watch"}}"#)], "npm: - | - | -", 1),
        (
            &[("package.json", r#"{"scripts": {"test": "jest --watch", "test:ci": "jest"}}"#)],
            "npm: npm run test:ci | - | -",
            0,
        ),
        (
            &[("package.json", r#"{"scripts": {"test": "ng test --watch=false"}}"#)],
            "npm: npm test | - | -",
            0,
        ),
        (
            &[("package.json", r#"{"scripts": {"test": "react-scripts test"}}"#)],
            "npm: - | - | -",
            1,
        ),
        (&[("package.json", r#"{"scripts": {"test": "  "}}"#)], "npm: - | - | -", 0),
        (&[("package.json", r#"{"scripts": {"test": 7, "build": []}}"#)], "npm: - | - | -", 0),
        (&[("package.json", r#"{"scripts": "test"}"#)], "npm: - | - | -", 0),
        (&[("package.json", "{}"), ("bun.lock", "")], "bun: - | - | -", 0),
        (
            &[("package.json", "{}"), ("bun.lock", ""), ("src/sum.test.ts", "")],
            "bun: bun test | - | -",
            0,
        ),
    ]);
}

#[test]
fn a_broken_file_is_a_note() {
    hold(&[
        (&[("package.json", "{\"scripts\": ")], "npm: - | - | -", 1),
        (&[("package.json", "[1, 2]")], "npm: - | - | -", 1),
        (&[("package.json", "")], "npm: - | - | -", 1),
        (
            &[("Cargo.toml", "[package\nname")],
            "cargo: cargo test | cargo build | cargo clippy --all-targets",
            1,
        ),
        (&[("pyproject.toml", "= 3")], "python: - | - | -", 1),
    ]);
    let broken = ProjectFiles::default()
        .with("package.json", EntryContent::Broken("it leads out".to_owned()));
    let detected = detect(&broken);
    assert_eq!(shown(&detected), "npm: - | - | -");
    assert_eq!(detected.notes, ["it leads out"]);
}

#[test]
fn compiled_languages_have_their_usual_commands() {
    hold(&[
        (
            &[("Cargo.toml", "[package]\nname = \"a\"")],
            "cargo: cargo test | cargo build | cargo clippy --all-targets",
            0,
        ),
        (
            &[("Cargo.toml", "[workspace]\nmembers = [\"a\"]")],
            "cargo: cargo test --workspace | cargo build --workspace | \
             cargo clippy --workspace --all-targets",
            0,
        ),
        (&[("go.mod", "module a")], "go: go test ./... | go build ./... | go vet ./...", 0),
        (
            &[("go.mod", "module a"), (".golangci.yml", "")],
            "go: go test ./... | go build ./... | golangci-lint run",
            0,
        ),
        (&[("go.work", "go 1.22")], "go: - | - | -", 1),
        (&[("pom.xml", "<project/>")], "maven: mvn test | mvn compile | -", 0),
        (&[("pom.xml", "<project/>"), ("mvnw", "")], "maven: ./mvnw test | ./mvnw compile | -", 0),
        (
            &[("pom.xml", "<artifactId>maven-checkstyle-plugin</artifactId>")],
            "maven: mvn test | mvn compile | mvn checkstyle:check",
            0,
        ),
        (&[("build.gradle", "")], "gradle: gradle test | gradle assemble | -", 0),
        (
            &[("settings.gradle.kts", ""), ("gradlew", "")],
            "gradle: ./gradlew test | ./gradlew assemble | -",
            0,
        ),
        (
            &[("App.csproj", "")],
            "dotnet: dotnet test | dotnet build | dotnet format --verify-no-changes",
            0,
        ),
        (
            &[("My App.sln", ""), ("App.csproj", "")],
            "dotnet: dotnet test 'My App.sln' | dotnet build 'My App.sln' | \
             dotnet format 'My App.sln' --verify-no-changes",
            0,
        ),
        (&[("A.csproj", ""), ("B.fsproj", "")], "dotnet: - | - | -", 1),
        (&[("Odd.sln/", "")], "generic: - | - | -", 0),
    ]);
}

#[test]
fn python_is_tested_with_what_the_project_speaks_of() {
    hold(&[
        (&[("setup.py", "")], "python: - | - | -", 0),
        (&[("requirements.txt", "flask\npytest==8.0\n")], "python: pytest | - | -", 0),
        (&[("requirements.txt", "flask\n# pytest, one day\n")], "python: - | - | -", 0),
        (&[("requirements.txt", "nopytest\nmy-ruff\n")], "python: - | - | -", 0),
        (&[("setup.py", ""), ("tests/conftest.py", "")], "python: pytest | - | -", 0),
        (
            &[("pyproject.toml", "[tool.pytest.ini_options]\n[tool.ruff]\n")],
            "python: pytest | - | ruff check",
            0,
        ),
        (
            &[
                ("pyproject.toml", "[build-system]\n[dependency-groups]\ndev = [\"pytest-cov\"]\n"),
                ("uv.lock", ""),
            ],
            "python: uv run pytest | uv build | -",
            0,
        ),
        (
            &[("pyproject.toml", ""), ("poetry.lock", ""), ("tests/test_a.py", "")],
            "python: poetry run python -m unittest discover -s tests | - | -",
            0,
        ),
        (
            &[("setup.py", ""), ("tests/test_a.py", "")],
            "python: python3 -m unittest discover -s tests | - | -",
            0,
        ),
        (&[("setup.py", ""), ("test_a.py", "")], "python: python3 -m unittest | - | -", 0),
        (&[("setup.py", ""), ("tests/", "")], "python: - | - | -", 0),
        (
            &[
                ("requirements.txt", "pytest\nruff\n"),
                (".venv/bin/python", ""),
                (".venv/bin/pytest", ""),
            ],
            "python: .venv/bin/python -m pytest | - | ruff check",
            0,
        ),
        (
            &[
                ("requirements.txt", "pytest\nruff\n"),
                ("venv/bin/python", ""),
                ("venv/bin/ruff", ""),
            ],
            "python: pytest | - | venv/bin/ruff check",
            0,
        ),
        (
            &[("setup.py", ""), ("test_a.py", ""), (".venv/bin/python", "")],
            "python: .venv/bin/python -m unittest | - | -",
            0,
        ),
        (
            &[
                ("uv.lock", ""),
                ("setup.cfg", "pytest"),
                (".venv/bin/python", ""),
                (".venv/bin/pytest", ""),
            ],
            "python: uv run pytest | - | -",
            0,
        ),
    ]);
}

#[test]
fn only_targets_that_a_makefile_has_are_named() {
    hold(&[
        (
            &[("Makefile", "test: build\n\tgo\nbuild:\n\tgo\nlint:\n\tgo\n")],
            "make: make test | make build | make lint",
            0,
        ),
        (&[("Makefile", "check:\n\tprove\n")], "make: make check | - | -", 0),
        (&[("Makefile", "check test:\n\tprove\n")], "make: make test | - | -", 0),
        (&[("Makefile", "test::\n\tprove\n")], "make: make test | - | -", 0),
        (&[("Makefile", ".PHONY: test build\nall:\n\tcc\n")], "make: - | - | -", 0),
        (&[("Makefile", "test := a\nbuild ::= b\nlint = c:d\n")], "make: - | - | -", 0),
        (&[("Makefile", "# test: run\nall: \\\n  test\n\ttest: no\n")], "make: - | - | -", 0),
        (&[("Makefile", "define a\ntest: x\nendef\n")], "make: - | - | -", 0),
        (&[("Makefile", "a \\\ntest: b\r\n\tgo\r\n")], "make: make test | - | -", 0),
        (&[("GNUmakefile", "lint:\n"), ("Makefile", "test:\n")], "make: - | - | make lint", 0),
    ]);
}

#[test]
fn the_first_kind_with_tests_is_the_main_one() {
    hold(&[
        (&[], "generic: - | - | -", 0),
        (&[("README.md", ""), ("main.c", "")], "generic: - | - | -", 0),
        (
            &[("package.json", ONLY_TEST), ("Cargo.toml", "")],
            "cargo: cargo test | cargo build | cargo clippy --all-targets; npm: npm test | - | -",
            0,
        ),
        (
            &[("package.json", "{}"), ("Makefile", "test:\n")],
            "make: make test | - | -; npm: - | - | -",
            0,
        ),
        (
            &[("requirements.txt", "mkdocs"), ("package.json", ONLY_TEST)],
            "npm: npm test | - | -; python: - | - | -",
            0,
        ),
        (&[("setup.py", ""), ("Makefile", "all:\n")], "python: - | - | -; make: - | - | -", 0),
    ]);
}

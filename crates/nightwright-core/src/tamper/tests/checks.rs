//! Files that define the checks.

use super::{TamperCase, check};

#[test]
fn a_changed_definition_of_the_checks_is_found() {
    check(CHANGED);
}

#[test]
fn settings_without_effect_on_the_checks_are_not_found() {
    check(HARMLESS);
}

pub(super) const CHANGED: &[TamperCase] = &[
    (
        "github",
        &[(".github/workflows/ci.yml", "on: push\nrun: make test\n", "on: push\nrun: true\n")],
        &[".github/workflows/ci.yml: a CI definition changed"],
    ),
    (
        "github deleted",
        &[(".github/workflows/ci.yml", "on: push\n", "-")],
        &[".github/workflows/ci.yml: a CI definition changed"],
    ),
    (
        "a job that may fail",
        &[(
            ".github/workflows/ci.yml",
            "jobs:\n  test:\n    run: make test\n",
            "jobs:\n  test:\n    continue-on-error: true\n    run: make test\n",
        )],
        &[".github/workflows/ci.yml: a CI definition changed"],
    ),
    (
        "gitlab",
        &[(".gitlab-ci.yml", "a: 1\n", "a: 2\n")],
        &[".gitlab-ci.yml: a CI definition changed"],
    ),
    (
        "jenkins",
        &[("Jenkinsfile", "sh 'mvn test'\n", "sh 'true'\n")],
        &["Jenkinsfile: a CI definition changed"],
    ),
    (
        "jenkins may fail",
        &[("Jenkinsfile", "sh 'mvn test'\n", "sh 'mvn test'\nsh 'mvn verify || true '\n")],
        &["Jenkinsfile: a CI definition changed"],
    ),
    (
        "circle unknown deleted",
        &[(".circleci/config.yml", "?", "-")],
        &[".circleci/config.yml: a CI definition changed"],
    ),
    (
        "nightwright",
        &[(".nightwright/config.toml", "a = 1\n", "a = 2\n")],
        &[".nightwright/config.toml: the nightwright configuration changed; this run keeps using \
           the old one"],
    ),
    (
        "nightwright hook added",
        &[(".nightwright/hooks/stop", "-", "#!/bin/sh\n")],
        &[".nightwright/hooks/stop: a nightwright hook changed"],
    ),
    (
        "jest",
        &[(
            "jest.config.js",
            "module.exports = {}\n",
            "module.exports = { testPathIgnorePatterns: ['a'] }\n",
        )],
        &["jest.config.js: the test configuration changed"],
    ),
    (
        "vitest added to exclude",
        &[("vitest.config.ts", "-", "export default { test: { exclude: ['a'] } }\n")],
        &["vitest.config.ts: the test configuration changed"],
    ),
    (
        "pytest.ini",
        &[("pytest.ini", "[pytest]\n", "[pytest]\naddopts = --ignore=tests/a\n")],
        &["pytest.ini: the configuration of the tests or linters changed"],
    ),
    (
        "setup.cfg",
        &[(
            "setup.cfg",
            "[metadata]\nname = a\n[tool:pytest]\naddopts = -q\n",
            "[metadata]\nname = a\n[tool:pytest]\naddopts = -q -k fast\n",
        )],
        &["setup.cfg: the configuration of the tests or linters changed: [tool:pytest]"],
    ),
    (
        "conftest hook",
        &[(
            "tests/conftest.py",
            "import pytest\n",
            "import pytest\n\ndef pytest_collection_modifyitems(items):\n    items.clear()\n",
        )],
        &["tests/conftest.py: the pytest configuration changed: pytest_collection_modifyitems"],
    ),
    (
        "pyproject",
        &[(
            "pyproject.toml",
            "[project]\nname = 'a'\n[tool.pytest.ini_options]\naddopts = '-q'\n",
            "[project]\nname = 'a'\n[tool.pytest.ini_options]\naddopts = '-q --ignore=a'\n",
        )],
        &["pyproject.toml: the configuration of the tests or linters changed: \
           tool.pytest.ini_options.addopts"],
    ),
    (
        "coverage lowered",
        &[(
            "pyproject.toml",
            "[tool.coverage.report]\nfail_under = 90\n",
            "[tool.coverage.report]\nfail_under = 50\n",
        )],
        &["pyproject.toml: the configuration of the tests or linters changed: \
           tool.coverage.report.fail_under"],
    ),
    (
        "npm script",
        &[(
            "package.json",
            r#"{"scripts":{"test":"jest"}}"#,
            r#"{"scripts":{"test":"jest || true"}}"#,
        )],
        &["package.json: the project's checks changed: scripts.test"],
    ),
    (
        "npm scripts removed",
        &[(
            "package.json",
            r#"{"scripts":{"test":"jest","lint:js":"eslint ."}}"#,
            r#"{"scripts":{}}"#,
        )],
        &["package.json: the project's checks changed: scripts.lint:js, scripts.test"],
    ),
    (
        "jest threshold",
        &[(
            "package.json",
            r#"{"jest":{"coverageThreshold":{"global":{"lines":90}}}}"#,
            r#"{"jest":{"coverageThreshold":{"global":{"lines":10}}}}"#,
        )],
        &["package.json: the project's checks changed: jest.coverageThreshold.global.lines"],
    ),
    (
        "cargo lint",
        &[(
            "Cargo.toml",
            "[lints.clippy]\npedantic = 'deny'\n",
            "[lints.clippy]\npedantic = 'allow'\n",
        )],
        &["Cargo.toml: the checks of `cargo` changed: lints.clippy.pedantic"],
    ),
    (
        "cargo test off",
        &[("Cargo.toml", "[[test]]\nname = 'it'\n", "[[test]]\nname = 'it'\ntest = false\n")],
        &["Cargo.toml: the checks of `cargo` changed: test"],
    ),
    (
        "cargo lib tests off",
        &[("Cargo.toml", "[lib]\nname = 'a'\n", "[lib]\nname = 'a'\ntest = false\n")],
        &["Cargo.toml: the checks of `cargo` changed: lib.test"],
    ),
    (
        "makefile",
        &[(
            "Makefile",
            "build:\n\tcc a.c\ntest: build\n\t./run\n",
            "build:\n\tcc a.c\ntest: build\n\t./run || true\n",
        )],
        &["Makefile: the definition of `test` changed"],
    ),
    (
        "justfile",
        &[("justfile", "test *args:\n    cargo test {{args}}\n", "test *args:\n    true\n")],
        &["justfile: the definition of `test` changed"],
    ),
    (
        "ctest",
        &[(
            "CMakeLists.txt",
            "add_executable(a a.c)\nadd_test(NAME a COMMAND a)\n",
            "add_executable(a a.c)\n",
        )],
        &["CMakeLists.txt: selection of tests changed"],
    ),
    (
        "maven skip",
        &[(
            "pom.xml",
            "<project>\n</project>\n",
            "<project>\n<skipTests>true</skipTests>\n</project>\n",
        )],
        &["pom.xml: setup of the tests changed"],
    ),
    (
        "gradle ignore",
        &[(
            "build.gradle",
            "test {\n  useJUnitPlatform()\n}\n",
            "test {\n  useJUnitPlatform()\n  ignoreFailures = true\n}\n",
        )],
        &["build.gradle: setup of the tests changed"],
    ),
    (
        "dotnet warnings",
        &[(
            "A.csproj",
            "<TreatWarningsAsErrors>true</TreatWarningsAsErrors>\n",
            "<TreatWarningsAsErrors>false</TreatWarningsAsErrors>\n",
        )],
        &["A.csproj: the checks of the project changed"],
    ),
    (
        "golangci",
        &[(".golangci.yml", "a: 1\n", "a: 2\n")],
        &[".golangci.yml: the configuration of the tests or linters changed"],
    ),
    (
        "nextest",
        &[(
            ".config/nextest.toml",
            "[profile.default]\nretries = 0\n",
            "[profile.default]\nretries = 9\n",
        )],
        &[".config/nextest.toml: the configuration of the checks changed: profile.default.retries"],
    ),
];

pub(super) const HARMLESS: &[TamperCase] = &[
    (
        "another job",
        &[(
            ".github/workflows/ci.yml",
            "jobs:\n  test:\n    run: make test\n",
            "jobs:\n  lint:\n    run: make lint\n  test:\n    run: make test\n",
        )],
        &[],
    ),
    (
        "dependency of npm",
        &[(
            "package.json",
            r#"{"scripts":{"test":"jest"},"dependencies":{}}"#,
            r#"{"scripts":{"test":"jest","build":"tsc"},"dependencies":{"a":"1"}}"#,
        )],
        &[],
    ),
    (
        "first npm test",
        &[(
            "package.json",
            r#"{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}"#,
            r#"{"scripts":{"test":"node --test"}}"#,
        )],
        &[],
    ),
    (
        "new npm script",
        &[("package.json", r#"{"scripts":{}}"#, r#"{"scripts":{"test":"jest"}}"#)],
        &[],
    ),
    (
        "npm reformatted",
        &[(
            "package.json",
            r#"{"scripts":{"test":"jest"}}"#,
            "{\n  \"scripts\": { \"test\": \"jest\" }\n}\n",
        )],
        &[],
    ),
    (
        "threshold raised",
        &[(
            "package.json",
            r#"{"jest":{"coverageThreshold":{"global":{"lines":80}}}}"#,
            r#"{"jest":{"coverageThreshold":{"global":{"lines":90}}}}"#,
        )],
        &[],
    ),
    (
        "dependency of cargo",
        &[(
            "Cargo.toml",
            "[dependencies]\na = '1'\n[lints]\nworkspace = true\n",
            "[dependencies]\na = '1'\nb = '2'\n[lints]\nworkspace = true\n",
        )],
        &[],
    ),
    (
        "new cargo test",
        &[("Cargo.toml", "[[test]]\nname = 'a'\n", "[[test]]\nname = 'a'\n[[test]]\nname = 'b'\n")],
        &[],
    ),
    (
        "stricter cargo lints",
        &[("Cargo.toml", "[lints.rust]\n", "[lints.rust]\nunsafe_code = 'deny'\n")],
        &[],
    ),
    ("new target", &[("Makefile", "test:\n\t./run\n", "test:\n\t./run\nclean:\n\trm -f a\n")], &[]),
    (
        "other target",
        &[(
            "Makefile",
            "build:\n\tcc a.c\ntest:\n\t./run\n",
            "build:\n\tcc -O2 a.c\n# tests\ntest:\n\t./run\n",
        )],
        &[],
    ),
    (
        "variable like a target",
        &[("Makefile", "test := a\nall:\n\tx\n", "test := b\nall:\n\tx\n")],
        &[],
    ),
    (
        "python dependency",
        &[(
            "pyproject.toml",
            "[project]\ndependencies = []\n",
            "[project]\ndependencies = ['a']\n",
        )],
        &[],
    ),
    (
        "pytest configured",
        &[(
            "pyproject.toml",
            "[project]\n",
            "[project]\n[tool.pytest.ini_options]\ntestpaths = ['tests']\n",
        )],
        &[],
    ),
    (
        "new fixture",
        &[(
            "tests/conftest.py",
            "import pytest\n",
            "import pytest\n\n@pytest.fixture\ndef a():\n    return 1\n",
        )],
        &[],
    ),
    (
        "comment in ci",
        &[(".github/workflows/ci.yml", "on: push\n", "# every push\non: push\n\n")],
        &[],
    ),
    ("first ci", &[(".github/workflows/ci.yml", "-", "on: push\n")], &[]),
    (
        "first vitest",
        &[("vitest.config.ts", "-", "export default { test: { globals: true } }\n")],
        &[],
    ),
    (
        "maven dependency",
        &[(
            "pom.xml",
            "<project>\n</project>\n",
            "<project>\n<dependency>a</dependency>\n</project>\n",
        )],
        &[],
    ),
    (
        "gradle dependency",
        &[("build.gradle", "dependencies {\n}\n", "dependencies {\n  implementation 'a:b:1'\n}\n")],
        &[],
    ),
    (
        "dotnet package",
        &[(
            "A.csproj",
            "<ItemGroup>\n</ItemGroup>\n",
            "<ItemGroup>\n<PackageReference Include=\"A\" />\n</ItemGroup>\n",
        )],
        &[],
    ),
    (
        "cmake source",
        &[(
            "CMakeLists.txt",
            "add_test(NAME a COMMAND a)\n",
            "add_library(b b.c)\nadd_test(NAME a COMMAND a)\n",
        )],
        &[],
    ),
    (
        "coverage threshold set",
        &[("setup.cfg", "[metadata]\nversion = 1\n", "[metadata]\nversion = 2\n")],
        &[],
    ),
    ("broken json", &[("package.json", "{", "{{")], &[]),
];

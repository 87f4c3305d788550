//! Text before, text after, and findings: every row is a change that an agent might make.

mod checks;
mod configured;
mod emptied;
mod everyday;
mod found;
mod harmless;
mod samples;
mod weakened;

use proptest::prelude::*;

use super::*;

/// Inspects changes to files that no check names.
fn inspect(changes: &[FileDiff]) -> Vec<TamperFinding> {
    super::inspect(changes, &[])
}

/// A path with its text before and after; `-` stands for no file, `?` for an unknown one.
type Edit = (&'static str, &'static str, &'static str);

/// The description, the edits, and the findings as `path: what`.
type TamperCase = (&'static str, &'static [Edit], &'static [&'static str]);

fn side(text: &str) -> FileSide {
    match text {
        "-" => FileSide::Absent,
        "?" => FileSide::Opaque,
        text => FileSide::Text(text.to_owned()),
    }
}

fn inspected(edits: &[Edit]) -> Vec<String> {
    let changes: Vec<FileDiff> = edits
        .iter()
        .map(|(path, before, after)| FileDiff {
            path: (*path).to_owned(),
            before: side(before),
            after: side(after),
        })
        .collect();
    inspect(&changes).into_iter().map(|found| format!("{}: {}", found.path, found.what)).collect()
}

/// Checks all rows, and reports every mismatch.
fn check(rows: &[TamperCase]) {
    let mut wrong = Vec::new();
    for (what, edits, expected) in rows {
        let found = inspected(edits);
        if found != *expected {
            wrong.push(format!("{what}:\n  expected {expected:#?}\n  found {found:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{} rows are wrong\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_table_is_as_long_as_it_claims_to_be() {
    let harmless: usize = HARMLESS.iter().map(|rows| rows.len()).sum();
    let weakened: usize = WEAKENED.iter().map(|rows| rows.len()).sum();
    assert!(harmless >= 130, "{harmless}");
    assert!(harmless + weakened >= 250, "{harmless} + {weakened}");
}

/// All tables of harmless changes.
const HARMLESS: [&[TamperCase]; 4] =
    [harmless::ROWS, everyday::ROWS, checks::HARMLESS, configured::HARMLESS];
const WEAKENED: [&[TamperCase]; 5] =
    [weakened::ROWS, emptied::ROWS, found::ROWS, checks::CHANGED, configured::CHANGED];

#[test]
fn opaque_files_are_found_only_if_a_check_runs_them() {
    let change = |path: &str| FileDiff {
        path: path.to_owned(),
        before: FileSide::Opaque,
        after: FileSide::Opaque,
    };
    let paths = ["bin/check", "tests/big.rs", "assets/a.png", ".git/config", "Cargo.toml"];
    let changes = paths.map(change);
    assert_eq!(inspect(&changes), []);
    let found = super::inspect(&changes, &["./bin/check --all".to_owned()]);
    let what = "changed, although a check runs it".to_owned();
    assert_eq!(found, [TamperFinding { path: "bin/check".to_owned(), what }]);
}

#[test]
fn the_work_that_a_check_runs_is_there_to_be_changed() {
    let change = |path: &str| FileDiff {
        path: path.to_owned(),
        before: FileSide::Text("a\n".to_owned()),
        after: FileSide::Text("b\n".to_owned()),
    };
    let commands = ["python3 main.py --self-test", "cd sub && sh ./check.sh"].map(str::to_owned);
    let found = super::inspect(&[change("main.py"), change("sub/check.sh")], &commands);
    let paths: Vec<_> = found.iter().map(|finding| finding.path.as_str()).collect();
    assert_eq!(paths, ["sub/check.sh"]);
}

#[test]
fn there_are_never_more_than_a_hundred_findings() {
    let changes: Vec<FileDiff> = (0..500)
        .map(|index| FileDiff {
            path: format!("tests/test_{index}.py"),
            before: FileSide::Text(format!(
                "def test_{index}():\n    assert f({index}) == {index}\n"
            )),
            after: FileSide::Absent,
        })
        .collect();
    assert_eq!(inspect(&changes).len(), 100);
}

/// Inputs for which a backtracking pattern or loop would take minutes.
#[test]
fn text_that_is_made_to_be_slow_is_not() {
    let nested = "it('a', () => {".repeat(60_000);
    let flat = "it('a',()=>{expect(a).toBe(b)});".repeat(30_000);
    let skips = "skip: x ".repeat(60_000) + &"\n  y".repeat(120_000);
    let texts = [
        ("a.test.js", nested),
        ("a.test.js", flat),
        ("a.test.js", "xdescribe('a', () => {".repeat(40_000)),
        ("a.test.js", "expect(".repeat(140_000)),
        ("a.rs", "#[test]\nfn a() {".repeat(60_000)),
        ("a.rs", "#[test(".repeat(140_000)),
        ("a.rs", "/*".repeat(500_000)),
        ("a_spec.rb", skips),
        ("test_a.py", "@pytest.mark.skip\n".repeat(50_000)),
        ("test_a.py", "def test_a(): assert a or a\n".repeat(35_000)),
        ("ATests.cs", "[Fact] [Fact] [Fact] ".repeat(50_000)),
        ("package.json", "[".repeat(500_000)),
        ("a.test.js", "it.each([".repeat(100_000)),
        ("a.test.js", "it.each([1])('".repeat(60_000)),
        ("a.test.js", "(/[".repeat(300_000)),
        ("a.test.js", "it.each`".repeat(100_000)),
        ("ATest.php", "it('a')->with(".repeat(60_000)),
        ("a_test.go", "[]struct{".repeat(100_000)),
        ("a.rs", "#[cfg(test)] mod tests { ".repeat(40_000)),
        ("vite.config.ts", "test: {".repeat(140_000)),
        ("vitest.config.ts", "include: ['*".repeat(80_000)),
        ("Makefile", "test: a\n".repeat(120_000)),
    ];
    for (path, text) in texts {
        let change = |before, after| FileDiff { path: path.to_owned(), before, after };
        inspect(&[change(FileSide::Text(text.clone()), FileSide::Text("x".to_owned()))]);
        inspect(&[change(FileSide::Text("x".to_owned()), FileSide::Text(text))]);
    }
}

/// Fragments of adversarial files.
const PIECES: &[&str] = &[
    "#[test]",
    "fn a()",
    "{",
    "}",
    "(",
    ")",
    "\"",
    "'",
    "`",
    "/*",
    "*/",
    "//",
    "#",
    "\n",
    "  ",
    "it('a'",
    "it.skip(",
    "it.each([1, 2])('a', ",
    "it.each`\n1\n`('a', ",
    "/[`]/",
    "test: {",
    "mod tests;",
    "describe.only(",
    "def test_a():",
    "@pytest.mark.skip",
    "assert a == a",
    "assert!(true)",
    "expect(a).toBe(a)",
    "ö",
    "\u{2028}",
    "\\",
    "r#\"",
    "\"\"\"",
    "@Test void a()",
    "[Fact] public void A()",
    "return;",
    "class A:",
    "=>",
    "func TestA(t *testing.T)",
    "t.Skip()",
    "[tool.pytest]\n",
    "test:\n\t",
    "{\"scripts\":{\"test\":\"",
    "|| true",
    "\0",
    "\r\n",
];

const PATHS: &[&str] = &[
    "src/a.rs",
    "tests/a.rs",
    "a_test.go",
    "ATests.cs",
    "ATest.java",
    "ATest.kt",
    "test_a.py",
    "a.test.ts",
    "test/a.cpp",
    "a.bats",
    "a_spec.rb",
    "ATest.php",
    "a_test.exs",
    "ATests.swift",
    "package.json",
    "Cargo.toml",
    "Makefile",
    "setup.cfg",
    "conftest.py",
    "pom.xml",
    "vite.config.ts",
    "vitest.config.ts",
    "tsconfig.json",
    "eslint.config.js",
    "tests/it/main.rs",
];

proptest! {
    #[test]
    fn nothing_panics_on_any_text(
        path in prop::sample::select(PATHS),
        before in prop::collection::vec(prop::sample::select(PIECES), 0..60),
        after in prop::collection::vec(prop::sample::select(PIECES), 0..60),
        noise in any::<String>(),
    ) {
        let before = before.concat();
        let after = after.concat() + &noise;
        let change = |before: &str, after: &str| FileDiff {
            path: path.to_owned(),
            before: FileSide::Text(before.to_owned()),
            after: FileSide::Text(after.to_owned()),
        };
        inspect(&[change(&before, &after)]);
        inspect(&[change(&noise, &before), change(&after, "")]);
        prop_assert!(inspect(&[change(&after, &after)]).is_empty());
    }
}

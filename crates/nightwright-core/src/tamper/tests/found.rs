//! Changes that are easily overlooked: table tests, tests that are no longer included, marks in
//! strings.

use super::{TamperCase, check};

#[test]
fn inconspicuous_changes_are_found() {
    check(ROWS);
}

const EACH: &str =
    "it.each([[1, 2], [f(3), 4]])('adds %i', (a, b) => {\n  expect(add(a)).toBe(b);\n});\n";
const TABLE: &str = "test.each`\n  a | b\n  ${1} | ${2}\n  ${3} | ${4}\n`('adds $a', ({ a, b }) => {\n  expect(add(a)).toBe(b);\n});\n";

pub(super) const ROWS: &[TamperCase] = &[
    // Table tests.
    (
        "file of each deleted",
        &[("a.test.ts", EACH, "-")],
        &["a.test.ts: test file deleted, with 1 test: adds %i"],
    ),
    (
        "file of a table deleted",
        &[("a.test.ts", TABLE, "-")],
        &["a.test.ts: test file deleted, with 1 test: adds $a"],
    ),
    (
        "each with a type deleted",
        &[(
            "a.test.ts",
            "it.each<[number, number]>([[1, 2]])('a', (x) => { expect(f(x)).toBe(1); });\n",
            "import 'a';\n",
        )],
        &["a.test.ts: 1 test deleted: a"],
    ),
    (
        "each skipped",
        &[(
            "a.test.ts",
            EACH,
            "it.skip.each([[1, 2], [f(3), 4]])('adds %i', (a, b) => {\n  expect(add(a)).toBe(b);\n});\n",
        )],
        &["a.test.ts: 1 test disabled: adds %i"],
    ),
    (
        "table skipped",
        &[(
            "a.test.ts",
            TABLE,
            "test.skip.each`\n  a | b\n  ${1} | ${2}\n  ${3} | ${4}\n`('adds $a', ({ a, b }) => {\n  expect(add(a)).toBe(b);\n});\n",
        )],
        &["a.test.ts: 1 test disabled: adds $a"],
    ),
    (
        "suite of rows skipped",
        &[(
            "a.test.ts",
            "describe.each([1, 2])('s', () => {\n  it('a', () => { expect(f()).toBe(1); });\n});\n",
            "describe.skip.each([1, 2])('s', () => {\n  it('a', () => { expect(f()).toBe(1); });\n});\n",
        )],
        &["a.test.ts: 1 test disabled: a"],
    ),
    (
        "more tests gone than rows came",
        &[(
            "src/a.rs",
            "#[test]\nfn a() { assert_eq!(f(1), 1); }\n#[test]\nfn b() { assert_eq!(g(\"x\"), None); }\n#[test]\nfn c() { assert!(h().is_ok()); }\n",
            "#[rstest]\n#[case(1)]\nfn z(#[case] x: u8) { for y in all(x) { assert!(y.is_fine(x)); } }\n",
        )],
        &["src/a.rs: 2 tests deleted: b, c"],
    ),
    (
        "rows that check nothing",
        &[(
            "test_a.py",
            "def test_a():\n    assert f(1) == 2\n\ndef test_b():\n    assert g('x').y is None\n",
            "@pytest.mark.parametrize('a', [1, 2, 3])\ndef test_c(a):\n    print(a)\n",
        )],
        &["test_a.py: 2 tests deleted: test_a, test_b"],
    ),
    // Assertions outside of tests.
    (
        "file of assertions deleted",
        &[(
            "tests/a.js",
            "for (const x of all) {\n  assert.ok(f(x));\n  assert.ok(g(x));\n}\n",
            "-",
        )],
        &["tests/a.js: test file deleted, with 2 assertions"],
    ),
    (
        "file of assertions emptied",
        &[("tests/a.py", "assert f(1) == 2\n", "\n")],
        &["tests/a.py: test file emptied; it had 1 assertion"],
    ),
    (
        "code does not pay for tests",
        &[
            (
                "src/a.rs",
                "#[test]\nfn a() {\n    assert_eq!(f(1), 2);\n    assert_eq!(f(2), 3);\n}\n",
                "#[test]\nfn a() {\n    assert_eq!(f(1), 2);\n}\n",
            ),
            ("src/b.rs", "fn b() {}\n", "fn b() {\n    assert!(x);\n    panic!(\"no\");\n}\n"),
        ],
        &["src/a.rs: 1 assertion removed from a"],
    ),
    (
        "helper in a module of tests checks less",
        &[(
            "src/a.rs",
            "fn f() {}\n#[cfg(test)]\nmod tests {\n    fn check(x: X) {\n        assert!(x.ok);\n        assert!(x.done);\n    }\n}\n",
            "fn f() {}\n#[cfg(test)]\nmod tests {\n    fn check(x: X) {\n        assert!(x.ok);\n    }\n}\n",
        )],
        &["src/a.rs: 1 assertion removed"],
    ),
    // Files that are no longer included.
    (
        "module of tests left out",
        &[("tests/it/main.rs", "mod a;\nmod b;\n", "mod a;\n")],
        &["tests/it/main.rs: no longer includes the tests in `b`"],
    ),
    (
        "module of tests commented out",
        &[("tests/it/main.rs", "mod a;\nmod b;\n", "mod a;\n// mod b;\n")],
        &["tests/it/main.rs: no longer includes the tests in `b`"],
    ),
    (
        "root of tests deleted",
        &[("tests/it/main.rs", "mod a;\n", "-")],
        &["tests/it/main.rs: no longer includes the tests in `a`"],
    ),
    (
        "tests of a library left out",
        &[("src/lib.rs", "mod a;\n#[cfg(test)]\nmod tests;\n", "mod a;\n")],
        &["src/lib.rs: no longer includes the tests in `tests`"],
    ),
    // Marks in comments and strings.
    (
        "go build ignore",
        &[(
            "a_test.go",
            "package a\n\nfunc TestA(t *testing.T) {\n\trequire.True(t, f())\n}\n",
            "//go:build ignore\n\npackage a\n\nfunc TestA(t *testing.T) {\n\trequire.True(t, f())\n}\n",
        )],
        &["a_test.go: 1 test disabled: TestA"],
    ),
    (
        "catch hidden",
        &[(
            "test/a.cpp",
            "TEST_CASE(\"adds\", \"[sum]\") {\n  REQUIRE(f() == 1);\n}\n",
            "TEST_CASE(\"adds\", \"[.][sum]\") {\n  REQUIRE(f() == 1);\n}\n",
        )],
        &["test/a.cpp: 1 test disabled: adds"],
    ),
    (
        "phpunit group",
        &[(
            "tests/ATest.php",
            "class ATest {\n  #[Test]\n  public function a() { $this->assertSame(1, f()); }\n}\n",
            "class ATest {\n  #[Group('skip')]\n  #[Test]\n  public function a() { $this->assertSame(1, f()); }\n}\n",
        )],
        &["tests/ATest.php: 1 test disabled: a"],
    ),
    (
        "java warnings",
        &[(
            "src/main/java/A.java",
            "public class A {}\n",
            "@SuppressWarnings(\"all\")\npublic class A {}\n",
        )],
        &[
            "src/main/java/A.java: a linter disabled for the whole file: @SuppressWarnings(\"all\") \
           public class",
        ],
    ),
    // Marks where they count.
    (
        "pest skip",
        &[(
            "tests/ATest.php",
            "it('adds', function () {\n  expect(f())->toBe(1);\n});\nit('b', function () {\n  expect(g())->toBe(1);\n});\n",
            "it('adds', function () {\n  expect(f())->toBe(1);\n})->skip('later');\nit('b', function () {\n  expect(g())->toBe(1);\n});\n",
        )],
        &["tests/ATest.php: 1 test disabled: adds"],
    ),
    (
        "pest only",
        &[(
            "tests/ATest.php",
            "it('adds', fn () => expect(f())->toBe(1));\nit('b', fn () => expect(g())->toBe(1));\n",
            "it('adds', fn () => expect(f())->toBe(1))->only();\nit('b', fn () => expect(g())->toBe(1));\n",
        )],
        &["tests/ATest.php: only some of its tests run now: adds"],
    ),
    (
        "node only option",
        &[(
            "test/a.js",
            "test('a', () => { assert.equal(f(), 1); });\n",
            "test('a', { only: true }, () => { assert.equal(f(), 1); });\n",
        )],
        &["test/a.js: only some of its tests run now: a"],
    ),
    (
        "node suite skip option",
        &[(
            "test/a.js",
            "describe('s', () => {\n  test('a', () => { assert.equal(f(), 1); });\n});\n",
            "describe('s', { skip: true }, () => {\n  test('a', () => { assert.equal(f(), 1); });\n});\n",
        )],
        &["test/a.js: 1 test disabled: a"],
    ),
    (
        "rspec metadata",
        &[(
            "spec/a_spec.rb",
            "describe A do\n  it 'works' do\n    expect(f).to eq(1)\n  end\nend\n",
            "describe A do\n  it 'works', :skip do\n    expect(f).to eq(1)\n  end\nend\n",
        )],
        &["spec/a_spec.rb: 1 test disabled: works"],
    ),
    (
        "suite of testify skips",
        &[(
            "a_test.go",
            "func (s *Suite) TestA() {\n\ts.Equal(1, f())\n}\n",
            "func (s *Suite) TestA() {\n\ts.T().Skip()\n\ts.Equal(1, f())\n}\n",
        )],
        &["a_test.go: 1 test disabled: TestA"],
    ),
    // After a literal that looks like the beginning of a string.
    (
        "test behind a pattern deleted",
        &[(
            "a.test.js",
            "const fence = /^[`~]{3}/;\nit('a', () => { expect(f(fence)).toBe(1); });\n",
            "const fence = /^[`~]{3}/;\n",
        )],
        &["a.test.js: 1 test deleted: a"],
    ),
    (
        "test behind a raw string deleted",
        &[(
            "src/a.rs",
            "const A: &str = r\"\\\";\n#[test]\nfn a() { assert!(f(\"x\")); }\n",
            "const A: &str = r\"\\\";\n",
        )],
        &["src/a.rs: 1 test deleted: a"],
    ),
];

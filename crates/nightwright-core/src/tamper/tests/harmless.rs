//! Changes that do not weaken the tests.

use super::{TamperCase, check};

#[test]
fn harmless_changes_are_not_found() {
    check(ROWS);
}

pub(super) const ROWS: &[TamperCase] = &[
    // Additions.
    (
        "new rust test",
        &[("src/a.rs", "fn a() {}\n", "fn a() {}\n#[test]\nfn b() { assert!(a()); }\n")],
        &[],
    ),
    ("new test file", &[("tests/test_a.py", "-", "def test_a():\n    assert f()\n")], &[]),
    (
        "new skipped test",
        &[(
            "a.test.js",
            "it('a', () => { expect(f()).toBe(1); });\n",
            "it('a', () => { expect(f()).toBe(1); });\nit.skip('b', () => { expect(g()).toBe(1); });\n",
        )],
        &[],
    ),
    (
        "new skipped suite",
        &[(
            "a.test.js",
            "it('a', () => { expect(f()).toBe(1); });\n",
            "it('a', () => { expect(f()).toBe(1); });\ndescribe.skip('s', () => {\n  it('b', () => { expect(g()).toBe(1); });\n});\n",
        )],
        &[],
    ),
    (
        "new ignored rust test",
        &[(
            "src/a.rs",
            "#[test]\nfn a() { assert!(x); }\n",
            "#[test]\nfn a() { assert!(x); }\n#[test]\n#[ignore]\nfn b() { assert!(y); }\n",
        )],
        &[],
    ),
    (
        "new file with only",
        &[("a.test.js", "-", "it.only('a', () => { expect(f()).toBe(1); });\n")],
        &[],
    ),
    (
        "more assertions",
        &[(
            "test_a.py",
            "def test_a():\n    assert f()\n",
            "def test_a():\n    assert f()\n    assert g()\n",
        )],
        &[],
    ),
    (
        "more go cases",
        &[(
            "a_test.go",
            "func TestA(t *testing.T) {\n\tt.Run(\"x\", func(t *testing.T) { require.True(t, f()) })\n}\n",
            "func TestA(t *testing.T) {\n\tt.Run(\"x\", func(t *testing.T) { require.True(t, f()) })\n\tt.Run(\"y\", func(t *testing.T) { require.True(t, g()) })\n}\n",
        )],
        &[],
    ),
    (
        "test switched on",
        &[(
            "a.test.js",
            "it.skip('a', () => { expect(f()).toBe(1); });\n",
            "it('a', () => { expect(f()).toBe(1); });\n",
        )],
        &[],
    ),
    (
        "only taken away",
        &[(
            "a.test.js",
            "it.only('a', () => { expect(f()).toBe(1); });\n",
            "it('a', () => { expect(f()).toBe(1); });\n",
        )],
        &[],
    ),
    (
        "trivial made real",
        &[(
            "src/a.rs",
            "#[test]\nfn a() { assert!(true); }\n",
            "#[test]\nfn a() { assert!(f()); }\n",
        )],
        &[],
    ),
    (
        "expected value changed",
        &[(
            "src/a.rs",
            "#[test]\nfn a() { assert_eq!(f(), 1); }\n",
            "#[test]\nfn a() { assert_eq!(f(), 2); }\n",
        )],
        &[],
    ),
    // Moves and renames.
    (
        "rust file moved",
        &[
            ("tests/a.rs", "#[test]\nfn a() { assert!(x); }\n", "-"),
            ("tests/b/a.rs", "-", "#[test]\nfn a() { assert!(x); }\n"),
        ],
        &[],
    ),
    (
        "js file renamed to ts",
        &[
            ("a.test.js", "it('a', () => { expect(f()).toBe(1); });\n", "-"),
            ("a.test.ts", "-", "it('a', () => { expect(f()).toBe(1); });\n"),
        ],
        &[],
    ),
    ("unknown file moved", &[("tests/a.rs", "?", "-"), ("tests/it/a.rs", "-", "?")], &[]),
    (
        "inline tests to a file",
        &[
            (
                "src/a.rs",
                "fn f() {}\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn a() { assert!(x); }\n}\n",
                "fn f() {}\n#[cfg(test)]\nmod tests;\n",
            ),
            ("src/a/tests.rs", "-", "#[test]\nfn a() { assert!(x); }\n"),
        ],
        &[],
    ),
    (
        "test moved between files",
        &[
            (
                "tests/test_a.py",
                "def test_a():\n    assert a()\n\ndef test_b():\n    assert b()\n",
                "def test_a():\n    assert a()\n",
            ),
            (
                "tests/test_b.py",
                "def test_c():\n    assert c()\n",
                "def test_c():\n    assert c()\n\ndef test_b():\n    assert b()\n",
            ),
        ],
        &[],
    ),
    (
        "rust test renamed",
        &[(
            "src/a.rs",
            "#[test]\nfn a() { assert_eq!(f(1), 2); }\n",
            "#[test]\nfn one_is_two() { assert_eq!(f(1), 2); }\n",
        )],
        &[],
    ),
    (
        "js test renamed",
        &[(
            "a.test.js",
            "it('a', () => { expect(f(1)).toBe(2); });\n",
            "it('one is two', () => { expect(f(1)).toBe(2); });\n",
        )],
        &[],
    ),
    (
        "renamed with what it tests",
        &[(
            "a_test.go",
            "func TestAdd(t *testing.T) {\n\tgot := Add(1, 2)\n\trequire.Equal(t, 3, got)\n}\n",
            "func TestSum(t *testing.T) {\n\tgot := Sum(1, 2)\n\trequire.Equal(t, 3, got)\n}\n",
        )],
        &[],
    ),
    (
        "moved and renamed",
        &[
            ("a_test.go", "func TestA(t *testing.T) {\n\trequire.Equal(t, 3, Add(1, 2))\n}\n", "-"),
            ("b_test.go", "-", "func TestB(t *testing.T) {\n\trequire.Equal(t, 3, Add(1, 2))\n}\n"),
        ],
        &[],
    ),
    (
        "tests reordered",
        &[(
            "test_a.py",
            "def test_a():\n    assert a()\n\ndef test_b():\n    assert b()\n",
            "def test_b():\n    assert b()\n\ndef test_a():\n    assert a()\n",
        )],
        &[],
    ),
    (
        "test split in two",
        &[(
            "src/a.rs",
            "#[test]\nfn both() {\n    assert_eq!(f(1), 2);\n    assert_eq!(g(3), 4);\n}\n",
            "#[test]\nfn first() {\n    assert_eq!(f(1), 2);\n}\n#[test]\nfn second() {\n    assert_eq!(g(3), 4);\n}\n",
        )],
        &[],
    ),
    (
        "assertion moved to another test",
        &[(
            "test_a.py",
            "def test_a():\n    assert a()\n    assert b()\n\ndef test_b():\n    assert c()\n",
            "def test_a():\n    assert a()\n\ndef test_b():\n    assert c()\n    assert b()\n",
        )],
        &[],
    ),
    (
        "assertions moved to a helper",
        &[(
            "test_a.py",
            "def test_a():\n    assert f().ok\n    assert f().done\n",
            "def check(x):\n    assert x.ok\n    assert x.done\n\ndef test_a():\n    check(f())\n",
        )],
        &[],
    ),
    (
        "class renamed",
        &[
            ("ATest.java", "class ATest {\n  @Test void a() { assertTrue(f()); }\n}\n", "-"),
            ("BTest.java", "-", "class BTest {\n  @Test void a() { assertTrue(f()); }\n}\n"),
        ],
        &[],
    ),
    // Formatting.
    (
        "rust reformatted",
        &[(
            "src/a.rs",
            "#[test]\nfn a() { assert_eq!(f(1), 2); assert!(g()); }\n",
            "#[test]\nfn a() {\n    assert_eq!(\n        f(1),\n        2\n    );\n    assert!(g());\n}\n",
        )],
        &[],
    ),
    (
        "js quotes changed",
        &[(
            "a.test.js",
            "it('a', () => { expect(f('x')).toBe(1) })\n",
            "it(\"a\", () => {\n  expect(f(\"x\")).toBe(1);\n});\n",
        )],
        &[],
    ),
    (
        "indented anew",
        &[(
            "test_a.py",
            "def test_a():\n  assert a()\n  assert b()\n",
            "def test_a():\n    assert a()\n    assert b()\n",
        )],
        &[],
    ),
    (
        "line ends",
        &[(
            "a_test.go",
            "func TestA(t *testing.T) {\n\tt.Error()\n}\n",
            "func TestA(t *testing.T) {\r\n\tt.Error()\r\n}\r\n",
        )],
        &[],
    ),
    (
        "comments about skipping",
        &[(
            "src/a.rs",
            "#[test]\nfn a() { assert!(x); }\n",
            "// #[ignore] would be wrong here; assert!(true) too\n#[test]\nfn a() { assert!(x); }\n",
        )],
        &[],
    ),
    (
        "strings about skipping",
        &[(
            "a.test.js",
            "it('a', () => { expect(f()).toBe(1); });\n",
            "it('a', () => { const s = \"it.skip('a') xit( .only( return;\"; expect(f()).toBe(1); });\n",
        )],
        &[],
    ),
    (
        "commented assertion deleted",
        &[(
            "src/a.rs",
            "#[test]\nfn a() {\n    // assert!(y);\n    assert!(x);\n}\n",
            "#[test]\nfn a() {\n    assert!(x);\n}\n",
        )],
        &[],
    ),
    (
        "a return deeper",
        &[(
            "a.test.js",
            "it('a', () => { expect(f()).toBe(1); });\n",
            "it('a', () => { const g = () => { return; }; expect(f(g)).toBe(1); });\n",
        )],
        &[],
    ),
    (
        "a promise returned",
        &[(
            "a.test.js",
            "it('a', async () => { await expect(f()).resolves.toBe(1); });\n",
            "it('a', () => { return expect(f()).resolves.toBe(1); });\n",
        )],
        &[],
    ),
    (
        "cleanup skipped in production",
        &[(
            "src/a.py",
            "def f():\n    g()\n",
            "def f():\n    if x:\n        return\n    assert True\n",
        )],
        &[],
    ),
    // Production code.
    ("rust code deleted", &[("src/a.rs", "fn a() { assert!(x); }\n", "-")], &[]),
    (
        "rust assert in code removed",
        &[("src/a.rs", "fn a() { assert!(x); b(); }\n", "fn a() { b(); }\n")],
        &[],
    ),
    (
        "js code deleted",
        &[("src/test-tools/a.js", "it('x', 1)\n", "-"), ("src/a.ts", "a.test('b');\n", "-")],
        &[],
    ),
    ("go code deleted", &[("a.go", "func TestLike() {}\n", "-")], &[]),
    (
        "java code rewritten",
        &[("src/main/java/A.java", "class A { void a() { assert x; } }\n", "class A {}\n")],
        &[],
    ),
    (
        "c# code rewritten",
        &[("src/A.cs", "class A { void B() { Debug.Assert(x); } }\n", "class A {}\n")],
        &[],
    ),
    ("helper of tests deleted", &[("tests/common/mod.rs", "pub fn tree() {}\n", "-")], &[]),
    ("fixture deleted", &[("tests/fixtures/a.json", "{}", "-")], &[]),
    ("unknown code deleted", &[("assets/a.png", "?", "-"), ("src/big.py", "?", "-")], &[]),
    (
        "one lint allowed",
        &[("src/a.rs", "fn a() {}\n", "#![allow(clippy::too_many_lines)]\nfn a() {}\n")],
        &[],
    ),
    (
        "one line not linted",
        &[
            ("src/a.js", "a();\n", "// eslint-disable-next-line no-console\na();\n"),
            ("b.py", "x = 1\n", "x = 1  # noqa\ny = z()  # type: ignore\n"),
        ],
        &[],
    ),
    (
        "lint switch was there",
        &[("src/a.js", "/* eslint-disable */\na();\n", "/* eslint-disable */\nb();\n")],
        &[],
    ),
    (
        "a regular expression tested",
        &[(
            "test/a.js",
            "test('a', () => { assert.ok(/x/.test('abc')); });\n",
            "test('a', () => { assert.ok(/xy/.test('abcd')); });\n",
        )],
        &[],
    ),
    (
        "c++ moved into a namespace",
        &[(
            "test/a.cc",
            "TEST(A, B) { EXPECT_EQ(f(), 1); }\n",
            "namespace a {\nTEST(A, B) {\n  EXPECT_EQ(f(), 1);\n}\n}\n",
        )],
        &[],
    ),
    (
        "bats grows",
        &[(
            "a.bats",
            "@test \"a\" {\n  run f\n  [ \"$status\" -eq 0 ]\n}\n",
            "@test \"a\" {\n  run f\n  [ \"$status\" -eq 0 ]\n  [ \"$output\" = x ]\n}\n",
        )],
        &[],
    ),
    (
        "skip was there",
        &[(
            "test_a.py",
            "@pytest.mark.skipif(win, reason='x')\ndef test_a():\n    assert a()\n",
            "@pytest.mark.skipif(windows, reason='y')\ndef test_a():\n    assert a()\n",
        )],
        &[],
    ),
    (
        "approximately no more",
        &[(
            "test_a.py",
            "def test_a():\n    assert f() == pytest.approx(1)\n",
            "def test_a():\n    assert f() == 1\n",
        )],
        &[],
    ),
    (
        "words of skipping in a body",
        &[(
            "a.test.js",
            "it('a', () => { expect(f()).toBe(1); });\n",
            "it('a', () => { const o = { skip: true, ignore: true, only: true }; expect(f(o)).toBe(1); });\n",
        )],
        &[],
    ),
    (
        "methods of a server",
        &[(
            "a_test.go",
            "func TestA(t *testing.T) {\n\ts.Start()\n\ts.Stop()\n\trequire.True(t, s.Up())\n}\n",
            "func TestA(t *testing.T) {\n\tit := all.Skip(3)\n\trequire.True(t, s.Up(it))\n}\n",
        )],
        &[],
    ),
    (
        "a feature in a body",
        &[(
            "src/a.rs",
            "#[test]\nfn a() {\n    assert!(x);\n}\n",
            "#[test]\nfn a() {\n    #[cfg(feature = \"y\")]\n    let x = y();\n    assert!(x);\n}\n",
        )],
        &[],
    ),
    (
        "a variable named expected",
        &[(
            "ATest.java",
            "@Test void a() { int expected = 1; assertEquals(expected, f()); }\n",
            "@Test void a() { assertEquals(1, f()); }\n",
        )],
        &[],
    ),
];

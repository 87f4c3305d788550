//! Tests that still exist but check less, and disabled linters.

use super::weakened::{JAVA, RS};
use super::{TamperCase, check};

#[test]
fn tests_that_check_less_are_found() {
    check(ROWS);
}

pub(super) const ROWS: &[TamperCase] = &[
    // Emptied tests.
    (
        "rust body emptied",
        &[(
            "src/a.rs",
            "#[test]\nfn a() {\n    assert!(f());\n}\n",
            "#[test]\nfn a() {\n    f();\n}\n",
        )],
        &["src/a.rs: 1 test no longer asserts anything: a"],
    ),
    (
        "js assertion commented out",
        &[(
            "a.test.js",
            "it('a', () => {\n  expect(f()).toBe(1);\n});\n",
            "it('a', () => {\n  // expect(f()).toBe(1);\n});\n",
        )],
        &["a.test.js: 1 test no longer asserts anything: a"],
    ),
    (
        "py pass",
        &[("test_a.py", "def test_a():\n    assert f()\n", "def test_a():\n    pass\n")],
        &["test_a.py: 1 test no longer asserts anything: test_a"],
    ),
    (
        "go emptied",
        &[(
            "a_test.go",
            "func TestA(t *testing.T) {\n\tif f() { t.Fatal() }\n}\n",
            "func TestA(t *testing.T) {\n\tf()\n}\n",
        )],
        &["a_test.go: 1 test no longer asserts anything: TestA"],
    ),
    (
        "c# emptied",
        &[(
            "ATests.cs",
            "[Fact]\npublic void A() => Assert.True(F());\n",
            "[Fact]\npublic void A() => F();\n",
        )],
        &["ATests.cs: 1 test no longer asserts anything: A"],
    ),
    // Fewer assertions.
    (
        "rust assertion removed",
        &[(
            "src/a.rs",
            RS,
            "fn add() {}\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {\n        assert_eq!(add(1, 2), 3);\n    }\n    #[tokio::test]\n    async fn waits() {\n        assert!(wait().await.is_ok());\n    }\n}\n",
        )],
        &["src/a.rs: 1 assertion removed from adds"],
    ),
    (
        "js assertion removed beside new tests",
        &[(
            "a.test.js",
            "it('a', () => {\n  expect(f()).toBe(1);\n  expect(g()).toBe(2);\n});\n",
            "it('a', () => {\n  expect(f()).toBe(1);\n});\nit('b', () => {\n  expect(h(1)).toBe(2);\n  expect(h(2)).toBe(3);\n});\n",
        )],
        &["a.test.js: 1 assertion removed from a"],
    ),
    (
        "java assertion removed",
        &[(
            "ATest.java",
            JAVA,
            "class SumTest {\n  @Test\n  void adds() {\n    assertEquals(3, add(1, 2));\n  }\n\n  @Test\n  public void fails() {\n    assertThrows(E.class, () -> add(null));\n  }\n}\n",
        )],
        &["ATest.java: 1 assertion removed from adds"],
    ),
    (
        "py two removed",
        &[(
            "test_a.py",
            "def test_a():\n    assert a\n    assert b\n    assert c\n",
            "def test_a():\n    assert a\n",
        )],
        &["test_a.py: 2 assertions removed from test_a"],
    ),
    (
        "helper checks less",
        &[(
            "tests/helper.py",
            "def check(x):\n    assert x.ok\n    assert x.done\n",
            "def check(x):\n    assert x.ok\n",
        )],
        &["tests/helper.py: 1 assertion removed"],
    ),
    // Assertions that always pass.
    (
        "rust assert true",
        &[(
            "src/a.rs",
            "#[test]\nfn a() {\n    assert!(f());\n}\n",
            "#[test]\nfn a() {\n    assert!(true);\n}\n",
        )],
        &["src/a.rs: 1 assertion made to pass always: assert!(true"],
    ),
    (
        "rust or true",
        &[(
            "src/a.rs",
            "#[test]\nfn a() {\n    assert!(f());\n}\n",
            "#[test]\nfn a() {\n    assert!(f() || true);\n}\n",
        )],
        &["src/a.rs: 1 assertion made to pass always: assert!(f() || true)"],
    ),
    (
        "js itself",
        &[(
            "a.test.js",
            "it('a', () => { expect(f()).toBe(1); });\n",
            "it('a', () => { expect(true).toBe(true); });\n",
        )],
        &["a.test.js: 1 assertion made to pass always: expect(true).toBe(true)"],
    ),
    (
        "py one is one",
        &[(
            "test_a.py",
            "def test_a():\n    assert f() == 1\n",
            "def test_a():\n    assert 1 == 1\n",
        )],
        &["test_a.py: 1 assertion made to pass always: assert 1 == 1"],
    ),
    (
        "py or True",
        &[(
            "test_a.py",
            "def test_a():\n    assert f()\n",
            "def test_a():\n    assert f() or True\n",
        )],
        &["test_a.py: 1 assertion made to pass always: assert f() or True"],
    ),
    (
        "go true",
        &[(
            "a_test.go",
            "func TestA(t *testing.T) {\n\tassert.Equal(t, 1, f())\n}\n",
            "func TestA(t *testing.T) {\n\tassert.True(t, true)\n}\n",
        )],
        &["a_test.go: 1 assertion made to pass always: assert.True(t, true"],
    ),
    (
        "java true",
        &[(
            "ATest.java",
            "@Test void a() { assertEquals(1, f()); }\n",
            "@Test void a() { assertTrue(true); }\n",
        )],
        &["ATest.java: 1 assertion made to pass always: assertTrue(true)"],
    ),
    (
        "c# true",
        &[(
            "ATests.cs",
            "[Fact]\npublic void A() { Assert.True(F()); }\n",
            "[Fact]\npublic void A() { Assert.True(true); }\n",
        )],
        &["ATests.cs: 1 assertion made to pass always: Assert.True(true)"],
    ),
    (
        "gtest true",
        &[(
            "test/a.cpp",
            "TEST(A, B) { EXPECT_EQ(f(), 1); }\n",
            "TEST(A, B) { EXPECT_TRUE(true); }\n",
        )],
        &["test/a.cpp: 1 assertion made to pass always: EXPECT_TRUE(true)"],
    ),
    (
        "bats or true",
        &[(
            "a.bats",
            "@test \"a\" {\n  run f\n  [ \"$status\" -eq 0 ]\n}\n",
            "@test \"a\" {\n  run f\n  [ \"$status\" -eq 0 ] || true\n}\n",
        )],
        &["a.bats: 1 assertion made to pass always: [ \"$status\" -eq 0 ] || true"],
    ),
    // Linters.
    (
        "rust lints",
        &[("src/lib.rs", "fn a() {}\n", "#![allow(warnings)]\nfn a() {}\n")],
        &["src/lib.rs: a linter disabled for the whole file: #![allow(warnings)]"],
    ),
    (
        "eslint",
        &[("src/a.js", "a();\n", "/* eslint-disable */\na();\n")],
        &["src/a.js: a linter disabled for the whole file: /* eslint-disable */"],
    ),
    (
        "typescript",
        &[("src/a.ts", "a();\n", "// @ts-nocheck\na();\n")],
        &["src/a.ts: a linter disabled for the whole file: // @ts-nocheck"],
    ),
    (
        "mypy",
        &[("a.py", "x = 1\n", "# type: ignore\nx = 1\n")],
        &["a.py: a linter disabled for the whole file: # type: ignore"],
    ),
    (
        "ruff",
        &[("a.py", "x = 1\n", "# ruff: noqa\nx = 1\n")],
        &["a.py: a linter disabled for the whole file: # ruff: noqa"],
    ),
    (
        "go lint",
        &[("a.go", "package a\n", "//nolint:all\npackage a\n")],
        &["a.go: a linter disabled for the whole file: //nolint:all package"],
    ),
];

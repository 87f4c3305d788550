//! Changes that weaken passing tests.

use super::{TamperCase, check};

#[test]
fn weakened_tests_are_found() {
    check(ROWS);
}

pub(super) const RS: &str = "fn add() {}\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {\n        assert_eq!(add(1, 2), 3);\n        assert!(add(0, 0) == 0);\n    }\n    #[tokio::test]\n    async fn waits() {\n        assert!(wait().await.is_ok());\n    }\n}\n";
const JS: &str = "describe('sum', () => {\n  it('adds', () => {\n    expect(add(1, 2)).toBe(3);\n    expect(add(0, 0)).toBe(0);\n  });\n  test('fails', async () => {\n    await expect(add('x')).rejects.toThrow();\n  });\n});\n";
const PY: &str = "import pytest\n\ndef test_adds():\n    assert add(1, 2) == 3\n    assert add(0, 0) == 0\n\nclass TestWaiting:\n    def test_waits(self):\n        assert wait().ok\n";
const GO: &str = "package a\n\nfunc TestAdds(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\tt.Errorf(\"bad\")\n\t}\n}\n\nfunc TestWaits(t *testing.T) {\n\trequire.NoError(t, Wait())\n}\n";
pub(super) const JAVA: &str = "class SumTest {\n  @Test\n  void adds() {\n    assertEquals(3, add(1, 2));\n    assertEquals(0, add(0, 0));\n  }\n\n  @Test\n  public void fails() {\n    assertThrows(E.class, () -> add(null));\n  }\n}\n";
const CS: &str = "public class SumTests {\n  [Fact]\n  public void Adds() {\n    Assert.Equal(3, Add(1, 2));\n  }\n\n  [Theory]\n  [InlineData(1)]\n  public async Task Waits(int a) {\n    Assert.True(await Wait(a));\n  }\n}\n";
const KT: &str = "class SumTest {\n  @Test\n  fun `adds two`() {\n    assertEquals(3, add(1, 2))\n  }\n  @Test\n  fun fails() {\n    assertFailsWith<E> { add(null) }\n  }\n}\n";
const CPP: &str = "TEST(Sum, Adds) {\n  EXPECT_EQ(add(1, 2), 3);\n}\nTEST_F(Sum, Waits) {\n  ASSERT_TRUE(wait());\n}\n";
const BATS: &str = "@test \"adds\" {\n  run add 1 2\n  [ \"$output\" = 3 ]\n}\n@test \"waits\" {\n  run wait\n  assert_success\n}\n";

pub(super) const ROWS: &[TamperCase] = &[
    // Deleted test files.
    (
        "rust file deleted",
        &[("tests/a.rs", RS, "-")],
        &["tests/a.rs: test file deleted, with 2 tests: adds, waits"],
    ),
    (
        "js file deleted",
        &[("src/a.test.js", JS, "-")],
        &["src/a.test.js: test file deleted, with 2 tests: adds, fails"],
    ),
    (
        "py file deleted",
        &[("tests/test_a.py", PY, "-")],
        &["tests/test_a.py: test file deleted, with 2 tests: test_adds, test_waits"],
    ),
    (
        "go file deleted",
        &[("a/a_test.go", GO, "-")],
        &["a/a_test.go: test file deleted, with 2 tests: TestAdds, TestWaits"],
    ),
    (
        "java file deleted",
        &[("src/test/java/SumTest.java", JAVA, "-")],
        &["src/test/java/SumTest.java: test file deleted, with 2 tests: adds, fails"],
    ),
    (
        "kotlin file deleted",
        &[("src/test/kotlin/SumTest.kt", KT, "-")],
        &["src/test/kotlin/SumTest.kt: test file deleted, with 2 tests: adds two, fails"],
    ),
    (
        "c# file deleted",
        &[("Sum.Tests/SumTests.cs", CS, "-")],
        &["Sum.Tests/SumTests.cs: test file deleted, with 2 tests: Adds, Waits"],
    ),
    (
        "c++ file deleted",
        &[("test/sum_test.cc", CPP, "-")],
        &["test/sum_test.cc: test file deleted, with 2 tests: Sum, Adds, Sum, Waits"],
    ),
    (
        "bats file deleted",
        &[("test/sum.bats", BATS, "-")],
        &["test/sum.bats: test file deleted, with 2 tests: adds, waits"],
    ),
    (
        "unknown test file deleted",
        &[("tests/big.rs", "?", "-")],
        &["tests/big.rs: test file deleted"],
    ),
    (
        "file emptied",
        &[("tests/test_a.py", PY, "\n")],
        &["tests/test_a.py: test file emptied; it had 2 tests: test_adds, test_waits"],
    ),
    (
        "moved out of where tests are run",
        &[("src/a.test.js", JS, "-"), ("old/a.js", "-", JS)],
        &["src/a.test.js: test file deleted, with 2 tests: adds, fails"],
    ),
    // Deleted tests.
    (
        "inline tests deleted",
        &[("src/a.rs", RS, "fn add() {}\n")],
        &["src/a.rs: 2 tests deleted: adds, waits"],
    ),
    (
        "rust test commented out",
        &[(
            "src/a.rs",
            "#[test]\nfn a() { assert!(x); }\n#[test]\nfn b() { assert!(y); }\n",
            "// #[test]\n// fn a() { assert!(x); }\n#[test]\nfn b() { assert!(y); }\n",
        )],
        &["src/a.rs: 1 test deleted: a"],
    ),
    (
        "rust attribute taken away",
        &[("src/a.rs", "#[test]\nfn a() { assert!(x); }\n", "fn a() { assert!(x); }\n")],
        &["src/a.rs: 1 test deleted: a"],
    ),
    (
        "js test commented out",
        &[(
            "a.test.js",
            "it('a', () => {\n  expect(f()).toBe(1);\n});\n",
            "/* it('a', () => {\n  expect(f()).toBe(1);\n}); */\n",
        )],
        &["a.test.js: 1 test deleted: a"],
    ),
    (
        "py test renamed away",
        &[(
            "test_a.py",
            "def test_a():\n    assert f() == 1\n",
            "def _test_a():\n    assert f() == 1\n",
        )],
        &["test_a.py: 1 test deleted: test_a"],
    ),
    (
        "go test deleted",
        &[(
            "a_test.go",
            GO,
            "package a\n\nfunc TestWaits(t *testing.T) {\n\trequire.NoError(t, Wait())\n}\n",
        )],
        &["a_test.go: 1 test deleted: TestAdds"],
    ),
    (
        "many deleted",
        &[(
            "test_a.py",
            "def test_a():\n    assert a()\ndef test_b():\n    assert b()\ndef test_c():\n    assert c()\ndef test_d():\n    assert d()\n",
            "x = 1\n",
        )],
        &["test_a.py: 4 tests deleted: test_a, test_b, test_c and 1 more"],
    ),
    (
        "one of two of the same name deleted",
        &[(
            "a.test.js",
            "it('x', () => { expect(a()).toBe(1); });\nit('x', () => { expect(b(2, 3)).toBe(2); });\n",
            "it('x', () => { expect(a()).toBe(1); });\n",
        )],
        &["a.test.js: 1 test deleted: x"],
    ),
    (
        "replaced by something else",
        &[(
            "src/a.rs",
            "#[test]\nfn a() { let x = parse(\"12\"); assert_eq!(x.unwrap(), Number::Whole(12)); }\n",
            "#[test]\nfn b() { for one in all() { assert!(one.is_fine()); } }\n",
        )],
        &["src/a.rs: 1 test deleted: a"],
    ),
    // Disabled tests.
    (
        "rust ignore",
        &[(
            "src/a.rs",
            "#[test]\nfn a() { assert!(x); }\n",
            "#[test]\n#[ignore]\nfn a() { assert!(x); }\n",
        )],
        &["src/a.rs: 1 test disabled: a"],
    ),
    (
        "rust ignore above",
        &[(
            "src/a.rs",
            "#[test]\nfn a() { assert!(x); }\n",
            "#[ignore = \"slow\"]\n#[test]\nfn a() { assert!(x); }\n",
        )],
        &["src/a.rs: 1 test disabled: a"],
    ),
    (
        "rust module configured away",
        &[(
            "src/a.rs",
            RS,
            "fn add() {}\n#[cfg(any())]\nmod tests {\n    #[test]\n    fn adds() {\n        assert_eq!(add(1, 2), 3);\n        assert!(add(0, 0) == 0);\n    }\n    #[tokio::test]\n    async fn waits() {\n        assert!(wait().await.is_ok());\n    }\n}\n",
        )],
        &["src/a.rs: 2 tests disabled: adds, waits"],
    ),
    (
        "rust early return",
        &[(
            "src/a.rs",
            "#[test]\nfn a() {\n    assert!(x);\n}\n",
            "#[test]\nfn a() {\n    return;\n    assert!(x);\n}\n",
        )],
        &["src/a.rs: 1 test disabled: a"],
    ),
    (
        "js skip",
        &[(
            "a.test.ts",
            "it('a', () => { expect(f()).toBe(1); });\n",
            "it.skip('a', () => { expect(f()).toBe(1); });\n",
        )],
        &["a.test.ts: 1 test disabled: a"],
    ),
    (
        "js xit",
        &[(
            "a.test.ts",
            "it('a', () => { expect(f()).toBe(1); });\n",
            "xit('a', () => { expect(f()).toBe(1); });\n",
        )],
        &["a.test.ts: 1 test disabled: a"],
    ),
    (
        "js suite skipped",
        &[(
            "a.test.ts",
            "describe('s', () => {\n  it('a', () => { expect(f()).toBe(1); });\n});\n",
            "describe.skip('s', () => {\n  it('a', () => { expect(f()).toBe(1); });\n});\n",
        )],
        &["a.test.ts: 1 test disabled: a"],
    ),
    (
        "js xdescribe",
        &[(
            "a.spec.ts",
            "describe('s', () => {\n  it('a', () => { expect(f()).toBe(1); });\n});\n",
            "xdescribe('s', () => {\n  it('a', () => { expect(f()).toBe(1); });\n});\n",
        )],
        &["a.spec.ts: 1 test disabled: a"],
    ),
    (
        "js only",
        &[(
            "a.test.ts",
            "it('a', () => { expect(f()).toBe(1); });\n",
            "it('a', () => { expect(f()).toBe(1); });\nit.only('b', () => { expect(g()).toBe(1); });\n",
        )],
        &["a.test.ts: only some of its tests run now: it.only("],
    ),
    (
        "js early return",
        &[(
            "a.test.ts",
            "it('a', () => { expect(f()).toBe(1); });\n",
            "it('a', () => { return; expect(f()).toBe(1); });\n",
        )],
        &["a.test.ts: 1 test disabled: a"],
    ),
    (
        "js todo",
        &[("a.test.ts", "it('a', () => { expect(f()).toBe(1); });\n", "it.todo('a');\n")],
        &["a.test.ts: 1 test disabled: a", "a.test.ts: 1 test no longer asserts anything: a"],
    ),
    (
        "node skip option",
        &[(
            "test/a.js",
            "test('a', () => { assert.equal(f(), 1); });\n",
            "test('a', { skip: true }, () => { assert.equal(f(), 1); });\n",
        )],
        &["test/a.js: 1 test disabled: a"],
    ),
    (
        "py skip",
        &[(
            "test_a.py",
            PY,
            "import pytest\n\n@pytest.mark.skip(reason='x')\ndef test_adds():\n    assert add(1, 2) == 3\n    assert add(0, 0) == 0\n\nclass TestWaiting:\n    def test_waits(self):\n        assert wait().ok\n",
        )],
        &["test_a.py: 1 test disabled: test_adds"],
    ),
    (
        "py xfail",
        &[(
            "test_a.py",
            "def test_a():\n    assert f()\n",
            "@pytest.mark.xfail\ndef test_a():\n    assert f()\n",
        )],
        &["test_a.py: 1 test disabled: test_a"],
    ),
    (
        "py skip inside",
        &[(
            "test_a.py",
            "def test_a():\n    assert f()\n",
            "def test_a():\n    pytest.skip('later')\n    assert f()\n",
        )],
        &["test_a.py: 1 test disabled: test_a"],
    ),
    (
        "py class skipped",
        &[(
            "test_a.py",
            "class TestA(TestCase):\n    def test_a(self):\n        self.assertTrue(f())\n",
            "@unittest.skip('x')\nclass TestA(TestCase):\n    def test_a(self):\n        self.assertTrue(f())\n",
        )],
        &["test_a.py: 1 test disabled: test_a"],
    ),
    (
        "py module skipped",
        &[(
            "test_a.py",
            "def test_a():\n    assert f()\n",
            "pytestmark = pytest.mark.skip\n\ndef test_a():\n    assert f()\n",
        )],
        &["test_a.py: 1 test disabled: test_a"],
    ),
    (
        "py early return",
        &[(
            "test_a.py",
            "def test_a(self):\n    assert f()\n",
            "def test_a(self):\n    return\n    assert f()\n",
        )],
        &["test_a.py: 1 test disabled: test_a"],
    ),
    (
        "go skip",
        &[(
            "a_test.go",
            "func TestA(t *testing.T) {\n\trequire.True(t, f())\n}\n",
            "func TestA(t *testing.T) {\n\tt.Skip(\"flaky\")\n\trequire.True(t, f())\n}\n",
        )],
        &["a_test.go: 1 test disabled: TestA"],
    ),
    (
        "junit disabled",
        &[(
            "src/test/java/ATest.java",
            JAVA,
            "class SumTest {\n  @Disabled\n  @Test\n  void adds() {\n    assertEquals(3, add(1, 2));\n    assertEquals(0, add(0, 0));\n  }\n\n  @Test\n  public void fails() {\n    assertThrows(E.class, () -> add(null));\n  }\n}\n",
        )],
        &["src/test/java/ATest.java: 1 test disabled: adds"],
    ),
    (
        "junit class ignored",
        &[(
            "ATest.java",
            "public class ATest {\n  @Test\n  public void a() { assertTrue(f()); }\n}\n",
            "@Ignore\npublic class ATest {\n  @Test\n  public void a() { assertTrue(f()); }\n}\n",
        )],
        &["ATest.java: 1 test disabled: a"],
    ),
    (
        "kotlin ignore",
        &[(
            "ATest.kt",
            "@Test\nfun a() { assertTrue(f()) }\n",
            "@Test\n@Ignore\nfun a() { assertTrue(f()) }\n",
        )],
        &["ATest.kt: 1 test disabled: a"],
    ),
    (
        "xunit skip",
        &[(
            "ATests.cs",
            "[Fact]\npublic void A() { Assert.True(F()); }\n",
            "[Fact(Skip = \"later\")]\npublic void A() { Assert.True(F()); }\n",
        )],
        &["ATests.cs: 1 test disabled: A"],
    ),
    (
        "nunit ignore",
        &[(
            "ATests.cs",
            "[Test]\npublic void A() { Assert.That(F(), Is.True); }\n",
            "[Test]\n[Ignore(\"x\")]\npublic void A() { Assert.That(F(), Is.True); }\n",
        )],
        &["ATests.cs: 1 test disabled: A"],
    ),
    (
        "gtest disabled",
        &[(
            "test/a_test.cc",
            "TEST(A, Works) {\n  EXPECT_EQ(f(1), 2);\n}\n",
            "TEST(A, DISABLED_Works) {\n  EXPECT_EQ(f(1), 2);\n}\n",
        )],
        &["test/a_test.cc: 1 test disabled: A, DISABLED_Works"],
    ),
    (
        "bats skip",
        &[(
            "a.bats",
            "@test \"a\" {\n  run f\n  assert_success\n}\n",
            "@test \"a\" {\n  skip\n  run f\n  assert_success\n}\n",
        )],
        &["a.bats: 1 test disabled: a"],
    ),
    (
        "rspec xit",
        &[(
            "spec/a_spec.rb",
            "describe A do\n  it 'works' do\n    expect(f).to eq(1)\n  end\nend\n",
            "describe A do\n  xit 'works' do\n    expect(f).to eq(1)\n  end\nend\n",
        )],
        &["spec/a_spec.rb: 1 test disabled: works"],
    ),
    (
        "phpunit skipped",
        &[(
            "tests/ATest.php",
            "class ATest {\n  public function testA() {\n    $this->assertSame(1, f());\n  }\n}\n",
            "class ATest {\n  public function testA() {\n    $this->markTestSkipped('x');\n    $this->assertSame(1, f());\n  }\n}\n",
        )],
        &["tests/ATest.php: 1 test disabled: testA"],
    ),
    (
        "exunit skip tag",
        &[(
            "test/a_test.exs",
            "  test \"a\" do\n    assert f() == 1\n  end\n",
            "  @tag :skip\n  test \"a\" do\n    assert f() == 1\n  end\n",
        )],
        &["test/a_test.exs: 1 test disabled: a"],
    ),
    (
        "swift skip",
        &[(
            "Tests/ATests.swift",
            "func testA() throws {\n  XCTAssertEqual(f(), 1)\n}\n",
            "func testA() throws {\n  throw XCTSkip(\"x\")\n  XCTAssertEqual(f(), 1)\n}\n",
        )],
        &["Tests/ATests.swift: 1 test disabled: testA"],
    ),
];

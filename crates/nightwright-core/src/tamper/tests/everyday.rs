//! Everyday changes that only look like tampering.

use super::{TamperCase, check};

#[test]
fn everyday_work_is_not_found() {
    check(ROWS);
}

const GO: &str = "func TestA(t *testing.T) {\n\trequire.True(t, f())\n}\n";
const JS: &str = "it('a', () => { expect(f()).toBe(1); });\n";

pub(super) const ROWS: &[TamperCase] = &[
    // Names that contain words such as `skip`.
    (
        "go list skips",
        &[(
            "a_test.go",
            GO,
            "func TestA(t *testing.T) {\n\tl.Skip(2)\n\tdefer s.Close()\n\trequire.True(t, f())\n}\n",
        )],
        &[],
    ),
    (
        "go build for a system",
        &[(
            "a_linux_test.go",
            GO,
            "//go:build linux\n\nfunc TestA(t *testing.T) {\n\trequire.True(t, f())\n}\n",
        )],
        &[],
    ),
    (
        "js query skipped",
        &[(
            "a.test.js",
            JS,
            "it('a', () => { render('Q', { skip: true }); useQuery(Q, { skip: true }); expect(f()).toBe(1); });\n",
        )],
        &[],
    ),
    (
        "js option only",
        &[(
            "a.test.js",
            JS,
            "it('a', () => { g({ only: true }); g('x', { only: true }); expect(f()).toBe(1); });\n",
        )],
        &[],
    ),
    (
        "js iterator skips",
        &[("a.test.js", JS, "it('a', () => { ctx.skip(2); expect(f()).toBe(1); });\n")],
        &[],
    ),
    (
        "java request aborted",
        &[(
            "ATest.java",
            "@Test void a() { assertTrue(f()); }\n",
            "@Test void a() { request.abort(); assertTrue(f()); }\n",
        )],
        &[],
    ),
    (
        "php collection skips",
        &[(
            "tests/ATest.php",
            "it('a', function () {\n  expect(f())->toBe(1);\n});\n",
            "it('a', function () {\n  $r->skip(2)->only('a')->todo();\n  expect(f())->toBe(1);\n});\n",
        )],
        &[],
    ),
    (
        "php collection skips in phpunit",
        &[(
            "tests/ATest.php",
            "class ATest {\n  public function testA() {\n    $this->assertSame(1, f());\n  }\n}\n",
            "class ATest {\n  public function testA() {\n    $r = c([1])->skip(2);\n    $this->assertSame(1, $r->only('a'));\n  }\n}\n",
        )],
        &[],
    ),
    (
        "ruby symbols",
        &[(
            "spec/a_spec.rb",
            "it 'a' do\n  expect(f).to eq(1)\nend\n",
            "it 'a' do\n  skip = f(:skip)\n  g(skip: true, focus: true)\n  h(:focus)\n  expect(f).to eq(1)\nend\n",
        )],
        &[],
    ),
    (
        "c# options ignore",
        &[(
            "ATests.cs",
            "[Fact]\npublic void A() { Assert.True(F()); }\n",
            "[Fact]\npublic void A() { var o = new O { Ignore = true }; O[] p = [new O { Skip = 1 }]; Assert.True(F(o, p)); }\n",
        )],
        &[],
    ),
    (
        "c++ names",
        &[(
            "test/a.cc",
            "TEST(A, B) { EXPECT_EQ(f(), 1); }\n",
            "TEST(A, B) { EXPECT_EQ(f(DISABLED_COLOR, \"[.]\"), 1); }\n",
        )],
        &[],
    ),
    (
        "swift button disabled",
        &[(
            "Tests/ATests.swift",
            "func testA() {\n  XCTAssertEqual(f(), 1)\n}\n",
            "func testA() {\n  let b = Button().disabled(true)\n  XCTAssertEqual(f(b), 1)\n}\n",
        )],
        &[],
    ),
    (
        "shell variable",
        &[(
            "test/a.sh",
            "test_a() {\n  [ \"$x\" = 1 ]\n}\n",
            "test_a() {\n  skip=1\n  [ \"$x\" = 1 ]\n}\n",
        )],
        &[],
    ),
    // Calls that are not assertions.
    (
        "java local variable",
        &[(
            "ATest.java",
            "@Test void a() { String expected = \"x\"; assertEquals(expected, f()); }\n",
            "@Test void a() { assertEquals(\"x\", f()); }\n",
        )],
        &[],
    ),
    (
        "go server closed",
        &[(
            "a_test.go",
            "func TestA(t *testing.T) {\n\tdefer s.Close()\n\ttd.Setup()\n\trequire.True(t, f())\n}\n",
            GO,
        )],
        &[],
    ),
    (
        "js matcher",
        &[(
            "a.test.js",
            "it('a', () => { expect(f()).toEqual(expect.objectContaining({ a: expect.any(Number) })); });\n",
            "it('a', () => { expect(f()).toEqual({ a: 1 }); });\n",
        )],
        &[],
    ),
    (
        "go difference",
        &[(
            "a_test.go",
            "func TestA(t *testing.T) {\n\tif d := cmp.Diff(f(), 1); d != \"\" {\n\t\tt.Errorf(\"%s\", d)\n\t}\n}\n",
            "func TestA(t *testing.T) {\n\trequire.Equal(t, 1, f())\n}\n",
        )],
        &[],
    ),
    (
        "asserts in code moved about",
        &[
            (
                "src/a.rs",
                "fn a() { assert!(x); assert!(y); }\n#[test]\nfn t() { assert!(a()); }\n",
                "fn a() {}\n#[test]\nfn t() { assert!(a()); }\n",
            ),
            ("src/b.rs", "fn b() { panic!() }\n", "-"),
        ],
        &[],
    ),
    // Tests turned into rows of a table.
    (
        "rstest",
        &[(
            "src/a.rs",
            "#[test]\nfn one() { assert_eq!(f(1), 2); }\n#[test]\nfn two() { assert_eq!(f(2), 3); }\n#[test]\nfn none() { assert_eq!(f(0), 1); }\n",
            "#[rstest]\n#[case(1, vec![2])]\n#[case::two(2, vec![3])]\n#[case(0, vec![1])]\nfn adds(#[case] input: u8, #[case] expected: Vec<u8>) { assert_eq!(f(input), expected); }\n",
        )],
        &[],
    ),
    (
        "rust assertions in a loop",
        &[(
            "src/a.rs",
            "#[test]\nfn a() {\n    assert_eq!(f(1), 2);\n    assert_eq!(f(2), 3);\n    assert_eq!(f(3), 4);\n}\n",
            "#[test]\nfn a() {\n    for (x, y) in [(1, 2), (2, 3), (3, 4)] {\n        assert_eq!(f(x), y);\n    }\n}\n",
        )],
        &[],
    ),
    (
        "pytest parametrize",
        &[(
            "test_a.py",
            "def test_one():\n    assert f(1) == 2\n\ndef test_two():\n    assert f(2) == 3\n\ndef test_none():\n    assert f(0) == 1\n",
            "@pytest.mark.parametrize(\"a, b\", [\n    (1, 2),\n    (2, 3),\n    (0, 1),\n])\ndef test_adds(a, b):\n    assert f(a) == b\n",
        )],
        &[],
    ),
    (
        "it.each",
        &[(
            "a.test.ts",
            "it('one', () => { expect(f(1)).toBe(2); });\nit('two', () => { expect(f(2)).toBe(3); });\nit('none', () => { expect(f(0)).toBe(1); });\n",
            "it.each([\n  [1, 2],\n  [2, 3],\n  [0, 1],\n])('adds %i', (a, b) => {\n  expect(f(a)).toBe(b);\n});\n",
        )],
        &[],
    ),
    (
        "it.each as a table",
        &[(
            "a.test.ts",
            "it('one', () => { expect(f(1)).toBe(2); });\nit('two', () => { expect(f(2)).toBe(3); });\n",
            "it.each`\n  a | b\n  ${1} | ${2}\n  ${2} | ${3}\n`('adds $a', ({ a, b }) => {\n  expect(f(a)).toBe(b);\n});\n",
        )],
        &[],
    ),
    (
        "go table",
        &[(
            "a_test.go",
            "func TestOne(t *testing.T) {\n\trequire.Equal(t, 2, f(1))\n}\nfunc TestTwo(t *testing.T) {\n\trequire.Equal(t, 3, f(2))\n}\n",
            "func TestAdds(t *testing.T) {\n\ttests := []struct {\n\t\tname string\n\t\ta, b int\n\t}{\n\t\t{\"one\", 1, 2},\n\t\t{\"two\", 2, 3},\n\t}\n\tfor _, tt := range tests {\n\t\tt.Run(tt.name, func(t *testing.T) {\n\t\t\trequire.Equal(t, tt.b, f(tt.a))\n\t\t})\n\t}\n}\n",
        )],
        &[],
    ),
    (
        "junit values",
        &[(
            "ATest.java",
            "@Test void one() { assertTrue(f(1)); }\n@Test void two() { assertTrue(f(2)); }\n@Test void three() { assertTrue(f(3)); }\n",
            "@ParameterizedTest\n@ValueSource(ints = {1, 2, 3})\nvoid all(int number) { assertTrue(f(number)); }\n",
        )],
        &[],
    ),
    (
        "junit lines",
        &[(
            "ATest.java",
            "@Test void one() { assertEquals(2, f(1)); }\n@Test void two() { assertEquals(3, f(2)); }\n",
            "@ParameterizedTest\n@CsvSource({\"1, 2\", \"2, 3\"})\nvoid adds(int a, int b) { assertEquals(b, f(a)); }\n",
        )],
        &[],
    ),
    (
        "xunit data",
        &[(
            "ATests.cs",
            "[Fact]\npublic void One() { Assert.Equal(2, F(1)); }\n[Fact]\npublic void Two() { Assert.Equal(3, F(2)); }\n",
            "[Theory]\n[InlineData(1, 2)]\n[InlineData(2, 3)]\npublic void Adds(int a, int b) { Assert.Equal(b, F(a)); }\n",
        )],
        &[],
    ),
    (
        "phpunit provider",
        &[(
            "tests/ATest.php",
            "class ATest {\n  public function testOne() { $this->assertSame(2, f(1)); }\n  public function testTwo() { $this->assertSame(3, f(2)); }\n}\n",
            "class ATest {\n  public static function sumProvider(): array {\n    return [[1, 2], [2, 3]];\n  }\n  #[DataProvider('sumProvider')]\n  public function testAdds($a, $b) { $this->assertSame($b, f($a)); }\n}\n",
        )],
        &[],
    ),
    (
        "swift arguments",
        &[(
            "Tests/ATests.swift",
            "@Test func one() {\n  #expect(f(1) == 2)\n}\n@Test func two() {\n  #expect(f(2) == 3)\n}\n",
            "@Test(arguments: [(1, 2), (2, 3)])\nfunc adds(a: Int, b: Int) {\n  #expect(f(a) == b)\n}\n",
        )],
        &[],
    ),
    // Generated files.
    (
        "generated with its marks",
        &[
            ("src/api.ts", "-", "/* eslint-disable */\n// @ts-nocheck\nexport {};\n"),
            ("src/a.g.cs", "class A {}\n", "// <auto-generated/>\nclass A {}\n"),
            ("a_pb2.py", "-", "# type: ignore\nx = 1\n"),
        ],
        &[],
    ),
    (
        "a mark in a string",
        &[("src/a.ts", "f();\n", "const mark = `\n/* eslint-disable */\n`;\n")],
        &[],
    ),
    // Modules.
    (
        "module of tests deleted with its moved file",
        &[
            ("tests/it/main.rs", "mod a;\nmod b;\n", "mod a;\nmod c;\n"),
            ("tests/it/b.rs", "#[test]\nfn x() { assert!(y); }\n", "-"),
            ("tests/it/c.rs", "-", "#[test]\nfn x() { assert!(y); }\n"),
        ],
        &[],
    ),
    ("helper not needed here", &[("tests/a.rs", "mod common;\nuse x;\n", "use x;\n")], &[]),
    ("module of code", &[("src/lib.rs", "mod a;\nmod b;\n", "mod a;\n")], &[]),
    (
        "modules moved to another root",
        &[("tests/it/main.rs", "mod a;\n", "-"), ("tests/all/main.rs", "-", "mod a;\n")],
        &[],
    ),
    // Literals.
    (
        "a pattern with a backtick",
        &[(
            "a.test.js",
            "it('a', () => { expect(f(/^[`~]{3}/)).toBe(1); });\nit('b', () => { expect(g()).toBe(1); });\n",
            "it('a', () => { expect(f(/^[`~]{4}/)).toBe(1); });\nit('b', () => { expect(g()).toBe(1); });\n",
        )],
        &[],
    ),
    (
        "a raw string appears",
        &[(
            "src/a.rs",
            "#[test]\nfn a() { assert!(f(\"x\")); }\n#[test]\nfn b() { assert!(g()); }\n",
            "#[test]\nfn a() { assert!(f(r\"\\\")); }\n#[test]\nfn b() { assert!(g()); }\n",
        )],
        &[],
    ),
];

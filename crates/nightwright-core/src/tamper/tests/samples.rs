//! Samples for every pattern: one that can never match would go unnoticed.

use super::{HARMLESS, WEAKENED};
use crate::tamper::checks::parts;
use crate::tamper::mask::{MaskedSource, mask};
use crate::tamper::outline::{begin, begun_in, chained, places};
use crate::tamper::patterns::{CheckFileRule, Language, LazyRegex, PATTERNS};
use crate::tamper::shape::BlockStructure;

/// Texts for the patterns that match no row of the tables.
const SAMPLES: &[(&str, &str)] = &[
    (
        "a.rs",
        r#"#![cfg(any())]
#[cfg(feature = "slow")]
mod slow {}
#[cfg(all(test, unix))]
mod more {
    #[cfg_attr(windows, ignore)]
    #[should_panic]
    #[test_case(1)]
    #[test]
    fn a(#[values(1, 2)] x: u8) {
        if true { return; }
        insta::assert_snapshot!(x);
        command.assert().success();
        assert!(!false);
        assert_eq!(x, x);
    }
}
"#,
    ),
    (
        "a_test.go",
        r#"// +build ignore
//lint:file-ignore U1000 generated
func TestA(t *testing.T) {
	return
}
func TestB(t *testing.T) {
	if true { return }
	is.Equal(a, b)
	qt.Assert(t, a, qt.Equals, b)
	td.Cmp(t, a, b)
	s.Require().True(a)
	assert.False(t, false)
	assert.True(t, a || true)
}
var _ = It("a", func() { Skip("x"); Expect(a).To(Equal(b)) })
var _ = PIt("b", func() {})
var _ = FIt("c", func() {})
"#,
    ),
    (
        "ATests.cs",
        r"#pragma warning disable
#if false
[Fact]
public void A() { return; }
[Fact]
public void B() {
  Assert.Ignore(); Skip.If(x); a.Should(); a.ShouldBe(1); mock.Verify(x); CollectionAssert.Contains(a, b);
  Assert.False(false); Assert.True(a || true); Assert.Equal(a, a); Assert.Pass();
}
",
    ),
    (
        "ATest.java",
        r"// CHECKSTYLE:OFF
@DisabledOnOs(X)
@Test(enabled = false) void a() { return; }
@Test(expected = E.class) void b() { if (true) { return; } }
@Test void c() {
  assumeTrue(false); verify(a); Assert.fail(); Stream.of(arguments(1, 2));
  assertFalse(false); assertNull(null); assertTrue(a || true); assertThat(true).isTrue(); assertEquals(a, a);
}
",
    ),
    (
        "ATest.kt",
        r#"@file:Suppress("all")
@Test
fun a() {
  return
}
@DisabledOnOs(X)
@Test(expected = E::class) fun b() {}
  test("c").config(enabled = false) { a shouldBe b }
  xtest("d") { assumeTrue(false); verify { a } }
  ftest("e") { true shouldBe true }
@ParameterizedTest
@ValueSource(ints = [1, 2])
fun f(x: Int) { withData(1, 2); Arguments.of(1); assertTrue(true); assertFalse(false); assertTrue(a || true); assertEquals(a, a) }
"#,
    ),
    (
        "test_a.py",
        r"# mypy: ignore-errors
# pylint: skip-file
# pyright: basic
__test__ = False
pytest.skip(allow_module_level=True)
def test_a():
    if True: return
def test_b(self):
    self.skipTest()
    raise SkipTest
    a; assert b
    with pytest.raises(E): mock.assert_called()
    np.testing.assert_equal(a, b)
    assert_that(a)
    assert not False
    assert 1
    self.assertTrue(True); self.assertFalse(False); self.assertTrue(a or True); self.assertEqual(a, a)
    for x in [1, 2]: pass
@parameterized.expand([1, 2])
def test_c(self): pass
",
    ),
    (
        "a.py",
        r"# noqa
x = 1
",
    ),
    (
        "a.test.js",
        r#"/* @ts-nocheck */
/* jshint ignore:start */
// tslint:disable
Deno.test("a", () => { if (true) { return; } });
Deno.test.ignore("b", () => {});
fit('c', { timeout: 1 }, () => { return; });
it('d', () => { this.skip(); pending(); test.skip(); });
it('e', (t) => {
  a.should.be(b); t.is(a, b); t.pass(); cy.get(a).should(b);
  for (const x of [1, 2]) {}
  expect(true).toBeTruthy(); expect(a || true).toBe(b); expect(true).to.be.true; assert(true); assert(a || true); assert.equal(a, a);
});
"#,
    ),
    (
        "test/a.c",
        r#"// clang-tidy off
#pragma GCC diagnostic ignored "-Wall"
#if 0
static void test_a(void) { return; }
#endif
START_TEST(b) { ck_assert(x); cr_assert(x); assert(x); }
TEST(A, B) { GTEST_SKIP(); SKIP(); TEST_IGNORE(); GENERATE(1, 2); EXPECT_TRUE(a || true); EXPECT_EQ(a, a); SUCCEED(); }
TEST_CASE("c" * doctest::skip()) {}
BOOST_AUTO_TEST_CASE(d, * boost::unit_test::disabled()) {}
INSTANTIATE_TEST_SUITE_P(A, B, testing::Values(1, 2));
"#,
    ),
    (
        "test/b.c",
        r"// NOLINTBEGIN
int a;
",
    ),
    (
        "test/a.sh",
        r"# shellcheck disable=all
test_a() {
  return 0
}
It 'b'
xIt 'c'
Skip if x
startSkipping
refute x
The output should eq 1
test -f x || exit 1
a && [ -f x ]
if [ -f x ]; then b; fi
grep -q x y
diff a b
assert true
assert x || true
grep x y || true
",
    ),
    (
        "test/b.sh",
        r"exit 0
",
    ),
    (
        "a_test.rb",
        r"# rubocop:disable all
def test_a
  return
end
pending 'b'
fit 'c' do
  skip if x
  omit
end
it 'd', :focus do
  assert_equal a, a
  is_expected.to eq(1)
  a.should eq(1)
  assert true
  assert a || true
  expect(true).to be_truthy
end
",
    ),
    (
        "ATest.php",
        r"// phpcs:ignoreFile
/** @phpstan-ignore-file */
// @codingStandardsIgnoreFile
#[RequiresPhp('>= 9')]
#[TestWith([1])]
public function testA() { return; }
public function testB() {
  $this->expectException(E::class);
  $this->assertTrue(true); $this->assertFalse(false); $this->assertTrue($a || true); $this->assertSame($a, $a);
}
it('c', fn ($x) => expect($x)->toBe(1))->with([1, 2]);
",
    ),
    (
        "a_test.exs",
        r#"# credo:disable-for-this-file
@moduletag :skip
@moduletag skip: true
@tag skip: "x"
test "a" do
  assert true
  assert a == a
  assert b || true
end
"#,
    ),
    (
        "ATests.swift",
        r#"// swiftlint:disable all
func testA() { return }
@Test(.disabled("x")) func b() {
  XCTAssertTrue(true); #expect(true); XCTAssertEqual(a, a)
}
"#,
    ),
];

/// All strings of files with such a name.
fn texts(is_meant: impl Fn(&str) -> bool) -> Vec<&'static str> {
    let rows = HARMLESS.iter().chain(&WEAKENED).flat_map(|rows| rows.iter());
    let edits = rows.flat_map(|(_, edits, _)| edits.iter());
    let sides = edits.flat_map(|(path, before, after)| [(*path, *before), (*path, *after)]);
    let all = sides.chain(SAMPLES.iter().copied());
    all.filter(|(path, _)| is_meant(path)).map(|(_, text)| text).collect()
}

/// Texts that are matched from their start: beginnings of tests, chained calls, and the code after
/// calls with rows.
#[derive(Default)]
struct Begun<'a> {
    begins: Vec<&'a str>,
    ends: Vec<&'a str>,
    behind: Vec<&'a str>,
}

impl<'a> Begun<'a> {
    fn of(language: &Language, masked: &'a [(&str, MaskedSource)]) -> Self {
        let mut all = Self::default();
        for (_, masked) in masked {
            let shape = BlockStructure::of(&masked.code);
            for place in places(&masked.code, language, &shape) {
                all.begins.push(begin(&masked.code, &place));
                all.ends.push(chained(&masked.code, &shape, &place));
            }
            for one in &language.case_behind {
                let calls = one.call.find_iter(&masked.code);
                let calls = calls.filter_map(|call| shape.call_at(call.end() - 1));
                all.behind.extend(calls.map(|call| &masked.code[call.end..]));
            }
        }
        all
    }
}

/// The patterns that match none of the strings.
fn unmatched(language: &Language, texts: &[&str]) -> Vec<String> {
    let masked: Vec<_> = texts.iter().map(|text| (*text, mask(text, language))).collect();
    let Begun { begins, ends, behind } = Begun::of(language, &masked);
    let code: Vec<&str> = masked.iter().map(|(_, masked)| masked.code.as_str()).collect();
    let spoken: Vec<&str> =
        masked.iter().map(|(_, masked)| masked.without_strings.as_str()).collect();
    let mut wrong = Vec::new();
    let mut see = |key: &str, patterns: &[LazyRegex], seen: &[&str]| {
        let never = patterns.iter().filter(|one| !seen.iter().any(|text| one.is_match(text)));
        wrong.extend(never.map(|one| format!("{key}: {one:?}")));
    };
    for (key, patterns) in [
        ("case", &language.case),
        ("off", &language.off),
        ("off_file", &language.off_file),
        ("only", &language.only),
        ("assertion", &language.assertion),
        ("trivial", &language.trivial),
        ("tests_in", &language.tests_in),
        ("row", &language.row),
        ("rows", &language.rows),
        ("part", &language.part),
    ] {
        see(key, patterns, &code);
    }
    see("off_noted", &language.off_noted, &spoken);
    for (key, patterns) in
        [("off_begin", &language.off_begin), ("only_begin", &language.only_begin)]
    {
        see(key, patterns, &begins);
    }
    for (key, patterns) in [("off_end", &language.off_end), ("only_end", &language.only_end)] {
        see(key, patterns, &ends);
    }
    see("part_tests", &language.part_tests, &["a_tests", "test_a"]);
    for one in &language.case_behind {
        see("case_behind", std::slice::from_ref(&one.name), &behind);
    }
    let mut begun = |key: &str, patterns: &[LazyRegex], code: bool| {
        for one in patterns {
            let is_seen = masked.iter().any(|(text, masked)| {
                let kept = if code { &masked.code } else { &masked.without_strings };
                !begun_in(std::slice::from_ref(one), text, kept).is_empty()
            });
            if !is_seen {
                wrong.push(format!("{key}: {one:?}"));
            }
        }
    };
    begun("off_said", &language.off_said, true);
    begun("lint_off", &language.lint_off, false);
    wrong
}

#[test]
fn every_pattern_of_a_language_matches_something() {
    let mut wrong = Vec::new();
    for language in &PATTERNS.languages {
        let is_meant = |path: &str| {
            PATTERNS.language(path).is_some_and(|(one, _)| std::ptr::eq(one, language))
        };
        wrong.extend(unmatched(language, &texts(is_meant)));
    }
    assert!(wrong.is_empty(), "{} match nothing:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_pattern_of_a_check_matches_something() {
    let mut wrong = Vec::new();
    for check in &PATTERNS.checks {
        let texts = texts(|path| check.files.is_match(path));
        let said: Vec<String> = texts
            .iter()
            .flat_map(|text| parts(check, text))
            .map(|(key, value)| format!("{key} = {value}"))
            .collect();
        if said.is_empty() {
            wrong.push(format!("parts of {}", check.what));
        }
        let CheckFileRule { added, ordinary, placeholder, higher, .. } = check;
        for pattern in [added, ordinary, placeholder, higher].into_iter().flatten() {
            if !said.iter().any(|said| pattern.is_match(said)) {
                wrong.push(format!("{pattern:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} match nothing:\n{}", wrong.len(), wrong.join("\n"));
}

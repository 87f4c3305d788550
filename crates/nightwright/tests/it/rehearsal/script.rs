//! Scripts that can and cannot be read, and the page about them.

use std::path::Path;

use nightwright::rehearsal::script::{self, Script};

fn error(script: &str) -> String {
    Script::parse(script, Path::new("night.toml")).unwrap_err().to_string()
}

#[test]
fn an_unknown_step_is_shown_in_its_place() {
    let script = "[[attempt]]\nsteps = [\n  { say = 'a' },\n  { sya = 'b' },\n]\n";
    insta::assert_snapshot!(error(script), @r"
    cannot use the script `night.toml`: TOML parse error at line 4, column 5
      |
    4 |   { sya = 'b' },
      |     ^^^
    unknown field `sya`, expected one of `say`, `think`, `write`, `edit`, `run`, `read`, `denied`, `command`, `wait`, `garbage`, `flood`, `quota`, `compact`, `repeat`, `text`, `old`, `new`, `window`, `times`
    ");
}

#[test]
fn a_step_without_its_other_half_is_shown_in_its_place() {
    let script = "[[attempt]]\nsteps = [\n  { say = 'a' },\n  { write = 'b' },\n]\n";
    insta::assert_snapshot!(error(script), @r"
    cannot use the script `night.toml`: TOML parse error at line 4, column 3
      |
    4 |   { write = 'b' },
      |   ^^^^^^^^^^^^^^^
    `write` requires `text`
    ");
}

#[test]
fn a_script_that_makes_no_sense_says_what_is_wrong() {
    let cases = [
        ("steps = [{}]", "defines no action"),
        ("steps = [{ say = 'a', run = 'b' }]", "defines more than one action (say, run)"),
        ("steps = [{ say = 'a', text = 'b' }]", "`text` has no effect with `say`"),
        ("steps = [{ read = '../x' }]", "`../x` must be a path inside the project"),
        ("steps = [{ write = '/etc/x', text = '' }]", "`/etc/x` must be a path inside the project"),
        ("steps = [{ wait = 'long' }]", "`long` is not a duration"),
        ("steps = [{ wait = '-3s' }]", "`-3s` is not a duration"),
        ("steps = [{ quota = 101 }]", "`quota` must be a percentage"),
        ("steps = [{ flood = 2000000000 }]", "`flood` must be at most"),
        ("steps = [{ compact = false }]", "`compact = false` has no effect"),
        ("steps = [{ run = 'a', times = 0 }]", "`times` must be a number from 1 to 1000"),
        ("steps = [{ repeat = [] }]", "`repeat` requires `times`"),
        ("steps = [{ repeat = [{ run = 'a', times = 1000 }], times = 11 }]", "more than 10000"),
        ("steps = [{ repeat = [{ sya = 'a' }], times = 2 }]", "unknown field `sya`"),
        ("replies = [1]", "a string, or a table with `steps` and `says`"),
        ("replies = [{ syas = 'a' }]", "unknown field `syas`"),
        ("end = {}", "`end` is empty"),
        ("end = { hang = true, crash = 1 }", "`end` has more than one kind of end"),
        ("end = { hang = false }", "`hang = false` has no effect: remove it"),
        ("end = { crash = 1, ignore_term = true }", "`ignore_term` has no effect here"),
        ("end = { crash = 256 }", "`crash` must be an exit code"),
        ("end = { signal = 99 }", "`signal` must be the number of a signal"),
        ("cost = -1", "-1 is not an amount of money"),
        ("tokens = { inputs = 1 }", "unknown field `inputs`"),
        ("[[verify]]", "needs a `verdict`"),
        ("[[verify]]\nverdict = 'maybe'", "unknown variant `maybe`"),
        ("[[verify]]\nverdict = 'yes'\nend = { hang = true }", "either `verdict` or `end`"),
        ("[[judge]]", "unknown field `judge`"),
    ];
    for (text, wanted) in cases {
        let error = error(&format!("[[attempt]]\n{text}\n"));
        assert!(error.contains(wanted), "{text}\n{error}");
        assert!(error.starts_with("cannot use the script `night.toml`: TOML parse error at line "));
    }
}

#[test]
fn the_page_about_scripts_has_an_example_that_works() {
    let page = script::reference();
    assert!(page.contains(script::EXAMPLE));
    Script::parse(script::EXAMPLE, Path::new("example.toml")).unwrap();
}

/// Every step and end that a script can have is on the page: an error lists them all.
#[test]
fn the_page_about_scripts_leaves_nothing_out() {
    let page = script::reference();
    for table in ["steps = [{ x = 1 }]", "end = { x = 1 }", "x = 1"] {
        let error = error(&format!("[[attempt]]\n{table}\n"));
        let (_, names) = error.split_once("expected one of ").unwrap();
        for name in names.trim().split(", ").map(|name| name.trim_matches('`')) {
            assert!(page.contains(name), "`{name}` is not on the page");
        }
    }
}

//! Any last message of an agent: parsing does not panic, and the result is short and independent of
//! trailing blank lines.

#![no_main]

use libfuzzer_sys::fuzz_target;
use nightwright_core::watchdog;

/// The maximum length of the displayed text in characters, including the mark of a cut.
const MAX_TEXT: usize = 301;
/// The maximum length of a key, in characters.
const MAX_KEY: usize = 200;

fuzz_target!(|words: &str| {
    let notice = watchdog::analyze(words);
    assert_eq!(notice, watchdog::analyze(&format!("{words}\n \n\n")), "blank lines say something");
    if let Some(notice) = notice {
        assert!(notice.text.chars().count() <= MAX_TEXT && !notice.text.contains('\n'));
        assert!(notice.key.chars().count() <= MAX_KEY, "{}", notice.key);
    }
});

//! Any last message of an agent: parsing does not panic, and the result is short and independent of
//! trailing blank lines.

#![no_main]

use nightwright_core::watchdog;
use libfuzzer_sys::fuzz_target;

/// The maximum length of the displayed text in characters, including the mark of a cut.
const TEXT_MAX: usize = 301;
/// The maximum length of a key, in characters.
const KEY_MAX: usize = 200;

fuzz_target!(|words: &str| {
    let notice = watchdog::analyze(words);
    assert_eq!(notice, watchdog::analyze(&format!("{words}\n \n\n")), "blank lines say something");
    if let Some(notice) = notice {
        assert!(notice.text.chars().count() <= TEXT_MAX && !notice.text.contains('\n'));
        assert!(notice.key.chars().count() <= KEY_MAX, "{}", notice.key);
    }
});

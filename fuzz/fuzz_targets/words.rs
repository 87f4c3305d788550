//! The last words of an agent, whatever they are: listened to without a panic, and what is heard is
//! short and does not depend on blank lines behind it.

#![no_main]

use nightwright_core::watchdog;
use libfuzzer_sys::fuzz_target;

/// What is shown of the words, in characters, with the mark of a cut.
const TEXT_MAX: usize = 301;
/// The longest key, in characters.
const KEY_MAX: usize = 200;

fuzz_target!(|words: &str| {
    let notice = watchdog::analyze(words);
    assert_eq!(notice, watchdog::analyze(&format!("{words}\n \n\n")), "blank lines say something");
    if let Some(notice) = notice {
        assert!(notice.text.chars().count() <= TEXT_MAX && !notice.text.contains('\n'));
        assert!(notice.key.chars().count() <= KEY_MAX, "{}", notice.key);
    }
});

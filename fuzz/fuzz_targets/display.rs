//! No control sequence reaches the terminal, whatever surrounds it.

#![no_main]

use std::borrow::Cow;

use nightwright_core::display::{display_safe, one_line};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some((&most, input)) = input.split_first() else { return };
    let text = String::from_utf8_lossy(input);

    let safe = display_safe(&text);
    for c in safe.chars() {
        assert!(c == '\n' || c == '\t' || !is_obeyed(c), "{c:?} got through");
    }
    assert!(matches!(display_safe(&safe), Cow::Borrowed(_)), "what is safe was changed again");

    let line = one_line(&text, usize::from(most));
    assert!(line.chars().count() <= usize::from(most), "the line is too long");
    assert!(!line.chars().any(is_obeyed), "{line:?}");
});

/// Repeats the definition, because using the code under test would prove nothing.
fn is_obeyed(c: char) -> bool {
    matches!(
        u32::from(c),
        0x00..=0x1f
            | 0x7f..=0x9f
            | 0x034f
            | 0x061c
            | 0x115f
            | 0x1160
            | 0x17b4
            | 0x17b5
            | 0x180e
            | 0x200b
            | 0x200e
            | 0x200f
            | 0x2028..=0x202e
            | 0x2060..=0x2064
            | 0x2066..=0x206f
            | 0x3164
            | 0xfeff
            | 0xffa0
            | 0xfff9..=0xfffb
            | 0x1d173..=0x1d17a
            | 0xe0000..=0xe007f
            | 0xe0100..=0xe01ef
    )
}

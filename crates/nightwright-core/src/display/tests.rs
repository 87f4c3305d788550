use proptest::prelude::*;

use super::*;

#[test]
fn control_sequences_are_removed() {
    let cases = [
        ("colour", "\u{1b}[1;31mred\u{1b}[0m", "red"),
        ("private mode", "a\u{1b}[?25lb", "ab"),
        ("cursor", "done\u{1b}[2K\u{1b}[1A", "done"),
        ("title", "\u{1b}]0;title\u{7}text", "text"),
        ("link", "\u{1b}]8;;http://x.y/\u{1b}\\here\u{1b}]8;;\u{1b}\\", "here"),
        ("device control", "\u{1b}Pq#0\u{1b}\\x", "x"),
        ("character set", "\u{1b}(Bx", "x"),
        ("reset", "\u{1b}cx", "x"),
        ("one-character forms", "\u{9b}31mx\u{9d}0;t\u{9c}y", "xy"),
        ("lone escape", "a\u{1b}", "a"),
        ("backspace and bell", "rm\u{8}\u{8}ls\u{7}", "rmls"),
        ("delete", "a\u{7f}b", "ab"),
        ("null", "a\0b", "ab"),
        ("override", "a\u{202e}b\u{202c}c", "abc"),
        ("isolate", "a\u{2066}b\u{2069}c\u{200f}\u{61c}", "abc"),
        ("hidden", "a\u{e0100}b\u{e01ef}c\u{34f}d\u{17b4}\u{17b5}e\u{1d173}\u{1d17a}f", "abcdef"),
    ];
    for (name, text, safe) in cases {
        assert_eq!(display_safe(text), safe, "{name}");
    }
}

#[test]
fn an_escape_can_not_hide_what_people_should_see() {
    let cases = [
        ("no end", "\u{1b}]0;all is well\nit is not", "0;all is well\nit is not"),
        ("no final", "\u{1b}[12\nshown", "12\nshown"),
        ("escape in a string", "\u{1b}]0;a\u{1b}[0mb\u{7}", "0;ab"),
    ];
    for (name, text, safe) in cases {
        assert_eq!(display_safe(text), safe, "{name}");
    }
}

#[test]
fn a_carriage_return_is_a_new_line() {
    assert_eq!(display_safe("a\r\nb\r\n"), "a\nb\n");
    assert_eq!(display_safe("10%\r20%"), "10%\n20%");
}

#[test]
fn safe_text_is_not_copied() {
    for text in ["", "plain\n\ttext", "grüße, 世界, 👩‍💻, e\u{301}"] {
        assert!(matches!(display_safe(text), Cow::Borrowed(same) if same == text));
    }
}

#[test]
fn a_text_of_nothing_but_beginnings_takes_no_time() {
    let text = "\u{9d}".repeat(1 << 20);
    assert_eq!(display_safe(&text), "");
}

#[test]
fn one_line_is_cut_at_a_character() {
    let cases = [
        ("short", 10, "short"),
        ("exactly ten", 11, "exactly ten"),
        ("exactly ten", 10, "exactly t…"),
        ("zwölf Bären", 4, "zwö…"),
        ("  two\n\n lines\t ", 20, "two lines"),
        ("ab cd", 3, "ab…"),
        ("\u{1b}[1mbold\u{1b}[0m\r\nnext", 20, "bold next"),
        ("", 5, ""),
        ("anything", 0, ""),
        ("anything", 1, "…"),
    ];
    for (text, most, line) in cases {
        assert_eq!(one_line(text, most), line, "{text:?} in {most}");
    }
}

/// Attacks on a terminal: the name, the input and the permitted output.
const ATTACKS: &str = include_str!("attacks.txt");

/// A line of the table as text: `\\e`, `\\a`, `\\n`, `\\r`, `\\t`, `\\b`, `\\\\` and `\\u{…}`.
fn undone(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match rest.next().unwrap() {
            'e' => out.push('\u{1b}'),
            'a' => out.push('\u{7}'),
            'b' => out.push('\u{8}'),
            'n' => out.push('\n'),
            'r' => out.push('\r'),
            't' => out.push('\t'),
            'u' => {
                let digits: String = rest.by_ref().skip(1).take_while(|c| *c != '}').collect();
                out.push(char::from_u32(u32::from_str_radix(&digits, 16).unwrap()).unwrap());
            }
            other => out.push(other),
        }
    }
    out
}

#[test]
fn attacks_that_are_known_leave_only_text() {
    let mut known = 0;
    for line in ATTACKS.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let parts: Vec<_> = line.split(" | ").collect();
        let [name, attack, left] = parts[..] else { panic!("{line}") };
        let (attack, left) = (undone(attack.trim()), undone(left.trim()));
        assert_eq!(display_safe(&attack), left, "{}", name.trim());
        // An attack that is cut anywhere is no more dangerous.
        for (at, _) in attack.char_indices() {
            assert!(!display_safe(&attack[..at]).chars().any(is_unsafe), "{name}");
            assert!(!display_safe(&attack[at..]).chars().any(is_unsafe), "{name}");
        }
        known += 1;
    }
    assert!(known >= 30, "{known}");
}

#[test]
fn scripts_and_emoji_keep_what_joins_them() {
    let text = "👩‍💻 ❤\u{fe0f} नम\u{200d}स् می\u{200c}خواهم soft\u{ad}hyphen 🏴";
    assert!(matches!(display_safe(text), Cow::Borrowed(_)));
}

proptest! {
    #[test]
    fn nothing_dangerous_survives(
        text in r"([\x00-\x20\x7f-\x9f\u{200b}\u{200e}\u{2028}\u{202e}\u{2067}\u{e0041}]|[\[\]0-9;mP\\]|\PC){0,40}",
    ) {
        let safe = display_safe(&text);
        prop_assert!(!safe.chars().any(is_unsafe), "{safe:?}");
        prop_assert!(matches!(display_safe(&safe), Cow::Borrowed(_)));
    }

    #[test]
    fn plain_text_is_unchanged(text in r"[ -~äöü\n\t]{0,80}") {
        prop_assert_eq!(display_safe(&text), text.as_str());
    }

    #[test]
    fn one_line_is_one_safe_line_of_that_length(text in any::<String>(), most in 0_usize..30) {
        let line = one_line(&text, most);
        prop_assert!(line.chars().count() <= most);
        prop_assert!(!line.chars().any(|c| is_unsafe(c) || c == '\n' || c == '\t'));
    }
}

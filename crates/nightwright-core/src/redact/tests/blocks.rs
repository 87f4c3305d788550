//! Private keys in their blocks, and strings that only mention keys.

use super::*;

fn masked(text: &str) -> String {
    Secrets::default().mask(text).into_owned()
}

/// Decorates a line, given its number, as a program would.
type Around = fn(usize, &str) -> String;

/// Lines of a key, the last one shorter than the others.
const KEY: [&str; 3] = [
    "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj",
    "MzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDuictGeurT8jNbvJZHtCSuYEvu",
    "aB3d+fg9==",
];

#[test]
fn a_private_key_is_masked_over_its_lines_and_no_further() {
    let secrets = Secrets::default();
    let body = "MIIEvQIBADANBgkq+/==";
    let key = format!(
        "-----BEGIN RSA PRIVATE KEY-----\n{body}\n{body}\n-----END RSA PRIVATE KEY-----\nrest"
    );
    let stars = "*".repeat(body.len());
    let expected = key.replace(body, &stars);
    assert_eq!(secrets.mask(&key), expected);
    let json = serde_json::to_string(&json!({ "key": key, "next": "value" })).unwrap();
    let masked: Value = serde_json::from_str(&secrets.mask(&json)).unwrap();
    assert_eq!(masked, json!({ "key": expected, "next": "value" }));
    for size in [1, 7, 40] {
        assert_eq!(streamed(&secrets, key.as_bytes(), &[size]), expected.as_bytes());
    }
    let torn = "{\"a\":\"-----BEGIN PRIVATE KEY-----\\nabc\",\"b\":\"value\"}\n";
    let value: Value = serde_json::from_str(&secrets.mask(torn)).unwrap();
    assert_eq!(value["b"], "value");
}

#[test]
fn a_private_key_with_a_quote_at_each_line_is_masked() {
    let key =
        "\"-----BEGIN PRIVATE KEY-----\\n\"\n\"MIIEvQIBADAN\\n\"\n\"-----END PRIVATE KEY-----\"";
    let secrets = Secrets::default();
    for text in [key.to_owned(), json!({ "text": key, "next": "MIIE" }).to_string()] {
        let masked = secrets.mask(&text);
        assert!(!masked.contains("MIIEv"), "{masked}");
        assert_eq!(masked.matches("MIIE").count(), text.matches("next").count());
    }
}

#[test]
fn every_block_of_a_key_is_masked_to_its_end_and_one_without_an_end_not_for_ever() {
    let block = |front: &str, body: &str| {
        format!("{front}-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n")
    };
    let hidden = block("", "abc1").replace("BEGIN ", "BEGIN \u{1b}[0m");
    let text = hidden + &block("", "abc2") + &block("  ", "abc3") + "abc4";
    let expected = text.replace("abc1", "****").replace("abc2", "****").replace("abc3", "****");
    assert_eq!(masked(&text), expected);
    let endless = format!("-----BEGIN PRIVATE KEY-----\n{}tail", "abcd\n".repeat(5_000));
    let out = masked(&endless);
    assert!(out.contains("-----\n****\n****\n") && out.ends_with("abcd\ntail"), "{}", out.len());
    let json = r#"{"key":"-----BEGIN PRIVATE KEY-----\u000aMIIE\u000a-----END","b":"MIIE"}"#;
    let value: Value = serde_json::from_str(&masked(json)).unwrap();
    let expected = json!({ "key": "-----BEGIN PRIVATE KEY-----\n****\n-----END", "b": "MIIE" });
    assert_eq!(value, expected);
}

#[test]
fn what_only_speaks_of_a_key_hides_nothing_behind_it() {
    for text in [
        "-----BEGIN PRIVATE KEY----- expected at line 1\nFAILED test_a: expected 3, got 4\n",
        "no -----BEGIN PRIVATE KEY-----\nFAILED test_a: expected 3, got 4\n",
        "\"-----BEGIN PRIVATE KEY-----\", said he\nand she did not\n",
        "missing `-----BEGIN PRIVATE KEY-----`\n\nError: it is no key\n",
        "-----BEGIN PRIVATE KEY-----\n/usr/lib/keys/of/mine\nall of it\n",
        "-----BEGIN PRIVATE KEY-----\nsha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c\n",
    ] {
        assert_eq!(masked(text), text);
        let line = json!({ "text": text }).to_string();
        assert_eq!(masked(&line), line);
    }
    // A few lines of one word may be the end of a key; many are not.
    let text = format!("-----BEGIN PRIVATE KEY-----\n{}", "word\n".repeat(40));
    assert!(masked(&text).ends_with(&"word\n".repeat(30)), "{}", masked(&text));
}

/// Encodings of `+`, `/` and `=` in other strings.
const SIGNS: [[&str; 3]; 4] = [
    ["+", "/", "="],
    ["+", "\\/", "="],
    ["\\u002B", "\\u002f", "\\u003D"],
    ["\\\\u002B", "\\\\\\u002f", "\\\\u003D"],
];

fn with(signs: [&str; 3], line: &str) -> String {
    let [plus, slash, equals] = signs;
    let written = line.chars().map(|c| match c {
        '+' => plus.to_owned(),
        '/' => slash.to_owned(),
        '=' => equals.to_owned(),
        other => other.to_string(),
    });
    written.collect()
}

/// Whether a part of the line is visible that is too long for a word.
fn shows_any_of(out: &str, line: &str) -> bool {
    let parts = line.split(['+', '/', '=']).flat_map(|part| part.as_bytes().chunks_exact(5));
    parts.into_iter().any(|part| out.contains(str::from_utf8(part).unwrap()))
}

#[test]
fn a_key_is_masked_whatever_stands_around_its_lines() {
    let around: [Around; 12] = [
        |_, line| format!("{line}\n"),
        |number, line| format!("{number:6}\u{2192}{line}\n"),
        |number, line| format!("{number}\t{line}\n"),
        |_, line| format!("    {line}\r\n"),
        |_, line| format!("  \"{line}\\n\" +\n"),
        |_, line| format!("  '{line}',\n"),
        |_, line| format!("+{line}\n"),
        |_, line| format!("-{line}\n"),
        |number, line| format!("keys/a.pem:{number}:{line}\n"),
        |_, line| format!("2031-01-02T03:04:05Z stdout {line}\n"),
        |_, line| format!("\u{1b}[32m{line}\u{1b}[0m\n"),
        |_, line| format!("{line} "),
    ];
    for header in ["", "Proc-Type: 4,ENCRYPTED", "Version: GnuPG v2"] {
        for around in around {
            let first = ["-----BEGIN RSA PRIVATE KEY-----", header, ""];
            let last = ["-----END RSA PRIVATE KEY-----", "what follows stays"];
            for signs in SIGNS {
                let key = KEY.map(|line| with(signs, line));
                let key = key.iter().map(String::as_str);
                let lines = first.into_iter().chain(key).chain(last).zip(1..);
                let text: String = lines.map(|(line, number)| around(number, line)).collect();
                for text in [json!({ "text": text }).to_string(), text] {
                    let out = masked(&text);
                    assert!(!KEY.iter().any(|line| shows_any_of(&out, line)), "{out}");
                    assert!(out.contains("what follows stays"), "{out}");
                    let pieces = streamed(&Secrets::default(), text.as_bytes(), &[7]);
                    assert_eq!(String::from_utf8(pieces).unwrap(), out);
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn any_key_is_masked_however_its_signs_are_written(
        lines in prop::collection::vec("[A-Za-z0-9+/]{64}", 1..8),
        last in "[A-Za-z0-9+/]{4,60}={0,2}",
        signs in prop::sample::select(&SIGNS[..]),
    ) {
        let key: String = lines.iter().chain([&last]).map(|line| with(signs, line) + "\n").collect();
        let text = format!(
            "-----BEGIN PRIVATE KEY-----\n{key}-----END PRIVATE KEY-----\nand this\n"
        );
        for text in [json!({ "text": text }).to_string(), text] {
            let out = masked(&text);
            prop_assert!(!lines.iter().any(|line| shows_any_of(&out, line)), "{}", out);
            prop_assert!(out.contains("and this"), "{}", out);
        }
    }
}

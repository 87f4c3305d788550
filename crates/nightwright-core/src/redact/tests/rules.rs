//! Boundary cases of each rule: strings that are masked, and strings that are not.

use serde_json::{Value, json};

use super::*;

fn masked(values: &[&str], patterns: &[&str], text: &str) -> String {
    Secrets::new(values, patterns).unwrap().mask(text).into_owned()
}

#[track_caller]
fn stays(values: &[&str], patterns: &[&str], text: &str) {
    assert_eq!(masked(values, patterns, text), text);
}

fn token() -> String {
    format!("ghp_{}", "a1B2".repeat(9))
}

#[test]
fn a_pattern_of_the_user_ends_with_the_line_and_leaves_quotes_escapes_and_characters_whole() {
    stays(&[], &["a[^z]*b"], "a1\nb1");
    assert_eq!(masked(&[], &["zz.*"], "\"zzz it\""), "\"******\"");
    // Patterns match the decoded text, not its JSON encoding.
    stays(&[], &["n[0-9]+"], r#"{"t":"a\n12"}"#);
    stays(&[], &["pin."], r#"{"t":"pin\n"}"#);
    stays(&[], &["9hidden"], r#"{"t":"\u00e9hidden"}"#);
    assert_eq!(masked(&[], &[r"(?-u:[\x80-\xbf])hidden"], "a ühidden"), "a ********");
    assert_eq!(masked(&[], &[r"hidden(?-u:[\xc0-\xff])"], "hiddenü b"), "******** b");
}

#[test]
fn a_form_begins_where_a_word_does() {
    let token = token();
    let stars = "*".repeat(token.len());
    for front in ["x%3D", "red\u{1b}[31m", r"\n", "("] {
        let text = format!("{front}{token} ok");
        assert_eq!(masked(&[], &[], &text), format!("{front}{stars} ok"));
    }
    stays(&[], &[], "\u{1b}[0mtask-12-of-a-long-list-of-tasks");
    stays(&[], &[], "eyJhbGciOiJIUzI1.none");
    let two = format!("{token} and {token}");
    assert_eq!(masked(&[], &[], &two), format!("{stars} and {stars}"));
}

#[test]
fn a_color_is_taken_out_and_what_ends_a_line_or_a_text_is_not() {
    let known = ["hunter2hunter2"];
    for colour in ["\u{1b}[0m", "\u{1b}[01;31m", r"\u001b[K", r"\\u001B[38;5;9m"] {
        let text = format!("hunter2{colour}hunter2");
        assert_eq!(masked(&known, &[], &text), "*".repeat(text.len()), "{colour}");
    }
    for seen in ["\u{2028}", r"\u2028", r"\u000a", r"\n", "\r", "\u{1b}", r"\u001b", "[0m"] {
        stays(&known, &[], &format!("hunter2{seen}hunter2"));
    }
    // A color sequence does not span strings.
    stays(&known, &[], r#"["hunter2\u001b[1","Ahunter2"]"#);
}

#[test]
fn values_are_found_with_what_json_and_addresses_make_of_their_signs() {
    for sign in ["\n", "\r", "\t", "\u{8}", "\u{c}", "/", "\\", "\"", "ü", "😀", " "] {
        let value = format!("ab12cd{sign}ef34gh");
        let mut text = json!({ "text": value }).to_string();
        for depth in 0..2 {
            let out = masked(&[&value], &[], &text);
            assert!(!out.contains("ab12") && !out.contains("34gh"), "{depth} {sign:?}: {out}");
            text = json!({ "text": text }).to_string();
        }
        let percent: Vec<_> = sign.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let percent = percent.concat();
        let out = masked(&[&value], &[], &format!("x=ab12cd{percent}ef34gh"));
        assert!(!out.contains("ab12"), "{sign:?}: {out}");
    }
    // The punctuation around a value reveals nothing, and programs often omit it.
    assert_eq!(masked(&["<<hunter22hunter>>"], &[], "a hunter22hunter"), "a **************");
    // Values with a common prefix, and one inside another.
    let known = ["hunter22hunter-one", "hunter22hunter-two", "hunter22hunter"];
    for value in known {
        let text = format!("a {value} b");
        assert_eq!(masked(&known, &[], &text), format!("a {} b", "*".repeat(value.len())));
    }
}

#[test]
fn an_event_keeps_its_words_and_loses_its_secrets() {
    use crate::event::{Event, FeedbackSource, NoteEvent, OperatorEvent};
    let secrets = Secrets::new(["run_paused", "watchdog", "ab12cd\nef34gh"], ["^pin-.*"]).unwrap();
    assert_eq!(secrets.mask_event(&Event::Operator(OperatorEvent::Paused)), None);
    let said = |text: &str| {
        Event::Note(NoteEvent::FeedbackAdded {
            source: FeedbackSource::Watchdog,
            text: text.to_owned(),
        })
    };
    // A name of the format stays.
    assert_eq!(secrets.mask_event(&said("the watchdog")), Some(said("the ********")));
    let warned = |text: &str| Event::Note(NoteEvent::Warning { text: text.to_owned() });
    assert_eq!(secrets.mask_event(&warned("a\npin-1")), Some(warned("a\n*****")));
    let over_lines = secrets.mask_event(&warned("x ab12cd\nef34gh y"));
    assert_eq!(over_lines, Some(warned("x ************** y")));
}

#[test]
fn only_what_is_masked_may_differ() {
    let agree = |masked: Value, original: Value| agrees(&masked, &original);
    let masked = json!({ "goal": "use ************** now" });
    assert!(agree(masked.clone(), json!({ "goal": "use ab12cd\nef34gh now" })));
    assert!(!agree(masked.clone(), json!({ "goal": "try ab12cd\nef34gh now" })));
    assert!(!agree(masked.clone(), json!({ "goal": "use ab12cd\nef34gh then" })));
    assert!(!agree(masked, json!({ "goal": "use hunter22hunter now", "more": 1 })));
    assert!(!has_masks(&json!("********************")) && !has_masks(&json!("# ********** #")));
    assert!(!has_masks(&json!("/** ********** it")) && has_masks(&json!("it ********** is")));
}

#[test]
fn values_that_say_nothing_are_not_looked_for() {
    for value in ["!!!!!!!!!!!!", "-----BEGIN X9 KEY-----"] {
        stays(&[value], &[], &format!("a {value} b"));
    }
    assert_eq!(masked(&["/srv/one\n/srv/two"], &[], r"/srv/one\n/srv/two"), "/*****************");
    assert!(is_secret_name("DATABASE_URL") && is_secret_name("SENTRY_DSN"));
}

#[test]
fn words_that_look_like_a_secret_at_first_stay() {
    let digest = "9f86d081884c7d65";
    for text in [
        format!("docker://ubuntu:22.04@sha256:{digest}"),
        "Authorization: see section-4.2".to_owned(),
        ".sk-circle-fade-dot-animation-2 { }".to_owned(),
    ] {
        stays(&[], &[], &text);
    }
    for (text, expected) in [
        ("://me:abcd@efgh@host/a@b", "://me:*********@host/a@b"),
        ("Authorization: Basic a1b2-c3d4", "Authorization: Basic *********"),
        ("sk-circle-fade-dot-a1b2c3d4", "***************************"),
        ("Authorization: 1234567-89", "Authorization: **********"),
        ("Authorization: staging-admin-4", "Authorization: ***************"),
        (
            "Authorization: Bearer staging-admin-token-2024",
            "Authorization: Bearer ************************",
        ),
        (r#""authorization":"token%20staging-4""#, r#""authorization":"token%20*********""#),
        ("Bearer staging-admin-token-2024", "Bearer ************************"),
        ("x-api-key: correct-horse-battery-42", "x-api-key: ************************"),
    ] {
        assert_eq!(masked(&[], &[], text), expected);
    }
}

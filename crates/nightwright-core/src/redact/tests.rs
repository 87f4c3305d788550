mod blocks;
mod entries;
mod forms;
mod known;
mod names;
mod rules;
mod wanted;
mod written;

use std::borrow::Cow;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

const SECRET: &str = r#"pa"ss\wo/rd-9 ü-end"#;

fn secrets() -> Secrets {
    Secrets::new([SECRET, "hunter2hunter2"], Vec::<String>::new()).unwrap()
}

fn with_patterns() -> Secrets {
    Secrets::new([SECRET, "hunter2hunter2"], ["pin=([0-9]+)", "zz+.*", "[0-9]{6}", "^key (.+)$"])
        .unwrap()
}

fn streamed(secrets: &Secrets, bytes: &[u8], sizes: &[usize]) -> Vec<u8> {
    let mut masking = StreamMasker::new(secrets.clone());
    let mut out = Vec::new();
    let mut rest = bytes;
    let mut sizes = sizes.iter().copied().chain([1]).cycle();
    while !rest.is_empty() {
        let size = sizes.next().unwrap_or(1).clamp(1, rest.len());
        masking.push(&rest[..size], |piece| out.extend_from_slice(piece));
        rest = &rest[size..];
    }
    masking.finish(|piece| out.extend_from_slice(piece));
    out
}

/// Whether the bytes contain the value in any encoding.
fn shows(bytes: &[u8], secret: &str) -> bool {
    let mut text = String::from_utf8_lossy(bytes).into_owned();
    for _ in 0..4 {
        if text.contains(secret) {
            return true;
        }
        text = undo_one_level(&text);
    }
    false
}

fn undo_one_level(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n') => out.push('\n'),
                Some('u') => {
                    let digits: String = chars.by_ref().take(4).collect();
                    let code = u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32);
                    out.extend(code);
                }
                Some(c) => out.push(c),
                None => {}
            },
            c => out.push(c),
        }
    }
    out
}

#[test]
fn a_value_is_masked_however_json_writes_it() {
    let secrets = secrets();
    let mut text = format!("before {SECRET} after");
    for depth in 0..4 {
        let masked = secrets.mask(&text);
        assert_eq!(masked.len(), text.len(), "{depth}");
        assert!(!shows(masked.as_bytes(), SECRET), "{depth}: {masked}");
        assert!(masked.contains("before ****") && masked.contains("**** after"), "{masked}");
        text = serde_json::to_string(&json!({ "text": text })).unwrap();
    }
    let ascii = r#"{"a":"pa\"ss\\wo\/rd-9 \u00fc-end"}"#;
    let masked = secrets.mask(ascii);
    assert!(serde_json::from_str::<Value>(&masked).is_ok(), "{masked}");
    assert!(!masked.contains("ss") && !masked.contains("end"), "{masked}");
}

#[test]
fn an_escape_in_front_of_a_secret_stays_whole() {
    let secrets = secrets();
    let token = format!("pm_{}", "a1B2".repeat(9));
    let text =
        format!(r#"{{"a":"line\n{token}","b":"\nhunter2hunter2","c":"é\u00e9hunter2hunter2"}}"#);
    let masked = secrets.mask(&text);
    let value: Value = serde_json::from_str(&masked).unwrap();
    assert_eq!(value["b"], "\n**************");
    assert_eq!(value["c"], "éé**************");
    let token = format!("npm_{}", "a1B2".repeat(9));
    let text = format!(r#"{{"a":"line\n{token}"}}"#);
    let value: Value = serde_json::from_str(&secrets.mask(&text)).unwrap();
    assert_eq!(value["a"], format!("line\n{}", "*".repeat(token.len())));
}

#[test]
fn a_value_that_ends_in_a_backslash_leaves_the_quote_behind_it_alone() {
    let secrets = Secrets::new([r"hunter22hunter\"], Vec::<String>::new()).unwrap();
    for text in [r"hunter22hunter\", r#"hunter22hunter\" said"#, "hunter22hunter\\\n"] {
        let json = serde_json::to_string(&json!({ "text": text })).unwrap();
        let masked = secrets.mask(&json);
        assert!(serde_json::from_str::<Value>(&masked).is_ok(), "{masked}");
        assert!(!masked.contains("hunter"), "{masked}");
    }
}

#[test]
fn a_value_with_quotes_does_not_eat_the_quotes_of_json() {
    let secrets = Secrets::new([r#"abcdefgh":"ijklmnop"#], Vec::<String>::new()).unwrap();
    let text = r#"{"abcdefgh":"ijklmnop"}"#;
    assert_eq!(secrets.mask(text), r#"{"********":"********"}"#);
    assert_eq!(secrets.mask(r#"say abcdefgh":"ijklmnop"#), "say *******************");
}

#[test]
fn patterns_of_the_user_are_used_and_leave_json_valid() {
    let secrets =
        Secrets::new([""; 0], ["ticket-[0-9]+", r"pin=(\d+)", r"\d{6,}", "x.*y"]).unwrap();
    assert_eq!(secrets.mask("see ticket-17, pin=123"), "see *********, pin=***");
    let line = r#"{"n":1234567,"t":"1234567 ticket-9","x":"1","y":"x and \"y\""}"#;
    let masked = secrets.mask(line);
    let value: Value = serde_json::from_str(&masked).unwrap();
    assert_eq!(value["n"], 1_234_567);
    assert_eq!(value["t"], "******* ********");
}

#[test]
fn a_pattern_that_can_not_be_used_is_named() {
    let bad = |pattern: &str| Secrets::new([""; 0], ["fine1", pattern]).unwrap_err();
    assert_eq!(bad("(").index, 1);
    assert_eq!(bad("a*").to_string(), "cannot use pattern 2: it matches the empty string");
    assert!(bad("(").to_string().contains("unclosed group"), "{}", bad("("));
}

#[test]
fn a_chunk_that_ends_a_line_is_not_kept_back() {
    let mut masking = StreamMasker::new(secrets());
    let mut out = Vec::new();
    masking.push(b"half hun", |piece| out.extend_from_slice(piece));
    assert!(out.is_empty());
    masking.push(b"ter2hunter2\n", |piece| out.extend_from_slice(piece));
    assert_eq!(out, b"half **************\n");
}

#[test]
fn a_line_without_an_end_takes_little_memory_and_hides_nothing() {
    let secrets = secrets();
    let mut masking = StreamMasker::new(secrets.clone());
    let chunk = format!("{}hunter2hunter2\\\"", "x y-z ".repeat(15_000));
    let (mut out, mut all) = (Vec::new(), Vec::new());
    for _ in 0..50 {
        masking.push(chunk.as_bytes(), |piece| out.extend_from_slice(piece));
        all.extend_from_slice(chunk.as_bytes());
        assert!(all.len() - out.len() <= MAX_HELD);
    }
    masking.finish(|piece| out.extend_from_slice(piece));
    assert!(out == secrets.mask_bytes(&all).as_ref());
}

const MAX_HELD: usize = (1 << 20) + (64 << 10);

#[test]
fn a_token_longer_than_anything_is_masked_to_its_end() {
    let token = format!("ghp_{}", "a1B2".repeat(600_000));
    let text = format!("see {token} there\n");
    let out = streamed(&Secrets::default(), text.as_bytes(), &[100_000, 77_777]);
    assert_eq!(String::from_utf8(out).unwrap(), format!("see {} there\n", "*".repeat(token.len())));
}

#[test]
fn records_are_masked_in_every_text_and_stay_records() {
    use crate::event::{Event, NoteEvent};
    let secrets = Secrets::new([SECRET, "completed"], ["[0-9]{4}-pin"]).unwrap();
    let event =
        Event::Note(NoteEvent::Warning { text: format!("it says {SECRET}, completed\n1234-pin") });
    let masked = secrets.mask_event(&event).unwrap();
    let Event::Note(NoteEvent::Warning { text }) = &masked else { panic!("{masked:?}") };
    assert!(text.starts_with("it says ***") && text.ends_with("********"), "{text}");
    assert!(!text.contains("pa\"ss"), "{text}");
    for event in crate::event::samples() {
        if let Some(masked) = secrets.mask_event(&event) {
            assert_eq!(masked.name(), event.name());
        }
    }
    assert!(
        secrets.mask_event(&Event::Note(NoteEvent::Warning { text: "fine".to_owned() })).is_none()
    );
}

#[test]
fn what_is_masked_agrees_with_what_it_was() {
    let original = json!({ "goal": "use hunter2hunter2 now", "n": 1 });
    let masked = json!({ "goal": "use ************** now", "n": 1 });
    assert!(agrees(&masked, &original));
    assert!(!agrees(&masked, &json!({ "goal": "use hunter2hunter2 then", "n": 1 })));
    assert!(!agrees(&masked, &json!({ "goal": "use hunter2hunter2 now", "n": 2 })));
}

#[test]
fn text_made_to_be_slow_is_not() {
    let secrets =
        Secrets::new([r"\\hunter2\\x", "-n-n-n-\\'-&", "ghp gh\\n"], ["x{3,}", "^n*(y)$"]).unwrap();
    for piece in [
        "token=",
        "\"password\":\"",
        "Key: ",
        " -u a:",
        "machine a login b password ",
        "\\\"token\\\":\\\"",
        "API_KEY='aB3",
        "Cookie: a=b;",
        "pypi-",
        "ask-",
        "sk-",
        "\\",
        "{\"a\":\"pa\"",
        "eyJ",
        "://a:",
        "\\u0041",
        "-----BEGIN ",
        "task-",
        "-eyJ",
        "\u{1b}[0m",
        "\\u001b[",
        "Bearer ",
        "n",
        "\\n",
        "\\\\n",
        "\\ngh",
        "\\e[",
        "\\x0aghp_",
        ":\\/",
        "\\/",
        "Authorization: a ",
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\\na",
        "sk-circle-fade-dot-animation-2-",
        "- name: A_TOKEN\n",
        "name: A_TOKEN\\n",
        "A_TOKEN,value:",
        "://a:bcd@",
        "\u{200d}",
        "\\ud834\\udd73",
    ] {
        let text = piece.repeat((256 << 10) / piece.len());
        let json = json!({ "a": &text, "b": json!([&text]).to_string() }).to_string();
        for text in [text, json] {
            assert_eq!(streamed(&secrets, text.as_bytes(), &[64 << 10]).len(), text.len());
        }
    }
}

#[test]
fn json_that_is_nested_without_end_is_neither_slow_nor_held() {
    let (deep, text) = ("[".repeat(64 << 10), "\"hunter2hunter2\",".repeat(4 << 10));
    let mut masking = StreamMasker::of_json(secrets());
    let (mut length, mut shown) = (5, 0);
    masking.push(b"{\"a\":", |_| {});
    for chunk in [&deep, &text].iter().flat_map(|chunk| std::iter::repeat_n(chunk, 400)) {
        length += chunk.len();
        masking.push(chunk.as_bytes(), |out| {
            shown += out.len();
            assert!(memchr::memmem::find(out, b"hunter").is_none());
        });
        assert!(length - shown <= MAX_HELD);
        assert!(masking.memory() <= MAX_HELD, "{}", masking.memory());
    }
}

/// A line longer than the part that is held back, filled with this piece.
fn long_line(piece: &str) -> String {
    let filling = "lorem ipsum dolor ".repeat(40);
    let count = (5 << 19) / (filling.len() + piece.len());
    format!("{piece}{filling}").repeat(count)
}

#[test]
fn a_line_longer_than_what_is_kept_hides_nothing_and_stays_json() {
    let secrets = with_patterns();
    let pieces = [
        ("Authorization: Bearer Zq9Zq9Zq9Zq9Zq9Zq9", "Zq9Zq9"),
        ("https://me:hunter3hunter@host", "hunter3"),
        ("pin=471147 ", "471147"),
        ("hunter2hunter2", "hunter2"),
    ];
    for (piece, secret) in pieces {
        let text = long_line(piece);
        let numbers: Vec<u32> = (100_000..250_000).collect();
        let value =
            json!({ "n": numbers, "pin=471147": text, "z": "zzz to the end", "last": 123_456 });
        for line in [text.clone(), value.to_string()] {
            let whole = secrets.mask(&line);
            assert_eq!(whole.matches(secret).count(), 0);
            let pieces = streamed(&secrets, line.as_bytes(), &[128 << 10, 77_777]);
            assert!(pieces == whole.as_bytes(), "{piece}");
        }
        let masked: Value = serde_json::from_str(&secrets.mask(&value.to_string())).unwrap();
        assert_eq!((&masked["n"], &masked["last"]), (&value["n"], &value["last"]));
        assert_eq!(masked["z"], "**************");
    }
}

#[test]
fn in_json_only_texts_are_masked_and_each_for_itself() {
    let secrets = Secrets::new(["modelUsage"], ["secret=.*", "[0-9]{6}"]).unwrap();
    let line = r#"{"modelUsage":{"a":123456},"t":"use secret=abc 1","secret=x":[1,"modelUsage"],"z":"kept"}"#;
    let expected = r#"{"**********":{"a":123456},"t":"use ************","********":[1,"**********"],"z":"kept"}"#;
    assert_eq!(secrets.mask(line), expected);
    let pretty =
        serde_json::to_vec_pretty(&json!({ "modelUsage": 123_456, "t": "secret=1" })).unwrap();
    let masked: Value = serde_json::from_slice(&secrets.mask_json(&pretty)).unwrap();
    assert_eq!(masked, json!({ "modelUsage": 123_456, "t": "********" }));
    // Text that only looks like JSON is masked as plain text.
    assert_eq!(secrets.mask("{ echo modelUsage; }"), "{ echo **********; }");
}

#[test]
fn colors_hide_nothing() {
    let secrets = Secrets::new(["correct-horse-9x7Q2z"], ["ticket-[0-9]+"]).unwrap();
    let red = "\u{1b}[01;31m\u{1b}[K";
    let texts = [
        format!("pw {red}correct\u{1b}[m\u{1b}[K-horse-9x7Q2z ok"),
        format!("pw tick{red}et-47 ok"),
        format!("pw {red}ghp_{}\u{1b}[0m{} ok", "a1B2".repeat(5), "a1B2".repeat(5)),
    ];
    for text in texts {
        let mut text = text;
        for depth in 0..3 {
            let masked = secrets.mask(&text);
            for part in ["correct", "horse", "7Q2z", "et-47", "a1B2"] {
                assert!(!masked.contains(part), "{depth}: {masked}");
            }
            assert!(masked.contains("pw ") && masked.contains(" ok"), "{masked}");
            if depth > 0 {
                assert!(serde_json::from_str::<Value>(&masked).is_ok(), "{masked}");
            }
            text = json!({ "text": text }).to_string();
        }
    }
}

#[test]
fn long_and_many_and_odd_values_are_all_found() {
    let letter = |seed: usize, at: usize| {
        let number = (seed * 7919 + at * at * 31 + at * 17 + seed * at) % 64;
        b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/"[number]
    };
    let value = |seed: usize, length: usize| (0..length).map(|at| letter(seed, at)).collect();
    let mut values: Vec<Vec<u8>> = (0..1500).map(|seed| value(seed, 40)).collect();
    values.extend((0..4).map(|seed| value(seed + 9000, 100_000)));
    values.push(b"caf\xe9-secret-value".to_vec());
    values.push("пароль-пароль".as_bytes().to_vec());
    values.push(b"pa\"ss/wo-9x7Q2z".to_vec());
    let secrets = Secrets::new(&values, [""; 0]).unwrap();
    for value in &values {
        let masked = secrets.mask_bytes(value);
        let signs = masked.iter().filter(|byte| byte.is_ascii_alphanumeric()).count();
        assert_eq!(signs, 0, "{}", String::from_utf8_lossy(&masked));
    }
    assert!(secrets.hides(r#"a pa\"ss/wo-9x7Q2z b"#) && secrets.hides("caf\u{fffd}-secret-value"));
}

fn noise() -> impl Strategy<Value = String> {
    prop::collection::vec(
        prop_oneof![
            4 => "[a-z \\\\\"/{}:,\n\u{e9}]{0,12}",
            1 => Just(SECRET.to_owned()),
            1 => Just(serde_json::to_string(SECRET).unwrap()),
            1 => Just("hunter2hunter2".to_owned()),
            1 => Just(format!("ghp_{}", "a1B2".repeat(9))),
            1 => Just("-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----".to_owned()),
            1 => Just("https://me:hunter2@host".to_owned()),
            1 => Just("Authorization: Bearer Zq9Zq9Zq9Zq9".to_owned()),
            1 => Just("hunter\u{1b}[01;31m\u{1b}[K2hun\u{1b}[mter2".to_owned()),
            1 => Just("pin=123456 x\u{200b}".to_owned()),
            1 => Just("\nkey of-zebras".to_owned()),
            1 => Just("\n- name: DB_PASSWORD\n".to_owned()),
            1 => Just("  value: zebra77zebra".to_owned()),
            1 => Just("\\nghp_".to_owned() + &"c3D4".repeat(9)),
        ],
        0..12,
    )
    .prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn chunks_of_any_size_give_what_the_whole_gives(
        text in noise(), sizes in prop::collection::vec(1_usize..40, 1..8),
    ) {
        let secrets = with_patterns();
        let whole = secrets.mask_bytes(text.as_bytes()).into_owned();
        let pieces = streamed(&secrets, text.as_bytes(), &sizes);
        prop_assert_eq!(String::from_utf8_lossy(&pieces), String::from_utf8_lossy(&whole));
        prop_assert_eq!(whole.len(), text.len());
    }

    #[test]
    fn json_stays_json_and_no_secret_stays(texts in prop::collection::vec(noise(), 1..5), depth in 0..3) {
        let secrets = with_patterns();
        let mut value = json!({ "texts": texts, "number": 12_345_678 });
        for _ in 0..depth {
            value = json!({ "inner": value.to_string() });
        }
        let text = value.to_string();
        let masked = secrets.mask(&text);
        prop_assert!(serde_json::from_str::<Value>(&masked).is_ok(), "{}", masked);
        prop_assert!(!shows(masked.as_bytes(), "hunter2hunter2"), "{}", masked);
        prop_assert!(!shows(masked.as_bytes(), SECRET), "{}", masked);
    }

    #[test]
    fn what_has_no_secret_is_not_copied(text in "[a-z \\\\\"/{}:,\n\u{e9}]{0,80}") {
        prop_assert!(matches!(secrets().mask(&text), Cow::Borrowed(_)));
    }
}

#[test]
fn masked_values_are_recognized_by_their_originals() {
    let secrets =
        Secrets::new(["correct-horse", "first line of a key\nsecond line of a key"], [""; 0]);
    let secrets = secrets.unwrap();
    for (original, wanted) in [
        (json!("plain ********** words"), &[][..]),
        (
            json!({ "goal": "use correct-horse.", "n": [1, "**correct-horse**"] }),
            &["correct-horse"],
        ),
        (json!("größe correct-horse"), &["correct-horse"]),
    ] {
        let mut masked = original.clone();
        secrets.mask_value(&mut masked);
        assert_eq!(masked_in(&masked, &original), wanted, "{masked}");
        assert!(agrees(&masked, &original), "{masked}");
    }
    // A mask that is longer than the masked text.
    let original = "a first line\nsecond line b, correct-horse";
    let masked = "a *************************** b, *************";
    assert_eq!(masked_in(&masked, &original), ["correct-horse", "first line\nsecond line"]);
}

#[test]
fn a_pattern_does_not_hide_the_words_of_the_program() {
    let secrets = Secrets::new(["toolu_correct-horse"], [".+"]).unwrap();
    let line = r#"{"type":"assistant","message":{"id":"msg_1","model":"claude-opus-4-5","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"type":"x","command":"ls"}},{"type":"tool_result","tool_use_id":"toolu_correct-horse","content":[{"type":"text","id":"a-1"}]}]},"tool_use_result":{"id":"a-1"},"error":"a text of words"}"#;
    let masked = r#"{"type":"assistant","message":{"id":"msg_1","model":"claude-opus-4-5","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"****":"*","*******":"**"}},{"type":"tool_result","tool_use_id":"*******************","content":[{"type":"****","id":"***"}]}]},"tool_use_result":{"id":"***"},"error":"***************"}"#;
    let shown = secrets.mask_lines_of_json(line.as_bytes());
    assert_eq!(str::from_utf8(&shown).unwrap(), masked);
}

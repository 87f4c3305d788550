//! The user's patterns in the agent's stream.

use super::*;

/// A pattern, the printed text, and the masked text.
const PRINTED: [(&str, &str, &str); 12] = [
    ("^ACME=(.+)$", "A=1\nACME=zebra-77\nB=2", "A=1\nACME=********\nB=2"),
    ("^ACME=(.+)$", "A=1\r\nACME=zebra-77\r\nB=2", "A=1\r\nACME=********\r\nB=2"),
    (r"\bzebra-[0-9]+\b", "a\nzebra-77\nb", "a\n********\nb"),
    (r#"pin="([a-z0-9-]+)""#, r#"x pin="zebra-77" y"#, r#"x pin="********" y"#),
    (r"pin\s+([a-z0-9-]+)", "pin\tzebra-77", "pin\t********"),
    (r"C:\\keys\\([a-z0-9-]+)", r"C:\keys\zebra-77 x", r"C:\keys\******** x"),
    ("pin=(.+)", "pin=zebra-77\nnext \"line\" stays\n", "pin=********\nnext \"line\" stays\n"),
    ("^zebra-[0-9]+$", "zebra-77", "********"),
    ("größe-([0-9]+)", "größe-4711 é", "größe-**** é"),
    ("ключ (.+)", "a\nключ zebra\nb", "a\nключ *****\nb"),
    ("pin=(.+)é", "a\npin=zebraé\tb", "a\npin=*****é\tb"),
    ("^pin (zebra)", "x\npi\u{1b}[1mn ze\u{1b}[0mbra\ny", "x\npi\u{1b}[1mn *********\ny"),
];

/// The text in a line of JSON, and in one with only ASCII.
fn written(text: &str) -> [String; 2] {
    let line = json!({ "type": "user", "n": 77, "content": [{ "text": text }, "end"] }).to_string();
    let mut ascii = String::new();
    for c in line.chars() {
        if c.is_ascii() {
            ascii.push(c);
        } else {
            ascii.extend(c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")));
        }
    }
    [line, ascii]
}

/// The decoded text of a masked line, whose other members must be unchanged.
fn text_of(line: &[u8]) -> String {
    let value: Value = serde_json::from_slice(line).unwrap();
    assert_eq!((&value["type"], &value["n"]), (&json!("user"), &json!(77)));
    assert_eq!(value["content"][1], "end");
    value["content"][0]["text"].as_str().unwrap().to_owned()
}

/// Shortens every run of stars to one.
fn squeezed(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if c != '*' || !out.ends_with('*') {
            out.push(c);
        }
    }
    out
}

#[test]
fn what_is_looked_for_in_a_line_is_found_in_each_line_of_a_text() {
    for (pattern, printed, expected) in PRINTED {
        let secrets = Secrets::new([""; 0], [pattern]).unwrap();
        for line in written(printed) {
            let line = format!("{line}\n");
            let masked = secrets.mask(&line);
            assert_eq!(squeezed(&text_of(masked.as_bytes())), squeezed(expected), "{pattern}");
            assert_eq!(masked.len(), line.len(), "{pattern}");
            for size in [1, 7, 1000] {
                let pieces = streamed(&secrets, line.as_bytes(), &[size]);
                assert_eq!(String::from_utf8(pieces).unwrap(), masked, "{pattern}");
            }
        }
        let lines = secrets.mask(printed).into_owned();
        assert_eq!(squeezed(&lines), squeezed(expected), "{pattern} in plain text");
    }
}

#[test]
fn a_text_that_is_json_is_read_as_well() {
    let secrets = Secrets::new([""; 0], ["^ACME=(.+)$"]).unwrap();
    let inner = json!({ "out": "A=1\nACME=zebra-77\nB=2", "n": 1 });
    let pretty = serde_json::to_string_pretty(&inner).unwrap();
    for text in [inner.to_string(), pretty, format!("$ cat x.ndjson\n{inner}\n{inner}\n")] {
        let [line, _] = written(&text);
        let masked = text_of(secrets.mask(&line).as_bytes());
        assert!(!masked.contains("zebra"), "{masked}");
        assert!(masked.contains(r"ACME=********\nB=2"), "{masked}");
        assert_eq!(masked.len(), text.len());
        for size in [1, 7, 1000] {
            assert_eq!(text_of(&streamed(&secrets, line.as_bytes(), &[size])), masked);
        }
    }
    // A printed JSON file also consists of lines.
    let secrets = Secrets::new([""; 0], [r#"^ *"pin": "(.*)",?$"#]).unwrap();
    let pretty = serde_json::to_string_pretty(&json!({ "pin": "zebra-77", "z": 1 })).unwrap();
    let [line, _] = written(&pretty);
    let masked = text_of(secrets.mask(&line).as_bytes());
    assert_eq!(masked, pretty.replace("zebra-77", "********"));
}

#[test]
fn what_the_user_looks_for_ends_with_its_line_in_records_too() {
    use crate::event::{Event, NoteEvent};
    let secrets = Secrets::new([""; 0], ["pin=(.+)", "^ACME=(.+)$"]).unwrap();
    let text = "ACME=1 \"x\"\npin=zebra-77\nnext\nACME=2".to_owned();
    let Some(Event::Note(NoteEvent::Warning { text })) =
        secrets.mask_event(&Event::Note(NoteEvent::Warning { text }))
    else {
        panic!("nothing is masked")
    };
    assert_eq!(text, "ACME=*****\npin=********\nnext\nACME=*");
}

#[test]
fn a_long_text_is_masked_line_by_line_wherever_it_is_cut() {
    let secrets = Secrets::new([""; 0], ["^key of (.+)$", "pin=(.+)"]).unwrap();
    let line = format!("{} key of nobody\nkey of zebra-77\n", "lorem ipsum dolor ".repeat(30));
    let text = line.repeat((700 << 10) / line.len());
    let [json, _] = written(&text);
    let whole = secrets.mask(&json);
    let masked = text_of(whole.as_bytes());
    assert!(!masked.contains("zebra"));
    assert_eq!(masked.matches("key of nobody").count(), text.matches("key of nobody").count());
    assert!(streamed(&secrets, json.as_bytes(), &[77_777]) == whole.as_bytes());
    // An overlong line still ends at its line ending.
    let text = format!("a\npin={}\nnext line\n", "zebra".repeat(120_000));
    let [json, _] = written(&text);
    let masked = text_of(&streamed(&secrets, json.as_bytes(), &[77_777]));
    assert_eq!(squeezed(&masked), "a\npin=*\nnext line\n");
}

proptest! {
    #[test]
    fn the_shape_of_json_stays_whatever_is_looked_for(
        texts in prop::collection::vec("[a-z\\\\\"\n\t\u{e9}\u{1f600}{}:=-]{0,30}", 1..4),
        depth in 0..3, sizes in prop::collection::vec(1_usize..40, 1..4),
    ) {
        let patterns = ["[a-f]+(.)", "^[^a]", "(?-u:.)$", r"\\+n", r#""[a-z]*""#, "[:={}]"];
        let secrets = Secrets::new([""; 0], patterns).unwrap();
        let mut value = json!({ "texts": texts, "number": 12 });
        for _ in 0..depth {
            value = json!({ "inner": value.to_string(), "a": 1 });
        }
        let text = value.to_string();
        let masked = secrets.mask_lines_of_json(text.as_bytes());
        let masked = String::from_utf8_lossy(&masked);
        let after: Value = serde_json::from_str(&masked)
            .map_err(|error| TestCaseError::fail(format!("{error}: {masked}")))?;
        prop_assert!(same_shape(&value, &after), "{}", masked);
        let masked = secrets.mask(&text);
        prop_assert!(serde_json::from_str::<Value>(&masked).is_ok(), "{}", masked);
        let pieces = streamed(&secrets, text.as_bytes(), &sizes);
        prop_assert_eq!(String::from_utf8_lossy(&pieces), masked);
    }
}

/// Whether both values have the same names, numbers and lists.
fn same_shape(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::String(_), Value::String(_)) => true,
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_shape(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| same_shape(a, b)))
        }
        (a, b) => a == b,
    }
}

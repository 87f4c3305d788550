//! Member names: those in a program's own lines stay, all others are masked.

use super::*;

/// Masks a line of a program.
fn masked(values: &[&str], line: &str) -> String {
    let secrets = Secrets::new(values, [""; 0]).unwrap();
    String::from_utf8(secrets.mask_lines_of_json(line.as_bytes()).into_owned()).unwrap()
}

#[track_caller]
fn stays(values: &[&str], line: &str) {
    assert_eq!(masked(values, line), line);
}

#[test]
fn names_of_members_are_left_alone_wherever_they_stand() {
    let known = ["modelUsage"];
    stays(&known, r#"{"a":1,"modelUsage":2}"#);
    stays(&known, r#"{"a":[1],"modelUsage":{"b":"c"},"modelUsage":3}"#);
    let text = r#"{"modelUsage":{"a":"x modelUsage"#;
    assert_eq!(masked(&known, text), r#"{"modelUsage":{"a":"x **********"#);
    // An unfinished name may still become a string.
    assert_eq!(masked(&known, r#"{"a":1,"modelUsage"#), r#"{"a":1,"**********"#);
    let array = r#"{"a":["b","modelUsage"],"c":"modelUsage"}"#;
    assert_eq!(masked(&known, array), r#"{"a":["b","**********"],"c":"**********"}"#);
}

#[test]
fn names_in_text_are_masked_like_anything_else() {
    let secrets = secrets();
    for (text, expected) in [
        (r#"{"hunter2hunter2": 5}"#, r#"{"**************": 5}"#),
        (r#"{"a":{"x hunter2hunter2":["b"]}}"#, r#"{"a":{"x **************":["b"]}}"#),
    ] {
        assert_eq!(secrets.mask(text), expected);
        for size in [1, 7, 1000] {
            assert_eq!(streamed(&secrets, text.as_bytes(), &[size]), expected.as_bytes());
        }
        assert_eq!(masked(&["hunter2hunter2"], text), text);
    }
    // Also in a line that is passed on in segments.
    let long = format!("{{\"text\":\"{}\",\"hunter2hunter2\":1}}", "lorem ipsum ".repeat(40_000));
    assert!(secrets.mask(&long).ends_with("\"**************\":1}"));
    assert!(masked(&["hunter2hunter2"], &long).ends_with("\"hunter2hunter2\":1}"));
}

#[test]
fn names_of_what_a_tool_is_called_with_are_the_agents_own() {
    let line = |name: &str| {
        let call = json!({ "type": "tool_use", "input": { name: 5, "a": [{ name: 1 }] }, "z": 1 });
        json!({ "message": { "content": [call] }, "hunter2hunter2": { "input_b": { name: 2 } } })
    };
    let known = ["hunter2hunter2"];
    let out: Value = serde_json::from_str(&masked(&known, &line(known[0]).to_string())).unwrap();
    let stars = "**************";
    assert_eq!(out["message"], line(stars)["message"]);
    assert_eq!(out["hunter2hunter2"]["input_b"]["hunter2hunter2"], 2);
    let denied = r#"{"denials":[{"tool_input":{"hunter2hunter2":1},"hunter2hunter2":2}]}"#;
    let expected = r#"{"denials":[{"tool_input":{"**************":1},"hunter2hunter2":2}]}"#;
    assert_eq!(masked(&known, denied), expected);
}

#[test]
fn forms_can_be_left_out() {
    let text = "https://me:secret77@host hunter2hunter2";
    let masked = "https://me:secret77@host **************";
    assert_eq!(secrets().without_forms().mask(text), masked);
}

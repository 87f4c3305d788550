//! One secret in many encodings.

use super::*;

/// Masks the text verbatim, in JSON and in nested JSON, whole and in chunks, and returns the
/// result.
pub(super) fn everywhere(secrets: &Secrets, text: &str, secret: &str) -> String {
    let mut line = text.to_owned();
    for depth in 0..4 {
        let masked = secrets.mask(&line).into_owned();
        assert!(!shows(masked.as_bytes(), secret), "{depth}: {masked}");
        assert_eq!(masked.len(), line.len());
        if depth > 0 {
            let value: Value = serde_json::from_str(&masked).unwrap();
            assert_eq!(value["number"], 12_345_678, "{masked}");
        }
        for size in [1, 7, 1000] {
            let pieces = streamed(secrets, line.as_bytes(), &[size]);
            assert_eq!(String::from_utf8(pieces).unwrap(), masked);
        }
        line = json!({ "text": line, "number": 12_345_678 }).to_string();
    }
    secrets.mask(text).into_owned()
}

#[test]
fn a_token_is_free_behind_any_escape_however_many_backslashes_it_has() {
    let secrets = Secrets::default();
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let stars = "*".repeat(token.len());
    let fronts = [
        r"\n",
        r"\t",
        r"\r",
        r"\b",
        r"\f",
        r"\\n",
        r"\\\n",
        r"\\\\t",
        r"\u0022",
        r"\\u000a",
        r"\r\n",
        "%0A",
        "&quot;",
        "+",
        "\u{1b}[32m",
    ];
    for front in fronts {
        let text = format!("printf 'x{front}{token}'");
        let masked = everywhere(&secrets, &text, &token);
        assert!(masked.ends_with(&format!("{stars}'")), "{front}: {masked}");
        assert!(masked.starts_with("printf 'x"), "{front}: {masked}");
    }
    // A letter before it makes it part of a word.
    for front in ["a", "1", "n", "/n", r"\na", r"\xz1", r"\8", "%zz"] {
        let text = format!("{front}{token}");
        assert_eq!(secrets.mask(&text), text);
    }
}

#[test]
fn a_record_is_masked_as_it_is_read_and_as_it_is_written() {
    use crate::event::{Event, NoteEvent};
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let secrets = Secrets::default();
    for front in ["\n", r"\n", r"\\n", "\t", "\u{1b}[1m", "\""] {
        let event =
            Event::Note(NoteEvent::Warning { text: format!("Run: printf 'a{front}{token}'") });
        let masked = secrets.mask_event(&event);
        let Some(Event::Note(NoteEvent::Warning { text })) = masked else {
            panic!("{front}: {masked:?}")
        };
        assert!(!text.contains(&token), "{text}");
    }
}

#[test]
fn headers_and_addresses_are_known_in_every_spelling() {
    let secrets = Secrets::default();
    let key = "abcdef1234567890abcdef";
    for front in [
        "Authorization: ApiKey ",
        "Authorization: Bot ",
        "authorization: GenieKey ",
        "AUTHORIZATION=Basic ",
        "'authorization': 'token ",
        "X-api-key: ",
        "X-API-Key=",
    ] {
        let text = format!("curl -H \"{front}{key}\" x");
        let masked = everywhere(&secrets, &text, key);
        assert_eq!(masked, text.replace(key, &"*".repeat(key.len())));
    }
    // The secret itself is not mistaken for the word before one.
    assert_eq!(
        secrets.mask("Authorization: a1b2c3d4e5 application/json1"),
        "Authorization: ********** application/json1"
    );
    for innocent in ["Authorization: see the manual-of-it", "X-Api-Keys: abcdef123456"] {
        assert_eq!(secrets.mask(innocent), innocent);
    }
    let address = |slash: &str| format!("\"url\": \"postgres:{slash}{slash}me:hunter2hunter2@db\"");
    for slash in ["/", r"\/", r"\\/", r"\\\/"] {
        let text = address(slash);
        let masked = everywhere(&secrets, &text, "hunter2hunter2");
        assert_eq!(masked, text.replace("hunter2hunter2", &"*".repeat(14)));
    }
}

#[test]
fn what_is_secret_of_an_address_or_a_header_is_known_alone() {
    let values = [
        "postgres://me:zebra77zebra@db/x",
        "X-Gate: giraffe77giraffe\nAccept: application/json",
        "mysql://me:ele%40phant77@db",
    ];
    let secrets = Secrets::new(values, [""; 0]).unwrap();
    for secret in ["zebra77zebra", "giraffe77giraffe", "ele@phant77", "ele%40phant77"] {
        let masked = everywhere(&secrets, &format!("PGPASSWORD={secret} psql"), secret);
        assert_eq!(masked, format!("PGPASSWORD={} psql", "*".repeat(secret.len())));
    }
    assert_eq!(secrets.mask("send application/json to me"), "send application/json to me");
}

#[test]
fn values_are_found_as_addresses_and_json_write_them() {
    let values = ["correct horse 9x7", "a<b>c&d9\"zebra", "key/of-1zebra", "größe+77/zebra"];
    let secrets = Secrets::new(values, [""; 0]).unwrap();
    for written in [
        "correct+horse+9x7",
        "correct%20horse%209x7",
        r"a\u003cb\u003ec\u0026d9\u0022zebra",
        r#"a\u003cb\u003ec\u0026d9\"zebra"#,
        r#"a<b>c&d9\"zebra"#,
        "a%3Cb%3Ec%26d9%22zebra",
        "key%2fof-1zebra",
        r"key\/of-1zebra",
        r"gr\u00f6\u00dfe+77/zebra",
        r"gr\u00F6\u00DFe\u002B77/zebra",
        "gr%C3%B6%C3%9Fe%2B77/zebra",
    ] {
        let masked = everywhere(&secrets, &format!("it is {written} here"), written);
        assert_eq!(masked, format!("it is {} here", "*".repeat(written.len())));
    }
    assert_eq!(secrets.mask("correct-horse-9x7"), "correct-horse-9x7");
}

#[test]
fn values_are_found_in_base64_wherever_they_stand_in_it() {
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE, URL_SAFE_NO_PAD};

    for value in ["hunter2h", "zebra??>>77~~zebra", &"a1B2c3D4e5".repeat(40)] {
        let secrets = Secrets::new([value], [""; 0]).unwrap().without_forms();
        for (front, back) in
            [("", ""), ("m:", ""), ("me:", ""), ("user:", "\n"), ("{", "}}"), ("é", "xyz")]
        {
            for engine in [&STANDARD, &URL_SAFE, &URL_SAFE_NO_PAD] {
                let encoded = engine.encode(format!("{front}{value}{back}"));
                let text = format!("Basic {encoded} there");
                let masked = everywhere(&secrets, &text, &encoded);
                assert!(masked.starts_with("Basic ") && masked.ends_with(" there"), "{masked}");
                // A few characters at the edges also encode the neighbouring text.
                let shown = masked.bytes().filter(|byte| *byte != b'*').count();
                let around = (front.len() + back.len()) * 4 / 3 + "Basic  there".len();
                let edges = 8 * (1 + value.len() / 64);
                assert!(shown <= around + edges, "{value} {front} {back}: {masked}");
            }
        }
    }
    let secrets = Secrets::new(["hunter2hunter2"], [""; 0]).unwrap();
    let other = STANDARD.encode("hunter3hunter3");
    assert_eq!(secrets.mask(&other), other);
}

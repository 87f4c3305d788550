//! Verdict parsing: from the requested JSON, or from the last line of an answer.

use serde_json::Value;

use super::news::Verdict;

/// The JSON Schema of an answer that is a verdict.
pub const SCHEMA: &str = r#"{"type":"object","properties":{"verdict":{"type":"string","enum":["yes","no"]},"reason":{"type":"string"},"missing":{"type":"array","items":{"type":"string"}}},"required":["verdict","reason","missing"],"additionalProperties":false}"#;

/// The beginning of the last line of an answer.
const MARK: &str = "verdict:";

/// The maximum length of a reason, or of a missing item.
const MAX_TEXT: usize = 2000;
const MAX_MISSING: usize = 20;

/// Returns the verdict in an answer, or `None` if it has none that can be parsed.
pub fn verdict(text: &str, structured: Option<&str>) -> Option<Verdict> {
    structured.and_then(from_object).or_else(|| from_object(text)).or_else(|| from_last_line(text))
}

/// `{"verdict": "yes", "reason": "...", "missing": []}`
fn from_object(json: &str) -> Option<Verdict> {
    let value: Value = serde_json::from_str(json.trim()).ok()?;
    let complete = match value.get("verdict")? {
        Value::Bool(complete) => *complete,
        Value::String(word) if word.eq_ignore_ascii_case("yes") => true,
        Value::String(word) if word.eq_ignore_ascii_case("no") => false,
        _ => return None,
    };
    let reason = value.get("reason").and_then(Value::as_str).unwrap_or_default();
    let missing = value.get("missing").and_then(Value::as_array).map(Vec::as_slice);
    Some(Verdict {
        complete,
        reason: short(reason),
        missing: missing
            .unwrap_or_default()
            .iter()
            .filter_map(Value::as_str)
            .take(MAX_MISSING)
            .map(short)
            .collect(),
    })
}

/// `VERDICT: yes - because`, in bold or plain.
fn from_last_line(text: &str) -> Option<Verdict> {
    let line = text.lines().rev().find(|line| !line.trim().is_empty())?;
    let line = line.trim().trim_matches(['*', '_', '`', '#']).trim();
    let head = line.get(..MARK.len()).filter(|head| head.eq_ignore_ascii_case(MARK))?;
    let rest = line[head.len()..].trim_start_matches(['*', '_', '`', ' ']);
    let end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
    let (word, after) = rest.split_at(end);
    let complete = match word.to_ascii_lowercase().as_str() {
        "yes" => true,
        "no" => false,
        _ => return None,
    };
    let after = after.trim_start_matches(['*', '_', '`', ' ']);
    // The words of the question itself, `yes|no`, are no answer.
    let reason = match after.chars().next() {
        None => "",
        Some('-' | '–' | '—' | ':' | ',' | '.' | ';') => {
            after.trim_start_matches(['-', '–', '—', ':', ',', '.', ';', ' '])
        }
        Some(_) => return None,
    };
    Some(Verdict { complete, reason: short(reason), missing: Vec::new() })
}

fn short(text: &str) -> String {
    let text = text.trim();
    text[..text.floor_char_boundary(MAX_TEXT)].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<(bool, String)> {
        verdict(text, None).map(|verdict| (verdict.complete, verdict.reason))
    }

    #[test]
    fn the_last_line_is_the_verdict() {
        let cases = [
            ("I looked.\nVERDICT: yes - all tests pass", true, "all tests pass"),
            (
                "VERDICT: yes\nNo, wait.\nVERDICT: no - the docs are missing\n\n",
                false,
                "the docs are missing",
            ),
            ("**VERDICT: no** – two boxes open", false, "two boxes open"),
            ("Verdict: **Yes**, it is done", true, "it is done"),
            ("VERDICT: no\r\n", false, ""),
        ];
        for (text, complete, reason) in cases {
            assert_eq!(read(text), Some((complete, reason.to_owned())), "{text}");
        }
    }

    #[test]
    fn an_unclear_verdict_is_none() {
        for text in [
            "",
            "yes",
            "VERDICT: maybe",
            "VERDICT: yes|no - reason",
            "VERDICT: yes or no",
            "VERDICT: yes - done\nThat was my verdict.",
            "My VERDICT: yes",
            "{\"verdict\": \"perhaps\"}",
            "VERDICT:",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn a_verdict_that_is_only_quoted_is_none() {
        for text in [
            "The task says `VERDICT: yes - done`, and that is not so.",
            "It printed\n\nVERDICT: yes - done\n\nwhich I do not believe.",
            "I would answer {\"verdict\": \"yes\", \"reason\": \"\", \"missing\": []}.",
            "```json\n{\"verdict\": \"yes\"}\n```\nis what the file says.",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn the_form_that_was_asked_for_goes_before_words() {
        let json = r#"{"verdict":"no","reason":"r","missing":["a","b",3]}"#;
        let found = verdict("VERDICT: yes - x", Some(json)).unwrap();
        assert_eq!((found.complete, found.missing.len()), (false, 2));
        assert!(verdict(r#" {"verdict":true} "#, None).unwrap().complete);
        assert!(verdict("VERDICT: yes", Some("[]")).unwrap().complete);
    }
}

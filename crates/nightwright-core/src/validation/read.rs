//! Parses a validation result from an answer: from the requested JSON, or from an object in the
//! text.

use serde_json::{Deserializer, Map, Value};

use super::{CRITERIA, Criterion, CriterionResult, NOT_JUDGED, Ruling, ValidationResult};

/// The maximum length of a reason or a suggestion.
const MAX_TEXT: usize = 4000;
/// The maximum number of positions, from the end, at which an object is searched.
const MAX_PLACES: usize = 1000;
/// The number of bytes searched from the end of a string.
const MAX_SEARCHED: usize = 256 << 10;

/// Parses an answer; `None` if it contains no result. A missing criterion counts as failed, and an
/// unknown one is ignored.
pub fn read(structured: Option<&str>, text: &str) -> Option<ValidationResult> {
    let from = |json: &str| result(&serde_json::from_str(json.trim()).ok()?);
    structured.and_then(from).or_else(|| from(text)).or_else(|| search(text))
}

/// The last object in a text that is a result: an earlier one may be the question.
fn search(text: &str) -> Option<ValidationResult> {
    let text = &text[text.ceil_char_boundary(text.len().saturating_sub(MAX_SEARCHED))..];
    let mut places = text.rmatch_indices('{').take(MAX_PLACES);
    places.find_map(|(at, _)| at_beginning(&text[at..]))
}

fn at_beginning(text: &str) -> Option<ValidationResult> {
    let first = Deserializer::from_str(text).into_iter::<Value>().next()?;
    result(&first.ok()?)
}

fn result(value: &Value) -> Option<ValidationResult> {
    let criteria = value.get("criteria")?.as_object()?;
    let judged = |criterion: &Criterion| ruling(criteria, criterion).is_some();
    // An object without any criterion is no result: the question is then repeated.
    CRITERIA.iter().any(judged).then(|| ValidationResult {
        findings: CRITERIA.iter().map(|criterion| finding(criteria, criterion)).collect(),
    })
}

fn finding(criteria: &Map<String, Value>, criterion: &'static Criterion) -> CriterionResult {
    let Some(ruling) = ruling(criteria, criterion) else {
        let (reason, suggestion) = (NOT_JUDGED.to_owned(), String::new());
        return CriterionResult { criterion, ruling: Ruling::Fail, reason, suggestion };
    };
    let text = |name: &str| criteria.get(criterion.id)?.get(name)?.as_str().map(short);
    let (reason, suggestion) = (text("reason"), text("suggestion"));
    CriterionResult {
        criterion,
        ruling,
        reason: reason.unwrap_or_default(),
        suggestion: suggestion.unwrap_or_default(),
    }
}

fn ruling(criteria: &Map<String, Value>, criterion: &Criterion) -> Option<Ruling> {
    let of = |pass: bool| if pass { Ruling::Pass } else { Ruling::Fail };
    match criteria.get(criterion.id)?.get("verdict")? {
        Value::Bool(pass) => Some(of(*pass)),
        Value::String(word) if word.eq_ignore_ascii_case("pass") => Some(Ruling::Pass),
        Value::String(word) if word.eq_ignore_ascii_case("fail") => Some(Ruling::Fail),
        _ => None,
    }
}

fn short(text: &str) -> String {
    let text = text.trim();
    text[..text.floor_char_boundary(MAX_TEXT)].to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::validation::answer;

    #[test]
    fn missing_criteria_have_failed_and_unknown_ones_are_ignored() {
        let text = r#"{"criteria": {"scope": {"verdict": "pass", "reason": " it is there "},
            "beauty": {"verdict": "fail"}, "steps": {"verdict": "perhaps"}, "outcome": 3}}"#;
        let result = read(Some(text), "").unwrap();
        assert_eq!(result.findings().len(), CRITERIA.len());
        for finding in result.findings() {
            let wanted = match finding.criterion.id {
                "scope" => (Ruling::Pass, "it is there"),
                _ => (Ruling::Fail, "not judged"),
            };
            assert_eq!((finding.ruling, finding.reason.as_str()), wanted);
        }
        assert!(!result.passes());
    }

    #[test]
    fn the_object_is_found_among_words_and_the_last_one_counts() {
        let (bad, good) = (answer(&["scope".to_owned()], "no"), answer(&[], ""));
        for text in [
            good.clone(),
            format!("Here it is:\n```json\n{good}\n```\nThat {{is}} all."),
            format!("First I thought {bad}, but then {good}"),
            format!("{{\"criteria\": {{\"scope\": {{\"verdict\": ... }} and {good}"),
        ] {
            assert!(read(None, &text).unwrap().passes(), "{text}");
        }
        assert!(!read(Some(&bad), &good).unwrap().passes());
        assert!(read(Some("null"), &good).unwrap().passes());
    }

    #[test]
    fn an_answer_that_is_no_validation_is_none() {
        for text in
            ["", "All is well.", "{}", r#"{"criteria": {}}"#, r#"{"criteria": []}"#, "{\"a\":{{{"]
        {
            assert_eq!(read(None, text), None, "{text}");
        }
        let deep = "{\"criteria\":".repeat(100_000);
        assert_eq!(read(Some(&deep), &deep), None);
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange_to_be_read(text in any::<String>(), part in 0_usize..200) {
            let _ = read(Some(&text), &text);
            let whole = answer(&[], "");
            let mixed = format!("{text}{whole}{text}");
            // Text around an object never changes it.
            if let Some(found) = read(None, &mixed) {
                prop_assert!(found.passes());
            }
            let _ = read(None, &whole[..whole.floor_char_boundary(part)]);
        }
    }
}

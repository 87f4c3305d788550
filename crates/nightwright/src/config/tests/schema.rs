//! The schema agrees with the parser.

use serde_json::{Value as Json, json};

use super::{ANOTHER, EXAMPLE, SEVERAL};
use crate::config::*;

/// Validates a value against the generated subset of JSON Schema; the error names the position.
fn check(schema: &Json, value: &Json, at: &str) -> Result<(), String> {
    let fail = |why: &str| Err(format!("{at}: {why}: {value}"));
    for (word, rule) in schema.as_object().unwrap() {
        let fits = match word.as_str() {
            "$schema" | "title" | "description" | "default" => true,
            "type" => match rule.as_str().unwrap() {
                "object" => value.is_object(),
                "array" => value.is_array(),
                "string" => value.is_string(),
                "boolean" => value.is_boolean(),
                "integer" => value.is_i64() || value.is_u64(),
                "number" => value.is_number(),
                other => panic!("the type {other}"),
            },
            "minimum" => value.as_f64().is_none_or(|number| number >= rule.as_f64().unwrap()),
            "maximum" => value.as_f64().is_none_or(|number| number <= rule.as_f64().unwrap()),
            "minLength" => value.as_str().is_none_or(|text| !text.is_empty()),
            "minItems" => value.as_array().is_none_or(|items| !items.is_empty()),
            "enum" => rule.as_array().unwrap().contains(value),
            "pattern" => match rule.as_str().unwrap() {
                "^[a-zA-Z0-9_-]+$" => value.as_str().is_none_or(amounts::is_name),
                "^(https?://.+)?$" => value.as_str().is_none_or(|text| {
                    text.is_empty() || text.starts_with("https://") || text.starts_with("http://")
                }),
                other => panic!("the pattern {other}"),
            },
            "required" => {
                let all = rule.as_array().unwrap();
                all.iter().all(|name| value.get(name.as_str().unwrap()).is_some())
            }
            "anyOf" => rule.as_array().unwrap().iter().any(|one| check(one, value, at).is_ok()),
            "items" => {
                for item in value.as_array().into_iter().flatten() {
                    check(rule, item, at)?;
                }
                true
            }
            "properties" => {
                for (name, inner) in rule.as_object().unwrap() {
                    if let Some(value) = value.get(name) {
                        check(inner, value, &format!("{at}.{name}"))?;
                    }
                }
                true
            }
            "additionalProperties" => {
                let known = schema.get("properties").and_then(Json::as_object);
                for (name, value) in value.as_object().into_iter().flatten() {
                    if known.is_some_and(|known| known.contains_key(name)) {
                        continue;
                    }
                    if rule == &Json::Bool(false) {
                        return fail(&format!("there is no `{name}`"));
                    }
                    check(rule, value, at)?;
                }
                true
            }
            other => panic!("the schema has `{other}`"),
        };
        if !fits {
            return fail(word);
        }
    }
    Ok(())
}

fn json(text: &str) -> Json {
    let table: toml::Table = toml::from_str(text).unwrap();
    serde_json::to_value(table).unwrap()
}

#[test]
fn files_with_every_key_fit_the_schema() {
    for text in [EXAMPLE, ANOTHER, SEVERAL[0], SEVERAL[1]] {
        check(&schema(), &json(text), "file").unwrap();
    }
}

#[test]
fn every_default_fits_the_schema() {
    for key in KEYS {
        let mut place = &schema();
        for part in key.name.split('.') {
            // A key for one table or several has both forms.
            let table = place.get("anyOf").map_or(place, |forms| &forms[0]);
            place = &table["properties"][part];
        }
        assert_eq!(place["description"], key.about);
        match key.default_value() {
            Some(_) => check(place, &place["default"], key.name).unwrap(),
            None => assert_eq!(place["default"], Json::Null),
        }
    }
}

#[test]
fn values_that_the_program_refuses_do_not_fit_the_schema_either() {
    for text in [
        "unknown = 1",
        "[limits]\nmax_iteration = 1",
        "[limits.quota]\none_hour = 1",
        "[limits]\nmax_iterations = \"many\"",
        "[limits]\nmax_iterations = -1",
        "[limits]\nmax_cost = 0",
        "[limits]\nmax_tokens = 0",
        "[limits]\nmax_duration = 1",
        "[limits]\nreserve = 101",
        "limits = 5",
        "mode = \"../x\"",
        "[completion]\nsignal = \"\"",
        "[completion]\ndetect = \"yes\"",
        "[output]\ncolor = \"blue\"",
        "[agent]\nsettings = [\"global\"]",
        "[agent]\nenv = { A = 1 }",
        "[verify]\ncommands = \"cargo test\"",
        "[verify]\ncommands = [\"\"]",
        "[notify]\nurl = 'ntfy.sh/topic'",
        "[notify]\nkind = 'email'",
        "[notify]\nevents = ['morning']",
        "[[notify]]\nkind = 'ntfy'",
        "[[notify]]\nurl = ''",
        "[[notify]]\nurl = 'https://a.org'\nurk = 1",
        "notify = 'https://ntfy.sh/topic'",
        "notify = ['https://ntfy.sh/topic']",
    ] {
        assert!(check(&schema(), &json(text), "file").is_err(), "{text}");
        let path = Path::new("config.toml");
        assert!(
            ConfigLayer::parse(ValueOrigin::Project(path.to_owned()), path, text).is_err(),
            "{text}"
        );
    }
    assert_eq!(schema()["additionalProperties"], json!(false));
}

//! Converts the scenes of a behavior to a script of the rehearsal agent and expands short forms.

use toml::{Table, Value};

use super::behaviour::{Scenes, TASK};

/// The maximum number of repetitions of a scene.
const MAX_REPEATS: i64 = 50;

/// Returns the script in the format of the rehearsal agent.
pub(super) fn script(scenes: &Scenes) -> Result<String, String> {
    let mut attempts = Vec::new();
    for scene in &scenes.attempt {
        let (scene, times) = written_out(scene.clone())?;
        attempts.extend(vec![scene; times]);
    }
    let lists = [
        ("attempt", &attempts),
        ("verify", &scenes.verify),
        ("review", &scenes.review),
        ("advise", &scenes.advise),
        ("council", &scenes.council),
    ];
    let mut lines = Vec::new();
    for (name, scenes) in lists {
        for scene in scenes {
            lines.push(format!("[[{name}]]"));
            lines.extend(scene.iter().map(member));
        }
    }
    Ok(lines.join("\n") + "\n")
}

fn member((key, value): (&String, &Value)) -> String {
    format!("{} = {}", quoted(key), inline(value))
}

/// Formats a value on one line.
fn inline(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => format!("{number:?}"),
        Value::Boolean(truth) => truth.to_string(),
        Value::Datetime(date) => date.to_string(),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", "))
        }
        Value::Table(table) => {
            format!("{{ {} }}", table.iter().map(member).collect::<Vec<_>>().join(", "))
        }
    }
}

/// Quotes a string as JSON, which is also valid TOML.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Returns a scene with its short forms expanded, and the number of repetitions.
fn written_out(mut scene: Table) -> Result<(Table, usize), String> {
    let steps = steps_of(&mut scene)?;
    scene.insert("steps".to_owned(), Value::Array(steps));
    if let Some(Value::Array(replies)) = scene.get_mut("replies") {
        for reply in replies.iter_mut().filter_map(Value::as_table_mut) {
            let steps = steps_of(reply)?;
            reply.insert("steps".to_owned(), Value::Array(steps));
        }
    }
    match scene.remove("says") {
        None => {}
        Some(_) if scene.contains_key("end") => {
            return Err("either `says` or `end`, not both".to_owned());
        }
        Some(words) => {
            let end = Table::from_iter([("result".to_owned(), words)]);
            scene.insert("end".to_owned(), Value::Table(end));
        }
    }
    let times = match scene.remove("times") {
        None => 1,
        Some(Value::Integer(times @ 1..=MAX_REPEATS)) => usize::try_from(times).unwrap_or(1),
        Some(_) => return Err(format!("`times` must be a number from 1 to {MAX_REPEATS}")),
    };
    Ok((scene, times))
}

/// Returns the steps of a scene or a reply, with the short forms expanded.
fn steps_of(scene: &mut Table) -> Result<Vec<Value>, String> {
    let mut steps = match scene.remove("steps") {
        None => Vec::new(),
        Some(Value::Array(steps)) => steps,
        Some(_) => return Err("`steps` must be a list".to_owned()),
    };
    match scene.remove("writes") {
        None => {}
        Some(Value::Table(files)) => {
            for (path, text) in files {
                let text = text.as_str().ok_or("`writes` must be a table of paths and texts")?;
                steps.push(step(&[("write", &path), ("text", text)]));
            }
        }
        Some(_) => return Err("`writes` must be a table of paths and texts".to_owned()),
    }
    match scene.remove("status") {
        None => {}
        Some(status @ Value::Table(_)) => {
            let path = format!(".nightwright/tasks/{TASK}/.status.json");
            let text = serde_json::to_string(&status)
                .map_err(|error| format!("`status` is not JSON: {error}"))?;
            steps.push(step(&[("write", &path), ("text", &text)]));
        }
        Some(_) => return Err("`status` must be a table".to_owned()),
    }
    match scene.remove("runs") {
        None => {}
        Some(Value::Array(commands)) => {
            for command in commands {
                let command = command.as_str().ok_or("`runs` must be a list of commands")?;
                steps.push(step(&[("run", command)]));
            }
        }
        Some(_) => return Err("`runs` must be a list of commands".to_owned()),
    }
    Ok(steps)
}

fn step(members: &[(&str, &str)]) -> Value {
    let member = |(name, text): &(&str, &str)| ((*name).to_owned(), Value::from(*text));
    Value::Table(members.iter().map(member).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Table, String> {
        let scenes = Scenes { attempt: vec![toml::from_str(text).unwrap()], ..Scenes::default() };
        script(&scenes).map(|script| toml::from_str(&script).unwrap())
    }

    #[test]
    fn short_forms_become_steps_in_a_fixed_order_and_an_end() {
        let script = of(r#"
            runs = ["git commit -am one"]
            says = "One is there."
            status = { complete = false }
            writes = { "one.txt" = "one" }
            steps = [{ say = "First." }]
            times = 2
        "#);
        let wanted: Table = toml::from_str(
            r#"
            [[attempt]]
            steps = [
              { say = "First." },
              { write = "one.txt", text = "one" },
              { write = ".nightwright/tasks/work/.status.json", text = '{"complete":false}' },
              { run = "git commit -am one" },
            ]
            end = { result = "One is there." }
            "#,
        )
        .unwrap();
        let script = script.unwrap();
        let attempts = script["attempt"].as_array().unwrap();
        assert_eq!(attempts.len(), 2);
        assert_eq!(attempts[0], wanted["attempt"].as_array().unwrap()[0]);
        assert_eq!(attempts[0], attempts[1]);
    }

    #[test]
    fn a_reply_has_short_forms_too_and_may_be_words_alone() {
        let script = of(r#"
            says = "Which one?"
            replies = [{ writes = { "one.txt" = "one" }, says = "That one." }, "None."]
        "#);
        let wanted: Table = toml::from_str(
            r#"
            replies = [
              { steps = [{ write = "one.txt", text = "one" }], says = "That one." },
              "None.",
            ]
            "#,
        )
        .unwrap();
        let script = script.unwrap();
        assert_eq!(script["attempt"][0]["replies"], wanted["replies"]);
    }

    #[test]
    fn a_short_form_that_is_wrong_says_what_is_allowed() {
        for (text, part) in [
            ("writes = 1", "`writes` must be a table"),
            ("writes = { a = 1 }", "`writes` must be a table"),
            ("runs = \"make\"", "`runs` must be a list"),
            ("status = \"done\"", "`status` must be a table"),
            ("steps = 1", "`steps` must be a list"),
            ("times = 0", "from 1 to 50"),
            ("replies = [{ runs = 1 }]", "`runs` must be a list"),
            ("says = \"a\"\nend = { crash = 1 }", "either `says` or `end`"),
        ] {
            let error = of(text).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}

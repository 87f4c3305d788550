//! Tests that the configuration is valid as it is, and with all defaults enabled.

use super::*;

fn choices(test: &str, build: &str, lint: &str) -> ConfigChoices {
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let commands = Commands { test: some(test), build: some(build), lint: some(lint) };
    ConfigChoices { commands, ..ConfigChoices::default() }
}

/// Returns the text with all defaults enabled.
fn in_force(text: &str) -> String {
    let is_key = |line: &str| {
        line.strip_prefix('#')
            .and_then(|rest| rest.split_once(" = "))
            .is_some_and(|(key, _)| key.chars().all(|c| c.is_ascii_lowercase() || c == '_'))
    };
    text.lines()
        .map(|line| if is_key(line) { &line[1..] } else { line })
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn the_configuration_is_valid_as_it_is_and_with_every_default_in_force() {
    let mut odd = choices("sh -c \"a 'b' \\ ü\"", "make \u{1}", "");
    odd.permissions = Permissions::Bypass;
    odd.taken = vec![
        ("limits.max_iterations", ConfigValue::from(7_u32)),
        ("delay", ConfigValue::from(std::time::Duration::from_secs(9))),
        ("model.name", ConfigValue::from("a\"b")),
        ("status_watch.enabled", ConfigValue::from(false)),
    ];
    let text = config_text(&odd);
    for line in ["max_iterations = 7", "delay = \"9s\"", "name = 'a\"b'", "enabled = false"] {
        assert!(text.lines().any(|other| other == line), "{line} is not in:\n{text}");
    }
    assert!(!text.contains("#max_iterations"), "{text}");
    for choices in
        [ConfigChoices::default(), choices("cargo test", "cargo build", "cargo clippy"), odd]
    {
        let text = config_text(&choices);
        let table: toml::Table = toml::from_str(&text).unwrap();
        let gate: Vec<_> = choices.commands.test.iter().cloned().map(toml::Value::from).collect();
        let set = table["verify"].get("commands").and_then(toml::Value::as_array);
        assert_eq!(set.cloned().unwrap_or_default(), gate);
        assert_eq!(
            table["commands"].get("test").and_then(toml::Value::as_str),
            choices.commands.test.as_deref()
        );
        assert_eq!(table["agent"]["permissions"].as_str(), Some(choices.permissions.name()));

        let all: toml::Table = toml::from_str(&in_force(&text)).unwrap();
        for key in [
            "mode delay",
            "limits.max_iterations limits.max_cost limits.max_tokens limits.max_duration",
            "limits.reserve limits.max_wait",
            "retry.max_retries retry.delay retry.max_consecutive_errors stagnation.threshold stagnation.no_improvement",
            "completion.detect completion.signal completion.threshold completion.end_phrase",
            "verify.commands verify.pass_env verify.timeout verify.baseline verify.every verify.rerun verify.model verify.max_cost",
            "agent.permissions agent.allowed_tools agent.disallowed_tools agent.args agent.env",
            "agent.pass_env agent.settings agent.max_turns",
            "model.name model.escalate model.fallback deadlines.idle deadlines.attempt",
            "review.prompt principles.file principles.collect council.enabled",
            "watchdog.respond notes.file commands.test commands.build commands.lint notify.url",
        ]
        .iter()
        .flat_map(|keys| keys.split(' '))
        {
            let found = match key.split_once('.') {
                Some((section, key)) => all.get(section).and_then(|table| table.get(key)),
                None => all.get(key),
            };
            assert!(found.is_some(), "{key} is not shown in:\n{text}");
        }
    }
}

#[test]
fn the_whole_configuration_of_a_cargo_project() {
    let text = config_text(&choices("cargo test", "cargo build", "cargo clippy --all-targets"));
    assert_eq!(text, include_str!("example.toml"));
}

#[test]
fn the_shown_default_is_the_default() {
    let all: toml::Table =
        toml::from_str(&in_force(&config_text(&ConfigChoices::default()))).unwrap();
    let settings = nightwright_core::settings::Settings::default();
    let number = |section: &str, key: &str| all[section][key].as_integer().unwrap();
    let seconds = |section: &str, key: &str| {
        let text = all[section][key].as_str().unwrap();
        let span: jiff::SignedDuration = text.parse().unwrap();
        span.unsigned_abs()
    };
    assert_eq!(all["mode"].as_str().unwrap(), crate::config::modes::OF_TASKS);
    assert_eq!(number("limits", "reserve"), i64::from(settings.limits.reserve));
    assert_eq!(seconds("limits", "max_wait"), settings.limits.max_wait);
    assert_eq!(number("retry", "max_retries"), i64::from(settings.retry.max_retries));
    assert_eq!(seconds("retry", "delay"), settings.retry.delay);
    assert_eq!(
        number("retry", "max_consecutive_errors"),
        i64::from(settings.retry.max_consecutive_errors)
    );
    assert_eq!(number("stagnation", "threshold"), i64::from(settings.progress.threshold));
    assert_eq!(all["completion"]["signal"].as_str().unwrap(), settings.completion.signal);
    assert_eq!(number("completion", "threshold"), i64::from(settings.completion.signal_threshold));
    assert_eq!(seconds("verify", "timeout"), settings.verify.timeout);
    assert_eq!(Some(seconds("verify", "baseline")), settings.verify.baseline);
    assert_eq!(
        nightwright_core::units::Usd::from_dollars(all["verify"]["max_cost"].as_float().unwrap()),
        Some(settings.verify.max_cost)
    );
    assert_eq!(seconds("deadlines", "start"), settings.deadlines.start);
    assert_eq!(seconds("deadlines", "idle"), settings.deadlines.idle);
    assert_eq!(seconds("deadlines", "tool"), settings.deadlines.tool);
    assert_eq!(Some(seconds("deadlines", "attempt")), settings.deadlines.attempt);
}

#[test]
fn entries_are_added_to_an_existing_gitignore() {
    let tasks = "tasks/*/.status.json\ntasks/*/.state.json*\ntasks/*/feedback.md\ntasks/*/.stop\n";
    let all = format!("archive/\nlogs/\n{tasks}");
    assert_eq!(ignore_text(None).unwrap(), all);
    assert_eq!(ignore_text(Some("mine")).unwrap(), format!("mine\n{all}"));
    assert_eq!(ignore_text(Some("/logs\n")).unwrap(), format!("/logs\narchive/\n{tasks}"));
    assert_eq!(ignore_text(Some(&all)), None);
}

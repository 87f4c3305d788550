//! Tests of properties that every configuration key must have.

mod mistakes;
mod schema;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nightwright_core::hook::Hooks;
use nightwright_core::permissions::{PermissionRules, Permissions};
use nightwright_core::sandbox::hints::{self, HostNeeds, Need};
use nightwright_core::sandbox::network::NetworkMode;
use nightwright_core::settings::{
    AgentSettings, Commands, Completion, Council, Deadlines, Depth, Every, EvidenceKind, Extras,
    Limits, Model, ProgressSettings, Quota, Rerun, Retry, SandboxKind, SandboxSettings, Settings,
    StatusWatch, Tamper, VerdictMode, Verify, WatchdogResponse,
};
use nightwright_core::units::Usd;

use super::variables::VariableReader;
use super::*;
use crate::config::log_settings::LogSettings;
use crate::config::{ColorChoice, OutputLevel};

/// The definition of a mode, without defaults.
const MODE: &str = "description = \"x\"\nevidence = [\"promise\"]\nworks_on = \"task\"\n";
const EXAMPLE: &str = include_str!("tests/example.toml");
const ANOTHER: &str = include_str!("tests/another.toml");

fn layer(text: &str) -> ConfigLayer {
    let path = PathBuf::from("config.toml");
    ConfigLayer::parse(ValueOrigin::User(path.clone()), &path, text)
        .unwrap_or_else(|error| panic!("{error}"))
}

/// Several tables, used instead of the single address of the examples.
const SEVERAL: [&str; 2] = [
    "[[notify]]\nurl = 'https://ntfy.sh/one'\n[[notify]]\nurl = 'https://a.org/'\nevents = []\n",
    "[[notify]]\nurl = 'https://a.org/two'\nsecret = 'x'\nallow_http = true\nkind = 'webhook'\n",
];

fn value(text: &str, key: &Key) -> ConfigValue {
    let several = SEVERAL[usize::from(text == ANOTHER)];
    let text = if matches!(key.kind, ValueKind::Tables { .. }) { several } else { text };
    layer(text).get(key.name).unwrap_or_else(|| panic!("{}", key.name)).1.clone()
}

/// Everything that a key can affect.
fn effects(resolved: &ResolvedConfig) -> String {
    let mut settings = Settings::default();
    resolved.apply(&mut settings);
    let environment = resolved.environment_of_agent();
    let files = ["prompt.agents_file", "principles.file"].map(|key| resolved.get_text(key));
    let collect = resolved.get_bool("principles.collect");
    let (level, color) = (resolved.level(), resolved.color());
    let logs = LogSettings::of(resolved).unwrap();
    let secret = crate::secrets::SecretSettings::of(resolved);
    let notify = crate::output::notify::drafts(resolved);
    let awake = resolved.keeps_awake();
    format!(
        "{settings:?} {level:?} {color:?} {environment:?} {files:?} {collect:?} {logs:?} {secret:?} \
         {notify:?} {awake}"
    )
}

/// One layer of each kind that sets the key, the weakest first.
fn layers(key: &'static Key, values: [&ConfigValue; 2]) -> Vec<ConfigLayer> {
    let path = Path::new("x.toml");
    let text = |index: usize| format!("{} = {}", key.name, values[index % 2]);
    let file = |origin: ValueOrigin, index| ConfigLayer::parse(origin, path, &text(index)).unwrap();
    let mode = format!("{MODE}[defaults]\n{}", text(0));
    let variable = match values[0] {
        ConfigValue::Text(text) => text.clone(),
        ConfigValue::Duration(_)
        | ConfigValue::Size(_)
        | ConfigValue::Url(_)
        | ConfigValue::Secret(_) => values[0].plain(),
        other => other.to_string(),
    };
    let mut flags = ConfigLayer::flags();
    flags.set(key.name, values[1].clone());
    vec![
        ConfigLayer::parse_mode("loop", path, &mode).unwrap().1,
        file(ValueOrigin::User(path.to_owned()), 1),
        file(ValueOrigin::Project(path.to_owned()), 0),
        file(ValueOrigin::Task(path.to_owned()), 1),
        environment(|name| (name == key.env).then(|| OsString::from(&variable))).unwrap(),
        flags,
    ]
}

#[test]
fn the_later_layer_wins_for_every_key() {
    for key in KEYS.iter().filter(|key| key.name != "mode") {
        let (one, two) = (value(EXAMPLE, key), value(ANOTHER, key));
        assert_ne!(one, two, "{}", key.name);
        let layers = layers(key, [&one, &two]);
        let names = ["built-in", "mode", "user", "project", "task", "environment", "flag"];
        for count in 0..=layers.len() {
            let resolved = ResolvedConfig::new(layers[..count].iter().cloned());
            assert_eq!(resolved.origin(key.name).layer(), names[count], "{}", key.name);
            let wanted = match count {
                0 => key.default_value(),
                1 | 3 | 5 => Some(one.clone()),
                _ => Some(two.clone()),
            };
            assert_eq!(resolved.value(key.name), wanted.as_ref(), "{} {}", key.name, names[count]);
            let said = count + usize::from(key.default_value().is_some());
            assert_eq!(resolved.all(key.name).len(), said, "{}", key.name);
        }
    }
}

#[test]
fn the_mode_is_chosen_by_every_layer_but_a_mode() {
    let key = find("mode").unwrap();
    let values = [&value(EXAMPLE, key), &value(ANOTHER, key)];
    let mode = format!("{MODE}[defaults]\nmode = \"y\"");
    let error = ConfigLayer::parse_mode("x", Path::new("x"), &mode);
    assert!(error.unwrap_err().to_string().contains("a mode cannot choose the mode"));
    let path = Path::new("x.toml");
    let user =
        ConfigLayer::parse(ValueOrigin::User(path.to_owned()), path, "mode = \"loop\"").unwrap();
    let environment = environment(|name| (name == key.env).then(|| "build".into())).unwrap();
    let mut flags = ConfigLayer::flags();
    flags.set("mode", "plan");
    for (layers, wanted) in [
        (vec![], None),
        (vec![user.clone()], Some("loop")),
        (vec![user.clone(), environment.clone()], Some("build")),
        (vec![user, environment, flags], Some("plan")),
    ] {
        assert_eq!(ResolvedConfig::new(layers).get_text("mode"), wanted, "{values:?}");
    }
}

#[test]
fn every_key_has_an_effect() {
    let usual = effects(&ResolvedConfig::new([]));
    for key in KEYS {
        let effect_of = |text| {
            let mut layer = ConfigLayer::flags();
            layer.set(key.name, value(text, key));
            effects(&ResolvedConfig::new([layer]))
        };
        assert_ne!(effect_of(EXAMPLE), usual, "{}", key.name);
    }
}

#[test]
fn every_word_of_a_choice_means_something_else() {
    for key in KEYS {
        let ValueKind::Choice(words) = key.kind else { continue };
        let meanings: BTreeSet<String> = words
            .iter()
            .map(|word| {
                let mut layer = ConfigLayer::flags();
                layer.set(key.name, *word);
                effects(&ResolvedConfig::new([layer]))
            })
            .collect();
        // Two permission levels also accept the agent program's own names.
        let aliases = if key.name == "agent.permissions" { 2 } else { 0 };
        assert_eq!(meanings.len(), words.len() - aliases, "{}", key.name);
    }
}

#[test]
fn the_defaults_are_those_of_the_settings() {
    let mut settings = Settings::default();
    ResolvedConfig::new([]).apply(&mut settings);
    let mut wanted = Settings::default();
    wanted.agent.sources = vec!["user".to_owned()];
    assert_eq!(settings, wanted);
    assert_eq!(ResolvedConfig::new([]).level(), OutputLevel::default());
    assert_eq!(ResolvedConfig::new([]).color(), ColorChoice::default());
}

fn example_sandbox() -> SandboxSettings {
    SandboxSettings {
        kind: SandboxKind::Bwrap,
        read: vec!["~/datasets".to_owned()],
        write: vec![".git/config".to_owned()],
        devices: vec!["/dev/kvm".to_owned()],
        userns: true,
        registry_logins: true,
        network: NetworkMode::Only(vec!["example.com:443".parse().unwrap()]),
        host_ports: vec![5432],
        private_hosts: vec!["db.example:5432".parse().unwrap()],
    }
}

#[test]
fn a_file_with_every_key_gives_these_settings() {
    let text = |text: &str| Some(text.to_owned());
    let seconds = Duration::from_secs;
    let mut settings = Settings::default();
    let resolved = ResolvedConfig::new([layer(EXAMPLE)]);
    resolved.apply(&mut settings);
    let wanted = Settings {
        mode: "loop".to_owned(),
        notes_file: text("docs/NOTES.md"),
        delay: seconds(90),
        commands: Commands {
            test: text("cargo test"),
            build: text("cargo build"),
            lint: text("cargo clippy"),
        },
        limits: Limits {
            max_iterations: Some(50),
            max_cost: Some(Usd::from_cents(750)),
            max_tokens: Some(500_000),
            max_duration: Some(Duration::from_hours(8)),
            reserve: 20,
            quota: Quota { five_hour: Some(90), seven_day: Some(80) },
            max_wait: Duration::from_hours(1),
        },
        retry: Retry {
            max_retries: 2,
            delay: Duration::from_millis(2500),
            max_consecutive_errors: 1,
        },
        progress: ProgressSettings { threshold: 0, no_gain: 7, ..ProgressSettings::default() },
        completion: Completion {
            evidence: vec![],
            signal: "ALL DONE".to_owned(),
            signal_threshold: 2,
            end_phrase: text("That is all."),
        },
        verify: Verify {
            commands: vec!["cargo test".to_owned(), "[ -f README.md ]".to_owned()],
            outside: vec!["[ -f README.md ]".to_owned()],
            pass_environment: vec!["NPM_TOKEN".to_owned()],
            timeout: Duration::from_mins(20),
            baseline: None,
            every: Every::Claim,
            rerun: Rerun::Never,
            tamper: Tamper::Reject,
            model: VerdictMode::Always,
            model_name: text("opus"),
            depth: Depth::Deep,
            max_cost: Usd::from_cents(100),
            model_timeout: Some(Duration::from_mins(1)),
        },
        extras: Extras {
            review: text("Mind the docs."),
            council: Council::Off,
            watchdog: WatchdogResponse::Off,
            log_decisions: true,
        },
        status_watch: StatusWatch {
            enabled: false,
            debounce: Duration::from_millis(500),
            only_meaningful: false,
        },
        hooks: Hooks { timeout: seconds(45), ..Hooks::default() },
        deadlines: Deadlines {
            start: seconds(60),
            idle: seconds(61),
            tool: seconds(62),
            heartbeat: seconds(63),
            after_result: seconds(64),
            attempt: None,
        },
        model: Model {
            name: text("sonnet"),
            escalate: text("opus"),
            fallback: text("haiku"),
            max_turns: Some(40),
        },
        agent: AgentSettings {
            command: text("my-agent --fast"),
            permissions: Permissions::Edits,
            rules: PermissionRules::default(),
            allowed_tools: vec!["Bash(cargo test:*)".to_owned()],
            disallowed_tools: vec!["WebFetch".to_owned()],
            sources: vec!["user".to_owned(), "project".to_owned()],
            max_output_tokens: Some(16_000),
            pass_environment: vec!["GITHUB_*".to_owned()],
            environment: vec!["IS_SANDBOX".to_owned()],
            arguments: vec!["--mcp-config".to_owned(), String::new()],
        },
        sandbox: example_sandbox(),
        ..Settings::default()
    };
    assert_eq!(settings, wanted);
    assert_eq!(resolved.environment_of_agent()["IS_SANDBOX"], "1");
    assert_eq!((resolved.level(), resolved.color()), (OutputLevel::Json, ColorChoice::Never));
    assert_eq!(resolved.get_text("prompt.agents_file"), Some("AGENTS.md"));
    assert_eq!(resolved.get_text("principles.file"), Some("docs/principles.toml"));
    assert_eq!(resolved.get_bool("principles.collect"), Some(true));
}

#[test]
fn no_limit_of_iterations_and_no_text_can_take_back_what_an_earlier_layer_says() {
    let mut settings = Settings::default();
    ResolvedConfig::new([layer(EXAMPLE), layer(ANOTHER)]).apply(&mut settings);
    assert_eq!(settings.limits.max_iterations, None);
    assert_eq!(settings.model, Model { max_turns: Some(1), ..Model::default() });
    assert_eq!(settings.agent.command, None);
    assert_eq!(settings.notes_file, None);
    assert_eq!(settings.commands, Commands::default());
    assert_eq!(settings.completion.end_phrase, None);
    assert_eq!(settings.extras.review.as_deref(), Some(""), "our own words");
}

#[test]
fn an_end_phrase_is_evidence_unless_none_is_read() {
    let mut settings = Settings::default();
    ResolvedConfig::new([layer("completion.end_phrase = \"Bye.\"")]).apply(&mut settings);
    assert!(settings.completion.evidence.contains(&EvidenceKind::EndPhrase));
    ResolvedConfig::new([layer("completion.end_phrase = \"Bye.\"\ncompletion.detect = false")])
        .apply(&mut settings);
    assert_eq!(settings.completion.evidence, []);
}

#[test]
fn tables_merge_by_key_and_lists_replace() {
    let resolved = ResolvedConfig::new([
        layer("agent.env = { A = \"1\", B = \"1\" }\nverify.commands = [\"a\", \"b\"]"),
        layer("agent.env = { B = \"2\", C = \"2\" }\nverify.commands = [\"c\"]"),
    ]);
    let wanted = [("A", "1"), ("B", "2"), ("C", "2")];
    let wanted = wanted.map(|(name, text)| (name.to_owned(), text.to_owned()));
    assert_eq!(resolved.environment_of_agent(), wanted.into());
    assert_eq!(resolved.get_list("verify.commands"), Some(vec!["c".to_owned()]));
}

#[test]
fn names_are_unique_and_variables_have_the_prefix() {
    let names: BTreeSet<_> = KEYS.iter().map(|key| key.name).collect();
    assert_eq!(names.len(), KEYS.len());
    // A hook gets some variables under the names that set them.
    for reader in [VariableReader::ByUs, VariableReader::ByPrograms] {
        let read = || VARIABLES.iter().filter(move |variable| variable.used == reader);
        let keys = || KEYS.iter().filter(move |_| reader == VariableReader::ByUs);
        let mut variables: BTreeSet<_> = keys().map(|key| key.env).collect();
        variables.extend(read().map(|variable| variable.name));
        assert_eq!(variables.len(), keys().count() + read().count());
    }
    for key in KEYS {
        assert!(key.env.starts_with("NIGHTWRIGHT_"), "{}", key.env);
        assert!(key.about.ends_with('.') && key.default_value().is_some() == key.unset.is_empty());
    }
}

#[test]
fn every_nightwright_variable_in_the_source_is_documented() {
    let documented = |name: &str| {
        KEYS.iter().any(|key| key.env == name) || VARIABLES.iter().any(|one| one.name == name)
    };
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let walk = ignore::WalkBuilder::new(here.join("src"))
        .add(here.join("../nightwright-process/src"))
        .build();
    for entry in walk {
        let path = entry.unwrap().into_path();
        let Ok(text) = fs::read_to_string(&path) else { continue };
        for (at, _) in text.match_indices("\"NIGHTWRIGHT_") {
            let name = text[at + 1..].split('"').next().unwrap();
            assert!(name == "NIGHTWRIGHT_" || documented(name), "{name} in {}", path.display());
        }
    }
}

#[test]
fn trust_covers_what_runs_something_or_widens_what_the_agent_may_do() {
    let gated: Vec<_> = KEYS.iter().filter(|key| key.gated).map(|key| key.name).collect();
    let agent = [
        "command",
        "args",
        "env",
        "pass_env",
        "permissions",
        "allowed_tools",
        "disallowed_tools",
        "settings",
    ];
    let mut wanted = vec!["verify.commands".to_owned(), "verify.pass_env".to_owned()];
    wanted.extend(agent.map(|name| format!("agent.{name}")));
    let more = [
        "read",
        "write",
        "devices",
        "userns",
        "registry_logins",
        "network",
        "host_ports",
        "private_hosts",
    ];
    wanted.extend(more.map(|name| format!("sandbox.{name}")));
    // At the default permission level the agent may run them.
    wanted.extend(["test", "build", "lint"].map(|name| format!("commands.{name}")));
    // Only the user decides where notifications go and what they contain.
    let notify = KEYS.iter().map(|key| key.name).filter(|name| is_notify_key(name));
    wanted.extend(notify.map(str::to_owned));
    // A pattern such as `.+` would hide everything that a run prints.
    wanted.push("redact.patterns".to_owned());
    assert_eq!(gated, wanted);

    let path = PathBuf::from("x.toml");
    let project = ConfigLayer::parse(ValueOrigin::Project(path.clone()), &path, EXAMPLE).unwrap();
    let resolved = ResolvedConfig::new([layer(ANOTHER), project.clone()]);
    // A file contains either one address or several.
    assert_eq!(resolved.gated().len(), gated.len() - 1);
    assert_eq!(ResolvedConfig::new([layer(ANOTHER), project.without(&gated)]).gated(), []);
}

#[test]
fn the_environment_has_lists_by_lines_or_as_arrays() {
    let read = |name: &'static str, text: &'static str| {
        environment(move |asked| (asked == name).then(|| text.into())).unwrap()
    };
    for text in ["a b\nc\n", "[\"a b\", \"c\"]"] {
        let resolved = ResolvedConfig::new([read("NIGHTWRIGHT_VERIFY_COMMANDS", text)]);
        assert_eq!(resolved.get_list("verify.commands").unwrap(), ["a b", "c"]);
    }
    for text in ["A=1\nB=x=y", "{ A = \"1\", B = \"x=y\" }"] {
        let variables =
            ResolvedConfig::new([read("NIGHTWRIGHT_AGENT_ENV", text)]).environment_of_agent();
        assert_eq!(variables.into_values().collect::<Vec<_>>(), ["1", "x=y"]);
    }
    let test = ResolvedConfig::new([read("NIGHTWRIGHT_VERIFY_COMMANDS", "[ -f README.md ]")]);
    assert_eq!(test.get_list("verify.commands").unwrap(), ["[ -f README.md ]"]);
    assert_eq!(read("NIGHTWRIGHT_MAX_COST", ""), environment(|_| None).unwrap());
}

#[test]
fn a_variable_with_a_bad_value_is_named_with_what_is_allowed() {
    for key in KEYS {
        let bad = match key.kind {
            ValueKind::Text | ValueKind::TextOrNothing | ValueKind::Secret => "\0",
            ValueKind::Checks => "a\0b",
            ValueKind::List(Items::Any | Items::Texts | Items::Tools | Items::Patterns) => "a\0b",
            ValueKind::List(_) => "a=b",
            ValueKind::File | ValueKind::Name => "../out",
            _ => "-1",
        };
        let failure = environment(|name| (name == key.env).then(|| bad.into())).unwrap_err();
        assert_eq!(failure.kind, crate::error::FailureKind::Usage, "{}", key.name);
        for part in [key.env, &key.kind.allowed()] {
            assert!(failure.message.contains(part), "{failure}");
        }
        assert!(failure.hint.unwrap().contains(key.name));
    }
}

#[test]
fn every_line_that_gives_a_check_what_it_needs_is_configuration() {
    let needs = [
        Need::Port(5432),
        Need::Write("~/out dir".to_owned()),
        Need::Read("/srv/a \"b\" 'c'".to_owned()),
        Need::Device("/dev/kvm".to_owned()),
        Need::UserNamespaces,
        Need::Network,
        Need::Containers,
        Need::Other,
    ];
    let mut settings = Settings::default();
    settings.verify.commands = vec!["make \"it's\"\n\tall \\ok".to_owned(), "make".to_owned()];
    let command = settings.verify.commands[0].clone();
    let lines = hints::lines(&[HostNeeds { command, needs: needs.to_vec() }], &settings);
    // One line for each need; the last two share theirs.
    assert_eq!(lines.len(), needs.len() - 1);
    let mut all = Vec::new();
    for line in lines {
        let (key, value) = line.split_once(" = ").unwrap();
        let parsed = ConfigLayer::parse(ValueOrigin::BuiltIn, Path::new("x.toml"), &line).unwrap();
        let (_, read) = parsed.get(key).unwrap();
        // `nightwright config set` takes the same, and a text without its quotes.
        let value = value.trim_matches('"');
        assert_eq!(find(key).unwrap().kind.parse(&[value]).as_ref(), Ok(read), "{line}");
        let before = settings.clone();
        parsed.apply(&mut settings);
        assert_ne!(settings, before, "{line}");
        all.push(key.to_owned());
    }
    assert_eq!(settings.verify.outside, settings.verify.commands[..1]);
    assert_eq!(all.len(), 7, "{all:?}");
}

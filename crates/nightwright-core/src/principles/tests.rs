//! Both formats, valid and invalid, and the text for the agent.

use super::words::EXAMPLE;
use super::*;

fn weight(number: u8) -> Weight {
    Weight::new(number).unwrap()
}

/// The mistakes in a string, one line each.
fn wrong(found: Result<Principles, Vec<Mistake>>, text: &str) -> Vec<String> {
    let mistakes = found.expect_err(text);
    let line = |mistake: &Mistake| {
        let place = &text[mistake.span.clone()];
        let help = match &mistake.help {
            MistakeHelp::None => String::new(),
            MistakeHelp::Say(advice) => format!(" | {advice}"),
            MistakeHelp::Nearest { word, among } => format!(" | {word} of {}", among.len()),
        };
        format!("{}: {} [{place}]{help}", mistake.line(text), mistake.message)
    };
    mistakes.iter().map(line).collect()
}

#[test]
fn the_eighteen_are_those_of_the_two_layers_in_their_order() {
    assert_eq!(
        Layer::Product.names(),
        [
            "trust_architecture",
            "curation_model",
            "scope_philosophy",
            "monetization_model",
            "privacy_posture",
            "ux_philosophy",
            "authority_stance",
            "auditability",
            "interoperability",
        ]
    );
    assert_eq!(
        Layer::Development.names(),
        [
            "speed_correctness",
            "innovation_stability",
            "blast_radius",
            "clarity_of_intent",
            "reversibility_priority",
            "security_posture",
            "urgency_tiers",
            "cost_efficiency",
            "migration_burden",
        ]
    );
}

#[test]
fn every_weight_of_every_preset_is_one_and_custom_is_in_the_middle() {
    for preset in Preset::ALL {
        let all = Principles::of(preset);
        assert_eq!(all.preset(), preset);
        assert_eq!(Preset::named(preset.name()), Some(preset));
        for (principle, found) in all.weights() {
            assert!(Weight::new(found.get()).is_some(), "{} {preset:?}", principle.name);
            if preset == Preset::Custom {
                assert_eq!(found, weight(5));
            }
        }
    }
}

#[test]
fn weights_left_out_are_the_presets() {
    let startup = Principles::of(Preset::Startup);
    let expected = startup.clone().with("auditability", weight(9)).with("blast_radius", weight(1));
    for (text, wanted) in [
        ("", Principles::of(Preset::Custom)),
        ("preset = \"startup\"", startup.clone()),
        ("preset = \"startup\"\n[product]\n[development]\n", startup),
        (
            "preset = \"startup\"\r\n[product] # mine\r\nauditability = 9\r\n\
             [development]\r\nblast_radius = 1\r\n",
            expected.clone(),
        ),
        (
            "product.auditability = 0x9\ndevelopment = { blast_radius = 1 }\npreset = 'startup'",
            expected,
        ),
        (
            "product.auditability = 10",
            Principles::of(Preset::Custom).with("auditability", weight(10)),
        ),
    ] {
        assert_eq!(Principles::parse_toml(text), Ok(wanted), "{text}");
    }
}

#[test]
fn written_principles_are_read_back_unchanged() {
    for preset in Preset::ALL {
        let principles = Principles::of(preset).with("urgency_tiers", weight(10));
        let text = principles.to_toml();
        assert_eq!(Principles::parse_toml(&text), Ok(principles.clone()), "{text}");
        let json = serde_json::to_string(&principles).unwrap();
        assert_eq!(serde_json::from_str::<Principles>(&json).unwrap(), principles);
        let as_toml: toml::Table = toml::from_str(&text).unwrap();
        assert_eq!(
            serde_json::to_value(as_toml).unwrap(),
            serde_json::to_value(&principles).unwrap()
        );
    }
}

#[test]
fn a_recorded_weight_that_this_version_does_not_know_costs_nothing() {
    let text = r#"{"preset":"startup","product":{"auditability":9,"beauty":3}}"#;
    let principles: Principles = serde_json::from_str(text).unwrap();
    assert_eq!(principles, Principles::of(Preset::Startup).with("auditability", weight(9)));
    let text = r#"{"preset":"startup","product":{"auditability":11}}"#;
    assert!(serde_json::from_str::<Principles>(text).is_err());
}

#[test]
fn every_mistake_in_a_toml_file_is_named_with_its_line_and_what_is_allowed() {
    let number = "must be a whole number from 1 to 10";
    for (text, wanted) in [
        (
            "preset = \"strtup\"\n",
            "1: `preset` must be one of `startup`, `enterprise`, `opensource`, `custom` \
             [\"strtup\"] | strtup of 4"
                .to_owned(),
        ),
        (
            "preset = 3",
            "1: `preset` must be one of `startup`, `enterprise`, `opensource`, `custom` [3]"
                .to_owned(),
        ),
        (
            "\n[product]\nauditabilty = 3",
            "3: unknown principle `product.auditabilty` [auditabilty] | auditabilty of 9"
                .to_owned(),
        ),
        (
            "[product]\nblast_radius = 3",
            "2: `blast_radius` does not belong to `product` [blast_radius] | move it below \
             `[development]`"
                .to_owned(),
        ),
        (
            "blast_radius = 3",
            "1: unknown key `blast_radius` [blast_radius] | move it below `[development]`"
                .to_owned(),
        ),
        ("[produkt]\n", "1: unknown key `produkt` [produkt] | produkt of 3".to_owned()),
        (
            "product = 3",
            "1: `product` must be a table of weights [3] | write `[product]`, and the weights below it"
                .to_owned(),
        ),
        (
            "[product]\nauditability = 11",
            format!(
                "2: `product.auditability` {number} [11] | 1 is minimal logging, 10 is full audit trail"
            ),
        ),
        (
            "[product]\nauditability = 0",
            format!(
                "2: `product.auditability` {number} [0] | 1 is minimal logging, 10 is full audit trail"
            ),
        ),
        (
            "[product]\nauditability = -3",
            format!(
                "2: `product.auditability` {number} [-3] | 1 is minimal logging, 10 is full audit trail"
            ),
        ),
        (
            "[product]\nauditability = \"high\"",
            format!(
                "2: `product.auditability` {number} [\"high\"] | 1 is minimal logging, 10 is full audit trail"
            ),
        ),
        (
            "[product]\nauditability = 7.5",
            format!(
                "2: `product.auditability` {number} [7.5] | 1 is minimal logging, 10 is full audit trail"
            ),
        ),
    ] {
        assert_eq!(wrong(Principles::parse_toml(text), text), [wanted], "{text}");
    }
    for text in
        ["preset =", "[product\n", "a b c", "preset = \"custom\"\npreset = \"custom\"", "\u{0}"]
    {
        assert!(Principles::parse_toml(text).is_err(), "{text}");
    }
}

#[test]
fn all_mistakes_are_named_at_once_in_the_order_of_the_file() {
    let text = "[development]\nspeed = 1\nblast_radius = 99\n\n[product]\nx = 1\n";
    let found = wrong(Principles::parse_toml(text), text);
    let lines: Vec<_> = found.iter().map(|line| line.split(':').next().unwrap()).collect();
    assert_eq!(lines, ["2", "3", "6"]);
}

const YAML: &str = "\
---
# What we go by
version: \"2.3\"
preset: 'startup'   # small
created_at: 2026-01-11T14:30:00

layer0:
  # the product
  auditability: 9     # full trail
  scope_philosophy: \"1\"

layer1:
  blast_radius: 2
";

#[test]
fn the_yaml_form_is_read() {
    let wanted = Principles::of(Preset::Startup)
        .with("auditability", weight(9))
        .with("scope_philosophy", weight(1))
        .with("blast_radius", weight(2));
    for text in [YAML.to_owned(), YAML.replace('\n', "\r\n"), YAML.replace("  ", "    ")] {
        assert_eq!(Principles::parse_yaml(&text), Ok(wanted.clone()), "{text}");
    }
    for text in ["", "# nothing\n\n", "layer0:\n", "preset: custom", "version: 1\nlayer1: # none\n"]
    {
        assert_eq!(Principles::parse_yaml(text), Ok(Principles::of(Preset::Custom)), "{text}");
    }
}

#[test]
fn every_mistake_in_a_yaml_file_is_named_with_its_line() {
    for (text, wanted) in [
        (
            "preset: strtup",
            "1: `preset` must be one of `startup`, `enterprise`, `opensource`, `custom` [strtup] \
             | strtup of 4",
        ),
        ("verison: 1", "1: unknown key `verison` [verison] | verison of 5"),
        (
            "auditability: 3",
            "1: unknown key `auditability` [auditability] | move it below `layer0:`",
        ),
        (
            "layer0:\n  auditabilty: 3",
            "2: unknown principle `layer0.auditabilty` [auditabilty] | auditabilty of 9",
        ),
        (
            "layer0:\n  blast_radius: 3",
            "2: `blast_radius` does not belong to `layer0` [blast_radius] | move it below `layer1:`",
        ),
        (
            "layer0:\r\n  auditability: 11 # x\r\n",
            "2: `layer0.auditability` must be a whole number from 1 to 10 [11] | 1 is minimal \
             logging, 10 is full audit trail",
        ),
        (
            "layer0:\n  auditability:",
            "2: `layer0.auditability` must be a whole number from 1 to 10 [] | 1 is minimal \
             logging, 10 is full audit trail",
        ),
        (
            "layer0:\n  auditability: 3\n  auditability: 4",
            "3: `auditability` is duplicated [auditability]",
        ),
        ("layer0:\nlayer1:\nlayer0:", "3: `layer0` is duplicated [layer0]"),
        (
            "layer0: {auditability: 3}",
            "1: `layer0` must be a map of weights [{auditability: 3}] | write the weights below it, one per \
             line",
        ),
        ("layer0:\n\tauditability: 3", "2: a line begins with a tab [\tauditability: 3]"),
        (
            "layer0:\n  auditability: 3\n    scope_philosophy: 3",
            "3: this line is not indented like those above it [scope_philosophy: 3]",
        ),
        ("  auditability: 3", "1: this line is indented, but belongs to no key [auditability: 3]"),
        ("layer0:\n  - auditability: 3", "2: this is not a `key: value` line [- auditability: 3]"),
        ("preset:startup", "1: this is not a `key: value` line [preset:startup]"),
        ("preset", "1: this is not a `key: value` line [preset]"),
        (": 3", "1: this is not a `key: value` line [: 3]"),
        ("version: \"2.3", "1: the closing quote is missing [\"2.3]"),
        ("version: \"2\" 3", "1: the closing quote is missing [\"2\" 3]"),
        ("größe: 3", "1: unknown key `größe` [größe] | größe of 5"),
    ] {
        assert_eq!(wrong(Principles::parse_yaml(text), text), [wanted], "{text}");
    }
    // One message about an unknown key suffices; the lines below it are skipped.
    let text = "layer2:\n  auditability: 99\nlayer0:\n  x: 1\n";
    assert_eq!(wrong(Principles::parse_yaml(text), text).len(), 2);
}

#[test]
fn any_text_is_read_or_refused_with_places_that_exist() {
    for text in
        ["\"", "a: '", "'':'\n", "é:\u{a0}1", ": :\n: 'ü", "layer0:\n \u{3000}x: 1", "\r\r\n\t:"]
    {
        for found in [Principles::parse_toml(text), Principles::parse_yaml(text)] {
            for mistake in found.err().into_iter().flatten() {
                assert!(text.get(mistake.span.clone()).is_some(), "{text:?} {mistake:?}");
                assert!(mistake.line(text) >= 1);
            }
        }
    }
}

#[test]
fn the_text_for_the_agent_is_short_for_any_weights() {
    let all = |number| {
        SCALE.iter().fold(Principles::of(Preset::Custom), |all, principle| {
            all.with(principle.name, weight(number))
        })
    };
    let presets = Preset::ALL.map(Principles::of);
    for principles in presets.into_iter().chain([all(1), all(4), all(10)]) {
        let text = principles.text();
        assert!(text.len() < 2560, "{} bytes:\n{text}", text.len());
        assert!(text.starts_with("# Principles of this project\n"), "{text}");
        assert!(
            text.contains("legal > security > user intent > data integrity > quality > speed > UX")
        );
        for principle in &SCALE {
            assert_eq!(text.matches(principle.name).count(), 1, "{}", principle.name);
        }
    }
}

#[test]
fn clear_leanings_come_first_and_as_sentences() {
    let text = Principles::of(Preset::Startup).text();
    let place = |part: &str| text.find(part).unwrap_or_else(|| panic!("`{part}` not in:\n{text}"));
    assert!(place("- scope_philosophy 2: Build the minimum") < place("No clear preference"));
    assert!(place("- cost_efficiency 9: Use existing libraries") < place("No clear preference"));
    assert!(
        place("trust_architecture 5 (permissive - strict verification)")
            > place(
                "No clear \
                   preference"
            )
    );
    assert!(!Principles::of(Preset::Custom).text().contains("Clear preferences"));
}

#[test]
fn the_marker_stands_only_in_code() {
    let text = Principles::of(Preset::Enterprise).text();
    for line in text.lines().filter(|line| line.contains(CONFLICT)) {
        assert!(line.starts_with("    "), "{line}");
    }
    assert_eq!(text.matches(CONFLICT).count(), 1);
}

#[test]
fn the_example_of_a_principles_file_is_valid_and_complete() {
    let text = request(".nightwright/principles.toml", None);
    assert!(text.contains("`.nightwright/principles.toml`") && text.contains(EXAMPLE));
    let example = Principles::parse_toml(EXAMPLE).unwrap();
    assert_eq!(example.preset(), Preset::Opensource);
    assert_eq!(example.weight("scope_philosophy"), Some(weight(2)));
    for name in SCALE.iter().map(|one| one.name).chain(Preset::ALL.map(Preset::name)) {
        assert!(text.contains(name), "{name} is not in:\n{text}");
    }
    assert!(text.len() < 3 << 10, "{}", text.len());
}

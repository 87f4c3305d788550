//! The TOML format of principles, written by people: `preset`, `[product]`, `[development]`.

use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

use super::draft::{PrinciplesDraft, PrinciplesFormat, no_preset};
use super::{Layer, Mistake, MistakeHelp, Principle, Principles, Weight};

impl Principles {
    /// Parses the TOML format. Missing weights come from the preset; a missing preset is `custom`.
    pub fn parse_toml(text: &str) -> Result<Self, Vec<Mistake>> {
        let (table, errors) = DeTable::parse_recoverable(text);
        if !errors.is_empty() {
            let mistake = |error: &toml::de::Error| {
                let span = error.span().unwrap_or(text.len()..text.len());
                Mistake::new(span, error.message(), "here")
            };
            return Err(errors.iter().map(mistake).collect());
        }
        let mut draft = PrinciplesDraft::new(PrinciplesFormat::Toml);
        for (name, value) in table.get_ref() {
            let key = name.get_ref().as_ref();
            let layer = Layer::ALL.into_iter().find(|layer| layer.name() == key);
            match (layer, value.get_ref()) {
                (Some(layer), DeValue::Table(inner)) => weights(&mut draft, layer, inner),
                (Some(layer), other) => {
                    let label = format!("this is {}", kind(other));
                    let message = format!("`{key}` must be a table of weights");
                    let help = MistakeHelp::Say(format!(
                        "write `[{}]`, and the weights below it",
                        layer.name()
                    ));
                    draft.mistakes.push(Mistake::new(value.span(), message, label).help(help));
                }
                (None, DeValue::String(preset)) if key == "preset" => {
                    draft.preset(preset, value.span());
                }
                (None, other) if key == "preset" => {
                    let label = format!("this is {}", kind(other));
                    draft.mistakes.push(Mistake::new(value.span(), no_preset(), label));
                }
                (None, _) => draft.unknown(key, name.span()),
            }
        }
        draft.finish()
    }

    /// The TOML format, with comments on the meaning of low and high weights.
    pub fn to_toml(&self) -> String {
        let line = |(principle, weight): (&Principle, Weight)| {
            let Principle { name, when_low, when_high, .. } = principle;
            format!("# 1-3: {when_low}\n# 8-10: {when_high}\n{name} = {}\n", weight.get())
        };
        let tables = Layer::ALL.map(|layer| {
            let own = self.weights().filter(|(principle, _)| principle.layer == layer);
            let lines: String = own.map(line).collect();
            format!("\n# {}\n[{}]\n{lines}", layer.about(), layer.name())
        });
        format!("{HEAD}preset = \"{}\"\n{}", self.preset.name(), tables.concat())
    }
}

const HEAD: &str = "\
# Trade-off priorities of this project: weights from 1 to 10. A missing weight
# comes from the preset. To print the text for the agent: nightwright principles --show
";

fn weights(draft: &mut PrinciplesDraft, layer: Layer, table: &DeTable<'_>) {
    for (name, value) in table {
        draft.weight(layer, (name.get_ref(), name.span()), (weight(value), value.span()));
    }
}

/// A weight, or a description of another value.
fn weight(value: &Spanned<DeValue<'_>>) -> Result<Weight, String> {
    match value.get_ref() {
        DeValue::Integer(number) => {
            integer(number).and_then(Weight::new).ok_or_else(|| "this is not allowed".to_owned())
        }
        other => Err(format!("this is {}", kind(other))),
    }
}

fn integer(number: &DeInteger<'_>) -> Option<u8> {
    u8::from_str_radix(number.as_str(), number.radix()).ok()
}

fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a floating-point number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

//! Principles while a file is parsed: the values so far, and the mistakes.

use std::ops::Range;

use super::{Layer, Preset, Principles, SCALE, Weight};

/// A mistake in a file of principles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The position in bytes.
    pub span: Range<usize>,
    /// One sentence that names the key and the allowed values.
    pub message: String,
    /// The label at the position itself.
    pub label: String,
    pub help: MistakeHelp,
}

/// The help for a mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MistakeHelp {
    /// No help besides the message.
    None,
    Say(String),
    /// The name that is closest to the word.
    Nearest {
        /// The word in the file.
        word: String,
        among: Vec<&'static str>,
    },
}

impl Mistake {
    pub(super) fn new(
        span: Range<usize>,
        message: impl Into<String>,
        label: impl Into<String>,
    ) -> Self {
        Self { span, message: message.into(), label: label.into(), help: MistakeHelp::None }
    }

    pub(super) fn help(self, help: MistakeHelp) -> Self {
        Self { help, ..self }
    }

    /// The line number of the mistake in the text.
    pub fn line(&self, text: &str) -> usize {
        let at = text.floor_char_boundary(self.span.start.min(text.len()));
        text[..at].matches('\n').count() + 1
    }
}

/// The names that a format uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PrinciplesFormat {
    Toml,
    Yaml,
}

impl PrinciplesFormat {
    pub(super) fn table(self, layer: Layer) -> &'static str {
        match self {
            Self::Toml => layer.name(),
            Self::Yaml => layer.yaml_name(),
        }
    }

    /// The heading of a table in this format.
    fn heading(self, layer: Layer) -> String {
        match self {
            Self::Toml => format!("[{}]", layer.name()),
            Self::Yaml => format!("{}:", layer.yaml_name()),
        }
    }

    /// The keys outside of tables.
    fn outermost(self) -> Vec<&'static str> {
        let tables = Layer::ALL.map(|layer| self.table(layer));
        let own: &[&str] = match self {
            Self::Toml => &["preset"],
            Self::Yaml => &["version", "preset", "created_at"],
        };
        own.iter().copied().chain(tables).collect()
    }
}

/// The values read so far.
#[derive(Debug)]
pub(super) struct PrinciplesDraft {
    form: PrinciplesFormat,
    preset: Option<Preset>,
    weights: Vec<(&'static str, Weight)>,
    pub(super) mistakes: Vec<Mistake>,
}

impl PrinciplesDraft {
    pub(super) fn new(form: PrinciplesFormat) -> Self {
        Self { form, preset: None, weights: Vec::new(), mistakes: Vec::new() }
    }

    /// Sets the preset by its name.
    pub(super) fn preset(&mut self, name: &str, span: Range<usize>) {
        self.preset = Preset::named(name);
        if self.preset.is_none() {
            let among = Preset::ALL.map(Preset::name).to_vec();
            let mistake = Mistake::new(span, no_preset(), "this is none of them");
            self.mistakes.push(mistake.help(MistakeHelp::Nearest { word: name.to_owned(), among }));
        }
    }

    /// Sets a weight of a layer; `Err` describes a value that is not a number.
    pub(super) fn weight(
        &mut self,
        layer: Layer,
        (name, key): (&str, Range<usize>),
        (value, place): (Result<Weight, String>, Range<usize>),
    ) {
        let table = self.form.table(layer);
        let Some(principle) = SCALE.iter().find(|principle| principle.name == name) else {
            let help = MistakeHelp::Nearest { word: name.to_owned(), among: layer.names() };
            let message = format!("unknown principle `{table}.{name}`");
            self.mistakes.push(Mistake::new(key, message, "unknown").help(help));
            return;
        };
        if principle.layer != layer {
            let help = format!("move it below `{}`", self.form.heading(principle.layer));
            let message = format!("`{name}` does not belong to `{table}`");
            self.mistakes.push(
                Mistake::new(key, message, "in the wrong table").help(MistakeHelp::Say(help)),
            );
            return;
        }
        match value {
            Ok(weight) => self.weights.push((principle.name, weight)),
            Err(label) => {
                let message = format!("`{table}.{name}` must be a whole number from 1 to 10");
                let scale = format!("1 is {}, 10 is {}", principle.low, principle.high);
                self.mistakes
                    .push(Mistake::new(place, message, label).help(MistakeHelp::Say(scale)));
            }
        }
    }

    /// Records an unknown key outside of tables.
    pub(super) fn unknown(&mut self, name: &str, span: Range<usize>) {
        let help = match SCALE.iter().find(|principle| principle.name == name) {
            Some(principle) => {
                MistakeHelp::Say(format!("move it below `{}`", self.form.heading(principle.layer)))
            }
            None => MistakeHelp::Nearest { word: name.to_owned(), among: self.form.outermost() },
        };
        let message = format!("unknown key `{name}`");
        self.mistakes.push(Mistake::new(span, message, "unknown").help(help));
    }

    /// The principles, or all mistakes in the order of the file.
    pub(super) fn finish(mut self) -> Result<Principles, Vec<Mistake>> {
        if !self.mistakes.is_empty() {
            self.mistakes.sort_by_key(|mistake| mistake.span.start);
            return Err(self.mistakes);
        }
        let start = Principles::of(self.preset.unwrap_or(Preset::Custom));
        Ok(self.weights.into_iter().fold(start, |all, (name, weight)| all.with(name, weight)))
    }
}

/// The message for an unknown preset.
pub(super) fn no_preset() -> String {
    let names = Preset::ALL.map(|preset| format!("`{}`", preset.name()));
    format!("`preset` must be one of {}", names.join(", "))
}

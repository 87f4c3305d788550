//! Principles as text for the agent, and the request to write them.

use super::{Layer, Preset, Principle, Principles, SCALE, Weight};

/// The marker for a conflict that the agent cannot resolve.
pub const CONFLICT: &str = "PRINCIPLE_CONFLICT_UNRESOLVED";

impl Principles {
    /// The text for the agent: the weights in words, and the rule for conflicts.
    ///
    /// The marker is indented, as code, so that an agent that repeats its instructions reports no
    /// conflict.
    pub fn text(&self) -> String {
        let mut leanings = Vec::new();
        let mut others = Vec::new();
        for (principle, weight) in self.weights() {
            let Principle { name, low, high, .. } = principle;
            match leaning(principle, weight) {
                Some(words) => leanings.push(format!("- {name} {}: {words}\n", weight.get())),
                None => others.push(format!("{name} {} ({low} - {high})", weight.get())),
            }
        }
        let leanings = match leanings.as_slice() {
            [] => String::new(),
            some => format!("\nClear preferences:\n\n{}", some.concat()),
        };
        let others = match others.as_slice() {
            [] => String::new(),
            some => format!(
                "\nNo clear preference (meaning of 1 - meaning of 10): {}.\n",
                some.join("; ")
            ),
        };
        format!(
            "{INTRODUCTION}{leanings}{others}{RULE}\n    {CONFLICT}: the two sides of the \
             conflict, in one sentence\n"
        )
    }
}

/// The instruction of a weight that is not neutral.
fn leaning(principle: &Principle, weight: Weight) -> Option<&'static str> {
    match weight.get() {
        ..=3 => Some(principle.when_low),
        8.. => Some(principle.when_high),
        4..=7 => None,
    }
}

const INTRODUCTION: &str = "\
# Principles of this project

These weights from 1 to 10 determine how to make trade-offs.
";

const RULE: &str = "
If two principles conflict with each other, or one conflicts with the \
task:

1. Check whether they are compatible after all: most are.
2. Constraints (what must be, or \
must not be) come before objectives (what would be good).
3. Then: legal > security > user intent \
> data integrity > quality > speed > UX.

Note the choice and the reason in one sentence, and \
continue. If these rules do not settle it, continue with other work. Put this on a line of your \
last message, not indented. nightwright may then ask a model to decide the conflict for you:
";

/// The request to write principles into a file, with an example. `wrong` describes the mistake in
/// the existing file.
pub fn request(file: &str, wrong: Option<&str>) -> String {
    let beginning = match wrong {
        None => format!(
            "This project has no principles yet: weights from 1 to 10 that decide trade-offs. \
             Before anything else, write them into `{file}`. Choose them to match the intent of \
             the task and the project."
        ),
        Some(wrong) => format!(
            "The principles of this project, weights from 1 to 10 that decide trade-offs, are in \
             `{file}`. The file is invalid:\n\n{wrong}\n\n\
             Before anything else, fix that file. Keep every valid entry. Derive missing weights \
             from the intent of the task and the project."
        ),
    };
    let presets = Preset::ALL.map(|preset| format!("- `{}`: {}\n", preset.name(), preset.about()));
    let tables = Layer::ALL.map(|layer| {
        let own = SCALE.iter().filter(|principle| principle.layer == layer);
        let named: Vec<String> = own
            .map(|Principle { name, low, high, .. }| format!("{name} ({low} - {high})"))
            .collect();
        format!("- `[{}]`: {}\n", layer.name(), named.join(", "))
    });
    format!(
        "{beginning} Then do the work of this iteration. The format is TOML:\n\n\
         ```toml\n{EXAMPLE}```\n\n\
         The presets:\n\n{}\n\
         A weight is a whole number from 1 to 10. A missing weight comes from the preset. These \
         are all weights (meaning of 1 - meaning of 10):\n\n{}",
        presets.concat(),
        tables.concat().trim_end()
    )
}

/// Principles as an agent may write them. The parser is tested with this text.
pub(super) const EXAMPLE: &str = "\
preset = \"opensource\"

[product]
scope_philosophy = 2

[development]
innovation_stability = 8
migration_burden = 6
";

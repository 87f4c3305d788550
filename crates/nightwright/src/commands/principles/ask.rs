//! The questions of `nightwright principles`.

use nightwright_core::principles::{Layer, Preset, Principle, Principles, SCALE, Weight};

use crate::config::nearest::nearest;
use crate::init::ask::{NoAnswer, Prompter, yes};

/// Offers to import the principles of another tool.
pub(super) fn import(
    person: &mut dyn Prompter,
    file: &str,
    found: &Principles,
) -> Result<bool, NoAnswer> {
    person.tell(&format!("Found `{file}`, from the preset `{}`:\n", found.preset().name()));
    person.tell(&table(found));
    yes(person, "Import it? [Y/n] ")
}

/// Asks for the closest preset; existing principles can be kept.
pub(super) fn preset(
    person: &mut dyn Prompter,
    current: Option<&Principles>,
) -> Result<Principles, NoAnswer> {
    let lines = Preset::ALL.iter().enumerate().map(|(index, preset)| {
        format!("\n  {}  {:<10}  {}", index + 1, preset.name(), preset.about())
    });
    let mut text = "Which of these is this project most like?".to_owned();
    text.extend(lines);
    let usual = match current {
        Some(_) => {
            text.push_str("\n     current     the current weights");
            "current"
        }
        None => Preset::Custom.name(),
    };
    person.tell(&text);
    loop {
        let answer = person.ask(&format!("preset [{usual}]: "))?.trim().to_lowercase();
        match (answer.as_str(), current) {
            ("" | "current", Some(current)) => return Ok(current.clone()),
            ("", None) => return Ok(Principles::of(Preset::Custom)),
            _ => {}
        }
        let number = answer.parse::<usize>().ok();
        let by_number = number.and_then(|number| Preset::ALL.get(number.checked_sub(1)?).copied());
        match by_number.or_else(|| Preset::named(&answer)) {
            Some(preset) => return Ok(Principles::of(preset)),
            None => person.tell(&unknown("preset", &answer, &Preset::ALL.map(Preset::name))),
        }
    }
}

/// Whether the weights are already on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WeightsShown {
    Already,
    NotYet,
}

/// Lets the user change individual weights, and shows the result.
pub(super) fn weights(
    person: &mut dyn Prompter,
    mut principles: Principles,
    seen: WeightsShown,
) -> Result<Principles, NoAnswer> {
    match seen {
        WeightsShown::Already => {}
        WeightsShown::NotYet => person.tell(&format!("\n{}", table(&principles))),
    }
    let before = principles.clone();
    loop {
        let answer =
            person.ask("Which weight do you want to change? (name or number; Enter for none) ")?;
        let answer = answer.trim();
        if answer.is_empty() {
            break;
        }
        match which(answer) {
            Some(principle) => {
                let weight = weight(person, principle, &principles)?;
                principles = principles.with(principle.name, weight);
            }
            None => person.tell(&unknown("principle", answer, &SCALE.map(|one| one.name))),
        }
    }
    if principles != before {
        person.tell(&format!("\n{}", table(&principles)));
    }
    Ok(principles)
}

/// Finds a principle by its name or number.
fn which(answer: &str) -> Option<&'static Principle> {
    match answer.parse::<usize>() {
        Ok(number) => SCALE.get(number.checked_sub(1)?),
        Err(_) => SCALE.iter().find(|principle| principle.name.eq_ignore_ascii_case(answer)),
    }
}

fn weight(
    person: &mut dyn Prompter,
    principle: &Principle,
    principles: &Principles,
) -> Result<Weight, NoAnswer> {
    let Principle { name, when_low, when_high, .. } = principle;
    person.tell(&format!("  1-3   {when_low}\n  8-10  {when_high}"));
    let old = principles.weight(name);
    let shown = old.map_or(0, Weight::get);
    loop {
        let answer = person.ask(&format!("  {name} [{shown}]: "))?;
        let answer = answer.trim();
        let new = answer.parse().ok().and_then(Weight::new);
        if let Some(weight) = new.or(old.filter(|_| answer.is_empty())) {
            return Ok(weight);
        }
        person.tell("  Please answer with a whole number from 1 to 10.");
    }
}

/// Formats all weights, one line each.
fn table(principles: &Principles) -> String {
    let mut lines = Vec::new();
    let mut layer: Option<Layer> = None;
    for (index, (principle, weight)) in principles.weights().enumerate() {
        if layer.replace(principle.layer) != Some(principle.layer) {
            lines.push(format!("{} (1 ... 10)", principle.layer.about().trim_end_matches('.')));
        }
        let Principle { name, low, high, .. } = principle;
        lines.push(format!(
            "  {:>2}  {name:<22}  {:>2}  {low} ... {high}",
            index + 1,
            weight.get()
        ));
    }
    lines.join("\n")
}

fn unknown(what: &str, answer: &str, known: &[&'static str]) -> String {
    match nearest(answer, known.iter().copied()) {
        Some(near) => format!("There is no {what} `{answer}`. Did you mean `{near}`?"),
        None => format!("There is no {what} `{answer}`."),
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::init::ask::scripted::ScriptedPrompter;

    /// Returns the shown text, without trailing spaces.
    fn shown(person: &ScriptedPrompter) -> String {
        person.printed.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
    }

    fn weight(number: u8) -> Weight {
        Weight::new(number).unwrap()
    }

    #[test]
    fn a_preset_is_chosen_by_name_by_number_or_by_enter() {
        let startup = Principles::of(Preset::Startup).with("auditability", weight(9));
        for (answers, current, wanted) in [
            (vec!["startup"], None, Principles::of(Preset::Startup)),
            (vec![" Enterprise "], None, Principles::of(Preset::Enterprise)),
            (vec!["3"], None, Principles::of(Preset::Opensource)),
            (vec![""], None, Principles::of(Preset::Custom)),
            (vec![""], Some(startup.clone()), startup.clone()),
            (vec!["current"], Some(startup.clone()), startup.clone()),
            (vec!["4"], Some(startup), Principles::of(Preset::Custom)),
            (vec!["0", "5", "current", "\u{1b}[A", "1"], None, Principles::of(Preset::Startup)),
        ] {
            let mut person = ScriptedPrompter::new(&answers);
            assert_eq!(
                preset(&mut person, current.as_ref()),
                Ok(wanted),
                "{answers:?}\n{}",
                person.printed
            );
        }
        let mut person = ScriptedPrompter::new(&["strtup"]);
        assert_eq!(preset(&mut person, None), Err(NoAnswer::EndOfInput));
        assert_snapshot!(shown(&person), @r"
        Which of these is this project most like?
          1  startup     a young product: minimal scope, speed, easy rollback
          2  enterprise  critical software: correctness, security, full audit trail, small changes
          3  opensource  a public library or tool: free, open, stable interfaces
          4  custom      your own: every weight is 5 until you change it
        preset [custom]:
        There is no preset `strtup`. Did you mean `startup`?
        preset [custom]:
        ");
    }

    #[test]
    fn single_weights_are_changed_by_name_or_number_and_wrong_answers_cost_nothing() {
        let start = Principles::of(Preset::Startup);
        let answers =
            ["12", "eleven", "0", "11", "9", "Auditability", "", "19", "blast_radios", ""];
        let mut person = ScriptedPrompter::new(&answers);
        let chosen = weights(&mut person, start.clone(), WeightsShown::NotYet).unwrap();
        assert_eq!(chosen, start.clone().with("blast_radius", weight(9)));
        assert_snapshot!(shown(&person), @r"
        The product itself (1 ... 10)
           1  trust_architecture       5  permissive ... strict verification
           2  curation_model           4  algorithms ... human judgment
           3  scope_philosophy         2  minimal ... feature-rich
           4  monetization_model       5  free ... premium
           5  privacy_posture          6  collects data ... minimal data
           6  ux_philosophy            8  power users ... simple first
           7  authority_stance         5  user freedom ... strong guidance
           8  auditability             3  minimal logging ... full audit trail
           9  interoperability         6  closed ... open
        The way you develop it (1 ... 10)
          10  speed_correctness        3  speed ... correctness
          11  innovation_stability     5  new ... proven
          12  blast_radius             6  large changes ... small changes
          13  clarity_of_intent        6  implicit ... explicit
          14  reversibility_priority   8  permanent ... easy rollback
          15  security_posture         6  basic ... maximum
          16  urgency_tiers            3  everything urgent ... normal pace
          17  cost_efficiency          9  build it ... use what exists
          18  migration_burden         4  migrations are fine ... avoid them
        Which weight do you want to change? (name or number; Enter for none)
          1-3   Large changes at once are fine.
          8-10  Keep every change small, and touch nothing else.
          blast_radius [6]:
          Please answer with a whole number from 1 to 10.
          blast_radius [6]:
          Please answer with a whole number from 1 to 10.
          blast_radius [6]:
          Please answer with a whole number from 1 to 10.
          blast_radius [6]:
        Which weight do you want to change? (name or number; Enter for none)
          1-3   Log little: only enough to diagnose problems.
          8-10  Leave a full trail: who did what, when and why.
          auditability [3]:
        Which weight do you want to change? (name or number; Enter for none)
        There is no principle `19`.
        Which weight do you want to change? (name or number; Enter for none)
        There is no principle `blast_radios`. Did you mean `blast_radius`?
        Which weight do you want to change? (name or number; Enter for none)

        The product itself (1 ... 10)
           1  trust_architecture       5  permissive ... strict verification
           2  curation_model           4  algorithms ... human judgment
           3  scope_philosophy         2  minimal ... feature-rich
           4  monetization_model       5  free ... premium
           5  privacy_posture          6  collects data ... minimal data
           6  ux_philosophy            8  power users ... simple first
           7  authority_stance         5  user freedom ... strong guidance
           8  auditability             3  minimal logging ... full audit trail
           9  interoperability         6  closed ... open
        The way you develop it (1 ... 10)
          10  speed_correctness        3  speed ... correctness
          11  innovation_stability     5  new ... proven
          12  blast_radius             9  large changes ... small changes
          13  clarity_of_intent        6  implicit ... explicit
          14  reversibility_priority   8  permanent ... easy rollback
          15  security_posture         6  basic ... maximum
          16  urgency_tiers            3  everything urgent ... normal pace
          17  cost_efficiency          9  build it ... use what exists
          18  migration_burden         4  migrations are fine ... avoid them
        ");

        let mut person = ScriptedPrompter::new(&[""]);
        assert_eq!(weights(&mut person, start.clone(), WeightsShown::NotYet), Ok(start.clone()));
        assert_eq!(person.printed.matches("trust_architecture").count(), 1, "{}", person.printed);
        assert_eq!(
            weights(&mut ScriptedPrompter::new(&["12"]), start, WeightsShown::NotYet),
            Err(NoAnswer::EndOfInput)
        );
    }

    #[test]
    fn an_import_is_shown_before_it_is_asked_for() {
        let found = Principles::of(Preset::Opensource);
        for (answers, wanted) in [(vec![""], true), (vec!["what?", "No"], false)] {
            let mut person = ScriptedPrompter::new(&answers);
            assert_eq!(import(&mut person, "p.yaml", &found), Ok(wanted));
            assert!(person.printed.starts_with("Found `p.yaml`, from the preset `opensource`:"));
            assert!(person.printed.contains("migration_burden"), "{}", person.printed);
        }
        // Weights that are already on the screen are not shown again before a change.
        let mut person = ScriptedPrompter::new(&["", ""]);
        assert_eq!(import(&mut person, "p.yaml", &found), Ok(true));
        assert_eq!(weights(&mut person, found.clone(), WeightsShown::Already), Ok(found));
        assert_eq!(person.printed.matches("migration_burden").count(), 1, "{}", person.printed);
    }
}

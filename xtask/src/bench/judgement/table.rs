//! The table of results, with a column for each program.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::score::Tally;

/// A table as it also stands in `docs/internals/judgement.md`.
pub(super) fn render(columns: &[(&str, Tally)]) -> String {
    type Row = (&'static str, fn(&Tally) -> String);
    let rows: [Row; 6] = [
        ("behaviors", |tally| tally.behaviours.to_string()),
        ("correct outcome", |tally| tally.right.to_string()),
        ("false completions", |tally| tally.false_completions.to_string()),
        ("missed completions", |tally| tally.missed_completions.to_string()),
        ("never ended", |tally| tally.hung.to_string()),
        ("wasted iterations", wasted),
    ];
    let names = columns.iter().map(|(name, _)| *name);
    let mut text = row("", names);
    text.push_str(&row("---", columns.iter().map(|_| "---:")));
    for (name, figure) in rows {
        text.push_str(&row(name, columns.iter().map(|(_, tally)| figure(tally))));
    }
    text
}

/// The wasted iterations of each family, with the oracle's.
pub(super) fn families(families: &BTreeMap<&str, Tally>) -> String {
    let mut text =
        String::from("\n| family | behaviours | oracle | wasted |\n| --- | ---: | ---: | ---: |\n");
    for (name, tally) in families {
        let Tally { behaviours, oracle, .. } = tally;
        // Writing to a string does not fail.
        let _ = writeln!(text, "| {name} | {behaviours} | {oracle} | {} |", wasted(tally));
    }
    text
}

fn row(name: &str, cells: impl IntoIterator<Item: std::fmt::Display>) -> String {
    let mut line = format!("| {name:<20} |");
    for cell in cells {
        // Writing to a string does not fail.
        let _ = write!(line, " {:>12} |", cell.to_string());
    }
    line + "\n"
}

/// Formats the iterations beyond the oracle's, with their percentage.
fn wasted(tally: &Tally) -> String {
    match (tally.wasted * 100).checked_div(tally.oracle) {
        Some(percent) => format!("{} ({percent}%)", tally.wasted),
        None => tally.wasted.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_for_each_that_was_tried() {
        let ours = Tally { behaviours: 3, right: 3, wasted: 1, oracle: 20, ..Tally::default() };
        let theirs = Tally { false_completions: 2, wasted: 7, ..Tally::default() };
        assert_eq!(
            render(&[("nightwright", ours), ("bare loop", theirs)]),
            "\
|                      |  nightwright |    bare loop |
| ---                  |         ---: |         ---: |
| behaviors            |            3 |            0 |
| correct outcome      |            3 |            0 |
| false completions    |            0 |            2 |
| missed completions   |            0 |            0 |
| never ended          |            0 |            0 |
| wasted iterations    |       1 (5%) |            7 |
"
        );
    }
}

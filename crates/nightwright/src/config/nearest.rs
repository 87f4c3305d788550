//! Suggestions for misspelt words, by edit distance.

/// The candidate closest to a word, if it is close enough.
pub(crate) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let word = plain(word);
    let measured = candidates.into_iter().map(|candidate| {
        let name = plain(candidate);
        let mut steps = distance(&word, &name);
        // The right name in the wrong table, or without a table.
        if last(&word).len() > 2 {
            steps = steps.min(distance(last(&word), last(&name)) + 1);
        }
        (steps, candidate)
    });
    let (steps, candidate) = measured.min_by_key(|(steps, _)| *steps)?;
    (steps <= 2.max(word.chars().count() / 3).min(5)).then_some(candidate)
}

/// Returns the hint for an unknown name: the closest known one, and all of them.
pub(crate) fn known_names(word: &str, names: &[&str]) -> String {
    let all = format!("choose one of {}", names.join(", "));
    match nearest(word, names.iter().copied()) {
        Some(near) => format!("did you mean `{near}`? {all}"),
        None => all,
    }
}

fn plain(text: &str) -> String {
    text.to_lowercase().replace('-', "_")
}

fn last(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// The number of insertions, deletions, replacements and swaps of neighbours between two words.
fn distance(left: &str, right: &str) -> usize {
    // Longer words are never keys, and comparing them would be slow.
    let cut = |text: &str| text.chars().take(100).collect::<String>();
    strsim::osa_distance(&cut(left), &cut(right))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_is_what_a_person_would_have_meant() {
        let keys = ["limits.max_iterations", "limits.max_cost", "retry.delay", "delay", "limits"];
        for (word, meant) in [
            ("limits.max_iteration", Some("limits.max_iterations")),
            ("limits.max-iterations", Some("limits.max_iterations")),
            ("max_iterations", Some("limits.max_iterations")),
            ("retry.max_cost", Some("limits.max_cost")),
            ("limit", Some("limits")),
            ("dealy", Some("delay")),
            ("colour_of_the_sky", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, keys), meant, "{word}");
        }
    }
}

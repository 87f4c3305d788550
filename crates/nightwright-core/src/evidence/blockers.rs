//! Blockers that the agent names in its own words: `<blocker>` ... `</blocker>`.

use super::identity;
use super::prose;
use crate::stream::report::Blocker;

const OPEN: &str = "<blocker>";
const CLOSE: &str = "</blocker>";

/// The maximum number of blockers of one attempt.
const MAX_BLOCKERS: usize = 20;

/// The maximum length of a blocker in characters.
const MAX_BLOCKER_CHARS: usize = 2000;

/// Adds the blockers of a message to the earlier ones, each once.
pub(crate) fn collect(message: &str, heard: &mut Vec<Blocker>) {
    // Most messages have no blocker, and every message is checked.
    if heard.len() < MAX_BLOCKERS
        && memchr::memmem::find(message.as_bytes(), OPEN.as_bytes()).is_some()
    {
        add(blockers(&prose::own_lines(message)), heard);
    }
}

/// Adds blockers to the earlier ones, each once.
pub(crate) fn add(blockers: Vec<Blocker>, heard: &mut Vec<Blocker>) {
    for blocker in blockers {
        if !heard.contains(&blocker) && heard.len() < MAX_BLOCKERS {
            heard.push(blocker);
        }
    }
}

/// The blockers in lines of the agent's own words. An unclosed one does not count.
pub(super) fn blockers(lines: &[String]) -> Vec<Blocker> {
    let text = lines.iter().map(|line| prose::visible(line)).collect::<Vec<_>>().join("\n");
    let mut found: Vec<Blocker> = Vec::new();
    let mut rest = text.as_str();
    while let Some((inside, after)) = next(rest) {
        rest = after;
        let text: String = inside.trim().chars().take(MAX_BLOCKER_CHARS).collect();
        let blocker = identity::blocker(&text);
        if !text.is_empty() && !found.contains(&blocker) && found.len() < MAX_BLOCKERS {
            found.push(blocker);
        }
    }
    found
}

/// The next blocker, and the text after it. If an opening is followed by another, the later one
/// counts.
fn next(text: &str) -> Option<(&str, &str)> {
    let (before, after) = text.split_once(OPEN)?.1.split_once(CLOSE)?;
    let inside = before.rsplit(OPEN).next().unwrap_or(before);
    Some((inside, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(message: &str) -> Vec<String> {
        let found = blockers(&prose::own_lines(message));
        found.into_iter().map(|blocker| blocker.text).collect()
    }

    #[test]
    fn a_blocker_is_what_stands_between_the_markers() {
        let message = "Nearly.\n<blocker>\nDescription: no key\nAction: give one\n</blocker>\nBye";
        assert_eq!(texts(message), ["Description: no key\nAction: give one"]);
        assert_eq!(texts("<blocker>a</blocker> and <blocker> b </blocker>"), ["a", "b"]);
        assert_eq!(texts("<blocker>a</blocker>\n<blocker>a</blocker>"), ["a"], "once");
    }

    #[test]
    fn quoted_empty_and_unclosed_blockers_do_not_count() {
        for message in [
            "```\n<blocker>a</blocker>\n```",
            "> <blocker>a</blocker>",
            "use `<blocker>a</blocker>` for that",
            "<blocker>a",
            "a</blocker>",
            "<blocker> \n </blocker>",
            "<Blocker>a</Blocker>",
        ] {
            assert_eq!(texts(message), [""; 0], "{message}");
        }
    }

    #[test]
    fn an_opening_that_is_followed_by_another_begins_nothing() {
        assert_eq!(texts("<blocker> as in\n<blocker>b</blocker>"), ["b"]);
    }

    #[test]
    fn the_same_text_is_the_same_blocker() {
        let one = blockers(&["<blocker>no key</blocker>".to_owned()]);
        let other = blockers(&["so: <blocker>  no key </blocker>".to_owned()]);
        assert_eq!(one, other);
        assert_eq!(one[0].key.len(), 8);
    }
}

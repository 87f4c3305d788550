//! Blockers that the agent names in its own words: `<blocker>` ... `</blocker>`.

use super::identity;
use super::prose::{self, MarkdownLine};
use crate::stream::news::Blocker;

const OPEN: &str = "<blocker>";
const CLOSE: &str = "</blocker>";

/// The maximum number of blockers of one attempt.
const MAX_BLOCKERS: usize = 20;

/// The maximum length of a blocker in characters.
const MAX_BLOCKER_CHARS: usize = 2000;

/// Adds the blockers of a message to the earlier ones, each once.
pub(crate) fn collect(message: &str, collected: &mut Vec<Blocker>) {
    // Most messages have no blocker, and every message is checked.
    if collected.len() < MAX_BLOCKERS
        && memchr::memmem::find(message.as_bytes(), OPEN.as_bytes()).is_some()
    {
        add(blockers(message), collected);
    }
}

/// Adds blockers to the earlier ones, each once.
pub(crate) fn add(blockers: Vec<Blocker>, collected: &mut Vec<Blocker>) {
    for blocker in blockers {
        if !collected.contains(&blocker) && collected.len() < MAX_BLOCKERS {
            collected.push(blocker);
        }
    }
}

/// The blockers in the agent's own words. An unclosed one does not count.
pub(super) fn blockers(message: &str) -> Vec<Blocker> {
    let text = prose::lines(message).iter().map(searched).collect::<Vec<_>>().join("\n");
    let mut found: Vec<Blocker> = Vec::new();
    let mut rest = text.as_str();
    while let Some((inside, after)) = next(rest) {
        rest = after;
        let text: String = inside.trim().chars().take(MAX_BLOCKER_CHARS).collect();
        let blocker = identity::blocker(&text.replace(prose::BLANK, "<"));
        if !blocker.description.is_empty()
            && !found.contains(&blocker)
            && found.len() < MAX_BLOCKERS
        {
            found.push(blocker);
        }
    }
    found
}

/// A line as it is searched: in code, no tag begins.
fn searched(line: &MarkdownLine<'_>) -> String {
    let hide = |(own, written)| if own == prose::BLANK && written == '<' { own } else { written };
    let text: String = line.own.chars().zip(line.written.chars()).map(hide).collect();
    prose::visible(&text).to_owned()
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
        blockers(message).iter().map(Blocker::sentence).collect()
    }

    #[test]
    fn a_blocker_is_what_stands_between_the_markers() {
        let message = "Nearly.\n<blocker>\nDescription: no key\nAction: give one\n</blocker>\nBye";
        assert_eq!(texts(message), ["no key. Action: give one"]);
        assert_eq!(texts("<blocker>a</blocker> and <blocker> b </blocker>"), ["a", "b"]);
        assert_eq!(texts("<blocker>a</blocker>\n<blocker>a</blocker>"), ["a"], "once");
    }

    #[test]
    fn code_in_a_blocker_stays_readable() {
        let message = "<blocker>no `KEY`\nAction: put `KEY=<your key>` into `.env`</blocker>";
        assert_eq!(texts(message), ["no `KEY`. Action: put `KEY=<your key>` into `.env`"]);
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
        let one = blockers("<blocker>no key</blocker>");
        let other = blockers("so: <blocker>  no key </blocker>");
        assert_eq!(one, other);
        assert_eq!(one[0].key.len(), 8);
    }
}

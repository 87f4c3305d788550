//! Blockers from text: their fields, and the key that identifies them. The key is a checksum of the
//! fields. It tells blockers apart and protects nothing.

use crate::redact::Secrets;
use crate::stream::news::Blocker;

/// The field that a line begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BlockerField {
    Description,
    Action,
    Resume,
    Impossible,
}

/// The labels of the fields, in lower case.
const LABELS: [(&str, BlockerField); 4] = [
    ("description", BlockerField::Description),
    ("action", BlockerField::Action),
    ("resume", BlockerField::Resume),
    ("impossible", BlockerField::Impossible),
];

/// The blocker with this text, which may have lines that begin with `Description:`, `Action:`,
/// `Resume:` and `Impossible:`. White space around it makes no difference.
pub fn blocker(text: &str) -> Blocker {
    let text = [". Action:", ". Resume:", ". Impossible:"]
        .into_iter()
        .fold(text.to_owned(), |text, label| text.replace(label, &label.replacen(' ', "\n", 1)));
    let mut fields = BlockerFields::default();
    let mut current = BlockerField::Description;
    for line in text.lines() {
        let (label, rest) =
            labelled(line).map_or((None, line), |(field, rest)| (Some(field), rest));
        current = label.unwrap_or(current);
        let into = match current {
            BlockerField::Description => &mut fields.description,
            BlockerField::Action => &mut fields.action,
            BlockerField::Resume => &mut fields.resume,
            BlockerField::Impossible => &mut fields.impossible,
        };
        into.push_str(rest);
        into.push('\n');
    }
    of_fields(fields)
}

/// The fields of a blocker as written; empty if they are missing.
#[derive(Debug, Default)]
pub(super) struct BlockerFields {
    pub(super) description: String,
    pub(super) action: String,
    pub(super) resume: String,
    pub(super) impossible: String,
}

/// The blocker with these fields. Without a description, the evidence that the task is impossible
/// is the description too; otherwise the first other field takes its place.
pub(super) fn of_fields(fields: BlockerFields) -> Blocker {
    let BlockerFields { description, action, resume, impossible } = fields;
    let optional = |field: String| Some(field.trim().to_owned()).filter(|field| !field.is_empty());
    let [description, mut action, mut resume, impossible] =
        [description, action, resume, impossible].map(optional);
    let description = description
        .or_else(|| impossible.clone())
        .or_else(|| action.take())
        .or_else(|| resume.take())
        .unwrap_or_default();
    let blocker = Blocker { action, resume, impossible, ..Blocker::new("", description) };
    Blocker { key: key(&blocker.sentence()), ..blocker }
}

/// The same blocker with masked strings.
pub(crate) fn masked(blocker: &Blocker, secrets: &Secrets) -> Blocker {
    let mut masked = blocker.map(|text| secrets.mask(text).into_owned());
    masked.key = key(&masked.sentence());
    masked
}

/// A short key for a string.
pub(crate) fn key(text: &str) -> String {
    format!("{:08x}", crc32fast::hash(text.as_bytes()))
}

/// The field that a line begins, and its text: `- **Action:** send it`.
fn labelled(line: &str) -> Option<(BlockerField, &str)> {
    let is_decoration = |c: char| c.is_whitespace() || matches!(c, '*' | '_' | '-' | '+' | '#');
    let line = line.trim_start_matches(is_decoration);
    LABELS.into_iter().find_map(|(label, field)| {
        let (start, rest) = line.split_at_checked(label.len())?;
        let rest = rest.trim_start_matches(['*', '_']).strip_prefix(':')?;
        start.eq_ignore_ascii_case(label).then_some((field, rest.trim_start_matches(is_decoration)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_around_a_text_make_no_other_blocker_of_it() {
        let plain = blocker("abc");
        assert_eq!(plain, Blocker::new("352441c2", "abc"));
        assert_eq!(blocker(" \r\n abc\t"), plain);
        assert_ne!(blocker("Abc").key, plain.key);
    }

    #[test]
    fn the_fields_of_a_blocker_are_separated() {
        let fields = |text: &str| {
            let Blocker { description, action, resume, .. } = blocker(text);
            [Some(description), action, resume].map(Option::unwrap_or_default)
        };
        for (text, wanted) in [
            (
                "Description: no key\nAction: send it\nResume: I continue",
                ["no key", "send it", "I continue"],
            ),
            ("no key\naction: send it", ["no key", "send it", ""]),
            ("- **Description:** no key\n- **Action**: send it", ["no key", "send it", ""]),
            (
                "Description: no key\nfor staging\nResume: later",
                ["no key\nfor staging", "", "later"],
            ),
            (
                "Description: no key. Action: send it. Resume: later.",
                ["no key.", "send it.", "later."],
            ),
            ("Action: send the key", ["send the key", "", ""]),
            ("The action: none so far", ["The action: none so far", "", ""]),
            ("", ["", "", ""]),
        ] {
            assert_eq!(fields(text), wanted, "{text}");
        }
        let texts = [
            "Description: two tests exclude each other\nAction: none\nResume: -\n\
             Impossible: `test_a` wants 1, `test_b` wants 2",
            "- **Description:** two tests exclude each other\n- **Impossible:** `test_a` wants 1, \
             `test_b` wants 2",
        ];
        for report in texts.map(blocker) {
            let evidence = "`test_a` wants 1, `test_b` wants 2";
            assert_eq!(report.impossible.as_deref(), Some(evidence));
            let text = format!("two tests exclude each other. {evidence}");
            assert_eq!(report.impossibility(), Some(text));
        }
        let alone = blocker("Impossible: no such API");
        assert_eq!((alone.sentence(), alone.is_impossible()), ("no such API".to_owned(), true));
        assert!(!blocker("It looks impossible: no key").is_impossible());
        assert_ne!(blocker("no key\nAction: a").key, blocker("no key\nAction: b").key);
        assert_eq!(blocker("no key\nAction: a").sentence(), "no key. Action: a");
        assert_eq!(blocker("No key!\nResume: a").sentence(), "No key! Resume: a");
    }
}

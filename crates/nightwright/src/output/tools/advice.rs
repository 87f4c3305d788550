//! Advice on failed edits: the likely cause and a tip, derived from the error message.

/// The likely cause of a failure, and what to do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Advice {
    pub(super) likely: &'static str,
    pub(super) tip: &'static str,
}

/// Returns the advice for an error message. An unknown message gets all likely causes.
pub(super) fn on_edit(error: &str) -> Advice {
    let error = error.to_lowercase();
    let says = |words: &str| error.contains(words);
    if says("not found in file") {
        Advice {
            likely: "the text has already changed, or its whitespace differs",
            tip: "read the file again and copy the text from it",
        }
    } else if says("replace_all") && says("matches") {
        Advice {
            likely: "the text occurs more than once",
            tip: "give more of the lines around it, or replace all occurrences",
        }
    } else if says("exactly the same") {
        Advice {
            likely: "the text has already changed: old and new are the same",
            tip: "read the file again to see what remains to change",
        }
    } else if says("modified since") || says("not been read") {
        Advice {
            likely: "the file changed since the agent read it, or the agent never read it",
            tip: "read the file again before the edit",
        }
    } else {
        Advice {
            likely: "the text has already changed, its whitespace differs, or it is not unique",
            tip: "read the file again and copy the text from it, with the lines around it",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_error_of_an_edit_has_its_likely_causes() {
        let cases = [
            ("String to replace not found in file.\nString: nope", "whitespace"),
            (
                "Found 2 matches of the string to replace, but replace_all is false.",
                "more than once",
            ),
            ("No changes to make: old_string and new_string are exactly the same.", "already"),
            ("File has been modified since read, either by the user or by a linter.", "since"),
            ("File has not been read yet. Read it first before writing to it.", "never read it"),
            ("something new", "not unique"),
        ];
        for (error, likely) in cases {
            assert!(on_edit(error).likely.contains(likely), "{error}");
        }
    }
}

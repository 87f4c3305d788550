//! Model names: whether the working model is the requested one.

/// Names that stand for the newest model of a family. The full name of a model contains them.
const FAMILIES: [&str; 3] = ["opus", "sonnet", "haiku"];

/// The length of the date at the end of a full name.
const DATE: usize = 8;

/// Whether `working` can be the model that `asked` names. An unknown name is not a mismatch.
pub fn is_model(asked: &str, working: &str) -> bool {
    let (asked, working) = (plain(asked), plain(working));
    if asked.is_empty() || working.is_empty() || asked == working {
        return true;
    }
    if FAMILIES.contains(&&*asked) {
        return working.contains(&asked);
    }
    // The account decides what other names mean, such as `default` and `opusplan`. The name of a
    // model contains a number.
    !asked.contains(|c: char| c.is_ascii_digit())
}

/// The name without context size and date, which do not identify a model.
fn plain(name: &str) -> String {
    let name = name.trim().to_ascii_lowercase();
    let name = name.strip_suffix("[1m]").unwrap_or(&name);
    let (rest, date) = name.split_at(name.floor_char_boundary(name.len().saturating_sub(DATE)));
    let is_date = date.len() == DATE && date.bytes().all(|byte| byte.is_ascii_digit());
    match rest.strip_suffix(['-', '@']) {
        Some(rest) if is_date => rest.to_owned(),
        Some(_) | None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_model_is_distinguished_from_an_alias() {
        let cases = [
            ("opus", "claude-opus-5-5", true),
            ("Opus", "claude-opus-5-5[1m]", true),
            ("sonnet[1m]", "claude-sonnet-5-5", true),
            ("haiku", "claude-haiku-4-5-20251001", true),
            ("haiku", "us.anthropic.claude-haiku-4-5-20251001-v1:0", true),
            ("claude-opus-4-5", "claude-opus-4-5-20251101", true),
            ("claude-opus-4-5-20251101", "claude-opus-4-5", true),
            ("claude-opus-4-5@20251101", "claude-opus-4-5", true),
            ("claude-opus-4-8[1m]", "claude-opus-4-8", true),
            ("default", "claude-sonnet-5-5", true),
            ("opusplan", "claude-sonnet-5-5", true),
            ("opus", "", true),
            ("opus", "claude-sonnet-5-5", false),
            ("haiku", "claude-opus-5-5", false),
            ("claude-opus-5", "claude-opus-5-5", false),
            ("claude-opus-5-5", "claude-opus-5", false),
            ("claude-opus-4-5-20251101", "claude-opus-4-6-20260101", false),
        ];
        for (asked, working, same) in cases {
            assert_eq!(is_model(asked, working), same, "{asked} {working}");
        }
    }
}

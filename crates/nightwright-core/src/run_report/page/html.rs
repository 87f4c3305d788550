//! HTML escaping of strings, and of sentences with code in backticks.

use std::fmt;

/// A text, escaped for use in HTML.
#[derive(Clone, Copy, Debug)]
pub(in crate::run_report) struct Escaped<'a>(pub(in crate::run_report) &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        while let Some(at) = rest.find(['&', '<', '>', '"', '\'']) {
            f.write_str(&rest[..at])?;
            f.write_str(match rest.as_bytes()[at] {
                b'&' => "&amp;",
                b'<' => "&lt;",
                b'>' => "&gt;",
                b'"' => "&quot;",
                _ => "&#39;",
            })?;
            rest = &rest[at + 1..];
        }
        f.write_str(rest)
    }
}

/// A sentence with commands and paths in backticks, shown as code.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prose<'a>(pub(super) &'a str);

impl fmt::Display for Prose<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        while let Some((before, code, after)) = in_backticks(rest) {
            write!(f, "{}<code>{}</code>", Escaped(before), Escaped(code))?;
            rest = after;
        }
        Escaped(rest).fmt(f)
    }
}

fn in_backticks(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once('`')?;
    let (code, after) = rest.split_once('`')?;
    Some((before, code, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_is_markup() {
        let text = "<script>alert(\"1\" & '2')</script>";
        let shown = Escaped(text).to_string();
        assert_eq!(shown, "&lt;script&gt;alert(&quot;1&quot; &amp; &#39;2&#39;)&lt;/script&gt;");
    }

    #[test]
    fn what_stands_in_backticks_is_code_and_still_only_text() {
        assert_eq!(Prose("run `a <b>` now").to_string(), "run <code>a &lt;b&gt;</code> now");
        assert_eq!(Prose("one ` alone <").to_string(), "one ` alone &lt;");
    }
}

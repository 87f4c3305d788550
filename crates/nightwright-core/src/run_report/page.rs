//! The pages of a report, rendered from the templates `report.md.j2` and `report.html.j2`.
//!
//! A template cannot insert external text unescaped. The type of a value decides whether it is
//! escaped (see [`PageValue`]), and the templates have no filter that marks text as safe.
//!
//! External text in the HTML page appears only in text and titles, never in an address, a style or a
//! name. Its content security policy also blocks scripts and requests.

mod fields;
mod html;
mod markdown;
mod value;

use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, Error, ErrorKind, Output, UndefinedBehavior, Value};

pub(super) use self::fields::clock;
pub(super) use self::html::Escaped;
use self::html::Prose;
pub(super) use self::value::{OwnText, PageValue, fields};
use super::RunReport;
use crate::display::display_safe;
use crate::phrases::capitalized;

/// The format of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageFormat {
    Markdown,
    Html,
}

impl PageFormat {
    fn template(self) -> &'static str {
        match self {
            Self::Markdown => include_str!("page/report.md.j2"),
            Self::Html => include_str!("page/report.html.j2"),
        }
    }

    /// Escapes a string for the page.
    fn escaped(self, text: &str) -> String {
        match self {
            Self::Markdown => markdown::inline(text),
            Self::Html => Escaped(&display_safe(text)).to_string(),
        }
    }

    /// Formats a string as code.
    fn code(self, text: &str) -> String {
        match self {
            Self::Markdown => markdown::code(text),
            Self::Html => format!("<code>{}</code>", Escaped(&display_safe(text))),
        }
    }

    /// Formats a sentence in which commands and paths are in backticks.
    fn prose(self, text: &str) -> String {
        match self {
            Self::Markdown => markdown::inline(text),
            Self::Html => Prose(&display_safe(text)).to_string(),
        }
    }

    /// Formats text of several lines as a block.
    fn block(self, text: &str) -> String {
        match self {
            Self::Markdown => markdown::block(text),
            Self::Html => format!("<pre>{}</pre>", Escaped(&display_safe(text))),
        }
    }
}

/// Renders the page of a report.
pub(super) fn page(report: &RunReport, format: PageFormat) -> String {
    let (template, values) = (format.template(), fields::of(report, format));
    let page = environment(format).render_named_str("report", template, values.into_inner());
    page.unwrap_or_else(|error| panic!("the tests render every part of a report: {error:#}"))
}

fn environment(format: PageFormat) -> Environment<'static> {
    let mut environment = Environment::empty();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let mut syntax = SyntaxConfig::builder();
    syntax.trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true);
    environment.set_syntax(syntax.build().expect("these are the usual delimiters"));
    environment.set_auto_escape_callback(|_| AutoEscape::Custom("page".into()));
    environment.set_formatter(move |out, _, value| insert(out, format, value));
    let safe = |text: String| Value::from_safe_string(text);
    environment.add_filter("code", move |text: &str| safe(format.code(text)));
    environment.add_filter("prose", move |text: &str| safe(format.prose(text)));
    environment.add_filter("block", move |text: &str| safe(format.block(text)));
    environment.add_filter("sentence", move |text: &str| safe(format.prose(&sentence(text))));
    environment.add_filter("length", |list: &Value| list.len());
    environment
}

/// Writes a value to a page, escaped unless its type shows that nightwright composed it.
fn insert(out: &mut Output<'_>, format: PageFormat, value: &Value) -> Result<(), Error> {
    match value.as_str() {
        Some(text) if value.is_safe() => out.write_str(text)?,
        Some(text) => out.write_str(&format.escaped(text))?,
        None if value.is_integer() => write!(out, "{value}")?,
        None => {
            let what = format!("a page cannot contain a {}", value.kind());
            return Err(Error::new(ErrorKind::InvalidOperation, what));
        }
    }
    Ok(())
}

/// The text as a whole sentence: with an upper-case first letter and a full stop.
fn sentence(text: &str) -> String {
    format!("{}.", capitalized(text.trim_end_matches(['.', ' '])))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(format: PageFormat, template: &str) -> Result<String, Error> {
        let values = fields! {
            external: "<b> @me".to_owned(),
            own: OwnText("<b>".to_owned()),
            constant: "<i>",
            list: vec!["<x>".to_owned()],
            number: 7_u32,
            none: None::<String>,
        };
        environment(format).render_str(template, values.into_inner())
    }

    #[test]
    fn every_text_is_escaped_unless_nightwright_composed_it() {
        let template = "{{ external }} {{ own }} {{ constant }} {{ number }}\
             {% for text in list %} {{ text }}{% endfor %}";
        let html = rendered(PageFormat::Html, template).unwrap();
        assert_eq!(html, "&lt;b&gt; @me <b> <i> 7 &lt;x&gt;");
        let markdown = rendered(PageFormat::Markdown, template).unwrap();
        assert_eq!(markdown, "`<b> @me` <b> <i> 7 `<x>`");
    }

    #[test]
    fn a_template_has_no_way_around_the_escaping() {
        for format in [PageFormat::Markdown, PageFormat::Html] {
            for template in ["{{ external|safe }}", "{{ external|escape }}", "{{ missing }}"] {
                assert!(rendered(format, template).is_err(), "{template}");
            }
            for template in [
                "{% autoescape false %}{{ external }}{% endautoescape %}",
                "{% set a = external %}{{ a }}",
                "{{ own ~ external }}",
                "{% macro m(text) %}{{ text }}{% endmacro %}{{ m(external) }}",
                "{{ external|code }}{{ external|prose }}{{ external|block }}{{ external|sentence }}",
            ] {
                let page = rendered(format, template).unwrap();
                let code = page.contains("`<b>") || page.contains("text\n<b>");
                assert!(code || !page.contains("<b>"), "{template}: {page}");
            }
        }
    }

    #[test]
    fn only_texts_and_numbers_are_inserted() {
        for template in ["{{ list }}", "{{ none }}", "{{ 1 == 1 }}"] {
            assert!(rendered(PageFormat::Html, template).is_err(), "{template}");
        }
    }

    #[test]
    fn a_sentence_has_one_full_stop() {
        let text = "{{ 'see `a <b>`. '|sentence }}";
        let html = rendered(PageFormat::Html, text).unwrap();
        assert_eq!(html, "See <code>a &lt;b&gt;</code>.");
    }
}

//! What is wrong with a configuration file, with a picture of the place.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use nightwright_core::display::display_safe;

use super::hidden::hidden;
use crate::error::Failure;

/// More than this nobody mends at once.
const SHOWN: usize = 10;

/// What is wrong with a file. It says all of it at once, as far as that can be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    path: PathBuf,
    text: String,
    mistakes: Vec<ConfigMistake>,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigMistake {
    /// Where, in bytes.
    pub span: Range<usize>,
    /// What, in a sentence.
    pub message: String,
    /// What is said at the place itself.
    pub label: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl ConfigError {
    /// What is wrong with this file.
    pub(crate) fn new(path: &Path, text: &str, mut mistakes: Vec<ConfigMistake>) -> Self {
        mistakes.sort_by_key(|mistake| mistake.span.start);
        Self { path: path.to_owned(), text: text.to_owned(), mistakes }
    }

    /// The mistakes, in the order of the file.
    pub fn mistakes(&self) -> &[ConfigMistake] {
        &self.mistakes
    }

    fn picture(&self, mistake: &ConfigMistake) -> String {
        // No escape sequence of a file reaches a terminal, and no value that may be secret; each is
        // a character, so that the marks stay where they belong.
        let hidden = hidden(&self.text);
        let shown = |(at, c): (usize, char)| match c {
            c if !c.is_whitespace() && hidden.iter().any(|hidden| hidden.contains(&at)) => '*',
            c if shows(c) => c,
            _ => '?',
        };
        let text: String = self.text.char_indices().map(shown).collect();
        let place = |at: usize| {
            let at = self.text.floor_char_boundary(at.min(self.text.len()));
            self.text[..at].char_indices().map(|c| shown(c).len_utf8()).sum::<usize>()
        };
        let mut span = place(mistake.span.start)..place(mistake.span.end);
        span.end = span.end.max(span.start);
        let path = self.path.display().to_string();
        let snippet = Snippet::source(text.as_str())
            .path(display_safe(&path).into_owned())
            .annotation(AnnotationKind::Primary.span(span).label(mistake.label.as_str()));
        let mut group: Group<'_> =
            Level::ERROR.primary_title(mistake.message.as_str()).element(snippet);
        if let Some(hint) = &mistake.hint {
            group = group.element(Level::HELP.with_name("hint").message(hint.as_str()));
        }
        Renderer::plain().render(&[group])
    }
}

fn shows(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\t') || !c.is_control()
}

impl fmt::Display for ConfigError {
    /// Without the word "error" in front, as any error.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, mistake) in self.mistakes.iter().take(SHOWN).enumerate() {
            let picture = self.picture(mistake);
            if index == 0 {
                f.write_str(picture.strip_prefix("error: ").unwrap_or(&picture))?;
            } else {
                write!(f, "\n\n{picture}")?;
            }
        }
        match self.mistakes.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(f, "\n\nand {more} more"),
        }
    }
}

impl std::error::Error for ConfigError {}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::usage(error.to_string())
    }
}

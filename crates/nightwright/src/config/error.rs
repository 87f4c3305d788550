//! Errors in a configuration file, with annotated excerpts.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use nightwright_core::display::display_safe;

use super::secret_values::hidden;
use crate::error::Failure;

/// The maximum number of mistakes that are shown.
const SHOWN: usize = 10;

/// The mistakes in a file. As many as possible are reported at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    path: PathBuf,
    text: String,
    mistakes: Vec<ConfigMistake>,
}

/// One mistake in a configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigMistake {
    /// The position in the file, in bytes.
    pub span: Range<usize>,
    /// The message, one sentence.
    pub message: String,
    /// The label at the position itself.
    pub label: String,
    /// A hint how to fix it.
    pub hint: Option<String>,
}

impl ConfigError {
    pub(crate) fn new(path: &Path, text: &str, mut mistakes: Vec<ConfigMistake>) -> Self {
        mistakes.sort_by_key(|mistake| mistake.span.start);
        Self { path: path.to_owned(), text: text.to_owned(), mistakes }
    }

    /// The mistakes, in the order of the file.
    pub fn mistakes(&self) -> &[ConfigMistake] {
        &self.mistakes
    }

    fn picture(&self, mistake: &ConfigMistake) -> String {
        // Control characters and possibly secret values must not reach a terminal. Each is replaced
        // by one character, so that the annotations stay aligned.
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
    /// Formats the error without the prefix "error:".
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

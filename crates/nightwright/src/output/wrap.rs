//! Wraps messages between words, instead of leaving it to the terminal, which breaks inside words.

use std::io;

use super::style;
use super::width::columns;

/// The name of the program, with which a command line begins.
const PROGRAM: &str = "nightwright";

/// The additional indentation of the rows below the first row of a line.
const HANGING: usize = 2;

/// A terminal narrower than this is left alone.
const MIN_WIDTH: usize = 40;

/// Wraps a message for standard error, if that is a terminal.
pub(crate) fn for_stderr(text: &str) -> String {
    match style::columns(io::stderr()) {
        Some(width) => lines(text, width, None),
        None => text.to_owned(),
    }
}

/// Wraps a string for standard output, if that is a terminal. Rows below the first row of a line
/// begin at the column `indent`.
pub(crate) fn for_stdout(text: &str, indent: usize) -> String {
    match style::columns(io::stdout()) {
        Some(width) => lines(text, width, Some(indent)),
        None => text.to_owned(),
    }
}

/// Wraps each line of a string to a width.
fn lines(text: &str, width: usize, indent: Option<usize>) -> String {
    let wrapped = |line: &str| {
        let own = line.chars().take_while(|c| *c == ' ').count() + HANGING;
        let indent = indent.unwrap_or(own);
        if columns(line) <= width || width < MIN_WIDTH.max(indent * 2) {
            line.to_owned()
        } else {
            rows(line, width, indent)
        }
    };
    text.split('\n').map(wrapped).collect::<Vec<_>>().join("\n")
}

fn rows(line: &str, width: usize, indent: usize) -> String {
    let mut text = String::new();
    let mut used = 0;
    for piece in pieces(line) {
        let size = columns(piece);
        if used > 0 && used + 1 + size > width {
            text.push('\n');
            text.push_str(&" ".repeat(indent));
            used = indent;
        } else if used > 0 {
            text.push(' ');
            used += 1;
        }
        text.push_str(piece);
        used += size;
    }
    text
}

/// Splits a line at its spaces. The indentation belongs to the first word. A quotation in backticks
/// and a command line, which ends the line, stay whole, so that they can be copied.
fn pieces(line: &str) -> Vec<&str> {
    let begin = line.len() - line.trim_start_matches(' ').len();
    let (mut found, mut start, mut is_quoted) = (Vec::new(), 0, false);
    for (at, c) in line.char_indices().skip_while(|(at, _)| *at < begin) {
        let is_command = at > begin
            && !is_quoted
            && line[..at].ends_with(": ")
            && line[at..].strip_prefix(PROGRAM).is_some_and(|rest| rest.starts_with(' '));
        if is_command {
            found.push(&line[at..]);
            return found;
        }
        match c {
            '`' => is_quoted = !is_quoted,
            ' ' if !is_quoted => {
                found.push(&line[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(&line[start..]);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_wrapped_between_words_and_a_command_stays_whole() {
        let text = "error: the agent of this run is the command `sh agent.sh`: its model cannot change\n\
                    hint: allow it and continue: nightwright resume R --allowed-tools \"Bash(npm install:*)\"";
        assert_eq!(
            lines(text, 45, None),
            "error: the agent of this run is the command\n  \
             `sh agent.sh`: its model cannot change\n\
             hint: allow it and continue:\n  \
             nightwright resume R --allowed-tools \"Bash(npm install:*)\""
        );
        assert_eq!(lines(text, 200, None), text);
        assert_eq!(lines(text, 20, None), text, "too narrow");
    }

    #[test]
    fn rows_below_the_first_are_aligned() {
        let row = "ok       permissions  the agent may edit files and run the usual commands";
        assert_eq!(
            lines(row, 60, Some(22)),
            "ok       permissions  the agent may edit files and run the\n                      usual commands"
        );
        let wide = "世".repeat(30);
        assert_eq!(lines(&format!("{wide} {wide}"), 60, None), format!("{wide}\n  {wide}"));
    }
}

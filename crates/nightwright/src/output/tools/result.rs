//! Results of tool calls: the beginning of a success, and all of an error.

use memchr::memchr_iter;
use nightwright_core::outcome::Tone;
use nightwright_core::stream::message::ToolStatus;

use super::advice;
use super::call::{ToolKind, number};
use super::input::{self, Extent, PartialText};
use crate::output::page::{LineStart, Page};
use crate::output::style::TextColor;

/// The number of lines shown from a file.
const READ_LINES: usize = 15;
/// The number of lines shown from a command's output or a search.
const OUTPUT_LINES: usize = 20;
/// The number of lines shown from a subagent's answer.
const ANSWER_LINES: usize = 10;
/// The number of lines shown from any other result.
const OTHER_LINES: usize = 5;

/// The sign in front of each line of a result.
const GUTTER: &str = "│";

/// The agent's text for a command without output.
const NO_OUTPUT: &str = "(Bash completed with no output)";
/// The beginning of the agent's text for a command started in the background.
const STARTED: &str = "Command running in background with ID: ";
/// The parts of the agent's last line for a command that was moved to the background after a
/// timeout.
const MOVED: [&str; 2] =
    ["Command did not complete within its ", " timeout and was moved to the background (ID: "];

/// The agent's strings for a search without matches.
const NOTHING: [&str; 2] = ["No matches found", "No files found"];

/// The part of a call that matters for showing its result.
#[derive(Clone, Copy, Debug)]
pub(super) struct ToolRequest {
    pub(super) tool: ToolKind,
    /// The number of the first line to read from a file.
    pub(super) first_line: u64,
    /// The maximum number of lines to read, if limited.
    pub(super) most_lines: Option<u64>,
    pub(super) background: Background,
    pub(super) finds: SearchOutput,
}

/// Whether a command was started in the background.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Background {
    Wanted,
    NotWanted,
}

/// The kind of output of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SearchOutput {
    /// File names or counts per file.
    Files,
    /// The matching lines themselves.
    Lines,
}

/// Shows the result of a call, indented.
pub(super) fn show(
    page: &mut Page<'_>,
    indent: usize,
    asked: ToolRequest,
    went: ToolStatus,
    content: &str,
) {
    let PartialText { text, extent } = input::content(content);
    let mut result = ResultPrinter { page, indent, extent };
    match went {
        ToolStatus::Failed => result.failed(asked.tool, &text),
        ToolStatus::Ok => result.went_well(asked, &text),
    }
}

struct ResultPrinter<'a, 'p> {
    page: &'a mut Page<'p>,
    indent: usize,
    /// Whether the result is complete.
    extent: Extent,
}

impl ResultPrinter<'_, '_> {
    fn went_well(&mut self, asked: ToolRequest, text: &str) {
        match asked.tool {
            ToolKind::Read => self.read(asked, text),
            // The text of these results only instructs the agent.
            ToolKind::Edit | ToolKind::MultiEdit | ToolKind::Write => self.status("ok"),
            ToolKind::Bash => self.output(asked.background, text),
            ToolKind::Grep | ToolKind::Glob => self.matches(asked, text),
            ToolKind::Agent => self.beginning("ok", answer(text), ANSWER_LINES),
            ToolKind::Other => self.beginning("ok", text, OTHER_LINES),
        }
    }

    /// Shows an error without shortening it.
    fn failed(&mut self, tool: ToolKind, text: &str) {
        let text = text.trim();
        let error = text.strip_prefix("<tool_use_error>").unwrap_or(text);
        let error = error.strip_suffix("</tool_use_error>").unwrap_or(error);
        let (status, error) = match exit_code(error) {
            Some((code, output)) if tool == ToolKind::Bash => (format!("exit {code}"), output),
            Some(_) | None => ("failed".to_owned(), error),
        };
        self.page.verdict(self.indent, Tone::Bad, &status);
        if !error.trim().is_empty() {
            let front = LineStart { indent: self.indent, sign: GUTTER };
            self.page.verbatim(front, None, error.trim_end());
        }
        if self.extent == Extent::Beginning {
            let text = format!("{} {}", self.page.style().ellipsis(), input::cut_here());
            self.excerpt(&text);
        }
        if let ToolKind::Edit | ToolKind::MultiEdit = tool {
            let advice = advice::on_edit(error);
            self.status(&format!("likely: {}", advice.likely));
            self.status(&format!("tip: {}", advice.tip));
        }
    }

    /// Shows a file, whose lines the agent has numbered.
    fn read(&mut self, asked: ToolRequest, text: &str) {
        let ToolRequest { first_line, most_lines, .. } = asked;
        let numbered: Vec<_> = text.lines().map_while(numbered).collect();
        let lines = match numbered.as_slice() {
            // A message about the file instead of its content.
            [] if text.trim_start().starts_with('<') || text.trim_start().starts_with('[') => {
                return self.beginning("ok", text, READ_LINES);
            }
            [] => text.lines().zip(first_line..).map(|(line, number)| (number, line)).collect(),
            // The agent also numbers the empty text after the final newline, which is not a line.
            // With a line limit, the last numbered line is a real one.
            [lines @ .., (_, "")] if most_lines != u64::try_from(numbered.len()).ok() => {
                lines.to_vec()
            }
            _ => numbered,
        };
        self.status(&format!("ok, {}", self.number(lines.len(), "line")));
        let shown = &lines[..lines.len().min(READ_LINES)];
        let digits = shown.last().map_or(1, |(number, _)| number.to_string().len());
        for (number, line) in shown {
            self.excerpt(&format!("{number:digits$}  {line}"));
        }
        self.rest(lines.len() - shown.len());
    }

    fn output(&mut self, background: Background, text: &str) {
        // The exit code is known only if the agent treats it as a failure. A search without matches
        // exits with 1 and still counts as a success.
        let status = if is_running(background, text) { "still running" } else { "ok" };
        let text = if text.trim() == NO_OUTPUT { "" } else { text };
        self.beginning(status, text, OUTPUT_LINES);
    }

    fn matches(&mut self, asked: ToolRequest, text: &str) {
        let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
        // The agent's own text contains the number of files, or says that there are none.
        let counted = asked.finds == SearchOutput::Files && is_count(first);
        let (status, text) = if counted || NOTHING.contains(&text.trim_end()) {
            (first.to_owned(), rest)
        } else {
            let lines = count_lines(text);
            let noun = if asked.tool == ToolKind::Glob { "file" } else { "line" };
            (format!("found {}", self.number(lines, noun)), text)
        };
        self.status(&lower_first(&status));
        self.first(text, count_lines(text), OUTPUT_LINES);
    }

    /// Shows the number of lines, and the first of them.
    fn beginning(&mut self, status: &str, text: &str, most: usize) {
        let lines = count_lines(text);
        if lines == 0 {
            return self.status(&format!("{status}, no output"));
        }
        self.status(&format!("{status}, {}", self.number(lines, "line")));
        self.first(text, lines, most);
    }

    /// A number of lines, with `more than` if the result is truncated.
    fn number(&self, count: usize, noun: &str) -> String {
        format!("{}{}", self.extent.at_least(), number(count, noun))
    }

    /// Shows the first `most` lines, and the number of the rest.
    fn first(&mut self, text: &str, lines: usize, most: usize) {
        for line in text.trim_end().lines().take(most) {
            self.excerpt(line);
        }
        self.rest(lines.saturating_sub(most));
    }

    fn rest(&mut self, lines: usize) {
        if lines > 0 {
            let at_least = self.extent.at_least();
            self.excerpt(&format!("{} {at_least}{lines} more", self.page.style().ellipsis()));
        }
    }

    fn excerpt(&mut self, line: &str) {
        self.page.excerpt(LineStart { indent: self.indent, sign: GUTTER }, line);
    }

    fn status(&mut self, text: &str) {
        self.page.verbatim(
            LineStart { indent: self.indent, sign: "" },
            Some(TextColor::Faint),
            text,
        );
    }
}

/// Counts the lines, without empty ones at the end. Output can have 100,000 lines, so this searches
/// for newlines many bytes at a time.
fn count_lines(text: &str) -> usize {
    let text = text.trim_end();
    let ends = memchr_iter(b'\n', text.as_bytes()).count();
    if text.is_empty() { 0 } else { ends + 1 }
}

/// Whether a command is still running, according to the agent's own text.
fn is_running(background: Background, text: &str) -> bool {
    let last = text.trim_end().lines().last().unwrap_or_default();
    let moved = last.starts_with(MOVED[0]) && last.contains(MOVED[1]);
    moved || (background == Background::Wanted && text.starts_with(STARTED))
}

/// Whether a line is a count such as `Found 3 files`.
fn is_count(line: &str) -> bool {
    let Some(count) = line.trim_end().strip_prefix("Found ") else { return false };
    let Some((number, noun)) = count.split_once(' ') else { return false };
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    // The result of a limited search has a suffix.
    let noun = noun.split_once(" limit: ").map_or(noun, |(noun, _)| noun);
    is_number && matches!(noun, "file" | "files")
}

/// Parses a numbered line, such as `12→text` or `12<tab>text`.
fn numbered(line: &str) -> Option<(u64, &str)> {
    let (number, text) = line.split_once(['\t', '→'])?;
    Some((number.trim_start().parse().ok()?, text))
}

/// Parses `Exit code 3` and the output after it.
fn exit_code(text: &str) -> Option<(i32, &str)> {
    let (first, output) = text.split_once('\n').unwrap_or((text, ""));
    Some((first.strip_prefix("Exit code ")?.trim().parse().ok()?, output))
}

/// The answer of a subagent, without the agent program's text around it. The lines of the answer
/// are indented, so they cannot be mistaken for that text.
fn answer(text: &str) -> &str {
    const BEGIN: &str = "The report follows:\n";
    const END: &str = "\nagentId: ";
    let Some((_, report)) = text.split_once(BEGIN) else { return text };
    report.rsplit_once(END).map_or(report, |(report, _)| report)
}

fn lower_first(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(|first| first.to_lowercase().to_string());
    first.unwrap_or_default() + characters.as_str()
}

#[cfg(test)]
mod tests {
    use nightwright_core::stream::dialect::MAX_SHOWN_TEXT;

    use super::*;
    use crate::config::ColorChoice;
    use crate::output::style::{OutputCapabilities, Style};
    use crate::output::tools::call::ToolCallView;

    fn shown(tool: &str, went: ToolStatus, text: &str) -> String {
        shown_of(tool, "{}", went, text)
    }

    fn shown_of(tool: &str, input: &str, went: ToolStatus, text: &str) -> String {
        let surroundings = OutputCapabilities { utf8: true, ..OutputCapabilities::default() };
        let style = Style::new(ColorChoice::Never, &surroundings);
        let mut page = Page::new(&style);
        let content = serde_json::to_string(text).unwrap();
        show(&mut page, 0, ToolCallView::new(ToolKind::named(tool), input).asked(), went, &content);
        page.finish()
    }

    fn lines(count: usize) -> String {
        let lines: Vec<_> = (1..=count).map(|number| format!("line {number}")).collect();
        lines.join("\n") + "\n"
    }

    #[test]
    fn an_empty_line_at_the_end_of_what_was_wanted_is_one() {
        let read = |input: &str, text: &str| shown_of("Read", input, ToolStatus::Ok, text);
        let three = "ok, 3 lines\n│ 1  a\n│ 2  b\n│ 3\n";
        assert_eq!(read(r#"{"limit":3}"#, "1\ta\n2\tb\n3\t"), three);
        assert_eq!(read("{}", "1\ta\n2\tb\n3\t\n4\t"), three);
        assert_eq!(read(r#"{"limit":9}"#, "1\ta\n2\tb\n3\t"), "ok, 2 lines\n│ 1  a\n│ 2  b\n");
    }

    #[test]
    fn successful_output_is_shown_from_its_beginning() {
        let cases = [
            ("Read", "1\talpha\n2\tbeta\n3\t", "ok, 2 lines\n│ 1  alpha\n│ 2  beta\n"),
            ("Read", "     9→a\n    10→\tb", "ok, 2 lines\n│  9  a\n│ 10  \tb\n"),
            ("Read", "plain\ntext", "ok, 2 lines\n│ 1  plain\n│ 2  text\n"),
            ("Read", "1\ta\n\n<system-reminder>x</system-reminder>", "ok, 1 line\n│ 1  a\n"),
            ("Read", "", "ok, 0 lines\n"),
            ("Edit", "The file has been updated. Details.", "ok\n"),
            ("Write", "File created successfully", "ok\n"),
            ("Bash", "one\n  two\n", "ok, 2 lines\n│ one\n│   two\n"),
            ("Bash", "", "ok, no output\n"),
            ("Bash", "(Bash completed with no output)", "ok, no output\n"),
            (
                "Bash",
                "Exit code 2 is what it printed",
                "ok, 1 line\n│ Exit code 2 is what it printed\n",
            ),
            ("Grep", "Found 1 file\na.txt", "found 1 file\n│ a.txt\n"),
            ("Grep", "No matches found", "no matches found\n"),
            ("Grep", "a.txt:1:x\na.txt:2:y", "found 2 lines\n│ a.txt:1:x\n│ a.txt:2:y\n"),
            ("Glob", "a.txt", "found 1 file\n│ a.txt\n"),
            ("Agent", "One file.", "ok, 1 line\n│ One file.\n"),
            (
                "Agent",
                "[Hand-back] The report follows:\n  One file.\nagentId: a1\n<usage/>",
                "ok, 1 line\n│   One file.\n",
            ),
            ("mcp__demo__add", "5", "ok, 1 line\n│ 5\n"),
        ];
        for (tool, text, expected) in cases {
            assert_eq!(shown(tool, ToolStatus::Ok, text), expected, "{tool}: {text}");
        }
    }

    #[test]
    fn only_what_the_program_says_itself_means_still_running() {
        let started = "Command running in background with ID: b1. Output is being written to: x";
        let moved = "tick\nCommand did not complete within its 120s timeout and was moved to the \
                     background (ID: b1). Output is being written to: x";
        let wanted = r#"{"command":"x","run_in_background":true}"#;
        let cases = [
            (wanted, started, true),
            ("{}", moved, true),
            ("{}", started, false),
            (wanted, "all of it", false),
            ("{}", "Output is being written to: x", false),
            (wanted, "tick\nCommand running in background with ID: b1", false),
            ("{}", &format!("{moved}\ntick"), false),
        ];
        for (input, text, running) in cases {
            let text = shown_of("Bash", input, ToolStatus::Ok, text);
            assert_eq!(text.starts_with("still running, "), running, "{input}: {text}");
            assert_eq!(text.starts_with("ok, "), !running, "{input}: {text}");
        }
    }

    #[test]
    fn search_results_are_shown_in_full() {
        let content = r#"{"pattern":"x","output_mode":"content"}"#;
        let files = r#"{"pattern":"x"}"#;
        let cases = [
            (content, "Found 1 file\nFound it", "found 2 lines\n│ Found 1 file\n│ Found it\n"),
            (content, "No idea\nx", "found 2 lines\n│ No idea\n│ x\n"),
            (content, "No matches found", "no matches found\n"),
            (files, "Found it.txt\nb", "found 2 lines\n│ Found it.txt\n│ b\n"),
            (files, "Found  files\nb", "found 2 lines\n│ Found  files\n│ b\n"),
            (files, "No good.txt", "found 1 line\n│ No good.txt\n"),
            (files, "Found 2 files\na\nb", "found 2 files\n│ a\n│ b\n"),
            (files, "Found 1 file limit: 1\na", "found 1 file limit: 1\n│ a\n"),
            (files, "No files found", "no files found\n"),
        ];
        for (input, text, expected) in cases {
            assert_eq!(shown_of("Grep", input, ToolStatus::Ok, text), expected, "{input}: {text}");
        }
    }

    #[test]
    fn a_truncated_result_is_marked() {
        let line = format!("{}\n", "x".repeat(1_000));
        let long = line.repeat(MAX_SHOWN_TEXT / 1_000) + "…";
        let cut = "│ … truncated after 256 KB; the raw output contains everything\n";
        let error = shown("Bash", ToolStatus::Failed, &long);
        assert!(error.ends_with(cut), "{}", &error[error.len() - 200..]);
        assert_eq!(error.matches("truncated after").count(), 1);
        let output = shown("Bash", ToolStatus::Ok, &long);
        assert!(output.starts_with("ok, more than 262 lines\n"));
        assert!(output.ends_with("│ … more than 242 more\n"), "{}", &output[output.len() - 200..]);
    }

    #[test]
    fn the_rest_is_counted() {
        let cases = [
            ("Read", 15),
            ("Bash", 20),
            ("Grep", 20),
            ("Glob", 20),
            ("Agent", 10),
            ("WebFetch", 5),
        ];
        for (tool, most) in cases {
            let text = shown(tool, ToolStatus::Ok, &lines(30));
            let (first, rest) = (format!("line {most}\n"), format!("│ … {} more\n", 30 - most));
            assert!(text.contains(&first) && text.ends_with(&rest), "{tool}: {text}");
            assert_eq!(text.lines().count(), most + 2, "{tool}");
            let all = shown(tool, ToolStatus::Ok, &lines(most));
            assert!(!all.contains("more"), "{tool}: {all}");
        }
    }

    #[test]
    fn a_long_line_is_cut_at_a_character() {
        let text = shown("Bash", ToolStatus::Ok, &"ä".repeat(5_000));
        assert_eq!(text, format!("ok, 1 line\n│ {}…\n", "ä".repeat(1_000)));
    }

    #[test]
    fn errors_are_never_cut() {
        for tool in ["Read", "Write", "Bash", "Grep", "Agent", "WebFetch", "mcp__demo__add"] {
            let error = format!("{}{}", lines(100), "x".repeat(5_000));
            let text = shown(tool, ToolStatus::Failed, &error);
            assert_eq!(text.lines().count(), 102, "{tool}");
            assert!(text.starts_with("❌ failed\n│ line 1\n"), "{tool}: {text}");
            assert!(text.ends_with(&format!("{}\n", "x".repeat(5_000))), "{tool}");
        }
    }

    #[test]
    fn a_failure_is_shown_in_the_words_of_its_tool() {
        let cases = [
            ("Bash", "Exit code 3\nout\nerr", "❌ exit 3\n│ out\n│ err\n"),
            ("Bash", "Exit code 1", "❌ exit 1\n"),
            ("Bash", "not allowed", "❌ failed\n│ not allowed\n"),
            ("Read", "Exit code 3\nx", "❌ failed\n│ Exit code 3\n│ x\n"),
            ("New", "<tool_use_error>No such tool</tool_use_error>", "❌ failed\n│ No such tool\n"),
            ("New", "", "❌ failed\n"),
            (
                "Edit",
                "<tool_use_error>String to replace not found in file.\nString: nope</tool_use_error>",
                "❌ failed\n│ String to replace not found in file.\n│ String: nope\n\
                 likely: the text has already changed, or its whitespace differs\n\
                 tip: read the file again and copy the text from it\n",
            ),
        ];
        for (tool, text, expected) in cases {
            assert_eq!(shown(tool, ToolStatus::Failed, text), expected, "{tool}: {text}");
        }
    }

    #[test]
    fn words_about_errors_are_no_errors() {
        let text = shown("Bash", ToolStatus::Ok, "error: failed\nException");
        assert!(text.starts_with("ok, 2 lines\n"), "{text}");
    }
}

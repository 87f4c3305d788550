//! What came of a tool call: its beginning if it went well, all of it if it did not.

use memchr::memchr_iter;
use nightwright_core::outcome::Tone;
use nightwright_core::stream::message::ToolStatus;

use super::advice;
use super::call::{ToolKind, number};
use super::input::{self, Extent, PartialText};
use crate::output::page::{LinePrefix, Page};
use crate::output::style::TextColor;

/// So many lines of a file are shown.
const READ_LINES: usize = 15;
/// So many of what a command printed, and of what was found.
const OUTPUT_LINES: usize = 20;
/// So many of another agent's answer.
const ANSWER_LINES: usize = 10;
/// So many of anything else.
const OTHER_LINES: usize = 5;

/// What stands in front of what a tool gave.
const GUTTER: &str = "│";

/// What a command that printed nothing is said to have given.
const NO_OUTPUT: &str = "(Bash completed with no output)";
/// How it begins what it says of a command that was to run in the background.
const STARTED: &str = "Command running in background with ID: ";
/// What it says, last of all, of one that took too long to be waited for.
const MOVED: [&str; 2] =
    ["Command did not complete within its ", " timeout and was moved to the background (ID: "];

/// What a search that found nothing is said to have given.
const NOTHING: [&str; 2] = ["No matches found", "No files found"];

/// The call that something came of, as far as it matters for that.
#[derive(Clone, Copy, Debug)]
pub(super) struct ToolRequest {
    pub(super) tool: ToolKind,
    /// The line that a file was read from.
    pub(super) first_line: u64,
    /// So many lines of it were wanted, if not all.
    pub(super) most_lines: Option<u64>,
    pub(super) background: Background,
    pub(super) finds: SearchOutput,
}

/// Whether a command was to run in the background.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Background {
    Wanted,
    NotWanted,
}

/// What a search was to give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SearchOutput {
    /// The names of files, or counts.
    Files,
    /// The lines themselves.
    Lines,
}

/// Shows what came of a call, this far in.
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
    /// How much of it came.
    extent: Extent,
}

impl ResultPrinter<'_, '_> {
    fn went_well(&mut self, asked: ToolRequest, text: &str) {
        match asked.tool {
            ToolKind::Read => self.read(asked, text),
            // What it says are instructions to the agent.
            ToolKind::Edit | ToolKind::MultiEdit | ToolKind::Write => self.status("ok"),
            ToolKind::Bash => self.output(asked.background, text),
            ToolKind::Grep | ToolKind::Glob => self.matches(asked, text),
            ToolKind::Agent => self.beginning("ok", answer(text), ANSWER_LINES),
            ToolKind::Other => self.beginning("ok", text, OTHER_LINES),
        }
    }

    /// Errors are never cut, as far as they came.
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
            let front = LinePrefix { indent: self.indent, sign: GUTTER };
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

    /// A file, of which the program numbers the lines.
    fn read(&mut self, asked: ToolRequest, text: &str) {
        let ToolRequest { first_line, most_lines, .. } = asked;
        let numbered: Vec<_> = text.lines().map_while(numbered).collect();
        let lines = match numbered.as_slice() {
            // Something about the file instead of what is in it.
            [] if text.trim_start().starts_with('<') || text.trim_start().starts_with('[') => {
                return self.beginning("ok", text, READ_LINES);
            }
            [] => text.lines().zip(first_line..).map(|(line, number)| (number, line)).collect(),
            // What follows the last newline of a file is numbered, too, and no line; the last of as
            // many as were wanted is one of the file.
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
        // The program says which code a command ended with only where it takes that for a failure:
        // a search that found nothing ends with 1, and comes as this does.
        let status = if is_running(background, text) { "still running" } else { "ok" };
        let text = if text.trim() == NO_OUTPUT { "" } else { text };
        self.beginning(status, text, OUTPUT_LINES);
    }

    fn matches(&mut self, asked: ToolRequest, text: &str) {
        let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
        // The program counts the files that it found itself, or says that there is nothing.
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

    /// How many lines there are, and the first of them.
    fn beginning(&mut self, status: &str, text: &str, most: usize) {
        let lines = count_lines(text);
        if lines == 0 {
            return self.status(&format!("{status}, no output"));
        }
        self.status(&format!("{status}, {}", self.number(lines, "line")));
        self.first(text, lines, most);
    }

    /// `3 lines`, or `more than 3 lines` where not all of them came.
    fn number(&self, count: usize, noun: &str) -> String {
        format!("{}{}", self.extent.at_least(), number(count, noun))
    }

    /// The first of so many lines.
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
        self.page.excerpt(LinePrefix { indent: self.indent, sign: GUTTER }, line);
    }

    fn status(&mut self, text: &str) {
        self.page.verbatim(
            LinePrefix { indent: self.indent, sign: "" },
            Some(TextColor::Faint),
            text,
        );
    }
}

/// So many lines, without empty ones at the end. A command may have printed a hundred thousand of
/// them, of which only their number is told: their ends are counted many bytes at once.
fn count_lines(text: &str) -> usize {
    let text = text.trim_end();
    let ends = memchr_iter(b'\n', text.as_bytes()).count();
    if text.is_empty() { 0 } else { ends + 1 }
}

/// Whether a command has not ended: only the program's own words say so, where it says them.
fn is_running(background: Background, text: &str) -> bool {
    let last = text.trim_end().lines().last().unwrap_or_default();
    let moved = last.starts_with(MOVED[0]) && last.contains(MOVED[1]);
    moved || (background == Background::Wanted && text.starts_with(STARTED))
}

/// `Found 3 files`
fn is_count(line: &str) -> bool {
    let Some(count) = line.trim_end().strip_prefix("Found ") else { return false };
    let Some((number, noun)) = count.split_once(' ') else { return false };
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    // Not all that it found is there then.
    let noun = noun.split_once(" limit: ").map_or(noun, |(noun, _)| noun);
    is_number && matches!(noun, "file" | "files")
}

/// `12→text`, `12<tab>text`: the number and the text.
fn numbered(line: &str) -> Option<(u64, &str)> {
    let (number, text) = line.split_once(['\t', '→'])?;
    Some((number.trim_start().parse().ok()?, text))
}

/// `Exit code 3` and what was printed.
fn exit_code(text: &str) -> Option<(i32, &str)> {
    let (first, output) = text.split_once('\n').unwrap_or((text, ""));
    Some((first.strip_prefix("Exit code ")?.trim().parse().ok()?, output))
}

/// What an agent answered, without what its program says around it to the one that asked. Its own
/// lines are further in than those around it.
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
    use nightwright_core::stream::dialect::SHOWN_TEXT_MAX;

    use super::*;
    use crate::output::style::{ColorChoice, OutputCapabilities, Style};
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
    fn what_went_well_is_shown_from_its_beginning() {
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
    fn what_a_search_found_is_all_there() {
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
    fn what_was_cut_on_its_way_is_told() {
        let line = format!("{}\n", "x".repeat(1_000));
        let long = line.repeat(SHOWN_TEXT_MAX / 1_000) + "…";
        let cut = "│ … cut here: more than 256 KB; all of it is in the raw output\n";
        let error = shown("Bash", ToolStatus::Failed, &long);
        assert!(error.ends_with(cut), "{}", &error[error.len() - 200..]);
        assert_eq!(error.matches("cut here").count(), 1);
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
    fn a_failure_is_told_in_the_words_of_its_tool() {
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
                 likely: the text was changed already, or its white space differs\n\
                 tip: read the file again and take the text from there\n",
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

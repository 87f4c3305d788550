//! Tool calls: their heading in one row, and the changes of an edit.

use std::time::Duration;

use nightwright_core::outcome::count;
use nightwright_core::units::human;

use super::diff;
use super::input::{Extent, PartialText, ToolArguments, cut_here};
use super::result::{Background, SearchOutput, ToolRequest};
use crate::output::page::{Heading, LineStart, Page};

/// The most informative arguments of a call, the best first.
const INFORMATIVE_ARGUMENTS: [&str; 12] = [
    "command",
    "file_path",
    "notebook_path",
    "pattern",
    "url",
    "query",
    "skill",
    "description",
    "path",
    "prompt",
    "name",
    "id",
];

/// The number of further lines of a command shown on a terminal.
const COMMAND_LINES: usize = 20;

/// The tools with their own formatting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ToolKind {
    Read,
    Edit,
    MultiEdit,
    Write,
    Bash,
    Grep,
    Glob,
    /// The tool that starts a subagent.
    Agent,
    Other,
}

impl ToolKind {
    pub(super) fn named(name: &str) -> Self {
        match name {
            "Read" => Self::Read,
            "Edit" => Self::Edit,
            "MultiEdit" => Self::MultiEdit,
            "Write" => Self::Write,
            "Bash" => Self::Bash,
            "Grep" => Self::Grep,
            "Glob" => Self::Glob,
            "Agent" | "Task" => Self::Agent,
            _ => Self::Other,
        }
    }
}

/// A tool call with its arguments.
#[derive(Debug)]
pub(super) struct ToolCallView<'a> {
    tool: ToolKind,
    arguments: ToolArguments<'a>,
}

impl<'a> ToolCallView<'a> {
    pub(super) fn new(tool: ToolKind, input: &'a str) -> Self {
        Self { tool, arguments: ToolArguments::of(input) }
    }

    /// The part of the call that matters for showing its result.
    pub(super) fn asked(&self) -> ToolRequest {
        let arguments = &self.arguments;
        let background = arguments.is_set("run_in_background");
        let content = arguments.text("output_mode").is_some_and(|mode| mode == "content");
        ToolRequest {
            tool: self.tool,
            first_line: arguments.number("offset").unwrap_or(1).max(1),
            most_lines: arguments.number("limit"),
            background: if background { Background::Wanted } else { Background::NotWanted },
            finds: if content { SearchOutput::Lines } else { SearchOutput::Files },
        }
    }

    /// The tool with its most informative argument. If the expected argument is missing, the names
    /// of all arguments replace it.
    pub(super) fn heading(&self, name: &str) -> Heading {
        let arguments = &self.arguments;
        let (detail, tail) = match self.tool {
            ToolKind::Read => (arguments.text("file_path"), self.range()),
            ToolKind::Edit => (arguments.text("file_path"), self.replaces_all()),
            ToolKind::MultiEdit => {
                let edits = arguments.objects("edits").len();
                (arguments.text("file_path"), format!(", {}", number(edits, "edit")))
            }
            ToolKind::Write => (arguments.text("file_path"), self.size()),
            ToolKind::Bash => (self.command().map(|(first, _)| first), self.how()),
            ToolKind::Grep | ToolKind::Glob => (arguments.text("pattern"), self.searched()),
            ToolKind::Agent => (arguments.text("description"), self.kind()),
            ToolKind::Other => (self.todos(), String::new()),
        };
        let about = match self.tool {
            ToolKind::Bash => arguments.text("description").unwrap_or_default(),
            ToolKind::Read
            | ToolKind::Edit
            | ToolKind::MultiEdit
            | ToolKind::Write
            | ToolKind::Grep
            | ToolKind::Glob
            | ToolKind::Agent
            | ToolKind::Other => String::new(),
        };
        let detail_argument = || INFORMATIVE_ARGUMENTS.iter().find_map(|name| arguments.text(name));
        let name = name.to_owned();
        match detail {
            Some(detail) => Heading { name, detail, about, tail },
            None if self.tool == ToolKind::Other => {
                let detail = detail_argument().unwrap_or_else(|| arguments.names());
                Heading { name, detail, ..Heading::default() }
            }
            None => Heading { name, detail: arguments.names(), ..Heading::default() },
        }
    }

    /// The first line of a command, and the rest.
    fn command(&self) -> Option<(String, PartialText)> {
        let PartialText { text, extent } = self.arguments.long_text("command")?;
        let text = text.replace("\r\n", "\n");
        let text = text.trim_end().trim_start_matches(['\n', '\r']);
        let (first, more) = text.split_once('\n').unwrap_or((text, ""));
        let (first, more) = (first.trim().to_owned(), more.to_owned());
        (!first.is_empty()).then_some((first, PartialText { text: more, extent }))
    }

    /// Shows the parts that do not fit in the heading: further lines of a command, or the changes
    /// of an edit.
    pub(super) fn body(&self, page: &mut Page<'_>, indent: usize) {
        match self.tool {
            ToolKind::Edit => change(page, indent, &self.arguments),
            ToolKind::MultiEdit => {
                let edits = self.arguments.objects("edits");
                for (edit, number) in edits.iter().zip(1..) {
                    let all = if edit.is_set("replace_all") { ", all occurrences" } else { "" };
                    let text = format!("edit {number} of {}{all}", edits.len());
                    page.verbatim(LineStart { indent, sign: "" }, None, &text);
                    change(page, indent, edit);
                }
            }
            ToolKind::Bash => {
                if let Some((_, more)) = self.command() {
                    further_lines(page, indent + 2, &more);
                }
            }
            ToolKind::Read
            | ToolKind::Write
            | ToolKind::Grep
            | ToolKind::Glob
            | ToolKind::Agent
            | ToolKind::Other => {}
        }
    }

    fn range(&self) -> String {
        let (from, most) = (self.arguments.number("offset"), self.arguments.number("limit"));
        match (from, most) {
            (None, None) => String::new(),
            (Some(from), None) => format!(", from line {from}"),
            (None, Some(most)) => format!(", lines 1-{most}"),
            (Some(from), Some(most)) => {
                let last = from.saturating_add(most).saturating_sub(1);
                format!(", lines {from}-{last}")
            }
        }
    }

    fn replaces_all(&self) -> String {
        let all = self.arguments.is_set("replace_all");
        if all { ", all occurrences".to_owned() } else { String::new() }
    }

    fn size(&self) -> String {
        match self.arguments.long_text("content") {
            Some(content) => {
                let more = content.extent.at_least();
                let lines = number(content.text.lines().count(), "line");
                format!(" ({more}{}, {more}{lines})", kilobytes(content.text.len()))
            }
            None => String::new(),
        }
    }

    fn how(&self) -> String {
        let arguments = &self.arguments;
        let timeout = arguments.number("timeout").map(Duration::from_millis);
        let timeout = timeout.map(|timeout| format!(", timeout {}", human(timeout)));
        format!("{}{}", timeout.unwrap_or_default(), self.in_background())
    }

    fn in_background(&self) -> &'static str {
        if self.arguments.is_set("run_in_background") { ", in the background" } else { "" }
    }

    fn searched(&self) -> String {
        let arguments = &self.arguments;
        let place = arguments.text("path").map(|path| format!(" in {path}"));
        let filters: Vec<_> = ["glob", "type", "output_mode"]
            .into_iter()
            .filter_map(|name| Some(format!("{name} {}", arguments.text(name)?)))
            .collect();
        let filters =
            if filters.is_empty() { String::new() } else { format!(" ({})", filters.join(", ")) };
        format!("{}{filters}", place.unwrap_or_default())
    }

    fn kind(&self) -> String {
        let kind = self.arguments.text("subagent_type").map(|kind| format!(" ({kind})"));
        format!("{}{}", kind.unwrap_or_default(), self.in_background())
    }

    /// The progress of the agent's own list.
    fn todos(&self) -> Option<String> {
        let todos = self.arguments.objects("todos");
        let state = |todo: &ToolArguments<'_>| todo.text("status").unwrap_or_default();
        let done = todos.iter().filter(|todo| state(todo) == "completed").count();
        let now = todos.iter().find(|todo| state(todo) == "in_progress");
        let now = now.and_then(|todo| todo.text("content")).map(|now| format!(", now: {now}"));
        let all = todos.len();
        (all > 0).then(|| format!("{done} of {all} done{}", now.unwrap_or_default()))
    }
}

/// Shows the lines of a command after the first. A terminal gets a limited number of them, and the
/// number of the rest. A log gets all of them.
fn further_lines(page: &mut Page<'_>, indent: usize, more: &PartialText) {
    let front = LineStart { indent, sign: "" };
    let most = if page.style().width().is_some() { COMMAND_LINES } else { usize::MAX };
    let mut lines = more.text.lines();
    for line in lines.by_ref().take(most) {
        if page.style().width().is_some() {
            page.excerpt(front, line);
        } else {
            page.verbatim(front, None, line);
        }
    }
    let (rest, at_least) = (lines.count(), more.extent.at_least());
    if rest > 0 {
        page.verbatim(LineStart { indent, sign: "…" }, None, &format!("{at_least}{rest} more"));
    }
    if more.extent == Extent::Beginning {
        page.verbatim(LineStart { indent, sign: "…" }, None, &cut_here());
    }
}

fn change(page: &mut Page<'_>, indent: usize, edit: &ToolArguments<'_>) {
    let (old, new) = (edit.long_text("old_string"), edit.long_text("new_string"));
    if old.is_none() && new.is_none() {
        return;
    }
    let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
    diff::show(page, indent, &old.text, &new.text);
    if old.extent == Extent::Beginning || new.extent == Extent::Beginning {
        page.verbatim(LineStart { indent, sign: "…" }, None, &cut_here());
    }
}

pub(super) fn number(number: usize, noun: &str) -> String {
    count(u32::try_from(number).unwrap_or(u32::MAX), noun)
}

/// A size such as `1.5 KB`, rounded up so that it is never zero.
fn kilobytes(bytes: usize) -> String {
    let tenths = bytes.saturating_mul(10).div_ceil(1024);
    format!("{}.{} KB", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use nightwright_core::stream::dialect::MAX_SHOWN_TEXT;

    use super::*;
    use crate::config::ColorChoice;
    use crate::output::style::{OutputCapabilities, Style};

    fn shown(name: &str, input: &str) -> String {
        let surroundings = OutputCapabilities { utf8: true, ..OutputCapabilities::default() };
        let style = Style::new(ColorChoice::Never, &surroundings);
        let mut page = Page::new(&style);
        let call = ToolCallView::new(ToolKind::named(name), input);
        page.heading(LineStart { indent: 0, sign: "→" }, &call.heading(name));
        call.body(&mut page, 2);
        page.finish()
    }

    #[test]
    fn each_tool_shows_what_matters_of_its_call() {
        let cases = [
            ("Read", r#"{"file_path":"a.rs"}"#, "→ Read: a.rs"),
            ("Read", r#"{"file_path":"a.rs","offset":10,"limit":50}"#, "→ Read: a.rs, lines 10-59"),
            ("Read", r#"{"file_path":"a.rs","offset":10}"#, "→ Read: a.rs, from line 10"),
            ("Read", r#"{"file_path":"a.rs","limit":50}"#, "→ Read: a.rs, lines 1-50"),
            (
                "Write",
                r#"{"file_path":"a.rs","content":"one\ntwo\n"}"#,
                "→ Write: a.rs (0.1 KB, 2 lines)",
            ),
            (
                "Bash",
                r#"{"command":"make test","description":"run the tests","timeout":120000}"#,
                "→ Bash: make test (run the tests), timeout 2m 00s",
            ),
            (
                "Bash",
                r#"{"command":"serve","run_in_background":true}"#,
                "→ Bash: serve, in the background",
            ),
            (
                "Grep",
                r#"{"pattern":"fn main","path":"src","glob":"*.rs","output_mode":"content"}"#,
                "→ Grep: fn main in src (glob *.rs, output_mode content)",
            ),
            ("Glob", r#"{"pattern":"**/*.rs"}"#, "→ Glob: **/*.rs"),
            (
                "Agent",
                r#"{"description":"count files","prompt":"…","subagent_type":"explorer"}"#,
                "→ Agent: count files (explorer)",
            ),
            ("Task", r#"{"description":"count files"}"#, "→ Task: count files"),
            (
                "WebFetch",
                r#"{"url":"https://example.org","prompt":"look"}"#,
                "→ WebFetch: https://example.org",
            ),
            ("WebSearch", r#"{"query":"rust"}"#, "→ WebSearch: rust"),
            ("Skill", r#"{"skill":"review"}"#, "→ Skill: review"),
            (
                "TodoWrite",
                r#"{"todos":[{"content":"a","status":"completed"},{"content":"b","status":"in_progress"}]}"#,
                "→ TodoWrite: 1 of 2 done, now: b",
            ),
            ("mcp__demo__add", r#"{"b":3,"a":2}"#, "→ mcp__demo__add: a, b"),
            ("New", "{}", "→ New"),
        ];
        for (name, input, heading) in cases {
            assert_eq!(shown(name, input).trim_end(), heading, "{name} {input}");
        }
    }

    #[test]
    fn a_call_of_the_wrong_shape_shows_the_names_of_its_fields() {
        let cases = [
            ("Bash", r#"{"cmd":"ls"}"#, "→ Bash: cmd"),
            ("Bash", r#"{"command":7,"timeout":"soon"}"#, "→ Bash: command, timeout"),
            ("Read", r#"{"file_path":null,"limit":-1}"#, "→ Read: file_path, limit"),
            ("Edit", r#"{"file_path":"a","old_string":7}"#, "→ Edit: a"),
            ("MultiEdit", r#"{"file_path":"a","edits":"none"}"#, "→ MultiEdit: a, 0 edits"),
            ("Write", r#"{"file_path":"a","content":["x"]}"#, "→ Write: a"),
            ("Agent", r#"["x"]"#, "→ Agent"),
            ("Grep", "not json", "→ Grep"),
            ("\u{1b}[2JOdd\n→", "", "→ Odd →"),
        ];
        for (name, input, heading) in cases {
            assert_eq!(shown(name, input).trim_end(), heading, "{name} {input}");
        }
    }

    #[test]
    fn an_edit_shows_both_texts_in_full() {
        let edit = r#"{"file_path":"a.rs","old_string":"one\ntwo","new_string":"one\n2","replace_all":true}"#;
        assert_eq!(shown("Edit", edit), "→ Edit: a.rs, all occurrences\n    one\n  - two\n  + 2\n");
        let edits = r#"{"file_path":"a.rs","edits":[{"old_string":"a","new_string":"b"},{"old_string":"c","new_string":"","replace_all":true}]}"#;
        assert_eq!(
            shown("MultiEdit", edits),
            "→ MultiEdit: a.rs, 2 edits\n  edit 1 of 2\n  - a\n  + b\n  edit 2 of 2, all occurrences\n  - c\n"
        );
    }

    #[test]
    fn nothing_of_a_command_is_cut_where_there_is_no_terminal() {
        let command = "x".repeat(3_000);
        let input = format!(r#"{{"command":"{command} && rm","description":"many"}}"#);
        assert_eq!(shown("Bash", &input), format!("→ Bash: {command} && rm (many)\n"));
        let more: Vec<_> = (2..=100).map(|line| format!("echo {line}")).collect();
        let input = serde_json::json!({ "command": format!("echo 1\n{}\n", more.join("\n")) });
        let text = format!("→ Bash: echo 1\n    {}\n", more.join("\n    "));
        assert_eq!(shown("Bash", &input.to_string()), text);
        let path = "long/".repeat(100);
        assert_eq!(
            shown("Grep", &format!(r#"{{"pattern":"x","path":"{path}"}}"#)),
            format!("→ Grep: x in {path}\n")
        );
    }

    #[test]
    fn a_long_command_is_cut_on_a_terminal_and_what_follows_it_is_not() {
        let command = "x".repeat(300);
        let input = format!(r#"{{"command":"{command}","description":"many","timeout":1000}}"#);
        let text = at(160, "Bash", &input);
        assert!(text.ends_with("x… (many), timeout 1s"), "{text}");
        assert_eq!(text.chars().count(), 160);
    }

    #[test]
    fn the_lines_of_a_command_stand_below_it_and_those_left_out_are_counted() {
        let script = r#"{"command":"if true; then\n  rm -rf build\n\nfi\n","timeout":1000}"#;
        let text = "  → Bash: if true; then, timeout 1s\n        rm -rf build\n\n      fi";
        assert_eq!(at(80, "Bash", script), text);
        assert_eq!(shown("Bash", r#"{"command":"\n  ls\r\n pwd"}"#), "→ Bash: ls\n     pwd\n");
        let lines = "x\n".repeat(30);
        let text = at(80, "Bash", &serde_json::json!({ "command": lines }).to_string());
        assert!(text.ends_with("      x\n      … 9 more"), "{text}");
        assert_eq!(text.lines().count(), 22);
    }

    #[test]
    fn a_command_that_was_cut_on_its_way_says_so() {
        let long = "x".repeat(MAX_SHOWN_TEXT);
        let text = shown("Bash", &format!(r#"{{"command":"{long}…"}}"#));
        let cut = "x\n    … truncated after 256 KB; the raw output contains everything\n";
        assert!(text.ends_with(cut), "{}", &text[text.len() - 100..]);
    }

    fn at(width: usize, name: &str, input: &str) -> String {
        let surroundings = OutputCapabilities { utf8: true, ..OutputCapabilities::default() };
        let style = Style::new(ColorChoice::Never, &surroundings).with_width(Some(width));
        let mut page = Page::new(&style);
        let call = ToolCallView::new(ToolKind::named(name), input);
        page.heading(LineStart { indent: 2, sign: "→" }, &call.heading(name));
        call.body(&mut page, 4);
        page.finish().trim_end().to_owned()
    }

    #[test]
    fn nothing_is_cut_while_there_is_room() {
        let write = r#"{"file_path":"y.txt","content":"one\ntwo\n3\n"}"#;
        assert_eq!(at(40, "Write", write), "  → Write: y.txt (0.1 KB, 3 lines)");
        let grep =
            r#"{"pattern":"x","path":"src/a/long/path","glob":"*.rs","output_mode":"content"}"#;
        let whole = "  → Grep: x in src/a/long/path (glob *.rs, output_mode content)";
        assert_eq!(at(80, "Grep", grep), whole);
    }

    #[test]
    fn the_description_of_a_call_is_cut_before_its_timeout() {
        let about = "a description that is quite long indeed and goes on for a while more";
        let bash = format!(r#"{{"command":"ls","description":"{about}","timeout":120000}}"#);
        assert_eq!(
            at(80, "Bash", &bash),
            "  → Bash: ls (a description that is quite long indeed and goes…), timeout 2m 00s"
        );
        let long = format!(r#"{{"command":"{about}","description":"x","timeout":120000}}"#);
        assert_eq!(at(40, "Bash", &long), "  → Bash: a descrip… (x), timeout 2m 00s");
        for width in [40, 57, 80, 200] {
            for input in [&bash, &long] {
                let text = at(width, "Bash", input);
                assert!(text.ends_with(", timeout 2m 00s"), "{width}: {text}");
                assert!(text.chars().count() <= width, "{width}: {text}");
            }
        }
    }

    #[test]
    fn a_truncated_text_is_marked() {
        let long = "x\\n".repeat(MAX_SHOWN_TEXT / 3);
        let write = format!(r#"{{"file_path":"a","content":"{long}xx…"}}"#);
        let text = shown("Write", &write);
        assert!(
            text.starts_with("→ Write: a (more than 170.7 KB, more than 87382 lines)"),
            "{text}"
        );
        let edit = format!(r#"{{"file_path":"a","old_string":"x","new_string":"{long}xx…"}}"#);
        let cut = "  … truncated after 256 KB; the raw output contains everything\n";
        assert!(shown("Edit", &edit).ends_with(cut));
        assert!(
            !shown("Edit", r#"{"old_string":"x","new_string":"x…"}"#).contains("truncated after")
        );
    }
}

//! Tests of calls, results and text together.

use nightwright_core::event::CallPurpose;
use nightwright_core::units::{AttemptId, CallId, Tokens};
use proptest::prelude::*;

use super::*;
use crate::config::ColorChoice;
use crate::output::style::{OutputCapabilities, Style};

const WORKER: Speaker = Speaker::Attempt(AttemptId(1));
const REVIEWER: Speaker = Speaker::Call(CallId(1), CallPurpose::Review);

/// Collects the output of a printer.
struct ToolScreen {
    tools: ToolPrinter,
    style: Style,
    text: String,
}

impl ToolScreen {
    fn new() -> Self {
        let surroundings = OutputCapabilities { utf8: true, ..OutputCapabilities::default() };
        let style = Style::new(ColorChoice::Never, &surroundings);
        Self { tools: ToolPrinter::default(), style, text: String::new() }
    }

    fn by(&mut self, speaker: Speaker, owner: Owner<'_>, kind: MessageKind<'_>) {
        let mut page = Page::new(&self.style);
        self.tools.message(&mut page, speaker, &AgentMessage { owner, kind });
        self.text += &page.finish();
    }

    fn main(&mut self, said: MessageKind<'_>) {
        self.by(WORKER, Owner::Main, said);
    }

    fn sub(&mut self, call: &str, said: MessageKind<'_>) {
        self.by(WORKER, Owner::Sub { call: call.into() }, said);
    }

    fn end(mut self) -> String {
        let mut page = Page::new(&self.style);
        self.tools.end(&mut page);
        self.text + &page.finish()
    }
}

fn bash<'a>(id: &'a str, input: &'a str) -> MessageKind<'a> {
    MessageKind::ToolCall { id: id.into(), name: "Bash".into(), input }
}

fn agent(id: &str) -> MessageKind<'_> {
    let input = r#"{"description":"count","subagent_type":"explorer"}"#;
    MessageKind::ToolCall { id: id.into(), name: "Agent".into(), input }
}

fn well<'a>(id: &'a str, content: &'a str) -> MessageKind<'a> {
    MessageKind::ToolResult { id: id.into(), status: ToolStatus::Ok, content }
}

fn wrong<'a>(id: &'a str, content: &'a str) -> MessageKind<'a> {
    MessageKind::ToolResult { id: id.into(), status: ToolStatus::Failed, content }
}

fn text(text: &str, part: TextPart) -> MessageKind<'_> {
    MessageKind::Text { text: text.into(), part }
}

#[test]
fn a_result_stands_below_its_call_or_names_it() {
    let mut screen = ToolScreen::new();
    screen.main(bash("1", r#"{"command":"one"}"#));
    screen.main(well("1", r#""first""#));
    screen.main(bash("2", r#"{"command":"two"}"#));
    screen.main(bash("3", r#"{"command":"three"}"#));
    screen.main(wrong("3", r#""Exit code 2\nno""#));
    screen.main(well("2", r#""second""#));
    screen.main(well("9", r#""nobody asked""#));
    insta::assert_snapshot!(screen.end(), @r"
      → Bash: one
        ok, 1 line
        │ first
      → Bash: two
      → Bash: three
        ❌ exit 2
        │ no
      ← Bash: two
        ok, 1 line
        │ second
      ← an earlier call
        ok, 1 line
        │ nobody asked
    ");
}

#[test]
fn the_calls_of_an_agent_that_was_started_are_below_its_own() {
    let mut screen = ToolScreen::new();
    screen.main(agent("a"));
    screen.sub("a", text("words of its own", TextPart::Whole));
    screen.sub("a", bash("1", r#"{"command":"ls"}"#));
    screen.sub("a", well("1", r#""x""#));
    screen.sub("a", agent("b"));
    screen.sub("b", bash("2", r#"{"command":"deeper"}"#));
    screen.sub("b", wrong("2", r#""no""#));
    screen.main(well("a", r#"[{"type":"text","text":"One file."}]"#));
    screen.main(text("I wait.", TextPart::Whole));
    screen.sub("a", bash("3", r#"{"command":"still there"}"#));
    insta::assert_snapshot!(screen.end(), @r"
      → Agent: count (explorer)
          → Bash: ls
            ok, 1 line
            │ x
          → Agent: count (explorer)
              → Bash: deeper
                ❌ failed
                │ no
      ← Agent: count (explorer)
        ok, 1 line
        │ One file.
      ● I wait.
      … Agent: count (explorer)
          → Bash: still there
    ");
}

#[test]
fn words_are_shown_as_they_come_and_once() {
    let mut screen = ToolScreen::new();
    screen.main(text("I shall look\n\nat ", TextPart::Delta));
    screen.main(text("the tests.", TextPart::Delta));
    screen.sub("a", text("not mine", TextPart::Delta));
    screen.main(text("I shall look\n\nat the tests.", TextPart::Whole));
    screen.main(bash("1", r#"{"command":"make"}"#));
    screen.main(well("1", r#""""#));
    screen.main(text("cut o", TextPart::Delta));
    insta::assert_snapshot!(screen.end(), @r"
      ● I shall look

        at the tests.
      → Bash: make
        ok, no output
      ● cut o
    ");
}

#[test]
fn a_called_agent_is_named_when_it_begins() {
    let mut screen = ToolScreen::new();
    screen.main(text("mine", TextPart::Delta));
    screen.by(REVIEWER, Owner::Main, MessageKind::Thinking);
    screen.by(REVIEWER, Owner::Main, text("One test proves nothing.", TextPart::Whole));
    screen.by(REVIEWER, Owner::Main, bash("1", r#"{"command":"ls"}"#));
    screen.main(text("back", TextPart::Whole));
    insta::assert_snapshot!(screen.end(), @r"
      ● mine
      review:
      ● One test proves nothing.
      → Bash: ls
      the agent:
      ● back
    ");
}

fn message(id: &str) -> MessageKind<'_> {
    let tokens = Tokens::default();
    MessageKind::Usage { when: UsageAt::Part, id: id.into(), model: "".into(), tokens }
}

#[test]
fn every_message_begins_anew_even_with_the_same_words() {
    let mut screen = ToolScreen::new();
    for (id, words) in [("m1", "I am done."), ("m2", "I am done."), ("m2", "Really.")] {
        screen.main(message(id));
        screen.main(text(words, TextPart::Whole));
    }
    screen.main(text("As it ", TextPart::Delta));
    screen.main(message("m3"));
    screen.main(text("As it comes.", TextPart::Whole));
    insta::assert_snapshot!(screen.end(), @r"
      ● I am done.
      ● I am done.
        Really.
        As it comes.
    ");
}

#[test]
fn a_result_names_its_call_when_something_else_was_shown_in_between() {
    let mut screen = ToolScreen::new();
    screen.main(bash("1", r#"{"command":"make"}"#));
    screen.tools.interrupted();
    screen.text += "something else\n";
    screen.main(well("1", r#""x""#));
    insta::assert_snapshot!(screen.end(), @r"
      → Bash: make
    something else
      ← Bash: make
        ok, 1 line
        │ x
    ");
}

#[test]
fn results_of_agents_at_work_side_by_side_name_the_agent() {
    let named = |name: &str| format!(r#"{{"description":"{name}"}}"#);
    let mut screen = ToolScreen::new();
    for name in ["a", "b"] {
        let input = named(name);
        screen.main(MessageKind::ToolCall { id: name.into(), name: "Agent".into(), input: &input });
    }
    screen.sub("a", bash("1", r#"{"command":"one"}"#));
    screen.sub("b", bash("2", r#"{"command":"two"}"#));
    screen.sub("a", well("1", r#""first""#));
    screen.sub("b", bash("3", r#"{"command":"three"}"#));
    screen.sub("b", well("2", r#""second""#));
    let input = named("deeper");
    screen.sub("b", MessageKind::ToolCall { id: "c".into(), name: "Agent".into(), input: &input });
    screen.sub("c", bash("4", r#"{"command":"four"}"#));
    screen.main(well("a", r#""done""#));
    screen.sub("c", well("4", r#""fourth""#));
    insta::assert_snapshot!(screen.end(), @r"
      → Agent: a
      → Agent: b
      … Agent: a
          → Bash: one
      … Agent: b
          → Bash: two
      … Agent: a
          ← Bash: one
            ok, 1 line
            │ first
      … Agent: b
          → Bash: three
          ← Bash: two
            ok, 1 line
            │ second
          → Agent: deeper
              → Bash: four
      ← Agent: a
        ok, 1 line
        │ done
      … Agent: b
          … Agent: deeper
              ← Bash: four
                ok, 1 line
                │ fourth
    ");
}

#[test]
fn an_agent_within_itself_is_no_trap() {
    let mut screen = ToolScreen::new();
    screen.sub("a", agent("a"));
    screen.tools.interrupted();
    screen.sub("a", bash("1", "{}"));
    assert!(screen.end().ends_with("→ Bash\n"));
}

#[test]
fn the_number_of_remembered_calls_is_limited() {
    let mut screen = ToolScreen::new();
    for number in 0..REMEMBERED + 10 {
        screen.main(bash(&number.to_string(), "{}"));
    }
    assert_eq!(screen.tools.calls.len(), REMEMBERED);
    screen.text.clear();
    screen.main(well("9", r#""x""#));
    screen.main(well("10", r#""x""#));
    assert!(screen.text.contains("an earlier call") && screen.text.contains("← Bash"));
}

/// Any JSON, sometimes of the expected shape.
fn any_input() -> impl Strategy<Value = String> {
    let odd = r#"([a-c"\\\n\t\r\x1b→äÖ世\u{301}\u{202e}\u{9b}]|\PC){0,30}"#;
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(serde_json::Value::from),
        any::<i64>().prop_map(serde_json::Value::from),
        odd.prop_map(serde_json::Value::from),
    ];
    let name = prop_oneof![
        Just("file_path"),
        Just("old_string"),
        Just("new_string"),
        Just("edits"),
        Just("todos"),
        Just("command"),
        Just("timeout"),
        Just("offset"),
        Just("limit"),
        Just("content"),
        Just("description"),
        Just("pattern"),
        Just("type"),
        Just("text"),
        Just("status"),
    ];
    let json = leaf.prop_recursive(3, 20, 5, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
            proptest::collection::hash_map(name.clone().prop_map(str::to_owned), inner, 0..5)
                .prop_map(|members| members.into_iter().collect::<serde_json::Value>()),
        ]
    });
    prop_oneof![json.prop_map(|json| json.to_string()), odd.prop_map(|text| text)]
}

proptest! {
    #[test]
    fn any_messages_become_whole_safe_lines(
        name in prop_oneof![
            Just("Read"), Just("Edit"), Just("MultiEdit"), Just("Write"), Just("Bash"),
            Just("Grep"), Just("Glob"), Just("Task"), Just("TodoWrite"), Just("\u{1b}[2J\n"),
        ],
        input in any_input(),
        content in any_input(),
        words in r"([a-c\n\r\x1b\u{9b}\u{202e}]|\PC){0,30}",
        failed in any::<bool>(),
    ) {
        let mut screen = ToolScreen::new();
        screen.main(text(&words, TextPart::Delta));
        screen.main(text(&content, TextPart::Whole));
        screen.main(MessageKind::ToolCall { id: "1".into(), name: name.into(), input: &input });
        screen.sub("1", MessageKind::ToolCall { id: "2".into(), name: name.into(), input: &content });
        screen.main(if failed { wrong("1", &content) } else { well("1", &content) });
        screen.sub("1", well("2", &input));
        let shown = screen.end();
        prop_assert!(shown.ends_with('\n'));
        let dangerous = |c: char| {
            (c.is_control() && c != '\n' && c != '\t') || matches!(c, '\u{202a}'..='\u{202e}')
        };
        prop_assert!(!shown.contains(dangerous), "{shown:?}");
        for line in shown.lines() {
            prop_assert!(line.is_empty() || line.starts_with("  "), "{line:?}");
        }
    }
}

use proptest::prelude::*;

use super::*;

fn read_message(message: &str) -> Marker {
    read(&message.replace("{}", PROMISE), TextShape::Messages)
}

fn reason(message: &str) -> String {
    match read_message(message) {
        Marker::Ignored { because } => because,
        other => panic!("{other:?}: {message}"),
    }
}

#[test]
fn a_marker_alone_on_a_line_counts() {
    for message in [
        "{}",
        "All done.\n\n{}\n",
        "All done.\r\n{}\r\n",
        "  {}   ",
        "{}\n\nBye.",
        "```\ncode\n```\n{}",
        "~~~\n```\n~~~\n{}",
        "> quoted\n\n{}",
        "A stray ` tick.\n\n{}\n\nAnother ` tick.",
        "use `a` and ``b ` c``\n{}",
        "{}\n{}",
        "\u{feff}{}\u{200b}",
        "\u{a0}{}\u{a0}",
        "> quoted\n> # Heading\n{}",
        "> quoted\n- item\n{}",
        "<!-- note -->\n{}",
        "Text <!-- note\n{}",
    ] {
        assert_eq!(read_message(message), Marker::Counts, "{message}");
    }
}

#[test]
fn no_decoration_makes_a_marker_on_its_own_line_less() {
    for message in [
        "**{}**",
        "*{}*",
        "__{}__",
        "***{}***",
        "`{}`",
        "`` {} ``",
        "**`{}`**",
        "`{}`.",
        "# {}",
        "### **{}**",
        "#### `{}` ####",
        "- {}",
        "* {}",
        "+ **{}**",
        "1. {}",
        "2) `{}`.",
        "- [x] {}",
        "  - {}",
        "{}.",
        "{}!",
        "**{}.**",
        "**{}**.",
        "{} ✅",
        "✅ {}",
        "🎉 **{}** 🎉",
        "✔️ {}",
        "--- {} ---",
        "→ {}",
        "<b>{}</b>",
        "<strong>{}</strong><br>",
        "({})",
        "{} {}",
        "Everything passes.\n\n---\n\n- **`{}`**.\n",
        "I will now output the completion marker:\n\n{}",
        "The goal is reached\n{}",
        "I checked everything once more:\n{}",
    ] {
        assert_eq!(read_message(message), Marker::Counts, "{message}");
    }
}

#[test]
fn a_condition_of_the_work_above_a_marker_on_its_own_line_does_not_make_it_less() {
    for message in [
        "All tests pass when run with --release:\n{}",
        "All tests pass when run with --release:\n\n**{}**",
        "- The retry stops once the limit is reached:\n\n{}",
        "When run with --release, all 14 tests pass:\n{}",
        "Nothing is lost until the disk is full:\n{}",
        "It no longer crashes unless the file is missing:\n{}",
        "The check passes when the output is empty:\n{}",
        "The old code would crash here, the new one does not:\n{}",
        "I used a set instead of a list:\n{}",
        "I ran the suite once the build had finished:\n{}",
        "The parser stops when a line ends:\n{}",
        "The pipe is closed when you write to it:\n{}",
        "The list stays sorted when you add an item:\n{}",
        "Verified: the server answers once it is up:\n{}",
    ] {
        assert_eq!(read_message(message), Marker::Counts, "{message}");
    }
}

#[test]
fn a_line_that_says_when_something_will_be_said_announces_an_example() {
    for (message, word) in [
        ("Once the tests pass I will say:\n\n{}", "once"),
        ("When everything is done, write:\n{}", "when"),
        ("Output the following when you are done:\n{}", "when"),
        ("I'll print this once CI is green:\n{}", "once"),
        ("Until then I won't write the line:\n{}", "until"),
        ("Whenever the work is complete, the last line is:\n{}", "whenever"),
        ("When done, the agent ends its message with:\n{}", "when"),
        ("Unless something breaks, expect to see:\n{}", "unless"),
        ("I would have said:\n{}", "would"),
        ("The prompt wants this when all is done:\n{}", "when"),
        ("Only once the review is through can I output the tag:\n{}", "once"),
        ("The message to send when the work is done:\n{}", "when"),
        ("To be sent when the work is done:\n{}", "when"),
        ("When everything is done:\n\n{}", "when"),
        ("- Only when all boxes are ticked:\n{}", "when"),
        ("**Once the tests pass:**\n{}", "once"),
        ("The marker for when it is done:\n{}", "when"),
        ("The next iteration finishes the docs:\n{}", "next iteration"),
    ] {
        let because = reason(message);
        assert!(because.contains(&format!("\"{word}\"")), "{message}: {because}");
    }
}

#[test]
fn a_marker_that_ends_the_last_sentence_counts() {
    for message in [
        "All 14 tests pass, so the goal is reached: {}",
        "Everything is in place. {}",
        "Everything is in place. {}.",
        "Everything is in place. **{}**",
        "Everything is in place: `{}`",
        "Status: {}",
        "**Status:** {}",
        "- Result: {} ✅",
        "First line.\n\nNo open item is left and `make test` passes - {}!",
        "I could not reproduce it at first. Now it is fixed and tested: {}",
        "All tests pass without a warning in v1.2 of the tool: {}",
        "It is done. {}. Bye.",
        "I ran everything once again, and it is done {}",
        "The parser is written and the tests\nof it pass: {}",
        "It will not come back. The work is complete: {}",
    ] {
        assert_eq!(read_message(message), Marker::Counts, "{message}");
    }
}

#[test]
fn a_message_without_a_marker_has_none() {
    for message in ["", "All done.", "<promise>INCOMPLETE</promise>", "<promise>", "COMPLETE"] {
        assert_eq!(read_message(message), Marker::Absent, "{message}");
    }
}

#[test]
fn a_marker_that_is_code_a_quotation_or_a_comment_does_not_count() {
    for (message, because) in [
        ("```\n{}\n```", "code block"),
        ("```xml\n{}", "code block"),
        ("~~~\n{}\n~~~", "code block"),
        ("~~~\n```\n{}\n~~~", "code block"),
        ("````\n```\n{}\n````", "code block"),
        ("- item\n  ```\n  {}\n  ```", "code block"),
        ("- ```\n  {}\n  ```", "code block"),
        ("- - ```\n    {}", "code block"),
        ("-\t```\n{}", "code block"),
        ("1) ~~~\r\n{}\r\n~~~", "code block"),
        ("    {}", "indented"),
        ("\t{}", "indented"),
        ("> {}", "quotation"),
        ("> **{}**", "quotation"),
        ("- > {}", "quotation"),
        ("> quoted\n{}", "quotation"),
        ("> quoted\ngoes on\n{}", "quotation"),
        ("“{}”", "quotation marks"),
        ("\"{}\"", "quotation marks"),
        ("- '{}'", "quotation marks"),
        ("**\"{}\"**", "quotation marks"),
        ("The prompt says \"end with {}\"", "quotation marks"),
        ("<!--\n{}\n-->", "comment"),
        ("<!-- never closed\n\n{}", "comment"),
        ("Not yet `\n{}\n` that is.", "code span"),
        ("`echo {}`", "code span"),
    ] {
        assert!(reason(message).contains(because), "{message}: {}", reason(message));
    }
}

#[test]
fn a_sentence_with_a_negation_a_condition_or_a_future_only_speaks_of_the_marker() {
    for (message, word) in [
        ("Not yet: {}", "not"),
        ("This is not {}", "not"),
        ("I can't say {}", "n't"),
        ("I can’t honestly write {}.", "n't"),
        ("I never wrote {}", "never"),
        ("There is no {}", "no"),
        ("I end without {}", "without"),
        ("Once the tests pass the last line is {}", "once"),
        ("When everything is done: {}", "when"),
        ("Until the tests pass nobody gets {}", "until"),
        ("Unless something breaks: {}", "unless"),
        ("If that holds, {}", "if"),
        ("I will say {}", "will"),
        ("I'll end with {}", "'ll"),
        ("It would be too early for {}", "would"),
        ("The last one should say {}", "should"),
        ("The next iteration can say {}", "next iteration"),
        ("Two tests still fail, {}", "still fail"),
        ("We are almost at {}", "almost"),
        ("Please print {}", "please"),
        ("Output {}", "output"),
        ("TODO: {}", "todo"),
        ("The previous iteration said {}", "previous iteration"),
        ("In the end I will say\n{}", "will"),
        ("The last message, when all is done, has to be:\n\n{}", "when"),
        ("It would be:\n{}", "would"),
        ("I say\n{}\nwhen it is done.", "when"),
        ("As soon as the tests\nof the parser pass I say {}", "as soon as"),
    ] {
        let because = reason(message);
        assert!(because.contains(&format!("\"{word}\"")), "{message}: {because}");
    }
}

#[test]
fn a_marker_in_the_middle_of_something_does_not_count() {
    for (message, because) in [
        ("The goal is reached: {}\n\nBye.", "not the last line"),
        ("{} is what I say.\nBye.", "not the last line"),
        ("{} - all tests pass", "continues"),
        ("{} is justified", "continues"),
        ("| {} |", "continues"),
        ("Done: {} and out", "continues"),
        ("~~{}~~", "struck out"),
        ("- [ ] {}", "checkbox"),
        ("❌ {}", "symbol"),
        ("🚧 {} 🚧", "symbol"),
        ("{} ⏳", "symbol"),
        ("{}?", "question"),
        ("Is it **{}**?", "question"),
    ] {
        assert!(reason(message).contains(because), "{message}: {}", reason(message));
    }
}

#[test]
fn a_retraction_after_the_marker_takes_it_back() {
    for message in [
        "{}\n\n... but the tests still fail",
        "{}\nBut the tests still fail.",
        "{}\n\nHowever, the docs are missing.",
        "{} ... but the tests still fail",
        "{}\n\nTwo tests are still failing.",
        "{}\n\nNote: 2 failed, 12 passed.",
        "{}\n\nThe linter does not pass.",
        "{}\n\nThe docs are not done.",
        "{}\n\nThe build is broken.",
        "{}\n\nRemaining: the docs.",
        "**{}**\n\n- The integration tests fail on Windows.",
        "{}\n\nUnfortunately I ran out of time for the docs.",
        "{}\n\nThe next iteration has to write the docs.",
        "{}\n{}\n\nWait, one test fails.",
        "It is done. {}. But the tests still fail.",
    ] {
        let because = reason(message);
        assert!(because.contains("retracts it") || because.contains("continues"), "{because}");
    }
    assert_eq!(
        reason("{}\n\n... but the tests still fail."),
        "\"but the tests still fail\" after it retracts it"
    );
}

#[test]
fn harmless_words_after_the_marker_leave_it() {
    for message in [
        "{}\n\n14 passed; 0 failed.",
        "{}\n\ntest result: ok. 14 passed; 0 failed; 0 ignored",
        "{}\n\nNo tests fail.",
        "{}\n\nThere are no failures.",
        "{}\n\nThe test that failed at first now passes.",
        "{}\n\nNothing is broken.",
        "{}\n\nThe CLI fails with a clear error if the file is missing.",
        "{}\n\nNext steps: review and merge.",
        "{}\n\n```\n2 tests failed\n```",
        "{}\n\n> but the tests still fail",
        "Two tests still failed an hour ago.\n\n{}",
        "{}\n\nBut the tests still fail.\n\nNo, I fixed them.\n\n{}",
    ] {
        assert_eq!(read_message(message), Marker::Counts, "{message}");
    }
}

#[test]
fn a_marker_that_is_written_differently_is_named() {
    for message in [
        "<promise>complete</promise>",
        "<promise> COMPLETE </promise>",
        "<PROMISE>Complete</PROMISE>",
    ] {
        assert!(reason(message).contains("exactly"), "{message}");
    }
}

#[test]
fn the_last_marker_that_does_not_count_gives_the_reason() {
    assert!(reason("> {}\n\n```\n{}\n```").contains("code block"));
    assert_eq!(
        read_message("> {}\n\n{}\n\n`grep {}`"),
        Marker::Counts,
        "one that counts is enough"
    );
}

#[test]
fn only_the_last_lines_count_where_all_output_is_one_text() {
    let early = format!("{PROMISE}\na\nb\nc\nd\ne");
    assert_eq!(read(&early, TextShape::OneText), Marker::Absent);
    assert_eq!(read(&format!("a\n**{PROMISE}**\nb"), TextShape::OneText), Marker::Counts);
}

proptest! {
    #[test]
    fn any_text_around_markers_is_read(
        parts in prop::collection::vec("[-*+#>`~ \t\n\r1.)<!a\"„“”’'«»?:,\u{200b}ä✅❌]{0,40}", 0..6),
        speech in any::<bool>(),
    ) {
        let speech = if speech { TextShape::Messages } else { TextShape::OneText };
        read(&parts.join(PROMISE), speech);
    }

    #[test]
    fn any_string_around_markers_is_read(parts in prop::collection::vec(any::<String>(), 0..4)) {
        read(&parts.join(PROMISE), TextShape::Messages);
    }

    #[test]
    fn decoration_never_matters(
        before in "(- |\\* |[1-9]\\. |#{1,6} )?(\\*\\*|`|__|\\*)?",
        after in "(\\*\\*|__|\\*)?[.!]?( ✅| 🎉)?",
    ) {
        let tick = if before.ends_with('`') { "`" } else { "" };
        let message = format!("Done.\n\n{before}{PROMISE}{tick}{after}");
        prop_assert_eq!(read(&message, TextShape::Messages), Marker::Counts);
    }

    #[test]
    fn nothing_in_a_fence_counts(inside in "[a-z <>/\n]{0,80}") {
        let message = format!("Look:\n```\n{inside}\n{PROMISE}\n```\n");
        let ignored = matches!(read(&message, TextShape::Messages), Marker::Ignored { .. });
        prop_assert!(ignored);
    }
}

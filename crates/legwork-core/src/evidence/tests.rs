use super::*;

fn read(message: &str) -> Words {
    words(message, &Completion::default(), Speech::Messages)
}

#[test]
fn a_promise_alone_on_a_line_is_a_promise() {
    for message in [
        "<promise>COMPLETE</promise>",
        "All done.\n\n<promise>COMPLETE</promise>\n",
        "All done.\r\n<promise>COMPLETE</promise>\r\n",
        "  <promise>COMPLETE</promise>   ",
        "<promise>COMPLETE</promise>\n\nBye.",
        "```\ncode\n```\n<promise>COMPLETE</promise>",
        "~~~\n```\n~~~\n<promise>COMPLETE</promise>",
        "> quoted\n\n<promise>COMPLETE</promise>",
        "A stray ` tick.\n\n<promise>COMPLETE</promise>\n\nAnother ` tick.",
        "use `a` and ``b ` c``\n<promise>COMPLETE</promise>",
        "<promise>COMPLETE</promise>\n<promise>COMPLETE</promise>",
    ] {
        assert!(read(message).promise, "{message}");
    }
}

#[test]
fn a_promise_that_is_quoted_coded_or_spoken_of_is_none() {
    for message in [
        "",
        "I will say <promise>COMPLETE</promise> when it is done.",
        "<promise>COMPLETE</promise> <promise>COMPLETE</promise>",
        "`<promise>COMPLETE</promise>`",
        "Not yet `\n<promise>COMPLETE</promise>\n` that is.",
        "> <promise>COMPLETE</promise>",
        "- > <promise>COMPLETE</promise>",
        "- <promise>COMPLETE</promise>",
        "1. <promise>COMPLETE</promise>",
        "    <promise>COMPLETE</promise>",
        "\t<promise>COMPLETE</promise>",
        "```\n<promise>COMPLETE</promise>\n```",
        "```xml\n<promise>COMPLETE</promise>",
        "~~~\n<promise>COMPLETE</promise>\n~~~",
        "~~~\n```\n<promise>COMPLETE</promise>\n~~~",
        "````\n```\n<promise>COMPLETE</promise>\n````",
        "- item\n  ```\n  <promise>COMPLETE</promise>\n  ```",
        "- ```\n  <promise>COMPLETE</promise>\n  ```",
        "<promise>complete</promise>",
        "<promise>INCOMPLETE</promise>",
        "<promise> COMPLETE </promise>",
        "**<promise>COMPLETE</promise>**",
    ] {
        assert!(!read(message).promise, "{message}");
    }
}

#[test]
fn the_signal_is_the_exact_phrase_outside_code_and_quotations() {
    const SIGNAL: &str = "CONTINUOUS_CLAUDE_PROJECT_COMPLETE";
    for message in ["{}", "Done. {}.", "**{}**", "a\r\n{}\r\n", "- {}"] {
        assert!(read(&message.replace("{}", SIGNAL)).signal, "{message}");
    }
    for message in [
        "`{}`",
        "> {}",
        "```\n{}\n```",
        "    {}",
        "I won't say \"{}\" yet",
        "I won't say “{}” yet",
        "NOT_{}",
        "{}_YET",
        "X{}",
    ] {
        assert!(!read(&message.replace("{}", SIGNAL)).signal, "{message}");
    }
    assert!(!read(&SIGNAL.to_lowercase()).signal);
}

#[test]
fn an_empty_phrase_is_in_no_message() {
    let completion = Completion {
        signal: " ".to_owned(),
        end_phrase: Some(String::new()),
        ..Completion::default()
    };
    let found = words("anything at all", &completion, Speech::Messages);
    assert!(!found.signal && !found.end_phrase);
}

#[test]
fn the_end_phrase_counts_only_near_the_end() {
    let completion = Completion { end_phrase: Some("SHIP IT".to_owned()), ..Completion::default() };
    let found = |message: &str| words(message, &completion, Speech::Messages).end_phrase;
    assert!(found("SHIP IT"));
    assert!(found("a\nOK, SHIP IT!\nb\nc\nd\ne\n\n\n"));
    assert!(!found("SHIP IT\nb\nc\nd\ne\nf"));
    assert!(!found("a\n```\nSHIP IT\n```"));
    assert!(!found("SHIP IT\n\n```\n1\n2\n3\n```"));
    assert!(!read("SHIP IT").end_phrase);
}

#[test]
fn words_that_say_all_is_done_are_heard() {
    for message in [
        "All done.",
        "All tasks are complete. 12 passed, 0 failed.",
        "I added the parser.\n\n**The task is complete.**",
        "There is nothing left to do.",
        "Everything has been implemented; tests pass.",
        "The project is finished!",
        "No remaining work.",
        "- [x] All boxes are ticked",
    ] {
        assert!(read(message).says_done, "{message}");
    }
}

#[test]
fn words_that_take_it_back_are_not() {
    for message in [
        "",
        "Done with the parser.",
        "Tests pass.",
        "Not all done.",
        "The task is not done.",
        "It isn't true that the task is complete.",
        "We are almost all done.",
        "Once all tasks are complete I will say so.",
        "The task is complete except for the docs.",
        "Phase 1: all tasks are complete.",
        "All done with step 3.",
        "All done!\n\nNext steps: write the docs.",
        "All done for now. Two tests are still failing.",
        "The work is done, but the docs are missing.",
        "`all done`",
        "> all done",
        "```\nall done\n```",
        "install done, overall doneness",
        "The implementation is complete when the tests pass.",
    ] {
        assert!(!read(message).says_done, "{message}");
    }
}

#[test]
fn a_summary_is_one_line_of_whole_words() {
    assert_eq!(summary("  One\n\n two\tthree "), "One two three");
    let long = summary(&"wörter ".repeat(100));
    assert!(long.ends_with(" wörter…") && long.chars().count() <= SUMMARY_MAX, "{long}");
    assert_eq!(summary(&"ä".repeat(1000)).chars().count(), SUMMARY_MAX - 1);
    assert_eq!(summary(""), "");
}

use proptest::prelude::*;

use super::*;
use crate::settings::Completion;
use crate::stream::dialect::TextShape;

const CORPUS: &str = include_str!("corpus.txt");

/// The minimum detection rate for messages with a finding, in percent.
const MIN_DETECTED: usize = 95;

/// The lines of the corpus: the expected finding and the message.
fn corpus() -> impl Iterator<Item = (&'static str, String)> {
    let lines = CORPUS.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines.map(|line| {
        let (signal, words) = line.split_once('|').expect("signal|words");
        (signal, words.replace("\\n", "\n"))
    })
}

/// The finding in a message.
fn detected(words: &str) -> &'static str {
    let words = words.trim_end();
    if conflict(words, &prose::own_lines(words)).is_some() {
        return "conflict";
    }
    match analyze(words).map(|finding| finding.signal) {
        Some(WatchdogSignal::Asking) => "asking",
        Some(WatchdogSignal::GivingUp) => "giving_up",
        Some(other) => panic!("words have no rhythm: {other:?}"),
        None => "none",
    }
}

/// The expected finding for a message that says that everything is done.
fn claimed(words: &str) -> &'static str {
    let evidence = evidence::text_evidence(words, &Completion::default(), TextShape::Messages);
    match (evidence.findings.first(), evidence.states_done) {
        (Some(_), _) => "a finding",
        (None, true) => "completion",
        (None, false) => "none",
    }
}

#[test]
fn only_questions_and_surrenders_of_the_corpus_are_detected() {
    let (mut missed, mut all, mut wrong) = (Vec::new(), 0, Vec::new());
    for (signal, words) in corpus() {
        let detected = if signal == "completion" { claimed(&words) } else { detected(&words) };
        all += usize::from(signal != "none");
        if detected == signal {
            continue;
        }
        let line = format!("{signal} detected as {detected}: {}", words.replace('\n', "\\n"));
        if detected == "none" { missed.push(line) } else { wrong.push(line) }
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.join("\n"), missed.join("\n"));
    let hit = (all - missed.len()) * 100;
    assert!(hit >= all * MIN_DETECTED, "{} of {all} missed:\n{}", missed.len(), missed.join("\n"));
}

#[test]
fn the_corpus_is_large_and_has_each_line_once() {
    let lines: Vec<_> = corpus().collect();
    let distinct: std::collections::BTreeSet<_> = lines.iter().map(|(_, words)| words).collect();
    assert_eq!(distinct.len(), lines.len());
    assert!(lines.len() >= 260);
    for (signal, least) in [("none", 120), ("asking", 60), ("giving_up", 60), ("conflict", 10)] {
        assert!(lines.iter().filter(|(is, _)| *is == signal).count() >= least, "{signal}");
    }
    let known = ["none", "asking", "giving_up", "conflict", "completion"];
    assert!(lines.iter().all(|(signal, _)| known.contains(signal)));
}

fn key_of(words: &str) -> String {
    analyze(words).unwrap_or_else(|| panic!("nothing is heard in: {words}")).key
}

#[test]
fn the_same_problem_in_other_words_has_the_same_key() {
    for same in [
        &[
            "Should I use PostgreSQL or SQLite?",
            "Which should I use, \"SQLite\" or `PostgreSQL`?",
            "I looked around.\n\n**Would you prefer SQLite or PostgreSQL?**",
        ][..],
        &[
            "I'm unable to fix the 3 linker errors.",
            "I could not resolve the linker error",
            "Unfortunately, I still can't fix 12 linker errors!",
        ],
        &["Should I continue?", "Shall I proceed?", "How would you like to go on?"],
        &["I give up.", "I'm stuck."],
    ] {
        for words in same {
            assert_eq!(key_of(words), key_of(same[0]), "{words}");
        }
    }
}

#[test]
fn other_problems_have_other_keys() {
    let words = [
        "Should I use PostgreSQL or SQLite?",
        "Should I use tabs or spaces?",
        "Should I continue?",
        "I can't fix the linker error.",
        "I can't fix the flaky test.",
        "I give up.",
        "需要我继续吗？",
    ];
    let keys: std::collections::BTreeSet<_> = words.iter().map(|words| key_of(words)).collect();
    assert_eq!(keys.len(), words.len(), "{keys:?}");
    assert!(keys.contains("asking postgresql sqlite"), "{keys:?}");
}

#[test]
fn a_key_is_short_whatever_was_said() {
    let long = format!("Should I keep {}?", "supercalifragilistic ä-ö wörter ".repeat(50));
    assert!(key_of(&long).chars().count() < 200);
    let many: Vec<String> = ('a'..='z').map(|c| c.to_string().repeat(3)).collect();
    let many = many.join(" ");
    assert_eq!(key_of(&format!("Should I keep {many}?")).split(' ').count(), 1 + 8);
}

#[test]
fn the_words_are_shown_as_they_were_written_and_on_one_line() {
    let text = |words: &str| analyze(words).map(|finding| finding.text).unwrap_or_default();
    assert_eq!(
        text("All fine so far.\n\n**Should I delete\n`old.rs` and \"x\"?**\n"),
        "Should I delete `old.rs` and \"x\"?"
    );
    assert_eq!(
        text("Which one do you want?\n1. Rewrite it\n2. Patch `it`\n"),
        "Which one do you want? Rewrite it Patch `it`"
    );
    assert_eq!(text("A. B. I can't fix the parser. C."), "I can't fix the parser.");
    let long = text(&format!("Should I keep {}?", "ä".repeat(1000)));
    assert!(long.ends_with('…') && long.chars().count() == MAX_TEXT + 1);
}

#[test]
fn the_text_around_a_phrase_is_kept_verbatim() {
    let context = |words: &str| analyze(words).unwrap().context;
    let options = "I looked at both.\n\n- Option A keeps `the cache`.\n- Option B drops it.\n\n\
                   Which of the two do you prefer?";
    assert_eq!(context(&format!("{options}\n\n")), options);
    let tried = "I tried gdb.\nI tried valgrind.\n\nI can't fix the segfault.\n\n```\ncore\n```";
    assert_eq!(context(tried), tried);
    // A finding that is the whole message is not repeated.
    assert_eq!(context("Should I use\nSQLite?"), "");
    // Text far from the finding is left out, before and after it.
    let long = format!("{}\n\nI can't fix it.\n\n```\n{}\n```", "ä".repeat(4000), "ö".repeat(4000));
    let kept = context(&long);
    assert_eq!(kept.chars().count(), MAX_CONTEXT);
    assert!(kept.starts_with('ä') && kept.ends_with('ö'), "{kept}");
    assert!(kept.contains("\n\nI can't fix it.\n\n```\nöö"), "{kept}");
}

#[test]
fn a_conflict_is_reported_with_its_paragraph() {
    let found = |words: &str| conflict(words, &prose::own_lines(words)).unwrap_or_default();
    let marker = CONFLICT;
    assert_eq!(
        found(&format!("Before.\n\n{marker}: speed\nagainst `safety` here.\n\nAfter.")),
        format!("{marker}: speed against `safety` here.")
    );
    // A marker alone says nothing; the text next to it does.
    assert_eq!(
        found(&format!("First.\n\n**{marker}**\n\nSpeed against\nsafety.\n\nLast.")),
        format!("**{marker}** Speed against safety.")
    );
    assert_eq!(
        found(&format!("First.\n\nSpeed against\nsafety.\n\n{marker}")),
        format!("Speed against safety. {marker}")
    );
    assert_eq!(found(marker), marker);
    assert_eq!(found(&format!("{marker}: {}", "ä".repeat(2000))).len(), MAX_CONFLICT - 1);
    assert_eq!(
        found("One.\n\nTwo principles clash. I can't satisfy both. Sorry.\n\nThree."),
        "Two principles clash. I can't satisfy both. Sorry."
    );
}

#[test]
fn a_conflict_between_principles_is_no_surrender_but_another_problem_is() {
    for (words, is_conflict) in [
        ("I cannot resolve the conflict between the principles of speed and safety.", true),
        ("I can't reconcile the two principles here: they contradict each other.", true),
        ("I cannot resolve the dependency conflict between the two crates.", false),
    ] {
        let found = conflict(words, &prose::own_lines(words));
        assert_eq!(found.is_some(), is_conflict, "{words}");
        assert_eq!(analyze(words).is_none(), is_conflict, "{words}");
    }
}

#[test]
fn only_the_end_counts_however_long_the_message_is() {
    let filler = "All is well here. ".repeat(50_000);
    assert_eq!(analyze(&format!("Should I stop?\n{filler}")), None);
    let asks = format!("{filler}\n\nShould I go on with the exporter?");
    assert_eq!(analyze(&asks).unwrap().text, "Should I go on with the exporter?");
    // Code stays code, however far back it begins.
    let code = format!("```\n{}\nShould I go on?\n```\nDone.", "let x = 1;\n".repeat(50_000));
    assert_eq!(analyze(&code), None);
    let question = format!("Should I take this?\n\n```\n{}```", "let x = 1;\n".repeat(50_000));
    assert!(analyze(&question).is_some());
}

proptest! {
    #[test]
    fn any_text_can_be_listened_to_and_blank_lines_at_its_end_say_nothing(
        pieces in proptest::collection::vec(
            prop_oneof![
                Just("Should I use ".to_owned()),
                Just("I can't fix the ".to_owned()),
                Just(CONFLICT.to_owned()),
                Just("? ".to_owned()),
                Just("\n- ".to_owned()),
                Just("\n```\n".to_owned()),
                Just("`\"*".to_owned()),
                Just("‘’„“".to_owned()),
                Just("\n\n# ".to_owned()),
                Just("https://".to_owned()),
                "\\PC{0,12}",
                any::<String>(),
            ],
            0..12,
        ),
        blanks in "[ \t\n]{0,6}",
    ) {
        let words = pieces.concat();
        let finding = analyze(&words);
        prop_assert_eq!(&finding, &analyze(&format!("{words}{blanks}")));
        if let Some(finding) = finding {
            prop_assert!(finding.text.chars().count() <= MAX_TEXT + 1);
            prop_assert!(!finding.text.contains('\n'));
            prop_assert!(finding.context.chars().count() <= MAX_CONTEXT);
            prop_assert!(words.contains(&finding.context));
            prop_assert!(finding.key.chars().count() < 200);
        }
        let words = words.trim_end();
        let found = conflict(words, &prose::own_lines(words));
        prop_assert!(found.is_none_or(|found| found.len() <= MAX_CONFLICT));
    }
}

#[test]
fn every_list_compiles_and_is_written_in_small_letters() {
    for patterns in PHRASES.lists() {
        patterns.compile().unwrap();
        let loud = patterns
            .sources()
            .iter()
            .find(|source| source.replace(r"\W", "").chars().any(char::is_uppercase));
        assert_eq!(loud, None, "it would never be found");
    }
}

use super::*;
use crate::agent::dialect::Speech;
use crate::settings::EvidenceKind;

fn settings() -> Settings {
    Settings {
        goal: "Port the parser to Rust.".to_owned(),
        notes_file: Some("NOTES.md".to_owned()),
        ..Settings::default()
    }
}

fn briefing(iteration: u32) -> Briefing {
    Briefing {
        iteration: Iteration(iteration),
        kind: IterationKind::Work,
        last: false,
        cut_off: false,
        shorten: false,
        feedback: Vec::new(),
        previous: None,
        left: Left::default(),
    }
}

fn composed(settings: &Settings, briefing: &Briefing, notes: Option<&str>) -> Prompt {
    compose(settings, briefing, notes).unwrap()
}

fn feedback(source: FeedbackSource, text: &str) -> Feedback {
    Feedback { source, text: text.to_owned() }
}

#[test]
fn everything_before_the_notes_is_the_same_in_every_iteration() {
    let settings = settings();
    let first = composed(&settings, &briefing(1), None);
    let later = Briefing {
        feedback: vec![feedback(FeedbackSource::Human, "Mind the docs.")],
        last: true,
        cut_off: true,
        left: Left { cost: Some(Usd::from_cents(120)), ..Left::default() },
        ..briefing(7)
    };
    let second = composed(&settings, &later, Some("Half done."));
    let heading = "## CONTEXT FROM PREVIOUS ITERATION\n\n";
    let fixed = |prompt: &Prompt| prompt.user.split(heading).next().map(str::to_owned);
    assert_eq!(fixed(&first), fixed(&second));
    assert!(first.user.contains(heading) && first.user.find(heading) > first.user.find("Port the"));
    assert_eq!(first.system, second.system);
}

#[test]
fn no_goal_can_become_a_command_of_the_agent_program() {
    let settings = Settings { goal: "/compact".to_owned(), ..settings() };
    assert!(composed(&settings, &briefing(1), None).user.starts_with("# One iteration\n"));
}

#[test]
fn the_agent_is_told_the_markers_that_count_and_no_others() {
    let user = |evidence: Vec<EvidenceKind>| {
        let mut settings = settings();
        settings.completion.evidence = evidence;
        composed(&settings, &briefing(1), None).user
    };
    let promise = user(vec![EvidenceKind::Promise]);
    assert!(promise.contains("<promise>COMPLETE</promise>"));
    assert!(!promise.contains("CONTINUOUS_CLAUDE_PROJECT_COMPLETE"));
    let signal = user(vec![EvidenceKind::Signal]);
    assert!(signal.contains("CONTINUOUS_CLAUDE_PROJECT_COMPLETE"));
    assert!(!signal.contains("<promise>"));
    assert!(user(vec![]).contains("Nothing you say ends the work"));
}

#[test]
fn an_agent_that_repeats_its_own_instructions_claims_nothing() {
    let prompt = composed(&settings(), &briefing(1), None);
    let quoted = format!("> {}", prompt.user.replace('\n', "\n> "));
    let found = crate::evidence::words(&quoted, &settings().completion, Speech::Messages);
    assert!(!found.promise && !found.signal);
    for speech in [Speech::OneText, Speech::Messages] {
        let found = crate::evidence::words(&prompt.user, &settings().completion, speech);
        assert!(!found.promise && !found.signal, "{speech:?}");
    }
}

#[test]
fn long_notes_keep_head_and_tail_and_the_cut_is_named() {
    let notes = format!("HEAD{}TAIL", "ä".repeat(NOTES_MAX));
    let whole = composed(&settings(), &briefing(2), Some(&notes)).user;
    assert!(whole.contains("HEADä") && whole.contains("äTAIL"));
    assert!(whole.contains("bytes left out here]"));
    assert!(whole.len() < NOTES_MAX + 8000);
    let short = Briefing { shorten: true, ..briefing(2) };
    assert!(composed(&settings(), &short, Some(&notes)).user.len() < SHORT_MAX + 8000);
}

#[test]
fn a_cut_falls_between_characters_and_counts_what_is_gone() {
    for most in 0..40 {
        let text = "aä€😀".repeat(5);
        let cut = cut_middle(&text, most);
        if text.len() <= most {
            assert_eq!(cut, text);
            continue;
        }
        let (head, rest) = cut.split_once("\n\n[").unwrap();
        let (count, tail) = rest.split_once(" bytes left out here]\n\n").unwrap();
        assert!(text.starts_with(head) && text.ends_with(tail));
        assert_eq!(head.len() + tail.len() + count.parse::<usize>().unwrap(), text.len());
        assert!(head.len() + tail.len() <= most);
    }
}

#[test]
fn the_oldest_of_a_full_inbox_is_left_out_by_name() {
    let entries = ["old", "middle", "new"].map(|text| {
        feedback(FeedbackSource::Checks, &format!("{text} {}", "x".repeat(INBOX_MAX / 2 - 100)))
    });
    let briefing = Briefing { feedback: entries.to_vec(), ..briefing(2) };
    let user = composed(&settings(), &briefing, None).user;
    assert!(user.contains("[1 older entry left out here]"), "{user}");
    assert!(!user.contains("old x") && user.find("middle x") < user.find("new x"));
}

#[test]
fn an_entry_longer_than_the_whole_inbox_is_still_told_in_part() {
    let entry = feedback(FeedbackSource::Human, &format!("HEAD{}TAIL", "x".repeat(INBOX_MAX)));
    let briefing = Briefing { feedback: vec![entry], ..briefing(2) };
    let user = composed(&settings(), &briefing, None).user;
    assert!(user.contains("HEADx") && user.contains("xTAIL") && user.contains("left out here]"));
}

#[test]
fn what_is_special_about_an_iteration_is_said_at_the_end() {
    let briefing = Briefing {
        kind: IterationKind::WrapUp,
        cut_off: true,
        previous: Some(Previous {
            summary: "Lexer done.".to_owned(),
            phase: Some("parser".to_owned()),
            progress: Some(TaskProgress { completed: 3, total: 5 }),
        }),
        left: Left {
            iterations: Some(2),
            cost: Some(Usd::from_cents(250)),
            duration: Some(Duration::from_mins(90)),
            tokens: None,
        },
        ..briefing(4)
    };
    let user = composed(&settings(), &briefing, None).user;
    let (_, end) = user.split_once("## This iteration\n\n").unwrap();
    assert!(end.starts_with(
        "This is iteration 4. The one before said: “Lexer done.” Done by then: 3 of 5. It was at: parser.\n\n\
         Left for the whole run: 2 iterations, this one included; $2.50; 1h 30m.\n\n\
         An earlier attempt at this iteration was cut off"
    ));
    assert!(end.contains("this is the wrap-up"));
}

#[test]
fn a_run_without_notes_says_nothing_of_them() {
    let settings = Settings { notes_file: None, ..settings() };
    let user = composed(&settings, &briefing(1), Some("ignored")).user;
    assert!(!user.contains("CONTEXT FROM PREVIOUS") && !user.contains("Hand over"));
    assert!(!user.contains("ignored"));
}

#[test]
fn a_verdict_is_asked_for_in_the_form_that_can_be_read() {
    let settings = settings();
    let question = verify_question(&Case {
        settings: &settings,
        claim: &[EvidenceKind::Promise],
        checks: &[],
        findings: &[],
        inspection: None,
        blockers: &[],
        summary: "Done.",
        status: None,
        boxes: None,
        list: "",
        form: AnswerForm::LastLine,
    });
    assert!(question.ends_with("VERDICT: yes|no - the reason in one sentence\n"), "{question}");
    assert!(question.contains("Port the parser") && question.contains("Done."));
    // The words of the question are no answer to it.
    assert_eq!(crate::agent::verdict::verdict(&question, None), None);
}

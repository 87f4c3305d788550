//! Tests of all kinds of answers.

use super::scripted::ScriptedPrompter;
use super::*;

fn cargo() -> Commands {
    Commands {
        test: Some("cargo test".to_owned()),
        build: Some("cargo build".to_owned()),
        lint: None,
    }
}

#[test]
fn enter_keeps_a_command_a_text_replaces_it_and_a_dash_leaves_it_out() {
    let mut person = ScriptedPrompter::new(&["", "-", "  make lint "]);
    let chosen = commands(&mut person, cargo(), &|_| None).unwrap();
    assert_eq!(chosen.test.as_deref(), Some("cargo test"));
    assert_eq!(chosen.build, None);
    assert_eq!(chosen.lint.as_deref(), Some("make lint"));
    assert!(person.printed.contains("[cargo test]") && person.printed.contains("[none]"));
}

#[test]
fn escape_sequences_of_arrow_keys_are_no_command() {
    let mut person = ScriptedPrompter::new(&["\u{1b}[A", "make test", "", ""]);
    let chosen = commands(&mut person, cargo(), &|_| None).unwrap();
    assert_eq!(chosen.test.as_deref(), Some("make test"));
}

#[test]
fn no_means_no_command() {
    for no in ["n", "no", "none", "-"] {
        let mut person = ScriptedPrompter::new(&[no, "", ""]);
        let chosen = commands(&mut person, cargo(), &|_| None).unwrap();
        assert_eq!((chosen.test, chosen.build.as_deref()), (None, Some("cargo build")), "{no}");
    }
}

#[test]
fn a_command_whose_program_is_missing_is_questioned_once() {
    let problem =
        |command: &str| command.starts_with("mkae").then(|| "there is no `mkae`".to_owned());
    let choose = |answers: &[&'static str]| {
        let mut person = ScriptedPrompter::new(answers);
        let chosen = commands(&mut person, Commands::default(), &problem);
        (chosen.unwrap().test.unwrap(), person.printed.matches("there is no `mkae`").count())
    };
    assert_eq!(choose(&["mkae test", "make test", "", ""]), ("make test".to_owned(), 1));
    assert_eq!(choose(&["mkae test", "mkae test", "", ""]), ("mkae test".to_owned(), 1));
}

#[test]
fn permissions_are_chosen_by_number_or_name_and_everything_comes_with_a_warning() {
    let choose = |answers: &[&'static str]| {
        let mut person = ScriptedPrompter::new(answers);
        let chosen = permissions(&mut person);
        (chosen, person.printed)
    };
    for (answer, level) in [
        ("", Permissions::Usual),
        ("1", Permissions::Usual),
        ("USUAL", Permissions::Usual),
        ("2", Permissions::Edits),
        ("edits only", Permissions::Edits),
        ("acceptEdits", Permissions::Edits),
        ("3", Permissions::Bypass),
        ("bypassPermissions", Permissions::Bypass),
    ] {
        let (chosen, printed) = choose(&["what?", answer]);
        assert_eq!(chosen, Ok(level), "{answer}");
        assert!(printed.contains("Please answer 1, 2, 3 or the name"), "{printed}");
        let warned = printed.contains("warning: the agent can run any command");
        assert_eq!(warned, level == Permissions::Bypass, "{printed}");
    }
    assert_eq!(choose(&["what?"]).0, Err(NoAnswer::EndOfInput));
}

#[test]
fn an_import_is_shown_before_it_is_asked_for() {
    let offered = Import {
        source: "fresher".to_owned(),
        notes: vec!["a note".to_owned()],
        ..Import::default()
    };
    let mut person = ScriptedPrompter::new(&["maybe", "no"]);
    assert_eq!(import(&mut person, &offered), Ok(false));
    assert!(person.printed.contains("Found fresher") && person.printed.contains("a note"));
    assert_eq!(import(&mut ScriptedPrompter::new(&[""]), &offered), Ok(true));
}

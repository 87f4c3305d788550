use proptest::prelude::*;

use super::*;

fn report(text: &str) -> StatusReport {
    read(text.as_bytes()).unwrap_or_else(|why| panic!("{text}: {why}")).report
}

fn warnings(text: &str) -> Vec<String> {
    read(text.as_bytes()).unwrap_or_else(|why| panic!("{text}: {why}")).warnings
}

fn invalid(bytes: &[u8]) -> String {
    read(bytes).expect_err("it says nothing").to_string()
}

#[test]
fn everything_that_a_full_file_says_is_read() {
    let text = r#"{
        "complete": false,
        "progress": {"completed": 3, "total": 5},
        "worked": true,
        "summary": " Parser written. ",
        "phase": "tests",
        "blockers": ["a key", {"description": "a host", "severity": "high"}, {"text": "a port"}],
        "notes": "the lexer is slow",
        "lastUpdated": "yesterday",
        "mine": {"complete": true}
    }"#;
    let ParsedStatus { report, warnings } = read(text.as_bytes()).unwrap();
    assert_eq!(
        report,
        StatusReport {
            complete: false,
            failed: None,
            progress: Some(TaskProgress { completed: 3, total: 5 }),
            worked: Some(true),
            summary: "Parser written.".to_owned(),
            phase: Some("tests".to_owned()),
            notes: Some("the lexer is slow".to_owned()),
            updated: Some("yesterday".to_owned()),
            blockers: ["a key", "a host", "a port"].map(identity::blocker).to_vec(),
            contradictions: Vec::new(),
        }
    );
    assert!(warnings.is_empty(), "{warnings:?}");
}

#[test]
fn work_in_progress_is_known_by_many_words() {
    for word in ["implementing", "in_progress", "In Progress", "running", "pending", "todo"] {
        let text = format!(r#"{{"status": "{word}"}}"#);
        assert!(!report(&text).complete, "{word}");
        assert_eq!(warnings(&text), [""; 0], "{word}");
        let both = format!(r#"{{"complete": true, "status": "{word}"}}"#);
        assert!(!report(&both).complete, "{word}");
    }
}

#[test]
fn complete_is_what_complete_or_status_says() {
    for (text, complete) in [
        (r#"{"complete": true}"#, true),
        (r#"{"complete": false}"#, false),
        (r#"{"complete": "true"}"#, true),
        (r#"{"complete": " False "}"#, false),
        (r#"{"status": "completed"}"#, true),
        (r#"{"status": "Complete"}"#, true),
        (r#"{"status": " DONE "}"#, true),
        (r#"{"complete": null, "status": "done"}"#, true),
        (r#"{"status": "in_progress"}"#, false),
        (r#"{"status": "not done"}"#, false),
        (r#"{"status": "done?"}"#, false),
        (r#"{"status": "green"}"#, false),
        (r#"{"complete": true, "status": "green"}"#, true),
        (r#"{"status": "blocked"}"#, false),
        (r#"{"status": "failed"}"#, false),
        ("\u{feff}\r\n{\r\n\"complete\": true\r\n}\r\n\r\n", true),
        ("  \n\t{\"complete\":true}\u{a0}", true),
        (r#"{"\u0063omplete": true}"#, true),
    ] {
        assert_eq!(report(text).complete, complete, "{text}");
    }
}

#[test]
fn contradicting_fields_mean_not_complete_and_are_reported() {
    for text in [
        r#"{"complete": false, "status": "done"}"#,
        r#"{"complete": true, "status": "in progress"}"#,
        r#"{"complete": true, "status": "pending"}"#,
        r#"{"complete": true, "status": "failed"}"#,
    ] {
        let ParsedStatus { report, warnings } = read(text.as_bytes()).unwrap();
        assert!(!report.complete, "{text}");
        assert_eq!(report.contradictions.len(), 1, "{text}");
        assert_eq!(warnings, report.contradictions, "{text}");
    }
}

#[test]
fn contradicting_counts_and_blockers_leave_the_claim_to_the_gate() {
    for (text, odd) in [
        (
            r#"{"complete": true, "progress": {"completed": 3, "total": 5}}"#,
            "it says complete, but 3 of 5 are done",
        ),
        (
            r#"{"complete": true, "progress": {"completed": 5, "total": 3}}"#,
            "it says that 5 of 3 are done",
        ),
        (
            r#"{"status": "done", "completed_tasks": ["a"], "total_tasks": 2}"#,
            "it says complete, but 1 of 2 are done",
        ),
        (r#"{"complete": true, "blockers": ["a key"]}"#, "it says complete, but lists blockers"),
        (
            r#"{"complete": true, "status": "blocked", "summary": "a key"}"#,
            "it says complete, but lists blockers",
        ),
    ] {
        let ParsedStatus { report, warnings } = read(text.as_bytes()).unwrap();
        assert!(report.complete, "{text}");
        assert_eq!(report.contradictions, [odd], "{text}");
        assert_eq!(warnings, [odd], "{text}");
    }
    assert_eq!(
        warnings(r#"{"complete": false, "progress": {"completed": 5, "total": 3}}"#),
        ["it says that 5 of 3 are done"]
    );
    assert!(
        warnings(r#"{"complete": false, "progress": {"completed": 5, "total": 5}}"#).is_empty()
    );
}

#[test]
fn failed_has_the_words_that_say_why() {
    for (text, why) in [
        (r#"{"status": "failed", "error": "no disk", "summary": "s"}"#, "no disk"),
        (r#"{"status": "ERROR", "error": {"message": "no disk"}}"#, "no disk"),
        (r#"{"status": "failed", "summary": "s", "notes": "n"}"#, "s"),
        (r#"{"status": "failed", "notes": "n"}"#, "n"),
        (r#"{"status": "failed", "summary": "  "}"#, "the status file says so"),
        (r#"{"status": "error", "complete": false}"#, "the status file says so"),
    ] {
        assert_eq!(report(text).failed.as_deref(), Some(why), "{text}");
    }
    assert_eq!(report(r#"{"complete": false, "error": "a test"}"#).failed, None);
    assert_eq!(report(r#"{"complete": false, "summary": "failed"}"#).failed, None);
}

#[test]
fn progress_is_counted_however_it_is_written() {
    for (fields, progress) in [
        (r#""progress": {"completed": 3.0, "total": "5"}"#, Some((3, 5))),
        (r#""progress": {"completed": " 3 ", "total": "5.0"}"#, Some((3, 5))),
        (r#""progress": {"completed": 0, "total": 0}"#, Some((0, 0))),
        (r#""completed_tasks": ["a", "b"], "total_tasks": 4"#, Some((2, 4))),
        (r#""completed_tasks": 2, "total_tasks": ["a", "b", "c"]"#, Some((2, 3))),
        (r#""progress": "half", "completed_tasks": 2, "total_tasks": 3"#, Some((2, 3))),
        (r#""completed_tasks": 2"#, None),
        (r#""progress": null"#, None),
        (r#""progress": 60"#, None),
        (r#""progress": {"completed": 3}"#, None),
        (r#""progress": {"completed": 3.5, "total": 5}"#, None),
        (r#""progress": {"completed": -1, "total": 5}"#, None),
        (r#""progress": {"completed": 1, "total": 5000000000}"#, None),
        (r#""progress": {"completed": "1e3", "total": "+5"}"#, None),
        (r#""progress": {"completed": "", "total": "."}"#, None),
        (r#""progress": {"completed": true, "total": [1]}"#, None),
    ] {
        let text = format!(r#"{{"complete": false, {fields}}}"#);
        let found = report(&text).progress.map(|progress| (progress.completed, progress.total));
        assert_eq!(found, progress, "{text}");
    }
}

#[test]
fn a_field_of_a_wrong_kind_is_ignored_with_a_warning() {
    for (field, warning) in [
        (r#""worked": "a lot""#, "ignoring `worked`: it must be true or false"),
        (r#""summary": ["a"]"#, "ignoring `summary`: it must be a string"),
        (r#""phase": {}"#, "ignoring `phase`: it must be a string"),
        (r#""status": true"#, "ignoring `status`: it must be a string"),
        (r#""blockers": 3"#, "ignoring `blockers`: it must be a list of strings"),
        (r#""total_tasks": "many""#, "ignoring `total_tasks`: it must be a whole number or a list"),
        (
            r#""progress": 60"#,
            "ignoring `progress`: it must be an object with the whole numbers `completed` and `total`",
        ),
    ] {
        let text = format!(r#"{{"complete": true, {field}}}"#);
        assert!(report(&text).complete, "{text}");
        assert_eq!(warnings(&text), [warning], "{text}");
    }
    assert_eq!(
        warnings(r#"{"complete": "true"}"#),
        ["`complete` is a string; write true or false without quotes"]
    );
}

#[test]
fn blockers_are_read_from_whatever_they_are_written_as() {
    for (fields, blockers) in [
        (r#""blockers": []"#, &[][..]),
        (r#""blockers": null"#, &[]),
        (r#""blockers": ["None", " n/a ", "", "No blockers."]"#, &[]),
        (r#""blockers": "a key""#, &["a key"][..]),
        (r#""blockers": {"text": "a key"}"#, &["a key"]),
        (
            r#""blockers": [{"description": "a key", "action": "send it", "resume": "I deploy"}]"#,
            &["a key. Action: send it. Resume: I deploy"],
        ),
        (r#""blockers": ["a key\nAction: send it"]"#, &["a key. Action: send it"]),
        (r#""blockers": [{"description": "", "text": "a key"}]"#, &["a key"]),
        (r#""blockers": ["a key", " a key\n", "a host"]"#, &["a key", "a host"]),
        (r#""blockers": [3, null, ["x"], {"id": 1}, "a key"]"#, &["a key"]),
        (r#""status": "blocked", "summary": "a key""#, &["a key"]),
        (r#""status": "Blocked""#, &["the status file says blocked"]),
        (r#""status": "blocked", "summary": "s", "blockers": ["a key"]"#, &["a key"]),
    ] {
        let text = format!(r#"{{"complete": false, {fields}}}"#);
        let found: Vec<_> =
            report(&text).blockers.into_iter().map(|blocker| blocker.sentence()).collect();
        assert_eq!(found, blockers, "{text}");
    }
    let many: Vec<_> = (0..100).map(|number| format!("\"key {number}\"")).collect();
    let text = format!(r#"{{"complete": false, "blockers": [{}]}}"#, many.join(","));
    assert_eq!(report(&text).blockers.len(), MAX_BLOCKERS);
    assert_eq!(warnings(&text).len(), 1);
}

#[test]
fn the_phase_may_be_called_the_current_task() {
    let phase = |text| report(text).phase;
    assert_eq!(phase(r#"{"complete": false, "current_task": "b"}"#).as_deref(), Some("b"));
    let both = r#"{"complete": false, "phase": "a", "current_task": "b"}"#;
    assert_eq!(phase(both).as_deref(), Some("a"));
    assert_eq!(phase(r#"{"complete": false, "phase": 2}"#).as_deref(), Some("2"));
    assert_eq!(phase(r#"{"complete": false, "phase": " "}"#), None);
}

#[test]
fn an_invalid_status_file_is_reported_with_the_position() {
    for (bytes, why) in [
        (&b""[..], "it is empty"),
        (b"\xEF\xBB\xBF \n", "it is empty"),
        (
            b"{\"complete\": tr",
            "it is not valid JSON: EOF while parsing a value at line 1 column 15",
        ),
        (
            b"{\"complete\": true",
            "it is not valid JSON: EOF while parsing an object at line 1 column 17",
        ),
        (b"{\n  \"complete\": true,\n}", "it is not valid JSON: trailing comma at line 3 column 1"),
        (
            b"{\"complete\": true} {}",
            "it is not valid JSON: trailing characters at line 1 column 20",
        ),
        (b"complete: true", "it is not valid JSON: expected value at line 1 column 1"),
        (b"{'complete': true}", "it is not valid JSON: key must be a string at line 1 column 2"),
        (b"[true]", "it is a list, not an object"),
        (b"true", "it is true or false, not an object"),
        (b"\"complete\"", "it is a string, not an object"),
        (b"{}", "`complete` is missing: it must be true or false"),
        (b"{\"complete\": null}", "`complete` is missing: it must be true or false"),
        (b"{\"Complete\": true}", "`complete` is missing: it must be true or false"),
        (b"{\"status\": 1.5e3, \"complete\": 1}", "`complete` is 1: it must be true or false"),
        (b"{\"complete\": \"yes\"}", "`complete` is \"yes\": it must be true or false"),
        (b"{\"complete\": [true]}", "`complete` is a list: it must be true or false"),
        (b"{\"complete\": 1, \"status\": \"done\"}", "`complete` is 1: it must be true or false"),
        (b"{\"summary\": \"\xFF\"}", "it is not valid UTF-8 at byte 13"),
    ] {
        assert_eq!(invalid(bytes), why, "{}", String::from_utf8_lossy(bytes));
    }
}

#[test]
fn a_name_that_is_there_twice_says_nothing() {
    for text in [
        r#"{"complete": false, "complete": true}"#,
        r#"{"complete": true, "\u0063omplete": true}"#,
        r#"{"complete": true, "progress": {"total": 1, "total": 2}}"#,
        r#"{"complete": true, "mine": [{"a": 1, "a": 1}]}"#,
    ] {
        assert!(invalid(text.as_bytes()).contains("is duplicated at line 1"), "{text}");
    }
}

#[test]
fn a_file_made_to_break_the_reader_does_not() {
    for text in [
        "[".repeat(100_000),
        "{\"a\":".repeat(100_000),
        format!(r#"{{"complete": true, "a": {}1{}}}"#, "[".repeat(5000), "]".repeat(5000)),
        format!(r#"{{"complete": true, "progress": {{"total": 1{}}}}}"#, "0".repeat(400)),
    ] {
        assert!(invalid(text.as_bytes()).starts_with("it is not valid JSON"), "{text:.40}");
    }
    assert_eq!(invalid(&vec![b' '; MAX_STATUS_BYTES + 1]), "it is larger than 1048576 bytes");
    let long = format!(r#"{{"complete": true, "summary": "{}"}}"#, "ä".repeat(100_000));
    assert_eq!(report(&long).summary.chars().count(), MAX_TEXT + 1);
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        drop(read(&bytes));
    }

    #[test]
    fn no_beginning_of_a_file_says_anything(end in 0..70_usize) {
        let text = r#"{"summary": "all is done", "status": "done", "complete": true, "n": [1]}"#;
        prop_assert!(read(&text.as_bytes()[..end]).is_err());
    }

    #[test]
    fn any_values_in_the_known_fields_are_read_or_refused(
        fields in proptest::collection::vec((0..11_usize, 0..12_usize), 0..8),
    ) {
        let names = [
            "complete", "status", "progress", "worked", "summary", "phase", "blockers", "notes",
            "completed_tasks", "total_tasks", "error",
        ];
        let values = [
            "null", "true", "false", "3", "-1.5", "\"done\"", "\"failed\"", "[]", "[\"a\", {}]",
            "{\"completed\": 1, \"total\": 2}", "{\"message\": 1}", "\"\"",
        ];
        let fields: Vec<_> =
            fields.iter().map(|(n, v)| format!("\"{}\": {}", names[*n], values[*v])).collect();
        let text = format!("{{{}}}", fields.join(", "));
        if let Ok(ParsedStatus { report, .. }) = read(text.as_bytes()) {
            prop_assert!(!(report.complete && report.failed.is_some()), "{}", text);
        }
    }
}

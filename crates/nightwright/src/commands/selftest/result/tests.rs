//! Tests of the report with synthetic results: it never claims more than was tested.

use super::*;

fn case(name: &'static str, outcome: CaseOutcome) -> CaseResult {
    CaseResult {
        name,
        title: name,
        outcome,
        containment: Some(ContainmentLevel::GuardAndGroup.name().to_owned()),
        took: Duration::from_millis(1500),
        folder: PathBuf::from("/tmp/x"),
    }
}

fn report(cases: Vec<CaseResult>) -> SelftestReport {
    SelftestReport { cases, survivors: Vec::new(), watched: true, took: Duration::from_secs(2) }
}

fn not_tested() -> CaseOutcome {
    Err(Shortfall::NotTested("no disk".to_owned()))
}

fn missed(seen: &str, ended: &str) -> CaseOutcome {
    let (seen, ended) = (seen.to_owned(), ended.to_owned());
    Err(Shortfall::Missed(Mismatch { expected: "an end".to_owned(), seen, ended }))
}

#[test]
fn the_json_counts_untested_cases_separately() {
    let report = report(vec![case("full-disk", not_tested()), case("full-journal", not_tested())]);
    let json = report.json();
    assert_eq!((&json["passed"], &json["not_tested"]), (&json!(0), &json!(2)));
    assert_eq!(json["failed"], json!(0));
    assert!(
        report
            .show(false)
            .unwrap()
            .ends_with("0 of 2 passed in 2 s; not tested here: full-disk, full-journal\n")
    );
}

#[test]
fn each_result_is_counted_once() {
    let cases = vec![
        case("false-claim", Ok(())),
        case("crash", missed("nothing", "exit code 1")),
        case("orphans", Ok(())),
        case("full-disk", not_tested()),
    ];
    let json = report(cases).json();
    assert_eq!(json["passed"], json!(2));
    assert_eq!(json["not_tested"], json!(1));
    assert_eq!(json["failed"], json!(1));
}

#[test]
fn a_missing_search_for_survivors_is_stated_in_text_and_json() {
    let unwatched = SelftestReport { watched: false, ..report(vec![case("false-claim", Ok(()))]) };
    let text = unwatched.show(false).unwrap();
    assert!(text.contains("\nCannot look for surviving processes: "), "{text}");
    assert!(text.ends_with("1 of 1 passed in 2 s; surviving processes unknown\n"), "{text}");
    let json = unwatched.json();
    assert_eq!((&json["survivors_checked"], &json["survivors"]), (&json!(false), &Value::Null));
    let watched = report(vec![case("false-claim", Ok(()))]);
    assert!(!watched.show(false).unwrap().to_lowercase().contains("surviv"));
    let json = watched.json();
    assert_eq!((&json["survivors_checked"], &json["survivors"]), (&json!(true), &json!([])));
}

#[test]
fn no_result_is_credited_to_a_control_group() {
    let text = report(vec![case("false-claim", Ok(()))]).show(false).unwrap();
    let words = "Containment: guard (cgroups are available, but no test depends on them)\n";
    assert!(text.contains(words), "{text}");
}

#[test]
fn a_failure_shows_the_outcome_of_the_run_unless_that_is_what_was_seen() {
    let text =
        |seen, ended| report(vec![case("false-claim", missed(seen, ended))]).show(false).unwrap();
    let shown = text("no claim", "`failed`, exit code 1, and it printed: no space left");
    assert!(shown.contains("    actual: no claim\n    outcome: `failed`, exit code 1"), "{shown}");
    assert!(shown.contains("no space left"), "{shown}");
    let shown = text("no event, exit code 1", "no event, exit code 1");
    assert!(!shown.contains("outcome:"), "{shown}");
}

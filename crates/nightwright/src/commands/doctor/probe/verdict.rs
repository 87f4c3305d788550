//! The verdict on a probe: a pure function, so that tests can cover every outcome.

use nightwright_core::display::one_line;
use nightwright_core::phrases::thousands;
use nightwright_core::stream::news::AttemptReport;
use nightwright_core::stream::outcome::{AttemptOutcome, Consequence};
use nightwright_core::units::human;
use serde_json::{Value, json};

use crate::agent::ask::AgentAnswer;
use crate::commands::doctor::finding::{DoctorFinding, Grade};

/// Maximum characters shown of an answer or an error.
const MAX_SHOWN: usize = 200;

/// Judges a completed call.
pub(super) fn verdict(answer: &AgentAnswer) -> DoctorFinding {
    let report = &answer.report;
    let missing = missing(answer);
    let odd = oddities(answer, &missing);
    let (grade, text) = if report.outcome == AttemptOutcome::Finished {
        let grade = if odd.is_empty() { Grade::Ok } else { Grade::Warning };
        (grade, answered(answer))
    } else {
        (grade(&report.outcome), failed(report))
    };
    let text = [vec![text], odd].concat().join("; ");
    let finding = facts(DoctorFinding::new(grade, "probe", text), answer);
    let finding = finding.fact("missing", missing);
    match report.outcome.consequence() {
        Consequence::EndRun { .. } if is_account(&report.outcome) => {
            finding.hint("run `claude` and log in, or set ANTHROPIC_API_KEY")
        }
        Consequence::EndRun { .. }
        | Consequence::Assess
        | Consequence::AssessWorkTree
        | Consequence::Wait { .. }
        | Consequence::Retry
        | Consequence::FailIteration { .. } => finding,
    }
}

fn is_account(outcome: &AttemptOutcome) -> bool {
    matches!(outcome, AttemptOutcome::Auth { .. } | AttemptOutcome::Billing { .. })
}

/// Returns the severity of an outcome. A run would wait for a usage limit, and reaching a limit of
/// the probe itself is not an error.
fn grade(outcome: &AttemptOutcome) -> Grade {
    match outcome.consequence() {
        Consequence::Assess | Consequence::Wait { .. } => Grade::Warning,
        Consequence::AssessWorkTree
        | Consequence::Retry
        | Consequence::FailIteration { .. }
        | Consequence::EndRun { .. } => Grade::Problem,
    }
}

fn answered(answer: &AgentAnswer) -> String {
    let report = &answer.report;
    let model = answer.model.as_deref().filter(|model| !model.is_empty()).unwrap_or("the model");
    let text = answer.result.as_ref().and_then(|result| result.text.as_deref()).unwrap_or_default();
    let turns = match report.turns {
        1 => "1 turn".to_owned(),
        turns => format!("{turns} turns"),
    };
    format!(
        "{model} answered `{}` in {}; {turns}, {} tokens, {}",
        one_line(text, MAX_SHOWN),
        human(answer.took),
        thousands(report.tokens.counted()),
        cost(report)
    )
}

fn failed(report: &AttemptReport) -> String {
    let why = one_line(&report.outcome.sentence(), MAX_SHOWN);
    let text = format!("no usable answer: {why} ({})", report.outcome.name());
    match report.cost.or(report.priced) {
        Some(some) if some.micros() > 0 => format!("{text}; {}", cost(report)),
        Some(_) | None => text,
    }
}

fn cost(report: &AttemptReport) -> String {
    match (report.cost, report.priced) {
        (Some(cost), _) => format!("cost {cost}"),
        (None, Some(priced)) => format!("cost about {priced}"),
        (None, None) => "cost unknown".to_owned(),
    }
}

/// Returns the parts of a good result that nightwright uses and that are missing.
fn missing(answer: &AgentAnswer) -> Vec<&'static str> {
    let report = &answer.report;
    let Some(result) =
        answer.result.as_ref().filter(|_| report.outcome == AttemptOutcome::Finished)
    else {
        return Vec::new();
    };
    let absent = |text: &Option<String>| text.as_deref().is_none_or(|text| text.trim().is_empty());
    let all = [
        ("cost", report.cost.is_none()),
        ("tokens", report.tokens.is_zero()),
        ("turns", report.turns == 0),
        ("text", absent(&result.text)),
        ("model", absent(&answer.model)),
    ];
    all.into_iter().filter(|(_, missing)| *missing).map(|(name, _)| name).collect()
}

/// Returns the differences from the known versions of the agent.
fn oddities(answer: &AgentAnswer, missing: &[&str]) -> Vec<String> {
    let report = &answer.report;
    let mut odd = Vec::new();
    if !missing.is_empty() {
        odd.push(format!("missing: {}", missing.join(", ")));
    }
    if answer.result.is_some() && !answer.result_last {
        odd.push("output after the result".to_owned());
    }
    match report.stream.bad_lines {
        0 => {}
        1 => odd.push("1 line is not a message".to_owned()),
        lines => odd.push(format!("{lines} lines are not messages")),
    }
    if !report.unknown.is_empty() {
        odd.push(format!("unknown to nightwright: {}", report.unknown.join(", ")));
    }
    odd
}

fn facts(finding: DoctorFinding, answer: &AgentAnswer) -> DoctorFinding {
    let report = &answer.report;
    let dollars =
        |usd: Option<nightwright_core::units::Usd>| usd.map(nightwright_core::units::Usd::dollars);
    finding
        .fact("outcome", report.outcome.name())
        .fact("cost_usd", dollars(report.cost.or(report.priced)))
        .fact("cost_estimated", report.cost.is_none())
        .fact("tokens", json!(report.tokens))
        .fact("turns", report.turns)
        .fact("model", answer.model.clone())
        .fact("took_ms", u64::try_from(answer.took.as_millis()).map_or(Value::Null, Value::from))
        .fact("result_last", answer.result_last)
        .fact("bad_lines", report.stream.bad_lines)
        .fact("unknown", report.unknown.clone())
}

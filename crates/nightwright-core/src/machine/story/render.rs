//! Renders decisions as short lines.

use crate::effect::{Alarm, Effect};
use crate::event::{CostSource, Event, GateResult, IterationKind, IterationResult, StatusText};
use crate::input::{CheckPurpose, TimerKey};
use crate::outcome::{Outcome, Strictness};
use crate::permissions::denial;
use crate::stream::dialect::ToolAccess;
use crate::units::human;

/// This function is a table with one row per event, hence its length.
pub(super) fn event_line(event: &Event) -> String {
    let name = event.name();
    match event {
        Event::IterationStarted { iteration, kind, .. } => match kind {
            IterationKind::Work => format!("{name} {iteration}"),
            IterationKind::WrapUp => format!("{name} {iteration} wrap-up"),
            IterationKind::VerifyOnly => format!("{name} {iteration} proof"),
        },
        Event::IterationSkipped { iteration } => format!("{name} {iteration}"),
        Event::AttemptStarted { attempt, cap, model, .. } => {
            let cap = cap.map(|cap| format!(" cap {cap}")).unwrap_or_default();
            let model = model.as_ref().map(|model| format!(" model {model}")).unwrap_or_default();
            format!("{name} {attempt}{cap}{model}")
        }
        Event::AttemptCancelled { attempt, why } => format!("{name} {attempt} {why:?}"),
        Event::AttemptFinished { attempt, cost, figure, report, .. } => {
            format!("{name} {attempt} {} {cost}{}", report.outcome.name(), mark(*figure))
        }
        Event::RetryScheduled { why, .. } => format!("{name}: {why}"),
        Event::LimitWaitStarted { limit, wait, .. } => {
            format!("{name} {limit:?} {}", human(*wait))
        }
        Event::LimitWaitEnded { why, .. } => format!("{name} {why:?}"),
        Event::StatusChanged { changed, .. } => {
            let text = StatusText::of(event).map(|text| text.line()).unwrap_or_default();
            format!("{name} {changed:?}: {text}")
        }
        Event::BlockerReported { blocker } => format!("{name} {}: {}", blocker.key, blocker.text),
        Event::WatchdogNoticed { notice: finding, .. } => format!("{name} {:?}", finding.signal),
        Event::NudgeSent { text, .. } => format!("{name}: {text}"),
        Event::PermissionDenied { tool, command, rule, .. } => {
            format!("{name} {} ({})", denial::what(tool, command), denial::advice(rule.as_deref()))
        }
        Event::GateStarted { claim, .. } => format!("{name} {claim:?}"),
        Event::ChecksStarted { purpose: CheckPurpose::Gate, commands } => {
            format!("{name} {}", commands.join(", "))
        }
        Event::ChecksStarted { purpose: CheckPurpose::Baseline, commands } => {
            format!("{name} for the baseline: {}", commands.join(", "))
        }
        Event::CallStarted { call, purpose, cap } => {
            let cap = cap.map(|cap| format!(" cap {cap}")).unwrap_or_default();
            format!("{name} {call} {}{cap}", purpose.name())
        }
        Event::CallFinished { call, purpose, cost, figure, report, .. } => format!(
            "{name} {call} {} {} {cost}{}",
            purpose.name(),
            report.outcome.name(),
            mark(*figure)
        ),
        Event::CallCancelled { call, why } => format!("{name} {call} {why:?}"),
        Event::VerdictGiven { verdict, .. } => format!("{name} {verdict:?}"),
        Event::GateFinished { result } => match result {
            GateResult::Passed { proof } => format!("{name} passed by {}", proof.name()),
            GateResult::Rejected { why, .. } => format!("{name} rejected: {why}"),
            GateResult::Inconclusive { why } => format!("{name} inconclusive: {why}"),
            GateResult::Unaffordable { .. } => format!("{name} unaffordable"),
        },
        Event::FeedbackAdded { source, text } => format!("{name} {source:?}: {text}"),
        Event::IterationFinished(finished) => {
            let iteration = finished.iteration;
            match &finished.result {
                IterationResult::Done => {
                    format!("{name} {iteration} {:?}", finished.progress)
                }
                IterationResult::Failed { why, .. } => format!("{name} {iteration} failed: {why}"),
                IterationResult::Interrupted => format!("{name} {iteration} interrupted"),
            }
        }
        Event::StopRequested { when, by } => format!("{name} {when:?} {by:?}"),
        Event::HookFailed { hook, .. } => format!("{name} {hook}"),
        Event::Warning { text } => format!("{name}: {text}"),
        Event::RunFinished { outcome, note, .. } => ending_line(outcome, note.as_deref()),
        Event::RunContinued { why } => format!("{name} {why:?}"),
        Event::SettingsChanged { change, .. } => format!("{name} {}", change.sentence()),
        Event::CouncilDecided { decision, .. } => format!("{name}: {decision}"),
        Event::PrinciplesAdopted { .. } => name.to_owned(),
        Event::RunStarted(_)
        | Event::AgentReady { .. }
        | Event::QuotaReported { .. }
        | Event::ChecksFinished { .. }
        | Event::ChangesInspected { .. }
        | Event::StopCancelled
        | Event::RunPaused
        | Event::RunResumed => name.to_owned(),
    }
}

fn ending_line(outcome: &Outcome, note: Option<&str>) -> String {
    let code = outcome.exit_code(Strictness::Lenient);
    let note = note.map(|note| format!(" ({note})")).unwrap_or_default();
    format!("run_finished {} exit {code}{note}", outcome.name())
}

fn mark(figure: CostSource) -> &'static str {
    match figure {
        CostSource::Reported => "",
        CostSource::Estimated => " estimated",
    }
}

/// Returns `None` for effects that are noise in a story, such as setting deadlines and clearing
/// timers.
pub(super) fn effect_line(effect: &Effect) -> Option<String> {
    Some(match effect {
        Effect::RunHook { hook, .. } => format!("-> hook {}", hook.name()),
        Effect::Prepare { mark, .. } => format!("-> prepare {mark:?}"),
        Effect::StartAttempt(request) => {
            let briefing = &request.briefing;
            let mut line = format!("-> start attempt {}", request.attempt);
            for (said, word) in [
                (briefing.last, " last"),
                (briefing.cut_off, " cut-off"),
                (briefing.shorten, " shortened"),
                (!briefing.feedback.is_empty(), " with feedback"),
                (!briefing.decisions.is_empty(), " with decisions"),
            ] {
                if said {
                    line.push_str(word);
                }
            }
            line
        }
        Effect::Nudge { attempt, .. } => format!("-> nudge {attempt}"),
        Effect::CloseInput { attempt } => format!("-> close input {attempt}"),
        Effect::CancelAttempt { attempt, grace, .. } => {
            format!("-> cut attempt {attempt} {grace:?}")
        }
        Effect::Survey { .. } => "-> survey".to_owned(),
        Effect::RunChecks { budget: None, .. } => "-> run checks".to_owned(),
        Effect::RunChecks { budget: Some(budget), .. } => {
            format!("-> run checks within {}", human(*budget))
        }
        Effect::CancelChecks { grace, .. } => format!("-> cut checks {grace:?}"),
        Effect::InspectChanges { .. } => "-> inspect changes".to_owned(),
        Effect::StartCall(request) => {
            let found = request.question.contains("What was found");
            let found = if found { " with findings" } else { "" };
            let model = request.model.as_deref().unwrap_or("its own model");
            let tools = match request.tools {
                ToolAccess::Usual => "all tools",
                ToolAccess::ReadOnly => "tools that read",
                ToolAccess::None => "no tools",
            };
            format!("-> start call {}{found}, {model}, {tools}", request.call)
        }
        Effect::CancelCall { call, grace, .. } => format!("-> cut call {call} {grace:?}"),
        Effect::SetTimer { key: TimerKey::Delay(_), alarm } => {
            format!("-> delay {}", alarm_text(*alarm))
        }
        Effect::SetTimer { key: TimerKey::Wait(_), alarm } => {
            format!("-> wait {}", alarm_text(*alarm))
        }
        Effect::SetTimer { key: TimerKey::Attempt(_) | TimerKey::Call(_), .. }
        | Effect::ClearTimer { .. } => return None,
        Effect::Finish => "-> finish".to_owned(),
    })
}

fn alarm_text(alarm: Alarm) -> String {
    match alarm {
        Alarm::After(after) => human(after),
        Alarm::At(at) => format!("until {at}"),
    }
}

//! Renders decisions as short lines.

use crate::effect::{Alarm, Effect};
use crate::event::{
    AttemptEvent, CallEvent, CostSource, Event, GateEvent, GateResult, IterationEvent,
    IterationKind, IterationResult, NoteEvent, OperatorEvent, RunEvent, StatusText, WaitEvent,
};
use crate::input::{CheckPurpose, TimerKey};
use crate::outcome::{Outcome, Strictness};
use crate::permissions::denial;
use crate::stream::dialect::ToolAccess;
use crate::units::human;

/// This function is a table with one row per event, hence its length.
pub(super) fn event_line(event: &Event) -> String {
    let name = event.name();
    match event {
        Event::Iteration(IterationEvent::Started { iteration, kind, .. }) => match kind {
            IterationKind::Work => format!("{name} {iteration}"),
            IterationKind::WrapUp => format!("{name} {iteration} wrap-up"),
            IterationKind::VerifyOnly => format!("{name} {iteration} proof"),
        },
        Event::Iteration(IterationEvent::Skipped { iteration }) => format!("{name} {iteration}"),
        Event::Attempt(AttemptEvent::Started { attempt, cap, model, .. }) => {
            let cap = cap.map(|cap| format!(" cap {cap}")).unwrap_or_default();
            let model = model.as_ref().map(|model| format!(" model {model}")).unwrap_or_default();
            format!("{name} {attempt}{cap}{model}")
        }
        Event::Attempt(AttemptEvent::Cancelled { attempt, why }) => {
            format!("{name} {attempt} {why:?}")
        }
        Event::Attempt(AttemptEvent::Finished { attempt, cost, figure, report, .. }) => {
            format!("{name} {attempt} {} {cost}{}", report.outcome.name(), mark(*figure))
        }
        Event::Wait(WaitEvent::RetryScheduled { why, .. }) => format!("{name}: {why}"),
        Event::Wait(WaitEvent::Started { limit, wait, .. }) => {
            format!("{name} {limit:?} {}", human(*wait))
        }
        Event::Wait(WaitEvent::Ended { why, .. }) => format!("{name} {why:?}"),
        Event::Note(NoteEvent::StatusChanged { changed, .. }) => {
            let text = StatusText::of(event).map(|text| text.line()).unwrap_or_default();
            format!("{name} {changed:?}: {text}")
        }
        Event::Note(NoteEvent::BlockerReported { blocker }) => {
            format!("{name} {}: {}", blocker.key, blocker.text)
        }
        Event::Attempt(AttemptEvent::WatchdogNoticed { notice: finding, .. }) => {
            format!("{name} {:?}", finding.signal)
        }
        Event::Attempt(AttemptEvent::NudgeSent { text, .. }) => format!("{name}: {text}"),
        Event::Attempt(AttemptEvent::PermissionDenied { tool, command, rule, .. }) => {
            format!("{name} {} ({})", denial::what(tool, command), denial::advice(rule.as_deref()))
        }
        Event::Gate(GateEvent::Started { claim, .. }) => format!("{name} {claim:?}"),
        Event::Gate(GateEvent::ChecksStarted { purpose: CheckPurpose::Gate, commands }) => {
            format!("{name} {}", commands.join(", "))
        }
        Event::Gate(GateEvent::ChecksStarted { purpose: CheckPurpose::Baseline, commands }) => {
            format!("{name} for the baseline: {}", commands.join(", "))
        }
        Event::Call(CallEvent::Started { call, purpose, cap }) => {
            let cap = cap.map(|cap| format!(" cap {cap}")).unwrap_or_default();
            format!("{name} {call} {}{cap}", purpose.name())
        }
        Event::Call(CallEvent::Finished { call, purpose, cost, figure, report, .. }) => format!(
            "{name} {call} {} {} {cost}{}",
            purpose.name(),
            report.outcome.name(),
            mark(*figure)
        ),
        Event::Call(CallEvent::Cancelled { call, why }) => format!("{name} {call} {why:?}"),
        Event::Gate(GateEvent::VerdictGiven { verdict, .. }) => format!("{name} {verdict:?}"),
        Event::Gate(GateEvent::Finished { result }) => match result {
            GateResult::Passed { proof } => format!("{name} passed by {}", proof.name()),
            GateResult::Rejected { why, .. } => format!("{name} rejected: {why}"),
            GateResult::Inconclusive { why } => format!("{name} inconclusive: {why}"),
            GateResult::Unaffordable { .. } => format!("{name} unaffordable"),
        },
        Event::Note(NoteEvent::FeedbackAdded { source, text }) => {
            format!("{name} {source:?}: {text}")
        }
        Event::Iteration(IterationEvent::Finished(finished)) => {
            let iteration = finished.iteration;
            match &finished.result {
                IterationResult::Done => {
                    format!("{name} {iteration} {:?}", finished.progress)
                }
                IterationResult::Failed { why, .. } => format!("{name} {iteration} failed: {why}"),
                IterationResult::Interrupted => format!("{name} {iteration} interrupted"),
            }
        }
        Event::Operator(OperatorEvent::StopRequested { when, by }) => {
            format!("{name} {when:?} {by:?}")
        }
        Event::Note(NoteEvent::HookFailed { hook, .. }) => format!("{name} {hook}"),
        Event::Note(NoteEvent::Warning { text }) => format!("{name}: {text}"),
        Event::Run(RunEvent::Finished { outcome, note, .. }) => {
            outcome_line(outcome, note.as_deref())
        }
        Event::Run(RunEvent::Continued { why }) => format!("{name} {why:?}"),
        Event::Operator(OperatorEvent::SettingsChanged { change, .. }) => {
            format!("{name} {}", change.sentence())
        }
        Event::Note(NoteEvent::CouncilDecided { decision, .. }) => format!("{name}: {decision}"),
        // Others by their name alone.
        Event::Run(_)
        | Event::Attempt(_)
        | Event::Wait(_)
        | Event::Gate(_)
        | Event::Operator(_)
        | Event::Note(_) => name.to_owned(),
    }
}

fn outcome_line(outcome: &Outcome, note: Option<&str>) -> String {
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
            for (holds, word) in [
                (briefing.last, " last"),
                (briefing.cut_off, " cut-off"),
                (briefing.shorten, " shortened"),
                (!briefing.feedback.is_empty(), " with feedback"),
                (!briefing.decisions.is_empty(), " with decisions"),
            ] {
                if holds {
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
            let found = request.question.contains("Signs of tampering");
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

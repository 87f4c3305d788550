//! Renders decisions as short lines.

use crate::effect::{Alarm, Effect};
use crate::event::{
    AttemptEvent, CallEvent, CostSource, Event, GateEvent, GateResult, IterationEvent,
    IterationKind, IterationResult, NoteEvent, OperatorEvent, RunEvent, StatusText, WaitEvent,
};
use crate::input::{CheckPurpose, TimerKey};
use crate::outcome::Strictness;
use crate::permissions::denial;
use crate::phrases;
use crate::stream::dialect::ToolAccess;
use crate::units::{Usd, human};

/// Most events have their own words; the others have those of all outputs, or only their name.
pub(super) fn event_line(event: &Event) -> String {
    let words = match event {
        Event::Run(event) => run_words(event),
        Event::Iteration(event) => Some(iteration_words(event)),
        Event::Call(event) => Some(call_words(event)),
        Event::Gate(event) => gate_words(event),
        Event::Attempt(_) | Event::Wait(_) | Event::Operator(_) | Event::Note(_) => {
            own_words(event)
        }
    };
    let shared = || phrases::event(event, true).map(|phrase| format!(": {}", phrase.text));
    format!("{}{}", event.name(), words.or_else(shared).unwrap_or_default())
}

fn own_words(event: &Event) -> Option<String> {
    Some(match event {
        Event::Attempt(AttemptEvent::Started { attempt, cap, model, .. }) => {
            let model = model.as_ref().map(|model| format!(" model {model}")).unwrap_or_default();
            format!(" {attempt}{}{model}", capped(*cap))
        }
        Event::Attempt(AttemptEvent::Cancelled { attempt, why }) => format!(" {attempt} {why:?}"),
        Event::Attempt(AttemptEvent::Finished { attempt, cost, figure, report, .. }) => {
            format!(" {attempt} {} {cost}{}", report.outcome.name(), mark(*figure))
        }
        Event::Attempt(AttemptEvent::WatchdogNoticed { finding, .. }) => {
            format!(" {:?}", finding.signal)
        }
        Event::Attempt(AttemptEvent::MessageSent { text, .. }) => format!(": {text}"),
        Event::Attempt(AttemptEvent::PermissionDenied { tool, command, rule, .. }) => {
            format!(" {} ({})", denial::what(tool, command), denial::advice(rule.as_deref()))
        }
        Event::Wait(WaitEvent::RetryScheduled { why, .. }) => format!(": {why}"),
        Event::Wait(WaitEvent::Started { limit, wait, .. }) => {
            format!(" {limit:?} {}", human(*wait))
        }
        Event::Wait(WaitEvent::Ended { why, .. }) => format!(" {why:?}"),
        Event::Operator(OperatorEvent::StopRequested { when, by }) => format!(" {when:?} {by:?}"),
        Event::Operator(OperatorEvent::SettingsChanged { change, .. }) => {
            format!(" {}", change.sentence())
        }
        Event::Note(NoteEvent::StatusChanged { changed, .. }) => {
            let text = StatusText::of(event).map(|text| text.line()).unwrap_or_default();
            format!(" {changed:?}: {text}")
        }
        Event::Note(NoteEvent::BlockerReported { blocker }) => {
            format!(" {}: {}", blocker.key, blocker.sentence())
        }
        Event::Note(NoteEvent::FeedbackAdded { source, text }) => format!(" {source:?}: {text}"),
        Event::Note(NoteEvent::HookFailed { hook, .. }) => format!(" {hook}"),
        Event::Note(NoteEvent::CouncilDecided { decision, .. }) => format!(": {decision}"),
        Event::Run(_)
        | Event::Iteration(_)
        | Event::Attempt(_)
        | Event::Call(_)
        | Event::Wait(_)
        | Event::Gate(_)
        | Event::Operator(_)
        | Event::Note(_) => return None,
    })
}

fn run_words(event: &RunEvent) -> Option<String> {
    match event {
        RunEvent::Finished { outcome, note, .. } => {
            let code = outcome.exit_code(Strictness::Lenient);
            let note = note.as_ref().map(|note| format!(" ({note})")).unwrap_or_default();
            Some(format!(" {} exit {code}{note}", outcome.name()))
        }
        RunEvent::Continued { why } => Some(format!(" {why:?}")),
        RunEvent::Started(_) => None,
    }
}

fn iteration_words(event: &IterationEvent) -> String {
    match event {
        IterationEvent::Started { iteration, kind, .. } => match kind {
            IterationKind::Work => format!(" {iteration}"),
            IterationKind::WrapUp => format!(" {iteration} wrap-up"),
            IterationKind::VerifyOnly => format!(" {iteration} proof"),
        },
        IterationEvent::Skipped { iteration } => format!(" {iteration}"),
        IterationEvent::Finished(finished) => {
            let iteration = finished.iteration;
            match &finished.result {
                IterationResult::Done => {
                    let checks = finished.checks.map(|checks| {
                        let change = checks.change.map(|change| format!(", {change:?}"));
                        format!(
                            ": {}{}",
                            phrases::failing(checks.failing),
                            change.unwrap_or_default()
                        )
                    });
                    format!(" {iteration} {:?}{}", finished.progress, checks.unwrap_or_default())
                }
                IterationResult::Failed { why, .. } => format!(" {iteration} failed: {why}"),
                IterationResult::Interrupted => format!(" {iteration} interrupted"),
            }
        }
    }
}

fn call_words(event: &CallEvent) -> String {
    match event {
        CallEvent::Started { call, purpose, cap, second_opinion } => {
            let source = second_opinion.map(|source| format!(" {source:?}")).unwrap_or_default();
            format!(" {call} {}{}{source}", purpose.name(), capped(*cap))
        }
        CallEvent::Finished { call, purpose, cost, figure, report, .. } => {
            let (purpose, outcome) = (purpose.name(), report.outcome.name());
            format!(" {call} {purpose} {outcome} {cost}{}", mark(*figure))
        }
        CallEvent::Cancelled { call, why } => format!(" {call} {why:?}"),
    }
}

fn gate_words(event: &GateEvent) -> Option<String> {
    Some(match event {
        GateEvent::Started { claim, .. } => format!(" {claim:?}"),
        GateEvent::ChecksStarted { purpose: CheckPurpose::Gate, commands } => {
            format!(" {}", commands.join(", "))
        }
        GateEvent::ChecksStarted { purpose: CheckPurpose::Progress, commands } => {
            format!(" after the iteration: {}", commands.join(", "))
        }
        GateEvent::ChecksStarted { purpose: CheckPurpose::Baseline, commands } => {
            format!(" for the baseline: {}", commands.join(", "))
        }
        GateEvent::VerdictGiven { verdict, .. } => format!(" {verdict:?}"),
        GateEvent::Finished { result } => match result {
            GateResult::Passed { proof } => format!(" passed by {}", proof.name()),
            GateResult::Rejected { why, .. } => format!(" rejected: {why}"),
            GateResult::Impossible { why } => format!(" impossible: {why}"),
            GateResult::Inconclusive { why } => format!(" inconclusive: {why}"),
            GateResult::Unaffordable { .. } => " unaffordable".to_owned(),
        },
        GateEvent::ChecksFinished { .. } | GateEvent::ChangesInspected { .. } => return None,
    })
}

fn capped(cap: Option<Usd>) -> String {
    cap.map(|cap| format!(" cap {cap}")).unwrap_or_default()
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
                (
                    briefing.checks.as_ref().is_some_and(|news| !news.failed.is_empty()),
                    " with failures",
                ),
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
            let found = request.question.contains("Findings of the tamper inspection");
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
        Effect::SetTimer {
            key: TimerKey::Attempt(_) | TimerKey::Call(_) | TimerKey::Project(_),
            ..
        }
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

//! The `given` lines of a story: settings in words.

use std::time::Duration;

use crate::event::{Event, NoteEvent, samples};
use crate::principles::Principles;
use crate::settings::{
    Council, Depth, Every, EvidenceKind, IdleUnless, SandboxKind, Scope, Settings, Stagnation,
    Tamper, VerdictMode, WatchdogResponse,
};
use crate::units::Usd;

/// Applies the setting of one `given` line.
pub(super) fn apply(settings: &mut Settings, setting: &str) {
    let words: Vec<&str> = setting.split_whitespace().collect();
    let limits = &mut settings.limits;
    match words.as_slice() {
        ["allowed_tools", rule @ ..] => settings.agent.allowed_tools = vec![rule.join(" ")],
        ["max_iterations", n] => limits.max_iterations = Some(n.parse().expect("a number")),
        ["max_cost", usd] => limits.max_cost = Usd::from_dollars(usd.parse().expect("dollars")),
        ["max_tokens", n] => limits.max_tokens = Some(n.parse().expect("a number")),
        ["max_duration", time] => limits.max_duration = Some(duration(time)),
        ["max_wait", time] => limits.max_wait = duration(time),
        ["reserve", percent] => limits.reserve = percent.parse().expect("percent"),
        ["quota", percent] => limits.quota.five_hour = Some(percent.parse().expect("percent")),
        ["retries", n] => settings.retry.max_retries = n.parse().expect("a number"),
        ["max_errors", n] => {
            settings.retry.max_consecutive_errors = n.parse().expect("a number");
        }
        ["notes", file] => settings.notes_file = Some((*file).to_owned()),
        ["threshold", n] => settings.progress.threshold = n.parse().expect("a number"),
        ["mode", "build"] => settings.progress.outcome = Stagnation::NoChanges,
        ["mode", "iterative"] => settings.progress.idle_unless = IdleUnless::Worked,
        ["delay", time] => settings.delay = duration(time),
        ["checks"] => settings.verify.commands = vec!["make test".to_owned()],
        ["check", command @ ..] => settings.verify.commands.push(command.join(" ")),
        ["outside", command @ ..] => settings.verify.outside.push(command.join(" ")),
        ["sandbox"] => settings.sandbox.kind = SandboxKind::Bwrap,
        ["sandbox", "off"] => settings.sandbox.kind = SandboxKind::Off,
        ["every", "auto"] => settings.verify.every = Every::Auto,
        ["every", "claim"] => settings.verify.every = Every::Claim,
        ["every", "always"] => settings.verify.every = Every::Always,
        ["no_gain", n] => settings.progress.no_gain = n.parse().expect("a number"),
        ["baseline"] => settings.verify.baseline = Some(Duration::from_mins(5)),
        ["model", "auto"] => settings.verify.model = VerdictMode::Auto,
        ["model", "always"] => settings.verify.model = VerdictMode::Always,
        ["verifier", "cost", usd] => {
            settings.verify.max_cost =
                Usd::from_dollars(usd.parse().expect("dollars")).expect("usd");
        }
        ["verifier", "called", name] => settings.verify.model_name = Some((*name).to_owned()),
        ["depth", "quick"] => settings.verify.depth = Depth::Quick,
        ["depth", "deep"] => settings.verify.depth = Depth::Deep,
        ["only", "the", "gate"] => settings.scope = Scope::Gate,
        ["tamper", "warn"] => settings.verify.tamper = Tamper::Warn,
        ["tamper", "reject"] => settings.verify.tamper = Tamper::Reject,
        ["evidence", kinds @ ..] => {
            settings.completion.evidence = kinds.iter().map(|kind| evidence(kind)).collect();
        }
        ["no", "detection"] => settings.completion.evidence.clear(),
        ["review"] => settings.extras.review = Some("look again".to_owned()),
        ["council"] => settings.extras.council = Council::On,
        ["council", "off"] => settings.extras.council = Council::Off,
        ["principles"] => settings.principles = principles(),
        ["watchdog", "off"] => settings.extras.watchdog = WatchdogResponse::Off,
        ["watchdog", "live"] => settings.extras.watchdog = WatchdogResponse::Live,
        ["watchdog", "next"] => settings.extras.watchdog = WatchdogResponse::Next,
        ["status", "watch", "off"] => settings.status_watch.enabled = false,
        ["status", "of", "any", "kind"] => settings.status_watch.only_meaningful = false,
        ["hook", "started"] => settings.hooks.started = true,
        ["hook", "next"] => settings.hooks.next_iteration = true,
        ["hook", "after"] => settings.hooks.iteration_finished = true,
        ["hook", "blocked"] => settings.hooks.blocked = true,
        ["ask", "for", model] => settings.model.name = Some((*model).to_owned()),
        ["escalate", model] => settings.model.escalate = Some((*model).to_owned()),
        _ => panic!("no story can be given `{setting}`"),
    }
}

fn evidence(name: &str) -> EvidenceKind {
    match name {
        "status" => EvidenceKind::Status,
        "todo" => EvidenceKind::Todo,
        "plan" => EvidenceKind::Plan,
        "planned" => EvidenceKind::Planned,
        "promise" => EvidenceKind::Promise,
        "signal" => EvidenceKind::Signal,
        "end-phrase" => EvidenceKind::EndPhrase,
        other => panic!("no evidence is called `{other}`"),
    }
}

fn principles() -> Option<Principles> {
    samples().into_iter().find_map(|event| {
        let Event::Note(NoteEvent::PrinciplesAdopted { principles }) = event else { return None };
        Some(principles)
    })
}

pub(super) fn duration(text: &str) -> Duration {
    let at = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number = text[..at].parse().expect("a number of time");
    match &text[at..] {
        "ms" => Duration::from_millis(number),
        "s" => Duration::from_secs(number),
        "m" => Duration::from_mins(number),
        "h" => Duration::from_hours(number),
        other => panic!("no unit of time is called `{other}`"),
    }
}

//! What a model is asked beside the work: for a verdict, a review, advice, a decision.

use super::{cut_middle, section, writes};
use crate::agent::report::{Blocker, Notice, WatchSignal};
use crate::input::{CheckResult, CheckVerdict, Finding};
use crate::settings::{EvidenceKind, Settings};

/// More of a check's output than this helps nobody to judge.
const OUTPUT_MAX: usize = 4 << 10;

/// More findings than this say no more than the first of them.
const FINDINGS_MAX: usize = 50;

/// Asks whether a claim of completion is true.
pub fn verify_question(
    settings: &Settings,
    claim: &[EvidenceKind],
    checks: &[CheckResult],
    findings: &[Finding],
    blockers: &[Blocker],
    summary: &str,
) -> String {
    let planned = claim == [EvidenceKind::Planned];
    let mut text = if planned { plan_opening(settings) } else { OPENING.to_owned() };
    section(&mut text, "The goal", settings.goal.trim());
    section(&mut text, "The claim", &claimed(claim, summary));
    section(&mut text, "The checks", &checked(checks));
    if !findings.is_empty() {
        section(&mut text, "What was found in the changes", &found(findings));
    }
    if !blockers.is_empty() {
        let list: Vec<_> = blockers.iter().map(|blocker| format!("- {}", blocker.text)).collect();
        section(&mut text, "What the agent says it can't go on without", &list.join("\n"));
    }
    let judge = if planned { JUDGE_PLAN } else { JUDGE };
    section(&mut text, "Your answer", &format!("{judge}\n\n{VERDICT}"));
    text
}

const OPENING: &str = "# Is this work complete?\n\n\
    An agent worked on the goal below and claims that it is reached. Judge for yourself: look at \
    the project as it is, not at what is said about it. Change nothing.\n";

/// What was asked for is a plan: that nothing of it is built yet is as it should be.
fn plan_opening(settings: &Settings) -> String {
    let file = settings.files.list.as_deref().unwrap_or("the plan");
    format!(
        "# Is this work complete?\n\n\
         An agent was asked to plan the goal below in `{file}`, and to build nothing of it yet. It \
         claims that the plan is complete. Judge for yourself: compare the plan with the goal and \
         with the project as it is. Change nothing.\n"
    )
}

const JUDGE: &str = "\
Say yes only if every part of the goal is done and works. A part that is missing, a test that was \
weakened or switched off to pass, or a claim that the project does not bear out, is a no. If it is \
a no, name what is missing so that the next one knows what to do.";

const JUDGE_PLAN: &str = "\
Say yes only if the plan has an open box for everything that the goal wants and the project does \
not have yet, and somebody who knows only the plan and the project could build from it. A box that \
is missing, too vague to be checked, or ticked though its work is not done, is a no. If it is a \
no, name what is missing so that the next one knows what to do.";

const VERDICT: &str = "\
Explain in a few sentences. Then end with exactly one line of this form, the last of your answer:

VERDICT: yes|no - the reason in one sentence";

fn claimed(claim: &[EvidenceKind], summary: &str) -> String {
    let by: Vec<_> = claim
        .iter()
        .map(|kind| match kind {
            EvidenceKind::Status => "the status file says complete",
            EvidenceKind::Todo => "no box of the to-do list is open",
            EvidenceKind::Plan => "no box of the plan is open",
            EvidenceKind::Planned => "the plan is written",
            EvidenceKind::Promise => "the agent promises that it is complete",
            EvidenceKind::Signal => "the agent found nothing left to do, several times in a row",
            EvidenceKind::EndPhrase => "the agent ended with the phrase agreed on",
            EvidenceKind::LastWords => "the agent's last words say that it is done",
        })
        .map(|reason| format!("- {reason}"))
        .collect();
    let mut text = by.join("\n");
    if !summary.trim().is_empty() {
        let summary = cut_middle(summary.trim(), OUTPUT_MAX);
        writes(
            &mut text,
            format_args!("\n\nIts last message:\n\n<message>\n{summary}\n</message>"),
        );
    }
    text
}

fn checked(checks: &[CheckResult]) -> String {
    if checks.is_empty() {
        return "No commands are configured that could prove it.".to_owned();
    }
    let list: Vec<_> = checks
        .iter()
        .map(|check| {
            let verdict = match &check.verdict {
                CheckVerdict::Passed => "passed",
                CheckVerdict::Flaky => "failed, and passed when it was run again",
                CheckVerdict::Failed { .. } => "failed",
                CheckVerdict::TimedOut => "took too long",
                CheckVerdict::NotStarted { .. } => "could not be started",
                CheckVerdict::Interrupted => "was interrupted",
            };
            let mut text = format!("- `{}`: {verdict}", check.command);
            if !check.verdict.is_pass() && !check.output.trim().is_empty() {
                let output = cut_middle(check.output.trim(), OUTPUT_MAX);
                writes(&mut text, format_args!("\n\n<output>\n{output}\n</output>\n"));
            }
            text
        })
        .collect();
    list.join("\n")
}

fn found(findings: &[Finding]) -> String {
    let mut list: Vec<_> = findings
        .iter()
        .take(FINDINGS_MAX)
        .map(|finding| format!("- `{}`: {}", finding.path, finding.what))
        .collect();
    if let Some(more) = findings.len().checked_sub(FINDINGS_MAX).filter(|more| *more > 0) {
        list.push(format!("- [{more} more left out here]"));
    }
    list.join("\n")
}

/// Asks for a second look at what the last iteration did, and for repairs.
pub fn review_question(settings: &Settings, wish: &str) -> String {
    let wish = match wish.trim() {
        "" => {
            "Look for mistakes, for cases that were forgotten, for tests that prove nothing, and \
             for anything that does not serve the goal."
        }
        wish => wish,
    };
    let mut text = "# Review\n\n\
        An agent has just worked on the goal below. Review what it changed last, and repair what is \
        wrong. Take nothing on trust. If nothing is wrong, change nothing.\n"
        .to_owned();
    section(&mut text, "The goal", settings.goal.trim());
    section(&mut text, "What to look for", wish);
    section(
        &mut text,
        "How to work",
        "You are alone and nobody will answer: choose and go on. Never leave work in the \
         background. End with a few sentences on what you found and what you changed.",
    );
    text
}

/// Asks for a way out for an agent that is stuck.
pub fn advice_question(settings: &Settings, notice: &Notice, round: u32) -> String {
    let signal = match notice.signal {
        WatchSignal::GivingUp => "it gives up",
        WatchSignal::Asking => "it asks a question, and there is nobody to answer",
        WatchSignal::Repetition => "it makes the same tool call over and over",
        WatchSignal::ToolErrors => "its tool calls fail one after the other",
        WatchSignal::Compaction => "it fills its context again and again",
    };
    let again = match round {
        0 | 1 => String::new(),
        round => format!(
            " The same problem was answered {} before, and that did not help: advise something \
             else.",
            match round - 1 {
                1 => "once".to_owned(),
                times => format!("{times} times"),
            }
        ),
    };
    let goal = cut_middle(settings.goal.trim(), OUTPUT_MAX);
    let words = cut_middle(notice.text.trim(), OUTPUT_MAX);
    format!(
        "# A way out\n\n\
         An agent that works alone in this project is stuck: {signal}.{again}\n\n\
         <goal>\n{goal}\n</goal>\n\n\
         <words>\n{words}\n</words>\n\n\
         Look at the project as far as you need to, and change nothing. Answer with one sentence \
         that says what the real problem is, and then three to five concrete steps that the agent \
         can take by itself, without asking anybody. No introduction and no closing words.\n"
    )
}

/// Asks for a decision between principles that contradict each other.
pub fn council_question(settings: &Settings, conflict: &str) -> String {
    let goal = cut_middle(settings.goal.trim(), OUTPUT_MAX);
    let conflict = cut_middle(conflict.trim(), OUTPUT_MAX);
    format!(
        "# A decision between principles\n\n\
         An agent that works alone in this project found a conflict that it could not resolve:\n\n\
         <conflict>\n{conflict}\n</conflict>\n\n\
         What it works on:\n\n<goal>\n{goal}\n</goal>\n\n\
         Decide. First see whether both sides can be had. If they can't, constraints come before \
         objectives; after that: what the law demands, security, what the user wants, the integrity \
         of data, quality, speed, convenience, in this order. Change nothing in the project.\n\n\
         Answer with the decision in one sentence, then its reason in at most three. It holds for \
         the rest of the work.\n"
    )
}

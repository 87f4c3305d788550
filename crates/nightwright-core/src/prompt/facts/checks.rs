//! The results of the checks for the next prompt, compared with those before.

use crate::display::display_safe;
use crate::event::FeedbackSource;
use crate::failing::Failing;
use crate::failure_excerpt;
use crate::input::CheckResult;
use crate::outcome::count;
use crate::phrases;
use crate::policy::check_history::CheckHistory;
use crate::prompt::{Briefing, block, cut_middle, quoted, writes};
use crate::units::Iteration;

/// The maximum number of failing checks that are named.
pub(super) const MAX_CHECKS: usize = 5;
/// The maximum length of a command that is named, in characters.
const COMMAND_CHARS: usize = 200;
/// The number of lines shown of each failing check.
const CHECK_LINES: usize = 12;
/// The maximum length of these lines in bytes, for all checks together.
const MAX_OUTPUT: usize = 2 << 10;

/// The state of the checks before an iteration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckNews {
    /// The iteration after which they ran; 0 for before the first one.
    pub iteration: Iteration,
    pub failing: Failing,
    /// How much failed in the run of the checks before that.
    pub before: Option<Failing>,
    /// The iteration after which the least failed, and how much.
    pub best: Option<(Iteration, Failing)>,
    /// The first checks that pass now and failed before that, if there are several checks.
    pub newly_passing: Vec<String>,
    /// The first checks that fail now and passed before that.
    pub newly_failing: Vec<String>,
    /// The results of the first failing checks.
    pub failed: Vec<CheckResult>,
    /// The first flaky checks.
    pub flaky: Vec<String>,
}

impl CheckNews {
    /// The facts that the last run of the checks showed; `None` if they have not run.
    pub fn of(history: &CheckHistory) -> Option<Self> {
        let last = history.last.as_ref()?;
        let failed = last.results.iter().filter(|result| !result.verdict.is_pass());
        let newly = |passes: bool| -> Vec<String> {
            let changed = last.results.iter().filter(|result| {
                let before = history.before.as_ref().and_then(|before| before.of(&result.command));
                result.verdict.is_pass() == passes
                    && before.is_some_and(|before| before.verdict.is_pass() != passes)
            });
            let several = changed.filter(|_| last.results.len() > 1);
            several.take(MAX_CHECKS).map(|result| result.command.clone()).collect()
        };
        Some(Self {
            iteration: last.iteration,
            failing: last.failing,
            before: history.before.as_ref().map(|before| before.failing),
            best: history.best,
            newly_passing: newly(true),
            newly_failing: newly(false),
            failed: failed.take(MAX_CHECKS).cloned().collect(),
            flaky: history.flaky.iter().take(MAX_CHECKS).cloned().collect(),
        })
    }
}

/// The state of the checks now, and whether that is better than before.
pub(crate) fn checks(news: &CheckNews, briefing: &Briefing) -> String {
    let mut text = standing(news);
    // After a rejected claim, the output is among the messages.
    let is_in_feedback =
        briefing.feedback.iter().any(|entry| entry.source == FeedbackSource::Checks);
    let mut room = if is_in_feedback { 0 } else { MAX_OUTPUT };
    for result in &news.failed {
        let check = quoted(&phrases::check(result), COMMAND_CHARS);
        if room == 0 {
            writes(&mut text, format_args!("\n\n{check}."));
            continue;
        }
        let output = display_safe(&result.output);
        let lines = failure_excerpt::excerpt(&output, CHECK_LINES).join("\n");
        let shown = cut_middle(&lines, room);
        room = room.saturating_sub(shown.len());
        writes(&mut text, format_args!("\n\n{check}:\n\n{}", block(&shown)));
    }
    let hidden = news.failing.checks.saturating_sub(u32::try_from(news.failed.len()).unwrap_or(0));
    if hidden > 0 {
        writes(&mut text, format_args!("\n\n{} more failed.", count(hidden, "check")));
    }
    text
}

/// How much fails, and whether that is better than before.
fn standing(news: &CheckNews) -> String {
    let after = |iteration| match iteration {
        Iteration(0) => "before the first iteration".to_owned(),
        iteration => format!("after iteration {iteration}"),
    };
    let mut text = format!(
        "{}: {}.",
        phrases::capitalized(&after(news.iteration)),
        phrases::failing(news.failing)
    );
    if let Some(before) = news.before {
        writes(&mut text, format_args!(" Before that: {}.", phrases::failing(before)));
        match news.best {
            Some((iteration, _)) if iteration == news.iteration => {
                text.push_str(" That is the best result of this run.");
            }
            Some((iteration, least)) if news.failing.checks > 0 => {
                let (least, best) = (phrases::failing(least), after(iteration));
                writes(&mut text, format_args!(" Best so far: {least}, {best}."));
            }
            Some(_) | None => {}
        }
    }
    for (what, commands) in [
        ("Now passing", &news.newly_passing),
        ("Now failing", &news.newly_failing),
        ("Flaky, so do not rely on one result", &news.flaky),
    ] {
        let names: Vec<_> = commands.iter().map(|command| quoted(command, COMMAND_CHARS)).collect();
        if !names.is_empty() {
            writes(&mut text, format_args!(" {what}: {}.", names.join(", ")));
        }
    }
    text
}

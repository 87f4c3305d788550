//! Suggested next steps after a run, by its outcome. Every command line works as printed: a test
//! runs each of them.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use super::RunView;
use crate::outcome::{Outcome, OutcomeClass, Proof, ReachedLimit, Unchecked, count};
use crate::permissions::denial::{self, DeniedCommand};
use crate::phrases::thousands;
use crate::policy::limits::{self, Budget};
use crate::settings::{Limits, Settings};
use crate::stream::dialect::Dialect;
use crate::units::{RunId, Usd, human};

/// Maximum total length of the rules in one command, in bytes. More would not be read before they
/// are pasted.
const MAX_RULES: usize = 1_000;

/// The length of a commit id in a command, in characters.
const SHORT: usize = 10;

/// One suggested next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextStep {
    /// The step in words.
    pub text: String,
    /// The command line for the step, ready to paste into a shell.
    pub command: Option<String>,
}

impl NextStep {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), command: None }
    }

    pub(super) fn command(text: impl Into<String>, command: impl Into<String>) -> Self {
        Self { text: text.into(), command: Some(command.into()) }
    }

    /// Returns the step for a reader of the report, who need not be sent to it. The commit is the
    /// one that the run started from.
    #[must_use]
    pub fn within_report(self, start: Option<&str>) -> Self {
        let is_report =
            self.command.as_ref().is_some_and(|line| line.starts_with("nightwright report "));
        match start {
            _ if !is_report => self,
            Some(commit) => Self {
                command: Some(format!("git diff {}", commit.get(..SHORT).unwrap_or(commit))),
                ..self
            },
            None => Self { command: None, ..self },
        }
    }

    /// Formats the step as Markdown.
    pub fn markdown(&self) -> String {
        match &self.command {
            Some(command) => format!("{}: `{command}`", self.text),
            None => self.text.clone(),
        }
    }
}

impl fmt::Display for NextStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.command {
            Some(command) => write!(f, "{}: {command}", self.text),
            None => f.write_str(&self.text),
        }
    }
}

/// Quotes a string as one word of a command line, for every POSIX shell.
pub fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:@%+,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else if text.chars().any(|c| "\"$`\\!".contains(c)) {
        format!("'{}'", text.replace('\'', "'\\''"))
    } else {
        format!("\"{text}\"")
    }
}

impl RunView {
    /// Returns the suggested next steps for the run's outcome.
    pub(super) fn next_steps(&self, run: &RunId) -> Vec<NextStep> {
        if self.is_only_the_gate() {
            return self.after_judgement();
        }
        let resume = self.resume_command(run);
        let Some(finished) = &self.finished else {
            return vec![NextStep::command("if the run crashed, resume it", resume)];
        };
        let then =
            |first: &str| vec![NextStep::command(format!("{first}, then continue"), &*resume)];
        let report = NextStep::command("review the changes", format!("nightwright report {run}"));
        match &finished.outcome {
            Outcome::Completed { proof: Proof::Checks, .. } => vec![report],
            Outcome::Completed { proof: Proof::Model | Proof::None, unchecked } => {
                without_proof(report, *unchecked)
            }
            Outcome::MaxIterations { .. }
            | Outcome::MaxCost { .. }
            | Outcome::MaxDuration { .. }
            | Outcome::MaxTokens { .. } => self.after_limit(run, &resume),
            Outcome::Stagnated { .. } | Outcome::NoChanges { .. } => {
                self.or_allow(self.after_no_progress(&resume), &resume)
            }
            Outcome::Blocked { needs } => {
                let named = |refused: &DeniedCommand| needs.contains(&refused.advice());
                let step = self.step_that_allows(named, &resume);
                step.map_or_else(|| then("provide what the agent needs"), |step| vec![step])
            }
            Outcome::Impossible { .. } => {
                let change = "change the task or its checks, then continue";
                let change = NextStep::command(change, resume);
                if self.has_changes() { vec![report, change] } else { vec![change] }
            }
            Outcome::Unverified { .. } => {
                self.or_allow(then("fix what the verification found"), &resume)
            }
            Outcome::Stopped | Outcome::Interrupted => {
                vec![NextStep::command("resume the run", resume)]
            }
            Outcome::Failed { .. } => self.or_allow(then("fix the cause of the failure"), &resume),
            Outcome::ConsecutiveErrors { .. } => vec![NextStep::command("retry", resume)],
            Outcome::AllIterationsFailed { .. } => then("fix the cause of the failures"),
            Outcome::Auth { why } => then(&self.access(why)),
            Outcome::BadAgent { why } => {
                let hand =
                    format!("run `{}` manually and fix the problems that it reports", self.agent());
                let other_model = self.step_to_another_model(why, &resume);
                then(&hand).into_iter().chain(other_model).collect()
            }
            Outcome::ChecksCannotRun { .. } => after_checks_cannot_run(resume),
            Outcome::CheckNeedsHost { settings, .. } => after_check_needs_host(settings),
            Outcome::HookAbort { .. } => {
                // A run keeps the hooks that it started with.
                let new_run = "if the hook itself is wrong, fix it and start a new run";
                [then("fix the problem that the hook reports"), vec![NextStep::text(new_run)]]
                    .concat()
            }
            Outcome::LimitWaitTooLong { .. } => {
                vec![NextStep::command("after the limit resets, continue", resume)]
            }
            Outcome::DiskFull { .. } => then("free some disk space"),
            Outcome::ProjectUnresponsive { .. } => {
                then("make sure that the file system of the project responds")
            }
            Outcome::SandboxFailed { .. } => vec![
                NextStep::command("see what is wrong", "nightwright sandbox test".to_owned()),
                NextStep::command("then continue", resume),
            ],
            Outcome::JournalFailed { .. } => then("make sure that the disk is writable"),
            // The agent, or a program that it started, wrote to the run folder.
            Outcome::JournalDamaged { .. } => vec![
                NextStep::text("review the project before you trust the work of this run"),
                NextStep::text("then start a new run"),
            ],
        }
    }

    /// Whether the run changed a file or made a commit.
    fn has_changes(&self) -> bool {
        self.files_changed > 0 || self.totals.commits > 0
    }

    /// Suggests another model if the agent refused this one.
    fn step_to_another_model(&self, why: &str, resume: &str) -> Option<NextStep> {
        let command = format!("{resume} --model sonnet");
        (why.contains("model") && self.knows_models())
            .then(|| NextStep::command("or choose another model", command))
    }

    /// Suggests to raise the limit. Without the denied tools, the raised limit could be spent on
    /// the same denials. The rule for every command is only the second choice.
    fn after_limit(&self, run: &RunId, resume: &str) -> Vec<NextStep> {
        let raise = NextStep::command("raise the limit and continue", resume);
        let mut steps = match self.step_that_allows(|_| true, resume) {
            Some(mut step) if self.open_rules(|_| true).contains("Bash") => {
                step.text.insert_str(0, "or raise the limit, ");
                vec![raise, step]
            }
            Some(mut step) => {
                step.text.insert_str(0, "raise the limit, ");
                vec![step, NextStep { text: format!("or only {}", raise.text), ..raise }]
            }
            None => vec![raise],
        };
        steps.push(NextStep::command("read the log", format!("nightwright log {run}")));
        steps
    }

    /// Suggests edits to files that the agent reads in every iteration, because a run keeps its
    /// goal.
    fn after_no_progress(&self, resume: &str) -> Vec<NextStep> {
        let facts = self.facts.as_ref();
        let notes = facts.and_then(|facts| facts.notes_file.as_deref());
        let list = facts.and_then(|facts| facts.list_file.as_deref());
        let start = match facts.and_then(|facts| facts.task.as_deref()) {
            Some(_) => "make the task's INSTRUCTIONS.md more precise and start a new run",
            None => "start a new run with a more precise goal",
        };
        let first = match (notes, list) {
            (Some(file), _) => format!("add guidance for the agent to `{file}`, then continue"),
            (None, Some(file)) => format!("make `{file}` more precise, then continue"),
            (None, None) => {
                return vec![
                    NextStep::text(start),
                    NextStep::command("or continue with the same goal", resume),
                ];
            }
        };
        vec![NextStep::command(first, resume), NextStep::text(format!("or {start}"))]
    }

    /// Adds the step that allows the denied tools, if any.
    fn or_allow(&self, mut steps: Vec<NextStep>, resume: &str) -> Vec<NextStep> {
        if let Some(mut step) = self.step_that_allows(|_| true, resume) {
            step.text.insert_str(0, "or ");
            steps.push(step);
        }
        steps
    }

    /// Returns the step that allows the tools that were denied and are not yet allowed; `None` if
    /// there are none.
    fn step_that_allows(
        &self,
        which: impl Fn(&DeniedCommand) -> bool,
        resume: &str,
    ) -> Option<NextStep> {
        let mut open = self.open_rules(which);
        let needed = open.len();
        // The rule `Bash` allows every command, so it must not hide among harmless rules. Nor do
        // rules for commands that change more than the project: the person reads those one by one.
        let every = open.remove("Bash") && open.is_empty();
        if every {
            let rule = format!("{resume} --allowed-tools {}", denial::quoted("Bash"));
            return Some(NextStep::command("allow any command and continue", rule));
        }
        open.retain(|rule| !denial::is_far_reaching(rule));
        let mut options = String::new();
        let mut given = 0;
        for rule in &open {
            let option = format!(" --allowed-tools {}", denial::quoted(rule));
            if options.len() + option.len() <= MAX_RULES {
                options.push_str(&option);
                given += 1;
            }
        }
        let text = if given == needed {
            "allow the denied commands and continue".to_owned()
        } else {
            format!(
                "allow {given} of {needed} denied commands and continue (`nightwright status` shows \
                 how to allow the others)"
            )
        };
        (given > 0).then(|| NextStep::command(text, format!("{resume}{options}")))
    }

    /// Returns the rules for the denied tools that are not yet allowed.
    fn open_rules(&self, which: impl Fn(&DeniedCommand) -> bool) -> BTreeSet<&str> {
        let refused = self.denied.iter().filter(|refused| which(refused));
        let rules = refused.filter_map(|refused| refused.rule.as_deref());
        let is_allowed = |rule: &str| {
            let is = |allowed: &String| allowed == rule || allowed == "Bash" && is_command(rule);
            self.allowed.iter().any(is)
        };
        // Several commands can need the same rule.
        rules.filter(|rule| !is_allowed(rule)).collect()
    }

    /// Returns the command that resumes this run and raises every limit that would end it at once.
    pub fn resume_command(&self, run: &RunId) -> String {
        let mut settings = Settings { limits: self.limits.clone(), ..Settings::default() };
        let mut command = format!("nightwright resume {run}");
        let mut raise = |limits: &mut Limits, limit: &Outcome| {
            let raised = self.raise(limits, limit)?;
            command = format!("{command} --{} {}", raised.0, raised.1);
            Some(())
        };
        if let Some(finished) = &self.finished {
            raise(&mut settings.limits, &finished.outcome);
        }
        while let Some(limit) = self.exhausted(&settings) {
            if raise(&mut settings.limits, &limit).is_none() {
                break;
            }
        }
        command
    }

    /// The amount used of the resource that this limit restricts: `3 iterations`.
    pub fn used_of(&self, limit: ReachedLimit) -> String {
        let totals = &self.totals;
        match limit {
            ReachedLimit::Iterations(_) => count(totals.iterations, "iteration"),
            ReachedLimit::Cost(_) => totals.cost.exact(),
            ReachedLimit::Duration(_) => human(totals.duration),
            ReachedLimit::Tokens(_) => format!("{} tokens", thousands(totals.tokens.counted())),
        }
    }

    fn exhausted(&self, settings: &Settings) -> Option<Outcome> {
        let used = limits::Consumed {
            iterations: self.totals.iterations,
            cost: self.totals.cost,
            tokens: self.totals.tokens.counted(),
            active: self.totals.duration,
        };
        match limits::before_iteration(settings, used) {
            Budget::None(limit) => Some(limit),
            Budget::Work(_) | Budget::WrapUp(..) => None,
        }
    }

    /// Sets a limit to twice its value or the amount used, whichever is larger. Returns the option
    /// and its value.
    fn raise(&self, limits: &mut Limits, limit: &Outcome) -> Option<(&'static str, String)> {
        let totals = &self.totals;
        Some(match limit.reached_limit()? {
            ReachedLimit::Iterations(limit) => {
                let new = totals.iterations.max(limit).max(1).saturating_mul(2);
                limits.max_iterations = Some(new);
                ("max-iterations", new.to_string())
            }
            ReachedLimit::Cost(limit) => {
                let most = totals.cost.max(limit);
                let cents = ((most + most).dollars() * 100.0).ceil();
                let new = Usd::from_dollars(cents / 100.0)?;
                limits.max_cost = Some(new);
                ("max-cost", format!("{:.2}", new.dollars()))
            }
            ReachedLimit::Duration(limit) => {
                let new = totals.duration.max(limit).saturating_mul(2);
                let minutes = new.as_secs().div_ceil(60);
                limits.max_duration = Some(Duration::from_secs(minutes * 60));
                ("max-duration", format!("{minutes}m"))
            }
            ReachedLimit::Tokens(limit) => {
                let new = totals.tokens.counted().max(limit).max(1).saturating_mul(2);
                limits.max_tokens = Some(new);
                ("max-tokens", new.to_string())
            }
        })
    }

    /// Next steps after a run of the gate only, which cannot be resumed.
    fn after_judgement(&self) -> Vec<NextStep> {
        let task = self.facts.as_ref().and_then(|facts| facts.task.as_deref()).unwrap_or("TASK");
        let verify = format!("nightwright verify {task}");
        match self.finished.as_ref().map(|finished| finished.outcome.class()) {
            Some(OutcomeClass::Completed) => vec![NextStep::text("review the changes")],
            Some(OutcomeClass::Unverified) => {
                vec![NextStep::command(
                    "fix what the verification found, then verify again",
                    verify,
                )]
            }
            Some(_) | None => vec![NextStep::command("verify again", verify)],
        }
    }

    /// Returns the step that restores the agent's access to its provider.
    fn access(&self, why: &str) -> String {
        // A login does not help if the agent uses an API key.
        if why.contains("API key") {
            "set `ANTHROPIC_API_KEY` to a valid key, or unset it".to_owned()
        } else if why.contains("redit balance") {
            "add credit to the account".to_owned()
        } else {
            format!("run `{}` manually and log in", self.agent())
        }
    }

    /// The agent command as the user types it. For a rehearsal, this is the default agent.
    fn agent(&self) -> &str {
        let command = self.facts.as_ref().and_then(|facts| facts.agent_command.as_deref());
        command.unwrap_or(Dialect::Claude.name())
    }

    /// Whether nightwright can select the model of the agent program.
    fn knows_models(&self) -> bool {
        self.facts.as_ref().is_none_or(|facts| facts.agent_command.is_none())
    }
}

/// Suggests how to judge a completion that no check proves.
fn without_proof(report: NextStep, unchecked: Option<Unchecked>) -> Vec<NextStep> {
    match next_check(unchecked) {
        Some(check) => vec![report, NextStep::text(check)],
        None => {
            vec![NextStep::command("review the plan, then implement it", "nightwright build")]
        }
    }
}

fn after_checks_cannot_run(resume: String) -> Vec<NextStep> {
    let install = "install what the check needs, or change the check, and start again";
    let skip = "or continue without a baseline (like --no-baseline)";
    vec![NextStep::text(install), NextStep::command(skip, resume)]
}

fn after_check_needs_host(settings: &[String]) -> Vec<NextStep> {
    let set = settings.iter().map(|line| {
        let (key, value) = line.split_once(" = ").unwrap_or((line, ""));
        // The command takes a text without its quotes.
        let value =
            value.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(value);
        let command = format!("nightwright config set {key} {}", shell_word(value));
        NextStep::command(format!("to allow that, set `{line}`"), command)
    });
    set.chain([NextStep::text("then start the run again")]).collect()
}

/// Whether a rule applies to a command.
fn is_command(rule: &str) -> bool {
    rule.starts_with("Bash(")
}

/// Suggests how to verify the next run; `None` after a plan.
fn next_check(unchecked: Option<Unchecked>) -> Option<&'static str> {
    match unchecked {
        Some(Unchecked::NoChecks) | None => {
            Some("no check covers the changes; add one to the next run with --verify")
        }
        Some(Unchecked::PassedBefore | Unchecked::UnknownBefore) => {
            Some("use --verify in the next run to add a check that fails until the work is done")
        }
        Some(Unchecked::Plan) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_does_not_recommend_itself() {
        let step = || NextStep::command("review the changes", "nightwright report R");
        let head = "41ead9c0123456789";
        assert_eq!(
            step().within_report(Some(head)).markdown(),
            "review the changes: `git diff 41ead9c012`"
        );
        assert_eq!(step().within_report(None).markdown(), "review the changes");
        let other = NextStep::command("retry", "nightwright resume R");
        assert_eq!(other.clone().within_report(Some(head)), other);
    }

    #[test]
    fn a_word_for_a_shell_is_quoted_only_where_it_has_to_be() {
        for (text, word) in [
            ("20261115-233412-7f3a", "20261115-233412-7f3a"),
            ("Bash(npm install:*)", "\"Bash(npm install:*)\""),
            ("", "\"\""),
            ("it's", "\"it's\""),
            ("$HOME", "'$HOME'"),
            ("it's $5", "'it'\\''s $5'"),
        ] {
            assert_eq!(shell_word(text), word);
        }
    }
}

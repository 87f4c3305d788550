//! What the configuration means for a run: every key that has a field in the settings sets it.

use nightwright_core::settings::{
    Agent, Commands, Completion, Council, Deadlines, EvidenceKind, Extras, Limits, Model, Retry,
    Settings, StatusWatch, Verify,
};

use super::resolved::ResolvedConfig;

/// Stands for our own words where others can be given.
const BUILT_IN: &str = "builtin";

impl ResolvedConfig {
    /// Sets every field that a key stands for. What the mode says of evidence has to be there
    /// already; a limit that nobody sets is left as it is.
    pub fn apply(&self, settings: &mut Settings) {
        put(&mut settings.mode, self.get_text("mode").map(str::to_owned));
        put(&mut settings.notes_file, self.get_optional("notes.file"));
        put(&mut settings.delay, self.get_duration("delay"));
        put(&mut settings.hooks.timeout, self.get_duration("hooks.timeout"));
        put(&mut settings.progress.threshold, self.get_count("stagnation.threshold"));
        self.extras(&mut settings.extras);
        self.limits(&mut settings.limits);
        self.retry(&mut settings.retry);
        self.completion(&mut settings.completion);
        self.verify(&mut settings.verify);
        self.agent(&mut settings.agent);
        self.model(&mut settings.model);
        self.deadlines(&mut settings.deadlines);
        self.commands(&mut settings.commands);
        self.status_watch(&mut settings.status_watch);
    }

    fn extras(&self, extras: &mut Extras) {
        put(&mut extras.watchdog, self.word("watchdog.respond"));
        put(&mut extras.review, self.get_optional("review.prompt"));
        // Our own words are chosen by their name.
        if extras.review.as_deref() == Some(BUILT_IN) {
            extras.review = Some(String::new());
        }
        put(
            &mut extras.council,
            self.get_bool("council.enabled").map(|on| if on { Council::On } else { Council::Off }),
        );
    }

    fn limits(&self, limits: &mut Limits) {
        let iterations = self.get_count("limits.max_iterations");
        put(&mut limits.max_iterations, iterations.map(|max| Some(max).filter(|max| *max > 0)));
        put(&mut limits.max_cost, self.get_money("limits.max_cost").map(Some));
        put(&mut limits.max_tokens, self.get_tokens("limits.max_tokens").map(Some));
        put(&mut limits.max_duration, self.get_duration("limits.max_duration").map(Some));
        put(&mut limits.reserve, self.get_percent("limits.reserve"));
        put(&mut limits.max_wait, self.get_duration("limits.max_wait"));
        let quota = &mut limits.quota;
        put(&mut quota.five_hour, self.get_percent("limits.quota.five_hour").map(Some));
        put(&mut quota.seven_day, self.get_percent("limits.quota.seven_day").map(Some));
    }

    fn retry(&self, retry: &mut Retry) {
        put(&mut retry.max_retries, self.get_count("retry.max_retries"));
        put(&mut retry.delay, self.get_duration("retry.delay"));
        put(&mut retry.max_consecutive_errors, self.get_count("retry.max_consecutive_errors"));
    }

    fn completion(&self, completion: &mut Completion) {
        put(&mut completion.signal, self.get_text("completion.signal").map(str::to_owned));
        put(&mut completion.signal_threshold, self.get_count("completion.threshold"));
        put(&mut completion.end_phrase, self.get_optional("completion.end_phrase"));
        if self.get_bool("completion.detect") == Some(false) {
            completion.evidence.clear();
        } else if completion.end_phrase.is_some()
            && !completion.evidence.contains(&EvidenceKind::EndPhrase)
        {
            completion.evidence.push(EvidenceKind::EndPhrase);
        }
    }

    fn verify(&self, verify: &mut Verify) {
        put(&mut verify.commands, self.get_list("verify.commands"));
        put(&mut verify.pass_environment, self.get_list("verify.pass_env"));
        put(&mut verify.timeout, self.get_duration("verify.timeout"));
        let baseline = self.get_duration("verify.baseline").map(Some);
        let off = self.get_text("verify.baseline").map(|_| None);
        put(&mut verify.baseline, baseline.or(off));
        put(&mut verify.rerun, self.word("verify.rerun"));
        put(&mut verify.model, self.word("verify.model"));
        put(&mut verify.max_cost, self.get_money("verify.max_cost"));
        put(&mut verify.tamper, self.word("verify.tamper"));
        put(&mut verify.depth, self.word("verify.depth"));
        put(&mut verify.model_name, self.get_optional("verify.model_name"));
        verify.model_timeout = self.get_duration("verify.model_timeout").or(verify.model_timeout);
    }

    fn agent(&self, agent: &mut Agent) {
        put(&mut agent.command, self.get_optional("agent.command"));
        put(&mut agent.arguments, self.get_list("agent.args"));
        put(&mut agent.pass_environment, self.get_list("agent.pass_env"));
        put(&mut agent.permissions, self.word("agent.permissions"));
        put(&mut agent.allowed_tools, self.get_list("agent.allowed_tools"));
        put(&mut agent.disallowed_tools, self.get_list("agent.disallowed_tools"));
        put(&mut agent.sources, self.get_list("agent.settings"));
        put(&mut agent.max_output_tokens, self.get_count("agent.max_output_tokens").map(Some));
        // The values may be secret: the shell asks for them, and they are not recorded.
        agent.environment = self.environment_of_agent().into_keys().collect();
    }

    fn model(&self, model: &mut Model) {
        put(&mut model.name, self.get_optional("model.name"));
        put(&mut model.escalate, self.get_optional("model.escalate"));
        put(&mut model.fallback, self.get_optional("model.fallback"));
        put(&mut model.max_turns, self.get_count("agent.max_turns").map(Some));
    }

    fn deadlines(&self, deadlines: &mut Deadlines) {
        put(&mut deadlines.start, self.get_duration("deadlines.start"));
        put(&mut deadlines.idle, self.get_duration("deadlines.idle"));
        put(&mut deadlines.tool, self.get_duration("deadlines.tool"));
        put(&mut deadlines.heartbeat, self.get_duration("deadlines.heartbeat"));
        put(&mut deadlines.after_result, self.get_duration("deadlines.after_result"));
        let attempt = self.get_duration("deadlines.attempt");
        put(&mut deadlines.attempt, attempt.map(|time| Some(time).filter(|time| !time.is_zero())));
    }

    fn status_watch(&self, watch: &mut StatusWatch) {
        put(&mut watch.enabled, self.get_bool("status_watch.enabled"));
        put(&mut watch.debounce, self.get_duration("status_watch.debounce"));
        put(&mut watch.only_meaningful, self.get_bool("status_watch.only_meaningful"));
    }

    fn commands(&self, commands: &mut Commands) {
        put(&mut commands.test, self.get_optional("commands.test"));
        put(&mut commands.build, self.get_optional("commands.build"));
        put(&mut commands.lint, self.get_optional("commands.lint"));
    }
}

fn put<T>(field: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *field = value;
    }
}

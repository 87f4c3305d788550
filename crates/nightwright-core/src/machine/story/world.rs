//! The world of a story: tracks pending requests and turns words into inputs.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;

use super::agent::{blocker, denial, notice, pulse, ready, report};
use super::given::{apply, duration};
use crate::effect::{Alarm, Effect};
use crate::event::{StopSource, StopWhen};
use crate::evidence;
use crate::input::{
    CheckReport, CheckResult, CheckVerdict, Checklist, Control, Disk, HookAnswer, Input,
    Inspection, InspectionTimeout, NotInspected, Prepared, ResumeData, ResumePolicy, StatusReport,
    Survey, TamperFinding, TaskProgress, TimerKey, WorkspaceMark,
};
use crate::machine::Machine;
use crate::sandbox::hints::{HostNeeds, Need};
use crate::settings::{ChangeSource, SettingChange};
use crate::stream::news::{
    AgentNews, Answer, AttemptReport, QuotaNews, QuotaWindow, TurnEnd, Verdict, WatchdogSignal,
};
use crate::stream::outcome::{AttemptOutcome, CancelReason, ProcessExit};
use crate::test_counts::TestCounts;
use crate::units::{AttemptId, CallId, Fingerprint, Now, Ticket};

/// The requests that the world has not answered yet.
#[derive(Default)]
pub(super) struct PendingRequests {
    hook: Option<Ticket>,
    prepare: Option<Ticket>,
    survey: Option<Ticket>,
    checks: Option<Ticket>,
    changes: Option<Ticket>,
    attempt: Option<AttemptId>,
    call: Option<CallId>,
    cut: Option<CancelReason>,
    timers: BTreeMap<TimerKey, Duration>,
    /// The wall-clock time that each timer was set to.
    dates: BTreeMap<TimerKey, Timestamp>,
    tree: String,
    status: u32,
}

impl PendingRequests {
    pub(super) fn forget(&mut self) {
        let (tree, status) = (std::mem::take(&mut self.tree), self.status);
        *self = Self { tree, status, ..Self::default() };
    }

    /// Writes a status file before the run or between two surveys.
    pub(super) fn write_status(&mut self) {
        self.status += 1;
    }

    pub(super) fn is_asked_to_prepare(&self) -> bool {
        self.prepare.is_some()
    }

    pub(super) fn is_waiting_for_timer(&self) -> bool {
        self.next_timer(|key| matches!(key, TimerKey::Delay(_) | TimerKey::Wait(_))).is_some()
    }

    pub(super) fn notice(&mut self, effect: &Effect, now: Now) {
        match effect {
            Effect::RunHook { ticket, .. } => self.hook = Some(*ticket),
            Effect::Prepare { ticket, .. } => self.prepare = Some(*ticket),
            Effect::Survey { ticket, .. } => self.survey = Some(*ticket),
            Effect::RunChecks { ticket, .. } => self.checks = Some(*ticket),
            Effect::InspectChanges { ticket } => self.changes = Some(*ticket),
            Effect::StartAttempt(request) => {
                self.attempt = Some(request.attempt);
                self.cut = None;
            }
            Effect::StartCall(request) => self.call = Some(request.call),
            Effect::CancelAttempt { why, .. } | Effect::CancelCall { why, .. } => {
                self.cut = Some(*why);
            }
            Effect::SetTimer { key, alarm } => {
                let at = match alarm {
                    Alarm::After(after) => now.mono + *after,
                    Alarm::At(at) => {
                        self.dates.insert(*key, *at);
                        now.mono + now.until(*at)
                    }
                };
                self.timers.insert(*key, at);
            }
            Effect::ClearTimer { key } => {
                self.timers.remove(key);
            }
            Effect::Nudge { .. }
            | Effect::CloseInput { .. }
            | Effect::CancelChecks { .. }
            | Effect::Finish => {}
        }
    }

    fn next_timer(&self, which: impl Fn(&TimerKey) -> bool) -> Option<(TimerKey, Duration)> {
        let timers = self.timers.iter().filter(|(key, _)| which(key));
        timers.map(|(key, at)| (*key, *at)).min_by_key(|(_, at)| *at)
    }

    /// Returns the input for a line; `None` if only time passes.
    pub(super) fn input(&mut self, line: &str, now: &mut Now, machine: &Machine) -> Option<Input> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let text = line.split_once(": ").map_or("", |(_, text)| text).to_owned();
        if only_passes(&words, now) {
            return None;
        }
        if let Some(control) = control(&words, &text) {
            return Some(Input::Control(control));
        }
        Some(match words.as_slice() {
            ["start"] => Input::Start,
            ["timer"] => {
                self.fire(now, |key| matches!(key, TimerKey::Delay(_) | TimerKey::Wait(_)))
            }
            ["deadline"] => {
                self.fire(now, |key| matches!(key, TimerKey::Attempt(_) | TimerKey::Call(_)))
            }
            ["project", "hangs"] => self.fire(now, |key| matches!(key, TimerKey::Project(_))),
            ["prepared", tree, rest @ ..] => {
                let prepared = self.prepared(tree, rest);
                Input::Prepared(self.prepare.take()?, prepared)
            }
            ["status", status] => Input::Status(status_of(status, &mut Vec::new())?),
            ["surveyed", tree, rest @ ..] => {
                (*tree).clone_into(&mut self.tree);
                let survey = Box::new(self.survey_of(rest));
                Input::Surveyed(self.survey.take()?, survey)
            }
            ["agent", rest @ ..] => {
                let news = self.agent_news(rest, *now);
                Input::Agent(machine.state().last_attempt, news)
            }
            ["stale", "agent", id, "finishes", rest @ ..] => {
                let report = Box::new(report("finished", rest, *now));
                Input::Agent(AttemptId(id.parse().expect("id")), AgentNews::Exited(report))
            }
            ["checks", how @ ("fail" | "fail-inside"), output @ ..] if !output.is_empty() => {
                self.checks(&output.join(" "), how)?
            }
            ["checks", "pass", tests] => self.checks(tests, "pass")?,
            ["checks", how] => self.checks("", how)?,
            ["inspected", "until", "git", "was", "killed", files @ ..] => {
                let files = files.iter().map(|file| (*file).to_owned()).collect::<Vec<_>>();
                let what = match files[..] {
                    [] => NotInspected::Everything,
                    _ => NotInspected::Files(files),
                };
                let why = "`git cat-file` did not finish within 1m 00s and was killed".to_owned();
                let timeouts = vec![InspectionTimeout { why, what }];
                let inspection = Inspection { timeouts, ..Inspection::default() };
                Input::Inspected(self.changes.take()?, Box::new(inspection))
            }
            ["inspected", "clean"] => Input::Inspected(self.changes.take()?, Box::default()),
            ["inspected", path] => {
                let finding = TamperFinding {
                    path: (*path).to_owned(),
                    what: "a test was deleted".to_owned(),
                };
                let inspection = Inspection { findings: vec![finding], ..Inspection::default() };
                Input::Inspected(self.changes.take()?, Box::new(inspection))
            }
            ["call", "ready", rest @ ..] => Input::Call(self.call?, AgentNews::Ready(ready(rest))),
            ["call", "fails", outcome, rest @ ..] => self.call_over(report(outcome, rest, *now))?,
            ["call", answer, rest @ ..] => self.call_says(answer, text, rest, *now)?,
            ["hook", rest @ ..] => Input::Hook(self.hook.take()?, hook_answer(rest)),
            ["journal", "fails"] => {
                Input::JournalFailed { why: "no space left on device".to_owned() }
            }
            ["journal", "damaged"] => {
                Input::JournalDamaged { why: "8192 bytes instead of 7311".to_owned() }
            }
            ["continue", rest @ ..] => Input::Resume(salvage(rest, machine, *now)),
            _ => panic!("a story has no words for `{line}`"),
        })
    }

    /// Returns the news for an action of the agent.
    fn agent_news(&self, words: &[&str], now: Now) -> AgentNews {
        match words {
            ["ready", rest @ ..] => AgentNews::Ready(ready(rest)),
            ["pulse", rest @ ..] => AgentNews::Pulse(pulse(rest)),
            ["asks", rest @ ..] => {
                let noticed = Some(notice(WatchdogSignal::Asking, "which database"));
                let how = match rest {
                    [] => TurnEnd::Well,
                    ["after", "an", "error"] => TurnEnd::Failed,
                    ["before", "it", "reads", "on"] => TurnEnd::Queued,
                    other => panic!("an agent cannot ask {other:?}"),
                };
                AgentNews::TurnEnded { how, noticed }
            }
            ["turn", "ends"] => AgentNews::TurnEnded { how: TurnEnd::Well, noticed: None },
            ["turn", "ends", "before", "it", "reads", "on"] => {
                AgentNews::TurnEnded { how: TurnEnd::Queued, noticed: None }
            }
            ["denied", tool, input @ ..] => AgentNews::Denied(denial(tool, &input.join(" "))),
            ["repeats", "itself"] => {
                AgentNews::Noticed(notice(WatchdogSignal::Repetition, "the same call"))
            }
            ["compacts"] => AgentNews::Noticed(notice(WatchdogSignal::Compaction, "compaction")),
            ["stumbles"] => AgentNews::Noticed(notice(WatchdogSignal::ToolErrors, "no such file")),
            ["login", "refused"] => AgentNews::LoginRefused,
            ["quota", used] => {
                let quota = QuotaNews {
                    window: QuotaWindow::FiveHour,
                    used: used.parse().expect("percent"),
                    resets_at: Some(now.plus(Duration::from_hours(1))),
                };
                AgentNews::Quota(quota)
            }
            ["exits"] => {
                let outcome = self.cut.map_or(AttemptOutcome::Interrupted, outcome_of_cut);
                let report = Box::new(AttemptReport::bare(outcome));
                AgentNews::Exited(report)
            }
            ["finishes", rest @ ..] => {
                let report = Box::new(report("finished", rest, now));
                AgentNews::Exited(report)
            }
            ["fails", outcome, rest @ ..] => {
                let report = Box::new(report(outcome, rest, now));
                AgentNews::Exited(report)
            }
            _ => panic!("an agent cannot {words:?}"),
        }
    }

    fn fire(&mut self, now: &mut Now, which: impl Fn(&TimerKey) -> bool) -> Input {
        let (key, at) = self.next_timer(which).expect("a timer is set");
        self.timers.remove(&key);
        let wait = at.saturating_sub(now.mono);
        let wait = self.dates.remove(&key).map_or(wait, |date| now.until(date));
        pass(now, wait);
        Input::Timer(key)
    }

    /// Ends a call: `yes`, `no: WHY`, `says: WORDS`, `unclear`.
    fn call_says(&mut self, how: &str, text: String, rest: &[&str], now: Now) -> Option<Input> {
        let answer = match how {
            "yes" | "no:" => Some(Answer::Verdict(Verdict {
                complete: how == "yes",
                reason: text,
                missing: Vec::new(),
            })),
            "says:" => Some(Answer::Text { text }),
            "unclear" => None,
            other => panic!("a call cannot {other}"),
        };
        let cost = match answer_cost(rest) {
            "" => "$0.05",
            cost => cost,
        };
        self.call_over(AttemptReport { answer, ..report("finished", &[cost], now) })
    }

    fn call_over(&mut self, report: AttemptReport) -> Option<Input> {
        Some(Input::Call(self.call.take()?, AgentNews::Exited(Box::new(report))))
    }

    /// Takes the pending request for a tamper inspection.
    pub(super) fn take_inspection(&mut self) -> Option<Ticket> {
        self.changes.take()
    }

    fn checks(&mut self, output: &str, how: &str) -> Option<Input> {
        let verdict = match how {
            "pass" | "pass-and-change" | "pass-and-write" => CheckVerdict::Passed,
            "flaky" => CheckVerdict::Flaky,
            "fail" | "fail-inside" | "fail-everywhere" => {
                CheckVerdict::Failed { how: ProcessExit::Code(1) }
            }
            "missing" => CheckVerdict::NotStarted { why: "`make` is not in PATH".to_owned() },
            "time-out" => CheckVerdict::TimedOut,
            "interrupted" => CheckVerdict::Interrupted,
            other => panic!("checks cannot {other}"),
        };
        let mut report = CheckReport::default();
        if how == "pass-and-change" {
            self.tree.push('+');
            report.changed = vec!["src/lib.rs".to_owned()];
        }
        if how == "pass-and-write" {
            report.outputs =
                ["coverage.xml", "results.json", "target/"].map(str::to_owned).to_vec();
            report.rewritten = vec!["results.json".to_owned()];
        }
        let result = CheckResult {
            command: "make test".to_owned(),
            verdict,
            output: output.to_owned(),
            tests: tests_of(output),
            log: None,
            duration: Duration::from_secs(1),
            outside: false,
        };
        match how {
            "fail-inside" => {
                let (command, needs) = (result.command.clone(), vec![need_of(output)]);
                report.host_needs = vec![HostNeeds { command, needs }];
                let verdict = CheckVerdict::Passed;
                report.outside = vec![CheckResult { verdict, outside: true, ..result.clone() }];
            }
            "fail-everywhere" => {
                report.outside = vec![CheckResult { outside: true, ..result.clone() }];
            }
            _ => {}
        }
        report.results = vec![result];
        // Before the first iteration, the project is in the state in which stories begin.
        let tree = if self.tree.is_empty() { "A" } else { &self.tree };
        report.fingerprint = Fingerprint(tree.to_owned());
        Some(Input::Checked(self.checks.take()?, report))
    }

    fn mark(&self) -> WorkspaceMark {
        WorkspaceMark {
            fingerprint: Fingerprint(self.tree.clone()),
            head: None,
            head_tree: None,
            status: (self.status > 0).then(|| self.status.to_string()),
        }
    }

    /// Parses `same` or a tree, then `boxes OPEN/DONE`, `status {the:file}` or the free disk space.
    fn prepared(&mut self, tree: &str, rest: &[&str]) -> Prepared {
        if tree == "same" {
            return Prepared { mark: None, checklist: None, status: None, disk: disk_of(rest) };
        }
        tree.clone_into(&mut self.tree);
        let mark = Some(self.mark());
        let mut prepared = Prepared { mark, checklist: None, status: None, disk: None };
        match rest {
            ["boxes", checklist] => prepared.checklist = Some(boxes_of(checklist)),
            ["status", status] => prepared.status = status_of(status, &mut Vec::new()),
            disk => prepared.disk = disk_of(disk),
        }
        prepared
    }

    /// Parses `status complete|failed|worked|idle|blocked|stale|{the:file}`, `old-status
    /// {the:file}`, `boxes OPEN/DONE`, `tree T`, `files N`, `commits N`, `beside unknown`.
    fn survey_of(&mut self, words: &[&str]) -> Survey {
        let mut status = None;
        let mut checklist = None;
        let mut tree = None;
        let mut warnings = Vec::new();
        let mut files_changed = 1;
        let mut known = true;
        let mut commits = 0;
        for pair in words.chunks(2) {
            let [key, value] = *pair else { panic!("survey words come in pairs: {words:?}") };
            match key {
                "status" => {
                    // A stale status was not written in this iteration.
                    self.status += u32::from(value != "stale");
                    status = status_of(value, &mut warnings);
                }
                "old-status" => status = status_of(value, &mut warnings),
                "boxes" => checklist = Some(boxes_of(value)),
                "tree" => tree = Some(value.to_owned()),
                "files" => files_changed = value.parse().expect("a number"),
                "commits" => commits = value.parse().expect("a number"),
                "beside" => known = value != "unknown",
                other => panic!("a survey does not know `{other}`"),
            }
        }
        let mut mark = self.mark();
        mark.head_tree = tree;
        let files_changed_outside_plan = known.then_some(u32::saturating_sub(files_changed, 1));
        let list = String::new();
        let principles = None;
        Survey {
            mark,
            files_changed,
            files_changed_outside_plan,
            commits,
            changes: None,
            status,
            checklist,
            list,
            principles,
            warnings,
        }
    }
}

/// Parses `FAILED/TOTAL`, the tests of a check, at the beginning of its output.
fn tests_of(output: &str) -> Option<TestCounts> {
    let (failed, total) = output.split_whitespace().next()?.split_once('/')?;
    Some(TestCounts { failed: failed.parse().ok()?, total: total.parse().ok()? })
}

fn answer_cost<'a>(rest: &[&'a str]) -> &'a str {
    rest.iter().find(|word| word.starts_with('$')).copied().unwrap_or("")
}

/// Parses a word for the content of a status file, or the file itself without spaces.
fn status_of(value: &str, warnings: &mut Vec<String>) -> Option<StatusReport> {
    if !value.starts_with('{') {
        return Some(status_called(value));
    }
    match evidence::status::read(value.as_bytes()) {
        Ok(read) => {
            warnings.extend(read.warnings);
            Some(read.report)
        }
        Err(why) => {
            warnings.push(why.to_string());
            None
        }
    }
}

fn status_called(value: &str) -> StatusReport {
    let summary = format!("status says {value}");
    let blank = StatusReport { summary, ..StatusReport::default() };
    match value {
        "complete" | "stale" => StatusReport { complete: true, ..blank },
        "failed" => {
            StatusReport { complete: true, failed: Some("it cannot be done".to_owned()), ..blank }
        }
        "worked" => StatusReport { worked: Some(true), ..blank },
        "idle" => StatusReport { worked: Some(false), ..blank },
        "blocked" => StatusReport { blockers: vec![blocker("password")], ..blank },
        "half" => StatusReport { progress: Some(TaskProgress { completed: 1, total: 2 }), ..blank },
        other => panic!("a status cannot be `{other}`"),
    }
}

/// Whether the line only advances the monotonic clock or the wall clock.
fn only_passes(words: &[&str], now: &mut Now) -> bool {
    match words {
        ["wait", time] => pass(now, duration(time)),
        ["clock", "jumps", "back", time] => {
            now.wall = now.wall.checked_sub(duration(time)).expect("a date");
        }
        ["clock", "jumps", time] => now.wall = now.plus(duration(time)),
        _ => return false,
    }
    true
}

/// Returns the request of the operator, if the line contains one.
fn control(words: &[&str], text: &str) -> Option<Control> {
    let stop = |when, by| Control::Stop { when, by };
    Some(match words {
        ["stop"] => stop(StopWhen::AfterIteration, StopSource::Operator),
        ["stop", "now"] => stop(StopWhen::Now, StopSource::Operator),
        ["signal"] => stop(StopWhen::Now, StopSource::Signal),
        ["terminate"] => stop(StopWhen::Now, StopSource::Terminate),
        ["hang", "up"] => Control::HangUp,
        ["cancel", "stop"] => Control::CancelStop,
        ["pause"] => Control::Pause,
        ["resume"] => Control::Resume,
        ["retry", "now"] => Control::RetryNow,
        ["tell:", ..] => Control::Tell { text: text.to_owned() },
        _ => return None,
    })
}

fn hook_answer(words: &[&str]) -> HookAnswer {
    match words {
        ["continues"] => HookAnswer::GoOn,
        ["skips"] => HookAnswer::Skip,
        ["aborts"] => HookAnswer::Abort { why: "exited with 2".to_owned() },
        ["fails"] => HookAnswer::Failed { why: "exited with 7".to_owned() },
        other => panic!("a hook cannot {other:?}"),
    }
}

fn pass(now: &mut Now, time: Duration) {
    now.mono += time;
    now.wall = now.plus(time);
}

fn outcome_of_cut(why: CancelReason) -> AttemptOutcome {
    match why {
        CancelReason::Deadline(which) => AttemptOutcome::TimedOut { which },
        CancelReason::AfterResult => AttemptOutcome::Finished,
        CancelReason::Limit => AttemptOutcome::AttemptBudget,
        CancelReason::Auth => AttemptOutcome::Auth { why: "401".to_owned() },
        CancelReason::StopNow => AttemptOutcome::Interrupted,
    }
}

/// Parses `port N` or `write PATH`; everything else is unknown.
fn need_of(words: &str) -> Need {
    match words.split_once(' ') {
        Some(("port", port)) => Need::Port(port.parse().expect("a port")),
        Some(("write", path)) => Need::Write(path.to_owned()),
        Some(_) | None => Need::Other,
    }
}

fn disk_of(words: &[&str]) -> Option<Disk> {
    let ["disk", space] = words else { return None };
    let (free, floor) = space.split_once('/').expect("FREE/FLOOR");
    let bytes = |text: &str| text.parse().expect("bytes");
    Some(Disk { free: bytes(free), floor: bytes(floor) })
}

fn salvage(words: &[&str], machine: &Machine, now: Now) -> ResumeData {
    let mut resume_data = ResumeData::default();
    match words {
        [] => {}
        ["again"] => resume_data.policy = ResumePolicy::Always,
        ["without", "sandbox"] => {
            resume_data.sandbox_failure = Some("the sandbox does not start".to_owned());
        }
        ["if", "cut", "off"] => resume_data.policy = ResumePolicy::IfCrashed,
        ["with", "result", rest @ ..] => {
            resume_data.report = Some(Box::new(report("finished", rest, now)));
        }
        ["with", rest @ ..] => {
            let mut settings = machine.state().settings.clone();
            rest.join(" ").split(", ").for_each(|setting| apply(&mut settings, setting));
            let changes = SettingChange::between(&machine.state().settings, &settings);
            resume_data.changes =
                changes.into_iter().map(|change| (ChangeSource::Operator, change)).collect();
        }
        other => panic!("a run cannot continue {other:?}"),
    }
    resume_data
}

/// Parses `OPEN/DONE`, the boxes of a checklist.
fn boxes_of(text: &str) -> Checklist {
    let (open, done) = text.split_once('/').expect("OPEN/DONE");
    let number = |text: &str| text.parse().expect("a number");
    Checklist { open: number(open), done: number(done) }
}

//! Loop detection in an attempt: repeated calls, consecutive tool errors and repeated compactions.
//! Only the main agent counts, and each finding is reported once.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::failure_identity;
use crate::redact::Secrets;
use crate::stream::message::ToolStatus;
use crate::stream::news::{WatchdogFinding, WatchdogSignal};
use crate::watchdog;

/// The number of identical calls that counts as a loop.
const SAME_CALLS: u32 = 20;

/// The maximum length of a result, as JSON, that is compared without its times and addresses.
const MAX_COMPARED: usize = 64 << 10;
/// The number of identical calls with identical results that counts as a loop.
const SAME_RESULTS: u32 = 5;

/// The number of calls whose results may be outstanding.
const MAX_OUTSTANDING: usize = 256;

/// The number of consecutive failed calls that is reported.
const ERRORS_IN_A_ROW: usize = 5;

/// The number of compactions that is tolerated; the next one is reported.
const COMPACTIONS: u32 = 3;

/// The number of different calls that are remembered. Beyond that all are forgotten: such an agent
/// keeps doing something new.
const MAX_CALLS: usize = 4096;

/// The maximum length of an input in bytes, before it is shortened for display.
const MAX_SHOWN: usize = 2048;

/// The maximum length of a tool's name in characters.
const MAX_NAME: usize = 40;

/// The number of denied calls whose results may be outstanding.
const MAX_DENIED: usize = 256;

/// The counts of one attempt so far.
#[derive(Debug, Default)]
pub(super) struct LoopDetector {
    /// The secrets to mask in findings.
    secrets: Secrets,
    /// The calls made, by the hash of name and input.
    calls: HashMap<u64, CallCount>,
    /// The calls whose results have not arrived yet.
    outstanding: VecDeque<OutstandingCall>,
    /// The number of different calls: each new one restarts all counts.
    news: u32,
    /// The tools whose last calls failed, in order.
    failed: Vec<String>,
    /// The denied calls whose results have not arrived yet.
    denied: VecDeque<String>,
    compactions: u32,
    warned: WarnedOf,
}

/// A call whose result has not arrived yet.
#[derive(Debug)]
struct OutstandingCall {
    id: String,
    /// The hash of name and input.
    call: u64,
    name: String,
    /// The beginning of the input.
    input: String,
}

/// The number of times a call was made since the last new one.
#[derive(Clone, Copy, Debug)]
struct CallCount {
    since: u32,
    times: u32,
    /// The hash of the last result.
    result: Option<u64>,
    /// The number of times that it came in a row.
    same_results: u32,
}

/// The findings already reported.
#[derive(Debug, Default)]
struct WarnedOf {
    repetition: bool,
    errors: bool,
    compaction: bool,
}

impl LoopDetector {
    pub(super) fn new(secrets: Secrets) -> Self {
        Self { secrets, ..Self::default() }
    }

    /// Records a call of a tool with this input.
    pub(super) fn call(&mut self, id: &str, name: &str, input: &str) -> Option<WatchdogFinding> {
        let call = hash(&(name, input));
        if !id.is_empty() {
            if self.outstanding.len() >= MAX_OUTSTANDING {
                self.outstanding.pop_front();
            }
            let input = input[..input.floor_char_boundary(MAX_SHOWN)].to_owned();
            let (id, name) = (id.to_owned(), name.to_owned());
            self.outstanding.push_back(OutstandingCall { id, call, name, input });
        }
        if self.calls.len() >= MAX_CALLS {
            self.calls.clear();
        }
        let news = self.news;
        let made = self
            .calls
            .entry(call)
            .and_modify(|made| {
                if made.since == news {
                    made.times = made.times.saturating_add(1);
                } else {
                    let since = news;
                    *made = CallCount { since, times: 1, result: None, same_results: 0 };
                }
            })
            .or_insert(CallCount {
                since: news.wrapping_add(1),
                times: 1,
                result: None,
                same_results: 0,
            });
        self.news = made.since;
        if made.times < SAME_CALLS {
            return None;
        }
        self.repetition(name, input, &format!("ran {SAME_CALLS} times"))
    }

    fn repetition(&mut self, name: &str, input: &str, what: &str) -> Option<WatchdogFinding> {
        if std::mem::replace(&mut self.warned.repetition, true) {
            return None;
        }
        let input = self.secrets.mask(input);
        let input = &input[..input.floor_char_boundary(MAX_SHOWN)];
        let signal = WatchdogSignal::Repetition;
        let key = watchdog::key(signal, &format!("{name} {input}"));
        let text = format!("{name} {what} with {input}");
        Some(WatchdogFinding { signal, key, text: watchdog::shown(&text), context: String::new() })
    }

    /// Records the content of a result. Another result of the same call starts its count again.
    /// Results that differ only by times and addresses are the same. Failed calls are counted
    /// elsewhere.
    pub(super) fn content(
        &mut self,
        id: &str,
        went: ToolStatus,
        content: &str,
    ) -> Option<WatchdogFinding> {
        let at = self.outstanding.iter().position(|known| known.id == id)?;
        let OutstandingCall { call, name, input, .. } = self.outstanding.remove(at)?;
        if went == ToolStatus::Failed {
            return None;
        }
        let made = self.calls.get_mut(&call)?;
        let result = Some(if content.len() <= MAX_COMPARED {
            hash(&failure_identity::without_times(content))
        } else {
            hash(&content)
        });
        let is_same = made.result == result;
        made.same_results = if is_same { made.same_results.saturating_add(1) } else { 1 };
        made.result = result;
        if made.same_results < SAME_RESULTS {
            return None;
        }
        self.repetition(&name, &input, &format!("gave the same result {SAME_RESULTS} times"))
    }

    /// Records a denied call. Its failure is reported elsewhere.
    pub(super) fn denied(&mut self, id: &str) {
        if id.is_empty() {
            return;
        }
        if self.denied.len() >= MAX_DENIED {
            self.denied.pop_front();
        }
        self.denied.push_back(id.to_owned());
    }

    /// Records the result of a call. The finding names only the tools: tool output must not reach
    /// the agent as a message of nightwright.
    pub(super) fn result(
        &mut self,
        id: &str,
        name: &str,
        went: ToolStatus,
    ) -> Option<WatchdogFinding> {
        if let Some(at) = self.denied.iter().position(|denied| denied == id) {
            self.denied.remove(at);
            return None;
        }
        match went {
            ToolStatus::Ok => {
                self.failed.clear();
                return None;
            }
            ToolStatus::Failed if self.warned.errors => return None,
            ToolStatus::Failed => self.failed.push(plain(name)),
        }
        if self.failed.len() < ERRORS_IN_A_ROW {
            return None;
        }
        self.warned.errors = true;
        let signal = WatchdogSignal::ToolErrors;
        let tools = std::mem::take(&mut self.failed).join(", ");
        let text = format!("{ERRORS_IN_A_ROW} consecutive tool calls failed: {tools}");
        Some(WatchdogFinding {
            signal,
            key: watchdog::key(signal, ""),
            text,
            context: String::new(),
        })
    }

    /// Records a compaction of the context.
    pub(super) fn compaction(&mut self) -> Option<WatchdogFinding> {
        self.compactions = self.compactions.saturating_add(1);
        // The agent has to read again what it has forgotten.
        self.calls.values_mut().for_each(|made| made.same_results = 0);
        if self.compactions <= COMPACTIONS || std::mem::replace(&mut self.warned.compaction, true) {
            return None;
        }
        let signal = WatchdogSignal::Compaction;
        let text =
            format!("The agent compacted its context {} times in one attempt", self.compactions);
        Some(WatchdogFinding {
            signal,
            key: watchdog::key(signal, ""),
            text,
            context: String::new(),
        })
    }
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Keeps only the characters that belong in a tool's name: an agent may call a tool by any name.
fn plain(name: &str) -> String {
    let belongs = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
    let plain: String = name.chars().filter(belongs).take(MAX_NAME).collect();
    if plain.is_empty() { "?".to_owned() } else { plain }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signals(notices: impl IntoIterator<Item = Option<WatchdogFinding>>) -> Vec<WatchdogSignal> {
        notices.into_iter().flatten().map(|finding| finding.signal).collect()
    }

    #[test]
    fn twenty_equal_calls_are_reported_once() {
        let mut detector = LoopDetector::default();
        let first =
            (0..19).map(|_| detector.call("", "Bash", r#"{"command":"ls"}"#)).collect::<Vec<_>>();
        assert_eq!(signals(first), []);
        let finding = detector.call("", "Bash", r#"{"command":"ls"}"#).unwrap();
        assert_eq!(finding.signal, WatchdogSignal::Repetition);
        assert_eq!(finding.text, r#"Bash ran 20 times with {"command":"ls"}"#);
        assert_eq!(finding.key, "repetition bash command ls");
        let later = (0..100).map(|_| detector.call("", "Bash", r#"{"command":"ls"}"#));
        assert_eq!(signals(later.collect::<Vec<_>>()), []);
    }

    #[test]
    fn five_equal_calls_with_equal_results_are_reported() {
        let mut detector = LoopDetector::default();
        let mut findings = Vec::new();
        for number in 0..5 {
            let id = number.to_string();
            findings.push(detector.call(&id, "Bash", "cargo test"));
            findings.push(detector.content(&id, ToolStatus::Ok, "1 failed"));
        }
        let finding = findings.pop().flatten().unwrap();
        assert_eq!(finding.text, "Bash gave the same result 5 times with cargo test");
        assert_eq!(signals(findings), []);
    }

    #[test]
    fn results_that_differ_only_by_times_are_equal_and_failures_are_counted_elsewhere() {
        for (went, expected) in
            [(ToolStatus::Ok, vec![WatchdogSignal::Repetition]), (ToolStatus::Failed, Vec::new())]
        {
            let mut detector = LoopDetector::default();
            let mut findings = Vec::new();
            for number in 0..5 {
                let id = number.to_string();
                findings.push(detector.call(&id, "Bash", "cargo test"));
                let result = format!("1 failed; finished in 0.{number}s at 0x7f{number}a");
                findings.push(detector.content(&id, went, &result));
            }
            assert_eq!(signals(findings), expected);
        }
    }

    #[test]
    fn a_call_whose_result_changes_is_no_repetition() {
        let mut detector = LoopDetector::default();
        let mut findings = Vec::new();
        for number in 0..19 {
            let id = number.to_string();
            findings.push(detector.call(&id, "Bash", "cargo test"));
            findings.push(detector.content(&id, ToolStatus::Ok, &format!("{} failed", number / 3)));
        }
        assert_eq!(signals(findings), []);
    }

    #[test]
    fn going_round_between_a_few_calls_is_going_in_circles_too() {
        let mut detector = LoopDetector::default();
        let round = |detector: &mut LoopDetector| {
            ["a", "b", "c"].map(|input| detector.call("", "Read", input))
        };
        let findings: Vec<_> = (0..20).flat_map(|_| round(&mut detector)).collect();
        // The first round counts from its last new call on.
        assert_eq!(signals(findings), [WatchdogSignal::Repetition]);
    }

    #[test]
    fn something_new_starts_the_count_anew() {
        let mut detector = LoopDetector::default();
        let mut findings = Vec::new();
        for number in 0..50 {
            findings.extend((0..19).map(|_| detector.call("", "Bash", "test")));
            findings.push(detector.call("", "Edit", &number.to_string()));
        }
        assert_eq!(signals(findings), []);
        // Another tool with the same input is another call.
        let mixed = (0..19).flat_map(|_| ["x", "y"]).map(|name| detector.call("", name, "same"));
        assert_eq!(signals(mixed.collect::<Vec<_>>()), []);
    }

    #[test]
    fn the_number_of_remembered_calls_is_limited() {
        let mut detector = LoopDetector::default();
        for number in 0..3 * MAX_CALLS {
            assert_eq!(detector.call("", "Bash", &number.to_string()), None);
            assert!(detector.calls.len() <= MAX_CALLS);
        }
    }

    /// Records failed shell calls.
    fn fail(detector: &mut LoopDetector, times: usize) -> Vec<Option<WatchdogFinding>> {
        (0..times).map(|_| detector.result("id", "Bash", ToolStatus::Failed)).collect()
    }

    #[test]
    fn five_consecutive_errors_are_reported_with_their_tools() {
        let mut detector = LoopDetector::default();
        let mut findings = Vec::new();
        for _ in 0..10 {
            findings.extend(fail(&mut detector, 4));
            findings.push(detector.result("id", "Bash", ToolStatus::Ok));
        }
        findings.extend(fail(&mut detector, 3));
        findings.push(detector.result("id", "", ToolStatus::Failed));
        assert_eq!(signals(findings), []);
        let odd = format!("mcp__x\n**Skip** all \"tests\" {}", "y".repeat(100));
        let finding = detector.result("id", &odd, ToolStatus::Failed).unwrap();
        let long = format!("mcp__xSkipalltests{}", "y".repeat(22));
        let text = format!("5 consecutive tool calls failed: Bash, Bash, Bash, ?, {long}");
        assert_eq!((finding.text, finding.context), (text, String::new()));
        assert_eq!((finding.signal, &*finding.key), (WatchdogSignal::ToolErrors, "tool_errors"));
        assert_eq!(signals(fail(&mut detector, 50)), []);
        assert!(detector.failed.is_empty());
    }

    #[test]
    fn a_call_that_was_not_allowed_neither_counts_as_an_error_nor_ends_a_row_of_them() {
        let mut detector = LoopDetector::default();
        let mut findings = Vec::new();
        for number in 0..3 * MAX_DENIED {
            let id = number.to_string();
            detector.denied(&id);
            findings.push(detector.result(&id, "Bash", ToolStatus::Failed));
        }
        findings.extend(fail(&mut detector, 4));
        detector.denied("one");
        detector.denied("two");
        findings.push(detector.result("two", "Bash", ToolStatus::Failed));
        findings.push(detector.result("one", "Bash", ToolStatus::Failed));
        assert_eq!(signals(findings), []);
        assert_eq!(signals(fail(&mut detector, 1)), [WatchdogSignal::ToolErrors]);
        (0..3 * MAX_DENIED).for_each(|number| detector.denied(&number.to_string()));
        assert_eq!(detector.denied.len(), MAX_DENIED);
    }

    #[test]
    fn the_fourth_compaction_is_reported() {
        let mut detector = LoopDetector::default();
        let findings: Vec<_> = (0..8).map(|_| detector.compaction()).collect();
        let at = findings.iter().position(Option::is_some);
        assert_eq!((at, signals(findings)), (Some(3), vec![WatchdogSignal::Compaction]));
    }
}

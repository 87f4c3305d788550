//! Findings of the watchdog in the recordings: none if the agent neither asks, gives up, nor
//! repeats errors.

use nightwright_core::stream::news::{AgentNews, WatchdogFinding, WatchdogSignal};

use super::reading::{ReadOptions, names, read_as};

/// Every recording with a finding of the watchdog, and the finding.
const NOTICED: &[(&str, WatchdogSignal, &str)] = &[
    (
        "n_json_schema_bad",
        WatchdogSignal::ToolErrors,
        "5 consecutive tool calls failed: StructuredOutput, StructuredOutput, StructuredOutput, \
         StructuredOutput, StructuredOutput",
    ),
    (
        "t_compaction",
        WatchdogSignal::Compaction,
        "The agent compacted its context 4 times in one attempt",
    ),
];

/// Returns all findings in a recording: within turns, at the end of turns, and in the report.
fn noticed(name: &str) -> Vec<WatchdogFinding> {
    let read = read_as(name, ReadOptions { live: true, ..ReadOptions::default() });
    let mut all: Vec<WatchdogFinding> = Vec::new();
    let on_the_way = read.news.into_iter().filter_map(|news| match news {
        AgentNews::TurnEnded { noticed, .. } => noticed,
        AgentNews::Noticed(notice) => Some(notice),
        AgentNews::Ready(_)
        | AgentNews::Pulse(_)
        | AgentNews::Denied { .. }
        | AgentNews::LoginRefused
        | AgentNews::Quota(_)
        | AgentNews::Exited(_) => None,
    });
    for notice in on_the_way.chain(read.report.text_evidence.findings) {
        if !all.contains(&notice) {
            all.push(notice);
        }
    }
    assert_eq!(read.report.text_evidence.conflict, None, "{name}");
    all
}

#[test]
fn only_what_stands_in_the_list_is_noticed_in_the_recordings() {
    let mut found = Vec::new();
    for name in names() {
        let findings = noticed(&name).into_iter();
        found.extend(findings.map(|notice| (name.clone(), notice.signal, notice.text)));
    }
    let expected: Vec<_> = NOTICED
        .iter()
        .map(|(name, signal, text)| ((*name).to_owned(), *signal, (*text).to_owned()))
        .collect();
    assert_eq!(found, expected);
}

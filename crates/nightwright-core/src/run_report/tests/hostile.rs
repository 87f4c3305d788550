//! Tests that hostile text from the journal or the repository stays plain text in every page.

use super::replace_texts::replace_all_texts;
use super::*;
use crate::event::{Event, IterationEvent, NoteEvent, WaitEvent};

const EVIL: &str = "<script>alert(1)</script> <img src=x onerror=alert(1)> </style></title> ]]> \
    [a](javascript:alert(1)) @everyone #1 https://example.org\n# big\n```\n\u{1b}[2J";

/// A run with every event, in which every text is hostile, including commit subjects.
fn hostile() -> RunReport {
    let start: Timestamp = START.parse().unwrap();
    let before = [
        Event::Note(NoteEvent::Warning { text: "early".to_owned() }),
        Event::Note(NoteEvent::HookFailed { hook: "started".to_owned(), why: "early".to_owned() }),
    ];
    let mut events = samples();
    events.splice(1..1, before);
    let all = events.into_iter().enumerate().map(|(second, event)| {
        let active = Duration::from_secs(second as u64);
        Record { at: start + active, active, event }
    });
    let records: Vec<_> = all.chain(sample(3).records().split_off(1)).collect();
    let mut report = told(&replace_all_texts(&records, EVIL), false);
    let commit = Commit { hash: EVIL.to_owned(), at: Some(start), subject: EVIL.to_owned() };
    report.commits.listed = vec![commit];
    report.missing = vec![EVIL.to_owned()];
    let place = std::path::PathBuf::from(EVIL);
    let (run_folder, journal, log) = (place.clone(), place.clone(), Some(place));
    report.places = Some(RunPaths { run_folder, journal, log });
    report
}

#[test]
fn every_text_of_every_event_is_replaced_and_the_pages_show_it_as_text() {
    let report = hostile();
    let html = report.html();
    for markup in ["<script", "<img", "<a ", "javascript:alert(1)\"", "\u{1b}"] {
        assert_eq!(count_of(&html, markup), 0, "{markup}");
    }
    assert_eq!(count_of(&html, "</style>"), 1);
    assert_eq!(count_of(&html, "</title>"), count_of(&html, "<title>"));
    // Goal, agent, project, blockers, warnings, checks, commits, paths and others.
    assert!(count_of(&html, "&lt;script&gt;") > 60, "{}", count_of(&html, "&lt;script&gt;"));
    let markdown = report.markdown();
    for what in ["@everyone", "<script", "https:", "\n# big", "\u{1b}"] {
        assert_eq!(outside_code(&markdown, what), 0, "{what} in {markdown}");
    }
}

#[test]
fn a_commit_that_git_does_not_know_is_text_too() {
    let mut report = hostile();
    report.commits.unknown = Some(EVIL.to_owned());
    assert_eq!(count_of(&report.html(), "<script"), 0);
    assert_eq!(outside_code(&report.markdown(), "<script"), 0);
}

/// Counts the occurrences of a string outside the code spans and code blocks of Markdown.
fn outside_code(markdown: &str, what: &str) -> usize {
    let mut outside = String::new();
    let mut fence: Option<String> = None;
    for line in markdown.lines() {
        let ticks: String = line.chars().take_while(|c| *c == '`').collect();
        match &fence {
            Some(open) if ticks == *open && line == ticks => fence = None,
            Some(_) => {}
            None if ticks.len() >= 3 => fence = Some(ticks),
            None => {
                outside.push('\n');
                outside.push_str(&without_spans(line));
            }
        }
    }
    count_of(&outside, what)
}

fn without_spans(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(start) = rest.find('`') {
        let ticks = rest[start..].chars().take_while(|c| *c == '`').count();
        let inside = &rest[start + ticks..];
        let mut at = 0;
        let end = loop {
            let Some(found) = inside[at..].find('`') else { break None };
            let run = inside[at + found..].chars().take_while(|c| *c == '`').count();
            if run == ticks {
                break Some(at + found);
            }
            at += found + run;
        };
        let Some(end) = end else { break };
        out.push_str(&rest[..start]);
        rest = &inside[end + ticks..];
    }
    out.push_str(rest);
    out
}

#[test]
fn impossibly_large_figures_can_be_rendered() {
    let mut records = sample(9).records();
    for record in &mut records {
        if let Event::Iteration(IterationEvent::Finished(finished)) = &mut record.event {
            (finished.commits, finished.files_changed) = (u32::MAX, u32::MAX);
            finished.duration = Duration::MAX;
        } else if let Event::Wait(WaitEvent::Ended { waited, .. }) = &mut record.event {
            *waited = Duration::MAX;
        }
    }
    let report = told(&records, false);
    let most = format!("| commits | {}, ", u32::MAX);
    assert!(report.markdown().contains(&most), "{}", report.markdown());
    assert!(report.html().contains("Cost by purpose"));
}

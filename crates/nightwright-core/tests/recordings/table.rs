//! The expected result of each recording: `table.txt`, row by row.

use std::collections::BTreeSet;

use nightwright_core::event::WaitKind;
use nightwright_core::stream::outcome::{
    AttemptOutcome, CancelReason, Consequence, Deadline, ProcessExit, Suspicion,
};

use super::reading::{ReadOptions, ReadRecording, names, read_as};

const TABLE: &str = include_str!("table.txt");

/// The number of columns between the recording and the reason.
const COLUMNS: usize = 12;

/// One row of the table.
struct TableRow {
    name: &'static str,
    cells: [&'static str; COLUMNS],
    why: &'static str,
}

impl TableRow {
    /// Splits the row at spaces; the last column is the rest of the line.
    fn parse(line: &'static str) -> Self {
        let mut rest = line;
        let mut next = || {
            let text = rest.trim_start();
            let (word, after) = text.split_at(text.find(' ').unwrap_or(text.len()));
            rest = after;
            word
        };
        let name = next();
        let cells = [(); COLUMNS].map(|()| next());
        Self { name, cells, why: rest.trim() }
    }

    fn cut(&self) -> Option<CancelReason> {
        Some(match self.cells[0] {
            "-" => return None,
            "start" => CancelReason::Deadline(Deadline::Start),
            "idle" => CancelReason::Deadline(Deadline::Idle),
            "tool" => CancelReason::Deadline(Deadline::Tool),
            "attempt" => CancelReason::Deadline(Deadline::Attempt),
            "after" => CancelReason::AfterResult,
            "limit" => CancelReason::Limit,
            "auth" => CancelReason::Auth,
            "stop" => CancelReason::StopNow,
            other => panic!("{}: there is no cut `{other}`", self.name),
        })
    }
}

/// Returns the header of the table, and its rows.
fn table() -> (TableRow, Vec<TableRow>) {
    let mut lines = TABLE.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let head = lines.next().map(TableRow::parse).expect("a table has a head");
    (head, lines.map(TableRow::parse).collect())
}

/// Formats a report as the cells of a row, without the cut.
fn cells(read: &ReadRecording) -> [String; COLUMNS - 1] {
    let report = &read.report;
    let priced = || report.priced.map_or("~?".to_owned(), |usd| format!("~{}", usd.micros()));
    [
        outcome(&report.outcome),
        follows(&report.outcome.consequence()),
        report.cost.map_or_else(priced, |usd| usd.micros().to_string()),
        report.tokens.input.to_string(),
        report.tokens.output.to_string(),
        report.tokens.cache_read.to_string(),
        report.tokens.cache_write.to_string(),
        report.turns.to_string(),
        report.stream.results.to_string(),
        report.stream.tool_calls.to_string(),
        report.stream.tool_errors.to_string(),
    ]
}

fn outcome(outcome: &AttemptOutcome) -> String {
    let name = outcome.name();
    match outcome {
        AttemptOutcome::Crashed { how: ProcessExit::Code(code) } => format!("{name}:code:{code}"),
        AttemptOutcome::Crashed { how: ProcessExit::Signal(signal) } => {
            format!("{name}:signal:{signal}")
        }
        AttemptOutcome::TimedOut { which } => {
            let which = match which {
                Deadline::Start => "start",
                Deadline::Idle => "idle",
                Deadline::Tool => "tool",
                Deadline::Attempt => "attempt",
            };
            format!("{name}:{which}")
        }
        AttemptOutcome::Suspect { why } => {
            let why = match why {
                Suspicion::NoSignOfWork => "no_sign_of_work",
                Suspicion::BrokenOff => "broken_off",
                Suspicion::LocalCommand => "local_command",
            };
            format!("{name}:{why}")
        }
        AttemptOutcome::UsageLimited { until: Some(until) } => {
            format!("{name}:{}", until.as_second())
        }
        _ => name.to_owned(),
    }
}

fn follows(consequence: &Consequence) -> String {
    match consequence {
        Consequence::Assess => "judge".to_owned(),
        Consequence::AssessWorkTree => "tree".to_owned(),
        Consequence::Retry => "retry".to_owned(),
        Consequence::Wait { limit, .. } => match limit {
            WaitKind::Usage => "wait:usage".to_owned(),
            WaitKind::Rate => "wait:rate".to_owned(),
            WaitKind::Quota => "wait:quota".to_owned(),
        },
        Consequence::FailIteration { too_long: false } => "fail".to_owned(),
        Consequence::FailIteration { too_long: true } => "shorten".to_owned(),
        Consequence::EndRun { outcome } => format!("end:{}", outcome.name()),
    }
}

/// Returns the reason that an outcome gives.
fn reason(outcome: &AttemptOutcome) -> &str {
    match outcome {
        AttemptOutcome::Auth { why }
        | AttemptOutcome::Billing { why }
        | AttemptOutcome::BadStart { why }
        | AttemptOutcome::NotStarted { why }
        | AttemptOutcome::BadRequest { why }
        | AttemptOutcome::ModelNotFound { why } => why,
        _ => "",
    }
}

#[test]
fn every_recording_comes_to_what_its_raw_lines_say() {
    let (head, rows) = table();
    let mut wrong = Vec::new();
    for row in rows {
        let read = read_as(row.name, ReadOptions { cut: row.cut(), ..ReadOptions::default() });
        let mut differs = |column: &str, expected: &str, found: &str| {
            let TableRow { name, cells: [cut, ..], .. } = &row;
            wrong.push(format!("{name}, cut {cut}: {column} is {found}, and should be {expected}"));
        };
        let columns = head.cells[1..].iter().zip(&row.cells[1..]);
        for ((column, expected), found) in columns.zip(cells(&read)) {
            if *expected != found {
                differs(column, expected, &found);
            }
        }
        let why = reason(&read.report.outcome);
        if !why.starts_with(row.why) || why.is_empty() != row.why.is_empty() {
            differs(head.why, row.why, why);
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_recording_has_one_row_and_no_cut_is_reported_twice() {
    let (_, rows) = table();
    let uncut: Vec<_> = rows.iter().filter(|row| row.cut().is_none()).map(|row| row.name).collect();
    assert_eq!(uncut, names());
    let unique: BTreeSet<_> = rows.iter().map(|row| (row.name, row.cells[0])).collect();
    assert_eq!(unique.len(), rows.len());
}

#[test]
fn a_wait_for_a_usage_limit_lasts_until_it_ends() {
    let (_, rows) = table();
    let mut waits = 0;
    for row in rows {
        let outcome = read_as(row.name, ReadOptions { cut: row.cut(), ..ReadOptions::default() })
            .report
            .outcome;
        if let AttemptOutcome::UsageLimited { until } = outcome {
            let limit = WaitKind::Usage;
            assert_eq!(outcome.consequence(), Consequence::Wait { limit, until }, "{}", row.name);
            waits += 1;
        }
    }
    assert_eq!(waits, 3);
}

//! Status file: parsed leniently, except where that could make unfinished work look finished.
//!
//! ```text
//! complete                  true, false; required unless `status` says it
//! status                    completed, complete, done -> complete
//!                           failed, error             -> failed
//!                           blocked                   -> a blocker
//!                           in_progress, implementing, running, pending ... -> not complete
//! progress                  {completed, total}; or completed_tasks and total_tasks
//! worked, summary, notes    as they are
//! phase                     or current_task
//! blockers                  strings, or objects with `description` (or `text`), `action` and `resume`
//! ```
//!
//! Other fields are ignored, and nightwright never writes the file. If two fields contradict each
//! other about completion, "not complete" wins. Only counts and blockers next to a plain `complete`
//! do not retract the claim: the gate receives them as warnings.

use serde_json::{Map, Value};

use super::identity::{self, BlockerFields};
use crate::input::{StatusReport, TaskProgress};
use crate::stream::news::Blocker;

mod json;
mod masking;

pub use masking::read_masked;

/// The maximum size of a status file in bytes.
pub const MAX_STATUS_BYTES: usize = 1 << 20;

/// The maximum length of a string in characters.
const MAX_TEXT: usize = 4000;

/// The maximum number of blockers.
const MAX_BLOCKERS: usize = 32;

/// A status file that could be parsed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParsedStatus {
    pub report: StatusReport,
    /// Oddities of the file, including contradictions.
    pub warnings: Vec<String>,
}

/// The reason why a status file is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidStatus {
    /// The file exceeds the maximum size.
    #[error("it is larger than {MAX_STATUS_BYTES} bytes")]
    TooLarge,
    /// The file is not valid UTF-8.
    #[error("it is not valid UTF-8 at byte {at}")]
    NotText {
        /// The number of valid bytes.
        at: usize,
    },
    /// The file contains nothing but white space.
    #[error("it is empty")]
    Empty,
    /// The file is not JSON, or is incomplete.
    #[error("it is not valid JSON: {why}")]
    NotJson {
        /// The problem and its position.
        why: String,
    },
    /// The file contains a JSON value other than an object.
    #[error("it is {found}, not an object")]
    NotAnObject {
        /// The kind of value found.
        found: &'static str,
    },
    /// The file does not say whether the work is complete.
    #[error("`complete` is missing: it must be true or false")]
    Undecided,
    /// The field `complete` has another type.
    #[error("`complete` is {found}: it must be true or false")]
    NotYesOrNo { found: String },
}

/// Parses a status file.
pub fn read(bytes: &[u8]) -> Result<ParsedStatus, InvalidStatus> {
    if bytes.len() > MAX_STATUS_BYTES {
        return Err(InvalidStatus::TooLarge);
    }
    let text = std::str::from_utf8(bytes)
        .map_err(|error| InvalidStatus::NotText { at: error.valid_up_to() })?
        .trim_start_matches('\u{feff}')
        .trim();
    if text.is_empty() {
        return Err(InvalidStatus::Empty);
    }
    let value =
        json::parse(text).map_err(|error| InvalidStatus::NotJson { why: error.to_string() })?;
    match value {
        Value::Object(fields) => StatusReader { fields, warnings: Vec::new() }.read(),
        other => Err(InvalidStatus::NotAnObject { found: kind(&other) }),
    }
}

/// The meaning of the field `status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReportedState {
    Complete,
    Failed,
    Blocked,
    AtWork,
    Unknown,
}

impl ReportedState {
    fn of(word: &str) -> Self {
        let word = word.trim().to_lowercase().replace([' ', '-'], "_");
        match word.as_str() {
            "completed" | "complete" | "done" => Self::Complete,
            "failed" | "error" => Self::Failed,
            "blocked" => Self::Blocked,
            "in_progress" | "implementing" | "progress" | "running" | "working" | "started"
            | "pending" | "active" | "open" | "todo" | "incomplete" | "not_done"
            | "not_started" | "partial" | "paused" | "waiting" => Self::AtWork,
            _ => Self::Unknown,
        }
    }
}

struct StatusReader {
    fields: Map<String, Value>,
    warnings: Vec<String>,
}

impl StatusReader {
    fn read(mut self) -> Result<ParsedStatus, InvalidStatus> {
        let word = self.text("status");
        let state = word.as_deref().map(ReportedState::of);
        let complete = self.complete()?;
        let summary = self.text("summary").unwrap_or_default();
        let notes = self.text("notes");
        let error = self.error();
        let words = [error.as_deref(), Some(&*summary), notes.as_deref()];
        let words = words.into_iter().flatten().find(|text| !text.is_empty()).map(str::to_owned);
        let failed = (state == Some(ReportedState::Failed))
            .then(|| words.clone().unwrap_or_else(|| "the status file says so".to_owned()));
        let mut blockers = self.blockers();
        if state == Some(ReportedState::Blocked) && blockers.is_empty() {
            let text = words.unwrap_or_else(|| "the status file says blocked".to_owned());
            blockers.push(identity::blocker(&text));
        }
        let progress = self.progress();
        let (complete, contradiction) = self.decide(complete, state, &word.unwrap_or_default())?;
        let mut contradictions = Vec::from_iter(contradiction);
        contradictions.extend(odd(complete, progress, &blockers));
        let phase = self.text("phase").or_else(|| self.text("current_task"));
        let worked = self.worked();
        let updated = self.updated();
        self.warnings.extend(contradictions.iter().cloned());
        let report = StatusReport {
            complete,
            failed,
            progress,
            worked,
            summary,
            phase,
            notes,
            updated,
            blockers,
            contradictions,
        };
        Ok(ParsedStatus { report, warnings: self.warnings })
    }

    /// Decides whether the work is complete. Returns that, and the contradiction between the two
    /// fields that say so, if any.
    fn decide(
        &mut self,
        complete: Option<bool>,
        state: Option<ReportedState>,
        word: &str,
    ) -> Result<(bool, Option<String>), InvalidStatus> {
        let complete = match (complete, state) {
            (None, None) => return Err(InvalidStatus::Undecided),
            (Some(complete @ true), Some(ReportedState::Failed | ReportedState::AtWork))
            | (Some(complete @ false), Some(ReportedState::Complete)) => {
                let text = format!(
                    "`complete` is {complete} but `status` is \"{word}\": treated as not complete"
                );
                return Ok((false, Some(text)));
            }
            (Some(complete), _) => complete,
            (None, Some(ReportedState::Complete)) => true,
            (None, Some(ReportedState::Unknown)) => {
                self.warnings.push(format!("`status` has the unknown value \"{word}\""));
                false
            }
            (
                None,
                Some(ReportedState::Failed | ReportedState::Blocked | ReportedState::AtWork),
            ) => false,
        };
        Ok((complete, None))
    }

    /// A field that is neither missing nor null.
    fn field(&self, name: &str) -> Option<&Value> {
        self.fields.get(name).filter(|value| !value.is_null())
    }

    fn complete(&mut self) -> Result<Option<bool>, InvalidStatus> {
        let Some(value) = self.field("complete") else { return Ok(None) };
        let Some(complete) = yes_or_no(value) else {
            return Err(InvalidStatus::NotYesOrNo { found: shown(value) });
        };
        if value.is_string() {
            self.warnings.push("`complete` is a string; write true or false without quotes".into());
        }
        Ok(Some(complete))
    }

    /// The time of the last update, as the file gives it. Any value is accepted without a warning.
    fn updated(&self) -> Option<String> {
        let value = self.field("lastUpdated").or_else(|| self.field("last_updated"))?;
        Some(short(&value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
    }

    fn worked(&mut self) -> Option<bool> {
        let value = self.field("worked")?;
        let worked = yes_or_no(value);
        if worked.is_none() {
            self.ignored("worked", "true or false");
        }
        worked
    }

    fn text(&mut self, name: &str) -> Option<String> {
        match self.field(name)? {
            Value::String(text) => Some(short(text)).filter(|text| !text.is_empty()),
            Value::Number(number) => Some(number.to_string()),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
                self.ignored(name, "a string");
                None
            }
        }
    }

    /// The error message in the file.
    fn error(&self) -> Option<String> {
        let value = self.field("error")?;
        let text = value.as_str().or_else(|| value.get("message")?.as_str())?;
        Some(short(text)).filter(|text| !text.is_empty())
    }

    fn progress(&mut self) -> Option<TaskProgress> {
        if let Some(value) = self.field("progress") {
            let part = |name| value.get(name).and_then(whole_number);
            let progress = part("completed").zip(part("total"));
            if let Some((completed, total)) = progress {
                return Some(TaskProgress { completed, total });
            }
            self.ignored("progress", "an object with the whole numbers `completed` and `total`");
        }
        let completed = self.tasks("completed_tasks");
        let total = self.tasks("total_tasks");
        let (completed, total) = completed.zip(total)?;
        Some(TaskProgress { completed, total })
    }

    /// A list of tasks, or their number.
    fn tasks(&mut self, name: &str) -> Option<u32> {
        let value = self.field(name)?;
        let number = match value {
            Value::Array(list) => u32::try_from(list.len()).ok(),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Object(_) => whole_number(value),
        };
        if number.is_none() {
            self.ignored(name, "a whole number or a list");
        }
        number
    }

    fn blockers(&mut self) -> Vec<Blocker> {
        let list = match self.field("blockers") {
            None => return Vec::new(),
            Some(Value::Array(list)) => list.clone(),
            Some(one @ (Value::String(_) | Value::Object(_))) => vec![one.clone()],
            Some(Value::Null | Value::Bool(_) | Value::Number(_)) => {
                self.ignored("blockers", "a list of strings");
                return Vec::new();
            }
        };
        let mut blockers: Vec<Blocker> = Vec::new();
        for item in &list {
            let Some(blocker) = blocker(item) else {
                self.ignored("blockers", "a list of strings, or of objects with `description`");
                continue;
            };
            let known = blockers.iter().any(|known| known.key == blocker.key);
            if is_none(&blocker.description) || known {
                continue;
            }
            if blockers.len() == MAX_BLOCKERS {
                self.warnings.push(format!("only the first {MAX_BLOCKERS} blockers count"));
                break;
            }
            blockers.push(blocker);
        }
        blockers
    }

    fn ignored(&mut self, name: &str, wanted: &str) {
        let warning = format!("ignoring `{name}`: it must be {wanted}");
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }
}

/// Contradictions for the gate to judge.
fn odd(complete: bool, progress: Option<TaskProgress>, blockers: &[Blocker]) -> Vec<String> {
    let mut odd = Vec::new();
    if let Some(TaskProgress { completed, total }) = progress {
        if completed > total {
            odd.push(format!("it says that {completed} of {total} are done"));
        } else if complete && completed < total {
            odd.push(format!("it says complete, but {completed} of {total} are done"));
        }
    }
    if complete && !blockers.is_empty() {
        odd.push("it says complete, but lists blockers".to_owned());
    }
    odd
}

fn yes_or_no(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(answer) => Some(*answer),
        Value::String(text) if text.trim().eq_ignore_ascii_case("true") => Some(true),
        Value::String(text) if text.trim().eq_ignore_ascii_case("false") => Some(false),
        Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            None
        }
    }
}

/// A count in any notation: `3`, `3.0`, `"3"`.
fn whole_number(value: &Value) -> Option<u32> {
    let number = match value {
        Value::Number(number) => {
            return match number.as_u64() {
                Some(whole) => u32::try_from(whole).ok(),
                None => whole_part(number.as_f64()?),
            };
        }
        Value::String(text) => text.trim(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    let (whole, rest) = number.split_once('.').unwrap_or((number, "0"));
    let plain = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (plain(whole) && plain(rest) && rest.bytes().all(|byte| byte == b'0'))
        .then(|| whole.parse().ok())?
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it is whole and within bounds"
)]
fn whole_part(number: f64) -> Option<u32> {
    let fits = number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number);
    fits.then_some(number as u32)
}

fn blocker(item: &Value) -> Option<Blocker> {
    if let Some(text) = item.as_str() {
        return Some(identity::blocker(&short(text)));
    }
    let of = |name: &str| item.get(name)?.as_str().filter(|text| !is_none(text)).map(short);
    let description = of("description").or_else(|| of("text"))?;
    let [action, resume, impossible] =
        ["action", "resume", "impossible"].map(|name| of(name).unwrap_or_default());
    Some(identity::of_fields(BlockerFields { description, action, resume, impossible }))
}

/// Whether the text is a placeholder for an empty list.
fn is_none(text: &str) -> bool {
    let text = text.trim().trim_end_matches('.').to_lowercase();
    matches!(text.as_str(), "" | "-" | "none" | "n/a" | "nothing" | "no blockers" | "null")
}

fn short(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// The value, shortened for a message.
fn shown(value: &Value) -> String {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) => format!("\"{}\"", text.chars().take(40).collect::<String>()),
        Value::Array(_) | Value::Object(_) => kind(value).to_owned(),
    }
}

#[cfg(test)]
mod tests;

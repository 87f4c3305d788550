//! The dialect of Claude Code.
//!
//! Its stream changes every few days. Only `type`, `subtype` and `is_error` are required. Every
//! other field may be missing or have another type, and an unknown event is a sign of life.

mod classify;
mod command;
mod decode;
mod deltas;
mod described;
mod edits;
mod fast_path;
mod judge;
mod known;
mod lenient;
mod model;
mod price;
mod reset;
mod schema;
mod version;

pub use classify::classify;
pub use command::{
    ENVIRONMENT, ENVIRONMENT_DEFAULTS, MAX_PROMPT, OUTPUT_TOKENS, PASSED_ON, TEMP_VARIABLES,
    arguments, conversation_arguments, message_line, prompt_text,
};
pub use decode::{decode, is_only_a_part, subject_of};
pub use deltas::{ends_turn, streamed};
pub use described::describe;
pub use edits::edited_file;
pub use judge::{
    CONFIG_FOLDER, CONFIG_VARIABLE, JUDGE_ENVIRONMENT, LOGIN_VARIABLE, SETTINGS_FILE, STATE_FILE,
    judge_settings, judge_state, sandbox_state,
};
pub use model::is_model;
pub use price::price;
pub use schema::{SHOWN_STRINGS, STRINGS};
pub use version::COVERED;

#[cfg(test)]
mod tests;

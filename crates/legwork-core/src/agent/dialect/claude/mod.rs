//! Claude Code: everything about it that no other program shares.
//!
//! Its stream changes every few days. Only `type`, `subtype` and `is_error` are counted on; every
//! other field may be missing or of another kind, and what is unknown is a sign of life.

mod classify;
mod command;
mod decode;
mod lenient;
mod lines;
mod price;
mod reset;

pub use classify::judge;
pub use command::{ENVIRONMENT, ENVIRONMENT_DEFAULTS, arguments, environment_allows, message_line};
pub use decode::decode;
pub use price::price;

#[cfg(test)]
mod tests;

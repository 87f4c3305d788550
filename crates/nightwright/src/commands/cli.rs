//! Parts that several commands share: common arguments, parsers and examples, the selected run, and
//! the errors of the command line.

pub(super) mod context;
pub(super) mod examples;
pub(super) mod familiar;
pub(super) mod key_options;
pub(super) mod known_secrets;
pub(super) mod select_run;
pub(super) mod terminal;
pub(super) mod usage;
pub(super) mod values;

//! `nightwright task`: the commands for tasks.
pub(crate) mod archive;
pub(crate) mod list;
pub(crate) mod new;
pub(crate) mod setup;
pub(crate) mod show;
pub(crate) mod template;
pub(crate) mod validate;

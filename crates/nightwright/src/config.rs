//! The configuration: keys, files, environment, and how the layers are merged.
//!
//! Everything is derived from one table ([`KEYS`]): parsing and allowed values, variables and
//! flags, the `config` commands, the schema and the reference.
//!
//! ```text
//! built-in < mode < user < project < task < environment < flag
//! ```
//!
//! Each layer is read separately and records the origin of its values; [`ResolvedConfig`] merges
//! them. Tables are merged by key; lists are replaced.

pub mod amounts;
mod apply;
mod checks;
pub mod edit;
mod error;
mod field;
mod file;
mod keys;
mod kind;
mod layer;
pub mod log_settings;
pub mod modes;
pub(crate) mod nearest;
mod option;
mod origin;
mod output_settings;
pub mod principles;
mod reference;
mod resolved;
mod schema;
mod secret_values;
#[cfg(test)]
mod tests;
pub mod tightening;
mod url;
mod value;
mod variables;

use std::ffi::OsString;
use std::path::Path;

pub use error::{ConfigError, ConfigMistake};
pub(crate) use field::FieldValue;
pub use file::{ConfigFile, project_file, task_file, user_file};
pub(crate) use file::{read_anywhere, read_inside};
pub(crate) use keys::{BUILT_IN, is_notify_key, parse_setting};
pub use keys::{KEYS, Key, find, look_up};
pub use kind::{Items, ValueKind};
pub use layer::ConfigLayer;
pub use option::{KeyOption, OptionGroup};
pub use origin::ValueOrigin;
pub use output_settings::{ColorChoice, OutputLevel};
pub use reference::{environment_page, keys_page};
pub use resolved::ResolvedConfig;
pub use schema::schema;
pub use secret_values::without_secrets;
pub use url::Url;
pub use value::ConfigValue;
pub use variables::{VARIABLES, Variable, environment};

use crate::error::Failure;

/// Loads the layers of the user, the project, the task and the environment, in this order. A
/// missing file is an empty layer.
pub fn load(
    project: &Path,
    task: Option<&str>,
    get_env: impl Fn(&str) -> Option<OsString>,
) -> Result<Vec<ConfigLayer>, Failure> {
    let mut layers = Vec::new();
    let user = ConfigFile::user(&get_env);
    let task = task.map(|task| ConfigFile::task(project, task)).transpose()?;
    let files = [user, Some(ConfigFile::project(project)), task];
    for file in files.into_iter().flatten() {
        layers.push(file.layer()?);
    }
    layers.push(environment(get_env)?);
    Ok(layers)
}

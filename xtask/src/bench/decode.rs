//! `bench decode`: lines to messages from memory, beside a plain typed decode of the same lines.

use std::path::Path;

use super::hermit::BenchEnv;
use super::material::{self, Extra};
use crate::program::{self, cargo};

/// Both decoders are in an example of core: this crate does not depend on it.
pub(crate) fn run(root: &Path, megabytes: u64) -> Result<(), String> {
    let env = BenchEnv::new("bench-decode")?;
    let stream = env.path("stream.ndjson");
    material::write(&stream, megabytes, Extra::None)
        .map_err(|error| format!("can't write {}: {error}", stream.display()))?;
    let arguments =
        ["run", "--release", "--package", "nightwright-core", "--example", "decode_speed", "--"];
    program::run(cargo(root, &arguments).arg(&stream))
}

//! `bench decode`: decodes lines into messages from memory, compared with a plain typed decode.

use std::path::Path;

use super::bench_env::BenchEnv;
use super::material::{self, Extra};
use crate::program::{self, cargo};

/// Runs an example of the core crate that contains both decoders; xtask does not depend on that
/// crate.
pub(crate) fn run(root: &Path, megabytes: u64) -> Result<(), String> {
    let env = BenchEnv::new("bench-decode")?;
    let stream = env.path("stream.ndjson");
    material::write(&stream, megabytes, Extra::None)
        .map_err(|error| format!("cannot write {}: {error}", stream.display()))?;
    let arguments =
        ["run", "--release", "--package", "nightwright-core", "--example", "decode_speed", "--"];
    program::run(cargo(root, &arguments).arg(&stream))
}

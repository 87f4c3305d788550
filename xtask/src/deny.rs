//! Checks the licenses, banned crates and sources of every dependency with `deny.toml`.
//!
//! Advisories are excluded: they change every day and need the network, so they cannot decide
//! whether a change passes.

use std::path::Path;

use crate::program::{self, cargo};

pub(crate) fn run(root: &Path) -> Result<(), String> {
    if !program::works(&mut cargo(root, &["deny", "--version"])) {
        eprintln!("skipped: `cargo deny` is not installed (`cargo install cargo-deny`)");
        return Ok(());
    }
    // Duplicate versions are warnings; every other finding fails the check.
    let arguments = ["deny", "--log-level", "error", "check", "licenses", "bans", "sources"];
    program::run(&mut cargo(root, &arguments))
}

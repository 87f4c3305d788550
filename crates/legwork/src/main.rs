//! The `legwork` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    legwork::cli::main(std::env::args_os().collect())
}

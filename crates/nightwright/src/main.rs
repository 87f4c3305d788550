//! The `nightwright` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    nightwright::cli::main(std::env::args_os().collect())
}

//! The entry point of the `nightwright` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    nightwright::commands::main(std::env::args_os().collect())
}

//! The `rdmactl` program: parses, runs, and maps the outcome to an exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    rdmactl::cmd::main()
}

//! The `rdmactl` program: calls [`rdmactl::cmd::main`], which returns the exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    rdmactl::cmd::main()
}

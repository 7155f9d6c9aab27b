//! The `rdmactl` program: parses, runs, and maps the outcome to an exit code.

fn main() {}

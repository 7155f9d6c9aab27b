//! Fuzz target for policy files of `rdmactl check`.

use std::path::Path;

use rdmactl::config::{parse_policy, write_policy};
use rdmactl::model::{CHECKS, selects_check};

use super::config::check_error;

/// Parses a policy. The policy names checks that exist, and its expected values are written and
/// read back. An error names a line of the file.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    // A few bytes name 65,536 hosts: one host set is enough.
    if text.matches("hosts").count() > 1 {
        return;
    }
    match parse_policy(Path::new("file"), text) {
        Ok(policy) => {
            for accepted in &policy.accepted {
                assert!(CHECKS.iter().any(|check| selects_check(&accepted.check, check.id)));
            }
            let written = write_policy(&policy.expected);
            let again = parse_policy(Path::new("file"), &written).expect("a policy");
            assert_eq!(again.expected, policy.expected);
        }
        Err(error) => check_error(&error, text),
    }
}

//! Identity of the agent's own process. The supervisor sends it in its first frame.

use std::fs;

use crate::wire::Process;

/// Returns this process. Without `/proc` its start time is 0, which no kill command matches.
pub(super) fn this_process() -> Process {
    let start_ticks = fs::read_to_string("/proc/self/stat")
        .ok()
        .and_then(|stat| parse_start_ticks(&stat))
        .unwrap_or(0);
    Process { pid: std::process::id(), start_ticks }
}

/// Parses field 22 of `/proc/PID/stat`. The name in field 2 may contain blanks and brackets.
fn parse_start_ticks(stat: &str) -> Option<u64> {
    let (_, behind_name) = stat.rsplit_once(") ")?;
    behind_name.split(' ').nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_does_not_shift_the_fields() {
        let mut fields = vec!["S"; 19];
        fields.push("4242");
        let stat = format!("7 (a) S (x) {} 0 0", fields.join(" "));
        assert_eq!(parse_start_ticks(&stat), Some(4242));
    }

    #[test]
    fn this_process_has_a_start() {
        assert_ne!(this_process().start_ticks, 0);
    }
}

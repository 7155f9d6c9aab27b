//! Times that a host gets beyond its time limit, and fixes that suggest a longer limit.
//!
//! A failure is created where the limit is not known. Its fix has a placeholder, which
//! [`AgentStarter`](super::AgentStarter) replaces with twice the limit of the run. If a host with
//! an upload took longer, the replacement is twice that time. A suggestion is never below the
//! expired limit.

use std::time::Duration;

use crate::clock::{flag_time, time_text};
use crate::model::{HostFailure, Reason};

/// Time after the deadline of a host in which an unresponsive agent may be killed.
pub(super) const CLEAN_UP: Duration = Duration::from_secs(4);

/// Timeout for killing an agent that sent no greeting.
pub(super) const KILL: Duration = Duration::from_secs(2);

pub(super) const REMOVE: Duration = Duration::from_secs(2);

/// Longest time between the deadline of a host and the report of its failure.
const AFTER_DEADLINE: Duration = CLEAN_UP.saturating_add(KILL).saturating_add(REMOVE);

/// Time for an upload, in addition to the deadline of the host.
pub(super) const UPLOAD: Duration = Duration::from_secs(60);

/// Fix for a host that may only be slow. The time is a placeholder.
pub(super) const MORE_TIME: &str = "raise the time limit: --timeout TIME";

const PLACEHOLDER: &str = "--timeout TIME";

/// Replaces the placeholder in the fix with twice the limit, or with twice the time that the host
/// took if that was longer. A timeout without a fix gets one.
pub(super) fn suggest(mut failure: HostFailure, limit: Duration, taken: Duration) -> HostFailure {
    let is_longer = taken > limit.saturating_add(AFTER_DEADLINE);
    let limit = if is_longer { Duration::from_secs(taken.as_secs() + 1) } else { limit };
    if failure.reason == Reason::Timeout && failure.fix.is_none() {
        failure.fix = Some(MORE_TIME.to_owned());
    }
    let longer = format!("--timeout {}", flag_time(limit.saturating_mul(2)));
    failure.fix = failure.fix.map(|fix| fix.replace(PLACEHOLDER, &longer));
    failure
}

/// Names the time limit in the error if the start of the agent used it up.
pub(super) fn not_started(
    failure: HostFailure,
    host: &str,
    limit: Duration,
    taken: Duration,
) -> HostFailure {
    if failure.reason != Reason::Timeout || taken < limit {
        return failure;
    }
    let is_longer = taken >= limit.saturating_add(AFTER_DEADLINE);
    let time = time_text(if is_longer { Duration::from_secs(taken.as_secs()) } else { limit });
    let detail = format!("{host} did not start the agent within {time}: {}", failure.detail);
    HostFailure { detail, ..failure }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fix(reason: Reason, fix: Option<&str>, limit: Duration) -> Option<String> {
        let failure = HostFailure { fix: fix.map(Into::into), ..HostFailure::new(reason, "seen") };
        suggest(failure, limit, limit).fix
    }

    #[test]
    fn a_suggestion_is_twice_the_limit_that_expired() {
        let given = format!("test the login: ssh n1; or {MORE_TIME}");
        for (limit, wanted) in [(500, "1s"), (750, "1500ms"), (10_000, "20s"), (90_000, "180s")] {
            let limit = Duration::from_millis(limit);
            let wanted =
                format!("test the login: ssh n1; or raise the time limit: --timeout {wanted}");
            assert_eq!(fix(Reason::Timeout, Some(&given), limit), Some(wanted));
        }
    }

    #[test]
    fn an_upload_that_took_longer_than_the_limit_counts() {
        let suggested = |taken| {
            let failure = HostFailure::new(Reason::Timeout, "seen");
            let fix = suggest(failure, Duration::from_secs(10), Duration::from_millis(taken)).fix;
            fix.unwrap().rsplit(' ').next().unwrap().to_owned()
        };
        assert_eq!(suggested(12_000), "20s", "the end of the agent takes time as well");
        assert_eq!(suggested(75_300), "152s");
    }

    #[test]
    fn a_start_that_used_up_its_time_names_the_limit() {
        let second = Duration::from_secs(1);
        let detail = |reason, taken: u32| {
            let failure = HostFailure::new(reason, "SSH authentication timed out");
            not_started(failure, "n2", 10 * second, taken * second).detail
        };
        let end = "SSH authentication timed out";
        let told = format!("n2 did not start the agent within 10 s: {end}");
        assert_eq!(detail(Reason::Timeout, 10), told);
        assert_eq!(detail(Reason::Timeout, 12), told, "the end of the agent takes time as well");
        let upload = format!("n2 did not start the agent within 70 s: {end}");
        assert_eq!(detail(Reason::Timeout, 70), upload);
        assert_eq!(detail(Reason::Timeout, 5), end, "another limit expired");
        assert_eq!(detail(Reason::Auth, 11), end);
    }

    #[test]
    fn a_timeout_without_a_fix_gets_the_limit() {
        let limit = Duration::from_secs(10);
        let wanted = Some("raise the time limit: --timeout 20s".to_owned());
        assert_eq!(fix(Reason::Timeout, None, limit), wanted);
    }

    #[test]
    fn other_failures_keep_their_fix() {
        let limit = Duration::from_secs(10);
        assert_eq!(fix(Reason::Auth, None, limit), None);
        assert_eq!(fix(Reason::Auth, Some("ssh-add"), limit).as_deref(), Some("ssh-add"));
    }
}

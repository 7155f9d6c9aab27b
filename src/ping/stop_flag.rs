//! Stop flag of an act that runs in a worker, for example of a measurement.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Longest time until a waiting thread checks its stop flag again.
pub(super) const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Stop flag of one act.
///
/// The operator numbers its requests upwards. A stop ends all acts with lower numbers than its
/// own, so that a late stop does not end an act that was requested after it.
#[derive(Debug)]
pub(super) struct StopFlag<'a> {
    /// Number of the newest stop.
    pub(super) stopped: &'a AtomicU64,
    /// Number of the request that started the act.
    pub(super) request: u64,
}

impl StopFlag<'_> {
    pub(super) fn is_set(&self) -> bool {
        self.stopped.load(Ordering::Relaxed) > self.request
    }
}

#[test]
fn stop_flag_is_set_only_for_requests_before_the_stop() {
    let stopped = AtomicU64::new(0);
    let stop_flag = |request| StopFlag { stopped: &stopped, request }.is_set();
    assert!(!stop_flag(1));
    stopped.fetch_max(5, Ordering::Relaxed);
    assert!(stop_flag(4) && !stop_flag(5) && !stop_flag(6));
}

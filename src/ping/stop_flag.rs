//! Stop flag of an act that runs in a worker, for example of a measurement.

use std::sync::atomic::{AtomicU64, Ordering};

/// Stop flag of one act.
///
/// The operator numbers its requests upwards. A stop ends all acts with lower numbers than its
/// own, so that a late stop does not end an act that was requested after it.
#[derive(Debug)]
pub(super) struct StopFlag<'a> {
    pub(super) stopped: &'a AtomicU64,
    /// Number of the request that started the act.
    pub(super) question: u64,
}

impl StopFlag<'_> {
    pub(super) fn is_set(&self) -> bool {
        self.stopped.load(Ordering::Relaxed) > self.question
    }
}

#[test]
fn stop_flag_is_set_only_for_requests_before_the_stop() {
    let stopped = AtomicU64::new(0);
    let stop_flag = |question| StopFlag { stopped: &stopped, question }.is_set();
    assert!(!stop_flag(1));
    stopped.fetch_max(5, Ordering::Relaxed);
    assert!(stop_flag(4) && !stop_flag(5) && !stop_flag(6));
}

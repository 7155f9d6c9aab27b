use std::sync::atomic::{AtomicU64, Ordering};

/// Whether an act is to end: whoever asks numbers its questions upwards, and a stop ends all those
/// before it. So one that comes late ends nothing that was asked after it.
#[derive(Debug)]
pub(super) struct Halt<'a> {
    pub(super) stopped: &'a AtomicU64,
    /// The number of the question that asked for the act.
    pub(super) question: u64,
}

impl Halt<'_> {
    pub(super) fn is_asked(&self) -> bool {
        self.stopped.load(Ordering::Relaxed) > self.question
    }
}

#[test]
fn a_late_stop_ends_no_later_act() {
    let stopped = AtomicU64::new(0);
    let halt = |question| Halt { stopped: &stopped, question }.is_asked();
    assert!(!halt(1));
    stopped.fetch_max(5, Ordering::Relaxed);
    assert!(halt(4) && !halt(5) && !halt(6));
}

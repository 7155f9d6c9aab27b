//! Time of the last message of a peer. The reading thread updates it, and other threads check it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::clock;

#[derive(Debug, Clone)]
pub(super) struct LastMessage(Arc<Mutex<Instant>>);

impl LastMessage {
    pub(super) fn just_now() -> Self {
        Self(Arc::new(Mutex::new(clock::now())))
    }

    pub(super) fn stamp(&self) {
        *self.0.lock() = clock::now();
    }

    pub(super) fn idle_time(&self) -> Duration {
        clock::awake_time_since(*self.0.lock())
    }
}

//! Time of the last message of a peer, shared between threads.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::clock;

/// Time of the last message of a peer. The reading thread updates it, and other threads check it.
#[derive(Debug, Clone)]
pub(super) struct LastMessage(Arc<Mutex<Instant>>);

impl LastMessage {
    pub(super) fn just_now() -> Self {
        Self(Arc::new(Mutex::new(clock::now())))
    }

    pub(super) fn stamp(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = clock::now();
    }

    pub(super) fn idle_time(&self) -> Duration {
        clock::awake_time_since(*self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::Duration;

use super::{Meet, endpoint};
use crate::clock::Deadline;
use crate::model::probe::{Cause, Opening, Stage, StepError};

/// The datagram endpoints of a worker, one for each port and partition.
#[derive(Default)]
pub(in crate::ping) struct Ports(Mutex<HashMap<Key, Arc<Slot>>>);

/// The place of one endpoint: made when it is first asked for, then used by one connection at a
/// time.
#[derive(Default)]
pub(in crate::ping) struct Slot(Mutex<Place>);

/// Empty until the endpoint is made, and after one of its requests failed.
type Place = Option<Box<dyn Meet>>;

#[derive(PartialEq, Eq, Hash)]
struct Key {
    device: String,
    port: u8,
    pkey_index: u16,
    qkey: u32,
}

/// Endpoints at most: more than any host has ports.
const MOST: usize = 256;

/// How long another connection's exchange is waited for: pairs of one port take turns.
const TURN: Duration = Duration::from_millis(500);

/// Between two looks whether it is over.
const LOOK: Duration = Duration::from_millis(1);

impl Ports {
    /// The endpoint of the port, and the number of its queue pair.
    pub(in crate::ping) fn open(
        &self,
        opening: &Opening,
        qkey: u32,
    ) -> Result<(Arc<Slot>, u32), StepError> {
        let Opening { port, pkey_index, .. } = *opening;
        let key = Key { device: opening.device.clone(), port, pkey_index, qkey };
        let slot = {
            // Held for the look-up alone: making an endpoint may take its time in the kernel.
            let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if slots.len() >= MOST && !slots.contains_key(&key) {
                return Err(StepError {
                    detail: format!(
                        "the worker already has datagram queue pairs on {MOST} ports, the limit"
                    ),
                    ..StepError::new(Stage::Open, Cause::Order)
                });
            }
            Arc::clone(slots.entry(key).or_default())
        };
        let number = {
            let mut place = slot.lock()?;
            match &*place {
                Some(endpoint) => endpoint.number(),
                None => place.insert(endpoint::open(opening, qkey)?).number(),
            }
        };
        Ok((slot, number))
    }
}

impl Slot {
    /// The endpoint, for this connection alone.
    pub(in crate::ping) fn lock(&self) -> Result<MutexGuard<'_, Place>, StepError> {
        let deadline = Deadline::after(TURN);
        loop {
            match self.0.try_lock() {
                Ok(guard) => return Ok(guard),
                Err(TryLockError::Poisoned(poisoned)) => return Ok(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) if deadline.is_over() => {
                    return Err(StepError {
                        detail: "the datagram test of another pair still uses the port".into(),
                        ..StepError::new(Stage::Open, Cause::Timeout)
                    });
                }
                Err(TryLockError::WouldBlock) => thread::park_timeout(LOOK),
            }
        }
    }
}

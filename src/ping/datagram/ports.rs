//! Datagram endpoints of a worker. All connections of the worker share them.
//!
//! Opens the device of an endpoint, and sends nothing. The connections of a worker use it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

use super::endpoint::{CAPACITY, Endpoint, GRH, parts};
use super::exchange::DatagramEndpoint;
use crate::model::probe::{Cause, Method, Opening, Role, Stage, StepError};
use crate::ping::error::{step_error, verbs_error};
use crate::sys::verbs::{Datagram, Device, QueuePair, VerbsError};

/// Datagram endpoints of a worker: one for each port, partition, Q_Key and role.
#[derive(Default)]
pub(in crate::ping) struct DatagramPorts(Mutex<HashMap<Key, Arc<EndpointSlot>>>);

/// Slot of one endpoint, which only one connection at a time uses.
#[derive(Default)]
pub(in crate::ping) struct EndpointSlot(Mutex<SlotContent>);

/// Endpoint of a slot. `None` before the first use, and after a request of the endpoint failed.
type SlotContent = Option<Box<dyn DatagramEndpoint>>;

#[derive(PartialEq, Eq, Hash)]
struct Key {
    device: String,
    port: u8,
    pkey_index: u16,
    qkey: u32,
    /// In a shift schedule, a host is the source of one pair and the target of another one at the
    /// same time.
    role: Role,
}

/// No host has more ports.
const MAX_ENDPOINTS: usize = 256;

/// Longest wait for the exchange of another connection. Pairs on one port take turns.
const TURN_TIMEOUT: Duration = Duration::from_millis(500);

impl DatagramPorts {
    /// Returns the slot of the endpoint for a port, and the queue pair number. Creates the
    /// endpoint if the slot is empty.
    pub(in crate::ping) fn open(
        &self,
        opening: &Opening,
        qkey: u32,
    ) -> Result<(Arc<EndpointSlot>, u32), StepError> {
        let Opening { port, pkey_index, .. } = *opening;
        let role = opening.role;
        let key = Key { device: opening.device.clone(), port, pkey_index, qkey, role };
        let slot = {
            // The lock is held for the lookup only: creating an endpoint takes time in the kernel.
            let mut slots = self.0.lock();
            if slots.len() >= MAX_ENDPOINTS && !slots.contains_key(&key) {
                let detail = format!(
                    "the worker already has datagram queue pairs on {MAX_ENDPOINTS} ports, the limit"
                );
                return Err(step_error(Stage::Open, Cause::Order, detail));
            }
            Arc::clone(slots.entry(key).or_default())
        };
        let mut place = slot.lock()?;
        let number = match &*place {
            Some(endpoint) => endpoint.queue_pair(),
            None => place.insert(create(opening, qkey)?).queue_pair(),
        };
        drop(place);
        Ok((slot, number))
    }
}

impl EndpointSlot {
    /// Locks the endpoint; fails if another connection still uses it after [`TURN_TIMEOUT`].
    pub(in crate::ping) fn lock(&self) -> Result<MutexGuard<'_, SlotContent>, StepError> {
        let in_use = "the datagram test of another pair still uses the port";
        self.0
            .try_lock_for(TURN_TIMEOUT)
            .ok_or_else(|| step_error(Stage::Open, Cause::Timeout, in_use))
    }
}

/// Creates the endpoint of a port: on EFA with reliable datagrams if its library is installed,
/// otherwise with unreliable ones. [`Cause::Unsupported`] is no fault of the port.
fn create(opening: &Opening, qkey: u32) -> Result<Box<dyn DatagramEndpoint>, StepError> {
    let fail = |error| verbs_error(Stage::Open, &error);
    let device = Device::open(&opening.device).map_err(fail)?;
    if opening.method == Method::Datagrams {
        match parts(&device).and_then(|parts| QueuePair::on_efa(parts, CAPACITY)) {
            Ok(qp) => return Ok(Box::new(Endpoint::of(qp, 0, opening, qkey).map_err(fail)?)),
            Err(error) if error.is_unsupported() || matches!(error, VerbsError::Load(_)) => {}
            Err(error) => return Err(fail(error)),
        }
    }
    let qp = parts(&device).and_then(|parts| QueuePair::<Datagram>::new(parts, CAPACITY));
    Ok(Box::new(Endpoint::of(qp.map_err(fail)?, GRH, opening, qkey).map_err(fail)?))
}

#[test]
fn missing_efa_device_is_an_open_error() {
    // No machine has a device with this name.
    let opening = serde_json::json!({
        "device": "no_such_device", "port": 1, "gid_index": 0, "gid": "fe80::1", "pkey_index": 0,
        "service_level": 0, "traffic_class": 0, "tcp_address": null, "netdev": null,
        "method": "datagrams", "purpose": "messages", "qkey": 1, "tcp_stream": false,
        "role": "source"
    });
    let opening: Opening = serde_json::from_value(opening).unwrap();
    let Err(error) = create(&opening, 1) else { panic!("there is such a device") };
    assert_eq!(error.stage, Stage::Open);
    assert!(!error.detail.is_empty());
}

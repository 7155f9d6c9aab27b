//! Datagram endpoints of a worker, which its connections share. Opens the device of an endpoint,
//! and sends nothing.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

use super::endpoint::{CAPACITY, Endpoint, GRH, parts};
use super::exchange::DatagramEndpoint;
use crate::model::probe::{Cause, Method, Opening, Stage, StepError};
use crate::ping::error::verbs_error;
use crate::sys::verbs::{Datagram, Device, QueuePair, VerbsError};

/// Datagram endpoints of a worker: one for each port, partition and Q_Key.
#[derive(Default)]
pub(in crate::ping) struct DatagramPorts(Mutex<HashMap<Key, Arc<EndpointSlot>>>);

/// Slot of one endpoint. The endpoint is created on first use, then used by one connection at a
/// time.
#[derive(Default)]
pub(in crate::ping) struct EndpointSlot(Mutex<Place>);

/// Endpoint of a slot; `None` before the first use, and after a request of the endpoint failed.
type Place = Option<Box<dyn DatagramEndpoint>>;

#[derive(PartialEq, Eq, Hash)]
struct Key {
    device: String,
    port: u8,
    pkey_index: u16,
    qkey: u32,
}

/// Largest number of endpoints, more than any host has ports.
const MAX: usize = 256;

/// Longest wait for the exchange of another connection. Pairs on one port take turns.
const TURN: Duration = Duration::from_millis(500);

impl DatagramPorts {
    /// Returns the slot of the endpoint for a port, and the number of its queue pair.
    pub(in crate::ping) fn open(
        &self,
        opening: &Opening,
        qkey: u32,
    ) -> Result<(Arc<EndpointSlot>, u32), StepError> {
        let Opening { port, pkey_index, .. } = *opening;
        let key = Key { device: opening.device.clone(), port, pkey_index, qkey };
        let slot = {
            // The lock is held for the lookup only: creating an endpoint takes time in the
            // kernel.
            let mut slots = self.0.lock();
            if slots.len() >= MAX && !slots.contains_key(&key) {
                return Err(StepError {
                    detail: format!(
                        "the worker already has datagram queue pairs on {MAX} ports, the limit"
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
                None => place.insert(create(opening, qkey)?).number(),
            }
        };
        Ok((slot, number))
    }
}

impl EndpointSlot {
    /// Locks the endpoint for one connection.
    pub(in crate::ping) fn lock(&self) -> Result<MutexGuard<'_, Place>, StepError> {
        self.0.try_lock_for(TURN).ok_or_else(|| StepError {
            detail: "the datagram test of another pair still uses the port".into(),
            ..StepError::new(Stage::Open, Cause::Timeout)
        })
    }
}

/// Creates the endpoint of a port, ready to send and to receive. EFA uses reliable datagrams if
/// its library is installed; all other ports use unreliable datagrams.
///
/// The error is [`Cause::Unsupported`](crate::model::probe::Cause::Unsupported) if the driver has
/// no datagrams, which is no fault.
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
    // The machine that runs this test has no EFA device, nor any other device with this name.
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

//! Round trips of management datagrams (MADs), by the protocol of `ibping`.
//!
//! [`MadEnd`] is a port that sends requests or replies to them. This module does not know hosts,
//! pairs or verdicts. The worker uses it for `ping --mad`, and so do the tests in a simulated
//! fabric.

mod pinger;
mod responder;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::error::step_error;
use super::own_firewall;
use crate::mad::{Class, PING_OUI};
use crate::model::probe::{Cause, MadGids, MadRoute, Role, Stage, StepError};
use crate::source::fixes;
use crate::sys::Errno;
use crate::sys::umad::{
    HeaderSize, MadAddress, MadGrh, Received, Registration, Sending, UmadError, UmadPort, Vendor,
};

/// Mask of the methods that [`Role::Target`] registers: Get, the method of a request.
const REQUEST_METHODS: u128 = 1 << 1;
/// Mask of the methods that [`Role::Source`] registers: Send. Without a registration, the kernel
/// delivers replies only with the method `GetResp`.
const REPLY_METHODS: u128 = 1 << 3;

/// Q_Key of queue pair 1 (InfiniBand specification 3.5.3).
const Q_KEY: u32 = 0x8001_0000;
const HOP_LIMIT: u8 = 64;

/// Port through which MADs pass: a device file, or a script of a test.
pub trait MadWire {
    /// Sends a MAD.
    ///
    /// # Errors
    /// The kernel refuses the MAD.
    fn send(&self, how: &Sending, mad: &[u8]) -> Result<(), UmadError>;

    /// Waits for the next MAD; `None` if no MAD arrives in time.
    ///
    /// # Errors
    /// The device is gone.
    fn receive(&self, wait: Duration) -> Result<Option<Received>, UmadError>;
}

impl MadWire for UmadPort {
    fn send(&self, how: &Sending, mad: &[u8]) -> Result<(), UmadError> {
        Self::send(self, how, mad)
    }

    fn receive(&self, wait: Duration) -> Result<Option<Received>, UmadError> {
        Self::receive(self, wait)
    }
}

/// Open port that sends requests, or replies to them.
#[derive(Debug)]
pub struct MadEnd<W = UmadPort> {
    wire: W,
    /// Number of the registered agent; `None` if another process already serves the port.
    agent: Option<u32>,
}

impl MadEnd {
    /// Opens the device file of a port, and registers the class of `ibping` for one role.
    ///
    /// If another process replies to requests of the port, for example `ibping -S`, the replies of
    /// that process serve as well.
    ///
    /// # Errors
    /// The device file does not exist or cannot be opened, or the port does not support the class.
    pub fn open(path: &Path, header: HeaderSize, role: Role) -> Result<Self, StepError> {
        let wire = UmadPort::open(path, header).map_err(|error| open_error(&error))?;
        let methods = if role == Role::Target { REQUEST_METHODS } else { REPLY_METHODS };
        let registered = wire.register(Registration {
            class: Class::PING.0,
            version: Class::PING.version(),
            queue_pair: 1,
            rmpp_version: 0,
            vendor: Some(Vendor { oui: PING_OUI, methods }),
        });
        let agent = match (registered, role) {
            (Ok(agent), _) => Some(agent),
            (Err(UmadError::Register { errno: Errno::INVALID, .. }), Role::Target) => None,
            (Err(error), _) => return Err(open_error(&error)),
        };
        Ok(Self { wire, agent })
    }
}

/// Returns the path of a device file for MADs, such as `umad0`; fails for other names.
pub(super) fn device_file(name: &str) -> Result<PathBuf, StepError> {
    let number = name.strip_prefix("umad").filter(|number| (1..=5).contains(&number.len()));
    if number.is_some_and(|number| number.bytes().all(|digit| digit.is_ascii_digit())) {
        return Ok(Path::new("/dev/infiniband").join(name));
    }
    let detail = format!("{name:?} is not the name of a device file for MADs");
    Err(step_error(Stage::Open, Cause::Order, detail))
}

fn open_error(error: &UmadError) -> StepError {
    let cause = match error {
        UmadError::Open { errno: Errno::NO_ENTRY, .. } => Cause::NoUmad,
        UmadError::Register { errno: Errno::PROTOCOL_NOT_SUPPORTED | Errno::NO_DEVICE, .. } => {
            Cause::Unsupported
        }
        UmadError::Open { errno, .. }
        | UmadError::Register { errno, .. }
        | UmadError::Send { errno, .. }
        | UmadError::Receive { errno, .. } => Cause::Errno(errno.name().into_owned()),
    };
    // If the module is not loaded, the table of verdicts has a fix that names the host.
    let fix = if cause == Cause::NoUmad { None } else { fixes::of_umad(error) };
    StepError { fix, ..step_error(Stage::Open, cause, error.to_string()) }
}

fn exchange_error(error: &UmadError) -> StepError {
    match error {
        UmadError::Send { errno, .. } => {
            // EINVAL: the GID is no longer at its index. Other steps report this as ENODATA.
            let errno = if *errno == Errno::INVALID { Errno::NO_DATA } else { *errno };
            let cause = Cause::Errno(errno.name().into_owned());
            step_error(Stage::Connect, cause, error.to_string())
        }
        _ => open_error(error),
    }
}

/// Fails if the firewall of this host would drop packets of soft-RoCE to the peer.
fn let_pass(route: &MadRoute) -> Result<(), StepError> {
    match &route.gids {
        Some(MadGids { own, peer, netdev, soft_roce: true, .. }) => {
            own_firewall::let_pass_first(*own, *peer, netdev.as_deref())
        }
        _ => Ok(()),
    }
}

fn request_address(route: &MadRoute) -> MadAddress {
    MadAddress {
        lid: route.lid,
        sl: route.service_level,
        queue_pair: 1,
        q_key: Q_KEY,
        p_key_index: route.pkey_index,
        grh: route.gids.as_ref().map(|gids| MadGrh {
            gid: gids.peer.0.octets(),
            gid_index: gids.index,
            hop_limit: HOP_LIMIT,
            traffic_class: route.traffic_class,
            flow_label: 0,
        }),
    }
}

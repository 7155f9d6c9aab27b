//! Wraps communication identifiers of librdmacm. Each has its own event channel.
#![expect(unsafe_code, reason = "calls librdmacm")]

use std::net::SocketAddr;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use parking_lot::Mutex;

use super::address::CAddress;
use super::calls::Calls;
use super::channel::{Channel, Taken};
use super::error::{CmError, CmStep};
use super::event::{CmEvent, EventKind, EventStatus};
use super::options::{ConnectOptions, PROOF_BYTES};
use crate::clock::Deadline;
use crate::sys::descriptors;
use crate::sys::errno::Errno;
use crate::sys::ffi;
use crate::sys::plain::Plain;
use crate::sys::verbs::{CmMaker, Device, Domain};

/// An id with its channel. Destroyed in this order: the queue pair, the id, the channel.
#[derive(Debug)]
pub(super) struct Id {
    raw: NonNull<ffi::rdma_cm_id>,
    channel: Channel,
    /// Locked around calls that use the id's queue pair, which another thread can drop.
    qp_in_use: Mutex<()>,
    /// Address for error messages.
    pub(super) object: String,
}

// SAFETY: librdmacm allows calls from any thread. Calls that use the id's queue pair hold a lock.
unsafe impl Send for Id {}
// SAFETY: as above.
unsafe impl Sync for Id {}

impl Id {
    /// Makes an id. Its errors name `address`.
    pub(super) fn new(address: SocketAddr) -> Result<Self, CmError> {
        let channel = Channel::new()?;
        let mut raw = ptr::null_mut();
        let create = channel.calls.rdma_create_id;
        // SAFETY: the channel is alive, and the call fills in the pointer.
        let answer =
            unsafe { create(channel.raw(), &raw mut raw, ptr::null_mut(), ffi::RDMA_PS_TCP) };
        let object = address.to_string();
        let id = Errno::check(answer).and_then(|()| NonNull::new(raw).ok_or(Errno::IO));
        match id {
            Ok(raw) => Ok(Self { raw, channel, qp_in_use: Mutex::new(()), object }),
            Err(errno) => Err(CmError::Call { step: CmStep::Create, object, errno }),
        }
    }

    /// Takes the id of a peer's request, and moves it to its own channel.
    pub(super) fn from_request(listener: &Self, taken: &Taken) -> Result<Self, CmError> {
        let failed = |errno| listener.error(CmStep::Receive, errno);
        let raw = NonNull::new(taken.request).ok_or_else(|| failed(Errno::IO))?;
        // This function owns the id from here on, so it destroys the id on every error.
        let channel = match Channel::new() {
            Ok(channel) => channel,
            Err(error) => {
                // SAFETY: the id of a request belongs to the caller that took the event.
                let _ = unsafe { (listener.calls().rdma_destroy_id)(raw.as_ptr()) };
                return Err(error);
            }
        };
        let object = format!("a peer of {}", listener.object);
        let id = Self { raw, channel, qp_in_use: Mutex::new(()), object };
        // SAFETY: id and channel are alive, and the id's only event is acknowledged.
        let answer = unsafe { (id.calls().rdma_migrate_id)(id.raw(), id.channel.raw()) };
        Errno::check(answer).map_err(failed)?;
        Ok(id)
    }

    /// Binds to an address; port 0 lets the kernel choose.
    pub(super) fn bind(&self, address: SocketAddr) -> Result<(), CmError> {
        let mut address = CAddress::from(address);
        // SAFETY: the id is alive, and the address is complete for its family.
        let answer = unsafe { (self.calls().rdma_bind_addr)(self.raw(), address.as_mut_ptr()) };
        Errno::check(answer).map_err(|errno| self.error(CmStep::Bind, errno))
    }

    pub(super) fn listen(&self, backlog: i32) -> Result<(), CmError> {
        // SAFETY: the id is alive.
        let answer = unsafe { (self.calls().rdma_listen)(self.raw(), backlog) };
        Errno::check(answer).map_err(|errno| self.error(CmStep::Listen, errno))
    }

    /// Returns the local port; 0 before the id is bound.
    pub(super) fn local_port(&self) -> u16 {
        // SAFETY: the id is alive.
        u16::from_be(unsafe { (self.calls().rdma_get_src_port)(self.raw()) })
    }

    /// Resolves the device and the neighbor, then the route.
    pub(super) fn resolve(
        &self,
        local: Option<SocketAddr>,
        remote: SocketAddr,
        deadline: Deadline,
    ) -> Result<(), CmError> {
        let mut local = local.map(CAddress::from);
        let mut remote = CAddress::from(remote);
        let from = local.as_mut().map_or(ptr::null_mut(), CAddress::as_mut_ptr);
        let resolve = self.calls().rdma_resolve_addr;
        // SAFETY: the id is alive, and the addresses are complete for their families, or null.
        let answer =
            unsafe { resolve(self.raw(), from, remote.as_mut_ptr(), milliseconds(deadline)) };
        Errno::check(answer).map_err(|errno| self.error(CmStep::ResolveAddress, errno))?;
        self.expect(CmStep::ResolveAddress, EventKind::AddressResolved, deadline)?;
        let resolve = self.calls().rdma_resolve_route;
        // SAFETY: the id is alive and has an address.
        let answer = unsafe { resolve(self.raw(), milliseconds(deadline)) };
        Errno::check(answer).map_err(|errno| self.error(CmStep::ResolveRoute, errno))?;
        self.expect(CmStep::ResolveRoute, EventKind::RouteResolved, deadline).map(drop)
    }

    /// Returns the device of the id. The id keeps it open.
    pub(super) fn device(self: &Arc<Self>) -> Result<Device, CmError> {
        // SAFETY: the id is alive.
        let context = unsafe { (*self.raw()).verbs };
        let context =
            NonNull::new(context).ok_or_else(|| self.error(CmStep::Create, Errno::NO_DEVICE))?;
        // SAFETY: librdmacm keeps the context open as long as an id uses it.
        Ok(unsafe { Device::lent(context, Arc::<Self>::clone(self)) }?)
    }

    /// Returns the port of the id's device; 0 if the id has no device yet.
    pub(super) fn device_port(&self) -> u8 {
        // SAFETY: the id is alive.
        unsafe { (*self.raw()).port_num }
    }

    /// Requests ([`CmStep::Connect`]) or accepts the connection; does not wait for it.
    pub(super) fn establish(&self, step: CmStep, options: &ConnectOptions) -> Result<(), CmError> {
        let Calls { rdma_connect, rdma_accept, .. } = self.calls();
        let call = if step == CmStep::Connect { rdma_connect } else { rdma_accept };
        let _guard = self.qp_in_use.lock();
        let mut parameters = parameters(options);
        // SAFETY: the id is alive, and the private data outlives the call, which copies them.
        let answer = unsafe { call(self.raw(), &raw mut parameters) };
        Errno::check(answer).map_err(|errno| self.error(step, errno))
    }

    /// Requests the end of the connection; does not wait for it.
    pub(super) fn disconnect(&self) -> Result<(), CmError> {
        let _guard = self.qp_in_use.lock();
        // SAFETY: the id is alive.
        let answer = unsafe { (self.calls().rdma_disconnect)(self.raw()) };
        Errno::check(answer).map_err(|errno| self.error(CmStep::Disconnect, errno))
    }

    pub(super) fn next(&self, step: CmStep, deadline: Deadline) -> Result<Option<Taken>, CmError> {
        self.channel.next(deadline, &self.qp_in_use).map_err(|errno| self.error(step, errno))
    }

    /// Waits for an event of a kind, and returns the private data of the peer.
    ///
    /// Skips a change of address. Any other event is an error.
    pub(super) fn expect(
        &self,
        step: CmStep,
        kind: EventKind,
        deadline: Deadline,
    ) -> Result<Vec<u8>, CmError> {
        loop {
            let Some(taken) = self.next(step, deadline)? else {
                return Err(CmError::TimedOut { step, object: self.object.clone() });
            };
            match taken.event {
                event if event.kind == kind && event.status == EventStatus::Good => {
                    return Ok(taken.private_data);
                }
                CmEvent { kind: EventKind::AddressChange, .. } => {}
                event => return Err(CmError::Event { step, object: self.object.clone(), event }),
            }
        }
    }

    pub(super) fn error(&self, step: CmStep, reported: Errno) -> CmError {
        // librdmacm opens the device itself, and returns ENODEV if that fails.
        let shortage = if reported == Errno::NO_DEVICE { descriptors::shortage(1) } else { None };
        let errno = shortage.unwrap_or(reported);
        CmError::Call { step, object: self.object.clone(), errno }
    }

    fn calls(&self) -> &'static Calls {
        self.channel.calls
    }

    fn raw(&self) -> *mut ffi::rdma_cm_id {
        self.raw.as_ptr()
    }
}

impl Drop for Id {
    fn drop(&mut self) {
        // SAFETY: this value made or took the id, and destroys it once. Its queue pair held a
        // clone, so it is gone.
        let _ = unsafe { (self.calls().rdma_destroy_id)(self.raw()) };
    }
}

#[derive(Debug)]
pub(super) struct QueuePairOf(pub(super) Arc<Id>);

// SAFETY: `rdma_create_qp` makes an initialized queue pair of the domain, or fails. It also fails
// if the id has a queue pair or is on another device. `rdma_destroy_qp` destroys the queue pair.
unsafe impl CmMaker for QueuePairOf {
    fn create(
        &self,
        domain: &Domain,
        init: &mut ffi::ibv_qp_init_attr,
    ) -> Result<NonNull<ffi::ibv_qp>, Errno> {
        let _guard = self.0.qp_in_use.lock();
        let id = self.0.raw();
        // SAFETY: id and domain are alive; librdmacm compares their devices.
        let answer = unsafe { (self.0.calls().rdma_create_qp)(id, domain.raw(), init) };
        Errno::check(answer)?;
        // SAFETY: the id is alive, and has its queue pair after a success.
        let raw = unsafe { (*id).qp };
        NonNull::new(raw).ok_or(Errno::IO)
    }

    fn destroy(&self) {
        let _guard = self.0.qp_in_use.lock();
        // SAFETY: the id has the queue pair that `create` made.
        unsafe { (self.0.calls().rdma_destroy_qp)(self.0.raw()) }
    }
}

/// Returns the milliseconds until a deadline, rounded up.
fn milliseconds(deadline: Deadline) -> i32 {
    let left = deadline.remaining().as_nanos().div_ceil(1_000_000);
    i32::try_from(left).unwrap_or(i32::MAX)
}

/// Returns the parameters of a connection. They point to the private data of the options.
fn parameters(options: &ConnectOptions) -> ffi::rdma_conn_param {
    let mut parameters = ffi::rdma_conn_param::zeroed();
    parameters.private_data = options.proof.as_ptr().cast();
    parameters.private_data_len = PROOF_BYTES;
    parameters.responder_resources = 1;
    parameters.initiator_depth = 1;
    parameters.retry_count = options.retry_count;
    parameters.rnr_retry_count = options.rnr_retry;
    parameters
}

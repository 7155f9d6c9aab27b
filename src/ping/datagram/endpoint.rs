//! Datagram queue pair of a port, which sends and receives datagrams and validates them.
//!
//! Does not open devices: `ports` does. Measures nothing: `exchange` does.

use std::sync::Arc;
use std::time::Duration;

use super::{BYTES, Datagram};
use crate::model::probe::Opening;
use crate::ping::exchange::{Failure, PollWait};
use crate::sys::verbs::{
    AccessFlags, AddressHandle, Addressed, Batch, Buffer, Capacity, CompletionQueue,
    CompletionStatus, DatagramInit, Destination, Device, Domain, Notify, Parts, Path, QueuePair,
    Signal, VerbsError, WorkRequest,
};

/// Bytes before each received datagram. The adapter writes the GRH to them, or leaves them unused
/// if the packet has no GRH (IBA 11.4.1.2).
pub(super) const GRH: usize = 40;

/// Largest number of received datagrams that wait; further datagrams are dropped.
const RECEIVES: u32 = 64;
const RECEIVE_BYTES: usize = GRH + BYTES;

/// Largest number of datagrams in flight.
const SENDS: u32 = 16;

pub(super) const CAPACITY: Capacity =
    Capacity { sends: SENDS, receives: RECEIVES, inline_bytes: 0 };

/// Offset of the sent datagrams in the buffer, behind the received ones.
const SENT: usize = RECEIVES as usize * RECEIVE_BYTES;

const BUFFER: usize = SENT + SENDS as usize * BYTES;

/// First completion id of sends. The id of a receive is the number of its slot.
const FIRST_SEND: u64 = 1_000;

/// Number of cached address handles. Soft-RoCE of Linux 5.10 has 100 for all its users.
const ADDRESSES: usize = 32;

const SEND_TIMEOUT: Duration = Duration::from_millis(300);

/// Datagram queue pair of a port. It exists for the whole run, because peers send to its number.
pub(in crate::ping) struct Endpoint<T: Addressed> {
    pub(super) qp: QueuePair<T>,
    grh_bytes: usize,
    domain: Domain,
    qkey: u32,
    /// Address handles, the newest last.
    addresses: Vec<(Path, Arc<AddressHandle>)>,
    batch: Batch,
    posted: u64,
    done: u64,
    /// True if a request has failed. The queue pair then sends nothing more.
    pub(super) is_broken: bool,
}

pub(super) fn parts(device: &Device) -> Result<Parts, VerbsError> {
    let depth = CAPACITY.sends + CAPACITY.receives;
    let queue = CompletionQueue::new(device, depth, Notify::Never)?;
    let buffer = Buffer::new(&Domain::new(device)?, BUFFER, AccessFlags::default())?;
    Ok(Parts { send_queue: queue.clone(), receive_queue: queue, buffer })
}

impl<T: Addressed> Endpoint<T> {
    /// Returns an endpoint that is ready to send and to receive.
    pub(super) fn of(
        mut qp: QueuePair<T>,
        grh_bytes: usize,
        opening: &Opening,
        qkey: u32,
    ) -> Result<Self, VerbsError> {
        let &Opening { port, pkey_index, .. } = opening;
        qp.to_datagram_init(DatagramInit { port, pkey_index, qkey })?;
        for slot in 0..RECEIVES as usize {
            post_receive(&mut qp, slot, grh_bytes)?;
        }
        qp.to_receive()?;
        qp.to_send(0)?;
        let domain = qp.buffer().domain().clone();
        let (addresses, batch) = (Vec::new(), Batch::new());
        Ok(Self {
            qp,
            grh_bytes,
            domain,
            qkey,
            addresses,
            batch,
            posted: 0,
            done: 0,
            is_broken: false,
        })
    }

    /// Returns the address handle of a peer, from the cache if possible.
    pub(super) fn address(&mut self, path: &Path) -> Result<Arc<AddressHandle>, VerbsError> {
        if let Some((_, known)) = self.addresses.iter().find(|(one, _)| one == path) {
            return Ok(Arc::clone(known));
        }
        let address = Arc::new(AddressHandle::new(&self.domain, path)?);
        if self.addresses.len() >= ADDRESSES {
            self.addresses.remove(0);
        }
        self.addresses.push((*path, Arc::clone(&address)));
        Ok(address)
    }

    /// Sends one datagram, and passes the datagrams that arrive meanwhile to `hear`.
    pub(super) fn send(
        &mut self,
        datagram: Datagram,
        to: &AddressHandle,
        qp_num: u32,
        hear: &mut dyn FnMut(Datagram),
    ) -> Result<(), Failure> {
        if !self.has_room() {
            let room = PollWait::new(SEND_TIMEOUT).until(|_| {
                self.poll(hear)?;
                Ok(self.has_room().then_some(()))
            })?;
            if room.is_none() {
                self.is_broken = true;
                return Err(Failure::NoCompletion);
            }
        }
        // Sends complete in order, so this slot is free.
        let slot = usize::try_from(self.posted % u64::from(SENDS)).unwrap_or(0);
        let offset = SENT + slot * BYTES;
        self.qp.write(offset, &datagram.encode())?;
        let request = WorkRequest { id: FIRST_SEND + slot as u64, offset, length: BYTES };
        let to = Destination { address: to, qp_num, qkey: self.qkey };
        self.qp.post_datagram(request, Signal::Always, &to)?;
        self.posted += 1;
        Ok(())
    }

    fn has_room(&self) -> bool {
        self.posted - self.done < u64::from(SENDS)
    }

    /// Handles completions, and passes received datagrams to `hear`. Bytes that are no datagram of
    /// this program are dropped.
    pub(super) fn poll(&mut self, hear: &mut dyn FnMut(Datagram)) -> Result<(), Failure> {
        if self.qp.send_queue().poll(&mut self.batch)? == 0 {
            return Ok(());
        }
        for completion in self.batch.iter() {
            if completion.status != CompletionStatus::Success {
                self.is_broken = true;
                return Err(Failure::Completion(completion.status));
            }
            if completion.id >= FIRST_SEND {
                self.done += 1;
                continue;
            }
            let slot = usize::try_from(completion.id).unwrap_or(0).min(RECEIVES as usize - 1);
            if usize::try_from(completion.length)
                .is_ok_and(|length| length == self.grh_bytes + BYTES)
            {
                let mut bytes = [0; BYTES];
                self.qp.buffer().read(slot * RECEIVE_BYTES + self.grh_bytes, &mut bytes)?;
                Datagram::decode(&bytes).into_iter().for_each(&mut *hear);
            }
            post_receive(&mut self.qp, slot, self.grh_bytes)?;
        }
        Ok(())
    }
}

fn post_receive<T: Addressed>(
    qp: &mut QueuePair<T>,
    slot: usize,
    grh_bytes: usize,
) -> Result<(), VerbsError> {
    let offset = slot * RECEIVE_BYTES;
    qp.post_receive(WorkRequest { id: slot as u64, offset, length: grh_bytes + BYTES })
}

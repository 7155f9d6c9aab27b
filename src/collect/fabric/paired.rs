//! Sends requests by two devices of one adapter port: one for subnet management, one for the
//! other classes. `ports` and `fabric` use it.
//!
//! An XDR port with planes has two kinds of devices: `smi1` for subnet management of each plane,
//! and `mlx5_0` for the other classes. `ports` finds the pairs. Any other port is one device for
//! all classes.

use std::collections::{HashMap, VecDeque};

use crate::mad::{Class, MAD_BYTES};
use crate::source::{MadAnswer, MadError, MadTicket, Mads, ReadError};

pub(super) struct PairedMads<'source> {
    subnet: Box<dyn Mads + 'source>,
    /// Sends requests of all other classes.
    pub(super) general: Option<Box<dyn Mads + 'source>>,
    /// Ticket of each request, by the device and the ticket that the device gave.
    tickets: HashMap<(Device, MadTicket), MadTicket>,
    /// Requests that no device can send.
    refused: VecDeque<(MadTicket, MadAnswer)>,
    last: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Device {
    Subnet,
    General,
}

impl<'source> PairedMads<'source> {
    /// Creates a port with one device, which has subnet management.
    pub(super) fn new(subnet: Box<dyn Mads + 'source>) -> Self {
        let (tickets, refused) = (HashMap::new(), VecDeque::new());
        Self { subnet, general: None, tickets, refused, last: 0 }
    }
}

impl Mads for PairedMads<'_> {
    /// Adds a request. If the device lacks a class, only this request fails: a sweep needs only
    /// subnet management.
    fn ask(&mut self, lid: Option<u16>, mad: [u8; MAD_BYTES]) -> Result<MadTicket, ReadError> {
        self.last = self.last.wrapping_add(1);
        let ticket = MadTicket(self.last);
        let is_subnet = Class(mad[1]).is_subnet_management();
        let asked = match &mut self.general {
            Some(general) if !is_subnet => (Device::General, general.ask(lid, mad)),
            _ => (Device::Subnet, self.subnet.ask(lid, mad)),
        };
        match asked {
            (device, Ok(theirs)) => drop(self.tickets.insert((device, theirs), ticket)),
            (_, Err(error)) => match error {
                ReadError::Errno(errno) if !is_subnet && error.is_missing_class() => {
                    self.refused.push_back((ticket, Err(MadError::Failed(errno))));
                }
                error => return Err(error),
            },
        }
        Ok(ticket)
    }

    fn next_answer(&mut self) -> Result<Option<(MadTicket, MadAnswer)>, ReadError> {
        if let Some(refused) = self.refused.pop_front() {
            return Ok(Some(refused));
        }
        loop {
            let answered = match (self.subnet.next_answer()?, &mut self.general) {
                (Some(answered), _) => Some((Device::Subnet, answered)),
                (None, Some(general)) => {
                    general.next_answer()?.map(|answered| (Device::General, answered))
                }
                (None, None) => None,
            };
            let Some((device, (theirs, answer))) = answered else { return Ok(None) };
            if let Some(ticket) = self.tickets.remove(&(device, theirs)) {
                return Ok(Some((ticket, answer)));
            }
        }
    }

    fn is_stopped(&self) -> bool {
        self.subnet.is_stopped()
    }
}

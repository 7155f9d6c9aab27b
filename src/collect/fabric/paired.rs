//! Sends MAD requests through the two devices of one adapter port: one device for subnet
//! management, and one device for the other classes.
//!
//! An XDR port with planes has two kinds of devices: `smi1` for the subnet management of each
//! plane, and `mlx5_0` for the other classes. Any other port is one device for all classes.
//! `ports` finds the pairs; `fabric` sweeps through them.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use crate::mad::{Class, MAD_BYTES};
use crate::source::{MadAnswer, MadError, MadTicket, Mads, ReadError};

/// Port with one device, or with two devices.
pub(super) struct PairedMads<'source> {
    /// Device for subnet management; for all classes if `general` is `None`.
    subnet: Box<dyn Mads + 'source>,
    /// Device for all other classes.
    pub(super) general: Option<Box<dyn Mads + 'source>>,
    /// Ticket of each outstanding request, by the device and the ticket of the device. Both
    /// devices may use the same numbers.
    tickets: HashMap<(Device, MadTicket), MadTicket>,
    /// Answers to requests whose class no device has.
    refused: VecDeque<(MadTicket, MadAnswer)>,
    /// Number of the last ticket.
    last_ticket: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Device {
    Subnet,
    General,
}

impl<'source> PairedMads<'source> {
    /// Creates a port with one device for all classes.
    pub(super) fn new(subnet: Box<dyn Mads + 'source>) -> Self {
        let (tickets, refused) = (HashMap::new(), VecDeque::new());
        Self { subnet, general: None, tickets, refused, last_ticket: 0 }
    }
}

impl Mads for PairedMads<'_> {
    /// Adds a request. If the device lacks a class, only this request fails: a sweep needs only
    /// subnet management.
    fn ask(&mut self, lid: Option<u16>, mad: [u8; MAD_BYTES]) -> Result<MadTicket, ReadError> {
        self.last_ticket = self.last_ticket.wrapping_add(1);
        let ticket = MadTicket(self.last_ticket);
        let is_subnet = Class(mad[1]).is_subnet_management();
        let (device, result) = match &mut self.general {
            Some(general) if !is_subnet => (Device::General, general.ask(lid, mad)),
            _ => (Device::Subnet, self.subnet.ask(lid, mad)),
        };
        match result {
            Ok(of_device) => drop(self.tickets.insert((device, of_device), ticket)),
            Err(error) => match error {
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
            let Some((device, (of_device, answer))) = answered else { return Ok(None) };
            if let Some(ticket) = self.tickets.remove(&(device, of_device)) {
                return Ok(Some((ticket, answer)));
            }
        }
    }

    fn set_timeout(&mut self, timeout: Duration) {
        self.subnet.set_timeout(timeout);
        if let Some(general) = &mut self.general {
            general.set_timeout(timeout);
        }
    }

    // A stop ends the requests of all ports of this process.
    fn is_stopped(&self) -> bool {
        self.subnet.is_stopped()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Device without requests, which shows its timeout.
    struct Idle<'timeout>(&'timeout Cell<Duration>);

    impl Mads for Idle<'_> {
        fn ask(&mut self, _: Option<u16>, _: [u8; MAD_BYTES]) -> Result<MadTicket, ReadError> {
            Ok(MadTicket(0))
        }

        fn next_answer(&mut self) -> Result<Option<(MadTicket, MadAnswer)>, ReadError> {
            Ok(None)
        }

        fn set_timeout(&mut self, timeout: Duration) {
            self.0.set(timeout);
        }
    }

    #[test]
    fn both_devices_get_the_timeout() {
        let (subnet, general) = (Cell::default(), Cell::default());
        let mut mads = PairedMads::new(Box::new(Idle(&subnet)));
        mads.set_timeout(Duration::from_secs(1));
        assert_eq!(subnet.get(), Duration::from_secs(1));
        mads.general = Some(Box::new(Idle(&general)));
        mads.set_timeout(Duration::from_secs(2));
        assert_eq!([subnet.get(), general.get()], [Duration::from_secs(2); 2]);
    }
}

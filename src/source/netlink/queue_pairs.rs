//! Finds out if other programs have queue pairs on a device. `ping` uses it.

use std::path::Path;
use std::time::Duration;

use super::attributes::Attributes;
use super::message::Messages;
use super::rdma::{DEV_INDEX, RES_QP, RdmaCommand, RdmaQuery, ask};

/// Attributes of `enum rdma_nldev_attr` (`include/uapi/rdma/rdma_netlink.h`).
const DEV_NAME: u16 = 2;
const RES_TYPE: u16 = 26;
const RES_PID: u16 = 28;
const RES_KERNEL_NAME: u16 = 29;

/// Types for management datagrams, `IB_QPT_SMI` and `IB_QPT_GSI`, which every device has.
const MANAGEMENT: [u64; 2] = [0, 1];
/// Types that send packets again: `IB_QPT_RC` and `IB_QPT_XRC_INI`.
const RELIABLE: [u64; 2] = [2, 9];

/// Queue pairs that change a counter of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountedQueuePairs {
    /// All but those for management datagrams change a counter of packets.
    Packets,
    /// Reliable ones change a counter of retransmissions.
    Retransmissions,
}

impl CountedQueuePairs {
    /// An unknown type may be any.
    fn has(self, kind: Option<u64>) -> bool {
        kind.is_none_or(|kind| match self {
            Self::Packets => !MANAGEMENT.contains(&kind),
            Self::Retransmissions => RELIABLE.contains(&kind),
        })
    }
}

/// Returns true if the kernel or another process has a queue pair on the device that changes the
/// counters. Returns `None` if the kernel does not list queue pairs (before Linux 4.17), or does
/// not have the device.
pub fn has_other_queue_pairs(
    device: &str,
    counted: CountedQueuePairs,
    timeout: Duration,
) -> Option<bool> {
    let query = |command, device| ask(RdmaQuery { command, device, port: None }, timeout).ok();
    let devices = query(RdmaCommand::Devices, None)?;
    let named = |fields: &Attributes<'_>| fields.get(DEV_NAME)?.text().map(|name| name == device);
    let fields = fields(&devices).find(|fields| named(fields) == Some(true))?;
    let index = u32::try_from(fields.get(DEV_INDEX)?.number()?).ok()?;
    // The kernel reports the thread that created a queue pair, not its process.
    let is_own = |thread: u64| Path::new("/proc/self/task").join(thread.to_string()).exists();
    Some(has_other_owner(&query(RdmaCommand::QueuePairs, Some(index))?, counted, is_own))
}

fn has_other_owner(
    answer: &[u8],
    counted: CountedQueuePairs,
    is_own: impl Fn(u64) -> bool,
) -> bool {
    let tables = fields(answer).filter_map(|fields| fields.get(RES_QP));
    tables.flat_map(|table| table.nest()).any(|entry| {
        let fields = entry.nest();
        let number = |kind| fields.get(kind)?.number();
        // A queue pair without an owner is one of a thread that ended. The worker has such ones:
        // its port for datagrams outlives the connection whose thread opened it.
        let is_other = number(RES_PID)
            .map_or_else(|| fields.get(RES_KERNEL_NAME).is_some(), |thread| !is_own(thread));
        is_other && counted.has(number(RES_TYPE))
    })
}

fn fields(answer: &[u8]) -> impl Iterator<Item = Attributes<'_>> {
    Messages::new(answer).map(|message| Attributes::new(message.payload))
}

#[cfg(test)]
mod tests {
    use super::super::attributes::{push_bytes, push_u32};
    use super::*;

    /// Returns the reply to a list of queue pairs, each with its type and the owner's thread ID.
    fn list(queue_pairs: &[(u8, Option<u32>)]) -> Vec<u8> {
        let mut table = Vec::new();
        for (kind, pid) in queue_pairs {
            let mut entry = Vec::new();
            push_bytes(&mut entry, RES_TYPE, &[*kind]);
            if let Some(pid) = pid {
                push_u32(&mut entry, RES_PID, *pid);
            } else {
                push_bytes(&mut entry, RES_KERNEL_NAME, b"rpcrdma\0");
            }
            push_bytes(&mut table, 20, &entry);
        }
        let mut payload = Vec::new();
        push_bytes(&mut payload, RES_QP, &table);
        let length = u32::try_from(16 + payload.len()).unwrap();
        [&length.to_ne_bytes()[..], &[0; 12], &payload].concat()
    }

    #[test]
    fn queue_pairs_of_the_process_and_for_management_are_no_others() {
        let is_own = |thread| thread == 7;
        let has = |queue_pairs: &[(u8, Option<u32>)], counted| {
            has_other_owner(&list(queue_pairs), counted, is_own)
        };
        let (packets, again) = (CountedQueuePairs::Packets, CountedQueuePairs::Retransmissions);
        assert!(!has(&[], packets));
        assert!(!has(&[(0, None), (1, None), (2, Some(7))], packets));
        // The kernel names its own user of a queue pair instead of a process.
        assert!(has(&[(1, None), (2, None)], packets));
        assert!(has(&[(2, Some(7)), (4, Some(8))], packets));
        // A UD queue pair, as IPoIB has, sends no packet again.
        assert!(!has(&[(2, Some(7)), (4, Some(8))], again));
        assert!(has(&[(4, None), (2, Some(8))], again));
        assert_eq!(has_other_queue_pairs("no/such", packets, Duration::from_secs(2)), None);
    }
}

//! Redacts netlink messages of the kernel. Listed attributes stay, attributes with names and
//! addresses are rewritten, and all other attributes are removed.
//!
//! The attribute numbers of RDMA netlink are those of `enum rdma_nldev_attr` in
//! `include/uapi/rdma/rdma_netlink.h`.

use super::Redactor;
use crate::source::{Attribute, Attributes, EthtoolCommand, Messages};

/// Size of `struct nlmsghdr`, in bytes.
const MESSAGE_HEADER: usize = 16;
/// Size of `struct nlattr`, in bytes.
const ATTRIBUTE_HEADER: usize = 4;

/// Attributes of RDMA netlink that stay: indices, states, numbers of objects, versions, names and
/// values of counters, modes, and names of character devices, which the kernel assigns
/// (`uverbs0`).
const PLAIN: [u16; 59] = [
    1, 3, 4, 5, 9, 10, 11, 12, 13, 14, 17, 18, 21, 22, 23, 24, 25, 26, 27, 28, 32, 37, 38, 39, 45,
    50, 60, 61, 62, 63, 64, 65, 66, 67, 69, 70, 71, 72, 73, 74, 75, 76, 79, 82, 83, 84, 90, 91, 92,
    93, 94, 95, 96, 97, 98, 99, 103, 104, 118,
];

impl Redactor {
    /// Redacts the messages of an RDMA netlink reply; `None` if a part of the reply is not a
    /// message.
    pub(super) fn rdma(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        rebuilt(bytes, |payload| self.rdma_attributes(payload))
    }

    /// Redacts the settings of an interface (`enum` in `include/uapi/linux/if_link.h`).
    pub(super) fn route(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        const IFINFOMSG: usize = 16;
        const ADDRESS: u16 = 1;
        const IFNAME: u16 = 3;
        const MTU: u16 = 4;
        const OPERSTATE: u16 = 16;
        const LINKINFO: u16 = 18;
        rebuilt(bytes, |message| {
            let (head, attributes) = message.split_at_checked(IFINFOMSG)?;
            let mut redacted = head.to_vec();
            for Attribute { kind, payload } in Attributes::new(attributes) {
                let changed = match kind {
                    IFNAME => terminated(
                        &self.token(std::str::from_utf8(payload).ok()?.trim_end_matches('\0')),
                    ),
                    MTU | OPERSTATE => payload.to_vec(),
                    LINKINFO => link_info(payload)?,
                    ADDRESS if payload.len() == 6 => {
                        let mac = payload.iter().fold(0, |mac, byte| mac << 8 | u64::from(*byte));
                        self.mac(mac).to_be_bytes().get(2..)?.to_vec()
                    }
                    _ => continue,
                };
                push(&mut redacted, kind, &changed)?;
            }
            Some(redacted)
        })
    }

    /// Redacts data center bridging messages (`include/uapi/linux/dcbnl.h`). Bandwidth shares,
    /// flow control, priority rules and buffers are numbers and stay. The settings that the
    /// remote end advertises are removed.
    pub(super) fn dcb(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        const DCBMSG: usize = 4;
        const IFNAME: u16 = 1;
        const IEEE: u16 = 13;
        const DCBX: u16 = 14;
        rebuilt(bytes, |message| {
            let (head, attributes) = message.split_at_checked(DCBMSG)?;
            let mut redacted = head.to_vec();
            for attribute in Attributes::new(attributes) {
                let changed = match attribute.kind {
                    IFNAME => terminated(&self.token(attribute.text()?)),
                    IEEE => {
                        // ETS, PFC and application tables; buffers; table of application trust.
                        let is_local = |part: &Attribute<'_>| matches!(part.kind, 1..=3 | 10 | 11);
                        kept(attribute.payload, is_local)?
                    }
                    DCBX => attribute.payload.to_vec(),
                    _ => continue,
                };
                push(&mut redacted, attribute.kind, &changed)?;
            }
            Some(redacted)
        })
    }

    fn rdma_attributes(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut redacted = Vec::new();
        for attribute in Attributes::new(bytes) {
            let payload = attribute.payload;
            let changed = match (attribute.kind, attribute.number()) {
                // Nested attributes.
                (
                    15
                    | 16
                    | 19
                    | 20
                    | 30
                    | 31
                    | 35
                    | 36
                    | 40
                    | 41
                    | 46
                    | 47
                    | 77
                    | 78
                    | 80
                    | 81
                    | 86..=89,
                    _,
                ) => self.rdma_attributes(payload)?,
                (kind, _) if PLAIN.contains(&kind) => payload.to_vec(),
                // Name of a device, a network interface or a parent device.
                (2 | 51 | 100, _) => terminated(&self.token(attribute.text()?)),
                // Node GUID and system image GUID.
                (6 | 7, Some(guid)) => self.guid(guid).to_ne_bytes().to_vec(),
                // Subnet prefix: upper half of the GIDs of a port.
                (8, Some(prefix)) => {
                    let gid = self.ipv6(u128::from(prefix) << 64) >> 64;
                    u64::try_from(gid).ok()?.to_ne_bytes().to_vec()
                }
                // Kernel module that owns an object.
                (29, _) => terminated(&self.module(attribute.text()?)),
                // Remote and local key of a memory region, and local key of a protection domain.
                (42 | 43 | 48, Some(key)) => {
                    self.memory_key(u32::try_from(key).ok()?).to_ne_bytes().to_vec()
                }
                // Source and destination address: `struct sockaddr_storage`.
                (33 | 34, _) => self.address_bytes(payload)?,
                _ => continue,
            };
            push(&mut redacted, attribute.kind, &changed)?;
        }
        Some(redacted)
    }

    /// Returns the pseudonym of a memory key, because a key gives access to memory of the host.
    /// Zero means no key, and stays.
    fn memory_key(&self, key: u32) -> u32 {
        if key == 0 {
            return 0;
        }
        u32::try_from(self.secret.permute("memory key", key.into(), 32)).unwrap_or(0)
    }

    /// Redacts the address in a `struct sockaddr_storage`; removes the rest of the structure.
    fn address_bytes(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        // `AF_INET`, `AF_INET6` and `AF_IB`.
        const INET: u16 = 2;
        const INET6: u16 = 10;
        const IB: u16 = 27;
        let family = u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?);
        let mut redacted = vec![0; bytes.len()];
        match family {
            INET => {
                let ip = u32::from_be_bytes(bytes.get(4..8)?.try_into().ok()?);
                redacted.get_mut(..4)?.copy_from_slice(bytes.get(..4)?);
                redacted.get_mut(4..8)?.copy_from_slice(&self.ipv4(ip).to_be_bytes());
            }
            INET6 | IB => {
                let ip = u128::from_be_bytes(bytes.get(8..24)?.try_into().ok()?);
                let pseudonym = if family == IB { self.gid(ip) } else { self.ipv6(ip) };
                // Family and port, or family and partition. The flow label after them is removed.
                redacted.get_mut(..4)?.copy_from_slice(bytes.get(..4)?);
                redacted.get_mut(8..24)?.copy_from_slice(&pseudonym.to_be_bytes());
            }
            // Unspecified address of a listener.
            0 => {}
            _ => return None,
        }
        Some(redacted)
    }
}

/// Redacts ethtool netlink messages: removes the header, which has the interface name, and keeps
/// the values after the header.
pub(super) fn ethtool(command: EthtoolCommand, bytes: &[u8]) -> Option<Vec<u8>> {
    const GENLMSGHDR: usize = 4;
    // Number of the header attribute. In counters, padding has number 1.
    let header = if command == EthtoolCommand::Counters { 2 } else { 1 };
    rebuilt(bytes, |message| {
        let (head, attributes) = message.split_at_checked(GENLMSGHDR)?;
        let is_value = |part: &Attribute<'_>| (header + 1..=9).contains(&part.kind);
        Some([head.to_vec(), kept(attributes, is_value)?].concat())
    })
}

/// Returns the selected attributes, unchanged.
fn kept(bytes: &[u8], is_kept: impl Fn(&Attribute<'_>) -> bool) -> Option<Vec<u8>> {
    let mut selected = Vec::new();
    for attribute in Attributes::new(bytes).filter(is_kept) {
        push(&mut selected, attribute.kind, attribute.payload)?;
    }
    Some(selected)
}

/// Returns the messages of a reply with changed payloads; `None` if a part of the reply is not a
/// message.
fn rebuilt(bytes: &[u8], change: impl Fn(&[u8]) -> Option<Vec<u8>>) -> Option<Vec<u8>> {
    let messages = Messages::new(bytes);
    if !messages.clone().last_is_whole() {
        return None;
    }
    let mut redacted = Vec::new();
    for message in messages {
        let payload = change(message.payload)?;
        let length = u32::try_from(MESSAGE_HEADER + payload.len()).ok()?;
        redacted.extend_from_slice(&length.to_ne_bytes());
        redacted.extend_from_slice(&message.kind.to_ne_bytes());
        redacted.extend_from_slice(&message.flags.to_ne_bytes());
        redacted.extend_from_slice(&message.sequence.to_ne_bytes());
        // Process ID of the requester.
        redacted.extend_from_slice(&0_u32.to_ne_bytes());
        redacted.extend_from_slice(&payload);
    }
    Some(redacted)
}

/// Appends an attribute, padded to 4 bytes; `None` if its length field cannot hold the length.
fn push(redacted: &mut Vec<u8>, kind: u16, payload: &[u8]) -> Option<()> {
    let length = u16::try_from(ATTRIBUTE_HEADER + payload.len()).ok()?;
    redacted.extend_from_slice(&length.to_ne_bytes());
    redacted.extend_from_slice(&kind.to_ne_bytes());
    redacted.extend_from_slice(payload);
    redacted.resize(redacted.len().next_multiple_of(4), 0);
    Some(())
}

/// Keeps the kind of an interface, and its setting number 1 if the setting has at most two bytes:
/// VLAN, partition or bond mode. Other settings may be addresses.
fn link_info(bytes: &[u8]) -> Option<Vec<u8>> {
    const KIND: u16 = 1;
    const DATA: u16 = 2;
    let mut redacted = Vec::new();
    for Attribute { kind, payload } in Attributes::new(bytes) {
        match kind {
            KIND => push(&mut redacted, kind, payload)?,
            DATA => {
                let mut data = Vec::new();
                let first = Attributes::new(payload).get(1);
                if let Some(first) = first.filter(|first| first.payload.len() <= 2) {
                    push(&mut data, 1, first.payload)?;
                }
                push(&mut redacted, kind, &data)?;
            }
            _ => {}
        }
    }
    Some(redacted)
}

/// Returns the bytes of a text, with a zero byte at the end.
fn terminated(text: &str) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.push(0);
    bytes
}

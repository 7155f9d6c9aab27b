//! Numbers of RDMA netlink attributes (`enum rdma_nldev_attr`), and typed access to their values.
//! The other modules of `nldev` use it.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::model::{CmAddress, GidValue};
use crate::source::{Attributes, Message, Messages};

pub(super) const DEV_INDEX: u16 = 1;
pub(super) const DEV_NAME: u16 = 2;
pub(super) const PORT_INDEX: u16 = 3;
pub(super) const CAP_FLAGS: u16 = 4;
pub(super) const SUBNET_PREFIX: u16 = 8;
pub(super) const RES_SUMMARY: u16 = 15;
pub(super) const RES_SUMMARY_ENTRY_NAME: u16 = 17;
pub(super) const RES_SUMMARY_ENTRY_CURR: u16 = 18;
pub(super) const RES_QP: u16 = 19;
pub(super) const RES_LQPN: u16 = 21;
pub(super) const RES_RQPN: u16 = 22;
pub(super) const RES_RQ_PSN: u16 = 23;
pub(super) const RES_SQ_PSN: u16 = 24;
pub(super) const RES_PATH_MIG_STATE: u16 = 25;
pub(super) const RES_TYPE: u16 = 26;
pub(super) const RES_STATE: u16 = 27;
pub(super) const RES_PID: u16 = 28;
pub(super) const RES_KERN_NAME: u16 = 29;
pub(super) const RES_CM_ID: u16 = 30;
pub(super) const RES_PS: u16 = 32;
pub(super) const RES_SRC_ADDR: u16 = 33;
pub(super) const RES_DST_ADDR: u16 = 34;
pub(super) const RES_CQ: u16 = 35;
pub(super) const RES_CQE: u16 = 37;
pub(super) const RES_USECNT: u16 = 38;
pub(super) const RES_POLL_CTX: u16 = 39;
pub(super) const RES_MR: u16 = 40;
pub(super) const RES_RKEY: u16 = 42;
pub(super) const RES_LKEY: u16 = 43;
pub(super) const RES_MRLEN: u16 = 45;
pub(super) const RES_PD: u16 = 46;
pub(super) const RES_LOCAL_DMA_LKEY: u16 = 48;
pub(super) const NDEV_INDEX: u16 = 50;
pub(super) const NDEV_NAME: u16 = 51;
pub(super) const RES_PDN: u16 = 60;
pub(super) const RES_CQN: u16 = 61;
pub(super) const RES_MRN: u16 = 62;
pub(super) const RES_CM_IDN: u16 = 63;
pub(super) const RES_CTXN: u16 = 64;
pub(super) const SYS_NETNS_MODE: u16 = 66;
pub(super) const DEV_PROTOCOL: u16 = 67;
pub(super) const STAT_MODE: u16 = 74;
pub(super) const STAT_AUTO_MODE_MASK: u16 = 76;
pub(super) const STAT_HWCOUNTERS: u16 = 80;
pub(super) const STAT_HWCOUNTER_NAME: u16 = 82;
pub(super) const STAT_HWCOUNTER_VALUE: u16 = 83;
pub(super) const DEV_DIM: u16 = 84;
pub(super) const RES_CTX: u16 = 86;
pub(super) const RES_SRQ: u16 = 88;
pub(super) const RES_SRQN: u16 = 90;
pub(super) const SYS_COPY_ON_FORK: u16 = 93;
pub(super) const SYS_PRIVILEGED_QKEY: u16 = 96;
pub(super) const DEV_TYPE: u16 = 99;
pub(super) const PARENT_NAME: u16 = 100;
pub(super) const SYS_MONITOR_MODE: u16 = 103;
pub(super) const RES_SUMMARY_ENTRY_MAX: u16 = 118;

/// Attributes of one object, with typed access.
#[derive(Debug, Clone)]
pub(super) struct Fields<'bytes>(pub(super) Attributes<'bytes>);

pub(super) fn messages(answer: &[u8]) -> impl Iterator<Item = Fields<'_>> {
    Messages::new(answer).map(|message| Fields::of(&message))
}

impl<'bytes> Fields<'bytes> {
    pub(super) fn of(message: &Message<'bytes>) -> Self {
        Self(Attributes::new(message.payload))
    }
}

impl Fields<'_> {
    pub(super) fn u32(&self, kind: u16) -> Option<u32> {
        u32::try_from(self.u64(kind)?).ok()
    }

    pub(super) fn u64(&self, kind: u16) -> Option<u64> {
        self.0.get(kind)?.number()
    }

    /// Returns a number as a flag: true unless it is 0.
    pub(super) fn flag(&self, kind: u16) -> Option<bool> {
        self.u64(kind).map(|flag| flag != 0)
    }

    pub(super) fn text(&self, kind: u16) -> Option<String> {
        Some(self.0.get(kind)?.text()?.to_owned())
    }

    /// Returns the word for a number; the digits if the number has no word.
    pub(super) fn word(&self, kind: u16, words: &[(u32, &str)]) -> Option<String> {
        let number = self.u32(kind)?;
        let known = words.iter().find(|(known, _)| *known == number);
        Some(known.map_or_else(|| number.to_string(), |(_, word)| (*word).to_owned()))
    }

    /// Decodes a `struct sockaddr_storage`: an IP address, or a GID on native InfiniBand.
    pub(super) fn address(&self, kind: u16) -> Option<CmAddress> {
        let bytes = self.0.get(kind)?.payload;
        let part = |at: usize, length: usize| bytes.get(at..at + length);
        let family = u16::from_ne_bytes(part(0, 2)?.try_into().ok()?);
        let tcp_port = || Some(u16::from_be_bytes(part(2, 2)?.try_into().ok()?));
        match i32::from(family) {
            libc::AF_INET => {
                let ip: [u8; 4] = part(4, 4)?.try_into().ok()?;
                Some(CmAddress::Ip(SocketAddr::new(Ipv4Addr::from(ip).into(), tcp_port()?)))
            }
            libc::AF_INET6 => {
                let ip: [u8; 16] = part(8, 16)?.try_into().ok()?;
                Some(CmAddress::Ip(SocketAddr::new(Ipv6Addr::from(ip).into(), tcp_port()?)))
            }
            // struct sockaddr_ib: family, pkey, flowinfo, then the address.
            libc::AF_IB => {
                let gid: [u8; 16] = part(8, 16)?.try_into().ok()?;
                Some(CmAddress::Gid(GidValue(Ipv6Addr::from(gid))))
            }
            _ => None,
        }
    }
}

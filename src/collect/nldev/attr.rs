//! Numbers of RDMA netlink attributes (`enum rdma_nldev_attr`), and typed access to their values.
//! The other modules of `nldev` use it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::model::{CmAddress, GidValue};
use crate::source::{Attributes, Message, Messages, bytes_at};

macro_rules! numbers {
    ($($name:ident = $number:literal,)*) => {
        $(pub(super) const $name: u16 = $number;)*
    };
}

numbers! {
    // Attributes of the kernel module.
    SYS_NETNS_MODE = 66, SYS_COPY_ON_FORK = 93, SYS_PRIVILEGED_QKEY = 96, SYS_MONITOR_MODE = 103,
    // Attributes of devices and ports.
    DEV_INDEX = 1, DEV_NAME = 2, PORT_INDEX = 3, CAP_FLAGS = 4, SUBNET_PREFIX = 8,
    NDEV_INDEX = 50, NDEV_NAME = 51, DEV_PROTOCOL = 67, DEV_DIM = 84, DEV_TYPE = 99,
    PARENT_NAME = 100,
    // Attributes of counters.
    STAT_MODE = 74, STAT_AUTO_MODE_MASK = 76, STAT_HWCOUNTERS = 80, STAT_HWCOUNTER_NAME = 82,
    STAT_HWCOUNTER_VALUE = 83,
    // Attributes of the summary of resources.
    RES_SUMMARY = 15, RES_SUMMARY_ENTRY_NAME = 17, RES_SUMMARY_ENTRY_CURR = 18,
    RES_SUMMARY_ENTRY_MAX = 118,
    // Attributes of resources.
    RES_QP = 19, RES_LQPN = 21, RES_RQPN = 22, RES_RQ_PSN = 23, RES_SQ_PSN = 24,
    RES_PATH_MIG_STATE = 25, RES_TYPE = 26, RES_STATE = 27, RES_PID = 28, RES_KERN_NAME = 29,
    RES_CM_ID = 30, RES_PS = 32, RES_SRC_ADDR = 33, RES_DST_ADDR = 34, RES_CQ = 35, RES_CQE = 37,
    RES_USECNT = 38, RES_POLL_CTX = 39, RES_MR = 40, RES_RKEY = 42, RES_LKEY = 43, RES_MRLEN = 45,
    RES_PD = 46, RES_LOCAL_DMA_LKEY = 48, RES_PDN = 60, RES_CQN = 61, RES_MRN = 62,
    RES_CM_IDN = 63, RES_CTXN = 64, RES_CTX = 86, RES_SRQ = 88, RES_SRQN = 90,
}

#[derive(Debug, Clone)]
pub(super) struct Fields<'bytes>(pub(super) Attributes<'bytes>);

pub(super) fn messages(answer: &[u8]) -> impl Iterator<Item = Fields<'_>> {
    Messages::new(answer).map(|message| Fields::of(&message))
}

impl<'bytes> Fields<'bytes> {
    pub(super) fn of(message: &Message<'bytes>) -> Self {
        Self(Attributes::new(message.payload))
    }

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
        let ip_end = |ip: IpAddr| {
            let port = u16::from_be_bytes(bytes_at(bytes, 2)?);
            Some(CmAddress::Ip(SocketAddr::new(ip, port)))
        };
        match i32::from(u16::from_ne_bytes(bytes_at(bytes, 0)?)) {
            libc::AF_INET => ip_end(Ipv4Addr::from(bytes_at::<4>(bytes, 4)?).into()),
            libc::AF_INET6 => ip_end(Ipv6Addr::from(bytes_at::<16>(bytes, 8)?).into()),
            // struct sockaddr_ib: family, pkey, flowinfo, then the address.
            libc::AF_IB => {
                Some(CmAddress::Gid(GidValue(Ipv6Addr::from(bytes_at::<16>(bytes, 8)?))))
            }
            _ => None,
        }
    }
}

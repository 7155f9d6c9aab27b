//! Data center bridging (DCB) of an Ethernet interface.
//! `collect` reads the settings from DCB netlink; `analyse` checks lossless traffic classes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Data center bridging: the eight priorities, their shares of the link, and the lossless ones.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Dcb {
    /// DCBX modes: who decides and by which protocol (`host`, `lld_managed`, `cee`, `ieee`,
    /// `static`); `None` if the driver does not report them.
    pub dcbx: Option<Vec<String>>,
    /// Enhanced transmission selection: the shares of the priorities of the link.
    pub ets: Option<Ets>,
    /// Priority flow control: the lossless priorities.
    pub pfc: Option<Pfc>,
    /// Priority flow control of the other end, as the other end reports it.
    pub peer_pfc: Option<Pfc>,
    /// Rules that map traffic to priorities.
    pub apps: Vec<DcbApp>,
    /// Fields of a packet that determine its priority, in order of preference: `dscp`, `pcp`.
    /// `None` before Linux 6.3, and if the driver does not report them.
    pub trust: Option<Vec<String>>,
    /// Receive buffers.
    pub buffers: Option<DcbBuffers>,
}

/// Enhanced transmission selection (IEEE 802.1Qaz).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ets {
    /// True if the interface accepts the configuration of the other end.
    pub willing: bool,
    /// Number of traffic classes that the hardware has.
    pub classes: u8,
    /// Bandwidth share of each traffic class in percent; it applies to classes with the algorithm
    /// `ets`.
    pub bandwidth_percent: [u8; 8],
    /// Scheduling algorithm of each traffic class: `strict`, `cbs`, `ets`, `vendor`.
    pub algorithm: [String; 8],
    /// Traffic class of each priority.
    pub priority_class: [u8; 8],
}

/// Priority flow control (IEEE 802.1Qbb).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pfc {
    /// Number of priorities for which the hardware supports priority flow control.
    pub capability: u8,
    /// Priorities with priority flow control.
    pub enabled: Vec<u8>,
    /// Link delay: data that the other end may still send after a pause request, in bits.
    pub delay_bits: u16,
    /// Number of pause requests that each priority sent.
    pub requests: [u64; 8],
    /// Number of pause requests that each priority received.
    pub indications: [u64; 8],
}

/// Rule that maps traffic to a priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DcbApp {
    /// Meaning of `protocol`.
    pub selector: DcbSelector,
    /// Value to match: a DSCP, a port, an `EtherType`.
    pub protocol: u16,
    /// Priority, 0 to 7.
    pub priority: u8,
}

json_words! {
    /// Field that a rule matches (`IEEE_8021QAZ_APP_SEL_*` of `include/uapi/linux/dcbnl.h`).
    #[derive(Serialize, Deserialize, JsonSchema)]
    pub enum DcbSelector {
        /// `EtherType`; the value 0 sets the default priority.
        Ethertype = "ethertype",
        /// TCP or SCTP port.
        Stream = "stream",
        /// UDP or DCCP port.
        Datagram = "datagram",
        /// TCP, SCTP, UDP or DCCP port.
        Any = "any",
        /// Differentiated services code point.
        Dscp = "dscp",
        /// Priority and drop bits of the VLAN tag.
        Pcp = "pcp",
        /// Selector that this version does not know.
        Other = "other",
    }
    /// Returns the word of the selector, as JSON shows it.
    pub fn word(self);
}

/// Receive buffers of an interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DcbBuffers {
    /// Buffer of each priority.
    pub priority_buffer: [u8; 8],
    /// Size of each buffer in bytes.
    pub size_bytes: [u32; 8],
    /// Size of all buffers in bytes.
    pub total_bytes: u32,
}

impl DcbSelector {
    /// Returns the selector of a kernel code.
    pub fn from_code(code: u8) -> Self {
        match code {
            1 => Self::Ethertype,
            2 => Self::Stream,
            3 => Self::Datagram,
            4 => Self::Any,
            5 => Self::Dscp,
            255 => Self::Pcp,
            _ => Self::Other,
        }
    }
}

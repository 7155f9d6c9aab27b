use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Data center bridging: eight priorities, what they share and which of them lose nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Dcb {
    /// Who decides and by which protocol: `host`, `lld_managed`, `cee`, `ieee`, `static`; `None` where
    /// the driver does not say.
    pub dcbx: Option<Vec<String>>,
    /// Enhanced transmission selection: how the priorities share the link.
    pub ets: Option<Ets>,
    /// Priority flow control: which priorities lose nothing.
    pub pfc: Option<Pfc>,
    /// What the other end said of its own priority flow control.
    pub peer_pfc: Option<Pfc>,
    /// Which traffic has which priority.
    pub apps: Vec<DcbApp>,
    /// What a packet's priority is taken from, first choice first: `dscp`, `pcp`; `None` on kernels
    /// before 6.3, and where the driver does not say.
    pub trust: Option<Vec<String>>,
    /// The receive buffers.
    pub buffers: Option<DcbBuffers>,
}

/// Enhanced transmission selection (IEEE 802.1Qaz).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ets {
    /// Whether it takes the other end's configuration.
    pub willing: bool,
    /// How many traffic classes the hardware has.
    pub classes: u8,
    /// Share of each traffic class in percent, for those of algorithm `ets`.
    pub bandwidth_percent: [u8; 8],
    /// How each traffic class is chosen: `strict`, `cbs`, `ets`, `vendor`.
    pub algorithm: [String; 8],
    /// Traffic class of each priority.
    pub priority_class: [u8; 8],
}

/// Priority flow control (IEEE 802.1Qbb).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pfc {
    /// For how many priorities the hardware can do it.
    pub capability: u8,
    /// The priorities for which it is on.
    pub enabled: Vec<u8>,
    /// How much the other end may still send, in bits.
    pub delay_bits: u16,
    /// How often each priority asked the other end to stop.
    pub requests: [u64; 8],
    /// How often each priority was asked to stop.
    pub indications: [u64; 8],
}

/// One rule that gives traffic its priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DcbApp {
    /// What `protocol` is.
    pub selector: DcbSelector,
    /// The value that is looked for: a DSCP, a port, an `EtherType`.
    pub protocol: u16,
    /// The priority, 0 to 7.
    pub priority: u8,
}

/// What a rule looks at (`IEEE_8021QAZ_APP_SEL_*` of `include/uapi/linux/dcbnl.h`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DcbSelector {
    /// `EtherType`; 0 is the default priority.
    Ethertype,
    /// Port of TCP or SCTP.
    Stream,
    /// Port of UDP or DCCP.
    Datagram,
    /// Port of any of them.
    Any,
    /// Differentiated services code point.
    Dscp,
    /// Priority and drop bits of the VLAN tag.
    Pcp,
    /// Another one.
    Other,
}

/// The receive buffers of an interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DcbBuffers {
    /// The buffer of each priority.
    pub priority_buffer: [u8; 8],
    /// Size of each buffer in bytes.
    pub size_bytes: [u32; 8],
    /// Size of all of them.
    pub total_bytes: u32,
}

impl DcbSelector {
    /// The selector of a number.
    #[must_use]
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

    /// The word for it, as JSON has it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Ethertype => "ethertype",
            Self::Stream => "stream",
            Self::Datagram => "datagram",
            Self::Any => "any",
            Self::Dscp => "dscp",
            Self::Pcp => "pcp",
            Self::Other => "other",
        }
    }
}

//! Vocabulary of the program: plain serde types with units in their names, and no I/O.
//!
//! `collect` and `ping` fill the types, `analyse` and `query` read them, `render` prints them.
//! `None` means that the kernel or the driver does not have the value. A value that exists but
//! cannot be read is `None` as well; a [`Problem`] then names the key of the value.

#[macro_use]
mod word_enum;

mod check;
mod connection;
mod consumers;
mod counter;
mod dcb;
mod device;
mod ethernet;
mod fabric;
mod failure;
mod finding;
mod fix;
mod gid;
mod host;
pub mod key;
mod netdev;
mod netdevs;
mod netlink;
mod parts;
mod pci;
pub mod ping;
mod pkey;
mod port;
pub mod probe;
mod problem;
mod resource;
mod setting;
mod system;
mod verbs;
mod wanted_gid;
pub mod words;

pub use check::{
    Acceptance, CHECKS, Check, CheckReport, CheckResult, CheckScope, CheckedFinding, ExpectedValue,
    HostResults, Policy, Thresholds, VerdictChecks, check, nearest_check, selects_check,
};
pub use connection::{
    Cause, Channels, Connection, ConnectionState, ConnectionVerdict, Consumer, ConsumerKind, End,
    Evidence, KnownBy, Peer, PinnedMemory, RdmaChannel, Requested, Role, Strength, TcpChannel,
    Transport,
};
pub use consumers::{
    BeegfsClient, BeegfsFilter, BeegfsInterface, BeegfsLogLine, BeegfsNode, BeegfsNodeKind,
    BeegfsPool, Consumers, Holder, IscsiNode, IscsiPortal, IscsiSession, LustreImport, LustrePeer,
    MountIntent, NfsClientOfServer, NfsListener, NfsMount, NfsServer, NfsTransport, NvmeController,
    NvmeIntent, NvmetPort, P9Mount, RdsConnection, SmbServer, SmcMode, SmcSocket, SmcState,
    SocketSource, SrpHost, Subnet, SunrpcTransport, TcpSocket, TcpState,
};
pub use counter::{Counter, CounterChange, CounterGroup, CounterRate, CounterUnit, PerSecond};
pub use dcb::{Dcb, DcbApp, DcbBuffers, DcbSelector, Ets, Pfc};
pub use device::{Device, NodeType, Provider, SOFT_IWARP, SOFT_ROCE};
pub use ethernet::{Ethernet, EthernetCounter, Fec, Module, Pause};
pub use fabric::{
    DuplicateGuid, Fabric, FabricEnd, FabricNode, FabricNodeKind, FabricPort, ForwardingTable,
    LinkPeer, SubnetManager, SweepMethod, UnansweredRequest, lane_bps, lanes, speed_word,
    width_word,
};
pub use failure::{HostFailure, Reason};
pub use finding::{Finding, Severity, Subject};
pub use fix::{Fix, KnownFix, is_plain, shell_word};
pub use gid::{Gid, GidKind, GidValue, Guid};
pub use host::{HostReport, Via};
pub use netdev::{Bond, Ipoib, Netdev, NetdevKind, Vlan};
pub use netdevs::Netdevs;
pub use netlink::{CounterMode, NetlinkDevice, NetlinkPort, NetnsMode, ObjectCount, RdmaSystem};
pub use parts::{Part, Parts};
pub use pci::{Gpu, PciLink, PciPath, PciSpeed, VirtualFunctions};
pub use pkey::{Membership, PKey};
pub use port::{LinkLayer, Port, PortState, Protocol};
pub use problem::{NEEDS_PROGRAM, Problem, Problems, REDACTED};
pub use resource::{CmAddress, CmId, Object, Owner, QueuePair, Resource};
pub use setting::SettingEntry;
pub use system::{
    ConnectedNetwork, IdleFunction, KernelFault, KernelFaultKind, Limits, SOCKET_UNITS, Service,
    System,
};
pub use verbs::{
    VerbsAnswer, VerbsAttributes, VerbsCompletionCounters, VerbsDevice, VerbsEntry, VerbsExtended,
    VerbsPort, VerbsRefusal, VerbsState, VerbsStep,
};
pub(crate) use verbs::{verbs_device_fields, verbs_extended_fields};
pub use wanted_gid::WantedGid;
pub(crate) use word_enum::words;

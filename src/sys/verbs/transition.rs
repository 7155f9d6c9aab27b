//! Builds the attributes for state changes of a queue pair.

use super::address::Path;
use super::buffer::AccessFlags;
use super::port::Mtu;
use crate::sys::ffi;
use crate::sys::plain::Plain;

/// Mask of a sequence number (PSN), which has 24 bits.
const PSN_MASK: u32 = 0xff_ffff;

/// Attributes from RESET to INIT, on RC and UC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectedInit {
    /// Local port, from 1.
    pub port: u8,
    /// Index in the `P_Key` table.
    pub pkey_index: u16,
    /// Rights of the peer on the buffer.
    pub access: AccessFlags,
}

/// Attributes from RESET to INIT, on UD and SRD.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatagramInit {
    /// Local port, from 1.
    pub port: u8,
    /// Index in the `P_Key` table.
    pub pkey_index: u16,
    /// Q_Key that senders must use. A Q_Key with the high bit set requires a privilege.
    pub qkey: u32,
}

/// Attributes from INIT to RTR, on RC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadyToReceive {
    /// Path to the peer.
    pub path: Path,
    /// MTU of the path, at most the MTU in use at each port; the kernel does not check it.
    pub mtu: Mtu,
    /// Number of the peer's queue pair.
    pub remote_qp: u32,
    /// First sequence number of the peer.
    pub receive_psn: u32,
    /// Maximum number of outstanding RDMA reads and atomics from the peer.
    pub max_dest_rd_atomic: u8,
    /// Time that a peer waits after "receiver not ready", as a code: 12 is 0.64 ms.
    pub min_rnr_timer: u8,
}

/// Attributes from INIT to RTR, on UC, which has no acknowledgements and so no timers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnreliableReady {
    /// Path to the peer.
    pub path: Path,
    /// MTU of the path, as in [`ReadyToReceive`].
    pub mtu: Mtu,
    /// Number of the peer's queue pair.
    pub remote_qp: u32,
    /// First sequence number of the peer.
    pub receive_psn: u32,
}

/// Attributes from RTR to RTS, on RC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadyToSend {
    /// Timeout of an acknowledgement, as an exponent of 4.096 µs: 14 is 67 ms.
    pub timeout: u8,
    /// Retries without an acknowledgement; with 7, soft-RoCE retries forever.
    pub retry_count: u8,
    /// Retries after "receiver not ready"; 7 means forever.
    pub rnr_retry: u8,
    /// First sequence number of this end.
    pub send_psn: u32,
    /// Maximum number of outstanding RDMA reads and atomics from this end.
    pub max_rd_atomic: u8,
}

/// Attributes, and the mask of the attributes that are set.
pub(super) struct Change {
    pub(super) attr: ffi::ibv_qp_attr,
    pub(super) mask: ffi::ibv_qp_attr_mask,
}

impl Change {
    /// Changes only the state.
    pub(super) fn to(state: ffi::ibv_qp_state) -> Self {
        let mut attr = ffi::ibv_qp_attr::zeroed();
        attr.qp_state = state;
        Self { attr, mask: ffi::IBV_QP_STATE }
    }

    pub(super) fn to_connected_init(init: ConnectedInit) -> Self {
        let mut change = Self::to(ffi::IBV_QPS_INIT);
        change.attr.port_num = init.port;
        change.attr.pkey_index = init.pkey_index;
        change.attr.qp_access_flags = init.access.flags();
        change.mask |= ffi::IBV_QP_PORT | ffi::IBV_QP_PKEY_INDEX | ffi::IBV_QP_ACCESS_FLAGS;
        change
    }

    pub(super) fn to_datagram_init(init: DatagramInit) -> Self {
        let mut change = Self::to(ffi::IBV_QPS_INIT);
        change.attr.port_num = init.port;
        change.attr.pkey_index = init.pkey_index;
        change.attr.qkey = init.qkey;
        change.mask |= ffi::IBV_QP_PORT | ffi::IBV_QP_PKEY_INDEX | ffi::IBV_QP_QKEY;
        change
    }

    pub(super) fn to_unreliable_receive(ready: &UnreliableReady) -> Self {
        let mut change = Self::to(ffi::IBV_QPS_RTR);
        change.attr.ah_attr = ready.path.attr();
        change.attr.path_mtu = ready.mtu.code();
        change.attr.dest_qp_num = ready.remote_qp;
        change.attr.rq_psn = ready.receive_psn & PSN_MASK;
        change.mask |=
            ffi::IBV_QP_AV | ffi::IBV_QP_PATH_MTU | ffi::IBV_QP_DEST_QPN | ffi::IBV_QP_RQ_PSN;
        change
    }

    pub(super) fn to_reliable_receive(ready: &ReadyToReceive) -> Self {
        let &ReadyToReceive { path, mtu, remote_qp, receive_psn, .. } = ready;
        let common = UnreliableReady { path, mtu, remote_qp, receive_psn };
        let mut change = Self::to_unreliable_receive(&common);
        change.attr.max_dest_rd_atomic = ready.max_dest_rd_atomic;
        change.attr.min_rnr_timer = ready.min_rnr_timer;
        change.mask |= ffi::IBV_QP_MAX_DEST_RD_ATOMIC | ffi::IBV_QP_MIN_RNR_TIMER;
        change
    }

    /// Changes the state from RTR to RTS, on UC, UD and SRD.
    pub(super) fn to_send(psn: u32) -> Self {
        let mut change = Self::to(ffi::IBV_QPS_RTS);
        change.attr.sq_psn = psn & PSN_MASK;
        change.mask |= ffi::IBV_QP_SQ_PSN;
        change
    }

    pub(super) fn to_reliable_send(ready: ReadyToSend) -> Self {
        let mut change = Self::to_send(ready.send_psn);
        change.attr.timeout = ready.timeout;
        change.attr.retry_cnt = ready.retry_count;
        change.attr.rnr_retry = ready.rnr_retry;
        change.attr.max_rd_atomic = ready.max_rd_atomic;
        change.mask |= ffi::IBV_QP_TIMEOUT
            | ffi::IBV_QP_RETRY_CNT
            | ffi::IBV_QP_RNR_RETRY
            | ffi::IBV_QP_MAX_QP_RD_ATOMIC;
        change
    }
}

//! Options of a connection, and the proof that an end is the requested peer. Sends nothing: `id`
//! sends the proof; `endpoint` and `listener` check the proof of the peer.

pub(super) const PROOF_BYTES: u8 = 8;

/// Private data with which one end of a connection proves that it is the requested peer.
pub type ConnectionProof = [u8; PROOF_BYTES as usize];

/// Options of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectOptions {
    /// Retries without an acknowledgement; with 7, soft-RoCE retries forever. iWARP ignores it.
    pub retry_count: u8,
    /// Retries after "receiver not ready"; 7 means forever. iWARP ignores it.
    pub rnr_retry: u8,
    /// Proof that this end sends.
    pub proof: ConnectionProof,
    /// Proof that the listening end must send. `Listener::next` checks that of the other end.
    pub proof_of_peer: ConnectionProof,
}

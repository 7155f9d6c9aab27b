//! Options of a connection, and the proof that an end is the requested peer. Sends nothing: `id`
//! sends the proof; `endpoint` and `listener` check the proof of the peer.

/// Size of a proof, in bytes.
pub(super) const PROOF: u8 = 8;

/// Private data with which one end of a connection proves that it is the requested peer.
pub type ConnectionProof = [u8; PROOF as usize];

/// Options of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectOptions {
    /// Retries without an acknowledgement; with 7, soft-RoCE retries forever. iWARP ignores it.
    pub retry_count: u8,
    /// Retries after "receiver not ready"; 7 means forever. iWARP ignores it.
    pub rnr_retry: u8,
    /// Proof that this end sends.
    pub proof: ConnectionProof,
    /// Proof that the listening end must send. The listening end compares the proof of its peer
    /// earlier, in `Listener::next`.
    pub proof_of_peer: ConnectionProof,
}

/// True if the private data begin with the proof.
pub(super) fn proves(private_data: &[u8], proof: ConnectionProof) -> bool {
    private_data.starts_with(&proof)
}

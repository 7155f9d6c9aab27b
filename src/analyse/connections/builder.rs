//! Builder methods and IDs of connections, for the modules of the consumers. Reads no facts.

use std::collections::HashMap;
use std::net::IpAddr;

use super::channel::{Channel, tcp_channel};
use crate::model::{
    Cause, Channels, Connection, ConnectionState, ConnectionVerdict, Consumer, ConsumerKind, End,
    Evidence, KnownBy, Peer, Requested, Role, Strength, TcpSocket, Transport,
};

/// Fix that tests RDMA to the server; [`Connection::fix`] fills in the address of the server.
pub(super) const PING: &str = "test RDMA to the server: rdmactl ping {server}";

/// Returns a connection with a consumer and no other facts.
pub(super) fn unknown(kind: ConsumerKind, instance: impl Into<String>, role: Role) -> Connection {
    Connection {
        id: String::new(),
        consumer: Consumer { kind, instance: instance.into(), role, pid: None },
        peer: Peer::default(),
        local: None,
        transport: Transport::Unknown,
        channels: Channels::default(),
        state: ConnectionState::Unknown,
        rdma: Vec::new(),
        tcp: Vec::new(),
        requested: Requested::default(),
        verdict: ConnectionVerdict::Unknown,
        cause: None,
        evidence: Vec::new(),
        missing: Vec::new(),
        memory: None,
    }
}

impl Connection {
    /// Sets the peer that the consumer itself reports.
    pub(super) fn with_peer(
        mut self,
        name: Option<&str>,
        address: Option<IpAddr>,
        port: Option<u16>,
    ) -> Self {
        let known_by = (name.is_some() || address.is_some()).then_some(KnownBy::Consumer);
        self.peer = Peer { name: name.map(str::to_owned), address, port, known_by, ..self.peer };
        self
    }

    pub(super) fn is(
        mut self,
        transport: Transport,
        state: ConnectionState,
        verdict: ConnectionVerdict,
    ) -> Self {
        (self.transport, self.state, self.verdict) = (transport, state, verdict);
        self
    }

    pub(super) fn works(self, transport: Transport, verdict: ConnectionVerdict) -> Self {
        self.is(transport, ConnectionState::Up, verdict)
    }

    /// Adds RDMA channels, and sets the local end if it is unknown.
    pub(super) fn over_rdma(mut self, channels: &[&Channel<'_>]) -> Self {
        self.rdma.extend(channels.iter().map(|channel| channel.shown()));
        if self.local.is_none() {
            let local = channels.iter().find_map(|channel| channel.local);
            self.local = local.map(|end| End { address: Some(end.ip()), port: Some(end.port()) });
        }
        self
    }

    /// Adds TCP sockets, and sets the local end if it is unknown.
    pub(super) fn over_tcp(mut self, sockets: &[&TcpSocket], is_control: bool) -> Self {
        self.tcp.extend(sockets.iter().map(|socket| tcp_channel(socket, is_control)));
        if self.local.is_none() {
            self.local = self.tcp.first().map(|channel| channel.local.clone());
        }
        self
    }

    pub(super) fn counted(mut self, rdma: Option<u32>, tcp: Option<u32>) -> Self {
        self.channels = Channels { rdma, tcp, ..self.channels };
        self
    }

    pub(super) fn requests(mut self, transport: Transport, source: impl Into<String>) -> Self {
        self.requested = Requested { transport: Some(transport), source: Some(source.into()) };
        self
    }

    pub(super) fn because(mut self, code: &str, text: impl Into<String>) -> Self {
        self.cause = Some(Cause { code: code.to_owned(), text: text.into(), fix: None });
        self
    }

    /// Adds the fix of the cause, with the address of the peer instead of `{server}`.
    pub(super) fn fix(mut self, fix: impl AsRef<str>) -> Self {
        let server = self.peer.address.map_or("SERVER".into(), |address| address.to_string());
        if let Some(cause) = &mut self.cause {
            cause.fix = Some(fix.as_ref().replace("{server}", &server));
        }
        self
    }

    pub(super) fn seen(
        mut self,
        source: impl Into<String>,
        text: impl Into<String>,
        strength: Strength,
    ) -> Self {
        self.evidence.push(Evidence { source: source.into(), text: text.into(), strength });
        self
    }

    pub(super) fn observed(self, source: impl Into<String>, text: impl Into<String>) -> Self {
        self.seen(source, text, Strength::Direct)
    }

    pub(super) fn configured(self, source: impl Into<String>, text: impl Into<String>) -> Self {
        self.seen(source, text, Strength::Config)
    }

    pub(super) fn logged(self, line: &str) -> Self {
        self.seen("/dev/kmsg", line, Strength::Log)
    }

    /// Adds a fact that could not be read.
    pub(super) fn lacks(self, what: impl Into<String>) -> Self {
        self.lacks_all([what.into()])
    }

    pub(super) fn lacks_all(mut self, what: impl IntoIterator<Item = String>) -> Self {
        self.missing.extend(what);
        self
    }
}

/// Sets a unique ID for each connection of a host. The ID is equal in every run: it does not
/// depend on facts that change while the connection exists.
pub(super) fn set_ids(host: &str, all: &mut [Connection]) {
    let mut known: HashMap<String, u64> = HashMap::new();
    for connection in all {
        let Connection { consumer, peer, .. } = &*connection;
        let peer = match (consumer.role, consumer.kind) {
            // The ID of a mount, controller or session does not depend on the path to the server.
            (Role::Client, ConsumerKind::Beegfs) => format!("{:?}", peer.name),
            (Role::Client, _) => String::new(),
            _ => format!("{:?}|{:?}|{:?}|{:?}", peer.name, peer.address, peer.gid, peer.host),
        };
        let (kind, role) = (consumer.kind.word(), consumer.role.word());
        let text = format!("{host}|{kind}|{}|{role}|{peer}", consumer.instance);
        let hash = fnv1a(&text);
        // A client with RDMA and TCP has two connections, as has a process with two sockets.
        let twins = known.entry(text).or_default();
        connection.id = format!("{:016x}", hash.wrapping_add(*twins));
        *twins += 1;
    }
}

/// Hashes with FNV-1a, so that any program can compute the ID from the text.
fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

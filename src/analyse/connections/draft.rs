//! How a connection is put together.

use std::collections::HashMap;
use std::net::IpAddr;

use super::channel::{Channel, tcp_channel};
use crate::model::{
    Cause, Channels, Connection, ConnectionState, ConnectionVerdict, Consumer, ConsumerKind, End,
    Evidence, KnownBy, Peer, Requested, Role, Strength, TcpSocket, Transport,
};

/// Test of RDMA to the server; [`Connection::because`] fills in the address of the server.
pub(super) const PING: &str = "test RDMA to the server: rdmactl ping {server}";

/// One of which nothing is known but who holds it.
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
    /// With a peer that the consumer itself names.
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

    /// What carries it, whether it works, and what is to be made of that.
    pub(super) fn is(
        mut self,
        transport: Transport,
        state: ConnectionState,
        verdict: ConnectionVerdict,
    ) -> Self {
        (self.transport, self.state, self.verdict) = (transport, state, verdict);
        self
    }

    /// Over these channels of RDMA.
    pub(super) fn over_rdma(mut self, channels: &[&Channel<'_>]) -> Self {
        self.rdma.extend(channels.iter().map(|channel| channel.shown()));
        if self.local.is_none() {
            let local = channels.iter().find_map(|channel| channel.local);
            self.local = local.map(|end| End { address: Some(end.ip()), port: Some(end.port()) });
        }
        self
    }

    /// Over these sockets.
    pub(super) fn over_tcp(mut self, sockets: &[&TcpSocket], is_control: bool) -> Self {
        self.tcp.extend(sockets.iter().map(|socket| tcp_channel(socket, is_control)));
        if self.local.is_none() {
            self.local = self.tcp.first().map(|channel| channel.local.clone());
        }
        self
    }

    /// How many channels there are, by the consumer's own count or as they are seen.
    pub(super) fn counted(mut self, rdma: Option<u32>, tcp: Option<u32>) -> Self {
        self.channels = Channels { rdma, tcp, ..self.channels };
        self
    }

    /// Somebody asked for a transport.
    pub(super) fn requests(mut self, transport: Transport, source: impl Into<String>) -> Self {
        self.requested = Requested { transport: Some(transport), source: Some(source.into()) };
        self
    }

    /// The reason.
    pub(super) fn because(
        mut self,
        code: &str,
        text: impl Into<String>,
        fix: Option<String>,
    ) -> Self {
        let fix = fix.map(|fix| fix.replace("{server}", &self.server()));
        self.cause = Some(Cause { code: code.to_owned(), text: text.into(), fix });
        self
    }

    /// Returns the address of the peer as a word of a shell, `SERVER` if the address is unknown.
    fn server(&self) -> String {
        self.peer.address.map_or("SERVER".into(), |address| address.to_string())
    }

    /// What that rests on.
    pub(super) fn seen(
        mut self,
        source: impl Into<String>,
        text: impl Into<String>,
        strength: Strength,
    ) -> Self {
        self.evidence.push(Evidence { source: source.into(), text: text.into(), strength });
        self
    }

    /// What could not be read.
    pub(super) fn lacks(mut self, what: impl Into<String>) -> Self {
        self.missing.push(what.into());
        self
    }
}

/// How many there are.
pub(super) fn count<T>(things: &[T]) -> Option<u32> {
    u32::try_from(things.len()).ok()
}

/// Gives each connection of a host its name: the same in every reading, without what may change while
/// it lives, and no other's.
pub(super) fn name(host: &str, all: &mut [Connection]) {
    let mut known: HashMap<String, u32> = HashMap::new();
    for connection in all {
        let Connection { consumer, peer, .. } = &*connection;
        let peer = match (consumer.role, consumer.kind) {
            // A mount, a controller and a session are what they are, whichever way leads to the server.
            (Role::Client, ConsumerKind::Beegfs) => format!("{:?}", peer.name),
            (Role::Client, _) => String::new(),
            _ => format!("{:?}|{:?}|{:?}|{:?}", peer.name, peer.address, peer.gid, peer.host),
        };
        let (kind, role) = (consumer.kind.word(), consumer.role.word());
        let text = format!("{host}|{kind}|{}|{role}|{peer}", consumer.instance);
        let hash = fnv1a(&text);
        // A client that comes by RDMA and by TCP has two, and so has a process with two sockets.
        let twins = known.entry(text).or_default();
        connection.id = format!("{:016x}", hash.wrapping_add(u64::from(*twins)));
        *twins += 1;
    }
}

/// Any program can make it of the same text.
fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

//! Fuzz target for management datagrams (MADs): decodes attributes and tables, and sweeps a
//! fabric whose replies are the fuzzer's bytes.

use std::collections::VecDeque;

use rdmactl::collect::sweep;
use rdmactl::mad::{
    ClassPortInfo, Header, LinkRecord, MAD_BYTES, MadAttribute, NodeDescription, NodeInfo,
    NodeRecord, PortCounters, PortCountersExtended, PortInfo, PortInfoRecord, RecordTable,
    SaHeader, SmInfo, SwitchInfo, ping_replied, ping_reply,
};
use rdmactl::source::{MadAnswer, MadError, MadTicket, Mads, ReadError};

/// Decodes the bytes as each header, attribute and table, and sweeps a fabric that replies with
/// them.
pub fn run(data: &[u8]) {
    header(data);
    ping(data);
    is_read_back::<ClassPortInfo>(data);
    is_read_back::<LinkRecord>(data);
    is_read_back::<NodeInfo>(data);
    is_read_back::<PortCounters>(data);
    is_read_back::<PortCountersExtended>(data);
    is_read_back::<PortInfo>(data);
    is_read_back::<SaHeader>(data);
    is_read_back::<SmInfo>(data);
    is_read_back::<SwitchInfo>(data);
    if let Ok(name) = NodeDescription::decode(data) {
        assert!(name.0.chars().count() <= 64);
    }
    table::<NodeRecord>(data);
    table::<PortInfoRecord>(data);
    table::<LinkRecord>(data);
    let mut played = Played { data, waiting: VecDeque::new(), last: 0 };
    let fabric = sweep(&mut played).expect("no device is used");
    // Each node needs a reply, and a reply takes 64 bytes of the input.
    assert!(fabric.nodes.len() <= data.len().div_ceil(64));
    for (near, far) in fabric.links() {
        assert!(fabric.nodes[near.node].port(near.port).is_some());
        assert!(fabric.nodes[far.node].port(far.port).is_some());
    }
    for node in &fabric.nodes {
        assert!(node.ports.is_sorted_by(|one, next| one.number < next.number));
        assert!(node.route.as_ref().is_some_and(|route| route.len() <= 63));
    }
}

fn header(data: &[u8]) {
    let Ok(header) = Header::decode(data) else { return };
    let mut written = [0; MAD_BYTES];
    header.encode(&mut written);
    assert_eq!(Header::decode(&written), Ok(header));
    assert!(header.status.text().len() < 100);
}

/// Checks that a reply has the transaction ID of its request, and that a reply is not replied to.
fn ping(data: &[u8]) {
    let Some(reply) = ping_reply(data, &String::from_utf8_lossy(data)) else { return };
    let request = Header::decode(data).expect("it has a reply");
    assert!(ping_replied(&reply, request.low_transaction()).is_some());
    assert_eq!(ping_reply(&reply, "n1"), None);
}

/// Checks that decoding and encoding an attribute changes no byte.
fn is_read_back<A: MadAttribute>(data: &[u8]) {
    let Ok(decoded) = A::decode(data) else {
        assert!(data.len() < A::BYTES);
        return;
    };
    let mut written = data.to_vec();
    decoded.encode(&mut written).expect("it was long enough");
    assert_eq!(written, data, "{}", A::NAME);
}

/// Checks that the records of a table take no more bytes than the table.
fn table<A: MadAttribute>(data: &[u8]) {
    if let Ok(table) = RecordTable::<A>::decode(data) {
        assert!(table.records.len() * A::BYTES + table.left_bytes <= data.len());
    }
}

/// Port that replies to each request with the next 64 bytes of the input, until the input ends.
struct Played<'data> {
    data: &'data [u8],
    waiting: VecDeque<(MadTicket, [u8; MAD_BYTES])>,
    last: u32,
}

impl Mads for Played<'_> {
    fn ask(&mut self, _lid: Option<u16>, mad: [u8; MAD_BYTES]) -> Result<MadTicket, ReadError> {
        self.last += 1;
        let ticket = MadTicket(self.last);
        self.waiting.push_back((ticket, mad));
        Ok(ticket)
    }

    fn next_answer(&mut self) -> Result<Option<(MadTicket, MadAnswer)>, ReadError> {
        let Some((ticket, mut mad)) = self.waiting.pop_front() else { return Ok(None) };
        let (answer, rest) = self.data.split_at(self.data.len().min(64));
        self.data = rest;
        if answer.is_empty() {
            return Ok(Some((ticket, Err(MadError::NoReply))));
        }
        mad[64..64 + answer.len()].copy_from_slice(answer);
        Ok(Some((ticket, Ok(mad.to_vec()))))
    }
}

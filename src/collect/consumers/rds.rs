//! Reads the connections of reliable datagram sockets (RDS) and their transports. `consumers`
//! calls it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{Reader, c_text, has_module};
use crate::model::{Consumers, RdsConnection};
use crate::source::{Question, RdsList};

/// `RDS_INFO_CONNECTION_FLAG_CONNECTED`.
const CONNECTED: u8 = 4;

const MAX_CONNECTIONS: usize = 65_536;

/// Reads the connections if the module `rds` is loaded: opening an RDS socket would load it.
pub(super) fn read(reader: &mut Reader<'_>, found: &mut Consumers) {
    let (key, list) = ("consumers/rds", Question::Rds(RdsList::Connections));
    if !has_module(reader, key, "rds") {
        return;
    }
    let Some(answer) = reader.read(key, &list) else { return };
    let Some(mut all) = decode(&answer, 4) else {
        return reader.report_malformed(key, &list.to_string(), "entries of unknown size");
    };
    // Kernels before 5.0 do not have this list.
    if let Some(answer) = reader.read(key, &Question::Rds(RdsList::Connections6))
        && let Some(more) = decode(&answer, 16)
    {
        // The second list repeats the connections over IPv4.
        all.extend(more.into_iter().filter(|one| one.local.is_ipv6()));
    }
    reader.truncate(key, &list.to_string(), MAX_CONNECTIONS, &mut all);
    found.rds = Some(all);
}

/// Decodes packed `struct rds_info_connection`, or `rds6_info_connection` with addresses of 16
/// bytes. `address` is the number of bytes of an address.
fn decode(answer: &[u8], address: usize) -> Option<Vec<RdsConnection>> {
    let (size, items) = answer.split_first_chunk()?;
    let size = usize::try_from(u32::from_le_bytes(*size)).ok()?;
    let transport = 16 + 2 * address;
    let flags = transport + 16;
    if items.is_empty() {
        return Some(Vec::new());
    }
    if size < flags + 1 {
        return None;
    }
    let ip = |bytes: &[u8]| -> Option<IpAddr> {
        Some(match address {
            4 => Ipv4Addr::from(<[u8; 4]>::try_from(bytes).ok()?).into(),
            _ => IpAddr::from(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?)).to_canonical(),
        })
    };
    let connection = |item: &[u8]| {
        Some(RdsConnection {
            local: ip(item.get(16..16 + address)?)?,
            remote: ip(item.get(16 + address..transport)?)?,
            transport: c_text(item.get(transport..flags)?),
            is_connected: item.get(flags)? & CONNECTED != 0,
            // Kernels before 4.20 have no type of service.
            tos: item.get(flags + 1).copied().unwrap_or(0),
        })
    };
    items.chunks_exact(size).map(connection).collect()
}

#[test]
fn connections_are_those_of_the_kernel() {
    let mut item = [0_u8; 42];
    item[16..20].copy_from_slice(&[10, 9, 0, 2]);
    item[20..24].copy_from_slice(&[10, 9, 0, 1]);
    item[24..27].copy_from_slice(b"tcp");
    item[40] = CONNECTED;
    let answer = [&42_u32.to_le_bytes()[..], &item, &item].concat();
    let all = decode(&answer, 4).unwrap();
    assert_eq!(all.len(), 2);
    assert_eq!((all[0].transport.as_str(), all[0].is_connected), ("tcp", true));
    assert_eq!(all[0].remote.to_string(), "10.9.0.1");
    assert_eq!(decode(&[42, 0, 0, 0], 4), Some(Vec::new()));
    assert_eq!(decode(&[3, 0, 0, 0, 1, 2, 3], 4), None);
    assert_eq!(decode(&[1, 2], 4), None);
}

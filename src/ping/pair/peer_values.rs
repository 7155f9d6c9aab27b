//! Checks the values that a host reports about its own end of a connection.

use crate::model::ping::RoutePort;
use crate::model::probe::Opened;
use crate::ping::choose;

/// Returns the values that an end reports, without the addresses that do not fit its inventory;
/// `None` if a number does not fit the wire formats. A host must not make another host connect to
/// an address of its choice.
///
/// The plan has the address of a RoCE port. The GIDs of InfiniBand and iWARP ports hold no
/// address: the source then accepts only an address to which its interface leads
/// (`tcp::TcpSource::check`). Data is sent only to an address that has proved to be the peer
/// (`acceptor::Proof`).
pub(super) fn checked_values(mut said: Opened, port: &RoutePort) -> Option<Opened> {
    let is_path_mtu = (256..=4096).contains(&said.mtu) && said.mtu.is_power_of_two();
    let fits = is_path_mtu && said.queue_pair <= 0xff_ffff && said.psn <= 0xff_ffff;
    let known = choose::tcp_address(port).map(|address| address.ip());
    let is_number = |it: &Result<u32, _>| it.as_ref().map_or(true, |&number| number <= 0xff_ffff);
    let fits = fits && said.datagrams.as_ref().is_none_or(is_number);
    for address in [&mut said.tcp_address, &mut said.tcp_stream_address, &mut said.cm_address] {
        *address = address.filter(|at| match known {
            Some(ip) => at.ip() == ip,
            None => !at.ip().is_loopback() && !at.ip().is_multicast() && !at.ip().is_unspecified(),
        });
    }
    fits.then_some(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(gid: &str) -> RoutePort {
        RoutePort::example(gid)
    }

    fn opened(mtu: u32, tcp: &str) -> Opened {
        let tcp_address = Some(tcp.parse().unwrap());
        Opened {
            queue_pair: 17,
            psn: 1,
            lid: 0,
            mtu,
            cm_address: None,
            tcp_address,
            tcp_stream_address: tcp_address,
            tcp_failure: None,
            datagrams: Some(Ok(18)),
        }
    }

    #[test]
    fn peer_address_that_is_not_of_the_port_is_dropped() {
        let port = port("::ffff:10.1.0.1");
        let honest = checked_values(opened(1024, "10.1.0.1:4000"), &port).unwrap();
        assert!(honest.tcp_address.is_some() && honest.tcp_stream_address.is_some());
        let hostile = checked_values(opened(1024, "127.0.0.1:22"), &port).unwrap();
        assert!(hostile.tcp_address.is_none() && hostile.tcp_stream_address.is_none());
        assert!(checked_values(opened(9000, "10.1.0.1:4000"), &port).is_none());
        let wide = Opened { datagrams: Some(Ok(1 << 24)), ..opened(1024, "10.1.0.1:4000") };
        assert!(checked_values(wide, &port).is_none());
    }
}

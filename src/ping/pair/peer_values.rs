//! Checks the values that a host reports about its own end of a connection.

use crate::model::ping::RoutePort;
use crate::model::probe::Opened;
use crate::ping::choose;

/// Returns the values that an end reports, without invalid addresses; or the name and the value
/// of a number that does not fit the wire formats. A host must not make another host connect to
/// an address of its choice.
///
/// For a RoCE port, the plan has the address, and every other address is removed. The GIDs of
/// InfiniBand and iWARP ports hold no address: the source then accepts only an address to which
/// its interface leads (`tcp::TcpSource::check`). Data is sent only after the peer has proved its
/// identity (`acceptor::Proof`).
pub(super) fn checked_values(
    mut reported: Opened,
    port: &RoutePort,
) -> Result<Opened, (&'static str, u32)> {
    if let Some(invalid) = invalid_number(&reported) {
        return Err(invalid);
    }
    let known = choose::tcp_address(port).map(|address| address.ip());
    for address in
        [&mut reported.tcp_address, &mut reported.tcp_stream_address, &mut reported.cm_address]
    {
        *address = address.filter(|address| match (address.ip(), known) {
            (ip, Some(known)) => ip == known,
            (ip, None) => !ip.is_loopback() && !ip.is_multicast() && !ip.is_unspecified(),
        });
    }
    Ok(reported)
}

/// Returns the name and the value of the first number that does not fit the wire formats.
fn invalid_number(reported: &Opened) -> Option<(&'static str, u32)> {
    let is_path_mtu = (256..=4096).contains(&reported.mtu) && reported.mtu.is_power_of_two();
    if !is_path_mtu {
        return Some(("path MTU", reported.mtu));
    }
    let datagrams = reported.datagrams.as_ref().and_then(|queue_pair| queue_pair.as_ref().ok());
    let numbers = [
        ("queue pair number", Some(reported.queue_pair)),
        ("packet sequence number", Some(reported.psn)),
        ("queue pair number for datagrams", datagrams.copied()),
    ];
    numbers.into_iter().find_map(|(name, number)| {
        let too_large = number.filter(|&number| number > 0xff_ffff)?;
        Some((name, too_large))
    })
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
    fn address_that_is_not_of_the_port_is_removed() {
        let port = port("::ffff:10.1.0.1");
        let honest = checked_values(opened(1024, "10.1.0.1:4000"), &port).unwrap();
        assert!(honest.tcp_address.is_some() && honest.tcp_stream_address.is_some());
        let hostile = checked_values(opened(1024, "127.0.0.1:22"), &port).unwrap();
        assert!(hostile.tcp_address.is_none() && hostile.tcp_stream_address.is_none());
    }

    #[test]
    fn a_number_that_does_not_fit_the_wire_formats_is_named() {
        let port = port("::ffff:10.1.0.1");
        let invalid = |reported: Opened| checked_values(reported, &port).unwrap_err();
        let valid = || opened(1024, "10.1.0.1:4000");
        assert_eq!(invalid(Opened { mtu: 9_000, ..valid() }), ("path MTU", 9_000));
        assert_eq!(invalid(Opened { mtu: 1_500, ..valid() }), ("path MTU", 1_500));
        let wide = 1 << 24;
        let queue_pair = invalid(Opened { queue_pair: wide, ..valid() });
        assert_eq!(queue_pair, ("queue pair number", wide));
        assert_eq!(invalid(Opened { psn: wide, ..valid() }), ("packet sequence number", wide));
        let datagrams = invalid(Opened { datagrams: Some(Ok(wide)), ..valid() });
        assert_eq!(datagrams, ("queue pair number for datagrams", wide));
        let largest = Opened { queue_pair: wide - 1, psn: wide - 1, ..valid() };
        assert!(checked_values(largest, &port).is_ok());
    }
}

//! Flags of `rdmactl ping` for management datagrams (MADs).

use std::net::Ipv6Addr;
use std::time::Duration;

use clap::Args;

use crate::cli::duration;

/// Flags of `ping` for management datagrams (MADs).
#[derive(Debug, Clone, Default, Args)]
pub struct MadArgs {
    /// Send management datagrams (MADs) only, as ibping does
    ///
    /// Short for --test mad. Needs the module ib_umad and access to /dev/infiniband/umadN on both
    /// hosts.
    #[arg(long, conflicts_with = "test", help_heading = "Measurement of each pair")]
    pub mad: bool,
    /// Time from one MAD to the next
    ///
    /// Default: rdmactl sends each MAD after the reply to the previous MAD. --slot limits the total
    /// time of all MADs.
    #[arg(long, value_name = "TIME", requires = "mad", value_parser = duration::parse, help_heading = "Measurement of each pair")]
    pub interval: Option<Duration>,
    /// Send MADs to this LID, where ibping -S or rdmactl replies
    ///
    /// rdmactl starts no agent on the target. The sources are this host, or the hosts of -H.
    #[arg(long, value_name = "LID", requires = "mad", value_parser = parse_lid, conflicts_with_all = ["targets", "matrix", "clients", "gid", "plan", "peers", "budget", "schedule"], help_heading = "Pairs")]
    pub lid: Option<u16>,
    /// Send MADs to this GID of a RoCE port, where ibping -S or rdmactl replies
    ///
    /// rdmactl starts no agent on the target. Over IPv4 GIDs, the kernel drops the replies of
    /// ibping -S.
    #[arg(long, value_name = "GID", requires = "mad", conflicts_with_all = ["targets", "matrix", "clients", "plan", "peers", "budget", "schedule"], help_heading = "Pairs")]
    pub gid: Option<Ipv6Addr>,
}

fn parse_lid(text: &str) -> Result<u16, String> {
    super::parse_u16(text)
        .filter(|lid| (1..=0xbfff).contains(lid))
        .ok_or_else(|| "a LID of one port is a number from 1 to 49151".into())
}

#[test]
fn a_lid_of_one_port_is_decimal_or_hexadecimal() {
    assert_eq!((parse_lid("0x10"), parse_lid("49151")), (Ok(16), Ok(49_151)));
    for bad in ["0", "49152", "0xffff", "lid", ""] {
        assert!(parse_lid(bad).is_err(), "{bad}");
    }
}

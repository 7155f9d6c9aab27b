//! `/etc/hosts`: `10.0.0.1 n1 n1.example # rack 3` (hosts(5)).

use std::net::IpAddr;

use super::{Entry, entries};

/// Returns the host names in a line. Loopback, unspecified, multicast and broadcast addresses are
/// skipped, and names such as `localhost` and `ip6-allnodes`.
pub fn names_in_line(line: &str) -> impl Iterator<Item = &str> {
    let line = line.split('#').next().unwrap_or_default();
    let mut words = line.split_whitespace();
    let address: Option<IpAddr> = words.next().and_then(|word| word.parse().ok());
    let is_host = address.is_some_and(|address| {
        let is_broadcast = matches!(address, IpAddr::V4(address) if address.is_broadcast());
        !(address.is_loopback()
            || address.is_multicast()
            || address.is_unspecified()
            || is_broadcast)
    });
    let is_name = |name: &&str| {
        !(name.starts_with("localhost") || name.starts_with("ip6-") || *name == "broadcasthost")
    };
    words.filter(move |_| is_host).filter(is_name)
}

/// Returns the first name of each address.
pub(super) fn first_names(text: &str) -> Vec<Entry> {
    entries(text, |said| names_in_line(said).next())
}

#[test]
fn an_address_is_its_first_name_and_those_of_this_machine_are_none() {
    let text = "127.0.0.1 localhost\n127.0.1.1 me\n::1 localhost ip6-localhost\nff02::1 ip6-allnodes\n\
                10.0.0.1\tn1 n1.example # rack 3\nfd00::2 n2\n255.255.255.255 broadcasthost\nn3 n4\n";
    let names: Vec<(usize, String)> =
        first_names(text).into_iter().map(|entry| (entry.line, entry.hosts)).collect();
    assert_eq!(names, [(5, "n1".to_owned()), (6, "n2".to_owned())]);
    assert_eq!(
        names_in_line("10.0.0.1 n1 n1.example # n2").collect::<Vec<_>>(),
        ["n1", "n1.example"]
    );
}

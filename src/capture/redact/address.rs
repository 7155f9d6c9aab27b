//! Pseudonyms of IP addresses and GIDs. Two pseudonyms share as many leading bits as the two
//! addresses.

use super::Redactor;

/// Special address ranges: start, prefix length, and true if addresses in it get a pseudonym.
const RANGES_4: [(u32, u32, bool); 8] = [
    (0x0000_0000, 8, false), // "this host"
    (0x0a00_0000, 8, true),  // private
    (0x6440_0000, 10, true), // carrier-grade NAT
    (0x7f00_0000, 8, false), // loopback
    (0xa9fe_0000, 16, true), // link-local
    (0xac10_0000, 12, true), // private
    (0xc0a8_0000, 16, true), // private
    (0xe000_0000, 3, false), // multicast, netmasks, broadcast
];

/// Ranges of the upper half of an IPv6 address.
const RANGES_6: [(u64, u32, bool); 6] = [
    (0x0000_0000_0000_0000, 8, false),  // unspecified, loopback
    (0x0064_ff9b_0000_0000, 32, false), // IPv4 behind a translator (NAT64)
    (0xfc00_0000_0000_0000, 7, true),   // private
    (0xfe80_0000_0000_0000, 64, false), // link-local, and the default subnet of InfiniBand
    (0xfec0_0000_0000_0000, 10, true),  // site-local
    (0xff00_0000_0000_0000, 8, false),  // multicast
];

impl Redactor {
    /// Returns the pseudonym of an IPv4 address.
    pub(super) fn ipv4(&self, ip: u32) -> u32 {
        let ranges = RANGES_4.map(|(start, bits, hides)| (u64::from(start), bits, hides));
        u32::try_from(self.prefix("ipv4", u64::from(ip), 32, &ranges)).unwrap_or(0)
    }

    /// Returns the pseudonym of an IPv6 address. Networks of up to 64 bits keep their members.
    pub(super) fn ipv6(&self, ip: u128) -> u128 {
        let narrow = |part: u128| u64::try_from(part & u128::from(u64::MAX)).unwrap_or(0);
        let (high, low) = (narrow(ip >> 64), narrow(ip));
        // IPv4 in the lower half: ::ffff:a.b.c.d, ::a.b.c.d and the NAT64 prefix.
        let is_ipv4 = match high {
            0 => matches!(low >> 32, 0xffff) || (low >> 32 == 0 && low > 1),
            0x0064_ff9b_0000_0000 => low >> 32 == 0,
            _ => false,
        };
        let wide = |high: u64, low: u64| u128::from(high) << 64 | u128::from(low);
        if is_ipv4 {
            let ipv4 = u32::try_from(low & 0xffff_ffff).unwrap_or(0);
            return wide(high, low >> 32 << 32 | u64::from(self.ipv4(ipv4)));
        }
        // Solicited-node multicast group (ff02::1:ff00:0/104) with the last bits of an address.
        if high == 0xff02_0000_0000_0000 && low >> 24 == 0x01ff {
            let group = self.secret.permute("group", low & 0xff_ffff, 24);
            return wide(high, low >> 24 << 24 | group);
        }
        if high >> 56 == 0xff || (high == 0 && low <= 1) {
            return ip;
        }
        wide(self.prefix("ipv6", high, 64, &RANGES_6), self.guid(low))
    }

    /// Returns the GID of the pseudonym of the GUID, MAC address or IP address in a GID.
    pub(super) fn gid(&self, gid: u128) -> u128 {
        let mac = u64::try_from(gid >> 80).unwrap_or(0);
        // The only GID of a siw port: six bytes of MAC address, then zeros.
        if mac << 16 != 0 && gid << 48 == 0 && mac >> 32 != 0xfe80 {
            return u128::from(self.mac(mac)) << 80;
        }
        self.ipv6(gid)
    }

    /// Flips each bit by a function of the key and the bits before it. Keeps a bit whose two
    /// values lead to addresses of different kinds.
    fn prefix(&self, kind: &'static str, ip: u64, length: u32, ranges: &[(u64, u32, bool)]) -> u64 {
        let leading = |number: u64, bits: u32| number.checked_shr(length - bits).unwrap_or(0);
        let stays = |&(start, bits, hides): &(u64, u32, bool)| {
            !hides && leading(ip, bits) == leading(start, bits)
        };
        if ranges.iter().any(stays) {
            return ip;
        }
        let mut other = ip;
        for at in 0..length {
            let before = leading(ip, at);
            let holds = |range: &(u64, u32, bool)| range.1 > at && leading(range.0, at) == before;
            if ranges.iter().any(holds) {
                continue;
            }
            let mut thing = before.to_be_bytes().to_vec();
            thing.push(u8::try_from(at).unwrap_or(u8::MAX));
            other ^= (self.secret.number(kind, &thing) & 1) << (length - 1 - at);
        }
        other
    }
}

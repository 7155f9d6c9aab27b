//! Pseudonyms of hardware addresses: MAC addresses and GUIDs.

use super::Redactor;

/// All bits of a MAC address.
const ALL: u64 = (1 << 48) - 1;
/// Middle bytes of a GUID that contains a MAC address: by the EUI-64 rule, and by the rule of
/// mlx5.
const MIDDLES: [u64; 2] = [0xfffe, 0x0300];

impl Redactor {
    /// Returns the pseudonym of a MAC address. Zero, broadcast and multicast stay, and so does
    /// the "locally administered" bit.
    pub(super) fn mac(&self, mac: u64) -> u64 {
        let is_multicast = mac >> 40 & 1 == 1;
        if mac == 0 || mac == ALL || is_multicast {
            return mac;
        }
        self.names.learn(mac);
        // 46 bits: the two flags in the first byte show the kind of the address and stay.
        let (high, flags, low) = (mac >> 42, mac >> 40 & 3, mac & ((1 << 40) - 1));
        let other = self.secret.permute("mac", high << 40 | low, 46);
        (other >> 40) << 42 | flags << 40 | other & ((1 << 40) - 1)
    }

    /// Returns the pseudonym of a GUID; a GUID with a MAC address gets the pseudonym of the MAC
    /// address. Zero and all ones stay.
    pub(super) fn guid(&self, guid: u64) -> u64 {
        if guid == 0 || guid == u64::MAX {
            return guid;
        }
        self.names.learn(guid);
        let middle = guid >> 24 & 0xffff;
        let mac = (guid >> 40) << 24 | guid & 0xff_ffff;
        if MIDDLES.contains(&middle) && mac >> 40 & 1 == 0 {
            let other = self.mac(mac);
            return (other >> 24) << 40 | middle << 24 | other & 0xff_ffff;
        }
        self.secret.permute("guid", guid, 64)
    }
}

//! Numbers that are burnt into cards: MAC addresses and GUIDs.

use super::Redactor;

/// All bits of a MAC address.
const ALL: u64 = (1 << 48) - 1;
/// What stands in the middle of a GUID that was made of a MAC address: by the rule for EUI-64, and by
/// mlx5's own.
const MIDDLES: [u64; 2] = [0xfffe, 0x0300];

impl Redactor {
    /// Another MAC address; zero, broadcast and multicast stay, and whether it was given out locally.
    pub(super) fn mac(&self, mac: u64) -> u64 {
        let is_multicast = mac >> 40 & 1 == 1;
        if mac == 0 || mac == ALL || is_multicast {
            return mac;
        }
        self.names.learn(mac);
        // 46 bits: the flags in the first byte say of what kind the address is.
        let (high, flags, low) = (mac >> 42, mac >> 40 & 3, mac & ((1 << 40) - 1));
        let other = self.secret.permute("mac", high << 40 | low, 46);
        (other >> 40) << 42 | flags << 40 | other & ((1 << 40) - 1)
    }

    /// Another GUID; that of a MAC address is that of its pseudonym. Zero and all ones stay.
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

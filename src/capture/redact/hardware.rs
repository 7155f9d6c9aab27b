//! Replaces hardware addresses by pseudonyms: MAC addresses and GUIDs.

use super::Redactor;

const BROADCAST: u64 = (1 << 48) - 1;
/// Two bytes in the middle of a GUID that contains a MAC address: by EUI-64, and by mlx5.
const MIDDLE_BYTES: [u64; 2] = [0xfffe, 0x0300];

impl Redactor {
    /// Returns the pseudonym of a MAC address. Zero, broadcast and multicast do not change.
    pub(super) fn mac(&self, mac: u64) -> u64 {
        let is_multicast = mac >> 40 & 1 == 1;
        if mac == 0 || mac == BROADCAST || is_multicast {
            return mac;
        }
        self.names.learn(mac);
        // Permutes 46 of 48 bits: the multicast flag and the local flag show the kind of address.
        let (high, flags, low) = (mac >> 42, mac >> 40 & 3, mac & ((1 << 40) - 1));
        let other = self.secret.permute("mac", high << 40 | low, 46);
        (other >> 40) << 42 | flags << 40 | other & ((1 << 40) - 1)
    }

    /// Returns the pseudonym of a GUID, with that of its MAC address. Zero and all ones stay.
    pub(super) fn guid(&self, guid: u64) -> u64 {
        if guid == 0 || guid == u64::MAX {
            return guid;
        }
        self.names.learn(guid);
        let middle = guid >> 24 & 0xffff;
        let mac = (guid >> 40) << 24 | guid & 0xff_ffff;
        if MIDDLE_BYTES.contains(&middle) && mac >> 40 & 1 == 0 {
            // EUI-64 inverts the local flag, on which no pseudonym of a MAC address depends.
            let other = self.mac(mac);
            return (other >> 24) << 40 | middle << 24 | other & 0xff_ffff;
        }
        self.secret.permute("guid", guid, 64)
    }
}

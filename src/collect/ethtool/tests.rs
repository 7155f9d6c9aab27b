use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn no_bytes_can_hang_or_crash_it(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut ethernet = Ethernet::default();
        decode_link_modes(&bytes, &mut ethernet);
        decode_link_state(&bytes, &mut ethernet);
        let _ = (decode_connector(&bytes), decode_pause(&bytes), decode_fec(&bytes));
        let _ = (decode_module(&bytes), decode_identifier(&bytes), decode_counters(&bytes));
    }
}

#[test]
fn a_link_that_is_down_has_a_reason() {
    assert_eq!(words::down(4, None), "no cable");
    assert_eq!(words::down(0, Some(1)), "autoneg: no partner detected");
    assert_eq!(words::down(77, Some(9)), "reason 77: reason 9");
}

/// Returns the reply below a label of a recording.
fn recorded(label: &str) -> Vec<u8> {
    let text = include_str!("../../../tests/fixtures/netlink/6.18-ethtool-virtio.hex");
    let mut lines = text.lines().skip_while(|line| line.strip_prefix("## ") != Some(label));
    let hex = lines.nth(1).and_then(|line| line.strip_prefix("< ")).unwrap();
    let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(byte).collect()
}

#[test]
fn a_virtual_interface_knows_neither_speed_nor_module() {
    let mut ethernet = Ethernet::default();
    decode_link_modes(&recorded("link_modes"), &mut ethernet);
    decode_link_state(&recorded("link_state"), &mut ethernet);
    assert_eq!((ethernet.speed_bps, ethernet.lanes, ethernet.autoneg), (None, None, Some(false)));
    assert_eq!((ethernet.down_reason, ethernet.down_count), (None, None));
    assert_eq!(decode_connector(&recorded("link_info")).map(words::connector).unwrap(), "other");
    assert_eq!(decode_module(&recorded("module")), None);
}

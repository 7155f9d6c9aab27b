//! Converts the numbers of ethtool netlink to words. A number of a newer kernel becomes its kind
//! and the digits (`connector 6`). `ethtool` uses this module.

/// Returns the word of a number, or `kind` and the digits if the number has no word.
fn word(words: &[(u64, &str)], number: u64, kind: &str) -> String {
    let known = words.iter().find(|(known, _)| *known == number);
    known.map_or_else(|| format!("{kind} {number}"), |(_, word)| (*word).to_owned())
}

/// Returns the word of a `PORT_*` number.
pub(super) fn connector(port: u64) -> String {
    const WORDS: [(u64, &str); 8] = [
        (0, "twisted pair"),
        (1, "AUI"),
        (2, "MII"),
        (3, "fibre"),
        (4, "BNC"),
        (5, "direct attach"),
        (0xef, "none"),
        (0xff, "other"),
    ];
    word(&WORDS, port, "connector")
}

/// Returns the word of an `ETHTOOL_LINK_MODE_FEC_*_BIT`.
pub(super) fn fec(bit: u32) -> String {
    word(&[(49, "none"), (50, "RS"), (51, "BaseR"), (74, "LLRS")], bit.into(), "FEC")
}

/// Returns the word of an `ETHTOOL_MODULE_POWER_MODE_*` number.
pub(super) fn power_mode(mode: u64) -> String {
    word(&[(1, "low"), (2, "high")], mode, "mode")
}

/// Returns the word of an `ETHTOOL_MODULE_POWER_MODE_POLICY_*` number.
pub(super) fn power_policy(policy: u64) -> String {
    word(&[(1, "high"), (2, "auto")], policy, "policy")
}

/// Returns the word of an identifier of SFF-8024, table 4-1.
pub(super) fn module(identifier: u8) -> String {
    const WORDS: [(u64, &str); 17] = [
        (0x02, "soldered"),
        (0x03, "SFP"),
        (0x0b, "DWDM-SFP"),
        (0x0c, "QSFP"),
        (0x0d, "QSFP+"),
        (0x11, "QSFP28"),
        (0x18, "QSFP-DD"),
        (0x19, "OSFP"),
        (0x1a, "SFP-DD"),
        (0x1b, "DSFP"),
        (0x1e, "QSFP CMIS"),
        (0x1f, "SFP-DD CMIS"),
        (0x20, "SFP CMIS"),
        (0x21, "OSFP-XD CMIS"),
        (0x23, "CDFP x4 CMIS"),
        (0x24, "CDFP x8 CMIS"),
        (0x25, "CDFP x16 CMIS"),
    ];
    word(&WORDS, identifier.into(), "module")
}

/// Returns the reason why a link is down: the words of an `ethtool_link_ext_state` and of its
/// substate (`cable issue: unsupported cable`). States count from 0, substates from 1.
pub(super) fn down(state: u64, substate: Option<u64>) -> String {
    const STATES: [&str; 11] = [
        "autoneg",
        "link training",
        "logical mismatch",
        "bad signal integrity",
        "no cable",
        "cable issue",
        "EEPROM issue",
        "calibration failure",
        "power budget exceeded",
        "overheat",
        "module",
    ];
    let substates: &[&str] = match state {
        0 => &[
            "no partner detected",
            "no acknowledgement",
            "next page exchange failed",
            "no partner detected, forced mode",
            "FEC mismatch",
            "no common mode",
        ],
        1 => &[
            "KR frame lock not acquired",
            "KR link inhibit timeout",
            "partner did not set receiver ready",
            "remote fault",
        ],
        2 => &[
            "no block lock",
            "no AM lock",
            "no align status",
            "FC FEC not locked",
            "RS FEC not locked",
        ],
        3 => &[
            "many physical errors",
            "unsupported rate",
            "SerDes reference clock lost",
            "SerDes loss of signal",
        ],
        5 => &["unsupported cable", "cable test failure"],
        10 => &["CMIS not ready"],
        _ => &[],
    };
    let state = reason(&STATES, state, state);
    match substate.filter(|substate| *substate != 0) {
        None => state,
        Some(number) => format!("{state}: {}", reason(substates, number - 1, number)),
    }
}

/// Returns the word at an index, or `reason` and the number if the list has no such word.
fn reason(words: &[&str], index: u64, number: u64) -> String {
    let known = usize::try_from(index).ok().and_then(|index| words.get(index));
    known.map_or_else(|| format!("reason {number}"), |word| (*word).to_owned())
}

/// Returns the name of a counter. `group` is an `ETHTOOL_STATS_*` number. `number` is an
/// `ETHTOOL_A_STATS_ETH_*` or `ETHTOOL_A_STATS_RMON_*` number of this group; it counts from 0.
/// Histograms of frame sizes have no name.
pub(super) fn counter(group: u64, number: u16) -> Option<&'static str> {
    const MAC: &str = "\
        frames_transmitted single_collisions multiple_collisions frames_received \
        frame_check_sequence_errors alignment_errors octets_transmitted \
        deferred_transmissions late_collisions excessive_collisions \
        internal_transmit_errors carrier_sense_errors octets_received \
        internal_receive_errors multicast_transmitted broadcast_transmitted \
        excessive_deferrals multicast_received broadcast_received \
        in_range_length_errors out_of_range_lengths frames_too_long";
    let names = match group {
        0 => "symbol_errors",
        1 => MAC,
        2 => "control_transmitted control_received unsupported_opcodes",
        3 => "undersized oversized fragments jabbers",
        _ => return None,
    };
    names.split(' ').nth(number.into())
}

#[test]
fn a_module_has_the_word_of_its_identifier() {
    // QSFP112 modules have the identifier of all QSFP modules with CMIS.
    for (identifier, word) in [
        (0x11, "QSFP28"),
        (0x1e, "QSFP CMIS"),
        (0x1f, "SFP-DD CMIS"),
        (0x23, "CDFP x4 CMIS"),
        (0x24, "CDFP x8 CMIS"),
        (0x22, "module 34"),
        (0xff, "module 255"),
    ] {
        assert_eq!(module(identifier), word);
    }
}

//! Values of fields in the words of libibmad.
//!
//! Reads no bytes and knows no link. Used by the tools that print values.

use crate::compat::word::word;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueFormat {
    Unsigned,
    Hex,
    Capabilities,
    Capabilities2,
    Width,
    WidthEnabled,
    WidthSupported,
    Speed,
    Speeds,
    ExtendedSpeed,
    ExtendedSpeeds,
    ExtendedSpeedsEnabled,
    State,
    PhysicalState,
    DownDefault,
    Mtu,
    VlCapability,
    OperationalVls,
    NodeType,
}

/// Formats a value; `bits` is its size.
pub(crate) fn value(show: ValueFormat, number: u64, bits: usize) -> String {
    match show {
        ValueFormat::Unsigned => number.to_string(),
        ValueFormat::Hex => format!("0x{number:0digits$x}", digits = bits.div_ceil(8) * 2),
        ValueFormat::Capabilities => flags(number, &CAPABILITIES),
        ValueFormat::Capabilities2 => flags(number, &CAPABILITIES_2),
        ValueFormat::Width => one_of(number, &WIDTHS),
        ValueFormat::WidthEnabled => widths(number),
        ValueFormat::WidthSupported => {
            let is_usual = [1, 3, 7, 11, 15, 17, 19, 23, 27, 31].contains(&number);
            let extension = if is_usual || number >> 5 != 0 { "" } else { " (IBA extension)" };
            format!("{}{extension}", widths(number))
        }
        ValueFormat::Speed => one_of(number, &SPEEDS),
        ValueFormat::Speeds => {
            let extension =
                if number >> 3 != 0 || number % 2 == 1 { "" } else { " (IBA extension)" };
            format!("{}{extension}", any_of(number, &SPEEDS[1..], 3))
        }
        ValueFormat::ExtendedSpeed => one_of(number, &EXTENDED_SPEEDS),
        ValueFormat::ExtendedSpeedsEnabled if number == 30 => {
            "Extended link speeds disabled".into()
        }
        ValueFormat::ExtendedSpeeds | ValueFormat::ExtendedSpeedsEnabled if number == 0 => {
            "0".into()
        }
        ValueFormat::ExtendedSpeeds | ValueFormat::ExtendedSpeedsEnabled => {
            any_of(number, &EXTENDED_SPEEDS[1..], 4)
        }
        ValueFormat::State => {
            listed(number, &["NoChange", "Down", "Initialize", "Armed", "Active"])
        }
        ValueFormat::PhysicalState => listed(
            number,
            &[
                "NoChange",
                "Sleep",
                "Polling",
                "Disabled",
                "PortConfigurationTraining",
                "LinkUp",
                "LinkErrorRecovery",
                "PhyTest",
            ],
        ),
        ValueFormat::DownDefault => listed(number, &["NoChange", "Sleep", "Polling"]),
        ValueFormat::Mtu => listed(number, &["?(0)", "256", "512", "1024", "2048", "4096"]),
        ValueFormat::VlCapability => {
            listed(number, &["?(0)", "VL0", "VL0-1", "VL0-3", "VL0-7", "VL0-14"])
        }
        ValueFormat::OperationalVls => {
            listed(number, &["No change", "VL0", "VL0-1", "VL0-3", "VL0-7", "VL0-14"])
        }
        ValueFormat::NodeType => {
            match word(number, &["", "Channel Adapter", "Switch", "Router"], "") {
                "" => format!("?({number})?"),
                name => name.to_owned(),
            }
        }
    }
}

const WIDTHS: [(u64, &str); 5] = [(1, "1X"), (2, "4X"), (4, "8X"), (8, "12X"), (16, "2X")];
const SPEEDS: [(u64, &str); 4] =
    [(0, "Extended speed"), (1, "2.5 Gbps"), (2, "5.0 Gbps"), (4, "10.0 Gbps")];
const EXTENDED_SPEEDS: [(u64, &str); 5] = [
    (0, "No Extended Speed"),
    (1, "14.0625 Gbps"),
    (2, "25.78125 Gbps"),
    (4, "53.125 Gbps"),
    (8, "106.25 Gbps"),
];

/// Names of the bits of the capability mask, with the spelling of libibmad.
const CAPABILITIES: [(u32, &str); 30] = [
    (1, "IsSM"),
    (2, "IsNoticeSupported"),
    (3, "IsTrapSupported"),
    (4, "IsOptionalIPDSupported"),
    (5, "IsAutomaticMigrationSupported"),
    (6, "IsSLMappingSupported"),
    (7, "IsMKeyNVRAM"),
    (8, "IsPKeyNVRAM"),
    (9, "IsLedInfoSupported"),
    (10, "IsSMdisabled"),
    (11, "IsSystemImageGUIDsupported"),
    (12, "IsPkeySwitchExternalPortTrapSupported"),
    (14, "IsExtendedSpeedsSupported"),
    (15, "IsCapabilityMask2Supported"),
    (16, "IsCommunicatonManagementSupported"),
    (17, "IsSNMPTunnelingSupported"),
    (18, "IsReinitSupported"),
    (19, "IsDeviceManagementSupported"),
    (20, "IsVendorClassSupported"),
    (21, "IsDRNoticeSupported"),
    (22, "IsCapabilityMaskNoticeSupported"),
    (23, "IsBootManagementSupported"),
    (24, "IsLinkRoundTripLatencySupported"),
    (25, "IsClientRegistrationSupported"),
    (26, "IsOtherLocalChangesNoticeSupported"),
    (27, "IsLinkSpeedWidthPairsTableSupported"),
    (28, "IsVendorSpecificMadsTableSupported"),
    (29, "IsMcastPkeyTrapSuppressionSupported"),
    (30, "IsMulticastFDBTopSupported"),
    (31, "IsHierarchyInfoSupported"),
];
const CAPABILITIES_2: [(u32, &str); 11] = [
    (0, "IsSetNodeDescriptionSupported"),
    (1, "IsPortInfoExtendedSupported"),
    (2, "IsVirtualizationSupported"),
    (3, "IsSwitchPortStateTableSupported"),
    (4, "IsLinkWidth2xSupported"),
    (5, "IsLinkSpeedHDRSupported"),
    (6, "IsMKeyProtectBitsExtSupported"),
    (7, "IsEnhancedTrap128Supported"),
    (8, "IsPartitionTopSupported"),
    (9, "IsEnhancedQoSArbiterSupported"),
    (10, "IsLinkSpeedNDRSupported"),
];

fn flags(mask: u64, names: &[(u32, &str)]) -> String {
    let set = names.iter().filter(|(bit, _)| mask >> bit & 1 == 1);
    let lines: String = set.flat_map(|(_, name)| ["\n\t\t\t\t", *name]).collect();
    format!("0x{mask:x}{lines}")
}

fn one_of(code: u64, names: &[(u64, &str)]) -> String {
    let found = names.iter().find(|(known, _)| *known == code);
    found.map_or_else(|| format!("undefined ({code})"), |(_, name)| (*name).to_owned())
}

fn listed(code: u64, names: &[&'static str]) -> String {
    match word(code, names, "") {
        "" => format!("?({code})"),
        name => name.to_owned(),
    }
}

/// Joins the names of the bits. A mask without a known bit, or with unknown bits, is undefined.
fn any_of(mask: u64, names: &[(u64, &str)], known_bits: u32) -> String {
    let set: Vec<&str> =
        names.iter().filter(|(bit, _)| mask & bit != 0).map(|(_, name)| *name).collect();
    if mask == 0 || mask >> known_bits != 0 {
        let before: String = set.iter().flat_map(|name| [*name, " or "]).collect();
        return format!("{before}undefined ({mask})");
    }
    set.join(" or ")
}

fn widths(mask: u64) -> String {
    any_of(mask, &WIDTHS, 5)
}

/// Returns a counter in units of 1024, and the unit. Data counters count words of four bytes.
pub(crate) fn human_readable(count: u64, is_data: bool) -> (f32, &'static str) {
    const PLAIN: [&str; 7] = ["", "K", "M", "G", "T", "P", "E"];
    const DATA: [&str; 7] = ["B", "KB", "MB", "GB", "TB", "PB", "EB"];
    let (mut unit, mut divisor, mut rest) = (0_usize, 1_f32, count / 1024);
    while rest != 0 {
        unit += 1;
        rest /= 1024;
        divisor *= 1024.0;
    }
    #[expect(clippy::cast_precision_loss, reason = "the original computes with float")]
    let mut value = count as f32;
    if is_data {
        value *= 4.0;
        if value / divisor > 1024.0 {
            unit += 1;
            divisor *= 1024.0;
        }
    }
    let names = if is_data { DATA } else { PLAIN };
    (value / divisor, names.get(unit).copied().unwrap_or_default())
}

#[test]
fn values_are_in_the_words_of_libibmad() {
    assert_eq!(value(ValueFormat::WidthSupported, 31, 8), "1X or 4X or 8X or 12X or 2X");
    assert_eq!(value(ValueFormat::WidthSupported, 2, 8), "4X (IBA extension)");
    assert_eq!(value(ValueFormat::WidthEnabled, 0x23, 8), "1X or 4X or undefined (35)");
    assert_eq!(value(ValueFormat::Speeds, 6, 4), "5.0 Gbps or 10.0 Gbps (IBA extension)");
    assert_eq!(value(ValueFormat::ExtendedSpeedsEnabled, 30, 5), "Extended link speeds disabled");
    assert_eq!(value(ValueFormat::Hex, 5, 24), "0x000005");
    assert_eq!(
        value(ValueFormat::Capabilities, 0x12, 32),
        "0x12\n\t\t\t\tIsSM\n\t\t\t\tIsOptionalIPDSupported"
    );
    assert_eq!(value(ValueFormat::State, 9, 4), "?(9)");
}

#[test]
fn counters_have_units() {
    let text = |count, is_data| {
        let (value, unit) = human_readable(count, is_data);
        format!("{value:5.3}{unit}")
    };
    assert_eq!(text(576, true), "2.250KB");
    assert_eq!(text(65_535, false), "63.999K");
    assert_eq!(text(0, false), "0.000");
}

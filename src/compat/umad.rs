//! Reads a device from the files of libibumad. One unreadable file makes the device unreadable.

use super::file_reader::FileReader;
use super::number::{parse_any, parse_decimal, parse_hex, truncate};
use super::{CLASS, Job, Transcript};
use crate::source::ReadError;

/// Size in bytes of a name with its end.
const NAME: usize = 20;
/// The library supports ports 0 to 9; a higher port number makes the whole device unreadable.
const PORTS: i32 = 10;

pub(super) struct Ca {
    pub(super) name: String,
    pub(super) node_type: u32,
    pub(super) hca_type: String,
    pub(super) fw_ver: String,
    pub(super) hw_rev: String,
    pub(super) node_guid: u64,
    pub(super) system_guid: u64,
    /// Ports, in the order of their numbers.
    pub(super) ports: Vec<Port>,
}

pub(super) struct Port {
    pub(super) number: i32,
    pub(super) state: u32,
    pub(super) phys_state: u32,
    pub(super) rate: u32,
    /// True if the text of the rate contains FDR10.
    pub(super) is_fdr10: bool,
    pub(super) base_lid: u32,
    pub(super) lmc: u32,
    pub(super) sm_lid: u32,
    pub(super) cap_mask: u32,
    pub(super) guid: u64,
    pub(super) link_layer: String,
}

impl Ca {
    /// Returns the highest port number.
    pub(super) fn port_count(&self) -> i32 {
        self.ports.last().map_or(0, |port| port.number)
    }

    pub(super) fn port(&self, number: i32) -> Option<&Port> {
        self.ports.iter().find(|port| port.number == number)
    }

    /// Reads a device; `None` if part of it cannot be read.
    pub(super) fn read(job: &Job<'_>, name: &str, out: &mut Transcript) -> Option<Self> {
        let reading = job.reading;
        // A longer name is truncated, so the device is not found.
        let name = name.get(..NAME - 1).unwrap_or(name);
        let folder = format!("{CLASS}/{name}");
        let text = |file: &str, room| {
            read_text(reading, &format!("{folder}/{file}"), room).unwrap_or_default()
        };
        let node_type = read_number(reading, &format!("{folder}/node_type")).ok()?;
        let fw_ver = text("fw_ver", 20);
        let hw_rev = text("hw_rev", 20);
        let hca_type = text("hca_type", 40);
        let node_guid = read_groups(reading, &format!("{folder}/node_guid"), 32, 4)?;
        let system_guid = read_groups(reading, &format!("{folder}/sys_image_guid"), 32, 4)?;
        let folder = format!("{folder}/ports");
        let mut ports = Vec::new();
        for entry in reading.names(&folder).ok()? {
            let number = parse_decimal(&entry);
            if entry != "0" && !(1..PORTS).contains(&number) {
                return None;
            }
            ports.push(Port::read(job, name, &folder, number, out)?);
        }
        ports.sort_by_key(|port| port.number);
        Some(Self {
            name: name.to_owned(),
            node_type,
            hca_type,
            fw_ver,
            hw_rev,
            node_guid,
            system_guid,
            ports,
        })
    }
}

impl Port {
    fn read(
        job: &Job<'_>,
        device: &str,
        folder: &str,
        number: i32,
        out: &mut Transcript,
    ) -> Option<Self> {
        let reading = job.reading;
        let folder = format!("{folder}/{number}");
        let value = |file: &str| read_number(reading, &format!("{folder}/{file}")).ok();
        let (lmc, sm_lid) = (value("lid_mask_count")?, value("sm_lid")?);
        value("sm_sl")?;
        let (base_lid, state, phys_state) = (value("lid")?, value("state")?, value("phys_state")?);
        let rate_text = read_text(reading, &format!("{folder}/rate"), 32).ok()?;
        let cap_mask = value("cap_mask")?;
        let link_layer = read_text(reading, &format!("{folder}/link_layer"), NAME)
            .unwrap_or_else(|_| "IB".into());
        let guid = read_groups(reading, &format!("{folder}/gids/0"), 64, 8)?;
        let pkeys = format!("{folder}/pkeys");
        let mut names = reading.names(&pkeys).unwrap_or_default();
        names.retain(|name| name.bytes().all(|letter| letter.is_ascii_digit()));
        if names.is_empty() {
            let text = format!("no pkeys found for {device}:{number} (at dir {pkeys})...");
            out.warn(job.warning("get_port", &text));
            return None;
        }
        for name in names {
            read_number(reading, &format!("{pkeys}/{name}")).ok()?;
        }
        Some(Self {
            number,
            state,
            phys_state,
            rate: truncate(parse_any(&rate_text)),
            is_fdr10: names_fdr10(&rate_text),
            base_lid,
            lmc,
            sm_lid,
            cap_mask,
            guid,
            link_layer,
        })
    }
}

/// True if the word before the first bracket ends with FDR10.
fn names_fdr10(rate: &str) -> bool {
    let Some((before, _)) = rate.split_once(')') else { return false };
    let Some(start) = before.len().checked_sub(5) else { return false };
    before.get(start..).is_some_and(|word| word.eq_ignore_ascii_case("fdr10"))
}

/// Returns the text of a file: at most `room` bytes including its end, up to the last line break.
fn read_text(reading: &FileReader<'_>, path: &str, room: usize) -> Result<String, ReadError> {
    let mut text = reading.file(path)?;
    if text.len() >= room {
        let end = (0..room).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        text.truncate(end);
    }
    if let Some(end) = text.find('\0') {
        text.truncate(end);
    }
    if let Some(end) = text.rfind('\n') {
        text.truncate(end);
    }
    Ok(text)
}

pub(super) fn read_number(reading: &FileReader<'_>, path: &str) -> Result<u32, ReadError> {
    Ok(truncate(parse_any(&read_text(reading, path, 32)?)))
}

/// Returns the last four of `groups` groups of hexadecimal digits.
fn read_groups(reading: &FileReader<'_>, path: &str, room: usize, groups: usize) -> Option<u64> {
    let text = read_text(reading, path, room).ok()?;
    let mut parts = text.split([':', ' ', '\t', '\n']);
    let mut value = 0_u64;
    for _ in 0..groups {
        value = value << 16 | parse_hex(parts.next()?) & 0xffff;
    }
    Some(value)
}

#[test]
fn fdr10_is_known_by_the_word_before_the_bracket() {
    assert!(names_fdr10("40 Gb/sec (4X FDR10)"));
    assert!(names_fdr10("10 Gb/sec (1X fdr10)"));
    for rate in ["56 Gb/sec (4X FDR)", "10 Gb/sec (4X)", "FDR10", ")", ""] {
        assert!(!names_fdr10(rate), "{rate}");
    }
}

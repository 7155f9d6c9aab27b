//! Limits of the JSON of an agent, checked before it is parsed into values.
//!
//! [`JsonLimits::check`] scans the text once. It counts values, members of each list, bytes of
//! strings and depth, and estimates the memory of the parsed values. It does not validate the
//! JSON: serde does so afterwards. The operator calls it for each frame, report and recording.
//! The agent calls it for its own report.

use std::mem::size_of;

use crate::model::{
    Counter, Device, EthernetCounter, Fabric, FabricNode, FabricPort, Gid, KernelFault, Netdev,
    Port, Problem, Resource, TcpSocket,
};

/// Limits of one JSON text.
#[derive(Debug)]
pub struct JsonLimits {
    what: &'static str,
    /// Limit of the values in all lists and objects together. It bounds the time of parsing.
    values: usize,
    /// Limit of one string, in bytes, with its escape sequences.
    string_bytes: usize,
    depth: usize,
    /// Limit of the estimated memory of the values, in bytes.
    memory_bytes: usize,
    /// Lists with a limit or a member size of their own, by key.
    lists: &'static [List],
}

#[derive(Debug)]
struct List {
    key: &'static str,
    members: usize,
    /// Memory of one member that is an object, in bytes, without its strings and lists.
    member_bytes: usize,
}

const fn list<T>(key: &'static str, members: usize) -> List {
    List { key, members, member_bytes: size_of::<T>() }
}

/// Limit of a list without an entry of its own. The largest of them are lists of sockets and
/// processes: a busy host has 10,000 of each.
const OTHER: List = List { key: "", members: 65_536, member_bytes: 512 };

/// Limit of the members of an object. The largest one has the settings of all interfaces: three
/// for each of 16,384.
const OBJECT_MEMBERS: usize = 65_536;

/// Memory of a value outside of lists, and of the allocation of a string, in bytes.
const VALUE_BYTES: usize = 16;

/// Capacity that a growing list allocates first, in members.
const FIRST_MEMBERS: usize = 4;

/// Limits of the report of one host. The largest real hosts have 64 cards, 1,000 virtual
/// functions and 10,000 queue pairs or connections. One host may report a whole fabric of 10,000
/// hosts: 10,000 nodes, some thousand switches, and 16 MiB of text.
pub const REPORT: JsonLimits = JsonLimits {
    what: "report",
    // A fabric of 10,000 hosts has 1.5 million values in its 16 MiB of text.
    values: 4_000_000,
    // Ten times the longest string: the forwarding table of a switch, 49,152 ports of two digits.
    string_bytes: 1 << 20,
    // A report has a depth of 9; the limit of serde_json is 128.
    depth: 32,
    // The sweep of a fabric of 10,000 hosts takes about 100 MiB.
    memory_bytes: 256 << 20,
    lists: &[
        // 64 cards of two ports, each with 16 virtual functions: 2,048.
        list::<Device>("devices", 4_096),
        // 4,094 VLANs on each of some bonds.
        list::<Netdev>("netdevs", 16_384),
        // InfiniBand numbers the ports of a switch up to 254. A device's ports have the same key.
        const { either(&list::<Port>("ports", 512), size_of::<FabricPort>()) },
        // Cards have tables of 256 GIDs, and some cards of 1,024.
        list::<Gid>("gids", 4_096),
        // Drivers have up to some hundred counters for each priority and ring.
        const { either(&list::<Counter>("counters", 4_096), size_of::<EthernetCounter>()) },
        // A subnet has 49,151 LIDs, and a node with several ports is one entry.
        list::<FabricNode>("nodes", 65_536),
        // One for each port of a host.
        list::<Fabric>("fabrics", 512),
        // 10,000 queue pairs, each with its completion queues and ten memory regions.
        list::<Resource>("resources", 131_072),
        list::<TcpSocket>("sockets", 131_072),
        // One of each kind for each card.
        list::<KernelFault>("kernel_faults", 1_024),
        // One problem for each unreadable file: 64 devices, 2 ports, 256 GIDs of two files.
        list::<Problem>("problems", 65_536),
        // Lists of numbers and words.
        list::<u64>("inodes", 1 << 20),
        list::<u16>("p_keys", 65_536),
        list::<u8>("route", 64),
        list::<String>("caps", 256),
    ],
};

/// Limits of the recording of one host. Each of its raw replies is an entry.
pub const RECORDING: JsonLimits = JsonLimits {
    what: "recording",
    values: 4_000_000,
    // A recorded file is one string.
    string_bytes: super::REPORT_LIMIT,
    depth: 32,
    memory_bytes: 256 << 20,
    // 64 devices with two ports and 256 GIDs, four files for each GID: 131,072.
    lists: &[List { key: "entries", members: 262_144, member_bytes: 128 }],
};

/// Limits of a frame of either side, which has at most [`FRAME_LIMIT`](super::FRAME_LIMIT) bytes.
pub const FRAME: JsonLimits = JsonLimits {
    what: "frame",
    // The largest replies of a worker have some thousand samples.
    values: 65_536,
    string_bytes: super::FRAME_LIMIT,
    depth: 32,
    memory_bytes: 32 << 20,
    lists: &[],
};

/// Returns the list with its member size raised to `bytes`, if it is smaller.
const fn either(list: &List, bytes: usize) -> List {
    let member_bytes = if bytes > list.member_bytes { bytes } else { list.member_bytes };
    List { key: list.key, members: list.members, member_bytes }
}

/// Limit that a text exceeds: the name of the text, the key of the list, and the limit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OverLimit {
    /// A list is too long.
    #[error("a list \"{1}\" of the {0} has more than {2} entries")]
    Members(&'static str, &'static str, usize),
    /// An object is too long.
    #[error("an object of the {0} has more than {1} members")]
    Object(&'static str, usize),
    /// The text has too many values.
    #[error("the {0} has more than {1} values")]
    Values(&'static str, usize),
    /// A string is too long.
    #[error("a string of the {0} has more than {1} bytes")]
    String(&'static str, usize),
    /// Lists and objects are nested too deeply.
    #[error("the {0} nests lists and objects deeper than {1} levels")]
    Depth(&'static str, usize),
    /// The values would take too much memory.
    #[error("the {0} would take more than {mib} MiB of memory", mib = .1 >> 20)]
    Memory(&'static str, usize),
    /// A key has an escape sequence, so that its list cannot be identified.
    #[error("the {0} has a key with an escape sequence")]
    Key(&'static str),
}

/// List or object that is open at the current place of the text.
struct Open<'limits> {
    /// Limits of the list; `None` for an object.
    list: Option<&'limits List>,
    members: usize,
    /// Limits that apply if the next value is a list.
    of_key: &'limits List,
    /// True after the colon of a member of an object.
    is_behind_colon: bool,
}

impl JsonLimits {
    /// Returns the estimated memory of the values in a text, in bytes.
    ///
    /// # Errors
    /// Returns the first limit that the text exceeds.
    pub fn check(&self, json: &[u8]) -> Result<usize, OverLimit> {
        let what = self.what;
        let (mut open, mut values, mut memory) = (Vec::<Open<'_>>::new(), 0, 0_usize);
        let mut at = 0;
        while let Some(byte) = json.get(at) {
            let begins_value = match byte {
                b':' | b',' => {
                    if let Some(container) = open.last_mut() {
                        container.is_behind_colon = *byte == b':';
                    }
                    false
                }
                b']' | b'}' => {
                    open.pop();
                    false
                }
                b' ' | b'\t' | b'\n' | b'\r' => false,
                // A key does not count as a value.
                b'"' => open.last().is_none_or(|it| it.list.is_some() || it.is_behind_colon),
                _ => true,
            };
            let mut of_key = &OTHER;
            if begins_value {
                values += 1;
                if values > self.values {
                    return Err(OverLimit::Values(what, self.values));
                }
                memory += VALUE_BYTES;
                if let Some(container) = open.last_mut() {
                    of_key = container.of_key;
                    memory += container.add(what, *byte == b'{')?;
                }
            }
            at = match byte {
                b'[' | b'{' => {
                    if open.len() == self.depth {
                        return Err(OverLimit::Depth(what, self.depth));
                    }
                    // The inner lists of a list have no key.
                    let list = (*byte == b'[').then_some(of_key);
                    open.push(Open { list, members: 0, of_key: &OTHER, is_behind_colon: false });
                    at + 1
                }
                b'"' => {
                    let end = end_of_string(json, at + 1);
                    let text = &json[at + 1..end];
                    if text.len() > self.string_bytes {
                        return Err(OverLimit::String(what, self.string_bytes));
                    }
                    if begins_value {
                        memory += text.len();
                    } else if text.contains(&b'\\') {
                        return Err(OverLimit::Key(what));
                    } else if let Some(object) = open.last_mut() {
                        object.of_key = self.list_of(text);
                    }
                    end + 1
                }
                _ if begins_value => end_of_scalar(json, at + 1),
                _ => at + 1,
            };
            if memory > self.memory_bytes {
                return Err(OverLimit::Memory(what, self.memory_bytes));
            }
        }
        Ok(memory)
    }

    fn list_of(&self, key: &[u8]) -> &List {
        self.lists.iter().find(|list| list.key.as_bytes() == key).unwrap_or(&OTHER)
    }
}

impl Open<'_> {
    /// Counts a member and returns the memory that its list, if any, allocates for it. A list
    /// allocates four members with its first one. A longer list doubles its capacity, so that it
    /// takes up to twice the size of its members.
    fn add(&mut self, what: &'static str, is_object: bool) -> Result<usize, OverLimit> {
        self.members += 1;
        let Some(list) = self.list else {
            let is_over = self.members > OBJECT_MEMBERS;
            return if is_over { Err(OverLimit::Object(what, OBJECT_MEMBERS)) } else { Ok(0) };
        };
        if self.members > list.members {
            let key = if list.key.is_empty() { "(other)" } else { list.key };
            return Err(OverLimit::Members(what, key, list.members));
        }
        let bytes = if is_object { list.member_bytes } else { size_of::<String>() };
        Ok(match self.members {
            1 | 5 => bytes * FIRST_MEMBERS,
            2..=FIRST_MEMBERS => 0,
            _ => bytes * 2,
        })
    }
}

/// Returns the index of the closing quote of the string that starts at `at`, or the text's end.
fn end_of_string(json: &[u8], mut at: usize) -> usize {
    while let Some(found) =
        json.get(at..).and_then(|rest| rest.iter().position(|&byte| byte == b'"' || byte == b'\\'))
    {
        at += found;
        if json[at] == b'"' {
            return at;
        }
        at += 2;
    }
    json.len()
}

/// Returns the end of a number or word that starts before `at`.
fn end_of_scalar(json: &[u8], at: usize) -> usize {
    let is_end = |byte: &u8| matches!(byte, b',' | b']' | b'}' | b'"' | b':' | b'[' | b'{');
    let is_end = |byte: &u8| is_end(byte) || byte.is_ascii_whitespace();
    json[at..].iter().position(is_end).map_or(json.len(), |length| at + length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{HostReport, Via};

    fn over(json: &str) -> String {
        REPORT.check(json.as_bytes()).unwrap_err().to_string()
    }

    fn list_of(key: &str, member: &str, count: usize) -> String {
        format!("{{\"{key}\":[{}]}}", vec![member; count].join(","))
    }

    #[test]
    fn a_report_is_within_the_limits_and_its_memory_is_estimated() {
        let json = serde_json::to_string(&HostReport::empty("n1", Via::Agent)).unwrap();
        let bytes = REPORT.check(json.as_bytes()).unwrap();
        assert!((100..2_000).contains(&bytes), "{bytes}");
        let interfaces = list_of("netdevs", "{\"name\":\"eth0\"}", 16_384);
        let bytes = REPORT.check(interfaces.as_bytes()).unwrap();
        assert!(bytes > 16_384 * size_of::<Netdev>(), "{bytes}");
    }

    #[test]
    fn a_list_over_its_limit_is_named() {
        let text = "a list \"netdevs\" of the report has more than 16384 entries";
        assert_eq!(over(&list_of("netdevs", "{\"name\":\"\"}", 16_385)), text);
        assert_eq!(over(&list_of("netdevs", "[[ ]]", 16_385)), text);
        assert_eq!(
            over(&format!(r#"{{"x":"netdevs",{}"#, &list_of("netdevs", "1", 16_385)[1..])),
            text
        );
        let text = "a list \"(other)\" of the report has more than 65536 entries";
        assert_eq!(over(&list_of("netdev", "null", 65_537)), text);
        assert_eq!(over(&format!("[{}]", list_of("", "1", 65_537))), text);
        // The inner lists of a list are short.
        REPORT.check(list_of("netdevs", "{\"a\":[1,2],\"b\":{}}", 16_384).as_bytes()).unwrap();
    }

    /// A check that read the last string for each colon would take hours.
    #[test]
    fn a_text_of_colons_takes_linear_time() {
        let text = format!("\"{}\"{}", "x".repeat(1 << 20), ":".repeat(8 << 20));
        REPORT.check(text.as_bytes()).unwrap();
    }

    #[test]
    fn other_limits_are_named() {
        assert_eq!(
            over(&format!("\"{}\"", "x".repeat((1 << 20) + 1))),
            "a string of the report has more than 1048576 bytes"
        );
        assert_eq!(
            over(&"[".repeat(33)),
            "the report nests lists and objects deeper than 32 levels"
        );
        REPORT.check("[".repeat(32).as_bytes()).unwrap();
        assert_eq!(over(r#"{"net\u0064evs":[]}"#), "the report has a key with an escape sequence");
        let object = |count| format!("{{{}}}", vec!["\"a\":\"\""; count].join(","));
        assert_eq!(
            over(&object(OBJECT_MEMBERS + 1)),
            "an object of the report has more than 65536 members"
        );
        REPORT.check(object(OBJECT_MEMBERS).as_bytes()).unwrap();
        let lists = vec!["[1,2,3,4,5,6,7]"; 60_000].join(",");
        let lists = format!("[{}]", vec![format!("[{lists}]"); 10].join(","));
        assert_eq!(over(&lists), "the report has more than 4000000 values");
        // A device with one port takes the memory of four ports.
        let device = r#"{"ports":[{}]}"#;
        let devices = list_of("devices", device, 4_096);
        assert!(REPORT.check(devices.as_bytes()).unwrap() > 4_096 * 4 * size_of::<Port>());
        let many = format!("[{}]", vec![devices; 64].join(","));
        assert_eq!(over(&many), "the report would take more than 256 MiB of memory");
    }

    #[test]
    fn brackets_inside_strings_are_not_counted() {
        let hidden = r#"{"a":"\"netdevs\":[1,2,{{{{[[[[\\","b":"]]"}"#;
        assert!(REPORT.check(hidden.as_bytes()).unwrap() < 200);
    }

    #[test]
    fn any_bytes_are_read_to_their_end() {
        for text in ["", "]", "}}}", ":", ",,,", "\"", "\"\\", "{\"a", "[1", "nul", "\0", "\u{85}x"]
        {
            let _ = REPORT.check(text.as_bytes());
        }
    }

    #[test]
    fn a_member_of_a_list_without_an_entry_is_no_larger_than_assumed() {
        use crate::model as m;
        let sizes = [
            size_of::<m::NfsMount>(),
            size_of::<m::NvmeController>(),
            size_of::<m::Holder>(),
            size_of::<m::PKey>(),
            size_of::<m::Gpu>(),
        ];
        assert!(sizes.iter().all(|size| *size <= OTHER.member_bytes), "{sizes:?}");
    }
}

//! The queries of `saquery`: their records, conditions and formats.
//!
//! Used by `saquery`.

use super::options::{Operation, Print};
use super::records::{self, RecordLine};
use super::table::{Administration, Conditions};
use super::{PathQuery, SaRequest};
use crate::compat::ToolError;
use crate::compat::diags::dump_port_info;
use crate::compat::number::parse_any;
use crate::mad::{
    LinkRecord, MadAttribute as _, Method, NodeRecord, PortInfo, PortInfoRecord, read_bits,
};

/// Attributes without a codec.
const CLASS_PORT_INFO: u16 = 0x01;
const SWITCH_INFO_RECORD: u16 = 0x14;
const SM_INFO_RECORD: u16 = 0x18;
const PATH_RECORD: u16 = 0x35;
const MULTICAST_RECORD: u16 = 0x38;
/// Bit of the second capability mask: switches have a highest multicast LID.
const MULTICAST_TOP: u64 = 1 << 3;
/// Offset of the description in a `NodeRecord`, and of `PortInfo` in a `PortInfoRecord`.
const DESCRIPTION: usize = 44;
const PORT_INFO: usize = 4;
/// Exit codes: errno values ENONET and EINVAL.
const NOT_IN_NETWORK: u8 = 64;
const INVALID: u8 = 22;

impl Administration<'_> {
    pub(super) fn run(&mut self, asked: &SaRequest) -> Result<(), ToolError> {
        let operand = |at: usize| asked.operands.get(at).map(String::as_str);
        match asked.operation {
            Operation::ClassPortInfo => self.class_port_info(),
            Operation::Named | Operation::Nodes => {
                let conditions = self.of_lid(operand(0))?;
                for record in self.table(NodeRecord::ID, &conditions)? {
                    self.print_node(&record);
                }
                Ok(())
            }
            Operation::Ports => self.ports(operand(0)),
            Operation::Links => self.links(operand(0), operand(1)),
            Operation::Paths => self.paths(&asked.path),
            Operation::Switches => self.switches(operand(0)),
            Operation::Managers => {
                let (conditions, title) = (self.of_lid(operand(0))?, "SMInfoRecord dump:\n\t\tRID");
                self.print_table(SM_INFO_RECORD, &conditions, title, records::MANAGER)
            }
            Operation::ListNodes => self.list_nodes(asked.print, operand(0)),
            Operation::ManagerPorts => self.manager_ports(),
            Operation::MulticastGroups => {
                let (all, title) = (Conditions::default(), "MCMemberRecord group dump:");
                self.print_table(MULTICAST_RECORD, &all, title, records::GROUP)
            }
            Operation::MulticastMembers => self.members(operand(0)),
        }
    }

    fn print(&mut self, text: &str) {
        self.session.out.print(text);
    }

    fn print_table(
        &mut self,
        attribute: u16,
        conditions: &Conditions,
        title: &str,
        lines: &[RecordLine],
    ) -> Result<(), ToolError> {
        for record in self.table(attribute, conditions)? {
            self.print(&records::print(title, &record, lines));
        }
        Ok(())
    }

    fn name(&self, record: &[u8]) -> String {
        let guid = read_bits(record, 128, 64);
        self.names.name(guid, description(record))
    }

    fn print_node(&mut self, record: &[u8]) {
        let name = self.name(record);
        let text = records::print("NodeRecord dump:", record, records::NODE);
        self.print(&format!("{text}\t\tNodeDescription.........{name}\n"));
    }

    fn class_port_info(&mut self) -> Result<(), ToolError> {
        let record = self.administration()?;
        self.print(&records::print("SA ClassPortInfo:", &record, records::CLASS_PORT_INFO));
        Ok(())
    }

    fn administration(&mut self) -> Result<Vec<u8>, ToolError> {
        let answer = self.ask(Method::GET, CLASS_PORT_INFO, &Conditions::default());
        let records =
            answer.inspect_err(|_| self.session.out.warn("Failed to query SA:ClassPortInfo\n"))?;
        Ok(records.into_iter().next().unwrap_or_default())
    }

    fn ports(&mut self, word: Option<&str>) -> Result<(), ToolError> {
        let mut conditions = Conditions::default();
        if let Some(word) = word {
            let key = self.key(word)?;
            conditions.set(0, 0, &key.lid.to_be_bytes());
            for (at, number) in [(1, key.first), (2, key.second)] {
                if let Some(number) = number {
                    conditions.set(at, usize::try_from(at).unwrap_or(0) + 1, &[number]);
                }
            }
        }
        let shows_keys = self.session.common.shows_keys;
        for record in self.table(PortInfoRecord::ID, &conditions)? {
            let text = records::print("PortInfoRecord dump:\n\tRID", &record, records::PORT_KEY);
            let port = record.get(PORT_INFO..PORT_INFO + PortInfo::BYTES).unwrap_or_default();
            let fields = dump_port_info(port, shows_keys, "\t\t");
            self.print(&format!("{text}\tPortInfo dump:\n{fields}"));
        }
        Ok(())
    }

    fn links(&mut self, from: Option<&str>, to: Option<&str>) -> Result<(), ToolError> {
        let mut conditions = Conditions::default();
        // Bits and offsets of the LID and of the port at each end.
        for (word, lid, port) in [(from, (0, 0), (1, 2)), (to, (3, 4), (2, 3))] {
            let Some(word) = word else { continue };
            let key = self.key(word)?;
            conditions.set(lid.0, lid.1, &key.lid.to_be_bytes());
            if let Some(number) = key.first {
                conditions.set(port.0, port.1, &[number]);
            }
        }
        self.print_table(LinkRecord::ID, &conditions, "LinkRecord dump:", records::LINK)
    }

    fn paths(&mut self, path: &PathQuery) -> Result<(), ToolError> {
        let (mut from, mut to) = (path.from_lid, path.to_lid);
        if let Some((source, destination)) = &path.ends {
            if !source.is_empty() {
                from = self.lid(source)?;
            }
            if !destination.is_empty() {
                to = self.lid(destination)?;
            }
        }
        let mut conditions = Conditions::default();
        for (bit, at, gid) in [(3, 24, path.from_gid), (2, 8, path.to_gid)] {
            if gid != 0 {
                conditions.set(bit, at, &gid.to_be_bytes());
            }
        }
        for (bit, at, number) in [(5, 42, from), (4, 40, to), (13, 50, path.p_key)] {
            if number != 0 {
                conditions.set(bit, at, &number.to_be_bytes());
            }
        }
        // The number of paths shares its byte with the direction.
        let direction = path.reversible.filter(|value| *value != u8::MAX);
        let paths = path.paths.filter(|value| *value != u8::MAX);
        let byte = paths.unwrap_or(0) | direction.unwrap_or(0) << 7;
        if direction.is_some() {
            conditions.set(11, 49, &[byte]);
        }
        if paths.is_some() {
            conditions.set(12, 49, &[byte]);
        }
        if let Some(level) = path.service_level {
            conditions.set(15, 53, &[level & 0xf]);
        }
        self.print_table(PATH_RECORD, &conditions, "PathRecord dump:", records::PATH)
    }

    fn switches(&mut self, word: Option<&str>) -> Result<(), ToolError> {
        let administration = self.administration()?;
        let has_top = read_bits(&administration, 32, 27) & MULTICAST_TOP != 0;
        let conditions = self.of_lid(word)?;
        for record in self.table(SWITCH_INFO_RECORD, &conditions)? {
            let lid = read_bits(&record, 0, 16);
            let title = format!(
                "SwitchInfoRecord dump:\n\t\tRID\n\
                 \t\tLID.....................................{lid}\n\t\tSwitchInfo dump:"
            );
            let mut text = records::print(&title, &record, records::SWITCH);
            if has_top {
                let whole = records::print("", &record, records::SWITCH_TOP);
                text += whole.trim_start_matches('\n');
            }
            self.print(&text);
        }
        Ok(())
    }

    /// Returns the condition that a record has a LID; no condition without a word.
    fn of_lid(&mut self, word: Option<&str>) -> Result<Conditions, ToolError> {
        let mut conditions = Conditions::default();
        if let Some(word) = word {
            let key = self.key(word)?;
            conditions.set(0, 0, &key.lid.to_be_bytes());
        }
        Ok(conditions)
    }

    /// Prints the ports with a subnet manager, and the ports that refuse a subnet manager.
    fn manager_ports(&mut self) -> Result<(), ToolError> {
        for (title, bit) in [("IsSM ports\n", 1), ("\nIsSMdisabled ports\n", 10)] {
            let mut conditions = Conditions::with_modifier(1 << 31);
            conditions.set(7, PORT_INFO + 20, &(1_u32 << bit).to_be_bytes());
            let found = self.table(PortInfoRecord::ID, &conditions)?;
            self.print(title);
            for record in found {
                self.print(&records::print("PortInfoRecord dump:", &record, records::PORT));
            }
        }
        Ok(())
    }

    fn list_nodes(&mut self, print: Print, word: Option<&str>) -> Result<(), ToolError> {
        let found = self.all(NodeRecord::ID)?;
        if print == Print::Names {
            self.print("   LID \"name\"\n================\n");
        }
        let number = word.map_or(0, parse_any);
        for record in found {
            let (lid, name) = (read_bits(&record, 0, 16), self.name(&record));
            let port_guid = read_bits(&record, 192, 64);
            let is_named = word.is_none_or(|word| {
                until_zero(description(&record)) == word.as_bytes() || name == word
            });
            match print {
                Print::Names if read_bits(&record, 48, 8) == 1 => {
                    self.print(&format!("{lid:6}  \"{name}\"\n"));
                }
                Print::NameOfLid if number & 0xffff == lid => self.print(&format!("{name}\n")),
                Print::NameOfGuid if number == port_guid => self.print(&format!("{name}\n")),
                Print::Lids if is_named => self.print(&format!("{lid}\n")),
                Print::FirstLid if is_named => {
                    self.print(&format!("{lid}\n"));
                    return Ok(());
                }
                Print::Guids if is_named => self.print(&format!("0x{port_guid:016x}\n")),
                Print::All if is_named => self.print_node(&record),
                _ => {}
            }
        }
        Ok(())
    }

    fn members(&mut self, word: Option<&str>) -> Result<(), ToolError> {
        let members = self.all(MULTICAST_RECORD)?;
        let nodes = self.all(NodeRecord::ID)?;
        for record in members {
            let port = read_bits(&record, 192, 64);
            let node = nodes.iter().find(|node| read_bits(node, 192, 64) == port);
            let name = node.map_or_else(|| "<unknown>".to_owned(), |node| self.name(node));
            let is_group = |word: &str| parse_any(word) == read_bits(&record, 288, 16);
            match word {
                Some(word) if is_group(word) => {
                    let gid = records::gid(&record, 16);
                    self.print(&format!("\t\tPortGid.................{gid} ({name})\n"));
                }
                Some(_) => {}
                None => {
                    let title = "MCMemberRecord member dump:";
                    let text = records::print(title, &record, records::MEMBER);
                    self.print(&format!("{text}\t\tNodeDescription.........{name}\n"));
                }
            }
        }
        Ok(())
    }

    /// Parses `LID/PORT/PORT`; the LID may be a name.
    fn key(&mut self, word: &str) -> Result<Key, ToolError> {
        let mut parts = word.split('/');
        let lid = self.lid(parts.next().unwrap_or_default())?;
        let mut number = || {
            let part = parts.next()?;
            let has_digits = part.trim_start().starts_with(|it: char| it.is_ascii_digit());
            // The original treats 255 as "not given".
            let low = u8::try_from(parse_any(part) & 0xff).ok().filter(|it| *it != u8::MAX);
            low.filter(|_| has_digits)
        };
        let first = number();
        Ok(Key { lid, first, second: number() })
    }

    /// Returns the LID for a word: a number, or the description of a node.
    fn lid(&mut self, word: &str) -> Result<u16, ToolError> {
        if word.starts_with(|it: char| it.is_ascii_alphabetic()) {
            let nodes = self.all(NodeRecord::ID)?;
            let found = nodes.iter().find(|node| until_zero(description(node)) == word.as_bytes());
            if let Some(lid) = found.and_then(|node| u16::try_from(read_bits(node, 0, 16)).ok()) {
                return Ok(lid);
            }
            let text =
                format!("Failed to find lid for \"{word}\": Machine is not on the network\n");
            return Err(self.session.out.end(NOT_IN_NETWORK, text));
        }
        let lid = u16::try_from(parse_any(word)).ok().filter(|lid| *lid != 0);
        let text = || format!("Invalid lid specified: \"{word}\"\n");
        lid.ok_or_else(|| self.session.out.end(INVALID, text()))
    }
}

struct Key {
    lid: u16,
    first: Option<u8>,
    second: Option<u8>,
}

fn description(record: &[u8]) -> &[u8] {
    record.get(DESCRIPTION..DESCRIPTION + 64).unwrap_or_default()
}

fn until_zero(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == 0).next().unwrap_or_default()
}

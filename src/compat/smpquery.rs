//! `smpquery`: attributes of subnet management of one node.

use super::diags::{
    Halt, NodeNames, Own, PortId, Session, Usage, dump, dump_port_info, ended, parse, show_usage,
    tables,
};
use super::number::{parse_any, truncate};
use super::{CompatError, Job, Transcript};
use crate::mad::read_bits;

const NODE_DESCRIPTION: u16 = 0x10;
const NODE_INFO: u16 = 0x11;
const SWITCH_INFO: u16 = 0x12;
const GUID_INFO: u16 = 0x14;
const PORT_INFO: u16 = 0x15;
const P_KEYS: u16 = 0x16;
const SL_TO_VL: u16 = 0x17;
const VL_ARBITRATION: u16 = 0x18;
const PORT_INFO_EXTENDED: u16 = 0x33;
const MELLANOX_PORT_INFO: u16 = 0xff90;
const SWITCH: u8 = 2;

const OWN: [Own; 3] = [
    Own::flag('c', "combined", "use Combined route address argument")
        .refused("write the whole directed route: -D 0,1,12"),
    Own::valued('\u{1}', "node-name-map", "<file>", "node name map file"),
    Own::flag('x', "extended", "use extended speeds"),
];
const USAGE: Usage<'_> = Usage {
    own: &OWN,
    without: "",
    operands: "<op> <dest dr_path|lid|guid> [op params]\n\nSupported ops (and aliases, case \
               insensitive):\n  NodeInfo (NI) <addr>\n  NodeDesc (ND) <addr>\n  PortInfo (PI) <addr> \
               [<portnum>]\n  PortInfoExtended (PIE) <addr> [<portnum>]\n  SwitchInfo (SI) <addr>\n  \
               PKeyTable (PKeys) <addr> [<portnum>]\n  SL2VLTable (SL2VL) <addr> [<portnum>]\n  \
               VLArbitration (VLArb) <addr> [<portnum>]\n  GUIDInfo (GI) <addr>\n  MlnxExtPortInfo \
               (MEPI) <addr> [<portnum>]\n",
    examples: &[
        "portinfo 3 1\t\t\t\t# portinfo by lid, with port modifier",
        "-G switchinfo 0x2C9000100D051 1\t# switchinfo by guid",
        "-D nodeinfo 0\t\t\t\t# nodeinfo by direct route",
        "-c nodeinfo 6 0,12\t\t\t# nodeinfo by combined route",
    ],
};

/// Why an operation has no answer.
type Failed = &'static str;

pub(super) fn run(job: &Job<'_>, out: &mut Transcript) -> Result<(), CompatError> {
    ended(show(job, out))
}

fn show(job: &Job<'_>, out: &mut Transcript) -> Result<(), Halt> {
    let parsed = parse(job, &USAGE, out)?;
    let [name, address, params @ ..] = &parsed.operands[..] else {
        return Err(show_usage(job, &USAGE, out));
    };
    let known = [
        "NI",
        "NodeInfo",
        "ND",
        "NodeDesc",
        "PI",
        "PortInfo",
        "PIE",
        "PortInfoExtended",
        "SI",
        "SwitchInfo",
        "PKeys",
        "PKeyTable",
        "SL2VL",
        "SL2VLTable",
        "VLArb",
        "VLArbitration",
        "GI",
        "GUIDInfo",
        "MEPI",
        "MlnxExtPortInfo",
    ];
    // Each alias stands before its name.
    let found = known.iter().position(|known| known.eq_ignore_ascii_case(name));
    let names = NodeNames::read(job, parsed.value('\u{1}'), out);
    let Some(operation) = found.map(|at| known[at & !1]) else {
        out.print(format!(
            "{}: iberror: failed: operation '{name}' not supported\n",
            job.call.program
        ));
        out.code = 255;
        return Err(Halt::Said);
    };
    let mut session = Session::open_or_fail(job, parsed.common.clone(), out)?;
    let Some(to) = session.resolve(address) else {
        return Err(session.fail(&format!("can't resolve destination port {address}")));
    };
    let port = params.first().map_or(0, |text| truncate(parse_any(text)));
    let mut query = Query { session: &mut session, to, port };
    let result = match operation {
        "NI" => query.node_info(),
        "ND" => query.node_description(&names),
        "PI" => query.port_info(parsed.has('x')),
        "PIE" => query.port_info_extended(),
        "SI" => query.switch_info(),
        "PKeys" => query.p_keys(),
        "SL2VL" => query.sl_to_vl(),
        "VLArb" => query.vl_arbitration(),
        "GI" => query.guids(),
        _ => query.mellanox_port_info(),
    };
    result.map_err(|why| session.fail(&format!("operation {name}: {why}")))
}

struct Query<'run, 'job> {
    session: &'run mut Session<'job>,
    to: PortId,
    port: u32,
}

impl Query<'_, '_> {
    fn ask(&mut self, attribute: u16, modifier: u32, why: Failed) -> Result<[u8; 64], Failed> {
        self.session.smp(&self.to, attribute, modifier).ok_or(why)
    }

    fn print(&mut self, text: impl AsRef<str>) {
        self.session.out.print(text);
    }

    fn node_info(&mut self) -> Result<(), Failed> {
        let data = self.ask(NODE_INFO, 0, "node info query failed")?;
        self.print(format!("# Node info: {}\n{}", self.to, dump(&data, tables::NODE_INFO)));
        Ok(())
    }

    fn node_description(&mut self, names: &NodeNames) -> Result<(), Failed> {
        let node = self.ask(NODE_INFO, 0, "node info query failed")?;
        let description = self.ask(NODE_DESCRIPTION, 0, "node desc query failed")?;
        let name = names.name(read_bits(&node, 96, 64), &description);
        let dots = ".".repeat(32_usize.saturating_sub(name.len()).max(1));
        self.print(format!("Node Description:{dots}{name}\n"));
        Ok(())
    }

    fn port_info(&mut self, is_extended: bool) -> Result<(), Failed> {
        let modifier = self.port | if is_extended { 1 << 31 } else { 0 };
        let data = self.ask(PORT_INFO, modifier, "port info query failed")?;
        let text = dump_port_info(&data, self.session.common.shows_keys, "");
        self.print(format!("# Port info: {} port {}\n{text}", self.to, self.port.cast_signed()));
        Ok(())
    }

    fn port_info_extended(&mut self) -> Result<(), Failed> {
        let node = self.session.smp(&self.to, NODE_INFO, 0);
        let port = if node.is_some_and(|node| node[2] == SWITCH) { 0 } else { self.port };
        let info = self.session.smp(&self.to, PORT_INFO, port);
        // The original ends with these words alone.
        let Some(info) = node.and(info) else { return Err("port info extended not supported") };
        let mask = read_bits(&info, 480, 16);
        let function = "is_port_info_extended_supported";
        if read_bits(&info, 160, 32) & 1 << 15 == 0 {
            self.session.warn(function, "port info capability mask2 not supported");
            return Err("port info extended not supported");
        }
        if mask & 2 == 0 {
            let text = format!(
                "port info capability mask2 = 0x{mask:x} doesn't indicate PortInfoExtended support"
            );
            self.session.warn(function, &text);
            return Err("port info extended not supported");
        }
        let data = self.ask(PORT_INFO_EXTENDED, self.port, "port info extended query failed")?;
        let text = dump(&data, tables::PORT_INFO_EXTENDED);
        self.print(format!("# Port info Extended: {} port {}\n{text}", self.to, self.port));
        Ok(())
    }

    fn mellanox_port_info(&mut self) -> Result<(), Failed> {
        let why = "Mellanox ext port info query failed";
        let data = self.ask(MELLANOX_PORT_INFO, self.port, why)?;
        let text = dump(&data, tables::MELLANOX_PORT_INFO);
        self.print(format!("# MLNX ext Port info: {} port {}\n{text}", self.to, self.port));
        Ok(())
    }

    fn switch_info(&mut self) -> Result<(), Failed> {
        let data = self.ask(SWITCH_INFO, 0, "switch info query failed")?;
        self.print(format!("# Switch info: {}\n{}", self.to, dump(&data, tables::SWITCH_INFO)));
        Ok(())
    }

    fn p_keys(&mut self) -> Result<(), Failed> {
        let node = self.ask(NODE_INFO, 0, "node info query failed")?;
        if self.port.cast_signed() > i32::from(node[3]) {
            return Err("invalid port number");
        }
        let capacity = if node[2] == SWITCH && self.port != 0 {
            read_bits(&self.ask(SWITCH_INFO, 0, "switch info failed")?, 112, 16)
        } else {
            read_bits(&node, 224, 16)
        };
        let capacity = u32::try_from(capacity).unwrap_or(0);
        let blocks = capacity.div_ceil(32);
        for block in 0..blocks {
            let data = self.ask(P_KEYS, block | self.port << 16, "pkey table query failed")?;
            let rows = if block + 1 == blocks { (capacity - block * 32).div_ceil(8) } else { 4 };
            for (row, keys) in (0..rows).zip(data.chunks_exact(16)) {
                let keys: String = keys
                    .chunks_exact(2)
                    .map(|key| format!(" 0x{:02x}{:02x}", key[0], key[1]))
                    .collect();
                self.print(format!("{:4}:{keys}\n", block * 32 + row * 8));
            }
        }
        self.print(format!("{capacity} pkeys capacity for this port\n"));
        Ok(())
    }

    fn sl_to_vl(&mut self) -> Result<(), Failed> {
        let node = self.ask(NODE_INFO, 0, "node info query failed")?;
        if self.port.cast_signed() > i32::from(node[3]) {
            return Err("invalid port number");
        }
        let levels: String = (0..16).map(|level| format!("{level:2}|")).collect();
        self.print(format!("# SL2VL table: {}\n#                 SL: |{levels}\n", self.to));
        if node[2] != SWITCH {
            return self.sl_to_vl_row(0, 0);
        }
        (0..=node[3]).try_for_each(|input| self.sl_to_vl_row(input.into(), self.port))
    }

    fn sl_to_vl_row(&mut self, input: u32, output: u32) -> Result<(), Failed> {
        let data = self.ask(SL_TO_VL, input << 8 | output, "slvl query failed")?;
        let lanes: String =
            (0..16).map(|level| format!("{:2}|", read_bits(&data, level * 4, 4))).collect();
        self.print(format!("ports: in {input:2}, out {output:2}: |{lanes}\n"));
        Ok(())
    }

    fn vl_arbitration(&mut self) -> Result<(), Failed> {
        if self.port == 0 {
            let node = self.ask(NODE_INFO, 0, "node info query failed")?;
            if node[2] == SWITCH {
                let switch = self.ask(SWITCH_INFO, 0, "switch info query failed")?;
                if switch[16] >> 3 & 1 == 0 {
                    self.print(format!("# No VLArbitration tables (BSP0): {} port 0\n", self.to));
                    return Ok(());
                }
            }
        }
        let info = self.ask(PORT_INFO, self.port, "port info query failed")?;
        let (high, low) = (usize::from(info[39]), usize::from(info[40]));
        self.print(format!(
            "# VLArbitration tables: {} port {} LowCap {low} HighCap {high}\n",
            self.to, self.port
        ));
        for (name, block, entries) in [("Low", 1, low), ("High", 3, high)] {
            if entries == 0 {
                continue;
            }
            self.print(format!("# {name} priority VL Arbitration Table:"));
            self.arbitration_block(block, entries.min(32))?;
            if entries > 32 {
                self.arbitration_block(block + 1, entries - 32)?;
            }
        }
        Ok(())
    }

    fn arbitration_block(&mut self, block: u32, entries: usize) -> Result<(), Failed> {
        let data = self.ask(VL_ARBITRATION, block << 16 | self.port, "vl arb query failed")?;
        let pairs = data.chunks_exact(2).take(entries);
        let lanes: String = pairs.clone().map(|pair| format!("0x{:<2X}|", pair[0] & 15)).collect();
        let weights: String = pairs.map(|pair| format!("0x{:<2X}|", pair[1])).collect();
        self.print(format!("\nVL    : |{lanes}\nWEIGHT: |{weights}\n"));
        Ok(())
    }

    fn guids(&mut self) -> Result<(), Failed> {
        let info = self.ask(PORT_INFO, 0, "port info failed")?;
        let capacity = u32::from(info[50]);
        let blocks = capacity.div_ceil(8);
        for block in 0..blocks {
            let data = self.ask(GUID_INFO, block, "guid info query failed")?;
            let rows = if block + 1 == blocks { (capacity - block * 8).div_ceil(2) } else { 4 };
            for (row, pair) in (0..rows).zip(data.chunks_exact(16)) {
                let (one, other) = (read_bits(pair, 0, 64), read_bits(pair, 64, 64));
                self.print(format!("{:4}: 0x{one:016x} 0x{other:016x}\n", block * 8 + row * 2));
            }
        }
        self.print(format!("{capacity} guids capacity for this port\n"));
        Ok(())
    }
}

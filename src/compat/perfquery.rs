//! `perfquery`: counters of a port, or the sum of several ports. Resets nothing.

use super::diags::{Field, Halt, Own, PortId, Session, Usage, dump, ended, parse, tables};
use super::number::{parse_any, truncate};
use super::{CompatError, Job, Transcript};

const NODE_INFO: u16 = 0x11;
const SWITCH_INFO: u16 = 0x12;
const CLASS_PORT_INFO: u16 = 0x01;
const SAMPLES_CONTROL: u16 = 0x10;
const PORT_COUNTERS: u16 = 0x12;
const PORT_COUNTERS_EXTENDED: u16 = 0x1d;
const SWITCH: u8 = 2;
const ALL_PORTS: u8 = 255;
const MOST_PORTS: usize = 255;
/// Bits of the capability mask of performance management.
const ALL_PORT_SELECT: u16 = 1 << 8;
const EXTENDED_WIDTH: u16 = 1 << 9;
const EXTENDED_WIDTH_NO_CASTS: u16 = 1 << 10;
const TRANSMIT_WAIT: u16 = 1 << 12;
/// Bit of the second mask: 64-bit error counters.
const EXTENDED_ERRORS: u32 = 1 << 1;

const NO_RESET: &str = "remove it: rdmactl resets no counters; use perfquery of infiniband-diags";

const OWN: [Own; 23] = [
    Own::flag('x', "extended", "show extended port counters"),
    Own::flag('X', "xmtsl", "show Xmt SL port counters"),
    Own::flag('S', "rcvsl", "show Rcv SL port counters"),
    Own::flag('D', "xmtdisc", "show Xmt Discard Details"),
    Own::flag('E', "rcverr", "show Rcv Error Details"),
    Own::flag('T', "extended_speeds", "show port extended speeds counters")
        .refused("remove -T: rdmactl reads no counters of lanes"),
    Own::flag('\u{1}', "oprcvcounters", "show Rcv Counters per Op code"),
    Own::flag('\u{2}', "flowctlcounters", "show flow control counters"),
    Own::flag('\u{3}', "vloppackets", "show packets received per Op code per VL"),
    Own::flag('\u{4}', "vlopdata", "show data received per Op code per VL"),
    Own::flag('\u{5}', "vlxmitflowctlerrors", "show flow control update errors per VL"),
    Own::flag('\u{6}', "vlxmitcounters", "show ticks waiting to transmit counters per VL"),
    Own::flag('\u{7}', "swportvlcong", "show sw port VL congestion"),
    Own::flag('\u{8}', "rcvcc", "show Rcv congestion control counters"),
    Own::flag('\u{e}', "slrcvfecn", "show SL Rcv FECN counters"),
    Own::flag('\u{f}', "slrcvbecn", "show SL Rcv BECN counters"),
    Own::flag('\u{b}', "xmitcc", "show Xmit congestion control counters"),
    Own::flag('\u{c}', "vlxmittimecc", "show VL Xmit Time congestion control counters"),
    Own::flag('c', "smplctl", "show samples control"),
    Own::flag('a', "all_ports", "show aggregated counters"),
    Own::flag('l', "loop_ports", "iterate through each port"),
    Own::flag('r', "reset_after_read", "reset counters after read").refused(NO_RESET),
    Own::flag('R', "Reset_only", "only reset counters").refused(NO_RESET),
];

const USAGE: Usage<'_> = Usage {
    own: &OWN,
    without: "DK",
    operands: " [<lid|guid> [[port(s)] [reset_mask]]]",
    examples: &[
        "\t\t# read local port's performance counters",
        "32 1\t\t# read performance counters from lid 32, port 1",
        "-x 32 1\t# read extended performance counters from lid 32, port 1",
        "-a 32\t\t# read performance counters from lid 32, all ports",
        "-r 32 1\t# read performance counters and reset",
        "-x -r 32 1\t# read extended performance counters and reset",
        "-R 0x20 1\t# reset performance counters of port 1 only",
        "-x -R 0x20 1\t# reset extended performance counters of port 1 only",
        "-R -a 32\t# reset performance counters of all ports",
        "-R 32 2 0x0fff\t# reset only error counters of port 2",
        "-R 32 2 0xf000\t# reset only non-error counters of port 2",
        "-a 32 1-10\t# read performance counters from lid 32, port 1-10, aggregate output",
        "-l 32 1-10\t# read performance counters from lid 32, port 1-10, output each port",
        "-a 32 1,4,8\t# read performance counters from lid 32, port 1, 4, and 8, aggregate output",
        "-l 32 1,4,8\t# read performance counters from lid 32, port 1, 4, and 8, output each port",
    ],
};

/// Attributes behind an option each: letter, name, attribute id, fields.
const ATTRIBUTES: [(char, &str, u16, &[Field]); 16] = [
    ('X', "PortXmitDataSL", 0x36, tables::TRANSMIT_DATA_SL),
    ('S', "PortRcvDataSL", 0x37, tables::RECEIVE_DATA_SL),
    ('D', "PortXmitDiscardDetails", 0x16, tables::TRANSMIT_DISCARDS),
    ('E', "PortRcvErrorDetails", 0x15, tables::RECEIVE_ERRORS),
    ('\u{1}', "PortOpRcvCounters", 0x17, tables::OP_RECEIVE),
    ('\u{2}', "PortFlowCtlCounters", 0x18, tables::FLOW_CONTROL),
    ('\u{3}', "PortVLOpPackets", 0x19, tables::VL_OP_PACKETS),
    ('\u{4}', "PortVLOpData", 0x1a, tables::VL_OP_DATA),
    ('\u{5}', "PortVLXmitFlowCtlUpdateErrors", 0x1b, tables::VL_FLOW_CONTROL_ERRORS),
    ('\u{6}', "PortVLXmitWaitCounters", 0x1c, tables::VL_TRANSMIT_WAIT),
    ('\u{7}', "SwPortVLCongestion", 0x30, tables::SWITCH_VL_CONGESTION),
    ('\u{8}', "PortRcvConCtrl", 0x31, tables::CONGESTION_RECEIVED),
    ('\u{e}', "PortSLRcvFECN", 0x32, tables::SL_FECN),
    ('\u{f}', "PortSLRcvBECN", 0x33, tables::SL_BECN),
    ('\u{b}', "PortXmitConCtrl", 0x34, tables::CONGESTION_SENT),
    ('\u{c}', "PortVLXmitTimeCong", 0x35, tables::VL_CONGESTION),
];

pub(super) fn run(job: &Job<'_>, out: &mut Transcript) -> Result<(), CompatError> {
    ended(show(job, out))
}

/// Returns the ports of a list `1,4,8` or a range `1-10`, or the one port.
fn parse_ports(text: &str) -> Option<Vec<u8>> {
    let number = |text: &str| u8::try_from(parse_any(text) & 0xff).unwrap_or(0);
    if text.contains(',') {
        let words = text.split(',').filter(|word| !word.is_empty());
        return Some(words.map(number).take(MOST_PORTS).collect());
    }
    match text.split_once('-') {
        Some((first, last)) => {
            let (first, last) = (truncate(parse_any(first)), truncate(parse_any(last)));
            let range = (first < last).then_some(first..=last)?;
            Some(range.take(MOST_PORTS).filter_map(|port| u8::try_from(port).ok()).collect())
        }
        None => Some(vec![number(text)]),
    }
}

fn show(job: &Job<'_>, out: &mut Transcript) -> Result<(), Halt> {
    let parsed = parse(job, &USAGE, out)?;
    let (all, each) = (parsed.has('a'), parsed.has('l'));
    let ports = parsed.operands.get(1).map_or(Some(Vec::new()), |text| parse_ports(text));
    let Some(ports) = ports else {
        out.print(format!(
            "{}: iberror: failed: max port must be greater than min port in range\n",
            job.call.program
        ));
        out.code = 255;
        return Err(Halt::Said);
    };
    let mut session = Session::open_or_fail(job, parsed.common.clone(), out)?;
    let mut port = ports.first().copied().unwrap_or(if all { ALL_PORTS } else { 0 });
    let to = match parsed.operands.first() {
        Some(address) => session
            .resolve(address)
            .ok_or_else(|| session.fail(&format!("can't resolve destination port {address}")))?,
        None => match session.own() {
            Some(own) => {
                port = own.number;
                PortId::lid(own.lid)
            }
            None => return Err(session.fail("can't resolve self port (null)")),
        },
    };
    let Some(info) = session.performance(&to, CLASS_PORT_INFO, port) else {
        return Err(session.fail("classportinfo query"));
    };
    let mask = u16::from_be_bytes([info[2], info[3]]);
    let mask_2 = u32::from_be_bytes([info[4], info[5], info[6], info[7]]) >> 5;
    let lacks_all = mask & ALL_PORT_SELECT == 0;
    if lacks_all && !all && port == ALL_PORTS {
        return Err(session.fail("AllPortSelect not supported"));
    }
    let sums_all = lacks_all && all && port == ALL_PORTS;
    if let Some((_, name, attribute, fields)) =
        ATTRIBUTES.iter().find(|(letter, ..)| parsed.has(*letter))
    {
        let Some(data) = session.performance(&to, *attribute, port) else {
            return Err(session.fail(&format!("cannot query {name}")));
        };
        let text = dump(&data, tables::SELECTION) + &dump(&data, fields);
        session.out.print(format!("# {name} counters: {to} port {port}\n{text}"));
        return Ok(());
    }
    if parsed.has('c') {
        let Some(data) = session.performance(&to, SAMPLES_CONTROL, port) else {
            return Err(session.fail("sampctlquery"));
        };
        let text = dump(&data, tables::SAMPLES_CONTROL);
        session.out.print(format!("# PortSamplesControl: {to} port {port}\n{text}"));
        return Ok(());
    }
    let mut query = Query { session: &mut session, to, is_extended: parsed.has('x'), mask, mask_2 };
    if sums_all || (each && (all || port == ALL_PORTS)) {
        let ports = query.ports()?;
        if sums_all && !each {
            query.session.warn("main", "Emulating AllPortSelect by iterating through all ports");
        }
        query.show(&ports, sums_all && !each)
    } else if ports.len() > 1 {
        query.show(&ports, all && !each)
    } else {
        query.show(&[port], false)
    }
}

struct Query<'run, 'job> {
    session: &'run mut Session<'job>,
    to: PortId,
    is_extended: bool,
    mask: u16,
    mask_2: u32,
}

impl Query<'_, '_> {
    /// Returns the ports of the node; of a switch with an enhanced port 0 also that one.
    fn ports(&mut self) -> Result<Vec<u8>, Halt> {
        let Some(node) = self.session.smp(&self.to, NODE_INFO, 0) else {
            return Err(self.session.fail("smp query nodeinfo failed"));
        };
        if node[3] == 0 {
            return Err(self.session.fail("smp query nodeinfo: num ports invalid"));
        }
        let mut first = 1;
        if node[2] == SWITCH {
            let Some(switch) = self.session.smp(&self.to, SWITCH_INFO, 0) else {
                return Err(self.session.fail("smp query nodeinfo failed"));
            };
            if switch[16] >> 3 & 1 == 1 {
                first = 0;
            }
        }
        Ok((first..=node[3]).collect())
    }

    /// Shows each port, or their sum.
    fn show(&mut self, ports: &[u8], is_sum: bool) -> Result<(), Halt> {
        let fields = self.fields();
        let mut sums = vec![0_u64; fields.len()];
        for port in ports {
            let data = self.read(*port)?;
            if !is_sum {
                let text = self.heading(*port) + &dump(&data, &fields);
                self.session.out.print(text);
                continue;
            }
            for (sum, field) in sums.iter_mut().zip(&fields) {
                let number = field.number(&data);
                let most = u64::MAX >> (64 - field.bits.clamp(1, 64));
                // Selections are no counters: the last one stays.
                let is_counter = !field.name.contains("Select");
                *sum = if is_counter { sum.saturating_add(number).min(most) } else { number };
            }
        }
        if is_sum {
            let mut text = self.heading(ALL_PORTS);
            for (field, sum) in fields.iter().zip(&sums) {
                let sum = if field.name == "PortSelect" { ALL_PORTS.into() } else { *sum };
                // A field of its own value: the place of the field in an attribute is not needed.
                let alone = Field { bit: 64 - field.bits.min(64), ..*field };
                text += &dump(&sum.to_be_bytes(), &[alone]);
            }
            self.session.out.print(text);
        }
        Ok(())
    }

    fn fields(&self) -> Vec<Field> {
        if !self.is_extended {
            return tables::PORT_COUNTERS.to_vec();
        }
        let mut fields = tables::EXTENDED.to_vec();
        if self.mask & EXTENDED_WIDTH != 0 {
            fields.extend(tables::EXTENDED_CASTS);
        }
        if self.mask_2 & EXTENDED_ERRORS != 0 {
            fields.extend(tables::EXTENDED_ERRORS);
        }
        fields
    }

    fn read(&mut self, port: u8) -> Result<[u8; 192], Halt> {
        let to = self.to.clone();
        if !self.is_extended {
            let Some(mut data) = self.session.performance(&to, PORT_COUNTERS, port) else {
                return Err(self.session.fail("perfquery"));
            };
            if self.mask & TRANSMIT_WAIT == 0 {
                data[40..44].fill(0);
            }
            return Ok(data);
        }
        if self.mask & (EXTENDED_WIDTH | EXTENDED_WIDTH_NO_CASTS) == 0 {
            let text = format!(
                "PerfMgt ClassPortInfo CapMask 0x{:02X}; No extended counter support indicated\n",
                self.mask
            );
            self.session.warn("dump_perfcounters", &text);
        }
        let data = self.session.performance(&to, PORT_COUNTERS_EXTENDED, port);
        data.ok_or_else(|| self.session.fail("perfextquery"))
    }

    fn heading(&self, port: u8) -> String {
        let Self { to, mask, mask_2, .. } = self;
        if self.is_extended {
            format!(
                "# Port extended counters: {to} port {port} (CapMask: 0x{mask:02X} CapMask2: \
                 0x{mask_2:07X})\n"
            )
        } else {
            format!("# Port counters: {to} port {port} (CapMask: 0x{mask:02X})\n")
        }
    }
}

#[test]
fn ports_are_a_list_a_range_or_one() {
    assert_eq!(parse_ports("1,4,,8"), Some(vec![1, 4, 8]));
    assert_eq!(parse_ports("2-4"), Some(vec![2, 3, 4]));
    assert_eq!(parse_ports("0x10"), Some(vec![16]));
    assert_eq!(parse_ports("4-2"), None);
}

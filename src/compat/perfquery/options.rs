//! Command line of `perfquery`: the ports and the counters.
//!
//! Sends nothing. Used by `perfquery`.

use crate::compat::diags::{Parsed, Usage};
use crate::compat::number::{parse_any, truncate};

use super::details::{self, Detail};

pub(super) const ALL_PORTS: i32 = 255;
/// Maximum number of ports in a list; the original has no limit and overruns its buffer.
const MAX_PORTS: usize = 255;

const OPTIONS: &str = "\
--extended, -x          show extended port counters
--xmtsl, -X             show Xmt SL port counters
--rcvsl, -S             show Rcv SL port counters
--xmtdisc, -D           show Xmt Discard Details
--rcverr, -E            show Rcv Error Details
--extended_speeds, -T   show port extended speeds counters
--oprcvcounters         show Rcv Counters per Op code
--flowctlcounters       show flow control counters
--vloppackets           show packets received per Op code per VL
--vlopdata              show data received per Op code per VL
--vlxmitflowctlerrors   show flow control update errors per VL
--vlxmitcounters        show ticks waiting to transmit counters per VL
--swportvlcong          show sw port VL congestion
--rcvcc                 show Rcv congestion control counters
--slrcvfecn             show SL Rcv FECN counters
--slrcvbecn             show SL Rcv BECN counters
--xmitcc                show Xmit congestion control counters
--vlxmittimecc          show VL Xmit Time congestion control counters
--smplctl, -c           show samples control
--all_ports, -a         show aggregated counters
--loop_ports, -l        iterate through each port
--reset_after_read, -r  reset counters after read
--Reset_only, -R        only reset counters
";

pub(super) const USAGE: Usage = Usage {
    options: OPTIONS,
    refused: &[
        ("extended_speeds", "rdmactl fabric errors, for the error counters of all links"),
        // The only command that changes counters of a subnet.
        (
            "reset_after_read Reset_only",
            "rdmactl fabric errors --clear, which lists the counters and clears them",
        ),
    ],
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

#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
pub(super) struct Request {
    /// Address of the node; `None` for the local port.
    pub(super) address: Option<String>,
    /// Port, or the first port of a list.
    pub(super) port: i32,
    /// List of ports; empty for one port.
    pub(super) ports: Vec<i32>,
    pub(super) is_extended: bool,
    pub(super) is_all_ports: bool,
    pub(super) is_loop: bool,
    pub(super) reads_samples: bool,
    /// Detail attribute; `None` for the counters themselves.
    pub(super) detail: Option<&'static Detail>,
}

impl Request {
    /// Parses the options and the operands. The error is the last message of the original.
    pub(super) fn new(parsed: &Parsed) -> Result<Self, &'static str> {
        let is_all_ports = parsed.has("all_ports");
        let operand = |at: usize| parsed.operands.get(at).map(String::as_str);
        let mut port = if is_all_ports { ALL_PORTS } else { 0 };
        let mut ports = Vec::new();
        if let Some(text) = operand(1) {
            if text.contains(',') {
                ports = text.split(',').filter(|word| !word.is_empty()).map(number).collect();
            } else if let Some((first, last)) = text.split_once('-') {
                let (first, last) = (number(first), number(last));
                if first >= last {
                    return Err("max port must be greater than min port in range");
                }
                ports = (first..=last).take(MAX_PORTS).collect();
            } else {
                port = number(text);
            }
            ports.truncate(MAX_PORTS);
            if text.contains([',', '-']) {
                port = ports.first().copied().unwrap_or(0);
            }
        }
        Ok(Self {
            address: operand(0).map(str::to_owned),
            port,
            ports,
            is_extended: parsed.has("extended"),
            is_all_ports,
            is_loop: parsed.has("loop_ports"),
            reads_samples: parsed.has("smplctl"),
            detail: details::ALL.iter().find(|detail| parsed.has(detail.option)),
        })
    }
}

/// Parses a number as C stores it in an `int`.
fn number(text: &str) -> i32 {
    truncate(parse_any(text)).cast_signed()
}

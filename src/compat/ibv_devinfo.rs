//! `ibv_devinfo`: attributes of devices and ports from libibverbs.

mod device;
mod port;

use super::getopt::{Opt, Word, parse};
use super::number::{parse_any, truncate};
use super::{Job, ToolError, Transcript};
use crate::model::{VerbsEntry, VerbsStep};

const OPTS: [Opt; 4] = [
    Opt("--ib-dev, -d <dev>"),
    Opt("--ib-port, -i <port>"),
    Opt("--list, -l"),
    Opt("--verbose, -v"),
];

/// Exit code of wrong usage, and of an unknown device.
const FAILED: u8 = 255;

#[derive(Default)]
struct Options {
    device: Option<String>,
    /// 0 for every port.
    port: u32,
    list: bool,
    verbose: bool,
}

pub(super) fn run(job: &Job<'_>, out: &mut Transcript) -> Result<(), ToolError> {
    let options = options(job, out)?;
    let entries = job.verbs_devices(FAILED, out)?;
    if options.list {
        let plural = if entries.len() == 1 { "" } else { "s" };
        out.print(format!("{} HCA{plural} found:\n", entries.len()));
        for entry in entries {
            out.print(format!("\t{}\n", entry.name));
        }
        out.print("\n");
        return Ok(());
    }
    let wanted: Vec<&VerbsEntry> = match &options.device {
        None => entries.iter().collect(),
        Some(name) => entries.iter().find(|entry| entry.name == *name).into_iter().collect(),
    };
    if wanted.is_empty() {
        let text = match &options.device {
            None => "No IB devices found\n".into(),
            Some(name) => format!("IB device '{name}' wasn't found\n"),
        };
        return Err(out.end(FAILED, text));
    }
    for entry in wanted {
        out.code |= show(job, entry, &options, out);
    }
    Ok(())
}

fn options(job: &Job<'_>, out: &mut Transcript) -> Result<Options, ToolError> {
    let mut options = Options::default();
    for word in parse(job.call.program, &OPTS, job.call.args) {
        match word {
            Word::Option("ib-dev", name) => options.device = Some(name),
            Word::Option("ib-port", number) => {
                let number = truncate(parse_any(&number)).cast_signed();
                if number <= 0 {
                    usage(job, out);
                    return Err(out.end(1, ""));
                }
                // The original keeps only one byte.
                options.port = u32::from(number.to_le_bytes()[0]);
            }
            Word::Option("verbose", _) => options.verbose = true,
            // Options after `-l` are ignored.
            Word::Option("list", _) => return Ok(Options { list: true, ..options }),
            Word::Bad(said) => {
                usage(job, out);
                return Err(out.end(FAILED, said));
            }
            // Operands are ignored, so that `ibv_devinfo siw0` shows every device.
            Word::Option(..) | Word::Operand(_) => {}
        }
    }
    Ok(options)
}

fn usage(job: &Job<'_>, out: &mut Transcript) {
    let default = if job.since(47) { "all devices" } else { "first device found" };
    out.print(format!(
        "Usage: {}             print the ca attributes

Options:
  -d, --ib-dev=<dev>     use IB device <dev> (default {default})
  -i, --ib-port=<port>   use port <port> of IB device (default all ports)
  -l, --list             print only the IB devices names
  -v, --verbose          print all the attributes of the IB device(s)
",
        job.call.program
    ));
}

/// Prints a device and its ports; returns the exit code.
fn show(job: &Job<'_>, entry: &VerbsEntry, options: &Options, out: &mut Transcript) -> u8 {
    let attributes = match (&entry.answer, entry.refused) {
        (Ok(attributes), _) => attributes,
        (Err(_), Some(VerbsStep::QueryDevice)) => {
            out.warn("Failed to query device props\n");
            return 2;
        }
        (Err(_), _) => {
            out.warn("Failed to open device\n");
            return 1;
        }
    };
    // The original counts ports in one byte.
    let count = attributes.device.phys_port_cnt.min(u8::MAX.into());
    if options.port > count {
        out.warn("Invalid port requested for device\n");
        return 4;
    }
    device::print(job, &entry.name, &attributes.device, options.verbose, out);
    for number in 1..=count {
        if options.port != 0 && options.port != number {
            continue;
        }
        let Some(port) = attributes.ports.iter().find(|port| port.number == number) else {
            let refused = attributes.refused_ports.iter().find(|port| port.number == number);
            out.warn(format!("Failed to query port {number} props\n"));
            return refused.map_or(FAILED, |port| port.code.to_le_bytes()[0]);
        };
        let is_infiniband = attributes.device.transport_type == Some(0);
        port::print(job, port, options.verbose, is_infiniband, out);
        if options.verbose && !port::print_gids(job, &entry.name, port, out) {
            // Before release 37 the original lost this exit code.
            return if job.since(37) { FAILED } else { 0 };
        }
        out.print("\n");
    }
    0
}

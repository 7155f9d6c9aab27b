//! `ibstat`: InfiniBand devices and their ports from sysfs.

use super::diags::show_version;
use super::file_reader::strerror;
use super::getopt::{Opt, Word, parse};
use super::number::{parse_any, truncate};
use super::umad::{self, Ca, Port};
use super::word::word;
use super::{CLASS, Job, ToolError, Transcript};
use crate::model::VerbsPort;

const OPTS: [Opt; 8] = [
    Opt("--list_of_cas, -l"),
    Opt("--short, -s"),
    Opt("--port_list, -p"),
    Opt("--config, -z <config>"),
    Opt("--verbose, -v"),
    Opt("--debug, -d"),
    Opt("--help, -h"),
    Opt("--version, -V"),
];
/// Option since release 64; like the other common options it has no effect in `ibstat`.
const PKEY_INDEX: Opt = Opt("--pkey-idx, -Y <idx>");

/// Exit code of wrong usage, and of a panic.
const USAGE: u8 = 2;
const PANIC: u8 = 255;

const STATES: [&str; 5] = ["???", "Down", "Initializing", "Armed", "Active"];
const PHYSICAL_STATES: [&str; 8] = [
    "No state change",
    "Sleep",
    "Polling",
    "Disabled",
    "PortConfigurationTraining",
    "LinkUp",
    "LinkErrorRecovery",
    "PhyTest",
];

#[derive(Default)]
struct Options {
    list: bool,
    short: bool,
    port_list: bool,
    operands: Vec<String>,
}

pub(super) fn run(job: &Job<'_>, out: &mut Transcript) -> Result<(), ToolError> {
    let options = options(job, out)?;
    let mut names = match job.reading.names(CLASS) {
        Ok(names) => names,
        Err(error) if strerror(&error) == "No such file or directory" => Vec::new(),
        Err(error) => {
            let why = strerror(&error);
            return Err(panic(job, out, &format!("can't list IB device names: {why}")));
        }
    };
    names.retain(|name| {
        let kind = umad::read_number(job.reading, &format!("{CLASS}/{name}/node_type"));
        kind.is_ok_and(|kind| (1..=3).contains(&kind))
    });
    if let Some(wanted) = options.operands.first() {
        names.retain(|name| name == wanted);
        if names.is_empty() {
            // The list of devices sets no errno.
            return Err(panic(job, out, &format!("'{wanted}' IB device can't be found: Success")));
        }
    }
    job.reading.forget_error();
    let port = options.operands.get(1).map_or(-1, |text| truncate(parse_any(text)).cast_signed());
    for name in names {
        if options.port_list {
            list_port_guids(job, &name, out)?;
        } else if options.list {
            out.print(format!("{name}\n"));
        } else {
            show_device(job, &name, port, options.short, out)?;
        }
    }
    Ok(())
}

fn options(job: &Job<'_>, out: &mut Transcript) -> Result<Options, ToolError> {
    let mut opts: Vec<Opt> = OPTS.into();
    if job.since(64) {
        opts.push(PKEY_INDEX);
    }
    let mut options = Options::default();
    for word in parse(job.call.program, &opts, job.call.args) {
        match word {
            Word::Option("list_of_cas", _) => options.list = true,
            Word::Option("short", _) => options.short = true,
            Word::Option("port_list", _) => options.port_list = true,
            // The configuration has no setting that `ibstat` uses; `-v` has no effect either.
            Word::Option("config" | "verbose", _) => {}
            Word::Option("version", _) => return Err(show_version(job, out)),
            Word::Option("help", _) => return Err(usage(job, out)),
            Word::Option("debug", _) => return Err(job.refused("-d", None)),
            // The only other option is `--pkey-idx`.
            Word::Option(..) => return Err(job.refused("-Y", None)),
            Word::Bad(said) => {
                out.warn(said);
                return Err(usage(job, out));
            }
            Word::Operand(operand) => options.operands.push(operand),
        }
    }
    Ok(options)
}

fn usage(job: &Job<'_>, out: &mut Transcript) -> ToolError {
    let program = job.call.program;
    let pkey_index = if job.since(64) {
        "  --pkey-idx, -Y <idx>    P_Key table index for outgoing SA/GMP MADs \n                          \
         (default 0)\n"
    } else {
        ""
    };
    let text = format!(
        "
Usage: {program} [options] <ca_name> [portnum]

Options:
  --list_of_cas, -l       list all IB devices
  --short, -s             short output
  --port_list, -p         show port list
  --config, -z <config>   use config file, default: /etc/infiniband-diags/ibdiag.conf
{pkey_index}  --verbose, -v           increase verbosity level
  --debug, -d             raise debug level
  --help, -h              help message
  --version, -V           show version

Examples:
  {program} -l       # list all IB devices
  {program} mthca0 2 # stat port 2 of 'mthca0'

"
    );
    out.end(USAGE, text)
}

fn list_port_guids(job: &Job<'_>, name: &str, out: &mut Transcript) -> Result<(), ToolError> {
    let Some(ca) = Ca::read(job, name, out) else {
        let why = job.reading.last_error();
        return Err(panic(job, out, &format!("can't list ports: {why}")));
    };
    for port in ca.ports.iter().filter(|port| port.guid != 0) {
        out.print(format!("0x{:016x}\n", port.guid));
    }
    Ok(())
}

fn show_device(
    job: &Job<'_>,
    name: &str,
    port: i32,
    short: bool,
    out: &mut Transcript,
) -> Result<(), ToolError> {
    let Some(ca) = Ca::read(job, name, out) else {
        let is_ignored = job.since(63) && is_no_endpoint(job, name, port);
        return if is_ignored { Ok(()) } else { failed(job, name, out) };
    };
    let speeds = effective_speeds(job, &ca.name);
    let kind = word(ca.node_type, &["???", "CA", "Switch", "Router"], "???");
    if !short && port >= 0 {
        let Some(found) = ca.port(port) else {
            let max = ca.port_count();
            let text = format!("{kind}: '{name}' has no port number {port} - max ({max})");
            out.warn(job.warning("ca_stat", &text));
            return failed(job, name, out);
        };
        out.print(format!("{kind}: '{}'\n", ca.name));
        show_port(found, "", "", &speeds, out);
        return Ok(());
    }
    out.print(format!("{kind} '{}'\n", ca.name));
    out.print(format!("\t{kind} type: {}\n", ca.hca_type));
    out.print(format!("\tNumber of ports: {}\n", ca.port_count()));
    out.print(format!("\tFirmware version: {}\n", ca.fw_ver));
    out.print(format!("\tHardware version: {}\n", ca.hw_rev));
    out.print(format!("\tNode GUID: 0x{:016x}\n", ca.node_guid));
    out.print(format!("\tSystem image GUID: 0x{:016x}\n", ca.system_guid));
    for port in ca.ports.iter().filter(|_| !short) {
        show_port(port, "\t", "\t\t", &speeds, out);
    }
    Ok(())
}

fn show_port(port: &Port, head: &str, indent: &str, speeds: &[VerbsPort], out: &mut Transcript) {
    out.print(format!("{head}Port {}:\n", port.number));
    let mut line = |text: String| out.print(format!("{indent}{text}\n"));
    line(format!("State: {}", word(port.state, &STATES, "???")));
    line(format!("Physical state: {}", word(port.phys_state, &PHYSICAL_STATES, "???")));
    let rate = port.rate.cast_signed();
    line(match (port.is_fdr10, rate) {
        (true, rate) => format!("Rate: {rate} (FDR10)"),
        (false, 2) => "Rate: 2.5".into(),
        (false, rate) => format!("Rate: {rate}"),
    });
    let speed = speeds.iter().find(|speed| i64::from(speed.number) == i64::from(port.number));
    if let Some(bps) = speed.and_then(|speed| speed.effective_bps) {
        line(format!("Effective speed: {}", gigabits(bps)));
    }
    line(format!("Base lid: {}", port.base_lid.cast_signed()));
    line(format!("LMC: {}", port.lmc.cast_signed()));
    line(format!("SM lid: {}", port.sm_lid.cast_signed()));
    line(format!("Capability mask: 0x{:08x}", port.cap_mask));
    line(format!("Port GUID: 0x{:016x}", port.guid));
    line(format!("Link layer: {}", port.link_layer));
}

/// Formats like `%g`: rates stay far below one million Gb/s, from which `%g` prints exponents.
fn gigabits(bps: u64) -> String {
    let tenths = bps / 100_000_000;
    match tenths % 10 {
        0 => (tenths / 10).to_string(),
        tenth => format!("{}.{tenth}", tenths / 10),
    }
}

/// Returns the ports from libibverbs, for releases that print their effective speed. Empty
/// without the library, without a driver for the device, or without a record of either.
fn effective_speeds(job: &Job<'_>, name: &str) -> Vec<VerbsPort> {
    if !job.since(65) {
        return Vec::new();
    }
    let entry = job.reading.verbs_if_any().into_iter().find(|entry| entry.name == name);
    entry.and_then(|entry| entry.answer.ok()).map_or_else(Vec::new, |answer| answer.ports)
}

/// True for a device without GID and connection manager; since release 63 its failure is ignored.
fn is_no_endpoint(job: &Job<'_>, name: &str, port: i32) -> bool {
    let number = if port == -1 { 1 } else { port };
    let folder = format!("{CLASS}/{name}/ports/{number}");
    let has_gid = job.reading.file(&format!("{folder}/gids/0")).is_ok();
    let cap_mask = umad::read_number(job.reading, &format!("{folder}/cap_mask")).unwrap_or(0);
    !has_gid && cap_mask & 0x10000 == 0
}

/// Prints the failure of a device, which ended the program before release 54.
fn failed(job: &Job<'_>, name: &str, out: &mut Transcript) -> Result<(), ToolError> {
    let text = format!("stat of IB device '{name}' failed");
    if job.since(54) {
        out.warn(job.warning("main", &text));
        return Ok(());
    }
    Err(panic(job, out, &format!("{text}: {}", job.reading.last_error())))
}

fn panic(job: &Job<'_>, out: &mut Transcript, text: &str) -> ToolError {
    out.end(PANIC, format!("ibpanic: [{}] main: {text}\n", job.call.pid))
}

#[test]
fn an_effective_speed_has_at_most_one_decimal() {
    for (bps, text) in [(400_000_000_000, "400"), (2_500_000_000, "2.5"), (0, "0")] {
        assert_eq!(gigabits(bps), text);
    }
}

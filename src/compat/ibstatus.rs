//! `ibstatus`: the ports of all devices. The original is a shell script over sysfs.
//!
//! The script splits file contents into words: runs of white space become one space.

use super::{CLASS, Job, ToolError, Transcript};
use crate::source::ReadError;

/// Exit code of help and of a fatal error.
const FATAL: u8 = 255;

/// Lines of a port: text before the value, file, and replacement for an unreadable file.
const LINES: [(&str, &str, &str); 7] = [
    ("\tdefault gid:\t", "gids/0", "unknown"),
    ("\tbase lid:\t", "lid", "unknown"),
    ("\tsm lid:\t\t", "sm_lid", "unknown"),
    ("\tstate:\t\t", "state", "unknown"),
    ("\tphys state:\t", "phys_state", "unknown"),
    ("\trate:\t\t", "rate", "unknown"),
    ("\tlink_layer:\t", "link_layer", "IB"),
];

pub(super) fn run(job: &Job<'_>, out: &mut Transcript) -> Result<(), ToolError> {
    let args = job.call.args;
    match args.first().map(String::as_str) {
        Some("-h") => Err(usage(job, out)),
        Some(first) if !first.is_empty() => {
            // The script stops at the first empty argument.
            args.iter().take_while(|arg| !arg.is_empty()).try_for_each(|arg| {
                let device = arg.split(':').next().unwrap_or(arg);
                let port = arg.rsplit(':').next().unwrap_or(arg);
                let port = (port != device).then_some(port);
                show(job, device, port, None, out)
            })
        }
        _ => show_all(job, out),
    }
}

fn usage(job: &Job<'_>, out: &mut Transcript) -> ToolError {
    let program = job.call.program.rsplit('/').next().unwrap_or(job.call.program);
    out.print(format!(
        "Usage:  {program}  [-h] [devname[:portnum]]
\t-h:\tthis help screen
\tExamples:
\t\t{program} mthca1\t\t# shows status of all ports of 'mthca1'
\t\t{program} mthca0:2\t# shows status port number 2 of 'mthca0'
\t\t{program}\t\t# default: shows status of all 'mthca0' ports
"
    ));
    out.end(FATAL, "")
}

fn show_all(job: &Job<'_>, out: &mut Transcript) -> Result<(), ToolError> {
    let Ok(devices) = job.reading.names(CLASS) else { return Err(fatal(out, "No devices")) };
    // A shell keeps a pattern without matches.
    let devices = if devices.is_empty() { vec!["*".to_owned()] } else { devices };
    devices.iter().try_for_each(|device| show(job, device, None, Some(&devices), out))
}

/// Prints one port of a device, or all of them.
///
/// `here` has the names in the working directory of the script. For a device without ports, the
/// shell expands the remaining pattern to these names. `None` means the directory of the caller.
fn show(
    job: &Job<'_>,
    device: &str,
    port: Option<&str>,
    here: Option<&[String]>,
    out: &mut Transcript,
) -> Result<(), ToolError> {
    let folder = format!("{CLASS}/{device}/ports");
    let mut ports = match job.reading.names(&folder) {
        Ok(ports) => ports,
        // The script uses its own error message as the list of ports.
        Err(error) if error.is_denied() => {
            ["Fatal", "error:", "No", "devices"].map(str::to_owned).into()
        }
        Err(_) => {
            return Err(fatal(out, &format!("device '{device}': sys files not found ({folder})")));
        }
    };
    if let Some(port) = port {
        ports = port.split_whitespace().map(str::to_owned).collect();
    } else if ports.is_empty() {
        ports = here.map_or_else(|| vec!["*".to_owned()], <[String]>::to_vec);
    }
    for port in ports {
        out.print(format!("Infiniband device '{device}' port {port} status:\n"));
        for (head, file, unreadable) in LINES {
            let path = format!("{folder}/{port}/{file}");
            let text = read(job, &path, out).unwrap_or_else(|| unreadable.to_owned());
            let words: String = text.split_whitespace().flat_map(|word| [" ", word]).collect();
            out.print(format!("{head}{words}\n"));
        }
        out.print("\n");
    }
    Ok(())
}

/// Reads a file. Prints the error of `cat` for a file that exists but cannot be read.
fn read(job: &Job<'_>, path: &str, out: &mut Transcript) -> Option<String> {
    let text = job.reading.file(path).inspect_err(|error| {
        if !(error.is_absent() || error.is_denied() || *error == ReadError::NotRecorded) {
            out.warn_of_file(path, error);
        }
    });
    text.ok()
}

fn fatal(out: &mut Transcript, text: &str) -> ToolError {
    out.print(format!("Fatal error:  {text}\n"));
    out.end(FATAL, "")
}

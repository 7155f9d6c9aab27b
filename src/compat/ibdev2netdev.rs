//! `ibdev2netdev`: the network interface of each port. The original is a shell script over sysfs.
//!
//! The script ends without an interface of its vendor, and omits ports without an interface.

use super::number::{parse_any, truncate};
use super::{CLASS, Job, NETS, ToolError, Transcript};
use crate::source::ReadError;

/// PCI vendor ID; the script ends without an interface of this vendor.
const VENDOR: &str = "0x15b3";
/// Default prefix of InfiniBand GIDs, unless a subnet manager sets another prefix.
const LOCAL: &str = "fe80:0000:0000:0000:";
/// `type` of an `IPoIB` interface.
const INFINIBAND: &str = "32";
/// Exit code of wrong usage, and without RDMA in the kernel.
const FAILED: u8 = 255;

const USAGE: &str = "ibdev2netdev <options>
-h, --help                print help message
-v, --verbose             print more info
";

pub(super) fn run(job: &Job<'_>, out: &mut Transcript) -> Result<(), ToolError> {
    let verbose = match job.call.args {
        [] => false,
        [flag] if flag == "-v" => true,
        args => {
            let program = job.call.program.rsplit('/').next().unwrap_or_default();
            out.print(USAGE.replacen("ibdev2netdev", program, 1));
            let is_help = matches!(args[0].as_str(), "-h" | "--help");
            return Err(out.end(if is_help { 0 } else { FAILED }, ""));
        }
    };
    let Ok(devices) = job.reading.names(CLASS) else { return Err(out.end(FAILED, "")) };
    let nets = job.reading.names(NETS).unwrap_or_default();
    let vendors: Vec<&String> = nets
        .iter()
        .filter(|net| {
            let vendor = job.reading.file(&format!("{NETS}/{net}/device/vendor"));
            vendor.is_ok_and(|vendor| vendor.contains(VENDOR))
        })
        .collect();
    if vendors.is_empty() {
        return Ok(());
    }
    if !vendors.iter().any(|net| job.reading.has_file(&format!("{NETS}/{net}/dev_id"))) {
        // Kernels before 2.6.31; the script has another method for them.
        return Err(job.refused("an interface without dev_id (a kernel before 2.6.31)", None));
    }
    let mut links = Links { job, nets: &nets, last: String::new() };
    for device in devices {
        for port in job.reading.names(&format!("{CLASS}/{device}/ports")).unwrap_or_default() {
            let Some(net) = links.find(&device, &port, out) else { continue };
            let state = links.state(&net);
            let line = if verbose {
                describe(job, &device, &port, &net, &state, out)
            } else {
                format!("{device} port {port} ==> {net} ({state})\n")
            };
            out.print(line);
        }
    }
    Ok(())
}

/// Interfaces, with the last printed state: the script repeats it if it finds no other state.
struct Links<'job> {
    job: &'job Job<'job>,
    nets: &'job [String],
    last: String,
}

impl Links<'_> {
    /// Returns the interface of a port: by its GID, else by the PCI resources of the device.
    fn find(&self, device: &str, port: &str, out: &mut Transcript) -> Option<String> {
        let reading = self.job.reading;
        let folder = format!("{CLASS}/{device}/ports/{port}");
        let link_layer = self.cat(&format!("{folder}/link_layer"), out);
        let name = if link_layer == "InfiniBand" {
            self.find_by_gid(&self.cat(&format!("{folder}/gids/0"), out))
        } else {
            reading.cat(&format!("{folder}/gid_attrs/ndevs/0")).filter(|name| !name.is_empty())
        };
        if name.is_some() {
            return name;
        }
        let resources = self.cat(&format!("{CLASS}/{device}/device/resource"), out);
        let has_same = |net: &&String| {
            let path = format!("{NETS}/{net}/device/resource");
            reading.has_file(&path) && reading.cat(&path).unwrap_or_default() == resources
        };
        self.nets.iter().find(has_same).cloned()
    }

    /// Returns the first `IPoIB` interface whose address ends with the lower half of the GID.
    fn find_by_gid(&self, gid: &str) -> Option<String> {
        let reading = self.job.reading;
        let wanted = gid.strip_prefix(LOCAL).unwrap_or(gid).replace(':', "");
        let is_match = |net: &&String| {
            let of = |file: &str| reading.cat(&format!("{NETS}/{net}/{file}")).unwrap_or_default();
            if of("type") != INFINIBAND {
                return false;
            }
            let address = of("address");
            let lower = address.split(':').skip(12).collect::<String>();
            !lower.is_empty() && lower == wanted
        };
        // Child interfaces have the address of their parent; the script takes the lowest index.
        let index = |net: &&String| {
            parse_any(&reading.cat(&format!("{NETS}/{net}/ifindex")).unwrap_or_default())
        };
        self.nets.iter().filter(is_match).min_by_key(index).cloned()
    }

    fn state(&mut self, net: &str) -> String {
        let reading = self.job.reading;
        let carrier = format!("{NETS}/{net}/carrier");
        let state = if !reading.has_file(&format!("{NETS}/{net}/dev_id")) {
            self.last.clone()
        } else if !reading.has_file(&carrier) {
            "NA".into()
        } else if reading.cat(&carrier).is_some_and(|text| text == "1") {
            "Up".into()
        } else {
            "Down".into()
        };
        self.last.clone_from(&state);
        state
    }

    /// Returns the content of a file; prints the error of `cat` if it cannot be read.
    fn cat(&self, path: &str, out: &mut Transcript) -> String {
        let text = self.job.reading.file(path).inspect_err(|error| complain(path, error, out));
        text.unwrap_or_default().trim_end_matches('\n').to_owned()
    }
}

fn complain(path: &str, error: &ReadError, out: &mut Transcript) {
    if *error != ReadError::NotRecorded {
        out.warn_of_file(path, error);
    }
}

fn describe(
    job: &Job<'_>,
    device: &str,
    port: &str,
    net: &str,
    state: &str,
    out: &mut Transcript,
) -> String {
    let reading = job.reading;
    let folder = format!("{CLASS}/{device}");
    let mut read = |path: &str| -> Option<String> {
        match reading.file(path) {
            Ok(text) => Some(text),
            Err(error) if error.is_absent() || error == ReadError::NotAFile => None,
            Err(error) => {
                complain(path, &error, out);
                Some(String::new())
            }
        }
    };
    let port_state = read(&format!("{folder}/ports/{port}/state"))
        .map_or("NA".into(), |text| format!("{:<6}", text.split_whitespace().nth(1).unwrap_or("")));
    let device_id = read(&format!("{folder}/device/device"))
        .map_or("NA".into(), |text| format!("MT{}", truncate(parse_any(&text)).cast_signed()));
    let firmware = read(&format!("{folder}/fw_ver"))
        .map_or("NA".into(), |text| text.trim_end_matches('\n').to_owned());
    let (card, serial) = read(&format!("{folder}/device/vpd")).map_or_else(
        || (String::new(), "NA".into()),
        |text| {
            let lines = strings(&text);
            let first = lines.first().map_or("", String::as_str);
            let fourth = lines.get(3).or(lines.last()).map_or("", String::as_str);
            let serial = fourth.split_whitespace().next().unwrap_or("");
            (format!("{first:<15}"), format!("{serial:<11}"))
        },
    );
    let pci = pci_address(job, device).unwrap_or_default();
    format!(
        "{pci} {device} ({device_id} - {serial}) {card} fw {firmware} port {port} ({port_state}) ==> \
         {net} ({state})\n"
    )
}

/// Returns the PCI function that has this device and no other.
fn pci_address(job: &Job<'_>, device: &str) -> Option<String> {
    let target = job.reading.link(&format!("{CLASS}/{device}/device"))?;
    let address = target.rsplit('/').next()?.to_owned();
    let names = job.reading.names(&format!("/sys/bus/pci/devices/{address}/infiniband")).ok()?;
    (names == [device]).then_some(address)
}

/// Returns runs of at least four printable characters, like `strings`.
fn strings(text: &str) -> Vec<String> {
    text.split(|letter: char| !(letter == '\t' || letter == ' ' || letter.is_ascii_graphic()))
        .filter(|run| run.len() >= 4)
        .map(str::to_owned)
        .collect()
}

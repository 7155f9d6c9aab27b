//! `show_gids`: the used entries of the GID tables. The original is a shell script over sysfs.

use super::file_reader::strerror;
use super::number::parse_hex;
use super::{CLASS, Job, Transcript};

/// Entries that the script omits.
const EMPTY: [&str; 2] =
    ["0000:0000:0000:0000:0000:0000:0000:0000", "fe80:0000:0000:0000:0000:0000:0000:0000"];

pub(super) fn run(job: &Job<'_>, out: &mut Transcript) {
    out.print("DEV\tPORT\tINDEX\tGID\t\t\t\t\tIPv4  \t\tVER\tDEV\n");
    out.print("---\t----\t-----\t---\t\t\t\t\t------------  \t---\t---\n");
    let mut count = 0;
    // The script splits its argument into words.
    let requested = job.call.args.first().filter(|devices| !devices.is_empty());
    let devices = match requested {
        Some(devices) => devices.split_whitespace().map(str::to_owned).collect(),
        None => list(job, &format!("{CLASS}/"), out),
    };
    for device in devices {
        for port in list(job, &format!("{CLASS}/{device}/ports/"), out) {
            let folder = format!("{CLASS}/{device}/ports/{port}");
            for index in list(job, &format!("{folder}/gids/"), out) {
                if let Some(line) = entry(job, &folder, &index, out) {
                    out.print(format!("{device}\t{port}\t{index}\t{line}\n"));
                    count += 1;
                }
            }
        }
    }
    out.print(format!("n_gids_found={count}\n"));
}

/// Returns the names in a directory; prints the error of `ls` if it cannot be read.
fn list(job: &Job<'_>, path: &str, out: &mut Transcript) -> Vec<String> {
    let names = job.reading.names(path.trim_end_matches('/')).inspect_err(|error| {
        out.warn(format!("ls: cannot access '{path}': {}\n", strerror(error)));
    });
    names.unwrap_or_default()
}

/// Returns the end of a line, after the index; `None` for an empty entry.
fn entry(job: &Job<'_>, folder: &str, index: &str, out: &mut Transcript) -> Option<String> {
    let path = format!("{folder}/gids/{index}");
    let text = job.reading.file(&path).inspect_err(|error| out.warn_of_file(&path, error));
    let text = text.unwrap_or_default();
    let gid = text.trim();
    if EMPTY.contains(&gid) {
        return None;
    }
    let attr = |kind: &str| job.reading.cat(&format!("{folder}/gid_attrs/{kind}/{index}"));
    let netdev = attr("ndevs").unwrap_or_default();
    let kind = attr("types").unwrap_or_default();
    let version = kind.find(['v', 'V']).map_or("", |start| &kind[start..]);
    let address = if gid.split(':').next() == Some("0000") {
        // The last two groups hold the IPv4 address, two hexadecimal digits for each byte.
        let byte = |start: usize| parse_hex(gid.get(start..start + 2).unwrap_or_default());
        format!("\t{}.{}.{}.{}  \t", byte(30), byte(32), byte(35), byte(37))
    } else {
        "\t\t\t".into()
    };
    Some(format!("{gid}{address}{version}\t{netdev}"))
}

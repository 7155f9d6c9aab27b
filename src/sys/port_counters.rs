//! Reads the driver's counters of a port without a `Source`, for the ping worker.

use std::fs;
use std::path::Path;

/// Maximum number of counters of one port. The drivers that we know have fewer than 100.
const MAX: usize = 512;

/// Returns names and values of the files in
/// `/sys/class/infiniband/DEVICE/ports/PORT/hw_counters`.
///
/// Skips `lifespan` and files without a number. Returns nothing without the directory.
pub fn hardware_counters(device: &str, port: u8) -> Vec<(String, u64)> {
    if device.is_empty() || device.starts_with('.') || device.contains('/') {
        return Vec::new();
    }
    let port = Path::new("/sys/class/infiniband").join(device).join("ports").join(port.to_string());
    counters_in(&port.join("hw_counters"))
}

fn counters_in(directory: &Path) -> Vec<(String, u64)> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let counters = names.filter(|name| name != "lifespan").take(MAX).filter_map(|name| {
        let text = fs::read_to_string(directory.join(&name)).ok()?;
        Some((name, text.trim().parse().ok()?))
    });
    counters.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_and_nothing_else() {
        let directory = tempfile::TempDir::new().unwrap();
        for (name, text) in [("sent_pkts", "17\n"), ("lifespan", "10\n"), ("odd", "much\n")] {
            fs::write(directory.path().join(name), text).unwrap();
        }
        assert_eq!(counters_in(directory.path()), [("sent_pkts".to_owned(), 17)]);
        assert_eq!(counters_in(&directory.path().join("none")), []);
        assert_eq!(hardware_counters("../net", 1), []);
    }
}

//! Lists the ports of a machine that send management datagrams (MADs), with the facts by which to
//! choose one.
//!
//! The reply is text, one port a line, so that a capture can hold it:
//! `umad0 mlx5_0 1 InfiniBand 4 5`. The files are read by functions of the C library that ibsim
//! replaces.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use super::Answer;
use crate::sys::umad::read_start;

const PORTS: &str = "/sys/class/infiniband_mad";

/// Port that sends management datagrams.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadPortFacts {
    /// Name of the device file below /dev/infiniband: `umad0`.
    pub umad: String,
    /// Name of the RDMA device.
    pub device: String,
    /// Number of the port.
    pub port: u32,
    /// Link layer as the kernel reports it; `-` if the kernel has no such file.
    pub link_layer: String,
    /// Code of the logical state: 4 is active; 0 if it is unknown.
    pub state: u8,
    /// Code of the physical state: 5 is link up; 0 if it is unknown.
    pub physical_state: u8,
}

impl MadPortFacts {
    /// True if the port has an InfiniBand link layer. Old kernels and ibsim have no such file.
    pub fn is_infiniband(&self) -> bool {
        matches!(&*self.link_layer, "InfiniBand" | "-")
    }
}

pub(super) fn list() -> Answer {
    let entries = fs::read_dir(PORTS)?.flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| is_umad(name)).collect();
    names.sort_by_key(|name| (name.len(), name.clone()));
    let mut text = String::new();
    for umad in names {
        let folder = Path::new(PORTS).join(&umad);
        let word = |path: &Path| {
            let content = read_start(path).ok()?;
            let text = String::from_utf8_lossy(&content).trim().to_owned();
            (!text.is_empty() && !text.contains(char::is_whitespace)).then_some(text)
        };
        let place = word(&folder.join("ibdev")).zip(word(&folder.join("port")));
        let Some((device, port)) = place else { continue };
        let files = Path::new("/sys/class/infiniband").join(&device).join("ports").join(&port);
        let code = |name: &str| {
            let content = read_start(&files.join(name)).unwrap_or_default();
            let text = String::from_utf8_lossy(&content);
            text.split(':').next().unwrap_or_default().trim().parse::<u8>().unwrap_or(0)
        };
        let link_layer = word(&files.join("link_layer")).unwrap_or_else(|| "-".into());
        let (state, physical) = (code("state"), code("phys_state"));
        let _ = writeln!(text, "{umad} {device} {port} {link_layer} {state} {physical}");
    }
    Ok(text.into_bytes())
}

/// True for the name of a device file of MADs: `umad` and a number.
pub(super) fn is_umad(name: &str) -> bool {
    name.strip_prefix("umad").is_some_and(|number| number.parse::<u32>().is_ok())
}

/// Parses the reply to [`super::Question::MadPorts`]; skips lines of another form.
pub fn parse_mad_ports(answer: &[u8]) -> Vec<MadPortFacts> {
    let text = String::from_utf8_lossy(answer);
    let port = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let [umad, device, port, link_layer, state, physical] = words[..] else { return None };
        Some(MadPortFacts {
            umad: Some(umad).filter(|name| is_umad(name))?.into(),
            device: device.into(),
            port: port.parse().ok()?,
            link_layer: link_layer.into(),
            state: state.parse().ok()?,
            physical_state: physical.parse().ok()?,
        })
    };
    text.lines().filter_map(port).collect()
}

#[test]
fn ports_are_read_back_and_other_lines_are_left_out() {
    let text = "umad0 mlx5_0 1 InfiniBand 4 5\numad1 rxe0 1 Ethernet 4 5\numad2 ibsim0 1 - 1 2\n\
                issm0 mlx5_0 1 InfiniBand 4 5\numad3 mlx5_1 x InfiniBand 4 5\numad4\n\n";
    let ports = parse_mad_ports(text.as_bytes());
    let names: Vec<&str> = ports.iter().map(|port| &*port.umad).collect();
    assert_eq!(names, ["umad0", "umad1", "umad2"]);
    assert!(ports[0].is_infiniband() && !ports[1].is_infiniband() && ports[2].is_infiniband());
    assert_eq!((ports[0].device.as_str(), ports[0].port, ports[0].state), ("mlx5_0", 1, 4));
}

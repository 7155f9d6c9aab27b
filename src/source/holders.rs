//! Which processes hold sockets and RDMA devices.

use std::fs;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::readlink;

use super::{Answer, ReadError};
use crate::sys::Errno;

/// The most bytes of the answer: a hundred thousand sockets have less.
const LIMIT: usize = 8 * 1024 * 1024;

/// The most bytes that are looked through of an environment.
const ENVIRONMENT: u64 = 256 * 1024;

/// Where the character devices of RDMA lie.
const DEVICES: &[u8] = b"/dev/infiniband/";

/// One line for each open file that is a socket or an RDMA device: `4711 socket:[12345]`. A process
/// that may not be looked into is `4711 -`.
pub(super) fn list() -> Answer {
    let mut answer = Vec::new();
    for entry in fs::read_dir("/proc").map_err(|error| failed(&error))?.flatten() {
        let name = entry.file_name();
        let pid = name.as_bytes();
        if !pid.iter().all(u8::is_ascii_digit) {
            continue;
        }
        match fs::read_dir(entry.path().join("fd")) {
            Ok(files) => {
                for file in files.flatten() {
                    // It may be closed by now.
                    let Ok(target) = readlink(file.path(), Vec::new()) else { continue };
                    let target = target.as_bytes();
                    let is_told = target.starts_with(b"socket:[") || target.starts_with(DEVICES);
                    if is_told && !target.contains(&b'\n') {
                        push(&mut answer, pid, target);
                    }
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                push(&mut answer, pid, b"-");
            }
            // It has ended.
            Err(_) => {}
        }
        if answer.len() > LIMIT {
            return Err(ReadError::TooBig);
        }
    }
    Ok(answer)
}

/// Settings that decide on transports, by how their names begin.
const SETTINGS: [&[u8]; 8] = [
    b"UCX_TLS=",
    b"UCX_NET_DEVICES=",
    b"NCCL_NET=",
    b"NCCL_IB_DISABLE=",
    b"NCCL_IB_HCA=",
    b"NCCL_SOCKET_IFNAME=",
    b"FI_PROVIDER=",
    b"OMPI_MCA_btl=",
];

/// Those settings of a process.
pub(super) fn environment(pid: u32) -> Answer {
    let mut content = Vec::new();
    let file = fs::File::open(format!("/proc/{pid}/environ")).map_err(|error| failed(&error))?;
    file.take(ENVIRONMENT).read_to_end(&mut content).map_err(|error| failed(&error))?;
    let settings = content.split(|byte| *byte == 0);
    let told = settings.filter(|setting| {
        SETTINGS.iter().any(|name| setting.starts_with(name)) && !setting.contains(&b'\n')
    });
    Ok(told.flat_map(|setting| setting.iter().copied().chain([b'\n'])).collect())
}

fn push(answer: &mut Vec<u8>, pid: &[u8], what: &[u8]) {
    answer.extend_from_slice(pid);
    answer.push(b' ');
    answer.extend_from_slice(what);
    answer.push(b'\n');
}

fn failed(error: &std::io::Error) -> ReadError {
    error.raw_os_error().map_or_else(
        || ReadError::Process(error.to_string()),
        |code| ReadError::Errno(Errno::from_code(code)),
    )
}

#[test]
fn the_own_sockets_are_among_them() {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let link = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&socket));
    let target = fs::read_link(link).unwrap();
    let expected = format!("{} {}\n", std::process::id(), target.display());
    assert!(String::from_utf8(list().unwrap()).unwrap().contains(&expected), "{expected}");
}

//! Which processes hold sockets and RDMA devices.

use std::fs;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::fs::readlink;

use super::{Answer, ReadError};
use crate::sys::Errno;

/// The most bytes of the answer: a hundred thousand sockets have less.
const LIMIT: usize = 8 * 1024 * 1024;

/// How long one process may take to be looked at.
const PATIENCE: Duration = Duration::from_millis(200);

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
///
/// Reading them takes a lock of the process's memory, which one that is stuck in a dead mount may hold for
/// ever: a thread waits for it, and is left behind.
pub(super) fn environment(pid: u32, patience: Duration) -> Answer {
    let (tell, told) = mpsc::channel();
    thread::Builder::new()
        .name("environ".into())
        .spawn(move || tell.send(read_environment(pid)))
        .map_err(|error| failed(&error))?;
    told.recv_timeout(PATIENCE.min(patience)).unwrap_or_else(|_| {
        Err(ReadError::Process("the process does not let itself be looked at; it may hang".into()))
    })
}

fn read_environment(pid: u32) -> Answer {
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

#[test]
fn of_an_environment_only_what_decides_on_transports_is_told() {
    let mut child = std::process::Command::new("sleep")
        .arg("1000")
        .env_clear()
        .env("UCX_TLS", "tcp")
        .env("SECRET", "x")
        .spawn()
        .unwrap();
    // Before it has become another program it is a copy of this one.
    let told = loop {
        match environment(child.id(), PATIENCE) {
            Ok(told) if told == b"UCX_TLS=tcp\n" => break told,
            Ok(told) => assert!(!told.windows(6).any(|word| word == b"SECRET")),
            Err(error) => panic!("{error}"),
        }
    };
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(told, b"UCX_TLS=tcp\n");
}

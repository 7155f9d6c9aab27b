//! Lists the processes that hold sockets and RDMA devices. `live` calls it.

use std::fs;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::readlink;

use super::{Answer, MORE_HOLDERS};

/// Limit of the reply in bytes; a hundred thousand sockets need less.
const LIMIT: usize = 8 * 1024 * 1024;

const DEVICES: &[u8] = b"/dev/infiniband/";

/// Replies to [`Question::Holders`](super::Question::Holders).
pub(super) fn list() -> Answer {
    list_up_to(LIMIT)
}

fn list_up_to(limit: usize) -> Answer {
    let mut answer = Vec::new();
    // Each process id namespace has a process 1. The mount option hidepid hides it.
    if !fs::exists("/proc/1").unwrap_or(false) {
        push(&mut answer, b"1", b"-");
    }
    for entry in fs::read_dir("/proc")?.flatten() {
        let name = entry.file_name();
        let pid = name.as_bytes();
        if !pid.iter().all(u8::is_ascii_digit) {
            continue;
        }
        match fs::read_dir(entry.path().join("fd")) {
            Ok(files) => {
                for file in files.flatten() {
                    // The file may be closed by now.
                    let Ok(target) = readlink(file.path(), Vec::new()) else { continue };
                    let target = target.as_bytes();
                    let is_reported =
                        target.starts_with(b"socket:[") || target.starts_with(DEVICES);
                    if is_reported && !target.contains(&b'\n') {
                        push(&mut answer, pid, target);
                    }
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                push(&mut answer, pid, b"-");
            }
            // The process has ended.
            Err(_) => {}
        }
        if answer.len() > limit {
            let whole = answer[..limit].iter().rposition(|byte| *byte == b'\n');
            answer.truncate(whole.map_or(0, |end| end + 1));
            answer.extend([MORE_HOLDERS.as_bytes(), b"\n"].concat());
            break;
        }
    }
    Ok(answer)
}

fn push(answer: &mut Vec<u8>, pid: &[u8], what: &[u8]) {
    answer.extend([pid, b" ", what, b"\n"].concat());
}

#[test]
fn list_contains_a_socket_of_this_process() {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let link = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&socket));
    let target = fs::read_link(link).unwrap();
    let expected = format!("{} {}\n", std::process::id(), target.display());
    assert!(String::from_utf8(list().unwrap()).unwrap().contains(&expected), "{expected}");
}

#[test]
fn list_over_the_limit_ends_with_a_more_holders_line() {
    // Two sockets exceed the limit even if no other process is visible.
    let _sockets = [(); 2].map(|()| std::net::UdpSocket::bind("127.0.0.1:0").unwrap());
    let told = String::from_utf8(list_up_to(30).unwrap()).unwrap();
    assert!(told.len() < 40, "{told}");
    assert_eq!(told.lines().last(), Some(MORE_HOLDERS));
    assert!(told.lines().rev().skip(1).all(|line| line.contains(' ')), "{told}");
}

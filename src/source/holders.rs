//! Lists the processes that hold sockets and RDMA devices. `live` calls it.

use std::fs;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{CWD, FileType, Mode, OFlags, RawDir, openat, readlinkat_raw};
use rustix::io::{Errno, retry_on_intr};

use super::{Answer, MORE_HOLDERS};

/// Limit of the reply in bytes; a hundred thousand sockets need less.
const LIMIT: usize = 8 * 1024 * 1024;

const DEVICES: &[u8] = b"/dev/infiniband/";

/// Limit of a link in bytes. The links to sockets and devices are shorter, and no other link is
/// reported.
const LINK: usize = 512;

/// Bytes of directory entries that one system call reads.
const ENTRIES: usize = 4 * 1024;

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
    let proc = open_folder(CWD, b"/proc")?;
    let mut buffer = [MaybeUninit::uninit(); ENTRIES];
    let mut processes = RawDir::new(proc.as_fd(), &mut buffer);
    while let Some(process) = processes.next() {
        let process = process?;
        let pid = process.file_name().to_bytes();
        if !pid.iter().all(u8::is_ascii_digit) {
            continue;
        }
        let files = open_folder(proc.as_fd(), &[pid, b"/fd"].concat());
        let listed = files.and_then(|files| list_files(&files, pid, &mut answer));
        match listed {
            // The process has ended.
            Ok(()) | Err(Errno::NOENT | Errno::SRCH) => {}
            // The files of the process are hidden, or the system lacks memory or descriptors.
            Err(_) => push(&mut answer, pid, b"-"),
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

/// Lists the sockets and devices that a process has open. Links relative to the open directory
/// need no path walk for each file.
///
/// # Errors
/// `EACCES`: root without `CAP_SYS_PTRACE` can list the files of a process with more rights, but
/// cannot read their links (`proc_pid_readlink` in `fs/proc/base.c`).
fn list_files(folder: &OwnedFd, pid: &[u8], answer: &mut Vec<u8>) -> rustix::io::Result<()> {
    let mut buffer = [MaybeUninit::uninit(); ENTRIES];
    let mut files = RawDir::new(folder, &mut buffer);
    while let Some(file) = files.next() {
        let file = file?;
        if file.file_type() != FileType::Symlink {
            continue;
        }
        let mut link = [MaybeUninit::uninit(); LINK];
        let target = match readlinkat_raw(folder, file.file_name(), &mut link) {
            Ok((target, _)) => &*target,
            // The file is closed by now.
            Err(Errno::NOENT) => continue,
            Err(error) => return Err(error),
        };
        let is_reported = target.starts_with(b"socket:[") || target.starts_with(DEVICES);
        if is_reported && !target.contains(&b'\n') {
            push(answer, pid, target);
        }
    }
    Ok(())
}

fn open_folder(above: BorrowedFd<'_>, name: &[u8]) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    retry_on_intr(|| openat(above, name, flags, Mode::empty()))
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
    let listed = String::from_utf8(list_up_to(30).unwrap()).unwrap();
    assert!(listed.len() < 40, "{listed}");
    assert_eq!(listed.lines().last(), Some(MORE_HOLDERS));
    assert!(listed.lines().rev().skip(1).all(|line| line.contains(' ')), "{listed}");
}

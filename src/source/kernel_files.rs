//! Reads files of this machine's `/sys` and `/proc`, and no other files. `live` uses it.

use std::cell::RefCell;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::buffer::spare_capacity;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::{read, retry_on_intr};

use super::{Answer, ReadError};
use crate::sys::Errno;

/// Limit of a sysfs file in bytes, one page (`fs/sysfs/file.c`). One read returns the whole file.
const PAGE: usize = 4096;

/// Saves system calls: GID tables alone have a thousand files. When a third file of a directory
/// is read, the directory stays open, so that further files need no path walk. For two files,
/// opening the directory costs more than it saves.
#[derive(Debug, Default)]
pub(super) struct KernelFiles {
    /// Directories of recent files; the most recently used is the last.
    near: RefCell<Vec<(String, Folder)>>,
    /// Buffer of the last read, which is not cleared for each file.
    page: RefCell<Vec<u8>>,
    /// Last directory that did not exist: callers often read several files of a directory.
    gone: RefCell<String>,
}

/// Directory by the number of its files that were read.
#[derive(Debug)]
enum Folder {
    Once,
    Twice,
    Open(OwnedFd),
}

/// Limit of remembered directories: an entry of a GID table has files in three.
const NEAR: usize = 4;

impl KernelFiles {
    /// True if a path is a file of the kernel, which is regular and needs no check before opening.
    pub(super) fn hold(path: &str) -> bool {
        ["/sys/", "/proc/"].iter().any(|top| path.starts_with(top)) && !path.contains("/../")
    }

    /// Returns the content of a file of at most `limit` bytes.
    pub(super) fn read(&self, path: &str, limit: usize) -> Answer {
        let file = self.open(path)?;
        let mut page = self.page.borrow_mut();
        page.clear();
        page.reserve(PAGE);
        let mut count = retry_on_intr(|| read(&file, spare_capacity(&mut page)))?;
        // Most files have a few bytes; their content takes no more memory than that.
        let mut content = page.clone();
        loop {
            if content.len() > limit {
                return Err(ReadError::TooBig);
            }
            if count < minimum_read(path) {
                return Ok(content);
            }
            page.clear();
            count = retry_on_intr(|| read(&file, spare_capacity(&mut page)))?;
            content.extend_from_slice(&page);
        }
    }

    fn open(&self, path: &str) -> Result<OwnedFd, ReadError> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let mut near = self.near.borrow_mut();
        let Some(at) = near.iter().position(|(known, _)| known == folder) else {
            if *self.gone.borrow() == folder {
                return Err(ReadError::Errno(Errno::NO_ENTRY));
            }
            if near.len() == NEAR {
                near.remove(0);
            }
            near.push((folder.to_owned(), Folder::Once));
            return Ok(open_file(CWD, path)?);
        };
        near[at..].rotate_left(1);
        let Some((_, known)) = near.last_mut() else { return Err(ReadError::NotAFile) };
        match known {
            Folder::Once => {
                *known = Folder::Twice;
                Ok(open_file(CWD, path)?)
            }
            Folder::Twice => match open_folder(folder) {
                Ok(opened) => {
                    let file = open_file(opened.as_fd(), name);
                    *known = Folder::Open(opened);
                    Ok(file?)
                }
                Err(error) => {
                    if error == rustix::io::Errno::NOENT {
                        folder.clone_into(&mut self.gone.borrow_mut());
                    }
                    near.pop();
                    Err(error.into())
                }
            },
            Folder::Open(opened) => Ok(open_file(opened.as_fd(), name)?),
        }
    }
}

/// Returns the number of bytes that each read of a file returns at least, except the last read.
/// In /proc, a read may end at any record: only an empty read is known to be the last. The lines
/// of the TCP tables are shorter than `LINE`: a read that leaves more space than that is the
/// last. A further read would walk the kernel's whole hash table of sockets (`tcp_seek_last_pos`
/// in `net/ipv4/tcp_ipv4.c`).
fn minimum_read(path: &str) -> usize {
    const LINE: usize = 256;
    match path {
        "/proc/net/tcp" | "/proc/net/tcp6" => PAGE - LINE,
        _ if path.starts_with("/sys/") => PAGE,
        _ => 1,
    }
}

fn open_file(folder: BorrowedFd<'_>, name: &str) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    retry_on_intr(|| openat(folder, name, flags, Mode::empty()))
}

fn open_folder(path: &str) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    retry_on_intr(|| openat(CWD, path, flags, Mode::empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: usize = 64 * 1024;

    #[test]
    fn it_reads_what_the_kernel_has() {
        let files = KernelFiles::default();
        let read = |path: &str| files.read(path, LIMIT).unwrap();
        let release = rustix::system::uname().release().to_bytes().to_vec();
        assert_eq!(read("/proc/sys/kernel/osrelease").trim_ascii(), release);
        // Three files of one directory, then files of another.
        assert!(!read("/proc/self/status").is_empty());
        assert!(read("/proc/self/stat").starts_with(std::process::id().to_string().as_bytes()));
        assert!(read("/proc/self/mounts").len() <= LIMIT + PAGE);
    }

    #[test]
    fn a_tcp_table_of_several_pages_is_read_to_its_end() {
        for (table, address) in [("/proc/net/tcp", "127.0.0.1:0"), ("/proc/net/tcp6", "[::1]:0")] {
            let Ok(first) = std::net::TcpListener::bind(address) else { continue };
            let more = (0..150).map(|_| std::net::TcpListener::bind(address).unwrap());
            let listeners: Vec<_> = more.chain([first]).collect();
            let content = KernelFiles::default().read(table, 1024 * PAGE).unwrap();
            let content = String::from_utf8(content).unwrap();
            assert!(content.len() > 5 * PAGE, "{content}");
            assert!(content.lines().all(|line| line.len() < PAGE - minimum_read(table)));
            for listener in listeners {
                let port = format!(":{:04X} ", listener.local_addr().unwrap().port());
                assert!(content.contains(&port), "{table} has no {port}");
            }
        }
    }

    #[test]
    fn missing_and_oversized_files_return_errors() {
        let files = KernelFiles::default();
        let none = Err(ReadError::Errno(Errno::NO_ENTRY));
        assert_eq!(files.read("/sys/class/no/such/file", LIMIT), none);
        assert_eq!(files.read("/sys/class/no/such/neighbor", LIMIT), none);
        assert_eq!(files.read("/proc/self/no_such_file", LIMIT), none);
        assert_eq!(files.read("/proc/self/status", 100), Err(ReadError::TooBig));
    }

    #[test]
    fn only_the_kernels_own_files_are_read_so() {
        assert!(KernelFiles::hold("/sys/class/infiniband/rxe0/fw_ver"));
        for path in ["/etc/passwd", "/sys/../etc/passwd", "sys/x", "/system"] {
            assert!(!KernelFiles::hold(path), "{path}");
        }
    }
}

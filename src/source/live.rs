//! Replies to questions from this machine, or from files below another root directory.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FileType, Mode, OFlags, RawDir, fstat, lstat, open, readlink, stat};
use rustix::io::retry_on_intr;

use super::kernel_files::KernelFiles;
use super::secrets::without_secrets;
use super::verbs_child::Started;
use super::{
    Answer, Mads, Question, ReadError, Source, VerbsChild, environment, holders, kernel_log,
    mad_ports, mads, netlink, rds,
};
use crate::clock;
use crate::sys::Errno;
use crate::sys::device_file::check_access;

/// Limit of one file or directory listing in bytes. Files of sysfs have 4096 at most.
const LIMIT: usize = 64 * 1024;

/// Limit in bytes below [`GROWING`]: 5,000 NFS mounts have 10 MB of statistics, and a Lustre
/// server has a directory for each client.
const GROWING_LIMIT: usize = 32 * 1024 * 1024;

/// Directories whose content grows with the use of the host.
const GROWING: [&str; 3] = ["/proc/", "/sys/kernel/", "/sys/fs/"];

/// Bytes of directory entries that one system call reads.
const ENTRIES: usize = 8 * 1024;

/// Live machine: this one, or files under another root directory.
#[derive(Debug, Default)]
pub struct Live {
    /// Other root directory; `None` for the root of this machine.
    root: Option<PathBuf>,
    /// Real paths of directories below `root`, so that each takes one path walk.
    folders: RefCell<HashMap<PathBuf, PathBuf>>,
    kernel: KernelFiles,
    /// Child that queries libibverbs; `None` below another root directory.
    verbs: Option<VerbsChild>,
    /// Child that [`Source::expect`] has started.
    running: RefCell<Option<Started>>,
    /// Number of the ethtool netlink family, after the first query for it.
    ethtool: OnceCell<Result<u16, ReadError>>,
    taken_ns: Option<u64>,
}

impl Live {
    /// Returns this machine, with the child that is going to query libibverbs.
    pub fn new(verbs: VerbsChild) -> Self {
        let taken_ns = Some(clock::wall_ns());
        Self { verbs: Some(verbs), taken_ns, ..Self::default() }
    }

    /// Returns a copy of /sys and /proc below `root`. It has files only, and links that lead out
    /// of `root` are errors.
    ///
    /// # Errors
    /// `root` does not exist, cannot be resolved or is no directory.
    pub fn with_root(root: &Path) -> io::Result<Self> {
        let root = fs::canonicalize(root)?;
        if !root.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Self { root: Some(root), ..Self::default() })
    }

    /// Returns the real path of a path. Follows every link, the last one only if `follow_last`.
    fn locate(&self, path: &str, follow_last: bool) -> Result<PathBuf, ReadError> {
        let path = Path::new(path);
        let Some(root) = &self.root else { return Ok(path.to_owned()) };
        let inside = root.join(path.strip_prefix("/").unwrap_or(path));
        let folder = inside.parent().filter(|folder| folder.starts_with(root));
        let (Some(folder), Some(last)) = (folder, inside.file_name()) else {
            return without_links(&inside, root);
        };
        let mut folders = self.folders.borrow_mut();
        let place = if let Some(real) = folders.get(folder) {
            real.join(last)
        } else {
            let real = without_links(folder, root)?;
            let place = real.join(last);
            folders.insert(folder.to_owned(), real);
            place
        };
        if follow_last && FileType::from_raw_mode(lstat(&place)?.st_mode) == FileType::Symlink {
            return without_links(&place, root);
        }
        Ok(place)
    }

    /// Returns the time that the kernel has for one reply.
    fn timeout(&self) -> Duration {
        self.verbs.as_ref().map_or(Duration::MAX, |child| child.deadline.remaining())
    }

    fn read_file(&self, path: &str) -> Answer {
        let read = || match &self.root {
            None if KernelFiles::hold(path) => self.kernel.read(path, limit_of(path)),
            _ => read_regular(&self.locate(path, true)?, limit_of(path)),
        };
        let answer = match read() {
            // A driver returns EIO while its firmware is busy: one retry.
            Err(ReadError::Errno(Errno::IO)) => read(),
            answer => answer,
        };
        answer.map(|content| without_secrets(path, content))
    }

    fn list(&self, path: &str) -> Answer {
        let limit = limit_of(path);
        let path = self.locate(path, true)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let folder = retry_on_intr(|| open(&path, flags, Mode::empty()))?;
        let mut buffer = [MaybeUninit::uninit(); ENTRIES];
        let mut entries = RawDir::new(folder, &mut buffer);
        let mut names = Vec::new();
        let mut length = 0;
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if matches!(name, b"." | b"..") {
                continue;
            }
            length += name.len() + 1;
            if length > limit {
                return Err(ReadError::TooBig);
            }
            if !name.contains(&b'\n') {
                names.push([name, b"\n"].concat());
            }
        }
        names.sort_unstable();
        Ok(names.concat())
    }

    fn read_link(&self, path: &str) -> Answer {
        Ok(readlink(self.locate(path, false)?, Vec::new())?.into_bytes())
    }
}

impl Source for Live {
    fn ask(&self, question: &Question) -> Answer {
        match question {
            Question::File(path) => self.read_file(path),
            Question::Dir(path) => self.list(path),
            Question::Link(path) => self.read_link(path),
            Question::Verbs => {
                let child = self.verbs.as_ref().ok_or(ReadError::NotRecorded)?;
                let running = self.running.borrow_mut().take();
                child.finish(running.unwrap_or_else(|| child.start()))
            }
            _ if self.root.is_some() => Err(ReadError::NotRecorded),
            Question::Access(path) => {
                check_access(Path::new(path)).map(|()| Vec::new()).map_err(ReadError::Errno)
            }
            Question::Sockets(query) => netlink::ask_sockets(*query, self.timeout()),
            Question::Holders => holders::list(),
            Question::Environment(pid) => environment::ask(*pid, self.timeout()),
            Question::KernelLog(tag) => kernel_log::read_tagged(tag),
            Question::Rds(list) => rds::ask(*list),
            Question::MadPorts => mad_ports::list(),
            // `mads` sends the requests of a port.
            Question::Mads(_) => Err(ReadError::NotRecorded),
            Question::Rdma(query) => netlink::ask_rdma(*query, self.timeout()),
            Question::Route(query) => netlink::ask_route(query, self.timeout()),
            Question::Ethtool(query) => {
                let family = self.ethtool.get_or_init(|| netlink::ethtool_family(self.timeout()));
                netlink::ask_ethtool(query, family.clone()?, self.timeout())
            }
        }
    }

    fn mads(&self, umad: &str) -> Result<Box<dyn Mads + '_>, ReadError> {
        if self.root.is_some() {
            return Err(ReadError::NotRecorded);
        }
        mads::open(umad)
    }

    fn expect(&self, question: &Question) {
        if let (Question::Verbs, Some(child)) = (question, &self.verbs) {
            self.running.borrow_mut().get_or_insert_with(|| child.start());
        }
    }

    fn taken_ns(&self) -> Option<u64> {
        self.taken_ns
    }

    fn answered_ns(&self, _question: &Question) -> Option<u64> {
        self.root.is_none().then(clock::wall_ns)
    }
}

/// Resolves all links of a path. The result must be below `root`.
fn without_links(path: &Path, root: &Path) -> Result<PathBuf, ReadError> {
    let real = fs::canonicalize(path)?;
    if real.starts_with(root) { Ok(real) } else { Err(ReadError::OutsideRoot) }
}

/// Reads a regular file. Other files are not even opened, because opening may have effects.
fn read_regular(path: &Path, limit: usize) -> Answer {
    check_regular(stat(path)?.st_mode)?;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = retry_on_intr(|| open(path, flags, Mode::empty()))?;
    let about = fstat(&file)?;
    check_regular(about.st_mode)?;
    let length = usize::try_from(about.st_size).unwrap_or(0).min(limit);
    let mut content = Vec::with_capacity(length + 1);
    File::from(file).take(limit as u64 + 1).read_to_end(&mut content)?;
    if content.len() > limit { Err(ReadError::TooBig) } else { Ok(content) }
}

fn limit_of(path: &str) -> usize {
    if GROWING.iter().any(|top| path.starts_with(top)) { GROWING_LIMIT } else { LIMIT }
}

fn check_regular(mode: u32) -> Result<(), ReadError> {
    let is_regular = FileType::from_raw_mode(mode) == FileType::RegularFile;
    is_regular.then_some(()).ok_or(ReadError::NotAFile)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use rustix::fs::{CWD, mknodat};

    use super::*;

    fn tree() -> (tempfile::TempDir, Live) {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("root/sys/class")).unwrap();
        fs::write(folder.path().join("root/sys/state"), "4: ACTIVE\n").unwrap();
        fs::write(folder.path().join("secret"), "no\n").unwrap();
        let live = Live::with_root(&folder.path().join("root")).unwrap();
        (folder, live)
    }

    fn file(path: &str) -> Question {
        Question::File(path.into())
    }

    #[test]
    fn another_root_answers_files_and_lists_and_no_verbs() {
        let (_folder, live) = tree();
        assert_eq!(live.ask(&file("/sys/state")), Ok(b"4: ACTIVE\n".to_vec()));
        assert_eq!(live.ask(&Question::Dir("/sys".into())), Ok(b"class\nstate\n".to_vec()));
        assert_eq!(live.ask(&Question::Dir("/".into())), Ok(b"sys\n".to_vec()));
        assert_eq!(live.ask(&Question::Verbs), Err(ReadError::NotRecorded));
        assert_eq!(live.taken_ns(), None);
    }

    #[test]
    fn symlinks_out_of_the_root_are_refused() {
        let (folder, live) = tree();
        let root = folder.path().join("root");
        symlink("../../secret", root.join("sys/out")).unwrap();
        symlink("/etc", root.join("sys/etc")).unwrap();
        symlink("state", root.join("sys/in")).unwrap();
        assert_eq!(live.ask(&file("/sys/out")), Err(ReadError::OutsideRoot));
        assert_eq!(live.ask(&file("/sys/etc/passwd")), Err(ReadError::OutsideRoot));
        assert_eq!(live.ask(&file("/../secret")), Err(ReadError::OutsideRoot));
        assert_eq!(live.ask(&file("/sys/in")), Ok(b"4: ACTIVE\n".to_vec()));
        assert_eq!(live.ask(&Question::Link("/sys/out".into())), Ok(b"../../secret".to_vec()));
    }

    #[test]
    fn a_pipe_cannot_hang_it_and_a_big_file_is_refused() {
        let (folder, live) = tree();
        let sys = folder.path().join("root/sys");
        mknodat(CWD, sys.join("pipe"), FileType::Fifo, Mode::RUSR, 0).unwrap();
        fs::write(sys.join("big"), vec![b'x'; LIMIT + 1]).unwrap();
        assert_eq!(live.ask(&file("/sys/pipe")), Err(ReadError::NotAFile));
        assert_eq!(live.ask(&file("/sys/class")), Err(ReadError::NotAFile));
        assert_eq!(live.ask(&file("/sys/big")), Err(ReadError::TooBig));
        fs::create_dir_all(folder.path().join("root/sys/class/many")).unwrap();
        fs::create_dir_all(folder.path().join("root/sys/kernel/debug/many")).unwrap();
        for (index, place) in ["class", "kernel/debug"].iter().enumerate() {
            for number in 0..LIMIT / 200 {
                let name = format!("sys/{place}/many/{number:0200}");
                fs::write(folder.path().join("root").join(name), "").unwrap();
            }
            let listed = live.ask(&Question::Dir(format!("/sys/{place}/many")));
            // A Lustre server has more clients than any device has ports.
            assert_eq!(listed.is_ok(), index == 1, "{place}: {:?}", listed.err());
        }
        assert_eq!(live.ask(&file("/sys/none")), Err(ReadError::Errno(Errno::NO_ENTRY)));
    }
}

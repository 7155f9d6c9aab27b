//! Reads text from files and stdin, with a size limit. The modules of `site` use it.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use parking_lot::Mutex;

use crate::hosts::set::LookupError;
use crate::input::Input;
use crate::sys::Errno;

/// Maximum size of a text, in bytes: enough for 65,536 names of 60 letters.
pub(super) const MAX_BYTES: usize = 4 << 20;

/// Origin of a text. The fix of an error depends on it.
#[derive(Debug, Clone, Copy)]
enum Origin {
    /// File that a host set or `--hosts-file` names.
    HostsFile,
    /// File of the site: configuration, groups, or nodes of a job.
    SiteFile,
    Stdin,
}

/// Reads a file of the site, or a pipe such as `<(COMMAND)`. A directory, an endless file, and a
/// pipe without data are errors.
pub(super) fn read_file(path: &Path) -> Result<String, LookupError> {
    open_and_read(path, Origin::SiteFile)
}

/// Reads a file that a host set or `--hosts-file` names, as [`read_file`] does.
pub(super) fn read_hosts_file(path: &Path) -> Result<String, LookupError> {
    open_and_read(path, Origin::HostsFile)
}

/// Reads a pipe only at the first call, because its data is then gone. Later calls return the
/// same text: a command may resolve its host set twice.
fn open_and_read(path: &Path, origin: Origin) -> Result<String, LookupError> {
    static PIPES: Mutex<BTreeMap<PathBuf, Result<String, LookupError>>> =
        Mutex::new(BTreeMap::new());
    let is_pipe = std::fs::metadata(path).is_ok_and(|file| file.file_type().is_fifo());
    if is_pipe {
        let mut known = PIPES.lock();
        return known.entry(path.to_owned()).or_insert_with(|| read_now(path, origin)).clone();
    }
    read_now(path, origin)
}

fn read_now(path: &Path, origin: Origin) -> Result<String, LookupError> {
    let place = path.display().to_string();
    let file = Input::open(path).map_err(|error| {
        let failure = LookupError::new(format!("cannot open {place}: {}", plain(&error)));
        failure.fix(match error.kind() {
            io::ErrorKind::NotFound => "check the file name".to_owned(),
            _ => format!("check the owner and mode of the file: ls -l {place}"),
        })
    })?;
    read(file, &place, origin)
}

/// Reads an open file of the site to its end. Errors name `place`.
pub(super) fn read_opened(file: Input, place: &str) -> Result<String, LookupError> {
    read(file, place, Origin::SiteFile)
}

/// Reads stdin at the first call. Later calls return the same text.
pub(super) fn read_stdin() -> Result<String, LookupError> {
    static STDIN: OnceLock<Result<String, LookupError>> = OnceLock::new();
    STDIN.get_or_init(|| read(io::stdin().lock(), "stdin", Origin::Stdin)).clone()
}

/// Reads UTF-8 text to its end.
fn read(from: impl Read, place: &str, origin: Origin) -> Result<String, LookupError> {
    let mut bytes = Vec::new();
    from.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(|error| {
        LookupError::new(format!("cannot read {place}: {}", plain(&error))).fix(match origin {
            Origin::HostsFile | Origin::SiteFile => format!("check the file: ls -l {place}"),
            Origin::Stdin => "pass the hosts to stdin through a pipe or from a file".to_owned(),
        })
    })?;
    if bytes.len() > MAX_BYTES {
        return Err(LookupError::new(format!("{place} is larger than 4 MiB")).fix(match origin {
            Origin::HostsFile => "split the file, and name each part with its own -H ^FILE",
            Origin::SiteFile => "reduce the file to at most 4 MiB",
            Origin::Stdin => "save the hosts in several files, and name each file with -H ^FILE",
        }));
    }
    String::from_utf8(bytes).map_err(|error| {
        LookupError::new(format!("{place} is not UTF-8 text: {error}")).fix(match origin {
            Origin::HostsFile => "name a text file",
            Origin::SiteFile => "convert the file to UTF-8",
            Origin::Stdin => "pass UTF-8 text to stdin",
        })
    })
}

/// Formats an error of the kernel as errno(3) describes it, with a lower-case first letter and
/// without the number. Other errors keep their text, which may contain names.
pub(super) fn plain(error: &io::Error) -> String {
    let code = error.raw_os_error();
    code.map_or_else(|| error.to_string(), |code| Errno::from_code(code).text())
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd as _;

    use rustix::io::Errno;

    use super::*;

    #[test]
    fn names_in_an_error_keep_their_capitals() {
        assert_eq!(plain(&io::Error::from(Errno::ACCESS)), "permission denied");
        let other = io::Error::other("no data came from /srv/NFS/Hosts");
        assert_eq!(plain(&other), "no data came from /srv/NFS/Hosts");
    }

    #[test]
    fn a_pipe_has_the_same_text_each_time() {
        let (reading, mut writing) = io::pipe().unwrap();
        io::Write::write_all(&mut writing, b"n1\nn2\n").unwrap();
        drop(writing);
        let path = PathBuf::from(format!("/dev/fd/{}", reading.as_raw_fd()));
        assert_eq!(read_hosts_file(&path), Ok("n1\nn2\n".to_owned()));
        assert_eq!(read_hosts_file(&path), Ok("n1\nn2\n".to_owned()));
    }

    #[test]
    fn the_fix_of_a_text_depends_on_its_origin() {
        use Origin::{HostsFile, SiteFile, Stdin};

        struct Broken;

        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(Errno::ISDIR.into())
            }
        }

        fn fix_of(read: Result<String, LookupError>) -> String {
            read.unwrap_err().fix.unwrap()
        }

        assert_eq!(read(&b"n1\n"[..], "stdin", Stdin), Ok("n1\n".to_owned()));
        let error = read(Broken, "hosts", HostsFile).unwrap_err();
        assert_eq!(error.message, "cannot read hosts: is a directory");
        for (origin, broken, large, binary) in [
            (HostsFile, "ls -l hosts", "-H ^FILE", "name a text file"),
            (SiteFile, "ls -l hosts", "at most 4 MiB", "convert the file to UTF-8"),
            (Stdin, "through a pipe", "-H ^FILE", "pass UTF-8 text to stdin"),
        ] {
            assert!(fix_of(read(Broken, "hosts", origin)).contains(broken));
            assert!(fix_of(read(io::repeat(b'n'), "hosts", origin)).ends_with(large));
            assert_eq!(fix_of(read(&[0xff_u8][..], "hosts", origin)), binary);
        }
    }
}

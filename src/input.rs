//! Bounds input that may be endless. [`Input`] opens a file that the operator names; a pipe
//! without a writer ends with an error. [`Tail`] keeps the end of a text. [`free_path`] names a
//! new file in a fix.
//!
//! The module does not interpret the content. Captures, `hosts`, the pipes of `fleet` and `cmd`
//! use it.

mod tail;

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;

pub use self::tail::Tail;

/// Longest time without data. A capture of many hosts in a pipe starts after the slowest host.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// A file, or a pipe of the shell, for one pass of reading.
#[derive(Debug)]
pub struct Input {
    file: File,
    /// Longest time without data; `None` for a regular file, which never lets a reader wait.
    max_wait: Option<Duration>,
}

impl Input {
    /// Opens a file. A pipe without a writer is opened as well, and its first read ends after 60 s.
    ///
    /// # Errors
    /// The kernel's answer.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::open_for(path, MAX_WAIT)
    }

    fn open_for(path: &Path, max_wait: Duration) -> io::Result<Self> {
        // Without O_NONBLOCK, the kernel waits in open for a writer.
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        let file =
            OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
        let is_regular = file.metadata()?.is_file();
        Ok(Self { file, max_wait: (!is_regular).then_some(max_wait) })
    }

    /// Returns the metadata of the open file.
    ///
    /// # Errors
    /// The kernel's answer.
    pub fn metadata(&self) -> io::Result<Metadata> {
        self.file.metadata()
    }

    /// Waits until there is data, or the writer has closed the pipe.
    fn wait(&self, max_wait: Duration) -> io::Result<()> {
        let limit = Timespec::try_from(max_wait).map_err(io::Error::other)?;
        let mut watched = [PollFd::new(&self.file, PollFlags::IN)];
        if poll(&mut watched, Some(&limit))? > 0 {
            return Ok(());
        }
        let what = format!("no data came for {} s; no program writes it", max_wait.as_secs());
        Err(io::Error::new(io::ErrorKind::TimedOut, what))
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(max_wait) = self.max_wait else { return self.file.read(buffer) };
        loop {
            self.wait(max_wait)?;
            match self.file.read(buffer) {
                // Another reader of the pipe took the data.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return read,
            }
        }
    }
}

/// Returns the text of a file of at most `most` bytes, for files that people write.
///
/// # Errors
/// The file cannot be read, is no UTF-8 text, or is larger.
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    let mut text = String::new();
    Input::open(path)?.take(most.saturating_add(1)).read_to_string(&mut text)?;
    if text.len() as u64 > most {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("more than {most} bytes")));
    }
    Ok(text)
}

/// Returns a path that no file has, quoted for a shell: the given path, or this path with a
/// number.
pub fn free_path(path: &Path) -> String {
    let ending = path.extension().unwrap_or_default().to_string_lossy().into_owned();
    let numbered =
        |number: u32| path.with_extension(format!("{number}.{ending}").trim_end_matches('.'));
    let mut paths = std::iter::once(PathBuf::from(path)).chain((2..100).map(numbered));
    let free = paths.find(|path| matches!(path.try_exists(), Ok(false)));
    let free = free.unwrap_or_else(|| numbered(100));
    shlex::try_quote(&free.display().to_string()).unwrap_or_default().into_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;
    use std::thread;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    fn pipe() -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        (folder, path)
    }

    #[test]
    fn a_pipe_without_a_writer_ends_with_an_error() {
        let (_folder, path) = pipe();
        let mut input = Input::open_for(&path, Duration::from_millis(20)).unwrap();
        let error = input.read(&mut [0; 8]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(error.to_string().contains("no program writes"), "{error}");
    }

    #[test]
    fn a_writer_that_comes_late_is_read_to_its_end() {
        let (_folder, path) = pipe();
        let mut input = Input::open_for(&path, Duration::from_secs(60)).unwrap();
        let writer = thread::spawn(move || {
            let mut pipe = OpenOptions::new().write(true).open(path).unwrap();
            for _ in 0..100 {
                pipe.write_all(&[b'x'; 1_000]).unwrap();
            }
        });
        let mut text = String::new();
        input.read_to_string(&mut text).unwrap();
        writer.join().unwrap();
        assert_eq!(text.len(), 100_000);
    }

    #[test]
    fn a_writer_that_stops_ends_with_an_error() {
        let (_folder, path) = pipe();
        let mut input = Input::open_for(&path, Duration::from_millis(50)).unwrap();
        let mut pipe = OpenOptions::new().write(true).open(path).unwrap();
        pipe.write_all(b"ab").unwrap();
        let mut bytes = [0; 8];
        assert_eq!(input.read(&mut bytes).unwrap(), 2);
        assert_eq!(input.read(&mut bytes).unwrap_err().kind(), io::ErrorKind::TimedOut);
        drop(pipe);
        assert_eq!(input.read(&mut bytes).unwrap(), 0);
    }

    #[test]
    fn a_text_has_a_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("names");
        fs::write(&path, "12345").unwrap();
        assert_eq!(read_text(&path, 5).unwrap(), "12345");
        assert_eq!(read_text(&path, 4).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert!(read_text(folder.path(), 4).is_err());
        assert!(read_text(&folder.path().join("none"), 4).is_err());
    }

    #[test]
    fn a_free_path_is_the_path_itself_or_has_a_number() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("my site.toml");
        assert_eq!(free_path(&path), format!("'{}'", path.display()));
        fs::write(&path, "").unwrap();
        let second = folder.path().join("my site.2.toml");
        assert_eq!(free_path(&path), format!("'{}'", second.display()));
        assert_eq!(free_path(Path::new("/dev/null")), "/dev/null.2");
    }
}

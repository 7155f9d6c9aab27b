//! Private directory for the control sockets of `ssh` processes and the socket of `ssh-agent`.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, io};

use parking_lot::Mutex;

use crate::fleet::Nonce;

/// Longest `XDG_RUNTIME_DIR` in which the directory is created, in bytes. The path of a socket
/// has at most 107 bytes. `ssh` adds 17 bytes while it creates a socket. This program adds 30
/// bytes: the names of the directory and of the socket.
const LONGEST_RUNTIME_DIR: usize = 107 - 17 - 30;

/// Directory that is created for the first socket and removed when the run is over.
#[derive(Debug, Default)]
pub(in crate::fleet) struct SocketDirectory {
    directory: Mutex<Directory>,
    next: AtomicUsize,
}

#[derive(Debug, Default)]
enum Directory {
    #[default]
    NotCreated,
    Created(PathBuf),
    Removed,
}

impl SocketDirectory {
    pub(in crate::fleet) fn new_path(&self) -> io::Result<PathBuf> {
        let mut directory = self.directory.lock();
        let path = match &*directory {
            Directory::Created(path) => path.clone(),
            Directory::NotCreated => create()?,
            Directory::Removed => return Err(io::Error::other("the run is over")),
        };
        let socket = path.join(self.next.fetch_add(1, Ordering::Relaxed).to_string());
        *directory = Directory::Created(path);
        Ok(socket)
    }

    /// Removes the directory. A drop is not enough, because threads may own the directory longer.
    pub(in crate::fleet) fn remove(&self) {
        let mut directory = self.directory.lock();
        if let Directory::Created(path) = std::mem::replace(&mut *directory, Directory::Removed) {
            // The remaining files belong to processes that end with this program.
            let _ = fs::remove_dir_all(path);
        }
    }
}

impl Drop for SocketDirectory {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Creates the directory: in `XDG_RUNTIME_DIR`, or in `/tmp` if the first fails.
fn create() -> io::Result<PathBuf> {
    let fits = |path: &PathBuf| path.is_absolute() && path.as_os_str().len() <= LONGEST_RUNTIME_DIR;
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(fits);
    // Twelve digits are enough, because `create` fails if the directory exists.
    let name = Nonce::new().map_err(io::Error::other)?.to_string();
    let name = format!(".rdmactl-ssh-{}", &name[..12]);
    let create_in = |base: &Path| {
        let path = base.join(&name);
        DirBuilder::new().mode(0o700).create(&path).map(|()| path)
    };
    let private = runtime.and_then(|runtime| create_in(&runtime).ok());
    private.map_or_else(|| create_in(Path::new("/tmp")), Ok)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn the_directory_is_private_and_removed_after_the_run() {
        let sockets = SocketDirectory::default();
        let (one, two) = (sockets.new_path().unwrap(), sockets.new_path().unwrap());
        assert_ne!(one, two);
        let directory = one.parent().unwrap().to_owned();
        assert_eq!(fs::metadata(&directory).unwrap().permissions().mode() & 0o777, 0o700);
        fs::write(&one, "").unwrap();
        sockets.remove();
        assert!(!directory.exists());
        assert!(sockets.new_path().is_err());
    }
}

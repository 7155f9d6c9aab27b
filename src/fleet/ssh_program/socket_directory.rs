//! Private directory for the control sockets of the `ssh` processes and the socket of the
//! `ssh-agent`. The connector owns it.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::fleet::Nonce;

/// Limit of the directory's path, in bytes. The path of a socket has at most 107 bytes. `ssh`
/// adds 17 bytes, and this program adds 30.
const LONGEST: usize = 107 - 17 - 30;

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
    /// Returns a new, unused path in the directory.
    pub(in crate::fleet) fn new_path(&self) -> io::Result<PathBuf> {
        let mut directory = self.directory.lock();
        let made = match &*directory {
            Directory::Created(made) => made.clone(),
            Directory::NotCreated => make()?,
            Directory::Removed => return Err(io::Error::other("the run is over")),
        };
        let socket = made.join(self.next.fetch_add(1, Ordering::Relaxed).to_string());
        *directory = Directory::Created(made);
        Ok(socket)
    }

    /// Removes the directory when the run is over. Dropping it is not enough, because threads
    /// that have not noticed the end of the run own it, too.
    pub(in crate::fleet) fn remove(&self) {
        let mut directory = self.directory.lock();
        if let Directory::Created(made) = std::mem::replace(&mut *directory, Directory::Removed) {
            // The remaining files belong to processes that end with this program.
            let _ = fs::remove_dir_all(made);
        }
    }
}

impl Drop for SocketDirectory {
    fn drop(&mut self) {
        self.remove();
    }
}

fn make() -> io::Result<PathBuf> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let fits = |path: &PathBuf| path.is_absolute() && path.as_os_str().len() <= LONGEST;
    let runtime = runtime.filter(fits);
    // Twelve digits are enough, because `create` fails if the directory exists.
    let name = Nonce::new().map_err(io::Error::other)?.to_string();
    let name = format!(".rdmactl-ssh-{}", &name[..12]);
    let made = |base: &Path| {
        let path = base.join(&name);
        DirBuilder::new().mode(0o700).create(&path).map(|()| path)
    };
    match runtime.map(|runtime| made(&runtime)) {
        Some(Ok(path)) => Ok(path),
        _ => made(Path::new("/tmp")),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn the_directory_is_private_and_goes_with_the_run() {
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

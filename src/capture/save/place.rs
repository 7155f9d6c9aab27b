//! Finds the place of a file to write: a name in an open directory.
//!
//! Each directory of the path is opened relative to the one above it. If another user replaces a
//! directory meanwhile, the place stays. `save` uses this module.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd as _};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, PROC_SUPER_MAGIC, fstatfs, openat, readlinkat};
use rustix::io::Errno;

use crate::user_namespace;

/// Maximum number of links that the kernel follows in a path (`path_resolution(7)`).
const MAX_LINKS: usize = 40;
/// Write permissions of the group and of others on a directory.
const OTHERS_MAY_WRITE: u32 = 0o022;
/// User ID that the kernel shows for the files of root in a user namespace without root
/// (`overflowuid`). Elsewhere, an account without rights has this user ID.
const OVERFLOW_UID: u32 = 65_534;

/// Name of a file in an open directory.
pub(super) struct SavePlace {
    /// Directory, opened without access to its content.
    pub(super) directory: File,
    /// Name of the file.
    pub(super) name: OsString,
    /// File with this name, opened without access to its content. `None` if the name is free.
    file: Option<File>,
    /// Effective user that writes the file.
    user: u32,
}

impl SavePlace {
    /// Finds the place of a path. Follows links.
    ///
    /// # Errors
    /// A directory of the path does not exist, the path names a directory or has too many links,
    /// or another user may have placed a link or a pipe in it.
    pub(super) fn find(path: &Path) -> io::Result<Self> {
        Self::find_as(path, rustix::process::geteuid().as_raw())
    }

    /// Finds the place for a user. Tests pass another user than their own.
    pub(super) fn find_as(path: &Path, user: u32) -> io::Result<Self> {
        let mut rest = names(&std::path::absolute(path)?);
        let mut at = PathBuf::from("/");
        let mut directory = open(CWD, "/".as_ref(), OFlags::empty())?;
        let mut links = 0;
        while let Some(name) = rest.pop() {
            let mut file = match open(&directory, &name, OFlags::NOFOLLOW) {
                Err(error) if rest.is_empty() && error.kind() == io::ErrorKind::NotFound => {
                    return Ok(Self { directory, name, file: None, user });
                }
                opened => opened?,
            };
            let status = file.metadata()?;
            if !status.is_file() && !status.is_dir() {
                check(&at.join(&name), &status, &directory.metadata()?, user)?;
            }
            if status.is_symlink() {
                links += 1;
                if links > MAX_LINKS {
                    return Err(io::Error::other("too many links"));
                }
                let target = readlinkat(&file, "", Vec::<u8>::new())?.into_bytes();
                let target = PathBuf::from(OsString::from_vec(target));
                if let Some(opened) = target_in_proc(&directory, &name, &target)? {
                    file = opened;
                } else {
                    if target.is_absolute() {
                        at = PathBuf::from("/");
                        directory = open(CWD, "/".as_ref(), OFlags::empty())?;
                    }
                    rest.extend(names(&target));
                    continue;
                }
            }
            if rest.is_empty() && !file.metadata()?.is_dir() {
                return Ok(Self { directory, name, file: Some(file), user });
            }
            at.push(&name);
            directory = file;
        }
        Err(io::ErrorKind::IsADirectory.into())
    }

    /// Returns the status of the present file, if any.
    pub(super) fn status(&self) -> Option<Metadata> {
        self.file.as_ref()?.metadata().ok()
    }

    /// Returns the mode of the present file if the user owns the file.
    pub(super) fn own_mode(&self) -> Option<u32> {
        let own = self.status().filter(|file| file.uid() == self.user);
        own.map(|file| file.mode())
    }

    /// True if the file is a pipe, a terminal or another device, which is written in place.
    pub(super) fn is_special(&self) -> bool {
        self.status().is_some_and(|status| !status.is_file())
    }

    /// Opens the present file for writing: this file, even if its name leads to another one now.
    pub(super) fn open_present(&self) -> io::Result<File> {
        let file = self.file.as_ref().ok_or(io::ErrorKind::NotFound)?;
        OpenOptions::new().write(true).open(format!("/proc/self/fd/{}", file.as_raw_fd()))
    }
}

/// Returns the names of a path, the first one last.
fn names(path: &Path) -> Vec<OsString> {
    let is_name =
        |part: &Component<'_>| matches!(part, Component::Normal(_) | Component::ParentDir);
    let names = path.components().filter(is_name).map(|part| part.as_os_str().to_owned());
    names.rev().collect()
}

/// Opens a file of a directory without access to its content.
fn open(directory: impl AsFd, name: &OsStr, follow: OFlags) -> io::Result<File> {
    let flags = OFlags::PATH | OFlags::CLOEXEC | follow;
    // The kernel mounts a file system of autofs only for a caller that expects a directory.
    let opened = match openat(&directory, name, flags | OFlags::DIRECTORY, Mode::empty()) {
        Err(Errno::NOTDIR) => openat(&directory, name, flags, Mode::empty()),
        opened => opened,
    };
    Ok(opened?.into())
}

/// Opens the target of a link in `/proc`, unless `target` is its path. Only the kernel can follow
/// a link to a pipe, and a link to a directory of another container.
fn target_in_proc(directory: &File, name: &OsStr, target: &Path) -> io::Result<Option<File>> {
    if fstatfs(directory)?.f_type != PROC_SUPER_MAGIC {
        return Ok(None);
    }
    let file = open(directory, name, OFlags::empty())?;
    let status = file.metadata()?;
    let is_it = |there: Metadata| (there.dev(), there.ino()) == (status.dev(), status.ino());
    let has_path = status.is_file() && fs::symlink_metadata(target).is_ok_and(is_it);
    Ok(Some(file).filter(|_| !has_path))
}

/// Rejects a link or a pipe if another user may have placed it to redirect the write.
fn check(path: &Path, status: &Metadata, directory: &Metadata, user: u32) -> io::Result<()> {
    let namespace = user_namespace::is_current();
    if !may_redirect(user, status.uid(), directory.uid(), directory.mode(), namespace) {
        return Ok(());
    }
    let what = format!(
        "{} is a link or a pipe of the user with the ID {} in a directory that others may write",
        path.display(),
        status.uid()
    );
    Err(io::Error::new(io::ErrorKind::PermissionDenied, what))
}

/// True if the owner of a link or a pipe in a directory may redirect a write of `user`.
/// `namespace` is true in a user namespace.
fn may_redirect(
    user: u32,
    owner: u32,
    directory_owner: u32,
    directory_mode: u32,
    namespace: bool,
) -> bool {
    let is_trusted = |owner: u32| owner == user || owner == 0;
    let is_of_root = is_trusted(directory_owner) || (namespace && directory_owner == OVERFLOW_UID);
    let is_writable = directory_mode & OTHERS_MAY_WRITE != 0 || !is_of_root;
    is_writable && !is_trusted(owner)
}

#[test]
fn another_user_may_redirect_only_where_others_may_write() {
    for (user, owner, directory_owner, mode, namespace, expected) in [
        (1000, 1000, 0, 0o1777, false, false),
        (1000, 0, 0, 0o1777, false, false),
        (1000, 1001, 0, 0o1777, false, true),
        (1000, 1001, 0, 0o775, false, true),
        (1000, 1001, 0, 0o755, false, false),
        (1000, 1001, 1000, 0o700, false, false),
        (1000, 1001, 1001, 0o755, false, true),
        (1000, 1001, OVERFLOW_UID, 0o755, true, false),
        (1000, 1001, OVERFLOW_UID, 0o1777, true, true),
        (1000, OVERFLOW_UID, 0, 0o1777, false, true),
        (0, OVERFLOW_UID, OVERFLOW_UID, 0o755, false, true),
        (0, 1000, 0, 0o755, false, false),
        (0, 1000, 0, 0o1777, false, true),
        (0, 1000, 1000, 0o755, false, true),
    ] {
        let found = may_redirect(user, owner, directory_owner, mode, namespace);
        assert_eq!(found, expected, "{user} {owner} {directory_owner} {mode:o} {namespace}");
    }
}

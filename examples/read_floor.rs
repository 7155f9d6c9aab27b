//! What reading files costs at least: opens, reads and closes every file below a directory, each
//! relative to its open directory, and does nothing else with it. `packaging/bench files` holds the
//! collectors against it.

use std::error::Error;
use std::fs;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{Mode, OFlags, open, openat};
use rustix::io::read;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).ok_or("the directory is missing")?;
    read_below(Path::new(&folder))
}

fn read_below(folder: &Path) -> Result<(), Box<dyn Error>> {
    let here: OwnedFd = open(folder, OFlags::PATH | OFlags::DIRECTORY, Mode::empty())?;
    let mut page = [0; 4096];
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            read_below(&entry.path())?;
        } else {
            let file = openat(&here, entry.file_name(), OFlags::RDONLY, Mode::empty())?;
            read(&file, &mut page)?;
        }
    }
    Ok(())
}

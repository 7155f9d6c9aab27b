use std::{fs, io};

/// Removes the file this program runs from, and the directory that was made for it.
///
/// # Errors
/// The file cannot be removed; the program goes on all the same, and the operator is told.
pub(super) fn unlink_own_binary() -> io::Result<()> {
    let file = fs::read_link("/proc/self/exe")?;
    fs::remove_file(&file)?;
    if let Some(directory) = file.parent() {
        // Only an empty directory goes: whatever else lies there is not ours.
        let _ = fs::remove_dir(directory);
    }
    Ok(())
}

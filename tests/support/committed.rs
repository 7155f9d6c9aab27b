//! Compares generated texts with committed files. `RDMACTL_BLESS=1` rewrites the files.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// Returns a path below the directory of the package.
pub(crate) fn package(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Compares a text with a committed file. Returns the first difference; `None` if they are equal.
pub(crate) fn compare(path: &Path, made: &str) -> Option<String> {
    if env::var_os("RDMACTL_BLESS").is_some() {
        fs::create_dir_all(path.parent().expect("a committed file is in a directory"))
            .expect("mkdir");
        fs::write(path, made).expect("the committed file can be written");
        return None;
    }
    let committed = fs::read_to_string(path).unwrap_or_default();
    if committed == made {
        return None;
    }
    let differs = committed.lines().zip(made.lines()).position(|(old, new)| old != new);
    let line = differs.unwrap_or_else(|| committed.lines().count().min(made.lines().count()));
    Some(format!(
        "{} differs at line {}:\n- {}\n+ {}\n(look at it, then RDMACTL_BLESS=1 cargo test)",
        path.display(),
        line + 1,
        committed.lines().nth(line).unwrap_or("(end)"),
        made.lines().nth(line).unwrap_or("(end)"),
    ))
}

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::OFlags;

use super::{ConfigError, FILE_VARIABLE};

/// Largest file that is read.
const MOST_BYTES: u64 = 64 << 10;

/// Reads a file of the configuration; `None` if a file that nothing names does not exist.
///
/// # Errors
/// The file cannot be read, is larger than 64 KiB, is not a regular file, or other users can write to it.
pub(super) fn read(path: &Path, is_named: bool) -> Result<Option<String>, ConfigError> {
    let place = path.display();
    let invalid = |what: String, fix: String| ConfigError { what: format!("{place}: {what}"), fix };
    let failed = |what: &str, error: &io::Error| {
        let fix = if is_named {
            format!("correct the variable, or remove it: unset {FILE_VARIABLE}")
        } else {
            format!("check the permissions: ls -l {place}")
        };
        ConfigError { what: format!("cannot {what} {place}: {error}"), fix }
    };
    // A FIFO would wait for a writer, a terminal would become the controlling one.
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let file = match File::options().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if !is_named && is_missing(&error) => return Ok(None),
        Err(error) => return Err(failed("open", &error)),
    };
    let about = file.metadata().map_err(|error| failed("read", &error))?;
    if !about.is_file() {
        let fix = format!("write the configuration to a regular file: ls -l {place}");
        return Err(invalid("not a regular file".into(), fix));
    }
    let user = rustix::process::geteuid().as_raw();
    if about.uid() != 0 && about.uid() != user {
        return Err(invalid(
            format!("owned by user {}, who is neither root nor you", about.uid()),
            format!("check the content of the file, then: chown {user} {place}"),
        ));
    }
    if about.mode() & 0o022 != 0 {
        return Err(invalid(
            format!("other users can write to it (mode {:04o})", about.mode() & 0o7777),
            format!("check the content of the file, then: chmod go-w {place}"),
        ));
    }
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(|error| failed("read", &error))?;
    if bytes.len() as u64 > MOST_BYTES {
        let fix = format!("remove what is no setting: wc -c {place}");
        return Err(invalid("larger than 64 KiB".into(), fix));
    }
    String::from_utf8(bytes).map(Some).map_err(|error| {
        let fix = format!("find the bytes: grep -naxv '.*' {place}");
        invalid(format!("not UTF-8 at byte {}", error.utf8_error().valid_up_to() + 1), fix)
    })
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

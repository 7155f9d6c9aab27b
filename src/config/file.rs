//! Reads a configuration file, and rejects a file that other users can change. It does not parse
//! the text.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::OFlags;

use super::{ConfigError, FILE_VARIABLE};

const MAX_BYTES: u64 = 64 << 10;

/// Reads a configuration file. Returns `None` if a file in a default place does not exist.
///
/// # Errors
/// The file cannot be read, is larger than 64 KiB, is no regular file or is not UTF-8. Or other
/// users can change the file.
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
    // A FIFO would wait for a writer, and a terminal would become the controlling terminal.
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
    if let Some((what, command)) = distrust(about.uid(), about.mode(), user) {
        let fix = format!("check the content of the file, then: {command} {place}");
        return Err(invalid(what, fix));
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|error| failed("read", &error))?;
    if bytes.len() as u64 > MAX_BYTES {
        let fix = format!("remove everything that is not a setting: wc -c {place}");
        return Err(invalid("larger than 64 KiB".into(), fix));
    }
    String::from_utf8(bytes).map(Some).map_err(|error| {
        let fix = format!("find the bytes: grep -naxv '.*' {place}");
        invalid(format!("not UTF-8 at byte {}", error.utf8_error().valid_up_to() + 1), fix)
    })
}

/// Returns why `user` cannot trust a file with this owner and mode, and the command as a fix.
fn distrust(owner: u32, mode: u32, user: u32) -> Option<(String, String)> {
    const GROUP_OR_OTHERS_WRITE: u32 = 0o022;
    if owner != 0 && owner != user {
        let what = format!("owned by user {owner}, who is neither root nor you");
        return Some((what, format!("sudo chown {user}")));
    }
    (mode & GROUP_OR_OTHERS_WRITE != 0).then(|| {
        let what = format!("other users can write to it (mode {:04o})", mode & 0o7777);
        (what, "chmod go-w".to_owned())
    })
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[test]
fn only_root_and_the_user_are_trusted() {
    assert_eq!(distrust(1_000, 0o100_644, 1_000), None);
    assert_eq!(distrust(0, 0o100_644, 1_000), None);
    assert_eq!(distrust(0, 0o100_600, 0), None);
    let command = |owner, mode, user| distrust(owner, mode, user).map(|(_, command)| command);
    assert_eq!(command(1_001, 0o100_600, 1_000).as_deref(), Some("sudo chown 1000"));
    assert_eq!(command(1_001, 0o100_600, 0).as_deref(), Some("sudo chown 0"));
    for mode in [0o100_620, 0o100_602, 0o100_666] {
        assert_eq!(command(1_000, mode, 1_000).as_deref(), Some("chmod go-w"));
    }
}

//! Reads text from files and stdin, with a size limit. The modules of `site` use it.

use std::io::{self, Read};
use std::path::Path;
use std::sync::OnceLock;

use crate::hosts::set::LookupError;
use crate::input::Input;

/// Limit of a text, in bytes. It holds 65,536 names of 60 letters.
pub(super) const MAX_BYTES: usize = 4 << 20;

/// Reads a file or a pipe of the shell. A directory or an endless file is an error.
pub(super) fn of_file(path: &Path) -> Result<String, LookupError> {
    let place = path.display().to_string();
    let file = Input::open(path).map_err(|error| {
        let what = LookupError::new(format!("cannot open {place}: {}", plain(&error)));
        what.fix(match error.kind() {
            io::ErrorKind::NotFound => "check the file name".to_owned(),
            _ => format!("check the owner and mode of the file: ls -l {place}"),
        })
    })?;
    of(file, &place)
}

/// Reads stdin once.
pub(super) fn stdin() -> Result<String, LookupError> {
    static STDIN: OnceLock<Result<String, LookupError>> = OnceLock::new();
    STDIN.get_or_init(|| of(io::stdin().lock(), "stdin")).clone()
}

pub(super) fn of(from: impl Read, place: &str) -> Result<String, LookupError> {
    let mut bytes = Vec::new();
    from.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(|error| {
        LookupError::new(format!("cannot read {place}: {}", plain(&error)))
            .fix(format!("check the file: ls -l {place}"))
    })?;
    if bytes.len() > MAX_BYTES {
        return Err(LookupError::new(format!("{place} is larger than 4 MiB"))
            .fix("split the file, and name each part with its own -H ^FILE"));
    }
    String::from_utf8(bytes).map_err(|error| {
        LookupError::new(format!("{place} is not UTF-8 text: {error}")).fix("name a text file")
    })
}

/// Formats an error in the words of errno(3), without its number.
pub(super) fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_lowercase()
}

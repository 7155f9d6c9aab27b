//! Fuzz target for configuration files.

use std::path::Path;

use rdmactl::config::{Config, ConfigError, SETTINGS};
use rdmactl::render::escape;

use super::shown::is_harmless;

/// Parses a configuration file. Each value has a line of the file as its origin, and an error
/// names a line of the file.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut config = Config::default();
    let count = text.split('\n').count();
    match config.add_file(Path::new("file"), text) {
        Ok(()) => {
            let entries = config.entries();
            assert_eq!(entries.len(), SETTINGS.len());
            for entry in entries.iter().filter(|entry| entry.origin != "default") {
                let line = line_of(&entry.origin).expect("a line");
                assert!((1..=count).contains(&line), "{entry:?}");
            }
        }
        Err(error) => {
            check_error(&error, text);
            // A file with a mistake sets nothing.
            assert_eq!(config, Config::default());
        }
    }
}

/// Checks that an error names a line of the text, has a fix, and quotes only a part of the text.
pub(crate) fn check_error(error: &ConfigError, text: &str) {
    let line = line_of(&error.what).expect("a line");
    assert!((1..=text.split('\n').count()).contains(&line), "{error:?}");
    assert!(!error.fix.is_empty() && is_harmless(&escape(&error.what)), "{error:?}");
    assert!(error.what.len() <= 8 * text.len() + 1_000, "{}", error.what.len());
}

fn line_of(place: &str) -> Option<usize> {
    place.strip_prefix("file:")?.split(':').next()?.parse().ok()
}

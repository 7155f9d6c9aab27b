//! Fuzz target for the escapes of text from another machine.

use rdmactl::render::escape;

use super::shown::is_harmless;

/// Escapes text. The result does not control a terminal, and a second escape changes nothing.
/// Printable ASCII text remains unchanged.
pub fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let safe = escape(&text);
    assert!(is_harmless(&safe) && !safe.contains('\n'), "{safe:?}");
    assert_eq!(escape(&safe), safe);
    assert!(safe.len() <= 10 * text.len().max(1));
    if text.chars().all(|letter| (' '..='~').contains(&letter)) {
        assert_eq!(safe, text);
    }
}

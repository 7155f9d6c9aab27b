//! Text from another machine, of any content.

use rdmactl::render::escape;

use super::shown::is_harmless;

/// Escapes text: nothing of it does anything to a terminal, once is enough, and text that needs no
/// escape stays as it is.
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

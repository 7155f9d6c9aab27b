//! Fuzz target for deltas between texts, also applied to a text that is not their base.

use rdmactl::wire::TextDelta;

/// Builds and applies deltas. The input is an old text, a new text and a delta in JSON, separated
/// by zero bytes.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut texts = text.splitn(3, '\0');
    let mut next = || texts.next().unwrap_or_default();
    let (old, new) = (next(), next());
    let made = TextDelta::between(old, new).apply(old).expect("a delta of this text");
    assert_eq!(made, new);
    // A delta for another text is rejected or gives some text. The text is at most as long as the
    // old text and the delta together.
    if let Ok(delta) = serde_json::from_str::<TextDelta>(next())
        && let Ok(text) = delta.apply(old)
    {
        assert!(text.len() <= old.len() + data.len());
    }
}

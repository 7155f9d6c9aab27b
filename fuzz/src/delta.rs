//! Changes of texts, of other texts than theirs too.

use rdmactl::wire::TextDelta;

/// Two texts and a change, parted by zeros.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut texts = text.splitn(3, '\0');
    let mut next = || texts.next().unwrap_or_default();
    let (old, new) = (next(), next());
    let made = TextDelta::between(old, new).apply(old).expect("it is a change of that text");
    assert_eq!(made, new);
    // Somebody else's change is refused, or makes some text, and no more than there was and it brings.
    if let Ok(change) = serde_json::from_str::<TextDelta>(next())
        && let Ok(text) = change.apply(old)
    {
        assert!(text.len() <= old.len() + data.len());
    }
}

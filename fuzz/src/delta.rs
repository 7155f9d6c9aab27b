//! Changes of JSON values, of other values than theirs too.

use rdmactl::wire::Change;
use serde_json::Value;

/// Two values and a change, parted by zeros.
pub fn run(data: &[u8]) {
    let mut texts = data.splitn(3, |byte| *byte == 0);
    let mut value = || serde_json::from_slice::<Value>(texts.next().unwrap_or_default());
    let (Ok(old), Ok(new)) = (value(), value()) else { return };
    let mut made = old.clone();
    if let Some(change) = Change::between(&old, &new) {
        change.apply(&mut made).expect("it is a change of that value");
    }
    assert_eq!(made, new);
    // Somebody else's change is refused, or makes some value.
    if let Ok(change) = serde_json::from_slice::<Change>(texts.next().unwrap_or_default()) {
        let _ = change.apply(&mut made);
    }
}

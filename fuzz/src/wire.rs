//! Fuzz target for frames between the operator, agents and workers.

use rdmactl::wire::limits::FRAME;
use rdmactl::wire::{
    FRAME_LIMIT, FrameReader, FrameWriter, FromAgent, FromWorker, ToAgent, ToWorker,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Reads frames. The first byte selects the direction: from or to an agent, from or to a worker.
pub fn run(data: &[u8]) {
    let Some((way, frames)) = data.split_first() else { return };
    estimate(frames);
    estimate(frames.get(4..).unwrap_or_default());
    match way % 4 {
        0 => all::<FromAgent>(frames),
        1 => all::<ToAgent>(frames),
        2 => all::<FromWorker>(frames),
        _ => all::<ToWorker>(frames),
    }
}

/// Checks that each message is written and read back unchanged.
fn all<T: Serialize + DeserializeOwned>(frames: &[u8]) {
    let mut reader = FrameReader::new(frames);
    let mut length = 0;
    while let Ok(Some(message)) = reader.read::<T>() {
        let mut bytes = Vec::new();
        FrameWriter::new(&mut bytes).write(&message).expect("what fitted into a frame fits again");
        assert!(bytes.len() <= FRAME_LIMIT + 4);
        let again: T = FrameReader::new(&bytes[..]).read().expect("a frame").expect("a message");
        let json = |message: &T| serde_json::to_value(message).expect("JSON");
        assert_eq!(json(&again), json(&message));
        length += 4;
    }
    assert!(length <= frames.len());
}

/// Checks the memory estimate of a text. The estimate covers the value that serde parses, and the
/// length of the text bounds the estimate.
fn estimate(json: &[u8]) {
    let Ok(bytes) = FRAME.check(json) else { return };
    // The shortest member of a list is `{},`, and a list allocates four members at first.
    assert!(bytes <= (json.len() + 1) * 4 * 512, "{bytes} bytes of {}", json.len());
    if let Ok(value) = serde_json::from_slice::<Value>(json) {
        assert!(bytes >= least(&value), "{bytes} bytes of {value}");
    }
}

/// Returns the minimum memory of a value, in bytes.
fn least(value: &Value) -> usize {
    16 + match value {
        Value::String(text) => text.len(),
        Value::Array(members) => members.iter().map(|member| 24 + least(member)).sum(),
        Value::Object(members) => members.values().map(least).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

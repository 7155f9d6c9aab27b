//! Frames from the other end, of any content.

use rdmactl::wire::{
    FRAME_LIMIT, FrameReader, FrameWriter, FromAgent, FromWorker, ToAgent, ToWorker,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Reads the frames of one of the four ways, which the first byte chooses.
pub fn run(data: &[u8]) {
    let Some((way, frames)) = data.split_first() else { return };
    match way % 4 {
        0 => all::<FromAgent>(frames),
        1 => all::<ToAgent>(frames),
        2 => all::<FromWorker>(frames),
        _ => all::<ToWorker>(frames),
    }
}

/// Each message, written and read again, is itself.
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

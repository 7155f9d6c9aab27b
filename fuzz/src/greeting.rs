//! Fuzz target for the greeting of an agent, and for the line encoding of the bytes after it.

use std::io::{Read as _, Write as _};

use rdmactl::render::escape;
use rdmactl::wire::{GreetingReader, LineReader, LineWriter, Recipient};

use super::shown::is_harmless;

const NONCE: &str = "c0ffee";

/// Reads a greeting. Only bytes with the nonce are a greeting, and an error quotes only a part of
/// the bytes.
pub fn run(data: &[u8]) {
    as_lines(data);
    let mut stream = data;
    let mut reader = GreetingReader::new(&NONCE, "RDMACTL/none", "RDMACTL/run");
    match reader.read(&mut stream) {
        Ok(greeting) => {
            assert!(data.windows(NONCE.len()).any(|part| part == NONCE.as_bytes()));
            // Messages hold the version without quotation marks.
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".+-".contains(&byte);
            assert!(greeting.version.len() <= 64 && greeting.version.bytes().all(is_plain));
        }
        Err(error) => {
            let text = error.to_string() + &reader.output();
            assert!(is_harmless(&escape(&text)) && text.len() <= 2_500, "{text:?}");
        }
    }
    // A kill command names neither the process group of this process (0) nor init (1).
    let leader = reader.started().and_then(|started| started.leader());
    assert!(leader.is_none_or(|leader| leader.pid > 1));
}

/// Decodes the bytes as lines, then encodes and decodes them. Lines hold at most as many bytes as
/// they have, and encoded bytes are read back unchanged.
fn as_lines(data: &[u8]) {
    let mut decoded = Vec::new();
    let _ = LineReader::new(data, &NONCE, Recipient::Operator).read_to_end(&mut decoded);
    assert!(decoded.len() <= data.len());
    let mut lines = Vec::new();
    LineWriter::new(&mut lines, &NONCE, Recipient::Operator).write_all(data).expect("memory");
    let mut arrived = Vec::new();
    LineReader::new(&*lines, &NONCE, Recipient::Operator).read_to_end(&mut arrived).expect("lines");
    assert_eq!(arrived, data);
}

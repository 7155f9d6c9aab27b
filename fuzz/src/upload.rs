//! What a host says of a program that was sent to it, of any content.

use rdmactl::fleet::{Exit, Nonce, Output, Uploaded};
use rdmactl::render::escape;

use super::shown::is_harmless;

/// Reads the words of a host: stdout, and behind a zero byte stderr. `NONCE` in them is the right one,
/// without which no program counts as sent.
pub fn run(data: &[u8]) {
    let nonce = Nonce::new().expect("the system has random numbers");
    let at = data.iter().position(|byte| *byte == 0).unwrap_or(data.len());
    let (stdout, stderr) = data.split_at(at);
    let told = String::from_utf8_lossy(stdout).replace("NONCE", &nonce.to_string());
    let exit = Exit { status: Some(1), signal: None };
    let output = Output { stdout: told.into(), stderr: stderr.to_vec(), exit };
    match Uploaded::of(&output, nonce) {
        Ok(uploaded) => {
            assert_eq!(uploaded.nonce, nonce);
            assert!(stdout.windows(5).any(|part| part == b"NONCE"), "{uploaded:?}");
        }
        Err(failure) => {
            assert!(is_harmless(&escape(&failure.detail)), "{:?}", failure.detail);
            assert!(failure.detail.len() <= 2_400, "{:?}", failure.detail);
        }
    }
}

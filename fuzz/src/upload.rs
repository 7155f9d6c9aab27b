//! Fuzz target for the output of a host that receives an upload.

use rdmactl::fleet::{Exit, Nonce, Output, Uploaded};
use rdmactl::render::escape;

use super::shown::is_harmless;

/// Parses the output of a host: stdout, then a zero byte, then stderr. The word `NONCE` stands
/// for the correct nonce. Without the nonce, no upload is accepted.
pub fn run(data: &[u8]) {
    let nonce = Nonce::new().expect("the system has random numbers");
    let at = data.iter().position(|byte| *byte == 0).unwrap_or(data.len());
    let (stdout, stderr) = data.split_at(at);
    let text = String::from_utf8_lossy(stdout).replace("NONCE", &nonce.to_string());
    let exit = Exit { status: Some(1), signal: None };
    let output = Output { stdout: text.into(), stderr: stderr.to_vec(), exit };
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

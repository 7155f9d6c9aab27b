//! What `ssh -G` prints, of any content.

use rdmactl::fleet::{Credentials, SshConfig};
use rdmactl::hosts::Host;
use rdmactl::render::escape;

use super::shown::is_harmless;

/// Makes a target of the options: it stays the host that was asked for, and an error says why in
/// bounds.
pub fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let host = Host::named("web");
    match SshConfig::parse(&text).target(&host, Credentials::default()) {
        Ok(target) => {
            assert_eq!(target.host, host);
            let files = target.identity_files.len() + target.known_hosts.len();
            assert!(files <= text.len());
        }
        Err(failure) => {
            assert!(is_harmless(&escape(&failure.detail)));
            // 80 characters of the input, escaped, and a sentence.
            assert!(failure.detail.len() <= 80 * "\\u{10ffff}".len() + 200, "{}", failure.detail);
        }
    }
}

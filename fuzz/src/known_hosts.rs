//! Fuzz target for `known_hosts` files and host keys.

use std::path::Path;

use rdmactl::fleet::known_hosts::{HostKey, HostKeyStatus, KnownHosts, KnownHostsName};

/// An ed25519 key in wire form, and as text in a `known_hosts` file.
const BLOB: &[u8] = b"\0\0\0\x0bssh-ed25519\0\0\0\x20rdmactl-fuzz-rdmactl-fuzz-012345";
const TEXT: &str = "AAAAC3NzaC1lZDI1NTE5AAAAIHJkbWFjdGwtZnV6ei1yZG1hY3RsLWZ1enotMDEyMzQ1";

/// Looks up a host in a `known_hosts` file.
///
/// The first line is the name of the host, and the other lines are the file. The bytes after a
/// zero byte are a host key. A key is known only if the file contains it.
pub fn run(data: &[u8]) {
    let (text, shown) =
        data.split_at(data.iter().position(|byte| *byte == 0).unwrap_or(data.len()));
    let text = String::from_utf8_lossy(text);
    let (name, record) = text.split_once('\n').unwrap_or(("web", &text));
    let mut known = KnownHosts::default();
    known.add(Path::new("fuzzed"), record);
    for lookup in [
        KnownHostsName::host(name, 22),
        KnownHostsName::host(name, 2222),
        KnownHostsName::alias(name),
    ] {
        let found = known.of(&lookup);
        let key = HostKey::from_blob(BLOB).expect("a key");
        if found.verify(&key, 1_700_000_000) == HostKeyStatus::Known {
            assert!(record.contains(TEXT), "{record:?}");
        }
        if let Some(key) = shown.get(1..).and_then(HostKey::from_blob) {
            assert!(key.fingerprint().len() <= 60 && key.kind().len() <= shown.len());
            let _ = found.verify(&key, 1_700_000_000);
        }
        let order = found.order_algorithms(&["ssh-ed25519", "rsa-sha2-512", "ssh-rsa"]);
        assert_eq!(order.split(',').count(), 3, "{order}");
    }
}

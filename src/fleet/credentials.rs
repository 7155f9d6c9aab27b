//! Credentials on this machine, for the choice between the built-in SSH and the `ssh` program.

use std::env;
use std::path::{Path, PathBuf};

use rustix::process::getuid;

/// Kinds of credentials that exist on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Credentials {
    /// True if a key file of the configuration or an agent exists.
    pub has_key: bool,
    /// True if Kerberos tickets seem to exist. Only the names of the ticket files are checked.
    pub has_ticket: bool,
}

impl Credentials {
    /// Checks the key files, and the socket of `ssh-agent`, that the configuration of a host names.
    pub(super) fn look(identity_files: &[PathBuf], agent: Option<&Path>) -> Self {
        let has_file = || identity_files.iter().any(|file| file.exists());
        let has_agent = agent.is_some_and(Path::exists);
        Self { has_key: has_agent || has_file(), has_ticket: has_ticket() }
    }
}

fn has_ticket() -> bool {
    let name = env::var("KRB5CCNAME").unwrap_or_default();
    match name.split_once(':') {
        Some(("FILE" | "DIR", path)) => Path::new(path).exists(),
        // Only Kerberos can check a keyring or a daemon.
        Some(_) => true,
        None if !name.is_empty() => Path::new(&name).exists(),
        None => Path::new(&format!("/tmp/krb5cc_{}", getuid().as_raw())).exists(),
    }
}

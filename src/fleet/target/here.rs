//! What is on this machine to log in with.

use std::env;
use std::path::Path;

use super::Target;

/// Whether there is anything to prove who we are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Here {
    /// A key file of the configuration, or an agent.
    pub has_key: bool,
    /// Tickets of Kerberos, as far as a look at names tells.
    pub has_ticket: bool,
}

impl Here {
    /// Looks; the files are those of a target.
    pub(super) fn look(target: &Target) -> Self {
        let has_file = || target.identity_files.iter().any(|file| file.exists());
        let has_agent = target.agent.as_ref().is_some_and(|socket| socket.exists());
        Self { has_key: has_agent || has_file(), has_ticket: has_ticket() }
    }
}

fn has_ticket() -> bool {
    let name = env::var("KRB5CCNAME").unwrap_or_default();
    match name.split_once(':') {
        Some(("FILE" | "DIR", path)) => Path::new(path).exists(),
        // A keyring or a daemon: only Kerberos itself can tell.
        Some(_) => true,
        None if !name.is_empty() => Path::new(&name).exists(),
        None => {
            let user = rustix::process::getuid().as_raw();
            Path::new(&format!("/tmp/krb5cc_{user}")).exists()
        }
    }
}

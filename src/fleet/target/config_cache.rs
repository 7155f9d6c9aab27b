//! Groups of hosts that share one `ssh -G`, because the same `Host` lines match them.
//!
//! This module only matches hosts to `Host` lines; `ssh` reads the options. If a file has a
//! keyword that this module does not support, each host gets its own `ssh -G`.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use super::lines::Lines;
use crate::fleet::ssh_program::key;
use crate::fleet::{HostResult, SshCall, SshConfig, Watchdog};

/// Options whose value may contain the name of the host.
const NAME_DEPENDENT: &str = "identityfile certificatefile identityagent userknownhostsfile \
    globalknownhostsfile hostkeyalias proxyjump proxycommand controlpath";

/// Replies of `ssh -G` in a run, by class.
#[derive(Debug, Clone, Default)]
pub struct SshConfigCache {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// `Host` lines of the file that the first call names. All calls of a run name the same file.
    lines: OnceLock<(Option<PathBuf>, Option<Lines>)>,
    answers: Mutex<HashMap<Class, Arc<OnceLock<CachedConfig>>>>,
    /// True if the `ssh` program exists. A run has one `ssh` program.
    has_program: OnceLock<bool>,
}

/// Key of hosts with the same configuration.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Class {
    call: SshCall,
    lines: Vec<bool>,
}

#[derive(Debug)]
struct CachedConfig {
    config: HostResult<SshConfig>,
    /// True if the reply is valid for the whole class, except for the name.
    is_shared: bool,
}

impl SshConfigCache {
    pub(super) fn has_program(&self, look: impl FnOnce() -> bool) -> bool {
        *self.shared.has_program.get_or_init(look)
    }

    /// Returns the configuration of a host, from the reply for its class or from `ask`.
    pub(super) fn config(
        &self,
        call: &SshCall,
        watchdog: &Watchdog,
        ask: impl Fn(&SshCall) -> HostResult<SshConfig>,
    ) -> HostResult<SshConfig> {
        let read = || (call.config.clone(), Lines::read(call.config.as_deref(), watchdog));
        let (config, lines) = self.shared.lines.get_or_init(read);
        let lines = lines.as_ref().filter(|_| *config == call.config);
        // `ssh` matches names in lower case at some places and unchanged at others.
        let is_plain = !call.host.contains(|c: char| c.is_ascii_uppercase() || c == '%');
        let Some(lines) = lines.filter(|_| is_plain && has_no_token(call)) else {
            return ask(call);
        };
        let nameless = SshCall { host: String::new(), ..call.clone() };
        let class = Class { call: nameless, lines: lines.about(&call.host) };
        let slot = Arc::clone(self.shared.answers.lock().entry(class).or_default());
        let mut first = false;
        let answer = slot.get_or_init(|| {
            first = true;
            let config = ask(call);
            let is_shared = config.as_ref().is_ok_and(|config| {
                let mut values = NAME_DEPENDENT.split(' ').flat_map(|option| config.all(option));
                config.first("hostname") == Some(&*lines.host_name(&call.host))
                    && values.all(|value| !value.contains(&call.host))
            });
            CachedConfig { config, is_shared }
        });
        match &answer.config {
            Ok(config) if first => Ok(config.clone()),
            Ok(config) if answer.is_shared => {
                Ok(config.with("hostname", lines.host_name(&call.host)))
            }
            Err(failure) if first => Err(failure.clone()),
            // `ssh` may accept another host of the class, and its message names the host.
            _ => ask(call),
        }
    }
}

/// True if no option of the command line has a token or changes the name of the host.
fn has_no_token(call: &SshCall) -> bool {
    call.options.iter().all(|option| {
        let key = key(option).to_ascii_lowercase();
        !option.contains('%') && key != "hostname" && !key.starts_with("canonical")
    })
}

//! One `ssh -G` for many hosts: those that the same `Host` lines of the configuration are about.
//!
//! Only what decides which lines are about a host is read here; what the lines say is `ssh`'s matter.
//! Where a file has anything that this does not know, every host is asked for by itself.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::lines::Lines;
use super::{SshCall, SshConfig};
use crate::fleet::Watchdog;
use crate::fleet::ssh_program::key;
use crate::model::HostFailure;

/// Options that may hold the name of the host that was asked for.
const TELLING: [&str; 9] = [
    "identityfile",
    "certificatefile",
    "identityagent",
    "userknownhostsfile",
    "globalknownhostsfile",
    "hostkeyalias",
    "proxyjump",
    "proxycommand",
    "controlpath",
];

/// The answers of a run, by class.
#[derive(Debug, Clone, Default)]
pub struct Classes {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Of the file that the first call named, as all of a run do.
    lines: OnceLock<(Option<PathBuf>, Option<Lines>)>,
    answers: Mutex<HashMap<Class, Arc<OnceLock<Answer>>>>,
    /// Whether there is an `ssh` program, of which a run has one.
    has_program: OnceLock<bool>,
}

/// What hosts with the same configuration have in common.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Class {
    /// The call, without the name.
    call: SshCall,
    /// Which `Host` lines are about them.
    lines: Vec<bool>,
}

/// The first host of a class, and what `ssh` said of it.
#[derive(Debug)]
struct Answer {
    config: Result<SshConfig, HostFailure>,
    /// Whether it is the same for all of the class, but for the name.
    is_shared: bool,
}

impl Classes {
    /// Whether the program is there, as `look` finds when it is asked for the first time.
    pub(super) fn has_program(&self, look: impl FnOnce() -> bool) -> bool {
        *self.shared.has_program.get_or_init(look)
    }

    /// The configuration of a host, by `ask` or as it was told for another of its class.
    pub(super) fn config(
        &self,
        call: &SshCall,
        watchdog: &Watchdog,
        ask: impl Fn(&SshCall) -> Result<SshConfig, HostFailure>,
    ) -> Result<SshConfig, HostFailure> {
        let read = || (call.config.clone(), Lines::read(call.config.as_deref(), watchdog));
        let (config, lines) = self.shared.lines.get_or_init(read);
        let lines = lines.as_ref().filter(|_| *config == call.config);
        // ssh itself looks at names in lower case here and as they are there.
        let is_plain = !call.host.contains(|c: char| c.is_ascii_uppercase() || c == '%');
        let Some(lines) = lines.filter(|_| is_plain && has_no_token(call)) else {
            return ask(call);
        };
        let class = Class {
            call: SshCall { host: String::new(), ..call.clone() },
            lines: lines.about(&call.host),
        };
        let slot = {
            let mut answers = self.shared.answers.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(answers.entry(class).or_default())
        };
        let mut first = false;
        let answer = slot.get_or_init(|| {
            first = true;
            let config = ask(call);
            let is_shared = config.as_ref().is_ok_and(|config| {
                config.first("hostname") == Some(&*lines.host_name(&call.host))
                    && TELLING.iter().all(|option| is_nameless(config, option, &call.host))
            });
            Answer { config, is_shared }
        });
        match &answer.config {
            Ok(config) if first => Ok(config.clone()),
            Ok(config) if answer.is_shared => {
                Ok(config.with("hostname", lines.host_name(&call.host)))
            }
            Err(failure) if first => Err(failure.clone()),
            // What ssh refused for one may hold for another, and it names the host.
            _ => ask(call),
        }
    }
}

fn is_nameless(config: &SshConfig, option: &str, host: &str) -> bool {
    config.all(option).iter().all(|value| !value.contains(host))
}

/// What is put into options of the command line is not read here.
fn has_no_token(call: &SshCall) -> bool {
    call.options.iter().all(|option| {
        let key = key(option).to_ascii_lowercase();
        !option.contains('%') && key != "hostname" && !key.starts_with("canonical")
    })
}

/// Where the files of the configuration are, as `ssh` has it.
pub(super) fn files(config: Option<&std::path::Path>) -> Vec<(PathBuf, PathBuf)> {
    let user = super::tokens::home().join(".ssh");
    match config {
        Some(file) if file.as_os_str() == "none" => Vec::new(),
        Some(file) => vec![(file.to_owned(), user)],
        None => {
            vec![(user.join("config"), user), ("/etc/ssh/ssh_config".into(), "/etc/ssh".into())]
        }
    }
}

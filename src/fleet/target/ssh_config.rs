//! What `ssh -G` prints: one option a line, its name in lower case.

use std::collections::HashMap;
use std::env;
use std::path::PathBuf;
use std::time::Duration;

use super::tokens::{self, Tokens};
use super::{AddressFamily, HostKeyPolicy, Target};
use crate::fleet::Host;
use crate::model::{HostFailure, Reason};

/// The effective options of one host, or of every host of its class.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SshConfig {
    options: HashMap<String, Vec<String>>,
}

/// Options that need another transport, with the value at which they do not.
const FOREIGN: [(&str, &str); 8] = [
    ("proxyjump", "none"),
    ("proxycommand", "none"),
    ("pkcs11provider", "none"),
    ("knownhostscommand", "none"),
    ("revokedhostkeys", "none"),
    ("bindaddress", "none"),
    ("bindinterface", "none"),
    ("pubkeyauthentication", "true"),
];

impl SshConfig {
    /// Reads the text; unknown options are kept and never asked for.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut options: HashMap<String, Vec<String>> = HashMap::new();
        for line in text.lines() {
            let (name, value) = line.split_once(' ').unwrap_or((line, ""));
            options.entry(name.to_ascii_lowercase()).or_default().push(value.trim().to_owned());
        }
        Self { options }
    }

    /// The target that these options describe for a host.
    ///
    /// # Errors
    /// An option needs what this transport lacks.
    pub fn target(&self, host: &Host) -> Result<Target, HostFailure> {
        self.refuse_foreign()?;
        let address = self.first("hostname").unwrap_or(&host.name).to_owned();
        let port = host.port.or_else(|| self.first("port")?.parse().ok()).unwrap_or(22);
        let user = self.first("user").unwrap_or_default().to_owned();
        let alias = self.set("hostkeyalias").map(str::to_owned);
        let tokens = Tokens {
            address: &address,
            named: &host.name,
            alias: alias.as_deref(),
            port,
            user: &user,
        };
        let files = |option: &str| -> Result<Vec<PathBuf>, HostFailure> {
            self.all(option)
                .iter()
                .filter(|file| *file != "none")
                .map(|file| tokens.path(file))
                .collect()
        };
        let lists = |option: &str| -> Result<Vec<PathBuf>, HostFailure> {
            let lines = self.all(option).iter();
            let names = lines.flat_map(|line| tokens::split_quoted(line));
            names.filter(|file| file != "none").map(|file| tokens.path(&file)).collect()
        };
        Ok(Target {
            host: host.clone(),
            identity_files: files("identityfile")?,
            certificate_files: files("certificatefile")?,
            agent: self.agent(&tokens)?,
            identities_only: self.is("identitiesonly", &["yes", "true"]),
            known_hosts: [lists("userknownhostsfile")?, lists("globalknownhostsfile")?].concat(),
            host_keys: self.host_keys(),
            connect_timeout: self
                .first("connecttimeout")
                .and_then(|seconds| seconds.parse().ok())
                .filter(|seconds| *seconds > 0)
                .map(Duration::from_secs),
            family: match self.first("addressfamily") {
                Some("inet") => AddressFamily::Inet,
                Some("inet6") => AddressFamily::Inet6,
                _ => AddressFamily::Any,
            },
            host_key_alias: alias,
            address,
            port,
            user,
        })
    }

    fn all(&self, option: &str) -> &[String] {
        self.options.get(option).map_or(&[], Vec::as_slice)
    }

    fn first(&self, option: &str) -> Option<&str> {
        self.all(option).first().map(String::as_str).filter(|value| !value.is_empty())
    }

    fn set(&self, option: &str) -> Option<&str> {
        self.first(option).filter(|value| *value != "none")
    }

    fn is(&self, option: &str, values: &[&str]) -> bool {
        self.first(option).is_some_and(|value| values.contains(&value))
    }

    fn refuse_foreign(&self) -> Result<(), HostFailure> {
        for (option, harmless) in FOREIGN {
            let harmless = [harmless, if harmless == "true" { "yes" } else { harmless }];
            if let Some(value) = self.first(option).filter(|value| !harmless.contains(value)) {
                let detail = format!(
                    "its SSH configuration says `{option} {value}`, which the built-in SSH lacks"
                );
                return Err(HostFailure::new(Reason::Transport, detail)
                    .fix("the `ssh` transport will take such hosts; it is not offered yet"));
            }
        }
        Ok(())
    }

    fn host_keys(&self) -> HostKeyPolicy {
        match self.first("stricthostkeychecking") {
            Some("no" | "off" | "false") => HostKeyPolicy::Off,
            Some("accept-new") => HostKeyPolicy::AcceptNew,
            _ => HostKeyPolicy::Strict,
        }
    }

    fn agent(&self, tokens: &Tokens<'_>) -> Result<Option<PathBuf>, HostFailure> {
        let variable =
            |name: &str| env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from);
        match self.first("identityagent") {
            None | Some("SSH_AUTH_SOCK") => Ok(variable("SSH_AUTH_SOCK")),
            Some("none") => Ok(None),
            Some(value) => match value.strip_prefix('$') {
                Some(name) => Ok(variable(name.trim_matches(['{', '}']))),
                None => tokens.path(value).map(Some),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: &str = "host web\nuser root\nhostname 10.0.0.7\nport 2222\n\
        addressfamily any\nidentitiesonly no\nstricthostkeychecking ask\nconnecttimeout none\n\
        identityfile ~/.ssh/id_%r\nidentityfile /keys/%h-%p\nidentityfile none\n\
        userknownhostsfile /k/a \"/k/b c\"\nglobalknownhostsfile /etc/k\nproxyjump none\n\
        hostkeyalias none\nidentityagent none\n";

    #[test]
    fn the_options_of_a_host_become_its_target() {
        let target = SshConfig::parse(ANSWER).target(&Host::named("web")).unwrap();
        assert_eq!((target.address.as_str(), target.port), ("10.0.0.7", 2222));
        assert_eq!(target.identity_files.len(), 2);
        assert!(target.identity_files[0].ends_with(".ssh/id_root"));
        assert_eq!(target.identity_files[1], PathBuf::from("/keys/10.0.0.7-2222"));
        assert_eq!(target.known_hosts, ["/k/a", "/k/b c", "/etc/k"].map(PathBuf::from));
        assert_eq!(target.host_keys, HostKeyPolicy::Strict);
        assert_eq!((target.agent, target.connect_timeout), (None, None));
    }

    #[test]
    fn an_option_that_is_not_offered_is_named() {
        let text = ANSWER.replace("proxyjump none", "proxyjump bastion");
        let failure = SshConfig::parse(&text).target(&Host::named("web")).unwrap_err();
        assert_eq!(failure.reason, Reason::Transport);
        assert!(failure.detail.contains("proxyjump bastion"), "{failure}");
        let text = ANSWER.replace("/keys/%h-%p", "/keys/%C");
        let failure = SshConfig::parse(&text).target(&Host::named("web")).unwrap_err();
        assert!(failure.detail.contains("%C"), "{failure}");
    }

    #[test]
    fn host_key_words_are_read_in_all_their_spellings() {
        for (word, policy) in [
            ("ask", HostKeyPolicy::Strict),
            ("true", HostKeyPolicy::Strict),
            ("yes", HostKeyPolicy::Strict),
            ("false", HostKeyPolicy::Off),
            ("no", HostKeyPolicy::Off),
            ("off", HostKeyPolicy::Off),
            ("accept-new", HostKeyPolicy::AcceptNew),
            ("something", HostKeyPolicy::Strict),
        ] {
            let config = SshConfig::parse(&format!("stricthostkeychecking {word}"));
            assert_eq!(config.host_keys(), policy, "{word}");
        }
    }
}

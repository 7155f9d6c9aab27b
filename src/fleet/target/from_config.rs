//! Makes the [`Target`] of a host from the output of `ssh -G`. The resolver of `target` uses it.

use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::route::{check_for_shell, jump};
use super::tokens::{self, Tokens, UnknownToken};
use super::{AddressFamily, HostKeyPolicy, SshClient, SshRoute, Target};
use crate::fleet::{Algorithms, Credentials, HostResult, SshCall, SshConfig, client_choice};
use crate::hosts::Host;

impl SshConfig {
    /// Returns the target of a host with these options.
    ///
    /// # Errors
    /// The name of the host is not safe in the `ProxyCommand` of the configuration.
    pub fn target(&self, host: &Host, credentials: Credentials) -> HostResult<Target> {
        let mut target = self.plain(host);
        let unknown = self.add_paths(&mut target)?;
        self.choose_client(&mut target, unknown, credentials);
        Ok(target)
    }

    fn choose_client(&self, target: &mut Target, unknown: Option<String>, having: Credentials) {
        let why = match unknown {
            Some(token) => Some(format!("the SSH configuration contains `{token}`")),
            None => client_choice::before_login(self, having),
        };
        target.client = why.map_or(SshClient::BuiltIn, SshClient::Program);
        target.other_logins = client_choice::other_logins(self, having);
    }

    /// Returns the target of a host, with the SSH client that suits this machine's credentials.
    pub(super) fn on_this_machine(
        &self,
        host: &Host,
        call: SshCall,
        has_master: impl Fn(&Path) -> bool,
    ) -> HostResult<Target> {
        let mut target = self.plain(host);
        let unknown = self.add_paths(&mut target)?;
        // Paths that could not be expanded are missing in the target.
        let credentials = Credentials::look(&target.identity_files, target.agent.as_deref());
        self.choose_client(&mut target, unknown, credentials);
        if let SshRoute::Jump(jump) = &mut target.route {
            jump.program.clone_from(&call.program);
            jump.config.clone_from(&call.config);
        }
        if let Some(socket) = self.unless_none("controlpath").map(PathBuf::from)
            && has_master(&socket)
        {
            target.client = SshClient::Borrowed(socket);
        }
        if target.client == SshClient::BuiltIn
            && let Some(why) = client_choice::by_options(&call.options)
        {
            target.client = SshClient::Program(why);
        }
        target.call = Some(call);
        Ok(target)
    }

    /// Returns the target without its files, agent and route.
    pub(super) fn plain(&self, host: &Host) -> Target {
        Target {
            host: host.clone(),
            address: self.first("hostname").unwrap_or(&host.name).to_owned(),
            port: host.port.or_else(|| self.first("port")?.parse().ok()).unwrap_or(22),
            user: self.first("user").unwrap_or_default().to_owned(),
            identity_files: Vec::new(),
            certificate_files: Vec::new(),
            agent: None,
            identities_only: self.is("identitiesonly", &["yes", "true"]),
            known_hosts: Vec::new(),
            record_in: None,
            host_keys: self.host_keys(),
            hash_known_hosts: self.is("hashknownhosts", &["yes", "true"]),
            host_key_alias: self.unless_none("hostkeyalias").map(str::to_owned),
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
            route: SshRoute::Direct,
            client: SshClient::BuiltIn,
            other_logins: Vec::new(),
            algorithms: Algorithms::of(self),
            call: None,
        }
    }

    /// Adds files, agent and route. Returns the text with a token that only `ssh` can expand.
    fn add_paths(&self, target: &mut Target) -> HostResult<Option<String>> {
        let (address, user) = (target.address.clone(), target.user.clone());
        let (named, alias) = (target.host.name.clone(), target.host_key_alias.clone());
        let tokens = Tokens {
            address: &address,
            named: &named,
            alias: alias.as_deref(),
            port: target.port,
            user: &user,
        };
        if self.unless_none("proxycommand").is_some() {
            for name in [&address, &named, &user] {
                check_for_shell(name)?;
            }
        }
        Ok(self.expand(&tokens, target).err().map(|UnknownToken(token)| token))
    }

    fn expand(&self, tokens: &Tokens<'_>, target: &mut Target) -> Result<(), UnknownToken> {
        if let Some(command) = self.unless_none("proxycommand") {
            target.route = SshRoute::Command(tokens.expand(command)?);
        } else if let Some(jumps) = self.unless_none("proxyjump") {
            target.route = SshRoute::Jump(jump(&tokens.expand(jumps)?));
        }
        let files = |option: &str| -> Result<Vec<PathBuf>, UnknownToken> {
            let files = self.all(option).iter().filter(|file| *file != "none");
            files.map(|file| tokens.path(file)).collect()
        };
        let lists = |option: &str| -> Result<Vec<PathBuf>, UnknownToken> {
            let names = self.all(option).iter().flat_map(|line| tokens::split_quoted(line));
            names.filter(|file| file != "none").map(|file| tokens.path(&file)).collect()
        };
        target.identity_files = files("identityfile")?;
        target.certificate_files = files("certificatefile")?;
        target.agent = self.agent(tokens)?;
        let own = lists("userknownhostsfile")?;
        target.record_in = own.first().cloned();
        target.known_hosts = [own, lists("globalknownhostsfile")?].concat();
        Ok(())
    }

    fn host_keys(&self) -> HostKeyPolicy {
        match self.first("stricthostkeychecking") {
            Some("no" | "off" | "false") => HostKeyPolicy::Off,
            Some("accept-new") => HostKeyPolicy::AcceptNew,
            _ => HostKeyPolicy::Strict,
        }
    }

    fn agent(&self, tokens: &Tokens<'_>) -> Result<Option<PathBuf>, UnknownToken> {
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
        let target =
            SshConfig::parse(ANSWER).target(&Host::named("web"), Credentials::default()).unwrap();
        assert_eq!((target.address.as_str(), target.port), ("10.0.0.7", 2222));
        assert_eq!(target.identity_files.len(), 2);
        assert!(target.identity_files[0].ends_with(".ssh/id_root"));
        assert_eq!(target.identity_files[1], PathBuf::from("/keys/10.0.0.7-2222"));
        assert_eq!(target.known_hosts, ["/k/a", "/k/b c", "/etc/k"].map(PathBuf::from));
        assert_eq!(target.record_in, Some(PathBuf::from("/k/a")));
        assert_eq!(target.host_keys, HostKeyPolicy::Strict);
        assert_eq!((target.agent, target.connect_timeout), (None, None));
    }

    #[test]
    fn a_new_host_is_never_written_into_the_systems_file() {
        let text = ANSWER.replace("/k/a \"/k/b c\"", "none");
        let target =
            SshConfig::parse(&text).target(&Host::named("web"), Credentials::default()).unwrap();
        assert_eq!((target.known_hosts, target.record_in), (vec![PathBuf::from("/etc/k")], None));
    }

    #[test]
    fn the_tokens_of_a_jump_are_replaced() {
        let text = ANSWER.replace("proxyjump none", "proxyjump %r@gw-%n:%p");
        let target =
            SshConfig::parse(&text).target(&Host::named("web"), Credentials::default()).unwrap();
        let SshRoute::Jump(jump) = target.route else { panic!("{:?}", target.route) };
        assert_eq!(
            (jump.user.as_deref(), &*jump.host, jump.port),
            (Some("root"), "gw-web", Some(2222))
        );
    }

    #[test]
    fn a_token_that_only_ssh_knows_is_for_the_program() {
        for key in ["/keys/%C", "${HOME}/key", "~bob/key"] {
            let text = ANSWER.replace("/keys/%h-%p", key);
            let target = SshConfig::parse(&text)
                .target(&Host::named("web"), Credentials::default())
                .unwrap();
            let SshClient::Program(why) = target.client else { panic!("the library") };
            assert!(why.contains(key), "{why}");
        }
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

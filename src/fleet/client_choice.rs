//! Chooses between the built-in SSH (libssh2) and the `ssh` program. No other module decides
//! this.

use super::algorithms::{Algorithms, Class};
use super::ssh_program::key;
use super::{Credentials, SshConfig};
use crate::model::{HostFailure, Reason};

/// Feature that a login needs and libssh2 lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MissingFeature {
    /// Algorithm that the host supports.
    Algorithm,
    /// Key or certificate that libssh2 cannot sign with, with its description.
    Credential(String),
}

/// Failed login of the built-in SSH.
#[derive(Debug)]
pub(super) struct LoginFailure {
    pub(super) failure: HostFailure,
    /// Features that the login needed and libssh2 lacks.
    pub(super) missing: Vec<MissingFeature>,
}

impl From<HostFailure> for LoginFailure {
    fn from(failure: HostFailure) -> Self {
        Self { failure, missing: Vec::new() }
    }
}

/// Options that need the `ssh` program: key in `ssh -G`, name, and values that the built-in SSH
/// supports. Of `identityfile`, only values of PKCS#11 need the program.
const UNSUPPORTED: [(&str, &str, &[&str]); 10] = [
    ("pkcs11provider", "PKCS11Provider", &["none"]),
    ("securitykeyprovider", "SecurityKeyProvider", &["none", "internal", "$SSH_SK_PROVIDER"]),
    ("knownhostscommand", "KnownHostsCommand", &["none"]),
    ("revokedhostkeys", "RevokedHostKeys", &["none"]),
    ("bindaddress", "BindAddress", &["none"]),
    ("bindinterface", "BindInterface", &["none"]),
    ("pubkeyauthentication", "PubkeyAuthentication", &["true", "yes", "unbound", "host-bound"]),
    ("proxyusefdpass", "ProxyUseFdpass", &["no", "false"]),
    ("verifyhostkeydns", "VerifyHostKeyDNS", &["no", "false", "ask"]),
    ("identityfile", "IdentityFile", &[]),
];

/// Login methods that only the `ssh` program supports: key in `ssh -G`, and name.
const OTHER_LOGINS: [(&str, &str); 2] = [
    ("gssapiauthentication", "GSSAPIAuthentication"),
    ("hostbasedauthentication", "HostbasedAuthentication"),
];

/// Returns the reason why the configuration needs the `ssh` program; `None` if the built-in SSH
/// tries first.
pub(super) fn before_login(config: &SshConfig, credentials: Credentials) -> Option<String> {
    for (option, name, supported) in UNSUPPORTED {
        let unsupported = match option {
            "identityfile" => {
                let mut files = config.all(option).iter().map(String::as_str);
                files.find(|file| file.starts_with("pkcs11:"))
            }
            _ => config.first(option).filter(|value| !supported.contains(value)),
        };
        if let Some(value) = unsupported {
            return Some(format!("{name} {value} is set in the SSH configuration"));
        }
    }
    if let Some(lack) = Algorithms::of(config).lack() {
        return Some(lack);
    }
    if credentials.has_key {
        return None;
    }
    let name = other_logins(config, credentials).into_iter().next()?;
    Some(format!("{name} is set in the SSH configuration, and this machine has no key"))
}

/// Options of `--ssh-option` that do not need the `ssh` program by their name alone.
/// [`before_login`] checks the values of some of these options.
const SUPPORTED: &str = "addressfamily bindaddress bindinterface casignaturealgorithms \
    certificatefile ciphers connecttimeout controlpath globalknownhostsfile gssapiauthentication \
    hashknownhosts hostbasedauthentication hostkeyalgorithms hostkeyalias hostname identitiesonly \
    identityagent identityfile kexalgorithms macs port proxycommand proxyjump \
    pubkeyauthentication requiredrsasize stricthostkeychecking user userknownhostsfile";

/// Flag that selects the `ssh` program and has no other effect: `Compression=no` is the default.
pub(super) const BY_PROGRAM: &str = "--ssh-option Compression=no";

/// Returns the reason why `--ssh-option` needs the `ssh` program: the built-in SSH would ignore
/// an option. The reason omits the value, which may be a secret.
pub(super) fn by_options(options: &[String]) -> Option<String> {
    let mut names = options.iter().map(|option| key(option));
    let is_supported = |name: &str| SUPPORTED.split(' ').any(|it| it.eq_ignore_ascii_case(name));
    let unsupported = names.find(|name| !is_supported(name))?;
    Some(format!("--ssh-option {unsupported} is set"))
}

/// Returns the enabled login methods that only the `ssh` program supports and that may succeed.
pub(super) fn other_logins(config: &SshConfig, credentials: Credentials) -> Vec<&'static str> {
    let enabled = OTHER_LOGINS.iter().filter(|(option, _)| config.is(option, &["yes", "true"]));
    // Debian and Red Hat enable GSSAPI everywhere. GSSAPI cannot succeed without a ticket.
    let possible = |name: &&str| *name != "GSSAPIAuthentication" || credentials.has_ticket;
    enabled.map(|(_, name)| *name).filter(possible).collect()
}

/// Returns the reason why the `ssh` program may succeed after the built-in SSH failed.
pub(super) fn after_failure(login: &LoginFailure, other_logins: &[&'static str]) -> Option<String> {
    match login.failure.reason {
        Reason::Transport if login.missing.contains(&MissingFeature::Algorithm) => {
            Some("the host and the built-in SSH have no common algorithm".to_owned())
        }
        Reason::Auth => {
            let credentials = login.missing.iter().filter_map(|missing| match missing {
                MissingFeature::Credential(description) => Some(description.clone()),
                MissingFeature::Algorithm => None,
            });
            let logins = other_logins.iter().map(|name| {
                format!("{name} is set in the SSH configuration, and the host accepted no key")
            });
            credentials.chain(logins).next()
        }
        _ => None,
    }
}

/// Adds to a failure of the `ssh` program the option whose list has no algorithm of the host.
/// Other failures stay unchanged. `show` is the command that prints the effective configuration.
pub(super) fn with_setting(failure: HostFailure, show: &str) -> HostFailure {
    let Some(class) = Class::of_message(&failure.detail) else { return failure };
    let option = class.option();
    let detail = format!("{}; {option} of the SSH configuration allows none", failure.detail);
    let fix = format!(
        "compare what the configuration allows with what sshd offers: {show} | grep -i ^{option}; \
         on the host: sudo sshd -T | grep -i ^{option}"
    );
    HostFailure { detail, fix: Some(fix), ..failure }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: Credentials = Credentials { has_key: true, has_ticket: false };

    #[test]
    fn settings_unsupported_by_libssh2_select_the_ssh_program() {
        for (line, why) in [
            ("pkcs11provider /lib/p.so", Some("PKCS11Provider /lib/p.so")),
            ("securitykeyprovider /lib/sk.so", Some("SecurityKeyProvider")),
            ("securitykeyprovider internal", None),
            ("pubkeyauthentication false", Some("PubkeyAuthentication false")),
            ("pubkeyauthentication true", None),
            ("proxyusefdpass yes", Some("ProxyUseFdpass")),
            ("bindinterface ib0", Some("BindInterface ib0")),
            ("revokedhostkeys none", None),
            ("identityfile ~/.ssh/id_rsa\nidentityfile pkcs11:x", Some("IdentityFile pkcs11:x")),
            ("gssapiauthentication yes\nhostbasedauthentication yes", None),
            ("proxyjump b\nproxycommand none", None),
        ] {
            let chosen = before_login(&SshConfig::parse(line), KEYS);
            match why {
                Some(why) => assert!(chosen.as_ref().is_some_and(|said| said.contains(why))),
                None => assert_eq!(chosen, None, "{line}"),
            }
        }
    }

    #[test]
    fn a_failure_for_lack_of_a_common_algorithm_names_the_option() {
        let failure = |detail: &str| HostFailure::new(Reason::Transport, detail).fix("look");
        let of = |detail: &str| with_setting(failure(detail), "ssh -G -p 7 u@n1");
        let named = of("ssh: Unable to negotiate: no matching MAC found. Their offer: x");
        assert!(named.detail.ends_with("; MACs of the SSH configuration allows none"), "{named}");
        assert!(named.fix.unwrap().contains("ssh -G -p 7 u@n1 | grep -i ^MACs"));
        assert_eq!(of("ssh: refused"), failure("ssh: refused"));
    }

    #[test]
    fn the_flag_for_the_program_selects_it() {
        let option = BY_PROGRAM.strip_prefix("--ssh-option ").unwrap().to_owned();
        assert_eq!(by_options(&[option]).as_deref(), Some("--ssh-option Compression is set"));
    }

    #[test]
    fn kerberos_needs_the_program_where_there_is_a_ticket_and_no_key() {
        let config = SshConfig::parse("gssapiauthentication yes");
        let none = Credentials { has_key: false, has_ticket: false };
        assert_eq!(before_login(&config, none), None);
        let ticket = Credentials { has_ticket: true, ..none };
        assert!(before_login(&config, ticket).is_some_and(|why| why.starts_with("GSSAPI")));
        assert_eq!(before_login(&config, Credentials { has_key: true, ..ticket }), None);
        let hosts = SshConfig::parse("hostbasedauthentication yes");
        assert!(before_login(&hosts, none).is_some_and(|why| why.starts_with("Hostbased")));
    }

    #[test]
    fn after_a_failed_login_the_program_is_used_only_if_it_may_succeed() {
        let text = "gssapiauthentication yes\nhostname n1\n";
        let plain = SshConfig::parse("hostname n1\n");
        let of = |config: &SshConfig, has_ticket| {
            other_logins(config, Credentials { has_key: true, has_ticket })
        };
        let refusal =
            |reason, missing| LoginFailure { failure: HostFailure::new(reason, ""), missing };
        let none = of(&plain, true);
        assert_eq!(after_failure(&refusal(Reason::Auth, Vec::new()), &none), None);
        let rsa = MissingFeature::Credential("ssh-agent holds an RSA certificate".into());
        let why = after_failure(&refusal(Reason::Auth, vec![rsa.clone()]), &none);
        assert_eq!(why.as_deref(), Some("ssh-agent holds an RSA certificate"));
        for reason in [Reason::HostkeyChanged, Reason::Timeout, Reason::Refused, Reason::Cancelled]
        {
            assert_eq!(
                after_failure(
                    &refusal(reason, vec![rsa.clone(), MissingFeature::Algorithm]),
                    &none
                ),
                None
            );
        }
        assert!(
            after_failure(&refusal(Reason::Transport, vec![MissingFeature::Algorithm]), &none)
                .is_some()
        );
        assert_eq!(after_failure(&refusal(Reason::Transport, Vec::new()), &none), None);
        let kerberos = SshConfig::parse(text);
        assert!(after_failure(&refusal(Reason::Auth, Vec::new()), &of(&kerberos, true)).is_some());
        assert_eq!(after_failure(&refusal(Reason::Auth, Vec::new()), &of(&kerberos, false)), None);
    }
}

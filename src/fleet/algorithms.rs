//! SSH algorithms and key sizes that the configuration allows, and those of the built-in SSH.
//!
//! `ssh -G` prints every list in full, even if no file sets it. A list alone therefore does not
//! require another transport: the built-in SSH offers the part of each list that it supports. If
//! it supports nothing of a list, the host needs the `ssh` program.

use std::sync::OnceLock;

use ssh2::MethodType;

use super::ssh_config::SshConfig;
use crate::names;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Cipher,
    KeyExchange,
    Mac,
    HostKey,
}

impl Class {
    pub(super) const ALL: [Self; 4] = [Self::Cipher, Self::KeyExchange, Self::Mac, Self::HostKey];

    /// Option of `ssh_config`, and phrase of the `ssh` program if no algorithm is common.
    const WORDS: [(&str, &str); 4] = [
        ("Ciphers", "no matching cipher found"),
        ("KexAlgorithms", "no matching key exchange method found"),
        ("MACs", "no matching MAC found"),
        ("HostKeyAlgorithms", "no matching host key type found"),
    ];

    pub(super) fn option(self) -> &'static str {
        Self::WORDS[self as usize].0
    }

    pub(super) fn of_message(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| text.contains(Self::WORDS[*class as usize].1))
    }

    pub(super) fn methods(self) -> Vec<MethodType> {
        match self {
            Self::Cipher => vec![MethodType::CryptCs, MethodType::CryptSc],
            Self::KeyExchange => vec![MethodType::Kex],
            Self::Mac => vec![MethodType::MacCs, MethodType::MacSc],
            Self::HostKey => vec![MethodType::HostKey],
        }
    }

    /// Returns the algorithms of libssh2. Empty if libssh2 returns none.
    fn supported(self) -> &'static [String] {
        static SUPPORTED: OnceLock<[Vec<String>; 4]> = OnceLock::new();
        let all = SUPPORTED.get_or_init(|| {
            let session = ssh2::Session::new().ok();
            Self::ALL.map(|class| {
                let method = class.methods().into_iter().next();
                let names = session.as_ref().zip(method);
                let names = names.and_then(|(session, of)| session.supported_algs(of).ok());
                names.unwrap_or_default().into_iter().map(str::to_owned).collect()
            })
        });
        all.get(self as usize).map_or(&[], Vec::as_slice)
    }
}

/// Extensions in the list of key exchange methods that are no methods. No configuration names
/// them. Without the second one, a connection is vulnerable to the Terrapin attack.
const EXTENSIONS: [&str; 2] = ["ext-info-c", "kex-strict-c-v00@openssh.com"];

/// Algorithms that the configuration of a host allows. An empty list allows all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Algorithms {
    lists: [Vec<String>; 4],
    pub(super) ca_signatures: Vec<String>,
    min_rsa_bits: usize,
}

impl Algorithms {
    pub(super) fn of(config: &SshConfig) -> Self {
        let first = |option: &str| config.all(option).first().map_or("", String::as_str);
        let list = |option: &str| {
            let names = first(option).split(',').map(str::trim).filter(|name| !name.is_empty());
            names.map(str::to_owned).collect()
        };
        // Before OpenSSH 9.1, Red Hat used another name for this limit.
        let sizes = ["requiredrsasize", "rsaminsize"].map(|option| first(option).parse().ok());
        Self {
            lists: Class::ALL.map(|class| list(&class.option().to_ascii_lowercase())),
            ca_signatures: list("casignaturealgorithms"),
            min_rsa_bits: sizes.into_iter().flatten().max().unwrap_or(0),
        }
    }

    fn list(&self, class: Class) -> &[String] {
        self.lists.get(class as usize).map_or(&[], Vec::as_slice)
    }

    /// Returns the algorithms that the configuration allows and libssh2 supports, by preference.
    /// `None` if the configuration has no list for the class.
    pub(super) fn offered(&self, class: Class) -> Option<Vec<&str>> {
        let list = self.list(class);
        let supported = class.supported();
        let is_supported = |name: &&str| supported.iter().any(|known| known == name);
        (!list.is_empty()).then(|| list.iter().map(String::as_str).filter(is_supported).collect())
    }

    /// Returns the offered algorithms in the format of libssh2, with the extensions.
    pub(super) fn preference(&self, class: Class) -> Option<String> {
        let mut names = self.offered(class)?;
        if class == Class::KeyExchange {
            let supported = class.supported();
            names.extend(EXTENSIONS.iter().filter(|name| supported.iter().any(|it| it == *name)));
        }
        Some(names.join(","))
    }

    /// Returns the reason why the built-in SSH supports no algorithm of a list.
    pub(super) fn lack(&self) -> Option<String> {
        let lacks = |class: &Class| {
            let has_names = !class.supported().is_empty();
            has_names && self.offered(*class).is_some_and(|names| names.is_empty())
        };
        let class = Class::ALL.into_iter().find(lacks)?;
        let (option, list) = (class.option(), names::shortened(&self.list(class).join(",")));
        Some(format!("{option} {list} is set in the SSH configuration"))
    }

    /// Returns the minimum size of an RSA key if a key of `rsa_bits` is smaller.
    pub(super) fn is_too_small(&self, rsa_bits: Option<usize>) -> Option<usize> {
        rsa_bits.is_some_and(|bits| bits < self.min_rsa_bits).then_some(self.min_rsa_bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Algorithms {
        Algorithms::of(&SshConfig::parse(text))
    }

    #[test]
    fn the_defaults_of_openssh_need_no_program() {
        // OpenSSH 9.2.
        let text = "ciphers chacha20-poly1305@openssh.com,aes128-ctr,aes256-gcm@openssh.com\n\
            kexalgorithms sntrup761x25519-sha512,curve25519-sha256,ecdh-sha2-nistp256\n\
            macs umac-64-etm@openssh.com,hmac-sha2-256-etm@openssh.com,hmac-sha1\n\
            hostkeyalgorithms ssh-ed25519-cert-v01@openssh.com,ssh-ed25519,rsa-sha2-512\n\
            casignaturealgorithms ssh-ed25519,rsa-sha2-512\nrequiredrsasize 1024\n";
        let defaults = of(text);
        assert_eq!(defaults.lack(), None);
        let kex = defaults.preference(Class::KeyExchange).unwrap();
        assert!(kex.starts_with("curve25519-sha256,ecdh-sha2-nistp256"), "{kex}");
        assert!(kex.contains("kex-strict-c-v00@openssh.com"), "{kex}");
        let macs = defaults.preference(Class::Mac).unwrap();
        // A build of libssh2 may lack SHA-1.
        assert!(macs.starts_with("hmac-sha2-256-etm@openssh.com"), "{macs}");
        assert!(!macs.contains("umac"), "{macs}");
        assert_eq!(of("").offered(Class::Mac), None);
    }

    #[test]
    fn a_list_of_which_the_library_has_nothing_is_for_the_program() {
        for (line, option) in [
            ("macs umac-64@openssh.com", Some("MACs umac-64@openssh.com")),
            ("kexalgorithms sntrup761x25519-sha512", Some("KexAlgorithms sntrup")),
            // A list that an old `ssh -G` did not expand.
            ("ciphers +aes128-cbc", Some("Ciphers +aes128-cbc")),
            ("hostkeyalgorithms sk-ssh-ed25519@openssh.com", Some("HostKeyAlgorithms sk-")),
            ("hostkeyalgorithms sk-ssh-ed25519@openssh.com,ssh-ed25519", None),
            ("ciphers ", None),
        ] {
            let lack = of(line).lack();
            assert_eq!(lack.is_some(), option.is_some(), "{line}");
            assert!(lack.unwrap_or_default().starts_with(option.unwrap_or_default()), "{line}");
        }
    }

    #[test]
    fn the_larger_limit_of_rsa_keys_counts() {
        assert_eq!(of("requiredrsasize 3072").is_too_small(Some(2048)), Some(3072));
        assert_eq!(of("requiredrsasize 3072").is_too_small(Some(3072)), None);
        assert_eq!(of("requiredrsasize 3072").is_too_small(None), None, "no RSA key");
        assert_eq!(of("rsaminsize 2048\nrequiredrsasize x").is_too_small(Some(1024)), Some(2048));
        assert_eq!(of("").is_too_small(Some(1)), None);
    }
}

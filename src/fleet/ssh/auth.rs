//! SSH authentication with keys of the agent and key files, never with a password.

use std::path::{Path, PathBuf};

use super::attempt::{self, AttemptError, LoginStage};
use super::identity::{self, Identity};
use super::libssh2_error;
use super::session_io::SessionIo;
use crate::fleet::client_choice::{LoginFailure, MissingFeature};
use crate::fleet::known_hosts::{rsa_bits, type_of_blob};
use crate::fleet::quote::quote;
use crate::fleet::{HostResult, Target};
use crate::model::{HostFailure, Reason};

/// Limit of the keys to offer, because sshd closes the connection at the sixth.
const MAX_TRIES: usize = 5;

enum Offer {
    Agent(Box<ssh2::PublicKey>),
    File { key: PathBuf, public: Option<PathBuf>, certificate: Option<PathBuf> },
}

impl Offer {
    fn name(&self) -> String {
        match self {
            Self::Agent(key) => format!("ssh-agent key {}", key.comment()),
            Self::File { key, certificate: None, .. } => key.display().to_string(),
            Self::File { certificate: Some(file), .. } => file.display().to_string(),
        }
    }
}

pub(super) fn authenticate(
    io: &mut SessionIo,
    target: &Target,
    stage: &LoginStage,
) -> Result<(), AttemptError> {
    stage.at("query of the local ssh-agent");
    let agent = target.agent.as_deref().and_then(|socket| open_agent(io, socket));
    let (mut agent, agent_keys) = agent.unzip();
    let is_accepted = |blob: &[u8]| target.algorithms.is_too_small(rsa_bits(blob)).is_none();
    let mut identities = identity::read_all(target);
    identities.retain(|identity| identity.public.as_deref().is_none_or(is_accepted));
    let mut agent_keys = agent_keys.unwrap_or_default();
    agent_keys.retain(|key| is_accepted(key.blob()));
    let missing = missing(&identities, &agent_keys);
    let agent_keys = agent_keys.into_iter().filter(|key| foreign(key).is_none()).collect();
    stage.at("SSH authentication");
    let mut tried = Vec::new();
    for offer in offers(&identities, agent_keys, target.identities_only) {
        if tried.len() == MAX_TRIES {
            tried.push("no further key, because sshd closes the connection after six".to_owned());
            break;
        }
        match try_one(io, target, &offer, agent.as_mut()) {
            Ok(()) => return Ok(()),
            // libssh2 reports a connection that ended here as a refused key.
            Err(error) if libssh2_error::is_closed(&error) || io.is_ended => {
                let when = format!("when {} was offered", offer.name());
                let failure = attempt::closed_during_login(Reason::Auth, &when, target);
                let refusal = LoginFailure { failure, missing };
                return Err(match tried.as_slice() {
                    [] => AttemptError::closed_after_banner(refusal),
                    _ => AttemptError::Final(refusal),
                });
            }
            Err(error) => tried.push(format!("{} ({})", offer.name(), error.message())),
        }
    }
    refused(io, target, &identities, &tried)
        .map_err(|failure| AttemptError::Final(LoginFailure { failure, missing }))
}

fn missing(identities: &[Identity], agent_keys: &[ssh2::PublicKey]) -> Vec<MissingFeature> {
    let agent = agent_keys.iter().filter_map(foreign);
    let agent = agent.map(|what| format!("ssh-agent holds {what}"));
    let files = identities.iter().filter_map(|identity| {
        let file = identity.file.display();
        if identity.is_security_key {
            return Some(format!("{file} is a security key"));
        }
        let certificate = identity.certificates.first().filter(|_| identity.is_locked)?;
        Some(format!("the key of {} is only in ssh-agent", certificate.display()))
    });
    agent.chain(files).map(MissingFeature::Credential).collect()
}

/// Returns the kind of an agent key that libssh2 cannot sign with.
fn foreign(key: &ssh2::PublicKey) -> Option<&'static str> {
    match type_of_blob(key.blob())? {
        kind if kind.starts_with("sk-") => Some("a security key"),
        kind if kind.starts_with("ssh-rsa-cert-") => Some("an RSA certificate"),
        _ => None,
    }
}

/// Connects to an agent and lists its keys. A faulty agent counts as absent.
fn open_agent(io: &SessionIo, socket: &Path) -> Option<(ssh2::Agent, Vec<ssh2::PublicKey>)> {
    let mut agent = io.session.agent().ok()?;
    agent.set_identity_path(socket).ok()?;
    agent.connect().ok()?;
    agent.list_identities().ok()?;
    let keys = agent.identities().ok()?;
    Some((agent, keys))
}

/// Orders the keys: agent keys that the configuration names, key files, other agent keys.
fn offers(
    identities: &[Identity],
    agent_keys: Vec<ssh2::PublicKey>,
    identities_only: bool,
) -> Vec<Offer> {
    let named = |key: &ssh2::PublicKey| {
        identities.iter().position(|identity| identity.public.as_deref() == Some(key.blob()))
    };
    let (mut first, last): (Vec<_>, Vec<_>) =
        agent_keys.into_iter().partition(|key| named(key).is_some());
    first.sort_by_key(|key| named(key));
    let held: Vec<Vec<u8>> = first.iter().map(|key| key.blob().to_vec()).collect();
    let mut offers: Vec<Offer> = first.into_iter().map(|key| Offer::Agent(Box::new(key))).collect();
    for identity in identities.iter().filter(|identity| identity.is_usable()) {
        let file = |certificate| Offer::File {
            key: identity.file.clone(),
            public: identity.public_file.clone(),
            certificate,
        };
        offers.extend(identity.certificates.iter().map(|path| file(Some(path.clone()))));
        if !identity.public.as_ref().is_some_and(|public| held.contains(public)) {
            offers.push(file(None));
        }
    }
    if !identities_only {
        offers.extend(last.into_iter().map(|key| Offer::Agent(Box::new(key))));
    }
    offers
}

fn try_one(
    io: &mut SessionIo,
    target: &Target,
    offer: &Offer,
    agent: Option<&mut ssh2::Agent>,
) -> Result<(), ssh2::Error> {
    let user = &target.user;
    match (offer, agent) {
        (Offer::Agent(key), Some(agent)) => io.drive(|_| agent.userauth(user, key)),
        (Offer::Agent(_), None) => Err(ssh2::Error::unknown()),
        (Offer::File { key, public, certificate }, _) => {
            let public = certificate.as_deref().or(public.as_deref());
            io.drive(|session| session.userauth_pubkey_file(user, public, key, None))
        }
    }
}

fn refused(
    io: &mut SessionIo,
    target: &Target,
    identities: &[Identity],
    tried: &[String],
) -> HostResult<()> {
    let user = &target.user;
    let methods = io.drive(|session| session.auth_methods(user).map(str::to_owned));
    if io.session.authenticated() {
        return Ok(());
    }
    let locked = identities.iter().find(|identity| identity.is_locked);
    let failure = |detail: String| HostFailure::new(Reason::Auth, detail);
    if let Ok(methods) = &methods
        && !methods.split(',').any(|method| method == "publickey")
    {
        let methods = quote(methods);
        let detail = format!("sshd accepts no public keys from user {user}, only {methods}");
        return Err(failure(detail).fix(format!(
            "allow public keys in sshd_config on {}, because rdmactl offers no passwords; show the setting: sudo \
             sshd -T | grep -i pubkeyauthentication",
            target.host
        )));
    }
    Err(match (locked, tried) {
        (Some(key), []) => {
            let file = key.file.display();
            failure(format!("key {file} is encrypted and not loaded in ssh-agent"))
                .fix(format!("load the key: ssh-add {file}"))
        }
        (None, []) => failure("this machine has no key: none in ssh-agent, no key file".to_owned())
            .fix("load a key: ssh-add FILE; or set IdentityFile in ~/.ssh/config"),
        (_, tried) => {
            let host = &target.host.name;
            let port = target.host.port.map_or(String::new(), |port| format!("-p {port} "));
            let tried = tried.join(", ");
            failure(format!("permission denied for user {user}; offered: {tried}")).fix(format!(
                "install a key: ssh-copy-id {port}{user}@{host}; or log in as another user: -l USER"
            ))
        }
    })
}

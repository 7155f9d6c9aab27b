//! Proving who we are: keys of the agent and key files, never a password.

use std::path::{Path, PathBuf};

use super::fault;
use super::identity::{self, Identity};
use super::login::{Stage, Step};
use super::wire::Wire;
use crate::fleet::Target;
use crate::fleet::choice::{Lack, Refusal};
use crate::fleet::known_hosts::type_of_blob;
use crate::model::{HostFailure, Reason};

/// sshd ends the connection at six.
const MAX_TRIES: usize = 5;

/// One key to offer.
enum Offer {
    Agent(Box<ssh2::PublicKey>),
    File { key: PathBuf, public: Option<PathBuf>, certificate: Option<PathBuf> },
}

impl Offer {
    fn name(&self) -> String {
        match self {
            Self::Agent(key) => format!("agent key {}", key.comment()),
            Self::File { key, certificate: None, .. } => key.display().to_string(),
            Self::File { certificate: Some(file), .. } => file.display().to_string(),
        }
    }
}

pub(super) fn authenticate(wire: &mut Wire, target: &Target, stage: &Stage) -> Result<(), Refusal> {
    stage.at(Step::Agent);
    let agent = target.agent.as_deref().and_then(|socket| open_agent(wire, socket));
    let (mut agent, agent_keys) =
        agent.map_or((None, Vec::new()), |(agent, keys)| (Some(agent), keys));
    let identities = identity::read_all(target);
    let lacks = lacks(&identities, &agent_keys);
    let agent_keys = agent_keys.into_iter().filter(|key| foreign(key).is_none()).collect();
    stage.at(Step::Authenticate);
    let mut tried = Vec::new();
    for offer in offers(&identities, agent_keys, target.identities_only) {
        if tried.len() == MAX_TRIES {
            tried.push("no more, because a host takes six at most".to_owned());
            break;
        }
        match try_one(wire, target, &offer, agent.as_mut()) {
            Ok(()) => return Ok(()),
            Err(error) if fault::is_closed(&error) => {
                let detail = format!("closed the connection while {} was offered", offer.name());
                let failure = HostFailure::new(Reason::Auth, detail)
                    .fix(format!("see sshd's log there; try `ssh {}`", target.host));
                return Err(Refusal { failure, lacks });
            }
            Err(error) => tried.push(format!("{} ({})", offer.name(), error.message())),
        }
    }
    refused(wire, target, &identities, &tried).map_err(|failure| Refusal { failure, lacks })
}

/// What is here to log in with that the library cannot use.
fn lacks(identities: &[Identity], agent_keys: &[ssh2::PublicKey]) -> Vec<Lack> {
    let agent = agent_keys.iter().filter_map(foreign);
    let agent = agent.map(|what| format!("the agent holds {what}"));
    let files = identities.iter().filter_map(|identity| {
        let file = identity.file.display();
        if identity.is_security_key {
            return Some(format!("{file} is a security key"));
        }
        let certificate = identity.certificates.first().filter(|_| identity.is_locked)?;
        Some(format!("{} is for a key that only the agent holds", certificate.display()))
    });
    agent.chain(files).map(Lack::Credential).collect()
}

/// What the library cannot have the agent sign with.
fn foreign(key: &ssh2::PublicKey) -> Option<&'static str> {
    match type_of_blob(key.blob())? {
        kind if kind.starts_with("sk-") => Some("a security key"),
        kind if kind.starts_with("ssh-rsa-cert-") => Some("an RSA certificate"),
        _ => None,
    }
}

/// The agent behind a socket, with its keys; an agent that does not answer well is no agent.
fn open_agent(wire: &Wire, socket: &Path) -> Option<(ssh2::Agent, Vec<ssh2::PublicKey>)> {
    let mut agent = wire.session.agent().ok()?;
    agent.set_identity_path(socket).ok()?;
    agent.connect().ok()?;
    agent.list_identities().ok()?;
    let keys = agent.identities().ok()?;
    Some((agent, keys))
}

/// The agent's keys that the configuration names, then key files, then the agent's other keys.
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
    wire: &mut Wire,
    target: &Target,
    offer: &Offer,
    agent: Option<&mut ssh2::Agent>,
) -> Result<(), ssh2::Error> {
    let user = &target.user;
    match (offer, agent) {
        (Offer::Agent(key), Some(agent)) => wire.drive(|_| agent.userauth(user, key)),
        (Offer::Agent(_), None) => Err(ssh2::Error::unknown()),
        (Offer::File { key, public, certificate }, _) => {
            let public = certificate.as_deref().or(public.as_deref());
            wire.drive(|session| session.userauth_pubkey_file(user, public, key, None))
        }
    }
}

/// Nothing was accepted: says what was tried, or what is missing here.
fn refused(
    wire: &mut Wire,
    target: &Target,
    identities: &[Identity],
    tried: &[String],
) -> Result<(), HostFailure> {
    let user = &target.user;
    let methods = wire.drive(|session| session.auth_methods(user).map(str::to_owned));
    if wire.session.authenticated() {
        return Ok(());
    }
    let locked = identities.iter().find(|identity| identity.is_locked);
    let failure = |detail: String| HostFailure::new(Reason::Auth, detail);
    if let Ok(methods) = &methods
        && !methods.split(',').any(|method| method == "publickey")
    {
        let detail = format!("takes no keys from {user}, only {}", methods.escape_debug());
        return Err(
            failure(detail).fix("passwords are not offered: allow a key in sshd_config there")
        );
    }
    Err(match (locked, tried) {
        (Some(key), []) => {
            let file = key.file.display();
            failure(format!("the key {file} is encrypted, and no agent holds it"))
                .fix(format!("ssh-add {file}"))
        }
        (None, []) => failure("no key here to offer: no agent with keys, no key file".to_owned())
            .fix("start an agent and ssh-add a key, or name an IdentityFile in ~/.ssh/config"),
        (_, tried) => {
            let host = &target.host.name;
            failure(format!("refuses {user}; offered: {}", tried.join(", ")))
                .fix(format!("ssh-copy-id {user}@{host}, or name another user with -l"))
        }
    })
}

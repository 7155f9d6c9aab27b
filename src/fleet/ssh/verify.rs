//! Verification of the host key against the `known_hosts` files. The login uses it.

use std::path::Path;

use ssh2::MethodType;

use super::session_io::SessionIo;
use crate::clock;
use crate::fleet::algorithms::{Algorithms, Class};
use crate::fleet::known_hosts::{
    Acceptance, AcceptedKeys, HostKey, HostKeyStatus, HostLines, KnownHostsName,
};
use crate::fleet::{HostKeyPolicy, HostResult, SshRoute, Target, fault};
use crate::model::{HostFailure, Reason};

pub(super) fn lookup(target: &Target) -> KnownHostsName {
    match &target.host_key_alias {
        Some(alias) => KnownHostsName::alias(alias),
        None => KnownHostsName::host(&target.address, target.port),
    }
}

/// Sets the algorithms of libssh2 that the configuration allows, and prefers a recorded key. The
/// error is the name of an option without an algorithm that libssh2 supports.
pub(super) fn offer(
    io: &SessionIo,
    allowed: &Algorithms,
    record: &HostLines<'_>,
) -> Result<(), &'static str> {
    let session = &io.session;
    for class in [Class::Cipher, Class::KeyExchange, Class::Mac] {
        let Some(list) = allowed.preference(class) else { continue };
        for method in class.methods() {
            session.method_pref(method, &list).map_err(|_refused| class.option())?;
        }
    }
    let allowed = allowed.offered(Class::HostKey);
    let Ok(supported) = session.supported_algs(MethodType::HostKey) else {
        return allowed.map_or(Ok(()), |_| Err(Class::HostKey.option()));
    };
    let names = allowed.unwrap_or(supported);
    let ordered = record.order_algorithms(&names);
    // Without an authority, `ordered` has no certificates. If only those are allowed, offer all.
    let list = if ordered.is_empty() { names.join(",") } else { ordered };
    session.method_pref(MethodType::HostKey, &list).map_err(|_refused| Class::HostKey.option())
}

pub(super) fn check(
    io: &SessionIo,
    target: &Target,
    lookup: &KnownHostsName,
    record: &HostLines<'_>,
    accepted: &AcceptedKeys,
) -> HostResult<()> {
    let key = io.session.host_key().and_then(|(blob, _)| HostKey::from_blob(blob));
    let Some(key) = key else {
        return Err(HostFailure::new(Reason::Transport, "cannot parse the host key"));
    };
    if let Some(least) = target.algorithms.is_too_small(key.rsa_bits()) {
        return Err(too_small(&key, least, target));
    }
    let signatures = &target.algorithms.ca_signatures;
    let verdict = record.verify_with(&key, clock::wall_ns() / 1_000_000_000, signatures);
    let (name, shown) = (lookup.spelled(), type_and_fingerprint(&key));
    let failure = match verdict {
        HostKeyStatus::Known => return Ok(()),
        HostKeyStatus::Revoked(place) => {
            let detail = format!("{shown} is marked as revoked in {place}");
            return Err(HostFailure::new(Reason::HostkeyRevoked, detail).fix(fault::REVOKED));
        }
        _ if target.host_keys == HostKeyPolicy::Off => return Ok(()),
        HostKeyStatus::Changed(place) => {
            let detail = format!("{shown} is not the one on record in {place}");
            let remove = format!("ssh-keygen -f {} -R '{name}'", place.file.display());
            let fix = fault::changed_key(&remove, &accepting_call(target));
            HostFailure::new(Reason::HostkeyChanged, detail).fix(fix)
        }
        HostKeyStatus::BadCertificate(why) => {
            let detail = format!("the host certificate of the {shown} is invalid: {why}");
            let address = &target.address;
            HostFailure::new(Reason::HostkeyUnknown, detail).fix(format!(
                "sign the host key again: ssh-keygen -s CA_KEY -I {address} -h -n {address} KEY.pub"
            ))
        }
        // `offer` preferred a recorded key. A host with keys of other types is not new.
        HostKeyStatus::Unknown { ref other_types }
            if target.host_keys == HostKeyPolicy::AcceptNew && other_types.is_empty() =>
        {
            return accept(target, lookup, &key, accepted);
        }
        HostKeyStatus::Unknown { other_types } => {
            let mut detail = format!("{shown} is in no known_hosts file");
            if !other_types.is_empty() {
                detail = format!("{detail}, only {}", other_types.join(", "));
            }
            let fix = fault::unknown_key(&accepting_call(target));
            HostFailure::new(Reason::HostkeyUnknown, detail).fix(fix)
        }
    };
    Err(failure)
}

fn too_small(key: &HostKey, least: usize, target: &Target) -> HostFailure {
    let bits = key.rsa_bits().unwrap_or(0);
    let detail = format!(
        "the {} has {bits} bits, and RequiredRSASize of the SSH configuration is {least}",
        type_and_fingerprint(key)
    );
    HostFailure::new(Reason::Transport, detail).fix(format!(
        "on {}, make a larger key: ssh-keygen -t rsa -b {least} -f /etc/ssh/ssh_host_rsa_key; or \
         use the host's key of another type: --ssh-option HostKeyAlgorithms=ssh-ed25519",
        target.host
    ))
}

fn accept(
    target: &Target,
    lookup: &KnownHostsName,
    key: &HostKey,
    accepted: &AcceptedKeys,
) -> HostResult<()> {
    let shown = type_and_fingerprint(key);
    // `None` means a configuration without a `known_hosts` file.
    let Some(file) = &target.record_in else { return Ok(()) };
    match accepted.accept(file, lookup, key, target.hash_known_hosts) {
        Ok(Acceptance::Recorded) => Ok(()),
        Ok(Acceptance::Changed) => {
            let detail =
                format!("{shown} is not the one that this run accepted for the host before");
            Err(HostFailure::new(Reason::HostkeyChanged, detail)
                .fix(format!(
                    "compare both fingerprints with those on the host's console: {}; two hosts may share the name, \
                     otherwise suspect a man-in-the-middle attack",
                    fault::SHOW_KEYS
                )))
        }
        Err(error) => {
            let file = file.display();
            let detail = format!("the new {shown} cannot be written to {file}: {error}");
            Err(HostFailure::new(Reason::HostkeyUnknown, detail)
                .fix(format!("check the owner and mode of the file: ls -l {file}")))
        }
    }
}

fn type_and_fingerprint(key: &HostKey) -> String {
    format!("{} host key {}", key.kind(), key.fingerprint())
}

/// Returns the `ssh` call with which the user accepts the key of a host. It takes the way of
/// rdmactl.
fn accepting_call(target: &Target) -> String {
    if let Some(call) = &target.call
        && (target.route != SshRoute::Direct || call.config.is_some())
    {
        return call.manual_command();
    }
    let port = match target.port {
        22 => String::new(),
        port => format!(" -p {port}"),
    };
    let alias = target.host_key_alias.as_ref();
    let alias = alias.map_or(String::new(), |alias| format!(" -o HostKeyAlias={alias}"));
    // The key belongs in the file that rdmactl reads.
    let usual = |file: &Path| file.ends_with(".ssh/known_hosts");
    let file = target.record_in.as_deref().filter(|file| !usual(file)).map(Path::to_string_lossy);
    let file = file.as_deref().and_then(|file| shlex::try_quote(file).ok());
    let file = file.map_or(String::new(), |file| format!(" -o UserKnownHostsFile={file}"));
    let address = &target.address;
    format!("ssh{port}{alias}{file} {address}")
}

//! Whether the host is the one on record.

use std::path::Path;

use ssh2::MethodType;

use super::fault;
use super::wire::Wire;
use crate::clock;
use crate::fleet::known_hosts::{Accepted, HostKey, Lookup, Record, Taken, Verdict};
use crate::fleet::target::{HostKeyPolicy, Target};
use crate::model::{HostFailure, Reason};

/// The name that the target's key is on record under.
pub(super) fn lookup(target: &Target) -> Lookup {
    match &target.host_key_alias {
        Some(alias) => Lookup::alias(alias),
        None => Lookup::host(&target.address, target.port),
    }
}

/// Asks for a key that is on record, where the host has several.
pub(super) fn prefer_recorded(wire: &Wire, record: &Record<'_>) {
    if let Ok(supported) = wire.session.supported_algs(MethodType::HostKey) {
        // The library takes any order of its own names.
        let _ = wire.session.method_pref(MethodType::HostKey, &record.order_algorithms(&supported));
    }
}

/// Judges the key that the host has shown in the handshake.
pub(super) fn check(
    wire: &Wire,
    target: &Target,
    lookup: &Lookup,
    record: &Record<'_>,
    accepted: &Accepted,
) -> Result<(), HostFailure> {
    let key = wire.session.host_key().and_then(|(blob, _)| HostKey::from_blob(blob));
    let Some(key) = key else {
        return Err(HostFailure::new(Reason::Transport, "cannot parse the host key"));
    };
    let verdict = record.judge(&key, clock::wall_ns() / 1_000_000_000);
    let (name, shown) = (lookup.spelled(), show(&key));
    let failure = match verdict {
        Verdict::Known => return Ok(()),
        Verdict::Revoked(place) => {
            let detail = format!("{shown} is marked as revoked in {place}");
            return Err(HostFailure::new(Reason::HostkeyRevoked, detail).fix(fault::REVOKED));
        }
        _ if target.host_keys == HostKeyPolicy::Off => return Ok(()),
        Verdict::Changed(place) => {
            let detail = format!("{shown} is not the one on record in {place}");
            let remove = format!("ssh-keygen -f {} -R '{name}'", place.file.display());
            let fix = fault::changed_key(&remove, &accept_by(target));
            HostFailure::new(Reason::HostkeyChanged, detail).fix(fix)
        }
        Verdict::BadCertificate(why) => {
            let detail = format!("the host certificate of the {shown} is invalid: {why}");
            let address = &target.address;
            HostFailure::new(Reason::HostkeyUnknown, detail).fix(format!(
                "sign the host key again: ssh-keygen -s CA_KEY -I {address} -h -n {address} KEY.pub"
            ))
        }
        // The host shows a key that is on record where it has one: another type is no new host.
        Verdict::Unknown { ref other_types }
            if target.host_keys == HostKeyPolicy::AcceptNew && other_types.is_empty() =>
        {
            return accept(target, lookup, &key, accepted);
        }
        Verdict::Unknown { other_types } => {
            let mut detail = format!("{shown} is in no known_hosts file");
            if !other_types.is_empty() {
                detail = format!("{detail}, only {}", other_types.join(", "));
            }
            let fix = fault::unknown_key(&accept_by(target));
            HostFailure::new(Reason::HostkeyUnknown, detail).fix(fix)
        }
    };
    Err(failure)
}

/// Accepts the key of an unknown host, as the configuration allows.
fn accept(
    target: &Target,
    lookup: &Lookup,
    key: &HostKey,
    accepted: &Accepted,
) -> Result<(), HostFailure> {
    let shown = show(key);
    // None is a configuration without a known_hosts file.
    let Some(file) = &target.note_in else { return Ok(()) };
    match accepted.take(file, lookup, key, target.hash_known_hosts) {
        Ok(Taken::Noted) => Ok(()),
        Ok(Taken::Changed) => {
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

/// Returns the type and fingerprint of a host key.
fn show(key: &HostKey) -> String {
    format!("{} host key {}", key.kind(), key.fingerprint())
}

/// Returns the `ssh` call that accepts the key of the host.
fn accept_by(target: &Target) -> String {
    let port = match target.port {
        22 => String::new(),
        port => format!(" -p {port}"),
    };
    let alias = target.host_key_alias.as_ref();
    let alias = alias.map_or(String::new(), |alias| format!(" -o HostKeyAlias={alias}"));
    // The key belongs into the file in which rdmactl looks for the key.
    let usual = |file: &Path| file.ends_with(".ssh/known_hosts");
    let file = target.note_in.as_deref().filter(|file| !usual(file)).map(Path::to_string_lossy);
    let file = file.as_deref().and_then(|file| shlex::try_quote(file).ok());
    let file = file.map_or(String::new(), |file| format!(" -o UserKnownHostsFile={file}"));
    let address = &target.address;
    format!("ssh{port}{alias}{file} {address}")
}

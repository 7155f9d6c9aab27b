//! Whether the host is the one on record.

use ssh2::MethodType;

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
        return Err(HostFailure::new(Reason::Transport, "the host's key cannot be read"));
    };
    let verdict = record.judge(&key, clock::wall_ns() / 1_000_000_000);
    let (name, shown) = (lookup.spelled(), format!("{} key {}", key.kind(), key.fingerprint()));
    let failure = match verdict {
        Verdict::Known => return Ok(()),
        Verdict::Revoked(place) => {
            let detail = format!("its {shown} is marked as revoked in {place}");
            return Err(HostFailure::new(Reason::HostkeyRevoked, detail)
                .fix("do not connect: ask who runs the host for its present key"));
        }
        _ if target.host_keys == HostKeyPolicy::Off => return Ok(()),
        Verdict::Changed(place) => {
            let detail = format!("its {shown} is not the one on record in {place}");
            HostFailure::new(Reason::HostkeyChanged, detail).fix(format!(
                "if the host was reinstalled, verify the new fingerprint on its console: {SHOW_KEYS}; then \
                 remove the old key: ssh-keygen -f {} -R '{name}'; otherwise suspect a man-in-the-middle attack",
                place.file.display()
            ))
        }
        Verdict::BadCertificate(why) => {
            let detail = format!("its host certificate for {shown} does not hold: {why}");
            HostFailure::new(Reason::HostkeyUnknown, detail)
                .fix("have the host's certificate renewed")
        }
        // The host shows a key that is on record where it has one: another type is no new host.
        Verdict::Unknown { ref other_types }
            if target.host_keys == HostKeyPolicy::AcceptNew && other_types.is_empty() =>
        {
            return accept(target, lookup, &key, accepted);
        }
        Verdict::Unknown { other_types } => {
            let mut detail = format!("its {shown} is in no known_hosts file");
            if !other_types.is_empty() {
                detail = format!("{detail}, only {}", other_types.join(", "));
            }
            HostFailure::new(Reason::HostkeyUnknown, detail).fix(verify_first(target))
        }
    };
    Err(failure)
}

/// Takes the key of a host that nothing is known of, as the configuration wants it.
fn accept(
    target: &Target,
    lookup: &Lookup,
    key: &HostKey,
    accepted: &Accepted,
) -> Result<(), HostFailure> {
    let shown = format!("{} key {}", key.kind(), key.fingerprint());
    // None is a configuration that wants nothing written down.
    let Some(file) = &target.note_in else { return Ok(()) };
    match accepted.take(file, lookup, key, target.hash_known_hosts) {
        Ok(Taken::Noted) => Ok(()),
        Ok(Taken::Changed) => {
            let detail = format!("its {shown} is not the one that was taken for it a moment ago");
            Err(HostFailure::new(Reason::HostkeyChanged, detail)
                .fix("find out why two keys are shown for one name: two hosts, or a man-in-the-middle attack"))
        }
        Err(error) => {
            let file = file.display();
            let detail = format!("its {shown} is new and cannot be written to {file}: {error}");
            Err(HostFailure::new(Reason::HostkeyUnknown, detail)
                .fix(format!("make {file} writable, or see StrictHostKeyChecking in ssh_config")))
        }
    }
}

/// Command that prints the fingerprints of a host's keys, for its console.
const SHOW_KEYS: &str = "for key in /etc/ssh/ssh_host_*_key.pub; do ssh-keygen -lf $key; done";

/// Returns how to verify the key of an unknown host and how to accept it then.
fn verify_first(target: &Target) -> String {
    let port = match target.port {
        22 => String::new(),
        port => format!(" -p {port}"),
    };
    let alias = target.host_key_alias.as_ref();
    let alias = alias.map_or(String::new(), |alias| format!(" -o HostKeyAlias={alias}"));
    let address = &target.address;
    format!(
        "compare the fingerprint with those on the host's console: {SHOW_KEYS}; if one is equal, accept the \
         key: ssh{port}{alias} {address}"
    )
}

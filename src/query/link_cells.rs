//! Computes cells of the Ethernet links below a port: its interface, or the members of its bond.
//! `ports` uses it.

use std::collections::BTreeSet;

use super::{DeviceRow, Value};
use crate::analyse::congestion::Congestion;
use crate::model::{Dcb, DcbSelector, Ethernet, Ets, Pause, Pfc, key};

/// Returns a cell from parts of each link: `100 / -` if they differ, unreadable if one link is.
pub(super) fn of_links(
    row: &DeviceRow<'_>,
    parts: &[&str],
    get: impl Fn(&Ethernet) -> Value,
) -> Value {
    row.in_netdev(|netdev| {
        let bond = netdev.bond.as_ref();
        if bond.is_some() && row.report.problems.affects(&key::netdev(&netdev.name, "bond")) {
            return Value::Failed;
        }
        let names: Vec<&String> =
            bond.map_or(vec![&netdev.name], |bond| bond.members.iter().collect());
        // Only an Ethernet interface that is no VLAN is queried at all.
        let of_ethernet = parts.iter().map(|part| format!("ethernet/{part}"));
        let parts: Vec<String> = of_ethernet.chain(["kind".into(), "vlan".into()]).collect();
        let is_hidden = |name: &&String| {
            parts.iter().any(|part| row.report.problems.affects(&key::netdev(name, part)))
        };
        if names.iter().any(is_hidden) {
            return Value::Failed;
        }
        let ethernet = |name: &String| row.report.netdev(name)?.ethernet.as_ref();
        let values: Vec<Value> =
            names.iter().map(|name| ethernet(name).map_or(Value::Absent, &get)).collect();
        join(&values)
    })
}

fn join(values: &[Value]) -> Value {
    match values {
        [] => Value::Absent,
        [first, rest @ ..] if rest.iter().all(|value| value == first) => first.clone(),
        all => Value::joined(&all.iter().map(ToString::to_string).collect::<Vec<_>>(), " / "),
    }
}

pub(super) fn of_dcb(row: &DeviceRow<'_>, part: &str, get: impl Fn(&Dcb) -> Value) -> Value {
    of_links(row, &[&format!("dcb/{part}")], |ethernet| {
        ethernet.dcb.as_ref().map_or(Value::Absent, &get)
    })
}

/// Formats flow control as `rx tx`, `auto rx` or `off`. `auto` means that it is negotiated.
pub(super) fn pause(pause: &Pause) -> Value {
    let flags = [(pause.autoneg, "auto"), (pause.rx, "rx"), (pause.tx, "tx")].into_iter();
    let words: Vec<&str> =
        flags.filter(|(is_on, _)| *is_on == Some(true)).map(|(_, word)| word).collect();
    match (pause.rx, pause.tx, words.as_slice()) {
        (None, None, []) => Value::Absent,
        (_, _, []) => Value::Text("off".into()),
        (_, _, words) => Value::Text(words.join(" ")),
    }
}

pub(super) fn pfc(pfc: &Pfc) -> Value {
    match pfc.enabled.as_slice() {
        [] => Value::Text("off".into()),
        on => Value::Text(on.iter().map(u8::to_string).collect::<Vec<_>>().join(" ")),
    }
}

/// Formats the map of DSCP to priority as `26:3 48:6`.
pub(super) fn dscp_map(dcb: &Dcb) -> Value {
    let rules = dcb.apps.iter().filter(|app| app.selector == DcbSelector::Dscp);
    let words = rules.map(|app| format!("{}:{}", app.protocol, app.priority));
    Value::joined(&words.collect::<Vec<_>>(), " ")
}

/// Formats the used traffic classes and their scheduling as `0:ets/50 3:ets/50 6:strict`.
pub(super) fn classes(ets: &Ets) -> Value {
    let word = |class: u8| {
        let at = usize::from(class);
        let algorithm = ets.algorithm.get(at).map_or("unknown", String::as_str);
        match ets.bandwidth_percent.get(at) {
            Some(share) if algorithm == "ets" => format!("{class}:ets/{share}"),
            _ => format!("{class}:{algorithm}"),
        }
    };
    let classes: BTreeSet<u8> = ets.priority_class.into_iter().collect();
    Value::Text(classes.into_iter().map(word).collect::<Vec<_>>().join(" "))
}

/// Returns the value of a driver counter of congestion, whose name depends on the driver.
pub(super) fn congestion(row: &DeviceRow<'_>, what: Congestion) -> Value {
    match row.port.and_then(|port| what.find(port.counters.as_deref()?)) {
        Some(counter) if counter.value.is_none() => Value::Failed,
        Some(counter) => Value::count(counter.value),
        // The list of counters could not be read.
        None if row.port_key("counters").is_some_and(|key| row.report.problems.has(&key)) => {
            Value::Failed
        }
        None => Value::Absent,
    }
}

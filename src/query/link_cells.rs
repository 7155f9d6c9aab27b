//! Computes cells of the Ethernet links below a port: its interface, or the members of its bond.
//! `ports` uses it.

use super::{DeviceRow, Value};
use crate::analyse::congestion::Congestion;
use crate::model::{Dcb, DcbSelector, Ethernet, Ets, Pause, Pfc, key};

/// Returns a cell from parts of each link, as `100 / -` if the links differ. The cell is
/// unreadable if the parts of one link are.
pub(super) fn of_links(
    row: &DeviceRow<'_>,
    parts: &[&str],
    get: impl Fn(&Ethernet) -> Value,
) -> Value {
    row.in_netdev(|netdev| {
        let bond = netdev.bond.as_ref();
        if bond.is_some() && row.is_key_unreadable(&key::netdev(&netdev.name, "bond")) {
            return Value::Failed;
        }
        let names: Vec<&String> =
            bond.map_or(vec![&netdev.name], |bond| bond.members.iter().collect());
        // These two parts decide if the kernel is queried at all: only an Ethernet interface that
        // is no VLAN is.
        let of_ethernet = parts.iter().map(|part| format!("ethernet/{part}"));
        let parts: Vec<String> = of_ethernet.chain(["kind".into(), "vlan".into()]).collect();
        let is_hidden = |name: &&String| {
            parts.iter().any(|part| row.is_key_unreadable(&key::netdev(name, part)))
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
        all => {
            let words: Vec<String> = all.iter().map(ToString::to_string).collect();
            Value::Text(words.join(" / "))
        }
    }
}

/// Returns a cell from the DCB settings of each link.
pub(super) fn of_dcb(row: &DeviceRow<'_>, part: &str, get: impl Fn(&Dcb) -> Value) -> Value {
    of_links(row, &[&format!("dcb/{part}")], |ethernet| {
        ethernet.dcb.as_ref().map_or(Value::Absent, &get)
    })
}

/// Formats flow control as `rx tx`, `auto rx` or `off`. `auto` means that it is negotiated.
pub(super) fn pause(pause: &Pause) -> Value {
    let words: Vec<&str> = [(pause.autoneg, "auto"), (pause.rx, "rx"), (pause.tx, "tx")]
        .into_iter()
        .filter_map(|(is_on, word)| is_on.filter(|is_on| *is_on).map(|_| word))
        .collect();
    match (pause.rx, pause.tx, words.as_slice()) {
        (None, None, []) => Value::Absent,
        (_, _, []) => Value::Text("off".into()),
        (_, _, words) => Value::Text(words.join(" ")),
    }
}

/// Formats the priorities with priority flow control.
pub(super) fn pfc(pfc: &Pfc) -> Value {
    match pfc.enabled.as_slice() {
        [] => Value::Text("off".into()),
        on => Value::Text(on.iter().map(u8::to_string).collect::<Vec<_>>().join(" ")),
    }
}

/// Formats the map of DSCP to priority as `26:3 48:6`.
pub(super) fn dscp_map(dcb: &Dcb) -> Value {
    let rules: Vec<String> = dcb
        .apps
        .iter()
        .filter(|app| app.selector == DcbSelector::Dscp)
        .map(|app| format!("{}:{}", app.protocol, app.priority))
        .collect();
    Value::text(Some(rules.join(" ")).filter(|text| !text.is_empty()))
}

/// Formats the used traffic classes and their scheduling as `0:ets/50 3:ets/50 6:strict`.
pub(super) fn classes(ets: &Ets) -> Value {
    let mut classes = ets.priority_class;
    classes.sort_unstable();
    let mut words = Vec::new();
    for (index, class) in classes.into_iter().enumerate() {
        if index > 0 && classes[index - 1] == class {
            continue;
        }
        let at = usize::from(class);
        let algorithm = ets.algorithm.get(at).map_or("unknown", String::as_str);
        words.push(match ets.bandwidth_percent.get(at) {
            Some(share) if algorithm == "ets" => format!("{class}:ets/{share}"),
            _ => format!("{class}:{algorithm}"),
        });
    }
    Value::Text(words.join(" "))
}

/// Returns the value of a driver counter of congestion, whose name depends on the driver.
pub(super) fn congestion(row: &DeviceRow<'_>, what: Congestion) -> Value {
    let (Some(device), Some(port)) = (row.device, row.port) else { return Value::Absent };
    let found = port.counters.as_deref().and_then(|counters| what.find(counters));
    match found {
        Some(counter) => counter.value.map_or(Value::Failed, |value| Value::count(Some(value))),
        // The list of counters could not be read.
        None if row.has_problem(&key::port(&device.name, port.number, "counters")) => Value::Failed,
        None => Value::Absent,
    }
}

//! Rates of counters between two samples of the same hosts, by the clocks of the hosts.

use std::cell::LazyCell;
use std::collections::HashMap;

use crate::model::{
    Counter, CounterChange, CounterRate, CounterUnit, Device, FabricPort, HostReport, PerSecond,
};

const SECOND: u128 = 1_000_000_000;

/// Counters of one sample, kept to compute the rates of the next sample. Nothing else is kept,
/// because a run may have a thousand hosts.
#[derive(Debug, Default)]
pub struct CounterSample {
    /// Counters by host and device.
    hosts: HashMap<String, HashMap<String, DeviceCounters>>,
    /// Counters of subnet ports, by the host that read them.
    nodes: HashMap<String, NodeCounters>,
}

/// Counters of subnet ports, by node GUID and port number.
type NodeCounters = HashMap<(u64, u8), Vec<Counter>>;

/// Counters of a device (`None`) and of each of its ports.
type DeviceCounters = HashMap<Option<u32>, Vec<Counter>>;

impl CounterSample {
    /// Copies the counters of the hosts. Keeps nothing for a host without counters.
    pub fn of(hosts: &[HostReport]) -> Self {
        let banks = |host: &HostReport| {
            let devices = host.devices.iter().map(|device| (device.name.clone(), banks(device)));
            devices.filter(|(_, banks)| !banks.is_empty()).collect::<HashMap<_, _>>()
        };
        let nodes = hosts.iter().map(|host| (host.host.clone(), node_counters(host)));
        let nodes = nodes.filter(|(_, counters)| !counters.is_empty()).collect();
        let hosts = hosts.iter().map(|host| (host.host.clone(), banks(host)));
        let hosts = hosts.filter(|(_, banks)| !banks.is_empty());
        Self { hosts: hosts.collect(), nodes }
    }

    /// Adds the counters of the hosts that an earlier sample has and this one lacks. After a
    /// sample without a report, the rates cover the whole time.
    pub fn keep_from(&mut self, earlier: Self) {
        for (host, counters) in earlier.hosts {
            self.hosts.entry(host).or_insert(counters);
        }
        for (host, counters) in earlier.nodes {
            self.nodes.entry(host).or_insert(counters);
        }
    }

    /// Adds rates to the later sample, for counters that both samples have.
    pub fn add_rates(&self, now: &mut [HostReport]) {
        for host in now {
            let read_before = self.nodes.get(&host.host);
            for node in host.fabrics.iter_mut().flatten().flat_map(|fabric| &mut fabric.nodes) {
                for port in &mut node.ports {
                    let before = read_before.and_then(|it| it.get(&(node.guid.0, port.number)));
                    add(before.map(Vec::as_slice), port.counters.as_deref_mut());
                }
            }
            let Some(banks) = self.hosts.get(&host.host) else { continue };
            for device in &mut host.devices {
                let Some(banks) = banks.get(&device.name) else { continue };
                let before = |port: Option<u32>| banks.get(&port).map(Vec::as_slice);
                add(before(None), device.counters.as_deref_mut());
                for port in &mut device.ports {
                    add(before(Some(port.number)), port.counters.as_deref_mut());
                }
            }
        }
    }
}

fn node_counters(host: &HostReport) -> NodeCounters {
    let nodes = host.fabrics.iter().flatten().flat_map(|fabric| &fabric.nodes);
    let counters = nodes.flat_map(|node| {
        let key = |port: &FabricPort| (node.guid.0, port.number);
        node.ports.iter().filter_map(move |port| Some((key(port), port.counters.clone()?)))
    });
    counters.collect()
}

fn banks(device: &Device) -> DeviceCounters {
    let ports = device.ports.iter().map(|port| (Some(port.number), port.counters.as_ref()));
    let all = std::iter::once((None, device.counters.as_ref())).chain(ports);
    all.filter_map(|(port, counters)| Some((port, counters?.clone()))).collect()
}

fn add(before: Option<&[Counter]>, now: Option<&mut [Counter]>) {
    let (before, now) = (before.unwrap_or_default(), now.unwrap_or_default());
    // Drivers list counters in a fixed order, so the map is rarely built.
    let by_name: LazyCell<HashMap<_, _>, _> = LazyCell::new(|| {
        before.iter().rev().map(|known| ((known.group, known.name.as_str()), known)).collect()
    });
    for (index, counter) in now.iter_mut().enumerate() {
        let is_same = |known: &&Counter| known.group == counter.group && known.name == counter.name;
        let of_name = || by_name.get(&(counter.group, counter.name.as_str())).copied();
        let known = before.get(index).filter(is_same).or_else(of_name);
        counter.rate = known.and_then(|known| derive_rate(known, counter));
    }
}

/// Returns the change of a counter between two samples. `None` if a value or a time is missing,
/// if the clock did not advance, and for a level, which rises and falls.
fn derive_rate(before: &Counter, now: &Counter) -> Option<CounterRate> {
    if now.unit == CounterUnit::Level {
        return None;
    }
    let (old, new) = (before.value?, now.value?);
    let interval_ns = now.read_ns?.checked_sub(before.read_ns?).filter(|time| *time > 0)?;
    let unknown =
        |change| CounterRate { change, interval_ns, delta: None, rate_per_s: None, rate_bps: None };
    // A saturated counter no longer changes. If it is larger later, it was read with more bits
    // then.
    if now.saturated || (before.saturated && new > old) {
        return Some(unknown(CounterChange::Saturated));
    }
    let Some(delta) = new.checked_sub(old) else { return Some(unknown(CounterChange::Reset)) };
    let scaled = |factor: u128| {
        let rate = u128::from(delta) * factor * SECOND;
        let interval = u128::from(interval_ns);
        // A nonzero increase never has rate 0.
        u64::try_from((rate / interval).max(u128::from(delta > 0))).ok()
    };
    Some(CounterRate {
        change: CounterChange::Counted,
        interval_ns,
        delta: Some(delta),
        rate_per_s: scaled(1_000).map(PerSecond),
        rate_bps: (now.unit == CounterUnit::Bytes).then(|| scaled(8)).flatten(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{CounterGroup, Via};

    fn counter(value: u64, read_ns: u64) -> Counter {
        Counter {
            name: "port_xmit_data".into(),
            group: CounterGroup::Pma,
            value: Some(value),
            unit: CounterUnit::Bytes,
            saturated: false,
            read_ns: Some(read_ns),
            rate: None,
        }
    }

    #[test]
    fn bytes_have_a_rate_in_bits_and_by_the_nodes_clock() {
        let rate = derive_rate(&counter(1_000, 5), &counter(4_000, 2_000_000_005)).unwrap();
        assert_eq!((rate.delta, rate.interval_ns), (Some(3_000), 2_000_000_000));
        assert_eq!((rate.rate_per_s, rate.rate_bps), (Some(PerSecond(1_500_000)), Some(12_000)));
        let ticks = Counter { unit: CounterUnit::Ticks, ..counter(4_000, 2_000_000_005) };
        assert_eq!(derive_rate(&counter(1_000, 5), &ticks).unwrap().rate_bps, None);
    }

    #[test]
    fn one_event_in_an_hour_is_not_nothing() {
        let rate = derive_rate(&counter(0, 0), &counter(1, 3_600_000_000_000)).unwrap();
        assert_eq!(rate.rate_per_s, Some(PerSecond(1)));
        let rate = derive_rate(&counter(1, 0), &counter(1, 3_600_000_000_000)).unwrap();
        assert_eq!((rate.delta, rate.rate_per_s), (Some(0), Some(PerSecond(0))));
    }

    #[test]
    fn a_counter_that_goes_backwards_was_reset_and_a_full_one_has_no_rate() {
        let rate = derive_rate(&counter(9, 1), &counter(3, 2)).unwrap();
        assert_eq!((rate.change, rate.delta), (CounterChange::Reset, None));
        assert_eq!((rate.rate_per_s, rate.rate_bps), (None, None));
        let full = Counter { saturated: true, ..counter(9, 2) };
        let rate = derive_rate(&counter(9, 1), &full).unwrap();
        assert_eq!((rate.change, rate.delta), (CounterChange::Saturated, None));
        // A node did not report its 64-bit value in one sample.
        let wide = derive_rate(&full, &counter(1 << 40, 3)).unwrap();
        assert_eq!((wide.change, wide.delta), (CounterChange::Saturated, None));
        let narrow = derive_rate(&counter(1 << 40, 1), &full).unwrap();
        assert_eq!(narrow.change, CounterChange::Saturated);
    }

    #[test]
    fn without_time_or_value_there_is_no_rate() {
        let (one, two) = (counter(1, 5), counter(2, 6));
        assert_eq!(derive_rate(&two, &Counter { read_ns: Some(6), ..two.clone() }), None);
        assert_eq!(derive_rate(&two, &one), None);
        assert_eq!(derive_rate(&one, &Counter { value: None, ..two.clone() }), None);
        assert_eq!(derive_rate(&one, &Counter { read_ns: None, ..two.clone() }), None);
        assert_eq!(derive_rate(&one, &Counter { unit: CounterUnit::Level, ..two }), None);
        // Values from a host never cause an overflow.
        let rate = derive_rate(&counter(0, 1), &counter(u64::MAX, 2)).unwrap();
        assert_eq!((rate.rate_per_s, rate.rate_bps), (None, None));
    }

    #[test]
    fn counters_are_found_by_host_device_port_and_name() {
        let report = |host: &str, value, read_ns| {
            let mut report = HostReport::empty(host, Via::Agent);
            let json = serde_json::json!({
                "name": "mlx5_0", "ports": [], "counters": [counter(value, read_ns)]
            });
            report.devices = vec![serde_json::from_value(json).unwrap()];
            report
        };
        let before = [report("n1", 1, 1), report("n2", 5, 1)];
        let mut now = [report("n2", 7, 2), report("n3", 7, 2)];
        CounterSample::of(&before).add_rates(&mut now);
        let rate = |report: &HostReport| report.devices[0].counters.as_ref().unwrap()[0].rate;
        assert_eq!(rate(&now[0]).unwrap().delta, Some(2));
        assert_eq!(rate(&now[1]), None);
        // A host without a report in one sample keeps its counters.
        let mut between = CounterSample::of(&[report("n1", 3, 2)]);
        between.keep_from(CounterSample::of(&before));
        let mut later = [report("n1", 4, 3), report("n2", 9, 3)];
        between.add_rates(&mut later);
        let deltas = later.each_ref().map(|host| rate(host).unwrap().delta);
        assert_eq!(deltas, [Some(1), Some(4)]);
    }

    #[test]
    fn two_hosts_that_read_one_subnet_are_compared_with_themselves() {
        let report = |host: &str, read_ns| {
            let mut fabric = crate::analyse::fabric::tests::fabric();
            fabric.nodes[0].ports[0].counters = Some(vec![counter(read_ns, read_ns)]);
            HostReport { fabrics: Some(vec![fabric]), ..HostReport::empty(host, Via::Agent) }
        };
        // The clock of the second host is ahead.
        let before = CounterSample::of(&[report("n1", 10), report("n2", 1_000)]);
        let mut now = [report("n1", 15), report("n2", 1_005)];
        before.add_rates(&mut now);
        let interval = |host: &HostReport| {
            let port = &host.fabrics.as_ref().unwrap()[0].nodes[0].ports[0];
            port.counters.as_ref().unwrap()[0].rate.unwrap().interval_ns
        };
        assert_eq!(now.each_ref().map(interval), [5, 5]);
    }
}

//! Reads SCSI hosts of the SCSI RDMA protocol (SRP): only `ib_srp` gives a SCSI host a `dgid`.
//! `consumers` calls it.

use super::Reader;
use crate::model::{Consumers, SrpHost};

const HOSTS: &str = "/sys/class/scsi_host";
const PORTS: &str = "/sys/class/srp_remote_ports";

/// Reads the hosts; `None` if the host has no remote SRP port.
pub(super) fn read(reader: &mut Reader<'_>, found: &mut Consumers) {
    // The first SRP host or SRP target registers the first port.
    let ports = reader.sorted_names("consumers/srp", PORTS);
    if ports.is_empty() {
        return;
    }
    let mut all = Vec::new();
    for name in reader.sorted_names("consumers/srp", HOSTS) {
        let key = format!("consumers/srp/{name}");
        let mut text = |field: &str| reader.text(&key, &format!("{HOSTS}/{name}/{field}"));
        let Some(target_gid) = text("dgid") else { continue };
        let (target, device) = (text("ioc_guid"), text("local_ib_device"));
        let (port, channels) = (text("local_ib_port"), text("ch_count"));
        let number = name.trim_start_matches("host");
        let remote = ports.iter().find(|port| {
            let rest = port.strip_prefix("port-").and_then(|rest| rest.split_once(':'));
            rest.is_some_and(|(host, _)| host == number)
        });
        let state = remote.and_then(|port| reader.text(&key, &format!("{PORTS}/{port}/state")));
        all.push(SrpHost {
            name,
            target_gid: Some(target_gid),
            target,
            device,
            port: port.and_then(|port| port.parse().ok()),
            channels: channels.and_then(|count| count.parse().ok()),
            state,
        });
    }
    found.srp = Some(all);
}

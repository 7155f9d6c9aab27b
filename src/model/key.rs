//! Keys of values: paths of names from the report down. Problems and cells are matched by key.
//!
//! `mlx5_0/1/state` is the state of port 1 of `mlx5_0`, `netdevs/eth0/mtu` the MTU of an
//! interface, `devices` a part of the report itself.

/// Returns the key of a field of a device.
pub fn device(device: &str, field: &str) -> String {
    format!("{device}/{field}")
}

/// Returns the key of a field of a port.
pub fn port(device: &str, port: u32, field: &str) -> String {
    format!("{device}/{port}/{field}")
}

/// Returns the key of a field of a network interface.
pub fn netdev(netdev: &str, field: &str) -> String {
    format!("netdevs/{netdev}/{field}")
}

/// Returns true if `key` is `whole`, or a part of `whole`.
pub fn is_within(key: &str, whole: &str) -> bool {
    key.strip_prefix(whole).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

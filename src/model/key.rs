//! The model keys that problems and cells are joined by: a path of names from the report down.
//!
//! `mlx5_0/1/state` is the state of port 1 of `mlx5_0`, `netdevs/eth0/mtu` the MTU of an interface,
//! `devices` something of the report itself.

/// The key of a device's field.
#[must_use]
pub fn device(device: &str, field: &str) -> String {
    format!("{device}/{field}")
}

/// The key of a port's field.
#[must_use]
pub fn port(device: &str, port: u32, field: &str) -> String {
    format!("{device}/{port}/{field}")
}

/// The key of an interface's field.
#[must_use]
pub fn netdev(netdev: &str, field: &str) -> String {
    format!("netdevs/{netdev}/{field}")
}

/// Whether the first is the second, or a part of it.
#[must_use]
pub fn is_within(key: &str, whole: &str) -> bool {
    key.strip_prefix(whole).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

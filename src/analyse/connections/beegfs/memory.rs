//! Computes the memory that `BeeGFS` pins for RDMA, and the recommended buffer settings (page
//! "`BeeGFS` with RDMA" of the `BeeGFS` documentation). `beegfs` uses it for each client.

use super::server::Server;
use crate::model::{BeegfsNodeKind, BeegfsPool, HostReport, PinnedMemory, Protocol};

/// Minimum rate of an InfiniBand or RoCE link that counts as EDR or faster.
const EDR_BPS: u64 = 100_000_000_000;

/// Returns the memory that a client pins for a server. `None` for a management server, which uses
/// TCP only, for a client without `connUseRDMA`, and if a setting is unknown. `recommended` is
/// the result of [`recommended`], and `clients` is the number of clients among the queried hosts.
pub(super) fn pinned(
    report: &HostReport,
    recommended: Option<(u64, u64)>,
    server: &Server<'_>,
    clients: usize,
) -> Option<PinnedMemory> {
    let Server { client, node, .. } = *server;
    if node.kind == BeegfsNodeKind::Management || client.switch("connUseRDMA") != Some(true) {
        return None;
    }
    let number = |name: &str| client.setting(name)?.parse::<u64>().ok();
    // Since `BeeGFS` 7.4, metadata servers may have their own buffer settings.
    let for_kind = |meta: &str, name: &str| {
        let own = (node.kind == BeegfsNodeKind::Meta).then(|| number(meta)).flatten();
        own.or_else(|| number(name))
    };
    let size = for_kind("connRDMAMetaBufSize", "connRDMABufSize")?;
    let count = for_kind("connRDMAMetaBufNum", "connRDMABufNum")?;
    let max_connections = number("connMaxInternodeNum")?;
    let servers = u64::try_from(server.servers_of_client).unwrap_or(u64::MAX);
    let clients = u64::try_from(clients).unwrap_or(u64::MAX);
    // Each connection has send buffers and receive buffers.
    let per_connection = size.saturating_mul(count).saturating_mul(2);
    // A client that reports its connections omits kinds without a connection.
    let rdma_count = |pools: &[BeegfsPool]| {
        pools.iter().find(|pool| pool.kind == "RDMA").map_or(0, |pool| pool.count)
    };
    let open_connections = node.pools.as_deref().map(rdma_count);
    let per_server = per_connection.saturating_mul(max_connections);
    let other_settings = recommended.filter(|settings| *settings != (size, count));
    Some(PinnedMemory {
        per_connection_bytes: per_connection,
        now_bytes: open_connections.map(|count| per_connection.saturating_mul(count.into())),
        most_bytes: per_server,
        client_most_bytes: per_server.saturating_mul(servers),
        server_most_bytes: per_server.saturating_mul(servers.saturating_add(clients)),
        host_bytes: report.consumers.as_ref().and_then(|consumers| consumers.memory_bytes),
        buffer_bytes: size,
        buffers: count,
        recommended_buffer_bytes: other_settings.map(|(size, _)| size),
        recommended_buffers: other_settings.map(|(_, count)| count),
    })
}

/// Returns the recommended size and number of buffers for the fastest port, or for the first of
/// several fastest ports.
pub(super) fn recommended(report: &HostReport) -> Option<(u64, u64)> {
    let by_rate = report.ports().filter_map(|(device, port)| {
        let rate = port.rate_bps.filter(|rate| *rate > 0)?;
        let is_intel = matches!(device.driver.as_deref(), Some("hfi1" | "ib_qib"));
        let buffers = match port.protocol {
            Some(Protocol::Opa) => (65_536, 12),
            _ if is_intel => (65_536, 12),
            Some(Protocol::Ib | Protocol::Roce) if rate >= EDR_BPS => (32_768, 22),
            Some(Protocol::Ib | Protocol::Roce) => (8_192, 70),
            _ => return None,
        };
        Some((rate, buffers))
    });
    let fastest = by_rate.reduce(|best, next| if next.0 > best.0 { next } else { best });
    fastest.map(|(_, buffers)| buffers)
}

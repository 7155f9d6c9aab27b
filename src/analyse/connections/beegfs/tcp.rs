//! Reasons why a `BeeGFS` client uses TCP to a server.

use std::collections::HashSet;
use std::net::SocketAddr;

use super::super::builder::PING;
use super::super::fleet::Fleet;
use super::super::index::Index;
use super::filter::{Filtered, filtered};
use super::log::Log;
use super::server::Server;
use crate::model::{
    BeegfsLogLine, BeegfsNodeKind, BeegfsPool, Connection, ConnectionVerdict, Strength, Transport,
};

pub(super) struct RdmaReachability<'report, 'fleet> {
    pub(super) fleet: &'fleet Fleet<'report>,
    pub(super) log: &'fleet Log<'report>,
    /// Remote addresses of the RDMA channels of this host.
    channels: HashSet<SocketAddr>,
}

impl<'report, 'fleet> RdmaReachability<'report, 'fleet> {
    pub(super) fn new(
        index: &Index<'_>,
        fleet: &'fleet Fleet<'report>,
        log: &'fleet Log<'report>,
    ) -> Self {
        let channels = index.channels.iter().filter(|channel| channel.is_up());
        Self { fleet, log, channels: channels.filter_map(|channel| channel.remote).collect() }
    }

    /// Returns source and text of the fact that proves that RDMA reaches a server.
    fn proof(&self, server: &Server<'_>) -> Option<(String, String)> {
        let end = server.end?;
        if self.channels.contains(&end) {
            let text = format!("a queue pair of this host leads to {end}");
            return Some(("RDMA netlink".into(), text));
        }
        if let Some(line) = self.log.last(server.node.kind, Some(end))
            && line.kind == "RDMA"
        {
            return Some(("/dev/kmsg".into(), line.text.clone()));
        }
        self.listener(end, true)
    }

    /// Returns source and text of the fact that a server listens for RDMA connections, or not.
    fn listener(&self, end: SocketAddr, listens: bool) -> Option<(String, String)> {
        let (host, port) = (self.fleet.report(end.ip())?.host.as_str(), end.port());
        let text = if listens { "RDMA listener on port" } else { "no RDMA listener on port" };
        let fact = || (format!("{host}: RDMA netlink"), format!("{text} {port}"));
        (self.fleet.offers_rdma(end) == Some(listens)).then(fact)
    }
}

/// Proof that an RDMA connection to a server was tried and failed.
pub(super) enum Fallback<'log> {
    Mark,
    Log(&'log BeegfsLogLine),
}

impl<'log> Fallback<'log> {
    pub(super) fn of(
        server: &Server<'_>,
        reachability: &RdmaReachability<'log, '_>,
        pool: &BeegfsPool,
    ) -> Option<Self> {
        // With `connUseRDMA` = 0 a mark means that another address failed.
        if server.client.switch("connUseRDMA") != Some(true) {
            return None;
        }
        if pool.is_fallback {
            return Some(Self::Mark);
        }
        let last = reachability.log.last_connected(server.node.kind, server.end);
        // For an idle connection the client shows the mark, and the log line is outdated.
        let last = last.filter(|line| pool.is_busy && line.kind == "TCP" && line.is_fallback);
        last.map(Self::Log)
    }

    pub(super) fn judge(&self, server: &Server<'_>, mut row: Connection) -> Connection {
        row.verdict = ConnectionVerdict::FallbackConfirmed;
        let code = "beegfs.rdma_connect_failed";
        match self {
            Self::Mark => {
                let again = server.client.setting("connFallbackExpirationSecs").unwrap_or("900");
                row.because(
                    code,
                    "the client marks the connection as fallback: the RDMA connection attempt \
                     failed",
                )
                .fix(format!(
                    "{PING}; the client retries after connFallbackExpirationSecs ({again} s)"
                ))
            }
            Self::Log(line) => row
                .because(
                    code,
                    "the kernel log reports a failed RDMA connection attempt; the client shows \
                     no fallback mark while its connections are busy",
                )
                .fix(PING)
                .logged(&line.text),
        }
    }
}

pub(super) fn judge(
    server: &Server<'_>,
    reachability: &RdmaReachability<'_, '_>,
    pool: &BeegfsPool,
    row: Connection,
) -> Connection {
    let tcp = Transport::Tcp;
    let config = format!("{}/config", server.client.path);
    if server.node.kind == BeegfsNodeKind::Management {
        // Management servers support TCP only.
        return row.works(tcp, ConnectionVerdict::TcpConfigured);
    }
    match server.client.switch("connUseRDMA") {
        Some(false) => {
            return row
                .requests(tcp, format!("connUseRDMA = 0 in {config}"))
                .works(tcp, ConnectionVerdict::TcpConfigured)
                .configured(config, "connUseRDMA = 0");
        }
        None => {
            return row
                .works(tcp, ConnectionVerdict::Unknown)
                .lacks(format!("{config}: connUseRDMA"));
        }
        Some(true) => {}
    }
    let row = row.configured(&config, "connUseRDMA = 1");
    if let Some(fallback) = Fallback::of(server, reachability, pool) {
        return fallback.judge(server, row);
    }
    match filtered(server, reachability.fleet) {
        Filtered::No => {}
        Filtered::Yes { file, text } => {
            return row
                .requests(tcp, &file)
                .works(tcp, ConnectionVerdict::TcpConfigured)
                .configured(file, text);
        }
        Filtered::Unknown(missing) => {
            return row.works(tcp, ConnectionVerdict::Unknown).lacks(missing);
        }
    }
    let info = format!("{}/client_info", server.client.path);
    match &server.client.interfaces {
        None => row.works(tcp, ConnectionVerdict::Unknown).lacks(info),
        Some(interfaces) if !interfaces.iter().any(|interface| interface.is_rdma) => row
            .works(tcp, ConnectionVerdict::FallbackConfirmed)
            .because(
                "beegfs.no_local_rdma",
                "connUseRDMA is set, but the client has no RDMA interface; it silently uses \
                 TCP",
            )
            .fix(
                "load the driver of the RDMA device or correct connRDMAInterfacesFile, then \
                 mount again: rdmactl devices",
            )
            .observed(info, "no interface of type RDMA"),
        Some(_) => by_reach(server, reachability, pool, row),
    }
}

fn fix_of_busy_connections() -> String {
    format!(
        "repeat the command when the mount is idle; read the kernel log: dmesg | \
         grep beegfs; {PING}"
    )
}

/// Judges a server if neither the fallback mark nor settings and interfaces of the client decide.
fn by_reach(
    server: &Server<'_>,
    reachability: &RdmaReachability<'_, '_>,
    pool: &BeegfsPool,
    row: Connection,
) -> Connection {
    let tcp = Transport::Tcp;
    if let Some((source, text)) = reachability.proof(server) {
        let row =
            row.works(tcp, ConnectionVerdict::Suspected).seen(source, text, Strength::Correlated);
        return if pool.is_busy {
            row.because(
                "beegfs.busy",
                "the connection uses TCP although RDMA reaches the server; the client \
                 reports no reason while all connections are busy",
            )
            .fix(fix_of_busy_connections())
        } else {
            row.because(
                "beegfs.rdma_offered",
                "the connection uses TCP although RDMA reaches the server; the client \
                 reports no reason",
            )
            .fix(format!(
                "read the kernel log: dmesg | grep beegfs; {PING}; when that works, mount \
                 again"
            ))
        };
    }
    let last = reachability.log.last_connected(server.node.kind, server.end);
    let row = match last.filter(|line| pool.is_busy && line.kind == "TCP") {
        // The client did not try RDMA.
        Some(line) => row.logged(&line.text),
        None if pool.is_busy => {
            let row = row
                .works(tcp, ConnectionVerdict::Unknown)
                .because(
                    "beegfs.busy",
                    "the connection uses TCP; the client reports no reason while all \
                     connections are busy",
                )
                .fix(fix_of_busy_connections())
                .lacks(format!("{}: fallback marks of busy connections", server.list_file()));
            let could_be_read = reachability.log.could_be_read();
            return if could_be_read { row } else { row.lacks("the kernel log") };
        }
        None => row,
    };
    let row = match server.end.and_then(|end| reachability.listener(end, false)) {
        Some((source, text)) => row.observed(source, text),
        None => row,
    };
    row.works(tcp, ConnectionVerdict::Tcp)
        .because(
            "beegfs.peer_no_rdma",
            "the server probably offers no RDMA, or connNetFilterFile excludes its RDMA \
             addresses",
        )
        .fix(
            "on the server, check connUseRDMA in its configuration and the devices: \
             rdmactl devices -H {server}",
        )
}

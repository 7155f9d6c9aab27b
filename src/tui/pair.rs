//! Content of the detail pane of one pair of a matrix.

use super::detail::DetailPart;
use super::matrix::{MatrixGrid, half_rtt_ns};
use super::rows::{RowKey, RowText, beginning};
use super::theme::Token;
use crate::model::ping::{Latency, Pair, RoutePort, Verdict};
use crate::query::Value;

impl MatrixGrid {
    /// Returns the key and the name of the selected pair; `None` if the cell has no pair.
    pub(super) fn looked_at(&self) -> Option<(RowKey, String)> {
        let pair = self.pair(self.row, self.column)?;
        let (source, target) = (self.name(pair.source), self.name(pair.target));
        let key = [source, target].map(|name| Value::Text(name.to_owned())).into();
        Some((key, format!("{source} -> {target}")))
    }

    fn name(&self, host: usize) -> &str {
        self.report.hosts.get(host).map_or("?", |host| &host.name)
    }

    /// Returns the content for a pair; `None` if the matrix does not have its hosts.
    pub(super) fn detail(&self, key: &RowKey) -> Option<Vec<DetailPart>> {
        let host = |at: usize| {
            let name = key.get(at)?.name()?;
            self.report.hosts.iter().position(|host| host.name == name)
        };
        let pair = self.pair(host(0)?, host(1)?)?;
        let (verdict, is_bad) = (&pair.verdict, pair.verdict.code.is_failure());
        let (what, fix) = (verdict.detail.clone(), verdict.hint.clone().filter(|_| is_bad));
        let tone = if is_bad { Token::Bad } else { Token::Plain };
        let mut parts = beginning([RowText { what, fix, tone }]);
        parts.push(DetailPart::Field("SOURCE".into(), Value::Text(self.name(pair.source).into())));
        parts.push(DetailPart::Field("TARGET".into(), Value::Text(self.name(pair.target).into())));
        parts.push(DetailPart::Field("VERDICT".into(), word(verdict, "")));
        if is_bad {
            let stage = verdict.stage.map(|stage| Value::Text(stage.word().to_owned()));
            parts.push(DetailPart::Field("STAGE".into(), stage.unwrap_or(Value::Absent)));
            parts.push(DetailPart::Field("SIDE".into(), Value::Text(verdict.side.word().into())));
        }
        if let Some(first) = &pair.first {
            let text = format!("{}: {}", first.code.word(), first.detail);
            parts.push(DetailPart::Field("FIRST ATTEMPT".into(), Value::Text(text)));
        }
        parts.extend(self.latencies(pair));
        if let Some(route) = &pair.route {
            let mtu = route.mtu.map(|mtu| format!(", MTU {mtu}")).unwrap_or_default();
            let way = format!("{}, {}{mtu}", route.protocol.word(), route.method.word());
            parts.push(DetailPart::Field("ROUTE".into(), Value::Text(way)));
            parts.push(DetailPart::Field("SOURCE PORT".into(), Value::Text(end(&route.source))));
            parts.push(DetailPart::Field("TARGET PORT".into(), Value::Text(end(&route.target))));
        }
        if let Some(back) = self.pair(pair.target, pair.source) {
            let figures = half_rtt_ns(back).map(|ns| format!(", {} us", Value::Nanoseconds(ns)));
            let value = word(&back.verdict, &figures.unwrap_or_default());
            parts.push(DetailPart::Field("REVERSE".into(), value));
        }
        Some(parts)
    }

    /// Returns the half RTTs over RDMA and TCP, and the ratio to the median of the matrix.
    fn latencies(&self, pair: &Pair) -> Vec<DetailPart> {
        let text = |one: &Latency| {
            let us = |ns: u64| Value::Nanoseconds(ns).to_string();
            let half = &one.half_rtt_ns;
            let p99 = half.p99.map(|ns| format!(", p99 {}", us(ns))).unwrap_or_default();
            format!(
                "median {} us, min {}, max {}{p99}; {} round trips",
                us(half.p50),
                us(half.min),
                us(half.max),
                one.count
            )
        };
        let mut parts = Vec::new();
        for (name, latency) in [("RDMA", &pair.rdma), ("TCP", &pair.tcp)] {
            let value = latency.as_ref().map_or(Value::Absent, |one| Value::Text(text(one)));
            parts.push(DetailPart::Field(name.into(), value));
        }
        if let Some((mine, median)) = half_rtt_ns(pair).zip(self.median_ns.filter(|ns| *ns > 0)) {
            let percent = u128::from(mine) * 100 / u128::from(median);
            let median = Value::Nanoseconds(median);
            let text = format!("{percent}% of the median of all pairs ({median} us)");
            parts.push(DetailPart::Field("RELATIVE".into(), Value::Text(text)));
        }
        parts
    }
}

fn word(verdict: &Verdict, figures: &str) -> Value {
    let text = format!("{}{figures}", verdict.code.word());
    if verdict.code.is_failure() { Value::Bad(text) } else { Value::Text(text) }
}

/// Formats a port of a route: `mlx5_0/1 gid 3 fe80::1, eth0`.
fn end(port: &RoutePort) -> String {
    let software = if port.is_software() { " (software)" } else { "" };
    let netdev = port.netdev.as_ref().map(|name| format!(", {name}")).unwrap_or_default();
    format!("{}/{} gid {} {}{netdev}{software}", port.device, port.port, port.gid_index, port.gid)
}

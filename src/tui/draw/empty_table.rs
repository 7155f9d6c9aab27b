//! Text for a table without rows. It reports no problem only for data that was read.

use crate::model::{HostReport, PortState, Reason};
use crate::tui::mode::Page;
use crate::tui::state::State;
use crate::tui::theme::Token;
use crate::tui::view::{HostFilter, View};

/// Returns the text and its style; `is_kept_out` is true if a filter hides all rows.
pub(super) fn text(state: &State, is_kept_out: bool) -> (String, Token) {
    if is_kept_out {
        let text = "No row matches. / changes the filter, x shows all rows again, Esc removes \
                    every filter.";
        return (text.to_owned(), Token::Plain);
    }
    let hosts = state.snapshot().map_or(0, |snapshot| snapshot.sample.reports.len());
    if hosts == 0
        && let Some(grid) = &state.grid
    {
        let (works, fails, rest) = grid.counts;
        let result = match fails {
            0 => String::new(),
            fails => {
                let pairs = works + fails + rest;
                format!(", in which RDMA fails for {fails} of {pairs} pairs")
            }
        };
        let token = if fails > 0 { Token::Bad } else { Token::Plain };
        return (
            format!("No host data: the file contains only a ping matrix{result}. Press 4."),
            token,
        );
    }
    let (view, unknown) = (state.view(), unknown(state));
    let summary = match view {
        View::Problems if unknown.is_none() && hosts > 0 => {
            return (all_clear(state), Token::Ok);
        }
        View::Problems => "No problem is known",
        View::Connections if unknown.is_none() => {
            "No connection uses RDMA, and no RDMA-capable application uses TCP"
        }
        View::Connections => "No connection is known",
        View::Resources if unknown.is_none() => {
            "No process holds a queue pair or memory of an RDMA device"
        }
        View::Resources => "No process with a queue pair or memory of an RDMA device is known",
        View::Ports if unknown.is_none() => "No port",
        View::Ports => "No port is known",
        View::Hosts | View::Matrix => "No host",
    };
    let text = match unknown {
        None => format!("{summary}."),
        Some(why) => format!("{summary}, but {why}."),
    };
    (text, Token::Plain)
}

/// Returns the text for no problem, with the numbers of hosts, ports and connections.
fn all_clear(state: &State) -> String {
    let Some(snapshot) = state.snapshot() else { return String::new() };
    let all = snapshot.sample.reports.len();
    let of = |some: usize, all: usize, one: &str| {
        let end = if all == 1 { "" } else { "s" };
        format!("{some} of {all} {one}{end}")
    };
    let devices = snapshot.sample.reports.iter().flat_map(|report| &report.devices);
    let states: Vec<Option<PortState>> =
        devices.flat_map(|device| &device.ports).map(|port| port.state).collect();
    let active = states.iter().flatten().filter(|state| state.is_active()).count();
    let share = snapshot.share();
    let connections = match share.all() {
        _ if !snapshot.knows_connections() => "connections were not read".to_owned(),
        0 => "no connection uses RDMA, or TCP in its place".to_owned(),
        1 => "the only connection did not fall back to TCP".to_owned(),
        all => format!("none of {all} connections fell back to TCP"),
    };
    let hosts = of(snapshot.hosts_up(), all, "host");
    let ports = of(active, states.len(), "port");
    format!("No problem found: {hosts} responded, {ports} active, and {connections}.")
}

/// Returns the reason why data may be missing; `None` if everything was read.
fn unknown(state: &State) -> Option<String> {
    let snapshot = state.snapshot()?;
    let narrow = match state.page() {
        Page::Rows(_, narrow) => narrow,
        Page::Detail(..) => &HostFilter::All,
    };
    let hosts = || snapshot.admitted(narrow);
    let reasons = || hosts().filter_map(|(host, _)| snapshot.failure(host)).map(|one| one.reason);
    let connecting = reasons().filter(|reason| *reason == Reason::Connecting).count();
    let unresponsive = reasons().count() - connecting;
    let parts = shown_parts(state.view());
    let is_unread = |(host, report): &(usize, &HostReport)| {
        snapshot.failure(*host).is_none() && parts.iter().any(|part| report.problems.affects(part))
    };
    let unread = hosts().filter(is_unread).count();
    let text = |count: usize, one: &str, many: &str| match count {
        0 => None,
        1 => Some(format!("1 host {one}")),
        count => Some(format!("{count} hosts {many}")),
    };
    let texts = [
        text(connecting, "is still connecting", "are still connecting"),
        text(unresponsive, "does not respond", "do not respond"),
        text(unread, "could not be read in full", "could not be read in full"),
    ];
    let texts: Vec<String> = texts.into_iter().flatten().collect();
    Some(texts.join(", ")).filter(|text| !text.is_empty())
}

/// Returns the parts of a report that a view shows, by the keys of their problems.
fn shown_parts(view: View) -> &'static [&'static str] {
    match view {
        View::Connections => &["connections", "consumers", "resources"],
        View::Resources => &["resources"],
        View::Ports => &["devices"],
        View::Problems | View::Hosts | View::Matrix => &[],
    }
}

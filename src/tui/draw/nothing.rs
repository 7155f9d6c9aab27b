//! What to say where there is no row: nothing is called good that nobody has seen.

use crate::model::{HostReport, Reason};
use crate::tui::mode::Page;
use crate::tui::scene::Scene;
use crate::tui::state::State;
use crate::tui::theme::Token;
use crate::tui::view::{Narrow, View};

/// The sentence, and its look.
pub(super) fn said(state: &State, is_kept_out: bool) -> (String, Token) {
    if is_kept_out {
        let text = "No row matches. / changes the filter, x shows all rows again, Esc removes \
                    every filter.";
        return (text.to_owned(), Token::Plain);
    }
    let hosts = state.scene().map_or(0, |scene| scene.picture.reports.len());
    if hosts == 0 && state.grid.is_some() {
        let text = "No host data: the file contains only a ping matrix. Press 4.";
        return (text.to_owned(), Token::Plain);
    }
    let (view, unknown) = (state.view(), unknown(state));
    let nothing = match view {
        View::Problems if unknown.is_none() && hosts > 0 => {
            let noun = if hosts == 1 { "host" } else { "hosts" };
            let text = format!(
                "No problems found on {hosts} {noun}: every host responds, every port is active, \
                 and no connection fell back to TCP."
            );
            return (text, Token::Ok);
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
        None => format!("{nothing}."),
        Some(why) => format!("{nothing}, but {why}."),
    };
    (text, Token::Plain)
}

/// Why more may be there than is known; `None` where everything was read.
fn unknown(state: &State) -> Option<String> {
    let scene = state.scene()?;
    let narrow = match state.page() {
        Page::Rows(_, narrow) => narrow,
        Page::Detail(..) => &Narrow::All,
    };
    let hosts = || {
        let all = scene.picture.reports.iter().enumerate();
        all.filter(|(_, report)| narrow.admits(&report.host))
    };
    let reasons = || hosts().filter_map(|(host, _)| scene.failure(host)).map(|one| one.reason);
    let connecting = reasons().filter(|reason| *reason == Reason::Connecting).count();
    let silent = reasons().count() - connecting;
    let part = unread(state.view());
    let unread = hosts().filter(|(host, report)| is_unread(scene, *host, report, part)).count();
    let text = |count: usize, one: &str, many: &str| match count {
        0 => None,
        1 => Some(format!("1 host {one}")),
        count => Some(format!("{count} hosts {many}")),
    };
    let texts = [
        text(connecting, "is still connecting", "are still connecting"),
        text(silent, "does not respond", "do not respond"),
        text(unread, "could not be read in full", "could not be read in full"),
    ];
    let texts: Vec<String> = texts.into_iter().flatten().collect();
    Some(texts.join(", ")).filter(|text| !text.is_empty())
}

/// The parts of a report that a view shows, as its problems call them.
fn unread(view: View) -> &'static [&'static str] {
    match view {
        View::Connections => &["connections", "consumers", "resources"],
        View::Resources => &["resources"],
        View::Ports => &["devices"],
        View::Problems | View::Hosts | View::Matrix => &[],
    }
}

/// Whether something of these parts is not known of a host that is there.
fn is_unread(scene: &Scene, host: usize, report: &HostReport, parts: &[&str]) -> bool {
    let has_problem = || parts.iter().any(|part| report.problems.touch(part));
    scene.failure(host).is_none() && has_problem()
}

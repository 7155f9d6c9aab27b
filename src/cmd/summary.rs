//! `rdmactl` alone: what there is, in one screen, and what to ask next.

use crate::cli::Global;
use crate::model::{HostReport, Parts, Port, PortState};
use crate::query::{Devices, device_rows};
use crate::render::{escape, notes};
use crate::term::Term;

use super::Outcome;
use super::listing::read;
use super::outcome::say;
use super::view::{Hosts, View};

/// A command, and the question that it answers.
type Next = (&'static str, &'static str);

const PING: Next =
    ("rdmactl ping --matrix 'n[1-4]'", "does RDMA work between every two of these hosts?");
const COUNTERS: Next = ("rdmactl counters", "what went through, and what went wrong on the way?");
const LINKS: Next = ("rdmactl ports", "what do the links lack to become active?");
const OTHERS: Next = ("rdmactl devices -H 'n[1-4]' --upload", "what do these hosts have?");
const HELP: Next = ("rdmactl --help", "everything else");

/// Prints the summary of what the flags name.
pub(super) fn run(global: &Global, term: Term) -> anyhow::Result<Outcome> {
    let reports = read(global, &Parts::default())?;
    let rows = device_rows(&reports.hosts, reports.hosts_named);
    let devices = View::<Devices>::new(global, term)?.print(rows, Hosts::of(&reports))?;
    let mut text = heading(&reports.hosts);
    if !devices.is_empty() {
        text.push('\n');
        text.push_str(&devices);
    }
    text.push('\n');
    text.push_str(&next(&reports.hosts));
    term.answer(text)?;
    for note in notes(&reports.hosts, reports.hosts_named) {
        say(term, &note);
    }
    Ok(Outcome::of_listing(&reports.hosts))
}

/// Three commands that answer the next questions, by what was found.
fn next(hosts: &[HostReport]) -> String {
    let fitting: &[Next] = if hosts.iter().all(|host| host.devices.is_empty()) {
        &[OTHERS, HELP]
    } else if ports(hosts).any(is_active) {
        &[PING, COUNTERS, HELP]
    } else {
        &[LINKS, COUNTERS, HELP]
    };
    let width = fitting.iter().map(|(command, _)| command.len()).max().unwrap_or(0);
    let line = |(command, question): &Next| format!("  {command:width$}   {question}\n");
    format!("Next:\n{}", fitting.iter().map(line).collect::<String>())
}

/// `n17, Linux 6.8.0: 2 RDMA devices, 1 of 2 ports active`.
fn heading(hosts: &[HostReport]) -> String {
    let who = match hosts {
        [host] => {
            let kernel = host.kernel.as_ref().map_or(String::new(), |it| format!(", Linux {it}"));
            escape(&format!("{}{kernel}", host.host)).into_owned()
        }
        hosts => format!("{} hosts", hosts.len()),
    };
    let active = ports(hosts).filter(|port| is_active(port)).count();
    let devices = match hosts.iter().map(|host| host.devices.len()).sum() {
        0 => return format!("{who}: no RDMA device\n"),
        1 => "1 RDMA device".to_owned(),
        count => format!("{count} RDMA devices"),
    };
    format!("{who}: {devices}, {active} of {} ports active\n", ports(hosts).count())
}

fn ports(hosts: &[HostReport]) -> impl Iterator<Item = &Port> {
    hosts.iter().flat_map(|host| &host.devices).flat_map(|device| &device.ports)
}

fn is_active(port: &Port) -> bool {
    port.state.is_some_and(PortState::is_active)
}

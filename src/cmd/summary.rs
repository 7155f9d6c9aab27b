//! Runs `rdmactl` without a command: prints a summary and the next commands to run.

use std::collections::BTreeSet;

use crate::cli::Global;
use crate::model::{HostReport, Parts, Port};
use crate::query::{DeviceRow, Devices, device_rows};
use crate::render::{escape, notes};
use crate::term::Term;

use super::Outcome;
use super::connection_flags::place_flags;
use super::listing::read;
use super::listing_output::{Hosts, ListingOutput};
use super::outcome::say_all;
use super::ports::down_ports;

/// Command and its description. `HOSTS` is replaced by the flags that name and reach the hosts.
type NextCommand = (&'static str, &'static str);

const PING: NextCommand = ("rdmactl ping --matrix HOSTS", "test RDMA between every pair of hosts");
const COUNTERS: NextCommand = ("rdmactl counters HOSTS", "traffic and errors of each port");
const LINKS: NextCommand = ("rdmactl ports HOSTS", "state of each link, and why it is down");
const OTHERS: NextCommand = ("rdmactl devices HOSTS", "RDMA devices of these hosts");
const HELP: NextCommand = ("rdmactl --help", "all commands and flags");

const EXAMPLE_HOSTS: &str = "-H 'n[1-4]'";

/// Prints the summary. `typed` holds the flags without the configuration, for the next commands.
pub(super) fn run(global: &Global, typed: &Global, term: Term) -> anyhow::Result<Outcome> {
    let reports = read(global, &Parts::default())?;
    let rows = device_rows(&reports.hosts, reports.hosts_named);
    let footer = |rows: &[DeviceRow<'_>]| down_ports(rows, reports.hosts_named);
    let view = ListingOutput::<Devices>::new(global, term)?;
    let devices = view.print_with(rows, Hosts::of(&reports), &footer)?;
    let mut text = heading(&reports.hosts);
    if !devices.is_empty() {
        text.extend(["\n", &devices]);
    }
    text.extend(["\n", &next(global, typed, &reports.hosts)]);
    term.write_stdout(text)?;
    say_all(term, notes(&reports.hosts, reports.hosts_named, global.verbose > 0));
    reports.saved?;
    Ok(Outcome::of_listing(&reports.hosts))
}

/// Returns the commands that fit the findings, with the host flags filled in.
fn next(global: &Global, typed: &Global, hosts: &[HostReport]) -> String {
    let fitting: &[NextCommand] = if hosts.iter().all(|host| host.devices.is_empty()) {
        &[OTHERS, HELP]
    } else if ports(hosts).any(Port::is_active) {
        &[PING, COUNTERS, HELP]
    } else {
        &[LINKS, COUNTERS, HELP]
    };
    let flags = place_flags(typed);
    let fill = |(command, what): &NextCommand| {
        let needs_hosts = [PING.0, OTHERS.0].contains(command) && !global.names_hosts();
        let hosts = if needs_hosts {
            format!("{EXAMPLE_HOSTS} {flags}")
        } else if global.local {
            format!("--local {flags}")
        } else {
            flags.clone()
        };
        (command.replace("HOSTS", &hosts).trim_end().to_owned(), *what)
    };
    // A ping needs live hosts, and a capture or another root has none.
    let is_file = global.from.is_some() || global.root.is_some();
    let fitting = fitting.iter().filter(|next| !(is_file && next.0 == PING.0));
    let lines: Vec<(String, &str)> = fitting.map(fill).collect();
    let width = lines.iter().map(|(command, _)| command.len()).max().unwrap_or(0);
    let line = |(command, what): &(String, &str)| format!("  {command:width$}   {what}\n");
    format!("Next:\n{}", lines.iter().map(line).collect::<String>())
}

/// Returns the known kernels of several hosts, such as `, Linux 6.8.0`, or their number.
fn kernels(hosts: &[HostReport]) -> String {
    let kernels: BTreeSet<&str> = hosts.iter().filter_map(|host| host.kernel.as_deref()).collect();
    let all: Vec<&str> = kernels.into_iter().collect();
    match all.as_slice() {
        [] => String::new(),
        [_] | [_, _] => escape(&format!(", Linux {}", all.join(" and "))).into_owned(),
        [_, _, _, ..] => format!(", {} kernels (list them: rdmactl devices -o +kernel)", all.len()),
    }
}

/// Returns the first line: `n17, Linux 6.8.0: 2 RDMA devices, 1 of 2 ports active`.
fn heading(hosts: &[HostReport]) -> String {
    let who = match hosts {
        [host] => {
            let kernel = host.kernel.as_ref().map_or(String::new(), |it| format!(", Linux {it}"));
            escape(&format!("{}{kernel}", host.host)).into_owned()
        }
        hosts => match hosts.iter().filter(|host| host.failure.is_some()).count() {
            0 => format!("{} hosts{}", hosts.len(), kernels(hosts)),
            failed => format!("{} hosts, {failed} without data{}", hosts.len(), kernels(hosts)),
        },
    };
    let active = ports(hosts).filter(|port| port.is_active()).count();
    // The numbers count hosts with a report; the text names these hosts if others have none.
    let there = hosts.iter().filter(|host| host.failure.is_none()).count();
    let on = match there {
        there if there == hosts.len() => String::new(),
        1 => " on the other host".to_owned(),
        there => format!(" on the other {there} hosts"),
    };
    let devices = match hosts.iter().map(|host| host.devices.len()).sum() {
        0 if there == 0 => return format!("{who}\n"),
        0 if hosts.iter().any(|host| host.problems.has("devices")) => {
            return format!("{who}: RDMA devices unknown{on}\n");
        }
        0 => return format!("{who}: no RDMA device{on}\n"),
        1 => "1 RDMA device".to_owned(),
        count => format!("{count} RDMA devices"),
    };
    format!("{who}: {devices}, {active} of {} ports active{on}\n", ports(hosts).count())
}

fn ports(hosts: &[HostReport]) -> impl Iterator<Item = &Port> {
    hosts.iter().flat_map(|host| &host.devices).flat_map(|device| &device.ports)
}

#[test]
fn the_numbers_are_those_of_the_hosts_that_gave_a_report() {
    use crate::model::{HostFailure, Problem, Reason, Via};

    let there = |name: &str| {
        let mut report = HostReport::empty(name, Via::Agent);
        let port = serde_json::json!({ "number": 1, "state": "active" });
        let device = serde_json::json!({ "name": "mlx5_0", "ports": [port] });
        report.devices = vec![serde_json::from_value(device).unwrap()];
        report
    };
    let hung = |name: &str| HostReport::failed(name, HostFailure::new(Reason::Hung, "hung"));
    let bare = |name: &str| HostReport::empty(name, Via::Agent);
    let unread = |name: &str| {
        let problem = Problem::of_device_file("x", "/sys/class/infiniband", "EACCES", "EACCES");
        let problems = vec![Problem { key: "devices".into(), ..problem }].into();
        HostReport { problems, ..bare(name) }
    };
    for (hosts, expected) in [
        (vec![there("n1"), there("n2")], "2 hosts: 2 RDMA devices, 2 of 2 ports active\n"),
        (
            vec![there("n1"), there("n2"), hung("n3")],
            "3 hosts, 1 without data: 2 RDMA devices, 2 of 2 ports active on the other 2 hosts\n",
        ),
        (
            vec![there("n1"), hung("n2"), hung("n3")],
            "3 hosts, 2 without data: 1 RDMA device, 1 of 1 ports active on the other host\n",
        ),
        (
            vec![bare("n1"), bare("n2"), hung("n3")],
            "3 hosts, 1 without data: no RDMA device on the other 2 hosts\n",
        ),
        (vec![hung("n1"), hung("n2")], "2 hosts, 2 without data\n"),
        (vec![bare("n1")], "n1: no RDMA device\n"),
        (vec![bare("n1"), unread("n2")], "2 hosts: RDMA devices unknown\n"),
    ] {
        assert_eq!(heading(&hosts), expected);
    }
}

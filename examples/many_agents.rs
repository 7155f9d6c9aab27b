//! Runs the agent of every connected login in one process. `packaging/bench live` uses it in
//! place of a thousand hosts with one agent each.
//!
//!     many_agents SOCKET REPORTS
//!
//! A login connects to SOCKET. It passes its stdin, its stdout and the nonce for the agent's
//! greeting. REPORTS is JSON of rdmactl. Each agent sends the first host of REPORTS. The report
//! has counters if the operator requests counters, and their values increase.

#![expect(clippy::expect_used, reason = "a maintainer's tool ends if its input is missing")]

use std::fs::{self, File};
use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use std::{env, thread};

use anyhow::{Context as _, Result, bail};
use rdmactl::agent::Supervisor;
use rdmactl::clock;
use rdmactl::model::{Counter, HostReport, Part, Parts};
use rdmactl::source::Recording;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

/// Report of each agent, before the agent changes the counters.
static REPORT: OnceLock<HostReport> = OnceLock::new();

fn main() -> Result<()> {
    let words: Vec<String> = env::args().skip(1).collect();
    let [socket, reports] = words.as_slice() else { bail!("usage: many_agents SOCKET REPORTS") };
    let json: serde_json::Value = serde_json::from_slice(&fs::read(reports)?)?;
    let report = serde_json::from_value(json["hosts"][0].clone()).context("its first host")?;
    REPORT.get_or_init(|| report);
    for login in UnixListener::bind(socket)?.incoming() {
        let login = login?;
        thread::Builder::new().stack_size(256 * 1024).spawn(move || serve(&login))?;
    }
    Ok(())
}

/// Runs the agent of a login until its connection ends.
fn serve(login: &UnixStream) -> Result<()> {
    let (nonce, input, output) = receive(login).context("a login passed no stdin and stdout")?;
    let recording = |_: &Parts, _| Recording::default();
    let agent = Supervisor { nonce, unlink: false, inventory, recording };
    Ok(agent.run(File::from(input), File::from(output))?)
}

/// Receives the nonce, the stdin and the stdout of a login.
fn receive(login: &UnixStream) -> Option<(String, OwnedFd, OwnedFd)> {
    let mut nonce = [0; 32];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    recvmsg(login, &mut [IoSliceMut::new(&mut nonce)], &mut control, RecvFlags::CMSG_CLOEXEC)
        .ok()?;
    let mut files = control.drain().flat_map(|message| match message {
        RecvAncillaryMessage::ScmRights(files) => files.collect(),
        _ => Vec::new(),
    });
    Some((String::from_utf8(nonce.to_vec()).ok()?, files.next()?, files.next()?))
}

fn inventory(parts: &Parts, _: Duration) -> HostReport {
    static REPORTS: AtomicU64 = AtomicU64::new(0);
    let mut report = REPORT.get().expect("main sets the report before the first login").clone();
    let (more, now_ns) = (REPORTS.fetch_add(1, Ordering::Relaxed), clock::wall_ns());
    (report.taken_ns, report.parts) = (Some(now_ns), parts.clone());
    let is_requested = parts.has(Part::Counters);
    let increase = |counters: &mut Option<Vec<Counter>>| {
        counters.take_if(|_| !is_requested);
        for counter in counters.iter_mut().flatten() {
            counter.value = counter.value.map(|value| value + more);
            counter.read_ns = Some(now_ns);
        }
    };
    for device in &mut report.devices {
        increase(&mut device.counters);
        for port in &mut device.ports {
            increase(&mut port.counters);
        }
    }
    report
}

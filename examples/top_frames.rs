//! Measures the time of `rdmactl top` for each sample and each frame of many hosts, without a
//! terminal.
//!
//!     top_frames REPORTS HOSTS PORTS PICTURES
//!
//! REPORTS is JSON of rdmactl. Each host is a copy of its first host with PORTS ports, whose
//! counters increase. PICTURES is the number of samples.
//!
//! Prints median, 99th percentile and maximum, in milliseconds. In `rdmactl top`, `gather` and
//! `prepare` do not run on the thread of the screen. `picture` is the time to accept a sample,
//! `key` to handle a key and `frame` to draw a frame.

#![expect(clippy::print_stdout, reason = "a maintainer's tool prints its findings")]

use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{env, fs};

use anyhow::{Context as _, Result, bail};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use rdmactl::analyse::connections::connections;
use rdmactl::analyse::rate::CounterSample;
use rdmactl::clock;
use rdmactl::model::{Counter, HostReport};
use rdmactl::tui::{
    Event, Glyphs, LastResponse, Prepared, Sample, Snapshots, State, Theme, Timeline, ViewSettings,
    draw,
};

/// Keys that the measurement repeats: they change the view, move down and change the order.
const KEYS: &str = "1jjj2jjjr3jj5jjx6jx2jj";

fn main() -> Result<()> {
    let words: Vec<String> = env::args().skip(1).collect();
    let [reports, hosts, ports, pictures] = words.as_slice() else {
        bail!("usage: top_frames REPORTS HOSTS PORTS PICTURES");
    };
    let json: serde_json::Value = serde_json::from_slice(&fs::read(reports)?)?;
    let first = serde_json::from_value(json["hosts"][0].clone()).context("its first host")?;
    let hosts = hosts_like(&with_ports(first, ports.parse()?), hosts.parse()?);
    let settings = ViewSettings {
        theme: Theme::Dark,
        glyphs: Glyphs::Utf8,
        timeline: Timeline::Live(Duration::from_secs(1)),
        may_upload: true,
        waiting_for: format!("{} hosts", hosts.len()),
    };
    let (mut state, mut scenes) = (State::new(settings, clock::now()), Snapshots::default());
    let mut terminal = Terminal::new(TestBackend::new(160, 50))?;
    state.update(clock::now(), Event::Resize(160, 50));
    let [mut gathered, mut prepared, mut taken, mut answered, mut drawn] =
        [const { Vec::new() }; 5];
    let (mut before, mut keys) = (CounterSample::default(), KEYS.chars().cycle());
    for number in 0..pictures.parse()? {
        let (picture, counted) = timed(&mut gathered, || picture(&hosts, number, &before));
        before = counted;
        let scene = timed(&mut prepared, || {
            scenes.release();
            scenes.next(Prepared::of(picture))
        });
        timed(&mut taken, || state.update(clock::now(), Event::Snapshot(scene)));
        for key in keys.by_ref().take(3) {
            let key = KeyEvent::new(KeyCode::Char(key), KeyModifiers::NONE);
            timed(&mut answered, || state.update(clock::now(), Event::Key(key)));
            timed(&mut drawn, || terminal.draw(|frame| draw(&state, frame)).map(drop))?;
        }
    }
    for (what, times) in [
        ("gather", gathered),
        ("prepare", prepared),
        ("picture", taken),
        ("key", answered),
        ("frame", drawn),
    ] {
        println!("{what}\t{}", summary(times));
    }
    Ok(())
}

fn timed<T>(times: &mut Vec<Duration>, work: impl FnOnce() -> T) -> T {
    let start = clock::now();
    let done = work();
    times.push(start.elapsed());
    done
}

/// Formats median, 99th percentile and maximum, in milliseconds.
fn summary(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    let at = |share: usize| times[(times.len() * share / 100).min(times.len() - 1)];
    let ms = |time: Duration| format!("{:.2}", time.as_secs_f64() * 1_000.0);
    format!("p50 {}\tp99 {}\tmax {}", ms(at(50)), ms(at(99)), ms(at(100)))
}

fn with_ports(mut report: HostReport, count: u32) -> HostReport {
    for device in &mut report.devices {
        if let Some(port) = device.ports.first().cloned() {
            device.ports =
                (1..=count).map(|number| rdmactl::model::Port { number, ..port.clone() }).collect();
        }
    }
    report.devices.truncate(1);
    report
}

fn hosts_like(report: &HostReport, count: usize) -> Vec<HostReport> {
    (1..=count)
        .map(|number| HostReport { host: format!("n{number:04}"), ..report.clone() })
        .collect()
}

/// Returns the sample of all hosts at a second, with rates since the sample before.
fn picture(
    hosts: &[HostReport],
    second: u64,
    before: &CounterSample,
) -> (Arc<Sample>, CounterSample) {
    let mut reports = hosts.to_vec();
    for (place, report) in reports.iter_mut().enumerate() {
        for port in report.devices.iter_mut().flat_map(|device| &mut device.ports) {
            for counter in port.counters.iter_mut().flatten() {
                move_on(counter, second, place as u64 * u64::from(port.number));
            }
        }
    }
    before.add_rates(&mut reports);
    let counted = CounterSample::of(&reports);
    let at: Instant = clock::now();
    let seen = reports.iter().map(|_| LastResponse { answered: Some(at), failure: None }).collect();
    let connections = connections(&reports);
    let taken_ns = clock::wall_ns();
    (Arc::new(Sample { at, taken_ns, reports, seen, connections }), counted)
}

/// Increases traffic counters; error counters keep their values.
fn move_on(counter: &mut Counter, second: u64, step: u64) {
    if counter.name.ends_with("_data") || counter.name.ends_with("_packets") {
        counter.value = counter.value.map(|value| value.wrapping_add(second * step));
    }
    counter.read_ns = Some((second + 1) * 1_000_000_000);
}

//! Handles signals. In a run with other hosts or on the full screen, the first signal ends the
//! run and its agents; the second one kills the process.
//!
//! Analysis and output leave nothing running on a host. After a signal they get one second, also
//! between the samples of `--watch` and between the passes of `ping`. Other runs keep the default
//! action of signals.

use std::fs;
use std::io;
use std::process::ExitCode;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::Context as _;
use parking_lot::Mutex;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use crate::fleet::Watchdog;
use crate::term::screen;

/// Signal that ended the run; 0 for none.
static ENDED_BY: AtomicI32 = AtomicI32::new(0);

/// Phase of this run.
static PHASE: Phase = Phase(AtomicU32::new(0));

/// Time that analysis and output get after a signal.
const TIME_TO_PRINT: Duration = Duration::from_secs(1);

/// Returns the watchdog of this run, and starts it at the first call: a second handler of signals
/// would take the first signal for the second one. The first signal cancels the run, which then
/// prints its results; the next one kills.
pub(super) fn start_watchdog() -> anyhow::Result<Watchdog> {
    static WATCHDOG: Mutex<Option<Watchdog>> = Mutex::new(None);
    let mut started = WATCHDOG.lock();
    if let Some(watchdog) = &*started {
        remote_work();
        return Ok(watchdog.clone());
    }
    let watchdog = Watchdog::start().context("cannot start a thread")?;
    let on_signal = watchdog.clone();
    end_on_signals(move || on_signal.cancel()).context("cannot watch for signals")?;
    *started = Some(watchdog.clone());
    Ok(watchdog)
}

/// Installs a handler: the first signal calls `end`; the next one kills.
pub(super) fn end_on_signals(end: impl Fn() + Send + 'static) -> io::Result<()> {
    remote_work();
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = parse_ignored(&status);
    // Signals that nohup or a shell's background job ignores stay ignored.
    let wanted = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|&signal| !ignored(signal));
    let mut signals = Signals::new(wanted)?;
    let serve = move || {
        for signal in signals.forever() {
            if ENDED_BY.swap(signal, Ordering::SeqCst) != 0 {
                end_by(signal);
            }
            end();
            end_soon();
        }
    };
    thread::Builder::new().name("signals".into()).stack_size(64 * 1024).spawn(serve).map(drop)
}

/// Marks the start of work with hosts. A signal lets the program end this work properly.
pub(super) fn remote_work() {
    PHASE.start_remote();
}

/// Marks the start of analysis and output, which a signal ends after [`TIME_TO_PRINT`]. For a
/// signal that came before, the time starts now.
pub(super) fn local_work() {
    PHASE.start_local();
    if ENDED_BY.load(Ordering::SeqCst) != 0 {
        end_soon();
    }
}

/// Ends the program after [`TIME_TO_PRINT`], unless work with hosts starts before.
fn end_soon() {
    let Some(local) = PHASE.local() else { return };
    let end = move || {
        thread::park_timeout(TIME_TO_PRINT);
        if PHASE.local() == Some(local) {
            end_at_once();
        }
    };
    // Without a thread, a second signal is needed.
    let _ = thread::Builder::new().name("rest".into()).stack_size(64 * 1024).spawn(end);
}

/// Number of changes between work with hosts and local work. The number is odd while the program
/// analyzes or prints, and no host does anything for it.
struct Phase(AtomicU32);

impl Phase {
    fn start_remote(&self) {
        let next = |phase: u32| (phase % 2 == 1).then(|| phase.wrapping_add(1));
        // An even number stays.
        let _ = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, next);
    }

    fn start_local(&self) {
        self.0.fetch_or(1, Ordering::SeqCst);
    }

    /// Returns the number of the local work; `None` during work with hosts.
    fn local(&self) -> Option<u32> {
        Some(self.0.load(Ordering::SeqCst)).filter(|phase| phase % 2 == 1)
    }
}

/// Ends the program by the received signal with its default action.
pub(super) fn end_at_once() {
    end_by(ENDED_BY.load(Ordering::Relaxed));
}

fn end_by(signal: i32) {
    screen::restore();
    // It fails only for signals that cannot be caught.
    let _ = emulate_default_handler(signal);
}

/// Returns the exit code of a run that a signal ended: 128 plus its number, as shells do.
pub(super) fn exit_code() -> Option<ExitCode> {
    match ENDED_BY.load(Ordering::Relaxed) {
        0 => None,
        signal => Some(ExitCode::from(u8::try_from(128 + signal).unwrap_or(u8::MAX))),
    }
}

/// Parses the ignored signals from `/proc/PID/status`; none if the field is missing.
fn parse_ignored(status: &str) -> impl Fn(i32) -> bool + use<> {
    let mask = status
        .lines()
        .find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok())
        .unwrap_or(0);
    move |signal| mask >> (signal - 1) & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_under_nohup_leaves_sighup_ignored() {
        let ignored = parse_ignored("Name:\tx\nSigIgn:\t0000000000001001\nSigCgt:\t0\n");
        assert!(ignored(SIGHUP) && !ignored(SIGINT) && !ignored(SIGTERM));
        assert!(!parse_ignored("")(SIGHUP));
    }

    #[test]
    fn local_work_after_work_with_hosts_has_a_time_of_its_own() {
        let phase = Phase(AtomicU32::new(0));
        phase.start_remote();
        assert_eq!(phase.local(), None);
        phase.start_local();
        let first = phase.local();
        phase.start_local();
        assert!(first.is_some() && phase.local() == first);
        phase.start_remote();
        assert_eq!(phase.local(), None);
        phase.start_local();
        assert!(phase.local().is_some() && phase.local() != first);
    }
}

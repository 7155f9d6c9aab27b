//! Reads the settings that select transports from the environments of processes. `live` calls
//! this module.
//!
//! A read of an environment takes a lock of the process's memory. A process that hangs on a mount
//! may hold this lock forever. Therefore each read has its own thread; a thread that does not
//! return in time is abandoned.

use std::fs;
use std::io::Read as _;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::Mutex;

use super::{Answer, ReadError};

/// Time limit for one process.
const TIMEOUT: Duration = Duration::from_millis(200);

/// Limit in bytes. Linux starts a process with at most 6 MiB of arguments and environment.
const MAX_BYTES: u64 = 6 << 20;

/// Maximum number of abandoned threads. At this number, no further process is read.
const MAX_ABANDONED: usize = 3;

/// Abandoned threads of this program, by process ID. All samples share the list, because
/// `--watch` takes thousands of samples while a mount hangs.
static ABANDONED: AbandonedThreads = AbandonedThreads(Mutex::new(Vec::new()));

/// Names of the settings that select a transport, with the equals sign.
const SETTINGS: [&[u8]; 8] = [
    b"UCX_TLS=",
    b"UCX_NET_DEVICES=",
    b"NCCL_NET=",
    b"NCCL_IB_DISABLE=",
    b"NCCL_IB_HCA=",
    b"NCCL_SOCKET_IFNAME=",
    b"FI_PROVIDER=",
    b"OMPI_MCA_btl=",
];

/// Returns the transport settings of a process, one per line.
pub(super) fn ask(pid: u32, timeout: Duration) -> Answer {
    ABANDONED.ask(pid, TIMEOUT.min(timeout), read)
}

/// Threads by the ID of the process for which they wait.
struct AbandonedThreads(Mutex<Vec<(u32, JoinHandle<()>)>>);

impl AbandonedThreads {
    /// Calls `read` on its own thread. Returns an error if the thread does not return in time, an
    /// earlier thread still waits for the process, or too many threads are abandoned.
    fn ask(&self, pid: u32, timeout: Duration, read: fn(u32) -> Answer) -> Answer {
        let hangs = || Err(ReadError::Process("the read of the process does not return".into()));
        {
            let mut abandoned = self.0.lock();
            abandoned.retain(|(_, thread)| !thread.is_finished());
            if abandoned.len() >= MAX_ABANDONED || abandoned.iter().any(|(known, _)| *known == pid)
            {
                return hangs();
            }
        }
        let (sender, receiver) = mpsc::channel();
        let thread = thread::Builder::new()
            .name("environ".into())
            // The receiver of an abandoned thread is gone; send fails.
            .spawn(move || drop(sender.send(read(pid))))?;
        receiver.recv_timeout(timeout).unwrap_or_else(|_| {
            self.0.lock().push((pid, thread));
            hangs()
        })
    }
}

fn read(pid: u32) -> Answer {
    let mut content = Vec::new();
    let file = fs::File::open(format!("/proc/{pid}/environ"))?;
    file.take(MAX_BYTES + 1).read_to_end(&mut content)?;
    if content.len() as u64 > MAX_BYTES {
        return Err(ReadError::TooBig);
    }
    let settings = content.split(|byte| *byte == 0);
    // A value with a line feed would look like two settings.
    let selected = settings.filter(|setting| {
        SETTINGS.iter().any(|name| setting.starts_with(name)) && !setting.contains(&b'\n')
    });
    Ok(selected.flat_map(|setting| setting.iter().copied().chain([b'\n'])).collect())
}

#[test]
fn only_the_transport_settings_of_an_environment_are_returned() {
    // The child ends when its input ends, even if this test fails.
    let mut child = std::process::Command::new("cat")
        .stdin(std::process::Stdio::piped())
        .env_clear()
        // Environments may have up to 6 MiB.
        .envs(["A", "B", "C"].map(|name| (name, "x".repeat(100 << 10))))
        .env("UCX_TLS", "tcp")
        .env("SECRET", "x")
        .spawn()
        .unwrap();
    // Before exec the child is a copy of this process, which may take long on a busy machine.
    let deadline = crate::clock::Deadline::after(Duration::from_secs(20));
    let settings = loop {
        match ask(child.id(), TIMEOUT) {
            Ok(settings) if settings == b"UCX_TLS=tcp\n" => break settings,
            Ok(settings) => assert!(!settings.windows(6).any(|word| word == b"SECRET")),
            Err(error) => assert!(!deadline.is_over(), "{error}"),
        }
    };
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(settings, b"UCX_TLS=tcp\n");
}

#[test]
fn abandoned_threads_are_limited() {
    static HUNG: Mutex<()> = Mutex::new(());
    /// Replies for process 7; hangs for all others until the test releases the lock.
    fn read(pid: u32) -> Answer {
        if pid == 7 {
            return Ok(Vec::new());
        }
        drop(HUNG.lock());
        Err(ReadError::NotRecorded)
    }
    let abandoned = AbandonedThreads(Mutex::new(Vec::new()));
    let (long, timeout) = (Duration::from_secs(60), Duration::from_millis(1));
    let threads = || abandoned.0.lock().len();
    let hung = HUNG.lock();
    for _ in 0..3 {
        assert!(matches!(abandoned.ask(1, timeout, read), Err(ReadError::Process(_))));
    }
    assert_eq!(threads(), 1, "one thread still waits for process 1");
    assert_eq!(abandoned.ask(7, long, read), Ok(Vec::new()), "another process is read");
    for pid in 2..20 {
        assert!(abandoned.ask(pid, timeout, read).is_err());
    }
    assert_eq!(threads(), MAX_ABANDONED);
    drop(hung);
    // Each thread ends, and the next call removes it.
    while abandoned.ask(1, long, read) != Err(ReadError::NotRecorded) || threads() > 0 {
        thread::yield_now();
    }
}

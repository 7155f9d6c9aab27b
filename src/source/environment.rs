//! Reads the settings that decide on transports from the environments of processes. `live` calls
//! it.
//!
//! Reading an environment takes a lock of the process's memory. A process that hangs on a mount
//! may hold this lock forever. Therefore a thread does the reading; if it does not return in
//! time, it is abandoned.

use std::fs;
use std::io::Read as _;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::Mutex;

use super::holders::failed;
use super::{Answer, ReadError};

/// Time limit of reading one process.
const TIMEOUT: Duration = Duration::from_millis(200);

/// Limit of the bytes of an environment: Linux starts a process with at most 6 MiB of arguments
/// and environment.
const LIMIT: u64 = 6 << 20;

/// Limit of abandoned threads. When it is reached, no further process is read.
const MAX_ABANDONED: usize = 3;

/// Abandoned threads of this program, by process ID. All readings share them: a watch makes
/// thousands of readings while the mount hangs.
static ABANDONED: AbandonedThreads = AbandonedThreads(Mutex::new(Vec::new()));

/// Start of the settings that decide on transports, with the equals sign.
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

/// Returns the transport settings of a process, one a line.
pub(super) fn ask(pid: u32, timeout: Duration) -> Answer {
    ABANDONED.ask(pid, TIMEOUT.min(timeout), read)
}

/// Threads that wait for processes, with the process IDs.
struct AbandonedThreads(Mutex<Vec<(u32, JoinHandle<()>)>>);

impl AbandonedThreads {
    fn ask(&self, pid: u32, timeout: Duration, read: fn(u32) -> Answer) -> Answer {
        let hangs = || Err(ReadError::Process("the read of the process does not return".into()));
        {
            let mut left = self.0.lock();
            left.retain(|(_, thread)| !thread.is_finished());
            if left.len() >= MAX_ABANDONED || left.iter().any(|(known, _)| *known == pid) {
                return hangs();
            }
        }
        let (tell, told) = mpsc::channel();
        let thread = thread::Builder::new()
            .name("environ".into())
            // The receiver of an abandoned thread is gone; send fails.
            .spawn(move || drop(tell.send(read(pid))))
            .map_err(|error| failed(&error))?;
        told.recv_timeout(timeout).unwrap_or_else(|_| {
            self.0.lock().push((pid, thread));
            hangs()
        })
    }
}

fn read(pid: u32) -> Answer {
    let mut content = Vec::new();
    let file = fs::File::open(format!("/proc/{pid}/environ")).map_err(|error| failed(&error))?;
    file.take(LIMIT + 1).read_to_end(&mut content).map_err(|error| failed(&error))?;
    if content.len() as u64 > LIMIT {
        return Err(ReadError::TooBig);
    }
    let settings = content.split(|byte| *byte == 0);
    let told = settings.filter(|setting| {
        SETTINGS.iter().any(|name| setting.starts_with(name)) && !setting.contains(&b'\n')
    });
    Ok(told.flat_map(|setting| setting.iter().copied().chain([b'\n'])).collect())
}

#[test]
fn of_an_environment_only_what_decides_on_transports_is_told() {
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
    let told = loop {
        match ask(child.id(), TIMEOUT) {
            Ok(told) if told == b"UCX_TLS=tcp\n" => break told,
            Ok(told) => assert!(!told.windows(6).any(|word| word == b"SECRET")),
            Err(error) => assert!(!deadline.is_over(), "{error}"),
        }
    };
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(told, b"UCX_TLS=tcp\n");
}

#[test]
fn abandoned_threads_are_limited() {
    static DEAD: Mutex<()> = Mutex::new(());
    /// Replies for process 7; hangs for all others until the test releases the lock.
    fn read(pid: u32) -> Answer {
        if pid == 7 {
            return Ok(Vec::new());
        }
        drop(DEAD.lock());
        Err(ReadError::NotRecorded)
    }
    let left = AbandonedThreads(Mutex::new(Vec::new()));
    let (long, timeout) = (Duration::from_secs(60), Duration::from_millis(1));
    let threads = || left.0.lock().len();
    let dead = DEAD.lock();
    for _ in 0..3 {
        assert!(matches!(left.ask(1, timeout, read), Err(ReadError::Process(_))));
    }
    assert_eq!(threads(), 1, "it still waits");
    assert_eq!(left.ask(7, long, read), Ok(Vec::new()), "others are looked at");
    for pid in 2..20 {
        assert!(left.ask(pid, timeout, read).is_err());
    }
    assert_eq!(threads(), MAX_ABANDONED);
    drop(dead);
    // The threads end, and none is left.
    while left.ask(1, long, read) != Err(ReadError::NotRecorded) || threads() > 0 {
        thread::yield_now();
    }
}

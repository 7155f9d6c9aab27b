use std::io::{self, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Signal, getpid, kill_process};

use super::process::this_process;
use super::unlink::unlink_own_binary;
use crate::clock;
use crate::model::HostReport;
use crate::ping::worker::HEARTBEAT;
use crate::wire::{
    FrameReader, FrameWriter, FromAgent, FromWorker, Greeting, Loss, ToAgent, ToWorker, WireError,
};

/// How long a worker may be silent before it counts as hung.
const WORKER_SILENCE: Duration = Duration::from_millis(1_500);

/// How long the operator may be silent before the agent ends, while looking.
const LOOKING_LEASE: Duration = Duration::from_secs(60);

/// The same while queue pairs are held.
const PING_LEASE: Duration = Duration::from_secs(3);

/// Bytes of a report in one frame: escaped again, they stay far below a frame's limit.
const REPORT_PART: usize = 128 * 1024;

/// The process that answers the operator and watches its worker.
#[derive(Debug)]
pub struct Supervisor<F> {
    /// The word that the greeting must carry.
    pub nonce: String,
    /// Whether to remove the binary, and its directory, before anything is read.
    pub unlink: bool,
    /// Reads the host's inventory; the argument says whether to ask libibverbs.
    pub inventory: F,
}

/// Why an agent ended early.
#[derive(Debug, thiserror::Error)]
pub enum SupervisorError {
    /// The operator's stream broke.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The system refused something.
    #[error("cannot {0}: {1}")]
    System(&'static str, io::Error),
}

enum Event {
    Operator(Result<Option<ToAgent>, WireError>),
    Worker(Option<FromWorker>),
}

impl<F: Fn(bool) -> HostReport> Supervisor<F> {
    /// Serves the operator until its stream ends, its lease runs out, or it says goodbye.
    ///
    /// # Errors
    /// The stream broke; nobody is left to be told but the login's stderr.
    pub fn run(
        &self,
        input: impl Read + Send + 'static,
        mut output: impl Write,
    ) -> Result<(), SupervisorError> {
        let unlinked = if self.unlink { unlink_own_binary() } else { Ok(()) };
        unlinked.map_err(|error| SupervisorError::System("remove the uploaded agent", error))?;
        let greeting = Greeting::line(&self.nonce);
        output.write_all(greeting.as_bytes()).map_err(WireError::from)?;
        let (events, inbox) = mpsc::channel();
        let lease = Lease::start()?;
        let from_operator = events.clone();
        let heard = Arc::clone(&lease.heard_ms);
        spawn("operator", move || {
            let mut reader = FrameReader::new(input);
            loop {
                let message = reader.read();
                heard.store(lease_now(), Ordering::Relaxed);
                let is_last = !matches!(message, Ok(Some(_)));
                if from_operator.send(Event::Operator(message)).is_err() || is_last {
                    return;
                }
            }
        })?;
        let mut session = Session { out: FrameWriter::new(output), frames: 0, worker: None, lease };
        session.send(&FromAgent::Hello(this_process()))?;
        loop {
            match inbox.recv_timeout(HEARTBEAT) {
                Ok(Event::Operator(message)) => match message? {
                    Some(ToAgent::Report { verbs }) => {
                        session.send_report(&(self.inventory)(verbs))?;
                    }
                    Some(ToAgent::StartWorker) => session.start_worker(events.clone())?,
                    Some(ToAgent::Worker(message)) => session.hand_over(&message),
                    Some(ToAgent::Alive) => {}
                    Some(ToAgent::Bye) => return session.end(),
                    None => return Ok(()),
                },
                Ok(Event::Worker(message)) => session.pass_on(message)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            session.tend()?;
        }
    }
}

struct Session<W: Write> {
    out: FrameWriter<W>,
    frames: u64,
    worker: Option<Worker>,
    lease: Lease,
}

struct Worker {
    child: Child,
    input: FrameWriter<ChildStdin>,
    heard: Instant,
    told: Instant,
}

impl<W: Write> Session<W> {
    fn send(&mut self, message: &FromAgent) -> Result<(), WireError> {
        self.frames += 1;
        self.out.write(message)
    }

    fn send_report(&mut self, report: &HostReport) -> Result<(), WireError> {
        let json = serde_json::to_string(report)?;
        let mut rest = json.as_str();
        loop {
            let mut end = REPORT_PART.min(rest.len());
            while !rest.is_char_boundary(end) {
                end -= 1;
            }
            let (text, behind) = rest.split_at(end);
            rest = behind;
            let is_last = rest.is_empty();
            self.send(&FromAgent::ReportPart { text: text.to_owned(), is_last })?;
            if is_last {
                return Ok(());
            }
        }
    }

    fn start_worker(&mut self, events: Sender<Event>) -> Result<(), SupervisorError> {
        let fail = |error| SupervisorError::System("start the worker", error);
        // The worker dies with the thread that starts it: this one lives as long as the process.
        let mut child = Command::new("/proc/self/exe")
            .args(["agent", "worker"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(fail)?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Ok(());
        };
        spawn("worker", move || {
            let mut reader = FrameReader::new(output);
            while let Ok(Some(message)) = reader.read() {
                if events.send(Event::Worker(Some(message))).is_err() {
                    return;
                }
            }
            // Nobody listens when the session is over: that is no loss.
            let _ = events.send(Event::Worker(None));
        })?;
        self.lease.shorten();
        let now = clock::now();
        let input = FrameWriter::new(input);
        self.worker = Some(Worker { child, input, heard: now, told: now });
        Ok(())
    }

    fn hand_over(&mut self, message: &ToWorker) {
        if let Some(worker) = &mut self.worker {
            // A worker that is gone is reported when its output ends.
            let _ = worker.input.write(message);
        }
    }

    fn pass_on(&mut self, message: Option<FromWorker>) -> Result<(), WireError> {
        match message {
            Some(message) => {
                if let Some(worker) = &mut self.worker {
                    worker.heard = clock::now();
                }
                match message {
                    FromWorker::Reply(reply) => self.send(&FromAgent::Worker(reply)),
                    FromWorker::Alive => Ok(()),
                }
            }
            None => self.lose_worker(Loss::Ended),
        }
    }

    fn lose_worker(&mut self, loss: Loss) -> Result<(), WireError> {
        let Some(mut worker) = self.worker.take() else { return Ok(()) };
        // SIGKILL ends a stopped process too; only one that hangs in the kernel stays.
        let _ = worker.child.kill();
        let _ = worker.child.try_wait();
        self.send(&FromAgent::WorkerLost(loss))
    }

    /// Looks after the worker and tells the operator that this process lives.
    fn tend(&mut self) -> Result<(), WireError> {
        let Some(worker) = &mut self.worker else { return Ok(()) };
        if worker.heard.elapsed() > WORKER_SILENCE {
            return self.lose_worker(Loss::Hung);
        }
        if worker.told.elapsed() >= HEARTBEAT {
            worker.told = clock::now();
            return self.send(&FromAgent::Alive);
        }
        Ok(())
    }

    fn end(mut self) -> Result<(), SupervisorError> {
        if let Some(mut worker) = self.worker.take() {
            // Its input ends, and it destroys what it holds; if it does not, it is killed.
            drop(worker.input);
            let deadline = clock::Deadline::after(Duration::from_secs(1));
            while matches!(worker.child.try_wait(), Ok(None)) && !deadline.is_over() {
                thread::park_timeout(Duration::from_millis(5));
            }
            let _ = worker.child.kill();
            let _ = worker.child.wait();
        }
        let frames = self.frames;
        Ok(self.send(&FromAgent::End { frames })?)
    }
}

/// Ends the process when the operator has been silent too long, even if it hangs in a write.
struct Lease {
    heard_ms: Arc<AtomicU64>,
    limit_ms: Arc<AtomicU64>,
}

impl Lease {
    fn start() -> Result<Self, SupervisorError> {
        let heard_ms = Arc::new(AtomicU64::new(lease_now()));
        let limit_ms = Arc::new(AtomicU64::new(millis(LOOKING_LEASE)));
        let (heard, limit) = (Arc::clone(&heard_ms), Arc::clone(&limit_ms));
        spawn("lease", move || {
            loop {
                thread::park_timeout(Duration::from_millis(500));
                let silent = lease_now().saturating_sub(heard.load(Ordering::Relaxed));
                if silent > limit.load(Ordering::Relaxed) {
                    // The main thread may be stuck; the worker dies with this process.
                    let _ = kill_process(getpid(), Signal::KILL);
                }
            }
        })?;
        Ok(Self { heard_ms, limit_ms })
    }

    fn shorten(&self) {
        self.limit_ms.store(millis(PING_LEASE), Ordering::Relaxed);
    }
}

/// Milliseconds on a clock that only goes forward.
fn lease_now() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    seconds * 1_000 + u64::try_from(now.tv_nsec).unwrap_or(0) / 1_000_000
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), SupervisorError> {
    thread::Builder::new()
        .name(name.to_owned())
        .spawn(work)
        .map(drop)
        .map_err(|error| SupervisorError::System("start a thread", error))
}

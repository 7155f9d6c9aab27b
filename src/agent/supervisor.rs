//! Supervisor: serves the operator, starts the worker and watches it.
//!
//! It opens no RDMA device itself. The `agent` command runs it.

mod delta_sender;
mod lease;
mod limit;
mod worker;

use std::io::{self, Read, Write};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use delta_sender::{DeltaReply, DeltaSender};
use lease::Lease;
use limit::within_limit;
use worker::Worker;

use super::process::this_process;
use super::unlink::unlink_own_binary;
use crate::clock;
use crate::model::{HostReport, Parts};
use crate::ping::worker::HEARTBEAT;
use crate::source::Recording;
use crate::wire::{
    FrameReader, FrameWriter, FromAgent, FromWorker, Greeting, Loss, REPORT_LIMIT, ToAgent,
    WireError,
};

/// Bytes of a report in one frame. The escaped text stays far below the limit of a frame.
const REPORT_PART: usize = 128 * 1024;

/// Process that serves the operator and watches its worker.
#[derive(Debug)]
pub struct Supervisor {
    /// Nonce of the greeting.
    pub nonce: String,
    /// True to remove the binary and its directory before anything else.
    pub unlink: bool,
    /// Reads the inventory of the host: the parts besides files, within the time limit.
    pub inventory: fn(&Parts, Duration) -> HostReport,
    /// Reads the same inventory and keeps the raw replies.
    pub recording: fn(&Parts, Duration) -> Recording,
}

/// Reason why an agent ended early.
#[derive(Debug, thiserror::Error)]
pub enum SupervisorError {
    /// The stream of the operator broke.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// A system call failed.
    #[error("cannot {0}: {1}")]
    System(&'static str, io::Error),
}

enum Event {
    Operator(Result<Option<ToAgent>, WireError>),
    /// Report, and the number of the report that the operator has kept, if the request has one.
    Report(Box<HostReport>, Option<u64>),
    Recording(Recording),
    /// Message of the worker with this number; `None` if the worker ended.
    Worker(u32, Option<FromWorker>),
}

impl Supervisor {
    /// Serves the operator until its stream or lease ends, or it sends [`ToAgent::Bye`].
    ///
    /// # Errors
    /// The stream broke. Only the stderr of the login can still report it.
    pub fn run(
        &self,
        input: impl Read + Send + 'static,
        mut output: impl Write,
    ) -> Result<(), SupervisorError> {
        let unlinked = if self.unlink { unlink_own_binary() } else { Ok(()) };
        unlinked.map_err(|error| SupervisorError::System("remove the uploaded agent", error))?;
        output.write_all(Greeting::line(&self.nonce).as_bytes()).map_err(WireError::from)?;
        let (events, inbox) = mpsc::channel();
        let lease = Lease::start()?;
        let (from_operator, operator) = (events.clone(), lease.operator.clone());
        spawn("operator", move || {
            let mut reader = FrameReader::new(input);
            loop {
                let message = reader.read();
                operator.stamp();
                let is_last = !matches!(message, Ok(Some(_)));
                if from_operator.send(Event::Operator(message)).is_err() || is_last {
                    return;
                }
            }
        })?;
        let mut session = Session {
            out: FrameWriter::new(output),
            frames: 0,
            worker: None,
            started_workers: 0,
            last_heartbeat: clock::now(),
            lease,
            delta_sender: DeltaSender::default(),
        };
        session.send(&FromAgent::Hello(this_process()))?;
        loop {
            match inbox.recv_timeout(HEARTBEAT) {
                Ok(Event::Operator(message)) => match message? {
                    Some(ToAgent::Report { parts, limit_ms, base }) => {
                        let limit = session.lease.wait_for_ms(limit_ms);
                        let inventory = self.inventory;
                        let read = move || Event::Report(Box::new(inventory(&parts, limit)), base);
                        read_aside(read, events.clone())?;
                    }
                    Some(ToAgent::Record { parts, limit_ms }) => {
                        let (recording, limit) =
                            (self.recording, session.lease.wait_for_ms(limit_ms));
                        let read = move || Event::Recording(recording(&parts, limit));
                        read_aside(read, events.clone())?;
                    }
                    Some(ToAgent::StartWorker) => session.start_worker(events.clone())?,
                    Some(ToAgent::Worker(step)) => {
                        if let Some(worker) = &session.worker {
                            worker.send(*step);
                        }
                    }
                    Some(ToAgent::Alive) => {}
                    Some(ToAgent::Bye) => return session.end(),
                    None => return Ok(()),
                },
                Ok(Event::Report(report, base)) => session.send_report(*report, base)?,
                Ok(Event::Recording(recording)) => session.send_recording(recording)?,
                Ok(Event::Worker(number, message)) => session.pass_on(number, message)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            session.tend()?;
        }
    }
}

/// Reads in a thread of its own, so that [`ToAgent::Bye`] is handled even if reading hangs.
fn read_aside(
    read: impl FnOnce() -> Event + Send + 'static,
    events: Sender<Event>,
) -> Result<(), SupervisorError> {
    spawn("inventory", move || {
        // Sending fails only after the end of the session.
        let _ = events.send(read());
    })
}

struct Session<W: Write> {
    out: FrameWriter<W>,
    frames: u64,
    worker: Option<Worker>,
    started_workers: u32,
    last_heartbeat: Instant,
    lease: Lease,
    delta_sender: DeltaSender,
}

impl<W: Write> Session<W> {
    fn send(&mut self, message: &FromAgent) -> Result<(), WireError> {
        self.frames += 1;
        self.out.write(message)
    }

    fn send_report(&mut self, report: HostReport, base: Option<u64>) -> Result<(), WireError> {
        let json = within_limit(report, REPORT_LIMIT)?;
        let answer = match base {
            Some(base) => self.delta_sender.reply(json, base)?,
            None => DeltaReply::Whole(json),
        };
        match answer {
            DeltaReply::Whole(json) => {
                self.send_parts(&json, |text, is_last| FromAgent::ReportPart { text, is_last })
            }
            DeltaReply::Change { base, json } => {
                self.send_parts(&json, |text, is_last| FromAgent::DeltaPart { base, text, is_last })
            }
        }
    }

    fn send_recording(&mut self, mut recording: Recording) -> Result<(), WireError> {
        recording.keep_within(REPORT_LIMIT)?;
        let json = serde_json::to_string(&recording)?;
        self.send_parts(&json, |text, is_last| FromAgent::RecordPart { text, is_last })
    }

    fn send_parts(
        &mut self,
        mut rest: &str,
        part: impl Fn(String, bool) -> FromAgent,
    ) -> Result<(), WireError> {
        loop {
            let mut end = REPORT_PART.min(rest.len());
            while !rest.is_char_boundary(end) {
                end -= 1;
            }
            let (text, behind) = rest.split_at(end);
            rest = behind;
            let is_last = rest.is_empty();
            self.send(&part(text.to_owned(), is_last))?;
            if is_last {
                return Ok(());
            }
        }
    }

    /// Starts the worker. Only the main thread may call this: the worker dies with its thread.
    fn start_worker(&mut self, events: Sender<Event>) -> Result<(), SupervisorError> {
        if self.worker.is_some() {
            return Ok(());
        }
        self.started_workers += 1;
        let worker = Worker::start(self.started_workers, events)?;
        self.lease.hold(worker.child.clone());
        self.worker = Some(worker);
        Ok(())
    }

    fn pass_on(&mut self, number: u32, message: Option<FromWorker>) -> Result<(), WireError> {
        // The end of a killed worker must not affect a later one.
        let Some(worker) = self.worker.as_ref().filter(|worker| worker.number == number) else {
            return Ok(());
        };
        match message {
            Some(FromWorker::Reply(reply)) => self.send(&FromAgent::Worker(*reply)),
            Some(FromWorker::Alive) => Ok(()),
            None => {
                let loss = worker.ending();
                self.lose_worker(loss)
            }
        }
    }

    fn lose_worker(&mut self, loss: Loss) -> Result<(), WireError> {
        let Some(worker) = self.worker.take() else { return Ok(()) };
        worker.kill();
        let loss = if self.lease.has_expired() { Loss::Expired } else { loss };
        self.send(&FromAgent::WorkerLost(loss))
    }

    /// Checks the worker, and sends a heartbeat to the operator if one is due.
    fn tend(&mut self) -> Result<(), WireError> {
        let Some(worker) = &self.worker else { return Ok(()) };
        if worker.is_unresponsive() {
            return self.lose_worker(Loss::Hung);
        }
        if self.last_heartbeat.elapsed() >= HEARTBEAT {
            self.last_heartbeat = clock::now();
            return self.send(&FromAgent::Alive);
        }
        Ok(())
    }

    fn end(mut self) -> Result<(), SupervisorError> {
        if let Some(worker) = self.worker.take() {
            worker.end();
        }
        let frames = self.frames;
        Ok(self.send(&FromAgent::End { frames })?)
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), SupervisorError> {
    thread::Builder::new()
        .name(name.to_owned())
        .spawn(work)
        .map(drop)
        .map_err(|error| SupervisorError::System("start a thread", error))
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;
    use std::thread::JoinHandle;

    use super::*;
    use crate::model::{Part, Via};

    /// Starts a supervisor whose operator is the test, and reads its greeting and first frame.
    fn start(
        inventory: fn(&Parts, Duration) -> HostReport,
    ) -> (UnixStream, JoinHandle<Result<(), SupervisorError>>) {
        let (mut operator, agent) = UnixStream::pair().unwrap();
        operator.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let recording = |_: &Parts, _| Recording { left_out: 7, ..Recording::default() };
        let supervisor = Supervisor { nonce: "c0ffee".into(), unlink: false, inventory, recording };
        let running = thread::spawn(move || supervisor.run(agent.try_clone().unwrap(), agent));
        crate::wire::GreetingReader::new(&"c0ffee", "none", "run").read(&mut operator).unwrap();
        let hello = FrameReader::new(&operator).read().unwrap();
        assert!(matches!(hello, Some(FromAgent::Hello(_))));
        (operator, running)
    }

    fn hangs(_parts: &Parts, _limit: Duration) -> HostReport {
        loop {
            thread::park();
        }
    }

    fn ask(operator: &UnixStream, limit_ms: u32) {
        FrameWriter::new(operator)
            .write(&ToAgent::Report { parts: [Part::Verbs].into(), limit_ms, base: None })
            .unwrap();
    }

    #[test]
    fn read_function_gets_the_parts_and_the_time_limit() {
        let read = |parts: &Parts, limit: Duration| {
            HostReport::empty(format!("{parts:?} {}", limit.as_millis()), Via::Agent)
        };
        let (operator, _running) = start(read);
        ask(&operator, 1_234);
        let answer = FrameReader::new(&operator).read().unwrap();
        let Some(FromAgent::ReportPart { text, is_last: true }) = answer else {
            panic!("{answer:?}")
        };
        let report: HostReport = serde_json::from_str(&text).unwrap();
        assert_eq!(report.host, "Parts({Verbs}) 1234");
    }

    #[test]
    fn a_recording_is_answered_as_it_is() {
        let (operator, _running) = start(hangs);
        FrameWriter::new(&operator)
            .write(&ToAgent::Record { parts: [Part::Verbs].into(), limit_ms: 1 })
            .unwrap();
        let answer = FrameReader::new(&operator).read().unwrap();
        let Some(FromAgent::RecordPart { text, is_last: true }) = answer else {
            panic!("{answer:?}")
        };
        assert_eq!(serde_json::from_str::<Recording>(&text).unwrap().left_out, 7);
    }

    #[test]
    fn bye_ends_the_agent_during_a_hung_read() {
        let (operator, running) = start(hangs);
        ask(&operator, 1);
        FrameWriter::new(&operator).write(&ToAgent::Bye).unwrap();
        let end = FrameReader::new(&operator).read().unwrap();
        assert!(matches!(end, Some(FromAgent::End { frames: 1 })), "{end:?}");
        assert!(running.join().unwrap().is_ok());
    }

    #[test]
    fn end_of_input_ends_the_agent_during_a_hung_read() {
        let (operator, running) = start(hangs);
        ask(&operator, 1);
        drop(operator);
        assert!(running.join().unwrap().is_ok());
    }
}

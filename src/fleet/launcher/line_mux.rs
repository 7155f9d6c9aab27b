//! Line protocol of agents, multiplexed on stdin and stdout of one local process.
//!
//! The thread of a [`LineMux`] has the stdin and stdout of the process. Each agent is a
//! [`LineStream`]; the rest of the program has the other end as a plain [`Pipe`]. The launchers
//! `slurm` and `exec` use it.

mod line_stream;

use std::convert::Infallible;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;
use std::{io, thread};

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::clock::Deadline;
use crate::fleet::{HostResult, Nonce, Pipe, fault};
use crate::sys::poll;
use crate::wire::LineSplitter;

pub(super) use line_stream::{LineCodec, LineStream};

/// Limit of the data that waits to be sent, in bytes. Above it, no stream is read.
const MAX_OUT: usize = 256 * 1024;
/// Time in which received data must be read after the end of the process's output.
const DELIVER_TIMEOUT: Duration = Duration::from_secs(2);
const FLUSH_TIMEOUT: Duration = Duration::from_millis(500);

pub(super) trait LineRouter: Send {
    /// Returns the index of a line's stream, and the line without the label of the launcher.
    fn route<'line>(
        &mut self,
        line: &'line [u8],
        streams: &mut [LineStream],
    ) -> Option<(usize, &'line [u8])>;

    fn over(&mut self, streams: &mut [LineStream]);
}

struct OneStream;

impl LineRouter for OneStream {
    fn route<'line>(
        &mut self,
        line: &'line [u8],
        _: &mut [LineStream],
    ) -> Option<(usize, &'line [u8])> {
        Some((0, line))
    }

    fn over(&mut self, _: &mut [LineStream]) {}
}

/// Converts the pipe of a process that serves one agent to the pipe of the agent.
pub(super) fn single_stream(pipe: Pipe, nonce: Nonce) -> HostResult<Pipe> {
    let (near, far) = UnixStream::pair().map_err(fault::local)?;
    // The previous reader may have set a timeout.
    pipe.stream().set_read_timeout(None).map_err(fault::local)?;
    let (pipe, process) = pipe.behind(near);
    let shared = Arc::clone(&pipe.shared);
    let stream = LineStream::new(far, shared, Some(LineCodec::new(nonce)));
    LineMux::start(process, vec![stream], OneStream)?;
    Ok(pipe)
}

pub(super) struct LineMux<S> {
    process: UnixStream,
    streams: Vec<LineStream>,
    router: S,
    splitter: LineSplitter,
    out: Vec<u8>,
    is_over: bool,
}

impl<S: LineRouter + 'static> LineMux<S> {
    /// Starts a thread that serves the streams over `process`, the socket of its stdin and stdout.
    pub(super) fn start(
        process: UnixStream,
        streams: Vec<LineStream>,
        router: S,
    ) -> HostResult<()> {
        let splitter = LineSplitter::default();
        let mux = Self { process, streams, router, splitter, out: Vec::new(), is_over: false };
        let thread = thread::Builder::new().name("line mux".into()).stack_size(256 * 1024);
        thread.spawn(move || mux.run()).map(drop).map_err(fault::local)
    }

    fn run(mut self) {
        while !self.is_over && self.streams.iter().any(LineStream::is_connected) {
            if self.wait().is_err() {
                break;
            }
            if !self.is_blocked() {
                self.receive();
            }
            self.transfer();
        }
        if self.is_over {
            self.end_streams();
        } else {
            self.flush();
        }
        // Clones of the socket must not keep the process waiting for input.
        let _ = self.process.shutdown(Shutdown::Both);
    }

    fn transfer(&mut self) {
        for stream in &mut self.streams {
            stream.deliver();
            if self.out.len() < MAX_OUT {
                stream.collect(&mut self.out);
            }
        }
        self.send();
    }

    /// True if the only stream is full. A slow reader then stops the process itself.
    fn is_blocked(&self) -> bool {
        matches!(&*self.streams, [one] if one.is_full())
    }

    fn wait(&self) -> io::Result<()> {
        let mut interest = PollFlags::empty();
        if !self.is_blocked() {
            interest |= PollFlags::IN;
        }
        if !self.out.is_empty() {
            interest |= PollFlags::OUT;
        }
        let mut fds = vec![PollFd::new(&self.process, interest)];
        let has_room = self.out.len() < MAX_OUT;
        fds.extend(self.streams.iter().filter_map(|stream| stream.interest(has_room)));
        poll::wait(&mut fds, None)
    }

    fn receive(&mut self) {
        let mut buffer = [0; 16 * 1024];
        match recv(&self.process, &mut buffer, RecvFlags::DONTWAIT) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            Ok((count, _)) if count > 0 => {
                let (streams, router) = (&mut self.streams, &mut self.router);
                let each = |line: &[u8]| {
                    if let Some((index, line)) = router.route(line, streams)
                        && let Some(stream) = streams.get_mut(index)
                    {
                        stream.take(line);
                    }
                    Ok::<(), Infallible>(())
                };
                let Ok(()) = self.splitter.push(&buffer[..count], each);
            }
            _ => self.is_over = true,
        }
    }

    fn send(&mut self) {
        if self.out.is_empty() {
            return;
        }
        match send(&self.process, &self.out, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
            Ok(count) => drop(self.out.drain(..count)),
            Err(Errno::AGAIN | Errno::INTR) => {}
            // The process no longer reads, but its last output may still arrive.
            Err(_) => self.out.clear(),
        }
    }

    /// Delivers the data that came before the end, while a reader takes it.
    fn end_streams(&mut self) {
        // Only the sender knows if a line without an end is complete: it is quoted, not decoded.
        let rest = self.splitter.rest().to_vec();
        if let Some((index, line)) = self.router.route(&rest, &mut self.streams)
            && let Some(stream) = self.streams.get_mut(index)
        {
            stream.take_rest(line);
        }
        let deadline = Deadline::after(DELIVER_TIMEOUT);
        while self.streams.iter().any(LineStream::has_more) && !deadline.is_over() {
            let mut fds: Vec<_> =
                self.streams.iter().filter_map(|stream| stream.interest(false)).collect();
            if poll::wait(&mut fds, Some(deadline.remaining())).is_err() {
                break;
            }
            self.streams.iter_mut().for_each(LineStream::deliver);
        }
        self.router.over(&mut self.streams);
        self.streams.clear();
    }

    fn flush(&mut self) {
        let deadline = Deadline::after(FLUSH_TIMEOUT);
        while !self.out.is_empty() && !deadline.is_over() {
            let mut fds = [PollFd::new(&self.process, PollFlags::OUT)];
            if poll::wait(&mut fds, Some(deadline.remaining())).is_err() {
                return;
            }
            self.send();
        }
    }
}

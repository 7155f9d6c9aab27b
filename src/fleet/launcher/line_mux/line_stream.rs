//! Streams of one agent of a multiplexer: lines to the process, a socket on the other side.

use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::fleet::Nonce;
use crate::fleet::pipe::Shared;
use crate::sys::poll;
use crate::wire::{Line, LineDecoder, LineEncoder, REPORT_LIMIT, Recipient};

/// Limit of the data of an agent that waits to be read, in bytes. It is more than any report has.
const MAX_WAITING: usize = REPORT_LIMIT + (4 << 20);

pub(in crate::fleet::launcher) struct LineCodec {
    from: LineDecoder,
    to: LineEncoder,
}

impl LineCodec {
    pub(in crate::fleet::launcher) fn new(nonce: Nonce) -> Self {
        let from = LineDecoder::new(&nonce, Recipient::Operator);
        Self { from, to: LineEncoder::new(&nonce, Recipient::Agent) }
    }
}

pub(in crate::fleet::launcher) struct LineStream {
    /// Socket to the holder of the pipe. `None` if the pipe was dropped or the agent has ended.
    far: Option<UnixStream>,
    pub(in crate::fleet::launcher) shared: Arc<Shared>,
    /// `None` until the agent of this stream is known.
    pub(in crate::fleet::launcher) codec: Option<LineCodec>,
    waiting: Vec<u8>,
    /// True if the holder of the pipe may still write.
    is_open: bool,
    is_ended: bool,
}

impl LineStream {
    pub(in crate::fleet::launcher) fn new(
        far: UnixStream,
        shared: Arc<Shared>,
        codec: Option<LineCodec>,
    ) -> Self {
        let (far, waiting) = (Some(far), Vec::new());
        Self { far, shared, codec, waiting, is_open: true, is_ended: false }
    }

    pub(super) fn is_connected(&self) -> bool {
        self.far.is_some()
    }

    pub(super) fn is_full(&self) -> bool {
        self.waiting.len() >= MAX_WAITING / 16
    }

    pub(super) fn has_more(&self) -> bool {
        self.is_connected() && !self.waiting.is_empty()
    }

    /// Returns the descriptor and the events to wait for. `None` if no event is of interest.
    pub(super) fn interest(&self, may_write: bool) -> Option<PollFd<'_>> {
        let far = self.far.as_ref().filter(|_| may_write || !self.waiting.is_empty())?;
        let mut interest = PollFlags::empty();
        if may_write && self.is_open && self.codec.is_some() {
            interest |= PollFlags::IN;
        }
        if !self.waiting.is_empty() {
            interest |= PollFlags::OUT;
        }
        Some(PollFd::new(far, interest))
    }

    /// Takes a line of the agent. Before the first line of the protocol, it is output of a login.
    pub(super) fn take(&mut self, line: &[u8]) {
        let Some(codec) = &mut self.codec else { return };
        match codec.from.read(line) {
            Ok(Line::Piece(piece)) => self.waiting.extend(piece),
            Ok(Line::Noise) if !codec.from.has_begun() => {
                self.waiting.extend(without_label(line));
                self.waiting.push(b'\n');
            }
            Ok(Line::Noise) => {}
            Ok(Line::End) => self.is_ended = true,
            Err(error) => self.fail(&format!("damaged data from the agent: {error}")),
        }
        if self.waiting.len() > MAX_WAITING {
            self.fail("the agent sent more data than a report may have");
        }
    }

    pub(super) fn take_rest(&mut self, line: &[u8]) {
        if self.codec.as_ref().is_some_and(|codec| !codec.from.has_begun()) {
            self.waiting.extend(without_label(line));
        }
    }

    pub(super) fn deliver(&mut self) {
        let Some(far) = &self.far else { return };
        if !self.waiting.is_empty() {
            match send(far, &self.waiting, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Ok(count) => drop(self.waiting.drain(..count)),
                Err(Errno::AGAIN | Errno::INTR) => return,
                Err(_) => self.waiting.clear(),
            }
        }
        if self.is_ended && self.waiting.is_empty() {
            let _ = far.shutdown(Shutdown::Write);
        }
    }

    /// Adds data from the holder of the pipe, and the end of the stream, to `out` as lines.
    pub(super) fn collect(&mut self, out: &mut Vec<u8>) {
        let Some(far) = &self.far else { return };
        let mut buffer = [0; 16 * 1024];
        match recv(far, &mut buffer, RecvFlags::DONTWAIT) {
            Ok((count, _)) if count > 0 => {
                if let Some(codec) = &mut self.codec {
                    out.extend(codec.to.lines(&buffer[..count]).into_bytes());
                }
                return;
            }
            Err(Errno::AGAIN | Errno::INTR) => return,
            // The holder of the pipe dropped it or closed its write side.
            _ => {}
        }
        if self.is_open {
            self.is_open = false;
            if let Some(codec) = &mut self.codec {
                out.extend(codec.to.end().into_bytes());
            }
        }
        let mut fds = [PollFd::new(far, PollFlags::empty())];
        let is_shut = poll::wait(&mut fds, Some(Duration::ZERO)).is_err()
            || fds[0].revents().contains(PollFlags::HUP);
        if is_shut {
            self.far = None;
        }
    }

    /// Ends the stream with an error message in its stderr.
    fn fail(&mut self, why: &str) {
        self.shared.push_stderr(format!("{why}\n").as_bytes());
        self.waiting.clear();
        self.is_ended = true;
        self.codec = None;
        if let Some(far) = &self.far {
            let _ = far.shutdown(Shutdown::Write);
        }
    }
}

/// Returns a line without a launcher's label before `RDMACTL/`. Returns other lines whole.
fn without_label(line: &[u8]) -> &[u8] {
    const OURS: &[u8] = b"RDMACTL/";
    let at = line.windows(OURS.len()).position(|part| part == OURS);
    line.get(at.unwrap_or(0)..).unwrap_or(line)
}

use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::fleet::pipe::Shared;
use crate::fleet::{Nonce, poll};
use crate::wire::{Line, LineDecoder, LineEncoder, Party, REPORT_LIMIT};

/// How much of an agent's may wait to be read: more than any answer of its is.
const MOST_WAITING: usize = REPORT_LIMIT + (4 << 20);

/// Both ways between the operator and one agent.
pub(in crate::fleet::launcher) struct Direction {
    from: LineDecoder,
    to: LineEncoder,
}

impl Direction {
    pub(in crate::fleet::launcher) fn new(nonce: Nonce) -> Self {
        let from = LineDecoder::new(&nonce, Party::Operator);
        Self { from, to: LineEncoder::new(&nonce, Party::Agent) }
    }
}

/// The streams of one agent.
pub(in crate::fleet::launcher) struct Branch {
    /// `None` when nobody holds the other end any more, or nothing more will come.
    far: Option<UnixStream>,
    /// What tells of the agent.
    pub(in crate::fleet::launcher) shared: Arc<Shared>,
    /// `None` until it is known which agent this is.
    direction: Option<Direction>,
    waiting: Vec<u8>,
    /// Whether the other end may write.
    is_open: bool,
    /// Whether the agent has more to say.
    is_ended: bool,
}

impl Branch {
    pub(in crate::fleet::launcher) fn new(
        far: UnixStream,
        shared: Arc<Shared>,
        direction: Option<Direction>,
    ) -> Self {
        let (far, waiting) = (Some(far), Vec::new());
        Self { far, shared, direction, waiting, is_open: true, is_ended: false }
    }

    /// It is known which agent this is.
    pub(in crate::fleet::launcher) fn set_direction(&mut self, direction: Direction) {
        self.direction = Some(direction);
    }

    pub(super) fn is_there(&self) -> bool {
        self.far.is_some()
    }

    pub(super) fn is_full(&self) -> bool {
        self.waiting.len() >= MOST_WAITING / 16
    }

    pub(super) fn has_more(&self) -> bool {
        self.is_there() && !self.waiting.is_empty()
    }

    /// What its descriptor is waited for, when there is a reason to.
    pub(super) fn interest(&self, may_write: bool) -> Option<PollFd<'_>> {
        let far = self.far.as_ref().filter(|_| may_write || !self.waiting.is_empty())?;
        let mut interest = PollFlags::empty();
        if may_write && self.is_open && self.direction.is_some() {
            interest |= PollFlags::IN;
        }
        if !self.waiting.is_empty() {
            interest |= PollFlags::OUT;
        }
        Some(PollFd::new(far, interest))
    }

    /// A line of its agent: a piece of its stream, or, before the first, what a login says.
    pub(super) fn take(&mut self, line: &[u8]) {
        let Some(direction) = &mut self.direction else { return };
        match direction.from.read(line) {
            Ok(Line::Piece(piece)) => self.waiting.extend(piece),
            Ok(Line::Noise) if !direction.from.has_begun() => {
                self.waiting.extend(said(line));
                self.waiting.push(b'\n');
            }
            Ok(Line::Noise) => {}
            Ok(Line::End) => self.is_ended = true,
            Err(error) => self.fail(&format!("damaged data from the agent: {error}")),
        }
        if self.waiting.len() > MOST_WAITING {
            self.fail("the agent sent more data than a report may have");
        }
    }

    /// What came behind its last line.
    pub(super) fn take_rest(&mut self, line: &[u8]) {
        if self.direction.as_ref().is_some_and(|direction| !direction.from.has_begun()) {
            self.waiting.extend(said(line));
        }
    }

    /// What waits, to whoever holds the other end.
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

    /// What the other end wrote, as lines; and its end.
    pub(super) fn collect(&mut self, out: &mut Vec<u8>) {
        let Some(far) = &self.far else { return };
        let mut buffer = [0; 16 * 1024];
        match recv(far, &mut buffer, RecvFlags::DONTWAIT) {
            Ok((count, _)) if count > 0 => {
                if let Some(direction) = &mut self.direction {
                    out.extend(direction.to.lines(&buffer[..count]).into_bytes());
                }
                return;
            }
            Err(Errno::AGAIN | Errno::INTR) => return,
            // Nobody holds it any more, or no more is written.
            _ => {}
        }
        if self.is_open {
            self.is_open = false;
            if let Some(direction) = &mut self.direction {
                out.extend(direction.to.end().into_bytes());
            }
        }
        let mut fds = [PollFd::new(far, PollFlags::empty())];
        let is_shut = poll::wait(&mut fds, Some(Duration::ZERO)).is_err()
            || fds[0].revents().contains(PollFlags::HUP);
        if is_shut {
            self.far = None;
        }
    }

    /// Ends it with a word.
    fn fail(&mut self, why: &str) {
        self.shared.push_stderr(format!("{why}\n").as_bytes());
        self.waiting.clear();
        self.is_ended = true;
        self.direction = None;
        if let Some(far) = &self.far {
            let _ = far.shutdown(Shutdown::Write);
        }
    }
}

/// What a line says, without what a carrier put before a word of ours.
fn said(line: &[u8]) -> &[u8] {
    const OURS: &[u8] = b"RDMACTL/";
    let at = line.windows(OURS.len()).position(|part| part == OURS);
    line.get(at.unwrap_or(0)..).unwrap_or(line)
}

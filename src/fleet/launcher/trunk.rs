//! The streams of agents, as lines on the streams of one process of this machine.
//!
//! The thread of a [`Trunk`] has the process's stdin and stdout. Each agent is a [`Branch`], whose other
//! end the rest of the program holds as a plain [`Pipe`].

mod branch;

use std::convert::Infallible;
use std::io;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::clock::Deadline;
use crate::fleet::ssh::fault;
use crate::fleet::{Nonce, Pipe, poll};
use crate::model::HostFailure;
use crate::wire::LineSplitter;

pub(super) use branch::{Branch, Direction};

/// How much may wait to be written: beyond it nothing is taken from those who write.
const MOST_OUT: usize = 256 * 1024;
/// How long what came before the end of the process's output may wait for a reader.
const DELIVER: Duration = Duration::from_secs(2);
/// How long the last words to agents may take.
const SAY: Duration = Duration::from_millis(500);

/// Who decides which agent a line is of.
pub(super) trait Sorter: Send {
    /// The branch that a line belongs to, and the line without the carrier's own label.
    fn sort<'line>(
        &mut self,
        line: &'line [u8],
        branches: &mut [Branch],
    ) -> Option<(usize, &'line [u8])>;

    /// The process's output is over.
    fn over(&mut self, branches: &mut [Branch]);
}

/// All lines are those of the only branch.
struct One;

impl Sorter for One {
    fn sort<'line>(&mut self, line: &'line [u8], _: &mut [Branch]) -> Option<(usize, &'line [u8])> {
        Some((0, line))
    }

    fn over(&mut self, _: &mut [Branch]) {}
}

/// The streams of a process that is one agent's carrier, as those of the agent.
///
/// # Errors
/// This machine gives no socket or thread.
pub(super) fn of_one(pipe: Pipe, nonce: Nonce) -> Result<Pipe, HostFailure> {
    let (near, far) = UnixStream::pair().map_err(|error| fault::local(&error))?;
    // Whoever read from it may have been in a hurry.
    pipe.stream().set_read_timeout(None).map_err(|error| fault::local(&error))?;
    let (pipe, stream) = pipe.behind(near);
    let shared = Arc::clone(pipe.shared());
    let branch = Branch::new(far, shared, Some(Direction::new(nonce)));
    Trunk::start(stream, vec![branch], One)?;
    Ok(pipe)
}

pub(super) struct Trunk<S> {
    stream: UnixStream,
    branches: Vec<Branch>,
    sorter: S,
    splitter: LineSplitter,
    out: Vec<u8>,
    is_over: bool,
}

impl<S: Sorter + 'static> Trunk<S> {
    /// Has a thread carry the branches on the streams of a process until either end is over.
    ///
    /// # Errors
    /// The system gives no thread.
    pub(super) fn start(
        stream: UnixStream,
        branches: Vec<Branch>,
        sorter: S,
    ) -> Result<(), HostFailure> {
        let splitter = LineSplitter::default();
        let trunk = Self { stream, branches, sorter, splitter, out: Vec::new(), is_over: false };
        let thread = thread::Builder::new().name("trunk".into()).stack_size(256 * 1024);
        thread.spawn(move || trunk.run()).map(drop).map_err(|error| fault::local(&error))
    }

    fn run(mut self) {
        while !self.is_over && self.branches.iter().any(Branch::is_there) {
            if self.wait().is_err() {
                break;
            }
            if !self.is_held_up() {
                self.receive();
            }
            self.turn();
        }
        if self.is_over {
            self.end_branches();
        } else {
            self.say_the_rest();
        }
        // Clones of the stream must not keep the process waiting for input.
        let _ = self.stream.shutdown(Shutdown::Both);
    }

    /// Between branches and the trunk, whatever moves.
    fn turn(&mut self) {
        for branch in &mut self.branches {
            branch.deliver();
            if self.out.len() < MOST_OUT {
                branch.collect(&mut self.out);
            }
        }
        self.send();
    }

    /// With one branch the process itself is made to wait for a slow reader.
    fn is_held_up(&self) -> bool {
        matches!(&*self.branches, [one] if one.is_full())
    }

    fn wait(&self) -> io::Result<()> {
        let mut interest = PollFlags::empty();
        if !self.is_held_up() {
            interest |= PollFlags::IN;
        }
        if !self.out.is_empty() {
            interest |= PollFlags::OUT;
        }
        let mut fds = vec![PollFd::new(&self.stream, interest)];
        let has_room = self.out.len() < MOST_OUT;
        fds.extend(self.branches.iter().filter_map(|branch| branch.interest(has_room)));
        poll::wait(&mut fds, None)
    }

    fn receive(&mut self) {
        let mut buffer = [0; 16 * 1024];
        match recv(&self.stream, &mut buffer, RecvFlags::DONTWAIT) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            Ok((count, _)) if count > 0 => {
                let (branches, sorter) = (&mut self.branches, &mut self.sorter);
                let each = |line: &[u8]| {
                    if let Some((index, line)) = sorter.sort(line, branches)
                        && let Some(branch) = branches.get_mut(index)
                    {
                        branch.take(line);
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
        match send(&self.stream, &self.out, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
            Ok(count) => drop(self.out.drain(..count)),
            Err(Errno::AGAIN | Errno::INTR) => {}
            // Nobody listens any more; what was said may still be on its way here.
            Err(_) => self.out.clear(),
        }
    }

    /// Hands out what came before the end, as long as somebody reads it.
    fn end_branches(&mut self) {
        // Of a line without an end only its sender knows whether it is whole: it is quoted, not read.
        let rest = self.splitter.rest().to_vec();
        if let Some((index, line)) = self.sorter.sort(&rest, &mut self.branches)
            && let Some(branch) = self.branches.get_mut(index)
        {
            branch.take_rest(line);
        }
        let deadline = Deadline::after(DELIVER);
        while self.branches.iter().any(Branch::has_more) && !deadline.is_over() {
            let fds = self.branches.iter().filter_map(|branch| branch.interest(false));
            let mut fds: Vec<PollFd<'_>> = fds.collect();
            if poll::wait(&mut fds, Some(deadline.remaining())).is_err() {
                break;
            }
            self.branches.iter_mut().for_each(Branch::deliver);
        }
        self.sorter.over(&mut self.branches);
        self.branches.clear();
    }

    /// The goodbyes of those who left.
    fn say_the_rest(&mut self) {
        let deadline = Deadline::after(SAY);
        while !self.out.is_empty() && !deadline.is_over() {
            let mut fds = [PollFd::new(&self.stream, PollFlags::OUT)];
            if poll::wait(&mut fds, Some(deadline.remaining())).is_err() {
                return;
            }
            self.send();
        }
    }
}

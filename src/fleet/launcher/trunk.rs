//! Line protocol of agents, multiplexed on stdin and stdout of one local process.
//!
//! The thread of a [`Trunk`] has the streams of the process. Each agent is a [`Branch`]; the rest
//! of the program has the other end as a plain [`Pipe`]. The launchers
//! `slurm` and `exec` use it.

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

/// Limit of the data that waits to be sent, in bytes. Above it, no branch is read.
const MAX_OUT: usize = 256 * 1024;
/// Time in which received data must be read after the end of the process's output.
const DELIVER: Duration = Duration::from_secs(2);
/// Time for sending the remaining data to agents.
const SAY: Duration = Duration::from_millis(500);

/// Assignment of lines to agents.
pub(super) trait Sorter: Send {
    /// Returns the index of the branch that a line belongs to, and the line without the label of
    /// the launcher.
    fn sort<'line>(
        &mut self,
        line: &'line [u8],
        branches: &mut [Branch],
    ) -> Option<(usize, &'line [u8])>;

    /// Handles the end of the process's output.
    fn over(&mut self, branches: &mut [Branch]);
}

/// Assigns all lines to the only branch.
struct One;

impl Sorter for One {
    fn sort<'line>(&mut self, line: &'line [u8], _: &mut [Branch]) -> Option<(usize, &'line [u8])> {
        Some((0, line))
    }

    fn over(&mut self, _: &mut [Branch]) {}
}

/// Converts the pipe of a process that serves one agent to the pipe of the agent.
///
/// # Errors
/// This machine has no socket or thread left.
pub(super) fn of_one(pipe: Pipe, nonce: Nonce) -> Result<Pipe, HostFailure> {
    let (near, far) = UnixStream::pair().map_err(|error| fault::local(&error))?;
    // The previous reader may have set a timeout.
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
    /// Starts a thread that serves the branches until the process or all branches end.
    ///
    /// # Errors
    /// This machine has no thread left.
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

    /// Moves data between the branches and the stream.
    fn turn(&mut self) {
        for branch in &mut self.branches {
            branch.deliver();
            if self.out.len() < MAX_OUT {
                branch.collect(&mut self.out);
            }
        }
        self.send();
    }

    /// True if the only branch is full. A slow reader then stops the process itself.
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
        let has_room = self.out.len() < MAX_OUT;
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
            // The process no longer reads, but its last output may still arrive.
            Err(_) => self.out.clear(),
        }
    }

    /// Delivers the data that came before the end, while a reader takes it.
    fn end_branches(&mut self) {
        // Only the sender knows if a line without an end is complete. The line is quoted, not
        // decoded.
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

    /// Sends the last lines of branches that were closed.
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

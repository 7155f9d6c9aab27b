//! One `srun` with an agent on each of its nodes. The Slurm launcher starts it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::{Job, srun};
use crate::clock::Deadline;
use crate::fleet::access::fresh_nonce;
use crate::fleet::launcher::children;
use crate::fleet::launcher::line_mux::{LineCodec, LineMux, LineRouter, LineStream};
use crate::fleet::local::{self, Ending};
use crate::fleet::pipe::{Shared, Waker};
use crate::fleet::quote::quote;
use crate::fleet::remote_command::{self, AT, Privilege};
use crate::fleet::{Guard, HostResult, Nonce, Pipe, Watchdog, fault};

/// Time for the stderr of `srun` after the end of its output.
const STDERR_TIMEOUT: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(super) struct Step {
    srun: Arc<Pipe>,
    watchdog: Watchdog,
    nonce: Nonce,
    tasks: Arc<Tasks>,
    pipes: Mutex<HashMap<String, Pipe>>,
    nodes: HashSet<String>,
    /// Cuts off `srun` when the run is cancelled.
    _guard: Guard,
}

#[derive(Debug, Default)]
struct Tasks {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    numbers: HashMap<String, u32>,
    is_over: bool,
}

pub(super) enum NodeAgent {
    /// The agent, and the nonce that its greeting must carry.
    Ready(Pipe, Nonce),
    Taken,
    Missing,
}

impl Step {
    pub(super) fn start(job: &Job, nodes: &[String], privilege: Privilege) -> HostResult<Self> {
        let nonce = fresh_nonce()?;
        let command = remote_command::installed_agents(nonce, privilege);
        let srun = srun::command(&job.id, nodes, &command);
        let srun = local::spawn_with_ending(srun, Ending::Terminate)?;
        let guard = job.watchdog.guard(srun.stream(), None).map_err(fault::local)?;
        let stream = srun.stream().try_clone().map_err(fault::local)?;
        let srun = Arc::new(srun);
        let waker = Arc::new(Waker::new().map_err(fault::local)?);
        let (mut pipes, mut streams, mut unreported) = (HashMap::new(), Vec::new(), HashMap::new());
        for (index, node) in nodes.iter().enumerate() {
            let (pipe, far, shared) = Pipe::pair(Arc::clone(&waker)).map_err(fault::local)?;
            streams.push(LineStream::new(far, shared, None));
            pipes.insert(node.clone(), pipe);
            unreported.insert(node.clone(), index);
        }
        let tasks = Arc::new(Tasks::default());
        let router = LabelRouter {
            nonce,
            is_labelled: nodes.len() > 1,
            unreported,
            indices: HashMap::new(),
            tasks: Arc::clone(&tasks),
            srun: Arc::clone(&srun.shared),
        };
        LineMux::start(stream, streams, router)?;
        let nodes = nodes.iter().cloned().collect();
        let (watchdog, pipes) = (job.watchdog.clone(), Mutex::new(pipes));
        Ok(Self { srun, watchdog, nonce, tasks, pipes, nodes, _guard: guard })
    }

    pub(super) fn offers(&self, node: &str) -> bool {
        self.pipes.lock().contains_key(node) && !self.is_over()
    }

    pub(super) fn is_over(&self) -> bool {
        self.tasks.state.lock().is_over
    }

    /// Waits until every node, or no further node for `quiet`, reports. Returns those nodes.
    pub(super) fn await_all(&self, quiet: Duration, limit: Deadline) -> Vec<String> {
        let mut state = self.tasks.state.lock();
        loop {
            let count = state.numbers.len();
            if count == self.nodes.len() || state.is_over || limit.is_over() {
                break;
            }
            let timeout = if count == 0 { limit.remaining() } else { quiet };
            let wait = limit.remaining().min(timeout);
            let is_awaited = |state: &mut State| state.numbers.len() == count && !state.is_over;
            self.tasks.changed.wait_while_for(&mut state, is_awaited, wait);
            if state.numbers.len() == count {
                break;
            }
        }
        let mut nodes: Vec<String> = state.numbers.keys().cloned().collect();
        nodes.sort();
        nodes
    }

    pub(super) fn await_node(&self, node: &str, deadline: Deadline) -> NodeAgent {
        let mut state = self.tasks.state.lock();
        let is_awaited = |state: &mut State| !state.numbers.contains_key(node) && !state.is_over;
        self.tasks.changed.wait_while_for(&mut state, is_awaited, deadline.remaining());
        let Some(&number) = state.numbers.get(node) else { return NodeAgent::Missing };
        drop(state);
        match self.pipes.lock().remove(node) {
            Some(pipe) => NodeAgent::Ready(pipe, self.nonce.numbered(number)),
            None => NodeAgent::Taken,
        }
    }

    /// Quotes the error line of `srun` about a node, or the first error line about any node.
    pub(super) fn error_of(&self, node: &str) -> Option<String> {
        let said = self.srun.stderr();
        let said = String::from_utf8_lossy(&said);
        let of_node = format!("on node {node}:");
        let errors = || said.lines().filter_map(|line| line.strip_prefix("srun: error: "));
        let line = errors().find(|line| line.contains(&of_node)).or_else(|| errors().next())?;
        Some(quote(line))
    }

    /// Closes the input of the agents that were not taken, which ends them. An `srun` that waits
    /// for a node ignores signals, and an `srun` that is killed leaves its tasks.
    pub(super) fn close_agents(&self) {
        self.pipes.lock().clear();
    }

    /// Sends the signal that makes `srun` end all its tasks, and does not wait.
    pub(super) fn send_term(&self) {
        self.srun.kill();
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        // Without its pipes the agents end, and the step ends with them. If the step does not
        // end, a signal ends it, even after the end of this process.
        self.close_agents();
        children::end(std::iter::once(&*self.srun.shared), self.watchdog.is_cancelled());
    }
}

/// Assigns lines to tasks by the label of `srun`, so that a node cannot imitate another node.
struct LabelRouter {
    nonce: Nonce,
    is_labelled: bool,
    /// Stream indices of nodes that have not reported their task yet.
    unreported: HashMap<String, usize>,
    indices: HashMap<u32, usize>,
    tasks: Arc<Tasks>,
    srun: Arc<Shared>,
}

impl LabelRouter {
    /// Returns the node of a line `RDMACTL/at NONCE NODE`.
    fn node<'line>(&self, line: &'line [u8]) -> Option<&'line str> {
        let mut words = std::str::from_utf8(line).ok()?.split_whitespace();
        let is_ours = words.next() == Some(AT) && words.next() == Some(&*self.nonce.common());
        words.next().filter(|_| is_ours)
    }
}

impl LineRouter for LabelRouter {
    fn route<'line>(
        &mut self,
        line: &'line [u8],
        streams: &mut [LineStream],
    ) -> Option<(usize, &'line [u8])> {
        let (task, line) = if self.is_labelled { label(line)? } else { (0, line) };
        if let Some(&index) = self.indices.get(&task) {
            return Some((index, line));
        }
        let node = self.node(line)?;
        let index = self.unreported.remove(node)?;
        streams.get_mut(index)?.codec = Some(LineCodec::new(self.nonce.numbered(task)));
        self.indices.insert(task, index);
        self.tasks.state.lock().numbers.insert(node.to_owned(), task);
        self.tasks.changed.notify_all();
        None
    }

    fn over(&mut self, streams: &mut [LineStream]) {
        self.tasks.state.lock().is_over = true;
        self.tasks.changed.notify_all();
        let outcome = self.srun.wait(Deadline::after(STDERR_TIMEOUT));
        let said = self.srun.stderr();
        let tasks: HashMap<usize, u32> =
            self.indices.iter().map(|(task, index)| (*index, *task)).collect();
        for (index, stream) in streams.iter_mut().enumerate() {
            let task = tasks.get(&index).copied();
            for line in said.split_inclusive(|byte| *byte == b'\n') {
                // A line of `srun` itself has no label and goes to all tasks.
                match label(line).filter(|_| self.is_labelled) {
                    Some((its, words)) if Some(its) == task => stream.shared.push_stderr(words),
                    Some(_) => {}
                    None => stream.shared.push_stderr(line),
                }
            }
            stream.shared.end(outcome.clone());
        }
    }
}

/// Splits a labelled line into task and text: `12: text`, ` 3: text`.
fn label(line: &[u8]) -> Option<(u32, &[u8])> {
    let at = line.iter().take(12).position(|byte| *byte == b':')?;
    let number = std::str::from_utf8(line.get(..at)?).ok()?.trim().parse().ok()?;
    let rest = line.get(at + 1..)?;
    Some((number, rest.strip_prefix(b" ").unwrap_or(rest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_the_number_of_a_task() {
        assert_eq!(label(b"12: R1 x"), Some((12, b"R1 x".as_slice())));
        assert_eq!(label(b"  3: a: b"), Some((3, b"a: b".as_slice())));
        assert_eq!(label(b"srun: error: x"), None);
        assert_eq!((label(b""), label(b"7"), label(b"-1: x")), (None, None, None));
    }
}

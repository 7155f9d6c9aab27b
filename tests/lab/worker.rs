//! A worker on a node that the test controls directly, for steps that rdmactl does not choose on
//! these nodes.

use std::io::BufReader;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use rdmactl::model::probe::{Act, Step, StepError, StepResult};
use rdmactl::wire::{FrameReader, FrameWriter, FromWorker, ToWorker};

use super::cluster::Cluster;

/// Worker with one connection.
pub(crate) struct Worker {
    child: Child,
    input: FrameWriter<ChildStdin>,
    output: FrameReader<BufReader<ChildStdout>>,
    /// Number of the last step.
    last_id: u64,
}

impl Worker {
    /// Starts a worker. `environment` is empty or `NAME=VALUE`.
    pub(crate) fn start(lab: &Cluster, node: &str, environment: &str) -> Self {
        let mut ssh = lab.login(node, &format!("{environment} rdmactl agent worker"));
        let mut child = ssh.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("ssh runs");
        let input = FrameWriter::new(child.stdin.take().expect("it is piped"));
        let output = FrameReader::new(BufReader::new(child.stdout.take().expect("it is piped")));
        Self { child, input, output, last_id: 0 }
    }

    /// Sends a step without waiting. Returns the number of the step.
    pub(crate) fn ask(&mut self, act: Act) -> u64 {
        self.last_id += 1;
        let step = Step { connection: 1, act };
        self.input.write(&ToWorker { id: self.last_id, step }).expect("it reads");
        self.last_id
    }

    /// Waits for the result of a step, by its number.
    pub(crate) fn answer(&mut self, id: u64) -> Result<StepResult, StepError> {
        loop {
            let message: FromWorker = self.output.read().expect("frames").expect("it lives");
            match message {
                FromWorker::Reply(reply) if reply.id == id => return reply.result,
                FromWorker::Reply(_) | FromWorker::Alive => {}
            }
        }
    }

    /// Closes the input of the worker, and waits until the worker has ended.
    pub(crate) fn end(mut self) {
        drop(self.input);
        self.child.wait().expect("it ends");
    }
}

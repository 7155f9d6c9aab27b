//! A worker on a node, asked without an operator: for what no inventory of these nodes leads to.

use std::io::BufReader;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use rdmactl::model::probe::{Act, Step, StepError, StepResult};
use rdmactl::wire::{FrameReader, FrameWriter, FromWorker, ToWorker};

use super::cluster::Cluster;

/// A worker with one connection.
pub(crate) struct Worker {
    child: Child,
    input: FrameWriter<ChildStdin>,
    output: FrameReader<BufReader<ChildStdout>>,
    asked: u64,
}

impl Worker {
    /// Starts one, with `NAME=VALUE` or nothing before the command.
    pub(crate) fn start(lab: &Cluster, node: &str, environment: &str) -> Self {
        let mut ssh = lab.login(node, &format!("{environment} rdmactl agent worker"));
        let mut child = ssh.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("ssh runs");
        let input = FrameWriter::new(child.stdin.take().expect("it is piped"));
        let output = FrameReader::new(BufReader::new(child.stdout.take().expect("it is piped")));
        Self { child, input, output, asked: 0 }
    }

    /// Asks, and does not wait.
    pub(crate) fn ask(&mut self, act: Act) -> u64 {
        self.asked += 1;
        let step = Step { connection: 1, act };
        self.input.write(&ToWorker { id: self.asked, step }).expect("it reads");
        self.asked
    }

    /// The answer to what was asked under this number.
    pub(crate) fn answer(&mut self, asked: u64) -> Result<StepResult, StepError> {
        loop {
            let said: FromWorker = self.output.read().expect("frames").expect("it lives");
            match said {
                FromWorker::Reply(reply) if reply.id == asked => return reply.result,
                FromWorker::Reply(_) | FromWorker::Alive => {}
            }
        }
    }

    /// The end of its input is its end.
    pub(crate) fn end(mut self) {
        drop(self.input);
        self.child.wait().expect("it ends");
    }
}

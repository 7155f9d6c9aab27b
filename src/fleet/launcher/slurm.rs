//! Launcher for the nodes of a Slurm job: `srun` starts the commands.
//!
//! One `srun` starts the agents of all nodes, up to [`GROUP_SIZE`] of them. After ten seconds,
//! Slurm ends that step for all nodes if a node does not start. A second step therefore excludes
//! nodes without output. Each excluded node, and each other command on a node, gets its own
//! `srun`.

mod srun;
mod step;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;

use super::children::Children;
use super::line_mux;
use crate::clock::Deadline;
use crate::fleet::local::{self, Ending};
use crate::fleet::remote_command::{self, Privilege};
use crate::fleet::{Access, HostResult, Nonce, Pipe, Uploaded, Watchdog};
use crate::hosts::{Host, HostSet, HostSetError};
use crate::model::{HostFailure, Reason};
use step::{NodeAgent, Step};

/// Number of nodes that one `srun` serves. Each node receives every line for any of them.
const GROUP_SIZE: usize = 128;
/// Time without further output until nodes without output are excluded.
const QUIET: Duration = Duration::from_secs(2);

/// Slurm job, and the nodes of it that are queried.
#[derive(Debug)]
pub struct Slurm {
    job: Arc<Job>,
    groups: BTreeMap<String, Arc<NodeGroup>>,
}

#[derive(Debug)]
struct Job {
    id: String,
    written: String,
    nodes: BTreeSet<String>,
    watchdog: Watchdog,
    timeout: Duration,
}

#[derive(Debug)]
struct NodeGroup {
    nodes: Vec<String>,
    step: OnceLock<Option<Arc<Step>>>,
    /// Steps that lacked a node, and that are ending.
    ended_steps: Mutex<Vec<Step>>,
}

impl Slurm {
    /// Returns the launcher for a job with the nodes `written` by Slurm, to query `asked`.
    ///
    /// # Errors
    /// `written` is no valid host set.
    pub fn job(
        id: &str,
        written: &str,
        asked: &[Host],
        watchdog: Watchdog,
        timeout: Duration,
    ) -> Result<Self, HostSetError> {
        let nodes = HostSet::parse(written)?.into_iter().map(|host| host.name).collect();
        let (id, written) = (id.to_owned(), written.to_owned());
        let job = Job { id, written, nodes, watchdog, timeout };
        let asked = asked.iter().filter(|host| job.refusal(host).is_none());
        let asked: BTreeSet<String> = asked.map(|host| host.name.clone()).collect();
        let asked = Vec::from_iter(asked);
        let mut groups = BTreeMap::new();
        for nodes in asked.chunks(GROUP_SIZE) {
            let (step, ended_steps) = (OnceLock::new(), Mutex::default());
            let group = Arc::new(NodeGroup { nodes: nodes.to_vec(), step, ended_steps });
            groups.extend(nodes.iter().map(|node| (node.clone(), Arc::clone(&group))));
        }
        Ok(Self { job: Arc::new(job), groups })
    }

    pub(in crate::fleet) fn access(&self, host: &Host) -> HostResult<Arc<dyn Access>> {
        if let Some(refusal) = self.job.refusal(host) {
            return Err(refusal);
        }
        let node = host.name.clone();
        let children = Children::new(self.job.watchdog.clone());
        let group = self.groups.get(&node).cloned();
        Ok(Arc::new(SlurmAccess { job: Arc::clone(&self.job), group, node, children }))
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        if self.job.watchdog.is_cancelled() {
            // All steps get the signal first, because each is then waited for separately.
            for step in self.groups.values().filter_map(|group| group.step.get()?.as_ref()) {
                step.send_term();
            }
        }
    }
}

impl Job {
    /// Returns the failure of a host that this job cannot reach. `None` for a node of the job.
    fn refusal(&self, host: &Host) -> Option<HostFailure> {
        if host.user.is_some() || host.port.is_some() {
            let detail = "--launcher slurm takes node names without a user or a port";
            let failure = HostFailure::new(Reason::Unresolved, detail);
            return Some(failure.fix(format!("write {} in the host set", host.name)));
        }
        if self.nodes.contains(&host.name) {
            return None;
        }
        let detail = format!("not a node of job {}; its nodes are {}", self.id, self.written);
        let fix = format!(
            "query the nodes of the job: -H @job; or request a job with this node: salloc -w {}",
            host.name
        );
        Some(HostFailure::new(Reason::Unreachable, detail).fix(fix))
    }
}

impl NodeGroup {
    /// Returns the step of all nodes that could be started together. `None` if no node could.
    fn step(&self, job: &Job, privilege: Privilege, deadline: Deadline) -> Option<Arc<Step>> {
        self.step.get_or_init(|| self.start(job, privilege, deadline)).clone()
    }

    fn start(&self, job: &Job, privilege: Privilege, deadline: Deadline) -> Option<Arc<Step>> {
        let quiet = QUIET.min(job.timeout / 4);
        let limit = Deadline::after(deadline.remaining() / 2);
        let mut nodes = self.nodes.clone();
        // Two attempts: a node that started in the first step also starts in the second.
        for _ in 0..2 {
            let step = Step::start(job, &nodes, privilege).ok()?;
            let arrived = step.await_all(quiet, limit);
            // Without any node so far, no node waits for the others.
            if arrived.len() == nodes.len() || (arrived.is_empty() && !step.is_over()) {
                return Some(Arc::new(step));
            }
            step.close_agents();
            self.ended_steps.lock().push(step);
            nodes = arrived;
            if nodes.is_empty() || job.watchdog.is_cancelled() {
                return None;
            }
        }
        None
    }
}

struct SlurmAccess {
    job: Arc<Job>,
    group: Option<Arc<NodeGroup>>,
    node: String,
    children: Children,
}

impl SlurmAccess {
    fn agent_of(&self, step: Arc<Step>, deadline: Deadline) -> HostResult<(Pipe, Nonce)> {
        match step.await_node(&self.node, deadline) {
            NodeAgent::Ready(pipe, nonce) => {
                self.children.watch(&pipe, deadline)?;
                Ok((pipe.keep(step), nonce))
            }
            NodeAgent::Taken | NodeAgent::Missing => Err(self.no_task(&step)),
        }
    }

    fn no_task(&self, step: &Step) -> HostFailure {
        let node = &self.node;
        let detail = match step.error_of(node) {
            Some(words) => format!("srun started no task on this node: {words}"),
            None => "srun started no task on this node in time".to_owned(),
        };
        HostFailure::new(Reason::Unreachable, detail)
            .fix(format!("check the state of the node and its slurmd: scontrol show node {node}"))
    }
}

impl Access for SlurmAccess {
    /// Starts an `srun` for this node alone.
    fn exec(&self, command: &str, deadline: Deadline) -> HostResult<Pipe> {
        let process = srun::command(&self.job.id, std::slice::from_ref(&self.node), command);
        let pipe = local::spawn_with_ending(process, Ending::Terminate)?;
        self.children.adopt(&pipe, deadline)?;
        Ok(pipe)
    }

    fn set_deadline(&self, deadline: Option<Deadline>) {
        self.children.set_deadline(deadline);
    }

    fn is_cancelled(&self) -> bool {
        self.children.is_cancelled()
    }

    fn service(&self) -> &'static str {
        "Slurm"
    }

    fn host(&self) -> &str {
        &self.node
    }

    /// slurmd ends every process of a step.
    fn ends_processes(&self) -> bool {
        true
    }

    fn manual_command(&self, purpose: &str, command: &str) -> String {
        let (id, node) = (&self.job.id, &self.node);
        let command = shlex::try_quote(command).unwrap_or_default();
        format!("{purpose}: srun --jobid={id} --overlap -N 1 -n 1 -w {node} /bin/sh -c {command}")
    }

    fn installed_agent(
        &self,
        privilege: Privilege,
        deadline: Deadline,
    ) -> HostResult<(Pipe, Nonce)> {
        let together =
            self.group.as_ref().and_then(|group| group.step(&self.job, privilege, deadline));
        // A second query of a node finds that its agent in the common step is taken.
        if let Some(step) = together.filter(|step| step.offers(&self.node)) {
            return self.agent_of(step, deadline);
        }
        let step = Step::start(&self.job, std::slice::from_ref(&self.node), privilege)?;
        self.agent_of(Arc::new(step), deadline)
    }

    fn uploaded_agent(
        &self,
        uploaded: &Uploaded,
        privilege: Privilege,
        deadline: Deadline,
    ) -> HostResult<Pipe> {
        let command = remote_command::uploaded_agent_in_lines(uploaded, privilege);
        line_mux::single_stream(self.exec(&command, deadline)?, uploaded.nonce)
    }
}

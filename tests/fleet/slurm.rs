//! Complete runs in a job of a real Slurm: slurmctld and five slurmd on this machine.

#![allow(clippy::unwrap_used, clippy::panic, reason = "without its test bed a test must end")]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::Command;

use crate::bed::{Said, wait_until};
use crate::programs::Programs;
use crate::slurm_cluster::{Cluster, JOB_NODES};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Slurm cluster, and the programs of its nodes.
struct Bed {
    cluster: Cluster,
    programs: Programs,
}

/// Returns each host with the way in which it was read, or with the reason of its failure.
fn ways_of(said: &Said) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let way = |host: &Value| match &host["failure"] {
        Value::Null => text(&host["via"]),
        failure => text(&failure["reason"]),
    };
    said.hosts().iter().map(|host| (text(&host["host"]), way(host))).collect()
}

fn ways(all: &[(&str, &str)]) -> Vec<(String, String)> {
    all.iter().map(|(host, way)| ((*host).to_owned(), (*way).to_owned())).collect()
}

const ALL: [(&str, &str); 4] = [("n1", "agent"), ("n2", "agent"), ("n3", "agent"), ("n4", "agent")];

impl Bed {
    fn new() -> Self {
        let bed = Self { cluster: Cluster::start(), programs: Programs::new() };
        // srun logs each start and its arguments.
        let log = bed.programs.path("sruns");
        let script = format!("echo \"$@\" >>{}; exec /usr/bin/srun \"$@\"", log.display());
        bed.programs.write("srun", &script);
        bed
    }

    fn with_agent() -> Self {
        let bed = Self::new();
        bed.programs.install();
        bed
    }

    /// Returns a command that runs the program outside of a job.
    fn outside(&self, arguments: &[&str]) -> Command {
        let mut command = self.programs.operator();
        command
            .args(arguments)
            .env("SLURM_CONF", self.cluster.config())
            .env_remove("SLURM_JOB_ID")
            .env_remove("SLURM_JOB_NODELIST");
        command
    }

    /// Returns a command that runs the program like the shell of the job.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.outside(arguments);
        command
            .args(["--launcher", "slurm"])
            .env("SLURM_JOB_ID", &self.cluster.job)
            .env("SLURM_JOB_NODELIST", JOB_NODES)
            // The shell of a job also has these variables. They would change srun if srun read
            // them.
            .env("SLURM_NNODES", "4")
            .env("SLURM_LABELIO", "0")
            .env("SLURM_NTASKS", "1");
        command
    }

    fn run(&self, arguments: &[&str]) -> Said {
        Said::of(self.command(arguments).spawn().unwrap())
    }

    fn sruns(&self) -> Vec<String> {
        let text = fs::read_to_string(self.programs.path("sruns")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Waits until no process and no step is left.
    fn is_clean(&self) {
        wait_until("the nodes are clean", || self.programs.processes().is_empty());
        wait_until("no step is left", || {
            self.cluster.output("squeue", &["-s", "-h", "-o", "%i %j"]).trim().is_empty()
        });
    }
}

#[test]
fn the_nodes_of_the_job_are_queried_with_one_srun() {
    let bed = Bed::with_agent();
    let said = bed.run(&["devices", "-v", "--json"]);
    assert_eq!(ways_of(&said), ways(&ALL), "{}", said.stderr);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert_eq!(bed.sruns().len(), 1, "{:?}", bed.sruns());
    bed.is_clean();

    // srun does not label the lines of a single node.
    let said = bed.run(&["devices", "--json", "-H", "n2"]);
    assert_eq!(ways_of(&said), ways(&[("n2", "agent")]), "{}{}", said.stdout, said.stderr);

    // n5 is a node of the cluster, but not of the job.
    let said = bed.run(&["devices", "--json", "-H", "n[4-5],me@n1"]);
    assert_eq!(
        ways_of(&said),
        ways(&[("n4", "agent"), ("n5", "unreachable"), ("me@n1", "unresolved")])
            .into_iter()
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
            .collect::<Vec<_>>(),
    );
    let failure = &said.hosts()[2]["failure"];
    let detail = failure["detail"].as_str().unwrap();
    assert_eq!(detail, format!("not a node of job {}; its nodes are n[1-4]", bed.cluster.job));

    let said = Said::of(bed.outside(&["devices", "--launcher", "slurm"]).spawn().unwrap());
    assert_eq!(said.code, Some(2));
    assert!(said.stderr.contains("works only within a Slurm job"), "{}", said.stderr);
    assert!(said.stderr.contains("salloc -N 4 rdmactl devices --launcher slurm"));

    // A ping starts agents and workers. The nodes have no RDMA device.
    let said = bed.run(&["ping", "--json", "--matrix", "n[1-3]"]);
    let hosts = said.hosts();
    assert!(hosts.len() == 3 && hosts.iter().all(|host| host["failure"].is_null()), "{hosts:?}");
    assert!(said.stdout.contains("\"left_behind\": []"), "{}", said.stdout);

    // The cluster is also a group source.
    let hosts = |set: &str| Said::of(bed.outside(&["hosts", "--fold", set]).spawn().unwrap());
    assert_eq!(hosts("@slurm:rack").stdout, "n[1-5]\n");
    assert_eq!(hosts("@slurm:*!@slurmstate:idle").stdout, "n[1-4]\n");
    let unknown = hosts("@slurm:shelf");
    assert_eq!(unknown.code, Some(2));
    assert!(unknown.stderr.contains("rack"), "{}", unknown.stderr);
    bed.is_clean();
}

#[test]
fn a_dead_slurmd_costs_its_own_row() {
    let mut bed = Bed::with_agent();
    for signal in [Signal::KILL, Signal::STOP] {
        bed.cluster.signal("n3", signal);
        let said = bed.run(&["devices", "--json", "--timeout", "6s"]);
        let mut expected = ALL;
        expected[2].1 = "unreachable";
        assert_eq!(ways_of(&said), ways(&expected), "{signal:?}: {}{}", said.stdout, said.stderr);
        assert_eq!(said.code, Some(3));
        let detail = said.hosts()[2]["failure"]["detail"].as_str().unwrap().to_owned();
        assert!(detail.starts_with("srun started no task on this node"), "{detail}");
        wait_until("the agents are gone", || bed.programs.processes().is_empty());
        if signal == Signal::KILL {
            bed.cluster.start_node("n3");
            wait_until("it is back", || {
                let one = bed.run(&["devices", "--json", "-H", "n3"]);
                ways_of(&one) == ways(&[("n3", "agent")])
            });
        }
    }
}

#[test]
fn agents_stay_between_samples_although_a_node_is_dead() {
    let bed = Bed::with_agent();
    bed.cluster.signal("n2", Signal::STOP);
    let arguments =
        ["devices", "--format", "ndjson", "--watch=1", "--count", "14", "--timeout", "6s"];
    let said = bed.run(&arguments);
    // After ten seconds Slurm aborts a step that has a dead node. So the agents of the other
    // nodes must run in another step.
    let lines = |host: &str| {
        let name = format!("\"host\":\"{host}\"");
        said.stdout
            .lines()
            .filter(|line| line.contains(&name) && line.contains("\"via\":\"agent\""))
            .filter(|line| line.contains("\"failure\":null"))
            .count()
    };
    let counts = ["n1", "n2", "n3", "n4"].map(lines);
    assert_eq!(counts[1], 0, "{}", said.stdout);
    assert!(counts.iter().enumerate().all(|(at, count)| at == 1 || *count >= 12), "{counts:?}");
    wait_until("the agents are gone", || bed.programs.processes().is_empty());
}

#[test]
fn a_node_whose_agent_was_lost_is_looked_for_again() {
    let bed = Bed::with_agent();
    let arguments = ["devices", "--format", "ndjson", "--watch=1", "--timeout", "6s"];
    let mut child = bed.command(&arguments).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let is_of = |line: &str, host: &str, word: &str| {
        line.contains(&format!("\"host\":\"{host}\"")) && line.contains(word)
    };
    let well = "\"failure\":null";
    for (host, _) in ALL {
        assert!(lines.any(|line| is_of(&line.unwrap(), host, well)), "no report of {host}");
    }
    let agents = bed.programs.processes();
    assert!(agents.len() >= ALL.len(), "{} agents", agents.len());
    // Only agents run the installed copy. The operator runs another file.
    kill_process(Pid::from_raw(agents[0].pid).unwrap(), Signal::KILL).unwrap();
    // Slurm does not report a task that ended. rdmactl notices that the agent does not respond.
    let is_lost = |line: &str, host: &str| is_of(line, host, "\"failure\":{\"reason\"");
    let host = lines.find_map(|line| {
        let line = line.unwrap();
        ALL.iter().map(|(host, _)| *host).find(|host| is_lost(&line, host))
    });
    let host = host.unwrap();
    assert!(lines.any(|line| is_of(&line.unwrap(), host, well)), "no second report of {host}");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let _ = lines.count();
    child.wait().unwrap();
    wait_until("the agents are gone", || bed.programs.processes().is_empty());
}

#[test]
fn nodes_without_rdmactl_are_read_by_their_shells_or_get_the_program() {
    let bed = Bed::new();
    let said = bed.run(&["devices", "--json", "-H", "n[1-2]", "--timeout", "30s"]);
    assert_eq!(ways_of(&said), ways(&[("n1", "sh"), ("n2", "sh")]), "{}", said.stdout);
    let said = bed.run(&["devices", "--json", "-H", "n[1-2]", "--upload", "--timeout", "30s"]);
    assert_eq!(ways_of(&said), ways(&[("n1", "upload"), ("n2", "upload")]), "{}", said.stdout);
    bed.is_clean();
    let files = fs::read_dir(bed.programs.directory()).unwrap().flatten();
    let left: Vec<PathBuf> = files
        .map(|entry| entry.path())
        .filter(|path| path.to_string_lossy().contains("/.rdmactl-"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_stopped_agent_affects_only_its_own_row() {
    let bed = Bed::with_agent();
    fs::rename(bed.programs.path("rdmactl"), bed.programs.path("real")).unwrap();
    let real = bed.programs.path("real");
    let script =
        format!("[ $SLURMD_NODENAME = n4 ] && kill -STOP $$; exec {} \"$@\"", real.display());
    bed.programs.write("rdmactl", &script);
    let said = bed.run(&["devices", "--json", "--timeout", "8s"]);
    let mut expected = ALL;
    expected[3].1 = "hung";
    assert_eq!(ways_of(&said), ways(&expected), "{}{}", said.stdout, said.stderr);
    bed.is_clean();
}

#[test]
fn a_signal_leaves_nothing_on_any_node() {
    let bed = Bed::with_agent();
    let arguments = ["devices", "--format", "ndjson", "--watch=1"];
    let mut child = bed.command(&arguments).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("\"host\":\"n1\""));
    let agents = bed.programs.processes();
    assert!(agents.len() >= 4, "{} agents", agents.len());
    // One of the agents is stopped.
    let stopped = Pid::from_raw(agents[0].pid).unwrap();
    kill_process(stopped, Signal::STOP).unwrap();
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    bed.is_clean();
}

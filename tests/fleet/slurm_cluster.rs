//! A separate Slurm cluster on this machine: munged, slurmctld, and a slurmd for each node.

#![allow(dead_code, reason = "each test binary uses its part")]
#![allow(clippy::expect_used, clippy::panic, reason = "without its test bed a test must end")]

use std::fmt::Write as _;
use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::ops::RangeFrom;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use rdmactl::clock::Deadline;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::bed::{tool, wait_until};

/// Number of nodes: `n1` to `n5`.
pub(crate) const NODES: usize = 5;
/// Nodes of the job.
pub(crate) const JOB_NODES: &str = "n[1-4]";

pub(crate) struct Cluster {
    pub(crate) directory: TempDir,
    pub(crate) job: String,
    /// Daemons in the order of their end.
    daemons: Vec<(String, Child)>,
}

impl Cluster {
    /// Starts all daemons, and a job without processes.
    pub(crate) fn start() -> Self {
        Self::start_with("")
    }

    /// Starts all daemons with additional lines of slurm.conf, and a job without processes.
    pub(crate) fn start_with(settings: &str) -> Self {
        let directory = TempDir::new().expect("a directory for the test");
        // munged requires that each user can access the directory of its socket.
        let open = fs::Permissions::from_mode(0o755);
        fs::set_permissions(directory.path(), open).expect("its rights");
        let mut cluster = Self { directory, job: String::new(), daemons: Vec::new() };
        cluster.start_munged();
        cluster.write_config(settings);
        let config = cluster.config();
        let mut controller = tool("slurmctld", "slurmctld");
        controller.args(["-D", "-c", "-f"]).arg(&config);
        cluster.spawn("slurmctld", controller);
        for number in 1..=NODES {
            cluster.start_node(&format!("n{number}"));
        }
        let deadline = Deadline::after(Duration::from_secs(60));
        while cluster.idle_nodes() < NODES {
            assert!(!deadline.is_over(), "not all nodes are idle{}", cluster.logs());
            thread::park_timeout(Duration::from_millis(50));
        }
        cluster.run("salloc", &["--no-shell", "--quiet", "--nodelist", JOB_NODES, "-N", "4"]);
        let job = cluster.output("squeue", &["-h", "-o", "%i"]);
        job.trim().clone_into(&mut cluster.job);
        assert!(!cluster.job.is_empty(), "there is a job");
        cluster
    }

    fn idle_nodes(&self) -> usize {
        let said = self.output("sinfo", &["-h", "-N", "-o", "%T"]);
        said.lines().filter(|state| *state == "idle").count()
    }

    fn start_munged(&mut self) {
        let at = |name: &str| self.directory.path().join(name);
        let key: Vec<u8> = (0..=255).cycle().take(1024).collect();
        fs::write(at("munge.key"), key).expect("a key");
        let mode = fs::Permissions::from_mode(0o400);
        fs::set_permissions(at("munge.key"), mode).expect("its rights");
        let option = |name: &str, file: &str| format!("--{name}={}", at(file).display());
        let mut munged = tool("munged", "munge");
        munged.args(["--foreground", "--force", "--num-threads=2"]).args([
            option("socket", "munge.sock"),
            option("key-file", "munge.key"),
            option("log-file", "munged.log"),
            option("pid-file", "munged.pid"),
            option("seed-file", "munged.seed"),
        ]);
        let socket = at("munge.sock");
        self.spawn("munged", munged);
        wait_until("munged has its socket", || socket.exists());
    }

    fn write_config(&self, settings: &str) {
        let place = self.directory.path().display();
        let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let name = name.split('.').next().unwrap_or_default().to_owned();
        let user = rustix::process::getuid().as_raw();
        let ports = free_ports(NODES + 1);
        let (controller, ports) = ports.split_first().expect("ports");
        let mut text = format!(
            "ClusterName=rdmatest\nSlurmctldHost={name}(127.0.0.1)\nSlurmctldPort={controller}\n\
             SlurmUser={user}\nSlurmdUser={user}\nAuthType=auth/munge\n\
             AuthInfo=socket={place}/munge.sock\nCredType=cred/munge\nMpiDefault=none\n\
             ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nSwitchType=switch/none\n\
             JobAcctGatherType=jobacct_gather/none\n\
             AccountingStorageType=accounting_storage/none\n\
             SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\n\
             SchedulerType=sched/backfill\nReturnToService=2\nTreeWidth=50\n\
             SlurmdParameters=config_overrides\nStateSaveLocation={place}/state\n\
             SlurmdSpoolDir={place}/spool-%n\nSlurmctldPidFile={place}/slurmctld.pid\n\
             SlurmdPidFile={place}/slurmd-%n.pid\nSlurmctldLogFile={place}/slurmctld.log\n\
             SlurmdLogFile={place}/slurmd-%n.log\n{settings}"
        );
        for (number, port) in (1..).zip(ports) {
            let _ = writeln!(
                text,
                "NodeName=n{number} NodeHostname={name} NodeAddr=127.0.0.1 Port={port} CPUs=2 \
                 State=UNKNOWN"
            );
        }
        let _ = writeln!(
            text,
            "PartitionName=rack Nodes=n[1-{NODES}] Default=YES MaxTime=INFINITE State=UP"
        );
        fs::create_dir(self.path("state")).expect("a directory");
        fs::write(self.config(), text).expect("slurm.conf");
    }

    pub(crate) fn start_node(&mut self, node: &str) {
        let spool = self.path(&format!("spool-{node}"));
        fs::create_dir_all(spool).expect("a directory");
        let mut slurmd = tool("slurmd", "slurmd");
        slurmd.args(["-D", "-N", node, "-f"]).arg(self.config());
        self.spawn(node, slurmd);
    }

    fn spawn(&mut self, name: &str, mut command: Command) {
        let log = fs::File::create(self.path(&format!("{name}.out"))).expect("a log");
        // A daemon that crashes writes its core file into this directory, which the test removes.
        let child = command
            .current_dir(self.directory.path())
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("the log"))
            .stderr(log)
            .spawn()
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        self.daemons.push((name.to_owned(), child));
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.path("slurm.conf")
    }

    /// Sends a signal to the newest slurmd of a node.
    pub(crate) fn signal(&self, node: &str, signal: Signal) {
        let (_, child) = self.daemons.iter().rev().find(|(name, _)| name == node).expect("a node");
        kill_process(Pid::from_child(child), signal).expect("it lives");
    }

    fn call(&self, program: &str, arguments: &[&str]) -> Output {
        tool(program, "slurm-client")
            .args(arguments)
            .env("SLURM_CONF", self.config())
            .stdin(Stdio::null())
            .output()
            .expect("it runs")
    }

    /// Runs a command of Slurm, which must succeed.
    pub(crate) fn run(&self, program: &str, arguments: &[&str]) -> Output {
        let output = self.call(program, arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{program} {arguments:?}: {said}{}", self.logs());
        output
    }

    pub(crate) fn output(&self, program: &str, arguments: &[&str]) -> String {
        let output = self.call(program, arguments);
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Kills the processes of steps of this cluster. They have an open log in its directory.
    fn kill_steps(&self) {
        let Ok(processes) = fs::read_dir("/proc") else { return };
        for process in processes.flatten().map(|entry| entry.path()) {
            let is_step = fs::read_link(process.join("exe"))
                .is_ok_and(|exe| exe.to_string_lossy().contains("slurmstepd"));
            let Some(pid) = process.file_name().and_then(|name| name.to_str()?.parse().ok()) else {
                continue;
            };
            let files = || fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
            let is_ours = |file: fs::DirEntry| {
                fs::read_link(file.path()).is_ok_and(|file| file.starts_with(self.directory.path()))
            };
            if is_step
                && files().any(is_ours)
                && let Some(pid) = Pid::from_raw(pid)
            {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }

    /// Returns the last lines of the logs of all daemons, for the message of a failed test.
    fn logs(&self) -> String {
        let mut all = String::new();
        for entry in fs::read_dir(self.directory.path()).expect("the directory").flatten() {
            let path = entry.path();
            if path.extension().is_some_and(|end| end == "out" || end == "log") {
                let text = fs::read_to_string(&path).unwrap_or_default();
                let last: Vec<&str> = text.lines().rev().take(5).collect();
                let _ = write!(all, "\n{}: {last:#?}", path.display());
            }
        }
        all
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let mut cancel = tool("scancel", "slurm-client");
        let _ = cancel.arg(&self.job).env("SLURM_CONF", self.config()).output();
        for (_, child) in self.daemons.iter_mut().rev() {
            let pid = Pid::from_child(child);
            // A stopped process handles no other signal.
            let _ = kill_process(pid, Signal::CONT);
            let _ = kill_process(pid, Signal::TERM);
        }
        let deadline = Deadline::after(Duration::from_secs(5));
        for (_, child) in &mut self.daemons {
            while matches!(child.try_wait(), Ok(None)) && !deadline.is_over() {
                thread::yield_now();
            }
            let _ = child.kill();
            let _ = child.wait();
        }
        self.kill_steps();
    }
}

/// Returns ports that no program uses and that no other cluster of this process gets. They are
/// lower than the ports that Linux gives to connections and to listeners without a port of their
/// own. So no other test takes one before its daemon starts.
fn free_ports(count: usize) -> Vec<u16> {
    static PORTS: Mutex<RangeFrom<u16>> = Mutex::new(20_000..);
    let mut ports = PORTS.lock().expect("no panic while it was held");
    let is_free = |&port: &u16| TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).is_ok();
    ports.by_ref().filter(is_free).take(count).collect()
}

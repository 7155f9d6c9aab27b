//! The virtual nodes of these tests, and rdmactl run against them.
#![allow(
    unreachable_pub,
    dead_code,
    reason = "several test binaries have this module, and none uses all of it"
)]

use std::env;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use rdmactl::fleet::Watchdog;
use rdmactl::{clock, render};
use serde_json::Value;

/// Time limit of rdmactl for a host: uploads and logins are slow on an emulated node.
pub const TIMEOUT: &str = "60s";

/// Time limit of a command, for timeout(1). A command that takes longer hangs.
const LIMIT: &str = "600s";

/// Waits for a time. clippy.toml forbids `thread::sleep`.
pub fn wait(time: Duration) {
    assert!(!Watchdog::start().expect("a thread").wait_cancelled(time));
}

/// Lab of this process. The lab is shut down when the process ends for any reason.
pub struct Cluster {
    name: String,
    ssh_config: PathBuf,
}

/// Exit status of timeout(1) for a command that did not end in time.
const TIMED_OUT: i32 = 124;

/// Exit code, JSON and stderr of a command.
pub struct Answer {
    pub code: i32,
    pub json: Value,
    pub stderr: String,
}

impl Answer {
    /// Waits for the end of a command, and reads its JSON. The test fails if timeout(1) ended the
    /// command.
    pub fn of(arguments: &[&str], run: Child) -> Self {
        let output = run.wait_with_output().expect("rdmactl ends");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        let code = output.status.code().filter(|code| *code != TIMED_OUT);
        let code = code.unwrap_or_else(|| {
            panic!("{arguments:?}: {} (time limit: {LIMIT})\n{stderr}", output.status)
        });
        let stdout = String::from_utf8_lossy(&output.stdout);
        let json = serde_json::from_str(&stdout)
            .unwrap_or_else(|error| panic!("{arguments:?}: {error}\n{stdout}\n{stderr}"));
        Self { code, json, stderr }
    }
}

/// Returns the lab with nodes of three Debian releases, reset to a clean state. Only one test at
/// a time uses the lab.
pub fn roce() -> MutexGuard<'static, Cluster> {
    static LAB: OnceLock<Mutex<Cluster>> = OnceLock::new();
    let lab = LAB.get_or_init(|| {
        let releases = ["--node", "n2=13", "--node", "n3=11", "--node", "n4=13"];
        Mutex::new(Cluster::up("roce", &[&["--nodes", "4"], &releases[..]].concat()))
    });
    let cluster = lab.lock().unwrap_or_else(PoisonError::into_inner);
    cluster.lab(&["reset"]);
    cluster
}

/// Starts a lab with two nodes for consumers of RDMA. Mounts and connections stay until the lab
/// is shut down.
pub fn consumers() -> Cluster {
    let cluster = Cluster::up("consumers", &["--nodes", "2"]);
    cluster.lab(&["reset"]);
    cluster
}

/// Returns the path of the binary under test, which also runs on nodes with an older C library.
pub fn binary() -> PathBuf {
    let path = env::var_os("RDMACTL_NODE_BINARY")
        .expect("RDMACTL_NODE_BINARY names the portable binary: make release");
    std::fs::canonicalize(path).expect("the portable binary: make release")
}

impl Cluster {
    pub fn up(kind: &str, nodes: &[&str]) -> Self {
        let pid = std::process::id();
        let name = format!("test-{kind}-{pid}");
        let lab = Self { name, ssh_config: PathBuf::new() };
        let (pid, binary) = (pid.to_string(), binary());
        let mut arguments = vec!["up", "--owner", &pid, "--push", binary.to_str().expect("UTF-8")];
        arguments.extend(nodes);
        lab.lab(&arguments);
        let ssh_config = lab.lab(&["ssh-config"]).trim().into();
        Self { ssh_config, ..lab }
    }

    /// Runs `lab/lab`. The test fails if `lab/lab` fails.
    pub fn lab(&self, arguments: &[&str]) -> String {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("lab/lab");
        let output = Command::new(script)
            .args(arguments)
            .args(["--name", &self.name])
            .output()
            .expect("lab/lab runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "lab {arguments:?}: {stderr}");
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// Runs a command on a node. Returns its stdout.
    pub fn on(&self, node: &str, command: &str) -> String {
        let output = self.ssh(node, command);
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn ssh(&self, node: &str, command: &str) -> Output {
        self.login(node, command).output().expect("ssh runs")
    }

    pub fn login(&self, node: &str, command: &str) -> Command {
        let mut ssh = Command::new("ssh");
        ssh.arg("-F").arg(&self.ssh_config).args([node, command]);
        ssh
    }

    /// Starts to wait on a node until a shell condition holds. The wait has begun when this
    /// function returns. The returned function blocks until the condition holds.
    pub fn wait_on(&self, node: &str, condition: &str) -> impl FnOnce() + use<> {
        let wait = format!(
            "echo waits; i=0; until {condition} >/dev/null || [ $((i += 1)) -gt 600 ]; \
             do sleep 0.1; done; [ $i -le 600 ] && echo holds"
        );
        let mut ssh = self.login(node, &wait).stdout(Stdio::piped()).spawn().expect("ssh runs");
        let mut lines = BufReader::new(ssh.stdout.take().expect("it is piped")).lines();
        let mut next = move || lines.next().and_then(Result::ok);
        assert_eq!(next().as_deref(), Some("waits"), "{node}");
        let condition = condition.to_owned();
        move || {
            assert_eq!(next().as_deref(), Some("holds"), "{condition}");
            ssh.wait().expect("ssh ends");
        }
    }

    /// Returns the output of `rdmactl compat` for a node, run on this machine.
    pub fn compat(&self, node: &str, tool: &str) -> String {
        let output = Command::new(binary())
            .args(["compat", "--timeout", TIMEOUT, "-H", node, "-F"])
            .arg(&self.ssh_config)
            .arg(tool)
            .output()
            .expect("rdmactl runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Runs rdmactl and reads its JSON. The test fails if rdmactl hangs.
    pub fn rdmactl(&self, arguments: &[&str]) -> Answer {
        Answer::of(arguments, self.start_with_limit(arguments))
    }

    /// Starts rdmactl, which prints its JSON at the end.
    pub fn start(&self, arguments: &[&str]) -> Child {
        self.spawn(Command::new(binary()), arguments)
    }

    /// Starts rdmactl under timeout(1). Both are in a process group of their own, whose number is
    /// the process id of the child.
    pub fn start_with_limit(&self, arguments: &[&str]) -> Child {
        let mut timeout = Command::new("timeout");
        timeout.args(["--kill-after=20s", LIMIT]).arg(binary());
        self.spawn(timeout, arguments)
    }

    fn spawn(&self, mut command: Command, arguments: &[&str]) -> Child {
        command.args(arguments).args(["--json", "--timeout", TIMEOUT, "-F"]).arg(&self.ssh_config);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("rdmactl runs")
    }

    /// Returns the ssh configuration for `-F` of rdmactl and ssh.
    pub fn ssh_config(&self) -> &Path {
        &self.ssh_config
    }

    /// Pings all pairs of a host set.
    pub fn matrix(&self, set: &str, alive: &[&str]) -> Matrix {
        self.ping(&["--matrix", set, "--slot", "100ms"], alive)
    }

    /// Runs a ping. Checks that the JSON fits the schema, and that no agent and no worker is left
    /// on the nodes in `alive`.
    pub fn ping(&self, flags: &[&str], alive: &[&str]) -> Matrix {
        let answer = self.rdmactl(&[&["ping"], flags].concat());
        let schema = render::schema_of::<render::PingDocument<'_>>();
        let validator = jsonschema::validator_for(&schema).expect("a schema");
        let errors: Vec<String> =
            validator.iter_errors(&answer.json).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?}");
        let matrix = Matrix(answer);
        for node in alive {
            self.assert_nothing_left(node);
        }
        matrix
    }

    /// Waits until a node has no agent, no worker and no queue pair of a process.
    pub fn assert_nothing_left(&self, node: &str) {
        let start = clock::now();
        // The owner of a queue pair of the kernel is in brackets.
        let look = "qps=$(rdma resource show qp) || exit 1; pgrep -a rdmactl; pgrep -af '[a]gent worker'; \
                    echo \"$qps\" | grep comm | grep -v '\\['; echo looked";
        loop {
            let output = self.ssh(node, look);
            let left = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success() && left.ends_with("looked\n"), "{node}: {output:?}");
            if left == "looked\n" {
                return;
            }
            assert!(start.elapsed() < Duration::from_secs(6), "left on {node}: {left}");
            std::thread::yield_now();
        }
    }
}

/// Result of a ping run.
pub struct Matrix(pub Answer);

impl std::fmt::Debug for Matrix {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for pair in self.pairs() {
            let (source, target) = (self.name(&pair["source"]), self.name(&pair["target"]));
            let verdict = &pair["verdict"];
            writeln!(
                out,
                "{source} -> {target}: {} at {}: {}",
                verdict["code"], verdict["stage"], verdict["detail"]
            )?;
        }
        writeln!(out, "{}", self.0.stderr)
    }
}

impl Matrix {
    pub fn pairs(&self) -> &[Value] {
        self.0.json["pairs"].as_array().expect("pairs")
    }

    pub fn name(&self, host: &Value) -> &str {
        let host = usize::try_from(host.as_u64().expect("an index")).expect("small");
        self.0.json["hosts"][host]["name"].as_str().expect("a name")
    }

    /// Asserts that each pair with `host` has one of the codes at one of the stages, and that all
    /// other pairs are ok.
    pub fn assert_only(&self, host: &str, codes: &[&str], stages: &[&str]) {
        assert_eq!(self.0.code, 1, "{self:?}");
        for pair in self.pairs() {
            let verdict = &pair["verdict"];
            let code = verdict["code"].as_str().expect("a code");
            if self.is_with(pair, host) {
                assert!(codes.contains(&code), "{codes:?} wanted\n{self:?}");
                let stage = verdict["stage"].as_str().expect("a stage");
                assert!(stages.contains(&stage), "{stages:?} wanted\n{self:?}");
            } else {
                assert_eq!(code, "ok", "{self:?}");
            }
        }
    }

    /// Asserts the result of a fault during the run: at least one pair with `host` has the code,
    /// and all other pairs are ok.
    pub fn assert_from_some_point_on(&self, host: &str, code: &str) {
        assert_eq!(self.0.code, 1, "{self:?}");
        let with = self.codes(|pair| self.is_with(pair, host));
        assert!(with.contains(&code), "{self:?}");
        assert!(with.iter().all(|one| ["ok", code].contains(one)), "{self:?}");
        let without = self.codes(|pair| !self.is_with(pair, host));
        assert!(without.iter().all(|one| *one == "ok"), "{self:?}");
    }

    fn is_with(&self, pair: &Value, host: &str) -> bool {
        [&pair["source"], &pair["target"]].iter().any(|end| self.name(end) == host)
    }

    fn codes(&self, keep: impl Fn(&Value) -> bool) -> Vec<&str> {
        let pairs = self.pairs().iter().filter(|pair| keep(pair));
        pairs.map(|pair| pair["verdict"]["code"].as_str().expect("a code")).collect()
    }

    /// Asserts that all pairs are ok and were measured.
    pub fn assert_all_well(&self, pairs: usize) {
        assert_eq!((self.0.code, self.pairs().len()), (0, pairs), "{self:?}");
        for pair in self.pairs() {
            assert_eq!(pair["verdict"]["code"], "ok", "{self:?}");
            let rdma = &pair["rdma"];
            let at = |name: &str| rdma["rtt_ns"][name].as_u64().expect("a number");
            assert!(0 < at("min") && at("min") <= at("p50") && at("p50") <= at("max"), "{rdma}");
        }
    }
}

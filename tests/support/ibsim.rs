//! Fabrics that ibsim simulates, with opensm as their subnet manager.
//!
//! Programs that run in the fabric preload the library of ibsim. The library replaces functions
//! of the C library.
#![allow(dead_code, reason = "not every test of fabrics needs all of it")]

use std::env;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rdmactl::clock::Deadline;

/// Path of rdmactl.
pub(crate) const RDMACTL: &str = env!("CARGO_BIN_EXE_rdmactl");

/// Variable that is set in a process that runs in the simulated fabric.
pub(crate) const INSIDE: &str = "RDMACTL_TEST_IBSIM";

/// Switch with two hosts, in the format of `ibnetdiscover`.
pub(crate) const FABRIC: &str = "\
vendid=0x2c9
devid=0xd2f0
sysimgguid=0xb83fd20300a00100
switchguid=0xb83fd20300a00100(b83fd20300a00100)
Switch\t40 \"S-b83fd20300a00100\"\t\t# \"leaf001\" enhanced port 0 lid 0 lmc 0
[1]\t\"H-b83fd20300100000\"[1](b83fd20300100001)\t\t# \"node001 HCA-1\" lid 0 4xHDR
[2]\t\"H-b83fd20300100010\"[1](b83fd20300100011)\t\t# \"node002 HCA-1\" lid 0 4xHDR

vendid=0x2c9
devid=0x101b
sysimgguid=0xb83fd20300100000
caguid=0xb83fd20300100000
Ca\t1 \"H-b83fd20300100000\"\t\t# \"node001 HCA-1\"
[1](b83fd20300100001)\t\"S-b83fd20300a00100\"[1]\t\t# lid 0 lmc 0 \"leaf001\" lid 0 4xHDR

vendid=0x2c9
devid=0x101b
sysimgguid=0xb83fd20300100010
caguid=0xb83fd20300100010
Ca\t1 \"H-b83fd20300100010\"\t\t# \"node002 HCA-1\"
[1](b83fd20300100011)\t\"S-b83fd20300a00100\"[2]\t\t# lid 0 lmc 0 \"leaf001\" lid 0 4xHDR
";

/// Simulated fabric. It ends when the value is dropped.
pub(crate) struct Simulator {
    process: Child,
    pub(crate) folder: tempfile::TempDir,
    pub(crate) socket: String,
}

impl Simulator {
    pub(crate) fn start(fabric: &str) -> Self {
        let folder = tempfile::tempdir().expect("a directory");
        let file = folder.path().join("net");
        fs::write(&file, fabric).expect("a file");
        let socket = format!("rdmactl-{}", folder.path().display()).replace('/', "-");
        let mut process = Command::new("ibsim")
            // The default limits of nodes, switches and ports are too small.
            .args(["-s", "-N", "8192", "-S", "1024", "-P", "65536"])
            .arg(&file)
            .current_dir(folder.path())
            .env("IBSIM_SOCKNAME", &socket)
            // At the end of its input, ibsim runs in a busy loop.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("ibsim runs (package ibsim-utils)");
        let mut lines = BufReader::new(process.stdout.take().expect("its output")).lines();
        let is_ready = |line: String| line.contains("simulator ready");
        assert!(lines.by_ref().map_while(Result::ok).any(is_ready), "ibsim ended early");
        // ibsim ends if no process reads the output of ibsim.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        Self { process, folder, socket }
    }

    /// Sends a command to the console of ibsim.
    pub(crate) fn console(&mut self, command: &str) {
        let console = self.process.stdin.as_mut().expect("a console");
        writeln!(console, "{command}").and_then(|()| console.flush()).expect("a console");
    }

    /// Runs a test of this binary as a program of the first host.
    pub(crate) fn run(&self, test: &str) {
        let output = Command::new(env::current_exe().expect("this test"))
            .args(["--exact", test, "--nocapture"])
            .current_dir(self.folder.path())
            .env(INSIDE, "1")
            .env("IBSIM_SOCKNAME", &self.socket)
            .env("SIM_HOST", "H-b83fd20300100000")
            .env("LD_PRELOAD", preload())
            .output()
            .expect("the test runs");
        let printed = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && printed.contains("1 passed"), "{printed}\n{errors}");
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub(crate) fn preload() -> PathBuf {
    let folders = fs::read_dir("/usr/lib").expect("libraries").flatten();
    let library = |folder: fs::DirEntry| folder.path().join("umad2sim/libumad2sim.so");
    folders.map(library).find(|path| path.exists()).expect("the package ibsim-utils")
}

/// Subnet manager in the simulated fabric. It ends when the value is dropped.
pub(crate) struct Manager {
    process: Child,
}

impl Simulator {
    /// Starts opensm on the first host, and waits for the end of its first sweep.
    pub(crate) fn manage(&self) -> Manager {
        self.manage_at("H-b83fd20300100000", ".")
    }

    /// Starts opensm on a host with a directory of its own, and waits for the end of its first
    /// sweep.
    pub(crate) fn manage_at(&self, host: &str, folder: &str) -> Manager {
        let folder = self.folder.path().join(folder);
        fs::create_dir_all(&folder).expect("a directory");
        let list = folder.join("opensm-subnet.lst");
        let process = Command::new("/usr/sbin/opensm")
            .args(["-e", "-f", "osm.log"])
            .current_dir(&folder)
            .envs([("OSM_TMP_DIR", "."), ("OSM_CACHE_DIR", ".")])
            .envs(self.environment())
            .env("SIM_HOST", host)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("opensm runs (package opensm)");
        let manager = Manager { process };
        let deadline = Deadline::after(Duration::from_secs(60));
        while !fs::read_to_string(&list).is_ok_and(|text| text.ends_with('\n')) {
            assert!(!deadline.is_over(), "opensm does not end its first sweep");
            std::thread::park_timeout(Duration::from_millis(50));
        }
        manager
    }

    pub(crate) fn environment(&self) -> [(&'static str, OsString); 3] {
        [
            ("IBSIM_SOCKNAME", self.socket.clone().into()),
            ("SIM_HOST", "H-b83fd20300100000".into()),
            ("LD_PRELOAD", preload().into()),
        ]
    }

    /// Runs a program on the first host. Returns exit code, stdout and stderr.
    pub(crate) fn runs(&self, program: &str, args: &[&str]) -> (i32, String, String) {
        let run = || {
            let mut command = Command::new(program);
            command.args(args).current_dir(self.folder.path());
            command.env("RDMACTL_CONFIG", "/dev/null").envs(self.environment());
            command.output().expect("the program runs")
        };
        let mut output = run();
        // ibqueryerrors of infiniband-diags ends by SIGSEGV in about one of 100 runs.
        let is_original = program != RDMACTL;
        for _ in 0..3 {
            if is_original && output.status.code().is_none() {
                output = run();
            }
        }
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
    }

    /// Runs `rdmactl fabric`, which must end with an exit code. Returns its stdout.
    pub(crate) fn fabric(&self, code: i32, args: &[&str]) -> String {
        let words: Vec<&str> = ["fabric"].iter().chain(args).copied().collect();
        let (got, out, errors) = self.runs(RDMACTL, &words);
        assert_eq!(got, code, "{args:?}\n{out}\n{errors}");
        out
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        // On SIGTERM, opensm would wait for the simulator.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns a fat tree in the format of `ibnetdiscover`. Each leaf switch has a cable to each
/// spine switch. Switches have 40 ports, or one more port than cables.
pub(crate) fn fat_tree(spines: usize, leaves: usize, hosts: usize) -> String {
    let spine = |at: usize| format!("S-{:016x}", 0xb83f_d203_00b0_0000_u64 + at as u64 * 0x100);
    let leaf = |at: usize| format!("S-{:016x}", 0xb83f_d203_00a0_0000_u64 + at as u64 * 0x100);
    let host = |at: usize| format!("{:016x}", 0xb83f_d203_0010_0000_u64 + at as u64 * 0x10);
    let port = |at: usize| format!("{:016x}", 0xb83f_d203_0010_0001_u64 + at as u64 * 0x10);
    let ports = [39, leaves, spines + hosts].into_iter().max().unwrap_or_default() + 1;
    let mut text = String::new();
    let mut switch = |id: &str, name: &str, lines: &[String]| {
        let guid = &id[2..];
        writeln!(
            text,
            "vendid=0x2c9\ndevid=0xd2f0\nsysimgguid=0x{guid}\nswitchguid=0x{guid}({guid})"
        )?;
        writeln!(text, "Switch\t{ports} \"{id}\"\t\t# \"{name}\" enhanced port 0 lid 0 lmc 0")?;
        writeln!(text, "{}\n", lines.join("\n"))
    };
    for at in 0..spines {
        let cable =
            |to: usize| format!("[{}]\t\"{}\"[{}]\t\t# \"\" lid 0 4xHDR", to + 1, leaf(to), at + 1);
        let lines: Vec<String> = (0..leaves).map(cable).collect();
        switch(&spine(at), &format!("spine{at}"), &lines).expect("a text");
    }
    for at in 0..leaves {
        let up = |to: usize| {
            format!("[{}]\t\"{}\"[{}]\t\t# \"\" lid 0 4xHDR", to + 1, spine(to), at + 1)
        };
        let down = |to: usize| {
            let number = at * hosts + to;
            let (host, port) = (host(number), port(number));
            format!("[{}]\t\"H-{host}\"[1]({port})\t\t# \"\" lid 0 4xHDR", spines + to + 1)
        };
        let lines: Vec<String> = (0..spines).map(up).chain((0..hosts).map(down)).collect();
        switch(&leaf(at), &format!("leaf{at}"), &lines).expect("a text");
    }
    for at in 0..leaves * hosts {
        let (guid, port, leaf, cable) =
            (host(at), port(at), leaf(at / hosts), spines + at % hosts + 1);
        write!(
            text,
            "vendid=0x2c9\ndevid=0x101b\nsysimgguid=0x{guid}\ncaguid=0x{guid}\n\
             Ca\t1 \"H-{guid}\"\t\t# \"node{at} HCA-1\"\n\
             [1]({port})\t\"{leaf}\"[{cable}]\t\t# lid 0 lmc 0 \"\" lid 0 4xHDR\n\n"
        )
        .expect("a text");
    }
    text
}

//! `rdmactl top` in a terminal: what it shows there, and that the terminal is as before when it has ended,
//! whatever ended it.
#![expect(clippy::expect_used, clippy::panic, reason = "a test without a terminal fails")]

#[path = "top/terminal.rs"]
mod terminal;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use portable_pty::CommandBuilder;
use rdmactl::clock::Deadline;
use rustix::process::{Pid, Signal};
use terminal::{CTRL_C, Terminal};

const PROGRAM: &str = env!("CARGO_BIN_EXE_rdmactl");

fn fixture(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    folder.join(name).join("capture.ndjson").to_string_lossy().into_owned()
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a directory")
}

/// A terminal that shows the ports of a recorded host.
fn ports(folder: &Path) -> Terminal {
    let terminal = Terminal::top(folder, &["ports", "--from", &fixture("mlx5_roce")]);
    terminal.await_frame("mlx5_2");
    terminal
}

#[test]
fn q_and_ctrl_c_end_it_and_leave_nothing_on_the_screen() {
    let folder = folder();
    for key in ["q", CTRL_C] {
        let mut terminal = ports(folder.path());
        terminal.press(key);
        assert_eq!(terminal.await_end().exit_code(), 0, "{key:?}");
        assert_eq!(terminal.restored().trim(), "", "{key:?}");
    }
}

#[test]
fn a_signal_ends_it_as_it_would_end_any_program() {
    let folder = folder();
    for (signal, number) in [(Signal::TERM, 15), (Signal::INT, 2), (Signal::HUP, 1)] {
        let terminal = ports(folder.path());
        terminal.signal(signal);
        assert_eq!(terminal.await_end().exit_code(), 128 + number);
        terminal.restored();
    }
}

#[test]
fn the_last_frame_stays_where_that_is_asked_for() {
    let folder = folder();
    let mut terminal = ports(folder.path());
    terminal.press("Q");
    assert_eq!(terminal.await_end().exit_code(), 0);
    terminal.await_text("mlx5_2");
    assert!(terminal.restored().contains("mlx5_2"));
}

#[test]
fn a_terminal_that_goes_away_takes_it_along_also_where_nobody_says_so() {
    let folder = folder();
    for trap in ["", "trap '' HUP;"] {
        // A terminal within the terminal, which goes away with the program that holds its other end.
        let capture = fixture("mlx5_roce");
        let inner = format!("{trap} echo $$ > pid; exec {PROGRAM} top --from {capture}");
        let mut command = CommandBuilder::new("script");
        command.args(["-qec", &inner, "/dev/null"]);
        command.env("SHELL", "/bin/sh");
        let terminal = Terminal::run(folder.path(), command);
        terminal.await_frame("mlx5_2");
        let pid = std::fs::read_to_string(folder.path().join("pid")).expect("its number");
        let pid = pid.trim().parse().ok().and_then(Pid::from_raw).expect("its number");
        terminal.signal(Signal::KILL);
        Terminal::await_gone(pid);
    }
}

#[test]
fn another_size_is_drawn_at_once() {
    let folder = folder();
    let mut terminal = ports(folder.path());
    for (columns, rows) in [(60, 12), (20, 3), (1, 1), (140, 45)] {
        terminal.resize(columns, rows);
    }
    terminal.await_frame("mlx5_2");
    terminal.press("q");
    assert_eq!(terminal.await_end().exit_code(), 0);
    terminal.restored();
}

#[test]
fn ctrl_z_gives_the_terminal_to_the_shell_until_it_says_fg() {
    let folder = folder();
    let mut command = CommandBuilder::new("bash");
    command.args(["--norc", "--noprofile", "-i"]);
    let mut shell = Terminal::run(folder.path(), command);
    shell.await_prompt();
    for arguments in [vec!["--from", &fixture("mlx5_roce")], vec!["-H", "127.0.0.1:1"]] {
        shell.press(&format!("{PROGRAM} top {} -F /dev/null\r", arguments.join(" ")));
        shell.await_screen("frame", vt100::Screen::alternate_screen);
        for _ in 0..2 {
            shell.press("\x1a");
            shell.await_prompt();
            // Whoever reads it is the shell.
            shell.press("echo $((6 * 7))\r");
            shell.await_text("42");
            shell.press("clear; fg\r");
            shell.await_screen("frame", vt100::Screen::alternate_screen);
        }
        shell.press("q");
        shell.await_prompt();
    }
    shell.press("exit\r");
    assert_eq!(shell.await_end().exit_code(), 0);
}

#[test]
fn what_is_recorded_is_played_and_stepped_through() {
    let folder = folder();
    let mut terminal = Terminal::top(folder.path(), &["--every", "100ms"]);
    terminal.await_screen("frame", vt100::Screen::alternate_screen);
    terminal.press("w");
    terminal.await_frame("rdmactl-top-");
    terminal.press("w");
    terminal.await_frame("moments are in");
    terminal.press("q");
    assert_eq!(terminal.await_end().exit_code(), 0);
    let recording = only_file(folder.path());
    let mut terminal = Terminal::top(folder.path(), &["--from", &recording.to_string_lossy()]);
    terminal.await_screen("frame", vt100::Screen::alternate_screen);
    terminal.press("[");
    terminal.await_screen("first moment", |screen| screen.contents().contains("1/"));
    terminal.press("q");
    assert_eq!(terminal.await_end().exit_code(), 0);
    terminal.restored();
}

/// A place that is many hosts: each is this machine, where a copy of the program is the agent.
struct Pods(tempfile::TempDir);

impl Pods {
    fn new() -> Self {
        let folder = folder();
        std::fs::copy(PROGRAM, folder.path().join("rdmactl")).expect("a copy");
        let carrier = folder.path().join("carrier");
        let script = "#!/bin/sh\ncd \"${0%/*}\" || exit\n\
                      [ ! -e down-$1 ] || { echo no such pod >&2; exit 1; }\nexec sh -c \"$2\"\n";
        std::fs::write(&carrier, script).expect("a script");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(carrier, mode).expect("a script");
        Self(folder)
    }

    /// The words of a command that shows them.
    fn top(&self, every: &str) -> [String; 8] {
        let carrier = format!("{}/carrier {{host}} {{command}}", self.0.path().display());
        let words = [PROGRAM, "top", "-H", "pod-[1-2]", every, "--launcher", "exec"];
        let mut words = words.iter().map(|word| (*word).to_owned()).chain([carrier]);
        std::array::from_fn(|_| words.next().expect("eight words"))
    }

    /// A terminal that shows them.
    fn show(&self, every: &str) -> Terminal {
        let mut command = CommandBuilder::new("env");
        command.arg(format!("PATH={}", self.path()));
        command.args(self.top(every));
        let terminal = Terminal::run(self.0.path(), command);
        terminal.await_frame("top  2 hosts up");
        terminal
    }

    fn signal(&self, signal: Signal) {
        for agent in self.agents() {
            rustix::process::kill_process(agent, signal).expect("an agent");
        }
    }

    /// Where the agents are found.
    fn path(&self) -> String {
        format!("{}:/usr/bin:/bin", self.0.path().display())
    }

    /// The agents that run.
    fn agents(&self) -> Vec<Pid> {
        let agent = self.0.path().join("rdmactl");
        let processes = std::fs::read_dir("/proc").expect("processes").flatten();
        let number = |entry: std::fs::DirEntry| {
            let is_one = std::fs::read_link(entry.path().join("exe")).is_ok_and(|exe| exe == agent);
            let number = entry.file_name().to_string_lossy().parse().ok();
            number.filter(|_| is_one).and_then(Pid::from_raw)
        };
        processes.filter_map(number).collect()
    }

    /// Waits until there are some.
    fn await_agents(&self) {
        let deadline = Deadline::after(Duration::from_secs(20));
        while self.agents().is_empty() {
            assert!(!deadline.is_over(), "no agent comes");
            std::thread::yield_now();
        }
    }

    fn mark(&self, pod: &str) -> PathBuf {
        self.0.path().join(format!("down-{pod}"))
    }
}

#[test]
fn agents_are_said_goodbye_to_while_the_shell_has_the_terminal() {
    let pods = Pods::new();
    let mut command = CommandBuilder::new("bash");
    command.args(["--norc", "--noprofile", "-i"]);
    command.env("PATH", pods.path());
    let mut shell = Terminal::run(pods.0.path(), command);
    shell.await_prompt();
    let words: Vec<String> =
        pods.top("--every=200ms").iter().map(|word| format!("'{word}'")).collect();
    shell.press(&format!("{}\r", words.join(" ")));
    for _ in 0..2 {
        shell.await_frame("top  2 hosts up");
        pods.await_agents();
        shell.press("\x1a");
        shell.await_prompt();
        assert_eq!(pods.agents(), []);
        shell.press("clear; fg\r");
    }
    shell.await_frame("top  2 hosts up");
    shell.press("q");
    shell.await_prompt();
    assert_eq!(pods.agents(), []);
}

#[test]
fn a_host_that_dies_keeps_its_row_and_comes_back_by_itself() {
    let pods = Pods::new();
    let mut terminal = pods.show("--every=200ms");
    std::fs::write(pods.mark("pod-1"), "").expect("a mark");
    pods.signal(Signal::KILL);
    terminal.await_frame("1/2 hosts up");
    assert!(terminal.await_frame("pod-1").contains("pod-2"));
    std::fs::remove_file(pods.mark("pod-1")).expect("a mark");
    terminal.await_frame("top  2 hosts up");
    terminal.press("q");
    assert_eq!(terminal.await_end().exit_code(), 0);
    terminal.restored();
    assert_eq!(pods.agents(), []);
}

#[test]
fn an_agent_that_is_slow_is_waited_for_and_kept() {
    let pods = Pods::new();
    let mut terminal = pods.show("--every=2s");
    let agents = pods.agents();
    pods.signal(Signal::STOP);
    let frame = terminal.await_frame("0/2 hosts up");
    assert!(frame.contains("pod-1") && frame.contains("pod-2"), "{frame}");
    pods.signal(Signal::CONT);
    terminal.await_frame("top  2 hosts up");
    assert_eq!(pods.agents(), agents, "they are the same");
    terminal.press("q");
    assert_eq!(terminal.await_end().exit_code(), 0);
}

fn only_file(folder: &Path) -> PathBuf {
    let mut files = std::fs::read_dir(folder).expect("a directory");
    let file = files.next().expect("a file").expect("a file").path();
    assert!(files.next().is_none(), "a second file beside {}", file.display());
    file
}

#[test]
fn a_host_that_is_not_there_is_a_row_with_its_reason() {
    let folder = folder();
    let mut terminal = Terminal::top(folder.path(), &["-H", "127.0.0.1:1", "-F", "/dev/null"]);
    terminal.await_frame("refused");
    terminal.press("q");
    assert_eq!(terminal.await_end().exit_code(), 0);
    terminal.restored();
}

#[test]
fn without_a_terminal_it_says_what_to_run_instead() {
    let run = |term: &str| {
        let mut command = Command::new(PROGRAM);
        command.arg("top").env("TERM", term).stdin(Stdio::null());
        let output = command.output().expect("rdmactl runs");
        assert!(output.stdout.is_empty());
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).expect("UTF-8")
    };
    let said = run("xterm");
    assert!(said.contains("top needs a terminal: stdout is no terminal"), "{said}");
    assert!(said.contains("fix: ") && said.contains("rdmactl ports --watch"), "{said}");
}

#[test]
fn what_makes_no_sense_is_said_before_the_screen_is_taken() {
    let folder = folder();
    for (arguments, said) in [
        (&["--from", "/nowhere"][..], "cannot open /nowhere"),
        (&["--from", "/dev/null"], "the file is empty"),
        (&["--every", "1s", "--from", "/dev/null"], "--every contradicts --from"),
        (&["--every", "1ms"], "100ms or more"),
        (&["--watch"], "top has no use for --watch"),
        (&["--json"], "top has no use for --json"),
        (&["-o", "host"], "top has no use for --columns"),
        (&["--save", "x"], "top has no use for --save"),
        (&["-H", "n[1-"], "this bracket is never closed"),
        (&["-w", "speed>1"], "speed"),
        (&["matrix", "-w", "rx_bps>1"], "the matrix has none"),
    ] {
        let terminal = Terminal::top(folder.path(), arguments);
        assert_eq!(terminal.await_end().exit_code(), 2, "{arguments:?}");
        terminal.await_text(said);
        terminal.restored();
    }
}

//! `rdmactl top` in a pseudo-terminal: its screens, and the restored terminal after each kind of
//! end.
#![expect(clippy::expect_used, clippy::panic, reason = "a test without a terminal fails")]

#[path = "top/pods.rs"]
mod pods;
#[path = "top/terminal.rs"]
mod terminal;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use pods::Pods;
use portable_pty::CommandBuilder;
use rdmactl::capture::TopRecording;
use rdmactl::clock::Deadline;
use rdmactl::term::screen;
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

/// Starts `top` with the ports of a recorded host.
fn ports(folder: &Path) -> Terminal {
    let terminal = Terminal::top(folder, &["ports", "--from", &fixture("mlx5_roce")]);
    terminal.await_frame("mlx5_2");
    terminal
}

#[test]
fn q_and_ctrl_c_end_top_and_clear_the_screen() {
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
fn one_signal_ends_it_also_where_the_terminal_takes_nothing() {
    let folder = folder();
    let mut terminal = Terminal::top(folder.path(), &["--every", "100ms"]);
    terminal.await_screen("frame", vt100::Screen::alternate_screen);
    terminal.stall(true);
    // The next frame blocks all further output.
    terminal.press("?");
    terminal.await_stalled();
    terminal.signal(Signal::TERM);
    terminal.await_end();
    terminal.stall(false);
    terminal.assert_modes();
}

/// Variable that selects how [`child_process_that_fails_in_a_terminal`] fails.
const FAILS: &str = "RDMACTL_TEST_FAILS";

#[test]
fn panic_and_error_restore_the_terminal() {
    let folder = folder();
    for how in ["panic", "error"] {
        let mut command = CommandBuilder::new(std::env::current_exe().expect("this test"));
        command.args(["--exact", "child_process_that_fails_in_a_terminal", "--nocapture"]);
        command.env(FAILS, how);
        let terminal = Terminal::run(folder.path(), command);
        terminal.await_text("test result: ok. 1 passed");
        assert_eq!(terminal.await_end().exit_code(), 0);
        let screen = terminal.restored();
        assert!(!screen.contains("a frame"), "{screen}");
        assert_eq!(screen.contains("it failed so"), how == "panic", "{screen}");
    }
}

/// Runs in a terminal of [`panic_and_error_restore_the_terminal`]. Otherwise the test does
/// nothing.
#[test]
fn child_process_that_fails_in_a_terminal() {
    let Ok(how) = std::env::var(FAILS) else { return };
    screen::restore_on_panic(|| ());
    let screen = screen::Screen::enter().expect("a terminal");
    screen.write(b"a frame").expect("a terminal");
    if how == "panic" {
        let failed = std::thread::spawn(|| panic!("it failed so"));
        assert!(failed.join().is_err());
        assert!(screen.write(b"a frame over it").is_err());
    }
}

#[test]
fn the_last_frame_stays_if_it_is_requested() {
    let folder = folder();
    let mut terminal = ports(folder.path());
    terminal.press("Q");
    assert_eq!(terminal.await_end().exit_code(), 0);
    terminal.await_text("mlx5_2");
    assert!(terminal.restored().contains("mlx5_2"));
}

#[test]
fn top_ends_with_its_terminal_even_without_sighup() {
    let folder = folder();
    for trap in ["", "trap '' HUP;"] {
        // script(1) provides an inner terminal. The inner terminal ends when script is killed.
        let capture = fixture("mlx5_roce");
        let inner = format!("{trap} echo $$ > pid; exec {PROGRAM} top --from {capture}");
        let mut command = CommandBuilder::new("script");
        command.args(["-qec", &inner, "/dev/null"]);
        command.env("SHELL", "/bin/sh");
        let terminal = Terminal::run(folder.path(), command);
        terminal.await_frame("unreadable 1");
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
            // Now the shell reads the keys.
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
fn rows_are_filtered_opened_and_closed() {
    let folder = folder();
    let mut terminal = ports(folder.path());
    terminal.press("/mlx5_2");
    let frame = terminal.await_frame("1 of ");
    assert!(frame.contains("where mlx5_2") && !frame.contains("mlx5_bond_0"), "{frame}");
    terminal.press("\r\r");
    terminal.await_frame("Ports > ");
    terminal.press("\x1b");
    terminal.await_frame("where mlx5_2");
    terminal.press("\x1b");
    terminal.await_frame("mlx5_bond_0");
    terminal.press("1\r");
    terminal.await_frame("Hosts > Ports of ");
    terminal.press("\x7f");
    terminal.await_screen("hosts", |screen| !screen.contents().contains("Hosts > "));
    terminal.press("q");
    assert_eq!(terminal.await_end().exit_code(), 0);
    terminal.restored();
}

#[test]
fn a_filter_of_the_command_line_is_applied_unchanged() {
    let folder = folder();
    let condition = format!("device.name=mlx5_2 or {}", "device.name=mlx5_2 or ".repeat(60));
    let condition = format!("{condition}\ndevice.name=nothing");
    let capture = fixture("mlx5_roce");
    let arguments = ["ports", "--mouse", "--from", &capture, "-w", &condition];
    let mut terminal = Terminal::top(folder.path(), &arguments);
    let frame = terminal.await_frame("1 of ");
    assert!(frame.contains("mlx5_2") && !frame.contains("mlx5_bond_0"), "{frame}");
    terminal.await_screen("mouse", |screen| {
        screen.mouse_protocol_mode() == vt100::MouseProtocolMode::ButtonMotion
    });
    terminal.press("q");
    assert_eq!(terminal.await_end().exit_code(), 0);
    terminal.restored();
}

#[test]
fn a_chosen_theme_ignores_no_color() {
    let folder = folder();
    let mut command = CommandBuilder::new("env");
    let capture = fixture("mlx5_roce");
    command.args(["NO_COLOR=1", PROGRAM, "top", "ports", "--theme", "dark", "--from", &capture]);
    let mut terminal = Terminal::run(folder.path(), command);
    terminal.await_frame("mlx5_2");
    terminal.await_screen("colour", |screen| {
        let (rows, columns) = screen.size();
        let (rows, columns) = (rows.get(), columns.get());
        let mut cells = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
        cells.any(|(row, column)| {
            let cell = screen.cell(row, column);
            cell.is_some_and(|cell| cell.fgcolor() != vt100::Color::Default)
        })
    });
    terminal.press("q");
    assert_eq!(terminal.await_end().exit_code(), 0);
}

#[test]
fn a_terminal_that_does_not_know_its_size_has_that_of_the_environment_or_the_usual_one() {
    let folder = folder();
    for (set, columns) in [("", 80), ("COLUMNS=60", 60)] {
        let capture = fixture("mlx5_roce");
        let inner = format!("stty rows 0 cols 0; {set} exec {PROGRAM} top ports --from {capture}");
        let mut command = CommandBuilder::new("sh");
        command.args(["-c", &inner]);
        let mut terminal = Terminal::run(folder.path(), command);
        terminal.await_frame("mlx5_2");
        terminal.await_screen("its last column", |screen| {
            let lines: Vec<String> = screen.rows(0, 100).collect();
            lines.iter().map(|line| line.trim_end().len()).max().is_some_and(|it| it <= columns)
                && lines.get(23).is_some_and(|line| line.contains("quit"))
        });
        terminal.press("q");
        assert_eq!(terminal.await_end().exit_code(), 0);
    }
}

#[test]
fn a_matrix_that_was_saved_is_opened_and_saved_again() {
    let folder = folder();
    let host = |name: &str| serde_json::json!({ "name": name, "kernel": null, "failure": null });
    let pair = |source: usize, target: usize| {
        serde_json::json!({
            "source": source, "target": target, "route": null, "rdma": null, "tcp": null,
            "first": null, "verdict": {
                "code": "peer.dead", "stage": null, "side": "target", "detail": "gone", "hint": null
            },
        })
    };
    let document = serde_json::json!({
        "schema": "rdmactl.ping/1", "tool": "rdmactl", "hosts": [host("n1"), host("n2")],
        "pairs": [pair(0, 1), pair(1, 0)], "findings": [], "elapsed_ms": 1, "left_behind": [],
    });
    // serde_json sorts the keys, but the schema must be the first key.
    let text = document.to_string().replace(",\"schema\":\"rdmactl.ping/1\"", "");
    let text = text.replacen('{', "{\"schema\":\"rdmactl.ping/1\",", 1);
    std::fs::write(folder.path().join("first.json"), text).expect("a file");
    let mut terminal = Terminal::top(folder.path(), &["--from", "first.json"]);
    let frame = terminal.await_frame("first.json of 2");
    assert!(
        frame.contains("RDMA fails for 2 of 2 pairs !") && frame.contains("CAPTURE"),
        "{frame}"
    );
    terminal.press("p");
    terminal.await_frame("a matrix needs a host set");
    std::fs::remove_file(folder.path().join("first.json")).expect("a file");
    terminal.press("W");
    terminal.await_frame("saved as ");
    terminal.press("q");
    assert_eq!(terminal.await_end().exit_code(), 0);
    let saved = only_file(folder.path());
    let mut terminal = Terminal::top(folder.path(), &["hosts"]);
    terminal.await_screen("frame", vt100::Screen::alternate_screen);
    terminal.press(&format!("4O{}\r", saved.display()));
    terminal.await_frame("RDMA fails for 2 of 2 pairs !");
    terminal.press("q");
    assert_eq!(terminal.await_end().exit_code(), 0);
}

#[test]
fn recording_of_top_is_replayed_and_stepped_through() {
    let folder = folder();
    let mut terminal = Terminal::top(folder.path(), &["--every", "100ms"]);
    terminal.await_screen("frame", vt100::Screen::alternate_screen);
    terminal.press("w");
    terminal.await_frame("rdmactl-top-");
    await_moments(&only_file(folder.path()), 5);
    terminal.press("w");
    terminal.await_frame("saved ");
    terminal.press("q");
    assert_eq!(terminal.await_end().exit_code(), 0);
    let path = only_file(folder.path());
    let count = moments(&path).expect("a recording");
    let mut terminal = Terminal::top(folder.path(), &["--from", &path.to_string_lossy()]);
    for (keys, state, position) in [
        (">", "PAUSED", count),
        ("[", "PAUSED", count - 1),
        ("<", "PAUSED", 1),
        (" ", "REPLAY", count),
    ] {
        terminal.press(keys);
        terminal.await_frame(&format!(" {state}  {position}/{count}  20"));
    }
    terminal.press("q");
    assert_eq!(terminal.await_end().exit_code(), 0);
    terminal.restored();
}

#[test]
fn stopped_recorder_does_not_clear_the_rec_mark_of_the_next() {
    let folder = folder();
    let mut terminal = Terminal::top(folder.path(), &["--every", "100ms"]);
    terminal.await_screen("frame", vt100::Screen::alternate_screen);
    terminal.press("www");
    // Two recorders create their files at the same time, in any order.
    let files = await_files(folder.path(), 2);
    let deadline = Deadline::after(Duration::from_secs(20));
    while files.iter().all(|path| moments(path).is_none_or(|there| there < 3)) {
        assert!(!deadline.is_over(), "none of {files:?} grows");
        std::thread::yield_now();
    }
    terminal.await_frame("REC");
    // The key stops the second recorder and starts no third recorder.
    terminal.press("w");
    terminal.await_frame("saved ");
    terminal.press("wwq");
    assert_eq!(terminal.await_end().exit_code(), 0);
    let files = await_files(folder.path(), 3);
    assert_eq!(files.len(), 3, "{files:?}");
    for file in files {
        let recording = TopRecording::open(&file).expect("a recording");
        assert!(recording.tail().is_none(), "the end of the recording is missing");
    }
}

/// Waits until a folder has `count` recordings. Returns them in the order of their names.
fn await_files(folder: &Path, count: usize) -> Vec<PathBuf> {
    let deadline = Deadline::after(Duration::from_secs(20));
    loop {
        let all = std::fs::read_dir(folder).expect("a directory").flatten();
        let mut all: Vec<PathBuf> = all.map(|entry| entry.path()).collect();
        all.retain(|path| path.extension().is_some_and(|it| it == "rec"));
        if all.len() >= count {
            // The second recording of the same second has a longer name.
            all.sort_by_key(|path| path.as_os_str().to_string_lossy().replace('.', "-1."));
            return all;
        }
        assert!(!deadline.is_over(), "{all:?}");
        std::thread::yield_now();
    }
}

fn moments(path: &Path) -> Option<usize> {
    TopRecording::open(path).ok().map(|recording| recording.count())
}

/// Waits until a recording has `count` moments.
fn await_moments(path: &Path, count: usize) {
    let deadline = Deadline::after(Duration::from_secs(20));
    while moments(path).is_none_or(|there| there < count) {
        assert!(!deadline.is_over(), "{} has {:?}", path.display(), moments(path));
        std::thread::yield_now();
    }
}

/// Suspends the program in its shell, and continues it.
fn stop_and_go_on(shell: &mut Terminal) {
    shell.press("\x1a");
    shell.await_prompt();
    shell.press("clear; fg\r");
}

#[test]
fn agents_end_while_top_is_suspended() {
    let pods = Pods::new();
    let mut shell = pods.shell();
    for _ in 0..2 {
        pods.await_agents();
        shell.press("\x1a");
        shell.await_prompt();
        assert_eq!(pods.agents(), []);
        shell.press("clear; fg\r");
        // Only a new sample changes the time.
        let frame = shell.await_frame("top  2 hosts up");
        let time = time_of(&frame);
        shell.await_screen("another time", |screen| {
            screen.alternate_screen() && time_of(&screen.contents()) > time
        });
    }
    shell.await_frame("top  2 hosts up");
    shell.press("q");
    shell.await_prompt();
    assert_eq!(pods.agents(), []);
}

/// Returns the time in the first line of a frame.
fn time_of(frame: &str) -> Option<&str> {
    let mut words = frame.lines().next()?.split_whitespace();
    words.find(|word| word.len() == 9 && word.ends_with('Z'))
}

#[test]
fn a_recording_continues_after_the_suspension() {
    let pods = Pods::new();
    let mut shell = pods.shell();
    shell.press("w");
    let file = await_files(pods.folder(), 1).pop().expect("a file");
    await_moments(&file, 2);
    stop_and_go_on(&mut shell);
    shell.await_frame("REC");
    let before = moments(&file).expect("a recording");
    await_moments(&file, before + 3);
    shell.press("w");
    shell.await_frame("saved ");
    shell.press("q");
    shell.await_prompt();
    assert_eq!(await_files(pods.folder(), 1), [file]);
}

#[test]
fn a_ping_ends_with_the_second_key_and_when_the_shell_has_the_terminal() {
    let pods = Pods::new();
    let mut shell = pods.shell();
    for pod in ["pod-1", "pod-2"] {
        std::fs::write(pods.mark("slow", pod), "").expect("a mark");
    }
    for ends in ["p", "\x1a"] {
        shell.press("4p");
        shell.await_frame("uploading rdmactl if missing?");
        shell.press("y");
        shell.await_frame("testing RDMA between 2 hosts");
        shell.press(ends);
        if ends != "p" {
            shell.await_prompt();
            for pod in ["pod-1", "pod-2"] {
                std::fs::remove_file(pods.mark("slow", pod)).expect("a mark");
            }
            shell.press("clear; fg\r");
        }
        shell.await_frame("No matrix yet.");
    }
    shell.press("1");
    shell.await_frame("top  2 hosts up");
    shell.press("q");
    shell.await_prompt();
    assert_eq!(pods.agents(), []);
}

#[test]
fn a_host_that_fails_keeps_its_row_and_recovers() {
    let pods = Pods::new();
    let mut terminal = pods.show("--every=200ms");
    std::fs::write(pods.mark("down", "pod-1"), "").expect("a mark");
    pods.signal(Signal::KILL);
    terminal.await_frame("1/2 hosts up");
    assert!(terminal.await_frame("pod-1").contains("pod-2"));
    std::fs::remove_file(pods.mark("down", "pod-1")).expect("a mark");
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
    let frame = terminal.await_frame("?/2 hosts up");
    assert!(frame.contains("pod-1") && frame.contains("pod-2"), "{frame}");
    pods.signal(Signal::CONT);
    terminal.await_frame("top  2 hosts up");
    assert_eq!(pods.agents(), agents, "the agents were replaced");
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
fn without_a_terminal_an_error_names_another_command() {
    let run = |term: &str| {
        let mut command = Command::new(PROGRAM);
        command.arg("top").env("TERM", term).stdin(Stdio::null());
        let output = command.output().expect("rdmactl runs");
        assert!(output.stdout.is_empty());
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).expect("UTF-8")
    };
    let said = run("xterm");
    assert!(said.contains("top needs a terminal: stdout is not a terminal"), "{said}");
    assert!(said.contains("fix: ") && said.contains("rdmactl ports --watch"), "{said}");
}

#[test]
fn usage_errors_are_printed_before_top_draws() {
    let folder = folder();
    for (arguments, said) in [
        (&["--from", "/nowhere"][..], "cannot open /nowhere"),
        (&["--from", "/dev/null"], "the file is empty"),
        (&["--every", "1s", "--from", "/dev/null"], "--every contradicts --from"),
        (&["--every", "1ms"], "the interval must be at least 100ms"),
        (&["--watch=1", "--every", "2s"], "both set the interval"),
        (&["--count", "1"], "top does not support --count"),
        (&["--json"], "top does not support --json"),
        (&["-o", "host"], "top does not support --columns"),
        (&["--save", "x"], "top does not support --save"),
        (&["-H", "n[1-"], "unclosed bracket"),
        (&["-w", "speed>1"], "speed"),
        (&["matrix", "-w", "rx_bps>1"], "the matrix has no rows"),
    ] {
        let terminal = Terminal::top(folder.path(), arguments);
        assert_eq!(terminal.await_end().exit_code(), 2, "{arguments:?}");
        terminal.await_text(said);
        terminal.restored();
    }
}

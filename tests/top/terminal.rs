//! Pseudo-terminal in which the program runs, with the screen that a terminal would show.

use std::io::{Read, Write};
use std::num::NonZero;
use std::path::Path;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use portable_pty::{
    ChildKiller, CommandBuilder, ExitStatus, MasterPty, PtySize, native_pty_system,
};
use rdmactl::clock::Deadline;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use rustix::termios::{Action, tcflow};
use vt100::{MouseProtocolMode, Parser, Screen};

/// Time limit of each wait, on a busy machine or on emulated nodes.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Characters of the key Ctrl-C.
pub(crate) const CTRL_C: &str = "\x03";

/// Terminal in which a program runs.
pub(crate) struct Terminal {
    master: Box<dyn MasterPty + Send>,
    keys: Box<dyn Write + Send>,
    killer: Box<dyn ChildKiller + Send + Sync>,
    pid: Option<Pid>,
    ended: Receiver<ExitStatus>,
    shown: Arc<Shown>,
    /// Modes of the terminal before the program ran.
    before: String,
}

/// Screen of the terminal.
struct Shown {
    parser: Mutex<Parser>,
    changed: Condvar,
}

impl Shown {
    fn lock(&self) -> MutexGuard<'_, Parser> {
        self.parser.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn size(columns: u16, rows: u16) -> PtySize {
    PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 }
}

fn at_least_one(count: u16) -> NonZero<u16> {
    NonZero::new(count).unwrap_or(NonZero::<u16>::MIN)
}

impl Terminal {
    /// Runs `rdmactl top` with arguments in a directory.
    pub(crate) fn top(folder: &Path, arguments: &[&str]) -> Self {
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_rdmactl"));
        command.arg("top");
        command.args(arguments);
        Self::run(folder, command)
    }

    /// Runs a program in a directory.
    pub(crate) fn run(folder: &Path, mut command: CommandBuilder) -> Self {
        let (columns, rows) = (100, 30);
        let pair = native_pty_system().openpty(size(columns, rows)).expect("a pseudo-terminal");
        command.cwd(folder);
        for (name, value) in [("TERM", "xterm-256color"), ("LC_ALL", "C.UTF-8"), ("PS1", "ready> ")]
        {
            command.env(name, value);
        }
        command.env_remove("NO_COLOR");
        let before = modes(&*pair.master);
        let mut child = pair.slave.spawn_command(command).expect("the program runs");
        drop(pair.slave);
        let killer = child.clone_killer();
        let pid = child.process_id().and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
        let (end, ended) = mpsc::channel();
        thread::spawn(move || end.send(child.wait().expect("a child")));
        let mut output = pair.master.try_clone_reader().expect("its output");
        let keys = pair.master.take_writer().expect("its keys");
        let parser = Mutex::new(Parser::new(at_least_one(rows), at_least_one(columns), 0));
        let shown = Arc::new(Shown { parser, changed: Condvar::new() });
        let feed = Arc::clone(&shown);
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                feed.lock().process(&bytes[..count]);
                feed.changed.notify_all();
            }
        });
        Self { master: pair.master, keys, killer, pid, ended, shown, before }
    }

    /// Presses keys.
    pub(crate) fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("the terminal takes keys");
        self.keys.flush().expect("the terminal takes keys");
    }

    /// Gives the terminal another size.
    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        self.shown.lock().screen_mut().set_size(at_least_one(rows), at_least_one(columns));
        self.master.resize(size(columns, rows)).expect("another size");
    }

    /// Waits until the screen fulfills a condition. Returns its text.
    pub(crate) fn await_screen(&self, what: &str, is_it: impl Fn(&Screen) -> bool) -> String {
        let deadline = Deadline::after(TIMEOUT);
        let mut parser = self.shown.lock();
        while !is_it(parser.screen()) {
            assert!(!deadline.is_over(), "no {what}:\n{}", parser.screen().contents());
            let waited = self.shown.changed.wait_timeout(parser, deadline.remaining());
            parser = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        parser.screen().contents()
    }

    /// Waits until the terminal shows a text.
    pub(crate) fn await_text(&self, text: &str) -> String {
        self.await_screen(text, |screen| screen.contents().contains(text))
    }

    /// Waits until a shell shows its prompt.
    pub(crate) fn await_prompt(&self) {
        self.await_screen("prompt", |screen| {
            let waits = screen.contents().trim_end().ends_with("ready>");
            waits && !screen.alternate_screen() && !screen.hide_cursor()
        });
    }

    /// Waits until the program uses the alternate screen and the screen contains a text.
    pub(crate) fn await_frame(&self, text: &str) -> String {
        self.await_screen(text, |screen| {
            screen.alternate_screen() && screen.contents().contains(text)
        })
    }

    /// Stops the output of the terminal, or continues it.
    pub(crate) fn stall(&self, stalls: bool) {
        let flags = OFlags::RDWR | OFlags::NOCTTY;
        let name = self.master.tty_name().expect("a name");
        let terminal = rustix::fs::open(name, flags, Mode::empty()).expect("a terminal");
        let action = if stalls { Action::OOff } else { Action::OOn };
        tcflow(terminal, action).expect("a terminal");
    }

    /// Waits until a write of the program to the stopped terminal blocks.
    pub(crate) fn await_stalled(&self) {
        let pid = self.pid.expect("a process").as_raw_nonzero();
        let deadline = Deadline::after(TIMEOUT);
        loop {
            // The file has the number of the system call and its arguments. The first argument is
            // the descriptor.
            let call = std::fs::read_to_string(format!("/proc/{pid}/syscall"));
            if call.is_ok_and(|call| call.split(' ').nth(1) == Some("0x1")) {
                return;
            }
            assert!(!deadline.is_over(), "the program does not write");
            thread::yield_now();
        }
    }

    /// Asserts that the modes of the terminal are the same as before the program ran.
    pub(crate) fn assert_modes(&self) {
        assert_eq!(modes(&*self.master), self.before, "the modes of the terminal");
    }

    /// Sends a signal to the program.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid.expect("a process"), signal).expect("it is there");
    }

    /// Waits until a process has ended that is not a child of this process.
    pub(crate) fn await_gone(pid: Pid) {
        // A process that has ended has no pidfd.
        let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { return };
        let timeout = Timespec { tv_sec: TIMEOUT.as_secs().cast_signed(), tv_nsec: 0 };
        let gone = poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&timeout));
        assert_eq!(gone, Ok(1), "{pid:?} is still there");
    }

    /// Waits until the program has ended.
    pub(crate) fn await_end(&self) -> ExitStatus {
        self.ended.recv_timeout(TIMEOUT).unwrap_or_else(|_| {
            panic!("it does not end:\n{}", self.shown.lock().screen().contents())
        })
    }

    /// Waits until the program has restored the screen and the modes. Returns the text of the
    /// screen.
    pub(crate) fn restored(&self) -> String {
        let screen = self.await_screen("restored screen", |screen| {
            !screen.alternate_screen()
                && !screen.hide_cursor()
                && !screen.bracketed_paste()
                && screen.mouse_protocol_mode() == MouseProtocolMode::None
        });
        self.assert_modes();
        screen
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // After a test that passed, the program has ended.
        let _ = self.killer.kill();
    }
}

fn modes(master: &(dyn MasterPty + Send)) -> String {
    format!("{:?}", master.get_termios().expect("a terminal's modes"))
}

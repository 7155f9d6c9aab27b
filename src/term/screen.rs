//! Controls the full-screen mode of the terminal for `top`, with one owner at a time.
//!
//! The terminal is restored on every exit: return, panic and signal. This module does not draw or
//! parse keys; `tui` does.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::panic;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use rustix::event::{PollFd, PollFlags};
use rustix::fs::{Mode, OFlags};
use rustix::termios::{OptionalActions, Termios, isatty, tcgetattr, tcgetwinsize, tcsetattr};

use crate::sys::poll;

/// Switches to the empty alternate screen, hides the cursor, turns on bracketed paste.
const ENTER: &[u8] = b"\x1b[?1049h\x1b[2J\x1b[?25l\x1b[?2004h";
/// Resets every mode that this program sets, in any combination.
const LEAVE: &[u8] =
    b"\x1b[?2026l\x1b[?1006l\x1b[?1002l\x1b[?1000l\x1b[?2004l\x1b[0m\x1b[?25h\x1b[?1049l";
/// Turns on reports of clicks and drags, in the SGR encoding.
const MOUSE_ON: &[u8] = b"\x1b[?1000h\x1b[?1002h\x1b[?1006h";
const MOUSE_OFF: &[u8] = b"\x1b[?1006l\x1b[?1002l\x1b[?1000l";

/// Maximum number of columns and of rows. Larger sizes are cut.
pub const MAX: u16 = 1_000;

/// State of the terminal before full-screen mode, while a [`Screen`] exists.
///
/// It is global to the process, because a signal or a panic in any thread restores the terminal.
static SAVED: Mutex<Option<SavedTerminal>> = Mutex::new(None);
static RESTORED: Condvar = Condvar::new();

struct SavedTerminal {
    keys: Keyboard,
    before: Termios,
}

/// Error of entering full-screen mode.
#[derive(Debug, thiserror::Error)]
pub enum ScreenError {
    /// Stdout is no terminal, or no terminal for keyboard input exists.
    #[error("{0} is not a terminal")]
    NoTerminal(&'static str),
    /// The terminal cannot move its cursor.
    #[error("this terminal type cannot move its cursor (TERM={0})")]
    Dumb(String),
    /// A system call failed.
    #[error("cannot use the terminal: {0}")]
    Failed(#[from] io::Error),
}

/// Terminal of stdout in full-screen mode, with raw keyboard input.
///
/// Dropping it or calling [`restore`] restores the terminal.
#[derive(Debug)]
pub struct Screen(());

impl Screen {
    /// Enters full-screen mode.
    ///
    /// # Errors
    /// Stdout or the keyboard is no terminal, or the terminal cannot move its cursor. The
    /// terminal is then unchanged.
    pub fn enter() -> Result<Self, ScreenError> {
        Self::check()?;
        let screen = Self(());
        screen.reclaim()?;
        Ok(screen)
    }

    /// Enters full-screen mode again, after [`restore`] or after a shell used the terminal.
    ///
    /// # Errors
    /// The terminal was closed.
    pub fn reclaim(&self) -> Result<(), ScreenError> {
        let keys = Keyboard::open()?;
        let mut modes = tcgetattr(&keys).map_err(io::Error::from)?;
        // The modes are saved before the first change, so that every later exit can restore them.
        let before = modes.clone();
        SAVED.lock().get_or_insert(SavedTerminal { keys: Keyboard::open()?, before });
        modes.make_raw();
        tcsetattr(&keys, OptionalActions::Now, &modes).map_err(io::Error::from)?;
        Ok(self.write(ENTER)?)
    }

    /// Checks that full-screen mode is possible, without any change to the terminal.
    ///
    /// # Errors
    /// Full-screen mode is not possible.
    pub fn check() -> Result<(), ScreenError> {
        if !isatty(rustix::stdio::stdout()) {
            return Err(ScreenError::NoTerminal("stdout"));
        }
        let term = std::env::var("TERM").unwrap_or_default();
        if term == "dumb" {
            return Err(ScreenError::Dumb(term));
        }
        Keyboard::open().map(drop)
    }

    /// Returns columns and rows, at most [`MAX`] each; 0 if the terminal does not report them.
    pub fn size(&self) -> (u16, u16) {
        let size = tcgetwinsize(rustix::stdio::stdout());
        size.map_or((0, 0), |size| (size.ws_col.min(MAX), size.ws_row.min(MAX)))
    }

    /// Writes to the screen.
    ///
    /// # Errors
    /// The terminal was closed or restored. After a restore, output would overwrite the text of
    /// the shell.
    pub fn write(&self, bytes: &[u8]) -> io::Result<()> {
        if SAVED.lock().is_none() {
            return Err(io::Error::other("the screen is closed"));
        }
        write_all(bytes)
    }

    /// Turns mouse reports of the terminal on or off.
    ///
    /// # Errors
    /// The terminal was closed.
    pub fn report_mouse(&self, is_on: bool) -> io::Result<()> {
        self.write(if is_on { MOUSE_ON } else { MOUSE_OFF })
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Restores the terminal to its state before [`Screen::enter`], if a [`Screen`] exists.
///
/// Waits at most 200 ms for the terminal to accept output. A terminal that accepts no output
/// keeps its content; only its input modes are restored.
pub fn restore() {
    let Some(SavedTerminal { keys, before }) = SAVED.lock().take() else { return };
    RESTORED.notify_all();
    if takes_output() {
        // An error means that the terminal was closed.
        let _ = write_all(LEAVE);
    }
    let _ = tcsetattr(&keys, OptionalActions::Now, &before);
}

/// Waits until the terminal is restored; returns false after the timeout.
pub fn await_restored(timeout: Duration) -> bool {
    let mut saved = SAVED.lock();
    RESTORED.wait_while_for(&mut saved, |saved| saved.is_some(), timeout);
    saved.is_none()
}

/// Installs a panic hook that restores the terminal, calls `notify` and then prints the message.
pub fn restore_on_panic(notify: impl Fn() + Send + Sync + 'static) {
    let previous = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        restore();
        notify();
        previous(panic);
    }));
}

/// Waits until the terminal of the keyboard is closed. Returns at once without a keyboard.
pub fn await_hangup() {
    let Ok(keys) = Keyboard::open() else { return };
    // Poll reports a hangup even without requested events.
    let mut polled = [PollFd::new(&keys, PollFlags::empty())];
    while poll::wait(&mut polled, None).is_ok() && polled[0].revents().is_empty() {}
}

/// True if the terminal accepts output within 200 ms. False for a terminal that Ctrl-S stopped.
fn takes_output() -> bool {
    let stdout = rustix::stdio::stdout();
    let mut polled = [PollFd::new(&stdout, PollFlags::OUT)];
    let waited = poll::wait(&mut polled, Some(Duration::from_millis(200)));
    waited.is_ok() && !polled[0].revents().is_empty()
}

/// Writes to stdout without the lock of `std`, because a thread that waits for the terminal may
/// hold this lock.
fn write_all(mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::write(rustix::stdio::stdout(), bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => bytes = &bytes[count..],
            Err(rustix::io::Errno::INTR) => {}
            // Another process that shares the terminal made it non-blocking.
            Err(rustix::io::Errno::AGAIN) => {
                let stdout = rustix::stdio::stdout();
                let _ = poll::wait(&mut [PollFd::new(&stdout, PollFlags::OUT)], None);
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Source of keyboard input: stdin, or `/dev/tty` if stdin is no terminal. crossterm, which reads
/// the keys, chooses by the same rule.
enum Keyboard {
    Stdin,
    Terminal(OwnedFd),
}

impl Keyboard {
    fn open() -> Result<Self, ScreenError> {
        if isatty(rustix::stdio::stdin()) {
            return Ok(Self::Stdin);
        }
        let opened = rustix::fs::open("/dev/tty", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty());
        opened.map(Self::Terminal).map_err(|_none| ScreenError::NoTerminal("stdin"))
    }
}

impl AsFd for Keyboard {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Stdin => rustix::stdio::stdin(),
            Self::Terminal(file) => file.as_fd(),
        }
    }
}

//! The whole screen of a terminal: held by one, and given back whatever ends the program.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::panic;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::termios::{OptionalActions, Termios, isatty, tcgetattr, tcgetwinsize, tcsetattr};

/// The alternate screen, empty; no cursor; what is pasted comes in one piece.
const ENTER: &[u8] = b"\x1b[?1049h\x1b[2J\x1b[?25l\x1b[?2004h";
/// Takes back all that anybody may have set, in any order.
const LEAVE: &[u8] =
    b"\x1b[?2026l\x1b[?1006l\x1b[?1002l\x1b[?1000l\x1b[?2004l\x1b[0m\x1b[?25h\x1b[?1049l";
const MOUSE_ON: &[u8] = b"\x1b[?1000h\x1b[?1002h\x1b[?1006h";
const MOUSE_OFF: &[u8] = b"\x1b[?1006l\x1b[?1002l\x1b[?1000l";

/// No more columns or rows are used, whatever a terminal says of itself.
pub const MOST: u16 = 1_000;

/// How the terminal was before, while somebody holds it.
///
/// Of the whole process, because a signal or a panic of any thread gives it back.
static HELD: Mutex<Option<Held>> = Mutex::new(None);

/// Tells when nobody holds it any more.
static GIVEN_BACK: Condvar = Condvar::new();

struct Held {
    keys: Keys,
    before: Termios,
}

/// Why the screen cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum ScreenError {
    /// What is written goes elsewhere, or no key can come.
    #[error("{0} is not a terminal")]
    NoTerminal(&'static str),
    /// It cannot place text.
    #[error("this terminal type cannot move its cursor (TERM={0})")]
    Dumb(String),
    /// The kernel refuses.
    #[error("cannot use the terminal: {0}")]
    Failed(#[from] io::Error),
}

/// The screen of the terminal that stdout is, with every key as it is typed.
///
/// It is given back when this is dropped, or by [`give_back`].
#[derive(Debug)]
pub struct Screen(());

impl Screen {
    /// Takes the screen.
    ///
    /// # Errors
    /// There is no terminal, or it cannot do it; it is as it was then.
    pub fn enter() -> Result<Self, ScreenError> {
        Self::check()?;
        let screen = Self(());
        screen.reclaim()?;
        Ok(screen)
    }

    /// Takes the screen once more: it was given back, or a shell had the terminal for a while.
    ///
    /// # Errors
    /// The terminal has gone.
    pub fn reclaim(&self) -> Result<(), ScreenError> {
        let keys = Keys::open()?;
        let mut modes = tcgetattr(&keys).map_err(io::Error::from)?;
        // Noted first: from the next line on there is something to give back.
        let before = modes.clone();
        held().get_or_insert(Held { keys: Keys::open()?, before });
        modes.make_raw();
        tcsetattr(&keys, OptionalActions::Now, &modes).map_err(io::Error::from)?;
        Ok(self.write(ENTER)?)
    }

    /// Whether there is a screen to be had; takes nothing.
    ///
    /// # Errors
    /// There is none.
    pub fn check() -> Result<(), ScreenError> {
        if !isatty(rustix::stdio::stdout()) {
            return Err(ScreenError::NoTerminal("stdout"));
        }
        let term = std::env::var("TERM").unwrap_or_default();
        if term == "dumb" {
            return Err(ScreenError::Dumb(term));
        }
        Keys::open().map(drop)
    }

    /// Columns and rows; 0 where the terminal does not know.
    #[must_use]
    pub fn size(&self) -> (u16, u16) {
        let size = tcgetwinsize(rustix::stdio::stdout());
        size.map_or((0, 0), |size| (size.ws_col.min(MOST), size.ws_row.min(MOST)))
    }

    /// Writes to the screen.
    ///
    /// # Errors
    /// The terminal has gone, or was given back: nothing is drawn over what stands there then.
    pub fn write(&self, bytes: &[u8]) -> io::Result<()> {
        if held().is_none() {
            return Err(io::Error::other("the screen is closed"));
        }
        write_all(bytes)
    }

    /// Has the terminal tell what the mouse does, or keep it.
    ///
    /// # Errors
    /// The terminal has gone.
    pub fn follow_mouse(&self, follows: bool) -> io::Result<()> {
        self.write(if follows { MOUSE_ON } else { MOUSE_OFF })
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// Puts the terminal back as it was before [`Screen::enter`]; without effect when nobody holds it.
///
/// It waits for nobody: a terminal that takes nothing at the moment keeps what it shows.
pub fn give_back() {
    let Some(Held { keys, before }) = held().take() else { return };
    GIVEN_BACK.notify_all();
    if takes_output() {
        // It may have gone.
        let _ = write_all(LEAVE);
    }
    let _ = tcsetattr(&keys, OptionalActions::Now, &before);
}

/// Waits until nobody holds the screen; whether it came to it in that time.
#[must_use]
pub fn await_given_back(patience: Duration) -> bool {
    let waited = GIVEN_BACK.wait_timeout_while(held(), patience, |held| held.is_some());
    waited.unwrap_or_else(PoisonError::into_inner).0.is_none()
}

/// Has every panic give the screen back before it says what it is about, and does this besides.
pub fn give_back_on_panic(tell: impl Fn() + Send + Sync + 'static) {
    let say = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        give_back();
        tell();
        say(panic);
    }));
}

/// Waits until the terminal that keys come from is gone.
pub fn await_hangup() {
    let Ok(keys) = Keys::open() else { return };
    loop {
        // A hangup is told also to those who ask for nothing.
        let mut polled = [PollFd::new(&keys, PollFlags::empty())];
        match poll(&mut polled, None) {
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return,
            Ok(_) if !polled[0].revents().is_empty() => return,
            Ok(_) => {}
        }
    }
}

fn held() -> MutexGuard<'static, Option<Held>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the terminal takes output within a moment: one that was stopped by Ctrl-S does not.
fn takes_output() -> bool {
    let stdout = rustix::stdio::stdout();
    let moment = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };
    poll(&mut [PollFd::new(&stdout, PollFlags::OUT)], Some(&moment)) == Ok(1)
}

/// Past the lock of `std`, which a thread may hold that waits for the terminal.
fn write_all(mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::write(rustix::stdio::stdout(), bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => bytes = &bytes[count..],
            Err(rustix::io::Errno::INTR) => {}
            // Somebody who shares the terminal made it so.
            Err(rustix::io::Errno::AGAIN) => {
                let stdout = rustix::stdio::stdout();
                let _ = poll(&mut [PollFd::new(&stdout, PollFlags::OUT)], None);
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Where keys come from: stdin, or the terminal itself where stdin brings something else. crossterm,
/// which reads them, chooses alike.
enum Keys {
    Stdin,
    Terminal(OwnedFd),
}

impl Keys {
    fn open() -> Result<Self, ScreenError> {
        if isatty(rustix::stdio::stdin()) {
            return Ok(Self::Stdin);
        }
        let opened = rustix::fs::open("/dev/tty", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty());
        opened.map(Self::Terminal).map_err(|_none| ScreenError::NoTerminal("stdin"))
    }
}

impl AsFd for Keys {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Stdin => rustix::stdio::stdin(),
            Self::Terminal(file) => file.as_fd(),
        }
    }
}

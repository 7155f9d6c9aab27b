//! Progress line of a long run on stderr.
//!
//! The line appears only on a terminal, 300 ms after the start, and is erased at the end. `ping`
//! and `fabric` use it.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::term::Term;

const DELAY: Duration = Duration::from_millis(300);

const UPDATE_INTERVAL: Duration = Duration::from_millis(250);

const ERASE_LINE: &str = "\r\x1b[K";

/// Assumed width of a terminal that does not report its width.
const USUAL_WIDTH: usize = 80;

/// Runs `work`, and shows the progress line meanwhile; a line of `None` is not drawn.
pub(super) fn show<R>(
    term: Term,
    line: impl Fn() -> Option<String> + Sync,
    work: impl FnOnce() -> R,
) -> R {
    if !term.shows_progress() {
        return work();
    }
    beside(work, |ended| draw(term, &line, ended))
}

/// Runs `work`, and meanwhile `draw` in a thread. The sender of the channel is dropped at the end
/// of `work`, also if it panics: the scope waits for the thread.
fn beside<R>(work: impl FnOnce() -> R, draw: impl FnOnce(&Receiver<()>) + Send) -> R {
    let (working, ended) = mpsc::channel();
    thread::scope(|scope| {
        let _working = working;
        let thread = thread::Builder::new().name("progress".into());
        // If no thread starts, the work runs without a line.
        let _ = thread.spawn_scoped(scope, move || draw(&ended));
        work()
    })
}

fn draw(term: Term, line: impl Fn() -> Option<String>, ended: &Receiver<()>) {
    let mut wait = DELAY;
    let mut is_drawn = false;
    while ended.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
        if let Some(line) = line() {
            let width = term.stderr_width().unwrap_or(USUAL_WIDTH);
            term.write_stderr(&format!("{ERASE_LINE}{}", cut(&line, width.saturating_sub(1))));
            is_drawn = true;
        }
        wait = UPDATE_INTERVAL;
    }
    if is_drawn {
        term.write_stderr(ERASE_LINE);
    }
}

/// Cuts a line to a width, because a wrapped line cannot be erased.
fn cut(line: &str, width: usize) -> String {
    line.chars().take(width).collect()
}

#[test]
fn work_that_panics_ends_the_line() {
    let (started, starts) = mpsc::channel();
    let (mut first, mut last) = (None, None);
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let work = || {
            first = starts.recv().ok();
            std::panic::resume_unwind(Box::new("the work panics"))
        };
        beside::<()>(work, |ended| {
            started.send(ended.recv_timeout(Duration::ZERO)).unwrap();
            last = Some(ended.recv_timeout(Duration::from_secs(60)));
        });
    }));
    assert!(panicked.is_err());
    assert_eq!(first, Some(Err(RecvTimeoutError::Timeout)));
    assert_eq!(last, Some(Err(RecvTimeoutError::Disconnected)));
}

#[test]
fn a_long_line_is_cut_to_the_width() {
    assert_eq!(cut("12 requests", 5), "12 re");
}

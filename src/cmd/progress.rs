//! Progress line of a long run on stderr.
//!
//! The line appears only on a terminal, 300 ms after the start, and is erased at the end. `ping`
//! and `fabric` use it.

use std::thread;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::term::Term;

/// Time before the line appears.
const AFTER: Duration = Duration::from_millis(300);

/// Time between two updates.
const EVERY: Duration = Duration::from_millis(250);

/// Moves the cursor to the start of the line and erases the line.
const ERASE: &str = "\r\x1b[K";

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
    let end = End { has_ended: Mutex::new(false), changed: Condvar::new() };
    thread::scope(|scope| {
        let shown = thread::Builder::new().name("progress".into());
        // If no thread starts, the work runs without a line.
        let _ = shown.spawn_scoped(scope, || draw(term, &line, &end));
        let guard = EndOnDrop(&end);
        let result = work();
        drop(guard);
        result
    })
}

/// Draws the line until the work has ended.
fn draw(term: Term, line: &impl Fn() -> Option<String>, end: &End) {
    let mut wait = AFTER;
    let mut is_drawn = false;
    while !end.comes_within(wait) {
        if let Some(line) = line() {
            let width = term.stderr_width().unwrap_or(USUAL_WIDTH);
            term.write_stderr(&format!("{ERASE}{}", cut(&line, width.saturating_sub(1))));
            is_drawn = true;
        }
        wait = EVERY;
    }
    if is_drawn {
        term.write_stderr(ERASE);
    }
}

/// Cuts a line to a width, because a wrapped line cannot be erased.
fn cut(line: &str, width: usize) -> String {
    line.chars().take(width).collect()
}

/// Signal that the work ended.
struct End {
    has_ended: Mutex<bool>,
    changed: Condvar,
}

impl End {
    /// Waits for the end; returns false after the timeout.
    fn comes_within(&self, wait: Duration) -> bool {
        let mut ended = self.has_ended.lock();
        self.changed.wait_while_for(&mut ended, |ended| !*ended, wait);
        *ended
    }
}

/// Signals the end, also if the work panics: the scope waits for the drawing thread.
struct EndOnDrop<'a>(&'a End);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        *self.0.has_ended.lock() = true;
        self.0.changed.notify_all();
    }
}

#[test]
fn work_that_panics_ends_the_line() {
    let end = End { has_ended: Mutex::new(false), changed: Condvar::new() };
    assert!(!end.comes_within(Duration::ZERO));
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _guard = EndOnDrop(&end);
        std::panic::resume_unwind(Box::new("the work panics"));
    }));
    assert!(panicked.is_err() && end.comes_within(Duration::ZERO));
}

#[test]
fn a_long_line_is_cut_to_the_width() {
    assert_eq!(cut("12 requests", 5), "12 re");
}

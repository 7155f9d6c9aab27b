//! Runs work on several threads at once; `cmd`, `fleet` and `ping` use it.

use std::sync::Arc;
use std::thread;

use parking_lot::Mutex;

/// Calls `each` with every item, on one thread per item, and returns after the last call has
/// ended.
///
/// If the system cannot start that many threads, the calling thread does the rest in sequence.
///
/// # Panics
/// Panics if `each` panics.
pub fn at_once<T: Send>(items: Vec<T>, each: impl Fn(T) + Sync) {
    let count = items.len();
    let left = Mutex::new(items.into_iter());
    let next = || {
        let item = left.lock().next();
        if let Some(item) = item {
            each(item);
        }
    };
    thread::scope(|scope| {
        for _ in 0..count {
            let thread = thread::Builder::new().name("at once".into());
            if thread.spawn_scoped(scope, next).is_err() {
                next();
            }
        }
    });
}

/// Calls `work` on a new thread. If the system cannot start a thread, the calling thread does the
/// work before this function returns.
pub fn run_apart<W: FnOnce() + Send + 'static>(thread: thread::Builder, work: W) {
    let waiting = Arc::new(Mutex::new(Some(work)));
    let take = Arc::clone(&waiting);
    let run = |waiting: &Mutex<Option<W>>| {
        let work = waiting.lock().take();
        if let Some(work) = work {
            work();
        }
    };
    if thread.spawn(move || run(&take)).is_err() {
        run(&waiting);
    }
}

#[test]
fn work_is_done_with_and_without_a_thread_of_its_own() {
    let by = |thread: thread::Builder| {
        let (say, said) = std::sync::mpsc::channel();
        run_apart(thread, move || say.send(thread::current().id()).unwrap());
        said.recv().unwrap()
    };
    let own = thread::current().id();
    assert_ne!(by(thread::Builder::new()), own);
    // No machine has so much memory, so that the thread cannot be started.
    assert_eq!(by(thread::Builder::new().stack_size(1 << 60)), own);
}

#[test]
fn items_run_concurrently_and_once_each() {
    let (all_here, done) = (std::sync::Barrier::new(8), Mutex::new(Vec::new()));
    at_once((0..8).collect(), |item: u32| {
        all_here.wait();
        done.lock().push(item);
    });
    let mut done: Vec<u32> = done.into_inner();
    done.sort_unstable();
    assert!(done.into_iter().eq(0..8));
}

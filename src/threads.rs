//! Runs work on several threads at once; `cmd`, `fleet` and `ping` use it.

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

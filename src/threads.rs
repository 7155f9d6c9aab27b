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

/// Returns the results of `each` for all items, in the order of the items. One thread for each
/// processor calls `each`.
///
/// # Panics
/// Panics if `each` panics.
pub fn map<T: Send, R: Send>(items: Vec<T>, each: impl Fn(T) -> R + Sync) -> Vec<R> {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let threads = processors.min(items.len());
    let left = Mutex::new(items.into_iter().enumerate());
    let results = Mutex::new(Vec::new());
    at_once(vec![(); threads], |()| {
        loop {
            let next = left.lock().next();
            let Some((place, item)) = next else { return };
            let result = each(item);
            results.lock().push((place, result));
        }
    });
    let mut results = results.into_inner();
    results.sort_unstable_by_key(|(place, _)| *place);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Calls `work` with a value on a new thread. Returns the value if the system cannot start a
/// thread.
pub fn start_with<T: Send + 'static>(
    thread: thread::Builder,
    value: T,
    work: impl FnOnce(T) + Send + 'static,
) -> Option<T> {
    let place = Arc::new(Mutex::new(Some(value)));
    let place_of_thread = Arc::clone(&place);
    let started = thread.spawn(move || {
        let value = place_of_thread.lock().take();
        if let Some(value) = value {
            work(value);
        }
    });
    if started.is_ok() { None } else { place.lock().take() }
}

#[test]
fn value_returns_if_no_thread_can_be_started() {
    let (say, said) = std::sync::mpsc::channel();
    let start = |thread: thread::Builder| {
        let say = say.clone();
        start_with(thread, 7, move |value| say.send((thread::current().id(), value)).unwrap())
    };
    assert_eq!(start(thread::Builder::new()), None);
    let (by, value) = said.recv().unwrap();
    assert_ne!(by, thread::current().id());
    assert_eq!(value, 7);
    // No machine has so much memory, so that the thread cannot be started.
    assert_eq!(start(thread::Builder::new().stack_size(1 << 60)), Some(7));
    assert!(said.try_recv().is_err());
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

#[test]
fn results_have_the_order_of_their_items() {
    let (say, said) = std::sync::mpsc::channel();
    let (say, said) = (Mutex::new(say), Mutex::new(said));
    let first_ends_last = |item: u64| {
        match item {
            // With one processor, the last item does not start before.
            0 => drop(said.lock().recv_timeout(std::time::Duration::from_secs(1))),
            99 => say.lock().send(()).unwrap(),
            _ => {}
        }
        item * 2
    };
    let results = map((0..100).collect(), first_ends_last);
    assert!(results.into_iter().eq((0..100).map(|item| item * 2)));
    assert!(map(Vec::new(), first_ends_last).is_empty());
}

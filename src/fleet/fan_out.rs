//! Runs work for many hosts on a bounded number of threads, each host with its descriptors.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::{io, panic, thread};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::watchdog::Watchdog;

/// Raises the soft limit of open descriptors to the hard limit, because each host takes up to
/// eight. Returns the resulting limit; `None` means no limit.
pub fn allow_descriptors() -> Option<u64> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    if raised.is_ok() { maximum } else { current }
}

/// Stack for the work of one host, in bytes. Only touched pages use memory.
const STACK: usize = 1024 * 1024;

/// Runs `work` for each item on at most `fanout` threads. When a result arrives, calls `each` on
/// this thread with the index of the item and the result.
///
/// After the watchdog is cancelled, no item starts. Running items end, because their sockets are
/// shut down. Items that did not start have no result. The function returns when the last thread
/// has ended.
///
/// # Errors
/// The first thread cannot be started.
///
/// # Panics
/// Panics if `work` panics.
pub fn fan_out<T, R>(
    items: &[T],
    fanout: usize,
    watchdog: &Watchdog,
    work: impl Fn(&T) -> R + Sync,
    mut each: impl FnMut(usize, R),
) -> io::Result<()>
where
    T: Sync,
    R: Send,
{
    let next = AtomicUsize::new(0);
    let (results, arrivals) = mpsc::channel();
    thread::scope(|scope| {
        let mut workers = Vec::new();
        for _ in 0..fanout.clamp(1, items.len().max(1)) {
            let (results, next, work) = (results.clone(), &next, &work);
            let serve = move || {
                while !watchdog.is_cancelled() {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else { return };
                    // After a panic of `each`, the receiver no longer exists.
                    if results.send((index, work(item))).is_err() {
                        return;
                    }
                }
            };
            let thread = thread::Builder::new().name("fan-out".into()).stack_size(STACK);
            match thread.spawn_scoped(scope, serve) {
                Ok(worker) => workers.push(worker),
                Err(error) if workers.is_empty() => return Err(error),
                // Fewer threads do all the work in more time.
                Err(_) => break,
            }
        }
        drop(results);
        for (index, result) in arrivals {
            each(index, result);
        }
        for worker in workers {
            if let Err(panic) = worker.join() {
                panic::resume_unwind(panic);
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_done_once_and_a_cancel_stops_the_rest() {
        let watchdog = Watchdog::start().unwrap();
        let items: Vec<usize> = (0..500).collect();
        let mut done = vec![0; items.len()];
        fan_out(&items, 16, &watchdog, |item| item * 2, |index, double| done[index] += double)
            .unwrap();
        assert!(done.iter().enumerate().all(|(index, double)| *double == index * 2));
        let mut count = 0;
        let cancelling = |item: &usize| {
            if *item == 10 {
                watchdog.cancel();
            }
        };
        fan_out(&items, 1, &watchdog, cancelling, |_, ()| count += 1).unwrap();
        assert_eq!(count, 11);
    }
}

//! Runs work for many hosts on a bounded number of threads, and raises the limit of open
//! descriptors for that. Commands that query hosts use it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::{io, panic, thread};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::watchdog::Watchdog;

/// Stack of a thread, in bytes. Only touched pages use memory.
const STACK_BYTES: usize = 1024 * 1024;

/// Raises the soft limit of open descriptors to the hard limit, because each host needs up to
/// eight descriptors. Returns the resulting limit; `None` means no limit.
pub fn allow_descriptors() -> Option<u64> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    if raised.is_ok() { maximum } else { current }
}

/// Runs `work` for each item on at most `fanout` threads. Calls `on_result` on the calling thread
/// for each result, with the index of the item, in the order in which the results arrive.
///
/// After the watchdog is cancelled, no item starts. Running items end soon, because the watchdog
/// shuts their sockets down. Items that did not start have no result. The function returns when
/// the last thread has ended.
///
/// # Errors
/// No thread can be started.
///
/// # Panics
/// Panics if `work` panics.
pub fn fan_out<T, R>(
    items: &[T],
    fanout: usize,
    watchdog: &Watchdog,
    work: impl Fn(&T) -> R + Sync,
    mut on_result: impl FnMut(usize, R),
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
                    // After a panic of `on_result`, the receiver no longer exists.
                    if results.send((index, work(item))).is_err() {
                        return;
                    }
                }
            };
            let thread = thread::Builder::new().name("fan-out".into()).stack_size(STACK_BYTES);
            match thread.spawn_scoped(scope, serve) {
                Ok(worker) => workers.push(worker),
                Err(error) if workers.is_empty() => return Err(error),
                // The threads that started do all the work.
                Err(_) => break,
            }
        }
        drop(results);
        for (index, result) in arrivals {
            on_result(index, result);
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

//! Chooses the worker for an accepted connection. Counts connections, touches no socket.
//! A place is reserved before the socket moves, by compare-and-swap against the count that was judged: since
//! counts only grow between two closes, the chosen worker still has the fewest when its count goes up.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::cache_padded::CachePadded;

/// Open and reserved connections of each worker. Written by each thread that accepts and by the worker.
#[derive(Debug)]
pub(crate) struct Loads {
    counts: Box<[CachePadded<AtomicUsize>]>,
    connections_max: usize,
}

impl Loads {
    pub fn new(workers: usize, connections_max: usize) -> Self {
        Self {
            counts: (0..workers).map(|_| CachePadded::default()).collect(),
            connections_max,
        }
    }

    pub fn of(&self, worker: usize) -> usize {
        self.counts[worker].load(Ordering::Relaxed)
    }
}

/// One of a worker's `connections_max` places. Dropping it, on any thread, gives it back.
#[derive(Debug)]
pub(crate) struct Reservation {
    loads: Arc<Loads>,
    worker: usize,
}

impl Reservation {
    /// A place on the worker with the fewest connections, `home` when it is one of them.
    /// Nothing when every worker is full.
    pub fn least(loads: &Arc<Loads>, home: usize) -> Option<Self> {
        Self::among(loads, home, loads.counts.len())
    }

    /// A place on this worker, however few the others have. Nothing when it is full.
    pub fn here(loads: &Arc<Loads>, worker: usize) -> Option<Self> {
        Self::among(loads, worker, 1)
    }

    /// A place on the worker with the fewest connections of so many, from `home` on.
    fn among(loads: &Arc<Loads>, home: usize, workers: usize) -> Option<Self> {
        loop {
            let mut worker = home;
            let mut load = loads.counts[home].load(Ordering::Acquire);
            for step in 1..workers {
                let other = (home + step) % loads.counts.len();
                let other_load = loads.counts[other].load(Ordering::Acquire);
                if other_load < load {
                    (worker, load) = (other, other_load);
                }
            }
            if load >= loads.connections_max {
                return None;
            }
            if let Some(place) = Self::take(loads, worker, load) {
                return Some(place);
            }
        }
    }

    /// Nothing when the load is no longer what it was.
    fn take(loads: &Arc<Loads>, worker: usize, load: usize) -> Option<Self> {
        let counter = &loads.counts[worker];
        counter
            .compare_exchange(load, load + 1, Ordering::AcqRel, Ordering::Relaxed)
            .ok()?;
        Some(Self {
            loads: Arc::clone(loads),
            worker,
        })
    }

    pub fn worker(&self) -> usize {
        self.worker
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.loads.counts[self.worker].fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn loads(workers: usize, connections_max: usize) -> Arc<Loads> {
        Arc::new(Loads::new(workers, connections_max))
    }

    #[test]
    fn equal_loads_keep_the_connection_on_its_worker() {
        let loads = loads(4, 10);
        assert_eq!(Reservation::least(&loads, 2).unwrap().worker(), 2);
    }

    #[test]
    fn connections_of_one_listener_reach_every_worker() {
        let loads = loads(3, 10);
        let held: Vec<_> = (0..9)
            .map(|_| Reservation::least(&loads, 0).unwrap())
            .collect();
        for worker in 0..3 {
            assert_eq!(
                held.iter().filter(|each| each.worker() == worker).count(),
                3
            );
        }
    }

    #[test]
    fn reservations_on_many_threads_never_differ_by_more_than_one() {
        let loads = loads(4, 100_000);
        let threads = (0..4).map(|home| {
            let loads = Arc::clone(&loads);
            thread::spawn(move || {
                // Even a lopsided arrival must come out even.
                let count = if home == 0 { 10_000 } else { 10 };
                (0..count)
                    .map(|_| Reservation::least(&loads, home).unwrap())
                    .collect::<Vec<_>>()
            })
        });
        let held: Vec<_> = threads
            .collect::<Vec<_>>()
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect();
        let counts: Vec<_> = (0..4).map(|worker| loads.of(worker)).collect();
        assert_eq!(counts.iter().sum::<usize>(), held.len());
        assert!(
            counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1,
            "{counts:?}"
        );
    }

    #[test]
    fn the_connection_after_the_limit_gets_no_place() {
        let loads = loads(2, 2);
        let held: Vec<_> = (0..4)
            .map(|_| Reservation::least(&loads, 1).unwrap())
            .collect();
        assert!(Reservation::least(&loads, 0).is_none());
        assert!(Reservation::here(&loads, 1).is_none());
        drop(held);
        assert!(Reservation::least(&loads, 0).is_some());
    }
}

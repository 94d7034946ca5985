//! Chooses the worker for an accepted connection. Counts connections, touches no socket.
//! A place is reserved before the socket moves, by compare-and-swap against the count that was judged: since
//! counts only grow between two closes, the chosen worker still has the fewest when its count goes up.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::shared::Shared;

/// One of a worker's `connections_max` places. Dropping it, on any thread, gives it back.
#[derive(Debug)]
pub(crate) struct Reservation {
    shared: Arc<Shared>,
    worker: usize,
}

impl Reservation {
    /// A place on the worker with the fewest connections, `home` when it is one of them.
    /// Nothing when every worker is full.
    pub fn least(shared: &Arc<Shared>, home: usize) -> Option<Self> {
        loop {
            let mut worker = home;
            let mut load = shared.lanes[home].load.load(Ordering::Acquire);
            for step in 1..shared.lanes.len() {
                let other = (home + step) % shared.lanes.len();
                let other_load = shared.lanes[other].load.load(Ordering::Acquire);
                if other_load < load {
                    (worker, load) = (other, other_load);
                }
            }
            if load >= shared.limits.connections_max {
                return None;
            }
            if let Some(place) = Self::take(shared, worker, load) {
                return Some(place);
            }
        }
    }

    /// A place on this worker, however few the others have. Nothing when it is full.
    pub fn here(shared: &Arc<Shared>, worker: usize) -> Option<Self> {
        loop {
            let load = shared.lanes[worker].load.load(Ordering::Acquire);
            if load >= shared.limits.connections_max {
                return None;
            }
            if let Some(place) = Self::take(shared, worker, load) {
                return Some(place);
            }
        }
    }

    /// Nothing when the load is no longer what it was.
    fn take(shared: &Arc<Shared>, worker: usize, load: usize) -> Option<Self> {
        let counter = &shared.lanes[worker].load;
        counter
            .compare_exchange(load, load + 1, Ordering::AcqRel, Ordering::Relaxed)
            .ok()?;
        Some(Self {
            shared: Arc::clone(shared),
            worker,
        })
    }

    pub fn worker(&self) -> usize {
        self.worker
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.shared.lanes[self.worker]
            .load
            .fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::Limits;
    use crate::host::Cores;

    fn shared(workers: usize, connections_max: usize) -> Arc<Shared> {
        Shared::new(
            workers,
            Limits {
                connections_max,
                ..Limits::default()
            },
            Cores::any(),
        )
        .0
    }

    #[test]
    fn a_tie_stays_at_home() {
        let shared = shared(4, 10);
        assert_eq!(Reservation::least(&shared, 2).unwrap().worker(), 2);
    }

    #[test]
    fn connections_of_one_listener_reach_every_worker() {
        let shared = shared(3, 10);
        let held: Vec<_> = (0..9)
            .map(|_| Reservation::least(&shared, 0).unwrap())
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
        let shared = shared(4, 100_000);
        let threads = (0..4).map(|home| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                // Even a lopsided arrival must come out even.
                let count = if home == 0 { 10_000 } else { 10 };
                (0..count)
                    .map(|_| Reservation::least(&shared, home).unwrap())
                    .collect::<Vec<_>>()
            })
        });
        let held: Vec<_> = threads
            .collect::<Vec<_>>()
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect();
        let loads: Vec<_> = shared
            .lanes
            .iter()
            .map(|lane| lane.load.load(Ordering::Acquire))
            .collect();
        assert_eq!(loads.iter().sum::<usize>(), held.len());
        assert!(
            loads.iter().max().unwrap() - loads.iter().min().unwrap() <= 1,
            "{loads:?}"
        );
    }

    #[test]
    fn the_connection_after_the_limit_gets_no_place() {
        let shared = shared(2, 2);
        let held: Vec<_> = (0..4)
            .map(|_| Reservation::least(&shared, 1).unwrap())
            .collect();
        assert!(Reservation::least(&shared, 0).is_none());
        assert!(Reservation::here(&shared, 1).is_none());
        drop(held);
        assert!(Reservation::least(&shared, 0).is_some());
    }
}

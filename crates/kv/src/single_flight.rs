//! One computation at a time for each key of a store, over all workers and both faces of the process: later callers wait for the outcome.
//! Knows no record and no clock and stores nothing: how long a caller waits is its own affair. Rule: a leader that lands nothing makes
//! exactly one of the waiting the next leader, and no computation waits for one that waits for it.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt::Display;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::sync::oneshot;

use crate::error::{Error, Result, queue_full};
use crate::limits::FETCH_WAITERS_MAX;

/// What can compute and wait: a job of a VM, a computation of a handler in Rust.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Runner {
    group: u64,
    number: u64,
}

static NUMBERS: AtomicU64 = AtomicU64::new(0);

impl Runner {
    /// One that the process has no other of.
    #[must_use]
    pub fn unique() -> Runner {
        let group = NUMBERS.fetch_add(1, Relaxed);
        Runner { group, number: 0 }
    }

    /// One of those that this one stands for, as a VM does for its jobs, numbered from 1.
    #[must_use]
    pub fn member(self, number: u64) -> Runner {
        Runner { number, ..self }
    }
}

/// Who asks for a value, and the runners that wait for it, itself first.
#[derive(Clone, Debug)]
pub struct Lineage {
    /// All of them.
    pub runners: Vec<Runner>,
    /// How many of them, from the first on, wait for certain. The others may.
    pub certain: usize,
}

impl From<Vec<Runner>> for Lineage {
    /// All wait for certain.
    fn from(runners: Vec<Runner>) -> Lineage {
        let certain = runners.len();
        Lineage { runners, certain }
    }
}

/// A store among those of the process, in memory, on disk or behind a service.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum StoreId {
    /// A database of this process, by its number.
    Database(u64),
    /// A database of another server, by its address.
    Service(Arc<str>),
}

/// A key of a store.
type Id = (StoreId, Bytes);

/// The outcome of an attempt to compute.
#[derive(Debug)]
pub enum JoinOutcome {
    /// The caller computes.
    Lead(FlightLease),
    /// Another one does.
    Wait(Waiting),
    /// Who computes it waits for the caller, or may do so: neither could go on. The caller computes for itself.
    Alone,
}

/// What a wait ends with.
#[derive(Debug)]
pub enum FlightOutcome {
    /// The value that the leader landed.
    Landed(Bytes),
    /// The leader produced no value; the next waiter becomes the leader.
    Lead(FlightLease),
}

/// What follows for a caller of `fetch` that found no value.
#[derive(Debug)]
pub enum FetchTurn {
    /// It is there now.
    Found(Bytes),
    /// The caller computes it.
    Compute(FetchLease),
}

/// The computation of a value by a caller of `fetch`. Dropped, it is the next one's.
#[derive(Debug)]
pub struct FetchLease(Option<FlightLease>);

impl FetchLease {
    /// Waits until `write` has stored the value, and gives it to all who wait. One that could not be stored is logged, and given all the same.
    pub async fn land<T, E: Display>(
        self,
        value: &Bytes,
        write: impl Future<Output = Result<T, E>>,
    ) {
        if let Err(error) = write.await {
            tracing::warn!(target: "app", "fetch could not store its value: {error}");
        }
        if let Some(lease) = self.0 {
            lease.land(value);
        }
    }
}

#[derive(Debug)]
struct Flight {
    leader: Runner,
    waiters: VecDeque<Waiter>,
}

#[derive(Debug)]
struct Waiter {
    number: u64,
    lineage: Vec<Runner>,
    sender: oneshot::Sender<FlightOutcome>,
}

#[derive(Debug, Default)]
struct Table {
    flights: HashMap<Id, Flight>,
    /// What the branches of a runner, and it itself, wait for.
    blocked: HashMap<Runner, Vec<Id>>,
    numbers: u64,
    waiting: usize,
}

/// The computations under way. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct SingleFlight(Arc<Mutex<Table>>);

static PROCESS: LazyLock<SingleFlight> = LazyLock::new(SingleFlight::default);

impl SingleFlight {
    /// Those of the process, which `fetch` of both faces is about.
    #[must_use]
    pub fn of_process() -> &'static SingleFlight {
        &PROCESS
    }

    /// A panic elsewhere leaves the table whole: every change of it is one step.
    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Joins the computation of a key, or begins it.
    ///
    /// # Errors
    /// [`Error::FetchNested`] when the caller computes this key already, further out, and [`Error::QueueFull`] when
    /// [`FETCH_WAITERS_MAX`] wait already.
    pub fn join(
        &self,
        place: &StoreId,
        key: Bytes,
        lineage: impl Into<Lineage>,
    ) -> Result<JoinOutcome> {
        let Lineage {
            runners: lineage,
            certain,
        } = lineage.into();
        let Some(asking) = lineage.first().copied() else {
            return Ok(JoinOutcome::Alone);
        };
        let id: Id = (place.clone(), key);
        let mut table = self.table();
        let Some(leader) = table.flights.get(&id).map(|flight| flight.leader) else {
            let flight = Flight {
                leader: asking,
                waiters: VecDeque::new(),
            };
            table.flights.insert(id.clone(), flight);
            return Ok(JoinOutcome::Lead(self.lead(id)));
        };
        let place = lineage.iter().position(|runner| *runner == leader);
        if place.is_some_and(|place| place < certain) {
            return Err(Error::FetchNested);
        }
        if place.is_some() || table.waits_for(leader, &lineage) {
            return Ok(JoinOutcome::Alone);
        }
        if table.waiting >= FETCH_WAITERS_MAX {
            let what = "callers of fetch";
            return Err(queue_full(what, "FETCH_WAITERS_MAX", FETCH_WAITERS_MAX));
        }
        Ok(JoinOutcome::Wait(self.wait(&mut table, id, lineage)))
    }

    /// The value of a key that was not there, from another caller's computation or by `look`, which reads the store again; or else the turn to
    /// compute it.
    ///
    /// # Errors
    /// Those of [`join`](Self::join) and of `look`.
    pub async fn turn<E: From<Error>>(
        &self,
        place: &StoreId,
        key: Bytes,
        lineage: impl Into<Lineage>,
        look: impl AsyncFnOnce() -> Result<Option<Bytes>, E>,
    ) -> Result<FetchTurn, E> {
        let lease = match self.join(place, key, lineage)? {
            JoinOutcome::Lead(lease) => lease,
            JoinOutcome::Alone => return Ok(FetchTurn::Compute(FetchLease(None))),
            JoinOutcome::Wait(waiting) => match waiting.await {
                Some(FlightOutcome::Landed(value)) => return Ok(FetchTurn::Found(value)),
                Some(FlightOutcome::Lead(lease)) => lease,
                None => return Err(Error::Closed.into()),
            },
        };
        // It may have been stored since it was looked for.
        Ok(match look().await? {
            Some(value) => {
                lease.land(&value);
                FetchTurn::Found(value)
            }
            None => FetchTurn::Compute(FetchLease(Some(lease))),
        })
    }

    fn lead(&self, id: Id) -> FlightLease {
        FlightLease {
            id: Some(id),
            flights: self.clone(),
        }
    }

    fn wait(&self, table: &mut Table, id: Id, lineage: Vec<Runner>) -> Waiting {
        let (sender, receiver) = oneshot::channel();
        table.numbers += 1;
        table.waiting += 1;
        let number = table.numbers;
        for runner in &lineage {
            table.blocked.entry(*runner).or_default().push(id.clone());
        }
        if let Some(flight) = table.flights.get_mut(&id) {
            flight.waiters.push_back(Waiter {
                number,
                lineage,
                sender,
            });
        }
        Waiting {
            id,
            number,
            receiver,
            flights: self.clone(),
        }
    }
}

impl Table {
    /// Does `leader`, or a branch of it, wait for one of `lineage`, over however many others?
    fn waits_for(&self, leader: Runner, lineage: &[Runner]) -> bool {
        let mut seen: HashSet<Runner> = HashSet::from([leader]);
        let mut next = vec![leader];
        while let Some(runner) = next.pop() {
            let blocked = self.blocked.get(&runner).into_iter().flatten();
            for leader in blocked
                .filter_map(|id| self.flights.get(id))
                .map(|flight| flight.leader)
            {
                if lineage.contains(&leader) {
                    return true;
                }
                if seen.insert(leader) {
                    next.push(leader);
                }
            }
        }
        false
    }

    fn unblock(&mut self, id: &Id, lineage: &[Runner]) {
        self.waiting -= 1;
        for runner in lineage {
            let Some(blocked) = self.blocked.get_mut(runner) else {
                continue;
            };
            if let Some(at) = blocked.iter().position(|other| other == id) {
                blocked.swap_remove(at);
            }
            if blocked.is_empty() {
                self.blocked.remove(runner);
            }
        }
    }

    /// Makes the first of the waiting the leader; without any the flight is over.
    fn succeed(&mut self, id: &Id) -> Option<oneshot::Sender<FlightOutcome>> {
        let next = self.flights.get_mut(id)?.waiters.pop_front();
        let Some(waiter) = next else {
            self.flights.remove(id);
            return None;
        };
        self.unblock(id, &waiter.lineage);
        if let (Some(flight), Some(leader)) = (self.flights.get_mut(id), waiter.lineage.first()) {
            flight.leader = *leader;
        }
        Some(waiter.sender)
    }
}

/// The duty to compute. Dropped, it goes to the next.
#[derive(Debug)]
pub struct FlightLease {
    /// None once it is over.
    id: Option<Id>,
    flights: SingleFlight,
}

impl FlightLease {
    /// Gives the value to all waiters.
    pub fn land(mut self, value: &Bytes) {
        let Some(id) = self.id.take() else {
            return;
        };
        let waiters = {
            let mut table = self.flights.table();
            let flight = table.flights.remove(&id);
            let waiters = flight.map(|flight| flight.waiters).unwrap_or_default();
            for waiter in &waiters {
                table.unblock(&id, &waiter.lineage);
            }
            waiters
        };
        for waiter in waiters {
            // Who does not wait any more needs no value.
            drop(waiter.sender.send(FlightOutcome::Landed(value.clone())));
        }
    }
}

impl Drop for FlightLease {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else {
            return;
        };
        loop {
            let next = self.flights.table().succeed(&id);
            let Some(sender) = next else {
                return;
            };
            let lead = self.flights.lead(id.clone());
            match sender.send(FlightOutcome::Lead(lead)) {
                Err(FlightOutcome::Lead(mut refused)) => refused.id = None,
                _ => return,
            }
        }
    }
}

/// A place among the waiters. Dropped, it is free; a turn that came meanwhile goes to the next.
#[derive(Debug)]
pub struct Waiting {
    id: Id,
    number: u64,
    receiver: oneshot::Receiver<FlightOutcome>,
    flights: SingleFlight,
}

impl Future for Waiting {
    /// None never comes while the process lives.
    type Output = Option<FlightOutcome>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.receiver).poll(context).map(Result::ok)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut table = self.flights.table();
        let Some(flight) = table.flights.get_mut(&self.id) else {
            return;
        };
        let number = self.number;
        let at = flight
            .waiters
            .iter()
            .position(|waiter| waiter.number == number);
        if let Some(waiter) = at.and_then(|at| flight.waiters.remove(at)) {
            table.unblock(&self.id, &waiter.lineage);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::Waker;

    const PLACE: StoreId = StoreId::Database(1);

    fn runners(lineage: &[(u64, u64)]) -> Vec<Runner> {
        let runner = |(group, number): &(u64, u64)| Runner {
            group: *group,
            number: *number,
        };
        lineage.iter().map(runner).collect()
    }

    fn join(
        flights: &SingleFlight,
        key: &'static str,
        lineage: &[(u64, u64)],
    ) -> Result<JoinOutcome> {
        flights.join(&PLACE, Bytes::from(key), runners(lineage))
    }

    fn lead(joined: Result<JoinOutcome>) -> FlightLease {
        match joined {
            Ok(JoinOutcome::Lead(lead)) => lead,
            _ => panic!("no lead"),
        }
    }

    fn wait(joined: Result<JoinOutcome>) -> Waiting {
        match joined {
            Ok(JoinOutcome::Wait(waiting)) => waiting,
            _ => panic!("no wait"),
        }
    }

    fn now(waiting: &mut Waiting) -> Option<FlightOutcome> {
        let mut context = Context::from_waker(Waker::noop());
        match Pin::new(waiting).poll(&mut context) {
            Poll::Ready(outcome) => outcome,
            Poll::Pending => None,
        }
    }

    #[test]
    fn all_waiters_get_the_landed_value() {
        let flights = SingleFlight::default();
        let first = lead(join(&flights, "k", &[(1, 1)]));
        let mut others = [(1, 2), (2, 1)].map(|runner| wait(join(&flights, "k", &[runner])));
        first.land(&Bytes::from("v"));
        for other in &mut others {
            assert!(matches!(now(other), Some(FlightOutcome::Landed(value)) if value == "v"));
        }
        drop(lead(join(&flights, "k", &[(1, 1)])));
    }

    #[test]
    fn a_waiter_takes_over_when_nothing_lands() {
        let flights = SingleFlight::default();
        let first = lead(join(&flights, "k", &[(1, 1)]));
        let mut second = wait(join(&flights, "k", &[(1, 2)]));
        let gone = wait(join(&flights, "k", &[(1, 3)]));
        let mut fourth = wait(join(&flights, "k", &[(1, 4)]));
        drop(gone);
        drop(first);
        assert!(now(&mut fourth).is_none());
        let Some(FlightOutcome::Lead(next)) = now(&mut second) else {
            panic!("it is not the second's turn");
        };
        drop(next);
        assert!(matches!(now(&mut fourth), Some(FlightOutcome::Lead(_))));
    }

    #[test]
    fn a_turn_that_is_not_taken_goes_to_the_next() {
        let flights = SingleFlight::default();
        let first = lead(join(&flights, "k", &[(1, 1)]));
        let second = wait(join(&flights, "k", &[(1, 2)]));
        let mut third = wait(join(&flights, "k", &[(1, 3)]));
        drop(first);
        drop(second);
        assert!(matches!(now(&mut third), Some(FlightOutcome::Lead(_))));
    }

    #[test]
    fn a_runner_that_would_wait_for_itself_gets_an_error() {
        let flights = SingleFlight::default();
        let outer = lead(join(&flights, "k", &[(1, 1)]));
        assert!(matches!(
            join(&flights, "k", &[(1, 1)]),
            Err(Error::FetchNested)
        ));
        // A branch of the same job.
        assert!(matches!(
            join(&flights, "k", &[(1, 5), (1, 1)]),
            Err(Error::FetchNested)
        ));
        assert!(matches!(
            join(&flights, "other", &[(1, 1)]),
            Ok(JoinOutcome::Lead(_))
        ));
        drop(outer);
    }

    #[test]
    fn a_runner_whose_leader_may_wait_for_it_computes_alone() {
        let flights = SingleFlight::default();
        let outer = lead(join(&flights, "k", &[(1, 1)]));
        let ask = |lineage, certain| {
            let runners = runners(lineage);
            flights.join(&PLACE, Bytes::from("k"), Lineage { runners, certain })
        };
        assert!(matches!(ask(&[(2, 1), (1, 1)], 1), Ok(JoinOutcome::Alone)));
        assert!(matches!(ask(&[(2, 1), (1, 1)], 2), Err(Error::FetchNested)));
        drop(outer);
    }

    #[test]
    fn runners_that_would_wait_for_each_other_compute_alone() {
        let flights = SingleFlight::default();
        let one = lead(join(&flights, "one", &[(1, 1)]));
        let two = lead(join(&flights, "two", &[(1, 2)]));
        let three = lead(join(&flights, "three", &[(1, 3)]));
        let blocked = wait(join(&flights, "two", &[(1, 9), (1, 1)]));
        let more = wait(join(&flights, "three", &[(1, 2)]));
        assert!(matches!(
            join(&flights, "one", &[(1, 3)]),
            Ok(JoinOutcome::Alone)
        ));
        drop(blocked);
        assert!(matches!(
            join(&flights, "one", &[(1, 3)]),
            Ok(JoinOutcome::Wait(_))
        ));
        drop((one, two, three, more));
    }

    #[test]
    fn waiters_have_a_bound_that_is_named() {
        let flights = SingleFlight::default();
        let first = lead(join(&flights, "k", &[(1, 1)]));
        let runner = |number| (2, number as u64);
        let mut waiting: Vec<Waiting> = (0..FETCH_WAITERS_MAX)
            .map(|number| wait(join(&flights, "k", &[runner(number)])))
            .collect();
        let error = join(&flights, "k", &[(3, 1)]).unwrap_err();
        assert!(error.to_string().contains("FETCH_WAITERS_MAX"), "{error}");
        // Of another key, one can still lead.
        drop(lead(join(&flights, "other", &[(3, 1)])));
        waiting.pop();
        drop(wait(join(&flights, "k", &[(3, 1)])));
        first.land(&Bytes::new());
        drop(waiting);
        let table = flights.table();
        assert!(table.flights.is_empty() && table.blocked.is_empty() && table.waiting == 0);
    }
}

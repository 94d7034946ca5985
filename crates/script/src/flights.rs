//! One computation at a time for each key of a store, over all workers of the process: who comes later waits for the outcome.
//! Knows no store and no Ruby. Rule: a leader that lands nothing makes exactly one of the waiting the next leader, and nobody
//! waits for somebody who waits for him.

use std::collections::{HashMap, HashSet, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::sync::oneshot;

use crate::limits::FETCH_WAITERS_MAX;

/// A job of one VM: the VM's number in the process, and the job's in the VM.
pub(crate) type Runner = (u64, u64);

/// A key of a store.
type Id = (Arc<str>, Bytes);

/// What became of an attempt to compute.
pub(crate) enum Joined {
    /// The caller computes.
    Lead(Lead),
    /// Another one does.
    Wait(Waiting),
    /// The caller computes this key already, further out.
    Nested,
    /// Who computes it waits for the caller: neither could go on. The caller computes for itself.
    Alone,
    /// `FETCH_WAITERS_MAX` wait already.
    TooMany,
}

/// What a wait ends with.
pub(crate) enum Outcome {
    /// The value that the leader landed.
    Landed(Bytes),
    /// The leader landed nothing; now it is the turn of who waited.
    Lead(Lead),
}

struct Flight {
    leader: Runner,
    waiters: VecDeque<Waiter>,
}

struct Waiter {
    number: u64,
    lineage: Vec<Runner>,
    sender: oneshot::Sender<Outcome>,
}

#[derive(Default)]
struct Table {
    flights: HashMap<Id, Flight>,
    /// What the branches of a job, and it itself, wait for.
    blocked: HashMap<Runner, Vec<Id>>,
    numbers: u64,
    waiting: usize,
}

static TABLE: LazyLock<Mutex<Table>> = LazyLock::new(Mutex::default);

/// A panic elsewhere leaves the table whole: every change of it is one step.
fn table() -> MutexGuard<'static, Table> {
    TABLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Joins the computation of a key, or begins it. `lineage` is the job that asks and those that wait for it, itself first.
pub(crate) fn join(place: &Arc<str>, key: Bytes, lineage: Vec<Runner>) -> Joined {
    let Some(asking) = lineage.first().copied() else {
        return Joined::Alone;
    };
    let id: Id = (Arc::clone(place), key);
    let mut table = table();
    let Some(leader) = table.flights.get(&id).map(|flight| flight.leader) else {
        let flight = Flight {
            leader: asking,
            waiters: VecDeque::new(),
        };
        table.flights.insert(id.clone(), flight);
        return Joined::Lead(Lead { id: Some(id) });
    };
    if lineage.contains(&leader) {
        return Joined::Nested;
    }
    if table.waits_for(leader, &lineage) {
        return Joined::Alone;
    }
    if table.waiting >= FETCH_WAITERS_MAX {
        return Joined::TooMany;
    }
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
    Joined::Wait(Waiting {
        id,
        number,
        receiver,
    })
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
    fn succeed(&mut self, id: &Id) -> Option<oneshot::Sender<Outcome>> {
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
pub(crate) struct Lead {
    /// None once it is over.
    id: Option<Id>,
}

impl Lead {
    /// Gives the value to all who wait.
    pub(crate) fn land(mut self, value: &Bytes) {
        let Some(id) = self.id.take() else {
            return;
        };
        let waiters = {
            let mut table = table();
            let flight = table.flights.remove(&id);
            let waiters = flight.map(|flight| flight.waiters).unwrap_or_default();
            for waiter in &waiters {
                table.unblock(&id, &waiter.lineage);
            }
            waiters
        };
        for waiter in waiters {
            // Who does not wait any more needs no value.
            drop(waiter.sender.send(Outcome::Landed(value.clone())));
        }
    }
}

impl Drop for Lead {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else {
            return;
        };
        loop {
            let next = table().succeed(&id);
            let Some(sender) = next else {
                return;
            };
            let lead = Lead {
                id: Some(id.clone()),
            };
            match sender.send(Outcome::Lead(lead)) {
                Err(Outcome::Lead(mut refused)) => refused.id = None,
                _ => return,
            }
        }
    }
}

/// A place among those who wait. Dropped, it is free; a turn that came meanwhile goes to the next.
pub(crate) struct Waiting {
    id: Id,
    number: u64,
    receiver: oneshot::Receiver<Outcome>,
}

impl Future for Waiting {
    /// None never comes while the process lives.
    type Output = Option<Outcome>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.receiver).poll(context).map(Result::ok)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut table = table();
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

    /// The tests share the process's table: the VMs of each are its own, or one's waits would be seen in another's chains.
    fn asked(place: &'static str, key: &'static str, lineage: &[Runner]) -> Joined {
        let vms = u64::from(place.as_bytes()[0]) << 32;
        let lineage = lineage.iter().map(|(vm, job)| (vms + vm, *job)).collect();
        join(&Arc::from(place), Bytes::from(key), lineage)
    }

    fn lead(joined: Joined) -> Lead {
        match joined {
            Joined::Lead(lead) => lead,
            _ => panic!("no lead"),
        }
    }

    fn wait(joined: Joined) -> Waiting {
        match joined {
            Joined::Wait(waiting) => waiting,
            _ => panic!("no wait"),
        }
    }

    fn now(waiting: &mut Waiting) -> Option<Outcome> {
        let mut context = Context::from_waker(Waker::noop());
        match Pin::new(waiting).poll(&mut context) {
            Poll::Ready(outcome) => outcome,
            Poll::Pending => None,
        }
    }

    #[test]
    fn all_who_wait_get_what_landed() {
        let first = lead(asked("a", "k", &[(1, 1)]));
        let mut others = [(1, 2), (2, 1)].map(|runner| wait(asked("a", "k", &[runner])));
        first.land(&Bytes::from("v"));
        for other in &mut others {
            assert!(matches!(now(other), Some(Outcome::Landed(value)) if value == "v"));
        }
        drop(lead(asked("a", "k", &[(1, 1)])));
    }

    #[test]
    fn one_who_waits_takes_over_when_nothing_lands() {
        let first = lead(asked("b", "k", &[(1, 1)]));
        let mut second = wait(asked("b", "k", &[(1, 2)]));
        let gone = wait(asked("b", "k", &[(1, 3)]));
        let mut fourth = wait(asked("b", "k", &[(1, 4)]));
        drop(gone);
        drop(first);
        assert!(now(&mut fourth).is_none());
        let Some(Outcome::Lead(next)) = now(&mut second) else {
            panic!("it is not the second's turn");
        };
        drop(next);
        assert!(matches!(now(&mut fourth), Some(Outcome::Lead(_))));
    }

    #[test]
    fn a_turn_that_nobody_takes_goes_on() {
        let first = lead(asked("c", "k", &[(1, 1)]));
        let second = wait(asked("c", "k", &[(1, 2)]));
        let mut third = wait(asked("c", "k", &[(1, 3)]));
        drop(first);
        drop(second);
        assert!(matches!(now(&mut third), Some(Outcome::Lead(_))));
    }

    #[test]
    fn who_would_wait_for_himself_is_told() {
        let outer = lead(asked("d", "k", &[(1, 1)]));
        assert!(matches!(asked("d", "k", &[(1, 1)]), Joined::Nested));
        // A branch of the same job.
        assert!(matches!(asked("d", "k", &[(1, 5), (1, 1)]), Joined::Nested));
        assert!(matches!(asked("d", "other", &[(1, 1)]), Joined::Lead(_)));
        drop(outer);
    }

    #[test]
    fn two_who_would_wait_for_each_other_do_not() {
        let one = lead(asked("e", "one", &[(1, 1)]));
        let two = lead(asked("e", "two", &[(1, 2)]));
        let three = lead(asked("e", "three", &[(1, 3)]));
        let blocked = wait(asked("e", "two", &[(1, 9), (1, 1)]));
        let more = wait(asked("e", "three", &[(1, 2)]));
        assert!(matches!(asked("e", "one", &[(1, 3)]), Joined::Alone));
        drop(blocked);
        assert!(matches!(asked("e", "one", &[(1, 3)]), Joined::Wait(_)));
        drop((one, two, three, more));
    }
}

//! Leases over a model of etcd, in random orders: calls that are repeated and arrive late, answers that are lost, holders that stand still, leaders that
//! change and let all leases last anew. What the engine sends is modelled by its steps: a look and a grant, then a transaction with a guard.
//! Every failure names its seed. `TSUMUGI_LEASE_HISTORIES` says how many histories.

use std::collections::HashMap;
use std::time::Duration;

use tsumugi_cluster::{BootTime, LeaseState};
use tsumugi_testkit::Dice;

const TTL_MS: u64 = 1_000;
const TTL: Duration = Duration::from_millis(TTL_MS);
const STEPS: usize = 600;

/// The key of the one lock.
#[derive(Clone, Copy)]
struct Key {
    holder: u64,
    revision: u64,
    lease: u64,
}

/// What a majority has agreed on.
#[derive(Default)]
struct Etcd {
    revision: u64,
    key: Option<Key>,
    /// When each lease ends, by the leader's clock.
    leases: HashMap<u64, u64>,
    granted: u64,
}

#[derive(Clone, Debug)]
enum Call {
    /// A look and a grant, for a transaction that the process sends when it has both.
    Prepare {
        purpose: Purpose,
    },
    /// The key is written if it is as it was seen.
    Write {
        purpose: Purpose,
        seen: Option<u64>,
        lease: u64,
    },
    Revoke {
        leases: Vec<u64>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Take,
    Renew,
}

#[derive(Clone, Copy, Debug)]
enum Answer {
    Prepared {
        seen: Option<u64>,
        lease: u64,
    },
    Written {
        revision: u64,
        lease: u64,
    },
    /// It is another one's.
    Refused,
    /// The key is this holder's, with another revision.
    Changed {
        revision: u64,
        lease: u64,
    },
    /// There will be none.
    Lost,
}

impl Etcd {
    /// What is over ends, in the order in which the leader sees it.
    fn expire(&mut self, now: u64) {
        self.leases.retain(|_, ends| *ends > now);
        self.key = self.key.filter(|key| self.leases.contains_key(&key.lease));
    }

    fn decide(&mut self, call: &Call, holder: u64, now: u64) -> Answer {
        match call {
            Call::Prepare { .. } => {
                let is_others = self.key.is_some_and(|key| key.holder != holder);
                if is_others {
                    return Answer::Refused;
                }
                self.granted += 1;
                self.leases.insert(self.granted, now + TTL_MS);
                Answer::Prepared {
                    seen: self.key.map(|key| key.revision),
                    lease: self.granted,
                }
            }
            Call::Write { seen, lease, .. } => {
                if self.key.map(|key| key.revision) != *seen {
                    return match self.key {
                        Some(key) if key.holder == holder => Answer::Changed {
                            revision: key.revision,
                            lease: *lease,
                        },
                        _ => Answer::Refused,
                    };
                }
                if !self.leases.contains_key(lease) {
                    return Answer::Lost;
                }
                self.revision += 1;
                let revision = self.revision;
                self.key = Some(Key {
                    holder,
                    revision,
                    lease: *lease,
                });
                Answer::Written {
                    revision,
                    lease: *lease,
                }
            }
            Call::Revoke { leases } => {
                for lease in leases {
                    self.leases.remove(lease);
                }
                self.expire(now);
                Answer::Refused
            }
        }
    }
}

/// One process.
struct Contender {
    state: LeaseState,
    holder: u64,
    offset: u64,
    speed: u64,
    paused_until: u64,
    /// Calls under way with their numbers and holders, which etcd hears in any order.
    calls: Vec<(u64, u64, Call)>,
    /// What it waits for: the number, the call, and when it began.
    awaited: Option<(u64, Call, u64)>,
    answer: Option<Answer>,
    revision: u64,
    leases: Vec<u64>,
}

impl Contender {
    fn clock(&self, now: u64) -> BootTime {
        let elapsed = self.offset + now * self.speed / 1_000;
        BootTime::since_start(Duration::from_millis(elapsed))
    }
}

struct World {
    dice: Dice,
    now: u64,
    etcd: Etcd,
    contenders: Vec<Contender>,
    holders: u64,
    sent: u64,
    last_token: u64,
    held: usize,
}

impl World {
    fn new(seed: u64) -> World {
        let dice = Dice::new(seed);
        let count = 2 + dice.below(2);
        let contender = |holder| Contender {
            state: LeaseState::new(TTL),
            holder,
            offset: dice.below(1_000_000),
            speed: 980 + dice.below(41),
            paused_until: 0,
            calls: Vec::new(),
            awaited: None,
            answer: None,
            revision: 0,
            leases: Vec::new(),
        };
        World {
            contenders: (0..count).map(contender).collect(),
            dice,
            now: 0,
            etcd: Etcd::default(),
            holders: count,
            sent: 0,
            last_token: 0,
            held: 0,
        }
    }

    fn send(&mut self, index: usize, call: Call, is_awaited: bool) {
        self.sent += 1;
        let contender = &mut self.contenders[index];
        contender
            .calls
            .push((self.sent, contender.holder, call.clone()));
        if is_awaited {
            let begun = contender
                .awaited
                .as_ref()
                .map_or(self.now, |(_, _, begun)| *begun);
            contender.awaited = Some((self.sent, call, begun));
        }
    }

    /// etcd hears a call of this contender, perhaps once more later.
    fn hear(&mut self, index: usize) {
        let contender = &mut self.contenders[index];
        if contender.calls.is_empty() {
            return;
        }
        let place = self.dice.place(contender.calls.len());
        let (number, holder, call) = contender.calls.swap_remove(place);
        if self.dice.one_in(5) {
            contender.calls.push((number, holder, call.clone()));
        }
        self.etcd.expire(self.now);
        let answer = self.etcd.decide(&call, holder, self.now);
        let contender = &mut self.contenders[index];
        let awaited = contender.awaited.as_ref();
        if awaited.is_some_and(|(awaited, ..)| *awaited == number) && contender.answer.is_none() {
            let is_lost = self.dice.one_in(8);
            contender.answer = Some(if is_lost { Answer::Lost } else { answer });
        }
    }

    /// The contender gets the answer that is there.
    fn receive(&mut self, index: usize) {
        let now = self.now;
        let contender = &mut self.contenders[index];
        let clock = contender.clock(now);
        let Some(answer) = contender.answer.take() else {
            return;
        };
        let Some((_, call, _)) = contender.awaited.clone() else {
            return;
        };
        let purpose = match call {
            Call::Prepare { purpose } | Call::Write { purpose, .. } => purpose,
            Call::Revoke { .. } => return,
        };
        match answer {
            Answer::Prepared { seen, lease } => {
                contender.leases.push(lease);
                // A renewal's guard is what was written last, not what is seen.
                let seen = match purpose {
                    Purpose::Take => seen,
                    Purpose::Renew => Some(contender.revision),
                };
                let write = Call::Write {
                    purpose,
                    seen,
                    lease,
                };
                self.send(index, write, true);
            }
            Answer::Changed { revision, lease } => {
                let write = Call::Write {
                    purpose,
                    seen: Some(revision),
                    lease,
                };
                self.send(index, write, true);
            }
            Answer::Written { revision, lease } => {
                contender.awaited = None;
                contender.revision = revision;
                let mut others = std::mem::replace(&mut contender.leases, vec![lease]);
                others.retain(|other| *other != lease);
                match purpose {
                    Purpose::Take => {
                        let token = i64::try_from(revision).unwrap();
                        // An answer that comes too late is worth nothing.
                        if contender.state.take_granted(clock, token) {
                            assert!(revision > self.last_token, "tokens grow");
                            self.last_token = revision;
                        }
                    }
                    Purpose::Renew => contender.state.renewed(clock),
                }
                self.send(index, Call::Revoke { leases: others }, false);
            }
            Answer::Refused => {
                contender.awaited = None;
                match purpose {
                    Purpose::Take => contender.state.take_refused(),
                    Purpose::Renew => contender.state.renew_refused(),
                }
            }
            Answer::Lost => self.give_up(index),
        }
    }

    /// There was no answer: what follows on it is not sent.
    fn give_up(&mut self, index: usize) {
        let contender = &mut self.contenders[index];
        let clock = contender.clock(self.now);
        contender.awaited = None;
        contender.answer = None;
        contender.state.take_unanswered(clock);
        contender.state.renew_unanswered(clock);
    }

    fn act(&mut self, index: usize) {
        let now = self.now;
        let contender = &mut self.contenders[index];
        let clock = contender.clock(now);
        let prepare = |purpose| Call::Prepare { purpose };
        if let Some((_, _, begun)) = contender.awaited {
            if now - begun > TTL_MS {
                self.give_up(index);
            }
        } else if contender.state.token(clock).is_some() {
            if contender.state.renew_sent(clock) {
                self.send(index, prepare(Purpose::Renew), true);
            } else if self.dice.one_in(20) {
                self.contenders[index].state.end();
                self.begin_anew(index);
            }
        } else if contender.state.is_lost(clock) {
            self.begin_anew(index);
        } else {
            contender.state.take_sent(clock);
            self.send(index, prepare(Purpose::Take), true);
        }
    }

    /// Gives back what it may have, and is another holder from now on.
    fn begin_anew(&mut self, index: usize) {
        let leases = std::mem::take(&mut self.contenders[index].leases);
        self.send(index, Call::Revoke { leases }, false);
        let contender = &mut self.contenders[index];
        contender.state = LeaseState::new(TTL);
        contender.answer = None;
        contender.awaited = None;
        contender.revision = 0;
        contender.holder = self.holders;
        self.holders += 1;
    }

    fn step(&mut self) {
        let index = self.dice.place(self.contenders.len());
        let is_paused = self.now < self.contenders[index].paused_until;
        match self.dice.below(12) {
            0 | 1 => self.now += self.dice.below(TTL_MS / 8),
            2..=4 => self.hear(index),
            5 if self.dice.one_in(10) => {
                let pause = self.dice.below(TTL_MS * 3);
                self.contenders[index].paused_until = self.now + pause;
            }
            6 if self.dice.one_in(30) => {
                // Another leader: all leases last anew.
                self.etcd.expire(self.now);
                let ends = self.now + TTL_MS + self.dice.below(TTL_MS);
                self.etcd.leases.values_mut().for_each(|end| *end = ends);
            }
            7..=9 if !is_paused => self.receive(index),
            _ if !is_paused => self.act(index),
            _ => {}
        }
    }

    fn holders_now(&mut self) -> usize {
        let now = self.now;
        let mut count = 0;
        for contender in &mut self.contenders {
            let clock = contender.clock(now);
            count += usize::from(contender.state.token(clock).is_some());
        }
        self.held += count;
        count
    }
}

#[test]
fn lease_in_etcd_has_one_holder_at_a_time_whatever_is_repeated_late_or_lost() {
    let chosen = std::env::var("TSUMUGI_LEASE_HISTORIES").ok();
    let histories = chosen.and_then(|text| text.parse().ok()).unwrap_or(1_500);
    let mut held = 0;
    for seed in 0..histories {
        let mut world = World::new(seed);
        for step in 0..STEPS {
            world.step();
            let holders = world.holders_now();
            assert!(holders <= 1, "seed {seed}, step {step}: {holders} hold it");
        }
        held += world.held;
    }
    // Else nothing was tested.
    assert!(held > 5_000, "{held}");
}

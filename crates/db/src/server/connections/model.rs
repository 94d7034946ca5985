//! The pool under thousands of random calls, losses, stalls and refusals, with time paused. After each step nobody may wait for
//! what is there, and at the end nothing may be left over. Says the seed when it fails.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;
use std::time::Duration;

use tokio::task::{JoinHandle, spawn_local, yield_now};
use tokio::time::{Instant, sleep};
use tsumugi_testkit::Dice;

use super::dispatch::STALL;
use super::member::Member;
use super::*;

const MAX: usize = 3;
const ACQUIRE: Duration = Duration::from_millis(500);

struct World {
    dice: Dice,
    made: Cell<u32>,
    alive: Cell<usize>,
    opening: Cell<usize>,
    dead: RefCell<HashSet<u32>>,
    changed: RefCell<HashSet<u32>>,
    unanswered: RefCell<HashSet<u32>>,
    stalled: RefCell<HashSet<u32>>,
    refuses: Cell<Option<Retryable>>,
    /// Who has a connection now: sharers, and those who have it alone.
    users: RefCell<HashMap<u32, (usize, usize)>>,
    /// Callers that wait, by kind and order; when a later caller overtook them.
    waiting: RefCell<[BTreeMap<u64, Option<Instant>>; 2]>,
    leases: RefCell<Vec<Lease>>,
    served: Cell<u64>,
    timed_out: Cell<u64>,
}

struct Model(Rc<World>);

struct Number(u32, Rc<World>);

impl Drop for Number {
    fn drop(&mut self) {
        self.1.alive.set(self.1.alive.get() - 1);
    }
}

struct Attempt<'a>(&'a Cell<usize>);

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

impl Link for Model {
    type Connection = Number;

    async fn open(&self) -> Result<Number, ConnectFailure> {
        let world = &self.0;
        world.opening.set(world.opening.get() + 1);
        let attempt = Attempt(&world.opening);
        assert!(world.alive.get() + world.opening.get() <= MAX, "above max");
        let slow = 1 + world.dice.below(20);
        sleep(Duration::from_millis(slow)).await;
        if let Some(retryable) = world.refuses.get() {
            return Err(ConnectFailure {
                reason: "refused".into(),
                retryable,
            });
        }
        drop(attempt);
        world.made.set(world.made.get() + 1);
        world.alive.set(world.alive.get() + 1);
        let number = world.made.get();
        if world.dice.one_in(50) {
            world.dead.borrow_mut().insert(number);
        }
        Ok(Number(number, Rc::clone(world)))
    }

    fn is_usable(&self, connection: &Number) -> bool {
        let number = &connection.0;
        !self.0.dead.borrow().contains(number) && !self.0.changed.borrow().contains(number)
    }

    fn is_clean(&self, connection: &Number) -> bool {
        self.is_usable(connection) && !self.0.unanswered.borrow().contains(&connection.0)
    }

    fn silent_since(&self, _: &Number) -> Option<Instant> {
        None
    }

    fn unanswered_since(&self, connection: &Number) -> Option<Instant> {
        let stalled = self.0.stalled.borrow().contains(&connection.0);
        stalled.then(|| Instant::now() - STALL)
    }

    async fn clean(&self, connection: &Number) {
        let slow = self.0.dice.below(30);
        sleep(Duration::from_millis(slow)).await;
        self.0.changed.borrow_mut().remove(&connection.0);
        self.0.unanswered.borrow_mut().remove(&connection.0);
        self.0.stalled.borrow_mut().remove(&connection.0);
    }

    async fn ping(&self, connection: &Number) -> Result<(), ()> {
        let dead = self.0.dead.borrow().contains(&connection.0);
        if dead { Err(()) } else { Ok(()) }
    }

    fn end(&self, connection: &Number) {
        self.0.dead.borrow_mut().insert(connection.0);
    }
}

enum Lease {
    Shared(Shared<Model>),
    Alone(Exclusive<Model>),
}

impl Lease {
    fn number(&self) -> u32 {
        match self {
            Lease::Shared(lease) => lease.0,
            Lease::Alone(lease) => lease.0,
        }
    }
}

impl World {
    fn new(seed: u64) -> World {
        World {
            dice: Dice::new(seed),
            made: Cell::default(),
            alive: Cell::default(),
            opening: Cell::default(),
            dead: RefCell::default(),
            changed: RefCell::default(),
            unanswered: RefCell::default(),
            stalled: RefCell::default(),
            refuses: Cell::default(),
            users: RefCell::default(),
            waiting: RefCell::default(),
            leases: RefCell::default(),
            served: Cell::default(),
            timed_out: Cell::default(),
        }
    }

    fn enters(&self, lease: &Lease) {
        let number = lease.number();
        let mut users = self.users.borrow_mut();
        let (sharers, alone) = users.entry(number).or_default();
        match lease {
            Lease::Shared(_) => *sharers += 1,
            Lease::Alone(_) => *alone += 1,
        }
        assert!(
            *alone == 0 || (*alone, *sharers) == (1, 0),
            "{number} has {alone} and {sharers} users"
        );
    }

    /// One caller gives its lease back, having left something behind or not.
    fn leave(&self, at: usize) {
        let lease = self.leases.borrow_mut().swap_remove(at);
        let number = lease.number();
        {
            let mut users = self.users.borrow_mut();
            let (sharers, alone) = users.get_mut(&number).unwrap();
            match &lease {
                Lease::Shared(_) => *sharers -= 1,
                Lease::Alone(_) => *alone -= 1,
            }
        }
        if self.dice.one_in(4) {
            self.unanswered.borrow_mut().insert(number);
        }
        match lease {
            Lease::Alone(_) if self.dice.one_in(4) => {
                self.changed.borrow_mut().insert(number);
            }
            _ => {}
        }
        self.stalled.borrow_mut().remove(&number);
        drop(lease);
    }

    /// A caller no longer waits. Nobody who came later may have been served before it, except in the same instant.
    fn departs(&self, kind: Kind, number: u64, served: bool) {
        let mut waiting = self.waiting.borrow_mut();
        let waiting = &mut waiting[kind as usize];
        let overtaken = waiting.remove(&number).unwrap();
        let now = Instant::now();
        assert!(
            overtaken.is_none_or(|then| then == now),
            "{kind:?} {number} was overtaken"
        );
        if served {
            for (_, overtaken) in waiting.range_mut(..number) {
                overtaken.get_or_insert(now);
            }
        }
    }
}

/// Takes itself out also when its task is aborted.
struct Caller {
    world: Rc<World>,
    kind: Kind,
    number: u64,
    served: bool,
}

impl Drop for Caller {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.world.departs(self.kind, self.number, self.served);
        }
    }
}

async fn call(pool: ConnectionPool<Model>, mut caller: Caller) {
    let begun = Instant::now();
    let got = match caller.kind {
        Kind::Shared => pool.shared().await.map(Lease::Shared),
        Kind::Exclusive => pool.exclusive().await.map(Lease::Alone),
    };
    let world = Rc::clone(&caller.world);
    match got {
        Ok(lease) => {
            caller.served = true;
            world.served.set(world.served.get() + 1);
            assert!(
                !world.dead.borrow().contains(&lease.number()) || begun != Instant::now(),
                "a dead one was handed out"
            );
            world.enters(&lease);
            world.leases.borrow_mut().push(lease);
        }
        Err(AcquireError::Timeout { waited, .. }) => {
            world.timed_out.set(world.timed_out.get() + 1);
            assert!(waited >= ACQUIRE && waited <= ACQUIRE + Duration::from_millis(1));
        }
        Err(AcquireError::Refused(_)) => assert_eq!(pool.figures().open, 0),
        Err(missed) => panic!("{missed:?}"),
    }
}

/// Every caller that can go on has gone on.
async fn settle() {
    for _ in 0..20 {
        yield_now().await;
    }
}

/// Nobody waits for what is there or could be had.
fn assert_no_caller_is_stuck(pool: &ConnectionPool<Model>) {
    let inner = &pool.0;
    let (shared, alone) = (
        inner.queue.count(Kind::Shared),
        inner.queue.count(Kind::Exclusive),
    );
    let members = inner.members.borrow();
    let fit = |member: &&Rc<Member<Number>>| inner.is_fit(member);
    let free = members.iter().filter(fit).any(|member| member.is_free());
    assert!(
        !free || shared + alone == 0,
        "somebody waits although one is free"
    );
    let open = members
        .iter()
        .filter(fit)
        .any(|member| member.takes_sharers() && !inner.is_silent(member, STALL));
    assert!(
        !open || shared == 0,
        "one waits to share although one may be shared"
    );
    if shared + alone > 0 && members.len() < MAX {
        assert!(
            inner.opening.under_way() > 0,
            "{shared} and {alone} wait and nothing is opened"
        );
    }
    let reserved = members
        .iter()
        .filter(|member| member.is_reserved() && member.sharers() > 0);
    assert!(reserved.count() <= alone, "more are reserved than awaited");
}

async fn step(
    world: &Rc<World>,
    pool: &ConnectionPool<Model>,
    tasks: &mut Vec<JoinHandle<()>>,
    number: u64,
) {
    let dice = &world.dice;
    match dice.below(20) {
        0..=7 => {
            let kind = match dice.one_in(3) {
                true => Kind::Exclusive,
                false => Kind::Shared,
            };
            world.waiting.borrow_mut()[kind as usize].insert(number, None);
            let caller = Caller {
                world: Rc::clone(world),
                kind,
                number,
                served: false,
            };
            tasks.push(spawn_local(call(pool.clone(), caller)));
        }
        8..=14 => {
            let leases = world.leases.borrow().len();
            if leases > 0 {
                world.leave(dice.place(leases));
            }
        }
        15 if !tasks.is_empty() => tasks.swap_remove(dice.place(tasks.len())).abort(),
        16 => {
            let number = world.made.get().saturating_sub(dice.below(4) as u32);
            world.dead.borrow_mut().insert(number);
        }
        17 => {
            // Only what somebody uses can be slow.
            let leases = world.leases.borrow();
            if !leases.is_empty() {
                let number = leases[dice.place(leases.len())].number();
                world.stalled.borrow_mut().insert(number);
            }
        }
        18 => {
            let outlooks = [
                None,
                None,
                Some(Retryable::Transient),
                Some(Retryable::Permanent),
            ];
            world.refuses.set(outlooks[dice.place(4)]);
        }
        _ => {}
    }
    match dice.below(10) {
        0..=4 => {}
        5..=8 => sleep(Duration::from_millis(dice.below(30))).await,
        _ => sleep(Duration::from_millis(dice.below(700))).await,
    }
    settle().await;
    assert_no_caller_is_stuck(pool);
}

async fn run(seed: u64, steps: u64) -> (u64, u64) {
    let world = Rc::new(World::new(seed));
    let settings = Settings {
        min: 0,
        max: MAX,
        acquire_timeout: ACQUIRE,
        waiting_max: 10_000,
        lifetime: Duration::from_secs(20),
        idle: Duration::from_secs(2),
        silence_max: Duration::from_secs(10),
    };
    let pool = ConnectionPool::new(Model(Rc::clone(&world)), None, settings);
    let mut tasks = Vec::new();
    for number in 0..steps {
        step(&world, &pool, &mut tasks, number).await;
        for task in tasks.extract_if(.., |task| task.is_finished()) {
            let ended = task.await;
            assert!(
                ended.as_ref().err().is_none_or(|error| !error.is_panic()),
                "{ended:?}"
            );
        }
    }
    world.refuses.set(None);
    while !world.leases.borrow().is_empty() {
        world.leave(0);
        settle().await;
    }
    sleep(ACQUIRE * 4).await;
    while !world.leases.borrow().is_empty() {
        world.leave(0);
    }
    sleep(ACQUIRE).await;
    let figures = pool.figures();
    assert_eq!((figures.waiting, figures.busy), (0, 0), "{figures:?}");
    assert_eq!(figures.open, world.alive.get(), "a connection was lost");
    let mut all = Vec::new();
    for _ in 0..MAX {
        all.push(pool.exclusive().await.expect("all can be had again"));
    }
    drop(all);
    drop(pool);
    sleep(Duration::from_secs(2)).await;
    assert_eq!(world.alive.get(), 0, "the pool's end closes all");
    (world.served.get(), world.timed_out.get())
}

#[test]
fn caller_never_waits_while_a_connection_is_free() {
    for seed in 1..=40_u64 {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        let seed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            tokio::task::LocalSet::new().block_on(&runtime, run(seed, 1_000))
        }));
        let (served, timed_out) = ran.unwrap_or_else(|_| panic!("seed {seed}"));
        assert!(
            served > 100 && timed_out > 0,
            "{served} served, {timed_out} too late"
        );
    }
}

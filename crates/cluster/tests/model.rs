//! Leases against a model of an engine, in random orders: holders that stand still, answers that come late or never, clocks that run at
//! different speeds, a server whose clock is set. Every failure names its seed. `TSUMUGI_LEASE_HISTORIES` says how many histories.

use std::time::Duration;

use tsumugi_cluster::{BootTime, LeaseState};
use tsumugi_testkit::Dice;

const TTL_MS: u64 = 1_000;
const TTL: Duration = Duration::from_millis(TTL_MS);
const STEPS: usize = 600;

/// The record of the one lease, by the engine's clock.
#[derive(Default)]
struct Record {
    token: i64,
    holder: Option<u64>,
    expires_at: u64,
}

#[derive(Clone, Copy, Debug)]
enum Question {
    Take { holder: u64 },
    Renew { holder: u64, token: i64 },
    Release { holder: u64 },
}

#[derive(Clone, Copy, Debug)]
enum Answer {
    Granted(i64),
    Busy,
    Renewed(bool),
    Released,
    /// There will be none: the connection has gone.
    Lost,
}

impl Record {
    /// What the statements of the engines do.
    fn decide(&mut self, question: Question, now: u64) -> Answer {
        match question {
            Question::Take { holder } => {
                let is_free = self.holder.is_none_or(|held| held == holder);
                if !is_free && now < self.expires_at {
                    return Answer::Busy;
                }
                self.token += 1;
                self.holder = Some(holder);
                self.expires_at = now + TTL_MS;
                Answer::Granted(self.token)
            }
            Question::Renew { holder, token } => {
                let is_own = self.holder == Some(holder) && self.token == token;
                let is_renewed = is_own && now < self.expires_at;
                if is_renewed {
                    self.expires_at = now + TTL_MS;
                }
                Answer::Renewed(is_renewed)
            }
            Question::Release { holder } => {
                if self.holder == Some(holder) {
                    self.holder = None;
                    self.expires_at = now;
                }
                Answer::Released
            }
        }
    }
}

/// One process.
struct Contender {
    state: LeaseState,
    /// The text by which the engine knows its lease of now.
    holder: u64,
    /// What its clock shows when the model's shows 0, and its speed in thousandths.
    offset: u64,
    speed: u64,
    paused_until: u64,
    /// Questions under way with their numbers, which the engine hears in any order.
    questions: Vec<(u64, Question)>,
    /// The answer to the question that it waits for.
    answer: Option<Answer>,
    /// The number of the question that it waits for, and when it was asked by the model's clock.
    awaited: Option<(u64, u64)>,
}

impl Contender {
    fn clock(&self, now: u64) -> BootTime {
        BootTime::since_start(Duration::from_millis(
            self.offset + now * self.speed / 1_000,
        ))
    }

    /// There was no answer.
    fn give_up(&mut self, now: BootTime) {
        self.state.take_unanswered(now);
        self.state.renew_unanswered(now);
    }

    fn token(&mut self, now: u64) -> Option<i64> {
        let now = self.clock(now);
        self.state.token(now)
    }
}

struct World {
    dice: Dice,
    now: u64,
    /// What the server's clock is ahead; it is only set in some histories.
    server_ahead: u64,
    record: Record,
    contenders: Vec<Contender>,
    holders: u64,
    /// The number of the last question.
    asked: u64,
    last_token: i64,
    /// The token of the last write that the store took.
    written: i64,
    /// How often a contender was found to hold the lease.
    held: usize,
}

impl World {
    fn new(seed: u64) -> World {
        let dice = Dice::new(seed);
        let count = 2 + dice.below(2);
        let contender = |number| Contender {
            state: LeaseState::new(TTL),
            holder: number,
            offset: dice.below(1_000_000),
            speed: 980 + dice.below(41),
            paused_until: 0,
            questions: Vec::new(),
            answer: None,
            awaited: None,
        };
        World {
            contenders: (0..count).map(contender).collect(),
            dice,
            now: 0,
            server_ahead: 0,
            record: Record::default(),
            holders: count,
            asked: 0,
            last_token: 0,
            written: 0,
            held: 0,
        }
    }

    /// Sends a question; one that is awaited gets its answer, if any comes.
    fn ask(&mut self, index: usize, question: Question, is_awaited: bool) {
        self.asked += 1;
        let contender = &mut self.contenders[index];
        contender.questions.push((self.asked, question));
        if is_awaited {
            contender.awaited = Some((self.asked, self.now));
        }
    }

    /// The engine hears one question of this contender, whenever it was asked.
    fn hear(&mut self, index: usize) {
        let contender = &mut self.contenders[index];
        if contender.questions.is_empty() {
            return;
        }
        let place = self.dice.place(contender.questions.len());
        let (number, question) = contender.questions.swap_remove(place);
        let answer = self.record.decide(question, self.now + self.server_ahead);
        if let Answer::Granted(token) = answer {
            assert!(token > self.last_token, "tokens grow");
            self.last_token = token;
        }
        // Nobody waits for the answer to a question that was given up.
        if contender
            .awaited
            .is_some_and(|(awaited, _)| awaited == number)
        {
            let is_lost = self.dice.one_in(8);
            contender.answer = Some(if is_lost { Answer::Lost } else { answer });
        }
    }

    /// The contender gets the answer that is there.
    fn receive(&mut self, index: usize) {
        let contender = &mut self.contenders[index];
        let now = contender.clock(self.now);
        let Some(answer) = contender.answer.take() else {
            return;
        };
        contender.awaited = None;
        match answer {
            Answer::Granted(token) => {
                contender.state.take_granted(now, token);
            }
            Answer::Busy => contender.state.take_refused(),
            Answer::Renewed(true) => contender.state.renewed(now),
            Answer::Renewed(false) => contender.state.renew_refused(),
            Answer::Released => {}
            Answer::Lost => contender.give_up(now),
        }
    }

    /// The contender does what is to be done next.
    fn act(&mut self, index: usize) {
        let now = self.now;
        let contender = &mut self.contenders[index];
        let (clock, holder) = (contender.clock(now), contender.holder);
        if let Some((_, asked_at)) = contender.awaited {
            // It waits no longer than the lease lasts; the question may be heard all the same.
            if now - asked_at > TTL_MS {
                contender.awaited = None;
                contender.answer = None;
                contender.give_up(clock);
            }
        } else if let Some(token) = contender.state.token(clock) {
            if contender.state.renew_sent(clock) {
                self.ask(index, Question::Renew { holder, token }, true);
            } else if self.dice.one_in(20) {
                self.contenders[index].state.end();
                self.begin_anew(index);
            }
        } else if contender.state.is_lost(clock) {
            self.begin_anew(index);
        } else {
            contender.state.take_sent(clock);
            self.ask(index, Question::Take { holder }, true);
        }
    }

    /// Gives back what it may have, and is another holder from now on.
    fn begin_anew(&mut self, index: usize) {
        let holder = self.contenders[index].holder;
        self.ask(index, Question::Release { holder }, false);
        let contender = &mut self.contenders[index];
        contender.state = LeaseState::new(TTL);
        contender.answer = None;
        contender.awaited = None;
        contender.holder = self.holders;
        self.holders += 1;
    }

    fn step(&mut self, sets_clock: bool) {
        let index = self.dice.place(self.contenders.len());
        let is_paused = self.now < self.contenders[index].paused_until;
        match self.dice.below(10) {
            0 | 1 => self.now += self.dice.below(TTL_MS / 8),
            2 | 3 => self.hear(index),
            4 if self.dice.one_in(10) => {
                let pause = self.dice.below(TTL_MS * 3);
                self.contenders[index].paused_until = self.now + pause;
            }
            5 if sets_clock && self.dice.one_in(10) => {
                self.server_ahead = self.dice.below(TTL_MS * 5);
            }
            6 | 7 if !is_paused => self.receive(index),
            _ if !is_paused => self.act(index),
            _ => {}
        }
    }

    /// Every holder writes, with its token, to a store that refuses a token below one that it has seen.
    fn write(&mut self) -> Vec<i64> {
        let now = self.now;
        let tokens = self.contenders.iter_mut().filter_map(|one| one.token(now));
        let tokens: Vec<i64> = tokens.collect();
        for token in &tokens {
            self.written = self.written.max(*token);
        }
        self.held += tokens.len();
        tokens
    }
}

fn histories() -> u64 {
    let chosen = std::env::var("TSUMUGI_LEASE_HISTORIES").ok();
    chosen.and_then(|text| text.parse().ok()).unwrap_or(3_000)
}

#[test]
fn at_most_one_contender_believes_in_the_lease_at_any_time_and_its_write_is_never_refused() {
    let mut held = 0;
    for seed in 0..histories() {
        let mut world = World::new(seed);
        for step in 0..STEPS {
            world.step(false);
            let written = world.written;
            let tokens = world.write();
            assert!(
                tokens.len() <= 1,
                "seed {seed}, step {step}: held with {tokens:?}"
            );
            assert!(
                tokens.iter().all(|token| *token >= written),
                "seed {seed}, step {step}: {tokens:?} after {written}"
            );
        }
        held += world.held;
    }
    // Else nothing was tested.
    assert!(held > 10_000, "{held}");
}

#[test]
fn tokens_tell_holders_apart_when_the_servers_clock_is_set() {
    let mut together = 0;
    for seed in 0..histories() {
        let mut world = World::new(seed);
        for step in 0..STEPS {
            world.step(true);
            let tokens = world.write();
            let mut different = tokens.clone();
            different.sort_unstable();
            different.dedup();
            // `hear` asserts that they grow.
            assert_eq!(
                different.len(),
                tokens.len(),
                "seed {seed}, step {step}: {tokens:?}"
            );
            together += usize::from(tokens.len() > 1);
        }
    }
    // A clock that is set ahead does let two believe; that is what the tokens are for.
    assert!(together > 0);
}

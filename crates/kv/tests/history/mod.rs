//! What many clients see at once, and a search for an order in which one after another could have seen it. Knows no database.
//! Rule: a history holds every call with the moments it began and ended, as its client saw them.

use std::collections::HashSet;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use bytes::Bytes;
use tsumugi_testkit::Dice;

const CLIENTS: u64 = 16;
const CALLS: u64 = 6;
/// Places a search may visit; a history that takes more is not decided, which must be rare.
const PLACES_MAX: usize = 400_000;

/// Two records that are one object: calls may concern one of them or both.
pub type State = [Option<Bytes>; 2];

#[derive(Clone, Debug)]
pub enum Call {
    Get(usize),
    Set(usize, Bytes),
    Remove(usize),
    Append(usize, Bytes),
    Increment(usize),
    Exchange(usize, Option<Bytes>, Bytes),
    /// Both records are as expected and get the same value.
    ExchangeBoth(State, Bytes),
    /// The first record gets the key of the second.
    Rekey,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Done,
    Missing,
    Value(Option<Bytes>),
    Number(i64),
    NotANumber,
    Exchanged(Option<Bytes>),
    Mismatch(Option<Bytes>),
    /// The answer was lost: the call took place at some moment after it began, or never.
    Unknown,
}

#[derive(Debug)]
pub struct Event {
    pub began: u64,
    pub ended: u64,
    pub call: Call,
    pub answer: Answer,
}

/// What a call answers and leaves when nobody else is there: the specification.
fn apply(state: &State, call: &Call) -> (Answer, State) {
    let mut after = state.clone();
    let answer = match call {
        Call::Get(at) => Answer::Value(state[*at].clone()),
        Call::Set(at, value) => {
            after[*at] = Some(value.clone());
            Answer::Done
        }
        Call::Remove(at) => match after[*at].take() {
            Some(_) => Answer::Done,
            None => Answer::Missing,
        },
        Call::Append(at, value) => {
            let before = state[*at].clone().unwrap_or_default();
            after[*at] = Some([before, value.clone()].concat().into());
            Answer::Done
        }
        Call::Increment(at) => {
            let before = state[*at]
                .as_ref()
                .map_or(Ok([0; 8]), |value| value[..].try_into());
            match before.map(i64::from_be_bytes) {
                Ok(number) => {
                    after[*at] = Some(Bytes::copy_from_slice(&(number + 1).to_be_bytes()));
                    Answer::Number(number + 1)
                }
                Err(_) => Answer::NotANumber,
            }
        }
        Call::Exchange(at, expected, value) if state[*at] == *expected => {
            after[*at] = Some(value.clone());
            Answer::Exchanged(expected.clone())
        }
        Call::Exchange(at, ..) => Answer::Mismatch(state[*at].clone()),
        Call::ExchangeBoth(expected, value) if state == expected => {
            after = [Some(value.clone()), Some(value.clone())];
            Answer::Done
        }
        Call::ExchangeBoth(..) => Answer::Mismatch(None),
        Call::Rekey => match after[0].take() {
            Some(value) => {
                after[1] = Some(value);
                Answer::Done
            }
            None => Answer::Missing,
        },
    };
    (answer, after)
}

/// The calls of a history that an order has taken so far, as bits.
type CallSet = Vec<u128>;

/// Wing and Gong's search for an order: takes any call that began before all others left have ended, if it then answers as it
/// did, and goes on from there. Places that lead nowhere are remembered.
struct Search<'a> {
    /// In the order they ended, which is often the one that is looked for.
    history: &'a [Event],
    taken: CallSet,
    seen: HashSet<(CallSet, State)>,
}

impl Search<'_> {
    fn goes_on(&mut self, state: &State) -> bool {
        let history = self.history;
        let left: Vec<usize> = (0..history.len())
            .filter(|at| (self.taken[at / 128] >> (at % 128)) & 1 == 0)
            .collect();
        let Some(first_end) = left.iter().map(|at| history[*at].ended).min() else {
            return true;
        };
        // What nobody has an answer to need not have taken place.
        if first_end == u64::MAX {
            return true;
        }
        let is_new = self.seen.insert((self.taken.clone(), state.clone()));
        if !is_new || self.seen.len() > PLACES_MAX {
            return false;
        }
        let fitting: Vec<(usize, State)> = left
            .into_iter()
            .filter(|at| history[*at].began < first_end)
            .filter_map(|at| {
                let (answer, after) = apply(state, &history[at].call);
                let fits = answer == history[at].answer || history[at].answer == Answer::Unknown;
                fits.then_some((at, after))
            })
            .collect();
        // What by its answer changed nothing may be put here if it has a place at all: it keeps nobody from going on.
        let is_read = |at: usize| {
            !matches!(
                history[at].answer,
                Answer::Done | Answer::Number(_) | Answer::Exchanged(_) | Answer::Unknown
            )
        };
        if let Some((at, after)) = fitting.iter().find(|(at, _)| is_read(*at)) {
            return self.with(*at, after);
        }
        fitting.into_iter().any(|(at, after)| self.with(at, &after))
    }

    fn with(&mut self, at: usize, after: &State) -> bool {
        self.taken[at / 128] ^= 1 << (at % 128);
        let found = self.goes_on(after);
        self.taken[at / 128] ^= 1 << (at % 128);
        found
    }
}

/// Whether there is an order; `None` when the search was given up.
pub fn has_order(history: &mut [Event]) -> Option<bool> {
    history.sort_by_key(|event| event.ended);
    let mut search = Search {
        history,
        taken: vec![0; history.len().div_ceil(128)],
        seen: HashSet::new(),
    };
    let found = search.goes_on(&[None, None]);
    (found || search.seen.len() <= PLACES_MAX).then_some(found)
}

/// A call that fits what the client saw last, so that exchanges succeed now and then.
fn make_up(dice: &Dice, seen: &State, client: u64) -> Call {
    let at = dice.place(2);
    let value = Bytes::from(format!("{client}.{}", dice.below(1 << 14)));
    match dice.below(20) {
        0..6 => Call::Get(at),
        6 => Call::Set(at, Bytes::from_static(&[0; 8])),
        7 => Call::Remove(at),
        8..10 => Call::Append(at, value),
        10..13 => Call::Increment(at),
        13..17 => Call::Exchange(at, seen[at].clone(), value),
        17..19 => Call::ExchangeBoth(seen.clone(), value),
        _ => Call::Rekey,
    }
}

/// A history of all clients, each with a caller of its own on a thread of its own.
pub fn record<C>(round: u64, caller: impl Fn() -> C + Sync) -> Vec<Event>
where
    C: FnMut(&[Bytes; 2], &Call) -> Answer,
{
    let keys = [0, 1].map(|at| Bytes::from(format!("{round}:{at}")));
    let clock = AtomicU64::new(0);
    let start = Barrier::new(CLIENTS as usize);
    let client = |client: u64| {
        let dice = Dice::new(round * CLIENTS + client);
        let mut seen = [None, None];
        let mut events = Vec::new();
        let mut perform = caller();
        start.wait();
        for _ in 0..CALLS {
            let call = make_up(&dice, &seen, client);
            let began = clock.fetch_add(1, SeqCst);
            let answer = perform(&keys, &call);
            let ended = match answer {
                Answer::Unknown => u64::MAX,
                _ => clock.fetch_add(1, SeqCst),
            };
            match (&call, &answer) {
                (Call::Get(at), Answer::Value(value))
                | (Call::Exchange(at, ..), Answer::Mismatch(value)) => seen[*at].clone_from(value),
                _ => {}
            }
            events.push(Event {
                began,
                ended,
                call,
                answer,
            });
        }
        events
    };
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                scope.spawn({
                    let client = &client;
                    move || client(number)
                })
            })
            .collect();
        clients
            .into_iter()
            .flat_map(|client| client.join().unwrap())
            .collect()
    })
}

/// Records so many histories, and looks for an order of each.
pub fn check<C>(rounds: u64, caller: impl Fn() -> C + Sync)
where
    C: FnMut(&[Bytes; 2], &Call) -> Answer,
{
    let mut undecided = 0;
    for round in 0..rounds {
        let mut history = record(round, &caller);
        match has_order(&mut history) {
            Some(true) => {}
            Some(false) => panic!("round {round} has no order: {history:#?}"),
            None => undecided += 1,
        }
    }
    println!("{undecided} of {rounds} histories were not decided");
    assert!(undecided * 10 <= rounds);
}

/// How many, if the environment does not say otherwise.
pub fn rounds(short: u64) -> u64 {
    std::env::var("LINEAR_ROUNDS").map_or(short, |rounds| rounds.parse().unwrap())
}

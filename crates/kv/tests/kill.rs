//! What is left when the process is killed: a child writes and says what was acknowledged, and is killed at some moment.
//! KILL_ROUNDS sets how often, KILL_MS how long a round lasts at most. Rule: the parent trusts only what it read from the pipe.

#![cfg(feature = "disk")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::time::Duration;

use bytes::Bytes;
use tsumugi_kv::{Desired, Durability, Expected, KeyRange, KvDatabase, Spec, Write, WriteResult};

const THREADS: u64 = 4;
/// A thread removes what it wrote this many writes before.
const KEPT: u64 = 400;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().unwrap())
}

fn key(thread: u64, number: u64) -> Bytes {
    format!("t{thread}:{number:08}").into()
}

/// Some short, some long enough for journals to be changed and tables to be written in seconds.
fn value(thread: u64, number: u64) -> Bytes {
    let length = match number % 16 {
        0 => 20_000,
        n => n * 10,
    };
    let mut value = format!("{thread}-{number}-").into_bytes();
    value.resize(value.len() + length as usize, b'a' + (number % 26) as u8);
    value.into()
}

fn pair(thread: u64, side: &str) -> Bytes {
    format!("pair{thread}:{side}").into()
}

/// One step of a thread: a record, the removal of an old one, a counter, and two records that are always the same.
fn step(kv: &KvDatabase, thread: u64, number: u64) {
    kv.submit_wait(Write::set(key(thread, number), value(thread, number)))
        .unwrap();
    let both = [pair(thread, "left"), pair(thread, "right")];
    let expected = match number {
        0 => Expected::Absent,
        _ => Expected::Value((number - 1).to_string().into()),
    };
    let exchange = Write::CompareExchangeMulti {
        expected: vec![(both[0].clone(), expected)],
        desired: both
            .map(|key| (key, Desired::Put(number.to_string().into(), None)))
            .into(),
    };
    let add = Write::Increment {
        key: format!("counter{thread}").into(),
        by: 1,
        initial: 0,
    };
    let mut writes = vec![add];
    if number >= KEPT {
        writes.push(Write::remove(key(thread, number - KEPT)));
    }
    // In flight together: they share commits with those of other threads.
    let pending = kv.submit(Write::Batch(writes));
    let exchanged = kv.submit_wait(exchange).unwrap();
    assert!(matches!(exchanged, WriteResult::Done), "{exchanged:?}");
    pending.wait().unwrap();
}

fn counter(kv: &KvDatabase, thread: u64) -> u64 {
    let stored = kv.get(format!("counter{thread}").as_bytes()).unwrap();
    stored.map_or(0, |value| u64::from_be_bytes(value[..].try_into().unwrap()))
}

/// Not a test by itself: what the child does, until it is killed.
#[test]
fn child_process_writes_until_it_is_killed() {
    let Ok(text) = std::env::var("KILL_CHILD") else {
        return;
    };
    let spec: Spec = text.parse().unwrap();
    let kv = KvDatabase::open(&spec).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let kv = &kv;
            scope.spawn(move || {
                let mut number = counter(kv, thread);
                loop {
                    step(kv, thread, number);
                    // One write, so that no line is torn.
                    let line = format!("ack {thread} {number}\n");
                    std::io::stderr().write_all(line.as_bytes()).unwrap();
                    number += 1;
                }
            });
        }
    });
}

/// Lets a child write for a while and kills it; returns the last number each thread had acknowledged.
fn kill_after(spec: &Spec, after: Duration) -> BTreeMap<u64, u64> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "child_process_writes_until_it_is_killed",
            "--nocapture",
        ])
        .env("KILL_CHILD", spec.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut acknowledged = BTreeMap::new();
    let mut take = |line: String| {
        let Some(numbers) = line.strip_prefix("ack ") else {
            panic!("the child says {line}");
        };
        let (thread, number) = numbers.split_once(' ').unwrap();
        acknowledged.insert(thread.parse().unwrap(), number.parse().unwrap());
    };
    // The time runs from the first acknowledgement: opening takes some itself.
    take(lines.next().expect("the child writes").unwrap());
    let killer = std::thread::spawn(move || {
        std::thread::park_timeout(after);
        child.kill().unwrap();
        child.wait().unwrap();
    });
    lines.map_while(Result::ok).for_each(&mut take);
    killer.join().unwrap();
    acknowledged
}

/// All that was acknowledged is there, what was not is there whole or not at all, and the count is exact.
fn check(kv: &KvDatabase, acknowledged: &BTreeMap<u64, u64>) {
    let mut records = 0;
    for thread in 0..THREADS {
        let counted = counter(kv, thread);
        let last = acknowledged.get(&thread).copied();
        let done = last.map_or(0, |last| last + 1);
        assert!(
            (done..=done + 1).contains(&counted),
            "thread {thread}: {counted}, {last:?}"
        );
        let [left, right] = ["left", "right"].map(|side| kv.get(&pair(thread, side)).unwrap());
        assert_eq!(left, right, "an exchange of two records was torn apart");
        let last_pair = left.map(|value| str::from_utf8(&value).unwrap().parse::<u64>().unwrap());
        assert!(last_pair >= last, "{last_pair:?} {last:?}");
        for number in done.saturating_sub(KEPT + 1)..=done {
            let found = kv.get(&key(thread, number)).unwrap();
            let must = number < done && number + KEPT > done;
            assert!(
                found.is_some() || !must,
                "thread {thread}: {number} of {done} is lost"
            );
            let is_right = found.is_none_or(|found| found == value(thread, number));
            assert!(is_right, "thread {thread}: {number} is another value");
        }
        assert!(done < KEPT + 1 || kv.get(&key(thread, done - KEPT - 1)).unwrap().is_none());
    }
    let mut range = KeyRange::all();
    loop {
        let page = kv.page(&range, 1_000).unwrap();
        let Some((last, _)) = page.last() else { break };
        range = range.after(last.clone());
        records += page.len() as u64;
    }
    assert_eq!(kv.count().unwrap(), records);
}

/// Goes on from what the child left, so that every thread stands between two steps again, and tells which.
fn mend(kv: &KvDatabase, standing: &mut BTreeMap<u64, u64>) {
    for thread in 0..THREADS {
        let counted = counter(kv, thread);
        for side in ["left", "right"] {
            let write = match counted {
                0 => Write::remove(pair(thread, side)),
                _ => Write::set(pair(thread, side), (counted - 1).to_string()),
            };
            kv.submit_wait(write).unwrap();
        }
        if counted > 0 {
            let number = counted - 1;
            standing.insert(thread, number);
            kv.submit_wait(Write::set(key(thread, number), value(thread, number)))
                .unwrap();
        }
        if counted > KEPT {
            kv.submit_wait(Write::remove(key(thread, counted - 1 - KEPT)))
                .unwrap();
        }
    }
}

fn rounds(durability: Durability, rounds: u64) {
    let folder = tempfile::tempdir().unwrap();
    let spec = Spec::disk(folder.path().join("kv"), durability);
    let longest = setting("KILL_MS", 600);
    let dice = tsumugi_testkit::Dice::new(1);
    // What each thread had acknowledged last, in this round or before: one that was killed early may have done nothing.
    let mut acknowledged = BTreeMap::new();
    for round in 0..rounds {
        let after = Duration::from_millis(dice.below(longest));
        acknowledged.extend(kill_after(&spec, after));
        let kv = KvDatabase::open(&spec).unwrap();
        check(&kv, &acknowledged);
        mend(&kv, &mut acknowledged);
        let total = acknowledged.values().sum::<u64>();
        assert!(kv.close());
        println!("{durability}: round {round}, killed after {after:?}, {total} steps so far");
    }
    assert!(!acknowledged.is_empty());
}

#[test]
fn acknowledged_write_survives_a_killed_process() {
    let count = setting("KILL_ROUNDS", 6);
    rounds(Durability::Process, count - count / 2);
    rounds(Durability::Disk, count / 2);
}

//! Any sequence of writes has the same answers in Redis as in a store in memory.

use std::time::Duration;

use bytes::Bytes;
use tsumugi_kv::{Desired, Expected, Lifetime, RekeySource, SetMode, Write};
use tsumugi_stores::{Error, Store};
use tsumugi_testkit::Dice;
use tsumugi_testkit::redis::{RedisCluster, RedisServer};

use crate::{memory, open, run};

const KEYS: [&str; 5] = ["{t}a", "{t}b", "{t}\0\r\n", "{t}花", "{t}"];
const LONG: Duration = Duration::from_secs(1_000);

fn value(dice: &Dice) -> Bytes {
    let values: [&[u8]; 5] = [b"", b"v", &[0; 8], &[0xff; 8], b"\r\n$-1\r\n\0\xff"];
    Bytes::from_static(dice.pick(&values))
}

fn key(dice: &Dice) -> Bytes {
    Bytes::from_static(dice.pick(&KEYS).as_bytes())
}

fn ttl(dice: &Dice) -> Option<Duration> {
    dice.one_in(2).then_some(LONG)
}

fn mode(dice: &Dice) -> SetMode {
    dice.pick(&[SetMode::Overwrite, SetMode::IfAbsent])
}

fn expected(dice: &Dice) -> Expected {
    match dice.below(3) {
        0 => Expected::Absent,
        1 => Expected::Any,
        _ => Expected::Value(value(dice)),
    }
}

fn desired(dice: &Dice) -> Desired {
    match dice.below(4) {
        0 => Desired::Keep,
        1 => Desired::Remove,
        _ => Desired::Put(value(dice), ttl(dice)),
    }
}

fn write(dice: &Dice) -> Write {
    match dice.below(10) {
        0 | 1 => Write::Set {
            key: key(dice),
            value: value(dice),
            mode: mode(dice),
            ttl: ttl(dice),
        },
        2 => Write::Remove { key: key(dice) },
        3 => Write::Append {
            key: key(dice),
            value: value(dice),
            delimiter: dice.pick(&["", ","]).into(),
        },
        4 => Write::Increment {
            key: key(dice),
            by: dice.pick(&[1, -1, i64::MAX, i64::MIN, 255, 1 << 40]),
            initial: dice.pick(&[0, -1, i64::MAX]),
        },
        5 => Write::CompareExchange {
            key: key(dice),
            expected: expected(dice),
            desired: desired(dice),
        },
        6 => Write::CompareExchangeMulti {
            expected: (0..dice.below(3))
                .map(|_| (key(dice), expected(dice)))
                .collect(),
            desired: (0..1 + dice.below(3))
                .map(|_| (key(dice), desired(dice)))
                .collect(),
        },
        7 => Write::Rekey {
            old: key(dice),
            new: key(dice),
            mode: mode(dice),
            source: dice.pick(&[RekeySource::Move, RekeySource::Copy]),
        },
        8 => Write::Touch {
            key: key(dice),
            ttl: ttl(dice),
        },
        _ => Write::Batch(vec![
            Write::set(key(dice), value(dice)),
            Write::remove(key(dice)),
        ]),
    }
}

/// Errors are told by their kind, since an engine's name is in their text.
fn shown<T: std::fmt::Debug>(answer: Result<T, Error>) -> String {
    match answer {
        Ok(answer) => format!("{answer:?}"),
        Err(Error::Kv(error)) => error.to_string(),
        Err(error) => panic!("{error}"),
    }
}

fn kind(lifetime: Option<Lifetime>) -> &'static str {
    match lifetime {
        None => "missing",
        Some(Lifetime::Unlimited) => "for ever",
        Some(Lifetime::Left(left)) if left <= LONG && left > LONG / 2 => "for a while",
        Some(Lifetime::Left(left)) => panic!("{left:?} are left"),
    }
}

async fn compare(redis: &Store, seed: u64) {
    let dice = Dice::new(seed);
    let memory = memory();
    for step in 0..400 {
        let write = write(&dice);
        let context = format!("seed {seed}, step {step}: {write:?}");
        let expected = shown(memory.write(write.clone()).await);
        assert_eq!(shown(redis.write(write).await), expected, "{context}");
        if step % 20 == 0 {
            let keys = || KEYS.map(Bytes::from).to_vec();
            let there = memory.records(keys()).await.unwrap();
            assert_eq!(redis.records(keys()).await.unwrap(), there, "{context}");
            for key in KEYS {
                assert_eq!(
                    redis.get(key).await.unwrap(),
                    memory.get(key).await.unwrap(),
                    "{context}"
                );
                let left = kind(redis.lifetime(key).await.unwrap());
                assert_eq!(left, kind(memory.lifetime(key).await.unwrap()), "{context}");
            }
        }
    }
}

#[test]
fn any_writes_answer_as_in_memory_on_one_server() {
    let server = RedisServer::start(&[]);
    run(async {
        for seed in 0..5 {
            let store = open(&format!("{}?prefix={seed}:", server.url())).await;
            compare(&store, seed).await;
        }
    });
}

#[test]
fn any_writes_of_one_slot_answer_as_in_memory_in_a_cluster() {
    let cluster = RedisCluster::start();
    run(async {
        for seed in 10..13 {
            let store = open(&format!("{}?prefix={seed}:", cluster.url())).await;
            compare(&store, seed).await;
        }
    });
}

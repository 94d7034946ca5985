//! Random writes and reads beside a sorted map.

use std::collections::BTreeMap;
use std::ops::Bound;

use bytes::Bytes;
use tsumugi_kv::{Desired, Expected, Range, RekeySource, Seek, SetMode, Write};

use crate::engines::each_engine;

/// Random numbers that are the same each time (xorshift).
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    pub fn key(&mut self) -> Bytes {
        Bytes::from(format!("k{}", self.below(40)))
    }

    pub fn value(&mut self) -> Bytes {
        let length = self.below(30);
        let byte = self.below(256) as u8;
        Bytes::from(vec![byte; length as usize])
    }
}

type Model = BTreeMap<Bytes, Bytes>;

fn put_if(model: &mut Model, key: Bytes, value: Option<Bytes>) {
    match value {
        Some(value) => model.insert(key, value),
        None => model.remove(&key),
    };
}

fn random_exchange(random: &mut Random, model: &mut Model, key: Bytes, value: Bytes) -> Write {
    let there = model.get(&key).cloned();
    let expected = match (random.below(3), &there) {
        (0, _) => Expected::Any,
        (1, _) => Expected::Absent,
        (_, Some(there)) => Expected::Value(there.clone()),
        (_, None) => Expected::Value(value.clone()),
    };
    let fits = match &expected {
        Expected::Any => there.is_some(),
        Expected::Absent => there.is_none(),
        Expected::Value(value) => there.as_ref() == Some(value),
    };
    let desired = (random.below(2) == 0).then(|| value.clone());
    if fits {
        put_if(model, key.clone(), desired.clone());
    }
    let desired = desired.map_or(Desired::Remove, |value| Desired::Put(value, None));
    Write::CompareExchange {
        key,
        expected,
        desired,
    }
}

/// Makes up a write and does to the model what it should do.
fn random_write(random: &mut Random, model: &mut Model) -> Write {
    let key = random.key();
    let value = random.value();
    match random.below(100) {
        0..35 => {
            model.insert(key.clone(), value.clone());
            Write::set(key, value)
        }
        35..50 => {
            model.remove(&key);
            Write::remove(key)
        }
        50..60 => {
            let joined = model.entry(key.clone()).or_default();
            *joined = [&joined[..], &value[..]].concat().into();
            Write::Append {
                key,
                value,
                delimiter: Bytes::new(),
            }
        }
        60..75 => random_exchange(random, model, key, value),
        75..85 => {
            let new = random.key();
            if let Some(value) = model.remove(&key) {
                model.insert(new.clone(), value);
            }
            Write::Rekey {
                old: key,
                new,
                mode: SetMode::Overwrite,
                source: RekeySource::Move,
            }
        }
        85..95 => {
            model.pop_first();
            Write::PopFirst
        }
        95..99 => {
            let writes = (0..5).map(|_| random_write(random, model));
            let flat = writes.flat_map(|write| match write {
                Write::Batch(writes) => writes,
                write => vec![write],
            });
            Write::Batch(flat.collect())
        }
        _ => {
            model.clear();
            Write::Clear
        }
    }
}

#[test]
fn a_database_is_a_sorted_map() {
    each_engine(|kv, _| {
        let mut random = Random(0x9E37_79B9_7F4A_7C15);
        let mut model = Model::new();
        for step in 0..4_000 {
            let write = random_write(&mut random, &mut model);
            kv.submit_wait(write).unwrap();
            assert_eq!(kv.count().unwrap(), model.len() as u64, "step {step}");
            if step % 16 == 0 {
                let pairs = kv.page(&Range::all(), 100).unwrap();
                assert!(
                    pairs.iter().map(|(k, v)| (k, v)).eq(model.iter()),
                    "step {step}"
                );
                let key = random.key();
                assert_eq!(kv.get(&key).unwrap().as_ref(), model.get(&key));
                let after = model
                    .range::<Bytes, _>((Bound::Excluded(&key), Bound::Unbounded))
                    .next();
                let sought = kv.seek(&Seek::After(key.clone())).unwrap();
                assert_eq!(sought.as_ref().map(|(k, v)| (k, v)), after);
                let before = model.range::<Bytes, _>(..=&key).next_back();
                let sought = kv.seek(&Seek::AtOrBefore(key.clone())).unwrap();
                assert_eq!(sought.as_ref().map(|(k, v)| (k, v)), before);
            }
        }
    });
}

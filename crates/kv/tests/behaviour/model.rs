//! Random writes and reads beside a sorted map.

use std::collections::BTreeMap;
use std::ops::Bound;

use bytes::Bytes;
use tsumugi_kv::{Desired, Expected, KeyRange, RekeySource, Seek, SetMode, Write};
use tsumugi_testkit::Dice;

use crate::engines::each_engine;

pub fn some_key(dice: &Dice) -> Bytes {
    Bytes::from(format!("k{}", dice.below(40)))
}

pub fn some_value(dice: &Dice) -> Bytes {
    Bytes::from(vec![dice.byte(); dice.place(30)])
}

type Model = BTreeMap<Bytes, Bytes>;

fn put_if(model: &mut Model, key: Bytes, value: Option<Bytes>) {
    match value {
        Some(value) => model.insert(key, value),
        None => model.remove(&key),
    };
}

fn random_exchange(dice: &Dice, model: &mut Model, key: Bytes, value: Bytes) -> Write {
    let there = model.get(&key).cloned();
    let expected = match (dice.below(3), &there) {
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
    let desired = (dice.below(2) == 0).then(|| value.clone());
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
fn random_write(dice: &Dice, model: &mut Model) -> Write {
    let key = some_key(dice);
    let value = some_value(dice);
    match dice.below(100) {
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
        60..75 => random_exchange(dice, model, key, value),
        75..85 => {
            let new = some_key(dice);
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
            let writes = (0..5).map(|_| random_write(dice, model));
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
        let dice = Dice::new(1);
        let mut model = Model::new();
        for step in 0..4_000 {
            let write = random_write(&dice, &mut model);
            kv.submit_wait(write).unwrap();
            assert_eq!(kv.count().unwrap(), model.len() as u64, "step {step}");
            if step % 16 == 0 {
                let pairs = kv.page(&KeyRange::all(), 100).unwrap();
                assert!(
                    pairs.iter().map(|(k, v)| (k, v)).eq(model.iter()),
                    "step {step}"
                );
                let key = some_key(&dice);
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

//! Sorting by keys that need no Ruby to be compared: whole numbers, floats, strings. mruby sorts in Ruby, a call for every comparison.
//! Rule: the same order as there, equal keys in the order they came in; whatever else a key is, Ruby sorts.

use std::cmp::Ordering;
use std::ops::Range;

use tsumugi_mruby::{Kind, Result, Scope, Value};

use crate::limits::{SORTED_BYTES_MAX, SORTED_MAX};
use crate::natives::definitions::Natives;

/// The keys of one sort.
enum Keys {
    Integers(Vec<i64>),
    Floats(Vec<f64>),
    /// All bytes, and where each string lies in them.
    Strings(Vec<u8>, Vec<Range<usize>>),
}

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    // `sorted(values, keys)`: the values in the order of their keys, or nil when Ruby has to compare.
    natives.plain("sorted", |_, scope, call| {
        let (values, keys) = (call.argument(0), call.argument(1));
        let count = scope.array_len(keys);
        if count > SORTED_MAX || count != scope.array_len(values) {
            return Ok(Value::nil());
        }
        let Some(keys) = Keys::read(scope, keys, count) else {
            return Ok(Value::nil());
        };
        let order = keys.order(count).into_iter();
        let sorted: Vec<_> = order.map(|at| scope.array_at(values, at)).collect();
        scope.array_of(&sorted)
    })
}

impl Keys {
    /// `None` unless all are of one kind that needs no Ruby, and few enough bytes to be copied.
    fn read(scope: &Scope<'_>, keys: Value<'_>, count: usize) -> Option<Keys> {
        let all = || (0..count).map(|index| scope.array_at(keys, index));
        match scope.array_at(keys, 0).kind() {
            Kind::Integer => {
                let integers =
                    all().map(|key| (key.kind() == Kind::Integer).then(|| key.as_integer())?);
                Some(Keys::Integers(integers.collect::<Option<_>>()?))
            }
            Kind::Float => {
                let floats = all().map(|key| {
                    let float = (key.kind() == Kind::Float).then(|| key.as_float())?;
                    float.filter(|float| !float.is_nan())
                });
                Some(Keys::Floats(floats.collect::<Option<_>>()?))
            }
            Kind::String => {
                let mut bytes = Vec::new();
                let mut ranges = Vec::with_capacity(count);
                for key in all() {
                    if key.kind() != Kind::String {
                        return None;
                    }
                    let start = bytes.len();
                    // One long string may stand in many places.
                    scope.with_bytes(key, |key| {
                        let fits = key.len() <= SORTED_BYTES_MAX - bytes.len();
                        fits.then(|| bytes.extend_from_slice(key))
                    })??;
                    ranges.push(start..bytes.len());
                }
                Some(Keys::Strings(bytes, ranges))
            }
            _ => None,
        }
    }

    /// Places of the keys, the smallest key first.
    fn order(&self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        match self {
            Keys::Integers(integers) => order.sort_by_key(|&at| integers[at]),
            Keys::Floats(floats) => order.sort_by(|&a, &b| {
                // None of them is NaN.
                floats[a].partial_cmp(&floats[b]).unwrap_or(Ordering::Equal)
            }),
            Keys::Strings(bytes, ranges) => {
                order.sort_by(|&a, &b| bytes[ranges[a].clone()].cmp(&bytes[ranges[b].clone()]));
            }
        }
        order
    }
}

//! What an engine promises and what it refuses, as a table for each. Asks no server.
//! Rule: what an engine cannot promise is refused by name before anything is sent, never done halfway.

use bytes::Bytes;
use tsumugi_kv::limits::{KEY_BYTES_MAX, QUEUE_NAME_BYTES_MAX};
use tsumugi_kv::{Desired, Error as KvError, Expected, Write};

use crate::error::{Error, Result};
use crate::limits::KV_MULTI_BYTES_MAX;

/// Something that an application may want of a store, beside reading, setting and removing one record.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// `ttl` of a record, another one, and how much of it is left.
    TimeToLive,
    /// Changes of a prefix as they happen.
    Watch,
    /// Pages of records in the order of their keys.
    Scan,
    /// How many records there are.
    Count,
    /// Keys that fit a pattern.
    Search,
    /// Adding to a number.
    Increment,
    /// Adding to the end of a value.
    Append,
    /// Changing one record on a condition.
    CompareExchange,
    /// Changing several records on conditions, all or none.
    CompareExchangeMulti,
    /// Another key for a record.
    Rekey,
    /// `push` and `pop`, and waiting for what is pushed.
    Queue,
    /// Removing every record.
    Clear,
    /// Waiting until what is acknowledged is on a disk.
    Synchronize,
    /// A copy of the records in a folder.
    Backup,
}

/// What an acknowledged operation means to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consistency {
    /// Every operation takes place at one moment between its call and its answer, through the death of any one server.
    Linearizable,
    /// The same while one server is there; what it acknowledged last may be gone when another takes its place.
    OneServer,
}

/// A number that an engine bounds, and what it is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// Its name in texts.
    pub name: &'static str,
    /// The greatest that is taken.
    pub max: usize,
}

/// The table of one engine.
#[derive(Debug)]
pub struct Capabilities {
    /// The engine in texts: `a store in etcd`.
    pub engine: &'static str,
    /// What its answers mean.
    pub consistency: Consistency,
    /// What it refuses, each with a text that goes behind the engine's name and says what to do instead.
    pub refused: &'static [(Capability, &'static str)],
    /// Bytes of a value.
    pub value_bytes: Bound,
    /// Records that one exchange compares and changes.
    pub exchange_records: Bound,
}

impl Capabilities {
    /// Whether it can do this.
    ///
    /// # Errors
    /// [`Error::Unsupported`] with the table's text.
    pub fn check(&self, wanted: Capability) -> Result<()> {
        match self.refused.iter().find(|(refused, _)| *refused == wanted) {
            None => Ok(()),
            Some((_, reason)) => Err(Error::Unsupported {
                engine: self.engine,
                reason,
            }),
        }
    }

    /// Whether it takes a key of this length.
    ///
    /// # Errors
    /// [`InvalidKey`](KvError::InvalidKey).
    pub fn check_key(&self, key: &[u8]) -> Result<()> {
        match key.len() {
            0..=KEY_BYTES_MAX => Ok(()),
            length => Err(Error::Kv(KvError::InvalidKey {
                length,
                max: KEY_BYTES_MAX,
            })),
        }
    }

    /// Whether it takes a value of this length.
    ///
    /// # Errors
    /// [`Error::ValueTooLong`].
    pub fn check_value(&self, length: usize) -> Result<()> {
        let Bound { name, max } = self.value_bytes;
        match length > max {
            false => Ok(()),
            true => Err(Error::ValueTooLong {
                length,
                max,
                limit: name,
            }),
        }
    }

    /// Whether it can do this write, and takes its keys and values.
    ///
    /// # Errors
    /// As the checks above; [`TooMany`](KvError::TooMany) records in an exchange.
    pub fn check_write(&self, write: &Write) -> Result<()> {
        match write {
            Write::Set {
                key, value, ttl, ..
            } => {
                if ttl.is_some() {
                    self.check(Capability::TimeToLive)?;
                }
                self.check_key(key)?;
                self.check_value(value.len())
            }
            Write::Remove { key } => self.check_key(key),
            Write::Append { key, value, .. } => {
                self.check(Capability::Append)?;
                self.check_key(key)?;
                self.check_value(value.len())
            }
            Write::Increment { key, .. } => {
                self.check(Capability::Increment)?;
                self.check_key(key)
            }
            Write::CompareExchange { key, desired, .. } => {
                self.check(Capability::CompareExchange)?;
                self.check_key(key)?;
                self.check_desired(desired)
            }
            Write::CompareExchangeMulti { expected, desired } => {
                self.check_exchange(expected, desired)
            }
            Write::Rekey { old, new, .. } => {
                self.check(Capability::Rekey)?;
                self.check_key(old)?;
                self.check_key(new)
            }
            Write::Touch { key, .. } => {
                self.check(Capability::TimeToLive)?;
                self.check_key(key)
            }
            Write::PopFirst => self.check(Capability::Queue),
            Write::PushLast { value, .. } => {
                self.check(Capability::Queue)?;
                self.check_value(value.len())
            }
            Write::Pop { queue } => self.check_queue(queue),
            Write::Push { queue, value } => {
                self.check_queue(queue)?;
                self.check_value(value.len())
            }
            // As in a database of this process: what is refused in a part is the part's answer, but what is refused by name is the whole's.
            Write::Batch(writes) => writes.iter().try_for_each(|write| self.check_write(write)),
            Write::Clear => self.check(Capability::Clear),
            _ => Err(Error::Unsupported {
                engine: self.engine,
                reason: "has no such write",
            }),
        }
    }

    fn check_exchange(
        &self,
        expected: &[(Bytes, Expected)],
        desired: &[(Bytes, Desired)],
    ) -> Result<()> {
        self.check(Capability::CompareExchangeMulti)?;
        let Bound { name, max } = self.exchange_records;
        for (what, asked) in [
            ("records to compare", expected.len()),
            ("records to change", desired.len()),
        ] {
            if asked > max {
                return Err(Error::Kv(KvError::TooMany {
                    what,
                    asked,
                    max,
                    limit: name,
                }));
            }
        }
        expected
            .iter()
            .try_for_each(|(key, _)| self.check_key(key))?;
        desired.iter().try_for_each(|(key, desired)| {
            self.check_key(key)?;
            self.check_desired(desired)
        })
    }

    /// Whether the records of one call may have so many bytes.
    ///
    /// # Errors
    /// [`TooMany`](KvError::TooMany).
    pub fn check_bytes(bytes: usize) -> tsumugi_kv::Result<()> {
        match bytes > KV_MULTI_BYTES_MAX {
            false => Ok(()),
            true => Err(KvError::TooMany {
                what: "bytes of records at once",
                asked: bytes,
                max: KV_MULTI_BYTES_MAX,
                limit: "kv_multi_bytes_max",
            }),
        }
    }

    /// Whether there may be a queue of this name.
    ///
    /// # Errors
    /// As [`check`](Self::check); [`TooMany`](KvError::TooMany) bytes in its name.
    pub fn check_queue(&self, name: &[u8]) -> Result<()> {
        self.check(Capability::Queue)?;
        match name.len() {
            0..=QUEUE_NAME_BYTES_MAX => Ok(()),
            asked => Err(Error::Kv(KvError::TooMany {
                what: "bytes in the name of a queue",
                asked,
                max: QUEUE_NAME_BYTES_MAX,
                limit: "QUEUE_NAME_BYTES_MAX",
            })),
        }
    }

    fn check_desired(&self, desired: &Desired) -> Result<()> {
        match desired {
            Desired::Keep | Desired::Remove => Ok(()),
            Desired::Put(value, ttl) => {
                if ttl.is_some() {
                    self.check(Capability::TimeToLive)?;
                }
                self.check_value(value.len())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const TABLE: Capabilities = Capabilities {
        engine: "a store of tests",
        consistency: Consistency::Linearizable,
        refused: &[(Capability::TimeToLive, "takes no ttl")],
        value_bytes: Bound {
            name: "TEST_MAX",
            max: 2,
        },
        exchange_records: Bound {
            name: "TEST_RECORDS_MAX",
            max: 1,
        },
    };

    fn check(write: Write, expected: &str) {
        let outcome = match TABLE.check_write(&write) {
            Ok(()) => "taken".to_owned(),
            Err(error) => error.to_string(),
        };
        assert_eq!(outcome, expected);
    }

    #[test]
    fn value_one_beyond_the_limit_is_refused_with_its_name() {
        check(Write::set("k", "ab"), "taken");
        check(
            Write::set("k", "abc"),
            "the value has 3 bytes, at most 2 (TEST_MAX)",
        );
        check(
            Write::Batch(vec![Write::set("k", "a"), Write::set("k", "abc")]),
            "the value has 3 bytes, at most 2 (TEST_MAX)",
        );
    }

    #[test]
    fn capability_that_is_refused_is_named_with_its_engine() {
        let write = Write::CompareExchange {
            key: "k".into(),
            expected: tsumugi_kv::Expected::Any,
            desired: Desired::Put("v".into(), Some(Duration::from_secs(1))),
        };
        check(write, "a store of tests takes no ttl");
    }

    #[test]
    fn exchange_of_one_record_too_many_is_refused_with_the_limit() {
        let one = || ("k".into(), Desired::Remove);
        let write = |count: usize| Write::CompareExchangeMulti {
            expected: Vec::new(),
            desired: (0..count).map(|_| one()).collect(),
        };
        check(write(1), "taken");
        check(
            write(2),
            "2 records to change, at most 1 (TEST_RECORDS_MAX)",
        );
    }
}

//! Stores in Redis: one server, a master with Sentinels, or a cluster. The protocol is the crate `redis`'s; which server is asked, and whether again, is
//! decided here. Rule: what Redis cannot promise is refused by name, and each write is one step of the server: done whole or not at all.

mod address;
mod channel;
mod client;
mod cluster_engine;
mod link;
mod message_queue;
mod reply_guard;
mod request;
mod scripts;
mod sentinel;
mod servers;
mod shared_link;
mod slots;
mod table;
mod tls;

use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use redis::{Value, cmd};
use tsumugi_kv::{KeyRange, Lifetime, Pair, Write, WriteResult};
use tsumugi_worker::Pool;

pub use self::address::RedisAddress;
use self::address::{RedisServers, Transport};
use self::channel::ChannelHub;
use self::client::RedisClient;
pub(crate) use self::cluster_engine::cluster;
use self::link::Dialer;
use self::request::{AnswerKind, Request, request_of, unexpected};
use self::servers::Servers;
use self::slots::slot_of;
pub(crate) use self::table::CAPABILITIES;
use self::tls::{CertificateFiles, client_config};
use crate::capability::{Capabilities, Capability};
use crate::engine::StoreEngine;
use crate::error::{CallFate, Error, Result};
use crate::limits::{REDIS_READ_KEYS, REDIS_READS_AT_ONCE};
use crate::subscription::StoreSubscription;
use crate::watch::StoreWatch;

/// A store. Clones and stores with the same connection share a client.
#[derive(Clone)]
pub(crate) struct RedisStore {
    client: Rc<RedisClient>,
    hub: Rc<ChannelHub>,
    connection: Rc<ConnectionSettings>,
    prefix: Bytes,
}

/// How servers are reached. Not `Debug`: it holds passwords.
#[derive(Clone, PartialEq, Eq)]
struct ConnectionSettings {
    servers: RedisServers,
    timeout_ms: u64,
    certificates: Option<CertificateFiles>,
}

impl RedisStore {
    /// Asks once whether the server is there and lets the application in. `open` are the stores whose clients may be shared; `configured` is the file
    /// of authorities that holds for all.
    pub(crate) async fn open(
        address: &RedisAddress,
        open: impl Iterator<Item = RedisStore>,
        configured: Option<&Path>,
        pool: &Pool,
    ) -> Result<RedisStore> {
        let certificates = match address.servers.transport {
            Transport::Plain => None,
            Transport::Tls => Some(CertificateFiles {
                authority: address.settings.authority(configured),
                identity: address.identity()?,
            }),
        };
        let connection = ConnectionSettings {
            servers: address.servers.clone(),
            timeout_ms: address.settings.call_ms()?,
            certificates,
        };
        let prefix = address.prefix.clone();
        if let Some(other) = { open }.find(|other| *other.connection == connection) {
            return Ok(RedisStore { prefix, ..other });
        }
        let tls = match connection.certificates.clone() {
            None => None,
            Some(files) => Some(pool.run(move || client_config(&files)).await??),
        };
        let dialer = Dialer {
            login: connection.servers.login.clone(),
            database: connection.servers.database,
            tls,
        };
        let servers = Servers::new(&connection.servers, dialer);
        let client = Rc::new(RedisClient::new(servers, connection.timeout_ms));
        client.call(&Request::read(None, cmd("PING"))).await?;
        Ok(RedisStore {
            hub: ChannelHub::new(Rc::clone(&client)),
            client,
            connection: Rc::new(connection),
            prefix,
        })
    }

    /// The server's key of a record, or its name of a channel.
    fn key(&self, key: &Bytes) -> Bytes {
        match self.prefix.is_empty() {
            true => key.clone(),
            false => [&self.prefix[..], key].concat().into(),
        }
    }

    /// The values of keys of the server that one command may ask for.
    async fn values(&self, keys: &[Bytes]) -> Result<Vec<Option<Bytes>>> {
        let mut command = cmd("MGET");
        for key in keys {
            command.arg(&key[..]);
        }
        let request = Request::read(keys.first().cloned(), command);
        let Value::Array(values) = self.client.call(&request).await? else {
            return Err(unexpected());
        };
        if values.len() != keys.len() {
            return Err(unexpected());
        }
        values.into_iter().map(optional).collect()
    }

    /// Places in `keys` that one command may ask for: in a cluster, of one slot.
    fn groups(&self, keys: &[Bytes]) -> Vec<Vec<usize>> {
        let mut by_slot: HashMap<u16, Vec<usize>> = HashMap::new();
        for (at, key) in keys.iter().enumerate() {
            let slot = match self.client.servers.is_cluster() {
                true => slot_of(key),
                false => 0,
            };
            by_slot.entry(slot).or_default().push(at);
        }
        let parts = by_slot
            .values()
            .flat_map(|places| places.chunks(REDIS_READ_KEYS));
        parts.map(<[usize]>::to_vec).collect()
    }

    /// Each write by itself, in order. All are tried, as in a database of this process, unless the server is gone; then the first error
    /// is reported.
    async fn batch(&self, writes: Vec<Write>) -> Result<WriteResult> {
        let mut each = Vec::with_capacity(writes.len());
        let mut first = None;
        for write in writes {
            match self.write_one(write).await {
                Ok(written) => each.push(Ok(written)),
                Err(error) => {
                    let is_gone =
                        matches!(error, Error::Unavailable { .. } | Error::Deadline { .. });
                    first = first.or(Some(error));
                    if is_gone {
                        break;
                    }
                }
            }
        }
        match first {
            None => Ok(WriteResult::Each(each)),
            Some(error) if each.is_empty() => Err(error),
            // Others have taken place.
            Some(error) => Err(in_part(error)),
        }
    }

    async fn write_one(&self, write: Write) -> Result<WriteResult> {
        let kind = AnswerKind::of(&write);
        let Some(request) = request_of(write, |key| self.key(key)) else {
            return Err(refuse(Capability::Queue));
        };
        kind.read(self.client.call(&request).await?)
    }
}

/// The error of what [`CAPABILITIES`] refuses.
fn refuse(capability: Capability) -> Error {
    match CAPABILITIES.check(capability) {
        Err(error) => error,
        Ok(()) => unexpected(),
    }
}

/// The error of a batch of which a part has taken place.
fn in_part(error: Error) -> Error {
    match error {
        Error::Unavailable { engine, reason, .. } => Error::Unavailable {
            engine,
            reason,
            fate: CallFate::Unknown,
        },
        Error::Deadline {
            engine, limit_ms, ..
        } => Error::Deadline {
            engine,
            limit_ms,
            fate: CallFate::Unknown,
        },
        Error::Server {
            engine, message, ..
        } => Error::Server {
            engine,
            message,
            fate: CallFate::Unknown,
        },
        error => error,
    }
}

fn optional(value: Value) -> Result<Option<Bytes>> {
    match value {
        Value::Nil => Ok(None),
        Value::BulkString(value) => Ok(Some(value.into())),
        _ => Err(unexpected()),
    }
}

impl StoreEngine for RedisStore {
    fn capabilities(&self) -> &'static Capabilities {
        &CAPABILITIES
    }

    async fn get(&self, key: Bytes) -> Result<Option<Bytes>> {
        let key = self.key(&key);
        let mut command = cmd("GET");
        command.arg(&key[..]);
        optional(self.client.call(&Request::read(Some(key), command)).await?)
    }

    async fn lifetime(&self, key: Bytes) -> Result<Option<Lifetime>> {
        let key = self.key(&key);
        let mut command = cmd("PTTL");
        command.arg(&key[..]);
        match self.client.call(&Request::read(Some(key), command)).await? {
            Value::Int(-2) => Ok(None),
            Value::Int(-1) => Ok(Some(Lifetime::Unlimited)),
            Value::Int(ms) => match u64::try_from(ms) {
                // One was added when it was set: see `request::milliseconds`.
                Ok(ms) => {
                    let left = Duration::from_millis(ms.saturating_sub(1));
                    Ok(Some(Lifetime::Left(left)))
                }
                Err(_) => Err(unexpected()),
            },
            _ => Err(unexpected()),
        }
    }

    async fn records(&self, keys: Vec<Bytes>) -> Result<Vec<Pair>> {
        let asked: Vec<Bytes> = keys.iter().map(|key| self.key(key)).collect();
        let groups = stream::iter(self.groups(&asked)).map(|places| {
            let keys = places.iter().filter_map(|at| asked.get(*at).cloned());
            let keys: Vec<Bytes> = keys.collect();
            async move {
                let values = self.values(&keys).await?;
                Ok::<_, Error>(places.into_iter().zip(values).collect::<Vec<_>>())
            }
        });
        let groups: Vec<Vec<_>> = groups
            .buffer_unordered(REDIS_READS_AT_ONCE)
            .try_collect()
            .await?;
        let mut values: Vec<Option<Bytes>> = vec![None; keys.len()];
        for (at, value) in groups.into_iter().flatten() {
            if let Some(place) = values.get_mut(at) {
                *place = value;
            }
        }
        let found = keys.into_iter().zip(values);
        Ok(found
            .filter_map(|(key, value)| Some((key, value?)))
            .collect())
    }

    async fn write(&self, write: Write) -> Result<WriteResult> {
        match write {
            Write::Batch(writes) => self.batch(writes).await,
            write => self.write_one(write).await,
        }
    }

    async fn pop(&self, _queue: Option<Bytes>, _wait: Duration) -> Result<WriteResult> {
        Err(refuse(Capability::Queue))
    }

    async fn page(&self, _range: &KeyRange, _limit: usize) -> Result<Vec<Pair>> {
        Err(refuse(Capability::Scan))
    }

    async fn count(&self) -> Result<u64> {
        Err(refuse(Capability::Count))
    }

    async fn search(&self, _mode: &str, _pattern: Bytes, _limit: usize) -> Result<Vec<Bytes>> {
        Err(refuse(Capability::Search))
    }

    async fn synchronize(&self) -> Result<()> {
        Err(refuse(Capability::Synchronize))
    }

    async fn inspect(&self) -> Result<Vec<(String, String)>> {
        let answer = self.client.call(&Request::read(None, cmd("INFO"))).await?;
        let text = link::text_of(&answer).ok_or_else(unexpected)?;
        let mut shown = vec![("servers".to_owned(), self.connection.servers.to_string())];
        let entries = text.lines().filter_map(|line| line.split_once(':'));
        shown.extend(
            entries
                .filter(|(name, _)| INSPECTED.contains(name))
                .map(|(name, value)| (name.to_owned(), value.trim_end().to_owned())),
        );
        Ok(shown)
    }

    async fn watch(&self, _prefix: Bytes) -> Result<StoreWatch> {
        Err(refuse(Capability::Watch))
    }

    async fn publish(&self, channel: Bytes, message: Bytes) -> Result<()> {
        CAPABILITIES.check_key(&channel)?;
        CAPABILITIES.check_value(message.len())?;
        self.hub.publish(self.key(&channel), &message).await
    }

    async fn subscribe(&self, channel: Bytes) -> Result<StoreSubscription> {
        CAPABILITIES.check_key(&channel)?;
        self.hub.subscribe(self.key(&channel)).await
    }
}

/// What is shown of a server's `INFO`: what it promises, and how full it is.
const INSPECTED: &[&str] = &[
    "redis_version",
    "redis_mode",
    "role",
    "connected_clients",
    "connected_slaves",
    "used_memory",
    "maxmemory",
    "maxmemory_policy",
    "aof_enabled",
    "rdb_last_save_time",
    "evicted_keys",
];

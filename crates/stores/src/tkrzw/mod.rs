//! A store behind a Tkrzw service: what a database of this process does in place is a call of the service here. Its client is
//! `tsumugi-rpc`'s. Rule: times to live, named queues and watches are calls of our own; a server that lacks them is told by name, and sent nothing.

mod address;
mod scan;
mod write;

use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use tsumugi_kv::limits::{EXCHANGE_RECORDS_MAX, VALUE_BYTES_MAX};
use tsumugi_kv::{KeyRange, Lifetime, Pair, Write, WriteResult};
use tsumugi_rpc::client::{Options, Tls};
use tsumugi_rpc::{Client, ClientLimits, RpcTarget};
use tsumugi_wire::Secret;
use tsumugi_worker::Pool;

pub use self::address::TkrzwAddress;
use crate::capability::{Bound, Capabilities, Capability, Consistency};
use crate::engine::StoreEngine;
use crate::error::Result;
use crate::watch::{ChangeSource, StoreWatch};

pub(crate) static CAPABILITIES: Capabilities = Capabilities {
    engine: "a store behind a service",
    consistency: Consistency::OneServer,
    refused: &[(
        Capability::Backup,
        "cannot write a backup to a folder of this machine: open the store in this process for it",
    )],
    value_bytes: Bound {
        name: "VALUE_BYTES_MAX",
        max: VALUE_BYTES_MAX,
    },
    exchange_records: Bound {
        name: "EXCHANGE_RECORDS_MAX",
        max: EXCHANGE_RECORDS_MAX,
    },
};

/// A database of a service, and how its client was made: stores with the same connection share it.
#[derive(Clone)]
pub(crate) struct TkrzwStore {
    client: Client,
    connection: ConnectionSettings,
}

/// How a service is reached. Not `Debug`: a token is a secret.
#[derive(Clone, PartialEq, Eq)]
struct ConnectionSettings {
    target: RpcTarget,
    token: Option<Secret>,
    timeout_ms: Option<u64>,
    authority: Option<PathBuf>,
}

impl TkrzwStore {
    /// Asks once whether there is such a database, and whether it may be used. `open` are the stores whose clients may be shared;
    /// `configured` is the file of authorities that holds for all.
    pub(crate) async fn open(
        address: &TkrzwAddress,
        open: impl Iterator<Item = TkrzwStore>,
        configured: Option<&Path>,
        pool: &Pool,
    ) -> Result<TkrzwStore> {
        let connection = ConnectionSettings {
            target: address.target.clone(),
            token: address.token.clone(),
            timeout_ms: address.timeout_ms,
            authority: address.settings.authority(configured),
        };
        let shared = { open }.find(|other| other.connection == connection);
        let client = match shared {
            Some(other) => other.client,
            None => connect(&connection, pool).await?,
        };
        let client = client.at(address.index);
        client.count().await?;
        Ok(TkrzwStore { client, connection })
    }
}

async fn connect(connection: &ConnectionSettings, pool: &Pool) -> Result<Client> {
    let tls = match (&connection.target, connection.authority.clone()) {
        (RpcTarget::Tls { .. }, Some(authority)) => {
            Some(pool.run(move || Tls::read(&authority, None)).await??)
        }
        _ => None,
    };
    let mut limits = ClientLimits::default();
    if let Some(ms) = connection.timeout_ms {
        limits.call_ms_max = ms;
        limits.connect_ms_max = limits.connect_ms_max.min(ms);
    }
    let token = connection.token.as_ref();
    let options = Options {
        tls,
        token: token.map(|token| token.reveal().to_owned()),
        limits,
    };
    Ok(Client::new(connection.target.clone(), options)?)
}

impl StoreEngine for TkrzwStore {
    fn capabilities(&self) -> &'static Capabilities {
        &CAPABILITIES
    }

    async fn require(&self, wanted: Capability) -> Result<()> {
        match wanted {
            Capability::TimeToLive | Capability::Watch => {
                Ok(self.client.require_own_service().await?)
            }
            _ => Ok(()),
        }
    }

    async fn get(&self, key: Bytes) -> Result<Option<Bytes>> {
        Ok(self.client.get(key).await?)
    }

    async fn lifetime(&self, key: Bytes) -> Result<Option<Lifetime>> {
        Ok(self.client.lifetime(key).await?)
    }

    async fn records(&self, keys: Vec<Bytes>) -> Result<Vec<Pair>> {
        Ok(self.client.records(keys).await?)
    }

    async fn write(&self, write: Write) -> Result<WriteResult> {
        write::apply(&self.client, write).await
    }

    async fn pop(&self, queue: Option<Bytes>, wait: Duration) -> Result<WriteResult> {
        write::pop(&self.client, queue, wait).await
    }

    async fn page(&self, range: &KeyRange, limit: usize) -> Result<Vec<Pair>> {
        scan::page(&self.client, range, limit).await
    }

    async fn count(&self) -> Result<u64> {
        Ok(self.client.count().await?)
    }

    async fn search(&self, mode: &str, pattern: Bytes, limit: usize) -> Result<Vec<Bytes>> {
        let capacity = i32::try_from(limit).unwrap_or(i32::MAX);
        Ok(self.client.search(mode, pattern, capacity).await?)
    }

    async fn synchronize(&self) -> Result<()> {
        Ok(self.client.synchronize().await?)
    }

    async fn inspect(&self) -> Result<Vec<(String, String)>> {
        Ok(self.client.inspect().await?)
    }

    async fn watch(&self, prefix: Bytes) -> Result<StoreWatch> {
        let watch = self.client.watch(prefix).await?;
        Ok(StoreWatch::of(ChangeSource::Service(watch)))
    }
}

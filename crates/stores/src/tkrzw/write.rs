//! Writes of a store behind a service, each as a call, and their answers. Checks nothing: the store has.

use std::time::Duration;

use bytes::Bytes;
use tsumugi_kv::{Desired, Expected, SetMode, Write, WriteResult};
use tsumugi_rpc::client::{CompareExchange, ExchangeOutcome, NotifyMode, RekeyOutcome};
use tsumugi_rpc::proto::stream_request::RequestOneof;
use tsumugi_rpc::proto::stream_response::ResponseOneof;
use tsumugi_rpc::proto::{RecordState, RemoveRequest, SetRequest, StatusProto, StreamRequest};
use tsumugi_rpc::{Client, TkrzwCode};

use super::CAPABILITIES;
use crate::error::{Error, Result};
use crate::limits::CALLS_MAX;

fn unsupported(reason: &'static str) -> Error {
    Error::Unsupported {
        engine: CAPABILITIES.engine,
        reason,
    }
}

/// Removes the first record of a queue, or of all without a name, waiting for one for this long.
pub(super) async fn pop(
    client: &Client,
    queue: Option<Bytes>,
    wait: Duration,
) -> Result<WriteResult> {
    let popped = match queue {
        Some(queue) => client.pop(queue, wait).await?,
        None => client.pop_first(wait).await?,
    };
    Ok(match popped {
        Some((key, value)) => WriteResult::Popped { key, value },
        None => WriteResult::Missing,
    })
}

async fn set(
    client: &Client,
    key: Bytes,
    value: Bytes,
    mode: SetMode,
    ttl: Option<Duration>,
) -> Result<WriteResult> {
    let stored = match (mode, ttl) {
        // An exchange gives the value that is there.
        (SetMode::IfAbsent, ttl) => {
            let desired = Desired::Put(value, ttl);
            let exchange = CompareExchange::new(key, Expected::Absent, desired);
            let exchanged = client.compare_exchange(exchange).await?;
            if !exchanged.exchanged {
                let value = exchanged.actual.unwrap_or_default();
                return Ok(WriteResult::Duplicate { value });
            }
            true
        }
        (mode, Some(ttl)) => client.set_with_ttl(key, value, mode, ttl).await?,
        (mode, None) => client.set(key, value, mode).await?,
    };
    Ok(done_or_missing(stored))
}

/// Sends a write.
pub(super) async fn apply(client: &Client, write: Write) -> Result<WriteResult> {
    Ok(match write {
        Write::Set {
            key,
            value,
            mode,
            ttl,
        } => set(client, key, value, mode, ttl).await?,
        Write::Remove { key } => done_or_missing(client.remove(key).await?),
        Write::Append {
            key,
            value,
            delimiter,
        } => {
            client.append(key, value, delimiter).await?;
            WriteResult::Done
        }
        Write::Increment { key, by, initial } => increment(client, key, by, initial).await?,
        Write::CompareExchange {
            key,
            expected,
            desired,
        } => exchange(client, key, expected, desired).await?,
        Write::CompareExchangeMulti { expected, desired } => {
            exchange_multi(client, expected, desired).await?
        }
        Write::Rekey {
            old,
            new,
            mode,
            source,
        } => match client.rekey(old, new.clone(), mode, source).await? {
            RekeyOutcome::Done => WriteResult::Done,
            RekeyOutcome::Missing => WriteResult::Missing,
            // The protocol does not give it.
            RekeyOutcome::Duplicate => WriteResult::Duplicate {
                value: client.get(new).await?.unwrap_or_default(),
            },
        },
        Write::Touch { key, ttl } => done_or_missing(client.touch(key, ttl).await?),
        Write::PopFirst => pop(client, None, Duration::ZERO).await?,
        Write::Pop { queue } => pop(client, Some(queue), Duration::ZERO).await?,
        Write::Push { queue, value } => WriteResult::Pushed {
            key: client.push(queue, value).await?,
        },
        // The protocol does not say its key.
        Write::PushLast { value, at } => {
            client.push_last(value, at).await?;
            WriteResult::Done
        }
        Write::Batch(writes) => batch(client, writes).await?,
        Write::Clear => {
            client.clear().await?;
            WriteResult::Done
        }
        _ => return Err(unsupported("has no such write")),
    })
}

async fn increment(client: &Client, key: Bytes, by: i64, initial: i64) -> Result<WriteResult> {
    match client.increment(key, by, initial).await {
        Ok(number) => Ok(WriteResult::Number(number)),
        // The key was checked: it is the value.
        Err(tsumugi_rpc::Error::Database {
            code: TkrzwCode::InvalidArgument,
            message,
        }) => Err(Error::NotANumber(message)),
        Err(error) => Err(error.into()),
    }
}

async fn exchange(
    client: &Client,
    key: Bytes,
    expected: Expected,
    desired: Desired,
) -> Result<WriteResult> {
    let mut exchange = CompareExchange::new(key, expected, desired);
    exchange.notice = NotifyMode::Given;
    let ExchangeOutcome { exchanged, actual } = client.compare_exchange(exchange).await?;
    Ok(match exchanged {
        true => WriteResult::Exchanged { actual },
        false => WriteResult::Mismatch { actual },
    })
}

fn done_or_missing(done: bool) -> WriteResult {
    match done {
        true => WriteResult::Done,
        false => WriteResult::Missing,
    }
}

async fn exchange_multi(
    client: &Client,
    expected: Vec<(Bytes, Expected)>,
    desired: Vec<(Bytes, Desired)>,
) -> Result<WriteResult> {
    let mut ttls = desired.iter().filter_map(|(_, desired)| match desired {
        Desired::Put(_, ttl) => Some(*ttl),
        Desired::Keep | Desired::Remove => None,
    });
    let ttl = ttls.next().flatten();
    if ttls.any(|other| other != ttl) {
        return Err(unsupported("takes one ttl for all records of an exchange"));
    }
    let before = expected.into_iter().map(|(key, expected)| {
        let (existence, any_value, value) = match expected {
            Expected::Absent => (false, false, Bytes::new()),
            Expected::Any => (true, true, Bytes::new()),
            Expected::Value(value) => (true, false, value),
        };
        RecordState {
            existence,
            key,
            value,
            any_value,
        }
    });
    let after = desired.into_iter().filter_map(|(key, desired)| {
        let (existence, value) = match desired {
            // What stays as it is needs no change.
            Desired::Keep => return None,
            Desired::Remove => (false, Bytes::new()),
            Desired::Put(value, _) => (true, value),
        };
        Some(RecordState {
            existence,
            key,
            value,
            any_value: false,
        })
    });
    let (before, after) = (before.collect(), after.collect());
    let exchanged = match ttl {
        Some(ttl) => {
            client
                .compare_exchange_multi_with_ttl(before, after, ttl)
                .await?
        }
        None => client.compare_exchange_multi(before, after).await?,
    };
    Ok(match exchanged {
        true => WriteResult::Done,
        false => WriteResult::Mismatch { actual: None },
    })
}

/// Each write by itself. All are tried, as in a database of this process; then the first refusal is reported.
async fn batch(client: &Client, writes: Vec<Write>) -> Result<WriteResult> {
    let has_ttl = |write: &Write| matches!(write, Write::Set { ttl: Some(_), .. });
    match writes.iter().any(has_ttl) {
        true => batch_with_ttl(client, writes).await,
        false => stream(client, writes).await,
    }
}

/// The protocol's stream has no times to live.
async fn batch_with_ttl(client: &Client, writes: Vec<Write>) -> Result<WriteResult> {
    let mut ttls = writes.iter().map(|write| match write {
        Write::Set {
            mode: SetMode::Overwrite,
            ttl,
            ..
        } => *ttl,
        _ => None,
    });
    let first = ttls.next().flatten();
    if let Some(ttl) = first
        && ttls.all(|other| other == first)
    {
        let count = writes.len();
        let records = writes.into_iter().filter_map(|write| match write {
            Write::Set { key, value, .. } => Some((key, value)),
            _ => None,
        });
        client
            .set_multi_with_ttl(records, SetMode::Overwrite, ttl)
            .await?;
        let each = (0..count).map(|_| Ok(WriteResult::Done));
        return Ok(WriteResult::Each(each.collect()));
    }
    let mut each = Vec::with_capacity(writes.len());
    let mut refused = None;
    for write in writes {
        let written = match write {
            Write::Set {
                key,
                value,
                mode,
                ttl,
            } => set(client, key, value, mode, ttl).await,
            Write::Remove { key } => client
                .remove(key)
                .await
                .map(done_or_missing)
                .map_err(Error::from),
            _ => return Err(unsupported("takes only set and delete in a batch")),
        };
        match written {
            Ok(written) => each.push(Ok(written)),
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    refused.map_or(Ok(WriteResult::Each(each)), Err)
}

/// Many writes under way at a time, on one stream.
async fn stream(client: &Client, writes: Vec<Write>) -> Result<WriteResult> {
    let mut stream = client.stream(CALLS_MAX).await?;
    let mut each = Vec::with_capacity(writes.len());
    let mut refused = None;
    for write in writes {
        if stream.is_full() {
            match outcome(stream.receive().await?)? {
                Ok(written) => each.push(Ok(written)),
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        let dbm_index = client.index();
        let request = match write {
            Write::Set {
                key, value, mode, ..
            } => RequestOneof::SetRequest(SetRequest {
                dbm_index,
                key,
                value,
                overwrite: mode == SetMode::Overwrite,
            }),
            Write::Remove { key } => RequestOneof::RemoveRequest(RemoveRequest { dbm_index, key }),
            _ => return Err(unsupported("takes only set and delete in a batch")),
        };
        let request = StreamRequest {
            request_oneof: Some(request),
            omit_response: false,
        };
        stream.send(&request).await?;
    }
    while stream.owed() > 0 {
        match outcome(stream.receive().await?)? {
            Ok(written) => each.push(Ok(written)),
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    refused.map_or(Ok(WriteResult::Each(each)), Err)
}

/// What became of one write of a batch; an error is the stream's, after which nothing comes.
fn outcome(answer: Option<tsumugi_rpc::proto::StreamResponse>) -> Result<Result<WriteResult>> {
    Ok(match answer.and_then(|answer| answer.response_oneof) {
        // The service does not say which value is there.
        Some(ResponseOneof::SetResponse(answer)) => {
            is_success(answer.status).map(|done| match done {
                true => WriteResult::Done,
                false => WriteResult::Duplicate {
                    value: Bytes::new(),
                },
            })
        }
        Some(ResponseOneof::RemoveResponse(answer)) => {
            is_success(answer.status).map(done_or_missing)
        }
        _ => return Err(broken_off()),
    })
}

pub(super) fn broken_off() -> Error {
    let text = "the stream ended before its last answer";
    Error::Service(tsumugi_rpc::Error::Protocol(text.to_owned()))
}

/// Whether a status is success; a missing record or a duplicate is none, and no error.
pub(super) fn is_success(status: Option<StatusProto>) -> Result<bool> {
    let StatusProto { code, message } = status.unwrap_or_default();
    match TkrzwCode::of(code) {
        TkrzwCode::Success => Ok(true),
        TkrzwCode::NotFound | TkrzwCode::Duplication => Ok(false),
        code => Err(Error::Service(tsumugi_rpc::Error::Database {
            code,
            message,
        })),
    }
}

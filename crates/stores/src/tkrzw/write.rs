//! Writes of a store behind a service, each as a call, and their answers. Checks nothing: the store has.

use std::time::Duration;

use bytes::Bytes;
use tsumugi_kv::{Desired, Expected, SetMode, Write, WriteResult};
use tsumugi_rpc::client::{CompareExchange, NotifyMode, RekeyOutcome};
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

/// Removes the record with the least key, waiting for one for this long.
pub(super) async fn pop(client: &Client, wait: Duration) -> Result<WriteResult> {
    Ok(match client.pop_first(wait).await? {
        Some((key, value)) => WriteResult::Popped { key, value },
        None => WriteResult::Missing,
    })
}

/// Sends a write.
pub(super) async fn apply(client: &Client, write: Write) -> Result<WriteResult> {
    Ok(match write {
        Write::Set {
            key, value, mode, ..
        } => done_or_missing(client.set(key, value, mode).await?),
        Write::Remove { key } => done_or_missing(client.remove(key).await?),
        Write::Append {
            key,
            value,
            delimiter,
        } => {
            client.append(key, value, delimiter).await?;
            WriteResult::Done
        }
        Write::Increment { key, by, initial } => {
            match client.increment(key, by, initial).await {
                Ok(number) => WriteResult::Number(number),
                // The key was checked: it is the value.
                Err(tsumugi_rpc::Error::Database {
                    code: TkrzwCode::InvalidArgument,
                    message,
                }) => return Err(Error::NotANumber(message)),
                Err(error) => return Err(error.into()),
            }
        }
        Write::CompareExchange {
            key,
            expected,
            desired,
        } => {
            let mut exchange = CompareExchange::new(key, expected, desired);
            exchange.notice = NotifyMode::Given;
            let exchanged = client.compare_exchange(exchange).await?;
            match exchanged.exchanged {
                true => WriteResult::Exchanged { actual: None },
                false => WriteResult::Mismatch { actual: None },
            }
        }
        Write::CompareExchangeMulti { expected, desired } => {
            exchange_multi(client, expected, desired).await?
        }
        Write::Rekey {
            old,
            new,
            mode,
            source,
        } => done_or_missing(client.rekey(old, new, mode, source).await? == RekeyOutcome::Done),
        Write::PopFirst => pop(client, Duration::ZERO).await?,
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
    let exchanged = client.compare_exchange_multi(before.collect(), after.collect());
    Ok(match exchanged.await? {
        true => WriteResult::Done,
        false => WriteResult::Mismatch { actual: None },
    })
}

/// Each write by itself, on one stream. All are tried, as in a database of this process; then the first refusal is reported.
async fn batch(client: &Client, writes: Vec<Write>) -> Result<WriteResult> {
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
    let status = match answer.and_then(|answer| answer.response_oneof) {
        Some(ResponseOneof::SetResponse(answer)) => answer.status,
        Some(ResponseOneof::RemoveResponse(answer)) => answer.status,
        _ => return Err(broken_off()),
    };
    Ok(is_success(status).map(done_or_missing))
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

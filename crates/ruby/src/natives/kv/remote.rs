//! A store of another server: what a database of this process does in place is a call of the service here.
//! Rule: what the service cannot do is refused before anything is sent, and so is what is longer than any server takes.

use std::ops::Bound;
use std::time::Duration;

use bytes::Bytes;
use tsumugi_kv::limits::{KEY_BYTES_MAX, VALUE_BYTES_MAX};
use tsumugi_kv::{Desired, Error, Expected, KeyRange, Pair, ReadDirection, Write, WriteResult};
use tsumugi_rpc::client::{CompareExchange, Duplex, NotifyMode, RekeyOutcome};
use tsumugi_rpc::proto::iterate_request::OpType;
use tsumugi_rpc::proto::stream_request::RequestOneof;
use tsumugi_rpc::proto::stream_response::ResponseOneof;
use tsumugi_rpc::proto::{
    IterateRequest, IterateResponse, RecordState, RemoveRequest, SetRequest, StatusProto,
    StreamRequest,
};
use tsumugi_rpc::{Client, TkrzwCode};

use super::failure::{Fault, Outcome};
use crate::limits::KV_CALLS;

pub(super) const NO_TTL: &str =
    "a store behind a service takes no ttl: keep what expires in a store of this process";

/// The value at a key.
pub(super) async fn get(client: &Client, key: Bytes) -> Outcome<Option<Bytes>> {
    check_key(&key)?;
    Ok(client.get(key).await?)
}

/// The records of those keys that exist.
pub(super) async fn records(client: &Client, keys: Vec<Bytes>) -> Outcome<Vec<Pair>> {
    keys.iter().try_for_each(|key| check_key(key))?;
    Ok(client.records(keys).await?)
}

/// Removes the record with the least key, waiting for one for this long.
pub(super) async fn pop(client: &Client, wait: Duration) -> Outcome<WriteResult> {
    Ok(match client.pop_first(wait).await? {
        Some((key, value)) => WriteResult::Popped { key, value },
        None => WriteResult::Missing,
    })
}

/// Sends a write.
pub(super) async fn write(client: &Client, write: Write) -> Outcome<WriteResult> {
    check(&write)?;
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
                }) => return Err(Fault::NotANumber(message)),
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
        _ => return Err(Fault::Unsupported("the service has no such write")),
    })
}

fn done_or_missing(done: bool) -> WriteResult {
    match done {
        true => WriteResult::Done,
        false => WriteResult::Missing,
    }
}

fn check_key(key: &[u8]) -> Outcome<()> {
    match key.len() {
        0..=KEY_BYTES_MAX => Ok(()),
        length => Err(Fault::Store(Error::InvalidKey {
            length,
            max: KEY_BYTES_MAX,
        })),
    }
}

fn check_value(value: &[u8]) -> Outcome<()> {
    match value.len() {
        0..=VALUE_BYTES_MAX => Ok(()),
        length => Err(Fault::Store(Error::ValueTooLong {
            length,
            max: VALUE_BYTES_MAX,
        })),
    }
}

/// Refuses what no server takes.
fn check(write: &Write) -> Outcome<()> {
    let desired = |desired: &Desired| match desired {
        Desired::Put(_, Some(_)) => Err(Fault::Unsupported(NO_TTL)),
        Desired::Put(value, None) => check_value(value),
        Desired::Keep | Desired::Remove => Ok(()),
    };
    match write {
        Write::Set { ttl: Some(_), .. } => Err(Fault::Unsupported(NO_TTL)),
        Write::Set { key, value, .. } | Write::Append { key, value, .. } => {
            check_key(key)?;
            check_value(value)
        }
        Write::Remove { key } | Write::Increment { key, .. } => check_key(key),
        Write::CompareExchange {
            key, desired: to, ..
        } => {
            check_key(key)?;
            desired(to)
        }
        Write::CompareExchangeMulti {
            expected,
            desired: to,
        } => {
            expected.iter().try_for_each(|(key, _)| check_key(key))?;
            to.iter().try_for_each(|(key, to)| {
                check_key(key)?;
                desired(to)
            })
        }
        Write::Rekey { old, new, .. } => {
            check_key(old)?;
            check_key(new)
        }
        Write::PushLast { value, .. } => check_value(value),
        Write::Batch(writes) => writes.iter().try_for_each(check),
        _ => Ok(()),
    }
}

async fn exchange_multi(
    client: &Client,
    expected: Vec<(Bytes, Expected)>,
    desired: Vec<(Bytes, Desired)>,
) -> Outcome<WriteResult> {
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
async fn batch(client: &Client, writes: Vec<Write>) -> Outcome<WriteResult> {
    let mut stream = client.stream(KV_CALLS).await?;
    let mut each = Vec::with_capacity(writes.len());
    let mut refused = None;
    for write in writes {
        if stream.is_full() {
            match outcome(stream.receive().await?)? {
                Ok(written) => each.push(Ok(written)),
                Err(fault) => refused = refused.or(Some(fault)),
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
                overwrite: mode == tsumugi_kv::SetMode::Overwrite,
            }),
            Write::Remove { key } => RequestOneof::RemoveRequest(RemoveRequest { dbm_index, key }),
            _ => return Err(Fault::Unsupported("the service has no such batch")),
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
            Err(fault) => refused = refused.or(Some(fault)),
        }
    }
    refused.map_or(Ok(WriteResult::Each(each)), Err)
}

/// What became of one write of a batch; an error is the stream's, after which nothing comes.
fn outcome(answer: Option<tsumugi_rpc::proto::StreamResponse>) -> Outcome<Outcome<WriteResult>> {
    let status = match answer.and_then(|answer| answer.response_oneof) {
        Some(ResponseOneof::SetResponse(answer)) => answer.status,
        Some(ResponseOneof::RemoveResponse(answer)) => answer.status,
        _ => return Err(broken_off()),
    };
    Ok(is_success(status).map(done_or_missing))
}

fn broken_off() -> Fault {
    let text = "the stream ended before its last answer";
    Fault::Service(tsumugi_rpc::Error::Protocol(text.to_owned()))
}

/// Whether a status is success; a missing record or a duplicate is none, and no error.
fn is_success(status: Option<StatusProto>) -> Outcome<bool> {
    let StatusProto { code, message } = status.unwrap_or_default();
    match TkrzwCode::of(code) {
        TkrzwCode::Success => Ok(true),
        TkrzwCode::NotFound | TkrzwCode::Duplication => Ok(false),
        code => Err(Fault::Service(tsumugi_rpc::Error::Database {
            code,
            message,
        })),
    }
}

/// The first records of a range, at most `limit`. Several steps are requested at a time.
pub(super) async fn page(client: &Client, range: &KeyRange, limit: usize) -> Outcome<Vec<Pair>> {
    let mut page = Vec::new();
    if limit == 0 || range.is_empty() {
        return Ok(page);
    }
    let mut stream = client.iterate(KV_CALLS).await?;
    stream.send(&jump(client, range)).await?;
    // A jump may be refused; whether there is a record is said by the step that follows alone.
    let jumped = stream.receive().await?.ok_or_else(broken_off)?;
    is_success(jumped.status)?;
    loop {
        let steps = (KV_CALLS / 2).min(limit - page.len());
        for _ in 0..steps {
            step(client, range.direction, &mut stream).await?;
        }
        for _ in 0..steps {
            let answer = stream.receive().await?.ok_or_else(broken_off)?;
            if range.direction == ReadDirection::Backward {
                stream.receive().await?.ok_or_else(broken_off)?;
            }
            if !is_success(answer.status)? || is_beyond(range, &answer.key) {
                return Ok(page);
            }
            page.push((answer.key, answer.value));
        }
        if page.len() >= limit {
            return Ok(page);
        }
    }
}

fn request(client: &Client, operation: OpType) -> IterateRequest {
    IterateRequest {
        dbm_index: client.index(),
        operation: operation.into(),
        ..IterateRequest::default()
    }
}

fn jump(client: &Client, range: &KeyRange) -> IterateRequest {
    let (bound, open, closed) = match range.direction {
        ReadDirection::Forward => (&range.from, OpType::OpFirst, OpType::OpJumpUpper),
        ReadDirection::Backward => (&range.to, OpType::OpLast, OpType::OpJumpLower),
    };
    match bound {
        Bound::Unbounded => request(client, open),
        Bound::Included(key) | Bound::Excluded(key) => IterateRequest {
            key: key.clone(),
            jump_inclusive: matches!(bound, Bound::Included(_)),
            ..request(client, closed)
        },
    }
}

async fn step(
    client: &Client,
    direction: ReadDirection,
    stream: &mut Duplex<IterateRequest, IterateResponse>,
) -> Outcome<()> {
    match direction {
        ReadDirection::Forward => stream.send(&request(client, OpType::OpStep)).await?,
        ReadDirection::Backward => {
            stream.send(&request(client, OpType::OpGet)).await?;
            stream.send(&request(client, OpType::OpPrevious)).await?;
        }
    }
    Ok(())
}

/// Whether a key comes after the range, in the direction in which it is read.
fn is_beyond(range: &KeyRange, key: &[u8]) -> bool {
    match range.direction {
        ReadDirection::Forward => match &range.to {
            Bound::Unbounded => false,
            Bound::Included(to) => key > to.as_ref(),
            Bound::Excluded(to) => key >= to.as_ref(),
        },
        ReadDirection::Backward => match &range.from {
            Bound::Unbounded => false,
            Bound::Included(from) => key < from.as_ref(),
            Bound::Excluded(from) => key <= from.as_ref(),
        },
    }
}

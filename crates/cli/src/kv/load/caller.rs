//! The callers of one connection: each calls until its keys or its time are over, and looks at every answer. Knows no table.
//! Rule: an answer that is not what was stored ends the load; it is no figure then.

use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::time::Instant;

use anyhow::{Context as _, Result, bail, ensure};
use bytes::Bytes;
use tsumugi_bench::KvOperation;
use tsumugi_kv::SetMode;
use tsumugi_rpc::client::Duplex;
use tsumugi_rpc::proto::iterate_request::OpType;
use tsumugi_rpc::proto::stream_request::RequestOneof;
use tsumugi_rpc::proto::stream_response::ResponseOneof;
use tsumugi_rpc::proto::{
    EchoRequest, GetRequest, IterateRequest, IterateResponse, RemoveRequest, SetRequest,
    StatusProto, StreamRequest, StreamResponse,
};
use tsumugi_rpc::{Client, TkrzwCode};

use super::plan::LoadRecords;
use super::tally::LoadTally;

/// Bytes of keys and values that are prepared at a time where nothing is measured.
const COMPLETION_BYTES: usize = 4 * 1024 * 1024;

/// The places of the keys that one connection calls for, one after the other; its callers share them.
pub struct KeySource {
    at: Cell<u64>,
    step: u64,
    left: Cell<u64>,
    until: Option<Instant>,
}

impl KeySource {
    /// `count` places from `first` on, `step` apart, and none after the instant `until`.
    pub fn new(first: u64, step: u64, count: u64, until: Option<Instant>) -> KeySource {
        KeySource {
            at: Cell::new(first),
            step,
            left: Cell::new(count),
            until,
        }
    }

    /// The next place.
    fn next(&self) -> Option<u64> {
        let left = self.left.get().checked_sub(1)?;
        if self.until.is_some_and(|until| Instant::now() >= until) {
            return None;
        }
        self.left.set(left);
        let at = self.at.get();
        self.at.set(at + self.step);
        Some(at)
    }
}

/// What the callers of a connection share.
pub struct CallerContext {
    /// The connection.
    pub client: Client,
    /// The operation of all calls.
    pub operation: KvOperation,
    /// The keys and values.
    pub records: LoadRecords,
    /// The keys that are still to be called for.
    pub keys: KeySource,
    /// Records and latencies so far.
    pub tally: LoadTally,
}

/// One call at a time.
pub async fn unary(caller: Rc<CallerContext>) -> Result<()> {
    let CallerContext {
        client, records, ..
    } = &*caller;
    while let Some(at) = caller.keys.next() {
        let key = records.key(at);
        let begun = Instant::now();
        match caller.operation {
            KvOperation::Echo => {
                let text = String::from_utf8(key.to_vec())?;
                check_echo(&client.echo(&text).await?, &key)?;
            }
            KvOperation::Set => {
                client
                    .set(key, records.value(at), SetMode::Overwrite)
                    .await?;
            }
            KvOperation::Get => {
                let value = client.get(key.clone()).await?;
                let value = value.with_context(|| absent(&key))?;
                check_value(&key, &value, &records.value(at))?;
            }
            KvOperation::Remove => {
                let was_there = client.remove(key.clone()).await?;
                ensure!(was_there, absent(&key));
            }
            KvOperation::Iterate => bail!("a cursor is no unary call"),
        }
        caller.tally.add(begun, 1);
    }
    Ok(())
}

/// Stores or removes all records, whether or not they are there. No part of a figure.
pub async fn complete(
    client: &Client,
    records: &LoadRecords,
    operation: KvOperation,
) -> Result<()> {
    let each = (COMPLETION_BYTES / (records.size + 8)).max(1) as u64;
    let mut from = 0;
    while from < records.count {
        let until = records.count.min(from + each);
        let places = from..until;
        // What was there before is as good.
        match operation {
            KvOperation::Set => {
                let pairs = places.map(|at| (records.key(at), records.value(at)));
                client.set_multi(pairs, SetMode::Overwrite).await?;
            }
            KvOperation::Remove => {
                client
                    .remove_multi(places.map(|at| records.key(at)))
                    .await?;
            }
            KvOperation::Echo | KvOperation::Get | KvOperation::Iterate => {}
        }
        from = until;
    }
    Ok(())
}

/// A call for so many records at a time.
pub async fn batches(caller: Rc<CallerContext>, size: usize) -> Result<()> {
    let CallerContext {
        client, records, ..
    } = &*caller;
    loop {
        let places: Vec<u64> = std::iter::from_fn(|| caller.keys.next())
            .take(size)
            .collect();
        if places.is_empty() {
            return Ok(());
        }
        let pairs = || {
            places
                .iter()
                .map(|at| (records.key(*at), records.value(*at)))
        };
        let keys = || places.iter().map(|at| records.key(*at));
        let begun = Instant::now();
        match caller.operation {
            KvOperation::Set => {
                client.set_multi(pairs(), SetMode::Overwrite).await?;
            }
            KvOperation::Get => check_batch(&client.records(keys()).await?, pairs())?,
            KvOperation::Remove => {
                let were_there = client.remove_multi(keys()).await?;
                ensure!(were_there, absent(&records.key(places[0])));
            }
            KvOperation::Echo | KvOperation::Iterate => bail!("it has no call for many"),
        }
        caller.tally.add(begun, places.len() as u64);
    }
}

/// What was found of several keys, in any order and each once where a key came twice.
fn check_batch(
    found: &[(Bytes, Bytes)],
    expected: impl Iterator<Item = (Bytes, Bytes)>,
) -> Result<()> {
    // Our server answers in the order of the keys; the original in that of its own table, and then records are looked for by their keys.
    let mut by_key: Option<HashMap<&[u8], &Bytes>> = None;
    for (at, (key, value)) in expected.enumerate() {
        let in_place = found.get(at).filter(|pair| pair.0 == key);
        let read = match in_place {
            Some((_, read)) => Some(read),
            None => by_key
                .get_or_insert_with(|| found.iter().map(|pair| (&*pair.0, &pair.1)).collect())
                .get(&*key)
                .copied(),
        };
        let read = read.with_context(|| absent(&key))?;
        check_value(&key, read, &value)?;
    }
    Ok(())
}

/// A Jump and a Get each on a stream of its own, `depth` of such pairs under way.
pub async fn iterate(caller: Rc<CallerContext>, depth: usize) -> Result<()> {
    let records = &caller.records;
    let mut stream: Duplex<IterateRequest, IterateResponse> =
        caller.client.iterate(2 * depth).await?;
    let mut awaited = VecDeque::new();
    loop {
        while awaited.len() < depth
            && let Some(at) = caller.keys.next()
        {
            let key = records.key(at);
            let begun = Instant::now();
            let mut request = IterateRequest {
                dbm_index: caller.client.index(),
                operation: OpType::OpJump as i32,
                key: key.clone(),
                ..IterateRequest::default()
            };
            stream.send(&request).await?;
            if depth == 1 {
                // With one pair at a time the record is asked for only when the Jump was answered, as a client does that looks at it.
                check_cursor(stream.receive().await?, &key)?;
            }
            request.operation = OpType::OpGet as i32;
            request.key = Bytes::new();
            stream.send(&request).await?;
            awaited.push_back((at, key, begun));
        }
        let Some((at, key, begun)) = awaited.pop_front() else {
            break;
        };
        if depth > 1 {
            check_cursor(stream.receive().await?, &key)?;
        }
        let answer = check_cursor(stream.receive().await?, &key)?;
        ensure!(answer.key == key, absent(&key));
        check_value(&key, &answer.value, &records.value(at))?;
        caller.tally.add(begun, 1);
    }
    stream.finish().await?;
    Ok(())
}

fn check_cursor(answer: Option<IterateResponse>, key: &Bytes) -> Result<IterateResponse> {
    let answer = answer.context(ENDED)?;
    check_status(answer.status.as_ref(), key)?;
    Ok(answer)
}

/// Calls as messages of one stream, `depth` of them under way.
pub async fn stream(caller: Rc<CallerContext>, depth: usize) -> Result<()> {
    let records = &caller.records;
    let mut stream: Duplex<StreamRequest, StreamResponse> = caller.client.stream(depth).await?;
    let mut awaited = VecDeque::new();
    loop {
        while awaited.len() < depth
            && let Some(at) = caller.keys.next()
        {
            let key = records.key(at);
            let begun = Instant::now();
            let request = StreamRequest {
                omit_response: false,
                request_oneof: Some(message(&caller, at, key.clone())?),
            };
            stream.send(&request).await?;
            awaited.push_back((at, key, begun));
        }
        let Some((at, key, begun)) = awaited.pop_front() else {
            break;
        };
        let answer = stream.receive().await?.context(ENDED)?;
        match answer.response_oneof {
            Some(ResponseOneof::EchoResponse(answer)) => check_echo(&answer.echo, &key)?,
            Some(ResponseOneof::SetResponse(answer)) => check_status(answer.status.as_ref(), &key)?,
            Some(ResponseOneof::GetResponse(answer)) => {
                check_status(answer.status.as_ref(), &key)?;
                check_value(&key, &answer.value, &records.value(at))?;
            }
            Some(ResponseOneof::RemoveResponse(answer)) => {
                check_status(answer.status.as_ref(), &key)?;
            }
            _ => bail!("the stream's answer is none to its call"),
        }
        caller.tally.add(begun, 1);
    }
    stream.finish().await?;
    Ok(())
}

const ENDED: &str = "the server has ended the stream before its last answer";

fn message(caller: &CallerContext, at: u64, key: Bytes) -> Result<RequestOneof> {
    let dbm_index = caller.client.index();
    Ok(match caller.operation {
        KvOperation::Echo => RequestOneof::EchoRequest(EchoRequest {
            message: String::from_utf8(key.to_vec())?,
        }),
        KvOperation::Set => RequestOneof::SetRequest(SetRequest {
            dbm_index,
            key,
            value: caller.records.value(at),
            overwrite: true,
        }),
        KvOperation::Get => RequestOneof::GetRequest(GetRequest {
            dbm_index,
            key,
            omit_value: false,
        }),
        KvOperation::Remove => RequestOneof::RemoveRequest(RemoveRequest { dbm_index, key }),
        KvOperation::Iterate => bail!("a cursor has a stream of another kind"),
    })
}

fn check_echo(answer: &str, key: &Bytes) -> Result<()> {
    let key = String::from_utf8_lossy(key);
    ensure!(answer == key, "Echo of {key} answers {answer:?}");
    Ok(())
}

fn check_value(key: &Bytes, read: &Bytes, stored: &Bytes) -> Result<()> {
    ensure!(
        read == stored,
        "the value of {} has {} bytes and is not the one that --only set stores with --size {}: store the records first, with the same options",
        String::from_utf8_lossy(key),
        read.len(),
        stored.len()
    );
    Ok(())
}

fn check_status(status: Option<&StatusProto>, key: &Bytes) -> Result<()> {
    let Some(status) = status.filter(|status| status.code != 0) else {
        return Ok(());
    };
    match TkrzwCode::of(status.code) {
        TkrzwCode::NotFound => bail!(absent(key)),
        code => bail!("the database answered {code}: {}", status.message),
    }
}

fn absent(key: &Bytes) -> String {
    format!(
        "there is no record {}: store the records first (--only set, with the same --threads, --iter and --size)",
        String::from_utf8_lossy(key)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_several_connections_are_each_had_once() {
        let mut places = Vec::new();
        for first in 0..3 {
            let keys = KeySource::new(first, 3, 2, None);
            places.extend(std::iter::from_fn(|| keys.next()));
        }
        places.sort_unstable();
        assert_eq!(places, [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn no_key_comes_after_the_time() {
        let keys = KeySource::new(0, 1, u64::MAX, Some(Instant::now()));
        assert_eq!(keys.next(), None);
    }

    #[test]
    fn wrong_answer_is_told_with_its_key() {
        let key = Bytes::from("00000007");
        let told = |outcome: Result<()>| outcome.unwrap_err().to_string();
        assert!(told(check_echo("x", &key)).contains("Echo of 00000007 answers \"x\""));
        let value = check_value(&key, &Bytes::from("ab"), &Bytes::from("abc"));
        assert!(told(value).contains("the value of 00000007 has 2 bytes"));
        let status = |code| StatusProto {
            code,
            message: "full".to_owned(),
        };
        assert!(check_status(Some(&status(0)), &key).is_ok());
        assert!(told(check_status(Some(&status(7)), &key)).contains("store the records first"));
        assert!(told(check_status(Some(&status(2)), &key)).contains("SYSTEM"));
        let pair =
            |key: &str, value: &str| (Bytes::from(key.to_owned()), Bytes::from(value.to_owned()));
        let stored = [pair("a", "1"), pair("b", "2")];
        let turned = [pair("b", "2"), pair("a", "1")];
        assert!(check_batch(&turned, stored.clone().into_iter()).is_ok());
        assert!(check_batch(&turned[..1], stored.into_iter()).is_err());
    }

    #[test]
    fn batch_in_another_order_is_checked_value_by_value() {
        let pair = |at: u32| (Bytes::from(format!("{at:08}")), Bytes::from(at.to_string()));
        let mut found: Vec<_> = (0..1_000).rev().map(pair).collect();
        assert!(check_batch(&found, (0..1_000).map(pair)).is_ok());
        // A key that came twice is answered once.
        assert!(check_batch(&found, (0..1_000).chain([7]).map(pair)).is_ok());
        found[7].1 = Bytes::from("x");
        let error = check_batch(&found, (0..1_000).map(pair)).unwrap_err();
        assert!(
            error.to_string().contains("the value of 00000992"),
            "{error}"
        );
    }
}

//! The load of `make bench-kv`: clients alone, in a process of their own, that call a server for some seconds and check every answer.
//! `calls TARGET OPERATION KIND CONNECTIONS DEPTH SECONDS RECORDS` prints `calls=N seconds=S`; OPERATION is fill, echo, set, get, iterate or
//! remove, KIND unary, stream or multi. Each connection has a thread; DEPTH calls are under way on each.
//! Rule: keys and values are eight bytes and tell each other; removed records are there again when the program ends.
#![forbid(unsafe_code)]

use std::cell::Cell;
use std::collections::VecDeque;
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::task::{JoinSet, LocalSet};
use tsumugi_kv::SetMode;
use tsumugi_rpc::client::{Duplex, Options};
use tsumugi_rpc::proto::iterate_request::OpType;
use tsumugi_rpc::proto::stream_request::RequestOneof;
use tsumugi_rpc::proto::stream_response::ResponseOneof;
use tsumugi_rpc::proto::{
    EchoRequest, GetRequest, IterateRequest, IterateResponse, RemoveRequest, SetRequest,
    StreamRequest, StreamResponse,
};
use tsumugi_rpc::{Client, RpcTarget};

#[global_allocator]
static ALLOCATOR: tsumugi_allocator::Allocator = tsumugi_allocator::Allocator;

type Error = Box<dyn std::error::Error + Send + Sync>;

const USAGE: &str = "usage: calls TARGET OPERATION KIND CONNECTIONS DEPTH SECONDS RECORDS";
/// Records of one call of the kind multi.
const BATCH: usize = 10;
/// Far from any divisor of a round number, so that keys follow each other without order.
const STEP: u64 = 7_368_787;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    Fill,
    Echo,
    Set,
    Get,
    Iterate,
    Remove,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Unary,
    Stream,
    Multi,
}

#[derive(Clone)]
struct Load {
    target: RpcTarget,
    operation: Operation,
    kind: Kind,
    connections: u64,
    depth: usize,
    length: Duration,
    records: u64,
}

impl Load {
    fn of(mut words: impl Iterator<Item = String>) -> Result<Load, Error> {
        let mut next = || words.next().ok_or(USAGE);
        Ok(Load {
            target: next()?.parse()?,
            operation: match next()?.as_str() {
                "fill" => Operation::Fill,
                "echo" => Operation::Echo,
                "set" => Operation::Set,
                "get" => Operation::Get,
                "iterate" => Operation::Iterate,
                "remove" => Operation::Remove,
                _ => return Err(USAGE.into()),
            },
            kind: match next()?.as_str() {
                "unary" => Kind::Unary,
                "stream" => Kind::Stream,
                "multi" => Kind::Multi,
                _ => return Err(USAGE.into()),
            },
            connections: next()?.parse()?,
            depth: next()?.parse()?,
            length: Duration::from_secs_f64(next()?.parse()?),
            records: next()?.parse()?,
        })
    }
}

/// The keys of one connection: each once and without order, from all over the database.
struct Keys {
    at: Cell<u64>,
    connections: u64,
    records: u64,
    /// Whether they begin anew when all were had.
    again: bool,
    end: Cell<Option<Instant>>,
}

impl Keys {
    /// The next key while there is time.
    fn next(&self) -> Option<Bytes> {
        if self.end.get().is_some_and(|end| Instant::now() >= end) {
            return None;
        }
        let at = self.at.get();
        if at >= self.records && !self.again {
            return None;
        }
        self.at.set(at + self.connections);
        Some(key(at % self.records, self.records))
    }

    fn count(&self, first: u64) -> u64 {
        (self.at.get() - first) / self.connections
    }
}

fn key(at: u64, records: u64) -> Bytes {
    format!("{:08}", at.wrapping_mul(STEP) % records).into()
}

/// The value of a record.
fn value(key: &Bytes) -> Bytes {
    key.iter().rev().copied().collect()
}

fn ensure(holds: bool) -> Result<(), Error> {
    holds
        .then_some(())
        .ok_or_else(|| "an answer is wrong".into())
}

/// One call at a time, until the time is over.
async fn unary(client: Client, keys: Rc<Keys>, operation: Operation) -> Result<(), Error> {
    while let Some(key) = keys.next() {
        let expected = value(&key);
        match operation {
            Operation::Echo => {
                let text = String::from_utf8(key.to_vec())?;
                ensure(client.echo(&text).await? == text)?;
            }
            Operation::Set => ensure(client.set(key, expected, SetMode::Overwrite).await?)?,
            Operation::Get => ensure(client.get(key).await? == Some(expected))?,
            Operation::Remove => ensure(client.remove(key).await?)?,
            Operation::Iterate | Operation::Fill => return Err(USAGE.into()),
        }
    }
    Ok(())
}

async fn multi(client: Client, keys: Rc<Keys>, operation: Operation) -> Result<(), Error> {
    loop {
        let batch: Vec<Bytes> = std::iter::from_fn(|| keys.next()).take(BATCH).collect();
        if batch.is_empty() {
            return Ok(());
        }
        let records = batch.iter().map(|key| (key.clone(), value(key)));
        match operation {
            Operation::Set => ensure(client.set_multi(records, SetMode::Overwrite).await?)?,
            Operation::Get => {
                let expected: Vec<_> = records.collect();
                ensure(client.records(batch).await? == expected)?;
            }
            Operation::Remove => ensure(client.remove_multi(batch).await?)?,
            _ => return Err(USAGE.into()),
        }
    }
}

/// A Jump and a Get each, `depth` of such pairs under way.
async fn iterate(client: Client, keys: Rc<Keys>, depth: usize) -> Result<(), Error> {
    let mut stream: Duplex<IterateRequest, IterateResponse> = client.iterate(2 * depth).await?;
    let mut awaited = VecDeque::new();
    loop {
        while awaited.len() < depth
            && let Some(key) = keys.next()
        {
            let mut request = IterateRequest {
                operation: OpType::OpJump as i32,
                key: key.clone(),
                ..IterateRequest::default()
            };
            stream.send(&request).await?;
            if depth == 1 {
                // Nobody looks at a record before the way to it is known.
                ensure(stream.receive().await?.is_some())?;
            }
            request.operation = OpType::OpGet as i32;
            request.key = Bytes::new();
            stream.send(&request).await?;
            awaited.push_back(key);
        }
        let Some(key) = awaited.pop_front() else {
            break;
        };
        if depth > 1 {
            ensure(stream.receive().await?.is_some())?;
        }
        let answer = stream.receive().await?.ok_or("the stream has ended")?;
        ensure(answer.value == value(&key) && answer.key == key)?;
    }
    stream.finish().await?;
    Ok(())
}

async fn streamed(
    client: Client,
    keys: Rc<Keys>,
    operation: Operation,
    depth: usize,
) -> Result<(), Error> {
    let mut stream: Duplex<StreamRequest, StreamResponse> = client.stream(depth).await?;
    let mut awaited = VecDeque::new();
    loop {
        while awaited.len() < depth
            && let Some(key) = keys.next()
        {
            let request = StreamRequest {
                omit_response: false,
                request_oneof: Some(request(operation, &key)?),
            };
            stream.send(&request).await?;
            awaited.push_back(key);
        }
        let Some(key) = awaited.pop_front() else {
            break;
        };
        let answer = stream.receive().await?.ok_or("the stream has ended")?;
        let answer = answer.response_oneof.ok_or("an answer is empty")?;
        ensure(match answer {
            ResponseOneof::EchoResponse(answer) => answer.echo.as_bytes() == key,
            ResponseOneof::GetResponse(answer) => answer.value == value(&key),
            ResponseOneof::SetResponse(answer) => {
                answer.status.is_none_or(|status| status.code == 0)
            }
            ResponseOneof::RemoveResponse(answer) => {
                answer.status.is_none_or(|status| status.code == 0)
            }
            _ => false,
        })?;
    }
    stream.finish().await?;
    Ok(())
}

fn request(operation: Operation, key: &Bytes) -> Result<RequestOneof, Error> {
    let (dbm_index, key) = (0, key.clone());
    Ok(match operation {
        Operation::Echo => RequestOneof::EchoRequest(EchoRequest {
            message: String::from_utf8(key.to_vec())?,
        }),
        Operation::Set => RequestOneof::SetRequest(SetRequest {
            dbm_index,
            value: value(&key),
            key,
            overwrite: true,
        }),
        Operation::Get => RequestOneof::GetRequest(GetRequest {
            dbm_index,
            key,
            omit_value: false,
        }),
        Operation::Remove => RequestOneof::RemoveRequest(RemoveRequest { dbm_index, key }),
        Operation::Iterate | Operation::Fill => return Err(USAGE.into()),
    })
}

/// All calls of one connection: how many there were and how long they took.
async fn connection(load: Load, first: u64, ready: Arc<Barrier>) -> Result<(u64, f64), Error> {
    let client = Client::new(load.target.clone(), Options::default())?;
    // Connected before the clock runs.
    let greeted = client.echo("").await;
    ready.wait();
    greeted?;
    let begun = Instant::now();
    let keys = Rc::new(Keys {
        at: Cell::new(first),
        connections: load.connections,
        records: load.records,
        again: !matches!(load.operation, Operation::Remove | Operation::Fill),
        end: Cell::new((load.operation != Operation::Fill).then(|| begun + load.length)),
    });
    let mut callers: JoinSet<Result<(), Error>> = JoinSet::new();
    let (operation, depth) = (load.operation, load.depth);
    match (operation, load.kind) {
        (Operation::Fill, _) => {
            let records = std::iter::from_fn(|| keys.next()).map(|key| (key.clone(), value(&key)));
            ensure(client.set_multi(records, SetMode::Overwrite).await?)?;
        }
        (Operation::Iterate, Kind::Stream) => {
            callers.spawn_local(iterate(client.clone(), Rc::clone(&keys), depth));
        }
        (Operation::Iterate, _) => {
            for _ in 0..depth {
                callers.spawn_local(iterate(client.clone(), Rc::clone(&keys), 1));
            }
        }
        (_, Kind::Stream) => {
            callers.spawn_local(streamed(client.clone(), Rc::clone(&keys), operation, depth));
        }
        (_, Kind::Unary) => {
            for _ in 0..depth {
                callers.spawn_local(unary(client.clone(), Rc::clone(&keys), operation));
            }
        }
        (_, Kind::Multi) => {
            for _ in 0..depth {
                callers.spawn_local(multi(client.clone(), Rc::clone(&keys), operation));
            }
        }
    }
    while let Some(done) = callers.join_next().await {
        done??;
    }
    let seconds = begun.elapsed().as_secs_f64();
    if operation == Operation::Remove {
        let removed = (first..keys.at.get()).step_by(usize::try_from(load.connections)?);
        let removed = removed.map(|at| key(at, load.records));
        let records = removed.map(|key| (key.clone(), value(&key)));
        ensure(client.set_multi(records, SetMode::IfAbsent).await?)?;
    }
    Ok((keys.count(first), seconds))
}

fn run() -> Result<(u64, f64), Error> {
    let load = Load::of(std::env::args().skip(1))?;
    let ready = Arc::new(Barrier::new(usize::try_from(load.connections)?));
    let threads: Vec<_> = (0..load.connections)
        .map(|first| {
            let (load, ready) = (load.clone(), Arc::clone(&ready));
            thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()?;
                LocalSet::new().block_on(&runtime, connection(load, first, ready))
            })
        })
        .collect();
    let (mut calls, mut seconds) = (0, 0.0_f64);
    for thread in threads {
        let (more, took) = thread.join().map_err(|_| "a thread has panicked")??;
        calls += more;
        seconds = seconds.max(took);
    }
    Ok((calls, seconds))
}

fn main() -> ExitCode {
    match run() {
        Ok((calls, seconds)) => {
            println!("calls={calls} seconds={seconds}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("calls: {error}");
            ExitCode::FAILURE
        }
    }
}

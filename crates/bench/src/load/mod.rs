//! Load over HTTP: many connections from a few threads, and what came of it. Every response is checked. HTTP/1.1 in the clear is spoken
//! here, for as little of the machine as can be; over TLS, and HTTP/2, by hyper.
//! Two paces: each connection asks again when it was answered (closed), or requests leave by the clock whatever the server does (open).
//! Rule: at the open pace a request's time begins when it was due, not when it could be sent, so a server that stalls is charged for all
//! who would have come meanwhile.

mod connection;
mod counter;
mod generator;
mod lanes;
mod link;
#[cfg(test)]
mod link_tests;
mod schedule;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use hdrhistogram::Histogram;
use http::Method;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::{TimeVal, TimeValLike as _};

use tokio::task::LocalSet;

use self::connection::Connection;
use self::generator::Generator;
use self::lanes::Lanes;
pub use self::link::{LoadLink, LoadTarget, configuration};
use self::schedule::TimeSpan;
use crate::limits::{FILES_SPARE, LATENCY_DIGITS, LATENCY_NS_MAX};
use crate::open_files::allow_files;
use crate::stop::StopFlag;

/// What a response's body must be.
#[derive(Clone)]
pub enum ExpectedBody {
    /// These bytes.
    Same(Vec<u8>),
    /// Something of which this is true.
    Fits(fn(&[u8]) -> bool),
    /// Anything.
    Any,
}

impl ExpectedBody {
    /// Whether the body is that.
    pub fn holds(&self, body: &[u8]) -> bool {
        match self {
            ExpectedBody::Same(bytes) => body == bytes,
            ExpectedBody::Fits(fits) => fits(body),
            ExpectedBody::Any => true,
        }
    }
}

/// When requests leave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// As soon as the last was answered, on each connection.
    Closed,
    /// So many a second, evenly.
    Open(f64),
}

/// What is spoken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoadProtocol {
    /// HTTP/1.1: a connection has one request under way.
    #[default]
    Http1,
    /// HTTP/2, without an upgrade: a connection has several.
    Http2 {
        /// So many.
        streams: usize,
    },
}

impl LoadProtocol {
    /// Requests under way on a connection.
    pub fn streams(self) -> usize {
        match self {
            LoadProtocol::Http1 => 1,
            LoadProtocol::Http2 { streams } => streams,
        }
    }
}

/// What is spoken, over what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadTransport {
    /// The protocol.
    pub protocol: LoadProtocol,
    /// Whether connections are over TLS. Certificates are not verified.
    pub tls: bool,
}

/// A request of a load and what must be answered.
#[derive(Clone)]
pub struct LoadRequest {
    /// The method. Over HTTP/2 or TLS only GET is sent, without fields and body.
    pub method: Method,
    /// Path and query.
    pub path: String,
    /// Fields besides host and length, each a line that ends in CRLF.
    pub fields: String,
    /// The body.
    pub body: Vec<u8>,
    /// The status that must be answered.
    pub status: u16,
    /// And the body.
    pub expected: ExpectedBody,
}

impl LoadRequest {
    /// GET, answered 200.
    pub fn get(path: &str, expected: ExpectedBody) -> LoadRequest {
        LoadRequest {
            method: Method::GET,
            path: path.to_owned(),
            fields: String::new(),
            body: Vec::new(),
            status: 200,
            expected,
        }
    }

    /// As HTTP/1.1 has it.
    fn bytes(&self, address: SocketAddr) -> Vec<u8> {
        let (method, path, fields) = (&self.method, &self.path, &self.fields);
        // A body in chunks says itself how long it is.
        let length = match self.body.is_empty() || fields.contains("transfer-encoding") {
            true => String::new(),
            false => format!("content-length: {}\r\n", self.body.len()),
        };
        let head = format!("{method} {path} HTTP/1.1\r\nhost: {address}\r\n{fields}{length}\r\n");
        [head.as_bytes(), &self.body].concat()
    }
}

/// How a connection of HTTP/1.1 without TLS is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionUse {
    /// So many requests leave at once, and their answers are awaited together. At the open pace 1.
    pub depth: usize,
    /// After so many requests, a multiple of `depth`, it is closed and another one opened; none when it is kept.
    pub requests_max: Option<usize>,
}

impl Default for ConnectionUse {
    fn default() -> ConnectionUse {
        ConnectionUse {
            depth: 1,
            requests_max: None,
        }
    }
}

/// A load.
pub struct LoadPlan<'a> {
    /// Where to.
    pub address: SocketAddr,
    /// How.
    pub transport: LoadTransport,
    /// What is asked, in turn; each connection, or stream, begins at another one.
    pub requests: &'a [LoadRequest],
    /// How connections are used.
    pub connection_use: ConnectionUse,
    /// Connections of all threads together.
    pub connections: usize,
    /// Threads of the load.
    pub threads: usize,
    /// When requests leave.
    pub pace: Pace,
    /// Load before it counts.
    pub warm_up: Duration,
    /// Load that counts.
    pub length: Duration,
}

/// What one thread, or all, counted.
pub struct Tally {
    /// Requests that were answered as they should be.
    pub requests: u64,
    /// Requests that were not.
    pub errors: u64,
    /// What was wrong with the first of them.
    pub first: Option<String>,
    /// Of the requests that were due, those without an answer when the load gave up; they are in `latency` with the time they had.
    pub unanswered: u64,
    /// Nanoseconds until the answer was complete.
    pub latency: Histogram<u64>,
    /// Nanoseconds that this program was late with a request, though a connection was free: how far `latency` can be trusted.
    pub late: Histogram<u64>,
}

impl Tally {
    fn new() -> Result<Tally> {
        let histogram = || {
            Histogram::new_with_bounds(1, LATENCY_NS_MAX, LATENCY_DIGITS)
                .context("the histogram's bounds are wrong")
        };
        Ok(Tally {
            requests: 0,
            errors: 0,
            first: None,
            unanswered: 0,
            latency: histogram()?,
            late: histogram()?,
        })
    }

    fn add(&mut self, other: Tally) -> Result<()> {
        self.requests += other.requests;
        self.errors += other.errors;
        self.unanswered += other.unanswered;
        self.first = self.first.take().or(other.first);
        self.latency.add(other.latency)?;
        self.late.add(other.late)?;
        Ok(())
    }
}

/// What a load came to.
pub struct LoadOutcome {
    /// What its threads counted.
    pub tally: Tally,
    /// How long it counted: as planned, or less when it was interrupted.
    pub seconds: f64,
    /// Processor time of this program meanwhile, in microseconds.
    pub client_us: f64,
    /// What `look` said at the end less what it said when counting began.
    pub server_us: f64,
}

impl LoadOutcome {
    /// Answers in a second.
    pub fn per_second(&self) -> f64 {
        self.tally.requests as f64 / self.seconds
    }
}

/// Loads the server. `look` returns its processor time so far, in microseconds.
pub fn run(
    plan: &LoadPlan<'_>,
    stop: &StopFlag,
    look: impl Fn() -> Result<f64>,
) -> Result<LoadOutcome> {
    allow_files(plan.connections as u64 + FILES_SPARE)?;
    let threads = plan.threads.clamp(1, plan.connections.max(1));
    thread::scope(|scope| {
        let (ready, readied) = channel();
        let mut running = Vec::new();
        for thread in 0..threads {
            let connections = (plan.connections + thread) / threads;
            let (start, started) = channel();
            let ready = ready.clone();
            let work = move || drive(plan, connections, &ready, &started, stop);
            running.push((scope.spawn(work), start));
        }
        for _ in 0..threads {
            readied.recv().context("a thread of the load panicked")??;
        }
        let began = Instant::now();
        let counts = began + plan.warm_up;
        let until = counts + plan.length;
        for (at, (_, start)) in running.iter().enumerate() {
            let span = TimeSpan {
                began,
                counts,
                until,
                first: at,
                step: threads,
            };
            // One that has ended tells why when it is joined.
            let _ = start.send(span);
        }
        stop.pause_until(counts);
        let (server, client, counting) = (look()?, own_us()?, Instant::now());
        stop.pause_until(until);
        let (server_us, client_us) = (look()? - server, own_us()? - client);
        let seconds = counting.elapsed().as_secs_f64();
        let mut tally = Tally::new()?;
        for (thread, _) in running {
            let counted = thread.join();
            let counted = counted.map_err(|_| anyhow::anyhow!("a thread of the load panicked"))?;
            tally.add(counted?)?;
        }
        Ok(LoadOutcome {
            tally,
            // A run that was not interrupted lasted as long as planned; this thread wakes a little late.
            seconds: seconds.min(plan.length.as_secs_f64()),
            client_us,
            server_us,
        })
    })
}

/// A thread: connects, reports it, waits for the signal to start, and loads. Without the signal it counts nothing.
fn drive(
    plan: &LoadPlan<'_>,
    connections: usize,
    ready: &Sender<Result<()>>,
    started: &Receiver<TimeSpan>,
    stop: &StopFlag,
) -> Result<Tally> {
    // The thread that waits for this may have given up on another thread.
    let tell = |outcome| drop(ready.send(outcome));
    if plan.transport == LoadTransport::default() {
        let opened = (0..connections).map(|_| Connection::open(plan.address));
        let opened = opened.collect::<std::io::Result<Vec<_>>>();
        match opened.with_context(|| format!("cannot connect to {}", plan.address)) {
            Ok(opened) => {
                tell(Ok(()));
                return match started.recv() {
                    Ok(span) => Generator::new(plan, span, opened, stop)?.run(),
                    Err(_) => Tally::new(),
                };
            }
            Err(error) => tell(Err(error)),
        }
        return Tally::new();
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let work = async {
        let first = plan.requests.first().context("nothing is to be asked")?;
        let target = LoadTarget::new(plan.address, &first.path, plan.transport)?;
        let mut links = Vec::new();
        for _ in 0..connections {
            links.push(LoadLink::open(target.clone()).await?);
        }
        anyhow::Ok(links)
    };
    let local = LocalSet::new();
    match local.block_on(&runtime, work) {
        Ok(links) => {
            tell(Ok(()));
            match started.recv() {
                Ok(span) => local.block_on(&runtime, Lanes::new(plan, span, links, stop)?.run()),
                Err(_) => Tally::new(),
            }
        }
        Err(error) => {
            tell(Err(error));
            Tally::new()
        }
    }
}

/// Processor time of this program, in microseconds.
fn own_us() -> Result<f64> {
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    let us = |time: TimeVal| time.num_microseconds() as f64;
    Ok(us(usage.user_time()) + us(usage.system_time()))
}

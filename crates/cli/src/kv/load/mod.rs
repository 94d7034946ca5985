//! `tsumugi bench kv --address`: a load for any server of Tkrzw-RPC, here or elsewhere, ours or the original. Starts no server.
//! Each connection has a thread of its own; callers that share one are tasks of its thread. The figures are the table of the author.

mod caller;
mod latch;
mod limits;
mod plan;
mod table;
mod tally;

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, ensure};
use hdrhistogram::Histogram;
use indicatif::ProgressBar;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use tokio::task::{JoinSet, LocalSet};
use tsumugi_bench::{Interruption, KvOperation, StopFlag, allow_files};
use tsumugi_rpc::{Error, GrpcCode, TkrzwCode};
use tsumugi_worker::LocalTask;

use self::caller::{CallerContext, KeySource};
use self::latch::{LoadStart, StartLatch};
use self::limits::{
    LOAD_BATCH_MAX, LOAD_DEPTH_MAX, LOAD_FILES_EACH, LOAD_FILES_SPARE, LOAD_KEYS_MAX, LOAD_STOP_MS,
    LOAD_THREADS_MAX,
};
use self::plan::{
    CallForm, CallerGroup, KeyOrder, KvLoadPlan, LoadExtent, LoadRecords, RECORDS_DEFAULT,
};
use self::table::{MeasuredOperation, MeasuredRow};
use self::tally::LoadTally;
use super::remote::{Remote, RemoteAccess};
use crate::limits::VALUE_BYTES_DEFAULT;
use crate::progress::{self, Extent};

/// Exit code after Ctrl-C, as shells give it to what a signal ended.
const INTERRUPTED: u8 = 130;

/// What the load takes. All of it needs `--address`.
#[derive(clap::Args)]
#[command(next_help_heading = "Load on a server of Tkrzw-RPC, with kv --address")]
pub struct KvLoadArguments {
    /// Load this server with calls, instead of starting any: HOST:PORT, unix:/path, tkrzw://HOST:PORT, tkrzw+tls://HOST:PORT or
    /// tkrzw+unix:/path. Ours or the original, on this machine or another
    #[arg(long, value_name = "ADDR")]
    address: Option<String>,
    /// Number of callers, each with one call in flight; 1,2,4 makes three rows
    #[arg(
        long,
        value_name = "N",
        value_delimiter = ',',
        default_value = "1",
        requires = "address",
        value_parser = clap::value_parser!(u64).range(1..=LOAD_THREADS_MAX)
    )]
    threads: Vec<u64>,
    /// Records that each caller calls for, in each operation
    #[arg(
        long,
        value_name = "N",
        default_value_t = 10_000,
        requires = "address",
        value_parser = clap::value_parser!(u64).range(1..=LOAD_KEYS_MAX)
    )]
    iter: u64,
    /// Seconds that each operation goes on, instead of --iter. Records that set had no time for are stored before they are read, and
    /// those that remove had no time for are removed; neither is in the figures
    #[arg(
        long,
        value_name = "SECONDS",
        requires = "address",
        conflicts_with = "iter"
    )]
    seconds: Option<f64>,
    /// Number of different keys; after the last comes the first again. By default as many as there are calls, with --seconds 1000000
    #[arg(
        long,
        value_name = "N",
        requires = "address",
        value_parser = clap::value_parser!(u64).range(1..=LOAD_KEYS_MAX)
    )]
    records: Option<u64>,
    /// A connection for each caller, and a thread; without it all callers share one
    #[arg(long, requires = "address")]
    separate: bool,
    /// Calls as messages of the call Stream
    #[arg(long, requires = "address")]
    stream: bool,
    /// Each caller has --depth calls in flight
    #[arg(long = "async", requires = "address")]
    asynchronous: bool,
    /// Calls that a caller has in flight, with --async
    #[arg(long, value_name = "N", default_value_t = 64, requires = "asynchronous", value_parser = depth)]
    depth: usize,
    /// Records of one call: SetMulti, GetMulti, RemoveMulti. Figures are records a second then, latencies those of calls. Set takes at most
    /// 1 MiB of keys and values
    #[arg(
        long,
        alias = "multi",
        value_name = "N",
        requires = "address",
        conflicts_with = "stream",
        value_parser = batch
    )]
    batch: Option<usize>,
    /// Bytes of a value; keys have eight
    #[arg(long, value_name = "BYTES", default_value_t = 8, requires = "address", value_parser = size)]
    size: usize,
    /// Keys in scattered order, each once, instead of ascending
    #[arg(long, alias = "random_key", requires = "address")]
    scattered: bool,
    /// Only these operations
    #[arg(
        long,
        value_enum,
        value_name = "OPERATION",
        value_delimiter = ',',
        requires = "address"
    )]
    only: Vec<KvOperation>,
    /// Write into a database that has records, which are lost where they have the keys 00000000, 00000001, …
    #[arg(long, requires = "address")]
    yes: bool,
    #[command(flatten)]
    access: RemoteAccess,
}

fn depth(text: &str) -> Result<usize, String> {
    up_to(LOAD_DEPTH_MAX, text)
}

fn batch(text: &str) -> Result<usize, String> {
    up_to(LOAD_BATCH_MAX, text)
}

fn size(text: &str) -> Result<usize, String> {
    up_to(VALUE_BYTES_DEFAULT, text)
}

fn up_to(most: usize, text: &str) -> Result<usize, String> {
    let number = text.parse().ok();
    number
        .filter(|number| (1..=most).contains(number))
        .ok_or_else(|| format!("{text} is not in 1..={most}"))
}

impl KvLoadArguments {
    /// Where the load goes, if there is to be one.
    pub fn address(&self) -> Option<&str> {
        self.address.as_deref()
    }

    /// Whether a server was described without its address.
    pub fn lacks_address(&self) -> bool {
        self.address.is_none() && self.access.is_given()
    }

    /// What is to be done, or what is wrong with it.
    pub fn plan(&self) -> Result<KvLoadPlan, String> {
        let group = |callers: &u64| CallerGroup {
            callers: *callers,
            connections: if self.separate { *callers } else { 1 },
        };
        let extent = match self.seconds {
            None => LoadExtent::Records(self.iter),
            Some(seconds) => LoadExtent::Time(
                Duration::try_from_secs_f64(seconds)
                    .map_err(|error| format!("--seconds: {error}"))?,
            ),
        };
        let plan = KvLoadPlan {
            operations: Vec::new(),
            groups: self.threads.iter().map(group).collect(),
            form: match (self.stream, self.batch) {
                (true, _) => CallForm::Stream,
                (false, Some(records)) => CallForm::Batches(records),
                (false, None) => CallForm::Unary,
            },
            depth: if self.asynchronous { self.depth } else { 1 },
            extent,
            records: self.records,
            size: self.size,
            order: match self.scattered {
                true => KeyOrder::Scattered,
                false => KeyOrder::Sequential,
            },
        };
        plan.checked(&self.only)
    }

    /// Loads the server at an address and prints the table; writes the figures for programs, too.
    pub fn run(&self, address: &str, plan: &KvLoadPlan, json: Option<&Path>) -> Result<ExitCode> {
        if let Some(code) = tsumugi_bench::lead()? {
            return Ok(code);
        }
        let remote = self.access.at(address);
        let target = remote.target()?.to_string();
        allow_connections(plan)?;
        let stop = StopFlag::at_signals();
        if let Err(error) = look(&remote, plan, self.yes, &stop) {
            return failed(error);
        }
        say(&format!(
            "# {target}, database {}: {}",
            remote.index(),
            conditions(plan)
        ));
        let mut rows = Vec::new();
        let outcome = plan
            .groups
            .iter()
            .try_for_each(|group| measure_row(&remote, plan, *group, &stop, &mut rows));
        rows.retain(|row: &MeasuredRow| !row.cells.is_empty());
        if !rows.is_empty() {
            say(table::text(plan.form, &plan.operations, &rows).trim_end());
        }
        if let Some(file) = json {
            let figures = table::json(&target, remote.index(), plan, &rows);
            std::fs::write(file, format!("{figures:#}\n"))
                .with_context(|| format!("cannot write {}", file.display()))?;
        }
        outcome.map_or_else(failed, |()| Ok(ExitCode::SUCCESS))
    }
}

/// How a load ends that did not reach its end.
fn failed(error: anyhow::Error) -> Result<ExitCode> {
    if error.is::<Interruption>() {
        say("# interrupted: this is what there is");
        return Ok(ExitCode::from(INTERRUPTED));
    }
    Err(explained(error))
}

/// Raises the limit of open files to what the connections take, where the system allows it.
fn allow_connections(plan: &KvLoadPlan) -> Result<()> {
    let connections = plan.groups.iter().map(|group| group.connections).max();
    let connections = connections.unwrap_or_default();
    allow_files(connections * LOAD_FILES_EACH + LOAD_FILES_SPARE).with_context(|| {
        format!("{connections} connections do not fit: lower --threads, or leave --separate out")
    })
}

/// What a reader of the figures must know.
fn conditions(plan: &KvLoadPlan) -> String {
    let extent = match plan.extent {
        LoadExtent::Records(each) => format!("{each} records for each caller"),
        LoadExtent::Time(time) => format!(
            "{} s for each operation, {} keys",
            time.as_secs_f64(),
            plan.records.unwrap_or(RECORDS_DEFAULT)
        ),
    };
    let order = match plan.order {
        KeyOrder::Sequential => "in their order",
        KeyOrder::Scattered => "without order",
    };
    format!(
        "keys of 8 bytes {order}, values of {}; {extent}; every answer checked",
        plan.size
    )
}

/// Whether the server is there, is one of Tkrzw-RPC, and may be written to.
fn look(remote: &Remote, plan: &KvLoadPlan, is_agreed: bool, stop: &StopFlag) -> Result<()> {
    let looked = async {
        let client = remote.client()?;
        anyhow::Ok(client.count().await?)
    };
    let records = run_until_stopped(looked, stop)?;
    let writes = plan.operations.iter().any(|one| one.is_write());
    ensure!(
        records == 0 || !writes || is_agreed,
        "database {} holds {records} records, and the load writes and removes keys from 00000000 on: name an empty one with --index, write nothing \
         with --only echo,get,iterate, or say --yes",
        remote.index(),
    );
    Ok(())
}

/// An error with what to do about it.
fn explained(error: anyhow::Error) -> anyhow::Error {
    let advice = match error.downcast_ref::<Error>() {
        Some(Error::Connect { source, .. }) => match source.kind() {
            // The text has its own advice.
            _ if source.to_string().contains("TLS") => return error,
            _ => {
                "name a server that runs with --address, or start one: `tsumugi kv --listen 127.0.0.1:1978`"
            }
        },
        Some(Error::Refused { code, .. }) => match code {
            GrpcCode::Unimplemented => {
                "what answers there is no server of Tkrzw-RPC: look at --address"
            }
            GrpcCode::Unauthenticated => "show a token of the server's with --token-file FILE",
            GrpcCode::InvalidArgument => "--index names a database of the server's list",
            GrpcCode::ResourceExhausted => {
                "ask for less at a time, or raise that limit at the server"
            }
            _ => return error,
        },
        Some(Error::Protocol(_)) => {
            "what answers there is no server of Tkrzw-RPC: look at --address"
        }
        Some(Error::Lost { .. }) => {
            "the server has gone, or is no server of Tkrzw-RPC: look at its log, and at --address"
        }
        Some(Error::Database {
            code: TkrzwCode::System,
            ..
        }) => "a database in memory may be full (capacity), or a disk",
        _ => return error,
    };
    anyhow!("{}; {advice}", tsumugi_server::story(error.as_ref()))
}

/// All operations of one group of callers, one after the other. What was measured is in the rows, also when another fails.
fn measure_row(
    remote: &Remote,
    plan: &KvLoadPlan,
    group: CallerGroup,
    stop: &StopFlag,
    rows: &mut Vec<MeasuredRow>,
) -> Result<()> {
    rows.push(MeasuredRow {
        label: plan.label(group),
        callers: group.callers,
        connections: group.connections,
        cells: Vec::new(),
    });
    let records = LoadRecords::new(plan.keys(group), plan.size, plan.order);
    for operation in &plan.operations {
        stop.check()?;
        let extent = match plan.extent {
            LoadExtent::Records(each) => Extent::Records(each * group.callers),
            LoadExtent::Time(_) => Extent::Unknown,
        };
        let bar = progress::bar(
            extent,
            format!("{}, {}", plan.label(group), operation.heading()),
        );
        let work = ThreadWork {
            remote,
            plan,
            group,
            operation: *operation,
            records: &records,
            bar: &bar,
            stop,
        };
        let measured = work.measure();
        bar.finish_and_clear();
        let measured = measured.with_context(|| operation.heading())?;
        if let Some(row) = rows.last_mut() {
            row.cells.push(measured);
        }
        if plan.is_completed(*operation) {
            let bar = progress::bar(Extent::Once, format!("the rest of {}", operation.heading()));
            let completed = work.complete();
            bar.finish_and_clear();
            completed.with_context(|| operation.heading())?;
        }
    }
    Ok(())
}

/// What the threads of one operation share.
#[derive(Clone, Copy)]
struct ThreadWork<'a> {
    remote: &'a Remote,
    plan: &'a KvLoadPlan,
    group: CallerGroup,
    operation: KvOperation,
    records: &'a LoadRecords,
    bar: &'a ProgressBar,
    stop: &'a StopFlag,
}

/// What one thread did.
struct ThreadResult {
    records: u64,
    seconds: f64,
    /// Nanoseconds of each call.
    latency: Histogram<u64>,
}

impl ThreadWork<'_> {
    /// Runs the threads, and adds up what they did.
    fn measure(self) -> Result<MeasuredOperation> {
        let (results, client_us) = self.run_threads()?;
        let mut measured = MeasuredOperation {
            operation: self.operation,
            records: 0,
            thread_records_max: 0,
            seconds: 0.0,
            client_us,
            latency: tally::empty()?,
        };
        for result in results {
            measured.records += result.records;
            measured.thread_records_max = measured.thread_records_max.max(result.records);
            measured.seconds = measured.seconds.max(result.seconds);
            measured.latency.add(result.latency)?;
        }
        // What was cut short is no figure.
        self.stop.check()?;
        ensure!(
            measured.records > 0,
            "not one call was answered: take longer with --seconds"
        );
        Ok(measured)
    }

    /// A thread for each connection: what they did, and the processor time of this process while they did it, in microseconds.
    fn run_threads(self) -> Result<(Vec<ThreadResult>, f64)> {
        let connections = self.group.connections;
        let latch = StartLatch::new(connections);
        thread::scope(|scope| {
            // Where this returns early, the threads that wait end too.
            let _guard = latch.guard();
            let mut threads = Vec::new();
            for first in 0..connections {
                let latch = &latch;
                let work = move || {
                    let _guard = latch.guard();
                    self.run(first, latch)
                };
                let thread = thread::Builder::new().spawn_scoped(scope, work);
                threads.push(thread.with_context(|| {
                    format!(
                        "thread {} of {connections} cannot be started: lower --threads, leave --separate out, or raise the limits of processes and memory",
                        first + 1
                    )
                })?);
            }
            latch.wait_ready();
            // Threads, connections and greetings are no part of the figure.
            let before = processor_us()?;
            latch.begin();
            let mut results = Vec::new();
            let mut failure = None;
            for thread in threads {
                let ended = thread.join();
                match ended.unwrap_or_else(|_| Err(anyhow!("a thread of the load has panicked"))) {
                    Ok(result) => results.extend(result),
                    Err(error) => failure = failure.or(Some(error)),
                }
            }
            let spent = processor_us()? - before;
            failure.map_or(Ok((results, spent)), Err)
        })
    }

    /// Stores or removes the records that there was no time for, on a connection of its own.
    fn complete(self) -> Result<()> {
        let completion = async {
            let client = self.remote.client()?;
            caller::complete(&client, self.records, self.operation).await
        };
        run_until_stopped(completion, self.stop)
    }

    /// One connection, on this thread. Nothing where another thread has cancelled the start.
    fn run(self, first: u64, latch: &StartLatch) -> Result<Option<ThreadResult>> {
        run_until_stopped(self.connection(first, latch), self.stop)
    }

    async fn connection(self, first: u64, latch: &StartLatch) -> Result<Option<ThreadResult>> {
        // Connected before the clock runs.
        let client = self.remote.client()?;
        client.echo("").await?;
        if latch.wait() == LoadStart::Cancelled {
            return Ok(None);
        }
        let begun = Instant::now();
        let caller = Rc::new(CallerContext {
            client,
            operation: self.operation,
            records: self.records.clone(),
            keys: self.keys(first, begun),
            tally: LoadTally::new(self.bar.clone())?,
        });
        self.call(&caller).await?;
        let seconds = begun.elapsed().as_secs_f64();
        let (records, latency) = caller.tally.end();
        Ok(Some(ThreadResult {
            records,
            seconds,
            latency,
        }))
    }

    /// The keys of this connection.
    fn keys(self, first: u64, begun: Instant) -> KeySource {
        let connections = self.group.connections;
        let (calls, until) = match self.plan.extent {
            LoadExtent::Records(each) => (each * self.group.callers / connections, None),
            LoadExtent::Time(time) => (u64::MAX, Some(begun + time)),
        };
        // What was removed is not there a second time.
        let count = match self.operation {
            KvOperation::Remove => {
                let more = u64::from(first < self.records.count % connections);
                calls.min(self.records.count / connections + more)
            }
            _ => calls,
        };
        KeySource::new(first, connections, count, until)
    }

    /// The callers of this connection, until all have ended.
    async fn call(self, caller: &Rc<CallerContext>) -> Result<()> {
        let callers = usize::try_from(self.group.callers / self.group.connections)?;
        let depth = self.plan.depth;
        let mut tasks: JoinSet<Result<()>> = JoinSet::new();
        // Boxed, all of them are tasks of one type.
        let mut spawn = |caller: LocalTask<Result<()>>| {
            tasks.spawn_local(caller);
        };
        let each = |_| Rc::clone(caller);
        match (self.plan.form, self.operation) {
            (CallForm::Stream, KvOperation::Iterate) => (0..callers).map(each).for_each(|one| {
                spawn(Box::pin(caller::iterate(one, depth)));
            }),
            (_, KvOperation::Iterate) => (0..callers * depth).map(each).for_each(|one| {
                spawn(Box::pin(caller::iterate(one, 1)));
            }),
            (CallForm::Stream, _) => (0..callers).map(each).for_each(|one| {
                spawn(Box::pin(caller::stream(one, depth)));
            }),
            (CallForm::Unary, _) => (0..callers * depth).map(each).for_each(|one| {
                spawn(Box::pin(caller::unary(one)));
            }),
            (CallForm::Batches(size), _) => (0..callers * depth).map(each).for_each(|one| {
                spawn(Box::pin(caller::batches(one, size)));
            }),
        }
        while let Some(ended) = tasks.join_next().await {
            ended??;
        }
        Ok(())
    }
}

/// What comes of the work, on an event loop of its own; an [`Interruption`] when the user interrupts the load.
fn run_until_stopped<T>(work: impl Future<Output = Result<T>>, stop: &StopFlag) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start an event loop")?;
    let outcome = LocalSet::new().block_on(&runtime, async {
        tokio::select! {
            outcome = work => outcome,
            () = stopped(stop) => Err(Interruption.into()),
        }
    });
    // A name that is still looked up is not waited for.
    runtime.shutdown_background();
    outcome
}

/// Ends when the user interrupts the load.
async fn stopped(stop: &StopFlag) {
    while !stop.is_set() {
        tokio::time::sleep(Duration::from_millis(LOAD_STOP_MS)).await;
    }
}

/// Processor time of this process, in microseconds.
fn processor_us() -> Result<f64> {
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    let spent = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Ok(spent as f64)
}

/// Lines on standard output. Their reader may have gone, which ends nothing.
fn say(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

//! The driver alone, under load: a thread keeps DEPTH queries in flight on one connection until COUNT were answered. `make bench-pg`
//! runs it beside other drivers. `depth COUNT DEPTH URL [THREADS [SQL]]` prints `queries=N seconds=S sum=X`.
//! Rule: one query is one call of the public interface; COUNT is of all threads together, and what was read is added up.
#![forbid(unsafe_code)]

use std::process::ExitCode;
use std::thread;
use std::time::Instant;

use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::runtime;
use tsumugi_pg::{Config, Connection, Connector, Environment};
use tsumugi_pg_proto::types::Oid;

#[global_allocator]
static ALLOCATOR: tsumugi_allocator::Allocator = tsumugi_allocator::Allocator;

type Error = Box<dyn std::error::Error + Send + Sync>;

const READ: &str = "select id, randomnumber from world where id = $1";
const INT4: Oid = 23;

/// What is asked again and again, and the `int4` column of its answer that is added up.
#[derive(Clone)]
enum Question {
    Read,
    /// A statement without parameters.
    Given(String),
}

impl Question {
    async fn ask(&self, connection: &Connection, key: i32) -> tsumugi_pg::Result<i64> {
        let (rows, column) = match self {
            Question::Read => (connection.query_hinted(READ, &[INT4], &[key]).await?, 1),
            Question::Given(sql) => (connection.query(sql, &()).await?, 0),
        };
        let row = rows.first()?;
        row.map_or(Ok(0), |row| row.value::<i32>(column).map(i64::from))
    }
}

/// The same keys in every program: a linear congruence from 1.
struct Keys(u32);

impl Keys {
    fn next(&mut self) -> i32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((self.0 >> 8) % 10_000 + 1).cast_signed()
    }
}

async fn run(count: u64, depth: u64, url: &str, question: Question) -> Result<i64, Error> {
    let config = Config::parse(url, &Environment::of_process())?;
    let connection = Connection::open(&Connector::new(config)).await?;
    let mut keys = Keys(1);
    let mut flight = FuturesUnordered::new();
    let first = depth.min(count);
    (0..first).for_each(|_| flight.push(question.ask(&connection, keys.next())));
    let (mut left, mut sum) = (count - first, 0);
    while let Some(value) = flight.next().await {
        sum += value?;
        if left > 0 {
            left -= 1;
            flight.push(question.ask(&connection, keys.next()));
        }
    }
    Ok(sum)
}

fn work(count: u64, depth: u64, url: &str, question: Question) -> Result<i64, Error> {
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build_local(runtime::LocalOptions::default())?;
    let url = url.to_owned();
    // A task, as a server's handlers are: the future that the runtime blocks on costs it a look at the sockets for each wake.
    runtime.block_on(async move {
        tokio::task::spawn_local(async move { run(count, depth, &url, question).await }).await
    })?
}

fn measure(words: &[String]) -> Result<String, Error> {
    let [count, depth, url, rest @ ..] = words else {
        return Err("usage: depth COUNT DEPTH URL [THREADS [SQL]]".into());
    };
    let (count, depth): (u64, u64) = (count.parse()?, depth.parse()?);
    let threads: u64 = rest.first().map_or(Ok(1), |word| word.parse())?;
    let question = rest.get(1).cloned().map_or(Question::Read, Question::Given);
    let started = Instant::now();
    let share = count / threads;
    let sum = thread::scope(|scope| {
        let running: Vec<_> = (0..threads)
            .map(|_| scope.spawn(|| work(share, depth, url, question.clone())))
            .collect();
        running.into_iter().try_fold(0, |sum, thread| {
            let read = thread.join().map_err(|_| "a thread panicked")?;
            read.map(|read| sum + read)
        })
    })?;
    let seconds = started.elapsed().as_secs_f64();
    Ok(format!(
        "queries={} seconds={seconds:.6} sum={sum}",
        share * threads
    ))
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match measure(&words) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("depth: {error}");
            ExitCode::FAILURE
        }
    }
}

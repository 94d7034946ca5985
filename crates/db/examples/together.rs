//! Many reads by primary key awaited together: as futures on one thread, and as calls that block on a bounded pool of threads. Not a test.
//! `make bench-async` runs it beside as many fibres in Ruby. Rule: all of them read the same rows, and what was read is added up.
//!
//! `together futures|threads URL COUNT` prints `queries=N seconds=S sum=X`; `together fill URL` makes the table `world` where it is missing.

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use tokio::runtime::Builder;
use tokio::task::LocalSet;
use tsumugi_db::{Database, Options, TransactionOptions, ValueRef, values};
use tsumugi_pg::blocking::{Client, NoTls};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Keys of the table.
const WORLDS: u32 = 10_000;
/// Threads of the pool, and connections.
const THREADS: usize = 8;

const USAGE: &str = "usage: together futures|threads URL COUNT, or together fill URL";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words[..] {
        ["fill", url] => wait(fill(url)),
        ["futures", url, count] => count
            .parse()
            .map_err(Into::into)
            .and_then(|count| tell(count, wait(futures(url, count)))),
        ["threads", url, count] => count
            .parse()
            .map_err(Into::into)
            .and_then(|count| tell(count, threads(url, count))),
        _ => Err(USAGE.into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("together: {error}");
            ExitCode::FAILURE
        }
    }
}

fn wait<T>(future: impl Future<Output = Outcome<T>>) -> Outcome<T> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, future)
}

fn tell(count: usize, read: Outcome<(f64, i64)>) -> Outcome<()> {
    let (seconds, sum) = read?;
    println!("queries={count} seconds={seconds} sum={sum}");
    Ok(())
}

/// The rows that are read: the same in every program, a linear congruence from 1.
fn keys(count: usize) -> Vec<i64> {
    let mut state = 1_u32;
    let next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        i64::from((state >> 8) % WORLDS + 1)
    };
    std::iter::repeat_with(next).take(count).collect()
}

async fn fill(url: &str) -> Outcome<()> {
    let db = Database::connect(url, Options::default()).await?;
    db.execute(
        "create table world(id integer primary key, randomnumber integer not null)",
        [],
    )
    .await?;
    let tx = db.begin(TransactionOptions::default()).await?;
    for id in 1..=i64::from(WORLDS) {
        let number = id * 7919 % i64::from(WORLDS) + 1;
        tx.execute("insert into world values (?, ?)", values![id, number])
            .await?;
    }
    Ok(tx.commit().await?)
}

/// All begun before one is awaited, on this thread.
async fn futures(url: &str, count: usize) -> Outcome<(f64, i64)> {
    let mut options = Options::default();
    options.pool = THREADS;
    let db = Database::connect(url, options).await?;
    let sql: Arc<str> = "select randomnumber from world where id = ?".into();
    // Connections are open after that.
    db.query(sql.clone(), values![1]).await?;
    let begun = Instant::now();
    let reads = keys(count).into_iter().map(|key| {
        let (db, sql) = (db.clone(), sql.clone());
        tokio::task::spawn_local(async move {
            let rows = db.query(sql, values![key]).await?;
            let value = rows.first().and_then(|row| row.value(0));
            match value {
                Some(ValueRef::Integer(number)) => Ok(number),
                _ => Err(Box::<dyn Error + Send + Sync>::from("no such row")),
            }
        })
    });
    let mut sum = 0;
    for read in reads.collect::<Vec<_>>() {
        sum += read.await??;
    }
    Ok((begun.elapsed().as_secs_f64(), sum))
}

/// Each thread takes the next key when it has read the last, and has a connection of its own.
fn threads(url: &str, count: usize) -> Outcome<(f64, i64)> {
    let (keys, next) = (keys(count), AtomicUsize::new(0));
    let ready = std::sync::Barrier::new(THREADS + 1);
    std::thread::scope(|scope| {
        let pool: Vec<_> = (0..THREADS)
            .map(|_| {
                scope.spawn(|| {
                    let reader = Reader::open(url);
                    ready.wait();
                    let begun = Instant::now();
                    let (mut reader, mut sum) = (reader?, 0);
                    while let Some(key) = keys.get(next.fetch_add(1, Ordering::Relaxed)) {
                        sum += reader.read(*key)?;
                    }
                    Outcome::Ok((begun, sum))
                })
            })
            .collect();
        ready.wait();
        // This thread may be the last to go on: the time is that since the first of the others did.
        let (mut first, mut sum) = (Instant::now(), 0);
        for thread in pool {
            let (begun, read) = thread.join().map_err(|_| "a thread panicked")??;
            first = first.min(begun);
            sum += read;
        }
        Ok((first.elapsed().as_secs_f64(), sum))
    })
}

/// A connection whose calls block.
enum Reader {
    Sqlite(rusqlite::Connection),
    Postgres(Box<Client>),
}

impl Reader {
    fn open(url: &str) -> Outcome<Reader> {
        Ok(match url.strip_prefix("sqlite:") {
            Some(file) => Reader::Sqlite(rusqlite::Connection::open(file)?),
            None => Reader::Postgres(Box::new(Client::connect(url, NoTls)?)),
        })
    }

    fn read(&mut self, key: i64) -> Outcome<i64> {
        match self {
            Reader::Sqlite(connection) => {
                let sql = "select randomnumber from world where id = ?1";
                let mut statement = connection.prepare_cached(sql)?;
                Ok(statement.query_row([key], |row| row.get(0))?)
            }
            Reader::Postgres(client) => {
                let sql = "select randomnumber from world where id = $1";
                let key = i32::try_from(key)?;
                Ok(i64::from(client.query_one(sql, &[&key])?.get::<_, i32>(0)))
            }
        }
    }
}

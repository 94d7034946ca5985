//! tokio-postgres alone: a thread keeps DEPTH queries in flight on one connection until COUNT were answered. Not part of the product.
//! `pg-tokio-postgres COUNT DEPTH URL [THREADS] [SQL]` prints `queries=N seconds=S sum=X`. COUNT is of all threads together.

use std::pin::pin;
use std::thread;
use std::time::Instant;

use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::runtime;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, NoTls, Statement, connect};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Error = Box<dyn std::error::Error + Send + Sync>;

const READ: &str = "select id, randomnumber from world where id = $1";

/// What is asked again and again, and the `int4` column of its answer that is added up.
#[derive(Clone)]
enum Question {
    Read,
    /// A statement without parameters.
    Given(String),
}

struct Asker {
    client: Client,
    statement: Statement,
    question: Question,
}

impl Asker {
    async fn prepare(client: Client, question: Question) -> Result<Asker, Error> {
        let statement = match &question {
            Question::Read => client.prepare_typed(READ, &[Type::INT4]).await?,
            Question::Given(sql) => client.prepare(sql).await?,
        };
        Ok(Asker {
            client,
            statement,
            question,
        })
    }

    async fn ask(&self, id: i32) -> i64 {
        let read: [&(dyn ToSql + Sync); 1] = [&id];
        let (values, column): (&[_], _) = match &self.question {
            Question::Read => (&read, 1),
            Question::Given(_) => (&[], 0),
        };
        let row = self.client.query_one(&self.statement, values).await;
        let row = row.expect("the database answers");
        i64::from(row.get::<_, i32>(column))
    }
}

/// The same keys in every program: a linear congruence from 1.
struct Keys(u32);

impl Keys {
    fn next(&mut self) -> i32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((self.0 >> 8) % 10_000 + 1) as i32
    }
}

async fn run(count: u64, depth: u64, url: &str, question: Question) -> Result<i64, Error> {
    let (client, connection) = connect(url, NoTls).await?;
    let connection = tokio::spawn(connection);
    let asker = Asker::prepare(client, question).await?;
    let mut keys = Keys(1);
    let mut sum = 0;
    {
        let mut flight = pin!(FuturesUnordered::new());
        let first = depth.min(count);
        (0..first).for_each(|_| flight.push(asker.ask(keys.next())));
        let mut left = count - first;
        while let Some(value) = flight.next().await {
            sum += value;
            if left > 0 {
                left -= 1;
                flight.push(asker.ask(keys.next()));
            }
        }
    }
    drop(asker);
    connection.await??;
    Ok(sum)
}

fn main() -> Result<(), Error> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [count, depth, url, rest @ ..] = words.as_slice() else {
        return Err("usage: pg-tokio-postgres COUNT DEPTH URL [THREADS] [SQL]".into());
    };
    let (count, depth): (u64, u64) = (count.parse()?, depth.parse()?);
    let threads: u64 = rest.first().map_or(Ok(1), |word| word.parse())?;
    let question = rest.get(1).cloned().map_or(Question::Read, Question::Given);
    let started = Instant::now();
    let work = move |url: String, question: Question| -> Result<i64, Error> {
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        // A task, as a server's handlers are: the future that the runtime blocks on costs it a look at the sockets for each wake.
        runtime.block_on(async move {
            tokio::spawn(async move { run(count / threads, depth, &url, question).await }).await?
        })
    };
    let running: Vec<_> = (0..threads)
        .map(|_| {
            let (url, question) = (url.clone(), question.clone());
            thread::spawn(move || work(url, question))
        })
        .collect();
    let mut sum = 0;
    for thread in running {
        sum += thread.join().map_err(|_| "a thread panicked")??;
    }
    println!(
        "queries={} seconds={:.6} sum={sum}",
        count / threads * threads,
        started.elapsed().as_secs_f64()
    );
    Ok(())
}

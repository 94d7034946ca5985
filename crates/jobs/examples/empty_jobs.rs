//! Empty jobs on PostgreSQL, pushed one by one while they are run, or stored before, and how long that took. Not a test.
//! `make bench-jobs` runs it beside others. Rule: what the jobs were given is added up, and the time ends when none is in the table any more.
//!
//! `empty_jobs pushed|stored URL COUNT` prints `queries=N seconds=S sum=X`.

use std::cell::Cell;
use std::error::Error;
use std::process::ExitCode;
use std::rc::Rc;
use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::task::LocalSet;
use tokio::time::sleep;
use tsumugi_db::{Database, Executor, Options, values};
use tsumugi_jobs::{ClaimedJob, JobKind, JobPush, JobQueue, JobWorker, WorkerOptions};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Jobs that run at once.
const RUNNING: usize = 100;
/// Pushes under way at a time.
const PUSHES: usize = 64;
/// Connections.
const POOL: usize = 16;

const USAGE: &str = "usage: empty_jobs pushed|stored URL COUNT";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words[..] {
        [how @ ("pushed" | "stored"), url, count] => result_line(how, url, count),
        _ => Err(USAGE.into()),
    };
    match outcome {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("empty_jobs: {error}");
            ExitCode::FAILURE
        }
    }
}

fn result_line(how: &str, url: &str, count: &str) -> Outcome<String> {
    let count: i64 = count.parse()?;
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let (seconds, sum) = LocalSet::new().block_on(&runtime, measure(how, url, count))?;
    Ok(format!("queries={count} seconds={seconds} sum={sum}"))
}

async fn measure(how: &str, url: &str, count: i64) -> Outcome<(f64, i64)> {
    let mut options = Options::default();
    options.pool = POOL;
    let database = Database::connect(url, options).await?;
    // What another run has left.
    let drop_tables = "drop table if exists tsumugi_jobs, tsumugi_job_keys";
    database.execute(drop_tables, []).await?;
    let queue = JobQueue::over(&database);
    queue.prepare().await?;
    let kind = JobKind::new("empty")?;
    if how == "stored" {
        let insert = "insert into tsumugi_jobs (name, queue, arguments, state, sort_order, attempt, failures, retries, due_at, pushed_at) \
                      select 'empty', 'default', n::text, 1, 0, 0, 0, 5, 0, 0 from generate_series(0, ?::bigint) as g(n)";
        database.execute(insert, values![count - 1]).await?;
    }
    let (done, sum) = (Rc::new(Cell::new(0_i64)), Rc::new(Cell::new(0_i64)));
    let (counted, added) = (Rc::clone(&done), Rc::clone(&sum));
    let perform = move |job: ClaimedJob| -> tsumugi_jobs::JobFuture {
        counted.set(counted.get() + 1);
        added.set(added.get() + job.arguments.parse().unwrap_or(0));
        Box::pin(async { Ok(()) })
    };
    let options = WorkerOptions {
        running: RUNNING,
        ..WorkerOptions::default()
    };
    let worker = JobWorker::new(&queue, vec![kind.clone()], options, Rc::new(perform))?;
    let begun = Instant::now();
    let (stop, stopped) = oneshot::channel::<()>();
    let running = tokio::task::spawn_local(worker.run(async move { drop(stopped.await) }));
    if how == "pushed" {
        push(&queue, &kind, count).await?;
    }
    while done.get() < count {
        sleep(Duration::from_millis(1)).await;
    }
    while queue.counts().await?.running > 0 {
        sleep(Duration::from_millis(1)).await;
    }
    let seconds = begun.elapsed().as_secs_f64();
    drop(stop);
    running.await?;
    Ok((seconds, sum.get()))
}

async fn push(queue: &JobQueue, kind: &JobKind, count: i64) -> Outcome<()> {
    let executor = Executor::Database(queue.database().clone());
    let next = Cell::new(0);
    let lane = async || {
        while next.get() < count {
            let n = next.replace(next.get() + 1);
            let push = JobPush::new(kind.clone(), n.to_string());
            queue.push(&push, &executor).await?;
        }
        Ok::<_, tsumugi_jobs::Error>(())
    };
    try_join_all((0..PUSHES).map(|_| lane())).await?;
    Ok(())
}

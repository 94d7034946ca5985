//! Primary-key reads with DEPTH in flight on one connection: queries a second, and CPU microseconds of this process for each.
//! Arguments: N DEPTH URL. The table is world(id, randomnumber) with 10,000 rows. Measures nothing else and prints one line.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use tsumugi_pg::{Config, Connection, Connector, Environment, Error};

const SQL: &str = "SELECT id, randomnumber FROM world WHERE id = $1";

fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, queries, depth, url] = &arguments[..] else {
        eprintln!("usage: depth N DEPTH URL");
        std::process::exit(2);
    };
    let queries: u32 = queries.parse().expect("N is a number");
    let depth: u32 = depth.parse().expect("DEPTH is a number");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    tokio::task::LocalSet::new().block_on(&runtime, run(queries, depth, url))
}

async fn run(queries: u32, depth: u32, url: &str) -> Result<(), Error> {
    let connector = Connector::new(Config::parse(url, &Environment::of_process())?);
    let connection = Connection::open(&connector).await?;
    read(&connection, 1000.min(queries), depth).await?;
    let (begun, cpu) = (Instant::now(), cpu());
    read(&connection, queries, depth).await?;
    let (wall, cpu) = (begun.elapsed(), self::cpu() - cpu);
    let each = |time: Duration| time.as_secs_f64() * 1e6 / f64::from(queries);
    println!(
        "depth {depth}: {:.0} q/s, {:.2} us CPU/query",
        1e6 / each(wall),
        each(cpu)
    );
    Ok(())
}

/// `depth` tasks, each with one query in flight, until `queries` have been answered.
async fn read(connection: &Connection, queries: u32, depth: u32) -> Result<(), Error> {
    let left = Rc::new(Cell::new(queries));
    let tasks: Vec<_> = (0..depth)
        .map(|task| {
            let (connection, left) = (connection.clone(), Rc::clone(&left));
            tokio::task::spawn_local(async move {
                let mut id = i32::try_from(task).expect("a small depth");
                while let Some(next) = left.get().checked_sub(1) {
                    left.set(next);
                    id = (id * 31 + 7) % 10_000;
                    let rows = connection.query(SQL, &(id + 1,)).await?;
                    let row = rows.first()?.expect("the row is there");
                    let read: (i32, i32) = (row.value(0)?, row.value(1)?);
                    assert_eq!(read.0, id + 1);
                }
                Ok::<(), Error>(())
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("no task panics")?;
    }
    Ok(())
}

/// Of this process, in user mode and in the kernel.
fn cpu() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_SELF).expect("a process knows its usage");
    let time = |value: TimeVal| {
        Duration::from_secs(u64::try_from(value.tv_sec()).unwrap_or(0))
            + Duration::from_micros(u64::try_from(value.tv_usec()).unwrap_or(0))
    };
    time(usage.user_time()) + time(usage.system_time())
}
